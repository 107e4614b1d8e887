"""Commits, trees and blobs, read through one long-lived git process."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import IO, TYPE_CHECKING, cast

from redgreenrefactor.errors import GitError
from redgreenrefactor.git.executable import Git, decoded, encoded
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox import process

if TYPE_CHECKING:
    from redgreenrefactor.model.run_report import Patch

DIGITS = frozenset("0123456789abcdef")  # of ids
TREE = "40000"
LINK = "120000"
SUBMODULE = "160000"
SMALL, SMALL_ONES = 1 << 16, 500  # bytes of a blob that is remembered, and how many are


@frozen
class Node:
    """One entry of a tree."""

    mode: str
    oid: str

    @property
    def is_tree(self) -> bool:
        """Whether it is a folder."""
        return self.mode == TREE


@frozen
class Commit:
    """A commit as it is stored."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    author: str  # name <email> seconds zone
    message: str

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.strip().partition("\n")[0].strip()


class Objects:
    """The repository's objects by name; what is read once is remembered, for objects never change."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._partner = None  # started with the first question
        self._trees: dict[str, Mapping[str, Node]] = {}
        self._inner: dict[str, tuple[tuple[str, Node], ...]] = {}
        self._extents: dict[str, int] = {}
        self._blobs: dict[str, tuple[str, str, bytes]] = {}  # small ones, the last that were asked for
        self._commits: dict[str, Commit] = {}  # by id; names may come to stand for others

    def close(self) -> None:
        """End the git process."""
        if self._partner is None:
            return
        for stream in (self._partner.stdin, self._partner.stdout):
            with suppress(BrokenPipeError):  # it may be gone already, with a question unread
                cast("IO[bytes]", stream).close()
        self._partner.wait()
        self._partner = None

    def get(self, name: str) -> tuple[str, str, bytes] | None:
        """Return id, type and content of an object, or None where there is none of that name that can be read."""
        if name in self._blobs:
            return self._blobs[name]
        if "\n" in name:
            return None  # the partner reads lines; no name that git gives out holds one
        for _ in range(2):
            with suppress(OSError, ValueError):
                return self._answer(name)
            self.close()
        try:
            return self._answer(
                ""
            )  # which nothing is called; what was asked for is damaged, and git dies of it
        except (OSError, ValueError) as error:
            raise GitError(
                f"git cat-file ended early: {error}", hint="Is the repository damaged? See 'git fsck'."
            ) from error

    def _answer(self, name: str) -> tuple[str, str, bytes] | None:
        if self._partner is None:
            argv = self._git.argv("cat-file", "--batch")
            self._partner = process.start(argv, cwd=self._git.folder, env=self._git.env)
        ask, answer = cast("IO[bytes]", self._partner.stdin), cast("IO[bytes]", self._partner.stdout)
        ask.write(encoded(name) + b"\n")
        ask.flush()
        header = answer.readline().split()
        if header and (len(header) != 3 or not header[2].isdigit()):  # noqa: PLR2004 - "<name> missing", "<name> ambiguous"
            return None
        content = answer.read(int(header[2]) + 1) if header else b""
        if not content.endswith(b"\n") or len(content) <= int(header[2]):
            raise ValueError("no answer")
        found = header[0].decode(), header[1].decode(), content[:-1]
        if found[1] == "blob" and name == found[0] and len(content) <= SMALL:
            self._blobs = {} if len(self._blobs) == SMALL_ONES else self._blobs
            self._blobs[name] = found
        return found

    def resolve(self, name: str) -> str | None:
        """Return the id a name stands for."""
        found = self.get(name)
        return found[0] if found else None

    def commit(self, name: str) -> Commit | None:
        """Return a commit by id or by any name git knows it under."""
        if name in self._commits:
            return self._commits[name]
        found = self.get(name)
        if found is None or found[1] != "commit":
            return None
        head, _, message = decoded(found[2]).partition("\n\n")
        lines = [line.partition(" ") for line in head.split("\n")]
        read = self._commits[found[0]] = Commit(
            oid=found[0],
            tree=next((value for key, _, value in lines if key == "tree"), ""),
            parents=tuple(value for key, _, value in lines if key == "parent"),
            author=next((value for key, _, value in lines if key == "author"), ""),
            message=message,
        )
        return read

    def require(self, name: str) -> Commit:
        """Return a commit that has to be there; one that is not is a GitError."""
        found = self.commit(name)
        if found is None:
            raise GitError(
                f"there is no commit {name[:10]}",
                hint="Is this a shallow clone? Type 'git fetch --unshallow'.",
            )
        return found

    def tree(self, oid: str) -> Mapping[str, Node]:
        """Return what a folder holds, by name; an unknown tree holds nothing."""
        if oid not in self._trees:
            found = self.get(oid) if oid else None
            content = found[2] if found and found[1] == "tree" else b""
            self._trees[oid] = dict(_entries(content, len(oid) // 2))
        return self._trees[oid]

    def inner(self, oid: str) -> tuple[tuple[str, Node], ...]:
        """Return the folders and the submodules that a folder holds."""
        if oid not in self._inner:
            entries = self.tree(oid).items()
            self._inner[oid] = tuple(entry for entry in entries if entry[1].mode in (TREE, SUBMODULE))
        return self._inner[oid]

    def node(self, tree: str, path: str) -> Node | None:
        """Return what stands at a path of a tree."""
        node = Node(TREE, tree)
        for name in path.split("/"):
            if not node.is_tree:
                return None
            found = self.tree(node.oid).get(name)
            if found is None:
                return None
            node = found
        return node

    def files(self, tree: str, prefix: str = "") -> Iterator[tuple[str, Node]]:
        """Yield every file of a tree with its path, links and submodules included, however deep it is nested."""
        waiting = [(prefix, iter(self.tree(tree).items()))]
        while waiting:
            place, entries = waiting[-1]
            name, node = next(entries, (None, None))
            if name is None or node is None:
                waiting.pop()
            elif node.is_tree:
                waiting.append((f"{place}{name}/", iter(self.tree(node.oid).items())))
            else:
                yield f"{place}{name}", node

    def extent(self, tree: str) -> int:
        """Return how many files and folders a tree unfolds to; folders that stand in many places are read once."""
        known, waiting = self._extents, [tree]
        while tree not in known:
            folders = [node.oid for _, node in self.inner(waiting[-1]) if node.is_tree]
            if unknown := dict.fromkeys(oid for oid in folders if oid not in known):
                waiting += unknown
            else:
                oid = waiting.pop()
                known[oid] = len(self.tree(oid)) + sum(known[inner] for inner in folders)
        return known[tree]

    def differences(self, before: str, after: str) -> Iterator[tuple[str, Node | None, Node | None]]:
        """Yield every path that differs between two trees, with what stands there on each side."""
        waiting = [self._pairs(before, after, "")]
        while waiting:
            path, one, two = next(waiting[-1], (None, None, None))
            if path is None:
                waiting.pop()
                continue
            folders = [node.oid if node and node.is_tree else EMPTY for node in (one, two)]
            files = [None if node is None or node.is_tree else node for node in (one, two)]
            if folders[0] != folders[1]:
                waiting += [iter([(path, *files)]), self._pairs(folders[0], folders[1], f"{path}/")]
            elif files[0] or files[1]:
                yield path, files[0], files[1]

    def added(self, before: str, after: str) -> Iterator[str]:
        """Yield the paths that stand in one tree, and not in an earlier one."""
        return (path for path, old, _ in self.differences(before, after) if old is None)

    def _pairs(self, before: str, after: str, prefix: str) -> Iterator[tuple[str, Node | None, Node | None]]:
        """Yield what differs right inside two folders."""
        old, new = self.tree(before), self.tree(after)
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                yield f"{prefix}{name}", old.get(name), new.get(name)

    def without(self, tree: str, path: str) -> str:
        """Return a name for a tree that does not depend on what stands at one path."""
        import hashlib  # noqa: PLC0415 - slow to load

        names, trees = path.split("/"), [tree]
        for name in names[:-1]:
            node = self.tree(trees[-1]).get(name)
            if node is None or not node.is_tree:
                break
            trees.append(node.oid)
        told = ""
        for name, oid in reversed([*zip(names, trees, strict=False)]):
            entries = {inner: f"{node.mode} {node.oid}" for inner, node in self.tree(oid).items()}
            if told:
                entries[name] = told
            elif len(trees) == len(names):
                entries.pop(name, None)
            listing = "\0".join(f"{inner}\0{value}" for inner, value in sorted(entries.items()))
            told = hashlib.sha256(encoded(listing)).hexdigest()
        return told


EMPTY = ""  # no object has this name, so it reads as a folder without entries


def _entries(content: bytes, size: int) -> Iterator[tuple[str, Node]]:
    position = 0
    while position < len(content):
        space = content.index(b" ", position)
        end = content.index(b"\0", space)
        oid = content[end + 1 : end + 1 + size]
        yield decoded(content[space + 1 : end]), Node(content[position:space].decode(), oid.hex())
        position = end + 1 + size


# No line of a patch begins with NUL: they begin with a blank, a plus, a minus, or words of git's own.
_HEAD = re.compile(rb"^\0([0-9a-f]{40,64}) (.*)\n", re.MULTILINE)
_SHOWN = ("-p", "--root", "--always", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames")


def patches(git: Git, commits: Iterable[str]) -> "Mapping[str, Patch]":
    """Return what each commit says, and how it differs from its first parent; of merges, nothing but the words."""
    from redgreenrefactor.model.run_report import Patch  # noqa: PLC0415 - for reports alone

    wanted = "".join(f"{commit}\n" for commit in commits if commit).encode()
    if not wanted:
        return {}
    raw = git.raw("diff-tree", "--stdin", *_SHOWN, "--format=%x00%H %s", stdin=wanted)
    _, *parts = _HEAD.split(raw)
    return {
        commit.decode(): Patch(decoded(subject), decoded(text.strip(b"\n")))
        for commit, subject, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }
