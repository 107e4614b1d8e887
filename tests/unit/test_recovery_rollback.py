"""Going back to a handoff: where the run stands afterwards, and that nothing is lost on the way."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ledgers import ledger_of, read, surroundings, tell_run, write
from redgreenrefactor import recovery
from redgreenrefactor.errors import NotReadyError, RgrError, UsageError
from redgreenrefactor.git import lock
from redgreenrefactor.git import mark as marks
from redgreenrefactor.git.mark import Mark, place_of
from redgreenrefactor.git.refs import Refs
from redgreenrefactor.git.repository import own_folder
from redgreenrefactor.git.rewinding import Rewinder
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.model.events import Warned
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, State
from redgreenrefactor.model.rollback import attempts_left_behind
from redgreenrefactor.model.workflow import PhaseName
from repos import Repo


def place(repo: Repo) -> Path:
    """Return where a session in the repository is remembered."""
    return place_of(own_folder(repo.env, repo.path), repo.path)


def back(repo: Repo, name: str, path: Path | None = None) -> recovery.RollbackResult:
    with surroundings(repo, path) as (around, _):
        return recovery.rollback(around, name)


def test_branch_files_and_note_are_as_they_were_and_the_rest_is_kept(repo: Repo) -> None:
    run = tell_run(repo, 2)
    tip = repo.git("rev-parse", "HEAD")
    done = back(repo, run.commits["1-RED"][:12])
    assert (done.entry.commit, repo.git("rev-parse", "main")) == (run.commits["1-RED"],) * 2
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert repo.git("status", "--porcelain") == ""
    assert not (repo.path / "r-green.txt").exists()
    assert (repo.path / "r-plan.txt").read_text() == "1\n"
    assert done.kept == f"refs/tdd/kept/r/rolled-back-{tip[:10]}"
    assert tip in repo.refs().values()
    note = read(repo)
    assert note == done.entry.handoff
    assert note is not None
    assert (note.state, note.next_phase) == (State.STOPPED, PhaseName.GREEN)
    assert attempts_left_behind(note, 1, "GREEN") == attempts_left_behind(note, 2, "PLAN") == 1
    assert read(repo, tip) is not None
    assert "rgr rollback" in repo.git("reflog", "-3")
    assert not place(repo).exists()


def test_the_opening_and_the_end_can_be_gone_back_to(repo: Repo) -> None:
    run = tell_run(repo, 1, complete=True)
    last = back(repo, "HEAD")
    assert (last.kept, last.entry.handoff.state) == (None, State.COMPLETE)
    first = back(repo, run.commits["0-PLAN"])
    assert (first.entry.handoff.next_phase, first.entry.handoff.cycle_number) == (PhaseName.PLAN, 0)
    assert repo.subjects() == ["chore: start"]


def test_the_users_commits_on_top_are_kept_too(repo: Repo) -> None:
    run = tell_run(repo)
    mine = repo.commit("docs: mine", {"mine.txt": "dear\n"})
    done = back(repo, run.commits["1-REFACTOR"])
    assert done.kept is not None
    assert repo.refs()[done.kept] == mine
    assert not (repo.path / "mine.txt").exists()


def test_a_run_that_gave_up_can_be_stopped_where_it_is(repo: Repo) -> None:
    run = tell_run(repo)
    latest = read(repo)
    assert latest is not None
    failed = ErrorDetails("TestFailure", "it fails")
    write(
        repo,
        {run.commits["1-REFACTOR"]: replace(latest, state=State.ABORTED, error="e", error_details=failed)},
    )
    done = back(repo, "HEAD")
    assert (done.kept, done.entry.handoff.state, done.entry.handoff.error) == (None, State.STOPPED, "e")


def test_an_earlier_runs_handoff_stays_below_the_opening(repo: Repo) -> None:
    tell_run(repo, 1, "first", complete=True)
    second = tell_run(repo, 1, "second", start=60)
    done = back(repo, second.commits["0-PLAN"])
    earlier = done.entry.handoff.previous
    assert earlier is not None
    assert (done.entry.handoff.run_id, earlier.run_id) == ("second", "first")
    with pytest.raises(UsageError, match="not a commit of this run"):
        back(repo, "HEAD~1")


def test_the_run_that_went_back_is_the_one_that_goes_on(repo: Repo) -> None:
    run = tell_run(repo)
    other = Handoff(PhaseName.PLAN, PhaseName.PLAN, "other", "more", timestamp="t")
    write(repo, {run.commits["1-RED"]: other})
    back(repo, run.commits["1-RED"])
    with ledger_of(repo) as ledger:
        latest = ledger.latest()
        assert latest is not None
        assert latest.handoff.run_id == "r"
        assert [entry.handoff.run_id for entry in ledger.history()] == ["r"] * 3
    assert latest.handoff.previous == other


def test_a_detached_head_a_subfolder_and_a_linked_worktree_do_as_well(repo: Repo) -> None:
    repo.commit("chore: folder", {"sub/x.txt": "x\n"})
    run = tell_run(repo)
    side = repo.path.parent / "side"
    repo.git("worktree", "add", "-q", "-b", "side", str(side))
    back(repo, run.commits["1-GREEN"], side)
    assert repo.git("rev-parse", "side", "main").split() == [
        run.commits["1-GREEN"],
        run.commits["1-REFACTOR"],
    ]
    repo.git("checkout", "-q", "--detach")
    back(repo, run.commits["1-RED"], repo.path / "sub")
    assert repo.git("rev-parse", "HEAD", "main").split() == [run.commits["1-RED"], run.commits["1-REFACTOR"]]
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD"


# --- refusals


def test_anything_else_is_refused_with_commits_that_would_do(repo: Repo) -> None:
    with pytest.raises(UsageError, match="no workflow") as refusal:
        back(repo, "HEAD")
    run = tell_run(repo)
    mine = repo.commit("docs: mine")
    for name, why in ((mine, "carries no handoff"), ("nowhere", "names no commit"), ("", "names no commit")):
        with pytest.raises(UsageError, match=why) as refusal:
            back(repo, name)
        assert refusal.value.exit_code == 2
        assert run.commits["1-REFACTOR"][:10] in refusal.value.hint


def test_a_dirty_tree_and_another_orchestrator_are_refused(repo: Repo) -> None:
    run = tell_run(repo)
    before = repo.refs()
    repo.write("mine.txt", "dear\n")
    with pytest.raises(NotReadyError, match=r"mine\.txt"):
        back(repo, run.commits["1-RED"])
    (repo.path / "mine.txt").unlink()
    with (
        lock.held(repo.path / ".git" / lock.NAME),
        pytest.raises(NotReadyError, match="another orchestrator"),
    ):
        back(repo, run.commits["1-RED"])
    assert repo.refs() == before


def test_an_ignored_file_is_not_overwritten(repo: Repo) -> None:
    repo.commit("chore: with a file", {"secret.txt": "old\n"})
    run = tell_run(repo)
    repo.git("rm", "-q", "--cached", "secret.txt")
    repo.commit("chore: ignore it", {".gitignore": "secret.txt\n"})
    repo.write("secret.txt", "dear\n")
    with pytest.raises(NotReadyError, match=r"secret\.txt"):
        back(repo, run.commits["1-RED"])
    assert (repo.path / "secret.txt").read_text() == "dear\n"
    repo.write("secret.txt", "old\n")
    assert back(repo, run.commits["1-RED"]).kept


def a_file(place: Path) -> None:
    place.write_text("mine\n")


def a_link(place: Path) -> None:
    place.symlink_to("nowhere")


def a_link_to_the_same(place: Path) -> None:
    elsewhere = place.parent.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x").write_text("old\n")
    place.symlink_to(elsewhere)


def a_link_inside(place: Path) -> None:
    place.mkdir()
    (place / "x").symlink_to("nowhere")


def a_folder_inside(place: Path) -> None:
    (place / "x").mkdir(parents=True)
    (place / "x" / "mine").write_text("mine\n")


def state(path: Path) -> tuple[int, ...]:
    """Return what tells whether it is as it was; looked at it may be."""
    found = path.lstat()
    return (found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns)


@pytest.mark.parametrize("put", [a_file, a_link, a_link_to_the_same, a_link_inside, a_folder_inside])
def test_ignored_files_folders_and_links_in_the_way_of_others_are_not_overwritten(
    repo: Repo, put: Callable[[Path], None]
) -> None:
    repo.commit("chore: with a file", {"my data/x": "old\n"})
    run = tell_run(repo)
    repo.git("rm", "-q", "my data/x")
    repo.commit("chore: ignore it", {".gitignore": "/my data\n"})
    put(repo.path / "my data")
    before = {path: state(path) for path in repo.path.rglob("my data/**/*")}
    with pytest.raises(NotReadyError, match="ignores would be overwritten: my data") as refused:
        back(repo, run.commits["1-RED"])
    assert {path: state(path) for path in repo.path.rglob("my data/**/*")} == before
    typed = refused.value.hint.partition("e.g. ")[2].partition(", then")[0]
    subprocess.run(typed, shell=True, check=True)
    assert back(repo, run.commits["1-RED"]).kept


def test_what_is_as_it_was_or_goes_with_the_commit_is_not_in_the_way(repo: Repo) -> None:
    repo.commit("chore: with files", {"data/x": "old\n", "other": "old\n"})
    run = tell_run(repo)
    repo.git("rm", "-q", "data/x", "other")
    repo.commit("chore: ignore them", {".gitignore": "/link\n", "data": "a file now\n"})
    (repo.path / "other").mkdir()
    assert back(repo, run.commits["1-RED"]).kept
    assert (repo.path / "other").read_text() == (repo.path / "data" / "x").read_text() == "old\n"


def test_files_that_are_ignored_only_later_are_left_alone_and_told(repo: Repo) -> None:
    run = tell_run(repo)
    repo.commit("chore: ignore", {".gitignore": "secret.env\nout/\n"})
    repo.write("secret.env", "dear\n")
    repo.write("out/big", "dear\n")
    with surroundings(repo) as (around, told):
        recovery.rollback(around, run.commits["1-RED"])
    assert (repo.path / "secret.env").read_text() == (repo.path / "out" / "big").read_text() == "dear\n"
    assert [event for event in told if isinstance(event, Warned) and "out/, secret.env" in event.message]


def test_a_file_that_git_was_told_not_to_look_at_is_named_and_kept(repo: Repo) -> None:
    run = tell_run(repo, 2)
    tip = repo.git("rev-parse", "HEAD")
    repo.git("update-index", "--skip-worktree", "r-red.txt")
    repo.write("r-red.txt", "mine\n")
    with pytest.raises(NotReadyError, match="not uptodate") as refused:
        back(repo, run.commits["1-GREEN"])
    assert (repo.path / "r-red.txt").read_text() == "mine\n"
    subprocess.run(refused.value.hint.split("'")[1], shell=True, check=True, cwd=repo.path)
    back(repo, run.commits["1-GREEN"])
    assert (repo.path / "r-red.txt").read_text() == "1\n"
    mine = repo.git("hash-object", "--stdin", stdin="mine\n")
    assert mine in repo.git("rev-list", "--objects", "--all")
    assert tip in repo.refs().values()


# --- cut off


def die(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("owner", "step"), [(Rewinder, "check_out"), (GitWorkspace, "end")])
def test_whatever_was_cut_off_is_taken_to_its_end_by_the_next_command(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, owner: type, step: str
) -> None:
    run = tell_run(repo)
    tip = repo.git("rev-parse", "HEAD")
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, die)
        with pytest.raises(KeyboardInterrupt):
            back(repo, run.commits["1-GREEN"])
    with surroundings(repo) as (around, _), recovery.held(around) as here:
        assert here.workspace.head() == run.commits["1-GREEN"]
        here.workspace.require_clean()
    assert tip in repo.refs().values()
    assert repo.git("status", "--porcelain") == ""
    assert not place(repo).exists()


def test_what_leads_back_to_a_commit_that_is_gone_is_forgotten(repo: Repo) -> None:
    run = tell_run(repo)
    for moving in (True, False):
        mark = Mark("r", "1" * 40, "refs/heads/main", Refs({}), sealed=True, moving=moving)
        marks.write(place(repo), mark)
        repo.write("mine.txt", "mine\n")
        with surroundings(repo) as (around, _), recovery.held(around) as here:
            assert here.workspace.head() == run.commits["1-REFACTOR"]
        assert (repo.path / "mine.txt").exists()
        assert not place(repo).exists()


@pytest.mark.parametrize(
    "odd",
    [
        {"branch": 7},
        {"base": []},
        {"run_id": None},
        {"refs": []},
        {"refs": {"oids": {"a": 5}, "in_use": []}},
        {"refs": {"oids": {}, "in_use": [1]}},
        {"steering": {"a": 5}},
        {"steering": {"paths": ["a", "b", "c"], "gits": [], "folders": {}, "files": {"a": [1, 2, 3]}}},
    ],
)
def test_a_mark_that_cannot_be_read_is_none(repo: Repo, odd: dict[str, object]) -> None:
    run = tell_run(repo)
    marks.write(place(repo), Mark("r", run.commits["1-RED"], "refs/heads/main", Refs({})))
    place(repo).write_text(json.dumps(json.loads(place(repo).read_text()) | odd))
    with surroundings(repo) as (around, _), recovery.held(around) as here:
        assert here.workspace.head() == run.commits["1-REFACTOR"]


def test_files_half_laid_out_are_kept_and_laid_out_again(repo: Repo) -> None:
    run = tell_run(repo)
    tip, to = repo.git("rev-parse", "HEAD"), run.commits["1-GREEN"]
    mark = Mark("r", to, "refs/heads/main", Refs({}), sealed=True, moving=True)
    marks.write(place(repo), mark)
    (repo.path / ".git/index.lock").touch()
    (repo.path / "r-plan.txt").unlink()
    with surroundings(repo) as (around, told), recovery.held(around) as here:
        assert here.workspace.head() == to
        here.workspace.require_clean()
    (kept,) = [name for name in repo.refs() if name.startswith("refs/tdd/kept/r/rolled-back-")]
    assert repo.git("rev-parse", f"{kept}^") == tip
    assert kept in str(told)


def test_a_branch_that_moves_on_in_between_is_left_alone(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tell_run(repo)
    rival = repo.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "rival")

    class Late(GitWorkspace):
        def head(self) -> str:
            found = super().head()
            repo.git("update-ref", "refs/heads/main", rival)
            return found

    monkeypatch.setattr("redgreenrefactor.git.locked_checkout.GitWorkspace", Late)
    with surroundings(repo) as (around, _), recovery.held(around) as here, pytest.raises(RgrError):
        here.workspace.move("r", run.commits["1-RED"], "why")
    assert repo.git("rev-parse", "main") == rival
    assert not place(repo).exists()
