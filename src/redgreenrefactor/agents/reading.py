"""Read: a text file with line numbers, page by page."""

import codecs
from difflib import get_close_matches
from posixpath import basename, dirname

from redgreenrefactor.agents.clipping import shortened
from redgreenrefactor.agents.files import Files, Found, RefusedError
from redgreenrefactor.agents.schemas import Arguments

LINES = 2000  # of a page
BYTES = 60_000  # of a page
COLUMNS = 2000  # of a line
MOST = 10_000_000  # bytes of a file that is read or edited
_NAMES = 100  # of a folder
_SNIFFED = 8192
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def read(files: Files, arguments: Arguments) -> str:
    """Return a page of a file; what cannot be shown is refused with what is there instead."""
    path = arguments.text("file_path")
    lines = text_of(found_file(files, path)).split("\n")
    if lines[-1] == "":
        lines.pop()
    first = arguments.count("offset", 1, least=1)
    if not lines:
        return f"{path} is empty."
    if first > len(lines):
        raise RefusedError(f"{path} has only {len(lines)} lines; offset {first} is past its end")
    return _page(lines, first, arguments.count("limit", LINES, least=1))


def found_file(files: Files, path: str) -> Found:
    """Return a file of bearable size; a missing one is refused with names that are like it."""
    try:
        found = files.read(path, MOST + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise RefusedError(f"{path} does not exist{_alike(files, path)}") from None
    except RefusedError:
        if files.kind(path) == "folder":
            raise RefusedError(f"{path} is a folder. It holds: {_held(files, path)}") from None
        raise
    if found.size > MOST or len(found.content) > MOST:
        size = max(found.size, len(found.content))
        raise RefusedError(
            f"{path} has {size} bytes, too many; look into it with Grep, or with Bash (sed -n, head)"
        )
    return found


def text_of(found: Found) -> str:
    """Return a file's text as it is shown: no byte order mark, no carriage returns; binary ones are refused."""
    raw = found.content
    wide = _WIDE.get(raw[:2])
    if wide is None and b"\0" in raw[:_SNIFFED]:
        raise RefusedError(f"{found.path} is a binary file of {found.size} bytes")
    text = raw[2:].decode(wide, "replace") if wide else raw.decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n")


def _page(lines: list[str], first: int, limit: int) -> str:
    """Return numbered lines up to the limits, and a word about those that follow."""
    shown: list[str] = []
    size = 0
    for number, line in enumerate(lines[first - 1 : first - 1 + min(limit, LINES)], first):
        numbered = f"{number:6}\t{shortened(line, COLUMNS)}"
        size += len(numbered.encode("utf-8", "replace")) + 1
        if size > BYTES and shown:
            break
        shown.append(numbered)
    last = first + len(shown) - 1
    if last < len(lines):
        shown.append(f"[lines {first} to {last} of {len(lines)}; go on with offset={last + 1}]")
    return "\n".join(shown)


def _held(files: Files, path: str) -> str:
    names = files.names(path)
    more = f" … and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return (", ".join(names[:_NAMES]) or "nothing") + more


def _alike(files: Files, path: str) -> str:
    """Return a question after names in the same folder that the model may have meant."""
    folder = dirname(path) or "."
    try:
        names = files.names(folder)
    except (OSError, RefusedError):
        return ""
    close = get_close_matches(basename(path), [name.rstrip("/") for name in names[:2000]], 3, 0.6)
    return f"; did you mean {' or '.join(close)}?" if close else ""
