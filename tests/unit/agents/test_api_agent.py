"""The real clients of four APIs against a model server on loopback."""

import asyncio
import json
import math
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_setup import setup_with
from model_server import (
    KEY,
    Answer,
    Asked,
    Call,
    Dropped,
    Mind,
    ModelServer,
    Reply,
    Silence,
    Status,
    Unended,
    model_server,
)
from redgreenrefactor.agents.api import ApiAgent
from redgreenrefactor.agents.conversation import CUT_CALL, CUT_OFF, CUT_REPLIES, STALE_ROUNDS
from redgreenrefactor.agents.providers import access
from redgreenrefactor.agents.schemas import ToolSchema
from redgreenrefactor.agents.toolbox import ToolResult
from redgreenrefactor.agents.trouble import Patience
from redgreenrefactor.errors import InterruptedRunError, NotReadyError
from redgreenrefactor.model.events import Event, ModelAnswered, ModelAsked, SessionNoted, ToolUsed, Warned
from redgreenrefactor.model.session import Answered, Brief, Called, Report, Role, Step, Usage, Uttered
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.ports import SessionInterruptedError
from redgreenrefactor.sandbox.process import Interrupt

APIS = (
    "anthropic:claude-opus-4-5-20251101",
    "openai:gpt-5",
    "openai-responses:gpt-5",
    "google:gemini-2.5-pro",
)
CLAUDE = "claude-opus-4-5-20251101"
KEYS: dict[str, str] = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY"), KEY)
PREAMBLE = "You are one of many."
SWIFT = Patience(tries=4, first_wait=0.001)


@dataclass
class Tools:
    """Tools that do what the test says."""

    do: Callable[[str, Mapping[str, Any]], ToolResult]
    calls: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list[tuple[str, Mapping[str, Any]]])
    closed: bool = False

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.calls.append((name, arguments))
        return self.do(name, arguments)

    def close(self) -> None:
        self.closed = True


BASH = ToolSchema("Bash", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}})


def done(name: str, arguments: Mapping[str, Any]) -> ToolResult:
    return ToolResult(f"did {arguments['command']}")


@dataclass
class Bench:
    """An agent, the server it talks to, and what came of it."""

    agent: ApiAgent
    server: ModelServer
    tools: Tools
    stop: list[Interrupt]
    events: list[Event]
    said: list[str] = field(default_factory=list[str])

    @property
    def warnings(self) -> list[str]:
        return [event.message for event in self.events if isinstance(event, Warned)]

    @property
    def steps(self) -> list[Step]:
        return [event.step for event in self.events if isinstance(event, SessionNoted)]

    def work(self, brief: Brief | None = None) -> Report:
        return self.agent.work(brief or brief_for(), Path(), self.said.append)


@contextmanager
def bench(
    mind: Mind,
    spec: str = CLAUDE,
    do: Callable[[str, Mapping[str, Any]], ToolResult] = done,
    **more: Any,
) -> Generator[Bench]:
    tools, stops, events = Tools(do), list[Interrupt](), list[Event]()

    def made(_brief: Brief, _folder: Path, stop: Interrupt) -> Tools:
        stops.append(stop)
        return tools

    with model_server(mind) as server:
        patience = more.pop("patience", SWIFT)
        setup = setup_with(emit=events.append, **more)
        agent = ApiAgent(access(spec, server.url, KEYS), setup, made, tools=[BASH], patience=patience)
        yield Bench(agent, server, tools, stops, events)


def brief_for(phase: PhaseName = PhaseName.PLAN, *, allowance: float | None = None) -> Brief:
    role = Role(RoleName.TEST_LIST, "plans", f"{PREAMBLE}\n\nYou plan.\n", preamble=PREAMBLE)
    return Brief(role, phase, 1, 1, "run-7", "Plan it.", "{}", allowance_usd=allowance)


def script(*answers: Answer) -> Mind:
    """Return what gives one answer after the other, by how often the model has spoken."""
    return lambda asked: answers[min(asked.said, len(answers) - 1)]


RUN = Reply("I look around.", (Call.of("Bash", command="ls"),))
END = Reply("All is well.")


