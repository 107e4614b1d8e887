"""Write and Edit: whole files, and exact replacements that keep a file's encoding and line ends."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from redgreenrefactor.agents.clipping import shortened
from redgreenrefactor.agents.files import Files, Found, Permit, RefusedError
from redgreenrefactor.agents.reading import MOST, found_file
from redgreenrefactor.agents.schemas import Arguments
from redgreenrefactor.prompts.quote import plain

_SHOWN = 12  # line numbers, or lines, in a message
_AROUND = 2  # lines around a replacement that are shown
_COMPARED = 20_000  # lines that are looked at for one that is like the text that was not found
_LIKE = 0.6
_WIDE = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_MARK = b"\xef\xbb\xbf"


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


@dataclass(frozen=True, slots=True)
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
        mark = raw[:2] if wide else _MARK if raw.startswith(_MARK) else b""
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


@dataclass(frozen=True, slots=True)
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
    more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return ", ".join(map(str, lines[:_SHOWN])) + more


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
