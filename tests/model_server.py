"""A model server on loopback that speaks the wire formats of three providers; what it says is a function."""

import itertools
import json
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, cast

from serving import serving

Json = dict[str, Any]
_THANKS = "Got it. Thanks for the context!"
KEY = "sk-loopback"
USED = {"input": 100, "output": 20, "read": 30, "write": 7}  # tokens a request is said to use


@dataclass(frozen=True)
class Call:
    """A tool's call, its arguments as the model spells them."""

    name: str
    arguments: str

    @staticmethod
    def of(name: str, **arguments: Any) -> "Call":
        return Call(name, json.dumps(arguments))


@dataclass(frozen=True)
class Reply:
    """What the model says and wants done."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    cut: bool = False  # at the token limit
    declined: bool = False


@dataclass(frozen=True)
class Status:
    """An error instead of a reply."""

    code: int
    message: str = "no"
    kind: str = "error"
    after: str | None = None
    body: str | None = None  # instead of what the API would say


@dataclass(frozen=True)
class Dropped:
    """The connection is cut in the middle of this reply."""

    reply: Reply = Reply("Half a sen")


@dataclass(frozen=True)
class Unended:
    """The stream ends as it should, but the reply's own end never comes."""

    reply: Reply = Reply("Half a sen")
    ends: tuple[str, ...] = (
        "event: message_delta",
        "event: message_stop",
        '"finish_reason": "',
        "event: response.completed",
        '"finishReason"',
    )


@dataclass(frozen=True)
class Silence:
    """Nothing comes until the server is closed."""


Answer = Reply | Status | Dropped | Unended | Silence


@dataclass(frozen=True)
class Asked:
    """A request, whoever's format it came in."""

    path: str
    body: Json
    raw: bytes
    headers: Mapping[str, str]
    dialect: str

    @property
    def model(self) -> str:
        if self.dialect == "google":
            return self.path.partition("/models/")[2].partition(":")[0]
        return str(self.body["model"])

    @property
    def key(self) -> str:
        found = self.headers.get("x-api-key") or self.headers.get("x-goog-api-key")
        return found or self.headers.get("authorization", "").removeprefix("Bearer ")

    @property
    def tools(self) -> Any:
        return self.body["tools"]

    @property
    def system(self) -> str:
        if self.dialect == "anthropic":
            return "\n\n".join(block["text"] for block in self.body["system"])
        if self.dialect == "google":
            return self.body["systemInstruction"]["parts"][0]["text"]
        if self.dialect == "responses":
            told = (turn.get("content", ()) for turn in self.turns if turn.get("role") == "developer")
            return self.body.get("instructions") or "\n\n".join(
                part["text"] for parts in told for part in parts
            )
        return next(message["content"] for message in self.body["messages"] if message["role"] == "system")

    @property
    def turns(self) -> list[Json]:
        """The conversation without its system prompt, in the provider's own format."""
        if self.dialect == "google":
            return self.body["contents"]
        if self.dialect == "responses":
            return self.body["input"]
        turns = [
            message for message in self.body["messages"] if message["role"] not in ("system", "developer")
        ]
        # Qwen Code has its model thank for what it tells of its surroundings, before anybody has asked.
        return turns[2:] if len(turns) > 1 and turns[1].get("content") == _THANKS else turns

    @property
    def brief(self) -> str:
        """The first thing the user said, after what a program tells of its surroundings."""
        first = self.turns[0] if self.dialect != "responses" else self._asking[-1]
        content: Any = first.get("content", first.get("parts"))
        return (
            content
            if isinstance(content, str)
            else "".join(
                str(part["text"]) for part in content if not str(part["text"]).startswith("<system-reminder>")
            )
        )

    @property
    def _asking(self) -> list[Json]:
        """What the user said before the first word of the model."""
        before = itertools.takewhile(lambda turn: turn.get("role") in ("user", "developer"), self.turns)
        return [turn for turn in before if turn["role"] == "user"]

    @property
    def results(self) -> list[str]:
        """What tools have answered so far."""
        return [str(text) for turn in self.turns for text in _results(turn)]

    @property
    def said(self) -> int:
        """How often the model has spoken in this conversation."""
        if self.dialect == "responses":
            return _runs(
                turn.get("role") == "assistant" or turn.get("type") == "function_call" for turn in self.turns
            )
        return sum(turn["role"] in ("assistant", "model") for turn in self.turns)


def _runs(flags: Iterator[bool]) -> int:
    count, before = 0, False
    for flag in flags:
        count += flag and not before
        before = flag
    return count


def _results(turn: Json) -> Iterator[Any]:
    if turn.get("role") == "tool":
        yield turn["content"]
    if turn.get("type") == "function_call_output":
        yield turn["output"]
    for part in cast("list[Json]", turn["parts"]) if "parts" in turn else []:
        if "functionResponse" in part:
            yield part["functionResponse"]["response"]
    content: Any = turn.get("content")
    for block in cast("list[Json]", content) if isinstance(content, list) else []:
        if block.get("type") == "tool_result":
            yield block["content"]


