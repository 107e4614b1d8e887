"""A clean checkout of our own, reused, in which tests are run and nothing of the user's can be harmed."""

import os
import shutil
import stat
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path, PurePosixPath

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.filesystem import below, cleared, head_of, is_pipe, remove
from redgreenrefactor.git import lock
from redgreenrefactor.git.executable import Git, encoded, scrubbed
from redgreenrefactor.git.laid_out import SETTLED, LaidOut, Original, laid_out
from redgreenrefactor.git.local_files import (
    COPY_BYTES,
    CopyAllowance,
    bring,
    bring_modules,
    is_installed,
    is_local,
)
from redgreenrefactor.git.objects import EMPTY, Objects
from redgreenrefactor.git.repository import Repository, quoted, setting
from redgreenrefactor.git.untracked import Untracked

MOST_FILES = 2_000_000  # of a commit that is checked out
MIRRORED = ("core.autocrlf", "core.eol", "core.symlinks", "core.ignorecase", "filter.")
# What git tells by that a file is another one, whatever the user has set: a time of change can be set, its own cannot.
LOOKS = {
    "core.trustctime": "true",
    "core.checkstat": "default",
    "core.ignorestat": "false",
    "core.sparsecheckout": "false",
}
STAT_DIRTY = ("diff-files", "--name-only", "-z", "--ignore-submodules")
LARGEST_REPLACED = 10_000_000  # bytes of a file that we put back ourselves

BESIDE = "-beside-"  # and a number: how the folders of further checkouts end
Stamp = tuple[str, int, int, int]  # a folder's tree, and what tells the folder from what it was


