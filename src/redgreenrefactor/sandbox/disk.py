"""How much room on disk a held program takes while it runs."""

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path

from redgreenrefactor.filesystem import below
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox.keeper import children_of
from redgreenrefactor.sandbox.policy import Limits

_SELDOM = 20  # a look at every file is followed by a pause so many times as long
_TICK = 0.05  # seconds: clocks of file systems are slower than ours
_DEEPEST = 200  # folders in each other that are looked into; nobody who means well goes deeper
_BLOCK = 512  # bytes, whatever the file system has
_GIB, _MIB = 1 << 30, 1 << 20


@frozen
class Free:
    """What can still be had on a disk."""

    bytes: int
    files: int | None = None  # None: as many as there is room for


FreeSpace = Callable[[Path], Free]


def free_on_disk(place: Path) -> Free:
    """Return what can still be had on the disk where a place lies."""
    status = os.statvfs(place)
    return Free(status.f_bavail * status.f_frsize, status.f_favail if status.f_files else None)


@dataclass(slots=True)
class _Disk:
    place: Path
    before: Free  # when the program was started
    most: int  # bytes that were free at any time since: others may make room


class Meter:
    """Tells when a program has taken more room than it may.

    What is free on a disk is asked for all the time. Others write there, too: only where much has gone are the
    program's own folders looked through for what has changed since it was started, and its processes for files that
    they have open and nobody finds any more.
    """

    def __init__(self, places: Iterable[Path], limits: Limits, free: FreeSpace = free_on_disk) -> None:
        self._places = [place for place in dict.fromkeys(places) if place.is_dir()]
        self._limits = limits
        self._free = free
        self._began = time.time()
        self._patience = 0.0  # until when no file is looked at
        self._disks = tuple(self._found())

    def _found(self) -> Iterator[_Disk]:
        seen: set[int] = set()
        for place in self._places:
            device = place.stat().st_dev
            if device not in seen:
                seen.add(device)
                free = self._free(place)
                yield _Disk(place, free, free.bytes)

    def over(self, process: int = 0) -> str:
        """Return why the program below this process has to end, nothing if it may go on."""
        for disk in self._disks:
            try:
                left = self._free(disk.place)
            except OSError:
                continue  # the place is gone
            if reason := self._scarce(disk, left):
                return reason
            disk.most = max(disk.most, left.bytes)
            if disk.most - left.bytes >= self._limits.disk and self._wrote_too_much(process):
                return f"it has written more than {_size(self._limits.disk)}"
        return ""

    def _scarce(self, disk: _Disk, left: Free) -> str:
        least, files = self._limits.free, self._limits.free_files
        if left.bytes < least <= disk.before.bytes:
            return f"less than {least // _MIB} MiB are left on the disk of {disk.place}"
        if left.files is not None and left.files < files <= (disk.before.files or 0):
            return f"fewer than {files} files can still be made on the disk of {disk.place}"
        return ""

    def _wrote_too_much(self, process: int) -> bool:
        now = time.monotonic()
        if now < self._patience:
            return False
        written = sum(_since(place, self._began) for place in self._places) + _unlinked(process)
        self._patience = time.monotonic() + _SELDOM * (time.monotonic() - now)
        return written >= self._limits.disk


def _since(folder: Path, moment: float) -> float:
    """Return how many bytes on disk the files below a folder take that have changed since a moment.

    Folders that are nested beyond reason, which cannot be looked through, hold whatever is missing.
    """
    size, deepest = 0, str(folder).count(os.sep) + _DEEPEST
    for entry in below(folder):
        if entry.path.count(os.sep) > deepest:
            return inf
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            changed = not stat.S_ISDIR(status.st_mode) and status.st_ctime >= moment - _TICK
            size += status.st_blocks * _BLOCK if changed else 0
    return size


def _unlinked(process: int) -> int:
    """Return how many bytes the files take that a process and its descendants have open without a name."""
    found: dict[tuple[int, int], int] = {}
    waiting = [process]
    while waiting:
        with suppress(OSError):
            one = waiting.pop()
            waiting += children_of(one)
            for descriptor in Path(f"/proc/{one}/fd").iterdir():
                with suppress(OSError):
                    status = descriptor.stat()
                    if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                        found[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
    return sum(found.values())


def _size(number: int) -> str:
    return f"{number // _GIB} GiB" if number >= _GIB else f"{number // _MIB} MiB"
