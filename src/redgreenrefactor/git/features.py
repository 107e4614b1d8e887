"""Features that are too long for every note: each is kept once, in the tree of the notes, and travels with them."""

from collections.abc import Iterable
from dataclasses import replace

from redgreenrefactor.git.executable import Git
from redgreenrefactor.git.objects import Objects
from redgreenrefactor.model.chain import runs_of
from redgreenrefactor.model.handoff import Handoff, from_json, from_object, to_object
from redgreenrefactor.model.long_feature import BLOB, LONG, expanded
from redgreenrefactor.sandbox.secrets import Mask

FEATURES = "features/"  # no commit is called like that
_MARK = f'"{BLOB}"'.encode()


def shelved(git: Git, handoff: Handoff, mask: Mask) -> Handoff:
    """Return the handoff a run begins with; a long feature is in git then, and the handoff says where."""
    if len(handoff.feature) <= LONG or handoff.feature_blob:
        return handoff
    text = mask(handoff.feature).encode("utf-8", "replace")
    return replace(handoff, feature_blob=git.text("hash-object", "-w", "--stdin", stdin=text))


def handoff_in(raw: bytes, objects: Objects) -> Handoff:
    """Return the handoff a note holds, features in full; one that cannot be read is a LedgerError or UnicodeDecodeError."""
    handoff = from_json(raw.decode())
    return (
        from_object(expanded(to_object(handoff), lambda blob: _text(objects, blob)))
        if _MARK in raw
        else handoff
    )


def features_of(objects: Objects, handoffs: Iterable[Handoff]) -> set[str]:
    """Return the blobs of all features that these notes speak of and that are here to be kept."""
    blobs = {each.feature_blob for handoff in handoffs for each in runs_of(handoff) if each.feature_blob}
    return {blob for blob in blobs if _text(objects, blob) is not None}


def _text(objects: Objects, blob: str) -> str | None:
    found = objects.get(blob)
    return found[2].decode("utf-8", "replace") if found and found[1] == "blob" else None
