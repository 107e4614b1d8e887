"""Files that somebody else has named or written: never waited for, never read without end."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

LARGEST = 2_000_000  # bytes of a text that a person hands over: a feature, a specification, a task file
_CHUNK = 1 << 16
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def head_of(path: Path, most: int, *, follow: bool = True) -> bytes:
    """Return what a regular file holds, at most so many bytes of it; anything else is an OSError that says what it is.

    A pipe or a device is not even opened, for that alone may wait for ever or set something off. A link is one of
    those things, unless it is to be followed.
    """
    _require_regular(path, path.stat(follow_symlinks=follow))
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    file = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    try:
        _require_regular(path, os.fstat(file))
        return _read(file, most)
    finally:
        os.close(file)


def text_of(path: Path, most: int = LARGEST, *, follow: bool = True) -> str:
    """Return the text that a regular file holds, nothing where there is none; bytes that are no text come out as marks."""
    try:
        return head_of(path, most, follow=follow).decode("utf-8", "replace")
    except OSError:
        return ""


def below(
    folder: Path, into: Callable[[os.DirEntry[str]], bool] = lambda _entry: True
) -> Iterator[os.DirEntry[str]]:
    """Yield everything below a folder, however deep it is nested; what cannot be looked into holds nothing.

    Links are not followed, nor are folders looked into that are not wanted.
    """
    waiting = [os.fspath(folder)]
    while waiting:
        try:
            entries = sorted(os.scandir(waiting.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        yield from entries
        waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and into(entry)]


def is_pipe(entry: os.DirEntry[str]) -> bool:
    """Tell whether something in a folder is a pipe, which whoever opens it waits at; most is known without a look."""
    plain = entry.is_symlink() or entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
    return not plain and stat.S_ISFIFO(entry.stat(follow_symlinks=False).st_mode)


def _read(file: int, most: int) -> bytes:
    content = bytearray()
    while len(content) < most and (more := os.read(file, min(_CHUNK, most - len(content)))):
        content += more
    return bytes(content)


def _require_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
        raise OSError(number, f"it is {kind}, not a regular file", str(path))
