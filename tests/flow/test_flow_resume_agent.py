"""What was begun with an agent goes on with it, unless another one is named; a stranger's notes start nothing."""

import shutil
from pathlib import Path

import pytest
from review_stage import ReviewStage, plain_repo
from stage import PLAIN, Done, Stage, calculator, subjects
from task_stage import staged, task

from repos import MakeRepo

pytestmark = pytest.mark.long


def as_before(done: Done) -> bool:
    return "as before (--agent names another)" in " ".join(done.out.split())


def begun(make_repo: MakeRepo) -> Stage:
    stage = Stage(make_repo(files=PLAIN), calculator(2), env={"TDD_TRUST": ""})
    assert stage.rgr("trust", "--yes").code == 0
    assert stage.run("--max-cycles", "1").code == 4
    return stage


def test_a_run_goes_on_with_the_agent_that_worked_and_says_so(make_repo: MakeRepo) -> None:
    stage = begun(make_repo)
    done = stage.rgr("resume")
    assert done.code == 0, done
    assert as_before(done), done
    assert stage.repo.subjects()[1:] == subjects(2)


def test_another_one_that_is_named_is_taken(make_repo: MakeRepo) -> None:
    stage = begun(make_repo)
    other = stage.rgr("resume", "--agent", "command:exit 7", "--max-cycles", "1")
    assert other.code == 1, other
    assert not as_before(other)
    assert stage.rgr("resume", env={"TDD_AGENT": "command:exit 8"}).code == 1


def test_one_that_was_cut_off_in_its_first_session_goes_on_with_it(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN), calculator(1))
    stage.play({**calculator(1), "PLAN-1": {"say": "no list"}})
    assert stage.run().code == 1
    stage.play(calculator(1))
    done = stage.rgr("resume")
    assert done.code == 0, done
    assert as_before(done), done


def test_notes_of_others_name_no_program_that_is_started(make_repo: MakeRepo, tmp_path: Path) -> None:
    stage = begun(make_repo)
    trusted = Path(stage.repo.env["HOME"]) / ".local/share/redgreenrefactor/trusted"
    for file in trusted.glob("*.json"):
        if "go on with agent" in file.read_text():
            shutil.move(file, tmp_path)
    sessions = len(stage.sessions)
    done = stage.rgr("resume", "--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "NotTrusted")
    assert "Type the same with --agent" in done.json["hint"]
    assert len(stage.sessions) == sessions


def test_a_task_file_goes_on_with_the_agent_that_worked(make_repo: MakeRepo) -> None:
    stage = staged(make_repo)
    honest = dict(stage.parts)
    stage.play({**honest, "RED": {"say": "no tests"}})
    assert stage.rgr_task().code == 1
    stage.play(honest)
    done = stage.rgr("task", str(stage.task_file(task())))
    assert done.code == 0, done
    assert as_before(done), done


def test_a_specification_goes_on_with_the_agent_that_worked(make_repo: MakeRepo) -> None:
    stage = ReviewStage(plain_repo(make_repo))
    assert stage.tdd("SPEC.md", "--forge", "none", "--max-reviews", "1").code == 1
    done = stage.rgr("tdd", "--resume", stage.task, "--max-reviews", "2")
    assert done.code == 0, done
    assert as_before(done), done
