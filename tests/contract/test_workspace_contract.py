"""Every workspace keeps the same promises, in memory or in git."""

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.session import Report, Usage
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Sealed, SealedWork, Workspace
from redgreenrefactor.testing import FakeWorkspace
from repos import MakeRepo, Repo

RUN = "run-1"
START = {"README.md": "hello\n", "pkg/a.py": "a = 1\n"}


class Desk(Protocol):
    """Somebody's workspace, and what a session can do in it."""

    @property
    def workspace(self) -> Workspace: ...

    def write(self, path: str, text: str) -> None: ...

    def delete(self, path: str) -> None: ...

    def commit(self, message: str) -> str: ...

    def reset(self, commit: str) -> None: ...

    def files(self) -> Mapping[str, str]: ...

    def refs(self) -> Mapping[str, str]: ...

    def parent(self, commit: str) -> str: ...


class FakeDesk:
    def __init__(self, folder: Path) -> None:
        self.workspace = FakeWorkspace(folder, START)

    def write(self, path: str, text: str) -> None:
        self.workspace.files[path] = text

    def delete(self, path: str) -> None:
        del self.workspace.files[path]

    def commit(self, message: str) -> str:
        return self.workspace.commit(message)

    def reset(self, commit: str) -> None:
        self.workspace.reset(commit)

    def files(self) -> Mapping[str, str]:
        return self.workspace.files

    def refs(self) -> Mapping[str, str]:
        return self.workspace.refs

    def parent(self, commit: str) -> str:
        return self.workspace.commits[commit].parent or ""


class GitDesk:
    def __init__(self, repo: Repo, workspace: GitWorkspace) -> None:
        self.repo = repo
        self.workspace = workspace

    def write(self, path: str, text: str) -> None:
        self.repo.write(path, text)

    def delete(self, path: str) -> None:
        (self.repo.path / path).unlink()

    def commit(self, message: str) -> str:
        return self.repo.commit(message)

    def reset(self, commit: str) -> None:
        self.repo.git("reset", "-q", "--hard", commit)

    def files(self) -> Mapping[str, str]:
        places = [
            place for place in self.repo.path.rglob("*") if ".git" not in place.parts and place.is_file()
        ]
        return {place.relative_to(self.repo.path).as_posix(): place.read_text() for place in places}

    def refs(self) -> Mapping[str, str]:
        return {name: oid for name, oid in self.repo.refs().items() if name.startswith("refs/tdd/")}

    def parent(self, commit: str) -> str:
        return self.repo.git("log", "-1", "--format=%P", commit)


@pytest.fixture(params=["fake", "git"])
def desk(request: pytest.FixtureRequest, tmp_path: Path, make_repo: MakeRepo) -> Generator[Desk]:
    if request.param == "fake":
        yield FakeDesk(tmp_path)
        return
    repo = make_repo(files=START)
    repository = open_repository(repo.path, repo.env)
    yield GitDesk(repo, GitWorkspace(repository))
    repository.close()


@pytest.fixture
def base(desk: Desk) -> str:
    head = desk.workspace.head()
    desk.workspace.begin(RUN, head)
    return head


def seal(desk: Desk, base: str, phase: PhaseName = PhaseName.GREEN, *, empty: bool = False) -> Sealed:
    return desk.workspace.seal(base, TDD.phase(phase), "adds two numbers", empty=empty)


# --- sealing


def test_one_good_commit_is_kept_as_it_is(desk: Desk, base: str) -> None:
    desk.write("calc.py", "x = 1\n")
    commit = desk.commit("feat: add\n\nBecause.")
    assert seal(desk, base) == Sealed(commit, "feat: add", empty=False)
    assert desk.workspace.head() == commit


def test_a_scope_in_the_prefix_is_fine(desk: Desk, base: str) -> None:
    desk.write("calc.py", "x = 1\n")
    commit = desk.commit("fix(calc): add")
    assert seal(desk, base).commit == commit


def test_uncommitted_work_becomes_a_commit_named_after_the_case(desk: Desk, base: str) -> None:
    desk.write("calc.py", "x = 1\n")
    desk.delete("pkg/a.py")
    sealed = seal(desk, base)
    assert (sealed.subject, sealed.resealed, sealed.empty) == ("feat: adds two numbers", True, False)
    assert (desk.parent(sealed.commit), desk.workspace.head()) == (base, sealed.commit)
    assert desk.files() == {"README.md": "hello\n", "calc.py": "x = 1\n"}


