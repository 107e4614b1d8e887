"""Tests as they stand in a text, in languages that are not parsed: how many, which are silenced, what they assert."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from redgreenrefactor.languages.dialects import JS, PYTHON, RUBY, Language, language_of

MASK = "\x01"  # stands for what is inside a string
ROW = re.compile(r"[\[{(\"'`\d\])}-]|\w+\s*:|#\[case")  # how a line of a table begins
LEAVES = re.compile(r"\b(?:return|throw|break|continue|exit|skip|panic)\b", re.IGNORECASE)
SUBTEST = re.compile(r"^[ \t]*(?:await\s+)?\w+\.(?:Run|test|it)\s*\(", re.MULTILINE)
HELPER = re.compile(
    r"\b(?:function|func|fn|def|void|fun)\s+(\w+)\s*[(<]"
    r"|\b(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*=>|\w+\s*=>)"
)
JS_FUNCTION = re.compile(r"=>(?:\s*\{)?|\bfunction\b[^{]*\{")
NEAR = 200  # characters before a word that tell what it is for; whole programs may stand on one line
FAILING = re.compile(r"\b(?:\w*fail\w*|\w+\.(?:Error|Fatal)\w*|panic!)\s*\(?$", re.IGNORECASE)
NUMBER = re.compile(r"(?<![\w.])\d[\w.]*")
CHECKING = re.compile(r"\b(?:check|verify|expect|assert|should|ensure|must)\w*\s*\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Block:
    """One test of a text."""

    name: str
    start: int  # where it begins in the text
    body: int  # where its body begins
    end: int
    code: str  # without comments
    line: int
    asserts: int = 0  # of its own


@dataclass(frozen=True, slots=True)
class Tally:
    """What the tests of a text come to."""

    blocks: tuple[Block, ...] = ()
    silenced: int = 0
    focused: int = 0
    asserts: int = 0
    several: int = 0  # places where one test stands for many
    values: frozenset[str] = frozenset()  # numbers and words it compares with or gives
    words: frozenset[str] = frozenset()  # everything that is written there

    def plus(self, other: "Tally") -> "Tally":
        """Return both together."""
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


def bare(path: str, text: str) -> str:
    """Return a text without comments, where its language is known, and without what formatters change."""
    language = language_of(path)
    code = uncommented(text, language)[0] if language else text
    return " ".join(code.split())


def tally(path: str, text: str | None) -> Tally:
    """Return what the tests of a file come to; of a language that is not known, nothing."""
    language = language_of(path)
    if language is None or not text:
        return NOTHING
    code, mask = uncommented(text, language)
    blocks = tuple(_blocks(code, mask, language))
    return Tally(
        blocks,
        len(language.silenced.findall(mask)) + _constrained(path, text),
        len(language.focused.findall(mask)) if language.focused else 0,
        _asserts(mask, blocks, language),
        len(language.several.findall(mask)),
        frozenset(_values(code, mask, blocks)),
        frozenset(re.findall(r"[\w.]+", code)),
    )


def _constrained(path: str, text: str) -> int:
    """Return how many conditions on building a Go file there are; they are comments."""
    return len(re.findall(r"^//\s*(?:go:build|\+build)\b", text, re.MULTILINE)) if path.endswith(".go") else 0


def uncommented(text: str, language: Language) -> tuple[str, str]:
    """Return a text twice: with blanks for comments, and also with marks for what is inside strings."""
    strings = "|".join(_string(quote) for quote in language.quotes)
    regex = (
        r"|(?<=[=(,:\[!&|?;])[ \t]*/(?![*/])(?:\\.|\[[^\]\n]*\]|[^/\\\n\[])+/[a-z]*" if language is JS else ""
    )
    token = re.compile(
        rf"(?P<comment>{language.comment})|(?P<string>\"\"\".*?\"\"\"|{strings}{regex})", re.DOTALL
    )

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0]) if found["comment"] is not None else found[0]

    def hide(found: re.Match[str]) -> str:
        if found["comment"] is not None:
            return re.sub(r"[^\n]", " ", found[0])
        return found[0][0] + re.sub(r"[^\n]", MASK, found[0][1:-1]) + found[0][-1]

    return token.sub(blank, text), token.sub(hide, text)


def _string(quote: str) -> str:
    inside = r"(?:\\.|[^\\{q}])*" if quote == "`" else r"(?:\\.|[^\\\n{q}])*"
    return quote + inside.replace("{q}", quote) + quote


def _blocks(code: str, mask: str, language: Language) -> Iterator[Block]:
    for found in language.test.finditer(mask):
        body, end = _extent(mask, found, language)
        groups = found.groupdict()
        name = groups.get("name") or groups.get("old") or _title(code, mask, found.end() - 1)
        line = code.count("\n", 0, found.start()) + 1
        asserts = len(language.asserts.findall(mask, found.start(), end))
        yield Block(name, found.start(), body, end, code[found.start() : end], line, asserts)


def _title(code: str, mask: str, start: int) -> str:
    """Return the first string after a place, or what stands in the parentheses there."""
    found = re.compile(r"([\"'`])\x01*\1").search(mask, start, start + 2000)
    if found:
        return code[found.start() + 1 : found.end() - 1]
    return " ".join(code[start : start + 80].split())


def _extent(mask: str, found: re.Match[str], language: Language) -> tuple[int, int]:
    """Return where a test's body begins and where it ends."""
    if language in (PYTHON, RUBY):
        return _indented(mask, found)
    if language is not JS:
        opening = mask.find("{", found.end())
        return (opening + 1, _closing(mask, opening)) if opening >= 0 else (len(mask), len(mask))
    function = JS_FUNCTION.search(mask, found.end())
    if function is None:
        return len(mask), len(mask)
    opening = function.end() - 1
    if mask[opening] != "{":  # an arrow without braces
        return _enclosed(mask, found.end() - 1, function.end())
    return opening + 1, _closing(mask, opening)


