"""Files that tests need and git does not track: brought to other checkouts, dependencies by link, small files by copy."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from redgreenrefactor.filesystem import below, remove
from redgreenrefactor.git.artifacts import NAMES
from redgreenrefactor.git.executable import Git, decoded, nul_terminated, scrubbed
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.sandbox.toolchains import CACHES, MARKS

OURS = (".codex", ".workflow")  # what is written beside the project about tasks
LINKED = frozenset({"node_modules"})
DEEPEST = 100  # folders in each other that are copied
COPY_FILES, COPY_BYTES = 2_000, 50_000_000  # more than this is linked, not copied


def is_local(path: str) -> bool:
    """Tell whether an untracked path may be something that tests need: no cache, no byte code."""
    return PurePosixPath(path).name not in NAMES - LINKED and not path.endswith(".pyc")


def is_installed(place: Path) -> bool:
    """Tell whether a folder holds installed dependencies."""
    return place.name in LINKED or any((place / mark).exists() for mark in MARKS)


def is_linked(source: Path) -> bool:
    """Tell whether something is used where it lies: installed dependencies, and what is a link already."""
    return is_installed(source) or source.is_symlink()


class CopyAllowance:
    """How much may still be copied to a checkout."""

    def __init__(self) -> None:
        self.files = COPY_FILES
        self.bytes = COPY_BYTES

    def take(self, source: Path) -> bool:
        """Count a file or folder, if it still fits; tell whether it does."""
        inside = [Path(entry.path) for entry in below(source)]
        files = [path for path in (source, *inside) if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        deep = max((len(path.parts) for path in inside), default=0) - len(source.parts) > DEEPEST
        if len(files) > self.files or size > self.bytes or deep:
            return False
        self.files -= len(files)
        self.bytes -= size
        return True


def bring(
    source: Path,
    target: Path,
    allowance: CopyAllowance,
    ignore: Callable[[str, list[str]], set[str]] | None = None,
) -> bool:
    """Link or copy a file or folder to another checkout; tell whether it got there whole."""
    with suppress(OSError, shutil.Error):
        if is_linked(source) or not allowance.take(source):
            target.symlink_to(source)
        elif source.is_dir():
            shutil.copytree(source, target, symlinks=True, ignore=ignore)
        else:
            shutil.copy2(source, target)
        return True
    return False


def bring_modules(source: Path, target: Path) -> list[str]:
    """Link what node_modules hold into a folder of their own, where tools can make their caches; return the names.

    Caches are left behind, but for what is too large to be made again. Of no such folder, or one with too much in
    it, nothing is linked.
    """
    names = _names(source) if source.name in LINKED else []
    if len(names) > COPY_FILES:
        return []
    caches = (f"{cache}/{name}" for cache in CACHES for name in _names(source / cache))
    kept = [name for name in names if name not in CACHES]
    kept += [name for name in caches if not CopyAllowance().take(source / name)]
    for name in kept:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).symlink_to(source / name)
    return kept


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


def bring_ignored(repository: Repository, folder: Path) -> tuple[str, ...]:
    """Bring what the main checkout ignores into another one; return what was brought.

    What git would not ignore there is not brought; links it is told to ignore, for patterns such as `.venv/`
    mean folders only.
    """
    allowance, brought = CopyAllowance(), list[str]()
    for path, source in _ignored(repository, folder):
        target = folder / path
        free = not target.exists() and not target.is_symlink() and target.parent.is_dir()
        if free and bring(source, target, allowance):
            brought.append(path)
    _keep_uncommitted(repository, folder, brought)
    return tuple(brought)


def shared_with_main(repository: Repository) -> tuple[Path, ...]:
    """Return what lies in the main checkout and is used from this one; in the main one that is nothing."""
    root = repository.root
    return tuple(source for path, source in _ignored(repository, root) if (root / path).is_symlink())


def _ignored(repository: Repository, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield what the main checkout ignores and another one may need, by its name there."""
    main = repository.main
    if main is None or main == folder:
        return
    git = Git(main, {**scrubbed(repository.environ, main), "GIT_DIR": str(repository.common_dir)})
    listing = git.attempt("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    for entry in decoded(listing.stdout).split("\0") if not listing.exit_code else ():
        path = entry.rstrip("/")
        source = main / path
        own = not path or path.partition("/")[0] in OURS or (source / ".git").exists()
        if not own and is_local(path) and not folder.is_relative_to(source):
            yield path, source


def _keep_uncommitted(repository: Repository, folder: Path, brought: list[str]) -> None:
    """See to it that nothing of what was brought is ever committed."""
    if not brought:
        return
    git = Git(folder, scrubbed(repository.environ, folder))
    known = git.attempt("check-ignore", "-z", "--stdin", stdin=nul_terminated(brought)).stdout
    ignored = set(decoded(known).split("\0"))
    for path in (path for path in brought if path not in ignored):
        if (folder / path).is_symlink():
            repository.exclude_path(path)
        else:
            remove(folder / path)
