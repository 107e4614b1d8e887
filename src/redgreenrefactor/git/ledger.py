"""The only memory: one JSON note a commit, in refs/notes/tdd-handoffs."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.git.executable import advice, said
from redgreenrefactor.git.notes import (
    FEATURES,
    features_of,
    find_note,
    handoff_in,
    notes_tip,
    read_note,
    store_feature,
)
from redgreenrefactor.git.objects import EMPTY, Commit
from redgreenrefactor.git.refs import ATTEMPTS, KEPT, NOTES, folder_of
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.model.chain import compacted, of_run, runs_of, stacked
from redgreenrefactor.model.handoff import Handoff, to_json
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.review_task import belongs_to_a_task
from redgreenrefactor.sandbox.secrets import masked_in, masking

# what stands there, what is written: what comes to stand there
Place = Callable[[Handoff | None, Handoff], Handoff]
SINGLY = 64  # notes that are read one at a time; whoever wants more wants many
UNWRITTEN = (
    "Nothing was lost. See that the disk is not full and the repository is writable, then type 'rgr resume'."
)
# What later turns compare with files and tests: those are in the commits as they are.
READ_BACK = (
    *("currentTest", "completedTests", "pendingTests", "dropped", "tests"),
    *("legacy", "mended", "task", "upcoming"),
)
RACES = 5  # other orchestrators write to the same ref from their own worktrees


class GitLedger:
    """Handoffs as git notes, written by compare-and-swap."""

    def __init__(self, repository: Repository) -> None:
        self._git = repository.git
        self._objects = repository.objects
        self._mask = masking(repository.environ)  # git's own environment has no secrets to know them by

    # --- along a history

    def latest(self, start: str = "HEAD") -> Entry | None:
        """Return the newest handoff along the first parents of HEAD, or of another commit."""
        return next(self._entries(start), None)

    def latest_of_runs(self) -> Entry | None:
        """Return the newest handoff of a run that is not a task's; those go on in worktrees of their own."""
        for entry in self._entries("HEAD"):
            for handoff in runs_of(entry.handoff):
                if not belongs_to_a_task(handoff.run_id):
                    return Entry(entry.commit, handoff)
        return None

    def past(self, start: str = "HEAD") -> Iterator[Entry]:
        """Yield every handoff along first parents, newest first; on one commit, the later run's first."""
        for entry in self._entries(start):
            handoff: Handoff | None = entry.handoff
            while handoff is not None:
                yield Entry(entry.commit, handoff)
                handoff = handoff.previous

    def along(self, start: str) -> Iterator[tuple[Commit, Handoff | None]]:
        """Yield a commit and its first parents, as far as they are here, each with the handoff it carries."""
        tip, commit = self.tip(), self._objects.commit(start)
        while commit is not None:
            yield commit, self._at(tip, commit.oid)
            commit = self._objects.commit(commit.parents[0]) if commit.parents else None

    def history(self, run_id: str | None = None, start: str = "HEAD") -> Iterator[Entry]:
        """Yield a run's handoffs along a commit's first parents, newest first, down to its opening.

        Without a name it is the latest run: that of the newest handoff.
        """
        for entry in self._entries(start):
            run_id = entry.handoff.run_id if run_id is None else run_id
            handoff = of_run(entry.handoff, run_id)
            if handoff is not None:
                yield Entry(entry.commit, handoff)
                if handoff.cycle_number == 0 and handoff.carried_from is None:
                    return

    def _entries(self, start: str) -> Iterator[Entry]:
        for commit, raw in self._notes(start):
            yield Entry(commit, self._read(commit, raw))

    def _notes(self, start: str) -> Iterator[tuple[str, bytes]]:
        """Yield the notes along first parents, newest first: the first ones singly, a long history in one go."""
        tip = self.tip()
        commit = self._objects.commit(start) if tip else None
        for _ in range(SINGLY):
            if commit is None:
                return
            if (raw := self._text(tip, commit.oid)) is not None:
                yield commit.oid, raw
            commit = self._objects.commit(commit.parents[0]) if commit.parents else None
        if commit is not None:
            yield from self._all_notes(commit.oid)

    def _all_notes(self, start: str) -> Iterator[tuple[str, bytes]]:
        """Yield all notes from a commit on, as one git process finds them."""
        show = (f"--notes={NOTES}", "--no-show-signature", "--encoding=UTF-8", "--format=%x00%H%n%N")
        for record in self._git.records("log", "--first-parent", *show, start, "--"):
            commit, _, note = record.partition(b"\n")
            if note and not note.isspace():
                yield commit.decode(), note[:-1] if note.endswith(b"\n\n") else note

    # --- wherever they are

    def everything(self) -> Iterator[Entry]:
        """Yield all handoffs that can be read, wherever their commits are."""
        tip = self.tip()
        for path, node in self._objects.files(tip.tree) if tip else ():
            handoff = read_note(self._objects, node.oid)
            if handoff is not None and not path.startswith(FEATURES):
                yield Entry(path.replace("/", ""), handoff)

    def tests_written(self) -> frozenset[str]:
        """Return the ids of the tests that accepted turns have written, of whatever run."""
        notes = (entry.handoff for entry in self.everything())
        return frozenset(name for note in notes if note.error is None for name in note.facts.new_tests)

    def read(self, commit: str) -> Handoff | None:
        """Return the handoff a commit carries."""
        return self._at(self.tip(), commit)

    def accounts_for(self, commit: str) -> bool:
        """Tell whether a commit is a turn whose handoff was written; one that cannot be read was not."""
        try:
            handoff = self.read(commit)
        except LedgerError:
            return False
        return handoff is not None and handoff.error is None

    def goes_on_elsewhere(self, entry: Entry) -> bool:
        """Tell whether a branch, or what is kept of one, ends in a later handoff of this one's run."""
        listing = self._git.text("for-each-ref", "--format=%(objectname)", "refs/heads/", KEPT)
        later = (self.read(tip) for tip in set(listing.split()) - {entry.commit})
        return any(handoff is not None and of_run(handoff, entry.handoff.run_id) for handoff in later)

    def attempts(self, run_id: str, most: int | None = None) -> list[Entry]:
        """Return a run's rejected attempts in the order they were made; `most`: only the latest ones."""
        limit = () if most is None else ("--sort=-committerdate", f"--count={most}")
        listing = self._git.text(
            "for-each-ref", *limit, "--format=%(objectname)", f"{ATTEMPTS}{folder_of(run_id)}/"
        )
        found = [(oid, self.read(oid)) for oid in listing.split()]
        entries = [Entry(oid, handoff) for oid, handoff in found if handoff is not None]
        return sorted(entries, key=lambda entry: (entry.handoff.timestamp, entry.handoff.attempts))

    def tip(self) -> Commit | None:
        """Return the commit that holds the notes, None if there are none yet."""
        return notes_tip(self._git, self._objects)

    def _at(self, tip: Commit | None, commit: str) -> Handoff | None:
        text = self._text(tip, commit)
        return None if text is None else self._read(commit, text)

    def _text(self, tip: Commit | None, commit: str) -> bytes | None:
        blob = find_note(self._objects, tip.tree if tip else EMPTY, commit)
        found = self._objects.get(blob) if blob else None
        if blob and found is None:
            raise LedgerError(f"the handoff note on {commit[:10]} is gone")
        return found[2] if found else None

    def _read(self, commit: str, raw: bytes) -> Handoff:
        try:
            return handoff_in(raw, self._objects)
        except LedgerError as error:
            raise LedgerError(f"the handoff note on {commit[:10]} cannot be read: {error}") from error

    # --- writing

    def write(self, notes: Mapping[str, Handoff], place: Place = stacked) -> None:
        """Put these notes on these commits, all or none; what other runs have noted there is kept in them."""
        complaint = ""
        for _ in range(RACES):
            tip = self.tip()
            placed = {commit: place(self._at(tip, commit), handoff) for commit, handoff in notes.items()}
            texts = {commit: self._written(handoff) for commit, handoff in placed.items()}
            stream = _stream(tip, texts, features_of(self._objects, placed.values()))
            finished = self._git.attempt(
                "fast-import", "--quiet", "--date-format=now", "--done", stdin=stream
            )
            if finished.exit_code == 0:
                return
            complaint = said(finished)
            if self.tip() == tip:
                break
        gone = "tree" in complaint  # part of the notes is gone: they have to be mended
        raise LedgerError(
            f"a handoff could not be written to {NOTES}: {complaint}",
            hint=LedgerError.hint if gone else advice(complaint, UNWRITTEN),
        )

    def store_feature(self, handoff: Handoff) -> Handoff:
        """Keep the long feature of a run that begins once, in git; return the handoff, which says where."""
        return store_feature(self._git, handoff, self._mask)

    def _written(self, handoff: Handoff) -> bytes:
        return to_json(compacted(handoff), lambda body: masked_in(body, self._mask, READ_BACK)).encode()


def _stream(tip: Commit | None, notes: Mapping[str, bytes], features: Iterable[str]) -> bytes:
    """Return what makes fast-import add one notes commit on top of the tip, and refuse if the ref has moved on."""
    message = b"Notes added by rgr"
    lines = [
        b"commit " + NOTES.encode(),
        b"committer RedGreenRefactor <rgr@localhost> now",
        b"data %d\n%s" % (len(message), message),
        *([b"from " + tip.oid.encode()] if tip else []),
    ]
    for commit, body in notes.items():
        lines += [b"N inline " + commit.encode(), b"data %d\n%s" % (len(body), body)]
    lines += [f"M 100644 {blob} {FEATURES}{blob}".encode() for blob in features]
    return b"\n".join([*lines, b"done", b""])
