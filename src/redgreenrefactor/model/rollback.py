"""Going back to an earlier handoff: what the run has used up since then is not forgotten."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from redgreenrefactor.model.codec import JsonObject
from redgreenrefactor.model.decision import cycle_of, written_again
from redgreenrefactor.model.handoff import NOTHING_USED, Handoff, RolledBack, State
from redgreenrefactor.model.workflow import PhaseName


def gone_back(handoff: Handoff, left: Sequence[Handoff], timestamp: str) -> Handoff:
    """Return a handoff that is due again, after the run's later ones, newest first, were left behind.

    Numbers of attempts are never used twice, and what was spent stays spent: the note says both.
    """
    if handoff.next_phase is PhaseName.COMPLETE:
        return handoff
    due = replace(written_again(handoff, timestamp), state=State.STOPPED)
    if not left:
        return due
    overcome = any(later.carried_from is None for later in left)
    if overcome and handoff.error is not None:
        due = replace(
            due,
            error=None,
            error_details=None,
            findings=handoff.accepted_findings,
            accepted_findings=(),
            retry_count=0,
            attempts=_attempts_of_its_own(handoff),
            rejections=(),
        )
    spent = [later.expense for later in left if later.carried_from is None]
    used = sum([*spent, left[0].due_expense, left[0].lost_expense], NOTHING_USED)
    attempts = _highest([*reversed(left), handoff], _numbers(left[0]))
    return replace(due, due=None, rolled_back=RolledBack(JsonObject.of(attempts), used.usage, used.seconds))


def attempts_left_behind(handoff: Handoff, cycle: int, phase: str) -> int:
    """Return the highest number that an attempt at this phase had which has been rolled back since."""
    return _numbers(handoff).get(f"{cycle}-{phase}", 0)


def _numbers(handoff: Handoff) -> dict[str, int]:
    """Return the highest numbers of attempts that a note tells of, by cycle and phase."""
    noted = handoff.rolled_back.attempts.value if handoff.rolled_back else {}
    return {name: number for name, number in noted.items() if isinstance(number, int)}


def _highest(handoffs: Sequence[Handoff], before: dict[str, int]) -> dict[str, int]:
    numbers = dict(before)
    for handoff in handoffs:
        for name, number in _attempts(handoff):
            numbers[name] = max(number, numbers.get(name, 0))
    return numbers


def _attempts(handoff: Handoff) -> Iterator[tuple[str, int]]:
    """Yield how many attempts a note tells of: those at its own phase, and those at the phase that is due."""
    if handoff.carried_from is None and handoff.cycle_number > 0:
        yield f"{handoff.cycle_number}-{handoff.phase}", _attempts_of_its_own(handoff)
    if handoff.attempts_due:
        yield f"{cycle_of(handoff)}-{handoff.next_phase}", handoff.attempts_due


def _attempts_of_its_own(handoff: Handoff) -> int:
    """Return how many attempts its phase took; with an error, the note's own number tells of the due phase."""
    told_elsewhere = handoff.error is not None and handoff.phase is not handoff.next_phase
    return (handoff.retries or 0) + 1 if told_elsewhere else handoff.attempts
