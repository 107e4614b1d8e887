"""What a patch changes, file by file."""

import re

from redgreenrefactor.model.values import frozen

_FILE = re.compile(r"^diff --git ", re.MULTILINE)
_SAID = ("new file", "deleted file", "rename from", "Binary files", "old mode", "new mode")
_PLAIN_WORDS = {"new file": "new", "deleted file": "deleted", "Binary files": "not a text"}


@frozen
class FileDiff:
    """How one file changed."""

    path: str
    what: str  # new, deleted, renamed …; nothing where it was edited
    lines: tuple[str, ...]  # of its hunks, as git prints them

    @property
    def added(self) -> int:
        """How many lines were added."""
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        """How many lines were taken away."""
        return sum(line.startswith("-") for line in self.lines)


def files_of(patch: str) -> list[FileDiff]:
    """Return the files that a patch changes."""
    return [_file(part.split("\n")) for part in _FILE.split(patch)[1:]]


def _file(lines: list[str]) -> FileDiff:
    start = next((index for index, line in enumerate(lines) if line.startswith("@@")), len(lines))
    head, body = lines[:start], lines[start:]
    named = [line[4:] for line in head if line.startswith(("--- ", "+++ "))]
    path = next((_path(name) for name in reversed(named) if name != "/dev/null"), _path_in(head[0]))
    return FileDiff(path, _said(head), tuple(body[:-1] if body and not body[-1] else body))


def _said(head: list[str]) -> str:
    found = (word for word in _SAID for line in head if line.startswith(word))
    first = next(found, "")
    if first == "rename from":
        return "renamed from " + next(line[12:] for line in head if line.startswith("rename from "))
    return _PLAIN_WORDS.get(first, "mode changed" if first else "")


def _path(name: str) -> str:
    """Return a path without the letter git puts before it, and without the tab it puts behind odd ones."""
    return name.rstrip("\t").strip('"').partition("/")[2]


def _path_in(line: str) -> str:
    """Return the path of a file without hunks, from the line that begins its part: it stands there twice."""
    return line[len(line) // 2 + 1 :].partition("/")[2].strip('"')
