"""Notes as git stores them, a blob for each commit in a tree of their own: found, read, merged and written.

A feature that is too long for every note is kept once in the same tree, and travels with it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.git.executable import Git, advice, decoded, encoded, said, temporary_index
from redgreenrefactor.git.objects import DIGITS, EMPTY, Commit, Node, Objects
from redgreenrefactor.git.refs import NOTES
from redgreenrefactor.git.repository import OURS, Repository
from redgreenrefactor.model import chain
from redgreenrefactor.model.chain import age, compacted, expanded, merged, runs_of
from redgreenrefactor.model.goal import LONG
from redgreenrefactor.model.handoff import Handoff, from_json, to_json
from redgreenrefactor.model.values import field, frozen, replace
from redgreenrefactor.sandbox.secrets import Mask

FAN = 256  # folders a level fans out into
FEATURES = "features/"  # no commit is called like that


# --- one note


def notes_tip(git: Git, objects: Objects) -> Commit | None:
    """Return the commit that holds the notes, None if there are none yet."""
    oid = objects.resolve(NOTES)
    tip = objects.commit(oid) if oid else None
    if tip is None and (oid or _is_broken(git, objects)):
        raise LedgerError(f"{NOTES} does not point to a commit")
    if tip is not None and not holds_notes(objects, tip):
        raise LedgerError(f"{NOTES} points to {tip.oid[:10]}, which holds no notes")
    return tip


def _is_broken(git: Git, objects: Objects) -> bool:
    """Tell whether the notes are there but lead nowhere; git complains of a ref that it cannot make sense of."""
    found = git.attempt("for-each-ref", "--format=%(objectname)", NOTES)
    oid = found.stdout.decode().strip()
    return bool(found.stderr) or bool(oid and objects.get(oid) is None)


def holds_notes(objects: Objects, commit: Commit) -> bool:
    """Tell whether a commit is one of notes: nothing is in it, or something called as notes or their folders are."""
    names = objects.tree(commit.tree)
    return not names or any(DIGITS.issuperset(name) for name in names)


def find_note(objects: Objects, tree: str, commit: str) -> str | None:
    """Return the blob of a commit's note, however deep the tree fans out; a folder that is gone is a LedgerError."""
    rest = commit
    while tree:
        entries = objects.tree(tree)
        if not entries and objects.get(tree) is None:
            raise LedgerError(f"a folder of {NOTES} is gone")
        note, folder = entries.get(rest), entries.get(rest[:2])
        if note and not note.is_tree:
            return note.oid
        tree, rest = (folder.oid if folder and folder.is_tree else EMPTY), rest[2:]
    return None


def handoff_in(raw: bytes, objects: Objects) -> Handoff:
    """Return the handoff a note holds, features in full; one that cannot be read is a LedgerError."""
    try:
        handoff = _parsed(raw.decode())
    except UnicodeDecodeError as error:
        raise LedgerError(str(error)) from error
    return expanded(handoff, lambda blob: _text(objects, blob)) if b'"featureBlob"' in raw else handoff


@lru_cache(256)  # a run asks for its own notes again and again
def _parsed(text: str) -> Handoff:
    return from_json(text)


def read_note(objects: Objects, blob: str | None) -> Handoff | None:
    """Return the handoff that stands in a blob, None if none does."""
    found = objects.get(blob) if blob else None
    try:
        return handoff_in(found[2], objects) if found and found[1] == "blob" else None
    except LedgerError:
        return None


def merge_note(objects: Objects, ours: str, theirs: str) -> str | Handoff:
    """Return what one note becomes of two: a blob that has all of it, or a handoff to be written."""
    mine, other = read_note(objects, ours), read_note(objects, theirs)
    if other is None or mine is None:
        return ours if other is None else theirs
    found = merged(mine, other)
    return ours if found == mine else theirs if found == other else found


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
    before, after = (read_note(objects, oid) for oid in (old, new))
    unreadable = (old and before is None) or (new and after is None)
    return not unreadable and chain.only_others_wrote(before, after, run_id)


# --- long features


def store_feature(git: Git, handoff: Handoff, mask: Mask) -> Handoff:
    """Put a long feature of a run that begins into git; return the handoff, which says where it is."""
    if len(handoff.feature) <= LONG or handoff.feature_blob:
        return handoff
    text = mask(handoff.feature).encode("utf-8", "replace")
    return replace(handoff, feature_blob=git.text("hash-object", "-w", "--stdin", stdin=text))


def features_of(objects: Objects, handoffs: Iterable[Handoff]) -> set[str]:
    """Return the blobs of all features that these notes speak of and that are here to be kept."""
    blobs = {each.feature_blob for handoff in handoffs for each in runs_of(handoff) if each.feature_blob}
    return {blob for blob in blobs if _text(objects, blob) is not None}


def _text(objects: Objects, blob: str) -> str | None:
    found = objects.get(blob)
    return found[2].decode("utf-8", "replace") if found and found[1] == "blob" else None


# --- all notes at once


@frozen
class NotesTree:
    """What a notes tree holds, by the commit it stands on."""

    notes: Mapping[str, str] = field(default_factory=dict[str, str])  # commit → blob
    others: Mapping[str, Node] = field(default_factory=dict[str, Node])  # path → what is no note
    holes: tuple[str, ...] = ()  # how the commits begin whose notes were in folders that are gone
    odd: tuple[str, ...] = ()  # what else readers could stumble over: notes twice or in a wrong place

    def with_features_of(self, other: "NotesTree") -> "NotesTree":
        """Return it with the long features that notes of another one may speak of."""
        features = {path: node for path, node in other.others.items() if path.startswith(FEATURES)}
        return replace(self, others={**features, **self.others})


