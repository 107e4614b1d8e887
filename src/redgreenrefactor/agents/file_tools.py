"""Read, Write and Edit: text with line numbers, page by page, and exact replacements that keep encoding and line ends."""

import codecs
import re
from difflib import SequenceMatcher, get_close_matches
from posixpath import basename, dirname

from redgreenrefactor.agents.files import Files, Found, Permit, RefusedError
from redgreenrefactor.agents.schemas import Arguments
from redgreenrefactor.errors import some_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.prompts.quote import plain

OUTPUT = 30_000  # bytes a tool answers with
LINE = 500  # characters of one line of a search
_ROOM = 120  # for the word about the rest
LINES = 2000  # of a page
BYTES = 60_000  # of a page
COLUMNS = 2000  # of a line
MOST = 10_000_000  # bytes of a file that is read or edited
_NAMES = 100  # of a folder
_SNIFFED = 8192
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_SHOWN = 12  # line numbers, or lines, in a message
_AROUND = 2  # lines around a replacement that are shown
_COMPARED = 20_000  # lines that are looked at for one that is like the text that was not found
_LIKE = 0.6


# --- Read


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
    return some_of(files.names(path), _NAMES) or "nothing"


def _alike(files: Files, path: str) -> str:
    """Return a question after names in the same folder that the model may have meant."""
    folder = dirname(path) or "."
    try:
        names = files.names(folder)
    except (OSError, RefusedError):
        return ""
    close = get_close_matches(basename(path), [name.rstrip("/") for name in names[:2000]], 3, 0.6)
    return f"; did you mean {' or '.join(close)}?" if close else ""


# --- Write and Edit


def write(files: Files, arguments: Arguments, permit: Permit) -> str:
    """Put the content into the file, as it is."""
    path, content = arguments.text("file_path"), arguments.text("content")
    where, new = files.write(path, _encoded(content, "utf-8"), permit)
    lines = content.count("\n") + (not content.endswith("\n") and bool(content))
    return f"{'Created' if new else 'Replaced'} {where} ({lines} lines)."


def edit(files: Files, arguments: Arguments, permit: Permit) -> str:
    """Replace the text, which occurs exactly once unless every occurrence is meant."""
    path, old, new = (arguments.text(name) for name in ("file_path", "old_string", "new_string"))
    if old == new:
        raise RefusedError("old_string and new_string are the same; nothing was changed")
    if not old:
        return _begin(files, path, new, permit)
    found_file(files, path)  # refuses with better words
    edited: list[_Edited] = []

    def change(found: Found) -> bytes:
        edited.append(_Text.of(found).replaced(path, old, new, every=arguments.flag("replace_all")))
        return edited[-1].content

    where = files.rewrite(path, MOST, change, permit)
    return f"Edited {where}, {edited[-1].told()}"


def _begin(files: Files, path: str, new: str, permit: Permit) -> str:
    """Make a new file, or fill an empty one: with nothing to replace, no other can be meant."""
    if files.kind(path) and found_file(files, path).size:
        raise RefusedError(f"old_string is empty, but {path} is not: give the text to replace, or use Write")
    where, _ = files.write(path, _encoded(new, "utf-8"), permit)
    return f"Created {where}."


