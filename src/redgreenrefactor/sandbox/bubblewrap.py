"""A policy as bubblewrap's arguments: an own view of the file system, own processes, own network."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox import system
from redgreenrefactor.sandbox.policy import Mount, MountMode, Policy, hidden
from redgreenrefactor.sandbox.secrets import words

# An ordinary suite run as root finds files of other owners readable and may give files away, as in a container.
_ROOTS_CAPABILITIES = words(
    "CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER CAP_FSETID CAP_KILL CAP_SETGID CAP_SETUID CAP_NET_BIND_SERVICE"
)
_GRAPHICS = ("/dev/dri", "/dev/kfd", "/dev/nvidia*")
_MACHINE = ("/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm")
# As containers have it: root could steer the kernel, whose files are root's to write, whatever root lacks else.
_STEERING = ("/proc/sys", "/proc/sysrq-trigger", "/proc/fs", "/proc/bus", "/proc/irq", "/proc/mtrr")
_TELLTALE = words(
    "/proc/acpi /proc/asound /proc/driver /proc/interrupts /proc/kallsyms /proc/kcore /proc/keys /proc/kmsg "
    "/proc/latency_stats /proc/sched_debug /proc/scsi /proc/timer_list"
)
_NOTHING = Path("/dev/null")


@frozen
class Bubblewrap:
    """The program, and what its version can do."""

    program: str
    sizes: bool  # of folders in memory
    seals_namespaces: bool
    as_root: bool

    @classmethod
    def of_version(cls, program: str, version: str, *, as_root: bool) -> "Bubblewrap":
        """Return what a program of this version can do."""
        found = re.search(r"(\d+)\.(\d+)", version)
        number = (int(found[1]), int(found[2])) if found else (0, 0)
        return cls(program, sizes=number >= (0, 7), seals_namespaces=number >= (0, 8), as_root=as_root)

    def arguments(self, policy: Policy, cwd: Path, seccomp: int | None) -> Iterator[str]:
        """Yield the arguments that hold a program to a policy; the filter comes from a descriptor."""
        yield from self._isolation(policy)
        yield from ("--proc", "/proc", "--dev", "/dev")
        yield from (*self._sized(policy.limits.shared_memory), "--tmpfs", "/dev/shm")  # noqa: S108
        yield from ("--dir", "/run", "--dir", "/var", "--symlink", "/tmp", "/var/tmp")  # noqa: S108
        if policy.devices:
            yield from _devices()
        linked = {path: str(Path(path).readlink()) for path in system.LINKED if Path(path).is_symlink()}
        for path, target in linked.items():
            yield from ("--symlink", target, path)
        folders = (path for path in system.LINKED if path not in linked)
        found = system.places(*folders, *_MACHINE, *_STEERING, network=policy.network)
        whole = replace(policy, places=(*found, *hidden(*map(Path, _TELLTALE)), *policy.places))
        for place in whole.sound():
            yield from self._mounted(place, policy)
        for path in whole.of(MountMode.HIDE):  # not before: other places may lie inside
            if path.is_dir():
                yield from ("--remount-ro", str(path))
        if seccomp is not None:
            yield from ("--seccomp", str(seccomp))
        # Or what is written there would succeed, fill the memory, and be lost.
        yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(cwd))

    def _isolation(self, policy: Policy) -> Iterator[str]:
        yield from ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
        if not policy.network:
            yield "--unshare-net"
        yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
        if self.as_root:
            # No user namespace: there all files of other owners would be nobody's.
            for capability in _ROOTS_CAPABILITIES:
                yield from ("--cap-add", capability)
            return
        yield "--unshare-user"
        if self.seals_namespaces:
            yield "--disable-userns"

    def _sized(self, size: int) -> tuple[str, ...]:
        return ("--size", str(size)) if self.sizes else ()

    def _mounted(self, place: Mount, policy: Policy) -> Iterator[str]:
        path, shown = str(place.path), place.shown
        match place.access:
            case MountMode.SCRATCH:
                yield from (*self._sized(policy.limits.home_size), "--tmpfs", path)
            case MountMode.WRITE if shown.exists():
                yield from ("--bind", str(shown), path)
            case MountMode.READ if shown.exists():
                yield from ("--ro-bind", str(shown), path)
            case MountMode.HIDE if shown.is_dir():
                yield from ("--tmpfs", path)
            case MountMode.HIDE if shown.exists():
                yield from ("--ro-bind", str(_NOTHING), path)
            case _:
                pass


def _devices() -> Iterator[str]:
    for pattern in _GRAPHICS:
        for path in Path("/").glob(pattern.lstrip("/")):
            yield from ("--dev-bind", str(path), str(path))
