"""Keys of a note that have no attribute of their own."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


class Extra(Mapping[str, Any]):
    """A JSON object that stays as it was given; whoever reads a list or an object in it gets a copy.

    It holds what a note would: a tuple is a list, and what JSON has no words for is a TypeError.
    """

    __slots__ = ("_body",)

    def __init__(self, body: Mapping[str, Any] | None = None) -> None:
        self._body: dict[str, Any] = _copied(dict(body or {}))

    def __getitem__(self, key: str) -> Any:
        value = self._body[key]
        return _copied(value) if isinstance(value, dict | list) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._body)

    def __len__(self) -> int:
        return len(self._body)

    def __hash__(self) -> int:
        return hash(self._sorted())

    def __eq__(self, other: object) -> bool:
        return self._sorted() == other._sorted() if isinstance(other, Extra) else self._body == other

    def __repr__(self) -> str:
        return repr(self._body)

    def _sorted(self) -> str:
        return json.dumps(self._body, sort_keys=True)


def _copied(value: Any) -> Any:
    return json.loads(json.dumps(value))
