"""One session with a program that speaks the Agent Client Protocol: what is asked of it, what it asks, what it tells."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from acp import schema
from acp.meta import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION
from pydantic import BaseModel, ValidationError

from redgreenrefactor.agents.acp_permissions import Bounds, choice, files_of
from redgreenrefactor.agents.acp_presets import AcpPreset, Counting
from redgreenrefactor.agents.acp_tool_calls import ToolCalls
from redgreenrefactor.agents.foreign_program import HOPELESS, refused_by_server
from redgreenrefactor.agents.program_agent import SessionOrder
from redgreenrefactor.agents.program_events import (
    ActionRefused,
    ProgramEvent,
    ReplyBilled,
    RequestRetried,
    SessionConcluded,
    SessionOpened,
)
from redgreenrefactor.agents.program_session import objects
from redgreenrefactor.filesystem import put
from redgreenrefactor.model.codec import json_list, json_object
from redgreenrefactor.model.session import Usage, Uttered
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.prompts.quote import in_line

Send = Callable[[Mapping[str, Any]], None]
Heard = Callable[[Mapping[str, Any]], Iterator[ProgramEvent]]
_MOST_RETRIES = 8  # of a request, one after the other: a server that is busy for minutes is
_LONG = 500  # characters of what is said about a failure
_AUTH_REQUIRED = -32000
_NO_METHOD = {"code": -32601, "message": "this client has no such method"}
_STATUS = re.compile(r"(?i)(?:\bstatus|\bcode|\bhttp|\berror)\W{0,12}([45]\d\d)\b|^([45]\d\d)\b")
_WORDS = {  # of servers, where no number is passed on
    429: re.compile(r"(?i)rate.?limit|too many requests|quota|slow down|resource.?exhausted"),
    529: re.compile(r"(?i)overloaded"),
    401: re.compile(r"(?i)api.?key|unauthori[sz]ed|authenticat|credential|not logged in|log ?in"),
    404: re.compile(r"(?i)model\W.*not (?:found|exist)|unknown model"),
    503: re.compile(r"(?i)econnre|enotfound|fetch failed|network|socket|timed? ?out|unavailable|connect"),
}


@dataclass
class AcpConversation:
    """The client's side of one session, which begins with the first word of `begin` and ends with one turn."""

    order: SessionOrder
    preset: AcpPreset
    prompt: str
    send: Send
    bills: (
        Path  # a folder in which it is kept what sessions have cost: programs tell the sum of all their turns
    )
    _: KW_ONLY
    _number: int = 0  # of the last request
    _waiting: dict[int, Heard] = field(default_factory=dict[int, Heard])
    _able: schema.AgentCapabilities | None = None
    _version: str = ""
    _session: str = ""
    _ready: bool = False  # for the turn, when the history is told
    _prompted: bool = False  # what comes before is the history of a session that is gone on with
    _model: str = ""
    _text: str = ""  # since the last call
    _last_text: str = ""
    _refusal: str = ""  # after which nothing has come yet
    _broken: bool = False  # the program says of itself that it failed
    _retries: int = 0
    _cost: float | None = None  # of all turns so far
    _cost_before: float = 0.0
    _calls: ToolCalls = field(default_factory=ToolCalls)

    def begin(self) -> None:
        """Say who we are; everything else follows from what is answered."""
        self._ask(
            "initialize",
            schema.InitializeRequest(
                protocol_version=PROTOCOL_VERSION,
                client_capabilities=schema.ClientCapabilities(),
                client_info=schema.Implementation(name="rgr", version="1"),
            ),
            self._initialized,
        )

    # --- what comes from the program

    def read(self, said: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        """Yield what a message tells, having answered it."""
        try:
            yield from self._understood(said)
        except ValidationError as error:
            problem = in_line(str(error.errors()[0]["msg"]))
            if "method" not in said:
                yield self._failed(f"it answered what the protocol does not know: {problem}")
            elif "id" in said:
                self.send({"jsonrpc": "2.0", "id": said["id"], "error": {"code": -32602, "message": problem}})

    def overhear(self, line: str) -> Iterator[ProgramEvent]:
        """Yield what a line of its standard error tells of requests that failed; the rest is its own affair."""
        found = re.search(self.preset.retried, line) if self.preset.retried else None
        if not found:
            return
        words, status = found[1], _status(found[1])
        self._retries += 1
        patience = _MOST_RETRIES if self.order.setup.retry_backoff else 1
        hopeless = status in HOPELESS or self._retries >= patience
        failure = refused_by_server(self.preset.program, f"the model's server answered {words}", status)
        yield RequestRetried(
            in_line(f"the model's server answered {words}: tried again"), failure if hopeless else None
        )

    def _understood(self, said: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        params = json_object(said.get("params"))
        match said:
            case {"method": method, "id": ident}:
                yield from self._asked(str(method), ident, params)
            case {"method": method} if method == CLIENT_METHODS["session_update"]:
                yield from self._updated(params)
            case {"id": int(ident), "error": error}:
                self._waiting.pop(ident, None)
                yield self._refused(json_object(error))
            case {"id": int(ident)} if ident in self._waiting:
                yield from self._waiting.pop(ident)(json_object(said.get("result")))
            case _:
                pass

    def _asked(self, method: str, ident: Any, params: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        """Answer what the program asks: it may ask for permission, and for nothing else."""
        if method != CLIENT_METHODS["session_request_permission"]:
            self.send({"jsonrpc": "2.0", "id": ident, "error": _NO_METHOD})
            return
        asked = schema.RequestPermissionRequest.model_validate(params)
        call = asked.tool_call
        yield from self._called(self._calls.asked(call))
        kind, files = self._calls.known(call)
        order = self.order
        bounds = Bounds(order.folder, order.locked, order.brief.role.tools)
        self._refusal = bounds.objection(kind, (*files, *files_of(call)))
        outcome = choice(asked.options, allow=not self._refusal)
        answer = schema.RequestPermissionResponse(outcome=outcome)
        self.send({"jsonrpc": "2.0", "id": ident, "result": _spelled(answer)})
        if self._refusal:
            yield ActionRefused(self._refusal, call.tool_call_id)

    def _updated(self, params: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        self._retries = 0
        update = schema.SessionNotification.model_validate(params).update
        if self._ready and not self._prompted and update.session_update == self.preset.history_last:
            self._begin_turn()
        match update:
            case schema.UsageUpdate() if update.cost:
                yield from self._billed(update.cost)
            case _ if not self._prompted:
                pass
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=text)):
                self._text += text
                yield from self._metered(json_object(update.field_meta).get("usage"))
            case schema.ToolCallStart() | schema.ToolCallProgress():
                yield from self._called(self._calls.updated(update))
            case schema.SessionInfoUpdate():
                # Codex tells a failed request in words of the model, and only here that it has failed.
                self._broken = self._broken or '"systemError"' in json.dumps(update.field_meta)
            case _:
                pass

    def _called(self, events: Iterator[ProgramEvent]) -> Iterator[ProgramEvent]:
        """Yield what is known of calls, after what was said before them."""
        for event in events:
            yield from self._uttered()
            yield event

    def _uttered(self) -> Iterator[ProgramEvent]:
        text, self._text = self._text.strip(), ""
        if text:
            self._last_text = text
            if text != self.preset.gives_up:
                self._refusal = ""
            yield Uttered(text)

    def _metered(self, used: Any) -> Iterator[ProgramEvent]:
        """Take in what a request has used, where the program tells it of each."""
        if used and self.preset.counting is Counting.REQUEST:
            yield ReplyBilled(Usage(*self._counted(schema.Usage.model_validate(used))), self._model)

    def _billed(self, cost: schema.Cost) -> Iterator[ProgramEvent]:
        """Take in what all turns have cost so far; those before this one are none of its business."""
        if cost.currency.upper() != "USD":
            return
        before = self._cost_before if self._cost is None else self._cost
        if not self._prompted:
            self._cost_before = cost.amount
            return
        self._cost = cost.amount
        if cost.amount > before:
            yield ReplyBilled(Usage(cost_usd=cost.amount - before), self._model)

    # --- what is asked of the program, in this order

    def _ask(self, method: str, request: BaseModel, then: Heard) -> None:
        self._send(AGENT_METHODS[method], _spelled(request), then)

    def _send(self, method: str, params: Mapping[str, Any], then: Heard) -> None:
        self._number += 1
        self._waiting[self._number] = then
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})

    def _initialized(self, result: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        here = schema.InitializeResponse.model_validate(result)
        self._able = here.agent_capabilities
        self._version = here.agent_info.version if here.agent_info else ""
        if here.protocol_version != PROTOCOL_VERSION:
            yield self._failed(
                f"it speaks version {here.protocol_version} of the protocol, not {PROTOCOL_VERSION}"
            )
        elif not self._opening():
            how = "fork" if self.order.brief.strategy == "fork" else "go on with"
            yield self._failed(f"this program cannot {how} an earlier session")

    def _opening(self) -> bool:
        """Ask for the session; tell whether the program has such a way."""
        where, parent, able = (
            str(self.order.folder),
            self.order.parent,
            self._able and self._able.session_capabilities,
        )
        if not parent:
            self._ask("session_new", schema.NewSessionRequest(cwd=where, mcp_servers=[]), self._opened)
        elif self.order.brief.strategy == "fork":
            if not (able and able.fork):
                return False
            asked = schema.ForkSessionRequest(cwd=where, session_id=parent, mcp_servers=[])
            self._ask("session_fork", asked, self._opened)
        elif able and able.resume:
            again = schema.ResumeSessionRequest(cwd=where, session_id=parent, mcp_servers=[])
            self._ask("session_resume", again, self._opened)
        elif self._able and self._able.load_session:
            loaded = schema.LoadSessionRequest(cwd=where, session_id=parent, mcp_servers=[])
            self._ask("session_load", loaded, self._opened)
        else:
            return False
        return True

    def _opened(self, result: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        opened = schema.NewSessionResponse.model_validate({"sessionId": self.order.parent, **result})
        self._session = opened.session_id
        self._cost_before = self._cost_before or self._paid(self.order.parent)
        option = next((each for each in opened.config_options or () if each.category == "model"), None)
        offered = json_object(result.get("models"))
        told = self.order.model if self.preset.with_model else ""
        self._model = told or str(option.current_value if option else offered.get("currentModelId") or "")
        yield SessionOpened(self._session, self._model, self._version)
        wanted = self.order.model
        if self.preset.with_model or not wanted or wanted == self._model:
            self._begin_turn()
        elif option:
            chosen = schema.SetSessionConfigOptionSelectRequest(
                config_id=option.id, session_id=self._session, value=wanted
            )
            self._ask("session_set_config_option", chosen, self._chosen)
        elif offered:
            self._send("session/set_model", {"sessionId": self._session, "modelId": wanted}, self._chosen)
        else:
            yield self._failed(f"this program takes no model from others, and {wanted} is set")

    def _chosen(self, _result: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        self._model = self.order.model
        yield SessionOpened(self._session, self._model, self._version)
        self._begin_turn()

    def _begin_turn(self) -> None:
        """Say what is to be done, as soon as nothing is told any more of what was before."""
        if self.order.parent and self.preset.history_last and not self._ready:
            self._ready = True
            return
        self._prompted = True
        text = schema.TextContentBlock(type="text", text=self.prompt)
        self._ask(
            "session_prompt", schema.PromptRequest(session_id=self._session, prompt=[text]), self._ended
        )

    def _ended(self, result: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        ended = schema.PromptResponse.model_validate(result)
        yield from self._uttered()
        usage = self._used(ended)
        if self._model:
            yield SessionOpened(self._session, self._model, self._version)
        pattern = self.preset.unserved
        if self._broken or (pattern and re.search(pattern, self._last_text)):
            yield self._unserved(self._last_text, None, usage)
        elif self._refusal:
            yield self._failed(f"it ended its turn when it was refused: {self._refusal}", usage)
        elif ended.stop_reason != "end_turn":
            yield self._failed(f"it ended its turn with {ended.stop_reason!r}", usage)
        else:
            yield SessionConcluded(self._last_text, usage)

    # --- what it comes to

    def _used(self, ended: schema.PromptResponse) -> Usage | None:
        """Return what the turn used, as far as the program tells; what it tells of the last request alone is not counted."""
        cost = None if self._cost is None else self._cost - self._cost_before
        if self._cost is not None:
            put(self._bill(self._session), str(self._cost).encode())
        tokens = self._tokens(ended) if self.preset.counting is Counting.PROMPT else None
        self._model = _model_of(ended) or self._model
        if tokens is None:
            return None if cost is None else Usage(cost_usd=cost)
        return Usage(*tokens, cost)

    def _tokens(self, ended: schema.PromptResponse) -> tuple[int, int, int, int] | None:
        """Return what the turn's tokens were, by the protocol's own word or by Gemini's."""
        if ended.usage:
            return self._counted(ended.usage)
        count = json_object(_quota(ended).get("token_count"))
        if not count:
            return None
        return int(count.get("input_tokens") or 0), int(count.get("output_tokens") or 0), 0, 0

    def _counted(self, used: schema.Usage) -> tuple[int, int, int, int]:
        """Return input, output, read from and written to the cache."""
        read, written = used.cached_read_tokens or 0, used.cached_write_tokens or 0
        within = read + written if self.preset.cached_within else 0
        return used.input_tokens - within, used.output_tokens + (used.thought_tokens or 0), read, written

    def _paid(self, session: str) -> float:
        """Return what a session had cost when it ended."""
        with suppress(OSError, ValueError):
            return float(self._bill(session).read_text())
        return 0.0

    def _bill(self, session: str) -> Path:
        return self.bills / re.sub(r"\W", "-", f"bill {session}")

    def _refused(self, error: Mapping[str, Any]) -> SessionConcluded:
        """Return the end of a session one of whose requests was answered with an error."""
        code, data = error.get("code"), error.get("data")
        answer = str(error.get("message", ""))
        message = _said(answer)
        words = "; ".join(filter(None, (message, *_details(data, message))))
        if isinstance(code, int) and 400 <= code < 600:  # noqa: PLR2004 - as servers answer
            return self._unserved(words, code)
        status = _status(f"{answer} {json.dumps(data)}")
        return self._unserved(words, status or (401 if code == _AUTH_REQUIRED else None))

    def _unserved(self, words: str, status: int | None, usage: Usage | None = None) -> SessionConcluded:
        failure = refused_by_server(self.preset.program, words, status or _status(words))
        return SessionConcluded("", usage, failure)

    def _failed(self, words: str, usage: Usage | None = None) -> SessionConcluded:
        failure = Finding(FindingType.AGENT_FAILURE, in_line(f"{self.preset.program.title}: {words}", _LONG))
        return SessionConcluded("", usage, failure)


def _spelled(message: BaseModel) -> dict[str, Any]:
    return message.model_dump(mode="json", by_alias=True, exclude_none=True)


def _said(words: str) -> str:
    """Return what a server said for people, where its answer is passed on whole, or one within the other."""
    with suppress(ValueError, RecursionError):
        answer: Any = json.loads(words)
        first: Any = next(iter(json_list(answer)), answer)
        message: Any = json_object(json_object(first).get("error")).get("message")
        return _said(message) if message and isinstance(message, str) else words
    return words


def _details(data: Any, message: str) -> Iterator[str]:
    """Yield what is told beside a message and does not stand in it."""
    for value in json_object(data).values() if isinstance(data, dict) else [data]:
        text = value if isinstance(value, str) else json.dumps(value)
        if value and text not in message:
            yield text


def _status(words: str) -> int | None:
    """Return the status that a server answered with, as far as words tell."""
    if found := _STATUS.search(words):
        return int(found[1] or found[2])
    return next((status for status, pattern in _WORDS.items() if pattern.search(words)), None)


def _quota(ended: schema.PromptResponse) -> Mapping[str, Any]:
    return json_object((ended.field_meta or {}).get("quota"))


def _model_of(ended: schema.PromptResponse) -> str:
    """Return the model that did most of the turn, where that is told."""
    used = objects(_quota(ended).get("model_usage"))
    return next((str(each.get("model", "")) for each in used), "")
