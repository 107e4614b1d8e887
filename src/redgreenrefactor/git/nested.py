"""Repositories and virtual environments among the files that git ignores: what a session did to them is told of.

No program of ours works in such a repository. What runs there is the user's, at their next command.
"""

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from redgreenrefactor.errors import some_of
from redgreenrefactor.filesystem import replace_file
from redgreenrefactor.git.guard import STEERING
from redgreenrefactor.git.objects import SUBMODULE, Objects
from redgreenrefactor.git.stand_in import OID, text_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox.toolchains import MARKS

MOST = 300_000  # entries that are looked at
NAMED = 3
CHANGED = "changed-environments.json"
# What decides, in a virtual environment, who runs and judges tests; packages may be installed.
STEERS = re.compile(
    r"\+(pyvenv\.cfg|bin/(python[\d.]*|pytest|py\.test)|.*/(sitecustomize|usercustomize)\.py|.*/(_pytest|pytest|pluggy)/.*)"
)


@frozen
class NestedChange:
    """What a session did to a repository or a virtual environment that git ignores."""

    owner: Path  # seen from the checkout
    told: str
    steers: bool  # a virtual environment that was made, or whose interpreter or test runner is another one


def changed_since(root: Path, ignored: Iterable[str], moment: int) -> tuple[NestedChange, ...]:
    """Return each repository and each virtual environment in which something has changed since a moment.

    The kernel's own stamps are compared: a file's time of change can be set by whoever owns it, these cannot.
    """
    found: dict[Path, list[str]] = {}
    for owner, kind, path in _changes(root, ignored, moment):
        found.setdefault(owner, []).append(f"{kind}{path.relative_to(owner)}")
    return tuple(_change(owner.relative_to(root), names) for owner, names in found.items())


def _change(owner: Path, found: list[str]) -> NestedChange:
    environment = found[0].startswith("+")
    what = "the virtual environment" if environment else "the repository"
    names = some_of([name.removeprefix("+") for name in found], NAMED)
    told = (
        f"{what} {owner} was changed during the session ({names}): look at that before you run anything there"
    )
    return NestedChange(owner, told, environment and any(STEERS.fullmatch(name) for name in found))


def note_environments(cache: Path, changes: Iterable[NestedChange]) -> None:
    """Remember, in a folder of ours, the environments that are not what the user made them."""
    steered = [change.owner for change in changes if change.steers]
    if steered:
        known = changed_environments(cache)
        stamp = datetime.now(UTC).isoformat(timespec="seconds")
        known |= {str(owner): stamp for owner in steered}
        replace_file(cache / CHANGED, json.dumps(known).encode())


def changed_environments(cache: Path) -> dict[str, str]:
    """Return the environments that sessions have made or changed, with when that was noticed last."""
    with suppress(OSError, ValueError, AttributeError):
        found = cast("dict[str, str]", json.loads((cache / CHANGED).read_bytes()))
        return {str(name): str(stamp) for name, stamp in found.items()}
    return {}


def has_commit(git: Path) -> bool:
    """Tell whether the repository with this git folder has a commit, without git having a look."""
    head = (text_of(git / "HEAD") or "").strip()
    if not head.startswith("ref: "):
        return OID.fullmatch(head) is not None
    name = head.removeprefix("ref: ").strip()
    packed = text_of(git / "packed-refs") or ""
    loose = (text_of(git / name) or "").strip()
    return (
        OID.fullmatch(loose) is not None
        or re.search(rf"(?m)^[0-9a-f]+ {re.escape(name)}$", packed) is not None
        or (git / "reftable").exists()
    )


def _changes(root: Path, ignored: Iterable[str], moment: int) -> Iterator[tuple[Path, str, Path]]:
    """Yield what has changed: the folder it belongs to, a sign for environments, and the file."""
    waiting: list[tuple[Path, Path | None]] = [
        (root / entry.rstrip("/"), None) for entry in ignored if entry[-1] == "/"
    ]
    seen = 0
    while waiting and seen < MOST:
        folder, environment = waiting.pop()
        entries = _entries(folder)
        seen += len(entries)
        if any(entry.name in MARKS for entry in entries):
            environment = folder
        for entry in entries:
            place = Path(entry.path)
            if entry.name == ".git":
                yield from ((folder, "", file) for file in _steering(place) if _is_newer(file, moment))
            elif entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    waiting.append((place, environment))
            elif environment is not None and not entry.name.endswith(".pyc") and _is_newer(place, moment):
                yield environment, "+", place


def _steering(git: Path) -> Iterator[Path]:
    """Yield the files that steer git in a repository."""
    yield from (git / name for name in STEERING)
    yield from (Path(entry.path) for entry in _entries(git / "hooks") if not entry.name.endswith(".sample"))
    with suppress(OSError):
        if not stat.S_ISDIR(git.lstat().st_mode):
            yield git


def _is_newer(place: Path, moment: int) -> bool:
    with suppress(OSError):
        return place.lstat().st_ctime_ns >= moment
    return False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with suppress(OSError):
        if not folder.is_symlink():
            return sorted(os.scandir(folder), key=lambda entry: entry.name)
    return []


def checked_out_modules(root: Path, objects: Objects, commit: str) -> Iterator[Path]:
    """Yield the folders of a commit's submodules that are checked out."""
    if not (root / ".gitmodules").exists():
        return
    for path, node in objects.files(objects.require(commit).tree):
        if node.mode == SUBMODULE and (root / path / ".git").exists():
            yield root / path
