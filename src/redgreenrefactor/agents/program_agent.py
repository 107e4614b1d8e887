"""A coding program of the user's as an agent: found, kept to the phase, listened to, and ended with all it started."""

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import KW_ONLY, dataclass, field
from io import FileIO
from pathlib import Path
from typing import Protocol, TypeVar

from redgreenrefactor.agents.account_file import AccountFile
from redgreenrefactor.agents.conversation import SessionFailedError
from redgreenrefactor.agents.foreign_program import (
    ForeignProgram,
    InstalledProgram,
    installed,
    signed_in_by,
)
from redgreenrefactor.agents.program_events import Interpreter, ProgramEvent
from redgreenrefactor.agents.program_session import JsonLines, ProgramSession
from redgreenrefactor.agents.session_environment import of_a_program
from redgreenrefactor.agents.table import AgentSetup
from redgreenrefactor.errors import InterruptedRunError, NotReadyError, UsageError
from redgreenrefactor.filesystem import head_of
from redgreenrefactor.model.events import Warned
from redgreenrefactor.model.session import EVERY_STRATEGY, Brief, Report
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.ports import Say, SessionInterruptedError
from redgreenrefactor.prompts.quote import bounded, plain
from redgreenrefactor.sandbox.cage import Cage, temporary_folder
from redgreenrefactor.sandbox.policy import Level, Mount
from redgreenrefactor.sandbox.process import Finished, run

_MOST_GUIDE = 32_768  # characters of a file that tells how a project is worked on
_SOON = 300.0  # seconds that a sign-in has to last at least where it cannot be renewed
_KEPT = 64_000  # bytes of what it prints; it is understood as it comes


@dataclass(frozen=True, slots=True)
class SessionOrder:
    """What one session of a program is to be like."""

    brief: Brief
    folder: Path
    program: str  # where it lies
    model: str  # nothing: the program's own
    instructions: str  # who it is
    locked: tuple[Path, ...]  # files and folders that it may not change
    setup: AgentSetup
    held: bool  # by our own sandbox
    env: Mapping[str, str]

    @property
    def parent(self) -> str:
        """The session it goes on from, as the program knows it; nothing where it begins anew."""
        return self.brief.continues[0] if self.brief.continues else ""


@dataclass(frozen=True, slots=True)
class ProgramStart:
    """How a program is started for one session, and what understands it then."""

    arguments: Sequence[str]
    stdin: str | FileIO  # what it reads, or the pipe from which it does
    interpreter: Interpreter
    _: KW_ONLY
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    without: frozenset[str] = frozenset()  # variables that it shall not find
    places: tuple[Mount, ...] = ()  # what it finds where it is held, beside what every program does
    farewell: Callable[[], None] | None = (
        None  # where it waits for more when its session is over: what it is told then
    )


class ProgramDialect(Protocol):
    """What differs between programs."""

    @property
    def program(self) -> ForeignProgram:
        """What is known of it."""
        ...

    def prepare(self, order: SessionOrder) -> AbstractContextManager[ProgramStart]:
        """Provide how it is started for a session, as long as that lasts."""
        ...


def program_agent(
    name: str, dialect: ProgramDialect, setup: AgentSetup, strategies: frozenset[str] = EVERY_STRATEGY
) -> "ProgramAgent":
    """Return the agent that is this program; one that is missing or too old is a NotReadyError."""
    found = installed(
        dialect.program, wanted=setup.path, project=setup.project, env=setup.env, interrupt=setup.interrupt
    )
    return ProgramAgent(name, dialect, found, setup, _own_name(setup.model, dialect.program), strategies)


def _own_name(model: str, program: ForeignProgram) -> str:
    """Return a model's name as the program has it; another maker's is a UsageError."""
    provider, colon, name = model.partition(":")
    if not colon or "/" in provider:
        return model
    if not program.provider:
        return f"{provider}/{name}"
    if provider != program.provider:
        raise UsageError(
            f"{program.title} cannot think with {model!r}: its models are {program.provider}'s",
            hint=f"Name one of {program.provider}'s with --model or TDD_MODEL, "
            "or set model.ROLE for each role whose agent has models of another maker.",
        )
    return name


