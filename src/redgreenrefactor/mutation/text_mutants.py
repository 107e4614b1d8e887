"""Mutants of code and of tests in any language: texts with one thing in them that is wrong."""

import re
from collections.abc import Collection, Iterator

from redgreenrefactor.languages.dialects import PYTHON
from redgreenrefactor.languages.sources import (
    FAILING,
    LITERAL,
    Block,
    SourceText,
    functions,
    source_of,
    statement_end,
)

_OPERATOR = re.compile(r"(?<=\s)(?:[+\-*/%]|[<>]=?|[=!]==?|&&|\|\|)(?=\s)")
_PAIRS = {
    "+": "-",
    "<": ">=",
    ">": "<=",
    "==": "!=",
    "===": "!==",
    "&&": "||",
    "true": "false",
    "True": "False",
}
_OTHER = {"*": "+", "/": "*", "%": "*", **_PAIRS, **{other: one for one, other in _PAIRS.items()}}


def code_mutants(path: str, text: str, names: Collection[str]) -> Iterator[str]:
    """Yield the text with one mutation after the other, in functions of these names if there are any."""
    source = source_of(path, text)
    if source is None:
        return
    found = list(functions(source))
    ends = [*(start for _, start, _ in found[1:]), len(text)]
    spans = [(start, end) for (name, start, _), end in zip(found, ends, strict=False) if name in names]
    for start, end in spans or [(0, len(text))]:
        for pattern in (_OPERATOR, LITERAL):
            for place in pattern.finditer(source.mask, start, end):
                yield _with_other(source, place)


def wrong_expectations(path: str, text: str, block: Block) -> Iterator[str]:
    """Yield the text with one expectation of a test after the other replaced by a wrong one, the last first."""
    source = source_of(path, text)
    if source is None:
        return
    for start, end in reversed(_expecting(source, block)):
        for place in reversed(list(LITERAL.finditer(source.mask, start, end))):
            yield _with_other(source, place)


def _expecting(source: SourceText, block: Block) -> list[tuple[int, int]]:
    """Return where a test says what it expects: in assertions, or in the conditions before a failure is told."""
    mask = source.mask[: block.end]
    found = list(source.dialect.asserts.finditer(mask, block.body))
    asserting = [
        (each.start(), statement_end(mask, each.start())) for each in found if not FAILING.search(each[0])
    ]
    conditions = [each.span() for each in re.compile(r"\bif\b[^{\n]*\{").finditer(mask, block.body)]
    return sorted({*asserting, *(conditions if len(asserting) < len(found) else [])})


def _with_other(source: SourceText, place: re.Match[str]) -> str:
    """Return the code with another operator, or another value of the same kind, in a place."""
    was = source.code[place.start() : place.end()]
    other = f"{was[:-1]}~{was[-1]}" if was[0] in "\"'`" else _OTHER.get(was) or str(int(was) + 1)
    return source.code[: place.start()] + other + source.code[place.end() :]


def failing_at_once(text: str, block: Block) -> str | None:
    """Return the text with a failure at the beginning of a test, None where that cannot be written."""
    fails = block.dialect.fails
    if not fails or block.body >= len(text):
        return None
    head, rest = text[: block.body], text[block.body :]
    if block.dialect is PYTHON:
        indent = rest[: len(rest) - len(rest.lstrip(" \t"))]
        return f"{head}{indent}{fails}\n{rest}"
    if block.dialect.callbacks and not head.endswith("{"):
        return f"{head} {{ {fails} }}, () => {rest}"
    return f"{head} {fails} {rest}"
