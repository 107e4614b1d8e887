"""What can go wrong with the real programs that are agents, one session each, with a model on loopback."""

import os
import re
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from real_programs import environ
from stage import alive_with, wait_for

from agent_setup import setup_with
from model_server import Answer, Asked, ModelServer, Reply, Status, model_server
from program_rows import PROGRAMS, THOROUGH, ProgramRow, programs_folder
from redgreenrefactor.agents.program_agent import ProgramAgent
from redgreenrefactor.agents.table import agent_for
from redgreenrefactor.errors import InterruptedRunError
from redgreenrefactor.model.session import Brief, Report, Role
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.sandbox.process import Interrupt
from repos import MakeRepo, Repo

pytestmark = [pytest.mark.programs]

BRIEF = Brief(
    Role(RoleName.IMPLEMENTING, "", "# Your phase: GREEN"),
    PhaseName.GREEN,
    1,
    1,
    "run-1",
    "Make it pass.",
    "{}",
)
BUSY, BAD_KEY = (
    Status(429, "slow down", "rate_limit_error"),
    Status(401, "invalid x-api-key", "authentication_error"),
)


@dataclass
class Rehearsal:
    """One program in a repository, and what its model says."""

    name: str
    repo: Repo
    home: Path
    server: ModelServer
    interrupt: Interrupt = field(default_factory=Interrupt)
    said: list[str] = field(default_factory=list[str])

    @property
    def row(self) -> ProgramRow:
        return PROGRAMS[self.name]

    def agent(self, **more: Any) -> ProgramAgent:
        found = agent_for(
            self.name,
            setup_with(
                **{
                    "project": self.repo.path,
                    "env": environ(self.name, self.repo, self.home),
                    "model": self.row.model,
                    "url": self.server.url,
                    "session_timeout": 240.0,
                    "home": self.home / "agents",
                    "interrupt": self.interrupt,
                    **more,
                }
            ),
        )
        assert isinstance(found, ProgramAgent)
        return found

    def plays(self, mind: Callable[[Asked], Answer], brief: Brief = BRIEF, **more: Any) -> Report:
        self.server.mind = mind
        return self.agent(**more).work(brief, self.repo.path, self.said.append)


@pytest.fixture(params=THOROUGH)
def rehearsal(request: pytest.FixtureRequest, make_repo: MakeRepo, tmp_path: Path) -> Generator[Rehearsal]:
    programs_folder()
    repo = make_repo(files={"tests/test_a.py": "def test_a() -> None: ...\n", "a.py": "A = 1\n"})
    with model_server(lambda _: Reply("Done.")) as server:
        yield Rehearsal(request.param, repo, tmp_path / "home", server)


def kind(report: Report) -> FindingType | None:
    return report.failure.type if report.failure else None


def test_a_server_that_is_busy_for_good_is_told_as_that(rehearsal: Rehearsal) -> None:
    report = rehearsal.plays(lambda _: BUSY)
    assert kind(report) is FindingType.RATE_LIMITED, (report, rehearsal.said)


def test_one_that_is_busy_once_is_asked_again(rehearsal: Rehearsal) -> None:
    rehearsal.server.troubles[1] = BUSY
    report = rehearsal.plays(lambda _: Reply("Done."), retry_backoff=1.0)
    assert report.session
    assert report.version
    if not rehearsal.row.waits:
        assert kind(report) is FindingType.RATE_LIMITED
    else:
        assert (report.message, report.failure) == ("Done.", None), rehearsal.said


def test_a_refused_key_is_told_as_that(rehearsal: Rehearsal) -> None:
    report = rehearsal.plays(lambda _: BAD_KEY, retry_backoff=1.0)
    assert kind(report) is FindingType.MODEL_UNAVAILABLE, (report, rehearsal.said)


def test_a_session_that_has_used_up_what_was_left_is_ended(rehearsal: Rehearsal) -> None:
    if not rehearsal.row.bills:
        pytest.skip(f"{rehearsal.name} tells what it has used only when its turn is over")
    many = 60
    report = rehearsal.plays(
        lambda asked: Reply("", (rehearsal.row.runs("ls"),)) if asked.said < many else Reply("Done."),
        replace(BRIEF, allowance_usd=0.002),
    )
    assert kind(report) is FindingType.BUDGET_EXCEEDED, (report, rehearsal.said)
    assert len(rehearsal.server.asked) < many / 2


def test_a_test_that_is_locked_stays_and_other_files_are_changed(rehearsal: Rehearsal) -> None:
    root = rehearsal.repo.path

    def mind(asked: Asked) -> Answer:
        changes = ((root / "tests/test_a.py", "x = 1\n"), (root / "b.py", "B = 2\n"))
        return Reply("", (rehearsal.row.writes(*changes[asked.said]),)) if asked.said < 2 else Reply("Done.")

    def locked(_brief: Brief) -> tuple[Path, ...]:
        return (root / "tests",)

    report = rehearsal.plays(mind, locked=locked)

    assert (root / "tests/test_a.py").read_text() == "def test_a() -> None: ...\n"
    if rehearsal.row.goes_on:
        assert report.failure is None, (report, rehearsal.said)
        assert (root / "b.py").read_text() == "B = 2\n", rehearsal.server.asked[-1].results
    else:
        assert report.failure
        assert "it ended its turn when it was refused" in report.failure.message
    assert any("test_a.py" in line or "read-only" in line.lower() for line in report.refused), report
    told = [line for line in rehearsal.said if line.startswith(("Bash", "Edit", "Write"))]
    assert [("test_a.py" in line, "b.py" in line) for line in told] == [(True, False), (False, True)]


