"""Mistakes planted into code of languages that are not parsed: tests that are worth something notice them."""

import re
from collections.abc import Collection, Iterator

from redgreenrefactor.languages.dialects import language_of
from redgreenrefactor.languages.sources import HELPER, LITERAL, other_literal, uncommented

_OPERATOR = re.compile(r"(?<=\s)(?:[+\-*/%]|[<>]=?|[=!]==?|&&|\|\|)(?=\s)")
_OTHER = {
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "%": "*",
    "&&": "||",
    "||": "&&",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "==": "!=",
    "!=": "==",
    "===": "!==",
    "!==": "===",
}


def mistakes(path: str, text: str, names: Collection[str]) -> Iterator[str]:
    """Yield the text with one mistake after the other, in functions of these names if there are any."""
    language = language_of(path)
    if language is None:
        return
    code, mask = uncommented(text, language)
    for start, end in _functions(mask, names) or [(0, len(mask))]:
        for found in _OPERATOR.finditer(mask, start, end):
            yield code[: found.start()] + _OTHER[found[0]] + code[found.end() :]
        for found in LITERAL.finditer(mask, start, end):
            was = code[found.start() : found.end()]
            yield code[: found.start()] + other_literal(was) + code[found.end() :]


def _functions(mask: str, names: Collection[str]) -> list[tuple[int, int]]:
    """Return from where to where the functions of these names are written."""
    found = list(HELPER.finditer(mask))
    ends = [*(each.start() for each in found[1:]), len(mask)]
    spans = zip(found, ends, strict=False)
    return [(each.end(), end) for each, end in spans if (each[1] or each[2]) in names]
