"""Runs that are pushed, fetched, amended and rebased go on as if nothing had been."""

from pathlib import Path

import pytest
from stage import PLAIN, Stage, calculator, subjects

from repos import MakeRepo, Repo

LONG = (
    "# A calculator\n\n"
    + "".join(f"## Part {number}\n\n{'words ' * 500}\n\n" for number in range(16))
    + "END"
)


@pytest.fixture
def bare(tmp_path: Path, env: dict[str, str]) -> Repo:
    bare = Repo(tmp_path / "remote.git", env)
    bare.path.mkdir()
    bare.git("init", "-q", "--bare", "-b", "main")
    return bare


@pytest.mark.long
def test_a_run_that_is_pushed_as_it_goes_goes_on_in_another_clone(make_repo: MakeRepo, bare: Repo) -> None:
    first = Stage(make_repo(files=PLAIN), calculator(2))
    first.repo.git("remote", "add", "origin", str(bare.path))
    assert first.run("--push", "--max-cycles", "1", feature=LONG).code == 4
    there = bare.refs()
    assert there["refs/heads/main"] == first.head()
    assert there["refs/notes/tdd-handoffs"] == first.repo.refs()["refs/notes/tdd-handoffs"]
    second = Repo(bare.path.parent / "second", bare.env)
    bare.git("clone", "-q", str(bare.path), str(second.path))
    stage = Stage(second, calculator(2))
    assert stage.rgr("status", "--json").out.strip() == "null"
    fetched = stage.rgr("fetch", "--json")
    assert (fetched.code, fetched.json["notes"]) == (0, "fetched")
    assert stage.rgr("status", "--json").json["feature"] == LONG
    done = stage.resume("--push", "--json")
    assert (done.code, done.json["status"], done.json["feature"]) == (0, "complete", LONG), done
    notes = [
        second.git("notes", "--ref=tdd-handoffs", "show", commit)
        for commit in second.git("rev-list", "HEAD").split()
    ]
    assert max(map(len, notes)) < 4000
    for session in first.sessions + stage.sessions:
        assert LONG in session["brief"]
        assert session["handoff"]["feature"] == LONG
    assert {entry["feature"] for entry in stage.rgr("history", "--json").json} == {LONG}
    assert second.subjects()[1:] == subjects(2)
    assert bare.refs()["refs/heads/main"] == stage.head()
    assert first.rgr("fetch").code == 0
    assert first.rgr("status", "--json").json["nextPhase"] == "COMPLETE"


@pytest.mark.long
def test_a_run_is_not_lost_by_a_push_that_fails(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN), calculator(1))
    stage.repo.git("remote", "add", "origin", "http://ada:s3cret@127.0.0.1:9/x.git")
    done = stage.run("--push", "--json")
    assert (done.code, done.json["status"]) == (3, "complete"), done
    assert "s3cret" not in done.out + done.err
    assert "'rgr push' does it later" in done.err
    assert stage.repo.subjects()[1:] == subjects(1)


@pytest.mark.long
def test_after_an_amend_and_a_rebase_the_run_goes_on_and_holds(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN), calculator(2))
    assert stage.rgr("init").code == 0
    assert "already set: notes.rewriteRef" in stage.rgr("init").out
    assert stage.run("--max-cycles", "1", feature=LONG).code == 4
    stage.repo.git("commit", "-q", "--amend", "--allow-empty", "--no-edit", "--reset-author")
    stage.repo.git("checkout", "-q", "-b", "upstream", stage.repo.git("rev-list", "--max-parents=0", "HEAD"))
    stage.repo.commit("docs: upstream", {"UPSTREAM.md": "x\n"})
    stage.repo.git("checkout", "-q", "main")
    stage.repo.git("rebase", "-q", "upstream")
    assert stage.rgr("status", "--json").json["commit"] == stage.head()
    done = stage.resume("--json")
    assert (done.code, done.json["status"]) == (0, "complete"), done
    history = stage.rgr("history", "--json").json
    assert [entry["phase"] for entry in history] == [
        "PLAN",
        *["REFACTOR", "GREEN", "RED", "PLAN"] * 2,
        "PLAN",
    ]
    assert stage.rgr("verify", "--json").json["ok"]


def test_init_says_what_it_wrote_and_offers_a_project_where_there_are_no_tests(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files={"README.md": "nothing yet\n"}), calculator(1))
    first, again = stage.rgr("init").out, stage.rgr("init").out
    assert "tdd.properties: every setting, commented out; yours alone" in first
    assert "git add -f tdd.properties" in first
    assert "rgr init --starter pytest" in first
    assert "tdd.properties" not in again
    assert stage.rgr("init", "--starter", "pytest").code == 0
    assert "--starter" not in stage.rgr("init").out
    assert stage.rgr("init", "--json").json["properties"] is None
