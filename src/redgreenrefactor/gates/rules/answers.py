"""The JSON that sessions answer with, wherever in their last message it stands."""

import json
from collections.abc import Iterator
from typing import Any, cast

HOPELESS = 500  # characters to skip in what is nested too deep to be an answer


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
