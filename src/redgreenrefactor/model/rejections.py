"""The rejections of the phase that is due, since it was last begun with a fresh set of retries."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, cast

from redgreenrefactor.model.handoff import Handoff

REJECTIONS = "rejections"
MESSAGE = 300  # characters that are remembered of each


@dataclass(frozen=True, slots=True)
class Rejection:
    """One rejected attempt, in short."""

    attempt: int
    type: str
    message: str
    kept: str = ""  # what its commit is called under refs/tdd/attempts/RUN/; nothing where it changed nothing


def rejections_of(handoff: Handoff) -> tuple[Rejection, ...]:
    """Return what the note tells of the due phase's rejections, the last one last; nothing where none is due."""
    noted: Any = handoff.extra.get(REJECTIONS) if handoff.error is not None else None
    return tuple(_read(noted)) if isinstance(noted, list) else ()


def noted(rejections: tuple[Rejection, ...], last: Rejection) -> list[dict[str, Any]]:
    """Return what the note says of them after one more."""
    return [asdict(each) for each in (*rejections, last)]


def in_short(message: str) -> str:
    """Return a finding's message as it is remembered."""
    line = " ".join(message.split())
    return line if len(line) <= MESSAGE else line[: MESSAGE - 1] + "…"


def _read(noted: Any) -> Iterator[Rejection]:
    for body in cast("list[Any]", noted):
        try:
            yield Rejection(int(body["attempt"]), *(str(body[key]) for key in ("type", "message", "kept")))
        except (TypeError, ValueError, KeyError):  # by another writer
            continue
