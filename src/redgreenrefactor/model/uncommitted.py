"""Rejected attempts that left no commit to carry a note: the handoff they started from lists them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from redgreenrefactor.model.decision import UNCOMMITTED, Turn, cycle_of
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, with_extra
from redgreenrefactor.model.workflow import PhaseName

MOST = 20  # that are listed, the latest ones
LONGEST = 500  # characters of why one was rejected


def with_uncommitted(handoff: Handoff, turn: Turn) -> Handoff:
    """Return the handoff with one more attempt in its list: the one it tells the rejection of."""
    details = handoff.error_details
    said = {
        "phase": str(turn.phase.name),
        "cycle": turn.cycle,
        "attempt": turn.attempt,
        "type": details.type if details else "",
        "message": (handoff.error or "")[:LONGEST],
        "timestamp": turn.timestamp,
    }
    return with_extra(handoff, **{UNCOMMITTED: [*_listed(handoff), said][-MOST:]})


def uncommitted(handoff: Handoff) -> list[Handoff]:
    """Return the notes that these attempts would carry if they had left a commit."""
    return [_noted(handoff, one) for one in _listed(handoff)]


def _listed(handoff: Handoff) -> list[Mapping[str, Any]]:
    known: Any = handoff.extra.get(UNCOMMITTED)
    found = cast("list[Any]", known) if isinstance(known, list) else []
    return [cast("Mapping[str, Any]", one) for one in found if isinstance(one, dict)]


def _noted(handoff: Handoff, said: Mapping[str, Any]) -> Handoff:
    message = str(said.get("message"))
    phase = next((name for name in PhaseName if name == said.get("phase")), handoff.next_phase)
    cycle, attempt = said.get("cycle"), said.get("attempt")
    return replace(
        handoff,
        phase=phase,
        next_phase=phase,
        cycle_number=cycle if isinstance(cycle, int) else cycle_of(handoff),
        attempts=attempt if isinstance(attempt, int) else 0,
        timestamp=str(said.get("timestamp")),
        error=message,
        error_details=ErrorDetails(str(said.get("type")), message),
        findings=(),
        carried_from=None,
        extra={},
    )
