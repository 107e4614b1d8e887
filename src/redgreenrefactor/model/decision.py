"""What follows from a handoff: pure functions that a fresh run and a resumed run share."""

from typing import Any

from redgreenrefactor.model.goal import Case, Plan, comparable
from redgreenrefactor.model.handoff import (
    ErrorDetails,
    Handoff,
    LegacyTests,
    Rejection,
    State,
    UncommittedAttempt,
    bare,
)
from redgreenrefactor.model.planning import reason_to_plan, remarks_after
from redgreenrefactor.model.values import frozen, replace
from redgreenrefactor.model.verdict import STOPPING, Finding, FindingType, Outcome, Severity, Verdict
from redgreenrefactor.model.workflow import Phase, PhaseName, Workflow

ROUNDS_USED_UP = "RoundsUsedUp"
RULES_BROKEN = (FindingType.HISTORY_REWRITTEN, FindingType.TEST_TAMPERING, FindingType.SCOPE_VIOLATION)
MOST_UNCOMMITTED, LONGEST_REASON = (
    20,
    500,
)  # attempts that are listed, the latest; characters of why one was rejected
LONGEST_MESSAGE = 300  # characters that are remembered of each rejection


@frozen
class Go:
    """Work at this phase."""

    phase: Phase


@frozen
class Finish:
    """Everything asked for is done."""


@frozen
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


@frozen
class Turn:
    """One attempt at a phase, as the handoff that follows it is told."""

    phase: Phase
    cycle: int
    attempt: int
    plan: Plan  # the list as it stands after the turn
    timestamp: str
    replan: str = ""  # why the session asks for the list to be looked at


def accepted(handoff: Handoff, turn: Turn, verdict: Verdict) -> Handoff:
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
        test_list=turn.plan.blob,
        facts=verdict.facts,
        rolled_back=handoff.rolled_back,
        legacy=still_failing(handoff.legacy, verdict.facts.mended),
        upcoming=verdict.upcoming if plans else handoff.upcoming,
        replan=reason_to_plan(handoff, turn.phase.name, turn.attempt, turn.replan, verdict),
        remarks=remarks_after(handoff, turn.phase.name, verdict),
    )


def still_failing(legacy: LegacyTests | None, mended: tuple[str, ...]) -> LegacyTests | None:
    """Return the tests that failed before the run, without those that pass now."""
    if legacy is None or not mended:
        return legacy
    left = tuple(name for name in legacy.failing if name not in mended)
    count = legacy.failing_count
    fewer = None if count is None or not left else max(count - len(mended), len(left))
    rest = replace(legacy, failing=left, failing_count=fewer)
    return None if rest == LegacyTests() else rest


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
    message = " ".join(gravest.message.split()) if gravest else ""
    short = message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"
    last = Rejection(turn.attempt, str(gravest.type) if gravest else "", short, kept)
    earlier = rejections_of(handoff) if used > 1 else ()
    return replace(
        written_again(handoff, turn.timestamp),
        rejections=(*earlier, last),
        state=State.ABORTED if used > retries or verdict.final else State.RUNNING,
        retry_count=min(used, retries),
        attempts=turn.attempt,
        findings=verdict.findings,
        accepted_findings=accepted_with(handoff),
        **error_of(verdict),
    )


def accepted_with(handoff: Handoff) -> tuple[Finding, ...]:
    """Return what was found in the phase that was accepted, whatever has been rejected since."""
    return handoff.findings if handoff.error is None else handoff.accepted_findings


def rejections_of(handoff: Handoff) -> tuple[Rejection, ...]:
    """Return what the note tells of the due phase's rejections, the last one last; nothing where none is due."""
    return handoff.rejections if handoff.error is not None else ()


def with_uncommitted(handoff: Handoff, turn: Turn) -> Handoff:
    """Return the handoff with one more attempt that left no commit: the one it tells the rejection of."""
    kind = handoff.error_details.type if handoff.error_details else ""
    reason = (handoff.error or "")[:LONGEST_REASON]
    last = UncommittedAttempt(turn.phase.name, turn.cycle, turn.attempt, kind, reason, turn.timestamp)
    return replace(handoff, uncommitted=(*handoff.uncommitted, last)[-MOST_UNCOMMITTED:])


def uncommitted(handoff: Handoff) -> list[Handoff]:
    """Return the notes that such attempts would carry if they had left a commit."""
    return [
        replace(
            bare(handoff),
            phase=one.phase,
            next_phase=one.phase,
            cycle_number=one.cycle,
            attempts=one.attempt,
            timestamp=one.timestamp,
            error=one.message,
            error_details=ErrorDetails(one.type, one.message),
            findings=(),
            carried_from=None,
        )
        for one in handoff.uncommitted
    ]


def written_again(handoff: Handoff, timestamp: str) -> Handoff:
    """Return a handoff whose note is written anew; when its turn was accepted is kept in it."""
    return replace(handoff, accepted_at=handoff.accepted_at or handoff.timestamp, timestamp=timestamp)


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


def attempted(handoff: Handoff, turn: Turn, verdict: Verdict) -> Handoff:
    """Return the note a rejected attempt's own commit carries."""
    return replace(
        bare(handoff),
        phase=turn.phase.name,
        next_phase=turn.phase.name,
        cycle_number=turn.cycle,
        test_result=verdict.test_result,
        retry_count=retries_used(handoff),
        attempts=turn.attempt,
        timestamp=turn.timestamp,
        findings=verdict.findings,
        carried_from=None,
        facts=verdict.facts,
        **error_of(verdict),
    )


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
    after = written_again(handoff, timestamp)
    return replace(after, state=State.STOPPED, awaiting=awaiting, stopped_by=why)


def finished(handoff: Handoff, timestamp: str) -> Handoff:
    """Return the handoff of a run whose goal was reached by other means than its last phase."""
    return replace(
        handoff,
        state=State.COMPLETE,
        next_phase=PhaseName.COMPLETE,
        error=None,
        error_details=None,
        timestamp=timestamp,
        reached=True,
    )


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
    return Handoff(
        phase=first,
        next_phase=first,
        run_id=run_id,
        feature=feature,
        completed_tests=completed,
        pending_tests=pending,
        timestamp=timestamp,
        previous=previous,
    )


def carried(handoff: Handoff, commit: str, timestamp: str) -> Handoff:
    """Return a handoff as it is put on a later commit that is not a turn of the run."""
    return replace(
        handoff,
        carried_from=handoff.carried_from or commit,
        timestamp=timestamp,
        accepted_at=None,  # these two stay where they were
        uncommitted=(),
    )


def relisted(handoff: Handoff, commit: str, plan: Plan, timestamp: str) -> Handoff:
    """Return PLAN's handoff after a person changed the list: asked again if another case comes first now."""
    case = handoff.current_test
    same = case is not None and bool(plan.open) and plan.open[0].key == comparable(case.description)
    completed, pending = progress(plan, case if same else None, finished=False)
    kept = replace(
        carried(handoff, commit, timestamp),
        completed_tests=completed,
        pending_tests=pending,
        completed_count=None,
        pending_count=None,
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
        handoff,
        stopped_by=None,
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
    return handoff.builds_on if handoff.error is not None else None


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
    told = handoff.diagnosis is not None and handoff.diagnosis.before == attempt
    return phase.diagnosis if was_rejected(handoff) and not told else None
