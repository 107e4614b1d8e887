"""What goes into a program, what comes out of it, and how it ended."""

import os
import signal
import sys
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.process import Finished, Interrupt

ENV = {"PATH": os.environ["PATH"]}
PATIENCE = 60.0  # seconds until a hanging test fails instead


def sh(command: str, cwd: Path, stdin: bytes = b"", keep: int = 4_000_000) -> Finished:
    finished = process.run(command, cwd=cwd, env=ENV, stdin=stdin, timeout=PATIENCE, keep=keep)
    assert not finished.timed_out
    return finished


@contextmanager
def disposition(number: signal.Signals, action: signal.Handlers) -> Generator[None]:
    before = signal.signal(number, action)
    try:
        yield
    finally:
        signal.signal(number, before)


# How it ended


@pytest.mark.parametrize("code", [0, 1, 3, 126, 127, 128, 137, 255])
def test_the_exit_code_is_the_programs_own(code: int, tmp_path: Path) -> None:
    assert sh(f"exit {code}", tmp_path).exit_code == code


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE]
)
def test_death_by_a_signal_is_its_negative_number(number: int, tmp_path: Path) -> None:
    assert sh(f"kill -{int(number)} $$", tmp_path).exit_code == -number


def test_the_exit_code_is_known_where_ended_children_are_ignored(tmp_path: Path) -> None:
    with disposition(signal.SIGCHLD, signal.SIG_IGN):
        assert sh("exit 3", tmp_path).exit_code == 3


def test_a_missing_program_answers_as_in_a_shell(tmp_path: Path) -> None:
    finished = process.run(["no-such-program", "x"], cwd=tmp_path, env=ENV)
    assert (finished.exit_code, finished.stderr) == (127, b"no-such-program: not found\n")


@pytest.mark.parametrize("name", ["./missing", "missing/deeper", ""])
def test_a_missing_path_answers_as_in_a_shell(name: str, tmp_path: Path) -> None:
    assert process.run([name], cwd=tmp_path, env=ENV).exit_code == 127