# --- the loop


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
def test_tools_are_used_until_the_model_ends_its_turn(spec: str) -> None:
    both = Reply("", (Call.of("Bash", command="one"), Call.of("Bash", command="two")))
    with bench(script(RUN, both, END), spec) as it:
        report = it.work()

    assert (report.message, report.failure) == ("All is well.", None)
    assert [arguments["command"] for _, arguments in it.tools.calls] == ["ls", "one", "two"]
    assert [result for result in it.server.asked[-1].results if "did two" in result]
    assert it.tools.closed


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
def test_preamble_and_tools_come_before_role_and_task(spec: str) -> None:
    with bench(script(END), spec) as it:
        it.work()
        asked = it.server.asked[0]

    assert asked.system == PREAMBLE
    assert asked.brief == "You plan.\n\nPlan it.\n"
    assert "Run a command." in json.dumps(asked.tools)
    assert asked.model == spec.partition(":")[2]
    assert asked.key == KEY
    assert asked.body.get("stream", True)


def test_what_all_share_the_role_and_the_conversation_are_marked_for_the_cache() -> None:
    with bench(script(END)) as it:
        it.work()
        body = it.server.asked[0].body

    role, task = body["messages"][0]["content"]
    marked = (body, body["tools"][-1], body["system"][-1], role)
    assert [bool(part.get("cache_control")) for part in marked] == [True] * 4
    assert (role["text"], task["text"]) == ("You plan.\n\n", "Plan it.\n")


def test_what_it_says_and_does_is_told_as_it_comes() -> None:
    with bench(script(Reply("First.\nSecond, and", RUN.calls), END)) as it:
        it.work()

    assert it.said == ["First.", "Second, and", "Bash ls", "All is well."]


def test_every_step_is_noted_for_the_transcript() -> None:
    with bench(script(RUN, END)) as it:
        it.work()

    called = it.steps[1]
    assert isinstance(called, Called)
    assert it.steps == [
        Uttered("I look around."),
        Called(called.id, "Bash", {"command": "ls"}),
        Answered(called.id, "did ls"),
        Uttered("All is well."),
    ]


def test_the_last_text_counts_even_if_the_model_goes_on_without_a_word() -> None:
    with bench(script(Reply("The answer.", RUN.calls), Reply(""))) as it:
        assert it.work().message == "The answer."


def test_silence_is_a_failure_where_an_answer_was_asked() -> None:
    with bench(script(RUN.__class__("", RUN.calls), Reply(""))) as it:
        failure = it.work().failure

    assert failure
    assert failure.type is FindingType.AGENT_FAILURE


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
def test_a_failed_call_is_told_as_one(spec: str) -> None:
    with bench(
        script(RUN, END), spec, lambda _name, _arguments: ToolResult("no such file", failed=True)
    ) as it:
        assert it.work().failure is None
        assert "no such file" in it.server.asked[-1].results[0]
        assert [event.failed for event in it.events if isinstance(event, ToolUsed)] == [True]


@pytest.mark.parametrize("spec", [api for api in APIS if "google" not in api])  # whose arguments are no text
@pytest.mark.parametrize("nonsense", ['{"comm', "[1, 2]", '"ls"'])
def test_arguments_that_make_no_sense_are_a_failed_call(spec: str, nonsense: str) -> None:
    with bench(script(Reply("", (Call("Bash", nonsense),)), END), spec) as it:
        assert it.work().failure is None
        assert "not a JSON object" in it.server.asked[-1].results[0]

    assert it.tools.calls == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
def test_a_reply_cut_off_at_the_token_limit_is_continued(spec: str) -> None:
    with bench(script(Reply('{"currentTest": nu', cut=True), Reply("ll}")), spec) as it:
        report = it.work()

    assert report.message == '{"currentTest": null}'
    assert CUT_OFF in json.dumps(it.server.asked[-1].turns[-1])


def test_a_call_cut_off_at_the_token_limit_is_not_made() -> None:
    cut = Reply("", (Call.of("Bash", command="one"), Call("Bash", '{"command": "rm -r')), cut=True)
    with bench(script(cut, END)) as it:
        assert it.work().message == "All is well."
        assert CUT_CALL in it.server.asked[-1].results[-1]

    assert [arguments["command"] for _, arguments in it.tools.calls] == ["one"]


