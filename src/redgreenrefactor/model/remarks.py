"""What was noticed in a cycle and rejected nothing: handed on from note to note, for the sessions that come later."""

from typing import Any, cast

from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.verdict import Severity, Verdict
from redgreenrefactor.model.workflow import PhaseName

REMARKS = "remarks"
MOST = 8  # that are handed on, the newest
LONGEST = 400  # characters of one
MISSED = 3  # mistakes that one names
_OPENING = (PhaseName.PLAN, PhaseName.CODE)  # what was noticed before belongs to another cycle


def remarks_of(handoff: Handoff) -> list[str]:
    """Return what was noticed in the cycle so far."""
    return _texts(handoff.extra.get(REMARKS))


def remarks_after(handoff: Handoff, phase: PhaseName, verdict: Verdict) -> list[str] | None:
    """Return what the note of an accepted turn hands on; None if nothing was noticed."""
    earlier = [] if phase in _OPENING else remarks_of(handoff)
    warnings = [finding.message for finding in verdict.findings if finding.severity is Severity.WARNING]
    new = [f"{phase}: {text}"[:LONGEST] for text in (*warnings, *_missed(verdict))]
    return [*earlier, *new][-MOST:] or None


def _missed(verdict: Verdict) -> list[str]:
    facts: Any = verdict.facts.get("mutants")
    missed = _texts(cast("dict[str, Any]", facts).get("missed")) if isinstance(facts, dict) else []
    more = f" and {len(missed) - MISSED} more" if len(missed) > MISSED else ""
    return [f"the new test does not notice mistakes at {', '.join(missed[:MISSED])}{more}"] if missed else []


def _texts(value: Any) -> list[str]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]
