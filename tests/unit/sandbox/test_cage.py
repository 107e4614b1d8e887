"""A held program does its work, and nothing else."""

import os
import signal
import socket
import tempfile
import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from cages import BUBBLEWRAP, LEVELS, cage, means
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.cage import NO_MEANS, Cage
from redgreenrefactor.sandbox.policy import Limits, Mount, MountMode, Policy, hidden, readable
from redgreenrefactor.sandbox.process import Finished

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent"}
both = pytest.mark.parametrize("level", LEVELS)
strong = pytest.mark.parametrize("level", [BUBBLEWRAP])


def sh(command: str, held: Cage, cwd: Path, env: dict[str, str] | None = None) -> Finished:
    return process.run(command, cwd=cwd, env={**ENV, **(env or {})}, cage=held, timeout=60)


@pytest.fixture
def listener() -> Generator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def elsewhere() -> Generator[Path]:
    """A folder that is no temporary one: those are shared in the reduced form."""
    with tempfile.TemporaryDirectory(dir=Path.home(), prefix=".rgr-test-") as folder:
        yield Path(folder)


@both
def test_a_held_program_writes_into_its_workspace_and_tells_how_it_ended(level: str, tmp_path: Path) -> None:
    done = sh("echo hello > file; cat file; echo oops >&2; exit 7", cage(level, tmp_path), tmp_path)
    assert (done.exit_code, done.stdout, done.stderr) == (7, b"hello\n", b"oops\n")
    assert (tmp_path / "file").read_text() == "hello\n"


@both
def test_it_reads_its_standard_input(level: str, tmp_path: Path) -> None:
    done = process.run(["cat"], cwd=tmp_path, env=ENV, stdin=b"told", cage=cage(level, tmp_path))
    assert done.stdout == b"told"


@both
def test_it_can_neither_write_nor_read_beyond_what_is_named(
    level: str, tmp_path: Path, elsewhere: Path
) -> None:
    secret = elsewhere / "secret"
    secret.write_text("very secret")
    script = f"echo x > {elsewhere}/new; echo x > /etc/rgr-test; cat {secret}; cat /etc/shadow"
    done = sh(script, cage(level, tmp_path), tmp_path)
    assert done.exit_code != 0
    assert done.stdout == b""
    assert not Path("/etc/rgr-test").exists()
    assert [file.name for file in elsewhere.iterdir()] == ["secret"]


@both
def test_what_is_readable_is_not_writable(level: str, tmp_path: Path, elsewhere: Path) -> None:
    file = elsewhere / "library"
    file.write_text("held\n")
    done = sh(f"cat {file} && echo x >> {file}", cage(level, tmp_path, *readable(elsewhere)), tmp_path)
    assert done.stdout == b"held\n"
    assert done.exit_code != 0
    assert file.read_text() == "held\n"


