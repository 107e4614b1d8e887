"""What holds one foreign program: a policy, and the means this machine has to enforce it."""

import contextlib
import errno
import fcntl
import os
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.filesystem import beyond_standard_streams, remove
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox import landlock
from redgreenrefactor.sandbox.bubblewrap import Bubblewrap
from redgreenrefactor.sandbox.cgroups import Group, grouped
from redgreenrefactor.sandbox.disk import Meter
from redgreenrefactor.sandbox.policy import (
    Level,
    Mount,
    MountMode,
    Policy,
    held_environment,
    writable,
)
from redgreenrefactor.sandbox.seccomp import filter_for

_NPROC, _FSIZE, _CORE = 6, 1, 4  # what Linux calls these limits
_SIGNALS = (4, 5, 6, 7, 8, 9, 11, 15, 24, 25, 31)  # that end a program; bubblewrap answers as shells do
_SHELL = 128
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - everybody's under Landlock
_TEMPORARY = "rgr-tmp-"
_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 10)  # those that bubblewrap leaves root, by their numbers


@frozen
class Means:
    """What this machine enforces policies with."""

    level: Level
    bubblewrap: Bubblewrap | None = None
    landlock: int = 0  # version
    mounts: bool = False  # whether Landlock comes with a view of one's own
    group: Group = ()  # where memory and processes can be counted
    why: str = ""  # what is missing for something better

    @property
    def substitutes(self) -> bool:
        """Whether something else can be shown in a place."""
        return self.level is Level.BUBBLEWRAP or self.mounts


NO_MEANS = Means(Level.OFF)


@frozen
class HeldCommand:
    """What is started instead of a program, so that it is held."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    rules: int | None = None  # where the keeper reads what it does to itself before it becomes the program
    descriptors: tuple[int, ...] = ()  # what is passed on
    meter: Meter | None = None  # of the room it takes


@frozen
class Cage:
    """A program's confinement: what it may do, and what makes it so."""

    means: Means
    policy: Policy

    @property
    def level(self) -> Level:
        """How strongly the program is held."""
        return self.means.level

    def also(self, *places: Mount) -> "Cage":
        """Return the same confinement for a program that finds these places, too."""
        return replace(self, policy=replace(self.policy, places=(*self.policy.places, *places)))

    @contextlib.contextmanager
    def hold(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Generator[HeldCommand]:
        """Provide what to start so that the program is held, as long as it runs."""
        if self.level is Level.OFF:
            yield HeldCommand(tuple(argv), env)
            return
        with contextlib.ExitStack() as stack:
            policy = self._with_temporary_folder(stack)
            joining = stack.enter_context(grouped(self.means.group, policy.limits))
            line, passed = tuple(argv), tuple[int, ...]()
            if tool := self.means.bubblewrap:
                sockets = landlock.own_sockets(self.means.landlock) if policy.network else ()
                restrictions, metered = sockets, ()
                line, passed = _wrapped(tool, policy, argv, cwd, stack)
            else:
                restrictions, metered = self._restrictions(policy), (_SHARED_MEMORY,)
            most = {_NPROC: policy.limits.processes, _FSIZE: policy.limits.file_size, _CORE: 0}
            limits = (f"rlimit {number} {value}" for number, value in most.items())
            rules = _in_memory(_joined([*limits, "victim", *joining, *restrictions]), stack)
            yield HeldCommand(line, held_environment(env, policy), rules, passed, _meter(policy, *metered))

    def _with_temporary_folder(self, stack: contextlib.ExitStack) -> Policy:
        """Return the policy with a temporary folder that is gone with the stack, whatever is in it.

        Under Landlock it has another name, for all who ask where it is.
        """
        policy = self.policy
        if policy.temporary is None:
            return policy
        if self.level is Level.BUBBLEWRAP:
            folder = stack.enter_context(temporary_folder(policy.temporary))
            folder.chmod(0o1777)
            return self.also(Mount(Path("/tmp"), MountMode.WRITE, folder)).policy  # noqa: S108
        # Not in our own folder: names of sockets have to be short.
        folder = stack.enter_context(temporary_folder(Path(tempfile.gettempdir())))
        java = f"{policy.environment.get('JAVA_TOOL_OPTIONS', '')} -Djava.io.tmpdir={folder}".strip()
        told = {**policy.environment, "TMPDIR": str(folder), "JAVA_TOOL_OPTIONS": java}
        return replace(self.also(*writable(folder)).policy, environment=told)

    def _restrictions(self, policy: Policy) -> Iterator[str]:
        yield "capabilities " + " ".join(map(str, _CAPABILITIES))
        yield from landlock.rules(policy, self.means.landlock, about=self.policy, mounts=self.means.mounts)
        if filtered := filter_for(os.uname().machine):
            yield f"seccomp {filtered.hex()}"
        if not policy.network and (filtered := filter_for(os.uname().machine, offline=True)):
            yield f"offline {filtered.hex()}"

    def exit_code(self, code: int) -> int:
        """Return how the program itself ended: negative, if by a signal."""
        if self.level is Level.BUBBLEWRAP and code - _SHELL in _SIGNALS:
            return _SHELL - code
        return code


def _wrapped(
    tool: Bubblewrap, policy: Policy, argv: Sequence[str], cwd: Path, stack: contextlib.ExitStack
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the line that starts bubblewrap with a program inside, and the descriptors it needs."""
    filtered = filter_for(os.uname().machine)
    seccomp = None if filtered is None else _in_memory(filtered, stack)
    arguments = _in_memory(_joined([*tool.arguments(policy, cwd, seccomp), ""]), stack)
    passed = (arguments,) if seccomp is None else (arguments, seccomp)
    return (tool.program, "--args", str(arguments), "--", *argv), passed


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Generator[Path]:
    """Make a folder that is gone afterwards, whatever is in it; one of somebody who was killed is gone by then, too."""
    for place in parent.glob(f"{_TEMPORARY}*"):
        with contextlib.suppress(OSError), _alone_in(place):
            remove(place)
    with contextlib.ExitStack() as stack:
        folder: Path | None = None
        while folder is None or not folder.exists():  # another may have taken it for one that is left over
            folder = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=parent))
            with contextlib.suppress(OSError):
                stack.enter_context(_alone_in(folder))
        try:
            yield folder
        finally:
            with contextlib.suppress(OSError):
                remove(folder)


@contextlib.contextmanager
def _alone_in(folder: Path) -> Generator[None]:
    """Hold the lock on a folder of ours; where another holds it, or it is not ours, that is an OSError."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(opened).st_uid != os.getuid():
            raise PermissionError(errno.EPERM, "it is somebody else's", str(folder))
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(opened)


def _meter(policy: Policy, *more: Path) -> Meter:
    """Return what tells how much room a program takes in the folders it may write to."""
    places = (place.shown for place in policy.sound() if place.access is MountMode.WRITE)
    return Meter((*places, *more), policy.limits)


def _joined(lines: Iterable[str]) -> bytes:
    return b"\0".join(map(os.fsencode, lines))


def _in_memory(content: bytes, stack: contextlib.ExitStack) -> int:
    """Return a descriptor from which the content can be read, closed with the stack."""
    descriptor = beyond_standard_streams(os.memfd_create("rgr", os.MFD_CLOEXEC))
    stack.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
