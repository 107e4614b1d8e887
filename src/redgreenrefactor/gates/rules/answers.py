"""The JSON that sessions answer with, wherever in their last message it stands."""

import json
from collections.abc import Iterator
from typing import Any, cast

HOPELESS = 500  # characters to skip in what is nested too deep to be an answer


def said(message: str, key: str) -> str:
    """Return what a session says under a key of its own choice, anywhere in its last message; nothing where it does not."""
    words = [body[key] for body in objects(message) if isinstance(body.get(key), str)]
    return words[-1].strip() if words else ""


def unreadable(message: str, key: str) -> str:
    """Return why nothing under a key can be read in a message: it is not there, or its JSON breaks off, and where."""
    place = message.rfind(f'"{key}"')
    for start, found in _read(message):
        if isinstance(found, json.JSONDecodeError) and start < place < found.pos:
            before = message[start : found.pos][-40:]
            return f"the JSON of the final message cannot be read: {found.msg.lower()} after {before!r}"
    return f"the final message holds no JSON object with the key {key}"


def objects(message: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that stand in a text, outermost ones, in order; their texts may go over several lines."""
    return (found for _, found in _read(message) if not isinstance(found, ValueError))


def _read(message: str) -> Iterator[tuple[int, dict[str, Any] | ValueError]]:
    """Yield where something begins that may be an object, and the object, or why it is none."""
    decoder, start = json.JSONDecoder(strict=False), message.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(message, start)
        except ValueError as error:
            yield start, error
            end = start + 1
        except RecursionError:
            end = start + HOPELESS  # what begins within is nested nearly as deep
        else:
            yield start, cast("dict[str, Any]", value)
        start = message.find("{", end)
