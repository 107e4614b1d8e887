"""A clean checkout of our own, reused, in which tests are run and nothing of the user's can be harmed."""

import os
import shutil
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.filesystem import below, cleared, head_of, is_pipe, remove
from redgreenrefactor.git import lock
from redgreenrefactor.git.executable import Git, encoded, scrubbed
from redgreenrefactor.git.local_files import COPY_BYTES, CopyAllowance, bring, is_installed, is_local
from redgreenrefactor.git.objects import SUBMODULE, Objects
from redgreenrefactor.git.repository import Repository, quoted, setting
from redgreenrefactor.git.untracked import Untracked

MOST_FILES = 2_000_000  # of a commit that is checked out
MIRRORED = ("core.autocrlf", "core.eol", "core.symlinks", "core.ignorecase", "filter.")


Stamp = tuple[int, ...]  # size, and times of change: what `touch` can set, and what it cannot


@dataclass(frozen=True, slots=True)
class Original:
    """A file before it was replaced; a link or a folder there, or a link on the way, only git can bring back."""

    content: bytes | None = None
    mode: int = 0
    simple: bool = True


class CleanCheckout:
    """A repository of our own that borrows the user's objects and checks out one commit at a time."""

    def __init__(self, repository: Repository, name: str = "checkout", *, strangers: bool = True) -> None:
        self._repository = repository
        self._objects: Objects = repository.objects
        self._strangers = strangers  # whether files that git neither tracks nor ignores are brought along
        self.folder = repository.cache / name
        # Of all checkouts: what is installed is compiled once, not again for every repository.
        self.compiled = repository.cache.parent / "compiled"
        self.untracked = Untracked(repository.root, repository.cache)
        self._tree = ""  # what is checked out
        self._local_files: frozenset[str] = frozenset()  # the user's own files that git does not track
        self._laid_out: dict[str, Stamp] = {}
        self._originals: dict[str, Original] = {}  # what the overlay replaced
        self._submodules: set[str] = set()  # whose files are there
        self._allowance = CopyAllowance()
        self._ready = False

    def lay_out(self, commit: str, overlay: Mapping[str, str | None]) -> Path:
        """Lay out exactly this commit, some files replaced or taken away; return the folder."""
        tree = self._tree_of(commit)
        there = self._ready and tree == self._tree and self._stamps(tree) == self._laid_out
        if not (self._undo() and there):
            self._check_out_somehow(commit)
        # For whoever asks inside; our own git is told where its folder is, and tests cannot write there.
        _remove(self.folder / ".git")
        (self.folder / ".git").write_bytes(encoded(f"gitdir: {self._own}\n"))
        self._sweep(tree)
        self._populate(tree)
        self._tree = tree
        for path, text in overlay.items():
            self._originals[path] = self._original(path)
            self._put(path, None if text is None else encoded(text))
        self._laid_out = self._stamps(tree)
        return self.folder

    def disturbed(self) -> tuple[str, ...]:
        """Return the files of the commit that somebody has changed since they were laid out."""
        now = self._stamps(self._tree)
        return tuple(path for path, stamp in self._laid_out.items() if now[path][:2] != stamp[:2])

    def _stamps(self, tree: str) -> dict[str, Stamp]:
        """Return size and times of every file of a tree; nothing for a file that is not there."""
        stamps: dict[str, Stamp] = {}
        for path, node in self._objects.files(tree):
            if node.mode == SUBMODULE:
                continue
            try:
                found = (self.folder / path).lstat()
                stamps[path] = (found.st_size, found.st_mtime_ns, found.st_ctime_ns)
            except OSError:
                stamps[path] = ()
        return stamps

    def _original(self, path: str) -> Original:
        """Return what an overlay is about to replace, as far as we can bring it back ourselves."""
        target = self.folder / path
        way = [place for place in target.parents if place.is_relative_to(self.folder)]
        if (
            any(place.is_symlink() or place.is_file() for place in way)
            or target.is_symlink()
            or target.is_dir()
        ):
            return Original(simple=False)
        return Original(target.read_bytes(), target.stat().st_mode) if target.is_file() else Original()

    def _undo(self) -> bool:
        """Take the last overlay back without asking git, for many are tried on one tree; tell if that was all."""
        originals, self._originals = self._originals, {}
        try:
            for path, original in originals.items():
                self._put(path, original.content)
                if original.content is not None:
                    (self.folder / path).chmod(original.mode)
        except OSError:
            return False
        return all(original.simple for original in originals.values())

    def _check_out_somehow(self, commit: str) -> None:
        try:
            self._check_out(commit)
        except (NotReadyError, OSError):
            # Left half made by a kill or a full disk, perhaps: once more from nothing.
            self.discard()
            self._check_out(commit)

    def discard(self) -> None:
        """Leave nothing of the checkout."""
        _remove(self.folder)
        _remove(self._own)
        self._ready = False

    def _tree_of(self, commit: str) -> str:
        found = self._objects.require(commit)
        if self._objects.extent(found.tree) > MOST_FILES:
            raise NotReadyError(
                f"commit {commit[:10]} unfolds to more than {MOST_FILES} files",
                hint="Leave it alone: somebody has made it to fill disks.",
            )
        return found.tree

    def _check_out(self, commit: str) -> None:
        if not self._ready:
            self._prepare()
        for entry in below(self.folder):  # git would wait at one that it takes for a file of its own
            if is_pipe(entry):
                Path(entry.path).unlink()
        self._git().raw("checkout", "--quiet", "--force", "--detach", commit)

    @property
    def _own(self) -> Path:
        """Our repository's git folder: outside the checkout, which tests write to."""
        return self.folder.with_name(f"{self.folder.name}.git")

    def _git(self) -> Git:
        env = scrubbed(self._repository.environ, self._repository.root)
        return Git(self.folder, {**env, "GIT_DIR": str(self._own), "GIT_WORK_TREE": str(self.folder)})

    def _prepare(self) -> None:
        """Make our repository anew where there is none yet, and bring the user's untracked local files."""
        if (self.folder / ".git").is_dir():
            _remove(self.folder)  # an earlier version's
        self.folder.mkdir(parents=True, exist_ok=True)
        object_format = "sha256" if len(self._repository.objects.resolve("HEAD") or "") > 40 else "sha1"  # noqa: PLR2004
        if not (self._own / "HEAD").exists():
            self._git().raw("init", "--quiet", "--template=", f"--object-format={object_format}")
        (self._own / "config").write_bytes(encoded("".join(self._mirrored(object_format))))
        for left in self._own.glob("*.lock"):
            left.unlink(missing_ok=True)
        alternates = self._own / "objects" / "info" / "alternates"
        alternates.parent.mkdir(exist_ok=True)
        alternates.write_bytes(encoded(f"{quoted(self._repository.common_dir / 'objects')}\n"))
        self._allowance = CopyAllowance()
        self._submodules = set()
        self._local_files = frozenset(self._bring_local_files())
        self._ready = True

    def _mirrored(self, object_format: str) -> Iterator[str]:
        """Yield git's settings for our repository: those of the user's that change what files look like."""
        yield setting("core.repositoryformatversion", "0" if object_format == "sha1" else "1")
        yield setting("core.bare", "false")
        if object_format != "sha1":
            yield setting("extensions.objectformat", object_format)
        for key, value in self._repository.config.items():
            if key.startswith(MIRRORED):
                yield setting(key, value)

    def _bring_local_files(self) -> Iterator[str]:
        """Bring what tests may need and git does not hold: dependencies by link, small files by copy."""
        shunned: set[str] = set() if self._strangers else self._unknown()
        listing = self._repository.git.fields("ls-files", "--others", "--directory", "-z")
        for entry in listing:
            path = entry.rstrip("/")
            if not is_local(path) or path in shunned or self.untracked.made(path):
                continue
            kept = dict(self._as_brought(path))
            self._fetch(path)
            for name, content in kept.items():
                self._put(name, content)
            yield path

    def _as_brought(self, path: str) -> Iterator[tuple[str, bytes]]:
        """Yield our copies of the user's files that a session has changed since they were brought."""
        for name in self.untracked.changed():
            copy = self.folder / name
            if name == path or name.startswith(f"{path}/"):
                with suppress(OSError):
                    yield name, head_of(copy, COPY_BYTES, follow=False)

    def _unknown(self) -> set[str]:
        """Return the untracked files that are neither ignored nor installed dependencies."""
        listing = self._repository.git.fields(
            "ls-files", "--others", "--exclude-standard", "--directory", "-z"
        )
        paths = {entry.rstrip("/") for entry in listing}
        return {path for path in paths if not is_installed(self._repository.root / path)}

    def _populate(self, tree: str) -> None:
        """Bring the files of submodules: git leaves their folders empty."""
        for path, node in self._objects.files(tree):
            if node.mode == SUBMODULE and (path not in self._submodules or _is_empty(self.folder / path)):
                self._fetch(path)
                self._submodules.add(path)

    def _fetch(self, path: str) -> None:
        target = cleared(self.folder, path)
        _remove(target)
        bring(self._repository.root / path, target, self._allowance, self._made)

    def _made(self, folder: str, names: list[str]) -> set[str]:
        """Return which files of a folder are not brought: byte code, git's own, and what a session has made."""
        left = set(shutil.ignore_patterns("__pycache__", "*.pyc", ".git")(folder, names))
        home = Path(folder).relative_to(self._repository.root).as_posix()
        return left | {name for name in names if self.untracked.made(f"{home}/{name}")}

    def _sweep(self, tree: str) -> None:
        """Remove everything that neither the commit nor the local files accounts for."""
        tracked = {path for path, _ in self._objects.files(tree)}
        folders = {
            str(parent) for path in (*tracked, *self._local_files) for parent in PurePosixPath(path).parents
        }
        kept = tracked | self._local_files | {".git"}
        for path in _beyond(self.folder, kept, folders):
            _remove(self.folder / path)

    def _put(self, path: str, content: bytes | None) -> None:
        target = cleared(self.folder, path)
        if content is None or target.is_symlink() or target.is_dir():
            _remove(target)
        if content is not None:
            target.write_bytes(content)  # into the file that is there: it may be executable


@contextmanager
def apart(repository: Repository) -> Generator[CleanCheckout]:
    """Provide a clean checkout nobody else uses, with what is checked in and installed only; it is gone afterwards."""
    with lock.free_slot(repository.make_cache(), "apart") as name:
        clean = CleanCheckout(repository, name, strangers=False)
        clean.discard()  # of somebody who was killed
        try:
            yield clean
        finally:
            clean.discard()
            _remove(clean.compiled / str(clean.folder).lstrip("/"))


def _beyond(folder: Path, kept: set[str], folders: set[str]) -> Iterator[str]:
    """Yield the topmost paths below a folder that are neither kept nor on the way to something kept."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        for entry in list(os.scandir(folder / prefix)):
            path = f"{prefix}{entry.name}"
            if path in folders and path not in kept and entry.is_dir(follow_symlinks=False):
                waiting.append(f"{path}/")
            elif path not in kept:
                yield path


def _is_empty(folder: Path) -> bool:
    return not folder.is_dir() or not any(folder.iterdir())


def _remove(path: Path) -> None:
    with suppress(OSError):
        remove(path)
