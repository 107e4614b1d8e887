"""One repository, seen from one of its checkouts."""

import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.git.repository import OURS, CheckoutStatus, Repository, open_repository, own_folder
from repos import MakeRepo, Repo

# --- opening


def test_a_project_may_lie_in_a_subfolder(make_repo: MakeRepo) -> None:
    repo = make_repo(files={"päckage/deep er/a.py": "1\n"})
    found = open_repository(repo.path / "päckage/deep er", repo.env)
    assert (found.root, found.prefix) == (repo.path, "päckage/deep er/")
    assert found.project == repo.path / "päckage/deep er"
    assert found.git_dir == found.common_dir == repo.path / ".git"


def test_a_worktree_has_a_git_folder_of_its_own(repo: Repo) -> None:
    other = repo.path.parent / "other"
    repo.git("worktree", "add", "-q", str(other))
    found = open_repository(other, repo.env)
    assert (found.root, found.prefix, found.common_dir) == (other, "", repo.path / ".git")
    assert found.git_dir == repo.path / ".git/worktrees/other"


def test_a_link_to_a_project_leads_to_it(repo: Repo) -> None:
    link = repo.path.parent / "link"
    link.symlink_to(repo.path)
    found = open_repository(link, repo.env)
    assert (found.root, found.project, found.git_dir) == (repo.path, repo.path, repo.path / ".git")


def test_the_git_folder_itself_is_no_project(repo: Repo) -> None:
    with pytest.raises(NotReadyError) as refusal:
        open_repository(repo.path / ".git", repo.env)
    assert refusal.value.exit_code == 3


def test_a_repository_git_does_not_trust_is_told_in_its_words(tmp_path: Path) -> None:
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\necho \"fatal: detected dubious ownership in '/x'\" >&2\nexit 128\n")
    git.chmod(0o755)
    with pytest.raises(NotReadyError, match="dubious ownership") as refusal:
        open_repository(tmp_path, {"PATH": str(tmp_path)})
    assert "safe.directory" in refusal.value.hint


def test_opening_writes_nothing_and_closing_ends_what_was_begun(repo: Repo) -> None:
    before = sorted(place for place in repo.path.rglob("*"))
    found = open_repository(repo.path, repo.env)
    found.close()
    assert sorted(place for place in repo.path.rglob("*")) == before
    assert found.objects.resolve("HEAD") is not None
    found.close()


# --- who we are


