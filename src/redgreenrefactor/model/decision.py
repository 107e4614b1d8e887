"""What follows from a handoff: pure functions that a fresh run and a resumed run share."""

from dataclasses import dataclass, replace
from typing import Any, cast

from redgreenrefactor.model.goal import Case, Plan, comparable
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, State, to_object, with_extra
from redgreenrefactor.model.rejections import REJECTIONS, Rejection, in_short, noted, rejections_of
from redgreenrefactor.model.remarks import REMARKS, remarks_after
from redgreenrefactor.model.verdict import STOPPING, Finding, FindingType, Outcome, Severity, Verdict
from redgreenrefactor.model.workflow import Phase, PhaseName, Workflow

ROUNDS_USED_UP = "RoundsUsedUp"
RULES_BROKEN = (FindingType.HISTORY_REWRITTEN, FindingType.TEST_TAMPERING, FindingType.SCOPE_VIOLATION)
ROLLED_BACK = "rolledBack"  # what turns have used that were rolled back, handed on
LEGACY = "legacy"  # tests that fail since before the run, handed on
ACCEPTED_AT = "acceptedAt"  # when a turn was accepted whose note was written again since
BRANCH = "branch"  # what was checked out when the run began, by its full name
STOPPED_BY = "stoppedBy"  # why the run stopped between turns, as findings are called
UNCOMMITTED = "uncommitted"  # rejected attempts that left no commit to carry a note of their own