def test_several_commits_become_one_with_the_last_message(desk: Desk, base: str) -> None:
    desk.write("a.py", "1\n")
    desk.commit("feat: one")
    desk.write("b.py", "2\n")
    desk.commit("feat: two")
    sealed = seal(desk, base)
    assert (sealed.subject, sealed.resealed, desk.parent(sealed.commit)) == ("feat: two", True, base)
    assert {change.path for change in desk.workspace.changes(base, sealed.commit)} == {"a.py", "b.py"}


def test_a_missing_prefix_is_put_before_the_message(desk: Desk, base: str) -> None:
    desk.write("a.py", "1\n")
    desk.commit("features for everybody")
    assert seal(desk, base).subject == "feat: features for everybody"


def test_nothing_done_is_no_commit_unless_one_is_wanted(desk: Desk, base: str) -> None:
    assert seal(desk, base) == Sealed(base, "chore: start", empty=True)
    sealed = seal(desk, base, empty=True)
    assert (sealed.subject, sealed.empty, sealed.resealed) == ("feat: adds two numbers", True, True)
    assert (desk.parent(sealed.commit), desk.workspace.head()) == (base, sealed.commit)


def test_an_empty_refactoring_says_so_whatever_its_message_was(desk: Desk, base: str) -> None:
    desk.write("a.py", "1\n")
    desk.commit("refactor: better")
    desk.delete("a.py")
    assert seal(desk, base, PhaseName.REFACTOR, empty=True).subject == "refactor: no changes needed"


def test_a_start_that_is_cut_out_of_the_history_is_told(desk: Desk) -> None:
    first = desk.workspace.head()
    desk.write("a.py", "1\n")
    base = desk.commit("plan: list")
    desk.workspace.begin(RUN, base)
    desk.reset(first)
    desk.write("b.py", "2\n")
    desk.commit("feat: elsewhere")
    sealed = seal(desk, base)
    assert len(sealed.rewritten) == 1
    assert base[:10] in sealed.rewritten[0]
    assert (desk.parent(sealed.commit), desk.workspace.head()) == (base, sealed.commit)


# --- going back


def test_rewinding_gives_the_files_of_the_base(desk: Desk, base: str) -> None:
    desk.write("calc.py", "x = 1\n")
    desk.delete("pkg/a.py")
    sealed = seal(desk, base)
    desk.write("loose.py", "2\n")
    desk.workspace.rewind(base)
    assert desk.files() == START
    assert desk.workspace.head() == base
    assert desk.workspace.source(sealed.commit, "calc.py") == "x = 1\n"


def test_keeping_is_for_what_differs_and_leaves_it_where_it_is(desk: Desk, base: str) -> None:
    assert desk.workspace.keep(RUN, base, "odd attempt") is None
    desk.write("a.py", "1\n")
    commit = desk.commit("feat: a")
    desk.write("b.py", "2\n")
    ref = desk.workspace.keep(RUN, base, "odd attempt")
    assert ref is not None
    assert ref.startswith(f"refs/tdd/kept/{RUN}/odd-attempt-")
    kept = desk.refs()[ref]
    assert [desk.workspace.source(kept, name) for name in ("a.py", "b.py")] == ["1\n", "2\n"]
    assert (desk.parent(kept), desk.workspace.head()) == (commit, commit)


def test_a_clean_commit_is_kept_itself(desk: Desk, base: str) -> None:
    desk.write("a.py", "1\n")
    commit = desk.commit("feat: a")
    desk.workspace.keep(RUN, base, "odd attempt")
    assert list(desk.refs().values()) == [commit]


def test_an_abandoned_session_leaves_nothing_but_what_is_kept(desk: Desk, base: str) -> None:
    desk.write("README.md", "spoiled\n")
    ref = desk.workspace.abandon()
    assert ref is not None
    assert desk.workspace.source(desk.refs()[ref], "README.md") == "spoiled\n"
    assert (desk.files(), desk.workspace.head()) == (START, base)


