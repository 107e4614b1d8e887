"""How much room on disk a held program takes while it runs."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from redgreenrefactor.sandbox.policy import Limits

OFTEN = 1.0  # seconds between two looks at how much is free, which cost nothing
_SELDOM = 20  # a look at every file is followed by a pause so many times as long
_TICK = 0.05  # seconds: clocks of file systems are slower than ours
_GIB, _MIB = 1 << 30, 1 << 20

Free = Callable[[Path], int]


def free_on_disk(place: Path) -> int:
    """Return how many bytes can still be written on the disk where a place lies."""
    status = os.statvfs(place)
    return status.f_bavail * status.f_frsize


@dataclass(slots=True)
class _Disk:
    place: Path
    before: int  # bytes that were free when the program was started
    most: int  # bytes that were free at any time since: others may make room


class Meter:
    """Tells when a program has taken more room than it may.

    What is free on a disk is asked for all the time. Others write there, too: only where much has gone are the
    program's own folders looked through for what has changed since it was started.
    """

    def __init__(self, places: Iterable[Path], limits: Limits, free: Free = free_on_disk) -> None:
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
                yield _Disk(place, free, free)

    def over(self) -> str:
        """Return why the program has to end, nothing if it may go on."""
        for disk in self._disks:
            try:
                left = self._free(disk.place)
            except OSError:
                continue  # the place is gone
            if left < self._limits.free <= disk.before:
                return f"less than {self._limits.free // _MIB} MiB are left on the disk of {disk.place}"
            disk.most = max(disk.most, left)
            if disk.most - left >= self._limits.disk and self._wrote_too_much():
                return f"it has written more than {_size(self._limits.disk)}"
        return ""

    def _wrote_too_much(self) -> bool:
        now = time.monotonic()
        if now < self._patience:
            return False
        written = sum(_since(str(place), self._began) for place in self._places)
        self._patience = time.monotonic() + _SELDOM * (time.monotonic() - now)
        return written >= self._limits.disk


def _since(folder: str, moment: float) -> int:
    """Return how many bytes on disk the files below a folder take that have changed since a moment."""
    size = 0
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return 0
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                size += _since(entry.path, moment)
                continue
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if status.st_ctime >= moment - _TICK:
            size += status.st_blocks * 512
    return size


def _size(number: int) -> str:
    return f"{number // _GIB} GiB" if number >= _GIB else f"{number // _MIB} MiB"
