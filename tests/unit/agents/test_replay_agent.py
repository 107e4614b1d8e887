import os
from pathlib import Path
from typing import Any

import pytest

from agent_setup import setup_with
from redgreenrefactor.agents.replay import ReplayAgent
from redgreenrefactor.agents.script import Scene, Script, Use, bash, edit, write
from redgreenrefactor.errors import InterruptedRunError
from redgreenrefactor.model.session import Answered, Brief, Called, Report, Role, Usage
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.sandbox.process import Interrupt

ENV = {"PATH": os.environ["PATH"]}
RED = PhaseName.RED


def brief_for(phase: PhaseName = RED, cycle: int = 1, attempt: int = 1) -> Brief:
    return Brief(Role(RoleName.TEST, "tests", "You test."), phase, cycle, attempt, "run-7", "Do it.", "{}")


def playing(*calls: Use, message: str = "done", usage: Usage | None = None) -> ReplayAgent:
    scene = Scene(RED, 1, calls=calls, message=message, usage=usage)
    return ReplayAgent(Script("tale", scenes=(scene,)), setup_with())


def work(agent: ReplayAgent, folder: Path, brief: Brief | None = None) -> Report:
    return agent.work(brief or brief_for(), folder, lambda _: None)


def failure(report: Report) -> str:
    assert report.failure is not None
    assert report.failure.type is FindingType.AGENT_FAILURE
    return report.failure.message


def test_its_name_is_how_it_was_asked_for() -> None:
    assert ReplayAgent(Script("roman", source="./mine.toml"), setup_with()).name == "replay:./mine.toml"
    assert ReplayAgent(Script("roman"), setup_with()).name == "replay:roman"


def test_message_and_usage_are_those_of_the_script(tmp_path: Path) -> None:
    usage = Usage(10, 20, cost_usd=0.5)

    assert work(playing(message="That is it.", usage=usage), tmp_path) == Report("That is it.", usage)


def test_write_makes_a_file_and_its_folders(tmp_path: Path) -> None:
    work(playing(write("a/b/c.txt", "größer\r\n")), tmp_path)

    assert (tmp_path / "a/b/c.txt").read_bytes() == "größer\r\n".encode()


def test_write_replaces_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a long old text")

    work(playing(write("a.txt", "new")), tmp_path)

    assert (tmp_path / "a.txt").read_text() == "new"


