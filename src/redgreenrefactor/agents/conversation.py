"""One session with a model: what it asks for is done and told, until it ends its turn."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from redgreenrefactor.agents.billing import affordable, cost_of, usage_of
from redgreenrefactor.agents.providers import ModelAccess
from redgreenrefactor.agents.toolbox import ToolResult
from redgreenrefactor.agents.trouble import Trouble, Waits, trouble_of
from redgreenrefactor.model.events import Emit, ModelAnswered, ToolUsed
from redgreenrefactor.model.session import MORE_MONEY, Answered, Called, Usage, Uttered, dollars
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.ports import Note, Say
from redgreenrefactor.prompts.quote import in_line, plain
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.threads import in_thread

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse

CUT = "Interrupted"  # what became of a request that was not waited for
STALE_ROUNDS = 6  # in a row that brought nothing new: the session goes nowhere
CUT_REPLIES = 5  # in a row: the session does not get to its point
FIRST_TIMEOUT = 120.0  # seconds without a sign of life, doubling with each retry
LONGEST_TIMEOUT = 900.0
LONGEST_LINE = 200  # characters of what is said that are held back at most
SHORT = 16  # tokens of a reply: fewer are refused by some
_UNSAID = logging.NullHandler()  # what is logged about retries is shown only to those who asked for logs
CUT_OFF = (
    "Your reply was cut off at the token limit. Go on exactly where it stopped, without repeating anything."
)
CUT_CALL = (
    "Your reply was cut off at the token limit inside this call, so nothing was done."
    " Make it in smaller pieces: several Edit calls, or a shorter file first."
)


class Tools(Protocol):
    """The tools of one session."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Do what was asked for; nonsense is a failed result."""
        ...

    def close(self) -> None:
        """Let the folder go."""
        ...


