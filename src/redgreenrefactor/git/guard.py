"""What steers git in a checkout: remembered outside it before a session, and put back whatever the session did to it.

A session that is held has a git folder of its own and cannot get at any of this; an agent that is not held can.
"""

import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.filesystem import below, cleared, head_of, put
from redgreenrefactor.git.executable import decoded, encoded
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox.secrets import words

SETTINGS = "tdd.properties"
# Written by a session, these could make us run its programs, read its objects, hide its files, or clean up elsewhere.
STEERING = words(
    "config config.worktree commondir gitdir info/exclude info/attributes info/grafts info/sparse-checkout "
    "objects/info/alternates objects/info/http-alternates"
)
PINNED = ("", "objects", "refs")  # of git, that have to be the very folders they were
HEAD = re.compile(r"(ref: refs/\S+|[0-9a-f]{40}([0-9a-f]{24})?)\s*")  # which a session may move, not spoil
IDENTITY = re.compile(
    r"(?m)^\s*(\[user\]|(name|email)\s*=.*)\n?"
)  # set by many a session, to commit under it
LARGEST = 16 << 20

Kept = tuple[int, str] | None  # a file's mode, or what else there is, and its text; None: nothing is there


@frozen
class Steering:
    """What steered git when a session began."""

    root: Path
    gits: tuple[Path, ...]  # the git folders: this checkout's, the repository's, and those of submodules
    folders: Mapping[str, str]  # the very folders, by device and number
    files: Mapping[str, Kept]


def remembered(
    root: Path, git_dir: Path, common_dir: Path, *, project: Path, modules: Iterable[Path] = ()
) -> Steering:
    """Return what steers git in a checkout and in its submodules: git goes into them by itself."""
    own = dict.fromkeys((git_dir, common_dir))
    pinned = [root, *(folder / name for folder in own for name in PINNED)]
    folders = {str(path): found for path in pinned if (found := _identity(path))}
    way = [folder for folder in (project, *project.parents) if folder.is_relative_to(root)]
    pointers = [folder / ".git" for folder in (*way, *modules)]
    inner = (entry for git in own for entry in below(git / "modules") if entry.name == "config")
    found = (*own, *filter(_identity, pointers), *(Path(entry.path).parent for entry in inner))
    gits = tuple(dict.fromkeys(found))
    places = (*map(str, pointers), *_watched(gits), str(project / SETTINGS))
    return Steering(root, gits, folders, {place: _kept(place) for place in places})


def put_back(before: Steering, keep_in: Path, ignored: Iterable[str] = ()) -> tuple[str, ...]:
    """Make all of it what it was; return a line for each thing that was not, as far as it is worth a word.

    Our own settings are among it where git ignores them, for no gate sees them. Nothing is written where a link leads,
    and what was changed is kept in the folder. Another folder in the place of git's own is a NotReadyError.
    """
    for name, identity in before.folders.items():
        if name != str(before.root) and _identity(Path(name)) != identity:
            raise NotReadyError(
                f"the session has put something else in the place of {name}, or removed it",
                hint=f"Put it back (find -inum {identity.partition(':')[2]} finds it), then type 'rgr resume'.",
                type="GitFolderMoved",
            )
    files = dict.fromkeys(_watched(before.gits)) | dict(before.files)
    unseen = {str(before.root / path) for path in ignored}
    wanted = {
        name: was
        for name, was in files.items()
        if os.path.basename(name) != SETTINGS or name in unseen  # noqa: PTH119
    }
    return tuple(_files_back(before, wanted, keep_in))


def is_stale(before: Steering) -> bool:
    """Tell whether the checkout is another one by now, made in the same place."""
    return _identity(before.root) != before.folders.get(str(before.root))


def _files_back(before: Steering, files: Mapping[str, Kept], keep_in: Path) -> Iterator[str]:
    real: dict[str, bool] = {}  # folders, until something is put back: no link is on the way to them
    for name in sorted(files, key=lambda name: (name.count("/"), name)):
        was, parent = files[name], os.path.dirname(name)  # noqa: PTH120 - there are many
        if parent not in real:
            real[parent] = os.path.realpath(parent) == parent
        now = _kept(name) if real[parent] else None
        if now == was or (now and name.endswith("/HEAD") and stat.S_ISREG(now[0]) and HEAD.fullmatch(now[1])):
            continue
        real, place = {}, Path(name)
        around = (folder for folder in (before.root, *before.gits) if place.is_relative_to(folder))
        base = min(around, key=lambda folder: len(folder.parts))
        kept = _made_room(place, *now, keep_in) if now else None
        if was is not None:
            _restore(cleared(base, str(place.relative_to(base))), *was)
        if not was or not now or [was[0], IDENTITY.sub("", was[1])] != [now[0], IDENTITY.sub("", now[1])]:
            done = "was changed during the session; it has been put back"
            gone = "was put there during the session; it is gone"
            yield f"{name} {gone if was is None else done}{f', the changed one is at {kept}' * bool(kept)}"


def _watched(gits: Iterable[Path]) -> Iterator[str]:
    """Yield the places to look at: what may be there, hooks, and links, of which git itself makes none."""
    for folder in gits:
        yield from (f"{folder}/{name}" for name in ("HEAD", *STEERING))
        for entry in below(folder, lambda inner: not inner.path.rpartition("/")[0].endswith("/objects")):
            hook = entry.path == f"{folder}/hooks/{entry.name}" and not entry.name.endswith(".sample")
            if hook or entry.is_symlink():
                yield entry.path


def _kept(place: str) -> Kept:
    """Return what is at a place, without following a link or waiting for anybody."""
    with suppress(OSError):
        mode = os.lstat(place).st_mode
        if stat.S_ISREG(mode):
            return mode, decoded(head_of(Path(place), LARGEST, follow=False))
        return stat.S_IFMT(mode), decoded(os.fsencode(os.readlink(place))) if stat.S_ISLNK(mode) else ""  # noqa: PTH115
    return None


def _restore(place: Path, mode: int, text: str) -> None:
    if stat.S_ISLNK(mode):
        place.symlink_to(text)
    elif stat.S_ISDIR(mode):
        place.mkdir()
    elif stat.S_ISREG(mode):
        put(place, encoded(text))
        place.chmod(stat.S_IMODE(mode))


def _made_room(place: Path, mode: int, text: str, keep_in: Path) -> Path | None:
    """Make room at a place; return where what was in it is kept. Links and pipes hold nothing."""
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        return place.unlink()
    kept = Path(tempfile.mkdtemp(prefix="changed-", dir=keep_in)) / place.name
    if stat.S_ISREG(mode):
        kept.write_bytes(encoded(text))
        place.unlink()
        return kept
    try:
        return place.rename(kept)
    except OSError:  # on another disk: nothing of any depth is carried there
        return place.rename(place.with_name(f"changed-{os.urandom(4).hex()}"))


def _identity(place: Path) -> str:
    """Return what tells a folder from all others; nothing if it is no folder."""
    found = place.lstat() if place.is_dir() and not place.is_symlink() else None
    return f"{found.st_dev}:{found.st_ino}" if found else ""
