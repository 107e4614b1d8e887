"""A feature too long to be copied into every note and brief: its outline stands there, and where the whole text is."""

import re
from collections.abc import Callable
from typing import Any, cast

LONG = 2000  # characters of a feature from which on its outline does for whoever does not plan
NOTED = 600  # characters of the outline in a note
BLOB = "featureBlob"
_HEADING = re.compile(r"^#{1,6}[ \t]+\S.*$", re.MULTILINE)
_CUT = "\n[…]\n"

Json = dict[str, Any]


def outline(text: str, most: int) -> str:
    """Return how a text begins, and the headings of the rest, in at most so many characters; a short one whole."""
    if len(text) <= most:
        return text
    later = [found[0] for found in _HEADING.finditer(text, most // 2)]
    head = text[: most // 2 if later else most - len(_CUT)]
    if later:
        head = head[: head.rfind("\n", len(head) // 2)] if "\n" in head[len(head) // 2 :] else head
    room = most - len(head) - len(_CUT)
    return (head + _CUT + "\n".join(later)[:room]).rstrip("\n")


def compacted(body: Json) -> Json:
    """Return a note's object with the outline in the place of every feature that is kept elsewhere."""
    return _changed(body, lambda _blob, text: outline(text, NOTED))


def expanded(body: Json, read: Callable[[str], str | None]) -> Json:
    """Return a note's object with every feature in full, as far as its text can be read."""
    return _changed(body, lambda blob, text: read(blob) or text)


def _changed(body: Json, feature: Callable[[str, str], str]) -> Json:
    blob, text, before = (body.get(key) for key in (BLOB, "feature", "previous"))
    if isinstance(blob, str) and isinstance(text, str):
        body = {**body, "feature": feature(blob, text)}
    if isinstance(before, dict):
        body = {**body, "previous": _changed(cast("Json", before), feature)}
    return body
