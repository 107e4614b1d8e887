"""Going back to an earlier handoff: what the run has used up since then is not forgotten."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from redgreenrefactor.model.decision import ROLLED_BACK, cycle_of, written_again
from redgreenrefactor.model.handoff import Handoff, State, with_extra
from redgreenrefactor.model.rejections import REJECTIONS
from redgreenrefactor.model.result import (
    due_of,
    mapping_of,
    number_of,
    rolled_back_of,
    seconds_of,
    total_usage,
    usage_to_json,
)
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
            findings=(),
            retry_count=0,
            attempts=_attempts_of_its_own(handoff),
        )
        due = with_extra(due, **{REJECTIONS: None})
    spent = [later.extra for later in left if later.carried_from is None]
    spent += [due_of(left[0]), rolled_back_of(left[0])]
    used = {
        "attempts": _highest([*reversed(left), handoff], mapping_of(rolled_back_of(left[0]), "attempts")),
        "usage": usage_to_json(total_usage(spent)),
        "seconds": round(sum(seconds_of(note) for note in spent), 3),
    }
    return with_extra(due, due=None, **{ROLLED_BACK: used})


def attempts_left_behind(handoff: Handoff, cycle: int, phase: str) -> int:
    """Return the highest number that an attempt at this phase had which has been rolled back since."""
    return number_of(mapping_of(rolled_back_of(handoff), "attempts").get(f"{cycle}-{phase}"))


def _highest(handoffs: Sequence[Handoff], before: Mapping[str, Any]) -> dict[str, int]:
    numbers = {name: number_of(number) for name, number in before.items()}
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
    return number_of(handoff.extra.get("retries")) + 1 if told_elsewhere else handoff.attempts