@dataclass(frozen=True, slots=True)
class Go:
    """Work at this phase."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class Finish:
    """Everything asked for is done."""


@dataclass(frozen=True, slots=True)
class Halt:
    """The run ends here without being done."""


Decision = Go | Finish | Halt


def decide(workflow: Workflow, handoff: Handoff) -> Decision:
    """Return what the latest handoff says comes next."""
    if handoff.next_phase is PhaseName.COMPLETE:
        return Finish()
    if handoff.state in (State.ABORTED, State.STOPPED):
        return Halt()
    return Go(workflow.phase(handoff.next_phase))


def cycle_of(handoff: Handoff) -> int:
    """Return the cycle the due phase belongs to: a PLAN or CODE opens a new one, unless it is asked again."""
    if handoff.cycle_number == 0:
        return 1
    opens = handoff.next_phase in (PhaseName.PLAN, PhaseName.CODE)
    asked_again = handoff.phase is handoff.next_phase
    return handoff.cycle_number + 1 if opens and not asked_again else handoff.cycle_number


@dataclass(frozen=True, slots=True)
class Turn:
    """One attempt at a phase, as the handoff that follows it is told."""

    phase: Phase
    cycle: int
    attempt: int
    plan: Plan  # the list as it stands after the turn
    timestamp: str


def accepted(handoff: Handoff, turn: Turn, verdict: Verdict, **extra: Any) -> Handoff:
    """Return the handoff of a turn that was accepted."""
    plans = turn.phase.name is PhaseName.PLAN
    case = verdict.case if plans else handoff.current_test
    covered = verdict.outcome is Outcome.COVERED
    finished = covered or turn.phase.name is PhaseName.REFACTOR
    completed, pending = progress(turn.plan, case, finished=finished)
    next_phase = turn.phase.follows(verdict.outcome)
    if plans and case is None:
        next_phase = PhaseName.COMPLETE
    return Handoff(
        run_id=handoff.run_id,
        feature=handoff.feature,
        feature_blob=handoff.feature_blob,
        state=State.COMPLETE if next_phase is PhaseName.COMPLETE else State.RUNNING,
        phase=turn.phase.name,
        next_phase=next_phase,
        cycle_number=turn.cycle,
        current_test=case,
        completed_tests=completed,
        pending_tests=pending,
        test_result=verdict.test_result,
        retry_count=retries_used(handoff),
        timestamp=turn.timestamp,
        attempts=turn.attempt,
        outcome=verdict.outcome,
        findings=verdict.findings,
        extra={
            key: value
            for key, value in {
                **verdict.facts,
                **extra,
                ROLLED_BACK: handoff.extra.get(ROLLED_BACK),
                LEGACY: still_failing(handoff.extra.get(LEGACY), verdict.facts.get("mended")),
                REMARKS: remarks_after(handoff, turn.phase.name, verdict),
            }.items()
            if value is not None
        },
    )


def still_failing(legacy: Any, mended: Any) -> Any:
    """Return what a note says of tests that failed before the run, without those that pass now."""
    facts = cast("dict[str, Any]", legacy) if isinstance(legacy, dict) else {}
    listed: Any = facts.get("failing")
    if not mended or not isinstance(listed, list):
        return cast("Any", legacy)
    passing = cast("list[Any]", mended)
    left = [name for name in cast("list[Any]", listed) if name not in passing]
    count = facts.get("failingCount")
    rest: dict[str, Any] = {key: v for key, v in facts.items() if key not in ("failing", "failingCount")}
    if left:
        rest["failing"] = left
    if left and isinstance(count, int):
        rest["failingCount"] = max(count - len(passing), len(left))
    return rest or None


def exhausted(workflow: Workflow, handoff: Handoff) -> Handoff:
    """Return the handoff, given up if another cycle is due and the workflow may not come round again."""
    due = handoff.next_phase is workflow.first.name and handoff.phase is not handoff.next_phase
    if workflow.cycles is None or not due or handoff.cycle_number < workflow.cycles:
        return handoff
    rounds = "the only round is" if workflow.cycles == 1 else f"all {workflow.cycles} rounds are"
    message = f"{handoff.phase} asked for more, and {rounds} used up"
    return replace(
        handoff,
        state=State.ABORTED,
        error=message,
        error_details=ErrorDetails(ROUNDS_USED_UP, message),
        retry_count=0,  # with an error, these two tell of the phase that is due
        attempts=0,
    )


def rejected(handoff: Handoff, turn: Turn, verdict: Verdict, *, retries: int, kept: str = "") -> Handoff:
    """Return what the starting commit's handoff becomes after a rejection: the same phase is due, or none.

    The attempt's commit, if it changes anything, is kept under a name.
    """
    retries = retries if turn.phase.retries is None else turn.phase.retries
    used = retries_used(handoff) + 1
    gravest = verdict.gravest
    last = Rejection(
        turn.attempt, str(gravest.type) if gravest else "", in_short(gravest.message if gravest else ""), kept
    )
    earlier = rejections_of(handoff) if used > 1 else ()
    return replace(
        with_extra(written_again(handoff, turn.timestamp), **{REJECTIONS: noted(earlier, last)}),
        state=State.ABORTED if used > retries or verdict.final else State.RUNNING,
        retry_count=min(used, retries),
        attempts=turn.attempt,
        findings=verdict.findings,
        **error_of(verdict),
    )


def written_again(handoff: Handoff, timestamp: str) -> Handoff:
    """Return a handoff whose note is written anew; when its turn was accepted is kept in it."""
    accepted_at = handoff.extra.get(ACCEPTED_AT) or handoff.timestamp
    return replace(with_extra(handoff, **{ACCEPTED_AT: accepted_at}), timestamp=timestamp)


def unmeasured(handoff: Handoff, turn: Turn, verdict: Verdict) -> Handoff:
    """Return what the starting commit's handoff becomes when nothing could be measured: stopped, not counted.

    What earlier attempts were rejected for stays, for the one that comes after the stop.
    """
    return replace(
        written_again(handoff, turn.timestamp),
        state=State.STOPPED,
        retry_count=retries_used(handoff),
        attempts=handoff.attempts_due,
        findings=(*verdict.findings, *rejections(handoff)),
        **error_of(verdict),
    )


def attempted(handoff: Handoff, turn: Turn, verdict: Verdict, **extra: Any) -> Handoff:
    """Return the note a rejected attempt's own commit carries."""
    told = replace(
        handoff,
        phase=turn.phase.name,
        next_phase=turn.phase.name,
        cycle_number=turn.cycle,
        test_result=verdict.test_result,
        retry_count=retries_used(handoff),
        attempts=turn.attempt,
        timestamp=turn.timestamp,
        findings=verdict.findings,
        carried_from=None,
        extra={},
        **error_of(verdict),
    )
    return with_extra(told, **{**verdict.facts, **extra})


def error_of(verdict: Verdict) -> dict[str, Any]:
    """Return the two error keys a verdict leads to."""
    gravest = verdict.gravest
    if gravest is None:
        return {"error": None, "error_details": None}
    return {"error": gravest.message, "error_details": ErrorDetails(gravest.type, gravest.message)}


def stopped(
    handoff: Handoff, timestamp: str, *, awaiting: str | None = None, why: FindingType | None = None
) -> Handoff:
    """Return the handoff of a run that stops here and can go on; what stopped it, if it has a name, is noted."""
    after = replace(written_again(handoff, timestamp), state=State.STOPPED, awaiting=awaiting)
    return with_extra(after, **{STOPPED_BY: why and str(why)})


def finished(handoff: Handoff, timestamp: str) -> Handoff:
    """Return the handoff of a run whose goal was reached by other means than its last phase."""
    done = replace(
        handoff,
        state=State.COMPLETE,
        next_phase=PhaseName.COMPLETE,
        error=None,
        error_details=None,
        timestamp=timestamp,
    )
    return with_extra(done, reached=True)


