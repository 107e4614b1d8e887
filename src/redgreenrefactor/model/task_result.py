"""What became of a task: everything in it was measured, and stands in the notes of its run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from redgreenrefactor.model.codec import written
from redgreenrefactor.model.facts import NO_FACTS, Facts
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, State
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Severity
from redgreenrefactor.model.workflow import PhaseName

PHASES = (PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)
_FAILING = (FindingType.TEST_FAILURE, FindingType.LEGACY_BROKEN, FindingType.COMPILATION_ERROR)


class TaskFileStatus(StrEnum):
    """How a task ended."""

    COMPLETE = "complete"
    BLOCKED = "blocked"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


EXIT_CODES = {
    TaskFileStatus.COMPLETE: 0,
    TaskFileStatus.FAILED: 1,
    TaskFileStatus.BLOCKED: 3,
    TaskFileStatus.STOPPED: 4,
    TaskFileStatus.INTERRUPTED: 130,
}


@frozen
class TaskPhase:
    """What became of one phase."""

    name: PhaseName
    done: bool
    commit: str | None = None
    attempts: int = 0
    earlier: int = 0  # attempts before the task was gone on with, with a fresh set of tries
    passed: int | None = None
    total: int | None = None
    coverage: float | None = None
    seconds: float = 0.0
    measured: bool = False
    facts: Facts = NO_FACTS
    findings: tuple[Finding, ...] = ()


@frozen
class Deduction:
    """Points taken off, and why."""

    points: int
    why: str


@frozen
class TaskFileResult:
    """What became of a task."""

    task: Task
    status: TaskFileStatus
    phases: tuple[TaskPhase, ...] = ()
    run_id: str = ""
    session: str = ""
    files: tuple[str, ...] = ()
    summary: str | None = None  # where it was written, from the project's folder
    error: str | None = None
    error_details: ErrorDetails | None = None
    hint: str = ""
    phase: PhaseName | None = None  # where it ended, if it did not complete
    already: bool = False  # it was complete before this invocation

    @property
    def last(self) -> TaskPhase | None:
        """The last phase of which something was measured."""
        return next((phase for phase in reversed(self.phases) if phase.measured), None)

    @property
    def iterations(self) -> int:
        """How many tries Green took."""
        green = self.of(PhaseName.GREEN)
        return green.attempts if green else 0

    @property
    def max_iterations(self) -> int:
        """How many tries Green may take in all: each time the task is gone on with, it has as many again."""
        green = self.of(PhaseName.GREEN)
        return self.task.max_iterations + (green.earlier if green else 0)

    @property
    def lacks_passing_tests(self) -> bool:
        """Whether it ended for tests that fail, and not for a criterion, the coverage or something else."""
        last = self.phases[-1] if self.phases else None
        unmet = last.facts.unmet if last else ()
        return not unmet and self.error_details is not None and self.error_details.type in _FAILING

    @property
    def coverage(self) -> float | None:
        """How much of the code the tests reach, per cent, as measured last."""
        return next((phase.coverage for phase in reversed(self.phases) if phase.coverage is not None), None)

    @property
    def coverage_note(self) -> str:
        """Why there is no figure."""
        if self.task.coverage_min is None:
            return "none expected"
        figures = [phase.facts.coverage for phase in self.phases if phase.facts.coverage]
        return (figures[-1].why if figures else "") or "not measured"

    @property
    def passed(self) -> int | None:
        """Tests that passed in the last run."""
        return self.last.passed if self.last else None

    @property
    def total(self) -> int | None:
        """Tests of the last run."""
        return self.last.total if self.last else None

    @property
    def pass_rate(self) -> float | None:
        """How many of them passed, per cent."""
        return round(100 * (self.passed or 0) / self.total, 1) if self.total else None

    @property
    def exit_code(self) -> int:
        """What the program ends with."""
        return EXIT_CODES[self.status]

    @property
    def deductions(self) -> tuple[Deduction, ...]:
        """What was not as the discipline wants it."""
        return tuple(_deductions(self))

    @property
    def compliance(self) -> int:
        """How well the work kept to the discipline, 0 to 100."""
        return max(0, 100 - sum(item.points for item in self.deductions))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was noticed and stopped nothing."""
        found = [f for phase in self.phases if phase.done for f in phase.findings]
        return tuple(f.message for f in found if f.severity is Severity.WARNING)

    def of(self, name: PhaseName) -> TaskPhase | None:
        """Return what became of that phase."""
        return next((phase for phase in self.phases if phase.name is name), None)

    def to_json(self) -> dict[str, Any]:
        """Return the value `rgr task --json` prints."""
        return {
            "taskId": self.task.id,
            "status": str(self.status),
            "phases": [_phase_to_json(phase) for phase in self.phases],
            "tests": {"passed": self.passed, "total": self.total},
            "coverage": self.coverage,
            "iterations": self.iterations,
            "files": list(self.files),
            "summary": self.summary,
            "title": self.task.title,
            "session": self.session,
            "runId": self.run_id,
            "maxIterations": self.max_iterations,
            "expectedCoverage": self.task.expected_coverage or None,
            "compliance": {
                "score": self.compliance,
                "deductions": written(self.deductions),
            },
            "warnings": list(self.warnings),
            "error": self.error,
            "errorDetails": written(self.error_details),
            "hint": self.hint or None,
        }


