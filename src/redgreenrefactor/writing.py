"""Files that are written whole or not at all, and folders that are removed whatever is in them."""

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path, PurePosixPath

from redgreenrefactor.errors import NotReadyError


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
            shutil.copymode(path, partial)
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