Mind = Callable[[Asked], Answer]


@dataclass
class ModelServer:
    """What was asked, and what is to go wrong with which request."""

    mind: Mind
    url: str = ""
    asked: list[Asked] = field(default_factory=list[Asked])
    troubles: dict[int, Answer] = field(default_factory=dict[int, Answer])  # by the request's number, from 1
    models: set[str] | None = None  # None: all there are
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: Asked) -> Answer:
        """Return what a request gets."""
        with self.lock:
            self.asked.append(asked)
            number = len(self.asked)
        if number in self.troubles:
            return self.troubles[number]
        if asked.key not in (KEY, "no-key-needed"):
            return Status(401, "invalid x-api-key", "authentication_error")
        if self.models is not None and asked.model not in self.models:
            return Status(404, f"model: {asked.model}", "not_found_error")
        return self.mind(asked)


@contextmanager
def model_server(mind: Mind) -> Generator[ModelServer]:
    """Serve on loopback until the block ends."""
    server = ModelServer(mind)
    with serving(_speaker(server)) as server.url:
        try:
            yield server
        finally:
            server.closing.set()


def _speaker(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Speaker(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

        def do_HEAD(self) -> None:
            self._send(200, "application/json", "")

        def do_GET(self) -> None:
            self._send(404, "application/json", "{}")

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            dialect = _dialect(self.path)
            if dialect is None:
                return self._send(404, "text/html", "<html>Not Found</html>")
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.path, json.loads(raw), raw, headers, dialect)
            return self._say(asked, server.answer(asked))

        def _say(self, asked: Asked, answer: Answer) -> None:
            match answer:
                case Status():
                    body = answer.body or json.dumps(_error(asked.dialect, answer))
                    kind = "application/json" if answer.body is None else "text/html"
                    self._send(answer.code, kind, body, {"retry-after": answer.after} if answer.after else {})
                case Silence():
                    server.closing.wait(60)
                    self.close_connection = True
                case Dropped():
                    events = list(_SPOKEN[asked.dialect](asked, answer.reply))
                    self._stream(events[: max(1, len(events) // 2)], cut=True)
                case Unended():
                    events = _SPOKEN[asked.dialect](asked, answer.reply)
                    self._stream((e for e in events if not any(end in e for end in answer.ends)), cut=False)
                case Reply():
                    self._stream(_SPOKEN[asked.dialect](asked, answer), cut=False)

        def _send(self, code: int, kind: str, body: str, headers: Mapping[str, str] | None = None) -> None:
            self.send_response(code)
            for name, value in {
                "content-type": kind,
                "content-length": str(len(body.encode())),
                **(headers or {}),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def _stream(self, events: "Iterator[str] | list[str]", *, cut: bool) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for event in events:
                piece = event.encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            if not cut:
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = cut

    return Speaker


def _dialect(path: str) -> str | None:
    path = path.partition("?")[0]
    for end, dialect in {
        "/v1/messages": "anthropic",
        "/responses": "responses",
        "/chat/completions": "chat",
        ":streamGenerateContent": "google",
    }.items():
        if path.endswith(end):
            return dialect
    return None


def _error(dialect: str, status: Status) -> Json:
    if dialect == "anthropic":
        return {"type": "error", "error": {"type": status.kind, "message": status.message}}
    if dialect == "google":
        return {"error": {"code": status.code, "message": status.message, "status": status.kind}}
    return {"error": {"message": status.message, "type": status.kind, "code": None}}


# --- how each provider spells a reply


def _event(name: str, **body: Any) -> str:
    return f"event: {name}\ndata: {json.dumps({'type': name, **body})}\n\n"


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _anthropic(asked: Asked, reply: Reply) -> Iterator[str]:
    used = {
        "input_tokens": USED["input"],
        "cache_creation_input_tokens": USED["write"],
        "cache_read_input_tokens": USED["read"],
        "output_tokens": 1,
    }
    head: Json = {
        "id": f"msg_{len(asked.raw)}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
    }
    yield _event("message_start", message={**head, "stop_reason": None, "stop_sequence": None, "usage": used})
    index = 0
    if reply.text:
        yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for half in _halves(reply.text):
            yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": half})
        yield _event("content_block_stop", index=0)
        index = 1
    for number, call in enumerate(reply.calls, index):
        block: Json = {
            "type": "tool_use",
            "id": f"toolu_{len(asked.raw)}_{number}",
            "name": call.name,
            "input": {},
        }
        yield _event("content_block_start", index=number, content_block=block)
        for half in _halves(call.arguments):
            yield _event(
                "content_block_delta", index=number, delta={"type": "input_json_delta", "partial_json": half}
            )
        yield _event("content_block_stop", index=number)
    stop = "tool_use" if reply.calls else "end_turn"
    stop = "max_tokens" if reply.cut else "refusal" if reply.declined else stop
    yield _event(
        "message_delta",
        delta={"stop_reason": stop, "stop_sequence": None},
        usage={"output_tokens": USED["output"]},
    )
    yield _event("message_stop")


def _chat(asked: Asked, reply: Reply) -> Iterator[str]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": asked.model}

    def chunk(delta: Json, finish: str | None = None, **more: Any) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return f"data: {json.dumps({**head, 'choices': choices, **more})}\n\n"

    yield chunk({"role": "assistant", "content": ""})
    for half in _halves(reply.text):
        yield chunk({"content": half})
    for number, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": call.arguments}
        spelled = {
            "index": number,
            "id": f"call_{len(asked.raw)}_{number}",
            "type": "function",
            "function": function,
        }
        yield chunk({"tool_calls": [spelled]})
    finish = "tool_calls" if reply.calls else "stop"
    yield chunk({}, "length" if reply.cut else "content_filter" if reply.declined else finish)
    used = {
        "prompt_tokens": USED["input"] + USED["read"],
        "completion_tokens": USED["output"],
        "total_tokens": USED["input"] + USED["read"] + USED["output"],
        "prompt_tokens_details": {"cached_tokens": USED["read"]},
    }
    yield f"data: {json.dumps({**head, 'choices': [], 'usage': used})}\n\n"
    yield "data: [DONE]\n\n"


def _responses(asked: Asked, reply: Reply) -> Iterator[str]:
    base: Json = {"id": "resp_1", "object": "response", "created_at": 1, "model": asked.model, "output": []}
    base |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    yield _event("response.created", sequence_number=0, response={**base, "status": "in_progress"})
    output: list[Json] = []
    if reply.text:
        item: Json = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
        where = {"output_index": 0, "item_id": "msg_1", "content_index": 0, "sequence_number": 1}
        yield _event("response.output_item.added", **where, item={**item, "status": "in_progress"})
        part: Json = {"type": "output_text", "text": "", "annotations": []}
        yield _event("response.content_part.added", **where, part=part)
        for half in _halves(reply.text):
            yield _event("response.output_text.delta", **where, delta=half, logprobs=[])
        done = {**part, "text": reply.text}
        yield _event("response.output_text.done", **where, text=reply.text, logprobs=[])
        yield _event("response.content_part.done", **where, part=done)
        item |= {"content": [done], "status": "completed"}
        output.append(item)
        yield _event("response.output_item.done", **where, item=item)
    for number, call in enumerate(reply.calls, len(output)):
        ident = f"{len(asked.raw)}_{number}"
        spelled = {
            "type": "function_call",
            "id": f"fc_{ident}",
            "call_id": f"call_{ident}",
            "name": call.name,
        }
        where = {"output_index": number, "sequence_number": 2}
        yield _event(
            "response.output_item.added", **where, item={**spelled, "arguments": "", "status": "in_progress"}
        )
        for half in _halves(call.arguments):
            yield _event("response.function_call_arguments.delta", **where, item_id=spelled["id"], delta=half)
        spelled |= {"arguments": call.arguments, "status": "completed"}
        output.append(spelled)
        yield _event("response.output_item.done", **where, item=spelled)
    used = {
        "input_tokens": USED["input"] + USED["read"],
        "input_tokens_details": {"cached_tokens": USED["read"], "cache_write_tokens": 0},
        "output_tokens": USED["output"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": USED["input"] + USED["read"] + USED["output"],
    }
    end = {**base, "status": "completed", "output": output, "usage": used}
    if reply.cut:
        cut = {**end, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        yield _event("response.incomplete", sequence_number=9, response=cut)
    else:
        yield _event("response.completed", sequence_number=9, response=end)


def _google(asked: Asked, reply: Reply) -> Iterator[str]:
    used = {
        "promptTokenCount": USED["input"] + USED["read"],
        "cachedContentTokenCount": USED["read"],
        "candidatesTokenCount": USED["output"],
        "totalTokenCount": USED["input"] + USED["read"] + USED["output"],
    }

    def chunk(parts: list[Json], finish: str | None = None) -> str:
        candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
        body: Json = {"candidates": [candidate], "modelVersion": asked.model, "responseId": "r1"}
        if finish:
            candidate["finishReason"] = finish
            body["usageMetadata"] = used
        return f"data: {json.dumps(body)}\n\n"

    for half in _halves(reply.text) if reply.text else ():
        yield chunk([{"text": half}])
    for number, call in enumerate(reply.calls):
        spelled = {"name": call.name, "args": _object(call.arguments), "id": f"fc_{len(asked.raw)}_{number}"}
        yield chunk([{"functionCall": spelled}])
    yield chunk([{"text": ""}], "MAX_TOKENS" if reply.cut else "SAFETY" if reply.declined else "STOP")


def _object(arguments: str) -> Json:
    try:
        value: Any = json.loads(arguments)
    except ValueError:
        value = None
    return cast("Json", value) if isinstance(value, dict) else {}


_SPOKEN: dict[str, Callable[[Asked, Reply], Iterator[str]]] = {
    "anthropic": _anthropic,
    "chat": _chat,
    "responses": _responses,
    "google": _google,
}
