"""A model behind a provider's API as an agent: six tools, and a bill."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from redgreenrefactor.agents.conversation import (
    SHORT,
    Conversation,
    SessionFailedError,
    SpokenLines,
    Tools,
    trouble_in,
)
from redgreenrefactor.agents.foreign_program import place_of
from redgreenrefactor.agents.providers import ModelAccess, access, load_client, model_of
from redgreenrefactor.agents.schemas import TOOLS, ToolSchema
from redgreenrefactor.agents.table import AGENTS, AgentSetup
from redgreenrefactor.agents.toolbox import Toolbox, locked_in, toolbox_in
from redgreenrefactor.agents.trouble import ONCE, Patience, Waits
from redgreenrefactor.errors import InterruptedRunError, NotReadyError
from redgreenrefactor.model.events import Event, ModelAnswered, ModelAsked, Warned, unheard
from redgreenrefactor.model.session import EVERY_STRATEGY, Brief, Report, Usage, answered, overdue
from redgreenrefactor.model.verdict import Finding
from redgreenrefactor.ports import Say, SessionInterruptedError
from redgreenrefactor.sandbox.process import Interrupt

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import ModelRequestParameters

GREETING = "Answer with one word: ready"

T = TypeVar("T")


MakeTools = Callable[[Brief, Path, Interrupt], Tools]


def build(_argument: str, setup: AgentSetup) -> "ApiAgent":
    """Return the agent that talks to the model that is set; no key is a NotReadyError. Nothing is contacted."""

    def toolbox(brief: Brief, folder: Path, stop: Interrupt) -> Toolbox:
        return toolbox_in(folder, setup, brief, interrupt=stop, locked=locked_in(brief, folder))

    return ApiAgent(
        _reached(setup),
        setup,
        toolbox,
        patience=Patience(first_wait=setup.retry_backoff),
    )


def _reached(setup: AgentSetup) -> ModelAccess:
    """Return how the model is reached; where a key is missing, the error tells every other way to go on."""
    try:
        return access(setup.model, setup.url, setup.env)
    except NotReadyError as error:
        if error.type == "CredentialsMissing":
            error.hint = "\n".join([error.hint, *_without_a_key(setup)])
        raise


def _without_a_key(setup: AgentSetup) -> Iterator[str]:
    """Yield what to type where there is no key, what is here already first."""
    programs = {name: kind.program for name, kind in AGENTS.items() if kind.tried and kind.program}
    here = {name for name, program in programs.items() if place_of(program, None, setup.project, setup.env)}
    for name in (name for name in programs if name in here):
        yield f"--agent {name}: with your account of that program, which is installed here."
    if others := [name for name in programs if name not in here]:
        yield f"--agent {', '.join(others)}: with your account of that program, once it is installed."
    yield "--model ollama:NAME: a model that runs on this machine."
    yield "rgr demo: a whole run with a scripted agent, without any of these."


@dataclass
class Acquaintance:
    """What one invocation has learned about models: who has answered, and what was asked before its time."""

    answered: set[str] = field(default_factory=set[str])
    unpriced: set[str] = field(default_factory=set[str])
    held: "EarlyReply | None" = None
    owed: Usage = field(
        default_factory=Usage
    )  # for words that were asked for, to be put on the next session's bill
    cut: Usage | None = None  # the bill of a session that was interrupted
    loading: Thread | None = None  # of the provider's client


@dataclass(frozen=True, slots=True)
class EarlyReply:
    """The answer to a request that was made before its time."""

    text: str  # of the brief
    reply: "ModelResponse"
    talk: Conversation


@dataclass(frozen=True, slots=True)
class ApiAgent:
    """Every session is a new conversation with the model; its tools work in the folder."""

    way: ModelAccess
    setup: AgentSetup
    toolbox: MakeTools
    tools: Sequence[ToolSchema] = TOOLS
    patience: Patience = field(default_factory=Patience)
    known: Acquaintance = field(default_factory=Acquaintance)
    strategies: frozenset[str] = EVERY_STRATEGY  # what earlier sessions said is part of the brief

    @property
    def name(self) -> str:
        """How it was asked for."""
        return "api"

    def probe(self, brief: Brief) -> None:
        """Make the session's first request, once; whatever hinders it is a NotReadyError, its answer is kept for `work`."""
        if self.way.model not in self.known.answered:
            self.setup.emit(ModelAsked(self.way.model))
            _run(self._probed(brief))

    def load(self) -> None:
        """Begin to load the provider's client."""
        self.known.loading = load_client(self.way.provider)

    def greet(self) -> None:
        """Ask the model for a word, unless it has answered before; whatever hinders it is a NotReadyError."""
        if self.way.model not in self.known.answered:
            self.setup.emit(ModelAsked(self.way.model))
            _run(self._greeted())

    def work(self, brief: Brief, folder: Path, say: Say) -> Report:
        """Let the model work in the folder until it ends its turn; failure is a value in the report."""
        return _run(self.work_async(brief, folder, say))

    async def work_async(self, brief: Brief, folder: Path, say: Say) -> Report:
        """Do the same for callers with an event loop; when it is cancelled nothing goes on behind its back."""
        stop = Interrupt()
        try:
            with self._struck():
                return await self._session(brief, folder, say, stop)
        except InterruptedRunError as error:
            if self.known.cut is None:
                raise
            raise SessionInterruptedError(error.message, self.known.cut) from error
        finally:
            stop.close()

    async def _session(self, brief: Brief, folder: Path, say: Say, stop: Interrupt) -> Report:
        held, self.known.held = self.known.held, None
        async with self._client() as client:
            talk = self._conversation(brief, client, say)
            reply = _taken_over(talk, held, brief) if held else None
            talk.usage, self.known.owed = talk.usage + self.known.owed, Usage()
            try:
                with closing(self.toolbox(brief, folder, stop)) as tools:
                    message, failure = await self._ended(talk, talk.to_its_end(tools, stop, reply))
            except asyncio.CancelledError:
                self.known.cut = self._bill(talk)
                raise
        usage = self._bill(talk)
        if failure is not None:
            return Report(message, usage, failure, talk.answered_by)
        return answered(brief, message, usage, talk.answered_by)

    async def _ended(self, talk: Conversation, work: Coroutine[Any, Any, str]) -> tuple[str, Finding | None]:
        """Return the session's last text, or why there is none; waits for a server are not the session's own time."""
        seconds = self.setup.session_timeout
        limit = asyncio.timeout(seconds)
        talk.waits.until = time.monotonic() + seconds
        talk.waits.tell = lambda more: limit.reschedule((limit.when() or 0.0) + more)
        try:
            async with limit:
                return await work, None
        except TimeoutError:
            if not limit.expired():
                raise
            return "", talk.waits.trouble.finding() if talk.waits.trouble else overdue(seconds)
        except SessionFailedError as error:
            return "", error.finding
        except Exception as error:
            if (trouble := trouble_in(error)) is None:
                raise
            return "", trouble.finding()

    async def _probed(self, brief: Brief) -> None:
        with self._struck():
            async with self._client() as client:
                talk = self._conversation(brief, client, unheard)
                reply = await _tried_once(talk)
        self.known.held = EarlyReply(brief.text, reply, talk)

    async def _greeted(self) -> None:
        with self._struck():
            async with self._client() as client:
                talk = self._talk(_parameters((), ""), _asking(GREETING), client, unheard)
                talk.longest = SHORT
                await _tried_once(talk)
        self.known.owed += talk.usage

    def _conversation(self, brief: Brief, client: Any, say: Say) -> Conversation:
        parameters = _parameters(self.tools, brief.role.preamble)
        talk = self._talk(parameters, _opening(brief), client, say)
        return replace(talk, allowance=brief.allowance_usd, turns=self.setup.session_turns)

    def _talk(
        self, parameters: "ModelRequestParameters", opening: "list[ModelMessage]", client: Any, say: Say
    ) -> Conversation:
        return Conversation(
            way=self.way,
            model=model_of(self.way, client),
            parameters=parameters,
            history=opening,
            say=say,
            emit=self._emit,
            note=self.setup.note,
            waits=Waits(self.patience),
        )

    def _emit(self, event: Event) -> None:
        if isinstance(event, ModelAnswered) and event.error is None:
            self.known.answered.add(self.way.model)
        self.setup.emit(event)

    def _bill(self, talk: Conversation) -> Usage | None:
        """Return what the session used; that nobody knows its price is said once."""
        if talk.usage == Usage():
            return None
        if talk.unpriced and self.way.model not in self.known.unpriced:
            self.known.unpriced.add(self.way.model)
            why = "what it costs is not counted, and no budget stops it"
            self.setup.emit(Warned(f"no price is known for {self.way.model}: {why}"))
        return talk.usage

    def _client(self) -> Any:
        if self.known.loading is not None:
            self.known.loading.join()  # two that import the same at once may see half of it
        from pydantic_ai.models import create_async_httpx2_client  # noqa: PLC0415

        from redgreenrefactor.agents.stream_end import watch  # noqa: PLC0415

        client = create_async_httpx2_client()
        client.event_hooks = {"response": [watch]}
        return client

    @contextmanager
    def _struck(self) -> Generator[None]:
        """Cancel the current task as soon as a stop is requested, and raise InterruptedRunError instead."""
        interrupt, task, loop = self.setup.interrupt, asyncio.current_task(), asyncio.get_running_loop()
        interrupt.check()

        def strike() -> None:
            loop.remove_reader(interrupt.fileno())
            if task is not None:
                task.cancel()

        loop.add_reader(interrupt.fileno(), strike)
        try:
            yield
        except asyncio.CancelledError:
            interrupt.check()
            raise
        finally:
            loop.remove_reader(interrupt.fileno())


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Return what the work returns, also where an event loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as elsewhere:
        return elsewhere.submit(asyncio.run, work).result()


