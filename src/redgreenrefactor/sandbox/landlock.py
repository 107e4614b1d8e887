"""A policy as Landlock's rules, which the keeper puts on itself: the reduced form.

Rules only ever add: what lies inside a writable folder is writable. Where the kernel grants a view of one's own,
that is mended by mounting: what is protected inside is read-only, and something else can be shown in a folder's
place. Other processes stay visible, sockets that are files can be reached, and the temporary folder is everybody's.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.sandbox import system
from redgreenrefactor.sandbox.policy import Mount, MountMode, Policy
from redgreenrefactor.sandbox.secrets import words

_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _DEVICES = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICES
_READING = _EXECUTE | _READ | _LIST
_RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15}
_MOST_RIGHTS = 16
_NETWORK = 4  # the first version that knows of it
_SCOPES = 6
_KERNEL = ("/proc", "/sys")
_DEVICE_FILES = words("/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/ptmx")
_SHARED = ("/dev/pts", "/dev/shm")  # noqa: S108 - where programs expect to be able to write
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - the same, unless something lies there that is not temporary


def own_sockets(version: int) -> Iterator[str]:
    """Yield the line that shuts out sockets without a file, which a network that is shared brings along."""
    if version >= _SCOPES:
        yield "landlock 0 0 1"


def rules(
    policy: Policy, version: int, about: Policy | None = None, *, mounts: bool = False
) -> Iterator[str]:
    """Yield the lines that make the keeper hold a program to a policy, for a version of Landlock.

    Temporary folders are writable unless something lies there that the policy, or the one named, is about.
    """
    rights = (1 << _RIGHTS_BY_VERSION.get(version, _MOST_RIGHTS)) - 1
    scopes = 0b11 if version >= _SCOPES else 0
    yield f"landlock {rights} {0b11 if version >= _NETWORK else 0} {scopes}"
    if not policy.network:
        yield "loopback"
    for path in (*_DEVICE_FILES, *_SHARED, *_temporary(about or policy)):
        yield from _allowed(Path(path), rights, rights)
    if mounts:
        yield from _mounted(policy)
    found = system.places(*system.LINKED, *_KERNEL, network=policy.network)
    whole = replace(policy, places=(*found, *policy.places))
    closed = whole.of(MountMode.HIDE)
    for place in whole.sound():
        if place.access is MountMode.WRITE:
            yield from _allowed(place.shown, rights, rights)
        elif place.access is MountMode.READ:
            for path in system.without(place.shown, closed):
                yield from _allowed(path, _READING, rights)


def _mounted(policy: Policy) -> Iterator[str]:
    """Yield what is shown in another place, or with fewer rights than what it lies in."""
    seen: list[Mount] = []
    for place in policy.sound():
        if place.access is MountMode.SCRATCH or not place.shown.exists():
            continue
        around = next((other for other in reversed(seen) if place.path.is_relative_to(other.path)), None)
        differs = around is not None and around.access is not place.access
        if place.source or (differs and around and MountMode.WRITE in (around.access, place.access)):
            yield f"bind {_bound(place)}/{place.path}"
        seen.append(place)


def _bound(place: Mount) -> str:
    if place.access is MountMode.HIDE:
        return "no " if place.path.is_dir() else "ro /dev/null"
    return f"{'rw' if place.access is MountMode.WRITE else 'ro'} {place.shown}"


def _temporary(policy: Policy) -> Iterator[str]:
    """Yield the temporary folders in which nothing lies that the policy is about."""
    paths = [path for place in policy.places for path in (place.path, place.shown)]
    return (folder for folder in _TEMPORARY if not any(path.is_relative_to(folder) for path in paths))


def _allowed(path: Path, wanted: int, rights: int) -> Iterator[str]:
    if not path.exists():
        return
    fit = wanted & rights if path.is_dir() else wanted & rights & _OF_FILES
    yield f"allow {fit} {os.fspath(path)}"
