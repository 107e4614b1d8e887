"""What steers git in a checkout: remembered outside it before a session, and put back whatever the session did to it.

A session that is held has a git folder of its own and cannot get at any of this; an agent that is not held can.
"""

import os
import re
import stat
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.filesystem import below, cleared, head_of, put
from redgreenrefactor.git.executable import decoded, encoded
from redgreenrefactor.git.litter import clear_away

SETTINGS = "tdd.properties"
# Written by a session, these could make us run its programs, read its objects, hide its files, or clean up elsewhere.
STEERING = (
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "objects/info/http-alternates",
)
FOLDERS = ("info", "logs", "objects", "refs", "hooks")  # of git, that are looked through for links
PINNED = ("", "objects", "refs")  # that have to be the very folders they were
HEAD = re.compile(r"(ref: refs/\S+|[0-9a-f]{40}([0-9a-f]{24})?)\s*")  # which a session may move, not spoil
IDENTITY = re.compile(r"\s*(\[user\]|(name|email)\s*=.*)")
MOST = 1_000_000  # files and folders that are looked at for one that was moved away
LARGEST = 16 << 20

Kept = tuple[str, str, int] | None  # "file", "link" or "folder", its text, its mode; None: nothing is there


@dataclass(frozen=True, slots=True)
class Steering:
    """What steered git when a session began."""

    root: Path
    git_dir: Path
    common_dir: Path
    gits: tuple[Path, ...]  # the git folders: this checkout's, the repository's, and those of submodules
    folders: Mapping[str, tuple[int, int]]  # the very folders, by device and number
    files: Mapping[str, Kept]
    settings: Mapping[str, Kept] = field(default_factory=dict[str, Kept])  # of ours, where git ignores them


def remembered(
    root: Path, git_dir: Path, common_dir: Path, *, project: Path, modules: Iterable[Path] = ()
) -> Steering:
    """Return what steers git in a checkout and in its submodules: git goes into them by itself."""
    pinned = [root, *(folder / name for folder in dict.fromkeys((git_dir, common_dir)) for name in PINNED)]
    folders = {str(path): found for path in pinned if (found := _identity(path))}
    way = [folder for folder in (project, *project.parents) if folder.is_relative_to(root)]
    pointers = [folder / ".git" for folder in (*way, *modules)]
    gits = tuple(dict.fromkeys((git_dir, common_dir, *_of_modules(git_dir, common_dir, modules))))
    heads = [folder / "HEAD" for folder in gits]
    files = {str(place): _kept(place) for place in (*pointers, *heads, *_watched(gits))}
    settings = {str(project / SETTINGS): _kept(project / SETTINGS)}
    return Steering(root, git_dir, common_dir, gits, folders, files, settings)


def put_back(before: Steering, keep_in: Path, moment: int) -> tuple[str, ...]:
    """Make all of it what it was; return a line for each thing that was not, as far as it is worth a word.

    Nothing is written where a link leads, and what was changed is kept in the folder. Litter of what has changed since
    the moment is cleared away.
    """
    apart = (git for git in before.gits if not git.is_relative_to(before.root))
    litter = tuple(clear_away(dict.fromkeys((before.root, *apart)), moment))
    told = [
        line for path, found in before.folders.items() if (line := _returned(before, path, found, keep_in))
    ]
    files = {str(place): None for place in _watched(before.gits)} | dict(before.files)
    return (*litter, *told, *_files_back(before, files, keep_in))


def put_back_settings(before: Steering, ignored: Iterable[str], keep_in: Path) -> tuple[str, ...]:
    """Make our own settings what they were, where git ignores them and no gate sees them; tell as `put_back` does."""
    unseen = {str(before.root / path) for path in ignored}
    files = {name: was for name, was in before.settings.items() if name in unseen}
    return tuple(_files_back(before, files, keep_in))


def _files_back(before: Steering, files: Mapping[str, Kept], keep_in: Path) -> Iterator[str]:
    bases = (before.git_dir, before.common_dir, before.root)
    for name in sorted(files, key=lambda name: (name.count("/"), name)):
        place, was = Path(name), files[name]
        base = next((base for base in bases if place.is_relative_to(base)), None)
        if base is None or (now := _kept_below(base, place)) == was or _is_head(place, now):
            continue
        kept = _kept_at(place, now, keep_in) if now else None
        if was is not None:
            _restore(cleared(base, str(place.relative_to(base))), was)
        if not _only_identity(was, now):
            done = "was changed during the session; it has been put back"
            gone = "was put there during the session; it is gone"
            yield f"{name} {gone if was is None else done}{f', the changed one is at {kept}' * bool(kept)}"


def _is_head(place: Path, now: Kept) -> bool:
    return place.name == "HEAD" and now is not None and now[0] == "file" and bool(HEAD.fullmatch(now[1]))


def is_stale(before: Steering) -> bool:
    """Tell whether the checkout is another one by now, made in the same place."""
    return _identity(before.root) != before.folders.get(str(before.root))


