"""What a session started from, remembered beyond a crash: refs, and the files that steer git."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.repository.git import decoded, encoded
from redgreenrefactor.repository.refs import Refs

MARK = "rgr-session.json"
# Written by a session, these could make us run its programs, hide its files, or clean up somewhere else.
COMMON = ("config", "info/exclude", "info/attributes", "info/grafts")
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


def steering(git_dir: Path, common_dir: Path) -> dict[str, str | None]:
    """Return the files that steer git in a checkout, as they are now; None for one that is not there."""
    places = (*(common_dir / name for name in COMMON), *(git_dir / name for name in OWN))
    return {str(place): _text(place) for place in places}


def put_back(before: Mapping[str, str | None], keep_in: Path) -> Iterable[str]:
    """Make these files what they were, and yield which were not; what a session wrote is kept in the folder."""
    for name, text in before.items():
        place, now = Path(name), _text(Path(name))
        if now == text:
            continue
        kept = keep_in / f"changed-{place.name}"
        if now is not None:
            kept.write_bytes(encoded(now))
        if text is None:
            place.unlink()
        else:
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(encoded(text))
        yield f"{name} was changed by the session; it has been put back" + (
            f", the changed one is at {kept}" if now is not None else ""
        )


def read(git_dir: Path) -> Mark | None:
    """Return the mark that a session left in the git folder of its checkout."""
    try:
        return from_json((git_dir / MARK).read_text())
    except (OSError, ValueError, KeyError, TypeError):
        return None


def steered_back(git_dir: Path, keep_in: Path) -> tuple[str, ...]:
    """Take back what a session that was cut off did to the files that steer git; tell what."""
    found = read(git_dir)
    return tuple(put_back(found.steering, keep_in)) if found and not found.sealed else ()


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
    )
