"""What lies in git's way in a checkout: files and folders without rights, pipes, paths too long for anybody."""

import os
import stat
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from redgreenrefactor.errors import some_of
from redgreenrefactor.filesystem import below, is_pipe, remove
from redgreenrefactor.git.artifacts import NAMES
from redgreenrefactor.git.executable import Git, decoded

_OTHERS = ("ls-files", "-z", "--others", "--exclude-standard")


def insist(git: Git, *words: str) -> None:
    """Run git on the checkout; where something is in its way, once more without that."""
    if git.attempt(*words).exit_code:
        clear_way(git.folder, git.fields(*_OTHERS, "--cached"))
        git.raw(*words)


def sweep(git: Git) -> None:
    """Remove what is neither tracked nor ignored, whatever it is."""
    if git.attempt("clean", "--quiet", "-ffd").exit_code:
        others = list(git.fields(*_OTHERS, "--directory"))
        clear_way(git.folder, others)
        for path in others:
            remove(git.folder / path)


def clear_way(root: Path, paths: Iterable[str]) -> None:
    """Give back the rights on these and on the folders they lie in; what is no file, folder or link is removed.

    A link on the way is not followed: what it leads to is not ours.
    """
    waiting = [
        root / part
        for path in paths
        for part in (*reversed(PurePosixPath(path).parents), PurePosixPath(path))
    ]
    known: set[Path] = set()
    for place in waiting:
        if place not in known and not _is_linked(place, root):
            known.add(place)
            with suppress(OSError):
                _clear(place)


def _is_linked(place: Path, root: Path) -> bool:
    return any((root / part).is_symlink() for part in place.relative_to(root).parents)


def _clear(place: Path) -> None:
    mode = place.lstat().st_mode
    wanted = stat.S_IRWXU if stat.S_ISDIR(mode) else stat.S_IRUSR | stat.S_IWUSR
    if stat.S_ISLNK(mode):
        return
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        place.unlink()
    elif mode & wanted != wanted:
        place.chmod(stat.S_IMODE(mode) | wanted)
        for entry in os.scandir(place) if stat.S_ISDIR(mode) else ():
            if is_pipe(entry):  # nobody could see it before
                Path(entry.path).unlink()


# Bytes that files take no room for: of one worth a look, and of all that may stay.
HOLE, MOST = 1 << 20, 1 << 30
_BLOCK = 512  # bytes, whatever the file system has


def clear_away(root: Path, gits: Iterable[Path], moment: int) -> tuple[str, ...]:
    """Take away pipes and rights of root's group, where they are newer than a moment; return what is told.

    Git would wait for ever for somebody to write into a pipe that it takes for a file. A set-gid program of root's
    lends root's group to everybody: the filter of system calls does not see whether a mode is a folder's.
    """
    told: list[str] = []
    apart = (git for git in gits if not git.is_relative_to(root))
    for path, status in (found for folder in (root, *apart) for found in _changed(folder, moment)):
        mode = status.st_mode
        if stat.S_ISFIFO(mode):
            path.unlink()
            told.append(f"{path} was made a pipe during the session; it is gone")
        elif os.getuid() == 0 and stat.S_ISREG(mode) and mode & stat.S_ISGID:
            path.chmod(stat.S_IMODE(mode) & ~stat.S_ISGID)
            told.append(f"{path} was made a program of root's group; it is none any more")
    return tuple(told)


def _changed(folder: Path, moment: int) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield what is no folder and has changed since a moment; of regular files and of dependencies only root's matter.

    All of it is looked at after every session, and there may be very much: nothing else is done to most of it. A
    folder is opened, so that the way to it is not gone for each of its files.
    """
    everything = os.getuid() == 0
    waiting = [os.fspath(folder)]
    while waiting:
        place = waiting.pop()
        with suppress(OSError), _opened(place) as descriptor, os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if everything or entry.name not in NAMES:
                        waiting.append(f"{place}/{entry.name}")
                    continue
                if not everything and entry.is_file(follow_symlinks=False):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:  # gone by now
                    continue
                if status.st_ctime_ns >= moment:
                    yield Path(place, entry.name), status


@contextmanager
def _opened(folder: str) -> Generator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def remove_holes(git: Git, dirty: Iterable[str], moment: int) -> tuple[str, ...]:
    """Remove files that are mostly holes, of those that differ and are newer than a moment, where there is too much.

    They take no room until somebody copies them, as git does into a commit and out of it again. Ignored ones stay.
    """
    found = {path: hole for name in dirty for path, hole in _holes(git.folder / name, moment)}
    if sum(found.values()) <= MOST:  # git is asked only where it may matter
        return ()
    listing = git.attempt("ls-files", "-z", "--others", "--modified", "--exclude-standard").stdout
    holes = [path for path in decoded(listing).split("\0") if git.folder / path in found]
    if sum(found[git.folder / path] for path in holes) <= MOST:
        return ()
    for path in holes:
        (git.folder / path).unlink()
    return (f"{some_of(holes, 1)} had room for far more than was in it: taken away",)


def _holes(place: Path, moment: int) -> Iterator[tuple[Path, int]]:
    """Yield the files at a place, or below it, that have large holes, with the bytes these would take."""
    for path in (place, *(Path(entry.path) for entry in below(place))):
        with suppress(OSError):
            status = path.lstat()
            hole = status.st_size - status.st_blocks * _BLOCK
            if stat.S_ISREG(status.st_mode) and hole > HOLE and status.st_ctime_ns >= moment:
                yield path, hole
