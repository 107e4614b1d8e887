"""What holds one foreign program: a policy, and the means this machine has to enforce it."""

import contextlib
import errno
import fcntl
import os
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from redgreenrefactor.filesystem import remove
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
    readable,
    writable,
)
from redgreenrefactor.sandbox.seccomp import filter_for

_NPROC, _FSIZE, _CORE = 6, 1, 4  # what Linux calls these limits
_SIGNALS = (4, 5, 6, 7, 8, 9, 11, 15, 24, 25, 31)  # that end a program; bubblewrap answers as shells do
_SHELL = 128
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - everybody's under Landlock
_TEMPORARY = "rgr-tmp-"
_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 10)  # those that bubblewrap leaves root, by their numbers


@dataclass(frozen=True, slots=True)
class Means:
    """What this machine enforces policies with."""

    level: Level
    bubblewrap: Bubblewrap | None = None
    landlock: int = 0  # version
    mounts: bool = False  # whether Landlock comes with a view of one's own
    group: Group | None = None  # where memory and processes can be counted
    why: str = ""  # what is missing for something better


NO_MEANS = Means(Level.OFF)


@dataclass(frozen=True, slots=True)
class HeldCommand:
    """What is started instead of a program, so that it is held."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    rules: int | None = None  # where the keeper reads what it does to itself before it becomes the program
    descriptors: tuple[int, ...] = ()  # what is passed on
    meter: Meter | None = None  # of the room it takes


@dataclass(frozen=True, slots=True)
class Cage:
    """A program's confinement: what it may do, and what makes it so."""

    means: Means
    policy: Policy

    @property
    def level(self) -> Level:
        """How strongly the program is held."""
        return self.means.level

    def writing(self, folder: Path) -> "Cage":
        """Return the same confinement for a program that may write into one more folder."""
        places = (*self.policy.places, *writable(folder))
        return replace(self, policy=replace(self.policy, places=places))

    @contextlib.contextmanager
    def hold(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Generator[HeldCommand]:
        """Provide what to start so that the program is held, as long as it runs."""
        match self.level:
            case Level.OFF:
                yield HeldCommand(tuple(argv), env)
            case Level.LANDLOCK:
                with contextlib.ExitStack() as stack:
                    joining = stack.enter_context(grouped(self.means.group, self.policy.limits))
                    policy = self._with_private_folder(stack)
                    rules = _in_memory(_joined([*joining, *self._restrictions(policy)]), stack)
                    yield HeldCommand(
                        tuple(argv),
                        held_environment(env, policy),
                        rules,
                        meter=_meter(policy, _SHARED_MEMORY),
                    )
            case Level.BUBBLEWRAP:
                with contextlib.ExitStack() as stack:
                    policy = self._with_temporary_folder(stack)
                    yield self._wrapped(argv, cwd, env, policy, stack)

    def _with_temporary_folder(self, stack: contextlib.ExitStack) -> Policy:
        """Return the policy with a temporary folder that is gone with the stack, whatever is in it."""
        if self.policy.temporary is None:
            return self.policy
        folder = stack.enter_context(temporary_folder(self.policy.temporary))
        folder.chmod(0o1777)
        place = Mount(Path("/tmp"), MountMode.WRITE, folder)  # noqa: S108
        return replace(self.policy, places=(place, *self.policy.places))

    def _with_private_folder(self, stack: contextlib.ExitStack) -> Policy:
        """Return the policy with a temporary folder under another name, for all who ask where it is."""
        if self.policy.temporary is None:
            return self.policy
        # Not in our own folder: names of sockets have to be short.
        folder = str(stack.enter_context(temporary_folder(Path(tempfile.gettempdir()))))
        java = f"{self.policy.environment.get('JAVA_TOOL_OPTIONS', '')} -Djava.io.tmpdir={folder}".strip()
        told = {**self.policy.environment, "TMPDIR": folder, "JAVA_TOOL_OPTIONS": java}
        places = (*self.policy.places, Mount(Path(folder), MountMode.WRITE))
        return replace(self.policy, places=places, environment=told)

    def _restrictions(self, policy: Policy) -> Iterator[str]:
        yield from self._limits()
        yield "capabilities " + " ".join(map(str, _CAPABILITIES))
        yield from landlock.rules(policy, self.means.landlock, about=self.policy, mounts=self.means.mounts)
        if filtered := filter_for(os.uname().machine):
            yield f"seccomp {filtered.hex()}"
        if not policy.network and (filtered := filter_for(os.uname().machine, offline=True)):
            yield f"offline {filtered.hex()}"

    def _wrapped(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        policy: Policy,
        stack: contextlib.ExitStack,
    ) -> HeldCommand:
        tool = self.means.bubblewrap
        if tool is None:
            raise ValueError("there is no bubblewrap to hold with")
        joining = stack.enter_context(grouped(self.means.group, self.policy.limits))
        filtered = filter_for(os.uname().machine)
        seccomp = None if filtered is None else _in_memory(filtered, stack)
        arguments = _in_memory(_joined([*tool.arguments(policy, cwd, seccomp), ""]), stack)
        passed = (arguments,) if seccomp is None else (arguments, seccomp)
        line = (tool.program, "--args", str(arguments), "--", *argv)
        sockets = landlock.own_sockets(self.means.landlock) if policy.network else ()
        rules = _in_memory(_joined([*self._limits(), *joining, *sockets]), stack)
        return HeldCommand(line, held_environment(env, self.policy), rules, passed, _meter(policy))

    def _limits(self) -> list[str]:
        limits = self.policy.limits
        return [
            f"rlimit {_NPROC} {limits.processes}",
            f"rlimit {_FSIZE} {limits.file_size}",
            f"rlimit {_CORE} 0",
            "victim",
        ]

    def showing(self, *paths: Path) -> "Cage":
        """Return a cage in which these can be read, too."""
        return replace(self, policy=replace(self.policy, places=(*self.policy.places, *readable(*paths))))

    def exit_code(self, code: int) -> int:
        """Return how the program itself ended: negative, if by a signal."""
        if self.level is Level.BUBBLEWRAP and code - _SHELL in _SIGNALS:
            return _SHELL - code
        return code


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
    made = os.memfd_create("rgr", os.MFD_CLOEXEC)
    try:
        descriptor = fcntl.fcntl(made, fcntl.F_DUPFD_CLOEXEC, 3)  # ours may lack standard streams
    finally:
        os.close(made)
    stack.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
