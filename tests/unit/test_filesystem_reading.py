"""Files named by others: regular ones are read up to a size, everything else is told at once."""

import os
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redgreenrefactor.filesystem import head_of


@contextmanager
def within(seconds: float) -> Generator[None]:
    """Break off whatever waits longer."""

    def give_up(_number: int, _frame: object) -> None:
        pytest.fail("it waited")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_regular_file_is_read_up_to_what_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abcdef")
    (tmp_path / "link").symlink_to(file)
    assert head_of(file, 100) == b"abcdef"
    assert head_of(tmp_path / "link", 3) == b"abc"


def test_a_huge_file_costs_no_more_than_its_head(tmp_path: Path) -> None:
    file = tmp_path / "huge"
    with file.open("wb") as stream:
        stream.truncate(1 << 40)
    assert head_of(file, 200_000) == bytes(200_000)


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder", "zeros"])
def test_what_is_no_file_is_told_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    with socket.socket(socket.AF_UNIX) as listening, within(5):
        if kind == "pipe":
            os.mkfifo(place)
        elif kind == "socket":
            before = Path.cwd()
            os.chdir(tmp_path)  # the name of a socket may not be long
            listening.bind("place")
            os.chdir(before)
        elif kind == "folder":
            place.mkdir()
        else:
            place.symlink_to("/dev/tty" if kind == "device" else "/dev/zero")
        with pytest.raises(OSError, match=f"it is a (named )?({kind}|device), not a regular file"):
            head_of(place, 10)


def test_a_pipe_with_somebody_writing_is_no_file_either(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with within(5):
        file = os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)
        os.write(file, b"words")
        with pytest.raises(OSError, match="a named pipe"):
            head_of(tmp_path / "pipe", 10)
        os.close(file)


def test_what_is_not_there_is_told_as_the_system_tells_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        head_of(tmp_path / "none", 10)
    with pytest.raises(ValueError, match="null"):
        head_of(tmp_path / "a\0b", 10)


def test_a_link_is_no_file_where_it_is_not_to_be_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("file")
    assert head_of(tmp_path / "file", 9, follow=False) == b"abc"
    with pytest.raises(OSError, match="a link, not a regular file"):
        head_of(tmp_path / "link", 9, follow=False)
