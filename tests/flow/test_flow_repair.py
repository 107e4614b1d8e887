"""`rgr repair-notes` can be killed at any moment: typed again, it comes to the same end."""

import os
import shutil
from pathlib import Path

import pytest
from stage import PLAIN, Stage, surroundings

from ledgers import read, tell_run
from repos import MakeRepo, Repo

NOTES = "refs/notes/tdd-handoffs"


def spoilt(repo: Repo) -> str:
    """Leave a run behind whose notes are spoilt in several ways, and return the commit of its last turn."""
    head = tell_run(repo, 2).commits["2-REFACTOR"]
    for commit in ("HEAD~1", "HEAD~3"):
        repo.git("notes", "--ref=tdd-handoffs", "add", "-f", "-m", "nonsense", commit)
    rows = (
        repo.git("ls-tree", NOTES) + f"\n100644 blob {repo.git('rev-parse', 'HEAD:README.md')}\t{'1' * 40}\n"
    )
    tree = repo.git("mktree", stdin=rows)
    repo.git("update-ref", NOTES, repo.git("commit-tree", tree, "-p", NOTES, "-m", "spoilt"))
    repo.git("commit", "-q", "--amend", "-m", "refactor: other words")
    return head


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, 31))
def test_killed_around_any_call_of_git_it_comes_to_the_same_end(
    make_repo: MakeRepo, tmp_path: Path, number: int, when: str
) -> None:
    stage = Stage(make_repo(files=PLAIN))
    repo = stage.repo
    old = spoilt(repo)
    tip = repo.git("rev-parse", NOTES)
    real = shutil.which("git", path=repo.env["PATH"])
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
    stage.rgr("repair-notes", env={"PATH": f"{deadly}{os.pathsep}{surroundings(repo)['PATH']}"})
    assert stage.rgr("repair-notes").code == 0
    history = stage.rgr("history", "--json").json
    assert [entry["phase"] for entry in history] == [*["REFACTOR", "GREEN", "RED", "PLAN"] * 2, "PLAN"]
    assert history[0]["commit"] == stage.head()
    assert read(repo, old)
    assert repo.git("for-each-ref", "--contains", tip, "refs/tdd/kept", "refs/notes")
    assert stage.rgr("repair-notes", "--json").json["actions"] == []
    assert stage.is_clean()
