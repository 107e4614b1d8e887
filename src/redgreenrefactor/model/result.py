"""What a whole run came to, told from its handoffs alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from redgreenrefactor.model.decision import ROLLED_BACK, cycle_of
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, State
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.verdict import Outcome, Severity
from redgreenrefactor.model.workflow import PhaseName


@dataclass(frozen=True, slots=True)
class Entry:
    """A handoff and the commit that carries it."""

    commit: str
    handoff: Handoff


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class CycleCommits:
    """The commits of one cycle; covered cases have no green and no refactor."""

    plan: str | None = None
    red: str | None = None
    green: str | None = None
    refactor: str | None = None


@dataclass(frozen=True, slots=True)
class CycleResult:
    """What became of one case."""

    cycle_number: int
    test: str | None
    outcome: str  # done, covered, failed, unfinished
    commits: CycleCommits
    retries: int
    seconds: float
    usage: Usage | None


@dataclass(frozen=True, slots=True)
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

    @property
    def cost_per_test(self) -> float | None:
        """What an accepted test has cost, rejected attempts included; None where nobody knows, or none was."""
        accepted = sum(cycle.outcome in ("done", "covered") for cycle in self.cycles)
        cost = self.usage.cost_usd if self.usage else None
        return None if cost is None or not accepted else cost / accepted

    def to_json(self) -> dict[str, Any]:
        """Return the value `rgr run --json` prints."""
        return {
            "runId": self.run_id,
            "feature": self.feature,
            "status": str(self.status),
            "cycles": [_cycle_to_json(cycle) for cycle in self.cycles],
            "error": self.error,
            "errorDetails": None
            if self.error_details is None
            else {"type": self.error_details.type, "message": self.error_details.message},
            "usage": usage_to_json(self.usage),
            **({} if self.cost_per_test is None else {"costPerTestUsd": self.cost_per_test}),
            "seconds": round(self.seconds, 3),
            "head": self.head,
        }


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
        usage=total_usage([*(entry.handoff.extra for entry in own), due_of(latest), rolled_back_of(latest)]),
        seconds=seconds,
        head=history[0].commit,
        open_cases=(open_cases := _open_cases(latest)),
        open_count=len(open_cases) + latest.pending_count - len(latest.pending_tests),
        warnings=sum(_warnings(entry.handoff) for entry in own),
    )


def _open_cases(handoff: Handoff) -> tuple[str, ...]:
    """Return what is not done yet, the case in work first."""
    case = handoff.current_test
    in_work = handoff.next_phase in (PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)
    return (*([case.description] if case and in_work else []), *handoff.pending_tests)


def _warnings(handoff: Handoff) -> int:
    """Return how many warnings an accepted phase has; after a rejection the findings are not its own."""
    found = handoff.findings if handoff.error is None else ()
    return sum(finding.severity is Severity.WARNING for finding in found)


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
    spent = [entry.handoff.extra for entry in entries] + [due_of(latest)] * still_due
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
        retries=sum(number_of(extra.get("retries")) for extra in spent)
        + (_retries_due(latest) if still_due else 0),
        seconds=round(sum(seconds_of(extra) for extra in spent), 3),
        usage=total_usage(spent),
    )


def due_of(handoff: Handoff) -> Mapping[str, Any]:
    """Return what the sessions at the phase that is due have used so far, rejected and interrupted ones."""
    return mapping_of(handoff.extra, "due")


def rolled_back_of(handoff: Handoff) -> Mapping[str, Any]:
    """Return what the turns have used that were rolled back on the way to this handoff."""
    return mapping_of(handoff.extra, ROLLED_BACK)


def mapping_of(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object that stands at a key, nothing if it is none."""
    found: Any = body.get(key)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def due_with(handoff: Handoff, usage: Usage | None, seconds: float) -> dict[str, Any]:
    """Return what the attempts at the due phase have used with one more session."""
    earlier = due_of(handoff)
    return {
        "usage": usage_to_json(total_usage([earlier, {"usage": usage_to_json(usage)}])),
        "seconds": round(seconds + seconds_of(earlier), 3),
    }


def _retries_due(latest: Handoff) -> int:
    """Return the retries of the phase that is due: one for each rejection, but none follows the last."""
    rejections = latest.attempts if latest.error is not None else 0
    return max(0, rejections - (latest.state is State.ABORTED))


def number_of(value: Any) -> int:
    """Return the whole number a note holds, 0 if it is none."""
    return value if isinstance(value, int) else 0


def seconds_of(note: Mapping[str, Any]) -> float:
    """Return the time a note records, if it is readable."""
    seconds = note.get("seconds")
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def total_usage(notes: Iterable[Mapping[str, Any]]) -> Usage | None:
    """Return what all these notes' turns used together; None where no agent said."""
    known = [usage for note in notes if (usage := usage_of(note)) is not None]
    return sum(known[1:], known[0]) if known else None


def usage_of(note: Mapping[str, Any]) -> Usage | None:
    """Return the usage a note records, if it is readable."""
    body: Any = note.get("usage")
    if not isinstance(body, dict):
        return None
    usage = cast("dict[str, Any]", body)
    cost = usage.get("costUsd")
    return Usage(
        number_of(usage.get("inputTokens")),
        number_of(usage.get("outputTokens")),
        number_of(usage.get("cacheReadTokens")),
        number_of(usage.get("cacheWriteTokens")),
        float(cost) if isinstance(cost, int | float) else None,
    )


def usage_to_json(usage: Usage | None) -> dict[str, Any] | None:
    """Return a usage as notes and results spell it."""
    if usage is None:
        return None
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
        "costUsd": usage.cost_usd,
    }


def _cycle_to_json(cycle: CycleResult) -> dict[str, Any]:
    return {
        "cycleNumber": cycle.cycle_number,
        "test": cycle.test,
        "outcome": cycle.outcome,
        "commits": {
            "plan": cycle.commits.plan,
            "red": cycle.commits.red,
            "green": cycle.commits.green,
            "refactor": cycle.commits.refactor,
        },
        "retries": cycle.retries,
        "seconds": cycle.seconds,
        "usage": usage_to_json(cycle.usage),
    }
