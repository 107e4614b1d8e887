"""The one thing that is remembered between sessions: a JSON note on a commit. Here is every key that it may have."""

import json
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from math import isfinite
from typing import Any, cast

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.model.codec import (
    Json,
    JsonObject,
    ShapeError,
    Sparse,
    camel,
    readable_json,
    reader,
    written,
)
from redgreenrefactor.model.facts import NO_FACTS, Facts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.values import attributes, field, frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

SCHEMA_VERSION = 1
NOTHING_ELSE = JsonObject("{}")
LONG_LIST = 200  # more items than this are counted in a note, not listed


class State(StrEnum):
    """What became of the run, as of this handoff."""

    RUNNING = "running"
    STOPPED = "stopped"
    ABORTED = "aborted"
    COMPLETE = "complete"


@frozen
class ErrorDetails:
    """The gravest finding of the last rejection."""

    type: str
    message: str


@frozen
class Expense:
    """What sessions have used."""

    usage: Usage | None = None
    seconds: float = 0.0

    def __add__(self, other: "Expense") -> "Expense":
        known = [usage for usage in (self.usage, other.usage) if usage is not None]
        total = sum(known[1:], known[0]) if known else None
        return Expense(total, round(self.seconds + other.seconds, 3))


NOTHING_USED = Expense()


@frozen
class RolledBack:
    """What turns have used that were left behind, and the highest numbers of their attempts, by cycle and phase."""

    attempts: JsonObject = NOTHING_ELSE
    usage: Usage | None = None
    seconds: float = 0.0


@frozen
class LegacyTests(Sparse):
    """Tests that failed before the run, always or by chance; more than are listed are counted."""

    failing: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    failing_count: int | None = None
    flaky_count: int | None = None


@frozen
class Rejection:
    """One rejected attempt, in short."""

    attempt: int
    type: str
    message: str
    kept: str = ""  # what its commit is called under refs/tdd/attempts/RUN/; nothing where it changed nothing


@frozen
class UncommittedAttempt:
    """A rejected attempt that left no commit to carry a note of its own."""

    phase: PhaseName
    cycle: int
    attempt: int
    type: str
    message: str
    timestamp: str


@frozen
class Diagnosis:
    """What a session said about a rejected try, before the next attempt."""

    before: int
    message: str
    failed: bool


@frozen
class SessionLink:
    """The id that a task's sessions are known by to later ones, and the ids they went on from."""

    id: str
    strategy: str
    resume_from: tuple[str, ...] = ()


@frozen
class TaskFileMark(Sparse):
    """The task file that a run works at; its opening note holds all of it."""

    id: str
    digest: str
    session: str
    file: str = ""
    document: JsonObject | None = None


@frozen
class WorktreeInfo:
    """Where a task of coder and reviewer is worked at, and what it started from."""

    path: str
    branch_name: str
    base_branch: str


@frozen
class ReviewMark:
    """The task of coder and reviewer that a run works at: what its other notes do not say."""

    task_id: str
    spec_path: str
    max_iterations: int
    branch_name: str
    worktree: WorktreeInfo = field(metadata={"key": "worktreeInfo"})
    created_at: str
    forge: str = "github"
    tdd: bool = False


@frozen
class _Core:
    """What steers a run: a note in which one of these cannot be read is none."""

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


