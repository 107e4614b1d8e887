"""Worktrees are made whole or not at all, and taken away without losing anything."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.git.worktrees import drop_branch, is_made, main_root, make, unmake, worktrees
from repos import Repo

BRANCH = "tdd/x"


@pytest.fixture
def repository(repo: Repo) -> Iterator[Repository]:
    repo.commit("chore: start", {"a.txt": "a\n"})
    found = open_repository(repo.path, repo.env)
    yield found
    found.close()


@pytest.fixture
def folder(repo: Repo) -> Path:
    return repo.path.parent / ".codex-worktrees" / "x"


def made(repo: Repo, repository: Repository, folder: Path) -> str:
    start = repo.git("rev-parse", "HEAD")
    make(repository, folder, BRANCH, start)
    return start


def test_a_worktree_has_a_branch_of_its_own_and_no_upstream(
    repo: Repo, repository: Repository, folder: Path
) -> None:
    start = made(repo, repository, folder)
    assert is_made(repository, folder)
    assert repo.git("-C", str(folder), "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert repo.git("rev-parse", BRANCH) == start
    assert "branch." not in repo.git("config", "--local", "--list")
    assert [tree.path for tree in worktrees(repository)] == [repo.path, folder]
    inside = open_repository(folder, repo.env)
    assert (main_root(inside), inside.main, repository.main) == (repo.path, repo.path, repo.path)
    inside.close()


def test_a_folder_with_something_in_it_is_refused_and_left_alone(
    repo: Repo, repository: Repository, folder: Path
) -> None:
    folder.mkdir(parents=True)
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(NotReadyError) as refused:
        made(repo, repository, folder)
    assert refused.value.type == "WorktreeExists"
    unmake(repository, folder)
    assert (folder / "mine.txt").read_text() == "mine"


def test_a_place_where_no_folder_can_be_made_is_refused(repo: Repo, repository: Repository) -> None:
    (repo.path.parent / "file").write_text("")
    with pytest.raises(NotReadyError) as refused:
        made(repo, repository, repo.path.parent / "file" / "x")
    assert refused.value.type == "WorktreeFailed"
    assert "worktree.dir" in refused.value.hint


@pytest.mark.parametrize("gone", ["nothing", "folder", "git", "admin"])
def test_it_is_taken_away_however_much_of_it_is_there(
    repo: Repo, repository: Repository, folder: Path, gone: str
) -> None:
    made(repo, repository, folder)
    if gone == "folder":
        shutil.rmtree(folder)
    elif gone == "git":
        (folder / ".git").unlink()
    elif gone == "admin":
        shutil.rmtree(repo.path / ".git" / "worktrees")
        shutil.rmtree(folder)
    for _ in range(2):
        unmake(repository, folder)
        assert not folder.parent.exists()
        assert [tree.path for tree in worktrees(repository)] == [repo.path]


def test_the_folder_of_others_stays(repo: Repo, repository: Repository, folder: Path) -> None:
    made(repo, repository, folder)
    folder.with_name("y").mkdir()
    unmake(repository, folder)
    assert list(folder.parent.iterdir()) == [folder.with_name("y")]


def test_the_main_checkout_is_never_taken_away(repo: Repo, repository: Repository) -> None:
    unmake(repository, repo.path)
    assert (repo.path / "a.txt").exists()


def test_a_dropped_branch_is_kept_unless_it_is_merged(
    repo: Repo, repository: Repository, folder: Path
) -> None:
    made(repo, repository, folder)
    assert drop_branch(repository, BRANCH, "x") is None
    repo.git("branch", BRANCH)
    tip = repo.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "feat: work")
    repo.git("update-ref", f"refs/heads/{BRANCH}", tip)
    assert drop_branch(repository, BRANCH, "x") == "refs/tdd/kept/x"
    assert repo.git("rev-parse", "refs/tdd/kept/x") == tip
    assert drop_branch(repository, BRANCH, "x") is None  # it is gone already
    other = repo.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "feat: other work")
    repo.git("update-ref", f"refs/heads/{BRANCH}", other)
    assert drop_branch(repository, BRANCH, "x") == "refs/tdd/kept/x"
    assert repo.git("rev-parse", f"refs/tdd/kept/x-{tip[:10]}") == tip  # the earlier one stays, too