def _sealed_work(desk: Desk, base: str) -> SealedWork:
    desk.write("new.py", "1\n")
    phase = TDD.phase(PhaseName.RED)
    sealed = desk.workspace.seal(base, phase, "a case", empty=False)
    report = Report("done", Usage(1, 2, cost_usd=0.25), model="m", refused=("rm",))
    work = SealedWork(RUN, base, phase.name, 2, "fake", report, sealed, 1.5)
    desk.workspace.remember(work)
    return work


def test_sealed_work_is_there_to_be_judged_after_it_was_abandoned(desk: Desk, base: str) -> None:
    work = _sealed_work(desk, base)
    for _ in range(2):
        assert desk.workspace.abandon() is not None
        assert (desk.files(), desk.workspace.head()) == (START, base)
        assert desk.workspace.unjudged(RUN, PhaseName.RED, 2) == work
        desk.workspace.take_up(work)
        assert (desk.files(), desk.workspace.head()) == ({**START, "new.py": "1\n"}, work.sealed.commit)
    assert desk.workspace.unjudged(RUN, PhaseName.RED, 3) is None
    assert desk.workspace.unjudged("run-2", PhaseName.RED, 2) is None
    assert desk.workspace.unjudged(RUN, PhaseName.GREEN, 2) is None
    desk.workspace.end()
    assert desk.workspace.unjudged(RUN, PhaseName.RED, 2) is None


def test_a_session_that_did_nothing_is_abandoned_without_a_trace(desk: Desk, base: str) -> None:
    assert desk.workspace.abandon() is None
    assert (desk.files(), desk.workspace.head(), desk.refs()) == (START, base, {})


def test_without_a_session_there_is_nothing_to_abandon(desk: Desk) -> None:
    desk.write("mine.py", "1\n")
    assert desk.workspace.abandon() is None
    assert "mine.py" in desk.files()


def test_attempts_are_counted_by_phase_and_cycle(desk: Desk, base: str) -> None:
    workspace = desk.workspace
    assert workspace.last_attempt(RUN, 1, "GREEN") == 0
    for name in ("1-GREEN-2", "1-GREEN-10", "1-RED-11", "2-GREEN-12", "11-GREEN-13"):
        workspace.set_aside(base, RUN, name)
    workspace.set_aside(base, "run-11", "1-GREEN-14")
    assert workspace.last_attempt(RUN, 1, "GREEN") == 10


def test_what_stood_at_a_ref_before_is_kept(desk: Desk, base: str) -> None:
    ref = f"refs/tdd/attempts/{RUN}/1-GREEN-1"
    desk.workspace.set_aside(base, RUN, "1-GREEN-1")
    desk.workspace.set_aside(base, RUN, "1-GREEN-1")
    assert desk.refs() == {ref: base}
    desk.write("a.py", "1\n")
    commit = seal(desk, base).commit
    desk.workspace.set_aside(commit, RUN, "1-GREEN-1")
    assert desk.refs() == {ref: commit, f"refs/tdd/kept/attempts/{RUN}/1-GREEN-1-{base[:10]}": base}


def test_an_attempt_is_laid_out_without_being_checked_out(desk: Desk, base: str) -> None:
    desk.write("a.py", "1\n")
    desk.delete("pkg/a.py")
    tried = seal(desk, base).commit
    desk.workspace.set_aside(tried, RUN, "1-GREEN-1")
    desk.workspace.rewind(base)
    desk.workspace.begin(RUN, base)
    desk.workspace.lay_out(RUN, "1-GREEN-1")
    assert desk.workspace.head() == base
    assert desk.files() == {"README.md": "hello\n", "a.py": "1\n"}
    desk.write("b.py", "2\n")
    again = seal(desk, base)
    assert desk.parent(again.commit) == base
    assert {change.path for change in desk.workspace.changes(base, again.commit)} == {
        "a.py",
        "b.py",
        "pkg/a.py",
    }


