"""Files that git was told not to look at: a session hides nothing, and what the user has hidden is left alone."""

from collections.abc import Callable, Generator

import pytest

from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Sealed
from repos import MakeRepo, Repo

FILES = {"a.py": "1\n", "b.py": "1\n", "docs/c.md": "1\n"}
WAYS = ["--skip-worktree", "--assume-unchanged"]


class Work:
    """A checkout, plain or linked, and the workspace of one invocation after the other."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.repository: Repository | None = None
        self.again()

    def again(self) -> GitWorkspace:
        """Die, and start anew."""
        self.close()
        self.repository = open_repository(self.repo.path, self.repo.env)
        self.workspace = GitWorkspace(self.repository)
        self.base = self.repo.git("rev-parse", "HEAD")
        return self.workspace

    def close(self) -> None:
        if self.repository:
            self.repository.close()

    def begin(self) -> None:
        self.workspace.begin("run-1", self.base)

    def seal(self) -> Sealed:
        return self.workspace.seal(self.base, TDD.phase(PhaseName.GREEN), "adds", empty=False)

    def changed(self, sealed: Sealed) -> dict[str, str | None]:
        changes = self.workspace.changes(self.base, sealed.commit)
        return {change.path: change.after.text if change.after else None for change in changes}

    def hidden(self) -> list[str]:
        listed = self.repo.git("ls-files", "-v").splitlines()
        return [line for line in listed if not line.startswith("H ")]

    def text(self, path: str) -> str:
        return (self.repo.path / path).read_text()


@pytest.fixture(params=["main", "linked"])
def work(make_repo: MakeRepo, request: pytest.FixtureRequest) -> Generator[Work]:
    repo = make_repo(files=FILES)
    if request.param == "linked":
        repo.git("worktree", "add", "-q", "-b", "side", "../side")
        repo = Repo(repo.path.with_name("side"), repo.env)
    made = Work(repo)
    yield made
    made.close()


@pytest.mark.parametrize("way", WAYS)
def test_what_a_session_hides_is_sealed_as_it_lies_there_and_hidden_no_longer(work: Work, way: str) -> None:
    work.begin()
    work.repo.git("update-index", way, "a.py", "b.py")
    work.repo.write("a.py", "2\n")
    (work.repo.path / "b.py").unlink()
    sealed = work.seal()
    assert work.changed(sealed) == {"a.py": "2\n", "b.py": None}
    assert sealed.warnings == ("hidden from git during the session, and looked at all the same: a.py, b.py",)
    assert work.hidden() == []


def by_command(work: Work) -> None:
    work.repo.git("sparse-checkout", "set", "docs", "--no-cone")


def by_hand(work: Work) -> None:
    work.repo.git("config", "core.sparseCheckout", "true")
    place = work.repo.path / work.repo.git("rev-parse", "--git-path", "info/sparse-checkout")
    place.parent.mkdir(exist_ok=True)
    place.write_text("docs\n")
    work.repo.git("read-tree", "-m", "-u", "HEAD")


@pytest.mark.parametrize("narrow", [by_command, by_hand])
def test_after_patterns_of_a_session_the_retry_finds_and_changes_every_file(
    work: Work, narrow: Callable[[Work], None]
) -> None:
    work.begin()
    narrow(work)
    assert not (work.repo.path / "a.py").exists()
    work.seal()
    work.workspace.rewind(work.base)
    assert (work.text("a.py"), work.hidden()) == ("1\n", [])
    work.begin()
    work.repo.write("a.py", "2\n")
    assert work.changed(work.seal()) == {"a.py": "2\n"}


@pytest.mark.parametrize("way", WAYS)
def test_a_session_that_is_cut_off_hides_nothing_either(work: Work, way: str) -> None:
    work.begin()
    work.repo.git("update-index", way, "a.py")
    work.repo.write("a.py", "2\n")
    kept = work.again().recover(lambda _commit: False)
    assert kept
    assert work.repo.git("show", f"{kept}:a.py") == "2"
    assert (work.text("a.py"), work.hidden()) == ("1\n", [])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shows", [False, True])
def test_what_the_user_has_hidden_is_neither_sealed_nor_shown_nor_reset(
    work: Work, way: str, *, shows: bool
) -> None:
    work.repo.git("update-index", way, "a.py")
    work.repo.write("a.py", "mine\n")
    before = work.hidden()
    for number in (1, 2):
        work.begin()
        if shows:
            work.repo.git("update-index", f"--no-{way[2:]}", "a.py")
        work.repo.git("update-index", way, "b.py")
        work.repo.write("b.py", f"{number}2\n")
        sealed = work.seal()
        assert work.changed(sealed) == {"b.py": f"{number}2\n"}
        work.workspace.rewind(work.base)
        assert (work.text("a.py"), work.text("b.py"), work.hidden()) == ("mine\n", "1\n", before)
    assert work.repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("way", WAYS)
def test_what_the_user_has_hidden_is_hidden_again_after_a_commit_without_it(work: Work, way: str) -> None:
    work.repo.git("update-index", way, "a.py")
    before = work.hidden()
    work.begin()
    work.repo.git("update-index", f"--no-{way[2:]}", "a.py")
    work.repo.git("rm", "-q", "a.py")
    assert work.changed(work.seal()) == {"a.py": None}
    work.workspace.rewind(work.base)
    assert (work.text("a.py"), work.hidden()) == ("1\n", before)


def test_the_users_own_sparse_checkout_stays_as_it_is(work: Work) -> None:
    work.repo.git("sparse-checkout", "set", "--cone", "none")
    before = work.hidden()
    assert before == ["S docs/c.md"]
    for disables in (False, True):
        work.begin()
        if disables:
            work.repo.git("sparse-checkout", "disable")
        work.repo.write("a.py", f"{disables}\n")
        assert work.changed(work.seal()) == {"a.py": f"{disables}\n"}
        work.workspace.rewind(work.base)
    work.repo.git("sparse-checkout", "reapply")
    assert work.hidden() == before
    assert not (work.repo.path / "docs").exists()


@pytest.mark.parametrize("way", WAYS)
def test_a_rollback_leaves_what_the_user_has_hidden_alone(work: Work, way: str) -> None:
    work.repo.commit("feat: more", {"b.py": "2\n"})
    work.repo.git("update-index", way, "a.py")
    work.repo.write("a.py", "mine\n")
    before = work.hidden()
    work.workspace.move("run-1", work.base, "rollback")
    assert (work.text("a.py"), work.text("b.py"), work.hidden()) == ("mine\n", "1\n", before)
