"""Events become OpenTelemetry traces, named as the conventions for generative AI name them."""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from redgreenrefactor.model.events import (
    Emit,
    Event,
    Judged,
    ModelAnswered,
    RunEnded,
    RunStarted,
    SessionBegan,
    SessionReported,
    SuiteEnded,
    ToolUsed,
    TurnStarted,
    Warned,
)
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.verdict import Ruling

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROVIDERS = {"google": "gcp.gemini", "openai-chat": "openai", "openai-responses": "openai"}
FLUSH = 5.0  # seconds the end of a run waits for a collector that does not answer

Attributes = Mapping[str, str | bool | int | float | list[str]]


def wanted(environ: Mapping[str, str]) -> bool:
    """Tell whether somebody collects traces."""
    off = (
        environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
        or environ.get("OTEL_TRACES_EXPORTER") == "none"
    )
    return not off and any(environ.get(name, "").strip() for name in ENDPOINTS)


def tracing(environ: Mapping[str, str], warn: Emit) -> "Tracing | None":
    """Return what sends traces where the environment says; None, with a warning, where it cannot be sent."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    except ImportError:
        warn(Warned("traces are wanted, but the exporter is not there: pip install 'redgreenrefactor[otel]'"))
        return None
    exact = environ.get(ENDPOINTS[0], "").strip()
    address = exact or f"{environ[ENDPOINTS[1]].strip().rstrip('/')}/v1/traces"
    return Tracing(OTLPSpanExporter(endpoint=address), environ)


class Tracing:
    """A span for the run, each phase, session, request, tool call and suite, as their events come in.

    A collector that is not there costs a few seconds at the end, and nothing else.
    """

    def __init__(
        self, exporter: "SpanExporter", environ: Mapping[str, str], clock: Callable[[], int] = time.time_ns
    ) -> None:
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

        name = environ.get("OTEL_SERVICE_NAME", "").strip() or "redgreenrefactor"
        self._log = logging.getLogger("opentelemetry")
        self._unsaid = logging.NullHandler()  # a collector's absence is not worth a line on the screen
        self._log.addHandler(self._unsaid)
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": name}), shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("redgreenrefactor")
        self._clock = clock
        self._open: dict[str, Span] = {}

    def __call__(self, event: Event) -> None:
        """Begin and end spans; never raises."""
        match event:
            case RunStarted():
                self._begin("run", "rgr run", None, _run(event))
            case TurnStarted():
                self._begin("phase", f"phase {event.phase}", "run", _turn(event))
            case SessionBegan():
                self._begin("session", f"invoke_agent {event.brief.role.name}", "phase", _session(event))
            case ModelAnswered():
                kind, name = "client", f"chat {event.model}"
                self._past(name, "session", event.seconds, _request(event), kind=kind, error=event.error)
            case ToolUsed():
                error = "tool_error" if event.failed else None
                self._past(f"execute_tool {event.tool}", "session", event.seconds, _tool(event), error=error)
            case SessionReported():
                failure = event.report.failure
                self._end(
                    "session", _used(event.report.usage or Usage()), str(failure.type) if failure else None
                )
            case SuiteEnded():
                self._past("suite", "phase", event.seconds, _suite(event))
            case Judged():
                gravest = event.verdict.gravest
                rejected = gravest if event.verdict.ruling is not Ruling.ACCEPTED else None
                self._end("phase", _judged(event), str(rejected.type) if rejected else None)
            case RunEnded():
                self._end("run", {"rgr.status": event.status}, None)
            case _:
                pass

    def close(self) -> None:
        """Send what there is; spans that nothing has ended were interrupted."""
        for name in reversed(list(self._open)):
            self._end(name, {}, "interrupted")
        with suppress(Exception):
            self._provider.force_flush(int(FLUSH * 1000))
            self._provider.shutdown()
        self._log.removeHandler(self._unsaid)

    def _begin(self, name: str, title: str, inside: str | None, attributes: Attributes) -> None:
        if name in self._open:
            self._end(name, {}, "interrupted")
        span = self._tracer.start_span(
            title, context=self._inside(inside), attributes=dict(attributes), start_time=self._clock()
        )
        self._open[name] = span

    def _past(
        self,
        title: str,
        inside: str,
        seconds: float,
        attributes: Attributes,
        *,
        kind: str = "internal",
        error: str | None = None,
    ) -> None:
        """Record what is over already."""
        from opentelemetry.trace import SpanKind  # noqa: PLC0415

        now = self._clock()
        span = self._tracer.start_span(
            title,
            context=self._inside(inside),
            kind=SpanKind.CLIENT if kind == "client" else SpanKind.INTERNAL,
            attributes=dict(attributes),
            start_time=now - int(seconds * 1e9),
        )
        _mark(span, error)
        span.end(now)

    def _end(self, name: str, attributes: Attributes, error: str | None) -> None:
        for inner in ("session", "phase")[: {"run": 2, "phase": 1}.get(name, 0)]:
            if inner in self._open:
                self._end(inner, {}, error or "interrupted")
        span = self._open.pop(name, None)
        if span is not None:
            span.set_attributes(dict(attributes))
            _mark(span, error)
            span.end(self._clock())

    def _inside(self, name: str | None) -> Any:
        """Return where a new span belongs: the innermost that is open, from there outwards."""
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415

        around = {"session": ("session", "phase", "run"), "phase": ("phase", "run"), "run": ("run",)}
        parent = next((self._open[each] for each in around.get(name or "", ()) if each in self._open), None)
        return set_span_in_context(parent) if parent else None


def _mark(span: "Span", error: str | None) -> None:
    from opentelemetry.trace import StatusCode  # noqa: PLC0415

    if error:
        span.set_attribute("error.type", error)
        span.set_status(StatusCode.ERROR, error)


def _run(event: RunStarted) -> Attributes:
    return {
        "rgr.run.id": event.run_id,
        "rgr.feature": event.feature[:500],
        "rgr.test_command": event.test_command,
        "rgr.resumed": event.resumed,
    }


def _turn(event: TurnStarted) -> Attributes:
    case = {"rgr.case": event.case.description} if event.case else {}
    return {"rgr.phase": str(event.phase), "rgr.cycle": event.cycle, "rgr.attempt": event.attempt, **case}


def _session(event: SessionBegan) -> Attributes:
    brief = event.brief
    asked = brief.role.model.partition(":")[2] or brief.role.model  # whose it is has a name of its own
    model = {"gen_ai.request.model": asked} if asked else {}
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": str(brief.role.name),
        "gen_ai.agent.description": brief.role.description,
        "gen_ai.conversation.id": f"{brief.run_id}/{brief.cycle}-{brief.phase}-{brief.attempt}",
        "rgr.agent": event.agent,
        **model,
    }


def _request(event: ModelAnswered) -> Attributes:
    reply: Attributes = {}
    if event.answered_by:
        reply = {"gen_ai.response.model": event.answered_by, **_used(event.usage)}
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS.get(event.provider, event.provider),
        "gen_ai.request.model": event.model,
        **reply,
        **({"gen_ai.response.finish_reasons": [event.finish]} if event.finish else {}),
    }


def _used(usage: Usage) -> Attributes:
    """Return what was used; here the input counts what came from and went to the cache."""
    cost = {} if usage.cost_usd is None else {"rgr.cost.usd": usage.cost_usd}
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        **cost,
    }


def _tool(event: ToolUsed) -> Attributes:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": event.tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": event.call,
    }


def _suite(event: SuiteEnded) -> Attributes:
    return {
        "rgr.suite.purpose": event.purpose,
        "rgr.suite.passed": event.passed,
        "rgr.suite.failed": event.failed,
        "rgr.suite.total": event.total,
        "rgr.suite.exit_code": event.exit_code,
    }


def _judged(event: Judged) -> Attributes:
    commit = {"rgr.commit": event.commit} if event.commit else {}
    return {"rgr.verdict": str(event.verdict.ruling), **commit}