def test_what_the_project_says_is_told_once_and_nothing_that_lies_in_a_home(rehearsal: Rehearsal) -> None:
    root, row = rehearsal.repo.path, rehearsal.row
    own = rehearsal.home / "agents" / row.command
    _remember(rehearsal.home / row.memory, rehearsal.home / SKILL, *(own / name for name in row.left))
    (root / "AGENTS.md").write_text("The heron is grey.")

    for guides in ([root / "AGENTS.md"], []):
        del rehearsal.server.asked[:]
        report = rehearsal.plays(lambda _: Reply("Done."), guides=guides)
        assert report.failure is None, (report, rehearsal.said)
        told = [asked.raw.decode() for asked in rehearsal.server.asked]
        assert [text.count("The heron is grey.") for text in told] == [len(guides) + row.reads] * len(told)
        assert not any("kingfisher" in text for text in told)


def test_what_lies_in_the_home_is_told_where_it_is_to_be_inherited(rehearsal: Rehearsal) -> None:
    _remember(rehearsal.home / rehearsal.row.memory)

    report = rehearsal.plays(lambda _: Reply("Done."), inherit=True)

    assert report.failure is None, (report, rehearsal.said)
    assert all(b"kingfisher" in asked.raw for asked in rehearsal.server.asked)


@pytest.mark.parametrize("rehearsal", sorted(PROGRAMS), indirect=True)
@pytest.mark.parametrize("inherit", [False, True])
def test_what_the_settings_of_home_and_project_start_is_started_only_where_they_are_to_be_inherited(
    rehearsal: Rehearsal, inherit: bool
) -> None:
    program, started = rehearsal.home / "birds", rehearsal.home / "started"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch '{started}'\n")
    program.chmod(0o755)
    places = {"HOME": str(rehearsal.home), "PROJECT": str(rehearsal.repo.path), "PROGRAM": str(program)}
    told = re.compile("|".join(places))
    for name, text in rehearsal.row.starts.items():
        place, said = (told.sub(lambda found: places[found[0]], each) for each in (name, text))
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).write_text(said)

    report = rehearsal.plays(lambda _: Reply("Done."), inherit=inherit)

    assert report.failure is None, (report, rehearsal.said)
    assert started.exists() is inherit


SKILL = ".agents/skills/birds/SKILL.md"  # where several programs look for them


def _remember(*places: Path) -> None:
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        said = "The kingfisher is blue."
        place.write_text(f"---\nname: birds\ndescription: {said}\n---\n{said}\n")


def test_sessions_are_gone_on_with_and_forked(rehearsal: Rehearsal) -> None:
    first = rehearsal.plays(lambda _: Reply("The word is heron."))
    assert first.failure is None, first

    def remembers(asked: Asked) -> Answer:
        return Reply(f"heron: {b'The word is heron' in asked.raw}")

    again = replace(BRIEF, task="And now?", strategy="resume", continues=(first.session,))
    resumed = rehearsal.plays(remembers, again)
    assert (resumed.message, resumed.session) == ("heron: True", first.session), str(resumed.failure)
    if "fork" in rehearsal.agent().strategies:
        forked = rehearsal.plays(remembers, replace(again, strategy="fork"))
        assert forked.message == "heron: True", forked
        assert forked.session not in ("", first.session)
    if resumed.usage and resumed.usage.cost_usd and first.usage and first.usage.cost_usd:
        assert resumed.usage.cost_usd < 1.9 * first.usage.cost_usd, "what was paid before is not paid again"


@contextmanager
def in_the_middle_of_a_tool(rehearsal: Rehearsal, then: Callable[[int], None]) -> Generator[str]:
    """Let the model wait in a command for good, and do something as soon as it does."""
    marker = f"RGR_WAITS=for-{os.getpid()}-{rehearsal.name}"
    waiting = f"{marker} python3 -c 'import time; time.sleep(600)'"
    rehearsal.server.mind = lambda _: Reply("", (rehearsal.row.runs(waiting),))

    def strike() -> None:
        wait_for(lambda: alive_with(marker), "a command at work", 200)
        then(alive_with(marker)[0])

    striking = threading.Thread(target=strike)
    striking.start()
    try:
        yield marker
    finally:
        striking.join()


def test_an_interruption_in_the_middle_of_a_tool_leaves_nothing_running(rehearsal: Rehearsal) -> None:
    def strike(_pid: int) -> None:
        rehearsal.interrupt.request("SIGINT")

    with in_the_middle_of_a_tool(rehearsal, strike) as marker:
        with pytest.raises(InterruptedRunError):
            rehearsal.agent().work(BRIEF, rehearsal.repo.path, rehearsal.said.append)
        assert alive_with(marker) == []


def test_a_program_that_is_killed_has_failed_and_leaves_nothing_running(rehearsal: Rehearsal) -> None:
    def strike(pid: int) -> None:
        os.kill(_program_above(pid), signal.SIGKILL)

    with in_the_middle_of_a_tool(rehearsal, strike) as marker:
        report = rehearsal.agent().work(BRIEF, rehearsal.repo.path, rehearsal.said.append)
        assert kind(report) is FindingType.AGENT_FAILURE, report
        assert alive_with(marker) == []


def _program_above(pid: int) -> int:
    """Return the program that our keeper has started, above one of its descendants."""
    while True:
        above = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        if b"from keeper import main" in Path(f"/proc/{above}/cmdline").read_bytes():
            return pid
        assert above > 1, "started by our keeper"
        pid = above
