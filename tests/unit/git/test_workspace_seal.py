"""Whatever a session leaves behind becomes exactly one commit, and refs are put right."""

from collections.abc import Iterator

import pytest

from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Sealed
from repos import Repo

RUN = "run-1"


class Turn:
    """One session's work on a repository, from begin to seal."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.repository = open_repository(repo.path, repo.env)
        self.workspace = GitWorkspace(self.repository)
        self.base = repo.git("rev-parse", "HEAD") if (repo.path / ".git/refs/heads/main").exists() else ""
        self.workspace.begin(RUN, self.base)

    def seal(self, phase: PhaseName = PhaseName.GREEN, *, empty: bool = False) -> Sealed:
        return self.workspace.seal(self.base, TDD.phase(phase), "adds two numbers", empty=empty)


@pytest.fixture
def turn(repo: Repo) -> Iterator[Turn]:
    one = Turn(repo)
    yield one
    one.repository.close()


def parent_of(repo: Repo, commit: str) -> list[str]:
    return repo.git("log", "-1", "--format=%P", commit).split()


def test_one_good_commit_is_kept_as_it_is(turn: Turn) -> None:
    commit = turn.repo.commit("feat: add", {"calc.py": "x = 1\n"})
    sealed = turn.seal()
    assert (sealed.commit, sealed.resealed, sealed.rewritten, sealed.warnings) == (commit, False, (), ())


def test_a_scope_in_the_prefix_is_fine(turn: Turn) -> None:
    commit = turn.repo.commit("fix(calc): add", {"calc.py": "x = 1\n"})
    assert turn.seal().commit == commit


def test_uncommitted_work_becomes_a_commit_named_after_the_case(turn: Turn) -> None:
    turn.repo.write("calc.py", "x = 1\n")
    sealed = turn.seal()
    assert sealed.resealed
    assert sealed.subject == "feat: adds two numbers"
    assert parent_of(turn.repo, sealed.commit) == [turn.base]
    assert turn.repo.git("rev-parse", "HEAD", "main").split() == [sealed.commit] * 2
    assert turn.repo.git("status", "--porcelain") == ""


def test_several_commits_and_loose_ends_become_one_with_the_last_message_and_author(turn: Turn) -> None:
    turn.repo.commit("wip", {"a.py": "1\n"})
    turn.repo.write("a.py", "2\n")
    turn.repo.git("commit", "-qa", "--author", "Eve <eve@x>", "-m", "Add it\n\nBecause.")
    turn.repo.write("b.py", "2\n")
    sealed = turn.seal()
    assert turn.repo.git("log", "-1", "--format=%s|%b|%an", sealed.commit) == "feat: Add it|Because.\n|Eve"
    assert turn.repo.git("show", "--name-only", "--format=", sealed.commit).split() == ["a.py", "b.py"]
    assert parent_of(turn.repo, sealed.commit) == [turn.base]


def test_the_last_message_that_counts_is_that_of_a_change(turn: Turn) -> None:
    turn.repo.commit("feat: add", {"calc.py": "x = 1\n"})
    turn.repo.commit("feat: add well", {"calc.py": "x = 2\n"})
    turn.repo.commit("chore: oops")
    assert turn.seal().subject == "feat: add well"


def test_where_nothing_is_changed_the_last_message_counts(turn: Turn) -> None:
    turn.repo.commit("chore: oops")
    turn.repo.commit("feat: nothing to do")
    assert turn.seal(empty=True).subject == "feat: nothing to do"


def test_a_wrong_prefix_is_replaced_and_the_scope_kept(turn: Turn) -> None:
    turn.repo.commit("chore(x): add", {"a.py": "1\n"})
    assert turn.seal().subject == "feat(x): add"


def test_a_merge_commit_is_made_plain(turn: Turn) -> None:
    turn.repo.git("checkout", "-q", "-b", "side")
    turn.repo.commit("feat: side", {"side.py": "1\n"})
    turn.repo.git("checkout", "-q", "main")
    turn.repo.commit("feat: main", {"main.py": "1\n"})
    turn.repo.git("merge", "-q", "side", "-m", "feat: merged")
    sealed = turn.seal()
    assert parent_of(turn.repo, sealed.commit) == [turn.base]
    assert "refs/heads/side" not in turn.repo.refs()
    assert any("kept" in warning for warning in sealed.warnings)


def test_nothing_done_is_no_commit_unless_one_is_wanted(turn: Turn) -> None:
    assert turn.seal().commit == turn.base
    sealed = turn.seal(PhaseName.REFACTOR, empty=True)
    assert sealed.subject == "refactor: no changes needed"
    assert sealed.empty
    assert turn.repo.git("rev-parse", "HEAD") == sealed.commit


def test_an_empty_refactoring_says_so_whatever_its_message_was(turn: Turn) -> None:
    turn.repo.commit("refactor: made it all better")
    assert turn.seal(PhaseName.REFACTOR, empty=True).subject == "refactor: no changes needed"


@pytest.mark.parametrize("committed", [True, False])
def test_dependencies_and_caches_are_left_out(turn: Turn, committed: bool) -> None:
    files = {
        "calc.py": "1\n",
        "node_modules/x/index.js": "1\n",
        "pkg/__pycache__/a.pyc": "1\n",
        "env/pyvenv.cfg": "home=x\n",
        "env/bin/python": "x\n",
        "sub/Cargo.toml": "[package]\n",
        "sub/target/debug/x": "x\n",
        "target/honest.txt": "no pom beside it\n",
    }
    for name, text in files.items():
        turn.repo.write(name, text)
    if committed:
        turn.repo.git("add", "-A", "-f")
        turn.repo.git("commit", "-q", "-m", "feat: all of it")
    sealed = turn.seal()
    listed = turn.repo.git("ls-tree", "-r", "--name-only", sealed.commit).split("\n")
    assert listed == ["README.md", "calc.py", "sub/Cargo.toml", "target/honest.txt"]
    assert (turn.repo.path / "node_modules/x/index.js").exists()


def test_tracked_files_stay_whatever_they_are_called(
    make_repo: object, env: dict[str, str], repo: Repo
) -> None:
    repo.write("build/notes.txt", "1\n")
    repo.write("build.gradle", "1\n")
    repo.git("add", "-f", "-A")
    repo.commit("chore: odd but mine")
    turn = Turn(repo)
    repo.commit("feat: change", {"build/notes.txt": "2\n"})
    sealed = turn.seal()
    turn.repository.close()
    assert not sealed.resealed
    assert repo.git("show", f"{sealed.commit}:build/notes.txt") == "2"


def test_another_branch_moved_is_rewriting_and_is_put_back(repo: Repo) -> None:
    repo.git("branch", "other")
    turn = Turn(repo)
    repo.commit("feat: add", {"a.py": "1\n"})
    repo.git("branch", "-f", "other", "HEAD")
    sealed = turn.seal()
    turn.repository.close()
    assert sealed.rewritten == ("refs/heads/other was moved",)
    assert repo.refs()["refs/heads/other"] == turn.base


def test_a_deleted_tag_comes_back(repo: Repo) -> None:
    repo.git("tag", "v1")
    turn = Turn(repo)
    repo.git("tag", "-d", "v1")
    sealed = turn.seal()
    turn.repository.close()
    assert sealed.rewritten == ("refs/tags/v1 was deleted",)
    assert repo.refs()["refs/tags/v1"] == turn.base


def test_an_amended_start_is_rewriting(turn: Turn) -> None:
    turn.repo.git("commit", "-q", "--amend", "-m", "chore: other start")
    sealed = turn.seal()
    assert "no longer part of the history" in sealed.rewritten[0]
    assert parent_of(turn.repo, sealed.commit) == [turn.base]


def test_notes_touched_are_rewriting_and_come_back(repo: Repo) -> None:
    repo.git("notes", "--ref=tdd-handoffs", "add", "-m", "mine", "HEAD")
    turn = Turn(repo)
    repo.git("notes", "--ref=tdd-handoffs", "add", "-f", "-m", "forged", "HEAD")
    sealed = turn.seal()
    turn.repository.close()
    assert sealed.rewritten == ("refs/notes/tdd-handoffs was moved",)
    assert repo.git("notes", "--ref=tdd-handoffs", "show", "HEAD") == "mine"


def test_a_fetch_during_a_session_is_nobodys_fault(repo: Repo) -> None:
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    turn = Turn(repo)
    commit = repo.commit("feat: add", {"a.py": "1\n"})
    repo.git("update-ref", "refs/remotes/origin/main", commit)
    assert turn.seal().rewritten == ()
    turn.repository.close()


def test_work_in_another_checkout_is_nobodys_fault(repo: Repo) -> None:
    repo.git("worktree", "add", "-q", "-b", "mine", str(repo.path.parent / "mine"))
    turn = Turn(repo)
    repo.commit("feat: add", {"a.py": "1\n"})
    Repo(repo.path.parent / "mine", repo.env).commit("my own work", {"m.py": "1\n"})
    assert turn.seal().rewritten == ()
    turn.repository.close()


def test_new_branches_tags_and_stashes_are_kept_out_of_the_way(turn: Turn) -> None:
    turn.repo.write("README.md", "changed\n")
    turn.repo.git("stash")
    turn.repo.git("tag", "mark")
    turn.repo.git("checkout", "-q", "-b", "feature")
    commit = turn.repo.commit("feat: add", {"a.py": "1\n"})
    sealed = turn.seal()
    refs = turn.repo.refs()
    assert (sealed.commit, sealed.rewritten) == (commit, ())
    assert len(sealed.warnings) == 3
    assert not {"refs/stash", "refs/tags/mark", "refs/heads/feature"} & set(refs)
    assert len([name for name in refs if name.startswith(f"refs/tdd/kept/{RUN}/")]) == 3
    assert turn.repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert refs["refs/heads/main"] == commit


def test_a_detached_head_stays_detached(repo: Repo) -> None:
    repo.git("checkout", "-q", "--detach")
    turn = Turn(repo)
    repo.git("checkout", "-q", "-b", "somewhere")
    commit = repo.commit("feat: add", {"a.py": "1\n"})
    assert turn.seal().commit == commit
    turn.repository.close()
    assert (repo.path / ".git/HEAD").read_text().strip() == commit


def test_the_very_same_commit_again_gets_a_later_date(turn: Turn) -> None:
    first = turn.repo.commit("feat: add", {"a.py": "1\n"})
    turn.workspace.set_aside(turn.seal().commit, "run-1", "1-GREEN-1")
    turn.workspace.rewind(turn.base)
    turn.repo.git("reset", "-q", "--hard", first)
    sealed = turn.seal()
    assert sealed.commit != first
    assert turn.repo.git("rev-parse", f"{sealed.commit}^{{tree}}") == turn.repo.git(
        "rev-parse", f"{first}^{{tree}}"
    )


def test_signing_without_a_usable_key_is_said(repo: Repo) -> None:
    repo.git("config", "commit.gpgsign", "true")
    repo.git("config", "gpg.program", "/bin/false")
    turn = Turn(repo)
    repo.write("a.py", "1\n")
    sealed = turn.seal()
    turn.repository.close()
    assert sealed.signed is False
    assert sealed.resealed


def test_a_lock_left_by_a_killed_git_does_not_stop_us(turn: Turn) -> None:
    turn.repo.write("a.py", "1\n")
    (turn.repo.path / ".git/index.lock").write_text("")
    assert turn.seal().resealed


def test_odd_file_names_survive(turn: Turn) -> None:
    names = ["with space.py", 'quo"te.py', "new\nline.py", "ümläut.py", "-dash.py", "node_modulesx/y.py"]
    for name in names:
        turn.repo.write(name, "1\n")
    sealed = turn.seal()
    raw = turn.repo.git("ls-tree", "-r", "-z", "--name-only", sealed.commit)
    assert set(raw.split("\0")) >= set(names)
    assert {change.path for change in turn.workspace.changes(turn.base, sealed.commit)} == set(names)