@dataclass(frozen=True)
class ProgramAgent:
    """A program that is started afresh for every session."""

    name: str
    dialect: ProgramDialect
    found: InstalledProgram
    setup: AgentSetup
    model: str  # nothing: the program's own
    strategies: frozenset[str] = EVERY_STRATEGY
    resumes: bool = True  # its sessions can be gone on with
    _signed_in: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])  # found out once
    _unpriced: set[str] = field(default_factory=set[str])

    def greet(self) -> None:
        """Know that somebody is signed in, for long enough where it is held; a NotReadyError if not. No model is asked."""
        if self.setup.held == "on" and (ended := self._unrenewable(_SOON)):
            raise NotReadyError(ended.message, hint=ended.hint, type="CredentialsMissing")
        self._keys()

    def probe(self, brief: Brief) -> None:  # noqa: ARG002
        """Know the same before the first session."""
        self.greet()

    def _keys(self) -> tuple[str, ...]:
        if not self._signed_in:
            setup = self.setup
            names = signed_in_by(self.found, setup.env, tuple(setup.passed_on), setup.interrupt)
            self._signed_in.append(names)
        return self._signed_in[0]

    @property
    def _account(self) -> AccountFile | None:
        """The file by which somebody is signed in; None where a key does that."""
        program, account = self.found.program, self.found.program.account
        if account is None or set(program.keys).intersection(self._keys()):
            return None
        return account if account.place.of(self.setup.env).is_file() else None

    def _unrenewable(self, seconds: float) -> Finding | None:
        """Return what is wrong with a sign-in that ends so soon: inside the sandbox it could not be renewed."""
        program, account = self.found.program, self._account
        ends = account and account.ends(self.setup.env)
        if ends is None or ends > time.time() + seconds:
            return None
        when = time.strftime("%H:%M", time.localtime(ends))
        return Finding(
            FindingType.MODEL_UNAVAILABLE,
            f"the sign-in of {program.title} ends at {when}, and inside the sandbox it is not renewed",
            hint=f"Type '{program.command}' and ask it something, which renews it, or '{program.sign_in}'; "
            "or set sandbox.agents=auto. Then go on with 'rgr resume'.",
        )

    def _cage(self, session: ProgramSession) -> Cage | None:
        """Return what holds a session; a SessionFailedError where it must be held, and its sign-in is about to end."""
        setup = self.setup
        if setup.held == "auto" and (ending := self._unrenewable(setup.session_timeout)):
            session.say(f"{ending.message}: this session runs outside, where it is")
            return None
        if setup.held == "on" and (ended := self._unrenewable(_SOON)):
            raise SessionFailedError(ended)
        cage = setup.confine(session.brief)
        if cage and not cage.means.substitutes and self._account:
            raise SessionFailedError(_unshown(self.found.program))
        return cage

    def work(self, brief: Brief, folder: Path, say: Say) -> Report:
        """Let the program work in the folder until it ends its turn; failure is a value in the report."""
        session = ProgramSession(
            brief, folder, self.found, say=say, note=self.setup.note, emit=self.setup.emit
        )
        try:
            return self._told(session, self._held(session))
        except SessionFailedError as error:
            return self._told(session, session.failed(error.finding))
        except InterruptedRunError as error:
            if session.bill is None:
                raise
            raise SessionInterruptedError(error.message, session.bill) from error

    def _held(self, session: ProgramSession) -> Report:
        setup, cage = self.setup, self._cage(session)
        session.held = cage is not None
        env = of_a_program(setup.env, passed_on=self._keys(), identity=setup.identity)
        order = SessionOrder(
            session.brief,
            session.folder,
            self.found.path,
            self.model,
            f"{session.brief.role.system_prompt.rstrip()}\n{''.join(_guides(setup.guides))}",
            tuple(setup.locked(session.brief)),
            setup,
            cage is not None,
            env,
        )
        with self.dialect.prepare(order) as started, self._opened(cage, started) as opened:
            try:
                finished = self._run(session, started, env, opened)
            except _ConcludedError:
                finished = Finished(0, b"", b"")
        return session.report(finished, setup.session_timeout)

    @contextmanager
    def _opened(self, cage: Cage | None, started: ProgramStart) -> Generator[Cage | None]:
        """Provide what holds the program, with what is its own in it."""
        if cage is None:
            yield None
            return
        setup, home = self.setup, self.setup.home / self.found.program.command.replace("/", "_")
        with temporary_folder(setup.home) as folder:
            own = self.found.inside(setup.env, home, folder, inherit=setup.inherit)
            places = (*own, *started.places)
            if cage.level is Level.LANDLOCK:
                _make_room(places)
            yield cage.also(*places)

    def _run(
        self, session: ProgramSession, started: ProgramStart, env: Mapping[str, str], cage: Cage | None
    ) -> Finished:
        setup, stdin = self.setup, started.stdin
        return run(
            [self.found.path, *started.arguments],
            cwd=session.folder,
            env={
                **{name: value for name, value in env.items() if name not in started.without},
                **self.found.program.telling,
                **started.env,
            },
            stdin=stdin.encode("utf-8", "replace") if isinstance(stdin, str) else stdin,
            timeout=setup.session_timeout,
            interrupt=setup.interrupt,
            on_stdout=JsonLines(_passing(started.interpreter.read, session, started.farewell)),
            on_stderr=_passing(started.interpreter.overhear, session),
            keep=_KEPT,
            cage=cage,
        )

    def _told(self, session: ProgramSession, report: Report) -> Report:
        """Say once of each model that nobody knows its price."""
        used, model = report.usage, session.model
        if used and used.cost_usd is None and model not in self._unpriced:
            self._unpriced.add(model)
            what = model or f"the model of {self.found.program.title}"
            self.setup.emit(
                Warned(f"no price is known for {what}: what it costs is not counted, and no budget stops it")
            )
        return report


