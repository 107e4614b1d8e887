"""Commit messages: which prefix a phase wants, and how a wrong one is mended."""

import re
from collections.abc import Sequence

CONVENTIONAL = (
    "build|chore|ci|docs|feat|feature|fix|perf|plan|refactor|revert|review|style|test|tests|wip|red|green"
)
PREFIX = re.compile(rf"^(?P<kind>{CONVENTIONAL})(?P<scope>\([^()\n]*\))?(?P<mark>!?):[^\S\n]*", re.IGNORECASE)


def fits(message: str, prefixes: Sequence[str]) -> bool:
    """Tell whether the subject starts with a prefix of the phase, a scope allowed, and says something."""
    found = PREFIX.match(message)
    said = message[found.end() :].partition("\n")[0].strip() if found else ""
    return found is not None and found["kind"] in prefixes and bool(said)


def mended(message: str, prefixes: Sequence[str], description: str) -> str:
    """Return the message with a prefix that fits; an empty one says what the case is about."""
    text = message.strip() or description.strip() or "no message"
    if fits(text, prefixes):
        return text + "\n"
    found = PREFIX.match(text)
    scope, mark = (found["scope"] or "", found["mark"]) if found else ("", "")
    rest = text[found.end() :].strip() if found else text
    subject, _, body = (rest or description.strip() or "no message").partition("\n")
    return f"{prefixes[0]}{scope}{mark}: {subject.strip()}\n" + (f"{body.rstrip()}\n" if body.strip() else "")