def test_a_program_that_may_not_be_executed_answers_as_in_a_shell(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    finished = process.run(["./text"], cwd=tmp_path, env=ENV)
    assert (finished.exit_code, finished.stderr) == (126, b"./text: Permission denied\n")


def test_arguments_too_long_for_the_system_answer_as_in_a_shell(tmp_path: Path) -> None:
    finished = process.run(["true", "x" * 3_000_000], cwd=tmp_path, env=ENV)
    assert (finished.exit_code, finished.stderr) == (126, b"true: Argument list too long\n")


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        process.run(["true"], cwd=tmp_path / "missing", env=ENV)


def test_the_first_program_of_that_name_on_the_path_is_run(tmp_path: Path) -> None:
    for folder, mode in (("a", 0o644), ("b", 0o755), ("c", 0o755)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "greet").write_text(f"#!/bin/sh\necho {folder}\n")
        (tmp_path / folder / "greet").chmod(mode)
    finished = process.run(["greet"], cwd=tmp_path, env={"PATH": f"{tmp_path}/none:{tmp_path}/a:b:c"})
    assert finished.stdout == b"b\n"


def test_without_a_path_the_systems_programs_are_found(tmp_path: Path) -> None:
    assert process.run(["true"], cwd=tmp_path, env={}).exit_code == 0


def test_it_tells_how_long_it_took(tmp_path: Path) -> None:
    finished = sh("true", tmp_path)
    assert 0 < finished.seconds < PATIENCE


def test_time_enough_is_no_time_out(tmp_path: Path) -> None:
    finished = process.run(["true"], cwd=tmp_path, env=ENV, timeout=PATIENCE)
    assert (finished.exit_code, finished.timed_out) == (0, False)


# What it finds


def test_the_program_finds_its_folder_its_arguments_and_nothing_but_its_environment(tmp_path: Path) -> None:
    script = "import os, sys; print(os.getcwd(), sys.argv[1:], {**os.environ})"
    argv = [sys.executable, "-I", "-X", "utf8=0", "-c", script, "two words", "é"]
    env = {"NAME": "ü", "LC_ALL": "C.UTF-8"}
    finished = process.run(argv, cwd=tmp_path, env=env)
    assert finished.stdout.decode() == f"{tmp_path} ['two words', 'é'] {env}\n"


@pytest.mark.parametrize("env", [{}, {"LC_CTYPE": "C"}, {"A": "b"}])
def test_the_environment_is_not_touched_by_the_keepers_interpreter(
    env: dict[str, str], tmp_path: Path
) -> None:
    finished = process.run(["env"], cwd=tmp_path, env=env)
    assert finished.stdout.decode() == "".join(f"{name}={value}\n" for name, value in env.items())


def test_arguments_need_not_be_utf_8(tmp_path: Path) -> None:
    finished = process.run(["printf", "%s", os.fsdecode(b"\xff")], cwd=tmp_path, env=ENV)
    assert finished.stdout == b"\xff"


def test_the_program_finds_no_descriptor_but_its_standard_streams(tmp_path: Path) -> None:
    assert sh("ls /proc/self/fd", tmp_path).stdout.split() == [
        b"0",
        b"1",
        b"2",
        b"3",
    ]  # 3 is the folder it lists


def test_the_program_can_be_run_where_our_own_standard_streams_are_closed(tmp_path: Path) -> None:
    kept = [os.dup(number) for number in range(3)]
    try:
        for number in range(3):
            os.close(number)
        finished = sh("cat; echo no >&2; exit 3", tmp_path, stdin=b"yes\n")
    finally:
        for number, copy in enumerate(kept):
            os.dup2(copy, number)
            os.close(copy)
    assert (finished.exit_code, finished.stdout, finished.stderr) == (3, b"yes\n", b"no\n")


# What it reads


def test_without_input_the_program_reads_nothing(tmp_path: Path) -> None:
    assert sh("cat; readlink /proc/self/fd/0", tmp_path).stdout == b"/dev/null\n"


def test_input_of_megabytes_arrives_whole(tmp_path: Path) -> None:
    stdin = bytes(range(256)) * 20_000
    assert sh("cat", tmp_path, stdin=stdin, keep=2 * len(stdin)).stdout == stdin


def test_input_that_nobody_reads_is_no_error(tmp_path: Path) -> None:
    assert sh("exit 3", tmp_path, stdin=b"x" * 5_000_000).exit_code == 3


def test_input_that_is_refused_while_the_program_goes_on_is_no_error(tmp_path: Path) -> None:
    script = "exec <&-; head -c 300000 /dev/zero; exit 4"
    finished = sh(script, tmp_path, stdin=b"x" * 5_000_000)
    assert (finished.exit_code, len(finished.stdout)) == (4, 300_000)


def test_a_program_that_talks_before_it_has_read_everything_is_listened_to(tmp_path: Path) -> None:
    script = "head -c 4096 > /dev/null; head -c 1000000 /dev/zero; cat > /dev/null; exit 5"
    finished = sh(script, tmp_path, stdin=b"x" * 5_000_000)
    assert (finished.exit_code, len(finished.stdout)) == (5, 1_000_000)


# What it prints


def test_the_two_streams_are_kept_apart(tmp_path: Path) -> None:
    finished = sh("echo out; echo err >&2", tmp_path)
    assert (finished.stdout, finished.stderr) == (b"out\n", b"err\n")


def test_a_program_may_close_its_streams_and_go_on(tmp_path: Path) -> None:
    finished = sh("echo out; exec >&- 2>&-; ls -R /usr/lib/python3* > /dev/null; exit 7", tmp_path)
    assert (finished.exit_code, finished.stdout) == (7, b"out\n")


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        (26, b"abcdefghijklmnopqrstuvwxyz"),
        (27, b"abcdefghijklmnopqrstuvwxyz"),
        (25, b"abcdefghijkl\n[... 1 bytes left out ...]\nnopqrstuvwxyz"),
        (4, b"ab\n[... 22 bytes left out ...]\nyz"),
        (1, b"\n[... 25 bytes left out ...]\nz"),
        (0, b"\n[... 26 bytes left out ...]\n"),
    ],
)
def test_both_ends_are_kept_and_it_is_said_how_much_is_left_out(
    keep: int, expected: bytes, tmp_path: Path
) -> None:
    finished = sh("printf abcdefghijklmnopqrstuvwxyz | tee /dev/stderr", tmp_path, keep=keep)
    assert (finished.stdout, finished.stderr) == (expected, expected)


