"""All notes at once: what a notes tree holds, how two are merged, and how a new one is written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.git.executable import Git, advice, decoded, encoded, said
from redgreenrefactor.git.features import FEATURES, handoff_in
from redgreenrefactor.git.objects import DIGITS, TREE, Node, Objects
from redgreenrefactor.git.refs import NOTES
from redgreenrefactor.git.repository import OURS
from redgreenrefactor.model.chain import age, merged
from redgreenrefactor.model.handoff import Handoff, to_json
from redgreenrefactor.model.long_feature import compacted

FAN = 256  # folders a level fans out into


@dataclass(frozen=True)
class Shelf:
    """What a notes tree holds, by the commit it stands on."""

    notes: Mapping[str, str] = field(default_factory=dict[str, str])  # commit → blob
    others: Mapping[str, Node] = field(default_factory=dict[str, Node])  # path → what is no note
    holes: tuple[str, ...] = ()  # how the commits begin whose notes were in folders that are gone
    odd: tuple[str, ...] = ()  # what else readers could stumble over: notes twice or in a wrong place

    def with_features_of(self, other: "Shelf") -> "Shelf":
        """Return it with the long features that notes of another one may speak of."""
        features = {path: node for path, node in other.others.items() if path.startswith(FEATURES)}
        return replace(self, others={**features, **self.others})


def shelf_of(objects: Objects, tree: str) -> Shelf:
    """Return everything a notes tree holds, however it is laid out."""
    notes: dict[str, str] = {}
    others: dict[str, Node] = {}
    holes: list[str] = []
    odd: list[str] = []
    depths: list[int] = []
    for path, node in _walk(objects, tree, "", holes):
        commit = path.replace("/", "")
        if len(commit) != len(tree) or not DIGITS.issuperset(commit):
            others[path] = node
            continue
        *folders, _ = path.split("/")
        depths.append(len(folders) if all(len(name) == 2 for name in folders) else -1)  # noqa: PLR2004
        if commit in notes:
            odd.append(f"two notes on {commit[:10]}")
        notes[commit] = _better(objects, notes.get(commit), node.oid)
    usual = levels(len(notes))
    if misplaced := sum(depth not in (usual, usual + 1) for depth in depths):
        odd.append(f"{misplaced} of {len(depths)} notes not where their number wants them")
    return Shelf(notes, others, tuple(holes), tuple(odd))


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
    before, after = readable(objects, one), readable(objects, two)
    return one if before and (after is None or age(before) >= age(after)) else two


def levels(count: int) -> int:
    """Return how many levels of folders so many notes fan out into, as git does."""
    depth = 0
    while count >= FAN:
        count //= FAN
        depth += 1
    return depth


def readable(objects: Objects, blob: str | None) -> Handoff | None:
    """Return the handoff that stands in a blob, None if none does."""
    found = objects.get(blob) if blob else None
    try:
        return handoff_in(found[2], objects) if found and found[1] == "blob" else None
    except (LedgerError, UnicodeDecodeError):
        return None


def both(objects: Objects, ours: str, theirs: str) -> str | Handoff:
    """Return what one note becomes of two: a blob that has all of it, or a handoff to be written."""
    mine, other = readable(objects, ours), readable(objects, theirs)
    if other is None or mine is None:
        return ours if other is None else theirs
    found = merged(mine, other)
    return ours if found == mine else theirs if found == other else found


def written_shelf(git: Git, notes: Mapping[str, str | Handoff], others: Mapping[str, Node]) -> str:
    """Write a notes tree, fanned out as git would; return its id."""
    depth = levels(len(notes))
    files: dict[str, Node] = {}
    for commit, note in notes.items():
        blob = note if isinstance(note, str) else _blob(git, note)
        cuts = [commit[2 * level : 2 * level + 2] for level in range(depth)]
        files["/".join([*cuts, commit[2 * depth :]])] = Node("100644", blob)
    taken = {path.partition("/")[0] for path in files}
    files |= {path: node for path, node in others.items() if path.partition("/")[0] not in taken}
    return _written_tree(git, files)


def commit_notes(git: Git, tree: str, parents: Sequence[str], before: str | None, why: str) -> str:
    """Make a notes tree the one that is read, if nobody has changed it since; return the commit."""
    flags = [part for parent in parents for part in ("-p", parent)]
    commit = git.text("commit-tree", tree, *flags, "-m", why, env=OURS)
    point_notes(git, commit, before, why)
    return commit


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


def _blob(git: Git, handoff: Handoff) -> str:
    return git.text("hash-object", "-w", "--stdin", stdin=to_json(handoff, compacted).encode())


def _written_tree(git: Git, files: Mapping[str, Node]) -> str:
    folders: dict[str, dict[str, Node]] = {"": {}}
    for path, node in files.items():
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, {})[name] = node
        while folder:
            folder = folder.rpartition("/")[0]
            folders.setdefault(folder, {})
    made: dict[str, str] = {}
    for depth in sorted({_depth(folder) for folder in folders}, reverse=True):
        level = [folder for folder in folders if _depth(folder) == depth]
        for folder, tree in zip(level, _made(git, [folders[folder] for folder in level]), strict=True):
            made[folder] = tree
            parent, _, name = folder.rpartition("/")
            if folder:
                folders[parent][name] = Node(TREE, tree)
    return made[""]


def _depth(folder: str) -> int:
    return folder.count("/") + 1 if folder else 0


def _made(git: Git, folders: Sequence[Mapping[str, Node]]) -> list[str]:
    """Write folders whose contents are there already, all with one call."""
    rows = ["".join(f"{_row(node)}\t{name}\0" for name, node in sorted(folder.items())) for folder in folders]
    if rows == [""]:
        return [git.text("mktree")]
    return git.text("mktree", "-z", "--batch", "--missing", stdin=encoded("\0".join(rows))).split()


def _row(node: Node) -> str:
    kind = "tree" if node.is_tree else "commit" if node.mode == "160000" else "blob"
    return f"{node.mode.zfill(6)} {kind} {node.oid}"
