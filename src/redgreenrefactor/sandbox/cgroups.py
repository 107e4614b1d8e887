"""Counting the memory and the processes of a held program, where the system lets us."""

import contextlib
import itertools
import os
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from redgreenrefactor.filesystem import text_of
from redgreenrefactor.sandbox.policy import Limits

Group = tuple[Path, ...]  # where groups can be made: one folder for both counters, or one for each

_ROOT = Path("/sys/fs/cgroup")
_NEEDED = ("memory", "pids")
_numbers = itertools.count()


@contextlib.contextmanager
def grouped(group: Group, limits: Limits) -> Generator[Sequence[str]]:
    """Make a group with these limits, as long as the program runs; yield the rules that make it join."""
    places = [folder / f"rgr-{os.getpid()}-{next(_numbers)}" for folder in group]
    memory, joining = str(limits.memory or _nearly_all()), [f"join {place}/cgroup.procs" for place in places]
    most = {"memory.max": memory, "memory.limit_in_bytes": memory, "pids.max": str(limits.processes)}
    try:
        for place in places:
            place.mkdir()
            for file in (place / name for name in most if (place / name).exists()):
                file.write_text(most[file.name])
    except OSError:
        joining = []
    try:
        yield joining
    finally:
        _leave(places)


def find_group() -> Group:
    """Return where groups can be made, tried by making one: the nearest above this process; nothing if nowhere."""
    fields = [line.split(":", 2) for line in text_of(Path("/proc/self/cgroup")).splitlines()]
    own = {name: place.lstrip("/") for _, names, place in fields for name in names.split(",")}
    here = _ROOT / own.get("", "")
    unified = [(place,) for place in (here, *here.parents) if _counts(place)]
    separate = tuple(_ROOT / name / own.get(name, "") for name in _NEEDED)
    return next((group for group in (*unified, separate) if _works(group)), ())


def _counts(place: Path) -> bool:
    """Tell whether groups that are made in one have both counters."""
    return set(text_of(place / "cgroup.subtree_control").split()).issuperset(_NEEDED)


def _works(group: Group) -> bool:
    with grouped(group, Limits()) as joining:
        return bool(joining) and all(os.access(place / "cgroup.procs", os.W_OK) for place in group)


def _nearly_all() -> int:
    """Return nine tenths of the memory there is."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 10 * 9


def _leave(places: Sequence[Path]) -> None:
    """Remove the groups; the kernel needs a moment after the last process has ended."""
    for place in places:
        for wait in (0.001, 0.005, 0.02, 0.1, 0.5):
            with contextlib.suppress(OSError):
                place.rmdir()
            if not place.exists():
                break
            time.sleep(wait)
