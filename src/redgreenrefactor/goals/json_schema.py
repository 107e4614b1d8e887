"""A JSON value held against a JSON Schema: every problem with its path, in words.

Only the keywords our own schemas use are understood. Libraries for all of them cost five packages and 70 ms,
and name the alternatives of a choice one by one where a person needs one sentence.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

Schema = Mapping[str, Any]
_SHORT, _LONG = 4, 6  # letters of a name in which no slip, and only one, is taken for one


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


_TYPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "object": ("an object", lambda value: isinstance(value, dict)),
    "array": ("a list", lambda value: isinstance(value, list)),
    "string": ("text", lambda value: isinstance(value, str)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "integer": ("a whole number", _is_whole),
    "number": ("a number", _is_number),
    "null": ("null", lambda value: value is None),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at one place."""

    path: str  # as JSONPath spells it, e.g. $.meta.max_iterations
    what: str
    forgivable: bool = False  # it was let pass once, and may be recorded

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


def problems(schema: Schema, value: Any, path: str = "$", *, root: Schema | None = None) -> Iterator[Problem]:
    """Yield everything that is wrong with a value, in the order of its fields; conditions are not looked at."""
    root = root if root is not None else schema
    schema = _resolved(schema, root)
    if "anyOf" in schema:
        yield from _of_choice(schema["anyOf"], value, path, root)
        return
    if not _fits_type(schema, value):
        yield Problem(path, f"must be {_expected(schema, root)}, not {_short(value)}")
        return
    if "enum" in schema and value not in schema["enum"]:
        yield Problem(path, f"must be {_expected(schema, root)}, not {_short(value)}")
    match value:
        case dict():
            yield from _of_object(schema, cast("dict[str, Any]", value), path, root)
        case list():
            yield from _of_list(schema, cast("list[Any]", value), path, root)
        case str():
            yield from _of_text(schema, value, path)
        case _ if _is_number(value):
            yield from _of_number(schema, value, path)
        case _:
            pass


def _of_choice(choices: Sequence[Schema], value: Any, path: str, root: Schema) -> Iterator[Problem]:
    """Yield what is wrong with the alternative of the value's own type, or that none has it."""
    same = [choice for choice in choices if _fits_type(_resolved(choice, root), value)]
    if same:
        yield from problems(same[0], value, path, root=root)
    else:
        words = " or ".join(_expected(choice, root) for choice in choices)
        yield Problem(path, f"must be {words}, not {_short(value)}")


def _of_object(schema: Schema, value: Mapping[str, Any], path: str, root: Schema) -> Iterator[Problem]:
    for name in schema.get("required", ()):
        if name not in value:
            yield Problem(f"{path}.{name}", "is missing")
    known: Mapping[str, Schema] = schema.get("properties", {})
    for name, inner in known.items():
        if name in value:
            yield from problems(inner, value[name], f"{path}.{name}", root=root)
    for name in (name for name in value if name not in known):
        if meant := next((key for key in known if is_misspelt(name, key)), None):
            yield Problem(f"{path}.{name}", f"is not known here; did you mean {meant}?", forgivable=True)


def is_misspelt(name: str, known: str) -> bool:
    """Tell whether a name is meant to be a known one: spelled in another style, or a slip or two away."""
    one, other = (re.sub(r"[\W_]", "", text).lower() for text in (name, known))
    slips = 0 if len(other) < _SHORT else 1 if len(other) < _LONG else 2
    words, wanted = (
        len(re.split(r"[\W_]+", text)) for text in (name, known)
    )  # cli_execution_id is another field
    near = words == wanted and abs(len(one) - len(other)) <= slips
    return one == other or (near and _distance(one, other) <= slips)


def _distance(one: str, other: str) -> int:
    """Return how many letters have to be put in, left out, changed or swapped with their neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, row = row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != wanted))
            swapped = i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted
            row.append(min(cost, before[j - 2] + 1) if swapped else cost)
        before = above
    return row[-1]


def _of_list(schema: Schema, value: Sequence[Any], path: str, root: Schema) -> Iterator[Problem]:
    if len(value) < schema.get("minItems", 0):
        yield Problem(path, "is empty")
    for index, item in enumerate(value) if "items" in schema else ():
        yield from problems(schema["items"], item, f"{path}[{index}]", root=root)


def _of_text(schema: Schema, value: str, path: str) -> Iterator[Problem]:
    if len(value.strip()) < schema.get("minLength", 0):
        yield Problem(path, "is empty")
    elif len(value) > schema.get("maxLength", len(value)):
        yield Problem(path, f"is longer than {schema['maxLength']} characters")
    elif "pattern" in schema and not re.search(schema["pattern"], value):
        yield Problem(path, f"{_short(value)} is not usable here: it must match {schema['pattern']}")


def _of_number(schema: Schema, value: float, path: str) -> Iterator[Problem]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and value < low:
        yield Problem(path, f"must be at least {low}, not {_short(value)}")
    if high is not None and value > high:
        yield Problem(path, f"must be at most {high}, not {_short(value)}")


def _resolved(schema: Schema, root: Schema) -> Schema:
    reference = schema.get("$ref")
    return root["$defs"][reference.removeprefix("#/$defs/")] if reference else schema


def _fits_type(schema: Schema, value: Any) -> bool:
    return not _names(schema) or any(_TYPES[name][1](value) for name in _names(schema))


def _names(schema: Schema) -> list[str]:
    names: Any = schema.get("type", [])
    return [names] if isinstance(names, str) else names


def _expected(schema: Schema, root: Schema) -> str:
    found = _resolved(schema, root)
    if "enum" in found:
        return "one of " + ", ".join(str(choice) for choice in found["enum"])
    return " or ".join(_TYPES[name][0] for name in _names(found))


def _short(value: Any) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case _:
            text = repr(value)
            return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004


# --- values of any kind, taken for what they should be


def lines_of(value: Any) -> tuple[str, ...]:
    """Return a text or a list of texts, trimmed; what is none of that is left out."""
    items: Sequence[Any] = [value] if isinstance(value, str) else list_of(value)
    return tuple(item.strip() for item in items if isinstance(item, str) and item.strip())


def list_of(value: Any) -> list[Any]:
    """Return a list; for anything else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def object_of(value: Any) -> dict[str, Any]:
    """Return an object; for anything else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
