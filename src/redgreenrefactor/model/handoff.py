"""The one thing that is remembered between sessions: a JSON note on a commit."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isfinite
from typing import Any, cast

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.model.extra import Extra
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.long_feature import BLOB
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Severity, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

SCHEMA_VERSION = 1
LONG_LIST = 200  # more items than this are counted in a note, not listed

Json = dict[str, Any]


class State(StrEnum):
    """What became of the run, as of this handoff."""

    RUNNING = "running"
    STOPPED = "stopped"
    ABORTED = "aborted"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """The gravest finding of the last rejection."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Handoff:
    """One immutable note: where the run stands, and what comes next.

    `extra` holds every other key of the note as it was read, and survives being written again.
    """

    phase: PhaseName
    next_phase: PhaseName
    run_id: str = ""
    feature: str = ""
    state: State = State.RUNNING
    cycle_number: int = 0
    current_test: Case | None = None
    completed_tests: tuple[str, ...] = ()
    pending_tests: tuple[str, ...] = ()
    test_result: TestOutcome | None = None
    error: str | None = None
    error_details: ErrorDetails | None = None
    retry_count: int = 0
    timestamp: str = ""
    attempts: int = 0
    outcome: Outcome | None = None
    findings: tuple[Finding, ...] = ()
    carried_from: str | None = None
    awaiting: str | None = None
    feature_blob: str | None = None  # where git keeps a feature that is too long for every note
    extra: Mapping[str, Any] = field(default_factory=Extra)

    def __post_init__(self) -> None:
        """Keep the other keys from being changed by whoever gave them."""
        if not isinstance(self.extra, Extra):
            object.__setattr__(self, "extra", Extra(self.extra))

    @property
    def attempts_due(self) -> int:
        """Attempts already made at the phase that is due; without an error, `attempts` tells of the past phase.

        A PLAN that is asked again, because a person changed its list, follows itself.
        """
        return self.attempts if self.error is not None or self.phase is self.next_phase else 0

    @property
    def completed_count(self) -> int:
        """How many cases are done; a list too long for a note is only counted there."""
        return len(self.completed_tests) or self._counted("completedCount")

    @property
    def pending_count(self) -> int:
        """How many cases are to come."""
        return len(self.pending_tests) or self._counted("pendingCount")

    @property
    def left_as(self) -> str:
        """How the run was left, where nobody is at work at it any more."""
        if self.awaiting:
            return f"its list waits for {self.awaiting}"
        return "cut off" if self.state is State.RUNNING else str(self.state)

    def _counted(self, key: str) -> int:
        number = self.extra.get(key)
        return number if isinstance(number, int) else 0


@dataclass(frozen=True, slots=True)
class _Key:
    """How one attribute is spelled, read and written."""

    name: str
    attribute: str
    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = lambda value: value
    required: bool = False
    always: bool = True  # written even when it says nothing
    also: tuple[str, ...] = ()

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every key it is read from."""
        return (self.name, _snake(self.name), *self.also)


def _as_it_is(body: Json) -> Json:
    return body


def to_json(handoff: Handoff, told: Callable[[Json], Json] = _as_it_is) -> str:
    """Return the note's text: readable by a person, and stable; `told` says what of it is."""
    text = json.dumps(told(to_object(handoff)), indent=2, ensure_ascii=False) + "\n"
    # Half a surrogate pair, from a file name that is no UTF-8, can be escaped in JSON but not encoded.
    return text.encode("utf-8", "backslashreplace").decode()


def to_object(handoff: Handoff) -> Json:
    """Return the note as a JSON object."""
    known = {
        key.name: key.write(value)
        for key in _KEYS
        if (value := getattr(handoff, key.attribute)) or key.always
    }
    body: Json = {"schemaVersion": SCHEMA_VERSION, **known, **handoff.extra}
    if len(handoff.completed_tests) + len(handoff.pending_tests) > LONG_LIST:
        body |= {"completedCount": len(handoff.completed_tests), "pendingCount": len(handoff.pending_tests)}
    if "completedCount" in body:
        body |= {"completedTests": None, "pendingTests": None}
    return body


def from_json(text: str) -> Handoff:
    """Return the handoff a note holds; anything unreadable is a LedgerError that names the key."""
    try:
        body: Any = _DECODER.decode(text)
        if not isinstance(body, dict):
            raise LedgerError("a handoff note is not a JSON object")
        return from_object(cast("Json", body))
    except (ValueError, RecursionError) as error:
        raise LedgerError(f"a handoff note is not JSON: {error}") from error


