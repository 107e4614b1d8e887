"""Several runs on one commit: each note holds under `previous` the one that stood there before it."""

from collections.abc import Sequence
from typing import Any

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.model.handoff import Handoff, from_object, to_object, with_extra


def previous_of(handoff: Handoff) -> Handoff | None:
    """Return the earlier run's handoff that a note holds, if it is readable."""
    body: Any = handoff.extra.get("previous")
    try:
        return from_object(body) if isinstance(body, dict) else None  # pyright: ignore[reportUnknownArgumentType]
    except LedgerError:
        return None


def of_run(handoff: Handoff, run_id: str) -> Handoff | None:
    """Return this run's handoff among those that a note holds."""
    found: Handoff | None = handoff
    while found is not None and found.run_id != run_id:
        found = previous_of(found)
    return found


def stacked(standing: Handoff | None, handoff: Handoff) -> Handoff:
    """Return what a commit's note becomes with this handoff in it: in the place of its run's last one, or on top."""
    if standing is None:
        return handoff
    if standing.run_id == handoff.run_id:  # which may be known by itself only
        return with_extra(handoff, previous=handoff.extra.get("previous") or standing.extra.get("previous"))
    if of_run(standing, handoff.run_id) is None:
        return with_extra(handoff, previous=to_object(standing))
    return with_extra(standing, previous=to_object(stacked(previous_of(standing), handoff)))


def runs_of(handoff: Handoff | None) -> list[Handoff]:
    """Return every run's handoff that a note holds, each by itself, the one on top first."""
    found: list[Handoff] = []
    while handoff is not None:
        found.append(_alone(handoff))
        handoff = previous_of(handoff)
    return found


def on_top(standing: Handoff | None, handoff: Handoff) -> Handoff:
    """Return what a commit's note becomes when this handoff's run is the one that goes on from there."""
    others = [other for other in runs_of(standing) if other.run_id != handoff.run_id]
    return piled([_alone(handoff), *others])


def merged(ours: Handoff, theirs: Handoff) -> Handoff:
    """Return one note of two that were written apart: of each run the newest handoff, nobody's is lost."""
    first, second = sorted((ours, theirs), key=age, reverse=True)
    older = {handoff.run_id: handoff for handoff in runs_of(second)}
    newest = [max(handoff, older.pop(handoff.run_id, handoff), key=age) for handoff in runs_of(first)]
    return piled([*newest, *older.values()])


def age(handoff: Handoff) -> tuple[str, int]:
    """Return what is greater the later a handoff was written."""
    return handoff.timestamp, handoff.attempts


def piled(handoffs: Sequence[Handoff]) -> Handoff:
    """Return one note that holds these handoffs, the first one on top."""
    *upper, pile = handoffs
    for handoff in reversed(upper):
        pile = with_extra(handoff, previous=to_object(pile))
    return pile


def only_others_wrote(before: Handoff | None, after: Handoff | None, run_id: str) -> bool:
    """Tell whether what became of a note is other runs' doing: their own handoffs, and openings on top."""
    if before == after:
        return True
    if after is None:
        return False
    if after.run_id != run_id and before is not None and before.run_id != after.run_id:
        return previous_of(after) == before
    if after.run_id == run_id and (before is None or _alone(before) != _alone(after)):
        return False
    return only_others_wrote(previous_of(before) if before else None, previous_of(after), run_id)


def _alone(handoff: Handoff) -> Handoff:
    return with_extra(handoff, previous=None)
