"""`rgr rollback`: a run goes back and comes to the same end again, whenever it is cut off."""

import os
import shutil
from pathlib import Path

import pytest
from stage import PLAIN, Stage, calculator, subjects, surroundings

from repos import MakeRepo, Repo
from shared import once


def complete(make_repo: MakeRepo, name: str = "project") -> tuple[Stage, dict[str, str]]:
    """Return a complete run of two cases, one attempt rejected, and its commits by subject."""
    wrong = {
        "files": {"calc.py": "def add(a: int, b: int) -> int:\n    return a - b\n"},
        "commit": "feat: add",
    }
    stage = Stage(make_repo(name, files=PLAIN), {**calculator(2), "GREEN-1-1": wrong})
    done = stage.run("--json")
    assert done.code == 0, done
    return stage, dict(
        line.split(" ", 1)[::-1] for line in stage.repo.git("log", "--format=%H %s").splitlines()
    )


@pytest.mark.long
def test_a_run_goes_back_and_on_to_the_same_end_and_no_number_is_used_twice(make_repo: MakeRepo) -> None:
    stage, commits = complete(make_repo)
    tip, tree = stage.head(), stage.repo.git("rev-parse", "HEAD^{tree}")
    before = len(stage.turns)
    red = commits["test: adds two numbers"]
    done = stage.rgr("rollback", red[:10], "--json")
    assert (done.code, done.json["commit"], done.json["state"], done.json["nextPhase"]) == (
        0,
        red,
        "stopped",
        "GREEN",
    )
    assert stage.repo.refs()[done.json["kept"]] == tip
    assert stage.rgr("status", "--json").json == {k: v for k, v in done.json.items() if k != "kept"}
    assert stage.resume("--json").json["status"] == "complete"
    assert stage.turns[before:] == [
        "GREEN-1-3",
        "REFACTOR-1-2",
        "PLAN-2-2",
        "RED-2-2",
        "GREEN-2-2",
        "REFACTOR-2-2",
        "PLAN-3-2",
    ]
    assert stage.repo.subjects()[1:] == subjects(2)
    assert stage.repo.git("rev-parse", "HEAD^{tree}") == tree
    assert stage.note(tip)["nextPhase"] == "COMPLETE"
    told = stage.rgr("rollback", stage.head())
    assert (told.code, "nothing is due" in told.out) == (0, True)
    refused = stage.rgr("rollback", "HEAD:calc.py", "--json")
    assert (refused.code, "rgr rollback" in refused.json["hint"]) == (2, True)


def _play(folder: Path) -> None:
    repo = Repo(
        folder / "project",
        {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "TDD_TRUST": "1"},
    )
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@localhost")
    repo.commit("chore: start", PLAIN)
    assert Stage(repo, calculator(2)).run().code == 0


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, 21))
def test_killed_around_any_call_of_git_it_goes_on_to_the_same_end(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, env: dict[str, str], number: int, when: str
) -> None:
    played = once(tmp_path_factory, "rolled-back", _play)
    shutil.copytree(played / "project", tmp_path / "project")
    repo = Repo(tmp_path / "project", env)
    stage = Stage(repo, calculator(2))
    tip, tree = stage.head(), repo.git("rev-parse", "HEAD^{tree}")
    green = repo.git("log", "--format=%H", "--grep=^feat: adds")
    real = shutil.which("git", path=env["PATH"])
    deadly = tmp_path / "deadly"
    deadly.mkdir()
    script = f"""#!/bin/sh
echo x >> {deadly}/calls
[ "$(wc -l < {deadly}/calls)" = {number} ] || exec {real} "$@"
[ {when} = after ] && {real} "$@"
kill -KILL $PPID
"""
    (deadly / "git").write_text(script)
    (deadly / "git").chmod(0o755)
    stage.rgr("rollback", green, env={"PATH": f"{deadly}{os.pathsep}{surroundings(repo)['PATH']}"})
    done = stage.resume("--json")
    assert (done.code, done.json["status"]) == (0, "complete"), done
    assert repo.subjects()[1:] == subjects(2)
    assert repo.git("rev-parse", "HEAD^{tree}") == tree
    assert stage.is_clean()
    assert repo.git("for-each-ref", "--contains", tip)
    assert len(set(stage.turns)) == len(stage.turns)
    repo.git("fsck", "--connectivity-only")
