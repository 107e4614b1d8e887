"""Frozen values as JSON: a dataclass is an object, its attributes are keys in camelCase, a tuple is a list."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from redgreenrefactor.model.values import Attribute, attributes, is_of_values

Json = dict[str, Any]
Value = TypeVar("Value")
_PLAIN = frozenset((str, int, bool, NoneType))
# What JSON leaves as it is, and a terminal obeys: the second set of controls, and marks that turn the direction.
_CONTROLS = "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"


class ShapeError(ValueError):
    """JSON is not what it is read as; says at which key, and what stands there."""

    def __init__(self, what: str, *path: str) -> None:
        super().__init__(f"{'.'.join(path)} {what}".strip())
        self.what, self.path = what, path


class Sparse:
    """A value that leaves out the keys that say no more than their default."""

    __slots__ = ()


class JsonObject(str):
    """An object with any keys, as its text, which nobody can change; what JSON has no words for is a TypeError."""

    __slots__ = ()

    @classmethod
    def of(cls, value: Any) -> "JsonObject":
        """Return the text of an object; what is none is a ShapeError."""
        if not isinstance(value, dict):
            raise ShapeError(f"is {value!r:.50}")
        return cls(json.dumps(value))

    @property
    def value(self) -> Json:
        """What it says, a copy for whoever asks."""
        return json.loads(self)


def readable_json(value: Any) -> str:
    """Return JSON for people, with letters as they are, and nothing in it that a terminal would obey."""
    return re.sub(
        _CONTROLS, lambda odd: f"\\u{ord(odd[0]):04x}", json.dumps(value, indent=2, ensure_ascii=False)
    )


def written(value: Any) -> Any:
    """Return a value as JSON spells it; what is no value of ours is a TypeError."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, JsonObject):
        return value.value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if isfinite(value) else None  # JSON has no words for the others
    if isinstance(value, tuple | list):
        return [written(item) for item in cast("tuple[Any, ...]", value)]
    kind: type = type(value)  # pyright: ignore[reportUnknownVariableType]
    sparse = isinstance(value, Sparse)
    return {
        key_of(one): written(found)
        for one in attributes(kind)
        if (found := getattr(value, one.name)) != one.default or not sparse
    }


def read(kind: type[Value], value: Any) -> Value:
    """Return the value that JSON spells; another shape is a ShapeError."""
    return reader(kind)(value)


@cache
def reader(kind: Any) -> Callable[[Any], Any]:
    """Return what reads such values; another shape is a ShapeError."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _either(parts)
    if origin is tuple:
        return _list_of(reader(parts[0]))
    if kind is JsonObject:
        return JsonObject.of
    if is_of_values(kind):
        return _object_of(cast("type", kind))
    return _member_of(kind) if issubclass(kind, Enum) else _plain(kind)


def _plain(kind: type) -> Callable[[Any], Any]:
    wanted = (int, float) if kind is float else (kind,)

    def plain(value: Any) -> Any:
        if type(value) not in wanted:  # True is no number
            raise ShapeError(f"is {value!r:.50}")
        return value

    return plain


def _member_of(kind: type[Enum]) -> Callable[[Any], Enum]:
    def member(value: Any) -> Enum:
        try:
            return kind(value)
        except ValueError:
            raise ShapeError(f"is {value!r:.50}") from None

    return member


def _either(kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
    *others, last = (reader(kind) for kind in kinds if kind is not NoneType)

    def either(value: Any) -> Any:
        if value is None and NoneType in kinds:
            return None
        for one in others:
            with suppress(ShapeError):
                return one(value)
        return last(value)

    return either


def _list_of(one: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def items(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ShapeError(f"is {value!r:.50}")
        return tuple(map(one, cast("list[Any]", value)))

    return items


def _object_of(kind: type) -> Callable[[Any], Any]:
    hints = get_type_hints(kind)
    known = [(one.name, key_of(one), reader(hints[one.name])) for one in attributes(kind)]
    needed = {one.name for one in attributes(kind) if one.required}

    def value_of(body: Any) -> Any:
        if not isinstance(body, dict):
            raise ShapeError("is no object")
        found: Json = {}
        for name, key, one in known:
            if (spelling := key if key in body else name) in body:
                try:
                    found[name] = one(body[spelling])
                except ShapeError as error:
                    raise ShapeError(error.what, key, *error.path) from None
        for name, key, _ in known:
            if name in needed and name not in found:
                raise ShapeError("is missing", key)
        return kind(**found)

    return value_of


def json_in(text: str | bytes) -> Any:
    """Return what a text holds as JSON; None where it holds none."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)


def json_object(value: Any) -> Json:
    """Return an object of decoded JSON; for anything else an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def json_list(value: Any) -> list[Any]:
    """Return a list of decoded JSON; for anything else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def json_lines(content: bytes) -> Iterator[Any]:
    """Yield what each line of a text holds as JSON; one that holds none, being cut off, is left out."""
    for line in content.splitlines():
        with suppress(ValueError, RecursionError):
            yield json.loads(line)


def key_of(one: Attribute) -> str:
    """Return how JSON spells an attribute."""
    return (one.metadata or {}).get("key") or camel(one.name)


@cache
def camel(name: str) -> str:
    """Return how JSON spells an attribute."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
