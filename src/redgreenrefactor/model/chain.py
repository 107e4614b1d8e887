"""Several runs on one commit: each note holds under `previous` the one that stood there before it."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import cast

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.model.codec import Json
from redgreenrefactor.model.goal import outline
from redgreenrefactor.model.handoff import Handoff, from_object
from redgreenrefactor.model.values import replace

NOTED = 600  # characters of a long feature's outline in a note


def of_run(handoff: Handoff, run_id: str) -> Handoff | None:
    """Return this run's handoff among those that a note holds."""
    found: Handoff | None = handoff
    while found is not None and found.run_id != run_id:
        found = found.previous
    return found


def stacked(standing: Handoff | None, handoff: Handoff) -> Handoff:
    """Return what a commit's note becomes with this handoff in it: in the place of its run's last one, or on top."""
    if standing is None:
        return handoff
    if standing.run_id == handoff.run_id:  # which may be known by itself only
        return replace(handoff, previous=handoff.previous or standing.previous)
    if of_run(standing, handoff.run_id) is None:
        return replace(handoff, previous=standing)
    return replace(standing, previous=stacked(standing.previous, handoff))


def runs_of(handoff: Handoff | None) -> list[Handoff]:
    """Return every run's handoff that a note holds, each by itself, the one on top first."""
    found: list[Handoff] = []
    while handoff is not None:
        found.append(_alone(handoff))
        handoff = handoff.previous
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
        pile = replace(handoff, previous=pile)
    return pile


def only_others_wrote(before: Handoff | None, after: Handoff | None, run_id: str) -> bool:
    """Tell whether what became of a note is other runs' doing: their own handoffs, and openings on top."""
    if before == after:
        return True
    if after is None:
        return False
    if after.run_id != run_id and before is not None and before.run_id != after.run_id:
        return after.previous == before
    if after.run_id == run_id and (before is None or _alone(before) != _alone(after)):
        return False
    return only_others_wrote(before.previous if before else None, after.previous, run_id)


def compacted(handoff: Handoff) -> Handoff:
    """Return a note with the outline in the place of every feature that is kept elsewhere."""
    return _with_features(handoff, lambda _blob, text: outline(text, NOTED))


def expanded(handoff: Handoff, read: Callable[[str], str | None]) -> Handoff:
    """Return a note with every feature in full, as far as its text can be read."""
    return _with_features(handoff, lambda blob, text: read(blob) or text)


def _with_features(handoff: Handoff, text: Callable[[str, str], str]) -> Handoff:
    blob, feature = handoff.feature_blob, handoff.feature
    previous = handoff.previous and _with_features(handoff.previous, text)
    return replace(handoff, feature=text(blob, feature) if blob else feature, previous=previous)


def mended(raw: bytes) -> Handoff | None:
    """Return what a note still says that other tools have spoilt: of all that stands whole in it, the newest of each run."""
    found = sorted(_handoffs(raw.decode("utf-8", "replace")), key=age)
    if not found:
        return None
    handoff = found[0]
    for later in found[1:]:
        handoff = merged(later, handoff)
    return handoff


def _handoffs(text: str) -> Iterator[Handoff]:
    decoder = json.JSONDecoder()
    place = text.find("{")
    while place >= 0:
        try:
            body, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            # What stands inside an object that is cut off is no note by itself: on with the next line's.
            end = text.find("\n{", place) % (len(text) + 1)
        else:
            with suppress(LedgerError):
                yield from_object(cast("Json", body))
        place = text.find("{", end)


def _alone(handoff: Handoff) -> Handoff:
    return replace(handoff, previous=None)
