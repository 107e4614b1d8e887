import threading
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from redgreenrefactor.model.events import (
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
)
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.session import Brief, Report, Role, Usage
from redgreenrefactor.model.verdict import Finding, FindingType, rule
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.records.telemetry import Tracing, tracing, wanted

CASE = Case("adds", "test_a.py", "a.py")
BRIEF = Brief(
    Role(RoleName.TEST, "writes", "", model="anthropic:claude"), PhaseName.RED, 1, 2, "r7", "", "{}"
)
USED = Usage(100, 20, 30, 7, 0.5)
START: list[Event] = [
    RunStarted("r7", "A calculator", "here", "pytest", "per-test"),
    SuiteEnded("baseline", 3, 0, 3, 0.5, per_test=True, exit_code=0),
    TurnStarted(PhaseName.RED, 1, 2, CASE, "api"),
    SessionBegan(BRIEF, "api", "here", "abc"),
]
WORK: list[Event] = [
    ModelAnswered("google", "gemini", "gemini-2.5", USED, 2.0, "tool_call"),
    ToolUsed("Bash", "call-1", failed=True, seconds=1.0),
    ModelAnswered("google", "gemini", "", Usage(), 0.1, "", error="RateLimited"),
]
END: list[Event] = [
    SessionReported(Report("done", USED), 4.0),
    SuiteEnded("after", 3, 1, 4, 0.25, per_test=True, exit_code=1),
    Judged(PhaseName.RED, 1, 2, rule(), "def", "test: adds", 5.0),
    RunEnded("complete", "", 6.0),
]


def traced(events: Sequence[Event]) -> list[ReadableSpan]:
    exporter = InMemorySpanExporter()
    with closing(Tracing(exporter, {})) as listener:
        for event in events:
            listener(event)
    return list(exporter.get_finished_spans())


def tree(spans: Sequence[ReadableSpan]) -> set[tuple[str, str | None]]:
    names = {span.context.span_id: span.name for span in spans if span.context}
    return {(span.name, names[span.parent.span_id] if span.parent else None) for span in spans}


def attributes(spans: Sequence[ReadableSpan], name: str) -> dict[str, Any]:
    return dict(next(span for span in spans if span.name == name).attributes or {})


def test_a_run_is_a_tree_of_spans() -> None:
    assert tree(traced([*START, *WORK, *END])) == {
        ("rgr run", None),
        ("suite", "rgr run"),
        ("phase RED", "rgr run"),
        ("invoke_agent test", "phase RED"),
        ("chat gemini", "invoke_agent test"),
        ("execute_tool Bash", "invoke_agent test"),
        ("suite", "phase RED"),
    }


def test_names_are_those_of_the_conventions() -> None:
    spans = traced([*START, *WORK[:2], *END])

    assert attributes(spans, "invoke_agent test")["gen_ai.request.model"] == "claude"
    assert attributes(spans, "chat gemini") == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini",
        "gen_ai.response.model": "gemini-2.5",
        "gen_ai.response.finish_reasons": ("tool_call",),
        "gen_ai.usage.input_tokens": 137,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 30,
        "gen_ai.usage.cache_creation.input_tokens": 7,
        "rgr.cost.usd": 0.5,
    }
    agent = attributes(spans, "invoke_agent test")
    assert agent["gen_ai.operation.name"] == "invoke_agent"
    assert agent["gen_ai.conversation.id"] == "r7/1-RED-2"
    assert agent["gen_ai.usage.output_tokens"] == 20
    assert attributes(spans, "execute_tool Bash")["gen_ai.tool.name"] == "Bash"
    assert attributes(spans, "phase RED")["rgr.verdict"] == "accepted"


def test_a_span_lasts_as_long_as_what_it_tells_of() -> None:
    chat = next(span for span in traced([*START, *WORK, *END]) if span.name == "chat gemini")

    assert chat.start_time
    assert chat.end_time
    assert chat.end_time - chat.start_time == 2_000_000_000


def test_what_failed_is_marked() -> None:
    rejected = rule(Finding(FindingType.TEST_FAILURE, "no"))
    failed = Report("", None, Finding(FindingType.TIMEOUT, "too long"))
    spans = traced(
        [
            *START,
            *WORK,
            SessionReported(failed, 1.0),
            Judged(PhaseName.RED, 1, 2, rejected, None, "", 1.0),
            END[-1],
        ]
    )
    marked = {
        (span.name, span.attributes["error.type"])
        for span in spans
        if "error.type" in (span.attributes or {}) and span.attributes
    }

    assert marked == {
        ("chat gemini", "RateLimited"),
        ("execute_tool Bash", "tool_error"),
        ("invoke_agent test", "Timeout"),
        ("phase RED", "TestFailure"),
    }


@pytest.mark.parametrize("events", [START, [*START, *WORK, END[0]], [*START, END[-1]]])
def test_what_is_cut_off_is_ended_all_the_same(events: list[Event]) -> None:
    spans = traced(events)

    assert {"rgr run", "phase RED", "invoke_agent test"} <= {span.name for span in spans}
    assert attributes(spans, "phase RED")["error.type"] == "interrupted"


def test_a_session_begun_twice_is_two() -> None:
    spans = traced([*START, START[-1], *END])

    assert [span.name for span in spans].count("invoke_agent test") == 2


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_traces_are_sent_only_where_somebody_collects_them(environ: dict[str, str], expected: bool) -> None:
    assert wanted(environ) is expected


@contextmanager
def collector() -> Generator[tuple[str, list[tuple[str, bytes]]]]:
    got: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

    http = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=lambda: http.serve_forever(poll_interval=0.02))
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}", got
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("variable", "path"),
    [("OTEL_EXPORTER_OTLP_ENDPOINT", ""), ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "/v1/traces")],
)
def test_a_collector_gets_them_over_http(variable: str, path: str) -> None:
    with collector() as (address, got):
        listener = tracing({variable: f"{address}{path}", "OTEL_SERVICE_NAME": "mine"}, lambda _: None)
        assert listener
        with closing(listener):
            for event in [*START, *WORK, *END]:
                listener(event)

    assert {where for where, _ in got} == {"/v1/traces"}
    sent = ExportTraceServiceRequest.FromString(got[0][1]).resource_spans[0]
    assert len(sent.scope_spans[0].spans) == 8
    named = {attribute.key: attribute.value.string_value for attribute in sent.resource.attributes}
    assert named["service.name"] == "mine"
