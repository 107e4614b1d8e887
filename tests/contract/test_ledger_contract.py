"""Every ledger keeps the same promises; the one in git also survives what others do to its notes."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.git.executable import Git
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.objects import Objects
from redgreenrefactor.git.refs import NOTES
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import Handoff, State
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Ledger
from redgreenrefactor.testing import FakeLedger, FakeWorkspace
from repos import Repo

OPENING = Handoff(PhaseName.PLAN, PhaseName.PLAN, run_id="r", feature="count", timestamp="t0")
PLANNED = replace(OPENING, next_phase=PhaseName.RED, cycle_number=1, timestamp="t1", agent="fake")
SHOW = ("notes", "--ref=tdd-handoffs", "show")


@dataclass(frozen=True)
class Book:
    """A ledger, and how a commit is made beneath it."""

    ledger: Ledger
    head: str
    commit: Callable[[], str]


@pytest.fixture
def git_ledger(repo: Repo) -> Generator[GitLedger]:
    repository = open_repository(repo.path, repo.env)
    yield GitLedger(repository)
    repository.close()


@pytest.fixture(params=["fake", "git"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Book:
    if request.param == "fake":
        workspace = FakeWorkspace(tmp_path)
        return Book(FakeLedger(workspace), workspace.head(), lambda: workspace.commit("more"))
    repo: Repo = request.getfixturevalue("repo")
    ledger: GitLedger = request.getfixturevalue("git_ledger")
    return Book(ledger, repo.git("rev-parse", "HEAD"), lambda: repo.commit("more"))


# --- both


def test_without_notes_there_is_no_handoff(book: Book) -> None:
    assert book.ledger.latest() is None
    assert list(book.ledger.history()) == []


def test_what_is_written_is_the_latest(book: Book) -> None:
    book.ledger.write({book.head: OPENING})
    assert book.ledger.latest() == Entry(book.head, OPENING)


def test_a_note_is_replaced_by_the_next_one_on_its_commit(book: Book) -> None:
    book.ledger.write({book.head: OPENING})
    stopped = replace(OPENING, state=State.STOPPED, error="ümläut 🙂 \udcff")
    book.ledger.write({book.head: stopped})
    assert list(book.ledger.history()) == [Entry(book.head, stopped)]


def test_commits_without_notes_on_top_are_passed_by(book: Book) -> None:
    book.ledger.write({book.head: OPENING})
    book.commit()
    assert book.ledger.latest() == Entry(book.head, OPENING)


def test_history_is_newest_first_and_ends_at_the_opening(book: Book) -> None:
    book.ledger.write({book.head: replace(PLANNED, run_id="earlier")})
    second, _, third = book.commit(), book.commit(), book.commit()
    book.ledger.write({second: OPENING, third: PLANNED})
    assert list(book.ledger.history()) == [Entry(third, PLANNED), Entry(second, OPENING)]


def test_an_opening_that_was_carried_over_is_not_the_end(book: Book) -> None:
    carried = replace(OPENING, carried_from=book.head)
    second = book.commit()
    book.ledger.write({book.head: OPENING, second: carried})
    assert list(book.ledger.history()) == [Entry(second, carried), Entry(book.head, OPENING)]


def test_handoffs_of_other_runs_in_between_are_passed_by(book: Book) -> None:
    second, third = book.commit(), book.commit()
    theirs = replace(PLANNED, run_id="theirs")
    book.ledger.write({book.head: OPENING, second: theirs, third: PLANNED})
    assert list(book.ledger.history()) == [Entry(third, PLANNED), Entry(book.head, OPENING)]


def test_what_another_run_noted_on_a_commit_is_kept_in_the_note(book: Book) -> None:
    theirs = replace(PLANNED, run_id="theirs")
    book.ledger.write({book.head: theirs})
    book.ledger.write({book.head: OPENING})
    latest = book.ledger.latest()
    assert latest is not None
    assert (latest.handoff.run_id, latest.handoff.previous) == ("r", theirs)
    book.ledger.write({book.head: replace(theirs, attempts=7)})
    again = book.ledger.latest()
    assert again is not None
    assert (again.handoff.run_id, again.handoff.previous) == ("r", replace(theirs, attempts=7))


def test_all_notes_are_written_or_none(book: Book) -> None:
    with pytest.raises(LedgerError, match="could not be written"):
        book.ledger.write({book.head: OPENING, "1" * 40: PLANNED})
    assert book.ledger.latest() is None


# --- git


def test_a_note_is_what_git_shows(repo: Repo, git_ledger: GitLedger) -> None:
    head = repo.git("rev-parse", "HEAD")
    git_ledger.write({head: PLANNED})
    shown = json.loads(repo.git(*SHOW, head))
    assert (shown["phase"], shown["nextPhase"], shown["agent"]) == ("PLAN", "RED", "fake")
    assert git_ledger.read(head) == PLANNED


def test_two_ledgers_that_write_at_once_lose_nothing(repo: Repo, git_ledger: GitLedger) -> None:
    first = repo.git("rev-parse", "HEAD")
    git_ledger.write({first: OPENING})
    second = repo.commit("more")
    rivals = replace(OPENING, feature="rival")
    with outrun(repo, lambda _: git_ledger.write({first: rivals}), times=1) as slow:
        slow.write({second: PLANNED})
    assert list(git_ledger.history()) == [Entry(second, PLANNED), Entry(first, rivals)]


def test_a_first_note_meets_another_first_note(repo: Repo, git_ledger: GitLedger) -> None:
    first = repo.git("rev-parse", "HEAD")
    second = repo.commit("more")
    with outrun(repo, lambda _: git_ledger.write({first: OPENING}), times=1) as slow:
        slow.write({second: PLANNED})
    assert list(git_ledger.history()) == [Entry(second, PLANNED), Entry(first, OPENING)]


def test_whoever_loses_every_race_gives_up_with_words(repo: Repo, git_ledger: GitLedger) -> None:
    head = repo.git("rev-parse", "HEAD")

    def strike(number: int) -> None:
        git_ledger.write({head: replace(OPENING, attempts=number)})

    with (
        outrun(repo, strike, times=99) as slow,
        pytest.raises(LedgerError, match="not be written") as refusal,
    ):
        slow.write({head: PLANNED})
    assert "resume" in refusal.value.hint
    left = git_ledger.read(head)
    assert left is not None
    assert left.next_phase is PhaseName.PLAN


def test_a_repository_that_cannot_be_written_is_no_race(repo: Repo, git_ledger: GitLedger) -> None:
    head = repo.git("rev-parse", "HEAD")
    (repo.path / ".git/refs/notes").mkdir()
    (repo.path / ".git/refs/notes/tdd-handoffs.lock").touch()
    with pytest.raises(LedgerError, match="lock") as refusal:
        git_ledger.write({head: PLANNED})
    assert "remove the lock file" in refusal.value.hint


def test_three_hundred_notes_fan_out_and_are_found(repo: Repo, git_ledger: GitLedger) -> None:
    stream = [
        f"commit refs/heads/many\nmark :{number}\ncommitter A <a@x> {number} +0000\ndata 1\nx\n"
        + (f"from :{number - 1}\n" if number > 1 else "")
        for number in range(1, 301)
    ]
    repo.git("fast-import", "--quiet", stdin="".join(stream))
    repo.git("checkout", "-q", "many")
    commits = repo.git("rev-list", "HEAD").split()
    git_ledger.write({commit: replace(PLANNED, attempts=number) for number, commit in enumerate(commits)})
    depths = {name.count("/") for name in repo.git("ls-tree", "-r", "--name-only", NOTES).split()}
    assert depths == {1}
    assert [entry.handoff.attempts for entry in git_ledger.history()] == list(range(300))
    assert repo.git(*SHOW, commits[123]).startswith("{")


def test_notes_that_another_tool_wrote_flat_are_read_and_written_on(
    repo: Repo, git_ledger: GitLedger
) -> None:
    first, second = repo.git("rev-parse", "HEAD"), repo.commit("more")
    git_ledger.write({first: OPENING, second: PLANNED})
    blobs = [repo.git("rev-parse", f"{NOTES}:{name}") for name in _paths(repo)]
    names = [path.replace("/", "") for path in _paths(repo)]
    rows = "".join(f"100644 blob {oid}\t{name}\n" for oid, name in zip(blobs, names, strict=True))
    flat = repo.git("commit-tree", repo.git("mktree", stdin=rows), "-m", "flat")
    repo.git("update-ref", NOTES, flat)
    assert list(git_ledger.history()) == [Entry(second, PLANNED), Entry(first, OPENING)]
    git_ledger.write({second: replace(PLANNED, attempts=7)})
    assert [entry.handoff.attempts for entry in git_ledger.history()] == [7, 0]


def test_notes_deep_in_folders_are_read(repo: Repo, git_ledger: GitLedger) -> None:
    head = repo.git("rev-parse", "HEAD")
    blob = repo.git("hash-object", "-w", "--stdin", stdin='{"phase": "PLAN", "nextPhase": "RED"}')
    tree = repo.git("mktree", stdin=f"100644 blob {blob}\t{head[6:]}\n")
    for start in (4, 2, 0):
        tree = repo.git("mktree", stdin=f"040000 tree {tree}\t{head[start : start + 2]}\n")
    repo.git("update-ref", NOTES, repo.git("commit-tree", tree, "-m", "deep"))
    handoff = git_ledger.read(head)
    assert handoff is not None
    assert handoff.next_phase is PhaseName.RED
    assert git_ledger.read("f" * 40) is None


@pytest.mark.parametrize("note", ["nonsense", '{"phase": "RED"}', "[]", "\udcff"])
def test_an_unreadable_note_says_how_it_is_repaired(repo: Repo, git_ledger: GitLedger, note: str) -> None:
    file = repo.path / ".git/note"
    file.write_bytes(note.encode("utf-8", "surrogateescape"))
    repo.git("notes", "--ref=tdd-handoffs", "add", "-F", str(file))
    with pytest.raises(LedgerError, match=repo.git("rev-parse", "HEAD")[:10]) as refusal:
        git_ledger.latest()
    assert (refusal.value.exit_code, "repair-notes" in refusal.value.hint) == (3, True)


def test_a_note_whose_text_is_gone_says_how_it_is_repaired(repo: Repo, git_ledger: GitLedger) -> None:
    head = repo.git("rev-parse", "HEAD")
    tree = repo.git("mktree", "--missing", stdin=f"100644 blob {'1' * 40}\t{head}\n")
    repo.git("update-ref", NOTES, repo.git("commit-tree", tree, "-m", "notes"))
    with pytest.raises(LedgerError, match="is gone") as refusal:
        git_ledger.read(head)
    assert "repair-notes" in refusal.value.hint


def test_a_notes_ref_that_is_no_commit_says_how_it_is_repaired(repo: Repo, git_ledger: GitLedger) -> None:
    repo.git("update-ref", NOTES, repo.git("hash-object", "-w", "--stdin", stdin="what?"))
    for look in (git_ledger.latest, lambda: git_ledger.write({"HEAD": OPENING})):
        with pytest.raises(LedgerError, match="does not point to a commit") as refusal:
            look()
        assert "repair-notes" in refusal.value.hint


def test_snake_case_notes_of_another_tool_are_read(repo: Repo, git_ledger: GitLedger) -> None:
    note = {
        "phase": "GREEN",
        "next_phase": "REFACTOR",
        "cycle": 2,
        "current_test": {"description": "d", "test_file": "t.py", "impl_file": "i.py"},
        "completed_tests": ["a"],
        "pending_tests": [],
        "test_result": "PASS",
        "timestamp": "2025-01-11T10:30:00Z",
        "their_own": {"x": 1},
    }
    repo.git("notes", "--ref=tdd-handoffs", "add", "-m", json.dumps(note))
    latest = git_ledger.latest()
    assert latest is not None
    assert (latest.handoff.cycle_number, latest.handoff.next_phase) == (2, PhaseName.REFACTOR)
    assert latest.handoff.current_test == Case("d", "t.py", "i.py")
    assert latest.handoff.unknown.value == {"their_own": {"x": 1}}


def test_the_line_of_first_parents_is_followed(repo: Repo, git_ledger: GitLedger) -> None:
    first = repo.git("rev-parse", "HEAD")
    repo.git("checkout", "-q", "-b", "side")
    side = repo.commit("side", {"side.py": "1\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("main", {"main.py": "1\n"})
    repo.git("merge", "-q", "side", "-m", "merged")
    git_ledger.write({first: OPENING, side: PLANNED})
    assert git_ledger.latest() == Entry(first, OPENING)


def test_notes_are_found_in_a_repository_without_commits(repo: Repo, git_ledger: GitLedger) -> None:
    git_ledger.write({repo.git("rev-parse", "HEAD"): OPENING})
    repo.git("checkout", "-q", "--orphan", "empty")
    assert git_ledger.latest() is None


def test_going_on_from_an_opening_loses_nothing_of_the_run_before(repo: Repo, git_ledger: GitLedger) -> None:
    first = repo.git("rev-parse", "HEAD")
    earlier = replace(PLANNED, run_id="earlier")
    git_ledger.write({first: earlier})
    git_ledger.write({first: OPENING})
    latest = git_ledger.latest_of_runs()
    assert latest is not None
    git_ledger.write({first: replace(latest.handoff, retry_count=1)})
    assert [entry.handoff.run_id for entry in git_ledger.past()] == [OPENING.run_id, "earlier"]


def test_a_run_that_went_on_on_another_branch_is_known(repo: Repo, git_ledger: GitLedger) -> None:
    first = repo.git("rev-parse", "HEAD")
    git_ledger.write({first: OPENING})
    entry = Entry(first, OPENING)
    assert not git_ledger.goes_on_elsewhere(entry)
    repo.git("checkout", "-q", "-b", "elsewhere")
    second = repo.commit("plan: list")
    assert not git_ledger.goes_on_elsewhere(entry)
    git_ledger.write({second: replace(PLANNED, run_id="another")})
    assert not git_ledger.goes_on_elsewhere(entry)
    git_ledger.write({second: PLANNED})
    assert git_ledger.goes_on_elsewhere(entry)


def test_rejected_attempts_come_in_the_order_they_were_made(repo: Repo, git_ledger: GitLedger) -> None:
    names = ["1-GREEN-10", "1-GREEN-9", "1-RED-1", "2-RED-1"]
    times = ["t2", "t2", "t1", "t3"]
    notes: dict[str, Handoff] = {}
    for name, time in zip(names, times, strict=True):
        commit = repo.commit(name)
        repo.git("update-ref", f"refs/tdd/attempts/r/{name}", commit)
        notes[commit] = replace(PLANNED, timestamp=time, attempts=int(name.split("-")[2]), feature=name)
    git_ledger.write(notes)
    repo.git("update-ref", "refs/tdd/attempts/r/9-RED-1", repo.commit("without a note"))
    repo.git("update-ref", "refs/tdd/attempts/other/1-RED-1", next(iter(notes)))
    found = [entry.handoff.feature for entry in git_ledger.attempts("r")]
    assert found == ["1-RED-1", "1-GREEN-9", "1-GREEN-10", "2-RED-1"]


def _paths(repo: Repo) -> list[str]:
    return repo.git("ls-tree", "-r", "--name-only", NOTES).split()


class _Raced(Objects):
    """Objects of a slow ledger: somebody else writes whenever it has looked at the notes, a number of times."""

    def __init__(self, git: Git, strike: Callable[[int], None], times: int) -> None:
        super().__init__(git)
        self._strike = strike
        self.left = times

    def resolve(self, name: str) -> str | None:
        found = super().resolve(name)
        if name == NOTES and self.left:
            self.left -= 1
            self._strike(self.left)
        return found


@contextmanager
def outrun(repo: Repo, strike: Callable[[int], None], times: int) -> Generator[GitLedger]:
    repository = open_repository(repo.path, repo.env)
    objects = _Raced(repository.git, strike, times)
    try:
        repository.__dict__["objects"] = objects
        yield GitLedger(repository)
        assert objects.left < times
    finally:
        objects.close()


def test_secrets_are_masked_in_notes_but_not_in_what_is_compared_with_files(repo: Repo) -> None:
    secret, key = "ghp_AAAABBBBCCCCDDDDEEEEFFFF", "hunter2hunter2"
    repository = open_repository(repo.path, {**repo.env, "MY_TOKEN": key})
    head = repo.git("rev-parse", "HEAD")
    handoff = replace(
        PLANNED,
        feature=f"log in with {key}",
        error=f"http://me:pa55word@gateway refused {secret}",
        pending_tests=(f"rejects {secret}",),
        facts=Facts(message=secret),
        previous=replace(OPENING, run_id="q", error=secret),
    )
    GitLedger(repository).write({head: handoff})
    repository.close()

    note = json.loads(repo.git(*SHOW, head))
    assert note["feature"] == "log in with [masked MY_TOKEN]"
    assert note["error"] == "http://[masked]@gateway refused [masked]"
    assert note["pendingTests"] == [f"rejects {secret}"]
    assert (note["message"], note["previous"]["error"]) == ("[masked]", "[masked]")
