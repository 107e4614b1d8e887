"""The tool that runs commands, called as a model calls it."""

import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from redgreenrefactor.agents.toolbox import Toolbox, ToolResult, shell_in
from redgreenrefactor.errors import InterruptedRunError
from redgreenrefactor.sandbox.process import Finished, Interrupt

ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}

Call = Callable[..., ToolResult]


@pytest.fixture
def call(tmp_path: Path) -> Generator[Call]:
    toolbox = Toolbox(tmp_path, shell=shell_in(tmp_path, env=ENV), env=ENV, bash_timeout=60)

    def call(name: str, **arguments: Any) -> ToolResult:
        return toolbox.call(name, arguments)

    yield call
    toolbox.close()


def refused(result: ToolResult, *words: str) -> None:
    assert result.failed
    for word in words:
        assert word in result.text


def test_bash_runs_in_the_folder_and_tells_output_and_exit_code(call: Call, tmp_path: Path) -> None:
    assert call("Bash", command="pwd").text == str(tmp_path)
    assert call("Bash", command="true").text == "[no output, exit code 0]"
    assert call("Bash", command="echo out; echo err >&2; exit 3") == ToolResult(
        "out\nerr\n[exit code 3]", failed=True
    )
    assert call("Bash", command="exit 4", description="fails").text == "[exit code 4]"
    assert (
        call("Bash", command="echo \"it's\" '\"quoted\"'; [[ a == a ]] && echo 'a bash'").text
        == 'it\'s "quoted"\na bash'
    )


def test_bash_has_no_input_and_every_call_is_a_new_shell(call: Call) -> None:
    assert call("Bash", command="cat; cd /; x=1").text == "[no output, exit code 0]"
    assert call("Bash", command="echo $x$PWD").text != "1/"


def test_bash_output_is_bounded_and_readable(call: Call) -> None:
    result = call(
        "Bash", command="echo first; head -c 300000 /dev/zero | tr '\\0' 'x' | fold -w 80; echo; echo last"
    )

    assert len(result.text.encode()) <= 30_200
    assert result.text.startswith("first\n")
    assert result.text.endswith("\nlast")
    assert "bytes left out" in result.text
    assert call("Bash", command="printf '\\033[31mred\\033[0m \\377\\n'").text == "red \ufffd"


def test_bash_is_ended_at_the_calls_limit_with_all_it_started(call: Call, tmp_path: Path) -> None:
    result = call("Bash", command="sleep 1000 & echo $! > pid; echo begun; sleep 1000", timeout=1)

    assert result.timed_out
    refused(result, "begun", "ended after 1 s")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_limit_that_can_only_be_meant_in_seconds_is_taken_as_such(tmp_path: Path) -> None:
    limits: list[float | None] = []

    def shell(
        command: str, *, timeout: float | None, keep: int, tell: Callable[[str], None] | None = None
    ) -> Finished:
        limits.append(timeout)
        return Finished(int("false" in command), b"said", b"")

    toolbox = Toolbox(tmp_path, shell=shell, env=ENV, bash_timeout=120)
    said = [
        toolbox.call("Bash", {"command": "true", "timeout": asked}).text for asked in (30, 999, 1000, 5000, 0)
    ]

    assert limits == [30, 120, 1, 5, 120]
    assert said[0] == "said\n[timeout 30 was taken as seconds; it is given in milliseconds]"
    assert "999 was taken as seconds" in said[1]
    assert said[2:] == ["said"] * 3
    refused(
        toolbox.call("Bash", {"command": "false", "timeout": 9}), "said\n[exit code 1]\n[timeout 9 was taken"
    )


def test_a_calls_limit_can_only_be_lower(tmp_path: Path) -> None:
    toolbox = Toolbox(tmp_path, shell=shell_in(tmp_path, env=ENV), env=ENV, bash_timeout=0.3)

    assert toolbox.call("Bash", {"command": "sleep 1000", "timeout": 600_000}).timed_out


@pytest.mark.needs("setsid")
def test_what_bash_leaves_in_the_background_is_ended(call: Call, tmp_path: Path) -> None:
    call("Bash", command="(setsid sleep 1000 >/dev/null 2>&1 & echo $! > pid)")

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_command_that_cannot_be_is_refused(call: Call) -> None:
    refused(call("Bash", command="a\0b"), "NUL")
    assert call("Bash", command=f"echo {'x' * 200_000}").failed


def test_without_bash_the_systems_shell_does(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/echo").symlink_to("/bin/echo")
    env = {"PATH": str(tmp_path / "bin")}
    toolbox = Toolbox(tmp_path, shell=shell_in(tmp_path, env=env), env=env)

    assert toolbox.call("Bash", {"command": "echo out; exit 2"}).text == "out\n[exit code 2]"


def test_an_interruption_is_raised(tmp_path: Path) -> None:
    interrupt = Interrupt()
    toolbox = Toolbox(tmp_path, shell=shell_in(tmp_path, env=ENV, interrupt=interrupt), env=ENV)
    interrupt.request("SIGINT")

    with pytest.raises(InterruptedRunError):
        toolbox.call("Bash", {"command": "true"})
    interrupt.close()