def _of_modules(git_dir: Path, common_dir: Path, modules: Iterable[Path]) -> Iterator[Path]:
    yield from (module / ".git" for module in modules if _identity(module / ".git"))
    for store in dict.fromkeys((git_dir / "modules", common_dir / "modules")):
        heads = (Path(entry.path) for entry in below(store) if entry.name == "HEAD")
        yield from (head.parent for head in heads if head.parent.name != "logs")


def _watched(gits: Iterable[Path]) -> Iterator[Path]:
    """Yield the places to look at: what may be there, hooks, and links, of which git itself makes none."""
    for folder in gits:
        yield from (folder / name for name in STEERING)
        yield from _links(folder)
        if _identity(folder / "hooks"):
            yield from (hook for hook in (folder / "hooks").iterdir() if hook.suffix != ".sample")


def _links(folder: Path) -> Iterator[Path]:
    """Yield the links in a git folder, as far as git looks for something there; objects only by their folders."""

    def wanted(inner: os.DirEntry[str]) -> bool:
        above = Path(inner.path).parent
        return inner.name in FOLDERS if above == folder else above != folder / "objects"

    return (Path(entry.path) for entry in below(folder, wanted) if entry.is_symlink())


def _kept_below(base: Path, place: Path) -> Kept:
    """Return what is at a place; nothing, if a link on the way from the base leads elsewhere."""
    way = (folder for folder in place.parents if folder != base and folder.is_relative_to(base))
    return None if any(folder.is_symlink() for folder in way) else _kept(place)


def _kept(place: Path) -> Kept:
    """Return what is at a place, without following a link or waiting for anybody."""
    with suppress(OSError):
        found = place.lstat()
        if stat.S_ISLNK(found.st_mode):
            return "link", decoded(os.fsencode(place.readlink())), 0
        if stat.S_ISREG(found.st_mode):
            return "file", decoded(head_of(place, LARGEST, follow=False)), stat.S_IMODE(found.st_mode)
        return "folder" if stat.S_ISDIR(found.st_mode) else "other", "", 0
    return None


def _restore(place: Path, was: tuple[str, str, int]) -> None:
    kind, text, mode = was
    if kind == "link":
        place.symlink_to(text)
    elif kind == "folder":
        place.mkdir()
    elif kind == "file":
        put(place, encoded(text))
        place.chmod(mode)


def _kept_at(place: Path, now: Kept, keep_in: Path) -> Path | None:
    """Make room at a place; return where what was in it is kept. Links and pipes hold nothing."""
    kept = Path(tempfile.mkdtemp(prefix="changed-", dir=keep_in)) / place.name
    if _identity(place):
        try:
            return place.rename(kept)
        except OSError:  # on another disk: nothing of any depth is carried there
            return place.rename(place.with_name(f"changed-{os.urandom(4).hex()}"))
    place.unlink(missing_ok=True)
    if now is None or now[0] != "file":
        kept.parent.rmdir()
        return None
    kept.write_bytes(encoded(now[1]))
    return kept


def _returned(before: Steering, name: str, identity: tuple[int, int], keep_in: Path) -> str:
    """See to it that a folder is where it was; tell if it was not. One that cannot be found is a NotReadyError."""
    place = Path(name)
    if place == before.root or _identity(place) == identity:
        return ""
    found = _found(before, place, identity)
    if found is None:
        raise NotReadyError(
            f"the session has put something else in the place of {place}, or removed it",
            hint="Look for the folder, put it back, then type 'rgr resume'.",
            type="GitFolderMoved",
        )
    _kept_at(place, _kept(place), keep_in)
    found.rename(place)
    return f"{place} was moved to {found} during the session; it has been put back"


def _found(before: Steering, place: Path, identity: tuple[int, int]) -> Path | None:
    """Return where a folder has been moved to, as far as it lies where a link leads, or in the checkout."""
    near = below(before.root.parent, lambda _inner: False)
    inside = (entry for folder in (before.root, *map(Path, before.folders)) for entry in below(folder))
    alike = (entry.path for entry in islice(chain(near, inside), MOST) if entry.inode() == identity[1])
    places = map(Path, chain([os.path.realpath(place)], alike))
    return next((found for found in places if _identity(found) == identity), None)


def _identity(place: Path) -> tuple[int, int] | None:
    """Return what tells a folder from all others; None if it is no folder."""
    with suppress(OSError):
        found = place.lstat()
        if stat.S_ISDIR(found.st_mode):
            return found.st_dev, found.st_ino
    return None


def _only_identity(was: Kept, now: Kept) -> bool:
    """Tell whether nothing but a name to commit under was added, as sessions often do."""
    if not was or not now or (was[0], now[0]) != ("file", "file"):
        return False
    old, new = Counter(was[1].splitlines()), Counter(now[1].splitlines())
    return not old - new and all(IDENTITY.fullmatch(line) for line in new - old)
