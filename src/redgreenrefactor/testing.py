"""Fakes of the ports, for tests of this package and of whatever is built on it."""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.model.chain import of_run, stacked
from redgreenrefactor.model.evidence import (
    ALL,
    Change,
    File,
    Manner,
    Measure,
    Status,
    SuiteRun,
    TestId,
    TestResult,
)
from redgreenrefactor.model.goal import LIST
from redgreenrefactor.model.handoff import Handoff, from_json, to_json
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.session import Brief, Report, answered
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import Phase, PhaseName
from redgreenrefactor.ports import Say, Sealed, SealedWork


class FakeAgent:
    """An agent that is a function of brief and folder: it returns a report, or just the final message."""

    def __init__(self, session: Callable[[Brief, Path], Report | str], name: str = "fake") -> None:
        self.name = name
        self.briefs: list[Brief] = []  # every session so far, in order
        self._session = session

    def work(self, brief: Brief, folder: Path, say: Say) -> Report:
        """Call the function; an empty message where an answer is asked is a failure, as with every agent."""
        self.briefs.append(brief)
        say(f"{self.name} works at {brief.phase}")
        result = self._session(brief, folder)
        return answered(brief, result) if isinstance(result, str) else result


@frozen
class FakeCommit:
    """A commit as a value: where it stands, what it says, and every file's text by its path."""

    parent: str | None
    message: str
    tree: Mapping[str, str]

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.partition("\n")[0]