class CleanCheckout:
    """A repository of our own that borrows the user's objects and checks out one commit at a time."""

    def __init__(self, repository: Repository, name: str = "checkout", *, strangers: bool = True) -> None:
        self._repository = repository
        self._objects: Objects = repository.objects
        self._strangers = strangers  # whether files that git neither tracks nor ignores are brought along
        self.folder = repository.cache / name
        self._path = str(self.folder)
        # Of all checkouts: what is installed is compiled once, not again for every repository.
        self.compiled = repository.cache.parent / "compiled"
        self.untracked = Untracked(repository.root, repository.cache)
        self._tree: str | None = None  # what is checked out; None: nobody knows
        self._swept: dict[str, Stamp] = {}  # the folders that hold nothing but what they should
        self._local_files: frozenset[str] = frozenset()  # the user's own files that git does not track
        self._way: frozenset[str] = frozenset()  # the folders they lie in
        self._overlay: tuple[str, ...] = ()  # what was replaced, or taken away
        self._replaced: dict[str, Original] = {}  # what has been since git laid out the tree, as it was then
        self._laid_out: LaidOut | None = None  # all files as git laid them out; None: git is asked
        self._touched: tuple[str, ...] | None = None  # what is not any more; None: nobody has looked
        self._submodules: set[str] = set()  # whose files are there
        self._allowance = CopyAllowance()
        self._ready = False
        self.lanes: list[CleanCheckout] = [self]

    def lane(self, number: int) -> "CleanCheckout":
        """Return one of several checkouts beside each other, this being the first; they are made as they are asked for."""
        while len(self.lanes) <= number:
            name = f"{self.folder.name}{BESIDE}{len(self.lanes)}"
            self.lanes.append(CleanCheckout(self._repository, name, strangers=self._strangers))
        return self.lanes[number]

    def lay_out(self, commit: str, overlay: Mapping[str, str | None]) -> Path:
        """Lay out exactly this commit, some files replaced or taken away; return the folder."""
        tree = self._tree_of(commit)
        try:
            self._check_out(commit, tree)
        except (NotReadyError, OSError):
            # Left half made by a kill or a full disk, perhaps: once more from nothing.
            self.discard()
            self._check_out(commit, tree)
        self._overlay, self._touched = tuple(overlay), None
        for path, text in overlay.items():
            self._remember(path)
            self._put(path, None if text is None else encoded(text))
        return self.folder

    def disturbed(self) -> tuple[str, ...]:
        """Return the files of the commit that somebody has changed since they were laid out."""
        self._touched = None
        changed = {path for path, was in self._replaced.items() if self._original(path) != was}
        if (
            touched := self._look()
        ):  # a time that nobody can set has changed: that is no change yet, but may hide one
            set_anew = self._git.fields("-c", "core.trustctime=false", *STAT_DIRTY)
            changed |= {*set_anew, *self._git.fields("ls-files", "-z", "--modified")} & {*touched}
        ours = self._overlay
        return tuple(sorted(path for path in changed if not any(_in_each_other(path, own) for own in ours)))

    def discard(self) -> None:
        """Leave nothing of the checkout."""
        _remove(self.folder)
        _remove(self._own)
        self._tree, self._swept, self._ready, self._replaced = None, {}, False, {}

    def _tree_of(self, commit: str) -> str:
        found = self._objects.require(commit)
        if self._objects.extent(found.tree) > MOST_FILES:
            raise NotReadyError(
                f"commit {commit[:10]} unfolds to more than {MOST_FILES} files",
                hint="Leave it alone: somebody has made it to fill disks.",
            )
        return found.tree

    def _check_out(self, commit: str, tree: str) -> None:
        """Make the folder what a commit holds: by what differs, be it somebody's doing or another commit's."""
        if not self._ready:
            self._prepare()
        if self._tree is None:
            for entry in below(self.folder):  # git would wait at one that it takes for a file of its own
                if is_pipe(entry):
                    Path(entry.path).unlink()
            self._move(commit, tree)
        elif self._tree == tree and not self._look():
            for path, was in self._replaced.items():
                self._put_back(path, was)
        else:
            self._sweep(self._tree)
            self._move(commit, tree)
        # For whoever asks inside; our own git is told where its folder is, and tests cannot write there.
        _remove(self.folder / ".git")
        (self.folder / ".git").write_bytes(encoded(f"gitdir: {self._own}\n"))
        self._populate(tree)

    def _move(self, commit: str, tree: str) -> None:
        """Have git make all files what a commit holds; nothing else is left."""
        self._tree = None
        self._git.raw("checkout", "--quiet", "--force", "--detach", commit)
        self._sweep(tree)
        self._tree, self._replaced = tree, {}
        self._laid_out = laid_out(self._objects, tree, self._path, self._content)

    def _look(self) -> tuple[str, ...]:
        """Return the files that are not, by all git can tell without reading them, what it has laid out.

        What does not belong there is gone afterwards. Files that were replaced are not among them: those are put back
        whatever they look like. It is looked once after each layout: every file is, and there may be very many.
        """
        if self._touched is None:
            whole = self._tree is not None and self._sweep(self._tree)
            known = self._laid_out if whole else None
            found = known.changed(self._content) if known else self._git.fields(*STAT_DIRTY)
            self._touched = tuple(path for path in found if path not in self._replaced)
        return self._touched

    def _original(self, path: str) -> Original | None:
        """Return a regular file that no link leads to; None for anything else."""
        place = self.folder / path
        with suppress(OSError):
            if not any((self.folder / part).is_symlink() for part in PurePosixPath(path).parents):
                return place.lstat().st_mode, head_of(place, LARGEST_REPLACED, follow=False)
        return None

    def _content(self, path: str) -> Original | None:
        """Return such a file whole; None where it is too large for that."""
        found = self._original(path)
        return found if found and len(found[1]) < LARGEST_REPLACED else None

    def _remember(self, path: str) -> None:
        """Keep what a file is before it is replaced; of what is no file git brings back everything."""
        if path not in self._replaced and (found := self._content(path)):
            self._replaced[path] = found

    def _put_back(self, path: str, was: Original) -> None:
        """Make a file again what it was, in the place of whatever is there."""
        if self._original(path) != was:
            place = cleared(self.folder, path)
            _remove(place)
            place.write_bytes(was[1])
            place.chmod(stat.S_IMODE(was[0]))

    @property
    def _own(self) -> Path:
        """Our repository's git folder: outside the checkout, which tests write to."""
        return self.folder.with_name(f"{self.folder.name}.git")

    @cached_property
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
            self._git.raw("init", "--quiet", "--template=", f"--object-format={object_format}")
        (self._own / "config").write_bytes(encoded("".join(self._mirrored(object_format))))
        for left in self._own.glob("*.lock"):
            left.unlink(missing_ok=True)
        alternates = self._own / "objects" / "info" / "alternates"
        alternates.parent.mkdir(exist_ok=True)
        alternates.write_bytes(encoded(f"{quoted(self._repository.common_dir / 'objects')}\n"))
        self._allowance = CopyAllowance()
        self._submodules = set()
        self._local_files = frozenset(self._bring_local_files())
        parents = (PurePosixPath(path).parents for path in self._local_files)
        self._way = frozenset(str(parent) for around in parents for parent in around)
        self._ready = True

    def _mirrored(self, object_format: str) -> Iterator[str]:
        """Yield git's settings for our repository: those of the user's that change what files look like."""
        yield setting("core.repositoryformatversion", "0" if object_format == "sha1" else "1")
        yield setting("core.bare", "false")
        if object_format != "sha1":
            yield setting("extensions.objectformat", object_format)
        yield from (setting(key, value) for key, value in LOOKS.items())
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
            yield from self._fetch(path)
            for name, content in kept.items():
                self._put(name, content)

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
        waiting = [("", tree)]
        while waiting:
            prefix, oid = waiting.pop()
            for name, node in self._objects.inner(oid):
                path = f"{prefix}{name}"
                if node.is_tree:
                    waiting.append((f"{path}/", node.oid))
                elif path not in self._submodules or _is_empty(self.folder / path):
                    self._fetch(path)
                    self._submodules.add(path)

    def _fetch(self, path: str) -> tuple[str, ...]:
        """Bring one of the user's files or folders; return what of it no sweep takes away."""
        source, target = self._repository.root / path, cleared(self.folder, path)
        _remove(target)
        if modules := bring_modules(source, target):
            return tuple(f"{path}/{name}" for name in modules)
        bring(source, target, self._allowance, self._made)
        return (path,)

    def _made(self, folder: str, names: list[str]) -> set[str]:
        """Return which files of a folder are not brought: byte code, git's own, and what a session has made."""
        left = set(shutil.ignore_patterns("__pycache__", "*.pyc", ".git")(folder, names))
        home = Path(folder).relative_to(self._repository.root).as_posix()
        return left | {name for name in names if self.untracked.made(f"{home}/{name}")}

    def _sweep(self, tree: str) -> bool:
        """Remove pipes, and everything that neither a tree nor the local files accounts for; tell if no folder is missing.

        Only folders are looked into that have changed since: whatever comes, goes or is replaced changes its folder.
        """
        swept: dict[str, Stamp] = {}
        whole, moment = True, time.time_ns() - SETTLED
        waiting = [("", tree)]
        while waiting:
            prefix, oid = waiting.pop()
            stamp = self._stamp(prefix, oid)
            if stamp is None:
                whole = False
                continue  # git brings it back
            if self._swept.get(prefix) != stamp:
                waiting += ((path, EMPTY) for path in self._cleared(prefix, oid))
                stamp = self._stamp(prefix, oid) or stamp
            if stamp[-1] < moment:
                swept[prefix] = stamp
            waiting += (
                (f"{prefix}{name}/", node.oid) for name, node in self._objects.inner(oid) if node.is_tree
            )
        self._swept = swept
        return whole

    def _stamp(self, prefix: str, oid: str) -> Stamp | None:
        """Return what tells a folder from what it was; None where there is none. Asked of every folder, every time."""
        try:
            found = os.lstat(f"{self._path}/{prefix}".rstrip("/"))
        except OSError:
            return None
        return (
            (oid, found.st_ino, found.st_mtime_ns, found.st_ctime_ns) if stat.S_ISDIR(found.st_mode) else None
        )

    def _cleared(self, prefix: str, oid: str) -> Iterator[str]:
        """Remove what does not belong right into a folder; yield the folders that do only for what is inside them."""
        tracked = self._objects.tree(oid)
        for entry in list(os.scandir(self.folder / prefix)):
            path = f"{prefix}{entry.name}"
            if entry.name in tracked:
                if is_pipe(entry):
                    Path(entry.path).unlink()
            elif path in self._way and entry.is_dir(follow_symlinks=False):
                yield f"{path}/"
            elif path not in self._local_files and path != ".git":
                _remove(Path(entry.path))

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
        for left in repository.cache.glob(f"{name}{BESIDE}*"):
            _remove(left)
        try:
            yield clean
        finally:
            for each in clean.lanes:
                each.discard()
                _remove(each.compiled / str(each.folder).lstrip("/"))


def _in_each_other(one: str, two: str) -> bool:
    return f"{one}/".startswith(f"{two}/") or f"{two}/".startswith(f"{one}/")


def _is_empty(folder: Path) -> bool:
    return not folder.is_dir() or not any(folder.iterdir())


def _remove(path: Path) -> None:
    with suppress(OSError):
        remove(path)
