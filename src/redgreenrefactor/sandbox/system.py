"""What every held program finds of the system: what everybody on the machine may read."""

import functools
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from redgreenrefactor.filesystem import below
from redgreenrefactor.sandbox.policy import Mount, hidden, readable

SETTINGS = Path("/etc")
PROGRAMS = ("/usr", "/opt", "/nix", "/gnu", "/snap", "/var/lib/dpkg", "/var/lib/gems")
LINKED = ("/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32")


@functools.cache
def closed_settings() -> tuple[Path, ...]:
    """Return the topmost settings that not everybody may read, not even in the name of root."""
    return tuple(Path(entry.path) for entry in below(SETTINGS, _is_open) if not _is_open(entry))


def places(*more: str, network: bool) -> tuple[Mount, ...]:
    """Return what every program finds: programs and settings that everybody may read, and more that is named."""
    names = Path("/etc/resolv.conf")
    resolver = (names.resolve(),) if network and names.is_symlink() else ()
    shown = (*map(Path, (*PROGRAMS, *more)), SETTINGS, *resolver)
    return (*readable(*shown), *hidden(*closed_settings()))


def _is_open(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() or bool(entry.stat(follow_symlinks=False).st_mode & stat.S_IROTH)


def without(folder: Path, closed: tuple[Path, ...]) -> Iterator[Path]:
    """Yield what there is in a folder but for what is closed: the folder itself where nothing is.

    Links in it are left out: what they lead to has rules of its own, and where they lead others may have chosen.
    """
    if not any(path.is_relative_to(folder) for path in closed):
        yield folder
        return
    for entry in below(folder, lambda _inner: False):
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
    shown = any(real.is_relative_to(place) for place in (*PROGRAMS, SETTINGS))
    return shown and path.is_relative_to(SETTINGS)
