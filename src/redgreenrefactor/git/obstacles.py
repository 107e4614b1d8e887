"""What lies in git's way in a checkout: files and folders without rights, pipes, paths too long for anybody."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from redgreenrefactor.filesystem import is_pipe, remove
from redgreenrefactor.git.executable import Git

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
