"""What happened, as frozen values; views and records read them, nothing else prints."""

from collections.abc import Callable

from redgreenrefactor.model.evidence import Change
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.session import Brief, Report, Step, Usage
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Outcome, Ruling, Verdict
from redgreenrefactor.model.workflow import PhaseName


@frozen
class RunStarted:
    """A run begins, or goes on."""

    run_id: str
    feature: str
    project: str
    test_command: str
    measure: str
    resumed: bool = False
    sandbox: str = "off"
    held: str = ""  # who is held by what, in words
    as_before: str = ""  # who works because of the run's notes: nobody names another
    phases: tuple[PhaseName, ...] = ()  # that a cycle goes through


@frozen
class TurnStarted:
    """A session is about to work at a phase."""

    phase: PhaseName
    cycle: int
    attempt: int
    case: Case | None
    agent: str
    done: int = 0  # cases of the list
    to_do: int = 0  # cases that come after this one


@frozen
class SessionSaid:
    """A line of a session's progress."""

    text: str


@frozen
class ModelAsked:
    """A model is about to be asked for the first time, which takes a while: its client has to be loaded."""

    model: str


@frozen
class ModelAnswered:
    """A request to a model is over, well or not."""

    provider: str
    model: str  # that was asked for
    answered_by: str
    usage: Usage
    seconds: float
    finish: str  # why the reply ended: stop, tool_call, length, content_filter
    error: str | None = None  # the type of what went wrong


@frozen
class ToolUsed:
    """A tool has done, or not done, what a model asked for."""

    tool: str
    call: str  # the call's id
    failed: bool
    seconds: float


@frozen
class SessionEnded:
    """The session is over; its work is about to be sealed and judged."""

    seconds: float
    failed: bool


@frozen
class SessionBegan:
    """For the transcript: what a session is told, where it works, and from which commit."""

    brief: Brief
    agent: str
    folder: str
    base: str


@frozen
class SessionNoted:
    """For the transcript: a step of a session."""

    step: Step


@frozen
class SessionReported:
    """For the transcript: what a session said and used in all."""

    report: Report
    seconds: float


@frozen
class WorkSealed:
    """For the transcript: what a session's work amounts to."""

    commit: str
    subject: str
    prefix: str  # the project's folder inside the repository
    changes: tuple[Change, ...]


@frozen
class SuiteStarted:
    """Tests are being run by us."""

    purpose: str
    question: str = ""  # that a probe is to answer
    number: int = 0  # it is asked for the first, second … time,
    of: int = 0  # and so many times at most, where that is known


@frozen
class SuiteEnded:
    """A run of tests is over."""

    purpose: str
    passed: int
    failed: int
    total: int
    seconds: float
    per_test: bool
    exit_code: int
    warm: bool = False  # by a fork of a process that has the runner loaded


@frozen
class Diagnosed:
    """A session has looked at a rejected try, before the next attempt."""

    attempt: int
    message: str
    failed: bool


@frozen
class Judged:
    """A turn has its verdict."""

    phase: PhaseName
    cycle: int
    attempt: int
    verdict: Verdict
    commit: str | None
    subject: str
    seconds: float
    aborts: bool = False
    builds_on: bool = False  # a rejected try stays for the next one to go on from

    @property
    def ends_case(self) -> bool:
        """Whether a case is done with it."""
        last = self.phase is PhaseName.REFACTOR or self.verdict.outcome is Outcome.COVERED
        return last and self.verdict.ruling is Ruling.ACCEPTED


@frozen
class Paused:
    """The engine waits before the next attempt."""

    seconds: float


@frozen
class Warned:
    """Something a person should know that stops nothing."""

    message: str


@frozen
class RunEnded:
    """The run is over, for now or for good."""

    status: str
    message: str
    seconds: float


@frozen
class LookedBack:
    """A turn of an earlier run is about to be judged again."""

    number: int
    total: int
    what: str
    left: float | None = None  # seconds until all are judged, as far as those before it tell


Event = (
    RunStarted
    | TurnStarted
    | SessionSaid
    | ModelAsked
    | ModelAnswered
    | ToolUsed
    | SessionEnded
    | SessionBegan
    | SessionNoted
    | SessionReported
    | WorkSealed
    | SuiteStarted
    | SuiteEnded
    | Diagnosed
    | Judged
    | Paused
    | Warned
    | RunEnded
    | LookedBack
)
FOR_TRANSCRIPTS = (SessionBegan, SessionNoted, SessionReported, WorkSealed)  # long, and full of secrets
Emit = Callable[[Event], None]


def unheard(_what: object) -> None:
    """Listen to nothing: for whoever has to tell somebody."""
