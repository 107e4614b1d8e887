"""What the filter of system calls answers, worked out step by step as the kernel does."""

import errno
import struct

import pytest

from redgreenrefactor.sandbox.seccomp import filter_for

ALLOWED = 0x7FFF0000
INTEL, SHORT, ARM = 0xC000003E, 0x40000003, 0xC00000B7


def answer(machine: str, architecture: int, number: int, *arguments: int, offline: bool = False) -> int:
    """Return what the filter says to one system call."""
    program = filter_for(machine, offline=offline)
    assert program is not None
    steps = list(struct.iter_unpack("=HBBI", program))
    given = struct.pack("=iIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    held = place = 0
    while True:
        code, yes, no, value = steps[place]
        place += 1
        match code:
            case 0x20:
                held = int.from_bytes(given[value : value + 4], "little")
            case 0x05:
                place += value
            case 0x06:
                return value
            case _:
                true = {0x15: held == value, 0x35: held >= value, 0x45: held & value != 0}[code]
                place += yes if true else no


def refused(code: int) -> int:
    return 0x00050000 | code


@pytest.mark.parametrize(
    ("machine", "architecture", "number"),
    [
        ("x86_64", INTEL, 250),  # keyctl
        ("x86_64", INTEL, 165),  # mount
        ("x86_64", INTEL, 0x40000000 + 39),  # by the third way
        ("x86_64", SHORT, 288),  # keyctl
        ("x86_64", SHORT, 21),  # mount
        ("x86_64", SHORT, 22),  # umount
        ("aarch64", ARM, 219),  # keyctl
        ("x86_64", INTEL, 425),  # io_uring_setup
        ("x86_64", SHORT, 425),
        ("aarch64", ARM, 425),
    ],
)
def test_what_no_test_needs_is_refused_by_every_door(machine: str, architecture: int, number: int) -> None:
    assert answer(machine, architecture, number) == refused(errno.EPERM)


@pytest.mark.parametrize(
    ("machine", "architecture", "clone", "unshare", "ioctl", "socket"),
    [
        ("x86_64", INTEL, 56, 272, 16, 41),
        ("x86_64", SHORT, 120, 310, 54, 359),
        ("aarch64", ARM, 220, 97, 29, 198),
    ],
)
def test_some_calls_are_refused_by_what_they_ask_for(
    machine: str, architecture: int, clone: int, unshare: int, ioctl: int, socket: int
) -> None:
    assert answer(machine, architecture, clone, 0x10000011) == refused(errno.EPERM)
    assert answer(machine, architecture, clone, 0x11) == ALLOWED
    assert answer(machine, architecture, unshare, 0x20000) == refused(errno.EPERM)
    assert answer(machine, architecture, unshare, 0x400) == ALLOWED
    assert answer(machine, architecture, ioctl, 0, 0x5412) == refused(errno.EPERM)
    assert answer(machine, architecture, ioctl, 0, 0x5413) == ALLOWED
    assert answer(machine, architecture, socket, 40) == refused(errno.EAFNOSUPPORT)
    assert answer(machine, architecture, socket, 2) == ALLOWED
    assert answer(machine, architecture, 435) == refused(errno.ENOSYS)


@pytest.mark.parametrize(
    ("machine", "architecture", "openat", "fchmodat"),
    [("x86_64", INTEL, 257, 268), ("x86_64", SHORT, 295, 306), ("aarch64", ARM, 56, 53)],
)
def test_no_file_gets_a_mode_that_makes_it_run_as_its_owner(
    machine: str, architecture: int, openat: int, fchmodat: int
) -> None:
    assert answer(machine, architecture, fchmodat, 0, 0, 0o4755) == refused(errno.EPERM)
    assert answer(machine, architecture, fchmodat, 0, 0, 0o2775) == ALLOWED
    assert answer(machine, architecture, openat, 0, 0, 0o101, 0o4755) == refused(errno.EPERM)
    assert answer(machine, architecture, openat, 0, 0, 0o20200002, 0o4755) == refused(errno.EPERM)
    assert answer(machine, architecture, openat, 0, 0, 0o101, 0o755) == ALLOWED
    assert (
        answer(machine, architecture, openat, 0, 0, 0, 0o4755) == ALLOWED
    )  # what stands there means nothing
    assert answer(machine, architecture, 437, 0, 0, 0) == refused(errno.ENOSYS)


def test_ordinary_calls_go_through() -> None:
    assert {answer("x86_64", INTEL, number) for number in (0, 1, 2, 57, 59, 101, 257)} == {ALLOWED}
    assert {answer("x86_64", SHORT, number) for number in (1, 2, 3, 4, 5, 11)} == {ALLOWED}
    assert {answer("aarch64", ARM, number) for number in (56, 63, 64, 221)} == {ALLOWED}


def test_programs_of_an_architecture_whose_numbers_are_unknown_find_no_call_at_all() -> None:
    assert answer("aarch64", 0x40000028, 4) == refused(errno.ENOSYS)
    assert answer("x86_64", 0x12345678, 4) == refused(errno.ENOSYS)


def test_of_an_unknown_machine_no_numbers_are_guessed() -> None:
    assert filter_for("riscv64") is None


STREAM, DATAGRAM, RAW, NOT_BLOCKING = 1, 2, 3, 0o4000


@pytest.mark.parametrize(
    ("machine", "architecture", "socket"),
    [("x86_64", INTEL, 41), ("x86_64", SHORT, 359), ("aarch64", ARM, 198)],
)
@pytest.mark.parametrize("family", [2, 10])
def test_offline_there_is_tcp_which_landlock_holds_and_nothing_else(
    machine: str, architecture: int, socket: int, family: int
) -> None:
    def asked(*arguments: int, offline: bool = True) -> int:
        return answer(machine, architecture, socket, *arguments, offline=offline)

    for kind in (DATAGRAM, RAW, DATAGRAM | NOT_BLOCKING):
        assert asked(family, kind, 0) == refused(errno.EACCES)
        assert asked(family, kind, 0, offline=False) == ALLOWED
    for protocol, said in (
        (0, ALLOWED),
        (6, ALLOWED),
        (132, refused(errno.EACCES)),
        (262, refused(errno.EACCES)),
    ):
        assert asked(family, STREAM | NOT_BLOCKING, protocol) == said
    assert asked(1, DATAGRAM, 0) == ALLOWED  # among processes of this machine
    assert asked(40, STREAM, 0) == refused(errno.EAFNOSUPPORT)  # what is refused always is refused still
