"""Changes of one file, line by line and hunk by hunk; works for any language."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from redgreenrefactor.model.evidence import Change
from redgreenrefactor.model.values import frozen


@frozen
class Hunk:
    """One piece of a change: lines of the new text and what stood there before."""

    path: str
    first: int  # of its lines in the new text, from 1
    last: int
    without: str  # the new text with this piece taken away

    @property
    def place(self) -> str:
        """Where it is."""
        return f"{self.path}:{self.first}" + (f"-{self.last}" if self.last > self.first else "")


def sides(change: Change) -> tuple[list[str], list[str]]:
    """Return the lines before and after, with their ends."""
    before, after = change.old_text or "", change.new_text or ""
    return lines_of(before), lines_of(after)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends, counted as Python's parser counts them."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def added_lines(change: Change) -> frozenset[int]:
    """Return the numbers of the lines that are new or changed."""
    before, after = sides(change)
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return frozenset(
        line for tag, _, _, low, high in codes if tag != "equal" for line in range(low + 1, high + 1)
    )


def first_written(change: Change) -> int | None:
    """Return the number of the first line that is new or changed, and not empty; None where none is."""
    _, after = sides(change)
    return min((line for line in added_lines(change) if after[line - 1].strip()), default=None)


def hunks(change: Change) -> Iterator[Hunk]:
    """Yield the pieces of a change that can be taken away one by one."""
    before, after = sides(change)
    for tag, a, b, low, high in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        border = low if tag == "insert" else min(low + b - a, high)  # what follows the edited lines was added
        edited = [(low, border)] if tag != "insert" else []
        added = list(_blocks(after, border, high)) if border < high else []
        for first, last in [*edited, *added]:
            if (first, last) in edited or "".join(after[first:last]).strip():
                old = before[a:b] if (first, last) in edited else []
                yield Hunk(
                    change.path,
                    first + 1,
                    max(last, first + 1),
                    "".join([*after[:first], *old, *after[last:]]),
                )


def _blocks(lines: list[str], low: int, high: int) -> Iterator[tuple[int, int]]:
    """Split added lines where a blank line is followed by one that starts at the margin of the first."""
    filled = [line for line in lines[low:high] if line.strip()]
    margin = min((_indent(line) for line in filled), default=0)
    start = low
    for number in range(low + 1, high):
        blank_before = not lines[number - 1].strip()
        if blank_before and lines[number].strip() and _indent(lines[number]) == margin:
            yield start, number
            start = number
    yield start, high


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