def test_replies_that_are_cut_off_again_and_again_end_the_session() -> None:
    with bench(lambda _asked: Reply("and so on", cut=True)) as it:
        failure = it.work().failure

    assert failure
    assert failure.type is FindingType.AGENT_FAILURE
    assert len(it.server.asked) == CUT_REPLIES + 1


def test_the_same_call_with_the_same_result_again_and_again_ends_the_session() -> None:
    with bench(lambda _asked: RUN) as it:
        failure = it.work().failure

    assert failure
    assert failure.type is FindingType.AGENT_FAILURE
    assert "goes nowhere" in failure.message
    assert len(it.tools.calls) == STALE_ROUNDS + 1


def test_the_same_call_with_other_results_is_progress() -> None:
    rounds = 3 * STALE_ROUNDS
    results = iter(range(rounds))
    mind = script(*[RUN] * rounds, END)
    with bench(mind, do=lambda _name, _arguments: ToolResult(f"{next(results)} tests pass")) as it:
        assert it.work().message == "All is well."


@pytest.mark.parametrize("spec", [api for api in APIS if "responses" not in api])
def test_a_model_that_declines_has_failed(spec: str) -> None:
    with bench(script(Reply("I would rather not.", declined=True)), spec) as it:
        failure = it.work().failure

    assert failure
    assert failure.type is FindingType.AGENT_FAILURE
    assert "declined" in failure.message


# --- what goes wrong on the way


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
@pytest.mark.parametrize(
    "trouble",
    [
        Status(429, "slow down", "rate_limit_error"),
        Status(529, "too much", "overloaded_error"),
        Status(503, "not now", "unavailable"),
        Status(500, "oops", "api_error"),
        Dropped(),
        Unended(),
        Unended(Reply("", (Call.of("Bash", command="half"),))),
    ],
    ids=["rate limit", "overload", "unavailable", "failure", "cut connection", "no end", "no end of a call"],
)
def test_trouble_that_passes_is_waited_out(spec: str, trouble: Answer) -> None:
    with bench(script(RUN, END), spec) as it:
        it.server.troubles = {2: trouble, 3: trouble}
        report = it.work()

    assert (report.message, report.failure) == ("All is well.", None)
    assert len(it.server.asked) == 4
    assert len(it.tools.calls) == 1
    assert [line for line in it.said if "; try 2 in " in line]


@pytest.mark.parametrize(
    ("spec", "end", "asked"),
    [
        (CLAUDE, "event: message_stop", 2),
        ("ollama:llama3", '"finish_reason": "', 2),
        ("openai:gpt-5", "data: [DONE]", 1),  # nothing is missing: finish_reason was there
        ("openai:gpt-5", '"usage"', 1),
    ],
)
def test_what_ends_a_reply_is_what_its_maker_says(spec: str, end: str, asked: int) -> None:
    with bench(script(END), spec) as it:
        it.server.troubles = {1: Unended(END, (end,))}
        report = it.work()

    assert (report.message, report.failure) == ("All is well.", None)
    assert len(it.server.asked) == asked


def test_a_server_that_says_how_long_to_wait_is_obeyed() -> None:
    with bench(script(END)) as it:
        it.server.troubles = {1: Status(429, "slow down", "rate_limit_error", after="1")}
        began = time.monotonic()
        it.work()

    assert time.monotonic() - began >= 1
    assert [line for line in it.said if "in 1.0 s" in line]


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (Status(429, "slow down", "rate_limit_error"), FindingType.RATE_LIMITED),
        (Status(502, "bad gateway", "api_error"), FindingType.NETWORK_ERROR),
    ],
)
def test_trouble_that_does_not_pass_is_waited_for_until_the_session_is_over(
    trouble: Answer, kind: FindingType
) -> None:
    with bench(script(RUN, trouble), session_timeout=0.5, patience=Patience(tries=2, first_wait=0.02)) as it:
        report = it.work()

    assert report.failure
    assert report.failure.type is kind
    assert len(it.server.asked) > 2
    assert report.usage


