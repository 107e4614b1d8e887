"""Notes with keys as JSON spells them."""

from typing import Any

from redgreenrefactor.model.handoff import Handoff, from_object, to_object


def with_keys(handoff: Handoff, **keys: Any) -> Handoff:
    """Return what is read from the handoff's note with these keys in it."""
    return from_object({**to_object(handoff), **keys})
