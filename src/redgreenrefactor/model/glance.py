"""What one line of a history tells of a handoff."""

import json
import re
from typing import NamedTuple

from redgreenrefactor.model.handoff import Handoff, plain_note
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.verdict import Outcome, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

NO_CASE = "no case left"
_RESULTS = frozenset(TestOutcome)
_PHASE, _RESULT, _OUTCOME = ("|".join(kind).encode() for kind in (PhaseName, TestOutcome, Outcome))
_TEXT = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
# A note as we lay it out, but for its lists: the keys in their order, nothing gone wrong, nothing carried over.
_RUN = re.compile(
    rb'\{\n  "schemaVersion": 1,\n  "runId": (' + _TEXT + rb'),\n  "feature": (' + _TEXT + rb"),"
)
_TURN = re.compile(
    rb'\n  "state": "\w+",\n  "phase": "(' + _PHASE + rb')",\n  "nextPhase": "(?:' + _PHASE + rb')",'
    rb'\n  "cycleNumber": (\d+),\n  "currentTest": (?:null|\{\n    "description": (' + _TEXT + rb"),)"
)
_LISTS_END = b'\n  "testResult": '
_RESULTS_OF_IT = re.compile(
    rb'(?:null|"(' + _RESULT + rb')"),\n  "error": null,\n  "errorDetails": null,\n  "retryCount": \d+,'
    rb'\n  "timestamp": (' + _TEXT + rb')(?:,\n  "attempts": \d+)?(?:,\n  "outcome": "(' + _OUTCOME + rb')")?'
    rb'(?:,\n  "findings": \[\])?(?:,\n  "(?!attempts|outcome|findings|carriedFrom)|\n\})'
)


class Glance(NamedTuple):
    """A handoff as far as a line of its own shows it."""

    commit: str
    run_id: str
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
        handoff.run_id,
        handoff.cycle_number,
        str(handoff.phase),
        _about(handoff),
        _mark(handoff.outcome, handoff.test_result),
        handoff.timestamp,
    )


class Glancing:
    """Tells what one line tells of a note, without reading all of it.

    A history may be very long, and JSON costs more to read than git needs to find it. All notes of a run begin alike.
    """

    def __init__(self) -> None:
        self._start = b"\0"
        self._run_id = self._feature = ""

    def __call__(self, commit: str, raw: bytes) -> Glance | None:
        """Return what a line shows; None if there is more to tell, or the note cannot be read."""
        if not raw.startswith(self._start) and not self._begun(raw):
            return _glance_at_json(commit, raw)
        turn = _TURN.match(raw, len(self._start))
        tail = turn and _RESULTS_OF_IT.match(raw, raw.find(_LISTS_END, turn.end()) + len(_LISTS_END))
        if turn is None or tail is None:
            return _glance_at_json(commit, raw)
        named, cycle, case = turn.groups()
        result, when, outcome = tail.groups()
        phase, number = named.decode(), int(cycle)
        about = _plain(case) if case else _without(phase, number, self._feature)
        mark = outcome.decode() if outcome else f"tests {result.decode()}" if result else ""
        return Glance(commit, self._run_id, number, phase, about, mark, _plain(when))

    def _begun(self, raw: bytes) -> bool:
        """Remember how the notes of this run begin."""
        run = _RUN.match(raw)
        if run is None:
            return False
        self._start, self._run_id, self._feature = run[0], _plain(run[1]), _plain(run[2])
        return True


def _plain(text: bytes) -> str:
    """Return what a JSON text says."""
    return json.loads(text) if b"\\" in text else text[1:-1].decode("utf-8", "replace")


def _glance_at_json(commit: str, raw: bytes) -> Glance | None:
    body = plain_note(raw.decode("utf-8", "replace"))
    if body is None:
        return None
    cycle, case, result, when = (
        body[key] for key in ("cycleNumber", "currentTest", "testResult", "timestamp")
    )
    about = case.get("description") if case else _without(body["phase"], cycle, body["feature"])
    if type(about) is not str or type(when) is not str or body.get("carriedFrom"):
        return None
    if result is not None and result not in _RESULTS:
        return None
    mark = _mark(body.get("outcome"), result)
    return Glance(commit, body["runId"], cycle, body["phase"], about, mark, when)


def _about(handoff: Handoff) -> str:
    if handoff.current_test:
        return handoff.current_test.description
    return _without(handoff.phase, handoff.cycle_number, handoff.feature)


def _without(phase: str, cycle: int, feature: str) -> str:
    """Return what a handoff is about that has no case: the last PLAN found none, others work at the whole feature."""
    return NO_CASE if cycle and phase == PhaseName.PLAN else feature


def _mark(outcome: str | None, result: str | None) -> str:
    return str(outcome) if outcome is not None else f"tests {result}" if result is not None else ""
