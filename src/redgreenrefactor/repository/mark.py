"""What a session started from, remembered beyond a crash: refs, and the files that steer git."""

import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.repository.git import decoded, encoded
from redgreenrefactor.repository.refs import Refs
from redgreenrefactor.writing import put

MARK = "rgr-session.json"
# Written by a session, these could make us run its programs, hide its files, or clean up somewhere else.
COMMON = ("config", "info/exclude", "info/attributes", "info/grafts")
IDENTITY = re.compile(r"\s*(\[user\]|(name|email)\s*=.*)")
OWN = ("config.worktree", "info/sparse-checkout")
FOLDERS = ("info", "logs", "objects", "refs", "hooks")  # of git, that are looked through for links


@dataclass(frozen=True, slots=True)
class Mark:
    """What a session started from, for whoever finds its leftovers."""

    run_id: str
    base: str
    branch: str | None
    refs: Refs
    steering: Mapping[str, str | None] = field(default_factory=dict[str, str | None])  # path → text
    links: frozenset[str] = frozenset()  # in git's folders
    hidden: Mapping[str, str] = field(default_factory=dict[str, str])  # files git is not to look at → why
    sealed: bool = False  # the session is over and refs are put right: what changes them now is not its doing
    moving: bool = False  # no session, but a branch on its way to the base: whoever finds this takes it there


def steering(git_dir: Path, common_dir: Path, modules: Iterable[Path] = ()) -> dict[str, str | None]:
    """Return the files that steer git in a checkout and its submodules, as they are; None for one that is not there."""
    places = (*(common_dir / name for name in COMMON), *(git_dir / name for name in OWN))
    inner = tuple(_of_modules({git_dir / "modules", common_dir / "modules"}, modules))
    return {str(place): _text(place) for place in (*places, *inner, *_hooks(common_dir))}


def _hooks(common_dir: Path) -> Iterator[Path]:
    """Yield the programs that git runs by itself, those of submodules included; links have rules of their own."""
    for folder in (common_dir / "hooks", *(common_dir / "modules").glob("**/hooks")):
        for hook in folder.glob("*"):
            if hook.suffix != ".sample" and hook.is_file() and not hook.is_symlink():
                yield hook


def links_in(git_dir: Path, common_dir: Path) -> frozenset[str]:
    """Return the links in git's folders, where git itself makes none: it would write wherever they lead."""
    return frozenset(path for folder in {git_dir, common_dir} for path in _links(str(folder), FOLDERS))


def _links(folder: str, names: Collection[str] | None = None) -> Iterator[str]:
    """Yield the links below a folder; of its folders those named, all by default, objects only by their folders."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            yield entry.path
        elif (names is None or entry.name in names) and entry.is_dir(follow_symlinks=False):
            yield from _links(entry.path, () if entry.name == "objects" else None)


def _of_modules(stores: Iterable[Path], modules: Iterable[Path]) -> Iterator[Path]:
    """Yield what steers git in submodules: git goes into them by itself, with whatever settings it finds there."""
    folders: list[Path] = []
    for module in modules:
        own = module / ".git"
        if own.is_dir():
            folders.append(own)
        else:
            yield own
    for store in stores:
        folders += (file.parent for file in store.glob("**/HEAD") if file.parent.name != "logs")
    for folder in folders:
        yield from (folder / name for name in ("config", "config.worktree", "commondir", "info/attributes"))


def put_back(before: Mapping[str, str | None], keep_in: Path) -> tuple[str, ...]:
    """Make these files what they were; return a line for each that was not, empty if it is not worth a word.

    What was changed is kept in the folder.
    """
    told: list[str] = []
    for name, text in before.items():
        place, now = Path(name), _text(Path(name))
        if now == text:
            continue
        # Or we would write where a session wants us to, or wait for ever.
        if place.parent.is_symlink():
            _move_away(place.parent, keep_in)
        if place.is_symlink() or (place.exists() and not place.is_file()):
            _move_away(place, keep_in)
        kept = ""
        if now is not None:
            changed = keep_in / f"changed-{place.name}"
            changed.write_bytes(encoded(now))
            kept = f", the changed one is at {changed}"
        if text is None:
            place.unlink(missing_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            put(place, encoded(text))
            if place.parent.name == "hooks":
                place.chmod(0o755)
        line = f"{name} was changed during the session; it has been put back{kept}"
        told.append("" if _only_identity(text or "", now or "") else line)
    return tuple(told)


def _move_away(place: Path, keep_in: Path) -> None:
    """Make room where a session has put a folder or a link; what is in a folder is kept."""
    if not place.is_dir() or place.is_symlink():
        place.unlink()
        return
    kept = Path(tempfile.mkdtemp(prefix="changed-", dir=keep_in)) / place.name
    shutil.move(place, kept)


def _only_identity(before: str, now: str) -> bool:
    """Tell whether nothing but a name to commit under was added, as sessions often do."""
    old, new = Counter(before.splitlines()), Counter(now.splitlines())
    return not old - new and all(IDENTITY.fullmatch(line) for line in new - old)


def read(git_dir: Path) -> Mark | None:
    """Return the mark that a session left in the git folder of its checkout."""
    try:
        return from_json((git_dir / MARK).read_text())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def steered_back(git_dir: Path, common_dir: Path, keep_in: Path) -> tuple[str, ...]:
    """Take back what a session that was cut off did to the files that steer git; tell as `put_back` does."""
    found = read(git_dir)
    return undone(found, git_dir, common_dir, keep_in) if found and not found.sealed else ()


def undone(mark: Mark, git_dir: Path, common_dir: Path, keep_in: Path) -> tuple[str, ...]:
    """Take back what has been done since the mark to what steers git; tell as `put_back` does."""
    links = links_in(git_dir, common_dir) - mark.links
    for link in links:
        Path(link).unlink(missing_ok=True)
    told = [
        f"{link} was put there during the session; it led out of git's folder and is gone"
        for link in sorted(links)
    ]
    hooks = {str(hook): None for hook in _hooks(common_dir)}
    return (*told, *put_back({**hooks, **mark.steering}, keep_in))


def _text(place: Path) -> str | None:
    try:
        return decoded(place.read_bytes()) if place.is_file() else None
    except OSError:
        return None


def to_json(mark: Mark) -> str:
    """Return the mark as it is stored."""
    return json.dumps(
        {
            "runId": mark.run_id,
            "base": mark.base,
            "branch": mark.branch,
            "refs": dict(mark.refs.oids),
            "inUse": sorted(mark.refs.in_use),
            "steering": dict(mark.steering),
            "links": sorted(mark.links),
            "hidden": dict(mark.hidden),
            "sealed": mark.sealed,
            "moving": mark.moving,
        },
    )


def from_json(text: str) -> Mark:
    """Return the mark that was stored; anything else is a ValueError, KeyError, TypeError or AttributeError."""
    body = cast("dict[str, Any]", json.loads(text))
    refs = {_text_of(name): _text_of(oid) for name, oid in body["refs"].items()}
    return Mark(
        _text_of(body["runId"]),
        _text_of(body["base"]),
        _text_or_none(body["branch"]),
        Refs(refs, frozenset(map(_text_of, body["inUse"]))),
        {_text_of(path): _text_or_none(text) for path, text in body["steering"].items()},
        frozenset(map(_text_of, body.get("links", ()))),
        {_text_of(path): _text_of(tag) for path, tag in body.get("hidden", {}).items()},
        bool(body["sealed"]),
        bool(body.get("moving")),
    )


def _text_of(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r:.40}")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text_of(value)