@pytest.mark.parametrize(
    ("config", "environ", "ours"),
    [
        (("user.name", "user.email"), (), False),
        (("user.name",), (), True),
        ((), (), True),
        ((), tuple(OURS), False),
        ((), ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"), True),
    ],
)
def test_commits_are_the_users_or_ours(
    make_repo: MakeRepo, config: tuple[str, ...], environ: tuple[str, ...], ours: bool
) -> None:
    repo = make_repo(born=False)
    for key in ("user.name", "user.email"):
        repo.git("config", "--unset", key)
    for key in config:
        repo.git("config", key, "somebody")
    found = open_repository(repo.path, {**repo.env, **dict.fromkeys(environ, "somebody")})
    assert found.identity == (OURS if ours else {})
    tree = found.git.text("mktree")
    commit = found.git.text("commit-tree", tree, "-m", "x")
    names = found.git.text("log", "-1", "--format=%an %cn", commit)
    assert names == ("RedGreenRefactor RedGreenRefactor" if ours else "somebody somebody")


def test_the_last_value_of_a_setting_counts(repo: Repo) -> None:
    repo.git("config", "--add", "user.name", "Grace")
    repo.git("config", "multi.line", "a\nb")
    config = open_repository(repo.path, repo.env).config
    assert (config["user.name"], config["multi.line"]) == ("Grace", "a\nb")


# --- a folder of our own


def test_our_folder_is_the_same_for_every_run_in_a_checkout(repo: Repo, env: dict[str, str]) -> None:
    folder = open_repository(repo.path, env).cache
    assert folder == open_repository(repo.path, env).cache
    assert folder.parent == Path(env["XDG_CACHE_HOME"]) / "redgreenrefactor"
    other = repo.path.parent / "other"
    repo.git("worktree", "add", "-q", str(other))
    assert open_repository(other, env).cache not in (folder, folder.parent)


def test_asking_where_it_is_makes_nothing_and_making_it_keeps_others_out(
    repo: Repo, env: dict[str, str], tmp_path: Path
) -> None:
    repository = open_repository(repo.path, {**env, "XDG_CACHE_HOME": str(tmp_path / "own")})
    assert repository.cache.is_relative_to(tmp_path / "own")
    assert repository.mark.is_relative_to(tmp_path / "own")
    assert not (tmp_path / "own").exists()
    folder = repository.make_cache()
    assert folder == repository.cache == repository.make_cache()
    assert [oct(place.stat().st_mode & 0o777) for place in (folder, folder.parent)] == ["0o700"] * 2


def test_without_a_setting_it_lies_in_the_home_folder(repo: Repo, env: dict[str, str]) -> None:
    del env["XDG_CACHE_HOME"]
    assert open_repository(repo.path, env).cache.parent == Path(env["HOME"]) / ".cache/redgreenrefactor"


def test_where_home_cannot_be_written_the_temporary_folder_serves(
    repo: Repo, env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    hopeless = {**env, "XDG_CACHE_HOME": str(tmp_path / "file")}
    assert open_repository(repo.path, hopeless).cache.parent.parent == tmp_path
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    with pytest.raises(NotReadyError, match="no folder outside the repository") as refusal:
        _ = open_repository(repo.path, hopeless).cache
    assert "XDG_CACHE_HOME" in refusal.value.hint


def test_it_never_lies_where_sessions_write(
    repo: Repo, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = {**env, "HOME": str(repo.path / "home"), "XDG_CACHE_HOME": ""}
    monkeypatch.setattr(tempfile, "tempdir", str(repo.path / "tmp"))
    folder = own_folder(inside, repo.path)
    assert not folder.is_relative_to(repo.path)
    with pytest.raises(NotReadyError, match="outside the repository"):
        own_folder(inside, Path("/"))


# --- status


@contextmanager
def opened(repo: Repo, **environ: str) -> Generator[Repository]:
    with closing(open_repository(repo.path, {**repo.env, **environ})) as found:
        found.write_excludes()
        yield found


def test_status_tells_where_we_are(repo: Repo) -> None:
    with opened(repo) as found:
        head = repo.git("rev-parse", "HEAD")
        assert found.status() == CheckoutStatus(head, "main", (), ())
        repo.git("checkout", "-q", "--detach")
        assert found.status() == CheckoutStatus(head, None, (), ())
        repo.git("checkout", "-q", "-b", "odd(detached)")
        assert found.status() == CheckoutStatus(head, "odd(detached)", (), ())
        repo.git("checkout", "-q", "--orphan", "(initial)")
        assert found.status() == CheckoutStatus(None, "(initial)", ("README.md",), ())


def test_status_knows_more_than_it_tells(repo: Repo) -> None:
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repo.git("config", "remote.origin.url", "nowhere")
    repo.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    repo.git("branch", "-q", "--set-upstream-to=origin/main")
    with opened(repo) as found:
        assert found.status() == CheckoutStatus(repo.git("rev-parse", "HEAD"), "main", (), ())


def test_status_names_odd_files(repo: Repo) -> None:
    odd = [
        "with space",
        "new\nline",
        'quo"te',
        "tab\t",
        "ümläut",
        "-dash",
        "# branch.oid x",
        "1 x",
        "? y",
        " z ",
    ]
    for name in odd:
        repo.write(f"{name}.tracked", "1\n")
    repo.commit("chore: odd")
    for name in odd:
        repo.write(f"{name}.tracked", "2\n")
        repo.write(f"{name}.new", "1\n")
    with opened(repo) as found:
        status = found.status()
    assert sorted(status.tracked) == sorted(f"{name}.tracked" for name in odd)
    assert sorted(status.untracked) == sorted(f"{name}.new" for name in odd)
    assert status.dirty == (*status.tracked, *status.untracked)


def test_status_names_what_was_staged_moved_deleted_and_is_in_conflict(make_repo: MakeRepo) -> None:
    repo = make_repo(files={name: f"{name}\n" for name in ("conflict", "gone", "moved", "mode")})
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", {"conflict": "side\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("main", {"conflict": "main\n"})
    with pytest.raises(AssertionError):
        repo.git("merge", "side")
    (repo.path / "gone").unlink()
    repo.git("mv", "moved", "to here")
    (repo.path / "mode").chmod(0o755)
    with opened(repo) as found:
        assert sorted(found.status().tracked) == ["conflict", "gone", "mode", "moved", "to here"]
        assert found.in_progress() == "a merge"


def test_a_submodule_is_dirty_only_when_its_pointer_moves(repo: Repo, make_repo: MakeRepo) -> None:
    library = make_repo("library", {"lib.py": "1\n"})
    library.commit("more", {"lib.py": "2\n"})
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.path), "sub")
    repo.commit("chore: library")
    with opened(repo) as found:
        repo.write("sub/junk.txt", "x\n")
        repo.write("sub/lib.py", "changed\n")
        assert found.status().dirty == ()
        Repo(repo.path / "sub", repo.env).git("reset", "-q", "--hard", "HEAD~1")
        assert found.status().dirty == ("sub",)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("MERGE_HEAD", "a merge"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase"),
        ("nothing", None),
    ],
)
def test_what_was_begun_and_not_finished_is_told(repo: Repo, name: str, what: str | None) -> None:
    (repo.path / ".git" / name).mkdir()
    assert open_repository(repo.path, repo.env).in_progress() == what


