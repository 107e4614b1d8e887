import json
import os
import shlex
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from agent_setup import setup_with
from redgreenrefactor.agents.command_agent import CommandAgent
from redgreenrefactor.agents.endings import LAST_LINES
from redgreenrefactor.errors import InterruptedRunError
from redgreenrefactor.model.session import Brief, Report, Role
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.sandbox.process import Interrupt

ENV = {"PATH": os.environ["PATH"]}


def brief_for(phase: PhaseName = PhaseName.PLAN, handoff: str = '{"phase": "PLAN"}') -> Brief:
    role = Role(RoleName.TEST_LIST, "plans", "You are the planner.")
    return Brief(role, phase, cycle=3, attempt=2, run_id="run-7", task="Plan it.", handoff=handoff)


def agent(command: str, env: Mapping[str, str] = ENV, timeout: float = 60) -> CommandAgent:
    return CommandAgent(command, setup_with(env=env, session_timeout=timeout))


def python(code: str) -> str:
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


def work(worker: CommandAgent, folder: Path, brief: Brief | None = None) -> Report:
    return worker.work(brief or brief_for(), folder, lambda _: None)


def variables(message: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in message.splitlines())


def test_its_name_is_how_it_was_asked_for() -> None:
    assert agent("./agent.sh --fast").name == "command:./agent.sh --fast"


def test_the_whole_brief_comes_on_standard_input(tmp_path: Path) -> None:
    assert work(agent("cat"), tmp_path).message == "You are the planner.\n\nPlan it."


def test_a_command_that_does_not_read_its_brief_is_fine(tmp_path: Path) -> None:
    brief = Brief(brief_for().role, PhaseName.PLAN, 1, 1, "r", "x" * 3_000_000, "{}")

    assert work(agent("echo done"), tmp_path, brief) == Report("done")


def test_it_works_in_the_folder(tmp_path: Path) -> None:
    work(agent("echo here > made.txt; echo done"), tmp_path)

    assert (tmp_path / "made.txt").read_text() == "here\n"


def test_the_variables_say_which_session_this_is(tmp_path: Path) -> None:
    found = variables(work(agent("env"), tmp_path).message)

    assert {name: found[name] for name in found if name.startswith("TDD_") and name != "TDD_HANDOFF"} == {
        "TDD_ROLE": "test-list",
        "TDD_PHASE": "PLAN",
        "TDD_CYCLE": "3",
        "TDD_ATTEMPT": "2",
        "TDD_RUN_ID": "run-7",
    }


def test_a_session_with_an_id_finds_it_and_those_it_goes_on_from(tmp_path: Path) -> None:
    brief = replace(brief_for(), session="S-2", strategy="merge_fork", resume_from=("S-0", "S-1"))
    found = variables(work(agent("env"), tmp_path, brief).message)
    assert [found[f"TDD_{name}"] for name in ("SESSION", "STRATEGY", "RESUME_FROM")] == [
        "S-2",
        "merge_fork",
        "S-0 S-1",
    ]


def test_variables_of_a_surrounding_session_do_not_shine_through(tmp_path: Path) -> None:
    found = variables(work(agent("env", {**ENV, "TDD_PHASE": "RED", "TDD_CYCLE": "9"}), tmp_path).message)

    assert (found["TDD_PHASE"], found["TDD_CYCLE"]) == ("PLAN", "3")


def test_the_handoff_can_be_read_from_its_file(tmp_path: Path) -> None:
    handoff = '{"phase": "PLAN", "feature": "größer"}'

    message = work(agent('cat "$TDD_HANDOFF"'), tmp_path, brief_for(handoff=handoff)).message

    assert json.loads(message) == {"phase": "PLAN", "feature": "größer"}


def test_the_handoff_file_is_gone_afterwards(tmp_path: Path) -> None:
    file = Path(work(agent('echo "$TDD_HANDOFF"'), tmp_path).message)

    assert file.is_absolute()
    assert not file.exists()
    assert not file.parent.exists()


def test_the_handoff_file_is_gone_after_a_failure_too(tmp_path: Path) -> None:
    report = work(agent('echo "$TDD_HANDOFF"; exit 1'), tmp_path)

    assert not Path(report.message).exists()


def test_the_handoff_file_lies_outside_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "repository" / "project"
    inside = tmp_path / "repository" / "tmp"
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    project.mkdir()
    inside.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(inside))

    file = Path(work(agent('echo "$TDD_HANDOFF"'), project).message)

    assert not file.is_relative_to(tmp_path / "repository")


def test_credentials_stay_with_the_orchestrator(tmp_path: Path) -> None:
    env = {**ENV, "ANTHROPIC_API_KEY": "sk-1", "github_token": "t", "HARMLESS": "yes"}

    found = variables(work(agent("env", env), tmp_path).message)

    assert "ANTHROPIC_API_KEY" not in found
    assert "github_token" not in found
    assert found["HARMLESS"] == "yes"


def test_a_credential_that_was_named_is_passed_on(tmp_path: Path) -> None:
    env = {**ENV, "OPENAI_API_KEY": "sk-1", "GITHUB_TOKEN": "t"}

    worker = CommandAgent("env", setup_with(env=env, passed_on=["OPENAI_API_KEY"]))

    found = variables(work(worker, tmp_path).message)
    assert found["OPENAI_API_KEY"] == "sk-1"
    assert "GITHUB_TOKEN" not in found