@pytest.mark.parametrize("trouble", [Dropped(), Unended()], ids=["cut", "no end"])
def test_replies_that_break_off_cost_money_and_are_not_asked_for_without_end(trouble: Answer) -> None:
    with bench(script(RUN, trouble)) as it:
        report = it.work()

    assert report.failure
    assert report.failure.type is FindingType.NETWORK_ERROR
    assert len(it.server.asked) == 1 + SWIFT.tries


def test_without_waits_no_trouble_is_tried_without_end() -> None:
    with bench(script(Status(503, "no", "api_error")), patience=Patience(tries=3, first_wait=0)) as it:
        it.work()

    assert len(it.server.asked) == 3


def test_waits_for_a_server_are_not_the_sessions_own_time() -> None:
    def slow(_name: str, _arguments: Mapping[str, Any]) -> ToolResult:
        threading.Event().wait(0.7)
        return ToolResult("done")

    with bench(script(RUN, END), do=slow, session_timeout=1.6) as it:
        it.server.troubles = {1: Status(429, "slow down", "rate_limit_error", after="1")}
        report = it.work()

    assert (report.message, report.failure) == ("All is well.", None)


def test_waits_double_with_a_jitter_up_to_a_limit() -> None:
    patience = Patience(first_wait=1)
    for number, usual in ((1, 1), (2, 2), (4, 8), (30, 60)):
        assert 0.75 * usual <= patience.wait(number) <= 1.25 * usual


def test_a_server_that_wants_us_to_wait_longer_than_the_session_may_is_not_waited_for() -> None:
    with bench(script(Status(429, "later", "rate_limit_error", after="3600")), session_timeout=3600) as it:
        failure = it.work().failure

    assert failure
    assert failure.type is FindingType.RATE_LIMITED
    assert failure.hint == "Wait 3600 s, as it asks for."
    assert len(it.server.asked) == 1


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (Status(401, "invalid key", "authentication_error"), FindingType.MODEL_UNAVAILABLE),
        (Status(403, "not for you", "permission_error"), FindingType.MODEL_UNAVAILABLE),
        (Status(404, "model: claude", "not_found_error"), FindingType.MODEL_UNAVAILABLE),
        (
            Status(400, "Your credit balance is too low", "invalid_request_error"),
            FindingType.MODEL_UNAVAILABLE,
        ),
        (Status(400, "prompt is too long: 300000", "invalid_request_error"), FindingType.AGENT_FAILURE),
        (Status(400, "messages: nonsense", "invalid_request_error"), FindingType.AGENT_FAILURE),
    ],
)
def test_what_would_not_pass_is_not_tried_again(trouble: Answer, kind: FindingType) -> None:
    with bench(script(RUN, trouble)) as it:
        failure = it.work().failure

    assert failure
    assert failure.type is kind
    assert len(it.server.asked) == 2


# --- the probe


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
def test_the_first_request_is_made_once_and_its_answer_is_used(spec: str) -> None:
    with bench(script(RUN, END), spec) as it:
        it.agent.probe(brief_for())
        assert len(it.server.asked) == 1
        report = it.work()
        assert len(it.server.asked) == 2

    assert report.message == "All is well."
    assert report.usage
    assert report.usage.output_tokens == 40
    assert it.said[0] == "I look around."


def test_what_was_asked_in_vain_is_paid_for_all_the_same() -> None:
    with bench(script(END)) as it:
        it.agent.probe(brief_for(PhaseName.RED))
        report = it.work(Brief(brief_for().role, PhaseName.PLAN, 1, 1, "run-7", "Something else.", "{}"))

    assert len(it.server.asked) == 2
    assert report.usage
    assert report.usage.output_tokens == 40


def test_a_model_that_has_answered_is_not_probed_again() -> None:
    with bench(script(END)) as it:
        it.work()
        it.agent.probe(brief_for())

    assert len(it.server.asked) == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
