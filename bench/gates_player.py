"""Plays turns of the corpus for real: git, sealing, suite runs and gates are those of the program."""

import ast
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from gates_corpus import Cycle, Entry, Step

from redgreenrefactor.config import Flags
from redgreenrefactor.errors import InterruptedRunError
from redgreenrefactor.goals.test_list import parse
from redgreenrefactor.languages.sources import tally
from redgreenrefactor.lifecycle.feature import FeatureJob
from redgreenrefactor.lifecycle.project import OpenProject, open_project
from redgreenrefactor.lifecycle.run import NO_LIMITS, Run, equip
from redgreenrefactor.loop.lab import Key, Lab
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model import result
from redgreenrefactor.model.decision import Turn, accepted, opening, rejected
from redgreenrefactor.model.events import Event, Judged, SuiteEnded
from redgreenrefactor.model.evidence import SuiteRun, Trial
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.session import Brief
from redgreenrefactor.model.verdict import (
    Finding,
    FindingType,
    Outcome,
    Ruling,
    Severity,
    TestOutcome,
    Verdict,
    rule,
)
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.testing import FakeAgent

LIST = "test-list.md"
FEATURE = "what the corpus asks for"
RUN_ID = "corpus"
WHEN = 1_767_225_600  # the first second of 2026: the same corpus makes the same commits
TIMESTAMP = "2026-01-01T00:00:00Z"
PATIENCE = 600.0  # seconds for probes: a busy machine must not change a verdict
STEPS = (PhaseName.PLAN, PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)
MESSAGES = {
    PhaseName.PLAN: "plan: {}",
    PhaseName.RED: "test: {}",
    PhaseName.GREEN: "feat: {}",
    PhaseName.REFACTOR: "refactor: tidy up after {}",
}

Known = dict[Key, SuiteRun]


class Grade(StrEnum):
    """How a verdict compares with what the turn deserves."""

    RIGHT = "right"
    FALSE_ACCEPT = "false accept"
    FALSE_BLOCK = "false block"
    OTHER_TYPE = "other type"  # rejected, but called something else
    NO_WARNING = "no warning"
    UNDECIDED = "undecided"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a verdict took, beyond what was known before the turn."""

    suites: int = 0
    singles: int = 0
    cpu: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.suites + other.suites, self.singles + other.singles, self.cpu + other.cpu)


@dataclass(frozen=True, slots=True)
class Played:
    """One entry with the verdict it was given."""

    entry: Entry
    grade: Grade
    got: str
    findings: tuple[Finding, ...] = ()
    cost: Cost = Cost()
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a project's past."""

    files: Mapping[str, str]
    message: str
    phase: PhaseName | None = None  # None: the opening commit
    cycle: int = 0
    case: Case | None = None


def play_all(entries: Sequence[Entry], cache: Path, *, warm: bool = True) -> list[Played]:
    """Play entries one after another; what is known about a tree is not measured again."""
    known: Known = {}
    return [play(entry, cache, known, warm=warm) for entry in entries]


def play(entry: Entry, cache: Path, known: Known, *, warm: bool = True) -> Played:
    """Play one turn in a repository of its own and grade the verdict."""
    folder = Path(tempfile.mkdtemp(prefix="rgr-corpus-"))
    try:
        stage = Stage(entry, folder, cache, known, warm=warm)
        verdict, cost = stage.perform()
        return _graded(entry, verdict, cost)
    except Exception:  # noqa: BLE001 - one entry that cannot be played must not hide the others
        return Played(entry, Grade.CRASHED, "an exception", trouble=traceback.format_exc())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _graded(entry: Entry, verdict: Verdict, cost: Cost) -> Played:
    gravest = verdict.gravest
    got = str(gravest.type) if gravest else str(verdict.ruling)
    if verdict.outcome:
        got += f" ({verdict.outcome})"
    return Played(entry, _grade(entry, verdict), got, verdict.findings, cost)


