"""A small filter of system calls, assembled by hand: what no test needs and an attacker of the kernel would like."""

import errno
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_LOAD, _EQUAL, _GREATER_EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE = 0, 4  # where `struct seccomp_data` has them


def _argument(index: int) -> int:
    """Return where the lower half of an argument lies."""
    return 16 + 8 * index


_NAMESPACES = 0x7E020080  # CLONE_NEW*: cgroup, uts, ipc, user, pid, net, mount, time
_TERMINAL = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX: typing into the user's terminal

# On x86-64 and aarch64; everything newer than 424 has the same number everywhere.
_NUMBERS: dict[str, tuple[int, int]] = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "lookup_dcookie": (212, 18),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "quotactl_fd": (443, 443),
    "mount_setattr": (442, 442),
}
_ONLY_INTEL = (172, 173)  # iopl, ioperm


@dataclass(frozen=True, slots=True)
class _Machine:
    architecture: int
    column: int  # in the table of numbers
    clone: int
    clone3: int
    unshare: int
    ioctl: int


_MACHINES = {
    "x86_64": _Machine(0xC000003E, 0, clone=56, clone3=435, unshare=272, ioctl=16),
    "aarch64": _Machine(0xC00000B7, 1, clone=220, clone3=435, unshare=97, ioctl=29),
}
_X32 = 0x40000000  # system calls by a third way, which nobody uses


def filter_for(machine: str) -> bytes | None:
    """Return the filter as the kernel wants it; None for a machine whose numbers we do not know.

    A program of another architecture (32 bits) is let through: it is held by everything but this filter.
    """
    known = _MACHINES.get(machine)
    return None if known is None else b"".join(_program(known))


def _program(machine: _Machine) -> Iterable[bytes]:
    refuse = _ERRNO | errno.EPERM
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_EQUAL, machine.architecture, yes=1)
    yield _step(_RETURN, _ALLOW)
    yield _step(_LOAD, _NUMBER)
    if machine.column == 0:
        yield from _refused(_step(_GREATER_EQUAL, _X32, no=1), refuse)
        for number in _ONLY_INTEL:
            yield from _refused(_step(_EQUAL, number, no=1), refuse)
    for numbers in _NUMBERS.values():
        yield from _refused(_step(_EQUAL, numbers[machine.column], no=1), refuse)
    # Its arguments lie behind a pointer, where a filter cannot look: libraries then take `clone`.
    yield from _refused(_step(_EQUAL, machine.clone3, no=1), _ERRNO | errno.ENOSYS)
    yield from _by_argument(machine.clone, 0, [_step(_ANY_BIT, _NAMESPACES & ~0xFF, no=1)], refuse)
    yield from _by_argument(machine.unshare, 0, [_step(_ANY_BIT, _NAMESPACES, no=1)], refuse)
    requests = [_step(_EQUAL, request, no=1) for request in _TERMINAL]
    yield from _by_argument(machine.ioctl, 1, requests, refuse)
    yield _step(_RETURN, _ALLOW)


def _refused(test: bytes, answer: int) -> tuple[bytes, bytes]:
    """Return the test, which skips one step where it does not apply, and what is answered where it does."""
    return test, _step(_RETURN, answer)


def _by_argument(call: int, index: int, tests: Sequence[bytes], answer: int) -> Iterable[bytes]:
    """Yield the steps that refuse a call where one of its arguments passes a test."""
    inner = [_step(_LOAD, _argument(index))]
    for test in tests:
        inner += _refused(test, answer)
    inner.append(_step(_LOAD, _NUMBER))
    yield _step(_EQUAL, call, no=len(inner))
    yield from inner


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
