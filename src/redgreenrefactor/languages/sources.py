"""Sources of any language as texts: the tests in them, which are silenced, what they assert."""

import re
from collections.abc import Iterator

from redgreenrefactor.languages.dialects import PYTHON, RUBY, Dialect, dialect_of
from redgreenrefactor.model.values import frozen

MASK = "\x01"  # stands for what is inside a string
_QUOTED = re.compile(r"([^\"'`/]*[\"'`/])(.*)([\"'`/][^\"'`/]*)", re.DOTALL)
STRING = re.compile(r"([\"'`])\x01*\1")
LITERAL = re.compile(rf"{STRING.pattern}|(?<![\w.])\d{{1,18}}(?![\w.])|\b(?:true|false|True|False)\b")
FAILING = re.compile(r"\b(?:\w*fail\w*|\w+\.(?:Error|Fatal)\w*|panic!)\s*\(?$", re.IGNORECASE)
NEAR = 200  # characters before a word that tell what it is for; whole programs may stand on one line
_ROW = re.compile(r"[\[{(\"'`\d\])}-]|\w+\s*:|#\[case")  # how a line of a table begins
_LEAVES = re.compile(r"\b(?:return|throw|break|continue|exit|skip|panic)\b", re.IGNORECASE)
_SUBTEST = re.compile(r"^[ \t]*(?:await\s+)?\w+\.(?:Run|test|it)\s*\(", re.MULTILINE)
_FUNCTION = re.compile(
    r"\b(?:function|func|fn|def|void|fun)\s+(\w+)\s*[(<]"
    r"|\b(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*=>|\w+\s*=>)"
)
_JS_BODY = re.compile(r"=>(?:\s*\{)?|\bfunction\b[^{]*\{")
_CHECKING = re.compile(r"\b(?:check|verify|expect|assert|should|ensure|must)\w*\s*\(", re.IGNORECASE)
_BRINGS = re.compile(r"\b(?:import|from|require|use|include|describe|suite|context)\b")
_EMPTY = re.compile(r"true|false|True|False|null|None|nil|undefined|t|and|or|not|is|in|strict")


@frozen
class SourceText:
    """A text whose language is known."""

    dialect: Dialect
    code: str  # with blanks for comments
    mask: str  # also with marks for what is inside strings


@frozen
class Block:
    """One test of a text."""

    dialect: Dialect
    name: str
    line: int
    start: int  # where it begins in the text
    body: int  # where its body begins
    end: int
    code: str  # its own, without comments
    mask: str

    @property
    def asserts(self) -> int:
        """How often it asserts by itself."""
        return len(self.dialect.asserts.findall(self.mask))

    @property
    def says_nothing(self) -> bool:
        """Whether it asserts nothing, or nothing but what it has written down itself."""
        calls = list(self.dialect.asserts.finditer(self.mask))
        if not calls:
            return not _CHECKING.search(self.mask)
        if any(FAILING.search(call[0]) for call in calls):  # reached where something else was found wrong
            return False
        pieces = (self.mask[call.start() : statement_end(self.mask, call.start())] for call in calls)
        return not any(_speaks(self.dialect.asserts.sub("", piece)) for piece in pieces)

    def fell_silent(self, before: "Block") -> bool:
        """Tell whether it asserted before and does not now, and calls nothing new that might do it instead."""
        if not before.asserts or self.asserts:
            return False
        was, now = (set(re.findall(r"([\w$]+)\s*[(!]", each.mask)) for each in (before, self))
        return now <= was

    def only_grew(self, before: "Block") -> bool:
        """Tell whether it is as it was, apart from lines of a table that were put in, and tests inside it."""
        old = _lines(before.code)
        if old == _lines(self.code):
            return True
        rest = iter(old)
        expected = next(rest, None)
        for line in _lines(_without_new_subtests(before.code, self.code, self.mask)):
            if line == expected:
                expected = next(rest, None)
            elif not _ROW.match(line) or _LEAVES.search(line):
                return False
        return expected is None