def read_tree(objects: Objects, tree: str | None) -> NotesTree:
    """Return everything a notes tree holds, however it is laid out; nothing, where there is none."""
    notes: dict[str, str] = {}
    others: dict[str, Node] = {}
    holes: list[str] = []
    odd: list[str] = []
    depths: list[int] = []
    for path, node in _walk(objects, tree, "", holes) if tree else ():
        commit = path.replace("/", "")
        if len(commit) != len(tree or "") or not DIGITS.issuperset(commit):
            others[path] = node
            continue
        *folders, _ = path.split("/")
        depths.append(len(folders) if all(len(name) == 2 for name in folders) else -1)  # noqa: PLR2004
        if commit in notes:
            odd.append(f"two notes on {commit[:10]}")
        notes[commit] = _better(objects, notes.get(commit), node.oid)
    usual = _levels(len(notes))
    if misplaced := sum(depth not in (usual, usual + 1) for depth in depths):
        odd.append(f"{misplaced} of {len(depths)} notes not where their number wants them")
    return NotesTree(notes, others, tuple(holes), tuple(odd))


def _walk(objects: Objects, tree: str, prefix: str, holes: list[str]) -> Iterator[tuple[str, Node]]:
    found = objects.get(tree)
    if found is None or found[1] != "tree":
        holes.append(prefix.replace("/", ""))
        return
    for name, node in objects.tree(tree).items():
        if node.is_tree:
            yield from _walk(objects, node.oid, f"{prefix}{name}/", holes)
        else:
            yield f"{prefix}{name}", node


def _better(objects: Objects, one: str | None, two: str) -> str:
    """Return which of two notes on one commit counts."""
    if one is None or one == two:
        return two
    before, after = read_note(objects, one), read_note(objects, two)
    return one if before and (after is None or age(before) >= age(after)) else two


def _levels(count: int) -> int:
    """Return how many levels of folders so many notes fan out into, as git does."""
    depth = 0
    while count >= FAN:
        count //= FAN
        depth += 1
    return depth


def write_tree(git: Git, notes: Mapping[str, str | Handoff], others: Mapping[str, Node]) -> str:
    """Write a notes tree, fanned out as git would; return its id."""
    depth = _levels(len(notes))
    files: dict[str, Node] = {}
    for commit, note in notes.items():
        blob = note if isinstance(note, str) else _write_blob(git, note)
        cuts = [commit[2 * level : 2 * level + 2] for level in range(depth)]
        files["/".join([*cuts, commit[2 * depth :]])] = Node("100644", blob)
    taken = {path.partition("/")[0] for path in files}
    files |= {path: node for path, node in others.items() if path.partition("/")[0] not in taken}
    rows = "".join(f"{node.mode} {node.oid}\t{path}\0" for path, node in files.items())
    with temporary_index() as env:
        git.raw("update-index", "-z", "--index-info", stdin=encoded(rows), env=env)
        return git.text("write-tree", "--missing-ok", env=env)


def _write_blob(git: Git, handoff: Handoff) -> str:
    return git.text("hash-object", "-w", "--stdin", stdin=to_json(compacted(handoff)).encode())


def commit_notes(git: Git, tree: str, parents: Sequence[str], before: str | None, why: str) -> None:
    """Make a notes tree the one that is read, if nobody has changed it since."""
    flags = [part for parent in parents for part in ("-p", parent)]
    point_notes(git, git.text("commit-tree", tree, *flags, "-m", why, env=OURS), before, why)


def point_notes(git: Git, commit: str, before: str | None, why: str) -> None:
    """Make the notes this commit, if they are still at the one before."""
    behind = decoded(git.attempt("symbolic-ref", "--quiet", NOTES).stdout)
    # Another name for other notes may stay one; a branch of the user's is nothing to write notes to.
    itself = ("--no-deref",) if behind and not behind.startswith("refs/notes/") else ()
    moved = git.attempt("update-ref", *itself, "-m", why, NOTES, commit, before or "0" * len(commit))
    if moved.exit_code != 0:
        raise LedgerError(
            f"{NOTES} could not be moved: {said(moved)}",
            hint=advice(said(moved), "Nothing was changed. Type the same again."),
        )


REWRITE_REF = "notes.rewriteRef"
REWRITE_MODE = "notes.rewriteMode"


@frozen
class Setting:
    """One line of git's configuration."""

    name: str
    value: str
    new: bool  # it was set just now; else it, or something to the same effect, was there


def configure(repository: Repository) -> Iterator[Setting]:
    """Make notes follow their commits through amend and rebase, and come with every fetch; yield each setting."""
    refs = _values(repository, REWRITE_REF)
    yield _ensured(
        repository, REWRITE_REF, NOTES, there=next((ref for ref in refs if fnmatchcase(NOTES, ref)), None)
    )
    modes = _values(repository, REWRITE_MODE)
    yield _ensured(repository, REWRITE_MODE, "overwrite", there=modes[-1] if modes else None)
    for remote in filter(None, repository.git.text("remote").split("\n")):
        name, spec = f"remote.{remote}.fetch", refspec(remote)
        yield _ensured(repository, name, spec, there=spec if spec in _values(repository, name) else None)


def refspec(remote: str) -> str:
    """Return what makes every fetch bring a remote's notes; as a pattern, for there may be none yet."""
    return f"+refs/notes/tdd-*:refs/notes/{remote}/tdd-*"


def _ensured(repository: Repository, name: str, value: str, *, there: str | None) -> Setting:
    if there is None:
        repository.git.raw("config", "--local", "--add", name, value)
    return Setting(name, there or value, new=there is None)


def _values(repository: Repository, name: str) -> list[str]:
    found = repository.git.attempt("config", "-z", "--get-all", name)
    return [value for value in decoded(found.stdout).split("\0") if value]
