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
_EQUAL = re.compile(r"(?:\b(?:to)?[bB]e|\bis|\w*(?:[eE]qual\w*|Eq|_eq|EQ|[sS]ame\w*)|\beql?)!?\s*\(")
_UNLIKE = re.compile(r"[nN]ot(?![a-z])|\bne\b|_ne\b|NE\b|\brefute|[fF]alse\s*\(|(?<![=-])[<>]")
_SIGN = re.compile(r"([=!]==?)\s*-?")
_EITHER = (re.compile(r"\|\||\bor\b"), re.compile("&&"))  # of an assertion, of the condition of a failure
_AFTER = re.compile(r"\s*(?:[;,&|{)\n]|\Z)")
_PLAIN = re.compile(rf"(?:{LITERAL.pattern}|\w+\s*:|\b(?:vec!|null|None|nil)|[\s\[\]{{}}(),&-])+")
_LEADS = re.compile(r"\s*(?:await\s+|return\s+)?[\w$.:>-]*")  # what may stand before an assertion in its line
_RETURN = "if (true) { return; };"  # in every language of those that have a statement that fails
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


def sharp_expectations(path: str, text: str, block: Block) -> Iterator[tuple[str, str]]:
    """Yield the text with one value wrong that has to be equal to something, and with a failure where that is asserted."""
    source, fails = source_of(path, text), block.dialect.fails
    if source is None or not fails:
        return
    for start, end in _expecting(source, block):
        line = source.mask.rfind("\n", 0, start) + 1
        place = _has_to_equal(source.mask, start, end)
        if place and _LEADS.fullmatch(source.mask, line, start):
            indent = text[line : line + len(text[line:]) - len(text[line:].lstrip())]
            end_of_it = f"\n{indent}" if block.dialect is PYTHON else " "
            planted = f"{text[:line]}{indent}{fails}{end_of_it}{text[line:].lstrip()}"
            yield _with_other(source, place), planted


def _has_to_equal(mask: str, start: int, end: int) -> re.Match[str] | None:
    """Return a literal in an assertion, or in the condition of a failure, that something else has to be equal to."""
    condition = mask.startswith("if", start)
    if _EITHER[condition].search(mask, start, end):
        return None
    for sign in _SIGN.finditer(mask, start, end):
        value = LITERAL.match(mask, sign.end())
        if value and (sign[1][0] == "!") is condition and _AFTER.match(mask, value.end()):
            return value
    if condition or _UNLIKE.search(mask, start, end):
        return None
    for call in _EQUAL.finditer(mask, start, end):
        spans = list(_arguments(mask, call.end()))
        plain = [_PLAIN.fullmatch(mask, *span) is not None for span in spans]
        few = len(spans) <= 2  # noqa: PLR2004 - more: one of them is a message, or a tolerance
        chosen = spans[plain.index(True)] if few and plain.count(True) == 1 else None
        chosen = spans[1] if not few and plain[1] else chosen
        if chosen:
            return next(LITERAL.finditer(mask, *chosen), None)
    return None


def _arguments(mask: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield where the arguments of a call begin and end."""
    depth = 0
    for place in range(start, len(mask)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(mask[place], 0)
        if depth < 0 or (depth == 0 and mask[place] == ","):
            yield start, place
            start = place + 1
        if depth < 0:
            return


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
    return _begun_with(block.dialect.fails, text, block)


def silenced(text: str, blocks: Collection[Block]) -> str:
    """Return the text with these tests ended before they do anything, as far as that can be written."""
    for block in sorted(blocks, key=lambda block: block.body, reverse=True):
        ends = _RETURN if block.dialect is not PYTHON else "return"
        text = _begun_with(ends if block.dialect.fails else "", text, block) or text
    return text


def _begun_with(statement: str, text: str, block: Block) -> str | None:
    if not statement or block.body >= len(text):
        return None
    head, rest = text[: block.body], text[block.body :]
    if block.dialect is PYTHON:
        indent = rest[: len(rest) - len(rest.lstrip(" \t"))]
        return f"{head}{indent}{statement}\n{rest}"
    if block.dialect.callbacks and not head.endswith("{"):
        return f"{head} {{ {statement} }}, () => {rest}"
    return f"{head} {statement} {rest}"
