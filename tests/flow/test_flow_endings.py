"""What people are told at the end is what happened, whichever workflow it was."""

import json
from pathlib import Path

import pytest
from review_stage import ReviewStage, plain_repo
from stage import GREENFIELD, SWIFT, Stage, calculator
from task_stage import CODE, FILES, TEST, last_section, staged, task

from repos import MakeRepo

pytestmark = pytest.mark.long


def test_an_agent_that_is_not_there_is_found_out_before_anything_begins(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    stage = ReviewStage(plain_repo(make_repo))
    stage.repo.commit("docs: what is wanted", {})
    file = tmp_path / "task.json"
    file.write_text(json.dumps(task()))
    for words in (["run", "x"], ["tdd", "SPEC.md", "--forge", "none"], ["task", str(file)]):
        done = stage.rgr(*words, "--agent", "command:./agent.sh --fast", "--json")
        assert done.code == 3, done
        assert "'./agent.sh' is not there" in done.json["error"]
        assert stage.repo.refs().keys() == {"refs/heads/main", "refs/remotes/origin/main"}
        assert stage.branches() == ["main"]


def test_whoever_resumes_where_the_tests_cannot_run_any_more_is_told_before_a_session(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    (tmp_path / "outside.py").write_text("")
    files = {
        **GREENFIELD,
        "tdd.properties": f"{SWIFT}sandbox=off\n",
        "tests/test_old.py": "import outside\n\n\ndef test_old() -> None:\n    assert outside\n",
    }
    stage = Stage(make_repo(files=files), calculator(2))
    stage.play({**calculator(2), "RED-1": {"exit": 1}})
    assert stage.run(env={"PYTHONPATH": str(tmp_path), "TDD_MAX_RETRIES": "0"}).code == 1
    sessions = len(stage.sessions)
    done = stage.resume("--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "TestsNotRunnable"), done
    assert "no module 'outside'" in done.json["error"]
    assert len(stage.sessions) == sessions


def test_a_task_is_set_up_leaves_old_failures_alone_and_is_told_again_when_it_is_done(
    make_repo: MakeRepo,
) -> None:
    old = "from pathlib import Path\n\n\ndef test_made() -> None:\n    assert Path('made.txt').exists()\n"
    files = {
        **FILES,
        ".gitignore": "made.txt\n",
        "tdd.properties": f"{FILES['tdd.properties']}setup.command=touch made.txt\n",
        "tests/test_old.py": f"{old}\n\ndef test_never() -> None:\n    assert False\n",
    }
    stage = staged(make_repo, files=files)
    done = stage.rgr_task("--json")
    assert (done.code, done.json["tests"]) == (0, {"passed": 3, "total": 4}), done
    assert "tests/test_old.py::test_never" in stage.session("GREEN-1-1")["brief"]
    again = stage.rgr_task()
    assert again.code == 0, again
    assert f"Files modified: {CODE}, {TEST}" in last_section(again.out)
    assert len(stage.sessions) == 3