class SpokenLines:
    """Passes on every line as soon as it is complete, and a long one between two words."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._begun = ""

    def add(self, text: str) -> None:
        """Take in the next piece."""
        *complete, begun = (self._begun + text).split("\n")
        for line in complete:
            self._tell(line)
        while len(begun) > LONGEST_LINE:
            head = begun[:LONGEST_LINE].rpartition(" ")[0] or begun[:LONGEST_LINE]
            self._tell(head)
            begun = begun[len(head) :]
        self._begun = begun

    def finish(self) -> None:
        """Pass on what nothing has completed."""
        self._tell(self._begun)
        self._begun = ""

    def _tell(self, line: str) -> None:
        if text := plain(line).strip():
            self._say(text)


class SessionFailedError(Exception):
    """The session cannot go on; carries what its report says."""

    def __init__(self, finding: Finding, trouble: Trouble | None = None) -> None:
        super().__init__(finding.message)
        self.finding = finding
        self.trouble = trouble


@dataclass
class Conversation:
    """What has been said so far, what it cost, and how it goes on."""

    way: ModelAccess
    model: "Model[Any]"
    parameters: "ModelRequestParameters"
    history: "list[ModelMessage]"
    say: Say
    emit: Emit
    note: Note
    waits: Waits
    allowance: float | None = None  # US dollars
    turns: int | None = None  # replies in all
    longest: int | None = None  # tokens of a reply
    usage: Usage = field(default_factory=Usage)
    unpriced: bool = False  # something was used whose price nobody knows
    answered_by: str = ""
    _turn: int = 0
    _sent: int = 0  # tokens the next request holds at least
    _last_text: str = ""
    _cut: str = ""  # the text of a reply that goes on in the next one
    _cuts: int = 0
    _known: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    _stale: int = 0

    async def to_its_end(self, tools: Tools, stop: Interrupt, held: "ModelResponse | None" = None) -> str:
        """Let the model work until it ends its turn; return its last text."""
        self._turn += held is not None
        reply = held or await self.reply()
        while not self._over(reply):
            self._check_turns()
            await self._go_on(reply, tools, stop)
            reply = await self.reply()
        return self._last_text

    async def reply(self) -> "ModelResponse":
        """Return the model's next reply, asked for as often as patience allows; it is part of the history."""
        import stamina  # noqa: PLC0415

        logging.getLogger("stamina").addHandler(_UNSAID)
        number = 0

        def again(error: Exception) -> bool | float:
            return isinstance(error, _TroubleError) and self._wait(error.trouble, number)

        async for attempt in stamina.retry_context(on=again, attempts=None, timeout=None):
            number = attempt.num
            with attempt:
                response = await self._asked(number)
        self.waits.over()
        self._turn += 1
        self.history.append(response)  # pyright: ignore[reportPossiblyUnboundVariable]
        return response  # pyright: ignore[reportPossiblyUnboundVariable]

    # --- asking

    def _wait(self, trouble: Trouble, number: int) -> bool | float:
        """Return how long to wait for the next try, False if there is none."""
        seconds = self.waits.before(trouble, number)
        if seconds is None:
            return False
        self.say(f"{in_line(trouble.message)}; try {number + 1} in {seconds:.1f} s")
        return seconds

    async def _asked(self, number: int) -> "ModelResponse":
        """Ask once; whatever goes wrong on the way is a _TroubleError, and what it used is counted all the same."""
        from pydantic_ai.exceptions import AgentRunError  # noqa: PLC0415

        from redgreenrefactor.agents.stream_end import require_end  # noqa: PLC0415

        self._check_allowance()
        began, stream = time.monotonic(), None
        try:
            async with self._stream(number) as stream:
                await self._listen(stream)
                response = stream.get()
                require_end(response)
        except (AgentRunError, ValueError) as error:
            trouble = replace(trouble_of(error, self.way), begun=stream is not None)
            self._account(stream.get() if stream else None, time.monotonic() - began, str(trouble.type))
            raise _TroubleError(trouble) from error
        except asyncio.CancelledError:
            self._account(stream.get() if stream else None, time.monotonic() - began, CUT)
            raise
        self._account(response, time.monotonic() - began, None)
        return response

    def _stream(self, number: int) -> Any:
        from pydantic_ai.direct import model_request_stream  # noqa: PLC0415
        from pydantic_ai.settings import ModelSettings  # noqa: PLC0415

        patience = min(FIRST_TIMEOUT * 2 ** (number - 1), LONGEST_TIMEOUT)
        settings = ModelSettings(cache=True, max_retries=0, timeout=patience)
        if (longest := self._longest()) is not None:
            settings["max_tokens"] = longest
        return model_request_stream(
            self.model, self.history, model_settings=settings, model_request_parameters=self.parameters
        )

    def _longest(self) -> int | None:
        """Return the tokens a reply may have: as many as are asked for, and as what is left of the money buys."""
        if self.allowance is None:
            return self.longest
        left = self.allowance - (self.usage.cost_usd or 0.0)
        buys = affordable(self.model, left, self._sent)
        known = [tokens for tokens in (self.longest, buys) if tokens is not None]
        return max(min(known), SHORT) if known else None

    async def _listen(self, stream: "StreamedResponse") -> None:
        """Pass the text on as it comes."""
        from pydantic_ai.messages import (  # noqa: PLC0415
            PartDeltaEvent,
            PartStartEvent,
            TextPart,
            TextPartDelta,
        )

        lines = SpokenLines(self.say)
        async for event in stream:
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    lines.add(text)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    lines.add(text)
                case _:
                    pass
        lines.finish()

    def _account(self, response: "ModelResponse | None", seconds: float, trouble: str | None) -> None:
        """Add what a request used to the bill, and tell of it."""
        used = Usage()
        if response is not None:
            cost = cost_of(response)
            used = usage_of(response, cost)
            self.unpriced |= cost is None and used != Usage()
            self.answered_by = response.model_name or self.answered_by
            self._sent = response.usage.input_tokens + response.usage.output_tokens
        self.usage += used
        self.emit(
            ModelAnswered(
                provider=self.way.provider,
                model=self.way.model,
                answered_by=response.model_name or "" if response else "",
                usage=used,
                seconds=seconds,
                finish=response.finish_reason or "" if response else "",
                error=trouble,
            )
        )

    def _check_allowance(self) -> None:
        spent = self.usage.cost_usd or 0.0
        if self.allowance is not None and spent >= self.allowance:
            message = (
                f"the session has spent {dollars(spent)} of the {dollars(self.allowance)} that were left"
            )
            raise SessionFailedError(Finding(FindingType.BUDGET_EXCEEDED, message, hint=MORE_MONEY))

    def _check_turns(self) -> None:
        if self.turns is not None and self._turn >= self.turns:
            message = (
                f"the session was not done after {self._turn} requests to the model, the most it may make"
            )
            hint = "Work in fewer, larger steps. (The limit is session.turns in tdd.properties.)"
            raise SessionFailedError(Finding(FindingType.AGENT_FAILURE, message, hint=hint))

    # --- going on

    def _over(self, reply: "ModelResponse") -> bool:
        """Tell whether the model has ended its turn; one that was stopped by its maker failed."""
        text = reply.text or ""
        if text.strip():
            self.note(Uttered(text))
        if self._cut or text.strip():
            self._last_text = self._cut + text
        self._cut = ""
        if reply.finish_reason == "content_filter":
            raise _failed(f"{self.way.model} declined to go on: {in_line(text) or 'it gave no reason'}")
        if reply.finish_reason == "length":
            self._cuts += 1
            if self._cuts > CUT_REPLIES:
                raise _failed(f"{CUT_REPLIES + 1} replies in a row were cut off at the token limit")
            return False
        self._cuts = 0
        return not reply.tool_calls

    async def _go_on(self, reply: "ModelResponse", tools: Tools, stop: Interrupt) -> None:
        """Do what the reply asks for, and tell the model what came of it."""
        from pydantic_ai.messages import ModelRequest, UserPromptPart  # noqa: PLC0415

        if not reply.tool_calls:
            self._cut = self._last_text
            self.history.append(ModelRequest(parts=[UserPromptPart(CUT_OFF)]))
            return
        cut = reply.finish_reason == "length"
        calls = list(reply.tool_calls)
        results = [
            await self._used(call, tools, stop, cut=cut and call is calls[-1] and not _whole(call))
            for call in calls
        ]
        self.history.append(ModelRequest(parts=results))
        self._look_for_progress(calls, results)

    async def _used(
        self, call: "ToolCallPart", tools: Tools, stop: Interrupt, *, cut: bool
    ) -> "ToolReturnPart":
        """Return what came of one call."""
        from pydantic_ai.messages import ToolReturnPart  # noqa: PLC0415

        told = f"{call.tool_name} {_told(call)}".strip()
        self.say(told)
        self.note(Called(call.tool_call_id, call.tool_name, call.args_as_dict()))
        began = time.monotonic()
        if cut:
            text, failed = CUT_CALL, True
        elif not _whole(call):
            text, failed = f"The arguments are not a JSON object: {in_line(str(call.args))}", True
        else:
            arguments = call.args_as_dict()
            result = await in_thread(
                lambda: tools.call(call.tool_name, arguments), stop, "the end of the session"
            )
            text, failed = result.text, result.failed
        self.note(Answered(call.tool_call_id, text, failed))
        self.emit(ToolUsed(call.tool_name, call.tool_call_id, failed, time.monotonic() - began))
        return ToolReturnPart(
            call.tool_name, text, call.tool_call_id, outcome="failed" if failed else "success"
        )

    def _look_for_progress(
        self, calls: "Sequence[ToolCallPart]", results: "Sequence[ToolReturnPart]"
    ) -> None:
        """Raise if the last rounds brought nothing but calls and results that were there before."""
        seen = {
            (call.tool_name, call.args_as_json_str(), str(result.content))
            for call, result in zip(calls, results, strict=True)
        }
        self._stale = 0 if seen - self._known else self._stale + 1
        self._known |= seen
        if self._stale >= STALE_ROUNDS:
            call = f"{calls[0].tool_name} {_told(calls[0])}".strip()
            raise _failed(
                f"the session goes nowhere: the same calls gave the same results again and again ({call})"
            )


class _TroubleError(Exception):
    """A request failed."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message)
        self.trouble = trouble


def trouble_in(error: Exception) -> Trouble | None:
    """Return what went wrong with a request, None if it was something else."""
    return error.trouble if isinstance(error, _TroubleError) else None


def _failed(message: str) -> SessionFailedError:
    return SessionFailedError(Finding(FindingType.AGENT_FAILURE, message))


def _whole(call: "ToolCallPart") -> bool:
    try:
        call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return False
    return True


def _told(call: "ToolCallPart") -> str:
    """Return the argument that tells a person most, on one line."""
    arguments = call.args_as_dict()
    telling = ("file_path", "command", "pattern", "path")
    return next((in_line(str(arguments[name]), 120) for name in telling if name in arguments), "")
