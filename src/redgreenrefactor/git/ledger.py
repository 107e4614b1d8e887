"""The only memory: one JSON note a commit, in refs/notes/tdd-handoffs."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.git.executable import Git, advice, said
from redgreenrefactor.git.features import FEATURES, features_of, handoff_in, shelved
from redgreenrefactor.git.objects import DIGITS, EMPTY, Commit, Objects
from redgreenrefactor.git.refs import ATTEMPTS, KEPT, NOTES, folder_of
from redgreenrefactor.model import chain
from redgreenrefactor.model.chain import of_run, previous_of, runs_of, stacked
from redgreenrefactor.model.handoff import Handoff, to_json
from redgreenrefactor.model.long_feature import compacted
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.review_task import belongs_to_a_task
from redgreenrefactor.sandbox.secrets import masked_in, masking

Place = Callable[
    [Handoff | None, Handoff], Handoff
]  # what stands there, what is written: what comes to stand there
SINGLY = 64  # notes that are read one at a time; whoever wants more wants many
UNWRITTEN = (
    "Nothing was lost. See that the disk is not full and the repository is writable, then type 'rgr resume'."
)
READ_BACK = (  # what later turns compare with files and tests: those are in the commits as they are
    *(
        "currentTest",
        "completedTests",
        "pendingTests",
        "dropped",
        "tests",
        "legacy",
        "mended",
        "task",
        "upcoming",
    ),
)
RACES = 5  # other orchestrators write to the same ref from their own worktrees


class GitLedger:
    """Handoffs as git notes, written by compare-and-swap."""

    def __init__(self, git: Git, objects: Objects, environ: Mapping[str, str]) -> None:
        self._git = git
        self._objects = objects
        self._mask = masking(environ)  # git's own environment has no secrets to know them by

    def latest(self, start: str = "HEAD") -> Entry | None:
        """Return the newest handoff along the first parents of HEAD, or of another commit."""
        return next(self._entries(start), None)

    def latest_of_runs(self) -> Entry | None:
        """Return the newest handoff of a run that is not a task's; those go on in worktrees of their own."""
        for commit, handoff in self.along("HEAD"):
            own = [each for each in runs_of(handoff) if not belongs_to_a_task(each.run_id)]
            if own:
                return Entry(commit.oid, own[0])
        return None

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

    def along(self, start: str) -> Iterator[tuple[Commit, Handoff | None]]:
        """Yield a commit and its first parents, as far as they are here, each with the handoff it carries."""
        tip, commit = self.tip(), self._objects.commit(start)
        while commit is not None:
            yield commit, self._at(tip, commit.oid)
            commit = self._objects.commit(commit.parents[0]) if commit.parents else None

    def everything(self) -> Iterator[Entry]:
        """Yield all handoffs that can be read, wherever their commits are."""
        tip = self.tip()
        for path, node in self._objects.files(tip.tree) if tip else ():
            handoff = _readable(self._objects, node.oid)
            if handoff is not None and not path.startswith(FEATURES):
                yield Entry(path.replace("/", ""), handoff)

    def past(self) -> Iterator[Entry]:
        """Yield every handoff along HEAD's first parents, newest first; on one commit, the later run's first."""
        for entry in self._entries("HEAD"):
            handoff: Handoff | None = entry.handoff
            while handoff is not None:
                yield Entry(entry.commit, handoff)
                handoff = previous_of(handoff)

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

    def attempts(self, run_id: str) -> list[Entry]:
        """Return a run's rejected attempts in the order they were made."""
        listing = self._git.text("for-each-ref", "--format=%(objectname)", f"{ATTEMPTS}{folder_of(run_id)}/")
        found = [(oid, self.read(oid)) for oid in listing.split()]
        entries = [Entry(oid, handoff) for oid, handoff in found if handoff is not None]
        return sorted(entries, key=lambda entry: (entry.handoff.timestamp, entry.handoff.attempts))

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
        if "tree" in complaint:  # part of the notes is gone
            raise LedgerError(f"a handoff could not be written to {NOTES}: {complaint}")
        raise LedgerError(
            f"a handoff could not be written to {NOTES}: {complaint}",
            hint=advice(complaint, UNWRITTEN),
        )

    def shelved(self, handoff: Handoff) -> Handoff:
        """Return the handoff a run begins with; a long feature is kept once, and its notes say where."""
        return shelved(self._git, handoff, self._mask)

    def _written(self, handoff: Handoff) -> bytes:
        return to_json(handoff, lambda body: masked_in(compacted(body), self._mask, READ_BACK)).encode()

    def tip(self) -> Commit | None:
        """Return the commit that holds the notes, None if there are none yet."""
        oid = self._objects.resolve(NOTES)
        tip = self._objects.commit(oid) if oid else None
        if tip is None and (oid or self._is_broken()):
            raise LedgerError(f"{NOTES} does not point to a commit")
        if tip is not None and not holds_notes(self._objects, tip):
            raise LedgerError(f"{NOTES} points to {tip.oid[:10]}, which holds no notes")
        return tip

    def _is_broken(self) -> bool:
        """Tell whether the notes are there but lead nowhere; git complains of a ref that it cannot make sense of."""
        found = self._git.attempt("for-each-ref", "--format=%(objectname)", NOTES)
        oid = found.stdout.decode().strip()
        return bool(found.stderr) or bool(oid and self._objects.get(oid) is None)

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

    def _text(self, tip: Commit | None, commit: str) -> bytes | None:
        """Return a commit's note, however deep the notes tree fans out."""
        tree, rest = (tip.tree if tip else ""), commit
        while tree:
            entries = self._objects.tree(tree)
            if not entries and self._objects.get(tree) is None:
                raise LedgerError(f"a folder of {NOTES} is gone")
            note, folder = entries.get(rest), entries.get(rest[:2])
            if note and not note.is_tree:
                return self._blob(commit, note.oid)
            tree, rest = (folder.oid if folder and folder.is_tree else ""), rest[2:]
        return None

    def _blob(self, commit: str, oid: str) -> bytes:
        found = self._objects.get(oid)
        if found is None:
            raise LedgerError(f"the handoff note on {commit[:10]} is gone")
        return found[2]

    def _at(self, tip: Commit | None, commit: str) -> Handoff | None:
        text = self._text(tip, commit)
        return None if text is None else self._read(commit, text)

    def _read(self, commit: str, raw: bytes) -> Handoff:
        try:
            return handoff_in(raw, self._objects)
        except (LedgerError, UnicodeDecodeError) as error:
            raise LedgerError(f"the handoff note on {commit[:10]} cannot be read: {error}") from error


