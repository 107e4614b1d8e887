"""What files look like that git has just laid out: where they are few, we see for ourselves whether one was changed."""

import os
import time
from collections.abc import Callable, Iterator

from redgreenrefactor.git.objects import SUBMODULE, Objects
from redgreenrefactor.model.values import frozen

FEW = 500  # files and folders: looking at more takes us longer than git, which has to be started for it
FRESH = 20  # files whose content is remembered
SETTLED = 2_000_000_000  # nanoseconds: what was changed later than that may change again under the same stamp

Looks = tuple[
    int, int, int, int, int
]  # a file's number, mode, size, and its times; nobody can set the last one
Original = tuple[int, bytes]  # a file's mode, and what is in it


@frozen
class LaidOut:
    """The files of a tree as git has left them."""

    folder: str
    looks: dict[str, Looks | None]
    fresh: dict[str, Original]  # those that may be changed without looking different

    def changed(self, original: Callable[[str], Original | None]) -> Iterator[str]:
        """Yield the files that are not what git has left; it is given what tells a file's content."""
        for path, was in self.looks.items():
            if _looks(f"{self.folder}/{path}") != was or (
                path in self.fresh and original(path) != self.fresh[path]
            ):
                yield path


def laid_out(
    objects: Objects, tree: str, folder: str, original: Callable[[str], Original | None]
) -> LaidOut | None:
    """Return what the files of a tree look like; None where git has to be asked whether they still do."""
    if objects.extent(tree) > FEW:
        return None
    moment = time.time_ns() - SETTLED
    paths = (path for path, node in objects.files(tree) if node.mode != SUBMODULE)
    looks = {path: _looks(f"{folder}/{path}") for path in paths}
    fresh = [path for path, found in looks.items() if found is None or found[-1] >= moment]
    if len(fresh) > FRESH:
        return None
    contents = {path: found for path in fresh if (found := original(path))}
    return LaidOut(folder, looks, contents) if len(contents) == len(fresh) else None


def _looks(place: str) -> Looks | None:
    try:
        found = os.lstat(place)
    except OSError:
        return None
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns
