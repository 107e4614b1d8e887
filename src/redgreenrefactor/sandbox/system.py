"""What every held program finds of the system: what everybody on the machine may read."""

import functools
import os
import stat
from collections.abc import Iterator
from pathlib import Path

SETTINGS = Path("/etc")
PROGRAMS = ("/usr", "/opt", "/nix", "/gnu", "/snap", "/var/lib/dpkg", "/var/lib/gems")
LINKED = ("/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32")
MACHINE = ("/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm")
_EVERYBODY = stat.S_IROTH


@functools.cache
def closed_settings() -> tuple[Path, ...]:
    """Return the topmost settings that not everybody may read, not even in the name of root."""
    return tuple(_closed(SETTINGS))


def open_settings() -> Iterator[Path]:
    """Yield the topmost settings with nothing closed in them."""
    closed = closed_settings()
    yield from without(SETTINGS, closed)


def _closed(folder: Path) -> Iterator[Path]:
    for entry in _entries(folder):
        if entry.is_symlink():
            continue
        if not entry.stat(follow_symlinks=False).st_mode & _EVERYBODY:
            yield Path(entry.path)
        elif entry.is_dir():
            yield from _closed(Path(entry.path))


def without(folder: Path, closed: tuple[Path, ...]) -> Iterator[Path]:
    """Yield what there is in a folder but for what is closed: the folder itself where nothing is.

    Links in it are left out: what they lead to has rules of its own, and where they lead others may have chosen.
    """
    if not any(path.is_relative_to(folder) for path in closed):
        yield folder
        return
    for entry in _entries(folder):
        path = Path(entry.path)
        if path in closed or (entry.is_symlink() and not _leads_to_system(path)):
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from without(path, closed)
        else:
            yield path


def _leads_to_system(path: Path) -> bool:
    """Tell whether a link of the system's settings leads to what everybody may read, as some systems have them all."""
    real = Path(os.path.realpath(path))
    return path.is_relative_to(SETTINGS) and any(
        real.is_relative_to(place) for place in (*PROGRAMS, SETTINGS)
    )


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return []