@pytest.mark.parametrize(
    ("trouble", "kind", "told"),
    [
        (Status(401, "invalid x-api-key", "authentication_error"), "CredentialsRefused", "_API_KEY"),
        (Status(404, "model: typo", "not_found_error"), "ModelUnavailable", "is not available"),
        (Status(404, body="<html>Not Found</html>"), "ModelUnavailable", "answers as"),
        (Status(429, "slow down", "rate_limit_error"), "RateLimited", "slow down"),
        (Status(529, "too much", "overloaded_error"), "RateLimited", "too much"),
        (Status(500, "oops", "api_error"), "NetworkError", "oops"),
        (Dropped(), "NetworkError", "connection to"),
    ],
    ids=["key", "model", "address", "rate limit", "overload", "failure", "cut connection"],
)
def test_a_probe_that_fails_says_why_at_once(spec: str, trouble: Answer, kind: str, told: str) -> None:
    with bench(script(trouble), spec) as it, pytest.raises(NotReadyError) as caught:
        it.agent.probe(brief_for())

    assert caught.value.type == kind
    assert told in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint.endswith("Then type the same command again.")
    assert KEY not in caught.value.message
    assert len(it.server.asked) == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
@pytest.mark.parametrize(
    "trouble",
    [
        Status(500, "http://me:pa55word@gateway/v1 says pa55word", "api_error"),
        Status(404, body="<html>http://me:pa55word@gateway</html>"),
        Dropped(),
    ],
    ids=["failure", "another server", "cut connection"],
)
def test_user_and_password_of_the_address_never_leave_the_client(spec: str, trouble: Answer) -> None:
    with model_server(script(END)) as server:
        server.troubles = {1: trouble}
        way = access(spec, server.url.replace("://", "://me:pa55word@"), KEYS)
        agent = ApiAgent(way, setup_with(), lambda _b, _f, _s: Tools(done), tools=[])
        with pytest.raises(NotReadyError) as caught:
            agent.probe(brief_for())

    assert len(server.asked) == 1
    assert "pa55word" not in caught.value.message + caught.value.hint + repr(way)
    assert server.url.removeprefix("http://") in caught.value.message


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
def test_a_server_that_is_not_there_is_named(spec: str) -> None:
    agent = ApiAgent(
        access(spec, "http://127.0.0.1:9", KEYS), setup_with(), lambda _b, _f, _s: Tools(done), tools=[]
    )
    with pytest.raises(NotReadyError, match=r"the connection to http://127\.0\.0\.1:9.* failed") as caught:
        agent.probe(brief_for())

    assert caught.value.type == "NetworkError"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
def test_a_server_of_another_kind_is_noticed(spec: str) -> None:
    with (
        bench(script(Status(200, body="<html>Hello</html>")), spec) as it,
        pytest.raises(NotReadyError) as caught,
    ):
        it.agent.probe(brief_for())

    assert caught.value.type == "ModelUnavailable"


# --- a word from models that come later


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
def test_a_word_is_short_asked_for_once_and_paid_with_the_next_session(spec: str) -> None:
    with bench(script(END), spec) as it:
        it.agent.greet()
        it.agent.greet()
        assert len(it.server.asked) == 1
        assert it.events[0] == ModelAsked(spec.partition(":")[2])  # said before the client is loaded
        assert sum(isinstance(event, ModelAsked) for event in it.events) == 1
        assert not it.server.asked[0].body.get("tools")
        assert len(it.server.asked[0].raw) < 1000
        reports = [it.work(), it.work()]

    assert [report.usage and report.usage.output_tokens for report in reports] == [40, 20]
    assert it.said.count("All is well.") == 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
def test_a_model_from_which_no_word_comes_is_named_at_once(spec: str) -> None:
    trouble = Status(404, "model: typo", "not_found_error")
    with bench(script(trouble), spec) as it, pytest.raises(NotReadyError, match="is not available") as caught:
        it.agent.greet()

    assert caught.value.type == "ModelUnavailable"
    assert len(it.server.asked) == 1


# --- the bill


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spec", APIS)
def test_every_request_is_on_the_bill(spec: str) -> None:
    with bench(script(RUN, END), spec) as it:
        usage = it.work().usage

    assert usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (200, 40, 60)
    assert usage.cache_write_tokens == (14 if "claude" in spec else 0)
    assert usage.cost_usd
    told = [event for event in it.events if isinstance(event, ModelAnswered)]
    assert sum((event.usage for event in told), Usage()) == usage


def test_a_dollar_is_counted_at_list_price() -> None:
    with bench(script(END)) as it:
        usage = it.work().usage

    assert usage
    assert usage.cost_usd == pytest.approx((100 * 5 + 20 * 25 + 30 * 0.5 + 7 * 6.25) / 1e6)