@strong
def test_a_deeper_rule_beats_the_one_above_it(level: str, tmp_path: Path) -> None:
    for name in ("tests", "secret", "cache"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(f"{name}\n")
    (tmp_path / "token").write_text("token\n")
    other = tmp_path / "other"
    other.mkdir()
    places = (
        *readable(tmp_path / "tests"),
        *hidden(tmp_path / "secret", tmp_path / "token", tmp_path / "missing"),
        Mount(tmp_path / "cache", MountMode.WRITE, other),
    )
    script = "cat tests/file secret/file token cache/file; echo x > tests/file; rm -rf tests; mv tests t; echo y > cache/new"
    done = sh(script, cage(level, tmp_path, *places), tmp_path)
    assert done.stdout == b"tests\n"
    assert (tmp_path / "tests" / "file").read_text() == "tests\n"
    assert (other / "new").read_text() == "y\n"
    assert not (tmp_path / "cache" / "new").exists()


@both
def test_servers_and_clients_inside_find_each_other_and_nobody_else(
    level: str, tmp_path: Path, listener: int
) -> None:
    script = f"""
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
    print("loopback works")
try:
    socket.create_connection(("127.0.0.1", {listener}), timeout=5)
    print("reached the outside")
except OSError as problem:
    print("refused")
"""
    (tmp_path / "talk.py").write_text(script)
    done = sh("python3 talk.py", cage(level, tmp_path), tmp_path)
    assert done.stdout.split(b"\n")[:2] == [b"loopback works", b"refused"], done


@both
def test_with_the_network_it_reaches_the_outside(level: str, tmp_path: Path, listener: int) -> None:
    script = (
        f"import socket; socket.create_connection(('127.0.0.1', {listener}), timeout=5); print('reached')"
    )
    done = sh(f'python3 -c "{script}"', cage(level, tmp_path, network=True), tmp_path)
    assert done.stdout == b"reached\n", done


@both
def test_killed_by_a_signal_is_told_as_outside(level: str, tmp_path: Path) -> None:
    assert sh("kill -SEGV $$", cage(level, tmp_path), tmp_path).exit_code == -signal.SIGSEGV


@both
def test_time_is_up_for_all_that_was_started(level: str, tmp_path: Path) -> None:
    done = process.run(
        "setsid sleep 300 & trap '' TERM; echo $$; sleep 300",
        cwd=tmp_path,
        env=ENV,
        timeout=0.5,
        grace=0.2,
        cage=cage(level, tmp_path),
    )
    assert done.timed_out
    assert done.seconds < 30


@both
def test_a_program_that_is_not_there_answers_as_in_a_shell(level: str, tmp_path: Path) -> None:
    assert sh("no-such-program", cage(level, tmp_path), tmp_path).exit_code == 127


@both
def test_no_descriptor_of_ours_is_passed_on(level: str, tmp_path: Path) -> None:
    mine = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(mine, True)
    try:
        done = sh("ls /proc/self/fd", cage(level, tmp_path), tmp_path)
    finally:
        os.close(mine)
    assert done.stdout.split() == [b"0", b"1", b"2", b"3"]  # the last is the listing itself


@both
def test_it_does_not_find_the_ways_to_the_users_other_programs(level: str, tmp_path: Path) -> None:
    env = {"SSH_AUTH_SOCK": "/tmp/agent", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus", "MINE": "kept"}
    done = sh("env; cat /proc/1/environ /proc/self/environ", cage(level, tmp_path), tmp_path, env)
    assert b"MINE=kept" in done.stdout
    assert b"SSH_AUTH_SOCK" not in done.stdout
    assert b"DBUS" not in done.stdout


@both
def test_a_policy_adds_to_the_environment(level: str, tmp_path: Path) -> None:
    held = cage(level, tmp_path)
    held = replace(held, policy=replace(held.policy, environment={"GOCACHE": "/private"}))
    assert sh("echo $GOCACHE", held, tmp_path).stdout == b"/private\n"


@both
def test_namespaces_mounts_and_keys_are_refused(level: str, tmp_path: Path) -> None:
    script = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
for name, number in {"unshare": 272, "mount": 165, "keyctl": 250, "bpf": 321, "io_uring_setup": 425}.items():
    ctypes.set_errno(0)
    libc.syscall(number, 0x10000000, 0, 0, 0, 0)
    print(name, errno.errorcode.get(ctypes.get_errno()))
"""
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers are those of x86-64")
    (tmp_path / "calls.py").write_text(script)
    done = sh("python3 calls.py", cage(level, tmp_path), tmp_path)
    assert (
        done.stdout.split()
        == b"unshare EPERM mount EPERM keyctl EPERM bpf EPERM io_uring_setup EPERM".split()
    )


@both
def test_files_do_not_grow_beyond_the_limit(level: str, tmp_path: Path) -> None:
    held = cage(level, tmp_path)
    held = replace(held, policy=replace(held.policy, limits=Limits(file_size=1 << 20)))
    done = sh("head -c 5000000 /dev/zero > big", held, tmp_path)
    assert done.exit_code != 0
    assert (tmp_path / "big").stat().st_size <= 1 << 20


@both
def test_a_program_that_writes_too_much_is_ended_and_told_why(level: str, tmp_path: Path) -> None:
    held = cage(level, tmp_path)
    held = replace(held, policy=replace(held.policy, limits=Limits(disk=64 << 20, free=0)))
    done = sh("for n in 1 2 3 4 5; do head -c 60M /dev/zero > big$n; done; exec sleep 60", held, tmp_path)
    assert done.stderr.endswith(b"ended by the sandbox: it has written more than 64 MiB\n")
    assert (done.exit_code < 0, done.timed_out) == (True, False)


@both
def test_a_program_that_writes_what_it_may_runs_to_its_end(level: str, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_bytes(bytes(80 << 20))
    while time.time() < old.stat().st_ctime + 0.1:
        time.sleep(0.01)
    held = cage(level, tmp_path)
    held = replace(held, policy=replace(held.policy, limits=Limits(disk=64 << 20, free=0)))
    done = sh("head -c 8M /dev/zero > new; sleep 1.3; ls", held, tmp_path)
    assert (done.exit_code, done.stdout, done.stderr) == (0, b"new\nold\n", b"")


@both
def test_a_cage_that_cannot_be_closed_starts_nothing(level: str, tmp_path: Path) -> None:
    held, no_group = cage(level, tmp_path), tmp_path / "group"  # nobody can join what is only a folder
    no_group.mkdir()
    broken = replace(held, means=replace(held.means, group=(no_group,)))
    done = sh("touch proof", broken, tmp_path)
    assert done.exit_code == 126
    assert b"the sandbox could not be set up" in done.stderr
    assert not (tmp_path / "proof").exists()


def test_without_means_a_program_runs_as_ever(tmp_path: Path) -> None:
    free = Cage(NO_MEANS, Policy())
    assert sh("echo $SSH_AUTH_SOCK", free, tmp_path, {"SSH_AUTH_SOCK": "kept"}).stdout == b"kept\n"


@strong
def test_home_and_temporary_folder_are_empty_and_writable(level: str, tmp_path: Path) -> None:
    home = os.path.expanduser("~")  # noqa: PTH111
    done = sh(
        f"ls -A {home}; echo x > {home}/y && echo z > /tmp/y && cat {home}/y", cage(level, tmp_path), tmp_path
    )
    assert done.stdout.strip().endswith(b"x")
    assert b".ssh" not in done.stdout
    assert not Path(home, "y").exists()


@strong
def test_a_cage_counts_processes_where_it_can(level: str, tmp_path: Path) -> None:
    held = cage(level, tmp_path)
    if os.getuid() == 0 and not means(level).group:
        pytest.skip("root is not held by the limit of a user, and there are no groups here")
    held = replace(held, policy=replace(held.policy, limits=Limits(processes=40)))
    script = "import os, time\nn = 0\ntry:\n  while n < 100:\n    os.fork() or time.sleep(30)\n    n += 1\nexcept OSError: print('no more')"
    (tmp_path / "forks.py").write_text(script)
    assert b"no more" in sh("python3 forks.py", held, tmp_path).stdout