def test_a_hundred_megabytes_take_little_memory(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        finished = sh("echo first; head -c 100000000 /dev/zero; echo last", tmp_path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
    assert len(finished.stdout) < 4_000_100
    assert finished.stdout.startswith(b"first\n")
    assert finished.stdout.endswith(b"last\n")
    assert b"\n[... 96000011 bytes left out ...]\n" in finished.stdout


# What is passed on


def lines_of(script: str, cwd: Path) -> tuple[list[str], list[str]]:
    out: list[str] = []
    err: list[str] = []
    process.run(script, cwd=cwd, env=ENV, timeout=PATIENCE, on_stdout=out.append, on_stderr=err.append)
    return out, err


@pytest.mark.parametrize(
    ("printed", "lines"),
    [
        ("", []),
        ("one", ["one"]),
        (r"one\n", ["one"]),
        (r"one\n\ntwo\n", ["one", "", "two"]),
        (r"one\r\ntwo", ["one", "two"]),
        (r"\377\n\303\n\303\251\n\342\202", ["\ufffd", "\ufffd", "é", "\ufffd"]),
    ],
)
def test_lines_are_passed_on_as_text(printed: str, lines: list[str], tmp_path: Path) -> None:
    script = f"printf '{printed}'; printf '{printed}' >&2"
    assert lines_of(script, tmp_path) == (lines, lines)


def test_a_line_is_passed_on_whole_up_to_a_limit(tmp_path: Path) -> None:
    out, _ = lines_of(r"head -c 65536 /dev/zero | tr '\0' x; echo", tmp_path)
    assert [len(line) for line in out] == [65_536]


def test_a_very_long_line_is_passed_on_in_pieces(tmp_path: Path) -> None:
    out, _ = lines_of(r"head -c 200000 /dev/zero | tr '\0' x; echo; echo next", tmp_path)
    assert [len(line) for line in out] == [65_536, 65_536, 65_536, 200_000 - 3 * 65_536, 4]


def test_lines_are_passed_on_while_the_program_runs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "answer")
    said: list[str] = []

    def answer(line: str) -> None:
        said.append(line)
        if line == "question":
            (tmp_path / "answer").write_text("42\n")

    script = "echo question; read answer < answer; echo $answer >&2"
    process.run(script, cwd=tmp_path, env=ENV, timeout=PATIENCE, on_stdout=answer, on_stderr=said.append)
    assert said == ["question", "42"]


def test_a_letter_that_comes_in_two_parts_is_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    out: list[str] = []

    def go(_: str) -> None:
        (tmp_path / "go").write_text("\n")

    process.run(
        r"printf '\303'; echo half >&2; read go < go; printf '\251\n'",
        cwd=tmp_path,
        env=ENV,
        timeout=PATIENCE,
        on_stdout=out.append,
        on_stderr=go,
    )
    assert out == ["é"]


# Nothing is left over in this process


def test_no_descriptor_is_lost(tmp_path: Path) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    interrupt = Interrupt()
    before = count()
    for number in range(50):
        process.run(f"exit {number}", cwd=tmp_path, env=ENV, stdin=b"x", interrupt=interrupt)
    with pytest.raises(FileNotFoundError):
        process.run(["true"], cwd=tmp_path / "missing", env=ENV, stdin=b"x")
    assert count() == before


# Our own commands


def test_a_call_keeps_everything(tmp_path: Path) -> None:
    script = "pwd; cat; echo err >&2; exit 3"
    finished = process.call(["sh", "-c", script], cwd=tmp_path, env=ENV, stdin=b"x" * 5_000_000)
    assert finished.exit_code == 3
    assert finished.stdout == f"{tmp_path}\n".encode() + b"x" * 5_000_000
    assert finished.stderr == b"err\n"
    assert finished.seconds > 0


def test_a_call_without_input_reads_nothing(tmp_path: Path) -> None:
    assert process.call(["cat"], cwd=tmp_path, env=ENV).stdout == b""


def test_a_call_of_a_missing_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        process.call(["no-such-program"], cwd=tmp_path, env=ENV)


def test_a_call_has_a_session_of_its_own(tmp_path: Path) -> None:
    script = "import os; print(os.getsid(0) == os.getpid())"
    assert process.call([sys.executable, "-c", script], cwd=tmp_path, env=ENV).stdout == b"True\n"


def test_a_partner_answers_as_long_as_it_is_asked(tmp_path: Path) -> None:
    script = (
        "import os, sys; [print(os.getsid(0) == os.getpid(), line, end='', flush=True) for line in sys.stdin]"
    )
    with process.start([sys.executable, "-c", script], cwd=tmp_path, env=ENV) as partner:
        assert partner.stdin
        assert partner.stdout
        for question in (b"one\n", b"two\n"):
            partner.stdin.write(question)
            partner.stdin.flush()
            assert partner.stdout.readline() == b"True " + question
    assert partner.returncode == 0
