"""Whatever a session leaves in git's way, its work is sealed and gone back from."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from redgreenrefactor.git.obstacles import clear_away, clear_way
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.loop.workflows import TDD
from repos import Repo

RED = next(phase for phase in TDD.phases if phase.key == "red")


@pytest.fixture
def workspace(repo: Repo) -> Iterator[GitWorkspace]:
    repository = open_repository(repo.path, repo.env)
    yield GitWorkspace(repository)
    repository.close()


def sealed(repo: Repo, workspace: GitWorkspace, base: str) -> list[str]:
    """Return what the sealed commit changes."""
    commit = workspace.seal(base, RED, "it adds", empty=False).commit
    return repo.git("diff", "--name-status", base, commit).split()


def test_a_pipe_in_place_of_a_file_is_a_file_that_is_gone(repo: Repo, workspace: GitWorkspace) -> None:
    base = repo.commit("chore: code", {"code.py": "x = 1\n"})
    workspace.begin("r", base)
    (repo.path / "code.py").unlink()
    os.mkfifo(repo.path / "code.py")
    repo.write("new.py", "1\n")
    assert sealed(repo, workspace, base) == ["D", "code.py", "A", "new.py"]
    workspace.rewind(base)
    assert (repo.path / "code.py").read_text() == "x = 1\n"


@pytest.fixture
def promptly() -> Iterator[None]:
    """Nothing in here waits for ever."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("promptly")
def test_no_pipe_is_waited_at_that_git_takes_for_a_file(repo: Repo, workspace: GitWorkspace) -> None:
    base = repo.commit("chore: code", {"sub/code.py": "x = 1\n"})
    own = repo.path / "mine"
    os.mkfifo(own)
    workspace.begin("r", base)
    pipes = [".gitignore", "sub/.gitattributes", ".gitmodules", ".git/packed-refs", ".git/info/attributes"]
    for name in (*pipes, ".git/objects/info/alternates", ".git/shallow"):
        os.mkfifo(repo.path / name)
    repo.write("new.py", "1\n")
    done = workspace.seal(base, RED, "it adds", empty=False)
    assert f"{repo.path}/.gitignore was made a pipe during the session; it is gone" in done.warnings
    assert repo.git("diff", "--name-only", base, done.commit) == "new.py"
    assert own.is_fifo()


@pytest.mark.parametrize(("user", "found"), [(0, {"pipe", "run", "inner"}), (1000, {"pipe"})])
def test_pipes_are_found_by_everybody_and_programs_of_roots_group_by_root(
    tmp_path: Path, user: int, found: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("sub/deep", "node_modules"):
        (tmp_path / folder).mkdir(parents=True)
    os.mkfifo(tmp_path / "sub/deep/pipe")
    os.mkfifo(tmp_path / "old")
    moment = (tmp_path / "old").stat().st_ctime_ns + 1
    while (tmp_path / "sub/deep/pipe").stat().st_ctime_ns < moment:
        (tmp_path / "sub/deep/pipe").chmod(0o600)
    for place in (tmp_path / "sub/run", tmp_path / "node_modules/inner"):
        place.touch()
        place.chmod(0o2755)
    monkeypatch.setattr(os, "getuid", lambda: user)
    told = clear_away(tmp_path, (), moment)
    assert {Path(line.split(" was made ")[0]).name for line in told} == found
    assert (tmp_path / "old").is_fifo()
    assert not (tmp_path / "sub/deep/pipe").exists()


def test_folders_too_deep_for_git_are_gone_with_everything_else(repo: Repo, workspace: GitWorkspace) -> None:
    base = repo.commit("chore: ignore", {".gitignore": "*.log\n"})
    workspace.begin("r", base)
    repo.write("my.log", "precious\n")
    folder = os.open(repo.path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d" * 9, dir_fd=folder)
        inner = os.open("d" * 9, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    workspace.rewind(base)
    assert sorted(path.name for path in repo.path.iterdir()) == [".git", ".gitignore", "README.md", "my.log"]


def test_rights_come_back_but_not_behind_a_link(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    for folder in (root / "locked", elsewhere):
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
        (folder / "file").chmod(0)
    (root / "locked").chmod(0o500)
    (root / "link").symlink_to(elsewhere)
    (root / "open").write_text("x")
    (root / "open").chmod(0o644)
    clear_way(root, ["locked/file", "link/file", "link", "open", "gone/file"])
    modes = [(root / name).stat().st_mode & 0o777 for name in ("locked", "locked/file", "open")]
    assert modes == [0o700, 0o600, 0o644]
    assert (elsewhere / "file").stat().st_mode & 0o777 == 0