@frozen
class Tally:
    """What the tests of a text come to."""

    blocks: tuple[Block, ...] = ()
    silenced: int = 0
    focused: int = 0
    asserts: int = 0  # by the tests themselves, or by calling a function of theirs that does
    several: int = 0  # places where one test stands for many
    values: frozenset[str] = frozenset()  # numbers and words it compares with or gives
    words: frozenset[str] = frozenset()  # everything that is written there

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.blocks + other.blocks,
            self.silenced + other.silenced,
            self.focused + other.focused,
            self.asserts + other.asserts,
            self.several + other.several,
            self.values | other.values,
            self.words | other.words,
        )


NOTHING = Tally()


def source_of(path: str, text: str | None) -> SourceText | None:
    """Return a text as its language reads it, None where that is not known; why no library does it: ADR 19."""
    dialect = dialect_of(path)
    if dialect is None or not text:
        return None
    return SourceText(dialect, dialect.token.sub(_without_comment, text), dialect.token.sub(_hidden, text))


def _without_comment(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0]) if found["comment"] is not None else found[0]


def _hidden(found: re.Match[str]) -> str:
    """Return blanks for a comment; a string with marks for what is inside it, its quotes and their prefix left."""
    if found["comment"] is not None:
        return _without_comment(found)
    parts = _QUOTED.fullmatch(found[0])
    return parts[1] + re.sub(r"[^\n]", MASK, parts[2]) + parts[3] if parts else found[0]


def bare(path: str, text: str) -> str:
    """Return a text without comments, where its language is known, and without what formatters change."""
    source = source_of(path, text)
    return " ".join((source.code if source else text).split())


def tally(path: str, text: str | None) -> Tally:
    """Return what the tests of a file come to; of a language that is not known, nothing."""
    source = source_of(path, text)
    if source is None or text is None:
        return NOTHING
    dialect, mask = source.dialect, source.mask
    blocks = tuple(_blocks(source))
    return Tally(
        blocks,
        len(dialect.silenced.findall(mask)) + _constrained(path, text),
        len(dialect.focused.findall(mask)) if dialect.focused else 0,
        sum(block.asserts for block in blocks) + _asserted_for(source, blocks),
        len(dialect.several.findall(mask)),
        frozenset(_values(source, blocks)),
        frozenset(re.findall(r"[\w.]+", source.code)),
    )


def _constrained(path: str, text: str) -> int:
    """Return how many conditions on building a Go file there are; they are comments."""
    return len(re.findall(r"^//\s*(?:go:build|\+build)\b", text, re.MULTILINE)) if path.endswith(".go") else 0


def _blocks(source: SourceText) -> Iterator[Block]:
    code, mask = source.code, source.mask
    for found in source.dialect.test.finditer(mask):
        body, end = _extent(source, found)
        names = found.groupdict()
        name = names.get("name") or names.get("old") or _title(code, mask, found.end() - 1)
        line, start = code.count("\n", 0, found.start()) + 1, found.start()
        yield Block(source.dialect, name, line, start, body, end, code[start:end], mask[start:end])


def _title(code: str, mask: str, start: int) -> str:
    """Return the first string after a place, or what stands in the parentheses there."""
    found = STRING.search(mask, start, start + 2000)
    return code[found.start() + 1 : found.end() - 1] if found else " ".join(code[start : start + 80].split())


def _extent(source: SourceText, found: re.Match[str]) -> tuple[int, int]:
    """Return where a test's body begins and where it ends."""
    dialect, mask = source.dialect, source.mask
    if dialect in (PYTHON, RUBY):
        return _indented(mask, found)
    opening = mask.find("{", found.end())
    if dialect.callbacks:
        function = _JS_BODY.search(mask, found.end())
        opening = function.end() - 1 if function else -1
        if function and mask[opening] != "{":  # an arrow without braces
            return function.end(), _closing(mask, found.end() - 1, "(", ")")
    return (opening + 1, _closing(mask, opening)) if opening >= 0 else (len(mask), len(mask))


