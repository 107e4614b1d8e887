"""What one line of a history tells of a handoff."""

from typing import Any, NamedTuple

from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.verdict import TestOutcome
from redgreenrefactor.model.workflow import PhaseName

NO_CASE = "no case left"
_RESULTS = frozenset(TestOutcome)


class Glance(NamedTuple):
    """A handoff as far as a line of its own shows it."""

    commit: str
    cycle: int
    phase: str
    about: str
    mark: str
    timestamp: str


def glance_at(entry: Entry) -> Glance:
    """Return what one line tells of a handoff."""
    handoff = entry.handoff
    return Glance(
        entry.commit,
        handoff.cycle_number,
        str(handoff.phase),
        _about(handoff),
        _mark(handoff.outcome, handoff.test_result),
        handoff.timestamp,
    )


def glance_at_note(commit: str, body: dict[str, Any]) -> Glance | None:
    """Return the same of a plain note, without reading all of it; None if there is more to tell."""
    cycle, case, result, when = (
        body["cycleNumber"],
        body["currentTest"],
        body["testResult"],
        body["timestamp"],
    )
    about = case.get("description") if case else _without(body["phase"], cycle, body["feature"])
    if type(about) is not str or type(when) is not str or body.get("carriedFrom"):
        return None
    if result is not None and result not in _RESULTS:
        return None
    return Glance(commit, cycle, body["phase"], about, _mark(body.get("outcome"), result), when)


def _about(handoff: Handoff) -> str:
    if handoff.current_test:
        return handoff.current_test.description
    return _without(handoff.phase, handoff.cycle_number, handoff.feature)


def _without(phase: str, cycle: int, feature: str) -> str:
    """Return what a handoff is about that has no case: the last PLAN found none, others work at the whole feature."""
    return NO_CASE if cycle and phase == PhaseName.PLAN else feature


def _mark(outcome: str | None, result: str | None) -> str:
    return str(outcome) if outcome is not None else f"tests {result}" if result is not None else ""
