"""How much room a program takes, told from what others take."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from redgreenrefactor.sandbox.disk import Free, Meter, free_on_disk
from redgreenrefactor.sandbox.policy import Limits

MIB = 1 << 20


def until_older(file: Path) -> None:
    """Return when a file is older than what is written from now on."""
    while time.time() < file.stat().st_ctime + 0.1:
        time.sleep(0.01)


def disk(*free: int) -> Callable[[Path], Free]:
    """Return a disk on which so much is free, each time it is asked."""
    answers = map(Free, free)
    return lambda _place: next(answers)


def test_the_end_of_the_disk_is_told_whoever_has_filled_it(tmp_path: Path) -> None:
    meter = Meter([tmp_path], Limits(free=100), disk(500, 100, 99))
    assert meter.over() == ""
    assert "are left on the disk" in meter.over()


def test_a_disk_that_was_full_before_is_nobodys_fault(tmp_path: Path) -> None:
    assert Meter([tmp_path], Limits(free=100), disk(50, 20)).over() == ""


def test_what_others_write_is_not_counted(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    limits = Limits(disk=MIB, free=0)
    meter = Meter([own], limits, disk(10 * MIB, 2 * MIB))
    (tmp_path / "theirs").write_bytes(bytes(4 * MIB))
    assert meter.over() == ""


def test_what_was_there_before_is_not_counted_and_what_is_new_is(tmp_path: Path) -> None:
    old = tmp_path / "deep" / "old"
    old.parent.mkdir()
    old.write_bytes(os.urandom(2 * MIB))
    until_older(old)
    limits = Limits(disk=MIB, free=0)
    assert Meter([tmp_path], limits, disk(10 * MIB, 8 * MIB)).over() == ""
    meter = Meter([tmp_path], limits, disk(10 * MIB, 8 * MIB))
    (tmp_path / "deep" / "new").write_bytes(os.urandom(2 * MIB))
    assert meter.over() == "it has written more than 1 MiB"


def test_room_that_others_make_meanwhile_hides_nothing(tmp_path: Path) -> None:
    meter = Meter([tmp_path], Limits(disk=MIB, free=0), disk(10 * MIB, 20 * MIB, 18 * MIB))
    (tmp_path / "new").write_bytes(os.urandom(2 * MIB))
    assert meter.over() == ""
    assert meter.over() == "it has written more than 1 MiB"


def test_a_folder_that_is_gone_is_no_trouble(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    meter = Meter([own, tmp_path / "never"], Limits())
    own.rmdir()
    assert meter.over() == ""


def test_the_end_of_the_files_is_told_as_well(tmp_path: Path) -> None:
    answers = iter([Free(500, 30_000), Free(500, 20_000), Free(500, 19_999)])
    meter = Meter([tmp_path], Limits(free=100), lambda _place: next(answers))
    assert meter.over() == ""
    assert "fewer than 20000 files can still be made" in meter.over()


def test_a_disk_without_a_number_of_files_has_no_end_of_them(tmp_path: Path) -> None:
    answers = iter([Free(500, None), Free(500, None)])
    assert Meter([tmp_path], Limits(free=100), lambda _place: next(answers)).over() == ""
    assert free_on_disk(tmp_path).bytes > 0


def test_files_that_nobody_finds_any_more_are_counted(tmp_path: Path) -> None:
    writes = (
        f"import os, sys; f = open({str(tmp_path / 'x')!r}, 'wb'); os.unlink(f.name); f.write(os.urandom(2 << 20));"
        "f.flush(); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", writes], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        limits = Limits(disk=MIB, free=0)
        assert Meter([tmp_path], limits, disk(10 * MIB, 8 * MIB)).over(os.getpid()) == (
            "it has written more than 1 MiB"
        )
        assert Meter([tmp_path], limits, disk(10 * MIB, 8 * MIB)).over() == ""  # nobody is to be looked at
        child.communicate()


def test_folders_nested_beyond_reason_hold_what_is_missing(tmp_path: Path) -> None:
    meter = Meter([tmp_path], Limits(disk=MIB, free=0), disk(10 * MIB, 8 * MIB))
    (tmp_path / "/".join("d" * 300)).mkdir(parents=True)
    assert meter.over() == "it has written more than 1 MiB"
