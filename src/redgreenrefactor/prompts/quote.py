"""Text that somebody else wrote, made fit to stand in a brief: plain, bounded, fenced."""

import re
import unicodedata

LIMIT = 4000  # characters of any one quotation from tests or sessions

_TERMINAL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # operating system commands: titles, links
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor moves
    r"|\x1b[ -/]*[0-~]?"
)
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn")
_KEPT = "\t\u200c\u200d"  # the joiners are part of words and emoji


def plain(text: str) -> str:
    """Return the text without terminal sequences and without characters that show nothing."""
    unified = _TERMINAL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line if line.isprintable() else _shown(line) for line in unified.split("\n"))


def _shown(line: str) -> str:
    return "".join(
        character
        for character in line
        if character in _KEPT or unicodedata.category(character) not in _INVISIBLE
    )


def bounded(text: str, limit: int = LIMIT) -> str:
    """Return the text, or its head and tail where it is longer than the limit."""
    if len(text) <= limit:
        return text
    mark = f"\n[… {len(text) - limit} characters or more left out …]\n"
    room = max(limit - len(mark), 0)
    head = room - room // 3
    return text[:head] + mark + text[len(text) - room // 3 :]


def quoted(text: str, limit: int | None = LIMIT) -> str:
    """Return the text plain and bounded, in a fence that nothing inside can close."""
    body = plain(text).strip("\n")
    if limit is not None:
        body = bounded(body, limit)
    runs = [len(run) for run in re.findall("`+", body)]
    fence = "`" * max(3, 1 + max(runs, default=0))
    return f"{fence}text\n{body}\n{fence}"


def in_line(text: str, limit: int = 200) -> str:
    """Return the text as one plain line, cut off at the limit."""
    line = " ".join(plain(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
