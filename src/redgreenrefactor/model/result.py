"""What a whole run came to, told from its handoffs alone."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from redgreenrefactor.model.codec import written
from redgreenrefactor.model.decision import accepted_with, cycle_of
from redgreenrefactor.model.handoff import NOTHING_USED, ErrorDetails, Expense, Handoff, State
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Outcome, Severity
from redgreenrefactor.model.workflow import PhaseName


@frozen
class Entry:
    """A handoff and the commit that carries it."""

    commit: str
    handoff: Handoff

    @property
    def is_attempt(self) -> bool:
        """Whether this is a rejected attempt's note; the opening note looks alike but belongs to no cycle."""
        note = self.handoff
        return note.error is not None and note.phase is note.next_phase and note.cycle_number > 0


@frozen
class AtWork:
    """An orchestrator that is at work in a checkout right now."""

    process: str  # its number
    since: str  # as notes spell the time


class RunStatus(StrEnum):
    """How an invocation ended."""

    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


@frozen
class CycleCommits:
    """The commits of one cycle; covered cases have no green and no refactor."""

    plan: str | None = None
    red: str | None = None
    green: str | None = None
    refactor: str | None = None


@frozen
class CycleResult:
    """What became of one case."""

    cycle_number: int
    test: str | None
    outcome: str  # done, covered, failed, unfinished
    commits: CycleCommits
    retries: int
    seconds: float
    usage: Usage | None


@frozen
class WorkflowResult:
    """What became of a run."""

    run_id: str
    feature: str
    status: RunStatus
    cycles: tuple[CycleResult, ...]
    error: str | None
    error_details: ErrorDetails | None
    usage: Usage | None
    seconds: float
    head: str
    open_cases: tuple[str, ...] = ()  # the next ones first; a very long list is only counted
    open_count: int = 0
    warnings: int = 0  # of accepted phases
    worked: float = 0.0  # seconds that the turns of the whole run took, rejected ones included

    @property
    def cost_per_test(self) -> float | None:
        """What an accepted test has cost, rejected attempts included; None where nobody knows, or none was."""
        accepted = sum(cycle.outcome in ("done", "covered") for cycle in self.cycles)
        cost = self.usage.cost_usd if self.usage else None
        return None if cost is None or not accepted else cost / accepted

    def to_json(self) -> dict[str, Any]:
        """Return the value `rgr run --json` prints."""
        body = written(self)
        for key in ("openCases", "openCount", "warnings", "worked", "seconds", "head"):
            del body[key]
        cost = {} if self.cost_per_test is None else {"costPerTestUsd": self.cost_per_test}
        return {**body, **cost, "seconds": round(self.seconds, 3), "head": self.head}


def result_of(history: Sequence[Entry], status: RunStatus, seconds: float) -> WorkflowResult:
    """Return the result of the run whose handoffs these are, newest first, never empty."""
    latest = history[0].handoff
    own = [entry for entry in reversed(history) if entry.handoff.carried_from is None]
    numbers = sorted({entry.handoff.cycle_number for entry in own} - {0})
    cycles = [
        _cycle_result([e for e in own if e.handoff.cycle_number == number], latest) for number in numbers
    ]
    failed = status is not RunStatus.COMPLETE
    return WorkflowResult(
        run_id=latest.run_id,
        feature=latest.feature,
        status=status,
        cycles=tuple(cycle for cycle in cycles if cycle is not None),
        error=latest.error if failed else None,
        error_details=latest.error_details if failed else None,
        usage=(spent := expense_of(history)).usage,
        seconds=seconds,
        head=history[0].commit,
        open_cases=(open_cases := _open_cases(latest)),
        open_count=len(open_cases) + latest.cases_open - len(latest.pending_tests),
        warnings=sum(_warnings(entry.handoff) for entry in own),
        worked=spent.seconds,
    )


def _open_cases(handoff: Handoff) -> tuple[str, ...]:
    """Return what is not done yet, the case in work first."""
    case = handoff.current_test
    in_work = handoff.next_phase in (PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)
    return (*([case.description] if case and in_work else []), *handoff.pending_tests)


def _warnings(handoff: Handoff) -> int:
    """Return how many warnings an accepted phase has."""
    return sum(finding.severity is Severity.WARNING for finding in accepted_with(handoff))


def _cycle_result(entries: Sequence[Entry], latest: Handoff) -> CycleResult | None:
    """Return what became of one cycle; the last PLAN, which opens none, is no cycle."""
    commits = {entry.handoff.phase: entry.commit for entry in entries}
    last = entries[-1].handoff
    if last.next_phase is PhaseName.COMPLETE:
        return None
    if last.outcome is Outcome.COVERED:
        outcome = "covered"
    elif last.phase is PhaseName.REFACTOR:
        outcome = "done"
    elif latest.state is State.ABORTED and latest.cycle_number == last.cycle_number:
        outcome = "failed"
    else:
        outcome = "unfinished"
    still_due = cycle_of(latest) == last.cycle_number
    notes = [entry.handoff for entry in entries]
    spent = sum((note.expense for note in notes), latest.due_expense if still_due else NOTHING_USED)
    return CycleResult(
        cycle_number=last.cycle_number,
        test=last.current_test.description if last.current_test else None,
        outcome=outcome,
        commits=CycleCommits(
            plan=commits.get(PhaseName.PLAN),
            red=commits.get(PhaseName.RED),
            green=commits.get(PhaseName.GREEN),
            refactor=commits.get(PhaseName.REFACTOR),
        ),
        retries=sum(note.retries or 0 for note in notes) + (_retries_due(latest) if still_due else 0),
        seconds=spent.seconds,
        usage=spent.usage,
    )


def expense_of(history: Iterable[Entry]) -> Expense:
    """Return what a run has used whose handoffs these are, newest first: what was rejected or rolled back, too."""
    notes = [entry.handoff for entry in history]
    due = [notes[0].due_expense, notes[0].lost_expense] if notes else []
    return sum([*(note.expense for note in notes if note.carried_from is None), *due], NOTHING_USED)


def _retries_due(latest: Handoff) -> int:
    """Return the retries of the phase that is due: one for each rejection, but none follows the last."""
    rejections = latest.attempts if latest.error is not None else 0
    return max(0, rejections - (latest.state is State.ABORTED))
