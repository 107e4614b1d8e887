"""Every agent keeps the same promises, whoever works."""

import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent_setup import setup_with
from model_server import KEY, Answer, Asked, Call, Reply, Status, model_server
from program_rows import PROGRAMS
from redgreenrefactor.agents.api import ApiAgent
from redgreenrefactor.agents.command_agent import CommandAgent
from redgreenrefactor.agents.providers import access
from redgreenrefactor.agents.replay import ReplayAgent
from redgreenrefactor.agents.script import Scene, Script, bash, write
from redgreenrefactor.agents.table import agent_for
from redgreenrefactor.agents.toolbox import Toolbox, shell_in
from redgreenrefactor.model.session import Brief, Report, Role
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.ports import Agent
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.testing import FakeAgent

ENV = {"PATH": os.environ["PATH"]}
PLAYER = Path(__file__).parents[1] / "acp_player.py"
PHASES = (PhaseName.PLAN, PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)

Build = Callable[[str, bool], Agent]  # its final message, and whether it fails after its work


def command_agent(message: str, fails: bool) -> Agent:
    code = (
        "import os, sys; sys.stdin.read();"
        "open('made.txt', 'w').write(os.environ['TDD_PHASE']);"
        f"print('progress', file=sys.stderr); print({message!r}); sys.exit({int(fails)})"
    )
    return CommandAgent(f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}", setup_with())


def replay_agent(message: str, fails: bool) -> Agent:
    ending = (bash("exit 1"),) if fails else ()
    scenes = tuple(
        Scene(phase, 1, calls=(write("made.txt", phase), *ending), message=message) for phase in PHASES
    )
    return ReplayAgent(Script("tale", scenes=scenes), setup_with())


def fake_agent(message: str, fails: bool) -> Agent:
    def session(brief: Brief, folder: Path) -> Report | str:
        (folder / "made.txt").write_text(brief.phase)
        failure = Finding(FindingType.AGENT_FAILURE, "it failed")
        return Report(message, failure=failure) if fails else message

    return FakeAgent(session)


@contextmanager
def acp_agents() -> Generator[Build]:
    """Make agents that are programs of the protocol: one writes a file, says something, and may die of it."""
    with tempfile.TemporaryDirectory() as folder:

        def acp_agent(message: str, fails: bool) -> Agent:
            said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": message}}
            call = {"sessionUpdate": "tool_call", "toolCallId": "c-1", "title": "w", "status": "in_progress"}
            end = {"exit": 1} if fails else {"end": {"stopReason": "end_turn"}}
            turn = [{"write": "made.txt"}, call, said, end]
            (Path(folder) / "play.json").write_text(json.dumps({"turn": turn}))
            command = shlex.join([sys.executable, str(PLAYER), folder])
            return agent_for(f"acp:{command}", setup_with(model="", home=Path(folder)))

        yield acp_agent


@contextmanager
def api_agents() -> Generator[Build]:
    """Make agents whose model writes the file by a tool's call; one that fails is refused its second request."""
    with ExitStack() as stack:

        def api_agent(message: str, fails: bool) -> Agent:
            def mind(asked: Asked) -> Answer:
                if asked.said == 0:
                    return Reply(
                        "", (Call.of("Write", file_path="made.txt", content=asked.brief.split()[0]),)
                    )
                return Status(400, "no more", "invalid_request_error") if fails else Reply(message)

            url = stack.enter_context(model_server(mind)).url
            way = access("claude-opus-4-5-20251101", url, {"ANTHROPIC_API_KEY": KEY})

            def tools(_brief: Brief, folder: Path, stop: Interrupt) -> Toolbox:
                return Toolbox(folder, shell=shell_in(folder, env=ENV, interrupt=stop), env=ENV)

            return ApiAgent(way, setup_with(), tools)

        yield api_agent


@contextmanager
def real_agents(name: str, folder: Path) -> Generator[Build]:
    """Make agents that are this program: its model writes the file by a command, and one that fails is refused the next request."""
    row = PROGRAMS[name]
    with ExitStack() as stack:

        def real_agent(message: str, fails: bool) -> Agent:
            def mind(asked: Asked) -> Answer:
                if asked.said == 0:
                    phase = re.search(r"(\w+) is yours", f"{asked.system}\n{asked.brief}")
                    return Reply("Next.", (row.runs(f"printf %s {phase and phase[1]} > made.txt"),))
                return Status(400, "no more", "invalid_request_error") if fails else Reply(message)

            return agent_for(
                name,
                setup_with(
                    env=row.signed_in(folder / "home"),
                    project=folder / "project",
                    model=row.model,
                    url=stack.enter_context(model_server(mind)).url,
                    session_timeout=240.0,
                    home=folder / "agents",
                ),
            )

        yield real_agent


