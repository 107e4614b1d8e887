"""Commits as they are stored: read, compared, and laid out where tests can be run."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from redgreenrefactor.git.checkout import CleanCheckout, apart
from redgreenrefactor.git.objects import Node
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.model.evidence import Change, File

LARGEST_TEXT = 1_000_000


class GitSnapshots:
    """What commits hold; nothing of the user's is touched by looking."""

    def __init__(self, repository: Repository, clean: CleanCheckout) -> None:
        self._repository = repository
        self._objects = repository.objects
        self._clean = clean

    @property
    def prefix(self) -> str:
        """The project's folder inside the repository."""
        return self._repository.prefix

    @property
    def compiled(self) -> Path:
        """Where byte code of the clean checkout is kept."""
        return self._clean.compiled

    def changes(self, base: str | None, head: str) -> tuple[Change, ...]:
        """Return what differs between two commits, or between one and the one before it, if that is here."""
        after = self._objects.require(head)
        before = self._objects.require(base) if base else next(map(self._objects.commit, after.parents), None)
        if before is None:  # the first of all, or of a shallow clone
            return ()
        return tuple(
            Change(path, self._file(old), self._file(new))
            for path, old, new in self._objects.differences(before.tree, after.tree)
        )

    def read(self, commit: str, path: str) -> tuple[str, str] | None:
        """Return blob id and text of a file of the project at a commit."""
        node = self._objects.node(self._objects.require(commit).tree, f"{self.prefix}{path}")
        found = self._objects.get(node.oid) if node else None
        if node is None or found is None or found[1] != "blob":
            return None
        return node.oid, found[2].decode("utf-8", "replace")

    def source(self, commit: str, path: str) -> str | None:
        """Return the text of a file of the repository at a commit."""
        file = self._file(self._objects.node(self._objects.require(commit).tree, path))
        return file.text if file else None

    def fingerprint(self, commit: str) -> str:
        """Return what two commits share if nothing but `test-list.md` differs between them."""
        return self._objects.without(self._objects.require(commit).tree, f"{self.prefix}test-list.md")

    def checkout(self, commit: str, overlay: Mapping[str, str | None], lane: int = 0) -> Path:
        """Lay out the project at a commit, with files replaced, in a clean folder of our own, the lane's."""
        return self._clean.lane(lane).lay_out(commit, overlay) / self.prefix

    def disturbed(self, lane: int = 0) -> tuple[str, ...]:
        """Return the files of that checkout which somebody has changed since it was laid out."""
        return self._clean.lane(lane).disturbed()

    def _file(self, node: Node | None) -> File | None:
        if node is None:
            return None
        found = self._objects.get(node.oid)
        raw = found[2] if found and found[1] == "blob" else None
        text = None
        if raw is not None and len(raw) <= LARGEST_TEXT and b"\0" not in raw:
            text = raw.decode("utf-8", "surrogateescape")
        return File(node.mode, node.oid, text)


@contextmanager
def looking_back(repository: Repository) -> Generator[GitSnapshots]:
    """Provide the past with a clean checkout that no run shares, and that is gone afterwards."""
    with apart(repository) as clean:
        yield GitSnapshots(repository, clean)
