"""Judging a finished workflow again, from its commits and notes alone."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.gates.proof import belongs
from redgreenrefactor.lab import Lab
from redgreenrefactor.model.evidence import Measure, SuiteRun, TestId, Trial
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.verdict import Outcome, TestOutcome
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.repository.ledger import GitLedger
from redgreenrefactor.repository.repository import Repository, open_repository
from redgreenrefactor.repository.workspace import GitWorkspace
from redgreenrefactor.wiring import Surroundings, lab_of, settings_of, suite_of

PHASES = (PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)


@dataclass(frozen=True, slots=True)
class Checked:
    """One commit, measured again."""

    commit: str
    result: TestOutcome
    ok: bool

    def to_json(self) -> dict[str, Any]:
        """Return it as `rgr verify --json` prints it."""
        return {"commit": self.commit, "result": str(self.result), "ok": self.ok}


@dataclass(frozen=True, slots=True)
class CheckedCycle:
    """One cycle, measured again: what its test does at each of its commits."""

    cycle_number: int
    test: str | None
    phases: Mapping[PhaseName, Checked]
    findings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether everything is as the notes say."""
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        """Return it as `rgr verify --json` prints it."""
        phases = {
            phase.lower(): self.phases[phase].to_json() if phase in self.phases else None for phase in PHASES
        }
        return {"cycleNumber": self.cycle_number, **phases, "ok": self.ok, "findings": list(self.findings)}


def verify(around: Surroundings, span: str | None) -> list[CheckedCycle]:
    """Run every cycle's test at its commits, each in a clean checkout; no handoff is a NotReadyError."""
    with _opened(around) as (repository, lab):
        ledger = GitLedger(repository.git, repository.objects)
        entries = [entry for entry in ledger.history() if entry.handoff.carried_from is None]
        if not entries:
            raise NotReadyError(
                "there is no handoff here to verify",
                hint="Fetch the notes: git fetch origin 'refs/notes/*:refs/notes/*'; or type 'rgr run …' first.",
                type="NothingToVerify",
            )
        legacy = lab.answer(Trial(entries[-1].commit))
        wanted = _commits(repository, span)
        numbers = sorted({entry.handoff.cycle_number for entry in entries} - {0})
        cycles = [[e for e in reversed(entries) if e.handoff.cycle_number == number] for number in numbers]
        return [_checked(lab, legacy, cycle) for cycle in cycles if _asked_for(cycle, wanted)]


@contextmanager
def _opened(around: Surroundings) -> Generator[tuple[Repository, Lab]]:
    repository = open_repository(around.project, around.environ)
    try:
        workspace = GitWorkspace(repository)
        settings = settings_of(repository, around)
        suite = suite_of(repository, settings, around, workspace.compiled)
        yield repository, lab_of(workspace, suite, settings, around)
    finally:
        repository.close()


def _commits(repository: Repository, span: str | None) -> frozenset[str] | None:
    """Return the commits of a range, None for all."""
    if span is None:
        return None
    listed = repository.git.attempt("rev-list", span, "--")
    if listed.exit_code != 0:
        raise UsageError(
            f"{span!r} is no range of commits", hint="Name one as git log does, e.g. main..HEAD."
        )
    return frozenset(listed.stdout.decode().split())


def _asked_for(cycle: Sequence[Entry], wanted: frozenset[str] | None) -> bool:
    worked = any(entry.handoff.phase in PHASES for entry in cycle)
    return worked and (wanted is None or any(entry.commit in wanted for entry in cycle))


def _checked(lab: Lab, legacy: SuiteRun, cycle: Sequence[Entry]) -> CheckedCycle:
    phases: dict[PhaseName, Checked] = {}
    findings: list[str] = []
    red = next((entry for entry in cycle if entry.handoff.phase is PhaseName.RED), None)
    tests = _tests(red)
    for entry in cycle:
        phase = entry.handoff.phase
        if phase not in PHASES:
            continue
        result = _measured(lab, legacy, entry, tests)
        expected = _expected(entry)
        phases[phase] = Checked(entry.commit, result, result is expected)
        if result is not expected:
            findings.append(f"{phase} {entry.commit[:10]}: the test should {expected}, but it does {result}")
    case = cycle[-1].handoff.current_test
    return CheckedCycle(
        cycle[-1].handoff.cycle_number, case.description if case else None, phases, tuple(findings)
    )


def _expected(entry: Entry) -> TestOutcome:
    let_pass = entry.handoff.outcome in (Outcome.COVERED, Outcome.WARNED)
    return TestOutcome.FAIL if entry.handoff.phase is PhaseName.RED and not let_pass else TestOutcome.PASS


def _tests(red: Entry | None) -> tuple[TestId, ...]:
    noted = cast("list[Any]", red.handoff.extra.get("tests") or []) if red else []
    return tuple(name for name in noted if isinstance(name, str))


def _measured(lab: Lab, legacy: SuiteRun, entry: Entry, tests: tuple[TestId, ...]) -> TestOutcome:
    """Return what a cycle's test does at a commit; one that goes by another name now is part of the whole suite."""
    run = lab.answer(Trial(entry.commit, tests=tests))
    if run.measure is Measure.EXIT_CODE:
        return TestOutcome.PASS if run.green else TestOutcome.FAIL
    found = [r for r in run.results.values() if any(belongs(r.id, name) for name in tests)]
    if found or run.errors or entry.handoff.phase is PhaseName.RED:
        passed = bool(found) and run.finished and not run.errors and all(result.passed for result in found)
        return TestOutcome.PASS if passed else TestOutcome.FAIL
    whole = lab.answer(Trial(entry.commit))
    broken = [r for r in whole.results.values() if not r.passed and r.id not in legacy.results]
    return TestOutcome.PASS if whole.finished and not whole.errors and not broken else TestOutcome.FAIL


def verified_text(cycles: Sequence[CheckedCycle], project: Path) -> str:
    """Return what was found, for people."""
    lines = [f"verified {len(cycles)} cycles of {project.name}"]
    for cycle in cycles:
        steps = ", ".join(f"{phase} {checked.result}" for phase, checked in cycle.phases.items())
        lines.append(
            f"  {cycle.cycle_number:>3}  {'ok ' if cycle.ok else 'NOT'}  {cycle.test or ''}  ({steps})"
        )
        lines += [f"         {finding}" for finding in cycle.findings]
    good = sum(cycle.ok for cycle in cycles)
    lines.append(f"{good} of {len(cycles)} cycles hold")
    return "\n".join(lines)
