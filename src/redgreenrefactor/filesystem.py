"""Files and folders that others may have named, written or filled, and files of ours that are never half written.

What is read is regular, up to a size, and never waited for; folders are walked and removed at any depth.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from redgreenrefactor.errors import NotReadyError

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


def head_of(path: Path, most: int, *, follow: bool = True, start: int = 0) -> bytes:
    """Return what a regular file holds, at most so many bytes of it; anything else is an OSError that says what it is.

    A pipe or a device is not even opened, for that alone may wait for ever or set something off. A link is one of
    those things, unless it is to be followed. `start`: where reading begins; before the end, where it is negative.
    """
    _require_regular(path, path.stat(follow_symlinks=follow))
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    file = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    try:
        status = os.fstat(file)
        _require_regular(path, status)
        os.lseek(file, max(status.st_size + start, 0) if start < 0 else start, os.SEEK_SET)
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


# --- writing and removing


def put(path: Path, content: bytes) -> None:
    """Put the content at the path at once: readers see the old file or the new one, never a part.

    Whoever may read and write the old one may do so with the new one. Nothing is left of what fails with an OSError.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(FileNotFoundError):
            partial.chmod(stat.S_IMODE(path.stat().st_mode))
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def replace_file(path: Path, content: bytes) -> None:
    """Put the content at the path at once; where that cannot be done, say so."""
    try:
        put(path, content)
    except OSError as error:
        raise NotReadyError(
            f"{path} cannot be written: {error.strerror}",
            hint="Free some disk space or make the folder writable, then type 'rgr resume'.",
        ) from error


def remove(path: Path) -> None:
    """Take away what is at a path, all of a folder included; what cannot be removed is an OSError.

    Somebody else may have filled the folder: links are never followed, and no depth is too great, for folders in a
    folder are moved up before they are emptied.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        if not stat.S_ISDIR(path.lstat().st_mode):
            raise error from None
        folder = _opened(path, None)
        try:
            for name in os.listdir(folder):  # noqa: PTH208 - of a descriptor
                _remove_in(folder, name)
        finally:
            os.close(folder)
        path.rmdir()


def _remove_in(top: int, name: str) -> None:
    """Take away an entry of a folder that is open."""
    waiting, moved = [name], 0
    while waiting:
        name = waiting.pop()
        if not _is_folder(name, top):
            os.unlink(name, dir_fd=top)
            continue
        folder = _opened(name, top)
        try:
            for entry in os.listdir(folder):  # noqa: PTH208 - of a descriptor
                if _is_folder(entry, folder):
                    moved += 1
                    aside = f".rgr-{os.getpid()}-{id(waiting)}-{moved}"
                    os.chmod(entry, 0o700, dir_fd=folder)  # one that cannot be written cannot be moved
                    os.rename(entry, aside, src_dir_fd=folder, dst_dir_fd=top)
                    waiting.append(aside)
                else:
                    os.unlink(entry, dir_fd=folder)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _opened(name: str | Path, folder: int | None) -> int:
    """Return a folder, open, with the right to empty it, which its owner may have taken away."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    os.chmod(name, 0o700, dir_fd=folder)
    return os.open(name, flags, dir_fd=folder)


def cleared(folder: Path, path: str) -> Path:
    """Return the place of a path below the folder, with nothing but real folders on the way to it.

    What is written or removed there is ours: a link on the way could lead to the user's own files.
    """
    place = folder
    for name in PurePosixPath(path).parent.parts:
        place /= name
        if place.is_symlink() or not place.is_dir():
            place.unlink(missing_ok=True)
        place.mkdir(exist_ok=True)
    return folder / path


def checkout_around(folder: Path) -> Path:
    """Return the checkout a folder lies in, or the folder itself.

    An empty `.git` is none: programs that protect the temporary folder leave one there.
    """
    return next((place for place in (folder, *folder.parents) if _has_git(place / ".git")), folder)


def _has_git(place: Path) -> bool:
    return place.is_file() or (place.is_dir() and any(place.iterdir()))


def beyond_standard_streams(descriptor: int) -> int:
    """Return the descriptor, moved if its number means something to a program: ours may be closed."""
    if descriptor > 2:  # noqa: PLR2004 - standard error
        return descriptor
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(descriptor)
