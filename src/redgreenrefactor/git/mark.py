"""What a session started from, remembered beyond a crash in a folder of our own, by the checkout it worked in."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.filesystem import replace_file
from redgreenrefactor.git.executable import encoded
from redgreenrefactor.git.guard import Kept, Steering
from redgreenrefactor.git.refs import Refs

FOLDER = "sessions"


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
    replace_file(place, encoded(json.dumps(asdict(mark), default=_told)))


def read(place: Path) -> Mark | None:
    """Return the mark that lies there; one that cannot be read says nothing."""
    try:
        return _from_json(json.loads(place.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _told(value: object) -> list[str] | str:
    return sorted(cast("frozenset[str]", value)) if isinstance(value, frozenset) else str(value)


def _from_json(body: dict[str, Any]) -> Mark:
    refs, saved = body.pop("refs"), body.pop("steering")
    found = Refs(_texts(refs["oids"]), frozenset(map(_text, refs["in_use"])))
    body["hidden"] = _texts(body["hidden"])
    for name in ("run_id", "base", *(["branch"] if body["branch"] is not None else [])):
        _text(body[name])
    return Mark(**body, refs=found, steering=_steering(saved) if saved else None)


def _steering(saved: dict[str, Any]) -> Steering:
    files, settings = (
        {_text(name): _kept(entry) for name, entry in saved[kind].items()} for kind in ("files", "settings")
    )
    return Steering(
        *(Path(saved[name]) for name in ("root", "git_dir", "common_dir")),
        gits=tuple(map(Path, saved["gits"])),
        folders={name: (int(device), int(number)) for name, (device, number) in saved["folders"].items()},
        files=files,
        settings=settings,
    )


def _kept(entry: Any) -> Kept:
    return None if entry is None else (_text(entry[0]), _text(entry[1]), int(entry[2]))


def _texts(found: Mapping[Any, Any]) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in found.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r:.40}")
    return value