def _grade(entry: Entry, verdict: Verdict) -> Grade:
    if verdict.ruling is Ruling.UNDECIDED:
        return Grade.RIGHT if FindingType.UNDECIDED in entry.expect else Grade.UNDECIDED
    if entry.honest:
        if verdict.ruling is Ruling.REJECTED or (entry.outcome or None) != verdict.outcome:
            return Grade.FALSE_BLOCK
        warned = {item.type for item in verdict.findings if item.severity is Severity.WARNING}
        return Grade.NO_WARNING if entry.warns and entry.warns not in warned else Grade.RIGHT
    if verdict.ruling is Ruling.ACCEPTED:
        return Grade.FALSE_ACCEPT
    caught = verdict.gravest and verdict.gravest.type in entry.expect
    named = set(entry.also) <= {item.type for item in verdict.findings}
    return Grade.RIGHT if caught and named else Grade.OTHER_TYPE


# --- the past


def past(entry: Entry) -> list[Commit]:
    """Return the commits a turn starts from: the opening one, the cycles done, the steps of the one that is due."""
    commits = [Commit(_opening_files(entry), "chore: start")]
    project = entry.project
    for number, cycle in enumerate(() if entry.at_start else (*project.cycles, project.next), 1):
        due = number > len(project.cycles)
        steps = STEPS[: STEPS.index(entry.phase)] if due and entry.phase is not PhaseName.PLAN else STEPS
        for phase in steps:
            files = _step_of(entry, cycle, number, phase).applied(commits[-1].files)
            message = MESSAGES[phase].format(cycle.case.description)
            commits.append(Commit(files, message, phase, number, cycle.case))
    if entry.plan is not None:
        commits[-1] = replace(commits[-1], files={**commits[-1].files, LIST: entry.plan})
    return commits


def _opening_files(entry: Entry) -> dict[str, str]:
    settings = "".join(f"{key} = {value}\n" for key, value in entry.settings.items())
    ours = entry.project.files.get("tdd.properties", "") + settings
    return {**entry.project.files, **({"tdd.properties": ours} if ours else {})}


def _step_of(entry: Entry, cycle: Cycle, number: int, phase: PhaseName) -> Step:
    match phase:
        case PhaseName.RED:
            return cycle.red
        case PhaseName.GREEN:
            return cycle.green
        case PhaseName.REFACTOR:
            return cycle.refactor
        case _:
            return Step(write={LIST: list_of(entry, number)})


def list_of(entry: Entry, number: int) -> str:
    """Return the list as the PLAN of this cycle leaves it."""
    project = entry.project
    texts = [cycle.case.description for cycle in (*project.cycles, project.next)]
    boxes = [f"- [{'x' if place < number else ' '}] {text}" for place, text in enumerate(texts, 1)]
    return "\n".join(["# Test list", "", *boxes, *(f"- [ ] {text}" for text in project.later), ""])


def _stream(commits: Sequence[Commit]) -> bytes:
    """Return the commits as fast-import reads them."""
    lines: list[bytes] = []
    for number, commit in enumerate(commits, 1):
        message = commit.message.encode()
        lines += [
            b"commit refs/heads/main",
            b"mark :%d" % number,
            b"committer Ada <ada@localhost> %d +0000" % (WHEN + number),
            b"data %d\n%s" % (len(message), message),
            b"deleteall",
        ]
        for path, text in commit.files.items():
            lines += [
                b"M 100644 inline " + path.encode(),
                b"data %d\n%s" % (len(text.encode()), text.encode()),
            ]
    return b"\n".join([*lines, b"done", b""])


# --- the present