@frozen
class Handoff(_Core):
    """One immutable note: where the run stands, and what comes next.

    What of the keys below cannot be read is kept as it is, like those that nobody here knows.
    """

    completed_count: int | None = None  # instead of a long list
    pending_count: int | None = None
    agent: str | None = None
    model: str | None = None  # that answered
    agent_version: str | None = None  # of the program that is the agent
    agent_held: bool | None = None  # that program was in the sandbox
    agent_session: str | None = None  # by which that program finds the session again
    usage: Usage | None = None  # of all attempts at the phase
    seconds: float | None = None
    retries: int | None = None  # rejected attempts at the phase
    sealed: bool | None = None
    signed: bool | None = None
    sandbox: str | None = None
    suite_network: bool | None = None
    workflow: str | None = None
    task: TaskFileMark | ReviewMark | None = None
    session: SessionLink | None = None
    earlier_attempts: int | None = None  # before a task was gone on with, with a fresh set of tries
    diagnosis: Diagnosis | None = None
    test_list: str | None = None  # blob
    suite_run: str | None = None  # receipt
    rejections: tuple[Rejection, ...] = ()  # of the due phase, since its retries began anew
    due: Expense | None = None  # of the attempts at the due phase
    builds_on: str | None = None  # the attempt that the next try goes on from
    rejected_session: str | None = None  # of the last attempt, by which its agent's program finds it again
    uncommitted: tuple[UncommittedAttempt, ...] = ()  # that started from here
    rolled_back: RolledBack | None = None
    legacy: LegacyTests | None = None
    upcoming: tuple[Case, ...] = ()  # later cases whose files the latest PLAN has named
    replan: str | None = None  # why a session looks at the list before the next cycle is opened
    remarks: tuple[str, ...] = ()  # what was noticed in the cycle and rejected nothing
    accepted_at: str | None = None  # where the note was written again since
    accepted_findings: tuple[Finding, ...] = ()  # where `findings` are of a rejection since
    stopped_by: FindingType | None = None  # between turns
    branch: str | None = None  # that was checked out when the run began, by its full name
    reached: bool | None = None  # by other means than the last phase
    cleaned: str | None = None  # when a person had the task taken away
    facts: Facts = NO_FACTS  # what the gate learned; its keys stand beside the others
    previous: "Handoff | None" = None  # of an earlier run on the same commit
    unknown: JsonObject = NOTHING_ELSE  # every other key as it was read

    @property
    def leads_on(self) -> bool:
        """Whether the next turn has to know what this one wrote: RED's files, or what is still to be measured."""
        return self.facts.owes or (self.next_phase is PhaseName.GREEN and self.carried_from is None)

    @property
    def attempts_due(self) -> int:
        """Attempts already made at the phase that is due; without an error, `attempts` tells of the past phase.

        A PLAN that is asked again, because a person changed its list, follows itself.
        """
        return self.attempts if self.error is not None or self.phase is self.next_phase else 0

    @property
    def cases_done(self) -> int:
        """How many cases are done; a list too long for a note is only counted there."""
        return len(self.completed_tests) or self.completed_count or 0

    @property
    def cases_open(self) -> int:
        """How many cases are to come."""
        return len(self.pending_tests) or self.pending_count or 0

    @property
    def left_as(self) -> str:
        """How the run was left, where nobody is at work at it any more."""
        if self.awaiting:
            return f"its list waits for {self.awaiting}"
        return "cut off" if self.state is State.RUNNING else str(self.state)

    @property
    def expense(self) -> Expense:
        """What the turn has used, rejected attempts included."""
        return Expense(self.usage, self.seconds or 0.0)

    @property
    def due_expense(self) -> Expense:
        """What the sessions at the phase that is due have used so far, rejected and interrupted ones."""
        return self.due or NOTHING_USED

    @property
    def lost_expense(self) -> Expense:
        """What the turns have used that were rolled back on the way here."""
        back = self.rolled_back
        return Expense(back.usage, back.seconds) if back else NOTHING_USED


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ShapeError(f"is {value!r:.50}")
    return value


_APART = ("facts", "previous", "unknown")
_CORE = [each.name for each in attributes(_Core)]
_ALWAYS = set(_CORE) - {"outcome", "carried_from", "awaiting", "feature_blob"}  # even where they say nothing
_KEYS = [(one.name, camel(one.name), one.default) for one in attributes(Handoff) if one.name not in _APART]
_FIRST = ("runId", "feature", "state")  # a person looks for these first
_OF_FACTS = {each.name for each in attributes(Facts)}
_KINDS = {**_Core.__annotations__, **Handoff.__annotations__, **Facts.__annotations__}
_COUNTS = ("cycle_number", "retry_count", "attempts")
# As others, or we before, have written it.
_OTHER_NAMES = {"cycle": "cycle_number", "perturbation": "wrong_expectation"}
_SPELT = [name for name in _KINDS if name not in _APART]
_NAMES = {name: name for name in _SPELT} | _OTHER_NAMES | {camel(name): name for name in _SPELT}


