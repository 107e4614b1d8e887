"""A note that is no handoff any more, but holds one: other tools join notes, mark conflicts, add marks of their own."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.model.chain import age, merged
from redgreenrefactor.model.handoff import Handoff, from_object


def mended(raw: bytes) -> Handoff | None:
    """Return what a spoilt note still says: all handoffs that stand whole in it, the newest of each run."""
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
                yield from_object(cast("dict[str, Any]", body))
        place = text.find("{", end)