class FakeWorkspace:
    """A workspace in memory: a session changes `files`, and may `commit` them. Only checkouts are real folders."""

    def __init__(self, folder: Path, files: Mapping[str, str] | None = None) -> None:
        self.project = folder / "project"
        self.prefix = ""
        self.files = dict(files or {})
        self.commits: dict[str, FakeCommit] = {}
        self.refs: dict[str, str] = {}
        self.session: tuple[str, str] | None = None  # run and base of the one that is under way
        self._sealed_work: SealedWork | None = None  # that is about to be judged
        self._clean = folder / "checkout"
        self._laid_out: dict[int, dict[str, str]] = {}
        self._ground: Mapping[str, str] | None = None  # what the session goes on from
        self._head = self._made(None, "chore: start")

    # --- what a session does

    def commit(self, message: str) -> str:
        """Commit all files on top of what is checked out."""
        self._head = self._made(self._head, message)
        return self._head

    def reset(self, commit: str) -> None:
        """Check out another commit, as `git reset --hard` does."""
        self._head = commit
        self.files.clear()
        self.files.update(self.commits[commit].tree)

    def line(self) -> Iterator[str]:
        """Yield the commit that is checked out and all its ancestors."""
        commit: str | None = self._head
        while commit is not None:
            yield commit
            commit = self.commits[commit].parent

    # --- the port

    def head(self) -> str:
        """Return the commit that is checked out."""
        return self._head

    def begin(self, run_id: str, base: str) -> None:
        """Remember that whatever appears from now on is a session's work on this commit."""
        self.session = (run_id, base)
        self._ground = None

    def seal(self, base: str, phase: Phase, description: str, *, empty: bool) -> Sealed:
        """Turn everything done since the base into one commit that is checked out."""
        work, start = self.commits[self._head], self.commits[base]
        before, changed = self._head, self.files != start.tree
        wanted = tuple(f"{prefix}{end}" for prefix in phase.prefixes for end in ":(")
        fits = work.parent == base and work.tree == self.files and work.subject.startswith(wanted)
        rewritten = () if base in self.line() else (f"{base[:10]} is no longer part of the history",)
        if (changed or empty or before != base) and (rewritten or not fits):
            message = description if before == base else work.message
            said = message if message.startswith(wanted) else f"{phase.prefixes[0]}: {message}"
            nothing = not changed and phase.key == "refactor"
            self._head = self._made(base, "refactor: no changes needed" if nothing else said)
        return Sealed(
            commit=self._head,
            subject=self.commits[self._head].subject,
            empty=not changed,
            resealed=self._head != before,
            rewritten=rewritten,
        )

    def write_list(self, text: str) -> None:
        """Replace the text of `test-list.md`, as a session would."""
        self.files[LIST] = text

    def keep(self, run_id: str, base: str, why: str) -> str | None:
        """Keep whatever differs from the base at a ref; return the ref, None if nothing does."""
        dirty = self.files != self.commits[self._head].tree
        if self._head == base and (not dirty or self.files == self._ground):
            return None
        commit = self._made(self._head, f"kept: {why}") if dirty else self._head
        ref = f"refs/tdd/kept/{run_id}/{why.replace(' ', '-')}-{commit[:10]}"
        self.refs[ref] = commit
        return ref

    def abandon(self) -> str | None:
        """Undo the session that was begun last; its work is kept; return the ref."""
        if self.session is None:
            return None
        run_id, base = self.session
        kept = self.keep(run_id, base, "interrupted session")
        self.rewind(base)
        self.session = None
        return kept

    def end(self) -> None:
        """Forget the session: what is checked out is accounted for."""
        self.session = self._sealed_work = None

    def remember(self, work: SealedWork) -> None:
        """Remember what is about to be judged."""
        self._sealed_work = work

    def unjudged(self, run_id: str, phase: PhaseName, attempt: int) -> SealedWork | None:
        """Return the sealed work of an attempt whose judgement was cut off."""
        found = self._sealed_work
        asked = (run_id, phase, attempt)
        return found if found and (found.run_id, found.phase, found.attempt) == asked else None

    def take_up(self, work: SealedWork) -> None:
        """Check out such work again."""
        self.begin(work.run_id, work.base)
        self.reset(work.sealed.commit)

    def lay_out(self, run_id: str, attempt: str) -> None:
        """Make the files those of an attempt, without checking it out."""
        self._ground = self.commits[self.refs[f"refs/tdd/attempts/{run_id}/{attempt}"]].tree
        self.files.clear()
        self.files.update(self._ground)

    def rewind(self, base: str) -> None:
        """Go back to the base."""
        self.reset(base)

    def set_aside(self, commit: str, run_id: str, name: str) -> None:
        """Make the commit stay reachable as an attempt; what stood there before is kept, too."""
        ref = f"refs/tdd/attempts/{run_id}/{name}"
        before = self.refs.get(ref, commit)
        if before != commit:
            self.refs[f"refs/tdd/kept/{ref.removeprefix('refs/tdd/')}-{before[:10]}"] = before
        self.refs[ref] = commit

    def last_attempt(self, run_id: str, cycle: int, phase: str) -> int:
        """Return the highest number an attempt at this phase has been kept under."""
        start = f"refs/tdd/attempts/{run_id}/{cycle}-{phase}-"
        return max((int(ref.removeprefix(start)) for ref in self.refs if ref.startswith(start)), default=0)

    def changes(self, base: str | None, head: str) -> tuple[Change, ...]:
        """Return what differs between two commits, or between one and the one before it, if there is one."""
        start = base or self.commits[head].parent or head
        old, new = self.commits[start].tree, self.commits[head].tree
        paths = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
        return tuple(Change(path, _file(old.get(path)), _file(new.get(path))) for path in paths)

    def read(self, commit: str, path: str) -> tuple[str, str] | None:
        """Return blob id and text of a file at a commit."""
        text = self.source(commit, path)
        return None if text is None else (_blob(text), text)

    def source(self, commit: str, path: str) -> str | None:
        """Return the text of a file at a commit."""
        return self.commits[commit].tree.get(path)

    def checkout(self, commit: str, overlay: Mapping[str, str | None], lane: int = 0) -> Path:
        """Lay out a commit, with files replaced, in a folder; return the folder."""
        clean = self._clean / f"{lane}"
        shutil.rmtree(clean, ignore_errors=True)
        clean.mkdir(parents=True)
        laid_out = {**self.commits[commit].tree, **overlay}
        self._laid_out[lane] = {path: text for path, text in laid_out.items() if text is not None}
        for path, text in self._laid_out[lane].items():
            place = clean / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        return clean

    def disturbed(self, lane: int = 0) -> tuple[str, ...]:
        """Return the files of that checkout which somebody has changed since it was laid out."""
        clean = self._clean / f"{lane}"
        places = ((path, clean / path, text) for path, text in self._laid_out[lane].items())
        return tuple(path for path, place, text in places if not place.exists() or place.read_text() != text)

    def fingerprint(self, commit: str) -> str:
        """Return what two commits share if nothing but `test-list.md` differs between them."""
        tree = self.commits[commit].tree.items()
        return _digest(repr(sorted(item for item in tree if item[0] != "test-list.md")))

    def _made(self, parent: str | None, message: str) -> str:
        commit = _digest(f"{len(self.commits)}")
        self.commits[commit] = FakeCommit(parent, message, dict(self.files))
        return commit


