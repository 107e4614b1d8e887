"""Work of a session that has reached a remote is told; what others push and fetch is not blamed on it."""

import shlex
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Sealed
from repos import MakeRepo, Repo


class Play:
    """A run on the branch `work` of a repository whose main is at origin."""

    def __init__(self, repo: Repo, workspace: GitWorkspace) -> None:
        self.repo, self.workspace = repo, workspace
        self.turns = 0

    def turn(self, *does: Callable[["Play"], object]) -> Sealed:
        """Let a session do something, and seal it."""
        self.turns += 1
        base = self.repo.git("rev-parse", "HEAD")
        self.workspace.begin("r", base)
        for act in does:
            act(self)
        sealed = self.workspace.seal(base, TDD.phase(PhaseName.GREEN), "adds", empty=True)
        self.workspace.end()
        return sealed

    def there(self, branch: str) -> str:
        return self.repo.git("ls-remote", "origin", f"refs/heads/{branch}").partition("\t")[0]

    @property
    def other(self) -> Path:
        """Another checkout of the same repository, with main in it."""
        folder = self.repo.path.parent / "other"
        if not folder.exists():
            self.repo.git("worktree", "add", "-q", str(folder), "main")
        return folder


@pytest.fixture
def play(make_repo: MakeRepo, tmp_path: Path) -> Generator[Play]:
    repo = make_repo("mine/project")
    repo.git("init", "-q", "--bare", str(tmp_path / "bare"))
    repo.git("remote", "add", "origin", str(tmp_path / "bare"))
    repo.git("push", "-q", "origin", "main")
    repo.git("switch", "-q", "-c", "work")
    with closing(open_repository(repo.path, repo.env)) as repository:
        yield Play(repo, GitWorkspace(repository))


def committed(play: Play) -> None:
    play.repo.commit(f"feat: {play.turns}", {f"made-{play.turns}.py": "x = 1\n"})


def pushed(*args: str) -> Callable[[Play], object]:
    return lambda play: play.repo.git("push", "-q", "origin", *args)


def by_hand(*args: str) -> Callable[[Play], object]:
    """Let a person do something in the other checkout."""
    return lambda play: play.repo.git("-C", str(play.other), *args)


def amended(play: Play) -> None:
    play.repo.git("commit", "-q", "--amend", "-m", "feat: another")


@pytest.mark.parametrize(
    ("does", "branch"),
    [
        ((committed, pushed("HEAD:main")), "main"),
        ((committed, pushed("HEAD:refs/heads/new")), "new"),
        ((committed, pushed("work")), "work"),
        ((committed, pushed("HEAD:main"), amended), "main"),
        ((pushed("HEAD:main"), committed), "main"),  # of the turn before: accepted, but not for there
    ],
)
def test_a_push_of_the_sessions_work_is_told_once_and_can_be_undone_by_hand(
    play: Play, does: tuple[Callable[[Play], object], ...], branch: str
) -> None:
    assert play.turn(committed).pushed == ()
    before = play.there(branch)
    sealed = play.turn(*does)
    (words,), (advice,) = sealed.pushed, sealed.advice
    assert f"{branch} on origin was moved to {play.there(branch)[:10]}" in words
    assert sealed.rewritten == ()
    assert play.repo.git("rev-parse", f"origin/{branch}") == play.there(branch)  # what is true there, stays

    assert play.turn(committed).pushed == ()
    command = shlex.split(advice.partition("type: ")[2])
    play.repo.git(*command[1:])
    assert play.there(branch) == before
    assert play.turn(committed).pushed == ()


@pytest.mark.parametrize(
    "does",
    [
        (by_hand("commit", "-q", "--allow-empty", "-m", "mine"), by_hand("push", "-q", "origin", "main")),
        (by_hand("push", "-q", "origin", "main:refs/heads/mine"),),
        (by_hand("push", "-q", "origin", "work"),),  # what is accepted, to where it belongs
        (by_hand("switch", "-q", "-c", "more", "work"), by_hand("push", "-q", "origin", "more")),
        (by_hand("push", "-q", "origin", ":old"),),
    ],
)
def test_what_a_person_pushes_meanwhile_is_nobodys_fault(
    play: Play, does: tuple[Callable[[Play], object], ...]
) -> None:
    play.repo.git("push", "-q", "origin", "main:refs/heads/old")
    play.turn(committed)
    assert play.other.exists()
    assert play.turn(*does, committed).pushed == ()


def test_what_a_fetch_brings_is_nobodys_fault(play: Play, make_repo: MakeRepo) -> None:
    theirs = make_repo("theirs")
    theirs.git("fetch", "-q", play.repo.git("remote", "get-url", "origin"), "main")
    theirs.git("reset", "-q", "--hard", "FETCH_HEAD")
    theirs.commit("feat: theirs", {"theirs.py": ""})
    theirs.git("push", "-q", play.repo.git("remote", "get-url", "origin"), "HEAD:main")
    before = play.repo.git("rev-parse", "origin/main")
    assert play.turn(committed, lambda play: play.repo.git("fetch", "-q")).pushed == ()
    assert play.repo.git("rev-parse", "origin/main") != before


def test_without_a_log_of_what_was_checked_out_the_session_is_judged_by_where_it_ended(play: Play) -> None:
    (play.repo.path / ".git/logs/HEAD").unlink()
    play.repo.git("config", "core.logAllRefUpdates", "false")
    assert play.turn(committed, pushed("HEAD:main")).pushed