def test_write_onto_a_folder_fails(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    assert "is a folder" in failure(work(playing(write("a", "x")), tmp_path))


def test_edit_replaces_the_only_occurrence(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")

    report = work(playing(edit("a.txt", "two", "three")), tmp_path)

    assert report.failure is None
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\nthree\r\n"


def test_edit_fails_where_the_text_is_absent_or_ambiguous(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one one")

    assert "not in a.txt" in failure(work(playing(edit("a.txt", "two", "x")), tmp_path))
    assert "old_string is empty" in failure(work(playing(edit("a.txt", "", "x")), tmp_path))
    assert "2 times" in failure(work(playing(edit("a.txt", "one", "x")), tmp_path))
    assert (tmp_path / "a.txt").read_text() == "one one"


def test_edit_replaces_all_occurrences_if_asked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one one")

    work(playing(edit("a.txt", "one", "x", replace_all=True)), tmp_path)

    assert (tmp_path / "a.txt").read_text() == "x x"


def test_edit_of_a_file_that_cannot_be_read_fails(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\0")

    assert "does not exist" in failure(work(playing(edit("none.txt", "a", "b")), tmp_path))
    assert "binary" in failure(work(playing(edit("binary", "a", "b")), tmp_path))


def test_a_link_may_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    folder, outside = tmp_path / "project", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_text("mine")
    (folder / "link").symlink_to(outside)

    assert "leads out" in failure(work(playing(write("link/a.txt", "x")), folder))
    assert "leads out" in failure(work(playing(edit("link/a.txt", "mine", "x")), folder))
    assert (outside / "a.txt").read_text() == "mine"


def test_a_link_may_stay_inside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert work(playing(write("link/a.txt", "x")), tmp_path).failure is None
    assert (tmp_path / "real/a.txt").read_text() == "x"


def test_bash_runs_in_the_folder(tmp_path: Path) -> None:
    work(playing(bash("echo here > made.txt")), tmp_path)

    assert (tmp_path / "made.txt").read_text() == "here\n"


def test_bash_sees_no_credentials_and_no_foreign_repository(tmp_path: Path) -> None:
    scene = Scene(RED, 1, calls=(bash("env > seen.txt"),))
    env = {**ENV, "OPENAI_API_KEY": "sk-1", "GH_TOKEN": "t", "GIT_DIR": "/elsewhere"}
    agent = ReplayAgent(
        Script("tale", scenes=(scene,)),
        setup_with(env=env, passed_on=["GH_TOKEN"], identity={"GIT_AUTHOR_NAME": "rgr"}),
    )

    work(agent, tmp_path)

    seen = (tmp_path / "seen.txt").read_text().splitlines()
    assert "GH_TOKEN=t" in seen
    assert "GIT_AUTHOR_NAME=rgr" in seen
    assert not [line for line in seen if line.startswith(("OPENAI_API_KEY", "GIT_DIR"))]


def test_a_failing_command_fails_the_session_and_says_what_it_printed(tmp_path: Path) -> None:
    calls = (bash("echo out; echo err >&2; exit 4"), write("later.txt", "x"))

    message = failure(work(playing(*calls), tmp_path))

    assert "exit code 4" in message
    assert "out" in message
    assert "err" in message
    assert "RED of cycle 1, attempt 1, call 1" in message
    assert not (tmp_path / "later.txt").exists()


def test_a_silently_failing_command_fails_the_session_too(tmp_path: Path) -> None:
    assert failure(work(playing(bash("exit 4")), tmp_path)).endswith("[exit code 4]")


def test_a_command_that_may_fail_fails_nothing(tmp_path: Path) -> None:
    report = work(playing(bash("exit 4", may_fail=True), write("later.txt", "x")), tmp_path)

    assert report == Report("done")
    assert (tmp_path / "later.txt").exists()


def test_a_command_past_its_limit_is_a_timeout(tmp_path: Path) -> None:
    scene = Scene(RED, 1, calls=(bash("exec sleep 1000"),))

    report = work(ReplayAgent(Script("tale", scenes=(scene,)), setup_with(bash_timeout=0.5)), tmp_path)

    assert report.failure is not None
    assert report.failure.type is FindingType.TIMEOUT


def test_every_call_is_said_in_one_line(tmp_path: Path) -> None:
    said: list[str] = []
    calls = (write("roman.py", "a"), edit("roman.py", "a", "b"), bash("true\ntrue"))

    playing(*calls).work(brief_for(), tmp_path, said.append)

    assert said == ["Write roman.py", "Edit roman.py", "Bash true true"]


def test_the_scene_is_chosen_by_phase_cycle_and_attempt(tmp_path: Path) -> None:
    scenes = tuple(
        Scene(phase, cycle, attempt, message=f"{phase} {cycle}.{attempt}")
        for phase in (RED, PhaseName.GREEN)
        for cycle in (1, 2)
        for attempt in (1, 3)
    )
    agent = ReplayAgent(Script("tale", scenes=scenes), setup_with())

    assert work(agent, tmp_path, brief_for(RED, 2, 3)).message == "RED 2.3"
    assert work(agent, tmp_path, brief_for(PhaseName.GREEN, 1, 1)).message == "GREEN 1.1"


def test_without_a_scene_for_the_attempt_the_last_one_before_it_is_played(tmp_path: Path) -> None:
    scenes = tuple(Scene(RED, 1, attempt, message=f"{attempt}") for attempt in (3, 1))
    agent = ReplayAgent(Script("tale", scenes=scenes), setup_with())

    assert work(agent, tmp_path, brief_for(RED, 1, 2)).message == "1"
    assert work(agent, tmp_path, brief_for(RED, 1, 9)).message == "3"


def test_without_any_fitting_scene_the_failure_names_what_is_missing(tmp_path: Path) -> None:
    scenes = (Scene(RED, 2), Scene(PhaseName.GREEN, 1), Scene(RED, 1, attempt=5))
    agent = ReplayAgent(Script("tale", scenes=scenes), setup_with())

    assert failure(work(agent, tmp_path, brief_for(RED, 1, 4))) == (
        "replay:tale has no turn for RED in cycle 1, attempt 4"
    )


def test_a_stop_ends_it_between_two_calls(tmp_path: Path) -> None:
    interrupt = Interrupt()
    scene = Scene(RED, 1, calls=(write("a.txt", "x"), write("b.txt", "x")))
    agent = ReplayAgent(Script("tale", scenes=(scene,)), setup_with(interrupt=interrupt))

    with pytest.raises(InterruptedRunError):
        agent.work(brief_for(), tmp_path, interrupt.request)

    assert (tmp_path / "a.txt").exists()
    assert not (tmp_path / "b.txt").exists()
    interrupt.close()


def test_without_a_stop_all_calls_are_made(tmp_path: Path) -> None:
    interrupt = Interrupt()
    scene = Scene(RED, 1, calls=(write("a.txt", "x"), bash("cp a.txt b.txt")), message="done")
    agent = ReplayAgent(Script("tale", scenes=(scene,)), setup_with(interrupt=interrupt))

    assert work(agent, tmp_path) == Report("done")
    assert (tmp_path / "b.txt").exists()
    interrupt.close()


def test_every_call_and_its_result_is_noted(tmp_path: Path) -> None:
    noted: list[Any] = []
    scene = Scene(RED, 1, calls=(write("a.txt", "x"), Use("Read", {"file_path": "b.txt"}, may_fail=True)))
    agent = ReplayAgent(Script("tale", scenes=(scene,)), setup_with(emit=noted.append))

    assert work(agent, tmp_path) == Report("")
    assert [event.step for event in noted] == [
        Called("1", "Write", {"file_path": "a.txt", "content": "x"}),
        Answered("1", "Created a.txt (1 lines)."),
        Called("2", "Read", {"file_path": "b.txt"}),
        Answered("2", "b.txt does not exist; did you mean a.txt?", failed=True),
    ]


def test_calls_that_name_the_folder_they_were_recorded_in_mean_this_one(tmp_path: Path) -> None:
    calls = (write("/home/me/project/a.txt", "x"), bash("cp /home/me/project/a.txt b.txt"))
    scene = Scene(RED, 1, calls=calls, folder="/home/me/project")

    work(ReplayAgent(Script("tale", scenes=(scene,)), setup_with()), tmp_path)

    assert (tmp_path / "b.txt").read_text() == "x"


def test_a_session_that_failed_when_it_was_recorded_fails_again(tmp_path: Path) -> None:
    finding = Finding(FindingType.TIMEOUT, "too long")
    scene = Scene(RED, 1, calls=(write("a.txt", "x"),), message="half", failure=finding)

    report = work(ReplayAgent(Script("tale", scenes=(scene,)), setup_with()), tmp_path)

    assert report == Report("half", failure=finding)
    assert (tmp_path / "a.txt").exists()
