"""A small filter of system calls, assembled by hand: what no test needs and an attacker of the kernel would like."""

import errno
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_LOAD, _EQUAL, _GREATER_EQUAL, _ANY_BIT, _JUMP, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x05, 0x06
_NUMBER, _ARCHITECTURE = 0, 4  # where `struct seccomp_data` has them


def _argument(index: int) -> int:
    """Return where the lower half of an argument lies."""
    return 16 + 8 * index


_NAMESPACES = 0x7E020080  # CLONE_NEW*: cgroup, uts, ipc, user, pid, net, mount, time
_TERMINAL = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX: typing into the user's terminal

# On x86-64, aarch64 and for 32-bit programs on x86-64; everything newer than 424 has the same number everywhere.
_NUMBERS: dict[str, tuple[int, int, int | None]] = {
    "mount": (165, 40, 21),
    "umount2": (166, 39, 52),
    "pivot_root": (155, 41, 217),
    "chroot": (161, 51, 61),
    "setns": (308, 268, 346),
    "swapon": (167, 224, 87),
    "swapoff": (168, 225, 115),
    "reboot": (169, 142, 88),
    "sethostname": (170, 161, 74),
    "setdomainname": (171, 162, 121),
    "init_module": (175, 105, 128),
    "delete_module": (176, 106, 129),
    "finit_module": (313, 273, 350),
    "kexec_load": (246, 104, 283),
    "kexec_file_load": (320, 294, None),
    "quotactl": (179, 60, 131),
    "acct": (163, 89, 51),
    "syslog": (103, 116, 103),
    "vhangup": (153, 58, 111),
    "lookup_dcookie": (212, 18, 253),
    "settimeofday": (164, 170, 79),
    "clock_settime": (227, 112, 264),
    "add_key": (248, 217, 286),
    "request_key": (249, 218, 287),
    "keyctl": (250, 219, 288),
    "perf_event_open": (298, 241, 336),
    "open_by_handle_at": (304, 265, 342),
    "fanotify_init": (300, 262, 338),
    "bpf": (321, 280, 357),
    "userfaultfd": (323, 282, 374),
    "io_uring_setup": (425, 425, 425),
    "io_uring_enter": (426, 426, 426),
    "io_uring_register": (427, 427, 427),
    "open_tree": (428, 428, 428),
    "move_mount": (429, 429, 429),
    "fsopen": (430, 430, 430),
    "fsconfig": (431, 431, 431),
    "fsmount": (432, 432, 432),
    "fspick": (433, 433, 433),
    "quotactl_fd": (443, 443, 443),
    "mount_setattr": (442, 442, 442),
}


@dataclass(frozen=True, slots=True)
class _Machine:
    """What programs of one kind call what; a machine may run programs of several."""

    architecture: int
    column: int  # in the table of numbers
    clone: int
    unshare: int
    ioctl: int
    socket: int
    modes: tuple[tuple[int, int], ...]  # calls that set a file's mode, and which argument that is
    makes: tuple[tuple[int, int, int], ...]  # calls that may make a file: where its flags are, and its mode
    more: tuple[int, ...] = ()  # refused beside what is in the table
    absent: tuple[int, ...] = ()  # as if the kernel were older
    highest: int | None = None  # beyond it are calls by a third way, which nobody uses


_CLONE3 = 435  # its arguments lie behind a pointer, where a filter cannot look: libraries then take `clone`
_OLD_SOCKETS = 102  # socketcall, the same; libraries have had another way for ten years
_OPENAT2 = 437  # the same: it could make a file of any mode; nobody relies on it
_FCHMODAT2 = 452
_AS_OWNER = 0o4000  # the mode of a program that runs as its owner, whoever starts it
_MAKING = 0o20000100  # O_CREAT, O_TMPFILE
_INTERNET = (2, 10)  # AF_INET, AF_INET6
_NOT_STREAM = 0xE  # of a socket's type: set in every other one
_BEYOND_TCP = 7  # the first protocol after it; those before are no streams
_VIRTUAL = 40  # AF_VSOCK: to whatever runs this machine; a network of one's own does not shut it out