def _phase_to_json(phase: TaskPhase) -> dict[str, Any]:
    return {
        "phase": str(phase.name),
        "done": phase.done,
        "commit": phase.commit,
        "attempts": phase.attempts,
        "tests": {"passed": phase.passed, "total": phase.total},
        "coverage": phase.coverage,
        "seconds": phase.seconds,
    }


def phases_of(history: Sequence[Entry], attempts: Sequence[Entry]) -> tuple[TaskPhase, ...]:
    """Return the phases of a run from its handoffs, newest first, and its rejected attempts, oldest first."""
    found: list[TaskPhase] = []
    for entry in reversed(history):
        handoff = entry.handoff
        if handoff.cycle_number and handoff.carried_from is None:
            # The count in the note itself tells of the next phase, once one of its tries was rejected.
            tries = handoff.attempts if handoff.retries is None else handoff.retries + 1
            phase = TaskPhase(handoff.phase, done=True, commit=entry.commit, attempts=tries)
            found.append(_told(replace(phase, earlier=handoff.earlier_attempts or 0), handoff))
    latest = history[0].handoff if history else None
    if latest is not None and latest.error is not None:
        # The last try may have made no commit, or been measured in vain: another one's figures are not its own.
        tried = [e.handoff for e in attempts if e.handoff.phase is latest.next_phase]
        last = next((handoff for handoff in reversed(tried) if handoff.error == latest.error), latest)
        used = latest.retry_count + (latest.state is State.ABORTED)
        phase = TaskPhase(latest.next_phase, done=False, attempts=latest.attempts)
        found.append(_told(replace(phase, earlier=max(0, latest.attempts - used)), last))
    return tuple(found)


def _told(phase: TaskPhase, handoff: Handoff) -> TaskPhase:
    """Return the phase with what a handoff tells of it."""
    suite, coverage = handoff.facts.suite, handoff.facts.coverage
    return replace(
        phase,
        passed=suite.passed if suite else None,
        total=suite.total if suite else None,
        coverage=coverage.percent if coverage else None,
        seconds=handoff.seconds or 0.0,
        measured=phase.done or suite is not None,
        facts=handoff.facts,
        findings=handoff.findings,
    )


# --- compliance


def _deductions(result: TaskFileResult) -> Iterator[Deduction]:
    wanted = PHASES if result.task.tdd else (PhaseName.CODE,)
    for name in wanted:
        phase = result.of(name)
        if phase is None or not phase.done:
            yield Deduction(30 if result.task.tdd else 100, f"{name} was not completed")
        if phase is not None:
            yield from _of_phase(phase, result.task)


def _of_phase(phase: TaskPhase, task: Task) -> Iterator[Deduction]:
    more = phase.attempts - 1
    if more > 0:
        yield Deduction(5 * more, f"{phase.name} took {phase.attempts} tries")
    if not phase.done:
        return
    if phase.facts.evidence == "exit-code":
        yield Deduction(5, f"{phase.name} could be judged by its exit code only")
    kinds = {finding.type for finding in phase.findings if finding.severity is Severity.WARNING}
    if FindingType.UNEXPECTED_PASS in kinds:
        yield Deduction(15, "tests passed before any code was written")
    if FindingType.TOO_MANY_TESTS in kinds:
        yield Deduction(5, "more tests were written than cases were named")
    if task.coverage_min is not None and phase.name is PhaseName.GREEN and phase.coverage is None:
        yield Deduction(10, "the expected coverage could not be compared")
    ways = phase.facts.complexity
    if ways and ways.before is not None and (ways.after or 0) > ways.before:
        yield Deduction(5, "the code is more complicated after Refactor than before")