@dataclass
class Stage:
    """A repository with a past, in which one turn is played."""

    entry: Entry
    folder: Path
    cache: Path  # of all entries: the byte code of what is installed is the same for all
    known: Known
    warm: bool = True  # whether probes are forks, where they can be
    events: list[Event] = field(default_factory=list[Event])

    @property
    def project(self) -> Path:
        """Where the session works."""
        return self.folder / "project"

    @property
    def environ(self) -> dict[str, str]:
        """An environment with nobody's settings, in which `python` and `pytest` are ours."""
        return {
            "TDD_SANDBOX": os.environ.get("TDD_SANDBOX", "off"),  # gates are to hold without one, too
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "HOME": str(self.folder / "home"),
            "XDG_CACHE_HOME": str(self.cache),
            "LANG": "C.UTF-8",
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
            "GIT_CONFIG_NOSYSTEM": "1",
            "TDD_TRUST": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # plug-ins of our own development are not the projects'
            "TDD_AGENT": "command:true",
        }

    def perform(self) -> tuple[Verdict, Cost]:
        """Return the verdict on the turn and what it took."""
        commits = past(self.entry)
        oids = self._made(commits)
        around = Surroundings(self.project, self.environ, Flags(), self.events.append, Interrupt())
        with closing(around.interrupt), open_project(around) as project:
            try:
                return self._judged(project, commits, oids)
            finally:
                shutil.rmtree(project.repository.cache, ignore_errors=True)

    def _judged(
        self, project: OpenProject, commits: Sequence[Commit], oids: Sequence[str]
    ) -> tuple[Verdict, Cost]:
        job = FeatureJob(project, FEATURE)
        usual = equip(project, job)
        emit, clock = usual.sessions.emit, usual.sessions.clock
        patience = float(self.entry.settings.get("probe.budget", PATIENCE))
        lab = Lab(project.workspace, usual.suite, emit, clock, patience, warm=self.warm, _known=self.known)
        start = self._noted(project, lab, commits, oids)
        agents = {phase.name: FakeAgent(self._session) for phase in TDD.phases}
        own = replace(usual, lab=lab, sessions=replace(usual.sessions, agents=agents))
        engine = replace(Run(project, job, own).engine(oids[0]), pause=_stop, now=lambda: TIMESTAMP)
        self.events.clear()
        before = _cpu()
        with closing(usual):
            engine.run(start, NO_LIMITS)
        return self._told(_cpu() - before)

    def _made(self, commits: Sequence[Commit]) -> list[str]:
        """Make the repository and return its commits, the oldest first."""
        self.project.mkdir(parents=True)
        home = Path(self.environ["HOME"])
        home.mkdir()
        (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@localhost\n")
        self._git("init", "-q", "-b", "main")
        self._git("fast-import", "--quiet", "--done", stdin=_stream(commits))
        self._git("reset", "-q", "--hard")
        for command in self.entry.before:
            self._shell(command)
        return self._git("rev-list", "--reverse", "main").split()

    def _noted(
        self, project: OpenProject, lab: Lab, commits: Sequence[Commit], oids: Sequence[str]
    ) -> result.Entry:
        """Write the notes of the past, and return the handoff the turn starts from."""
        if self.entry.phase is not PhaseName.PLAN:
            lab.answer(Trial(oids[0], keeps=True))  # as a run does before it begins
        previous = None
        if self.entry.previous:
            previous = Handoff(
                PhaseName.PLAN, PhaseName.COMPLETE, run_id="earlier", completed_tests=self.entry.previous
            )
        handoff = opening(RUN_ID, FEATURE, TIMESTAMP, project.plan(oids[0]), previous)
        notes = {oids[0]: handoff}
        for index, (commit, oid) in enumerate(zip(commits, oids, strict=True)):
            if commit.phase is not None:
                plan = parse(commit.files[LIST])
                turn = Turn(TDD.phase(commit.phase), commit.cycle, 1, plan, TIMESTAMP)
                verdict = self._verdict_then(lab, commit, oids[index - 1], oid)
                handoff = replace(accepted(handoff, turn, verdict), agent="corpus")
                notes[oid] = handoff
        if self.entry.again:
            due = TDD.phase(handoff.next_phase)
            turn = Turn(due, max(handoff.cycle_number, 1), 1, project.plan(oids[-1]), TIMESTAMP)
            why = Finding(self.entry.again, "the attempt before this one")
            handoff = notes[oids[-1]] = rejected(
                handoff, turn, rule(why), retries=project.settings.max_retries
            )
        project.ledger.write(notes)
        if (
            self.entry.phase is not PhaseName.PLAN
        ):  # by now a run would have measured these, in its own checkout
            project.workspace.checkout(oids[-1], {})
            lab.answer(Trial(oids[-1]))
        return result.Entry(oids[-1], handoff)

    def _verdict_then(self, lab: Lab, commit: Commit, before: str, oid: str) -> Verdict:
        """Return the verdict with which a step of the past was accepted."""
        if commit.phase is PhaseName.PLAN:
            return Verdict(Ruling.ACCEPTED, case=commit.case)
        facts = Facts(evidence="per-test")
        red = commit.phase is PhaseName.RED
        if red and self.entry.phase is not PhaseName.PLAN:
            added = _added(lab.answer(Trial(before)), lab.answer(Trial(oid)), commit)
            facts = replace(facts, tests=tuple(added))
        warned = red and self.entry.warned and commit.case == self.entry.project.next.case
        failing = red and not warned
        return Verdict(
            Ruling.ACCEPTED,
            test_result=TestOutcome.FAIL if failing else TestOutcome.PASS,
            outcome=Outcome.WARNED if warned else None,
            facts=facts,
        )

    def _session(self, brief: Brief, folder: Path) -> str:
        """Do what the entry says; whatever would come after it does not take place."""
        if any(isinstance(event, Judged) for event in self.events):
            _stop(0)
        entry = self.entry
        files = {
            path: (folder / path).read_text()
            for path in {*entry.turn.append, *entry.turn.replace, *entry.turn.delete}
            if (folder / path).exists()
        }
        after = entry.turn.applied(files)
        for path in entry.turn.delete:
            (folder / path).unlink()
        for path, text in after.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        for command in entry.run:
            self._shell(command)
        message = self._message(brief) if entry.commit is None else entry.commit
        if message:
            self._git("add", "--all")
            self._git("commit", "-q", "--allow-empty", "-m", message)
        return entry.say

    def _message(self, brief: Brief) -> str:
        what = (
            "update the list" if brief.phase is PhaseName.PLAN else self.entry.project.next.case.description
        )
        return MESSAGES[brief.phase].format(what)

    def _told(self, cpu: float) -> tuple[Verdict, Cost]:
        verdict = next(event.verdict for event in self.events if isinstance(event, Judged))
        purposes = [event.purpose for event in self.events if isinstance(event, SuiteEnded)]
        suites = purposes.count("suite")
        return verdict, Cost(suites, len(purposes) - suites, cpu)

    def _git(self, *args: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.project, env=self.environ, input=stdin, capture_output=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"git {' '.join(args)}: {done.stderr.decode()}")
        return done.stdout.decode().strip()

    def _shell(self, command: str) -> None:
        done = subprocess.run(
            ["sh", "-ec", command], cwd=self.project, env=self.environ, capture_output=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stderr.decode()}")


def _stop(_seconds: float) -> None:
    raise InterruptedRunError("one turn is all")


def _added(before: SuiteRun, after: SuiteRun, commit: Commit) -> list[str]:
    """Return the ids of the tests a RED of the past added, those of a file that does not collect yet by name."""
    fresh = [name for name in after.results if name not in before.results]
    case = commit.case
    if fresh or case is None:
        return fresh
    text = commit.files.get(case.test_file, "")
    if not case.test_file.endswith(".py"):
        return [f"{case.test_file}::{block.name}" for block in tally(case.test_file, text).blocks[-1:]]
    return [f"{case.test_file}::{name}" for name in _test_names(text)]


def _test_names(text: str) -> Iterator[str]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name.startswith("test"):
                    yield f"{node.name}::{item.name}"


def _cpu() -> float:
    """Return the processor time of this process and of those it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in used)