_NATIVE_INTEL = _Machine(
    0xC000003E,
    0,
    56,
    272,
    16,
    41,
    modes=((90, 1), (91, 1), (268, 2), (_FCHMODAT2, 2), (85, 1), (133, 1), (259, 2)),
    makes=((2, 1, 2), (257, 2, 3)),
    more=(172, 173),
    absent=(_CLONE3, _OPENAT2),
    highest=0x40000000,
)  # and iopl, ioperm
_SHORT_INTEL = _Machine(
    0x40000003,
    2,
    120,
    310,
    54,
    359,
    modes=((15, 1), (94, 1), (306, 2), (_FCHMODAT2, 2), (8, 1), (14, 1), (297, 2)),
    makes=((5, 1, 2), (295, 2, 3)),
    more=(22, 25, 101, 110, 404),
    absent=(_CLONE3, _OLD_SOCKETS, _OPENAT2),
)  # and umount, stime, ioperm, iopl, clock_settime64
_NATIVE_ARM = _Machine(
    0xC00000B7,
    1,
    220,
    97,
    29,
    198,
    modes=((52, 1), (53, 2), (_FCHMODAT2, 2), (33, 2)),
    makes=((56, 2, 3),),
    absent=(_CLONE3, _OPENAT2),
)
_MACHINES = {"x86_64": (_NATIVE_INTEL, _SHORT_INTEL), "aarch64": (_NATIVE_ARM,)}


def filter_for(machine: str, *, offline: bool = False) -> bytes | None:
    """Return the filter as the kernel wants it; None for a machine whose numbers we do not know.

    A program of an architecture whose numbers we do not know finds no system call at all. One that is offline finds
    TCP only, which Landlock holds: nothing else does where there is no network of its own to be had.
    """
    known = _MACHINES.get(machine)
    return None if known is None else b"".join(_program(known, offline=offline))


def _program(machines: Iterable[_Machine], *, offline: bool) -> Iterable[bytes]:
    yield _step(_LOAD, _ARCHITECTURE)
    for machine in machines:
        own = [*(_offline(machine) if offline else ()), *_own(machine)]
        yield _step(_EQUAL, machine.architecture, yes=1)
        yield _step(_JUMP, len(own))
        yield from own
    yield _step(_RETURN, _ERRNO | errno.ENOSYS)


def _own(machine: _Machine) -> Iterable[bytes]:
    """Yield the steps for programs of one kind."""
    refuse = _ERRNO | errno.EPERM
    yield _step(_LOAD, _NUMBER)
    if machine.highest is not None:
        yield from _refused(_step(_GREATER_EQUAL, machine.highest, no=1), refuse)
    numbers = [row[machine.column] for row in _NUMBERS.values()]
    for number in (*machine.more, *(number for number in numbers if number is not None)):
        yield from _refused(_step(_EQUAL, number, no=1), refuse)
    for number in machine.absent:
        yield from _refused(_step(_EQUAL, number, no=1), _ERRNO | errno.ENOSYS)
    yield from _by_argument(machine.clone, 0, [_step(_ANY_BIT, _NAMESPACES & ~0xFF, no=1)], refuse)
    yield from _by_argument(machine.unshare, 0, [_step(_ANY_BIT, _NAMESPACES, no=1)], refuse)
    requests = [_step(_EQUAL, request, no=1) for request in _TERMINAL]
    yield from _by_argument(machine.ioctl, 1, requests, refuse)
    for call, mode in machine.modes:
        yield from _by_argument(call, mode, [_step(_ANY_BIT, _AS_OWNER, no=1)], refuse)
    for call, flags, mode in machine.makes:
        yield from _by_two_arguments(call, (flags, _MAKING), (mode, _AS_OWNER), refuse)
    virtual = [_step(_EQUAL, _VIRTUAL, no=1)]
    yield from _by_argument(machine.socket, 0, virtual, _ERRNO | errno.EAFNOSUPPORT)
    yield _step(_RETURN, _ALLOW)


def _offline(machine: _Machine) -> Iterable[bytes]:
    """Yield the steps that refuse sockets of the internet that are not plain TCP."""
    refuse = _ERRNO | errno.EACCES
    yield _step(_LOAD, _NUMBER)
    for family in _INTERNET:
        inner = [
            _step(_LOAD, _argument(0)),
            _step(_EQUAL, family, no=6),
            _step(_LOAD, _argument(1)),
            *_refused(_step(_ANY_BIT, _NOT_STREAM, no=1), refuse),
            _step(_LOAD, _argument(2)),
            *_refused(_step(_GREATER_EQUAL, _BEYOND_TCP, no=1), refuse),
            _step(_LOAD, _NUMBER),
        ]
        yield _step(_EQUAL, machine.socket, no=len(inner))
        yield from inner


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


def _by_two_arguments(
    call: int, first: tuple[int, int], second: tuple[int, int], answer: int
) -> Iterable[bytes]:
    """Yield the steps that refuse a call where both of two arguments have some of their bits."""
    inner = [
        _step(_LOAD, _argument(first[0])),
        _step(_ANY_BIT, first[1], no=3),
        _step(_LOAD, _argument(second[0])),
        *_refused(_step(_ANY_BIT, second[1], no=1), answer),
        _step(_LOAD, _NUMBER),
    ]
    yield _step(_EQUAL, call, no=len(inner))
    yield from inner


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