@pytest.mark.programs
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_real_program_keeps_them_too(name: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with real_agents(name, tmp_path) as build:
        test_it_has_a_name(build)
        test_progress_is_said_in_single_lines(build, project)
        test_it_leaves_its_work_in_the_folder_and_reports_its_final_message(build, PhaseName.PLAN, project)
        test_failure_is_a_value_and_the_work_so_far_stays(build, project)
        test_every_session_is_fresh(build, project)


@pytest.fixture(
    params=[command_agent, replay_agent, fake_agent, "api", "acp"],
    ids=["command", "replay", "fake", "api", "acp"],
)
def build(request: pytest.FixtureRequest) -> Generator[Build]:
    made: Build | str = request.param
    if not isinstance(made, str):
        yield made
        return
    with {"api": api_agents, "acp": acp_agents}[made]() as build:
        yield build


def brief_for(phase: PhaseName) -> Brief:
    return Brief(Role(RoleName.TEST, "", f"{phase} is yours."), phase, 1, 1, "run-7", "What to do.", "{}")


def unheard(line: str) -> None:
    assert line


def test_it_has_a_name(build: Build) -> None:
    assert build("done", False).name


@pytest.mark.parametrize("phase", PHASES)
def test_it_leaves_its_work_in_the_folder_and_reports_its_final_message(
    build: Build, phase: PhaseName, tmp_path: Path
) -> None:
    report = build("all is well", False).work(brief_for(phase), tmp_path, unheard)

    assert (tmp_path / "made.txt").read_text() == phase
    assert (report.message, report.failure) == ("all is well", None)


def test_space_around_the_final_message_does_not_count(build: Build, tmp_path: Path) -> None:
    assert (
        build("\n all is well \n", False).work(brief_for(PhaseName.PLAN), tmp_path, unheard).message
        == "all is well"
    )


def test_progress_is_said_in_single_lines(build: Build, tmp_path: Path) -> None:
    said: list[str] = []

    build("done", False).work(brief_for(PhaseName.RED), tmp_path, said.append)

    assert said
    assert all(line and "\n" not in line for line in said)


@pytest.mark.parametrize("message", ["", " \n\t\n"])
def test_an_empty_message_is_a_failure_where_an_answer_is_asked(
    build: Build, message: str, tmp_path: Path
) -> None:
    report = build(message, False).work(brief_for(PhaseName.PLAN), tmp_path, unheard)

    assert report.failure is not None
    assert report.failure.type is FindingType.AGENT_FAILURE


@pytest.mark.parametrize("phase", [PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR])
def test_an_empty_message_is_fine_where_nothing_is_asked(
    build: Build, phase: PhaseName, tmp_path: Path
) -> None:
    assert build("", False).work(brief_for(phase), tmp_path, unheard).failure is None


def test_failure_is_a_value_and_the_work_so_far_stays(build: Build, tmp_path: Path) -> None:
    report = build("half", True).work(brief_for(PhaseName.GREEN), tmp_path, unheard)

    assert report.failure is not None
    assert report.failure.type is FindingType.AGENT_FAILURE
    assert report.failure.message
    assert (tmp_path / "made.txt").exists()


def test_every_session_is_fresh(build: Build, tmp_path: Path) -> None:
    agent = build("done", False)
    first = agent.work(brief_for(PhaseName.RED), tmp_path, unheard)
    (tmp_path / "made.txt").unlink()

    again = agent.work(brief_for(PhaseName.RED), tmp_path, unheard)
    assert replace(again, session=first.session) == first
    assert (tmp_path / "made.txt").exists()


@pytest.mark.parametrize("build", [command_agent, replay_agent, fake_agent])
def test_usage_is_none_where_the_agent_does_not_report_it(build: Build, tmp_path: Path) -> None:
    assert build("done", False).work(brief_for(PhaseName.RED), tmp_path, unheard).usage is None