# --- ignoring


@pytest.mark.parametrize("place", ["absolute", "~", "relative", "xdg", "home"])
def test_what_the_user_ignores_everywhere_stays_ignored(repo: Repo, env: dict[str, str], place: str) -> None:
    home, more = Path(env["HOME"]), {}
    file = {
        "absolute": home / "mine",
        "~": home / "mine",
        "relative": repo.path / ".git/mine",
        "xdg": home / "xdg/git/ignore",
        "home": home / ".config/git/ignore",
    }[place]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"*.mine\n\xff\n")
    if place == "xdg":
        more = {"XDG_CONFIG_HOME": str(home / "xdg")}
    elif place != "home":
        spelled = {"absolute": str(file), "~": "~/mine", "relative": ".git/mine"}[place]
        repo.git("config", "core.excludesFile", spelled)
    repo.write("a.mine", "")
    repo.write("node_modules/x.js", "")
    repo.write("a.other", "")
    with opened(repo, **more) as found:
        assert found.status().untracked == ("a.other",)


def test_folders_to_ignore_are_meant_literally(repo: Repo) -> None:
    names = ["e[n]v", "*", "what?", "back\\slash", " blank "]
    for name in names:
        repo.write(f"{name}/x", "")
    repo.write("env/x", "")
    with opened(repo) as found:
        found.write_excludes(*names)
        assert found.status().untracked == ("env/",)


def test_what_is_excluded_is_ignored_once_and_for_all(repo: Repo) -> None:
    place = repo.path / ".git" / "info" / "exclude"
    place.write_text("mine")
    repository = open_repository(repo.path, repo.env)
    try:
        for _ in range(2):
            repository.exclude(".workflow/")
        assert place.read_text() == "mine\n.workflow/\n"
        repo.write(".workflow/x", "x")
        assert repository.status().dirty == ()
        place.unlink()
        place.parent.rmdir()
        repository.exclude("x/")
        assert place.read_text() == "x/\n"
    finally:
        repository.close()