def test_a_price_nobody_knows_is_not_guessed_and_said_once() -> None:
    with bench(script(END), "openai:my-own-model") as it:
        reports = [it.work(), it.work()]

    assert [report.usage and report.usage.cost_usd for report in reports] == [None, None]
    assert [report.usage and report.usage.output_tokens for report in reports] == [20, 20]
    assert len(it.warnings) == 1
    assert "my-own-model" in it.warnings[0]


def test_a_reply_that_broke_off_is_on_the_bill_too() -> None:
    with bench(script(END)) as it:
        it.server.troubles = {1: Dropped()}
        usage = it.work().usage

    assert usage
    assert usage.input_tokens == 200


def test_nothing_is_asked_once_the_allowance_is_spent() -> None:
    with bench(lambda asked: Reply("", (Call.of("Bash", command=str(asked.said)),))) as it:
        report = it.work(brief_for(allowance=0.0025))  # a request costs 0.00105875

    assert report.failure
    assert report.failure.type is FindingType.BUDGET_EXCEEDED
    assert len(it.server.asked) == 3
    assert report.usage
    assert report.usage.output_tokens == 60


@pytest.mark.parametrize(
    ("spec", "key", "dollars", "most"),
    [
        (CLAUDE, "max_tokens", 0.01, 400),  # 25 USD a million
        (CLAUDE, "max_tokens", 1000, 64_000),  # what the model can write
        (CLAUDE, "max_tokens", 0.0000001, 16),  # fewer are refused
        ("openai:gpt-5", "max_completion_tokens", 0.01, 1000),
        ("openai:gpt-5", "max_completion_tokens", 0.5, 16_384),  # more may be refused
        ("openai:gpt-5", "max_completion_tokens", 1000, None),
        ("openai-responses:gpt-5", "max_output_tokens", 0.01, 1000),
        ("ollama:nobody-knows", "max_completion_tokens", 0.01, None),
    ],
)
def test_a_reply_is_no_longer_than_what_is_left_pays_for(
    spec: str, key: str, dollars: float, most: int | None
) -> None:
    with bench(script(END), spec) as it:
        it.work(brief_for(allowance=dollars))

    assert it.server.asked[0].body.get(key) == most


def test_what_is_left_pays_for_what_is_sent_again_too() -> None:
    with bench(script(RUN, END)) as it:
        it.work(brief_for(allowance=0.01))

    left, again = 0.01 - 0.00105875, 157 * 0.5e-6  # what was sent and written, at the least it can cost
    assert it.server.asked[1].body["max_tokens"] == math.ceil((left - again) / 25e-6)


def test_requests_of_a_session_are_counted() -> None:
    def busy(asked: Asked) -> Answer:
        return Reply("", (Call.of("Bash", command=str(asked.said)),))

    with bench(busy, session_turns=3) as it:
        it.server.troubles = {2: Status(503, "no", "api_error")}  # asked again: the same request
        failure = it.work().failure

    assert failure
    assert failure.type is FindingType.AGENT_FAILURE
    assert "after 3 requests" in failure.message
    assert "session.turns" in (failure.hint or "")
    assert len(it.server.asked) == 4
    assert len(it.tools.calls) == 2


def test_a_session_may_end_with_the_last_request_it_has() -> None:
    with bench(script(RUN, END), session_turns=2) as it:
        it.agent.probe(brief_for())
        assert it.work().failure is None


def test_an_allowance_that_is_enough_changes_nothing() -> None:
    with bench(script(RUN, END)) as it:
        assert it.work(brief_for(allowance=0.0025)).failure is None


# --- ending early


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def interrupted_when(condition: Callable[[Bench], object], it: Bench, interrupt: Interrupt) -> float:
    """Return how long a session goes on after an interruption at this moment."""
    struck: list[float] = []

    def strike() -> None:
        wait_for(lambda: condition(it))
        struck.append(time.monotonic())
        interrupt.request("SIGINT")

    striker = threading.Thread(target=strike)
    striker.start()
    with pytest.raises(InterruptedRunError):
        it.work()
    striker.join()
    return time.monotonic() - struck[0]


