"""One orchestrator a workspace, and a dead one stands in nobody's way."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path, PosixPath

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.git import lock
from redgreenrefactor.git.lock import free_slot, held, is_held
from redgreenrefactor.model.result import AtWork

HOLD = """
import sys
from pathlib import Path, PosixPath
from redgreenrefactor.git.lock import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(path: Path) -> Generator[subprocess.Popen[str]]:
    """Another process that holds the lock until its standard input is closed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rgr.lock"


def test_it_is_held_inside_and_gone_afterwards(path: Path) -> None:
    assert not is_held(path)
    with held(path):
        assert is_held(path)
        assert path.read_text() == f"{os.getpid()}\n"
    assert not is_held(path)
    assert not path.exists()


def test_who_holds_it_is_known_and_since_when(path: Path) -> None:
    with held(path):
        os.utime(path, (0, 0))
        assert lock.holder(path) == AtWork(str(os.getpid()), "1970-01-01T00:00:00Z")
    assert lock.holder(path) is None


def test_it_is_let_go_after_an_error(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), held(path):
        raise ZeroDivisionError
    assert not path.exists()


def test_somebody_elses_is_refused_by_the_number_of_the_process(path: Path) -> None:
    with holder(path) as process:
        assert is_held(path)
        with pytest.raises(NotReadyError, match=f"process {process.pid}") as refusal, held(path):
            pass
        assert (refusal.value.type, f"kill {process.pid}" in refusal.value.hint) == ("Locked", True)
        assert path.read_text() == f"{process.pid}\n"
    with held(path):
        assert is_held(path)


def test_a_dead_owners_is_taken_over(path: Path) -> None:
    with holder(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert path.exists()
    assert not is_held(path)
    with held(path):
        assert path.read_text() == f"{os.getpid()}\n"


def test_an_owner_that_has_not_signed_yet_is_unknown(path: Path) -> None:
    with holder(path):
        os.truncate(path, 0)
        with pytest.raises(NotReadyError, match="process unknown"), held(path):
            pass


class Vanishing(PosixPath):
    """The path of a file that its last owner removes when it is first looked at; another may make a new one."""

    looks = 0
    comes_again = False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        self.looks += 1
        if self.looks == 1:
            self.unlink()
            if self.comes_again:
                self.touch()
        return super().stat(follow_symlinks=follow_symlinks)


@pytest.mark.parametrize("comes_again", [False, True])
def test_a_file_removed_in_between_is_not_mistaken_for_the_lock(path: Path, comes_again: bool) -> None:
    vanishing = Vanishing(path)
    vanishing.comes_again = comes_again
    with held(vanishing):
        assert vanishing.looks == 2
        assert path.read_text() == f"{os.getpid()}\n"
        assert is_held(path)


@pytest.mark.parametrize("place", ["nowhere/rgr.lock", "file/rgr.lock", ""])
def test_a_place_that_cannot_be_written_is_not_ready(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotReadyError, match="cannot be written") as refusal, held(tmp_path / place):
        pass
    assert "writable" in refusal.value.hint
    assert not is_held(tmp_path / place)


def test_many_at_once_are_never_two(path: Path) -> None:
    inside, most, refused = 0, 0, 0
    guard = threading.Lock()
    ready = threading.Barrier(8)

    def work() -> None:
        nonlocal inside, most, refused
        ready.wait()
        for _ in range(50):
            try:
                with held(path):
                    with guard:
                        inside += 1
                        most = max(most, inside)
                    with guard:
                        inside -= 1
            except NotReadyError:
                with guard:
                    refused += 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert refused < 8 * 50


def test_a_slot_is_the_first_that_nobody_else_holds(tmp_path: Path) -> None:
    with free_slot(tmp_path, "apart") as first, free_slot(tmp_path, "apart") as second:
        assert (first, second) == ("apart-0", "apart-1")
    with free_slot(tmp_path, "apart") as again:
        assert again == "apart-0"
    assert list(tmp_path.iterdir()) == []


def test_what_goes_wrong_while_a_slot_is_held_is_not_taken_for_a_held_one(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="elsewhere"), free_slot(tmp_path, "apart"):
        raise NotReadyError("elsewhere")


def test_a_slot_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="cannot be written"), free_slot(tmp_path / "gone", "apart"):
        pass


def test_whoever_only_looks_keeps_nobody_from_starting(path: Path) -> None:
    path.write_text("")  # as one that was killed leaves it
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            is_held(path)

    onlooker = threading.Thread(target=look)
    onlooker.start()
    try:
        for _ in range(300):
            with held(path):
                path.touch()
            path.write_text("")
    finally:
        done.set()
        onlooker.join()
