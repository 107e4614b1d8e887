"""A long feature is kept once, with the notes, and read as if it stood in every one of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ledgers import ledger_of, surroundings
from redgreenrefactor import recovery
from redgreenrefactor.git.notes import only_others_wrote
from redgreenrefactor.git.refs import NOTES
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.workflow import PhaseName
from repos import Repo

FEATURE = "# Numerals\n\n" + "".join(f"## Part {number}\n\n{'words ' * 500}\n\n" for number in range(16))
OPENING = Handoff(PhaseName.PLAN, PhaseName.PLAN, run_id="r", feature=FEATURE, timestamp="t0")


def begin(repo: Repo, opening: Handoff = OPENING) -> tuple[str, str]:
    """Write the notes of a run's first turns; return its commits."""
    first, second = repo.commit("chore: begin"), repo.commit("plan: list")
    with ledger_of(repo) as ledger:
        begun = ledger.store_feature(opening)
        ledger.write({first: begun})
        ledger.write({second: replace(begun, next_phase=PhaseName.RED, cycle_number=1)})
    return first, second


def noted(repo: Repo, commit: str) -> str:
    return repo.git("notes", "--ref=tdd-handoffs", "show", commit)


def features(repo: Repo) -> list[str]:
    return repo.git("ls-tree", "-r", "--name-only", NOTES, "features/").splitlines()


def test_notes_hold_an_outline_and_readers_get_all_of_it(repo: Repo) -> None:
    assert len(FEATURE) > 48_000
    first, second = begin(repo)

    for commit in (first, second):
        body = json.loads(noted(repo, commit))
        assert body["feature"].startswith("# Numerals\n\n## Part 0\n")
        assert "## Part 15" in body["feature"]
        assert len(noted(repo, commit)) < 1500
        assert repo.git("cat-file", "-p", body["featureBlob"]) == FEATURE.strip()
    with ledger_of(repo) as ledger:
        assert [entry.handoff.feature for entry in ledger.history()] == [FEATURE, FEATURE]
        assert [entry.handoff.run_id for entry in ledger.everything()] == ["r", "r"]


def test_a_feature_that_fits_stands_in_the_note(repo: Repo) -> None:
    _, second = begin(repo, replace(OPENING, feature="short"))

    body = json.loads(noted(repo, second))
    assert body["feature"] == "short"
    assert "featureBlob" not in body
    assert features(repo) == []


def test_it_outlives_the_cleaning_up_of_git(repo: Repo) -> None:
    first, _ = begin(repo)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--quiet", "--prune=now")

    with ledger_of(repo) as ledger:
        found = ledger.read(first)
    assert found is not None
    assert found.feature == FEATURE


def test_an_earlier_runs_feature_is_kept_beside_that_of_the_next(repo: Repo) -> None:
    _, second = begin(repo)
    other = replace(OPENING, run_id="s", feature=FEATURE + "more")
    with ledger_of(repo) as ledger:
        ledger.write({second: ledger.store_feature(other)})
        assert [entry.handoff.feature for entry in ledger.past()] == [FEATURE + "more", FEATURE, FEATURE]
    assert len(features(repo)) == 2
    assert len(noted(repo, second)) < 4000


def test_it_travels_with_the_notes_and_comes_together_with_others(repo: Repo, tmp_path: Path) -> None:
    bare = Repo(tmp_path / "bare.git", repo.env)
    bare.path.mkdir()
    bare.git("init", "-q", "--bare", "-b", "main")
    repo.git("remote", "add", "origin", str(bare.path))
    first, _ = begin(repo)
    with surroundings(repo) as (around, _):
        recovery.push(around, None)
    theirs = Repo(tmp_path / "theirs", repo.env)
    bare.git("clone", "-q", str(bare.path), str(theirs.path))
    with surroundings(theirs) as (around, _):
        recovery.fetch(around, None)
    for place, name in ((repo, "s"), (theirs, "t")):  # both go on, apart
        with ledger_of(place) as ledger:
            ledger.write({first: ledger.store_feature(replace(OPENING, run_id=name, feature=FEATURE + name))})
    with surroundings(repo) as (around, _):
        recovery.push(around, None)
    with surroundings(theirs) as (around, _):
        recovery.fetch(around, None)

    with ledger_of(theirs) as ledger:
        found = {entry.handoff.run_id: entry.handoff.feature for entry in ledger.past()}
    assert found == {"r": FEATURE, "s": FEATURE + "s", "t": FEATURE + "t"}
    assert len(features(theirs)) == 3


def test_it_is_restored_with_lost_notes(repo: Repo) -> None:
    first, _ = begin(repo)
    repo.git("update-ref", "refs/remotes/notes/origin/tdd-handoffs", NOTES)
    repo.git("update-ref", "-d", NOTES)
    with ledger_of(repo) as ledger:
        ledger.write({first: replace(OPENING, run_id="s", feature="short")})
    with surroundings(repo) as (around, _):
        recovery.repair_notes(around)

    with ledger_of(repo) as ledger:
        assert {entry.handoff.run_id: entry.handoff.feature for entry in ledger.past()} == {
            "r": FEATURE,
            "s": "short",
        }
    assert len(features(repo)) == 1


def test_where_its_text_is_gone_the_outline_is_told(repo: Repo) -> None:
    first, _ = begin(repo)
    blob = json.loads(noted(repo, first))["featureBlob"]
    (repo.path / ".git/objects" / blob[:2] / blob[2:]).unlink()

    with ledger_of(repo) as ledger:
        found = ledger.read(first)
    assert found is not None
    assert found.feature.startswith("# Numerals")
    assert len(found.feature) <= 600


@pytest.mark.parametrize("honest", [True, False])
def test_a_feature_that_others_add_is_no_sessions_doing_but_one_that_is_gone_is(
    repo: Repo, honest: bool
) -> None:
    begin(repo)
    before = repo.git("rev-parse", NOTES)
    if honest:
        with ledger_of(repo) as ledger:
            other = replace(OPENING, run_id="s", feature=FEATURE + "more")
            ledger.write({repo.commit("chore: elsewhere"): ledger.store_feature(other)})
    else:
        rows = repo.git("ls-tree", NOTES).splitlines()
        tree = repo.git("mktree", stdin="".join(f"{row}\n" for row in rows if not row.endswith("\tfeatures")))
        repo.git("update-ref", NOTES, repo.git("commit-tree", tree, "-p", before, "-m", "x"))
    repository = open_repository(repo.path, repo.env)
    later = repo.git("rev-parse", NOTES)
    assert only_others_wrote(repository.objects, before, later, "r") is honest
    repository.close()


def test_what_is_secret_is_masked_there_too(repo: Repo) -> None:
    env = {**repo.env, "SOME_API_KEY": "hunter2-hunter2-hunter2"}
    secret = Repo(repo.path, env)
    first = secret.commit("chore: begin")
    with ledger_of(secret) as ledger:
        ledger.write({first: ledger.store_feature(replace(OPENING, feature=FEATURE + env["SOME_API_KEY"]))})
        found = ledger.read(first)
    assert found is not None
    assert found.feature.startswith(FEATURE)
    assert "hunter2" not in found.feature
