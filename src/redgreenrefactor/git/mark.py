"""What a session started from, remembered beyond a crash in a folder of our own, by the checkout it worked in."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.git.executable import encoded
from redgreenrefactor.git.guard import OLD_MARK, Kept, Steering
from redgreenrefactor.git.refs import Refs
from redgreenrefactor.writing import replace_file

FOLDER = "sessions"
_RUN_ID = re.compile(r"[\w.-]{1,100}")
_OID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_BRANCH = re.compile(r"refs/heads/[^\s~^:?*\[\\]+")


@dataclass(frozen=True, slots=True)
class Mark:
    """What a session started from, for whoever finds its leftovers."""

    run_id: str
    base: str
    branch: str | None
    refs: Refs
    steering: Steering | None = None
    hidden: Mapping[str, str] = field(default_factory=dict[str, str])  # files git is not to look at → why
    sealed: bool = False  # the session is over and refs are put right: what changes them now is not its doing
    moving: bool = False  # no session, but a branch on its way to the base: whoever finds this takes it there


def place_of(home: Path, root: Path) -> Path:
    """Return where the mark of a checkout lies in our own folder."""
    return home / FOLDER / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}.json"


def write(place: Path, mark: Mark) -> None:
    """Remember a mark, at once."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(place, encoded(json.dumps(_to_json(mark))))


def read(place: Path) -> Mark | None:
    """Return the mark that lies there; one that cannot be read says nothing."""
    try:
        return _from_json(json.loads(place.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def read_old(git_dir: Path) -> Mark | None:
    """Return what an earlier version left in the git folder, where sessions could write: what has the right shape of it.

    Nothing that it says about files, and about other refs, is believed.
    """
    try:
        descriptor = os.open(git_dir / OLD_MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            body = cast("dict[str, Any]", json.loads(stream.read(64 << 20)))
        run_id, base, branch = (str(body[name]) for name in ("runId", "base", "branch"))
        wanted = (
            _RUN_ID.fullmatch(run_id),
            _OID.fullmatch(base),
            branch == "None" or _BRANCH.fullmatch(branch),
        )
        if not all(wanted) or body.get("moving"):
            return None
        return Mark(
            run_id, base, None if branch == "None" else branch, Refs({}), sealed=body.get("sealed") is True
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _to_json(mark: Mark) -> dict[str, Any]:
    steering = mark.steering
    return {
        "runId": mark.run_id,
        "base": mark.base,
        "branch": mark.branch,
        "refs": dict(mark.refs.oids),
        "inUse": sorted(mark.refs.in_use),
        "steering": steering
        and {
            "paths": [str(steering.root), str(steering.git_dir), str(steering.common_dir)],
            "gits": [str(folder) for folder in steering.gits],
            "folders": dict(steering.folders),
            "files": dict(steering.files),
            "settings": dict(steering.settings),
        },
        "hidden": dict(mark.hidden),
        "sealed": mark.sealed,
        "moving": mark.moving,
    }


def _from_json(body: Any) -> Mark:
    found, steering = cast("dict[str, Any]", body), None
    if saved := found["steering"]:
        folders = {
            _text(name): (int(device), int(number)) for name, (device, number) in saved["folders"].items()
        }
        files, settings = (
            {_text(name): _kept(entry) for name, entry in saved[kind].items()}
            for kind in ("files", "settings")
        )
        root, git_dir, common_dir = map(Path, saved["paths"])
        gits = tuple(map(Path, saved["gits"]))
        steering = Steering(root, git_dir, common_dir, gits, folders, files, settings)
    branch = found["branch"]
    return Mark(
        _text(found["runId"]),
        _text(found["base"]),
        None if branch is None else _text(branch),
        Refs(_texts(found["refs"]), frozenset(map(_text, found["inUse"]))),
        steering,
        _texts(found["hidden"]),
        bool(found["sealed"]),
        bool(found["moving"]),
    )


def _kept(entry: Any) -> Kept:
    return None if entry is None else (_text(entry[0]), _text(entry[1]), int(entry[2]))


def _texts(found: Mapping[Any, Any]) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in found.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r:.40}")
    return value