def holds_notes(objects: Objects, commit: Commit) -> bool:
    """Tell whether a commit is one of notes: nothing is in it, or something called as notes or their folders are."""
    names = objects.tree(commit.tree)
    return not names or any(DIGITS.issuperset(name) for name in names)


def only_others_wrote(objects: Objects, before: str | None, later: str, run_id: str) -> bool:
    """Tell whether all that differs between two states of the notes are handoffs of other runs.

    They are at work in other checkouts of the repository, and may have come and gone during a session.
    """
    tips = [objects.commit(oid) if oid else None for oid in (before, later)]
    trees = [tip.tree if tip else EMPTY for tip in tips]
    old: dict[str, str] = {}
    new: dict[str, str] = {}
    for path, one, two in objects.differences(trees[0], trees[1]):
        if path.startswith(FEATURES) and one is None:
            continue
        commit = path.replace("/", "")  # however deep the tree fans out
        old |= {commit: one.oid} if one else {}
        new |= {commit: two.oid} if two else {}
    return all(
        _is_theirs(objects, old.get(commit), new.get(commit), run_id) for commit in old.keys() | new.keys()
    )


def _is_theirs(objects: Objects, old: str | None, new: str | None, run_id: str) -> bool:
    before, after = (_readable(objects, oid) for oid in (old, new))
    unreadable = (old and before is None) or (new and after is None)
    return not unreadable and chain.only_others_wrote(before, after, run_id)


def _readable(objects: Objects, oid: str | None) -> Handoff | None:
    found = objects.get(oid) if oid else None
    try:
        return handoff_in(found[2], objects) if found else None
    except (LedgerError, UnicodeDecodeError):
        return None


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