class FakeLedger:
    """Handoffs in memory, as the very texts that notes would hold."""

    def __init__(self, workspace: FakeWorkspace) -> None:
        self.notes: dict[str, str] = {}
        self._workspace = workspace

    def latest(self) -> Entry | None:
        """Return the newest handoff along the ancestors of what is checked out."""
        return next(self._entries(), None)

    def history(self) -> Iterator[Entry]:
        """Yield the latest run's handoffs, newest first, down to its opening."""
        latest = self.latest()
        for entry in self._entries():
            handoff = of_run(entry.handoff, latest.handoff.run_id) if latest else None
            if handoff is not None:
                yield Entry(entry.commit, handoff)
                if handoff.cycle_number == 0 and handoff.carried_from is None:
                    return

    def read(self, commit: str) -> Handoff | None:
        """Return the handoff a commit carries."""
        return from_json(self.notes[commit]) if commit in self.notes else None

    def write(self, notes: Mapping[str, Handoff]) -> None:
        """Put these notes on these commits, all or none; what other runs have noted there is kept in them."""
        if unknown := notes.keys() - self._workspace.commits.keys():
            raise LedgerError(f"a handoff could not be written: there is no commit {min(unknown)}")
        self.notes |= {
            commit: to_json(stacked(self.read(commit), handoff)) for commit, handoff in notes.items()
        }

    def _entries(self) -> Iterator[Entry]:
        for commit in self._workspace.line():
            if (handoff := self.read(commit)) is not None:
                yield Entry(commit, handoff)


def _file(text: str | None) -> File | None:
    return None if text is None else File("100644", _blob(text), text)


def _blob(text: str) -> str:
    """Return the id git gives to this text."""
    return _digest(f"blob {len(text.encode())}\0{text}")


def _digest(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class FakeSuite:
    """A suite that is a function of checkout and chosen tests, or just says what becomes of each test."""

    def __init__(
        self,
        answer: Callable[[Path, Sequence[TestId]], SuiteRun] | Mapping[TestId, Status],
        command: str = "fake",
        measure: Measure = Measure.PER_TEST,
    ) -> None:
        self.command = command
        self.measure = measure
        self.runs: list[tuple[Path, tuple[TestId, ...]]] = []  # every run so far, in order
        self._answer = answer

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        """Call the function, or look the tests up; a name without parameters chooses all their sets."""
        tests = manner.tests
        self.runs.append((folder, tests))
        if callable(self._answer):
            return self._answer(folder, tests)
        results = {
            name: TestResult(name, status)
            for name, status in self._answer.items()
            if not tests or name in tests or name.partition("[")[0] in tests
        }
        failed = any(result.failed for result in results.values())
        return SuiteRun(results, exit_code=int(failed), measure=self.measure)