def _parameters(tools: Sequence[ToolSchema], preamble: str) -> "ModelRequestParameters":
    """Return what is the same for every session of every role, so that it can be cached."""
    from pydantic_ai.messages import InstructionPart  # noqa: PLC0415
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415
    from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415

    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
                strict=False,
            )
            for tool in tools
        ],
        instruction_parts=[InstructionPart(content=preamble)] if preamble else [],
    )


def _opening(brief: Brief) -> "list[ModelMessage]":
    """Return what a session begins with, in the order of caches: what all share, what a role shares, its own task."""
    from pydantic_ai.messages import CachePoint, ModelRequest, UserPromptPart  # noqa: PLC0415

    shared = brief.role.preamble
    role = brief.role.system_prompt.removeprefix(shared).strip("\n")
    told = UserPromptPart([f"{role}\n\n", CachePoint(), f"{brief.task.rstrip()}\n"])
    return [ModelRequest(parts=[told], instructions=shared or None)]


def _asking(text: str) -> "list[ModelMessage]":
    from pydantic_ai.messages import ModelRequest, UserPromptPart  # noqa: PLC0415

    return [ModelRequest(parts=[UserPromptPart(text)])]


async def _tried_once(talk: Conversation) -> "ModelResponse":
    """Return the model's reply, asked for once; whatever hinders it is a NotReadyError."""
    talk.waits = Waits(ONCE)
    try:
        return await talk.reply()
    except Exception as error:
        if (trouble := trouble_in(error)) is None:
            raise
        raise trouble.error() from error


def _taken_over(talk: Conversation, held: EarlyReply, brief: Brief) -> "ModelResponse | None":
    """Return the answer that was given before, if it was this brief's; its bill is this conversation's anyway."""
    talk.usage, talk.unpriced, talk.answered_by = held.talk.usage, held.talk.unpriced, held.talk.answered_by
    if held.text != brief.text:
        return None
    talk.history.append(held.reply)
    lines = SpokenLines(talk.say)
    lines.add(held.reply.text or "")
    lines.finish()
    return held.reply
