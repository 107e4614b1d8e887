"""Going back loses nothing of the user's, and a crash is cleaned up after."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from repos import MakeRepo, Repo


@pytest.fixture
def workspace(repo: Repo) -> Iterator[GitWorkspace]:
    repository = open_repository(repo.path, repo.env)
    yield GitWorkspace(repository)
    repository.close()


def never(_commit: str) -> bool:
    return False


def test_tracked_files_come_back_new_ones_go_ignored_ones_stay(repo: Repo, workspace: GitWorkspace) -> None:
    base = repo.commit("chore: ignore", {".gitignore": "*.log\n"})
    workspace.begin("r", base)
    repo.write("README.md", "spoiled\n")
    repo.write("new/file.py", "1\n")
    repo.write("my.log", "precious\n")
    repo.write("node_modules/a.js", "dear\n")
    repo.write(".gitignore", "")
    workspace.rewind(base)
    assert (repo.path / "README.md").read_text() == "hello\n"
    assert not (repo.path / "new").exists()
    assert (repo.path / "my.log").read_text() == "precious\n"
    assert (repo.path / "node_modules/a.js").exists()


def test_a_merge_that_was_left_half_done_is_undone(repo: Repo, workspace: GitWorkspace) -> None:
    base = repo.git("rev-parse", "HEAD")
    workspace.begin("r", base)
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", {"README.md": "side\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("main", {"README.md": "main\n"})
    with pytest.raises(AssertionError):
        repo.git("merge", "side")
    workspace.rewind(base)
    assert repo.git("status", "--porcelain") == ""
    assert not (repo.path / ".git/MERGE_HEAD").exists()


def test_leftovers_of_a_killed_session_are_kept_and_rewound(repo: Repo) -> None:
    base = repo.git("rev-parse", "HEAD")
    repo.git("tag", "v1")
    first = open_repository(repo.path, repo.env)
    GitWorkspace(first).begin("r1", base)
    first.close()
    repo.git("checkout", "-q", "-b", "elsewhere")
    repo.commit("feat: half", {"half.py": "1\n"})
    repo.git("tag", "-d", "v1")
    repo.write("loose.py", "2\n")
    (repo.path / ".git/index.lock").write_text("")
    second = open_repository(repo.path, repo.env)
    kept = GitWorkspace(second).recover(never)
    second.close()
    assert kept is not None
    assert kept.startswith("refs/tdd/kept/r1/")
    assert repo.git("show", f"{kept}:half.py", f"{kept}:loose.py").split() == ["1", "2"]
    assert repo.git("rev-parse", "HEAD") == base
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert repo.git("rev-parse", "v1") == base
    assert repo.git("status", "--porcelain") == ""
    assert not second.mark.exists()


def test_a_turn_whose_handoff_was_written_is_not_undone(repo: Repo) -> None:
    base = repo.git("rev-parse", "HEAD")
    first = open_repository(repo.path, repo.env)
    GitWorkspace(first).begin("r1", base)
    first.close()
    head = repo.commit("feat: whole", {"a.py": "1\n"})
    second = open_repository(repo.path, repo.env)
    assert GitWorkspace(second).recover(lambda commit: commit == head) is None
    second.close()
    assert repo.git("rev-parse", "HEAD") == head


def test_without_a_mark_nothing_is_touched(repo: Repo, workspace: GitWorkspace) -> None:
    repo.write("mine.py", "1\n")
    assert workspace.recover(never) is None
    assert (repo.path / "mine.py").exists()


def test_a_dirty_tree_is_refused_by_name(repo: Repo, workspace: GitWorkspace) -> None:
    repo.write("README.md", "changed\n")
    repo.write("with space.txt", "x\n")
    with pytest.raises(NotReadyError, match=r"README.md, with space.txt") as refusal:
        workspace.require_clean()
    assert "git stash -u" in refusal.value.hint


def test_dependency_folders_are_not_dirt(repo: Repo, workspace: GitWorkspace) -> None:
    repo.write("node_modules/x.js", "1\n")
    repo.write("venv/pyvenv.cfg", "home=x\n")
    repo.write("venv/lib/x.py", "1\n")
    workspace.require_clean()


def test_a_merge_in_progress_is_refused(repo: Repo, workspace: GitWorkspace) -> None:
    (repo.path / ".git/MERGE_HEAD").write_text(repo.git("rev-parse", "HEAD") + "\n")
    with pytest.raises(NotReadyError, match="a merge is in progress"):
        workspace.require_clean()


def test_the_clean_checkout_holds_the_commit_and_what_git_does_not_track(
    repo: Repo, workspace: GitWorkspace
) -> None:
    base = repo.commit("chore: files", {".gitignore": ".env\nvenv/\n", "pkg/a.py": "1\n"})
    repo.write(".env", "SECRET=1\n")
    repo.write("venv/pyvenv.cfg", "home=x\n")
    later = repo.commit("feat: more", {"pkg/b.py": "2\n"})
    folder = workspace.checkout(base, {})
    assert (folder / "pkg/a.py").read_text() == "1\n"
    assert not (folder / "pkg/b.py").exists()
    assert (folder / ".env").read_text() == "SECRET=1\n"
    assert (folder / "venv").is_symlink()
    (folder / "pkg/a.py").write_text("spoiled\n")
    (folder / "junk").mkdir()
    (folder / "junk/x").write_text("x")
    folder = workspace.checkout(later, {"pkg/a.py": "replaced\n", "pkg/b.py": None, "new/c.py": "3\n"})
    assert (folder / "pkg/a.py").read_text() == "replaced\n"
    assert not (folder / "pkg/b.py").exists()
    assert (folder / "new/c.py").read_text() == "3\n"
    assert not (folder / "junk").exists()
    folder = workspace.checkout(later, {})
    assert {p.name for p in (folder / "pkg").iterdir()} == {"a.py", "b.py"}
    assert (folder / "pkg/a.py").read_text() == "1\n"
    assert not (folder / "new").exists()
    assert (repo.path / ".env").exists()


def test_a_project_in_a_subfolder(make_repo: MakeRepo) -> None:
    repo = make_repo(files={"sub/a.py": "1\n", "sub/test-list.md": "- [ ] x\n", "other.py": "1\n"})
    repository = open_repository(repo.path / "sub", repo.env)
    workspace = GitWorkspace(repository)
    base = workspace.head()
    assert (workspace.project, workspace.prefix) == (repo.path / "sub", "sub/")
    assert workspace.checkout(base, {}) == workspace.checkout(base, {})
    assert (workspace.checkout(base, {}) / "a.py").exists()
    listed = workspace.read(base, "test-list.md")
    assert listed is not None
    assert listed[1] == "- [ ] x\n"
    ticked = repo.commit("plan: tick", {"sub/test-list.md": "- [x] x\n"})
    other = repo.commit("feat: other", {"other.py": "2\n"})
    assert workspace.fingerprint(base) == workspace.fingerprint(ticked) != workspace.fingerprint(other)
    repository.close()


@pytest.mark.parametrize("kind", ["none", "bare"])
def test_no_repository_or_a_bare_one_is_not_ready(tmp_path: Path, env: dict[str, str], kind: str) -> None:
    if kind == "bare":
        Repo(tmp_path, env).git("init", "-q", "--bare")
    with pytest.raises(NotReadyError) as refusal:
        open_repository(tmp_path, env)
    assert refusal.value.exit_code == 3
    assert refusal.value.hint
