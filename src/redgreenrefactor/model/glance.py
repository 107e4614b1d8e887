"""What one line of a history tells of a handoff."""

import json
import re
from typing import NamedTuple

from redgreenrefactor.model.decision import ACCEPTED_AT
from redgreenrefactor.model.handoff import Handoff, plain_note
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.verdict import Outcome, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

NO_CASE = "no case left"
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)", re.ASCII)
_TEXT = r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"'
# A note as we spell it, but for its lists: the keys in their order, nothing gone wrong, nothing carried over.
_RUN = re.compile(rf'\{{(\s*)"schemaVersion": 1,\s*"runId": ({_TEXT}),\s*"feature": ({_TEXT}),\s*'.encode())
_TURN = (
    rf'"state": "\w+", "phase": "({"|".join(PhaseName)})", "nextPhase": "(?:{"|".join(PhaseName)})", '
    rf'"cycleNumber": (\d{{1,9}}), "currentTest": (?:null|\{{\s*"description": ({_TEXT}))'
)
_WRITTEN_AGAIN = f'"{ACCEPTED_AT}"'.encode()
_LISTS_END = b'"testResult": '  # no text looks like it, for quotation marks in a text are escaped
_RESULTS_OF_IT = (
    rf'"testResult": (?:null|"({"|".join(TestOutcome)})"), "error": null, "errorDetails": null, '
    r'"retryCount": \d+, "timestamp": "(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\dZ"'
    rf'(?:, "attempts": \d+)?(?:, "outcome": "({"|".join(Outcome)})")?(?:, "findings": \[\])?'
    r'(?:, "(?!attempts|outcome|findings|carriedFrom)|\s*\})'
)


def _laid_out(gap: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return the patterns for notes whose keys stand this far apart."""
    turn, results = (pattern.replace(", ", f",{gap}").encode() for pattern in (_TURN, _RESULTS_OF_IT))
    return re.compile(turn), re.compile(results)


_LAYOUTS = {b"\n  ": _laid_out("\n  "), b"": _laid_out(" ")}  # by what follows a note's first brace


class Glance(NamedTuple):
    """A handoff as far as a line of its own shows it."""

    commit: str
    run_id: str
    cycle: int
    phase: str
    about: str
    mark: str
    when: str


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
        moment(_accepted_at(handoff)),
    )


def _accepted_at(handoff: Handoff) -> str:
    return str(handoff.extra.get(ACCEPTED_AT) or handoff.timestamp)


def moment(timestamp: str) -> str:
    """Return a timestamp to the minute; what is none, as it stands."""
    found = _MOMENT.fullmatch(timestamp)
    return f"{found[1]} {found[2]}Z" if found else timestamp


class Glancing:
    """Tells what one line tells of a note, without reading all of it.

    A history may be very long, and JSON costs more to read than git needs to find it. All notes of a run begin alike,
    and the phases of a case follow each other.
    """

    def __init__(self) -> None:
        self._start = self._case = b"\0"
        self._turn, self._results = _LAYOUTS[b""]
        self._run_id = self._feature = self._about = ""

    def __call__(self, commit: str, raw: bytes) -> Glance | None:
        """Return what a line shows; None if there is more to tell, or the note cannot be read."""
        if _WRITTEN_AGAIN in raw or (not raw.isascii() and not _is_text(raw)):
            return None
        if not raw.startswith(self._start) and not self._begun(raw):
            return _glance_at_json(commit, raw)
        turn = self._turn.match(raw, len(self._start))
        tail = turn and self._results.match(raw, raw.find(_LISTS_END, turn.end()))
        if turn is None or tail is None:
            return _glance_at_json(commit, raw)
        named, number, case = turn.groups()
        result, day, minute, outcome = tail.groups()
        phase, cycle = named.decode(), int(number)
        if case is None:
            about = _without(phase, cycle, self._feature)
        elif case == self._case:
            about = self._about
        else:
            self._case, self._about = case, (about := _plain(case))
        mark = outcome.decode() if outcome else f"tests {result.decode()}" if result else ""
        return Glance(commit, self._run_id, cycle, phase, about, mark, f"{day.decode()} {minute.decode()}Z")

    def _begun(self, raw: bytes) -> bool:
        """Remember how the notes of this run begin."""
        run = _RUN.match(raw)
        if run is None or run[1] not in _LAYOUTS:
            return False
        self._start, self._run_id, self._feature = run[0], _plain(run[2]), _plain(run[3])
        self._turn, self._results = _LAYOUTS[run[1]]
        return True


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _plain(text: bytes) -> str:
    """Return what a JSON text says."""
    said = text.decode()
    return json.loads(said) if "\\" in said else said[1:-1]


def _glance_at_json(commit: str, raw: bytes) -> Glance | None:
    body = plain_note(raw)
    if body is None:
        return None
    cycle, case, result, when = (
        body["cycleNumber"],
        body["currentTest"],
        body["testResult"],
        body["timestamp"],
    )
    about = case.get("description") if case else _without(body["phase"], cycle, body["feature"])
    if type(about) is not str or type(when) is not str or body.get("carriedFrom"):
        return None
    mark = _mark(body.get("outcome"), result)
    return Glance(commit, body["runId"], cycle, body["phase"], about, mark, moment(when))


def _about(handoff: Handoff) -> str:
    if handoff.current_test:
        return handoff.current_test.description
    return _without(handoff.phase, handoff.cycle_number, handoff.feature)


def _without(phase: str, cycle: int, feature: str) -> str:
    """Return what a handoff is about that has no case: the last PLAN found none, others work at the whole feature."""
    return NO_CASE if cycle and phase == PhaseName.PLAN else feature


def _mark(outcome: str | None, result: str | None) -> str:
    return str(outcome) if outcome is not None else f"tests {result}" if result is not None else ""
