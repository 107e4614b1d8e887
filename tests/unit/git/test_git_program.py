"""Git is called without anything that could lead it elsewhere, and its complaints are told."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redgreenrefactor.errors import GitError, NotReadyError
from redgreenrefactor.git.executable import Git, advice, check_version, decoded, encoded, said, scrubbed
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.sandbox.process import Finished
from repos import Repo


def stand_in(folder: Path, script: str) -> dict[str, str]:
    """Put a program of that name in front of the real one."""
    program = folder / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": str(program.parent), "HOME": str(folder)}


def test_the_environment_points_git_nowhere_else() -> None:
    environ = {
        "GIT_DIR": "/elsewhere",
        "GIT_WORK_TREE": "/elsewhere",
        "GIT_INDEX_FILE": "/elsewhere",
        "GIT_EXTERNAL_DIFF": "evil",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_CONFIG_GLOBAL": "/mine",
        "LC_ALL": "de_DE",
        "HOME": "/home",
        "ANTHROPIC_API_KEY": "hunter2",
        "GITHUB_TOKEN": "hunter2",
        "PATH": "/usr/bin:.:/project/node_modules/.bin::node_modules/.bin:/bin",
    }
    assert scrubbed(environ, Path("/project")) == {
        "PATH": "/usr/bin:/bin",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_CONFIG_GLOBAL": "/mine",
        "HOME": "/home",
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }


def test_what_a_session_put_into_the_git_folder_does_not_run(repo: Repo) -> None:
    evil = repo.path.parent / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {repo.path.parent / 'ran'}\n")
    evil.chmod(0o755)
    repo.git("config", "core.fsmonitor", str(evil))
    repo.git("config", "core.hooksPath", str(repo.path.parent / "hooks"))
    (repo.path.parent / "hooks").mkdir()
    (repo.path.parent / "hooks" / "post-checkout").symlink_to(evil)
    (repo.path / ".git/hooks/post-checkout").symlink_to(evil)
    git = Git(repo.path, scrubbed(repo.env, repo.path))
    git.raw("status")
    git.raw("checkout", "-q", "-b", "other")
    assert not (repo.path.parent / "ran").exists()


def test_replaced_objects_do_not_deceive(repo: Repo) -> None:
    first = repo.git("rev-parse", "HEAD")
    repo.git("replace", first, repo.commit("chore: other"))
    assert (
        Git(repo.path, scrubbed(repo.env, repo.path)).text("log", "-1", "--format=%s", first)
        == "chore: start"
    )


def test_a_failure_is_told_in_gits_words_with_advice(repo: Repo) -> None:
    git = Git(repo.path, scrubbed(repo.env, repo.path))
    with pytest.raises(GitError, match="git checkout failed: error: pathspec 'nothing'") as refusal:
        git.raw("checkout", "nothing")
    assert (refusal.value.exit_code, bool(refusal.value.hint)) == (3, True)
    assert git.attempt("checkout", "nothing").exit_code == 1


def test_output_comes_as_bytes_text_or_fields(repo: Repo) -> None:
    git = Git(repo.path, scrubbed(repo.env, repo.path))
    assert git.raw("log", "-1", "--format=%s") == b"chore: start\n"
    assert git.text("log", "-1", "--format=%s%n") == "chore: start\n"
    repo.write("new\nline", "")
    repo.write("b", "")
    assert list(git.fields("ls-files", "-z", "--others")) == ["b", "new\nline"]


@given(st.binary())
def test_any_bytes_survive_being_text(raw: bytes) -> None:
    assert encoded(decoded(raw)) == raw


@pytest.mark.parametrize(
    ("finished", "words"),
    [
        (Finished(1, b"", b"fatal: a\n  b\n\nc\nd\ne\n"), "fatal: a b  c"),
        (Finished(1, b"only here\n", b""), "only here"),
        (Finished(7, b"", b"\n"), "exit code 7"),
    ],
)
def test_a_complaint_is_one_line(finished: Finished, words: str) -> None:
    assert said(finished) == words


@pytest.mark.parametrize(
    ("complaint", "word"),
    [
        ("fatal: write error: No space left on device", "disk space"),
        ("fatal: Unable to create '/x/.git/index.lock': File exists.", "lock file"),
        ("fatal: detected dubious ownership in repository at '/x'", "safe.directory"),
        ("error: could not write: Permission denied", "writable"),
        ("error: Read-only file system", "writable"),
        ("fatal: something else", "git status"),
    ],
)
def test_advice_fits_the_complaint(complaint: str, word: str) -> None:
    assert word in advice(complaint)


# --- which git


def test_without_git_it_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="git is not installed") as refusal:
        open_repository(tmp_path, {"PATH": str(tmp_path)})
    assert "2.30" in refusal.value.hint


def test_without_a_folder_it_says_which(tmp_path: Path, env: dict[str, str]) -> None:
    with pytest.raises(NotReadyError, match="there is no folder") as refusal:
        open_repository(tmp_path / "nowhere", env)
    assert "--project" in refusal.value.hint


@pytest.mark.parametrize(
    "version",
    ["git version 2.30.0", "git version 2.39.5 (Apple Git-154)", "git version 2.46-rc1", "git version 3.0"],
)
def test_a_git_that_is_new_enough_is_fine(tmp_path: Path, version: str) -> None:
    check_version(Git(tmp_path, stand_in(tmp_path, f"echo '{version}'")))


@pytest.mark.parametrize("version", ["git version 2.29.9", "git version 1.99.0", "git version unknown", ""])
def test_a_git_that_is_too_old_is_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(NotReadyError, match=f"{version} is too old") as refusal:
        check_version(Git(tmp_path, stand_in(tmp_path, f"echo '{version}'")))
    assert "2.30" in refusal.value.hint


def test_an_empty_git_folder_above_makes_nothing_a_part_of_the_project(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "project").mkdir()
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.symlink_to(shutil.which("git") or "git")
    with pytest.raises(NotReadyError, match="is not in a git repository"):
        open_repository(tmp_path / "project", {"PATH": str(program.parent)})


def test_a_repository_is_not_opened_by_an_old_git(tmp_path: Path) -> None:
    script = 'case "$*" in *version) echo git version 2.20.1;; *) printf "false\\n.git\\n.git\\n\\n";; esac'
    (tmp_path / "project").mkdir()
    with pytest.raises(NotReadyError, match=r"git version 2.20.1 is too old"):
        open_repository(tmp_path / "project", stand_in(tmp_path, script))