def test_a_session_that_added_nothing_to_what_was_laid_out_leaves_no_trace(desk: Desk, base: str) -> None:
    desk.write("a.py", "1\n")
    desk.workspace.set_aside(seal(desk, base).commit, RUN, "1-GREEN-1")
    desk.workspace.rewind(base)
    desk.workspace.begin(RUN, base)
    desk.workspace.lay_out(RUN, "1-GREEN-1")
    assert desk.workspace.abandon() is None
    assert desk.files() == START
    desk.workspace.begin(RUN, base)
    desk.workspace.lay_out(RUN, "1-GREEN-1")
    desk.write("b.py", "2\n")
    assert desk.workspace.abandon() is not None


def test_the_next_session_begins_where_the_last_one_was_accepted(desk: Desk, base: str) -> None:
    desk.write("a.py", "1\n")
    first = seal(desk, base).commit
    desk.workspace.end()
    desk.workspace.begin(RUN, first)
    desk.write("b.py", "2\n")
    second = seal(desk, first, PhaseName.REFACTOR)
    assert (desk.parent(second.commit), second.rewritten, second.warnings) == (first, (), ())


# --- looking


def test_changes_tell_both_sides(desk: Desk, base: str) -> None:
    desk.write("README.md", "changed\n")
    desk.write("new/x.py", "1\n")
    desk.delete("pkg/a.py")
    commit = seal(desk, base).commit
    changes = {change.path: change for change in desk.workspace.changes(base, commit)}
    texts = {
        path: (change.before and change.before.text, change.after and change.after.text)
        for path, change in changes.items()
    }
    assert texts == {
        "README.md": ("hello\n", "changed\n"),
        "new/x.py": (None, "1\n"),
        "pkg/a.py": ("a = 1\n", None),
    }
    assert desk.workspace.changes(None, commit) == tuple(changes.values())
    before = changes["pkg/a.py"].before
    assert before is not None
    assert (before.mode, (before.oid, before.text)) == ("100644", desk.workspace.read(base, "pkg/a.py"))
    assert desk.workspace.changes(base, base) == ()


def test_a_file_is_read_by_commit_and_path(desk: Desk, base: str) -> None:
    workspace = desk.workspace
    assert workspace.read(base, "pkg/a.py") == ("1337a530cbc1bd7d20aee2d80f1f174a9182417d", "a = 1\n")
    assert workspace.source(base, "pkg/a.py") == "a = 1\n"
    for path in ("pkg", "nothing.py", "pkg/a.py/b", "pkg/nothing.py"):
        assert (workspace.read(base, path), workspace.source(base, path)) == (None, None)


def test_the_list_makes_no_difference_to_a_fingerprint(desk: Desk, base: str) -> None:
    workspace = desk.workspace
    desk.write("test-list.md", "- [ ] one\n")
    listed = desk.commit("plan: list")
    desk.write("pkg/test-list.md", "- [ ] another list\n")
    other = desk.commit("plan: other")
    assert workspace.fingerprint(base) == workspace.fingerprint(listed) != workspace.fingerprint(other)


def test_a_checkout_holds_the_commit_with_files_replaced(desk: Desk, base: str) -> None:
    desk.write("pkg/b.py", "b = 2\n")
    later = desk.commit("feat: b")
    folder = desk.workspace.checkout(later, {"pkg/a.py": "a = 9\n", "README.md": None, "new/c.py": "c = 3\n"})
    assert _texts(folder) == {"pkg/a.py": "a = 9\n", "pkg/b.py": "b = 2\n", "new/c.py": "c = 3\n"}
    (folder / "junk.txt").write_text("x")
    assert _texts(desk.workspace.checkout(base, {})) == START
    assert desk.files() == {**START, "pkg/b.py": "b = 2\n"}


def test_what_is_changed_in_a_checkout_is_told(desk: Desk, base: str) -> None:
    folder = desk.workspace.checkout(base, {})
    assert desk.workspace.disturbed() == ()
    (folder / "README.md").write_text("somebody else's")
    (folder / "pkg/a.py").unlink()
    (folder / "new.txt").write_text("x")
    assert sorted(desk.workspace.disturbed()) == ["README.md", "pkg/a.py"]
    desk.workspace.checkout(base, {})
    assert desk.workspace.disturbed() == ()


def _texts(folder: Path) -> Mapping[str, str]:
    places = [place for place in folder.rglob("*") if place.is_file() and ".git" not in place.parts]
    return {place.relative_to(folder).as_posix(): place.read_text() for place in places}
