"""A checkout taken to another commit: tracked files become that commit's, and nothing of the user's is lost on the way."""

import os
import shlex
from pathlib import Path, PurePosixPath

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.filesystem import remove
from redgreenrefactor.git import hidden
from redgreenrefactor.git.objects import LINK, SUBMODULE, Node
from redgreenrefactor.git.obstacles import insist, sweep
from redgreenrefactor.git.ref_guard import RefGuard
from redgreenrefactor.git.repository import IN_PROGRESS, Repository

NAMED = 10  # files a refusal names
HALF_DONE = (*IN_PROGRESS, "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "REBASE_HEAD", "sequencer")


class Rewinder:
    """Takes a checkout to other commits."""

    def __init__(self, repository: Repository, guard: RefGuard) -> None:
        self._repository = repository
        self._git = repository.excluding
        self._objects = repository.objects
        self._guard = guard

    def rewind(self, base: str) -> None:
        """Go back to the base; tracked files as they were, new untracked ones gone, ignored ones untouched."""
        self.check_out(base)
        sweep(self._git)

    def check_out(self, base: str) -> None:
        """Make tracked files those of the base; nothing else is touched."""
        self.forget_half_done()
        self._guard.put_head_back()
        with hidden.left_alone(self._git, self._guard.hidden()):
            insist(self._git, "reset", "--quiet", "--hard", base)
        if (self._repository.root / ".gitmodules").exists():
            self._git.attempt("submodule", "--quiet", "update", "--checkout", "--no-fetch")
        self._guard.remember_branch(base)

    def forget_half_done(self) -> None:
        """Forget merges, rebases and the like that a session left half done."""
        for name in HALF_DONE:
            remove(self._repository.git_dir / name)

    def require_room(self, here: str, to: str) -> None:
        """Refuse to lay out a commit over files that git ignores now and that would be lost."""
        trees = [self._objects.require(commit).tree for commit in (here, to)]
        added = [
            (path, after)
            for path, before, after in self._objects.differences(*trees)
            if before is None and after
        ]
        lost = list(dict.fromkeys(filter(None, (self._in_the_way(trees[0], *one) for one in added))))
        if lost:
            root = self._repository.root
            move = shlex.join(["mv", "-i", str(root / lost[0]), str(root.parent)])
            raise NotReadyError(
                f"files that git ignores would be overwritten: {', '.join(lost[:NAMED])}",
                hint=f"Move them out of the repository, e.g. {move}, then try again.",
                type="DirtyTree",
            )

    def _in_the_way(self, here: str, path: str, node: Node) -> str | None:
        """Return what lies, tracked by nobody, where a file is to be laid out, and would be gone afterwards."""
        for folder in reversed(PurePosixPath(path).parents[:-1]):
            place = self._repository.root / folder
            if place.is_symlink() or place.is_file():
                return None if self._objects.node(here, str(folder)) else str(folder)
        place = self._repository.root / path
        if place.is_dir() and not place.is_symlink():
            inside = ("ls-files", "--others", "-z", "--", f":(top,literal){path}")
            return path if node.mode != SUBMODULE and self._git.raw(*inside) else None
        return path if os.path.lexists(place) and not self._lies_at(place, path, node) else None

    def _lies_at(self, place: Path, path: str, node: Node) -> bool:
        """Tell whether a file is what git would put there."""
        if place.is_symlink():
            found = self._git.text("hash-object", "--stdin", stdin=os.fsencode(place.readlink()))
            return node.mode == LINK and found == node.oid
        known = place.is_file() and node.mode != LINK
        return known and self._git.text("hash-object", f"--path={path}", "--", path) == node.oid
