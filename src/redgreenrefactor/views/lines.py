"""Text from anywhere, made safe to show and fitted into the columns of a terminal."""

import math
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import TextIO

from redgreenrefactor.model.session import Usage, dollars
from redgreenrefactor.model.values import frozen, replace

LONGEST = 10_000  # characters of one outside text that are looked at
WIDEST = 100  # columns; on wider terminals the right-hand side would be too far away to belong to its line
NARROWEST = 20
FEW = 3  # lines of which none is spent on counting the rest
READABLE = 36  # columns under which the left-hand side of a line is not cut to make room for remarks
MOST_MARKS = 3  # accents on one letter; more would paint over neighbouring lines

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\r\n]*(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|\x1b[ -/]*[0-Z\\^-~]"  # everything shorter
)
_BREAKS = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff\u034f\u180e") | {
    chr(code) for code in range(0xFE00, 0xFE10)
}


class Tone(StrEnum):
    """What a piece of a line means; a view may have a colour for it."""

    PLAIN = "plain"
    STRONG = "strong"
    FAINT = "faint"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    COMMIT = "commit"
    HINT = "hint"
    PLAN = "plan"
    RED = "red"
    GREEN = "green"
    REFACTOR = "refactor"


STYLES = {
    Tone.PLAIN: "",
    Tone.STRONG: "1",
    Tone.FAINT: "2",
    Tone.GOOD: "32",
    Tone.BAD: "1;31",
    Tone.WARN: "33",
    Tone.COMMIT: "33",
    Tone.HINT: "36",
    Tone.PLAN: "1;35",
    Tone.RED: "1;31",
    Tone.GREEN: "1;32",
    Tone.REFACTOR: "1;34",
}


@frozen
class Span:
    """A piece of a line."""

    text: str
    tone: Tone = Tone.PLAIN


Row = tuple[Span, ...]


@frozen
class Ink:
    """The symbols a stream can show, and the encoding everything has to go through."""

    ok: str = "✓"
    bad: str = "✗"
    arrow: str = "→"
    dot: str = "·"
    more: str = "…"
    bar: str = "│"
    spinner: str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
    encoding: str = "utf-8"
    color: bool = False

    def painted(self, row: Row) -> str:
        """Return the row as it is written, in colours if they are wanted."""
        return painted(row, color=self.color)

    def line(self, text: str) -> str:
        """Return the text on one line, with nothing in it that could move a cursor or pass for nothing."""
        return self._shown(_BREAKS.sub(" ", _ESCAPES.sub("", text[:LONGEST])))

    def lines(self, text: str) -> list[str]:
        """Return the text line by line, each as harmless, without blank ones at either end."""
        parts = [self._shown(part) for part in _BREAKS.split(_ESCAPES.sub("", text[:LONGEST]))]
        while parts and not parts[-1].strip():
            parts.pop()
        while parts and not parts[0].strip():
            parts.pop(0)
        return parts

    def headline(self, text: str) -> str:
        """Return the first line that says something, marked if more follow."""
        parts = self.lines(text)
        return "" if not parts else parts[0].strip() + (f" {self.more}" if len(parts) > 1 else "")

    def _shown(self, text: str) -> str:
        spaced = text.replace("\t", "    ").rstrip()
        if not (spaced.isascii() and spaced.isprintable()):
            spaced = "".join(_visible(spaced))
        return spaced.encode(self.encoding, "replace").decode(self.encoding, "replace")


ASCII = Ink("ok", "x", "->", "-", "...", "|", "|/-\\", "ascii")


def painted(row: Row, *, color: bool) -> str:
    """Return a row as it is written."""
    return "".join(
        f"\x1b[{style}m{span.text}\x1b[0m"
        if color and span.text.strip() and (style := STYLES[span.tone])
        else span.text
        for span in row
    ).rstrip(" ")


def in_color(stream: TextIO, environ: Mapping[str, str], *, unwanted: bool = False) -> bool:
    """Tell whether colours are shown there, and wanted."""
    plain = unwanted or environ.get("NO_COLOR") or environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def ink_for(stream: TextIO) -> Ink:
    """Return the symbols this stream can encode."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    ink = replace(Ink(), encoding=encoding)
    try:
        f"{ink.ok}{ink.bad}{ink.arrow}{ink.dot}{ink.more}{ink.bar}{ink.spinner}".encode(encoding)
    except UnicodeEncodeError:
        return replace(ASCII, encoding=encoding)
    except LookupError:
        return ASCII
    return ink


def _visible(text: str) -> Iterator[str]:
    """Yield what a reader should see of each character: itself, its escape, or nothing."""
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if character in _UNSEEN or marks > MOST_MARKS:
            continue
        unsafe = category.startswith("C") or category in ("Zl", "Zp")
        yield character.encode("unicode_escape").decode("ascii") if unsafe else character


def cells(text: str) -> int:
    """Return how many columns the text takes."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def chop(text: str, width: int) -> tuple[str, str]:
    """Return as much of the text as fits, and the rest."""
    used = 0
    for index, character in enumerate(text):
        used += _cell(character)
        if used > width:
            return text[:index], text[index:]
    return text, ""


def cut(text: str, width: int, ink: Ink) -> str:
    """Return the text in at most that many columns, marked where something is missing."""
    return "".join(span.text for span in cut_row((Span(text),), width, ink))


def cut_row(row: Row, width: int, ink: Ink) -> Row:
    """Return the row in at most that many columns, marked where something is missing."""
    if measure(row) <= width:
        return row
    kept: list[Span] = []
    room = max(width - cells(ink.more), 0)
    for span in row:
        head, rest = chop(span.text, room)
        kept.append(Span(head + (ink.more[: max(width, 0)] if rest else ""), span.tone))
        if rest:
            break
        room -= cells(head)
    return tuple(kept)