def _enclosed(mask: str, start: int, body: int) -> tuple[int, int]:
    return body, _closing(mask, start, "(", ")")


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
    body = header.end() if header else len(mask)
    end = body
    for line in re.compile(r"[^\n]*\n|[^\n]+").finditer(mask, body):
        blank = not line[0].strip()
        if not blank and len(line[0]) - len(line[0].lstrip()) <= margin:
            break
        end = end if blank else line.end()
    return body, end


def _asserts(mask: str, blocks: tuple[Block, ...], language: Language) -> int:
    """Return how often tests assert, by themselves or by calling a function of theirs that does."""
    tests = {block.name for block in blocks}
    helpers = "|".join(sorted(set(_helpers(mask, language)) - tests))
    calls = re.compile(rf"(?<![.\w])(?:{helpers})\s*\(") if helpers else None
    own = sum(len(language.asserts.findall(mask, block.start, block.end)) for block in blocks)
    return own + (sum(len(calls.findall(mask, block.start, block.end)) for block in blocks) if calls else 0)


def _helpers(mask: str, language: Language) -> Iterator[str]:
    """Yield the names of functions that assert for tests."""
    for found in HELPER.finditer(mask):
        name = found[1] or found[2]
        opening = max(mask.find("{", found.end()), 0)
        end = _indented(mask, found)[1] if language is PYTHON else _closing(mask, opening)
        asserts = language.asserts.search(mask, found.end(), end)
        if asserts and not name.lower().startswith("test") and not language.asserts.match(f"{name}("):
            yield name


def _values(code: str, mask: str, blocks: tuple[Block, ...]) -> Iterator[str]:
    """Yield the numbers of a text and its strings that are no prose and no module's name."""
    titles = {block.name for block in blocks}
    yield from NUMBER.findall(mask)
    for found in re.finditer(r"([\"'`])(\x01*)\1", mask):
        word = code[found.start() + 1 : found.end() - 1]
        line = mask[max(found.start() - NEAR, 0) : found.start()].rpartition("\n")[2]
        brings = re.search(r"\b(?:import|from|require|use|include|describe|suite|context)\b", line)
        if not re.search(r"\s", word) and word not in titles and not brings:
            yield from re.findall(r"[\w.]+", word)


def only_added(before: Block, after: Block) -> bool:
    """Tell whether a test is as it was, apart from lines of a table that were put in."""
    old = _lines(before.code)
    if old == _lines(after.code):
        return True
    new = _lines(_without_new_subtests(before.code, after.code))
    rest = iter(old)
    expected = next(rest, None)
    for line in new:
        if line == expected:
            expected = next(rest, None)
        elif not ROW.match(line) or LEAVES.search(line):
            return False
    return expected is None


def _without_new_subtests(before: str, after: str) -> str:
    """Return a test without the tests inside it that are new."""
    for found in reversed(list(SUBTEST.finditer(after))):
        title = _title(after, re.sub(r"([\"'`])(.*?)\1", _hidden, after), found.end() - 1)
        if title not in before and title not in " ".join(before.split()):
            end = _closing(re.sub(r"([\"'`])(.*?)\1", _hidden, after), found.end() - 1, "(", ")")
            after = after[: found.start()] + after[end:].removeprefix(";")
    return after


