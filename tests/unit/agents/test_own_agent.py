"""The programs in docs/own-agent.md are agents."""

import json
import re
import sys
from pathlib import Path

import pytest

from agent_setup import setup_with
from redgreenrefactor.agents.table import agent_for
from redgreenrefactor.model.session import Brief, Report, Role
from redgreenrefactor.model.workflow import PhaseName, RoleName

PAGE = (Path(__file__).parents[3] / "docs/own-agent.md").read_text("utf-8")
COMMAND, ACP = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def worked(kind: str, source: str, phase: PhaseName, folder: Path) -> Report:
    program = folder.parent / "my_agent.py"
    program.write_text(source)
    handoff = json.dumps({"feature": "A greeting"})
    brief = Brief(Role(RoleName.TEST_LIST, "", "You make lists."), phase, 1, 1, "run-1", "Begin.", handoff)
    setup = setup_with(project=folder, model="", home=folder.parent / "agents")
    return agent_for(f"{kind}:{sys.executable} {program}", setup).work(brief, folder, lambda _: None)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_the_command_makes_a_list_and_fails_at_everything_else(project: Path) -> None:
    report = worked("command", COMMAND, PhaseName.PLAN, project)
    assert json.loads(report.message)["currentTest"]["description"] == "says hello"
    assert "- [ ] says hello" in (project / "test-list.md").read_text()

    failure = worked("command", COMMAND, PhaseName.RED, project).failure
    assert failure
    assert "only lists" in failure.message


def test_the_program_that_speaks_the_protocol_answers(project: Path) -> None:
    report = worked("acp", ACP, PhaseName.PLAN, project)
    assert (report.message, report.failure) == ("I was told 23 characters.", None)


@pytest.mark.parametrize("source", [COMMAND, ACP])
def test_they_are_short(source: str) -> None:
    assert len([line for line in source.splitlines() if line.strip()]) <= 20
