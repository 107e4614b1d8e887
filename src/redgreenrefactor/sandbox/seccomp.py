"""A small filter of system calls, assembled by hand: what no test needs and an attacker of the kernel would like."""

import errno
import struct
from collections.abc import Iterator

from redgreenrefactor.model.values import frozen

_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_REFUSED, _ABSENT = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS  # absent: as if the kernel were older
_LOAD, _EQUAL, _GREATER_EQUAL, _ANY_BIT, _JUMP, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x05, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # where `struct seccomp_data` has them

# On x86-64, aarch64 and for 32-bit programs on x86-64.
_REFUSED_CALLS: dict[str, tuple[int, int, int | None]] = {
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
}
# Everything newer than 424 has the same number everywhere: io_uring_setup, io_uring_enter, io_uring_register, open_tree,
# move_mount, fsopen, fsconfig, fsmount, fspick, quotactl_fd, mount_setattr.
_REFUSED_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 443, 442)
# What is refused by what it is asked for, the same columns.
_CLONE, _UNSHARE, _IOCTL, _SOCKET = (56, 220, 120), (272, 97, 310), (16, 29, 54), (41, 198, 359)
_OLD_SOCKETS = (
    102  # of 32-bit programs, with arguments behind a pointer; libraries have had another way for long
)
_ABSENT_EVERYWHERE = (435, 437)  # clone3, openat2: arguments behind a pointer, where a filter cannot look

_NAMESPACES = 0x7E020080  # CLONE_NEW*: cgroup, uts, ipc, user, pid, net, mount, time
_TERMINAL = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX: typing into the user's terminal
_AS_OWNER = 0o4000  # the mode of a program that runs as its owner, whoever starts it
_MAKING = 0o20000100  # O_CREAT, O_TMPFILE
_INTERNET = (2, 10)  # AF_INET, AF_INET6
_NOT_STREAM = 0xE  # of a socket's type: set in every other one
_BEYOND_TCP = 7  # the first protocol after it; those before are no streams
_VIRTUAL = 40  # AF_VSOCK: to whatever runs this machine; a network of one's own does not shut it out


@frozen
class _Machine:
    """What programs of one kind call what; a machine may run programs of several."""

    architecture: int
    column: int  # in the table of numbers
    modes: tuple[tuple[int, int], ...]  # calls that set a file's mode, and which argument that is
    makes: tuple[tuple[int, int, int], ...]  # calls that may make a file: where its flags are, and its mode
    refused: tuple[int, ...] = ()  # beside what is in the table
    absent: tuple[int, ...] = ()
    highest: int | None = None  # beyond it are calls by a third way, which nobody uses


_FCHMODAT2 = (452, 2)
_NATIVE_INTEL = _Machine(
    0xC000003E,
    column=0,
    modes=((90, 1), (91, 1), (268, 2), (85, 1), (133, 1), (259, 2), _FCHMODAT2),
    makes=((2, 1, 2), (257, 2, 3)),
    refused=(172, 173),  # iopl, ioperm
    highest=0x40000000,
)
_NATIVE_ARM = _Machine(
    0xC00000B7, column=1, modes=((52, 1), (53, 2), (33, 2), _FCHMODAT2), makes=((56, 2, 3),)
)
_SHORT_INTEL = _Machine(
    0x40000003,
    column=2,
    modes=((15, 1), (94, 1), (306, 2), (8, 1), (14, 1), (297, 2), _FCHMODAT2),
    makes=((5, 1, 2), (295, 2, 3)),
    refused=(22, 25, 101, 110, 404),  # umount, stime, ioperm, iopl, clock_settime64
    absent=(_OLD_SOCKETS,),
)
_MACHINES = {"x86_64": (_NATIVE_INTEL, _SHORT_INTEL), "aarch64": (_NATIVE_ARM,)}


def filter_for(machine: str, *, offline: bool = False) -> bytes | None:
    """Return the filter as the kernel wants it; None for a machine whose numbers we do not know.

    A program of an architecture whose numbers we do not know finds no system call at all. One that is offline finds
    TCP only, which Landlock holds: nothing else does where there is no network of its own to be had.
    """
    known = _MACHINES.get(machine)
    if known is None:
        return None
    program = [_step(_LOAD, _ARCHITECTURE)]
    for kind in known:
        own = [_step(_LOAD, _NUMBER), *_own(kind, offline=offline), _step(_RETURN, _ALLOW)]
        program += [_step(_EQUAL, kind.architecture, yes=1), _step(_JUMP, len(own)), *own]
    return b"".join([*program, _step(_RETURN, _ABSENT)])


def _own(machine: _Machine, *, offline: bool) -> Iterator[bytes]:
    """Yield the steps for programs of one kind."""
    column = machine.column
    if machine.highest is not None:
        yield from (_step(_GREATER_EQUAL, machine.highest, no=1), _step(_RETURN, _REFUSED))
    numbers = (row[column] for row in _REFUSED_CALLS.values())
    for call in (*machine.refused, *_REFUSED_EVERYWHERE, *filter(None, numbers)):
        yield from _answered(call, _REFUSED)
    for call in (*machine.absent, *_ABSENT_EVERYWHERE):
        yield from _answered(call, _ABSENT)
    yield from _answered(_CLONE[column], _REFUSED, (0, _ANY_BIT, _NAMESPACES & ~0xFF))
    yield from _answered(_UNSHARE[column], _REFUSED, (0, _ANY_BIT, _NAMESPACES))
    for request in _TERMINAL:
        yield from _answered(_IOCTL[column], _REFUSED, (1, _EQUAL, request))
    for call, mode in machine.modes:
        yield from _answered(call, _REFUSED, (mode, _ANY_BIT, _AS_OWNER))
    for call, flags, mode in machine.makes:
        yield from _answered(call, _REFUSED, (flags, _ANY_BIT, _MAKING), (mode, _ANY_BIT, _AS_OWNER))
    yield from _answered(_SOCKET[column], _ERRNO | errno.EAFNOSUPPORT, (0, _EQUAL, _VIRTUAL))
    for family in _INTERNET if offline else ():  # none that is not plain TCP
        for odd in ((1, _ANY_BIT, _NOT_STREAM), (2, _GREATER_EQUAL, _BEYOND_TCP)):
            yield from _answered(_SOCKET[column], _ERRNO | errno.EACCES, (0, _EQUAL, family), odd)


def _answered(call: int, answer: int, *conditions: tuple[int, int, int]) -> Iterator[bytes]:
    """Yield the steps that give this answer to a call whose arguments pass all tests: which one, how, what for."""
    inner: list[bytes] = []
    for number, (index, test, value) in enumerate(conditions, 1):
        beyond = 2 * (len(conditions) - number) + 1  # to where the number of the call is loaded again
        inner += [_step(_LOAD, _ARGUMENTS + 8 * index), _step(test, value, no=beyond)]
    inner.append(_step(_RETURN, answer))
    if conditions:
        inner.append(_step(_LOAD, _NUMBER))
    yield _step(_EQUAL, call, no=len(inner))
    yield from inner


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