def test_git_is_not_turned_to_another_repository(tmp_path: Path) -> None:
    env = {
        **ENV,
        "GIT_DIR": "/elsewhere",
        "GIT_INDEX_FILE": "/elsewhere/index",
        "GIT_WORK_TREE": "/elsewhere",
        "GIT_CONFIG_GLOBAL": "/home/me/.gitconfig",
        "GIT_AUTHOR_NAME": "Me",
    }

    found = variables(work(agent("env", env), tmp_path).message)

    own = {name for name in found if name.startswith("GIT_") and name in env}
    assert own == {"GIT_CONFIG_GLOBAL", "GIT_AUTHOR_NAME"}


def test_an_identity_is_added_where_one_is_given(tmp_path: Path) -> None:
    worker = CommandAgent("env", setup_with(identity={"GIT_AUTHOR_NAME": "rgr"}))

    assert variables(work(worker, tmp_path).message)["GIT_AUTHOR_NAME"] == "rgr"


def test_standard_error_is_progress_line_by_line(tmp_path: Path) -> None:
    said: list[str] = []

    report = agent(r"printf 'one\n\ntwo\n' >&2; echo done").work(brief_for(), tmp_path, said.append)

    assert said == ["one", "two"]
    assert report.message == "done"


def test_progress_cannot_steer_the_terminal(tmp_path: Path) -> None:
    said: list[str] = []

    agent(r"printf '\033[31mred\033[0m\007\n' >&2; echo done").work(brief_for(), tmp_path, said.append)

    assert said == ["red"]


def test_a_non_zero_exit_is_a_failure_that_says_why(tmp_path: Path) -> None:
    report = work(agent("echo half; echo 'no such model' >&2; exit 3"), tmp_path)

    assert report.message == "half"
    assert report.failure is not None
    assert report.failure.type is FindingType.AGENT_FAILURE
    assert "exit code 3" in report.failure.message
    assert "no such model" in report.failure.message
    assert report.failure.hint


def test_a_non_zero_exit_without_a_word_is_a_failure_too(tmp_path: Path) -> None:
    report = work(agent("exit 1"), tmp_path, brief_for(PhaseName.RED))

    assert report.failure is not None
    assert report.failure.message == "the agent's command ended with exit code 1"


def test_only_the_last_lines_of_standard_error_are_quoted(tmp_path: Path) -> None:
    report = work(agent("seq 1000 >&2; exit 1"), tmp_path)

    assert report.failure is not None
    assert report.failure.message.splitlines()[1:] == [
        str(number) for number in range(1001 - LAST_LINES, 1001)
    ]


def test_one_endless_line_of_standard_error_is_cut(tmp_path: Path) -> None:
    report = work(agent("head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1"), tmp_path)

    assert report.failure is not None
    assert len(report.failure.message) < 3000


def test_a_command_that_does_not_exist_is_a_failure(tmp_path: Path) -> None:
    report = work(agent("no-such-program-anywhere"), tmp_path)

    assert report.failure is not None
    assert "exit code 127" in report.failure.message


def test_a_killed_command_is_a_failure_that_names_the_signal(tmp_path: Path) -> None:
    report = work(agent("kill -KILL $$"), tmp_path)

    assert report.failure is not None
    assert report.failure.type is FindingType.AGENT_FAILURE
    assert "SIGKILL" in report.failure.message


def test_running_past_the_limit_is_a_timeout(tmp_path: Path) -> None:
    report = work(agent("echo begun; exec sleep 1000", timeout=0.5), tmp_path)

    assert report.failure is not None
    assert report.failure.type is FindingType.TIMEOUT
    assert "0.5 s" in report.failure.message
    assert report.message == "begun"


def test_ending_within_the_limit_is_no_timeout(tmp_path: Path) -> None:
    assert work(agent("echo done", timeout=60), tmp_path).failure is None


def test_output_that_is_not_utf8_is_read_with_replacements(tmp_path: Path) -> None:
    assert work(agent(r"printf 'caf\351\n'"), tmp_path).message == "caf\ufffd"


def test_a_brief_that_is_not_utf8_is_sent_with_replacements(tmp_path: Path) -> None:
    brief = Brief(brief_for().role, PhaseName.PLAN, 1, 1, "r", "caf\udce9", '"\udce9"')

    assert work(agent('cat; cat "$TDD_HANDOFF"'), tmp_path, brief).message.endswith('caf?\n"?"')


def test_a_stop_that_was_requested_before_ends_it_at_once(tmp_path: Path) -> None:
    interrupt = Interrupt()
    interrupt.request("SIGINT")
    worker = CommandAgent("echo here > made.txt", setup_with(interrupt=interrupt))

    with pytest.raises(InterruptedRunError):
        work(worker, tmp_path)

    assert not (tmp_path / "made.txt").exists()
    interrupt.close()


def test_a_stop_while_it_works_ends_it(tmp_path: Path) -> None:
    interrupt = Interrupt()
    worker = CommandAgent("echo up >&2; exec sleep 1000", setup_with(interrupt=interrupt))

    def stop(_: str) -> None:
        thread = threading.Thread(target=interrupt.request, args=("SIGTERM",))
        thread.start()
        thread.join()

    with pytest.raises(InterruptedRunError):
        worker.work(brief_for(), tmp_path, stop)
    interrupt.close()


def test_what_it_started_does_not_outlive_it(tmp_path: Path) -> None:
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '1000']).pid)"

    pid = int(work(agent(python(code)), tmp_path).message)

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
