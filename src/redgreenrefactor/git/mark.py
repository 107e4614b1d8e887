"""What a session started from, remembered beyond a crash in a folder of our own, by the checkout it worked in."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from redgreenrefactor.filesystem import replace_file
from redgreenrefactor.git.executable import encoded
from redgreenrefactor.git.guard import Steering
from redgreenrefactor.git.refs import Refs
from redgreenrefactor.model.values import attributes, field, frozen, is_of_values

Found = TypeVar("Found")


@frozen
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
    return home / "sessions" / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}.json"


def write(place: Path, what: Any) -> None:
    """Remember a mark, or another value that goes with it, at once."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(place, encoded(json.dumps(what, default=_plain)))


def _plain(value: Any) -> Any:
    """Return what JSON has no word for in words that it has."""
    kind = cast("type[Any]", value.__class__)
    if is_of_values(kind):
        return {one.name: getattr(value, one.name) for one in attributes(kind)}
    return str(value) if isinstance(value, Path) else sorted(value)


def read(place: Path, kind: type[Found]) -> Found | None:
    """Return what lies there; what cannot be read says nothing."""
    try:
        body = json.loads(place.read_bytes())
        from pydantic import TypeAdapter  # noqa: PLC0415 - slow to load, and seldom is anything to be read

        return TypeAdapter(kind).validate_python(body)
    except (OSError, ValueError, RecursionError):
        return None