def measure(row: Row) -> int:
    """Return how many columns the row takes."""
    return sum(cells(span.text) for span in row)


def wrap(text: str, width: int) -> list[str]:
    """Return one line as several, none wider than that, broken between words where possible."""
    rows: list[str] = []
    line, *words = text.split(" ")
    for word in words:
        if rows and not line:
            line = word  # a continued line does not begin with the gap it was broken at
        elif cells(line) + 1 + cells(word) <= width:
            line += f" {word}"
        else:
            rows += _pieces(line, width)
            line = word
    return [*rows, *_pieces(line, width)]


def _pieces(word: str, width: int) -> list[str]:
    """Return a word too long for any line in pieces."""
    pieces: list[str] = []
    while cells(word) > width:
        head, word = chop(word, width)
        pieces.append(head)
    return [*pieces, word]


def block(text: str, width: int, ink: Ink, *, indent: int = 0, lead: str = "", most: int = 12) -> list[str]:
    """Return a text of any length as indented lines, wrapped and at most so many; the lead hangs out."""
    start = " " * indent + lead
    hang = " " * (indent + cells(lead))
    room = max(width - cells(hang), NARROWEST // 3)
    rows = [row for line in ink.lines(text) for row in wrap(line, room)]
    if len(rows) > most:
        rest = f"{ink.more} {len(rows) - most + 1} more lines"
        rows[most - 1 :] = [
            cut(rest if most > FEW else f"{rows[most - 1]} {rows[most]} {ink.more}", room, ink)
        ]
    return [((hang if index else start) + row).rstrip() for index, row in enumerate(rows)]


def led(
    text: str,
    width: int,
    ink: Ink,
    *,
    indent: int = 0,
    lead: str = "",
    most: int = 12,
    tones: tuple[Tone, Tone] = (Tone.PLAIN, Tone.PLAIN),
) -> list[Row]:
    """Return the same as rows: the lead in one tone, the text in another."""
    start = indent + len(lead)
    rows = block(text, width, ink, indent=indent, lead=lead, most=most)
    return [(Span(row[:start], tones[0]), Span(row[start:], tones[1])) for row in rows]


def aligned(
    left: Row, right: Sequence[str], width: int, ink: Ink, *, indent: int, keep: int = 1
) -> list[Row]:
    """Return the row with remarks at its right end; without room for them all but the last few go below."""
    remarks = [remark for remark in right if remark]
    room = width - sum(cells(remark) + 2 for remark in remarks)
    stay = remarks if measure(left) <= room or room >= READABLE else remarks[max(len(remarks) - keep, 0) :]
    below = "  ".join(remarks[: len(remarks) - len(stay)])
    room = width - sum(cells(remark) + 2 for remark in stay)
    kept = cut_row(left, room, ink)
    gap = " " * (room - measure(kept))
    first: Row = (*kept, Span("  ".join([gap, *stay]), Tone.FAINT)) if stay else kept
    return [first, (Span(cut(" " * indent + below, width, ink), Tone.FAINT),)] if below else [first]


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of texts as lines, each text below that of the row above; all rows have as many."""
    shown = [[Ink().line(text) for text in row] for row in rows]
    wide = [max(map(cells, column)) for column in zip(*shown, strict=True)]
    padded = (
        [text + " " * (room - cells(text)) for text, room in zip(row, wide, strict=True)] for row in shown
    )
    return ["  ".join(row).rstrip() for row in padded]


def seconds(value: float) -> str:
    """Return a duration as people say it."""
    if not math.isfinite(value):
        return "?"
    tenths = round(max(value, 0.0), 1)
    if tenths < 100:  # noqa: PLR2004
        return f"{tenths:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"  # noqa: PLR2004


def heading(text: str) -> str:
    """Return a text without the marks of a heading it may begin with."""
    return text.lstrip("# \t\r\n")


def count(number: int, noun: str) -> str:
    """Return a number of things in words."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def short_number(value: float) -> str:
    """Return a number in few letters."""
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


def used(usage: Usage) -> str:
    """Return tokens and cost in a few words; of an agent that tells no tokens what it cost alone."""
    cached = f" ({usage.cache_read_tokens:,} from the cache)" if usage.cache_read_tokens else ""
    tokens = f"{usage.tokens - usage.output_tokens:,} tokens in{cached}, {usage.output_tokens:,} out"
    if usage.cost_usd is None:
        return tokens
    return f"{tokens}, {dollars(usage.cost_usd)}" if usage.tokens else dollars(usage.cost_usd)


def short(commit: str) -> str:
    """Return a commit id as people read it."""
    return commit[:7]


class Outlet:
    """A stream that never raises: what it cannot encode is replaced, and once it is gone there is silence."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.alive = True

    def write(self, text: str) -> int:
        """Write the text if anybody can still read it."""
        if self.alive:
            self._try(text)
        return len(text)

    @property
    def size(self) -> os.terminal_size | None:
        """How large the terminal is; None where there is none."""
        with suppress(OSError, ValueError, AttributeError):
            return os.get_terminal_size(self._stream.fileno())
        return None

    def _try(self, text: str) -> None:
        try:
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                self._stream.write(text.encode("ascii", "replace").decode("ascii"))
            self._stream.flush()
        except BlockingIOError:
            pass  # a program that shares the terminal made it non-blocking: it is late, not gone
        except BrokenPipeError:
            self.alive = False
            self._detach()
        except (OSError, ValueError):
            self.alive = False

    def _detach(self) -> None:
        """Point the broken stream to nowhere: the interpreter's last flush must not change the exit code."""
        with suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