@cache
def _reader(name: str) -> Callable[[Any], Any]:
    """Return what reads a key; made when the first note has it."""
    return _count if name in _COUNTS else reader(_KINDS[name])


def bare(handoff: Handoff) -> Handoff:
    """Return a handoff with what steers a run, and nothing of what stands beside it."""
    return Handoff(**{name: getattr(handoff, name) for name in _CORE})


def to_json(handoff: Handoff, told: Callable[[Json], Json] = lambda body: body) -> str:
    """Return the note's text: readable by a person, and stable; `told` says what of it is."""
    text = readable_json(told(to_object(handoff))) + "\n"
    # Half a surrogate pair, from a file name that is no UTF-8, can be escaped in JSON but not encoded.
    return text.encode("utf-8", "backslashreplace").decode()


def to_object(handoff: Handoff) -> Json:
    """Return the note as a JSON object."""
    body: Json = {}
    for name, key, default in _KEYS:
        value = getattr(handoff, name)
        if name in _ALWAYS or value != default:
            body[key] = written(value)
    if handoff.facts is not NO_FACTS:
        body |= written(handoff.facts)
    if len(handoff.completed_tests) + len(handoff.pending_tests) > LONG_LIST:
        body |= {"completedCount": len(handoff.completed_tests), "pendingCount": len(handoff.pending_tests)}
    if "completedCount" in body:
        body |= {"completedTests": None, "pendingTests": None}
    if handoff.previous:
        body["previous"] = to_object(handoff.previous)
    first = {key: body[key] for key in _FIRST}
    return {"schemaVersion": SCHEMA_VERSION, **first, **handoff.unknown.value, **body}


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
    """Return the handoff a decoded note holds; an earlier run's in it that cannot be read is kept as it is."""
    bodies = [body]
    while isinstance(before := bodies[-1].get("previous"), dict):
        bodies.append(cast("Json", before))
    handoff: Handoff | None = None
    for each in reversed(bodies[1:]):
        try:
            handoff = _read(each, handoff)
        except LedgerError:
            handoff = None
    return _read(body, handoff)


def _read(body: Json, previous: Handoff | None) -> Handoff:
    if body.get("schemaVersion", body.get("schema_version", SCHEMA_VERSION)) != SCHEMA_VERSION:
        raise LedgerError("a handoff note has a schema version this program does not know")
    values: Json = {}
    unknown: Json = {}
    for key, value in body.items():
        name = _NAMES.get(key)
        if name is None:
            unknown[key] = value
        elif value is not None and (name not in values or key == camel(name)):
            try:
                values[name] = _reader(name)(value)
            except ShapeError as error:
                if name in _CORE:
                    raise LedgerError(f"a handoff note has an unusable {key!r}: {value!r:.100}") from error
                unknown[key] = value
    for name in ("phase", "next_phase"):
        if name not in values:
            raise LedgerError(f"a handoff note lacks {camel(name)!r}")
    for key in ("schemaVersion", "schema_version", *(["previous"] if previous else [])):
        unknown.pop(key, None)
    facts = {name: values.pop(name) for name in _OF_FACTS & values.keys()}
    return Handoff(
        **values,
        facts=Facts(**facts) if facts else NO_FACTS,
        previous=previous,
        unknown=JsonObject.of(dict(sorted(unknown.items()))) if unknown else NOTHING_ELSE,
    )


def _finite(number: str) -> float | None:
    return value if isfinite(value := float(number)) else None


# Other writers' numbers that are none, and that JSON has no words for, say nothing.
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=lambda _: None)