def opening(
    run_id: str,
    feature: str,
    timestamp: str,
    plan: Plan,
    previous: Handoff | None,
    first: PhaseName = PhaseName.PLAN,
) -> Handoff:
    """Return the handoff a run starts from; an earlier run's that ended on the same commit is kept in it."""
    completed, pending = progress(plan, None, finished=False)
    handoff = Handoff(
        phase=first,
        next_phase=first,
        run_id=run_id,
        feature=feature,
        completed_tests=completed,
        pending_tests=pending,
        timestamp=timestamp,
    )
    return handoff if previous is None else with_extra(handoff, previous=to_object(previous))


def carried(handoff: Handoff, commit: str, timestamp: str) -> Handoff:
    """Return a handoff as it is put on a later commit that is not a turn of the run."""
    here = with_extra(handoff, **{ACCEPTED_AT: None, UNCOMMITTED: None})  # these stay where they were
    return replace(here, carried_from=handoff.carried_from or commit, timestamp=timestamp)


def relisted(handoff: Handoff, commit: str, plan: Plan, timestamp: str) -> Handoff:
    """Return PLAN's handoff after a person changed the list: asked again if another case comes first now."""
    case = handoff.current_test
    same = case is not None and bool(plan.open) and plan.open[0].key == comparable(case.description)
    completed, pending = progress(plan, case if same else None, finished=False)
    kept = replace(
        carried(handoff, commit, timestamp),
        completed_tests=completed,
        pending_tests=pending,
        awaiting=None,
        state=State.RUNNING,
    )
    if same:
        return kept
    return replace(
        kept, next_phase=PhaseName.PLAN, current_test=None, error=None, error_details=None, findings=()
    )


def refreshed(handoff: Handoff) -> Handoff:
    """Return the handoff a resumed run starts from: going on, with a fresh set of retries."""
    return replace(
        with_extra(handoff, **{STOPPED_BY: None}),
        state=State.COMPLETE if handoff.next_phase is PhaseName.COMPLETE else State.RUNNING,
        retry_count=0 if handoff.error is not None else handoff.retry_count,
        awaiting=None,
    )


def retries_used(handoff: Handoff) -> int:
    """Return the rejections of the due phase so far; without an error the count tells of the past phase."""
    return handoff.retry_count if handoff.error is not None else 0


def progress(plan: Plan, case: Case | None, *, finished: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the texts that are done and those still to do, in list order; the current case is in neither."""
    current = comparable(case.description) if case else None
    done = tuple(item.text for item in plan.items if item.done or (finished and item.key == current))
    pending = tuple(item.text for item in plan.items if not item.done and item.key != current)
    return done, pending


def is_finished(handoff: Handoff) -> bool:
    """Tell whether the cycle's case is done as of this handoff."""
    return handoff.phase is PhaseName.REFACTOR or handoff.outcome is Outcome.COVERED


def cases_worked(handoff: Handoff) -> int | None:
    """Return how many cases a complete run has done, one a cycle but for the last PLAN; None where it has no cases."""
    return handoff.cycle_number - 1 if handoff.phase is PhaseName.PLAN else None


def has_worked(handoff: Handoff) -> bool:
    """Tell whether the run has worked at a case as of this handoff: its first PLAN, even if asked again, has not."""
    return handoff.cycle_number > 1 or (handoff.cycle_number == 1 and handoff.phase is not PhaseName.PLAN)


def built_on(handoff: Handoff) -> str | None:
    """Return the name of the attempt that the next try goes on from, if there is one."""
    name = handoff.extra.get("buildsOn")
    return name if isinstance(name, str) and handoff.error is not None else None


def may_be_built_on(verdict: Verdict) -> bool:
    """Tell whether a rejected try is a basis for the next: one that broke the rules is not."""
    return verdict.gravest is not None and verdict.gravest.type not in RULES_BROKEN


def rejections(handoff: Handoff) -> tuple[Finding, ...]:
    """Return what was wrong with the last attempt at the due phase, as far as that was the work's doing."""
    found = handoff.findings if handoff.error is not None else ()
    return tuple(each for each in found if each.severity is Severity.ERROR and each.type not in STOPPING)


def was_rejected(handoff: Handoff) -> bool:
    """Tell whether the last attempt at the due phase was rejected, whatever has stopped the run since."""
    kind = handoff.error_details.type if handoff.error_details else None
    return handoff.error is not None and (kind not in STOPPING or bool(rejections(handoff)))


def diagnosis_due(handoff: Handoff, phase: Phase, attempt: int) -> Phase | None:
    """Return the phase that looks at the last rejection before this attempt, unless it has been looked at."""
    known = handoff.extra.get("diagnosis")
    told = isinstance(known, dict) and cast("dict[str, Any]", known).get("before") == attempt
    return phase.diagnosis if was_rejected(handoff) and not told else None