def _hidden(found: re.Match[str]) -> str:
    return found[1] + MASK * len(found[2]) + found[1]


def _lines(code: str) -> list[str]:
    """Return the lines of a piece of code, without what formatters change."""
    lines = (re.sub(r"\s+", " ", line).strip().rstrip(",;") for line in code.splitlines())
    return [line for line in lines if line]


def broken_at_once(path: str, text: str, block: Block) -> str | None:
    """Return the text with a failure at the beginning of a test, None where that cannot be written."""
    language = language_of(path)
    if language is None or not language.fails or block.body >= len(text):
        return None
    if language is PYTHON:
        rest = text[block.body :]
        indent = rest[: len(rest) - len(rest.lstrip(" \t"))]
        return f"{text[: block.body]}{indent}{language.fails}\n{rest}"
    if language is JS and text[block.body - 1] != "{":
        return f"{text[: block.body]} {{ {language.fails} }}, () => {text[block.body :]}"
    return f"{text[: block.body]} {language.fails} {text[block.body :]}"


def bent(path: str, text: str, block: Block) -> Iterator[str]:
    """Yield the text with one expectation after the other bent, the last first."""
    language = language_of(path)
    if language is None:
        return
    code, mask = uncommented(text, language)
    for start, end in reversed(_expecting(mask, block, language)):
        for found in reversed(list(LITERAL.finditer(mask, start, end))):
            was = code[found.start() : found.end()]
            yield code[: found.start()] + other_literal(was) + code[found.end() :]


def _expecting(mask: str, block: Block, language: Language) -> list[tuple[int, int]]:
    """Return where a test says what it expects: in assertions, or in the conditions before a failure is told."""
    found = list(language.asserts.finditer(mask, block.body, block.end))
    asserting = [
        (each.start(), _statement_end(mask, each.start(), block.end))
        for each in found
        if not FAILING.search(each[0])
    ]
    conditions = [
        each.span() for each in re.compile(r"\bif\b[^{\n]*\{").finditer(mask, block.body, block.end)
    ]
    return sorted({*asserting, *(conditions if len(asserting) < len(found) else [])})


LITERAL = re.compile(r"([\"'`])\x01*\1|(?<![\w.])\d{1,18}(?![\w.])|\b(?:true|false|True|False)\b")


def other_literal(was: str) -> str:
    """Return another value of the same kind."""
    if was[0] in "\"'`":
        return f"{was[:-1]}~{was[-1]}"
    swapped = {"true": "false", "false": "true", "True": "False", "False": "True"}
    return swapped.get(was) or str(int(was) + 1)


def _statement_end(mask: str, start: int, end: int) -> int:
    """Return where the statement that begins here ends: at a semicolon or a line that closes what it opened."""
    depth = 0
    for place in range(start, end):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(mask[place], 0)
        if depth < 0 or (depth == 0 and mask[place] in ";\n"):
            return place
    return end


def fell_silent(path: str, before: Block, after: Block) -> bool:
    """Tell whether a test that asserted does so no longer, and calls nothing new that might do it instead."""
    language = language_of(path)
    if language is None:
        return False
    old, new = (uncommented(block.code, language)[1] for block in (before, after))
    if not language.asserts.search(old) or language.asserts.search(new):
        return False
    calls = [set(re.findall(r"([\w$]+)\s*[(!]", mask)) for mask in (old, new)]
    return calls[1] <= calls[0]


def says_nothing(path: str, block: Block) -> bool:
    """Tell whether a test asserts nothing, or nothing but what it has written down itself."""
    language = language_of(path)
    if language is None:
        return False
    _, mask = uncommented(block.code, language)
    calls = list(language.asserts.finditer(mask))
    if not calls:
        return not CHECKING.search(mask)
    if any(FAILING.search(found[0]) for found in calls):  # it is reached where something else was found wrong
        return False
    starts = [found.start() for found in calls]
    pieces = [mask[start : _statement_end(mask, start, len(mask))] for start in starts]
    return all(not _speaks(language.asserts.sub("", piece)) for piece in pieces)


def _speaks(piece: str) -> bool:
    """Tell whether a piece of an assertion names anything that could be code under test."""
    words = re.findall(r"(?<![.\w\"'`])[A-Za-z_$][\w$]*", re.sub(r"([\"'`])\x01*\1", "", piece))
    return any(word not in _EMPTY_WORDS for word in words)


_EMPTY_WORDS = frozenset(
    (
        "true",
        "false",
        "True",
        "False",
        "null",
        "None",
        "nil",
        "undefined",
        "t",
        "and",
        "or",
        "not",
        "is",
        "in",
        "strict",
    )
)
