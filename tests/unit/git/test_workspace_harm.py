"""Whatever a session does to the repository, the run goes on and nobody loses anything."""

import os
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from redgreenrefactor.errors import GitError, NotReadyError
from redgreenrefactor.filesystem import remove
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.lock import NAME, held
from redgreenrefactor.git.locked_checkout import steered_back
from redgreenrefactor.git.refs import NOTES
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Sealed
from repos import MakeRepo, Repo

RUN = "run-1"
PLANNED = Handoff(PhaseName.PLAN, PhaseName.RED, run_id=RUN, feature="count")


class Play:
    """One repository, and the workspace of one invocation after the other."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.path = repo.path
        self.again()
        self.base = repo.git("rev-parse", "HEAD")

    def again(self) -> GitWorkspace:
        """Die, and start anew."""
        if hasattr(self, "repository"):
            self.repository.close()
        self.repository = open_repository(self.repo.path, self.repo.env)
        self.workspace = GitWorkspace(self.repository)
        self.ledger = GitLedger(self.repository)
        return self.workspace

    def begin(self) -> None:
        self.base = self.repo.git("rev-parse", "HEAD")
        self.workspace.begin(RUN, self.base)

    def seal(self, phase: PhaseName = PhaseName.GREEN) -> Sealed:
        return self.workspace.seal(self.base, TDD.phase(phase), "adds two numbers", empty=False)

    def try_git(self, *args: str) -> None:
        """Run git as a session does that does not care whether it works."""
        try:
            self.repo.git(*args)
        except AssertionError:
            return

    def half_done(self, *command: str) -> None:
        """Leave two lines of work in conflict."""
        self.repo.git("checkout", "-q", "-b", "side")
        self.repo.commit("feat: side", {"README.md": "side\n"})
        self.repo.git("checkout", "-q", "main")
        self.repo.commit("feat: main", {"README.md": "main\n"})
        self.try_git(*command)
        assert self.repository.in_progress() is not None


@pytest.fixture
def play(repo: Repo) -> Generator[Play]:
    made = Play(repo)
    yield made
    made.repository.close()


def never(_commit: str) -> bool:
    return False


def always(_commit: str) -> bool:
    return True


# --- refs


def test_a_branch_that_takes_the_place_of_another_is_kept_and_the_other_comes_back(play: Play) -> None:
    play.repo.git("branch", "a")
    play.begin()
    play.repo.git("branch", "-D", "a")
    play.repo.git("branch", "a/b")
    sealed = play.seal()
    assert sealed.rewritten == ("refs/heads/a was deleted",)
    assert play.repo.refs() == {
        "refs/heads/a": play.base,
        "refs/heads/main": play.base,
        f"refs/tdd/kept/{RUN}/heads/a/b-{play.base[:10]}": play.base,
    }


def test_another_name_of_the_branch_moves_with_it(play: Play) -> None:
    play.repo.git("symbolic-ref", "refs/heads/master", "refs/heads/main")
    play.begin()
    commit = play.repo.commit("feat: add", {"a.py": "1\n"})
    assert (play.seal().rewritten, play.repo.git("symbolic-ref", "refs/heads/master")) == (
        (),
        "refs/heads/main",
    )
    assert play.repo.refs()["refs/heads/main"] == commit


def test_a_checkout_may_have_the_branch_under_its_other_name(play: Play) -> None:
    play.repo.git("symbolic-ref", "refs/heads/master", "refs/heads/main")
    play.repo.git("symbolic-ref", "HEAD", "refs/heads/master")
    play.again()
    play.begin()
    play.repo.write("a.py", "1\n")
    sealed = play.seal()
    assert sealed.rewritten == ()
    assert play.repo.git("rev-parse", "HEAD", "main", "master").split() == [sealed.commit] * 3
    assert play.repo.git("symbolic-ref", "refs/heads/master") == "refs/heads/main"


def test_another_name_made_by_a_session_takes_nothing_with_it(play: Play) -> None:
    play.begin()
    play.repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    commit = play.repo.commit("feat: add", {"a.py": "1\n"})
    assert play.seal().commit == play.repo.refs()["refs/heads/main"] == commit


def test_a_tag_turned_into_another_name_is_a_tag_again(play: Play) -> None:
    play.repo.git("tag", "v1")
    play.begin()
    play.repo.git("symbolic-ref", "refs/tags/v1", "refs/heads/main")
    play.repo.commit("feat: add", {"a.py": "1\n"})
    assert play.seal().rewritten == ("refs/tags/v1 was deleted",)
    assert play.repo.refs()["refs/tags/v1"] == play.base


@pytest.mark.parametrize("rubbish", ["rubbish\n", "1" * 40 + "\n", ""])
def test_a_ref_overwritten_with_rubbish_comes_back(play: Play, rubbish: str) -> None:
    play.repo.git("tag", "v1")
    play.begin()
    (play.path / ".git/refs/tags/v1").write_text(rubbish)
    assert len(play.seal().rewritten) == 1
    assert play.repo.refs()["refs/tags/v1"] == play.base


def test_a_new_ref_to_nothing_goes(play: Play) -> None:
    play.begin()
    (play.path / ".git/refs/heads/ghost").write_text("1" * 40 + "\n")
    play.seal()
    assert play.repo.refs() == {"refs/heads/main": play.base}


def test_the_own_branch_deleted_or_elsewhere_comes_back(play: Play) -> None:
    play.begin()
    play.repo.write("a.py", "1\n")
    play.repo.git("update-ref", "-d", "refs/heads/main")
    sealed = play.seal()
    assert (sealed.rewritten, sealed.subject) == ((), "feat: adds two numbers")
    assert play.repo.git("log", "--format=%H", "main").split() == [sealed.commit, play.base]


def test_a_session_on_an_orphan_branch_is_sealed_on_its_base(play: Play) -> None:
    play.begin()
    play.repo.git("checkout", "-q", "--orphan", "fresh")
    play.repo.write("a.py", "1\n")
    sealed = play.seal()
    assert play.repo.git("log", "--format=%H", "main").split() == [sealed.commit, play.base]
    assert play.repo.git("show", "--name-only", "--format=", sealed.commit).split() == ["a.py"]


def test_notes_that_a_session_made_before_there_were_any_go(play: Play) -> None:
    play.begin()
    play.repo.git("notes", "--ref=tdd-handoffs", "add", "-m", "forged")
    play.seal()
    assert NOTES not in play.repo.refs()


def test_a_stash_on_the_users_stash_leaves_the_users(play: Play) -> None:
    play.repo.write("README.md", "the users work\n")
    play.repo.git("stash")
    mine = play.repo.git("rev-parse", "refs/stash")
    play.begin()
    play.repo.write("README.md", "the sessions work\n")
    play.repo.git("stash")
    theirs = play.repo.git("rev-parse", "refs/stash")
    sealed = play.seal()
    assert (sealed.rewritten, len(sealed.warnings)) == ((), 1)
    refs = play.repo.refs()
    assert refs["refs/stash"] == mine
    assert refs[f"refs/tdd/kept/{RUN}/stash-{theirs[:10]}"] == theirs


# --- what steers git


def test_settings_that_lead_git_elsewhere_are_put_back_before_anything_is_cleaned_up(play: Play) -> None:
    elsewhere = play.path.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.txt").write_text("precious\n")
    play.begin()
    play.repo.write("a.py", "1\n")
    play.repo.git("config", "core.worktree", str(elsewhere))
    sealed = play.seal()
    assert len(sealed.warnings) == 1
    assert "config was changed during the session" in sealed.warnings[0]
    assert [change.path for change in play.workspace.changes(play.base, sealed.commit)] == ["a.py"]
    play.workspace.rewind(play.base)
    assert (elsewhere / "mine.txt").read_text() == "precious\n"
    assert not (play.path / "a.py").exists()


def test_settings_of_the_users_that_lead_elsewhere_are_not_followed_either(play: Play) -> None:
    elsewhere = play.path.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.txt").write_text("precious\n")
    play.repo.git("config", "core.worktree", str(elsewhere))
    play.begin()
    play.repo.write("a.py", "1\n")
    play.seal()
    play.workspace.rewind(play.base)
    assert (elsewhere / "mine.txt").exists()


@pytest.mark.parametrize("spoil", ["[rubbish", "[core]\n\tbare = true\n", None])
def test_spoiled_settings_are_put_back_and_kept_to_look_at(play: Play, spoil: str | None) -> None:
    config = play.path / ".git/config"
    before = config.read_text()
    play.begin()
    play.repo.write("a.py", "1\n")
    config.unlink() if spoil is None else config.write_text(spoil)
    (warning,) = play.seal().warnings
    assert config.read_text() == before
    if spoil is None:
        assert warning.endswith("it has been put back")
    else:
        assert Path(warning.rpartition(" at ")[2]).read_text() == spoil


@pytest.mark.parametrize("rubbish", [None, "", "rubbish\n"])
@pytest.mark.parametrize("killed", [False, True], ids=["ended", "killed"])
def test_a_head_that_was_spoiled_comes_back(play: Play, rubbish: str | None, *, killed: bool) -> None:
    play.begin()
    play.repo.write("calc.py", "x = 1\n")
    head = play.path / ".git/HEAD"
    head.unlink()
    if rubbish is not None:
        head.write_text(rubbish)
    if killed:
        assert any("HEAD was changed" in line for line in steered_back(play.path, play.repo.env))
        play.again().recover(never)
        assert play.repo.git("status", "--porcelain") == ""
    else:
        sealed = play.seal()
        assert any("HEAD was changed during the session" in line for line in sealed.warnings)
        assert (sealed.subject, sealed.rewritten) == ("feat: adds two numbers", ())
    assert head.read_text() == "ref: refs/heads/main\n"


def test_a_head_that_a_session_moved_is_not_worth_a_word(play: Play) -> None:
    play.repo.git("checkout", "-q", "--detach")
    play.begin()
    commit = play.repo.commit("feat: add", {"calc.py": "x = 1\n"})
    sealed = play.seal()
    assert (sealed.commit, sealed.warnings) == (commit, ())


def test_a_name_to_commit_under_is_not_worth_a_word_and_does_not_stay(play: Play) -> None:
    for key in ("user.name", "user.email"):
        play.repo.git("config", "--unset", key)
    play.again()
    play.begin()
    play.repo.git("config", "user.name", "Eve")
    play.repo.git("config", "user.email", "eve@x")
    play.repo.commit("feat: add", {"a.py": "1\n"})
    sealed = play.seal()
    assert (sealed.warnings, sealed.resealed) == ((), False)
    assert "Eve" not in (play.path / ".git/config").read_text()


def test_no_program_of_a_session_runs_when_its_work_is_sealed(play: Play) -> None:
    ran = play.path.parent / "ran"
    play.begin()
    play.repo.write(".gitattributes", "*.py filter=evil\n")
    play.repo.write("a.py", "1\n")
    for key in ("filter.evil.clean", "filter.evil.process"):
        play.repo.git("config", key, f"touch {ran}; cat")
    play.repo.git("config", "commit.gpgsign", "true")
    play.repo.git("config", "gpg.program", f"touch {ran}")
    play.seal()
    play.workspace.rewind(play.base)
    assert not ran.exists()


@pytest.mark.parametrize("name", ["exclude", "attributes", "sparse-checkout"])
def test_nothing_is_hidden_from_the_seal(play: Play, name: str) -> None:
    play.begin()
    play.repo.write(f".git/info/{name}", "a.py\n")
    play.repo.write("a.py", "1\n")
    sealed = play.seal()
    assert len(sealed.warnings) == 1
    assert [change.path for change in play.workspace.changes(play.base, sealed.commit)] == ["a.py"]


def test_a_killed_session_steers_nobody(play: Play) -> None:
    config, env = play.path / ".git/config", play.repo.env
    config.write_bytes(config.read_bytes() + b"[my]\n\tname = Ren\xe9\n")
    before = config.read_bytes()
    play.begin()
    play.repo.git("config", "core.worktree", str(play.path.parent))
    (told,) = steered_back(play.path, env)
    assert (config.read_bytes(), "config was changed" in told) == (before, True)
    config.write_bytes(before + b"[user]\n\tname = Eve\n")
    assert (steered_back(play.path / "sub" / "folder", env), config.read_bytes()) == ((), before)
    assert steered_back(play.path, env) == ()
    play.repo.git("config", "my.own", "setting")
    play.again()
    play.begin()
    play.seal()
    play.repo.git("config", "my.other", "setting")
    assert steered_back(play.path, env) == ()
    assert b"other" in config.read_bytes()


def test_an_interrupted_session_steers_nobody(play: Play) -> None:
    play.begin()
    play.repo.git("config", "core.worktree", str(play.path.parent))
    play.workspace.abandon()
    assert "worktree" not in (play.path / ".git/config").read_text()


def test_hooks_that_a_session_left_are_gone_and_those_it_changed_are_back(play: Play) -> None:
    hooks = play.path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    play.repo.write("scripts/check", "old\n")
    (hooks / "pre-commit").write_text("mine\n")
    (hooks / "pre-push").write_text("mine\n")
    (hooks / "pre-push").chmod(0o755)
    (hooks / "commit-msg").symlink_to("../../scripts/check")
    play.repo.git("add", "-A")
    play.repo.git("commit", "-q", "--no-verify", "-m", "chore: scripts")
    play.begin()
    (hooks / "pre-commit").write_text("evil\n")
    (hooks / "pre-push").unlink()
    (hooks / "post-checkout").write_text("evil\n")
    play.repo.write("scripts/check", "new\n")
    sealed = play.seal()
    assert len(sealed.warnings) == 3
    assert {hook.name: hook.read_text() for hook in hooks.iterdir() if hook.suffix != ".sample"} == {
        "pre-commit": "mine\n",
        "pre-push": "mine\n",
        "commit-msg": "new\n",
    }
    assert os.access(hooks / "pre-push", os.X_OK)
    assert not (hooks / "pre-commit").stat().st_mode & 0o111


def test_links_in_gits_folder_do_not_make_us_write_where_they_lead(play: Play, tmp_path: Path) -> None:
    git, elsewhere = play.path / ".git", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (git / "own").symlink_to(elsewhere)
    play.begin()
    for name in ("info", "logs"):
        (git / name).rename(git / f"{name}-2")
        (git / name).symlink_to(elsewhere)
    (git / "config.worktree").symlink_to(elsewhere / "config")
    play.repo.write("a.py", "1\n")
    play.seal()
    play.workspace.rewind(play.base)
    assert list(elsewhere.iterdir()) == []
    assert (git / "own").is_symlink()


def test_a_pipe_in_place_of_the_settings_is_put_back(play: Play) -> None:
    config = play.path / ".git/config"
    before = config.read_text()
    play.begin()
    config.unlink()
    os.mkfifo(config)
    play.seal()
    assert config.read_text() == before


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("kind", ["link", "file", "folder", "nothing"])
def test_a_git_folder_that_was_swapped_is_told_and_nothing_is_written_elsewhere(
    play: Play, tmp_path: Path, kind: str, killed: bool
) -> None:
    git, away, mine = play.path / ".git", play.path / "deep/away", tmp_path / "elsewhere"
    mine.mkdir()
    (mine / "config").write_text("precious\n")
    play.begin()
    away.parent.mkdir()
    git.rename(away)
    if kind == "link":
        git.symlink_to(mine)
    elif kind == "file":
        git.write_text(f"gitdir: {mine}\n")
    elif kind == "folder":
        git.mkdir()
        (git / "config").write_text("evil\n")
    with pytest.raises(NotReadyError, match="in the place of") as caught:
        steered_back(play.path, play.repo.env) if killed else play.seal()
    assert f"-inum {away.stat().st_ino} " in caught.value.hint
    assert ((mine / "config").read_text(), list(mine.iterdir())) == ("precious\n", [mine / "config"])
    remove(git)
    away.rename(git)
    play.repo.write("a.py", "1\n")
    assert play.seal().subject == "feat: adds two numbers"


def test_objects_that_were_put_away_and_borrowed_elsewhere_are_told(play: Play) -> None:
    objects = play.path / ".git/objects"
    play.begin()
    objects.rename(play.path / ".git/o2")
    (objects / "info").mkdir(parents=True)
    (objects / "info/alternates").write_text(f"{play.path}/.git/o2\n")
    with pytest.raises(NotReadyError, match=r"in the place of .*/objects"):
        play.seal()
    remove(objects)
    (play.path / ".git/o2").rename(objects)


def test_objects_borrowed_by_a_session_are_not_borrowed_any_more(play: Play, make_repo: MakeRepo) -> None:
    other = make_repo("other", {"secret": "hunter2\n"})
    alternates = play.path / ".git/objects/info/alternates"
    play.begin()
    alternates.write_text(f"{other.path}/.git/objects\n")
    assert any("alternates" in line for line in play.seal().warnings)
    assert not alternates.exists()


def test_a_repository_begun_between_the_project_and_its_repository_is_moved_away(play: Play) -> None:
    play.repo.commit("feat: package", {"pkg/a.py": "1\n"})
    play.repository.close()
    play.repository = open_repository(play.path / "pkg", play.repo.env)
    play.workspace = GitWorkspace(play.repository)
    play.begin()
    play.repo.git("init", "-q", "pkg")
    play.seal()
    assert not (play.path / "pkg/.git").exists()


def test_a_checkout_made_anew_in_the_same_place_is_not_the_one_that_was_left(
    play: Play, tmp_path: Path
) -> None:
    play.begin()
    play.path.rename(tmp_path / "old")
    play.path.mkdir()
    play.repo.git("init", "-q", "-b", "main")
    assert steered_back(play.path, play.repo.env) == ()
    assert not play.repository.mark.exists()


# --- half done


@pytest.mark.parametrize(
    "command", [("merge", "side"), ("rebase", "side"), ("cherry-pick", "side"), ("revert", "HEAD~1")]
)
def test_what_a_session_left_half_done_is_sealed_and_forgotten(play: Play, command: tuple[str, ...]) -> None:
    play.begin()
    if command[0] == "revert":
        play.repo.commit("feat: one", {"README.md": "one\n"})
        play.repo.commit("feat: two", {"README.md": "two\n"})
        play.try_git(*command)
    else:
        play.half_done(*command)
    play.repo.write("README.md", "solved\n")
    sealed = play.seal()
    play.workspace.end()
    assert play.repo.git("log", "--format=%H", "main").split() == [sealed.commit, play.base]
    assert play.repo.git("show", "HEAD:README.md") == "solved"
    play.workspace.require_clean()
    assert "in progress" not in play.repo.git("status")


@pytest.mark.parametrize("command", [("merge", "side"), ("rebase", "side"), ("cherry-pick", "side")])
def test_what_a_session_left_half_done_is_rewound(play: Play, command: tuple[str, ...]) -> None:
    play.begin()
    play.half_done(*command)
    play.workspace.abandon()
    play.workspace.require_clean()
    assert play.repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert play.repo.git("rev-parse", "HEAD") == play.base


# --- files


def test_a_repository_without_commits_in_a_folder_is_part_of_the_work(play: Play) -> None:
    play.begin()
    for name in ("inner", "outer/inner"):
        (play.path / name).mkdir(parents=True)
        Repo(play.path / name, play.repo.env).git("init", "-q")
        play.repo.write(f"{name}/a.py", "1\n")
    sealed = play.seal()
    assert play.repo.git("show", "--name-only", "--format=", sealed.commit).split() == [
        "inner/a.py",
        "outer/inner/a.py",
    ]
    play.workspace.require_clean()


def test_a_repository_with_commits_in_a_folder_is_seen_as_a_submodule(play: Play) -> None:
    play.begin()
    (play.path / "inner").mkdir()
    inner = Repo(play.path / "inner", play.repo.env)
    inner.git("init", "-q")
    inner.git("config", "user.name", "Eve")
    inner.git("config", "user.email", "eve@x")
    inner.commit("mine", {"a.py": "1\n"})
    (change,) = play.workspace.changes(play.base, play.seal().commit)
    assert change.path == "inner"
    assert change.after is not None
    assert (change.after.mode, change.after.text) == ("160000", None)


def hostile(play: Play, folder: str, ran: Path) -> None:
    """Make the settings of a repository run a program as soon as git looks at its files."""
    play.repo.write(f"{folder}/.gitattributes", "* filter=x\n")
    play.repo.write(f"{folder}/a", "changed\n")
    for key in ("filter.x.clean", "filter.x.smudge"):
        play.repo.git("-C", folder, "config", key, f"touch {ran}; cat")
    play.repo.git("-C", folder, "config", "core.fsmonitor", f"touch {ran}; false")


def test_git_does_not_go_into_a_repository_in_the_repository(play: Play, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    play.begin()
    play.repo.write("inner/a", "1\n")
    for command in ("init -q", "add -A", "-c user.name=x -c user.email=x@x commit -q -m a"):
        play.repo.git("-C", "inner", *command.split())
    play.repo.git("add", "inner")
    play.repo.git("commit", "-q", "-m", "feat: inner")
    hostile(play, "inner", ran)
    ran.unlink(missing_ok=True)
    play.repo.write("b.py", "1\n")
    sealed = play.seal()
    assert {change.path for change in play.workspace.changes(play.base, sealed.commit)} == {"inner", "b.py"}
    play.workspace.rewind(play.base)
    assert not ran.exists()


@pytest.mark.parametrize("own", [False, True])
def test_a_submodule_whose_settings_were_changed_runs_nothing(
    play: Play, make_repo: MakeRepo, tmp_path: Path, own: bool
) -> None:
    ran = tmp_path / "ran"
    library = make_repo("library", {"a": "1\n"})
    play.repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.path), "sub")
    play.repo.git("commit", "-q", "-m", "chore: library")
    play.begin()
    if own:
        (play.path / "sub/.git").unlink()
        play.repo.git("-C", "sub", "init", "-q")
    play.repo.git("-C", "sub", "add", "-A")
    play.repo.git(
        "-C", "sub", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"
    )
    hostile(play, "sub", ran)
    ran.unlink(missing_ok=True)
    play.repo.write("b.py", "1\n")
    sealed = play.seal()
    moved = {change.path for change in play.workspace.changes(play.base, sealed.commit)}
    assert moved == ({"b.py"} if own else {"sub", "b.py"})
    play.workspace.rewind(play.base)
    assert not ran.exists()
    assert (play.path / "sub/.git").is_file()


@pytest.mark.parametrize("name", ["sub", ".git/modules/sub", ".git/modules"])
def test_a_link_in_place_of_a_submodule_leads_nobody_away(
    play: Play, make_repo: MakeRepo, name: str, tmp_path: Path
) -> None:
    library, mine = make_repo("library", {"a": "1\n"}), make_repo("mine")
    play.repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.path), "sub")
    play.repo.git("commit", "-q", "-m", "chore: library")
    mine.write("config", "precious\n")
    mine.write("hooks/pre-commit", "precious\n")
    mine.write("sub/config", "precious\n")
    before = {str(file): file.read_bytes() for file in mine.path.rglob("*") if file.is_file()}
    play.begin()
    (play.path / name).rename(tmp_path / "away")
    (play.path / name).symlink_to(mine.path)
    play.seal()
    play.workspace.rewind(play.base)
    assert {str(file): file.read_bytes() for file in mine.path.rglob("*") if file.is_file()} == before


def test_a_submodule_that_was_moved_goes_back(play: Play, make_repo: MakeRepo) -> None:
    library = make_repo("library", {"lib.py": "1\n"})
    library.commit("more", {"lib.py": "2\n"})
    play.repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.path), "sub")
    play.repo.commit("chore: library")
    play.begin()
    Repo(play.path / "sub", play.repo.env).git("checkout", "-q", "HEAD~1")
    sealed = play.seal()
    assert [change.path for change in play.workspace.changes(play.base, sealed.commit)] == ["sub"]
    play.workspace.rewind(play.base)
    play.workspace.require_clean()
    assert (play.path / "sub/lib.py").read_text() == "2\n"


def test_a_left_out_file_with_an_odd_name_takes_no_other_with_it(play: Play) -> None:
    play.repo.write("ab.pyc", "mine\n")
    play.repo.git("add", "-f", "-A")
    play.repo.commit("chore: odd but mine")
    play.begin()
    for name in ("a*.pyc", ":(top)ab.pyc", "new\nline.pyc"):
        play.repo.write(name, "1\n")
    play.repo.write("a.py", "1\n")
    play.repo.git("add", "-f", "-A")
    play.repo.commit("feat: all")
    sealed = play.seal()
    assert [change.path for change in play.workspace.changes(play.base, sealed.commit)] == ["a.py"]


def test_every_environment_that_appears_stays_left_out(play: Play) -> None:
    play.begin()
    play.repo.write("java/pom.xml", "<project/>\n")
    for name in ("venv/pyvenv.cfg", "other venv/pyvenv.cfg", "java/target/x", "deep/o[d]d/pyvenv.cfg"):
        play.repo.write(name, "1\n")
        assert play.workspace.status().untracked == ("java/",)
    sealed = play.seal()
    assert play.repo.git("show", "--name-only", "--format=", sealed.commit).split() == ["java/pom.xml"]


def test_linked_dependencies_are_no_dirt(play: Play) -> None:
    (play.path.parent / "shared").mkdir()
    (play.path / "node_modules").symlink_to(play.path.parent / "shared")
    play.workspace.require_clean()


def test_many_dirty_files_are_counted(play: Play) -> None:
    for number in range(13):
        play.repo.write(f"{number:02}.txt", "x\n")
    with pytest.raises(NotReadyError, match=r"09.txt and 3 more"):
        play.workspace.require_clean()


def test_large_and_binary_files_have_no_text(play: Play) -> None:
    play.begin()
    (play.path / "binary").write_bytes(b"a\0b")
    (play.path / "latin").write_bytes(b"caf\xe9\n")
    play.repo.write("large", "x" * 1_000_001)
    changes = play.workspace.changes(play.base, play.seal().commit)
    assert {change.path: change.after and change.after.text for change in changes} == {
        "binary": None,
        "large": None,
        "latin": "caf\udce9\n",
    }


# --- commits


def test_odd_authors_and_ancient_dates_survive(play: Play) -> None:
    play.begin()
    author = "A\u2028B <a@x>"
    play.repo.git(
        "commit", "-q", "--allow-empty", "--author", author, "--date", "@5 +0100", "-m", "feat: add"
    )
    play.repo.write("a.py", "1\n")
    play.seal()
    assert play.repo.git("log", "-1", "--format=%an <%ae> %ad", "--date=raw") == f"{author} 5 +0100"


@pytest.mark.parametrize("header", ["", "author  <> 5 +0000\ncommitter X <x@x> 5 +0000\n"])
def test_a_commit_without_an_author_is_somebodys(play: Play, header: str) -> None:
    tree = play.repo.git("rev-parse", "HEAD^{tree}")
    play.begin()
    raw = f"tree {tree}\nparent {play.base}\n{header}\nfeat: forged\n"
    forged = play.repo.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=raw)
    play.repo.git("update-ref", "refs/heads/main", forged)
    play.repo.write("a.py", "1\n")
    play.seal()
    assert play.repo.git("log", "-1", "--format=%an|%s") == "unknown|feat: forged"


def test_signing_with_a_usable_key_is_said(play: Play) -> None:
    program = play.path.parent / "gpg"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho signed\n")
    program.chmod(0o755)
    play.repo.git("config", "commit.gpgsign", "yes")
    play.repo.git("config", "gpg.program", str(program))
    play.again()
    play.begin()
    play.repo.write("a.py", "1\n")
    sealed = play.seal()
    assert sealed.signed is True
    assert "gpgsig" in play.repo.git("cat-file", "commit", sealed.commit)


def test_a_commit_that_is_not_there_is_told(play: Play) -> None:
    with pytest.raises(GitError, match="there is no commit 1111111111") as refusal:
        play.workspace.changes("1" * 40, play.base)
    assert "unshallow" in refusal.value.hint


def test_without_any_commit_there_is_no_head_until_a_first_one_is_made(make_repo: MakeRepo) -> None:
    repo = make_repo(born=False)
    with closing(open_repository(repo.path, repo.env)) as repository:
        workspace = GitWorkspace(repository)
        with pytest.raises(NotReadyError, match="no commit yet") as refusal:
            workspace.head()
        assert "rgr run" in refusal.value.hint
        assert workspace.first_commit() == workspace.head()
    assert repo.subjects() == ["chore: empty first commit"]
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main"


def test_an_edited_list_becomes_a_commit_of_its_own(play: Play) -> None:
    play.repo.commit("plan: list", {"test-list.md": "- [ ] one\n"})
    play.begin()
    play.workspace.end()
    play.repo.write("test-list.md", "- [ ] two\n")
    commit = play.workspace.commit_list(play.base, "plan: accepted list")
    assert (play.repo.git("rev-parse", "main"), play.repo.subjects()[-1]) == (commit, "plan: accepted list")
    play.workspace.require_clean()
    play.begin()
    assert play.seal().rewritten == ()


def test_an_edited_list_becomes_a_commit_where_no_branch_is_checked_out(play: Play) -> None:
    play.repo.git("checkout", "-q", "--detach")
    play.again()
    play.repo.write("test-list.md", "- [ ] two\n")
    commit = play.workspace.commit_list(play.base, "plan: accepted list")
    assert play.repo.git("rev-parse", "HEAD", "main").split() == [commit, play.base]


def test_work_can_be_sealed_without_a_session(play: Play) -> None:
    play.repo.write("a.py", "1\n")
    assert play.seal().commit == play.repo.git("rev-parse", "main")
    assert not play.repository.mark.exists()


# --- cut off


def test_an_interrupted_session_is_undone_refs_and_all(play: Play) -> None:
    play.repo.git("tag", "v1")
    play.begin()
    play.repo.git("tag", "-d", "v1")
    play.repo.git("checkout", "-q", "-b", "elsewhere")
    play.repo.write("half.py", "1\n")
    kept = play.workspace.abandon()
    assert kept is not None
    assert play.repo.git("show", f"{kept}:half.py") == "1"
    assert play.repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    refs = play.repo.refs()
    assert (refs["refs/tags/v1"], "refs/heads/elsewhere" in refs) == (play.base, False)
    assert not play.repository.mark.exists()
    play.workspace.require_clean()


def test_an_interrupted_session_leaves_a_detached_head_detached(play: Play) -> None:
    play.repo.git("checkout", "-q", "--detach")
    play.again()
    play.begin()
    play.repo.git("checkout", "-q", "-b", "elsewhere")
    play.repo.commit("feat: half", {"half.py": "1\n"})
    play.workspace.abandon()
    assert (play.path / ".git/HEAD").read_text().strip() == play.base
    assert "refs/heads/elsewhere" not in play.repo.refs()


def test_a_session_that_went_back_before_it_was_killed_is_undone(play: Play) -> None:
    play.repo.commit("plan: list", {"test-list.md": "- [ ] one\n"})
    play.begin()
    play.repo.git("reset", "-q", "--hard", "HEAD~1")
    play.again().recover(always)
    assert play.repo.git("rev-parse", "main") == play.base


def test_a_turn_that_was_written_down_stays_and_so_does_what_the_user_did_since(play: Play) -> None:
    play.begin()
    commit = play.repo.commit("feat: add", {"a.py": "1\n"})
    play.seal()
    play.repo.write("mine.txt", "precious\n")
    assert play.again().recover(always) is None
    assert (play.repo.git("rev-parse", "HEAD"), (play.path / "mine.txt").exists()) == (commit, True)
    assert not play.repository.mark.exists()


def test_a_rejection_that_was_written_down_is_remembered_after_a_crash(play: Play) -> None:
    play.begin()
    commit = play.repo.commit("feat: add", {"a.py": "1\n"})
    play.seal()
    play.workspace.set_aside(commit, RUN, "1-RED-1")
    play.ledger.write({play.base: PLANNED})
    workspace = play.again()
    workspace.recover(never)
    assert play.ledger.read(play.base) == PLANNED
    assert play.repo.git("rev-parse", "HEAD") == play.base
    assert workspace.last_attempt(RUN, 1, "RED") == 1


def test_what_the_user_did_to_refs_while_a_turn_was_judged_stays(play: Play) -> None:
    play.begin()
    play.repo.commit("feat: add", {"a.py": "1\n"})
    play.seal()
    play.repo.git("branch", "mine")
    play.again().recover(never)
    assert "refs/heads/mine" in play.repo.refs()


def test_what_the_user_moved_after_a_crash_is_kept(play: Play) -> None:
    play.repo.git("branch", "other")
    play.begin()
    play.repo.git("checkout", "-q", "other")
    mine = play.repo.commit("my own work", {"m.py": "1\n"})
    play.repo.git("checkout", "-q", "main")
    play.again().recover(never)
    refs = play.repo.refs()
    assert refs["refs/heads/other"] == play.base
    assert refs[f"refs/tdd/kept/{RUN}/heads/other-{mine[:10]}"] == mine


@pytest.mark.parametrize("run_id", ["", "with space", "../..", "a.lock", "-", "ü/x", "20260111-103000-ab12"])
def test_any_id_of_a_run_will_do(play: Play, run_id: str) -> None:
    workspace = play.workspace
    workspace.begin(run_id, play.base)
    play.repo.git("tag", "new")
    play.repo.write("a.py", "1\n")
    commit = play.seal().commit
    workspace.set_aside(commit, run_id, "1-GREEN-3")
    play.ledger.write({commit: replace(PLANNED, run_id=run_id)})
    assert workspace.last_attempt(run_id, 1, "GREEN") == 3
    assert [entry.commit for entry in play.ledger.attempts(run_id)] == [commit]
    assert workspace.keep(run_id, play.base, "odd attempt") in play.repo.refs()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"runId": 1, "base": 2}', "\0"])
def test_a_mark_that_cannot_be_read_is_no_mark(play: Play, text: str) -> None:
    play.begin()
    play.repository.mark.write_text(text)
    play.again()
    play.repo.write("mine.txt", "precious\n")
    assert play.workspace.recover(never) is None
    assert (play.path / "mine.txt").exists()


# --- locks


LOCKS = [
    "index.lock",
    "HEAD.lock",
    "packed-refs.lock",
    "config.lock",
    "refs/stash.lock",
    "refs/heads/main.lock",
    "refs/heads/new.lock",
    "refs/notes/tdd-handoffs.lock",
]


@pytest.mark.parametrize("name", LOCKS)
def test_locks_of_gits_that_died_with_their_session_stand_in_nobodys_way(play: Play, name: str) -> None:
    play.begin()
    play.repo.git("branch", "new")
    play.repo.write("a.py", "1\n")
    lock = play.path / ".git" / name
    lock.parent.mkdir(exist_ok=True)
    lock.touch()
    assert play.seal().resealed
    play.ledger.write({play.base: PLANNED})
    assert not lock.exists()


@pytest.mark.parametrize("name", LOCKS)
def test_locks_that_another_orchestrator_may_hold_stay(play: Play, name: str) -> None:
    other = play.path.parent / "other"
    play.repo.git("worktree", "add", "-q", str(other))
    shared = not name.endswith(("index.lock", "HEAD.lock", "main.lock"))
    lock = play.path / ".git" / name
    lock.parent.mkdir(exist_ok=True)
    play.begin()
    play.repo.write("a.py", "1\n")
    lock.touch()
    with held(play.path / ".git/worktrees/other" / NAME):
        play.workspace.keep(RUN, play.base, "odd attempt")
    assert lock.exists() is shared


def test_a_fetch_of_the_users_keeps_its_lock(play: Play) -> None:
    lock = play.path / ".git/refs/remotes/origin/main.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    play.begin()
    play.seal()
    assert lock.exists()


# --- others at work


def test_handoffs_of_other_runs_are_nobodys_fault(play: Play) -> None:
    other = play.repo.commit("feat: somewhere")
    play.begin()
    theirs = Handoff(PhaseName.PLAN, PhaseName.RED, run_id="other")
    play.ledger.write({other: theirs})
    play.repo.git("update-ref", "refs/tdd/attempts/other/1-RED-1", other)
    sealed = play.seal()
    assert (sealed.rewritten, sealed.warnings) == ((), ())
    assert play.ledger.read(other) == theirs
    assert "refs/tdd/attempts/other/1-RED-1" in play.repo.refs()


def test_another_run_may_fan_the_notes_out_anew(play: Play) -> None:
    play.ledger.write({play.base: PLANNED})
    play.repo.commit("feat: somewhere")
    play.begin()
    row = f"100644 blob {play.repo.git('notes', '--ref=tdd-handoffs', 'list', 'HEAD~1')}\t{play.repo.git('rev-parse', 'HEAD~1')[2:]}\n"
    inner = play.repo.git("mktree", stdin=row)
    tree = play.repo.git("mktree", stdin=f"040000 tree {inner}\t{play.repo.git('rev-parse', 'HEAD~1')[:2]}\n")
    play.repo.git("update-ref", NOTES, play.repo.git("commit-tree", tree, "-m", "fanned out"))
    assert play.seal().rewritten == ()


Forge = Callable[[Play], None]


def change_ours(play: Play) -> None:
    play.repo.git(
        "notes",
        "--ref=tdd-handoffs",
        "add",
        "-f",
        "-m",
        '{"phase": "PLAN", "nextPhase": "RED", "runId": "x"}',
    )


def delete_ours(play: Play) -> None:
    play.repo.git("notes", "--ref=tdd-handoffs", "remove")


def write_rubbish(play: Play) -> None:
    play.repo.git("notes", "--ref=tdd-handoffs", "add", "-m", "rubbish", "HEAD~1")


def write_as_us(play: Play) -> None:
    play.ledger.write({play.repo.git("rev-parse", "HEAD~1"): PLANNED})


@pytest.mark.parametrize("forge", [change_ours, delete_ours, write_rubbish, write_as_us])
def test_notes_that_are_not_another_runs_own_are_put_back(play: Play, forge: Forge) -> None:
    base = play.repo.commit("plan: list")
    play.ledger.write({base: PLANNED})
    play.begin()
    before = play.repo.refs()[NOTES]
    forge(play)
    assert play.seal().rewritten == (f"{NOTES} was moved",)
    assert play.repo.refs()[NOTES] == before


def test_unreadable_things_in_the_notes_are_not_another_runs(play: Play) -> None:
    base = play.repo.commit("plan: list")
    play.ledger.write({base: PLANNED})
    play.begin()
    file = play.path / ".git/odd"
    file.write_bytes(os.fsencode("\udcff"))
    play.repo.git("notes", "--ref=tdd-handoffs", "add", "-F", str(file), "HEAD~1")
    assert play.seal().rewritten == (f"{NOTES} was moved",)


def test_the_folder_of_a_project_is_where_sessions_work(make_repo: MakeRepo, tmp_path: Path) -> None:
    repo = make_repo(files={"sub/a.py": "1\n"})
    with closing(open_repository(repo.path / "sub", repo.env)) as repository:
        workspace = GitWorkspace(repository)
        assert workspace.project == repo.path / "sub"
        assert workspace.checkout(workspace.head(), {"sub/b.py": "2\n"}).name == "sub"
        assert workspace.source(workspace.head(), "sub/a.py") == "1\n"


@pytest.mark.parametrize("before", [None, "max.retries=2\n"])
def test_settings_that_a_session_left_among_ignored_files_are_put_back(
    repo: Repo, before: str | None
) -> None:
    settings = repo.path / "tdd.properties"
    repo.commit("chore: ignore", {".gitignore": "tdd.properties\n"})
    if before is not None:
        settings.write_text(before)
    with closing(open_repository(repo.path, repo.env)) as repository:
        workspace = GitWorkspace(repository)
        base = workspace.head()
        workspace.begin("run", base)
        settings.write_text("sandbox=off\n")
        (repo.path / "code.py").write_text("x = 1\n")
        sealed = workspace.seal(base, TDD.phase(PhaseName.GREEN), "a case", empty=False)
    assert any("tdd.properties" in line for line in sealed.warnings)
    assert (settings.read_text() if settings.exists() else None) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root can lend root's group to everybody")
def test_a_program_of_roots_group_is_one_no_more_and_a_shared_folder_stays_so(play: Play) -> None:
    play.begin()
    program, folder, own = (play.path / name for name in ("run", "shared", "code.py"))
    program.write_text("#!/bin/sh\n")
    program.chmod(0o2755)
    folder.mkdir()
    folder.chmod(0o2775)
    own.write_text("x = 1\n")
    own.chmod(0o755)
    sealed = play.seal()
    assert any("/run was made a program of root's group" in line for line in sealed.warnings)
    assert [place.stat().st_mode & 0o7777 for place in (program, folder, own)] == [0o755, 0o2775, 0o755]


@pytest.fixture
def deep(play: Play) -> Generator[Path]:
    """A place for folders that pytest itself could not take away again."""
    yield play.path / "deep"
    remove(play.path)


@pytest.mark.long
@pytest.mark.parametrize("ignored", [False, True])
def test_folders_nested_beyond_all_measure_are_sealed_and_rewound(
    play: Play, deep: Path, *, ignored: bool
) -> None:
    play.repo.commit("chore: ignore", {".gitignore": "deep\n" if ignored else "other\n"})
    play.begin()
    inside = os.open(play.path, os.O_RDONLY)
    for name in (deep.name, *["d"] * 1100):
        os.mkdir(name, dir_fd=inside)
        below = os.open(name, os.O_RDONLY, dir_fd=inside)
        os.close(inside)
        inside = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=inside))
    os.close(inside)
    (play.path / "code.py").write_text("x = 1\n")
    sealed = play.seal()
    laid_out = play.workspace.checkout(sealed.commit, {})
    assert (laid_out / "deep").exists()
    remove(laid_out)
    play.workspace.rewind(play.base)
    assert deep.exists() == ignored
    play.again().require_clean()
    play.begin()
    play.workspace.abandon()


def test_files_that_are_nothing_but_holes_are_not_committed(play: Play) -> None:
    play.repo.commit("chore: ignore", {".gitignore": "*.db\n", "code.py": "x = 1\n"})
    play.begin()
    for name in ("code.py", "new.py", "data.db", "small.py"):
        with (play.path / name).open("ab") as file:
            file.truncate(1 << (12 if name == "small.py" else 41))
    sealed = play.seal()
    assert "new.py and 1 more had room for far more" in " ".join(sealed.warnings)
    changed = play.repo.git("show", "--name-only", "--format=", sealed.commit).split()
    assert changed == ["code.py", "small.py"]  # one is gone, as if the session had deleted it
    assert (play.path / "data.db").exists()


@pytest.mark.parametrize("killed", [False, True])
def test_a_commit_that_unfolds_beyond_reason_is_not_laid_out(play: Play, *, killed: bool) -> None:
    play.begin()
    play.repo.write("code.py", "x = 1\n")
    tree = play.repo.git("mktree", stdin=f"100644 blob {play.repo.git('hash-object', '-w', 'code.py')}\tf\n")
    for _ in range(10):
        row = "".join(f"040000 tree {tree}\td{number}\n" for number in range(8))
        tree = play.repo.git("mktree", stdin=row)
    play.repo.git("update-ref", "HEAD", play.repo.git("commit-tree", "-p", "HEAD", "-m", "feat: x", tree))
    if killed:
        play.again().recover(never)
    else:
        sealed = play.seal()
        assert any("unfold to more than 200000 files" in line for line in sealed.warnings)
        changes = play.workspace.changes(play.base, sealed.commit)
        assert [change.path for change in changes] == ["code.py"]
        play.workspace.rewind(play.base)
    assert play.repo.git("rev-parse", "HEAD") == play.base
    play.workspace.require_clean()