def test_an_interruption_ends_a_request() -> None:
    interrupt = Interrupt()
    with bench(script(Silence()), interrupt=interrupt) as it:
        assert interrupted_when(lambda it: it.server.asked, it, interrupt) < 2


def test_an_interruption_ends_a_tool_before_the_session() -> None:
    interrupt = Interrupt()
    over = threading.Event()

    def until_stopped(_name: str, _arguments: Mapping[str, Any]) -> ToolResult:
        try:
            it.stop[0].pause(60)
        finally:
            over.set()
        return ToolResult("")

    with bench(script(RUN), do=until_stopped, interrupt=interrupt) as it:
        assert interrupted_when(lambda it: it.tools.calls, it, interrupt) < 2
        assert over.is_set()


def test_what_an_interrupted_session_has_used_is_on_the_bill() -> None:
    interrupt = Interrupt()
    with bench(script(RUN, Silence()), interrupt=interrupt) as it:
        striker = threading.Thread(
            target=lambda: (wait_for(lambda: len(it.server.asked) == 2), interrupt.request("SIGINT"))
        )
        striker.start()
        with pytest.raises(SessionInterruptedError, match="SIGINT") as caught:
            it.work()
        striker.join()

    assert caught.value.usage.output_tokens >= 20
    assert caught.value.usage.cost_usd
    told = [event for event in it.events if isinstance(event, ModelAnswered)]
    assert [event.error for event in told] == [None, "Interrupted"]


def test_a_session_that_has_used_nothing_has_no_bill() -> None:
    interrupt = Interrupt()
    interrupt.request("SIGINT")
    with bench(script(END), interrupt=interrupt) as it, pytest.raises(InterruptedRunError) as caught:
        it.work()

    assert not isinstance(caught.value, SessionInterruptedError)
    assert it.server.asked == []


def test_an_interruption_ends_a_wait_for_the_server() -> None:
    interrupt = Interrupt()
    slow = Status(429, "slow down", "rate_limit_error", after="30")
    with bench(script(slow), interrupt=interrupt) as it:
        assert interrupted_when(lambda it: it.said, it, interrupt) < 2


def test_a_session_that_takes_too_long_is_ended() -> None:
    with bench(script(RUN, Silence()), session_timeout=0.5) as it:
        report = it.work()

    assert report.failure
    assert report.failure.type is FindingType.TIMEOUT
    assert report.usage
    assert it.tools.closed


def test_a_tool_that_takes_too_long_is_ended_with_its_session() -> None:
    ended: list[str] = []

    def until_stopped(_name: str, _arguments: Mapping[str, Any]) -> ToolResult:
        try:
            it.stop[0].pause(60)
        finally:
            ended.append("tool")
        return ToolResult("")

    with bench(script(RUN), do=until_stopped, session_timeout=0.5) as it:
        report = it.work()

    assert report.failure
    assert report.failure.type is FindingType.TIMEOUT
    assert ended == ["tool"]


# --- callers with an event loop


def test_it_can_be_awaited() -> None:
    async def both() -> list[Report]:
        with bench(script(END)) as one, bench(script(RUN, END)) as other:
            return list(
                await asyncio.gather(
                    *(it.agent.work_async(brief_for(), Path(), it.said.append) for it in (one, other))
                )
            )

    assert [report.message for report in asyncio.run(both())] == ["All is well."] * 2


def test_cancelling_it_leaves_nothing_behind() -> None:
    async def cancelled() -> None:
        with bench(script(Silence())) as it:
            task = asyncio.create_task(it.agent.work_async(brief_for(), Path(), it.said.append))
            await asyncio.to_thread(wait_for, lambda: it.server.asked)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert it.tools.closed

    asyncio.run(cancelled())


def test_it_works_where_a_loop_is_running_already() -> None:
    async def inside() -> Report:
        with bench(script(END)) as it:
            return it.work()

    assert asyncio.run(inside()).message == "All is well."


def test_the_brief_is_all_a_session_knows() -> None:
    seen: list[Asked] = []

    def mind(asked: Asked) -> Answer:
        seen.append(asked)
        return END

    with bench(mind) as it:
        it.work()
        it.work()

    assert seen[0].body == seen[1].body