def _unshown(program: ForeignProgram) -> Finding:
    return Finding(
        FindingType.MODEL_UNAVAILABLE,
        f"the sign-in of {program.title} cannot be shown inside the sandbox: this kernel lets nothing be mounted",
        hint=f"Name a key for it in agent.env ({', '.join(program.keys)}), or set sandbox.agents=auto. "
        "Then go on with 'rgr resume'.",
    )


def _make_room(places: Sequence[Mount]) -> None:
    """Have something in every place in which another thing is shown: Landlock shows nothing where nothing is."""
    known = {place.path: place for place in places}  # of several in one place the last one counts
    for path, place in known.items():
        around = [each for each in path.parents if each in known and known[each].source]
        if not around and not place.source:
            continue
        target = known[around[0]].shown / path.relative_to(around[0]) if around else path
        if place.shown.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        elif not os.path.lexists(target):
            target.touch()


T = TypeVar("T")


class _ConcludedError(Exception):
    """The session is over, and its program waits for another one."""


def _passing(
    understand: Callable[[T], Iterator[ProgramEvent]],
    session: ProgramSession,
    farewell: Callable[[], None] | None = None,
) -> Callable[[T], None]:
    def take(said: T) -> None:
        for event in understand(said):
            session.hear(event)
        if farewell and session.concluded:
            farewell()
            raise _ConcludedError

    return take


def _guides(files: Sequence[Path]) -> Iterator[str]:
    """Yield what stands in the files that tell how the project is worked on."""
    for file in files:
        try:
            text = plain(head_of(file, 4 * _MOST_GUIDE).decode("utf-8", "replace"))
        except (OSError, ValueError):
            continue
        yield f"\n# What {file.name} of this project says\n\n{bounded(text, _MOST_GUIDE).strip()}\n"


def money(order: SessionOrder) -> str:
    """Return what the session may cost, as programs are told; nothing where that does not matter."""
    allowance = order.brief.allowance_usd
    return "" if allowance is None else f"{max(allowance, 0.0001):.4f}"
