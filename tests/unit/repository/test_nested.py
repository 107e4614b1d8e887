"""What a session does to repositories and virtual environments among ignored files is told of."""

import os
from collections.abc import Generator

import pytest

from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Sealed
from redgreenrefactor.repository.nested import has_commit
from redgreenrefactor.repository.repository import open_repository
from redgreenrefactor.repository.workspace import GitWorkspace
from redgreenrefactor.workflows.tdd import TDD
from repos import MakeRepo, Repo


class Turn:
    """One session in a project with a clone and an environment that git ignores."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        repo.commit("chore: ignore", {".gitignore": "vendor/\n.venv/\nnode_modules/\n"})
        repo.git("init", "-q", "vendor/lib")
        repo.write("vendor/lib/a.py", "1\n")
        repo.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
        repo.write(".venv/lib/python3/site-packages/x.py", "1\n")
        self.repository = open_repository(repo.path, repo.env)
        self.workspace = GitWorkspace(self.repository)
        self.base = self.workspace.head()
        self.workspace.begin("run", self.base)

    def seal(self) -> Sealed:
        return self.workspace.seal(self.base, TDD.phase(PhaseName.GREEN), "a", empty=False)


@pytest.fixture
def turn(repo: Repo) -> Generator[Turn]:
    made = Turn(repo)
    yield made
    made.repository.close()


@pytest.mark.parametrize("name", ["hooks/post-checkout", "config", "commondir"])
def test_what_is_planted_into_an_ignored_repository_is_told_whatever_its_time_says(
    turn: Turn, name: str
) -> None:
    place = turn.repo.write(f"vendor/lib/.git/{name}", "[core]\n\tfsmonitor = evil\n")
    os.utime(place, (0, 0))
    (told,) = turn.seal().warnings
    assert f"the repository vendor/lib was changed during the session (.git/{name})" in told


def test_a_repository_and_an_environment_that_a_session_made_are_told(turn: Turn) -> None:
    turn.repo.git("init", "-q", "vendor/new")
    turn.repo.write("vendor/env/pyvenv.cfg", "home = /tmp\n")
    assert [line.split(" was ")[0] for line in turn.seal().warnings] == [
        "the repository vendor/new",
        "the virtual environment vendor/env",
    ]


def test_an_environment_that_was_changed_is_told_with_what(turn: Turn) -> None:
    for name in ("a.pth", "b.py", "x.py", "z.py"):
        turn.repo.write(f".venv/lib/python3/site-packages/{name}", "import evil\n")
    (told,) = turn.seal().warnings
    assert "the virtual environment .venv" in told
    assert "site-packages/a.pth" in told
    assert "and 1 more" in told


def test_honest_work_beside_them_is_not_worth_a_word(turn: Turn) -> None:
    turn.repo.write("vendor/lib/a.py", "2\n")
    turn.repo.git("-C", "vendor/lib", "add", "-A")
    turn.repo.write(".venv/lib/python3/site-packages/__pycache__/x.pyc", "1\n")
    turn.repo.write("node_modules/x/index.js", "2\n")
    turn.repo.write("b.py", "1\n")
    assert turn.seal().warnings == ()


def test_what_a_killed_session_planted_is_told_by_whoever_comes_next(turn: Turn) -> None:
    turn.repo.write("vendor/lib/.git/hooks/pre-commit", "evil\n")
    turn.repository.close()
    turn.repository = open_repository(turn.repo.path, turn.repo.env)
    workspace = GitWorkspace(turn.repository)
    workspace.recover(lambda _: False)
    assert "vendor/lib" in workspace.noticed[0]


def test_a_link_in_place_of_an_ignored_folder_is_not_followed(turn: Turn, make_repo: MakeRepo) -> None:
    other = make_repo("other")
    other.write(".git/hooks/pre-commit", "mine\n")
    (turn.repo.path / "vendor/link").symlink_to(other.path)
    assert turn.seal().warnings == ()


@pytest.mark.parametrize("packed", [False, True])
def test_whether_a_repository_has_a_commit_is_known_without_git(repo: Repo, packed: bool) -> None:
    assert has_commit(repo.path / ".git")
    if packed:
        repo.git("pack-refs", "--all")
        assert has_commit(repo.path / ".git")
    repo.git("symbolic-ref", "HEAD", "refs/heads/unborn")
    assert not has_commit(repo.path / ".git")
    repo.git("checkout", "-q", "--detach", "main")
    assert has_commit(repo.path / ".git")
    assert not has_commit(repo.path / "nowhere")
