"""The demonstration: a complete workflow without a key and without a network."""

import json
import os
import re
from pathlib import Path

import pytest
from stage import Json, Stage

from repos import MakeRepo, Repo
from shared import once


@pytest.fixture
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Repo]:
    """What the demonstration prints, and the repository it leaves behind."""

    def play(folder: Path) -> None:
        (folder / "somewhere").mkdir()
        (folder / "tmp").mkdir()
        repo = Repo(
            folder / "somewhere",
            {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
        )
        stage = Stage(repo)
        done = stage.rgr(
            "demo", env={"TMPDIR": str(folder / "tmp"), "TDD_MAX_RETRIES": "0", "TDD_AGENT": "api"}
        )
        (folder / "told").write_text(f"{done.code}\n{done.out}{done.err}")

    folder = once(tmp_path_factory, "demonstration", play)
    [place] = (folder / "tmp").glob("rgr-demo-*")
    return (folder / "told").read_text(), Repo(place, {"PATH": os.environ["PATH"], "HOME": str(folder)})


@pytest.mark.long
def test_it_comes_to_its_end_and_says_what_to_look_at(told: tuple[str, Repo]) -> None:
    text, repo = told
    assert text.startswith("0\n"), text
    assert f"cd {repo.path}" in text
    for command in ("git log --oneline", "git notes --ref=tdd-handoffs show HEAD", "rgr history --attempts"):
        assert command in text


@pytest.mark.long
def test_it_shows_a_cheat_that_is_caught(told: tuple[str, Repo]) -> None:
    text, repo = told
    assert "rejected: TestTampering" in text
    attempts = [name for name in repo.refs() if name.startswith("refs/tdd/attempts/")]
    notes = [_note(repo, name) for name in attempts]
    assert "TestTampering" in {note["errorDetails"]["type"] for note in notes}


@pytest.mark.long
def test_it_shows_a_case_that_was_covered_already(told: tuple[str, Repo]) -> None:
    text, repo = told
    assert "already covered" in text
    notes = [_note(repo, commit) for commit in repo.git("rev-list", "HEAD").split()]
    [covered] = [note for note in notes if note.get("outcome") == "covered"]
    assert (covered["phase"], covered["testResult"], covered["nextPhase"]) == ("RED", "PASS", "PLAN")
    assert covered["currentTest"]["description"] in covered["completedTests"]
    cycles = max(note["cycleNumber"] for note in notes) - 1
    assert len(notes) == 1 + 4 * cycles + 1 - 2


@pytest.mark.long
def test_every_commit_of_it_has_a_prefix_and_a_note(told: tuple[str, Repo]) -> None:
    _, repo = told
    subjects = repo.subjects()[1:]
    assert all(re.match(r"(plan|test|feat|fix|refactor)(\(.*\))?: .", subject) for subject in subjects)
    assert _note(repo, "HEAD")["nextPhase"] == "COMPLETE"


def _note(repo: Repo, commit: str) -> Json:
    return json.loads(repo.git("notes", "--ref=tdd-handoffs", "show", commit))


@pytest.mark.slow
def test_with_json_it_is_one_value(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo())
    done = stage.rgr("demo", "--json", env={"TMPDIR": str(stage.repo.path.parent)})
    assert (done.code, done.json["status"]) == (0, "complete"), done
    assert "covered" in [cycle["outcome"] for cycle in done.json["cycles"]]
    assert stage.repo.refs().keys() == {"refs/heads/main"}