def _closing(mask: str, start: int, opens: str = "{", closes: str = "}") -> int:
    depth = 0
    for place in range(start, len(mask)):
        depth += {opens: 1, closes: -1}.get(mask[place], 0)
        if depth == 0:
            return place + 1
    return len(mask)


def _indented(mask: str, found: re.Match[str]) -> tuple[int, int]:
    """Return the lines that stand deeper than the one a test begins on."""
    begin = found.end() - len(found[0].lstrip())
    margin = begin - (mask.rfind("\n", 0, begin) + 1)
    header = re.compile(r"[^\n]*(?:\([^()]*\)[^\n:]*)?:?[^\n]*\n").match(mask, begin)
    body = end = header.end() if header else len(mask)
    for line in re.compile(r"[^\n]*\n|[^\n]+").finditer(mask, body):
        blank = not line[0].strip()
        if not blank and len(line[0]) - len(line[0].lstrip()) <= margin:
            break
        end = end if blank else line.end()
    return body, end


def functions(source: SourceText) -> Iterator[tuple[str, int, int]]:
    """Yield the functions of a text by name, with where each begins and ends."""
    mask = source.mask
    for found in _FUNCTION.finditer(mask):
        opening = max(mask.find("{", found.end()), 0)
        end = _indented(mask, found)[1] if source.dialect is PYTHON else _closing(mask, opening)
        yield found[1] or found[2], found.end(), end


def _asserted_for(source: SourceText, blocks: tuple[Block, ...]) -> int:
    """Return how often tests call functions of this text that assert for them."""
    asserts = source.dialect.asserts
    names = {
        name
        for name, start, end in functions(source)
        if asserts.search(source.mask, start, end) and not asserts.match(f"{name}(")
    }
    helpers = {name for name in names if not name.lower().startswith("test")} - {b.name for b in blocks}
    called = (re.findall(r"(?<![.\w])(\w+)\s*\(", block.mask) for block in blocks)
    return sum(name in helpers for calls in called for name in calls)


def _values(source: SourceText, blocks: tuple[Block, ...]) -> Iterator[str]:
    """Yield the numbers of a text and its strings that are no prose and no module's name."""
    titles = {block.name for block in blocks}
    yield from re.findall(r"(?<![\w.])\d[\w.]*", source.mask)
    for found in STRING.finditer(source.mask):
        word = source.code[found.start() + 1 : found.end() - 1]
        line = source.mask[max(found.start() - NEAR, 0) : found.start()].rpartition("\n")[2]
        if not re.search(r"\s", word) and word not in titles and not _BRINGS.search(line):
            yield from re.findall(r"[\w.]+", word)


def _without_new_subtests(before: str, code: str, mask: str) -> str:
    """Return a test without the tests inside it that are new."""
    for found in reversed(list(_SUBTEST.finditer(mask))):
        title = _title(code, mask, found.end() - 1)
        if title not in before and title not in " ".join(before.split()):
            end = _closing(mask, found.end() - 1, "(", ")")
            code = code[: found.start()] + code[end:].removeprefix(";")
            mask = mask[: found.start()] + mask[end:].removeprefix(";")
    return code


def _lines(code: str) -> list[str]:
    """Return the lines of a piece of code, without what formatters change."""
    lines = (re.sub(r"\s+", " ", line).strip().rstrip(",;") for line in code.splitlines())
    return [line for line in lines if line]


def statement_end(mask: str, start: int) -> int:
    """Return where the statement that begins here ends: at a semicolon or a line that closes what it opened."""
    depth = 0
    for place in range(start, len(mask)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(mask[place], 0)
        if depth < 0 or (depth == 0 and mask[place] in ";\n"):
            return place
    return len(mask)


def _speaks(piece: str) -> bool:
    """Tell whether a piece of an assertion names anything that could be code under test."""
    words = re.findall(r"(?<![.\w\"'`])[A-Za-z_$][\w$]*", STRING.sub("", piece))
    return any(not _EMPTY.fullmatch(word) for word in words)
