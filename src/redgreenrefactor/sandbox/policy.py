"""What a held program may see, touch and use: values that every kind of sandbox turns into its own terms."""

import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from redgreenrefactor.model.values import field, frozen
from redgreenrefactor.sandbox.secrets import words


class Level(StrEnum):
    """How strongly programs are held."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    OFF = "off"


@frozen
class Limits:
    """What a held program may use; generous, because an honest suite must never meet them."""

    processes: int = 8192
    memory: int | None = None  # bytes, where the system lets us count them; None: nearly all there is
    file_size: int = 32 << 30  # bytes, of a single file
    home_size: int = 1 << 30  # bytes, of the home folder in memory
    shared_memory: int = 4 << 30  # bytes, in /dev/shm where it is the program's own
    disk: int = 32 << 30  # bytes that one program writes into its folders
    free: int = 512 << 20  # bytes that stay free on a disk, if they were when it was started
    free_files: int = 20_000  # that can still be made on a disk, the same


class MountMode(StrEnum):
    """What may be done with a path and everything below it, unless a deeper path says otherwise."""

    WRITE = "write"
    READ = "read"
    SCRATCH = "scratch"  # empty, writable, in memory, gone afterwards
    HIDE = "hide"  # not there, or empty


@frozen
class Mount:
    """A path inside, and what is found there: itself, or something else from outside."""

    path: Path
    access: MountMode
    source: Path | None = None  # what is shown there instead

    @property
    def shown(self) -> Path:
        """Where what is found there lies outside."""
        return self.source or self.path


@frozen
class Policy:
    """Everything a held program may see, touch and use; what is not named is not there.

    Of two rules the one for the deeper path counts; of two for the same path the later one.
    """

    places: tuple[Mount, ...] = ()
    network: bool = False  # to the outside; loopback always works
    devices: bool = False  # graphics cards
    temporary: Path | None = None  # where, on disk, a temporary folder is made for every run
    limits: Limits = field(default_factory=Limits)
    environment: Mapping[str, str] = field(default_factory=dict[str, str])  # put into what the program finds

    def ordered(self) -> Iterator[Mount]:
        """Yield the places, parents first, one for each path."""
        last = {place.path: place for place in self.places}
        return iter(sorted(last.values(), key=lambda place: len(place.path.parts)))

    def sound(self) -> Iterator[Mount]:
        """Yield the ordered places that are where they seem to be.

        In what is writable an earlier command may have put a link in the way of one: following it would open
        what it leads to.
        """
        ordered = [(place, str(place.shown)) for place in self.ordered()]
        free = tuple(f"{shown.rstrip('/')}/" for place, shown in ordered if place.access is MountMode.WRITE)
        for place, shown in ordered:
            if not shown.startswith(free) or os.path.realpath(shown) == shown:
                yield place

    def of(self, access: MountMode) -> tuple[Path, ...]:
        """Return the paths for which this is the rule."""
        return tuple(place.path for place in self.ordered() if place.access is access)


def writable(*paths: Path) -> tuple[Mount, ...]:
    """Return the places of these paths, writable, as they are outside."""
    return tuple(Mount(path, MountMode.WRITE) for path in paths)


def readable(*paths: Path) -> tuple[Mount, ...]:
    """Return the places of these paths, read-only, as they are outside."""
    return tuple(Mount(path, MountMode.READ) for path in paths)


def hidden(*paths: Path) -> tuple[Mount, ...]:
    """Return the places of these paths, empty."""
    return tuple(Mount(path, MountMode.HIDE) for path in paths)


# Where programs of the user's wait for orders; inside there is nobody at the other end.
_SOCKETS = words(
    "SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO GNOME_KEYRING_CONTROL DBUS_SESSION_BUS_ADDRESS "
    "DBUS_SYSTEM_BUS_ADDRESS XDG_RUNTIME_DIR DOCKER_HOST CONTAINER_HOST KUBECONFIG XAUTHORITY DISPLAY "
    "WAYLAND_DISPLAY TMUX VSCODE_IPC_HOOK_CLI NOTIFY_SOCKET"
)


def held_environment(env: Mapping[str, str], policy: Policy) -> dict[str, str]:
    """Return what a held program finds: what it was given, without the way to the user's other programs."""
    kept = {name: value for name, value in env.items() if name not in _SOCKETS}
    return {**kept, **policy.environment}
