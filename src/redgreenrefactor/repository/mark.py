"""What a session started from, remembered beyond a crash: refs, and the files that steer git."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.repository.git import decoded, encoded
from redgreenrefactor.repository.refs import Refs

MARK = "rgr-session.json"
# Written by a session, these could make us run its programs, hide its files, or clean up somewhere else.
COMMON = ("config", "info/exclude", "info/attributes", "info/grafts")
IDENTITY = re.compile(r"\s*(\[user\]|(name|email)\s*=.*)")
OWN = ("config.worktree", "info/sparse-checkout")


@dataclass(frozen=True, slots=True)
class Mark:
    """What a session started from, for whoever finds its leftovers."""

    run_id: str
    base: str
    branch: str | None
    refs: Refs
    steering: Mapping[str, str | None] = field(default_factory=dict[str, str | None])  # path → text
    sealed: bool = False  # the session is over and refs are put right: what changes them now is not its doing
    moving: bool = False  # no session, but a branch on its way to the base: whoever finds this takes it there


def steering(git_dir: Path, common_dir: Path) -> dict[str, str | None]:
    """Return the files that steer git in a checkout, as they are now; None for one that is not there."""
    places = (*(common_dir / name for name in COMMON), *(git_dir / name for name in OWN))
    return {str(place): _text(place) for place in places}


def put_back(before: Mapping[str, str | None], keep_in: Path) -> tuple[str, ...]:
    """Make these files what they were; return a line for each that was not, empty if it is not worth a word.

    What was changed is kept in the folder.
    """
    told: list[str] = []
    for name, text in before.items():
        place, now = Path(name), _text(Path(name))
        if now == text:
            continue
        kept = ""
        if now is not None:
            changed = keep_in / f"changed-{place.name}"
            changed.write_bytes(encoded(now))
            kept = f", the changed one is at {changed}"
        if text is None:
            place.unlink()
        else:
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(encoded(text))
        line = f"{name} was changed during the session; it has been put back{kept}"
        told.append("" if _only_identity(text or "", now or "") else line)
    return tuple(told)


def _only_identity(before: str, now: str) -> bool:
    """Tell whether nothing but a name to commit under was added, as sessions often do."""
    old, new = Counter(before.splitlines()), Counter(now.splitlines())
    return not old - new and all(IDENTITY.fullmatch(line) for line in new - old)


def read(git_dir: Path) -> Mark | None:
    """Return the mark that a session left in the git folder of its checkout."""
    try:
        return from_json((git_dir / MARK).read_text())
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def steered_back(git_dir: Path, keep_in: Path) -> tuple[str, ...]:
    """Take back what a session that was cut off did to the files that steer git; tell as `put_back` does."""
    found = read(git_dir)
    return put_back(found.steering, keep_in) if found and not found.sealed else ()


def _text(place: Path) -> str | None:
    try:
        return decoded(place.read_bytes())
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
            "sealed": mark.sealed,
            "moving": mark.moving,
        },
    )


def from_json(text: str) -> Mark:
    """Return the mark that was stored; anything else is a ValueError, KeyError or TypeError."""
    body = cast("dict[str, Any]", json.loads(text))
    refs = Refs(dict(body["refs"]), frozenset(body["inUse"]))
    return Mark(
        str(body["runId"]),
        str(body["base"]),
        body["branch"],
        refs,
        dict(body["steering"]),
        bool(body["sealed"]),
        bool(body.get("moving")),
    )
