"""The git folder that stands in for the real one."""

import os
import shutil
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Sealed
from repos import MakeRepo, Repo

RED = next(phase for phase in TDD.phases if phase.name is PhaseName.RED)


def test_every_checkout_is_shown_its_own_submodules(make_repo: MakeRepo) -> None:
    library, repo = make_repo("library"), make_repo("main")
    allow = ("-c", "protocol.file.allow=always")
    repo.git(*allow, "submodule", "add", "-q", str(library.path), "sub")
    repo.git("commit", "-q", "-m", "chore: library")
    linked = repo.path.parent / "linked"
    repo.git("worktree", "add", "-q", str(linked))
    Repo(linked, repo.env).git(*allow, "submodule", "--quiet", "update", "--init")
    for place, modules in ((repo.path, ".git/modules"), (linked, ".git/worktrees/linked/modules")):
        repository = open_repository(place, repo.env)
        shown = dict(GitWorkspace(repository).lend().shown())
        assert shown[repository.git_dir / "modules"] == repo.path / modules
        repository.close()


@dataclass
class Session:
    """A session that has a git folder of its own; outside a cage it has to be told where the borrowed objects are."""

    repo: Repo
    workspace: GitWorkspace

    def __post_init__(self) -> None:
        self.base = self.workspace.head()
        self.workspace.begin("run", self.base)
        self.folder = self.workspace.lend().folder
        objects = self.repo.path / ".git/objects"
        env = {"GIT_DIR": str(self.folder), "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects)}
        self.inside = Repo(self.repo.path, {**self.repo.env, **env, "GIT_WORK_TREE": str(self.repo.path)})

    def seal(self) -> Sealed:
        return self.workspace.seal(self.base, RED, "a case", empty=False)


@pytest.fixture
def session(repo: Repo) -> Generator[Session]:
    repo.git("branch", "other")
    with closing(open_repository(repo.path, repo.env)) as repository:
        yield Session(repo, GitWorkspace(repository))


def test_what_is_committed_in_it_is_taken_over_and_it_is_gone(session: Session) -> None:
    made = session.inside.commit("test: one more", {"tests.py": "x = 1\n"})
    assert session.repo.git("rev-parse", "HEAD") == session.base
    sealed = session.seal()
    assert (sealed.commit, sealed.subject, sealed.resealed, sealed.warnings) == (
        made,
        "test: one more",
        False,
        (),
    )
    assert session.repo.git("show", "HEAD:tests.py") == "x = 1"
    assert session.repo.git("status", "--porcelain") == ""
    assert not session.folder.exists()


def test_new_refs_are_kept_and_those_from_before_are_told_and_left_alone(session: Session) -> None:
    session.inside.commit("test: one more", {"tests.py": "x = 1\n"})
    session.inside.git("branch", "mine")
    session.inside.git("branch", "-f", "other", "HEAD")
    assert session.seal().rewritten == ("refs/heads/other was moved",)
    assert session.repo.git("rev-parse", "other") == session.base
    kept = session.repo.git("for-each-ref", "--format=%(refname)", "refs/tdd/kept")
    assert "heads/mine" in kept


def test_a_session_that_ends_detached_has_its_last_commit_taken(session: Session) -> None:
    session.inside.git("checkout", "-q", "--detach")
    session.inside.commit("test: one more", {"tests.py": "x = 1\n"})
    assert session.seal().subject == "test: one more"
    assert session.repo.git("symbolic-ref", "HEAD") == "refs/heads/main"


def test_settings_that_count_are_there_without_secrets_and_signatures(repo: Repo) -> None:
    repo.git("config", "remote.origin.url", "https://me:hunter2@example.invalid/x.git")
    repo.git("config", "commit.gpgsign", "true")
    repo.git("config", "core.hooksPath", "tools/hooks")
    with closing(open_repository(repo.path, repo.env)) as repository:
        told = Session(repo, GitWorkspace(repository)).inside.git("config", "--local", "--list").splitlines()
    assert {"user.name=Ada", "core.hookspath=tools/hooks", "commit.gpgsign=false"} <= set(told)
    assert "remote.origin.url=https://example.invalid/x.git" in told


@pytest.mark.parametrize("harm", ["objects", "head", "refs"])
def test_a_stand_in_that_was_tampered_with_harms_nobody(session: Session, harm: str, tmp_path: Path) -> None:
    session.inside.commit("test: one more", {"tests.py": "x = 1\n"})
    if harm == "objects":
        shutil.rmtree(session.folder / "objects")
        (session.folder / "objects").symlink_to(tmp_path)
    elif harm == "head":
        (session.folder / "HEAD").unlink()
        os.mkfifo(session.folder / "HEAD")
    else:
        (session.folder / "packed-refs").unlink()
        (session.folder / "refs/heads/main").write_text("nonsense")
    sealed = session.seal()
    assert sealed.subject == "test: a case"  # of the files, which are as it left them
    assert any("could not be taken over" in told for told in sealed.warnings) == (harm == "objects")
    assert session.repo.git("rev-parse", "other") == session.base


def test_what_nobody_could_check_out_is_not_taken_over(session: Session) -> None:
    tree = session.inside.git("rev-parse", "HEAD^{tree}")
    for _ in range(10):
        listing = "".join(f"040000 tree {tree}\td{number}\n" for number in range(8))
        tree = session.inside.git("mktree", stdin=listing)
    session.inside.git("update-ref", "HEAD", session.inside.git("commit-tree", "-p", "HEAD", "-m", "x", tree))
    sealed = session.seal()
    assert "unfold to more than" in " ".join(sealed.warnings)
    assert sealed.commit == session.base


def test_objects_with_holes_are_not_copied(session: Session) -> None:
    made = session.inside.commit("test: one more", {"tests.py": "x = 1\n"})
    (session.folder / "objects/ab").mkdir(exist_ok=True)
    odd = session.folder / f"objects/ab/{'0' * 38}"
    odd.touch()
    os.truncate(odd, 1 << 42)
    assert session.seal().commit == made
