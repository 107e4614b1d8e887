"""The places where the engine meets the world, as protocols."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from redgreenrefactor.errors import InterruptedRunError, StoppedRunError
from redgreenrefactor.model.evidence import ALL, Change, Manner, Measure, SuiteRun
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.session import Brief, Report, Step, Usage
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding
from redgreenrefactor.model.workflow import Phase, PhaseName

Say = Callable[[str], None]
Note = Callable[[Step], None]  # what an agent that knows its steps tells for the transcript


class Agent(Protocol):
    """Who works: one call is one fresh session."""

    @property
    def name(self) -> str:
        """How it was asked for, e.g. `command:./agent.sh`."""
        ...

    def work(self, brief: Brief, folder: Path, say: Say) -> Report:
        """Let one session work in the folder until it ends; failure is a value in the report."""
        ...


@runtime_checkable
class Probing(Protocol):
    """An agent that can find out, before anything begins, whether it can work at all."""

    def probe(self, brief: Brief) -> None:
        """Begin the session this brief is for, as far as that shows whether it can work; a NotReadyError if not."""
        ...


@runtime_checkable
class Greeting(Protocol):
    """An agent that can find out, for next to nothing, whether it would be answered at all."""

    def greet(self) -> None:
        """Ask for a word, unless there was one before; a NotReadyError if none comes."""
        ...


@runtime_checkable
class SlowToLoad(Protocol):
    """An agent that needs a library which takes a second to load."""

    def load(self) -> None:
        """Begin to load it, beside whatever else has to be done before the first session."""
        ...


class SessionInterruptedError(InterruptedRunError):
    """A session was interrupted that had used something; carries its bill."""

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


class SessionStoppedError(StoppedRunError):
    """A session beside the work could not be had: there is nothing to judge, and its phase is not due; carries its bill."""

    def __init__(self, failure: Finding, usage: Usage | None) -> None:
        super().__init__(failure.message, hint=failure.hint, type=failure.type)
        self.usage = usage


@runtime_checkable
class Continuing(Protocol):
    """An agent whose sessions can go on from earlier ones; all others only ever begin anew."""

    @property
    def strategies(self) -> frozenset[str]:
        """How: new, resume, fork, merge_fork."""
        ...


class Suite(Protocol):
    """The project's tests."""

    @property
    def command(self) -> str:
        """What a person would type."""
        ...

    @property
    def measure(self) -> Measure:
        """How much its runs tell."""
        ...

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        """Run the tests, or just these, in a checkout of the project; never raises for what tests do."""
        ...


@frozen
class Sealed:
    """A turn's work as exactly one commit, and what was noticed while it was made."""

    commit: str
    subject: str
    empty: bool  # nothing differs from where the phase began
    resealed: bool = False  # the commit is ours, not the agent's own
    signed: bool | None = None  # None: signing was not asked for
    rewritten: tuple[str, ...] = ()  # what was done to history and refs; all of it has been put back
    pushed: tuple[str, ...] = ()  # what has reached a remote, where it stays
    advice: tuple[str, ...] = ()  # what only the person can put right, and how; not for sessions
    warnings: tuple[str, ...] = ()


@frozen
class SealedWork:
    """What a session has said and done, sealed and about to be judged: whoever finds it judges it, and pays nobody again."""

    run_id: str
    base: str
    phase: PhaseName
    attempt: int
    agent: str
    report: Report
    sealed: Sealed
    seconds: float  # that it took


class Snapshots(Protocol):
    """Commits as they are stored: read, compared, and laid out where tests can be run."""

    @property
    def prefix(self) -> str:
        """The project's folder inside the repository: nothing, or a path with a closing slash."""
        ...

    def changes(self, base: str | None, head: str) -> tuple[Change, ...]:
        """Return what differs between two commits, or one and its parent, with the text of what can be read as text."""
        ...

    def read(self, commit: str, path: str) -> tuple[str, str] | None:
        """Return blob id and text of a file of the project at a commit."""
        ...

    def source(self, commit: str, path: str) -> str | None:
        """Return the text of a file of the repository at a commit."""
        ...

    def checkout(self, commit: str, overlay: Mapping[str, str | None], lane: int = 0) -> Path:
        """Lay out the project at a commit, with files replaced, in a clean folder of our own; return the folder.

        Every lane has its own: what is laid out in one is left alone by the others.
        """
        ...

    def disturbed(self, lane: int = 0) -> tuple[str, ...]:
        """Return the files of that checkout which somebody has changed since it was laid out."""
        ...

    def fingerprint(self, commit: str) -> str:
        """Return what two commits share if nothing but `test-list.md` differs between them."""
        ...


class Workspace(Snapshots, Protocol):
    """The checkout a run works in: it seals turns and rewinds them."""

    @property
    def project(self) -> Path:
        """The folder sessions work in."""
        ...

    def head(self) -> str:
        """Return the commit that is checked out."""
        ...

    def begin(self, run_id: str, base: str) -> None:
        """Remember, beyond a crash, that whatever appears from now on is a session's work on this commit."""
        ...

    def seal(self, base: str, phase: Phase, description: str, *, empty: bool) -> Sealed:
        """Turn everything done since the base into one commit that is checked out, refs put right.

        Where nothing was done, `empty` says whether that, too, becomes a commit.
        """
        ...

    def write_list(self, text: str) -> None:
        """Replace the text of `test-list.md`, as a session would."""
        ...

    def keep(self, run_id: str, base: str, why: str) -> str | None:
        """Keep whatever differs from the base at a ref; return the ref, None if nothing does."""
        ...

    def abandon(self) -> str | None:
        """Undo the session that was begun last: refs and files are as before, its work is kept; return the ref."""
        ...

    def end(self) -> None:
        """Forget the session: what is checked out is accounted for."""
        ...

    def remember(self, work: SealedWork) -> None:
        """Remember, beyond a crash and until the session is forgotten, what is about to be judged."""
        ...

    def unjudged(self, run_id: str, phase: PhaseName, attempt: int) -> SealedWork | None:
        """Return the sealed work of an attempt whose judgement was cut off."""
        ...

    def take_up(self, work: SealedWork) -> None:
        """Check out such work again, as it was when it was sealed."""
        ...

    def lay_out(self, run_id: str, attempt: str) -> None:
        """Make the files those of an attempt that was set aside, without checking it out: a session goes on there."""
        ...

    def rewind(self, base: str) -> None:
        """Go back to the base; tracked files as they were, new untracked ones gone, ignored ones untouched."""
        ...

    def set_aside(self, commit: str, run_id: str, name: str) -> None:
        """Make the commit stay reachable as an attempt of the run, under this name."""
        ...

    def last_attempt(self, run_id: str, cycle: int, phase: str) -> int:
        """Return the highest number an attempt at this phase has been kept under."""
        ...


class Results(Protocol):
    """Results of whole suites, kept from one process to the next."""

    def keep(self, fingerprint: str, run: SuiteRun) -> str | None:
        """Keep a result; return its receipt, None where it is not worth keeping."""
        ...

    def recall(self, receipt: str) -> tuple[str, SuiteRun] | None:
        """Return the fingerprint and the result a receipt stands for; None where anything about it has changed."""
        ...


class Ledger(Protocol):
    """The only memory: one handoff a commit."""

    def latest(self) -> Entry | None:
        """Return the newest handoff along HEAD's first parents."""
        ...

    def history(self) -> Iterator[Entry]:
        """Yield the handoffs of the latest run along HEAD's first parents, newest first, down to its opening."""
        ...

    def write(self, notes: Mapping[str, Handoff]) -> None:
        """Put these notes on these commits, all or none."""
        ...
