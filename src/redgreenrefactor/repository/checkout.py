"""A clean checkout of our own, reused, in which tests are run and nothing of the user's can be harmed."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.repository.git import Git, said, scrubbed
from redgreenrefactor.repository.leftout import NAMES
from redgreenrefactor.repository.objects import Objects
from redgreenrefactor.repository.repository import Repository

LINKED = frozenset({"node_modules"})
COPY_FILES, COPY_BYTES = 2_000, 50_000_000  # more than this is linked, not copied
MIRRORED = ("core.autocrlf", "core.eol", "core.symlinks", "core.ignorecase", "filter.")


class CleanCheckout:
    """A repository of our own that borrows the user's objects and checks out one commit at a time."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._objects: Objects = repository.objects
        self.folder = repository.cache / "checkout"
        # Of all checkouts: what is installed is compiled once, not again for every repository.
        self.compiled = repository.cache.parent / "compiled"
        self._tree = ""  # what is checked out
        self._replaced: frozenset[str] = frozenset()
        self._furniture: frozenset[str] = frozenset()  # the user's own files that git does not track
        self._laid_out: dict[str, tuple[int, int] | None] = {}
        self._ready = False

    def lay_out(self, commit: str, overlay: Mapping[str, str | None]) -> Path:
        """Return the folder with exactly this commit in it, some files replaced or taken away."""
        tree = self._tree_of(commit)
        if not self._ready:
            self._prepare()
        git = self._git()
        done = git.attempt("checkout", "--quiet", "--force", "--detach", commit)
        if done.exit_code != 0:
            raise NotReadyError(f"a clean checkout of {commit[:10]} could not be made: {said(done)}")
        self._sweep(tree)
        stale = {path for path, _, _ in self._objects.differences(self._tree, tree)}
        self._forget_compiled(stale | self._replaced | set(overlay))
        self._tree, self._replaced = tree, frozenset(overlay)
        for path, text in overlay.items():
            self._replace(path, text)
        self._laid_out = self._stamps(tree)
        return self.folder

    def disturbed(self) -> tuple[str, ...]:
        """Return the files of the commit that somebody has changed since they were laid out."""
        now = self._stamps(self._tree)
        return tuple(path for path, stamp in self._laid_out.items() if now.get(path) != stamp)

    def _stamps(self, tree: str) -> dict[str, tuple[int, int] | None]:
        """Return size and time of every file of a tree; none for a file that is not there."""
        stamps: dict[str, tuple[int, int] | None] = {}
        for path, _ in self._objects.files(tree):
            try:
                found = (self.folder / path).lstat()
                stamps[path] = (found.st_size, found.st_mtime_ns)
            except OSError:
                stamps[path] = None
        return stamps

    def _tree_of(self, commit: str) -> str:
        found = self._objects.commit(commit)
        if found is None:
            raise NotReadyError(
                f"there is no commit {commit}", hint="Is this a shallow clone? 'git fetch --unshallow'."
            )
        return found.tree

    def _git(self) -> Git:
        env = scrubbed(self._repository.environ)
        return Git(self.folder, env)

    def _prepare(self) -> None:
        """Make our repository anew where there is none yet, and bring the user's untracked furniture."""
        self.folder.mkdir(parents=True, exist_ok=True)
        git = self._git()
        if not (self.folder / ".git" / "HEAD").exists():
            object_format = "sha256" if len(self._repository.objects.resolve("HEAD") or "") > 40 else "sha1"  # noqa: PLR2004
            git.raw("init", "--quiet", f"--object-format={object_format}")
        for lock in (self.folder / ".git").glob("*.lock"):
            lock.unlink(missing_ok=True)
        objects = self._repository.common_dir / "objects"
        (self.folder / ".git" / "objects" / "info" / "alternates").write_text(f"{objects}\n")
        for key, value in self._repository.config.items():
            if key.startswith(MIRRORED):
                git.raw("config", key, value)
        self._furniture = frozenset(self._furnish())
        self._ready = True

    def _furnish(self) -> Iterator[str]:
        """Bring what tests may need and git does not hold: dependencies by link, small files by copy."""
        listing = self._repository.git.fields("ls-files", "--others", "--directory", "-z")
        room = Room()
        for entry in listing:
            path = entry.rstrip("/")
            if PurePosixPath(path).name in NAMES - LINKED or path.endswith(".pyc"):
                continue
            target = self.folder / path
            _remove(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            _bring(self._repository.root / path, target, room)
            yield path

    def _sweep(self, tree: str) -> None:
        """Remove everything that neither the commit nor the furniture accounts for."""
        tracked = {path for path, _ in self._objects.files(tree)}
        folders = {
            str(parent) for path in (*tracked, *self._furniture) for parent in PurePosixPath(path).parents
        }
        kept = tracked | self._furniture | {".git"}
        for path in _beyond(self.folder, "", kept, folders):
            _remove(self.folder / path)

    def _replace(self, path: str, text: str | None) -> None:
        target = self.folder / path
        if target.is_symlink() or text is None:
            target.unlink(missing_ok=True)
        if text is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode("utf-8", "surrogateescape"))

    def _forget_compiled(self, paths: set[str]) -> None:
        """Drop byte code of what changed: Python compares seconds and sizes, and both may be the same."""
        for path in paths:
            if path.endswith(".py"):
                place = self.compiled / str(self.folder / path).lstrip("/")
                for stale in place.parent.glob(f"{place.stem}.*.pyc"):
                    stale.unlink(missing_ok=True)


class Room:
    """How much may still be copied."""

    def __init__(self) -> None:
        self.files = COPY_FILES
        self.bytes = COPY_BYTES

    def holds(self, source: Path) -> bool:
        """Tell whether a file or folder still fits, and count it if so."""
        files = [source] if source.is_file() else [p for p in source.rglob("*") if p.is_file()]
        size = sum(path.stat().st_size for path in files)
        if len(files) > self.files or size > self.bytes:
            return False
        self.files -= len(files)
        self.bytes -= size
        return True


def _bring(source: Path, target: Path, room: Room) -> None:
    links = source.name in LINKED or (source / "pyvenv.cfg").exists() or source.is_symlink()
    with suppress(OSError, shutil.Error):
        if links or not room.holds(source):
            target.symlink_to(source)
        elif source.is_dir():
            shutil.copytree(
                source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
            )
        else:
            shutil.copy2(source, target)


def _beyond(folder: Path, prefix: str, kept: set[str], folders: set[str]) -> Iterator[str]:
    """Yield the topmost paths below a folder that are neither kept nor on the way to something kept."""
    for entry in list(os.scandir(folder / prefix)):
        path = f"{prefix}{entry.name}"
        if path in kept:
            continue
        if path in folders and entry.is_dir(follow_symlinks=False):
            yield from _beyond(folder, f"{path}/", kept, folders)
        else:
            yield path


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