def _encoded(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        raise RefusedError(
            f"the text holds half a character ({error.object[error.start]!a}); nothing was written"
        ) from None


@frozen
class _Text:
    """What a file holds, as text, and how to get the very same bytes back."""

    body: str
    mark: bytes
    encoding: str
    errors: str

    @classmethod
    def of(cls, found: Found) -> "_Text":
        """Return the text of a file; bytes that are not UTF-8 are carried along."""
        raw = found.content
        wide = _WIDE.get(raw[:2])
        if wide is None and b"\0" in raw:
            raise RefusedError(f"{found.path} is a binary file; nothing was changed")
        mark = raw[:2] if wide else codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        encoding, errors = (wide, "surrogatepass") if wide else ("utf-8", "surrogateescape")
        return cls(raw[len(mark) :].decode(encoding, errors), mark, encoding, errors)

    def replaced(self, path: str, old: str, new: str, *, every: bool) -> "_Edited":
        """Return the file with the replacement made."""
        places = list(re.finditer("\r?\n".join(map(re.escape, re.split("\r?\n", old))), self.body))
        if not places:
            raise RefusedError(
                f"old_string is not in {path}; nothing was changed. {_nearest(self.body, old)}"
            )
        lines = [self.body.count("\n", 0, place.start()) + 1 for place in places]
        if len(places) > 1 and not every:
            raise RefusedError(
                f"old_string is in {path} {len(places)} times, on lines {_numbers(lines)}; nothing was changed. "
                "Give more of the text around the one you mean, or set replace_all."
            )
        self._require_fitting(path, new)
        parts: list[str] = []
        spans: list[tuple[int, int]] = []
        end, line = 0, 1
        for place in places:
            parts += [self.body[end : place.start()], self._with_line_ends(new, place[0])]
            end = place.end()
            first = line + parts[-2].count("\n")
            line = first + parts[-1].count("\n")
            spans.append((first, max(first, line - parts[-1].endswith("\n"))))
        body = "".join([*parts, self.body[end:]])
        return _Edited(self.mark + body.encode(self.encoding, self.errors), body, spans)

    def _require_fitting(self, path: str, new: str) -> None:
        """Refuse to mix encodings in a file."""
        _encoded(new, "utf-8")
        carried = self.errors == "surrogateescape" and re.search("[\udc80-\udcff]", self.body)
        if carried and not new.isascii():
            raise RefusedError(
                f"{path} is not UTF-8: new_string can hold only ASCII characters; nothing was changed"
            )

    def _with_line_ends(self, new: str, around: str) -> str:
        """Return the new text with the line ends of what it replaces, or of most of the file."""
        sample = around if "\n" in around else self.body
        if 2 * sample.count("\r\n") <= sample.count("\n"):
            return new
        return re.sub("(?<!\r)\n", "\r\n", new)


@frozen
class _Edited:
    """A file after a replacement, and the first and last line of each that was made."""

    content: bytes
    body: str
    spans: list[tuple[int, int]]

    def told(self) -> str:
        """Return where it was done, and what stands there now with a few lines around."""
        firsts = [first for first, _ in self.spans]
        where = f"{'line' if len(firsts) == 1 else 'lines'} {_numbers(firsts)}"
        lines = self.body.replace("\r\n", "\n").removesuffix("\n").split("\n")
        near = {
            number
            for first, last in self.spans[:_SHOWN]
            for number in range(max(1, first - _AROUND), min(len(lines), last + _AROUND) + 1)
        }
        if lines == [""]:
            return f"{where}; it is empty now."
        shown, before = list[str](), 0
        for number in sorted(near)[:_SHOWN]:
            shown += ["…"] * bool(before and number > before + 1)
            shown.append(f"{number:6}\t{shortened(plain(lines[number - 1]))}")
            before = number
        return "\n".join([f"{where}:", *shown, *(["…"] * (len(near) > _SHOWN))])


def _numbers(lines: list[int]) -> str:
    return some_of([*map(str, lines)], _SHOWN)


def _nearest(body: str, old: str) -> str:
    """Return the passage of the file that is most like the text, as a hint."""
    have, want = body.replace("\r\n", "\n").split("\n"), old.replace("\r\n", "\n").strip("\n").split("\n")
    start = _same_but_for_space(have, want)
    if start is not None:
        return "It differs in whitespace only from:\n" + _excerpt(have, start, len(want))
    start = _most_alike(have, want)
    if start is None:
        return "Read the file again: nothing in it is like that."
    return "The nearest passage is:\n" + _excerpt(have, start, len(want))


def _same_but_for_space(have: list[str], want: list[str]) -> int | None:
    bare, wanted = ["".join(line.split()) for line in have], ["".join(line.split()) for line in want]
    if not any(wanted):
        return None
    starts = range(len(bare) - len(wanted) + 1)
    return next(
        (
            start
            for start in starts
            if bare[start] == wanted[0] and bare[start : start + len(wanted)] == wanted
        ),
        None,
    )


def _most_alike(have: list[str], want: list[str]) -> int | None:
    """Return where the passage begins whose line is most like the longest line that is wanted."""
    key = max(range(len(want)), key=lambda index: len(want[index].strip()))
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(want[key].strip()[:300])
    best, where = _LIKE, None
    for number, line in enumerate(have[:_COMPARED]):
        matcher.set_seq1(line.strip()[:300])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, where = matcher.ratio(), number
    return None if where is None else max(0, where - key)


def _excerpt(lines: list[str], start: int, length: int) -> str:
    shown = lines[start : start + min(length, _SHOWN)]
    return "\n".join(f"{number:6}\t{shortened(line)}" for number, line in enumerate(shown, start + 1))


# --- what is too long


def clipped(text: str, most: int = OUTPUT) -> str:
    """Return the text, or its head and tail in at most so many bytes, cut at line ends where there are some near."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return raw.decode("utf-8")
    room = max(most - _ROOM, 0)
    head, tail = _whole_lines(raw[: room - room // 3]), raw[len(raw) - room // 3 :]
    tail = tail[tail.find(b"\n", 0, len(tail) // 2) + 1 :]
    note = f"\n[… {len(raw) - len(head) - len(tail)} of {len(raw)} bytes left out …]\n"
    return head.decode("utf-8", "ignore") + note + tail.decode("utf-8", "ignore")


def _whole_lines(head: bytes) -> bytes:
    end = head.rfind(b"\n", len(head) // 2)
    return head if end < 0 else head[:end]


def shortened(line: str, most: int = LINE) -> str:
    """Return a line, cut where it is too long."""
    return line if len(line) <= most else f"{line[:most]} [… {len(line) - most} more characters]"
