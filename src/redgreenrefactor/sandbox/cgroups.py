"""Counting the memory and the processes of a held program, where the system lets us."""

import contextlib
import itertools
import os
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from redgreenrefactor.filesystem import text_of
from redgreenrefactor.sandbox.policy import Limits

_ROOT = Path("/sys/fs/cgroup")
_NEEDED = frozenset({"memory", "pids"})
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Group:
    """Where groups can be made: one folder for both counters, or one for each."""

    memory: Path
    processes: Path

    @property
    def unified(self) -> bool:
        """Whether one group counts both."""
        return self.memory == self.processes


@contextlib.contextmanager
def grouped(group: Group | None, limits: Limits) -> Generator[Sequence[str]]:
    """Make a group with these limits, as long as the program runs; yield the rules that make it join."""
    if group is None:
        yield ()
        return
    name = f"rgr-{os.getpid()}-{next(_numbers)}"
    places = [group.memory / name] if group.unified else [group.memory / name, group.processes / name]
    try:
        for place in places:
            place.mkdir()
        memory = str(limits.memory or _nearly_all())
        (places[0] / ("memory.max" if group.unified else "memory.limit_in_bytes")).write_text(memory)
        (places[-1] / "pids.max").write_text(str(limits.processes))
    except OSError:
        _leave(places)
        yield ()
        return
    try:
        yield [f"join {place}/cgroup.procs" for place in places]
    finally:
        _leave(places)


def find_group() -> Group | None:
    """Return where groups can be made, tried by making one; None if nowhere."""
    for found in (_unified(), _separate()):
        if found is not None and _works(found):
            return found
    return None


def _nearly_all() -> int:
    """Return nine tenths of the memory there is."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 10 * 9


def _works(group: Group) -> bool:
    with grouped(group, Limits()) as joining:
        return bool(joining)


def _own() -> dict[str, str]:
    """Return the groups this process is in, by the counter; the unified one by nothing."""
    fields = [line.split(":", 2) for line in text_of(Path("/proc/self/cgroup")).splitlines()]
    return {name: place for _, names, place in fields for name in names.split(",")}


def _unified() -> Group | None:
    """Return the nearest group above this process below which we may make others that count."""
    own = _own().get("")
    if own is None:
        return None
    here = _ROOT / own.lstrip("/")
    for place in (here, *here.parents):
        if not place.is_relative_to(_ROOT):
            break
        if set(text_of(place / "cgroup.subtree_control").split()) >= _NEEDED and os.access(
            place / "cgroup.procs", os.W_OK
        ):
            return Group(place, place)
    return None


def _separate() -> Group | None:
    own = _own()
    places = [_ROOT / name / own.get(name, "").lstrip("/") for name in ("memory", "pids")]
    fit = all(os.access(place, os.W_OK) and (place / "cgroup.procs").exists() for place in places)
    return Group(places[0], places[1]) if fit else None


def _leave(places: Sequence[Path]) -> None:
    """Remove the groups; the kernel needs a moment after the last process has ended."""
    for place in places:
        for wait in (0.001, 0.005, 0.02, 0.1, 0.5):
            with contextlib.suppress(OSError):
                place.rmdir()
            if not place.exists():
                break
            time.sleep(wait)
