"""Searching file contents without ripgrep, with the same answers; runs in a process of its own, so that it can be ended."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from redgreenrefactor.agents.files import Files, Found, RefusedError, Seen
from redgreenrefactor.agents.globs import Glob
from redgreenrefactor.agents.ignoring import Ignoring

MOST = 20_000_000  # bytes of a file that is searched
COLUMNS = 20_000  # of a line that is told: a longer one would not come through as one
_WIDE = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "punct": r"!-/:-@\[-`{-~",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for, where, and how it is told."""

    pattern: str
    path: str = "."
    globs: tuple[str, ...] = ()  # braces resolved; with a leading `!`: not these
    names: tuple[str, ...] = ()  # patterns of the type that is wanted
    mode: str = "files_with_matches"
    ignore_case: bool = False
    numbers: bool = True
    before: int = 0
    after: int = 0
    only: bool = False  # what matched, without the rest of its line
    multiline: bool = False

    @classmethod
    def of(cls, globs: Iterable[str] = (), names: Iterable[str] = (), **given: Any) -> "Query":
        """Return the query that came as JSON, which knows only lists."""
        return cls(globs=tuple(globs), names=tuple(names), **given)


def search(files: Files, query: Query) -> Iterator[str]:
    """Yield the lines of the answer; a pattern that is none is refused."""
    expression = compiled(query)
    separated = False
    for seen, found in _searched(files, query):
        text = _text(found.content)
        if not text or (query.mode != "content" and not _count(text, expression, query)):
            continue
        if query.mode == "files_with_matches":
            yield seen.path
        elif query.mode == "count":
            yield f"{seen.path}:{_count(text, expression, query)}"
        else:
            told = list(_told(seen.path, text, expression, query))
            if told and separated and (query.before or query.after):
                yield "--"
            separated = separated or bool(told)
            yield from told


def compiled(query: Query) -> re.Pattern[str]:
    """Return the pattern, in ripgrep's spelling, as ours."""
    pattern = query.pattern.replace(r"\z", r"\Z").replace("(?<", "(?P<")
    pattern = re.sub(r"\(\?P<([=!])", r"(?<\1", pattern)  # look-behinds were meant
    pattern = re.sub(r"\[:(\w+):\]", lambda kind: _CLASSES.get(kind[1], kind[0]), pattern)
    flags = re.MULTILINE | (re.IGNORECASE if query.ignore_case else 0) | (re.DOTALL if query.multiline else 0)
    try:
        return re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise RefusedError(f"the regular expression {query.pattern!r:.200} cannot be used: {error}") from None


def _searched(files: Files, query: Query) -> Iterator[tuple[Seen, Found]]:
    """Yield the files that are looked into: one, or what is below a folder and not left out."""
    if files.kind(query.path) == "file":
        found = files.read(query.path, MOST)
        yield Seen(files.relative(query.path), 0, "", 0), found
        return
    for seen in listed(files, query.path, query.globs, query.names):
        try:
            yield seen, files.read_seen(seen, MOST)
        except (OSError, RefusedError):
            continue  # gone, forbidden, a hard link


def listed(
    files: Files, path: str, patterns: Sequence[str] = (), names: Sequence[str] = ()
) -> Iterator[Seen]:
    """Yield the files below a folder that are not left out; a file a pattern asks for is not, whatever git says."""
    ignoring = Ignoring(files)
    asked = [(Glob.of(one.removeprefix("!")), one.startswith("!")) for one in patterns]
    kinds = [Glob.of(name) for name in names]
    positive = any(not negated for _, negated in asked)

    def enter(folder: str, descriptor: int):  # noqa: ANN202
        left_out = ignoring.enter(folder, descriptor)
        above = () if folder == "." else tuple(folder.split("/"))

        def wanted(name: str, is_folder: bool) -> bool:  # noqa: FBT001
            parts = (*above, name)
            for glob, negated in reversed(asked):
                if glob.matches(parts):
                    return not negated
            if positive and not is_folder:
                return False
            if kinds and not is_folder and not any(kind.matches(parts) for kind in kinds):
                return False
            return not left_out(name, is_folder)

        return wanted

    yield from files.walk(path, enter)


def _text(raw: bytes) -> str | None:
    """Return a file's text with plain line ends, None if it is binary."""
    wide = _WIDE.get(raw[:2])
    if wide is None and b"\0" in raw:
        return None
    text = raw[2:].decode(wide, "replace") if wide else raw.decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n").removesuffix("\n")


def _count(text: str, expression: re.Pattern[str], query: Query) -> int:
    """Return how many lines match or, where matches may span lines, how many matches there are."""
    if query.multiline:
        return sum(1 for _ in expression.finditer(text))
    return len(_matching(text, expression, query))


def _matching(text: str, expression: re.Pattern[str], query: Query) -> list[int]:
    """Return the numbers, from 0, of the lines that a match touches."""
    if not query.multiline:
        return [number for number, line in enumerate(text.split("\n")) if expression.search(line)]
    touched: set[int] = set()
    number = position = 0
    for match in expression.finditer(text):
        number += text.count("\n", position, match.start())
        position = match.start()
        span = text.count("\n", match.start(), max(match.start(), match.end() - 1))
        touched.update(range(number, number + span + 1))
    return sorted(touched)


def _told(path: str, text: str, expression: re.Pattern[str], query: Query) -> Iterator[str]:
    """Yield the matching lines of a file and those around them, or just what matched, as ripgrep prints them."""
    if query.only:
        yield from (_line(path, *found, ":", query) for found in _parts(text, expression, query))
        return
    lines = text.split("\n")
    matching = set(_matching(text, expression, query))
    around = {
        near
        for number in matching
        for near in range(max(0, number - query.before), min(len(lines), number + query.after + 1))
    }
    last = None
    for number in sorted(around):
        if last is not None and number > last + 1 and (query.before or query.after):
            yield "--"
        last = number
        yield _line(path, number, lines[number], ":" if number in matching else "-", query)


def _parts(text: str, expression: re.Pattern[str], query: Query) -> Iterator[tuple[int, str]]:
    """Yield what matched with the number, from 0, of its line; a match over several lines line by line."""
    for number, passage in enumerate([text] if query.multiline else text.split("\n")):
        first, position = number, 0
        for match in expression.finditer(passage):
            first += passage.count("\n", position, match.start())
            position = match.start()
            if match[0]:
                yield from enumerate(match[0].removesuffix("\n").split("\n"), first)


def _line(path: str, number: int, text: str, sign: str, query: Query) -> str:
    counted = f"{number + 1}{sign}" if query.numbers else ""
    return f"{path}{sign}{counted}{text[:COLUMNS]}"


PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from redgreenrefactor.agents.grep import main; main()"


def main() -> None:
    """Answer the query on standard input: lines on standard output; a refusal on standard error, exit code 2."""
    asked = json.load(sys.stdin)
    query = Query.of(**asked["query"])
    output = sys.stdout.buffer
    try:
        for line in search(Files(Path(asked["root"])), query):
            output.write(line.encode("utf-8", "replace") + b"\n")
    except (RefusedError, OSError) as error:
        sys.stderr.write(str(error))
        sys.exit(2)


def asked(files: Files, query: Query) -> bytes:
    """Return what the program reads."""
    return json.dumps({"root": str(files.root.absolute()), "query": asdict(query)}).encode()
