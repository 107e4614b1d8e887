"""A foreign program ends with everything it has started, whatever happens."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from redgreenrefactor.errors import InterruptedRunError
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.process import Finished, Interrupt

ENV = {"PATH": os.environ["PATH"]}
PATIENCE = 60.0  # seconds until a hanging test fails instead

# Each prints the number of a process that would go on for long after the program itself has ended.
needs_setsid = pytest.mark.needs("setsid")
SAME_GROUP = "sleep 300 & echo $!;"
OWN_SESSION = "setsid sleep 300 & echo $!;"
TWICE_FORKED = "echo $(setsid sh -c 'sleep 300 > /dev/null 2>&1 & echo $!');"
DEEP = "sh -c 'setsid sh -c \"setsid sleep 300 & echo \\$\\$ \\$!; wait\" & echo $!; wait' & echo $!;"
STUBBORN = "(trap '' TERM; exec setsid sleep 300) & echo $!;"
STOPPED = "setsid sleep 300 & kill -STOP $!; echo $!;"

LEFTOVERS = pytest.mark.parametrize(
    "leftover",
    [
        pytest.param(SAME_GROUP, id="same group"),
        pytest.param(OWN_SESSION, id="own session", marks=needs_setsid),
        pytest.param(TWICE_FORKED, id="twice forked", marks=needs_setsid),
        pytest.param(DEEP, id="deep", marks=needs_setsid),
        pytest.param(STUBBORN, id="stubborn", marks=needs_setsid),
        pytest.param(STOPPED, id="stopped", marks=needs_setsid),
    ],
)


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def soon(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def pids(lines: str) -> list[int]:
    return [int(word) for word in lines.split() if word.isdigit()]


class Ear:
    """Hears what a program says, and reacts to one line."""

    def __init__(self, react: Callable[[], object], to: str = "ready") -> None:
        self.react = react
        self.to = to
        self.lines: list[str] = []

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        if line == self.to:
            self.react()

    @property
    def pids(self) -> list[int]:
        return pids("\n".join(self.lines))


# The program ends


@LEFTOVERS
@pytest.mark.parametrize("code", [0, 3])
def test_what_a_program_leaves_behind_ends_with_it(leftover: str, code: int, tmp_path: Path) -> None:
    finished = process.run(f"{leftover} exit {code}", cwd=tmp_path, env=ENV, timeout=PATIENCE)
    left = pids(finished.stdout.decode())
    assert left
    assert all(gone(pid) for pid in left)
    assert (finished.exit_code, finished.timed_out) == (code, False)


@needs_setsid
def test_many_leftovers_end_too(tmp_path: Path) -> None:
    script = f"for i in $(seq 30); do {SAME_GROUP} {OWN_SESSION} done"
    finished = process.run(script, cwd=tmp_path, env=ENV, timeout=PATIENCE)
    left = pids(finished.stdout.decode())
    assert len(left) == 60
    assert all(gone(pid) for pid in left)


def test_a_leftover_that_keeps_running_away_is_caught(tmp_path: Path) -> None:
    script = """if True:
        import os
        reading, writing = os.pipe()
        if os.fork():
            os._exit(len(os.read(reading, 1)))
        for number in range(20_000):
            if os.fork():
                os._exit(0)
            os.setsid()
            if number == 100:
                os.write(writing, b"!")
        open("escaped", "w")
    """
    finished = process.run(
        [sys.executable, "-I", "-S", "-c", script], cwd=tmp_path, env=ENV, timeout=PATIENCE
    )
    assert (finished.exit_code, finished.timed_out) == (1, False)
    assert not (tmp_path / "escaped").exists()


@needs_setsid
def test_a_program_that_ends_its_own_group_does_not_end_its_keeper(tmp_path: Path) -> None:
    finished = process.run(f"{OWN_SESSION} kill 0", cwd=tmp_path, env=ENV, timeout=PATIENCE)
    assert finished.exit_code == -signal.SIGTERM
    assert all(gone(pid) for pid in pids(finished.stdout.decode()))


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
@needs_setsid
def test_a_keeper_is_not_to_be_talked_out_of_its_duty(name: str, tmp_path: Path) -> None:
    waits = (
        "grep -q 'SigIgn:.*5003$' /proc/$PPID/status"  # it begins to ignore all three just before it waits
    )
    script = f"until {waits}; do :; done; kill -{name} $PPID; {OWN_SESSION} exit 3"
    finished = process.run(script, cwd=tmp_path, env=ENV, timeout=PATIENCE)
    assert finished.exit_code == 3
    assert all(gone(pid) for pid in pids(finished.stdout.decode()))


FORGED = "for pipe in /proc/$PPID/fd/*; do test -p $pipe && echo 0 > $pipe; done; "


def test_a_program_that_may_write_to_its_keepers_pipes_does_not_change_how_it_ended(tmp_path: Path) -> None:
    finished = process.run(f"{FORGED} exit 9", cwd=tmp_path, env=ENV, timeout=PATIENCE)
    assert (finished.exit_code, finished.timed_out) == (9, False)


def test_a_program_that_forges_a_result_and_kills_its_keeper_was_killed(tmp_path: Path) -> None:
    finished = process.run(f"{FORGED} kill -KILL $PPID; sleep 300", cwd=tmp_path, env=ENV, timeout=PATIENCE)
    assert (finished.exit_code, finished.timed_out) == (-signal.SIGKILL, False)


def test_a_program_that_kills_its_keeper_ends_with_it(tmp_path: Path) -> None:
    script = "echo $$; kill -KILL $PPID; sleep 300"
    finished = process.run(script, cwd=tmp_path, env=ENV, timeout=PATIENCE)
    assert (finished.exit_code, finished.timed_out) == (-signal.SIGKILL, False)
    (program,) = pids(finished.stdout.decode())
    assert soon(lambda: gone(program))


@needs_setsid
def test_a_pipe_that_somebody_out_of_reach_holds_open_is_not_waited_for(tmp_path: Path) -> None:
    script = f"{OWN_SESSION} kill -KILL $PPID; sleep 300"
    finished = process.run(script, cwd=tmp_path, env=ENV, timeout=PATIENCE)
    (escaped,) = pids(finished.stdout.decode())
    os.kill(escaped, signal.SIGKILL)
    assert (finished.exit_code, finished.timed_out) == (-signal.SIGKILL, False)


def test_the_last_words_are_heard_though_nobody_listened_when_they_were_said(tmp_path: Path) -> None:
    script = (
        "import fcntl, os, sys\n"
        "fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)\n"
        "os.write(2, f'{os.getppid()}\\n'.encode())\n"
        "os.write(1, b'x' * 500_000)\n"
    )
    heard_late: list[bool] = []
    finished = process.run(
        [sys.executable, "-I", "-S", "-c", script],
        cwd=tmp_path,
        env=ENV,
        timeout=PATIENCE,
        on_stderr=lambda keeper: heard_late.append(soon(lambda: gone(int(keeper)))),
    )
    assert heard_late == [True]
    assert finished.stdout == b"x" * 500_000


# Time is up


@LEFTOVERS
def test_when_time_is_up_everything_ends(leftover: str, tmp_path: Path) -> None:
    ear = Ear(lambda: None)
    script = f"{leftover} echo $$; wait; sleep 300"
    finished = process.run(script, cwd=tmp_path, env=ENV, timeout=0.5, grace=0.2, on_stdout=ear)
    assert finished.timed_out
    assert finished.exit_code in {-signal.SIGTERM, -signal.SIGKILL}
    assert all(gone(pid) for pid in ear.pids)


def test_no_time_at_all_is_up_at_once(tmp_path: Path) -> None:
    finished = process.run("sleep 300", cwd=tmp_path, env=ENV, timeout=0)
    assert finished.timed_out


def test_a_program_that_never_pauses_for_breath_runs_out_of_time(tmp_path: Path) -> None:
    finished = process.run(["yes"], cwd=tmp_path, env=ENV, timeout=0.2, keep=10)
    assert finished.timed_out
    assert finished.stdout.startswith(b"y\ny\ny\n[... ")


def test_a_program_that_tidies_up_when_asked_is_given_the_time(tmp_path: Path) -> None:
    script = "trap 'echo tidy; exit 5' TERM; sleep 300 & wait"
    finished = process.run(script, cwd=tmp_path, env=ENV, timeout=0.5, grace=PATIENCE)
    assert (finished.exit_code, finished.stdout, finished.timed_out) == (5, b"tidy\n", True)


def test_a_program_that_does_not_heed_is_killed_after_the_grace(tmp_path: Path) -> None:
    script = "trap '' TERM; while :; do sleep 300; done"
    finished = process.run(script, cwd=tmp_path, env=ENV, timeout=0.5, grace=0.1)
    assert (finished.exit_code, finished.timed_out) == (-signal.SIGKILL, True)


# A stop is requested


@LEFTOVERS
def test_a_request_from_another_thread_ends_everything(leftover: str, tmp_path: Path) -> None:
    interrupt = Interrupt()
    ready = threading.Event()
    ear = Ear(ready.set)
    requester = threading.Thread(target=lambda: ready.wait(PATIENCE) and interrupt.request("SIGTERM"))
    requester.start()
    script = f"{leftover} echo $$; echo ready; wait; sleep 300"
    with pytest.raises(InterruptedRunError, match="SIGTERM"):
        process.run(
            script, cwd=tmp_path, env=ENV, timeout=PATIENCE, grace=0.2, interrupt=interrupt, on_stdout=ear
        )
    requester.join()
    assert ear.pids
    assert all(gone(pid) for pid in ear.pids)


@needs_setsid
def test_a_signal_to_this_process_ends_everything(tmp_path: Path) -> None:
    interrupt = Interrupt()
    ear = Ear(lambda: os.kill(os.getpid(), signal.SIGINT))
    script = f"{OWN_SESSION} echo $$; echo ready; wait"
    with interrupt.listen(), pytest.raises(InterruptedRunError, match="SIGINT"):
        process.run(script, cwd=tmp_path, env=ENV, timeout=PATIENCE, interrupt=interrupt, on_stdout=ear)
    assert len(ear.pids) == 2
    assert all(gone(pid) for pid in ear.pids)


def test_after_a_request_nothing_is_started(tmp_path: Path) -> None:
    interrupt = Interrupt()
    interrupt.request("SIGINT")
    with pytest.raises(InterruptedRunError):
        process.run("touch started", cwd=tmp_path, env=ENV, interrupt=interrupt)
    assert not (tmp_path / "started").exists()


def test_an_interrupt_that_nobody_requests_changes_nothing(tmp_path: Path) -> None:
    finished = process.run("exit 3", cwd=tmp_path, env=ENV, interrupt=Interrupt())
    assert finished.exit_code == 3


@needs_setsid
def test_everybody_is_asked_before_anybody_is_killed(tmp_path: Path) -> None:
    interrupt = Interrupt()
    ear = Ear(lambda: interrupt.request("SIGHUP"))
    inner = "trap 'echo asked; exit' TERM; echo ready; sleep 300 & wait"
    script = f'setsid sh -c "{inner}" & wait'
    with pytest.raises(InterruptedRunError):
        process.run(
            script,
            cwd=tmp_path,
            env=ENV,
            timeout=PATIENCE,
            grace=PATIENCE,
            interrupt=interrupt,
            on_stdout=ear,
        )
    assert ear.lines == ["ready", "asked"]


# Something breaks in this process


class BreakingError(Exception):
    pass


def break_down() -> None:
    raise BreakingError


@LEFTOVERS
def test_an_error_while_a_line_is_passed_on_ends_everything(leftover: str, tmp_path: Path) -> None:
    ear = Ear(break_down)
    script = f"{leftover} echo $$; echo ready; wait; sleep 300"
    with pytest.raises(BreakingError):
        process.run(script, cwd=tmp_path, env=ENV, timeout=PATIENCE, grace=0.2, on_stdout=ear)
    assert ear.pids
    assert all(gone(pid) for pid in ear.pids)


ORCHESTRATOR = """
import os, sys
from pathlib import Path
from redgreenrefactor.sandbox.process import run
run(sys.argv[1], cwd=Path.cwd(), env=os.environ, grace=0.2)
"""


@LEFTOVERS
def test_when_this_process_is_killed_everything_ends(leftover: str, tmp_path: Path) -> None:
    script = f"{{ {leftover} echo $$ $PPID; }} > started; mv started pids; wait; sleep 300"
    with process.start([sys.executable, "-c", ORCHESTRATOR, script], cwd=tmp_path, env=ENV) as orchestrator:
        assert soon((tmp_path / "pids").exists)
        started = pids((tmp_path / "pids").read_text())
        assert len(started) >= 3
        assert not any(gone(pid) for pid in started)
        orchestrator.kill()
    assert orchestrator.returncode == -signal.SIGKILL
    assert soon(lambda: all(gone(pid) for pid in started))


def test_a_call_outlives_a_request_to_stop(tmp_path: Path) -> None:
    interrupt = Interrupt()
    finished: list[Finished] = []
    os.mkfifo(tmp_path / "go")

    def go() -> None:
        (tmp_path / "go").write_text("\n")  # opens when the command has come to reading it
        os.kill(os.getpid(), signal.SIGINT)

    with interrupt.listen():
        signaller = threading.Thread(target=go)
        signaller.start()
        script = "read go < go; exit 3"
        finished.append(process.call(["sh", "-c", script], cwd=tmp_path, env=ENV))
        signaller.join()
    assert (finished[0].exit_code, interrupt.requested) == (3, "SIGINT")