def from_object(body: Json) -> Handoff:
    """Return the handoff a decoded note holds."""
    rest = dict(body)
    if rest.pop("schemaVersion", rest.pop("schema_version", SCHEMA_VERSION)) != SCHEMA_VERSION:
        raise LedgerError("a handoff note has a schema version this program does not know")
    values: Json = {}
    for key, spellings in _SPELLINGS:
        found = [rest.pop(spelling) for spelling in spellings if spelling in rest]
        if key.required and (not found or found[0] is None):
            raise LedgerError(f"a handoff note lacks {key.name!r}")
        if found and found[0] is not None:
            values[key.attribute] = _read(key, found[0])
    return Handoff(**values, extra=rest)


def _finite(number: str) -> float | None:
    return value if isfinite(value := float(number)) else None


# Other writers' numbers that are none, and that JSON has no words for, say nothing.
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=lambda _: None)


def with_extra(handoff: Handoff, **extra: Any) -> Handoff:
    """Return the handoff with these keys beside the others; None takes a key away."""
    merged = {**handoff.extra, **extra}
    return replace(handoff, extra={key: value for key, value in merged.items() if value is not None})


def finding_to_json(finding: Finding) -> Json:
    """Return a finding as the note spells it."""
    return {
        "type": str(finding.type),
        "message": finding.message,
        "file": finding.file,
        "line": finding.line,
        "hint": finding.hint,
        "severity": str(finding.severity),
    }


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _read(key: _Key, value: Any) -> Any:
    try:
        return key.read(value)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise LedgerError(f"a handoff note has an unusable {key.name!r}: {value!r:.100}") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(_text(item) for item in cast("list[Any]", value))


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise TypeError
    return cast("Json", value)


def _either(body: Json, name: str) -> str:
    return _text(body[name] if name in body else body[_snake(name)])


def case_from_json(value: Any) -> Case:
    """Return the case an object names; a missing or wrong key is a KeyError or TypeError."""
    body = _object(value)
    return Case(_either(body, "description"), _either(body, "testFile"), _either(body, "implFile"))


def case_to_json(case: Case | None) -> Json | None:
    """Return a case as notes and answers spell it."""
    if case is None:
        return None
    return {"description": case.description, "testFile": case.test_file, "implFile": case.impl_file}


def _error_from_json(value: Any) -> ErrorDetails:
    body = _object(value)
    return ErrorDetails(_text(body["type"]), _text(body["message"]))


def _error_to_json(error: ErrorDetails | None) -> Json | None:
    return None if error is None else {"type": error.type, "message": error.message}


def finding_from_json(value: Any) -> Finding:
    """Return the finding an object names; a missing or wrong key is a KeyError, TypeError or ValueError."""
    body = _object(value)
    return Finding(
        FindingType(body["type"]),
        _text(body["message"]),
        body.get("file"),
        body.get("line"),
        body.get("hint"),
        Severity(body.get("severity", "error")),
    )


def _findings(value: Any) -> tuple[Finding, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(finding_from_json(item) for item in cast("list[Any]", value))


_KEYS = (
    _Key("runId", "run_id", _text),
    _Key("feature", "feature", _text),
    _Key("state", "state", State, str),
    _Key("phase", "phase", PhaseName, str, required=True),
    _Key("nextPhase", "next_phase", PhaseName, str, required=True),
    _Key("cycleNumber", "cycle_number", _count, also=("cycle",)),
    _Key("currentTest", "current_test", case_from_json, case_to_json),
    _Key("completedTests", "completed_tests", _texts, list),
    _Key("pendingTests", "pending_tests", _texts, list),
    _Key("testResult", "test_result", TestOutcome),
    _Key("error", "error", _text),
    _Key("errorDetails", "error_details", _error_from_json, _error_to_json),
    _Key("retryCount", "retry_count", _count),
    _Key("timestamp", "timestamp", _text),
    _Key("attempts", "attempts", _count),
    _Key("outcome", "outcome", Outcome, always=False),
    _Key("findings", "findings", _findings, lambda found: [finding_to_json(item) for item in found]),
    _Key("carriedFrom", "carried_from", _text, always=False),
    _Key("awaiting", "awaiting", _text, always=False),
    _Key(BLOB, "feature_blob", _text, always=False),
)
_SPELLINGS = tuple((key, key.spellings) for key in _KEYS)
