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
    decoder, place = json.JSONDecoder(strict=False), message.rfind(f'"{key}"')
    position = message.find("{")
    while 0 <= position < place:
        try:
            end = decoder.raw_decode(message, position)[1]
        except json.JSONDecodeError as error:
            if error.pos > place:
                before = message[position : error.pos][-40:]
                return f"the JSON of the final message cannot be read: {error.msg.lower()} after {before!r}"
            end = position + 1
        except RecursionError:
            end = position + HOPELESS
        position = message.find("{", end)
    return f"the final message holds no JSON object with the key {key}"


def objects(message: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that stand in a text, outermost ones, in order; their texts may go over several lines."""
    decoder, position = json.JSONDecoder(strict=False), message.find("{")
    while position >= 0:
        try:
            value, end = decoder.raw_decode(message, position)
        except ValueError:
            end = position + 1
        except RecursionError:
            end = position + HOPELESS  # what begins within is nested nearly as deep
        else:
            yield cast("dict[str, Any]", value)
        position = message.find("{", end)
