"""Programs that are agents, as they are started and understood; the programs themselves are played by a shell script."""

import json
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_setup import setup_with
from redgreenrefactor.agents.program_agent import ProgramAgent
from redgreenrefactor.agents.table import AgentSetup, agent_for
from redgreenrefactor.errors import InterruptedRunError, NotReadyError, UsageError
from redgreenrefactor.model.events import Event, ToolUsed, Warned
from redgreenrefactor.model.session import Brief, Report, Role, Usage
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.ports import SessionInterruptedError
from redgreenrefactor.sandbox.output import PIECE
from redgreenrefactor.sandbox.process import Interrupt

Said = Sequence[dict[str, Any] | str]
VERSIONS = {"claude-code": "2.1.325 (Claude Code)", "codex": "codex-cli 0.166.0"}
COMMANDS = {"claude-code": "claude", "codex": "codex"}
TOKENS = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_read_input_tokens": 30,
    "cache_creation_input_tokens": 7,
}
OF_MODEL = {
    "inputTokens": 200,
    "outputTokens": 40,
    "cacheReadInputTokens": 60,
    "cacheCreationInputTokens": 14,
    "costUSD": 0.25,
}
INIT = {"type": "system", "subtype": "init", "session_id": "s-1", "model": "claude-sonnet-4-5"}


def assistant(ident: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    message = {"id": ident, "model": "claude-sonnet-4-5", "content": list(blocks), "usage": TOKENS}
    return {"type": "assistant", "message": message, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(ident: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": ident, "name": name, "input": given}


def result(ident: str, content: Any, *, failed: bool = False, **meta: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": ident, "content": content, "is_error": failed}
    told = {"tool_result_meta": [{"id": ident, **meta}]} if meta else {}
    return {"type": "user", "message": {"content": [block]}, **told}


def ended(words: str = "All is well.", **more: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": words,
        "usage": TOKENS,
        **more,
    }


def thread(*events: dict[str, Any] | str) -> Said:
    return [{"type": "thread.started", "thread_id": "t-1"}, {"type": "turn.started"}, *events]


def item(kind: str, ident: str = "item_1", **more: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": ident, "type": kind, **more}}


class Players:
    """Makes programs that say what they are told to, and agents of them."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.project, self.home = folder / "bin", folder / "project", folder / "home"
        for place in (self.bin, self.project, self.home):
            place.mkdir()
        self.events: list[Event] = []
        self.said: list[str] = []
        self.interrupt = Interrupt()
        self.env = {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "HOME": str(self.home)}

    def plays(
        self, name: str, lines: Said = (), *, then: str = "", version: str = "", signed_in: bool = True
    ) -> None:
        printed = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        (self.bin / f"{name}.out").write_text(f"{printed}\n")
        program = self.bin / COMMANDS[name]
        program.write_text(
            f"""#!/bin/sh
case "$1 $2" in
  "--version "*) echo {shlex.quote(version or VERSIONS[name])}; exit 0;;
  "auth status"|"login status") exit {int(not signed_in)};;
  "debug models") env > {self.home}/asking; cat {self.home}/models.json; exit;;
esac
printf '%s\\n' "$@" > {self.home}/arguments
env > {self.home}/environment
cat > {self.home}/stdin
cat {self.bin}/{name}.out
{then}
"""
        )
        program.chmod(0o755)

    def setup(self, **more: Any) -> AgentSetup:
        return setup_with(
            **{
                "project": self.project,
                "env": self.env,
                "model": "",
                "retry_backoff": 1.0,
                "home": self.home / "agents",
                "emit": self.events.append,
                "interrupt": self.interrupt,
                **more,
            }
        )

    def agent(self, name: str, **more: Any) -> ProgramAgent:
        found = agent_for(name, self.setup(**more))
        assert isinstance(found, ProgramAgent)
        return found

    def work(self, name: str, brief: Brief | None = None, **more: Any) -> Report:
        return self.agent(name, **more).work(brief or BRIEF, self.project, self.said.append)

    @property
    def arguments(self) -> str:
        return (self.home / "arguments").read_text()

    @property
    def environment(self) -> str:
        return (self.home / "environment").read_text()


BRIEF = Brief(
    Role(RoleName.IMPLEMENTING, "", "You write code."), PhaseName.GREEN, 1, 1, "run-1", "Make it pass.", "{}"
)


def locking(*paths: Path) -> Callable[[Brief], tuple[Path, ...]]:
    return lambda _: paths


@pytest.fixture
def players(tmp_path: Path) -> Players:
    return Players(tmp_path)


# --- both


@pytest.mark.parametrize("name", COMMANDS)
def test_a_program_that_is_not_there_is_told_with_what_installs_it(players: Players, name: str) -> None:
    with pytest.raises(NotReadyError) as refused:
        players.agent(name, env={"PATH": str(players.bin)})

    assert refused.value.type == "AgentMissing"
    assert "npm install" in refused.value.hint


@pytest.mark.parametrize(
    ("version", "kind"), [("0.0.1 (Claude Code)", "AgentOutdated"), ("hello", "AgentMissing")]
)
def test_one_that_is_too_old_or_another_is_not_taken(players: Players, version: str, kind: str) -> None:
    players.plays("claude-code", version=version)

    with pytest.raises(NotReadyError) as refused:
        players.agent("claude-code")

    assert refused.value.type == kind


def test_the_path_that_is_set_leads_to_it_as_a_folder_or_a_program(players: Players) -> None:
    players.plays("codex", version="codex-cli 1.2.3")
    env = {"PATH": os.environ["PATH"], "HOME": str(players.home)}

    for place in (players.bin, players.bin / "codex"):
        assert players.agent("codex", env=env, path=str(place)).found.version == "1.2.3"


def test_one_that_the_project_brings_along_is_not_taken_from_path(players: Players) -> None:
    players.plays("codex")
    with pytest.raises(NotReadyError):
        players.agent("codex", project=players.bin.parent)


@pytest.mark.parametrize("name", COMMANDS)
def test_where_nobody_is_signed_in_that_is_said(players: Players, name: str) -> None:
    players.plays(name, signed_in=False)

    with pytest.raises(NotReadyError) as refused:
        players.agent(name).probe(BRIEF)

    assert refused.value.type == "CredentialsMissing"
    assert "login" in refused.value.hint


@pytest.mark.parametrize(("signed_in", "passed_on"), [(True, False), (False, True)])
def test_a_key_is_passed_on_only_where_no_account_is_signed_in(
    players: Players, signed_in: bool, passed_on: bool
) -> None:
    players.plays("claude-code", [INIT, ended()], signed_in=signed_in)
    keys = {"ANTHROPIC_API_KEY": "k-1", "GITHUB_TOKEN": "g-1"}

    players.work("claude-code", env={**players.env, **keys})

    assert ("ANTHROPIC_API_KEY=k-1" in players.environment) is passed_on
    assert "g-1" not in players.environment


def test_a_model_of_another_maker_is_refused_and_its_own_is_named_plainly(players: Players) -> None:
    players.plays("claude-code", [INIT, ended()])
    with pytest.raises(UsageError, match="cannot think with"):
        players.agent("claude-code", model="openai:gpt-5")

    players.work("claude-code", model="anthropic:claude-sonnet-4-5")
    assert "--model\nclaude-sonnet-4-5\n" in players.arguments


@pytest.mark.parametrize("name", COMMANDS)
def test_a_program_that_tells_no_result_has_failed_with_its_last_words(players: Players, name: str) -> None:
    players.plays(name, ["no JSON", "[1]", "{"], then="echo 'out of memory' >&2; exit 9")

    report = players.work(name)

    assert report.failure
    assert report.failure.type is FindingType.AGENT_FAILURE
    assert "out of memory" in report.failure.message


def test_one_that_fails_after_its_result_has_failed(players: Players) -> None:
    players.plays("claude-code", [INIT, ended()], then="exit 1")

    assert players.work("claude-code").failure


def test_one_that_runs_too_long_is_ended(players: Players) -> None:
    players.plays("claude-code", [INIT], then="sleep 60")

    failure = players.work("claude-code", session_timeout=2.0).failure

    assert failure
    assert failure.type is FindingType.TIMEOUT


def test_what_an_interrupted_session_has_used_is_told(players: Players) -> None:
    players.plays("claude-code", [INIT, assistant("m-1", text("Hm."))], then="sleep 60")
    agent = players.agent("claude-code")
    agent.greet()

    def stop(_line: str) -> None:
        players.interrupt.request("SIGINT")

    with pytest.raises(SessionInterruptedError) as cut:
        agent.work(BRIEF, players.project, stop)
    assert cut.value.usage.input_tokens == 100
    with pytest.raises(InterruptedRunError):
        agent.work(BRIEF, players.project, stop)


def test_what_the_project_says_to_agents_is_part_of_who_it_is(players: Players) -> None:
    players.plays("claude-code", [INIT, ended()])
    guide = players.project / "AGENTS.md"
    guide.write_text("Indent with tabs.")

    players.work("claude-code", guides=[guide, players.project / "gone.md"])

    assert "You write code." in players.arguments
    assert "Indent with tabs." in players.arguments


# --- Claude Code


def test_a_session_of_claude_code_is_told_noted_and_billed(players: Players) -> None:
    lines = [
        INIT,
        assistant("m-1", text("First the code.")),
        assistant("m-1", use("c-1", "Write", file_path=f"{players.project}/a.py", content="1")),
        result("c-1", [text("ok")]),
        assistant("m-2", text("All is well.")),
        ended(
            total_cost_usd=9.0, model_usage_since_last_result={"claude-sonnet-4-5": OF_MODEL, "b": OF_MODEL}
        ),
    ]
    players.plays("claude-code", lines)

    report = players.work("claude-code")

    assert report == Report(
        "All is well.",
        Usage(400, 80, 120, 28, 0.5),  # of all requests, where the last one alone may be told beside
        model="claude-sonnet-4-5",
        session="s-1",
        version="2.1.325",
    )
    assert players.said == ["First the code.", "Write a.py", "All is well."]
    assert [event.tool for event in players.events if isinstance(event, ToolUsed)] == ["Write"]
    assert (players.home / "stdin").read_text() == "Make it pass."


def test_what_claude_code_refuses_is_named(players: Players) -> None:
    rejected = {"permission_decision": {"decision": "reject"}}
    denied = {
        "type": "system",
        "subtype": "permission_denied",
        "tool_use_id": "c-2",
        "message": "It is locked.",
    }
    lines = [
        INIT,
        assistant("m-1", use("c-1", "Write", file_path=f"{players.project}/tests/test_a.py")),
        result("c-1", "<tool_use_error>It is denied.</tool_use_error>", failed=True, **rejected),
        assistant("m-2", use("c-2", "Bash", command="echo > tests/test_a.py")),
        denied,
        result("c-2", "It is locked.", failed=True, non_execution_kind="permission-rule", **rejected),
        ended(),
    ]
    players.plays("claude-code", lines)

    assert players.work("claude-code").refused == (
        "Claude Code refused Write tests/test_a.py: It is denied.",
        "Claude Code refused Bash echo > tests/test_a.py: It is locked.",
    )


def test_what_is_locked_is_denied_and_only_the_folder_may_be_changed(players: Players) -> None:
    players.plays("claude-code", [INIT, ended()])
    tests, settings = players.project / "tests", players.project / "tdd.properties"
    tests.mkdir()

    players.work("claude-code", locked=locking(tests, settings))

    said = players.arguments.split("\n")
    permissions = json.loads(said[said.index("--settings") + 1])["permissions"]
    assert permissions["deny"] == [f"Edit(/{tests}/**)", f"Edit(/{settings})"]
    assert permissions["allow"] == ["Read", "Bash", "Glob", "Grep", f"Edit(/{players.project}/**)"]


@pytest.mark.parametrize("inherit", [False, True])
def test_nothing_of_the_users_counts_unless_it_is_inherited(players: Players, inherit: bool) -> None:
    players.plays("claude-code", [INIT, ended()])

    players.work("claude-code", inherit=inherit)

    assert ("--setting-sources" in players.arguments) is not inherit
    assert ("CLAUDE_CODE_DISABLE_AUTO_MEMORY=1" in players.environment) is not inherit


def test_claude_code_goes_on_from_a_session_or_beside_it(players: Players) -> None:
    players.plays("claude-code", [INIT, ended()])

    players.work("claude-code", replace(BRIEF, strategy="resume", continues=("s-0",), allowance_usd=1.5))
    assert "--resume\ns-0\n" in players.arguments
    assert "--max-budget-usd\n1.5000\n" in players.arguments
    assert "--fork-session" not in players.arguments

    players.work("claude-code", replace(BRIEF, strategy="fork", continues=("s-0",)), retry_backoff=0.0)
    assert "--fork-session" in players.arguments
    assert "CLAUDE_CODE_MAX_RETRIES=0" in players.environment


@pytest.mark.parametrize(
    ("status", "word", "kind"),
    [
        (429, "rate_limit", FindingType.RATE_LIMITED),
        (529, "overloaded", FindingType.RATE_LIMITED),
        (401, "authentication_failed", FindingType.MODEL_UNAVAILABLE),
        (None, "authentication_failed", FindingType.MODEL_UNAVAILABLE),
        (404, "model_not_found", FindingType.MODEL_UNAVAILABLE),
        (402, "billing_error", FindingType.MODEL_UNAVAILABLE),
        (500, "server_error", FindingType.NETWORK_ERROR),
        (None, "unknown", FindingType.NETWORK_ERROR),
        (400, "invalid_request", FindingType.AGENT_FAILURE),
    ],
)
def test_a_failure_of_the_server_is_what_it_is(
    players: Players, status: int | None, word: str, kind: FindingType
) -> None:
    failed = {"is_error": True, "api_error_status": status}
    players.plays("claude-code", [INIT, assistant("m-1", text("No."), error=word), ended("No.", **failed)])

    failure = players.work("claude-code").failure

    assert failure
    assert failure.type is kind


def test_a_busy_server_is_told_and_one_that_refuses_the_key_is_not_asked_again(players: Players) -> None:
    retry = {"type": "system", "subtype": "api_retry", "retry_delay_ms": 500}
    busy = {**retry, "error_status": 429, "error": "rate_limit"}
    players.plays("claude-code", [INIT, busy, ended()])
    assert players.work("claude-code").failure is None
    assert players.said == ["the model's server answered 429 (rate_limit): tried again in 0.5 s"]

    refused = {**retry, "error_status": 401, "error": "authentication_failed"}
    players.plays("claude-code", [INIT, busy, refused], then="sleep 60")
    failure = players.work("claude-code").failure
    assert failure
    assert failure.type is FindingType.MODEL_UNAVAILABLE


def test_a_session_that_is_about_to_cost_more_than_is_left_is_ended(players: Players) -> None:
    dear = [INIT, assistant("m-1", use("c-1", "Bash", command="true")), result("c-1", "ok")]
    players.plays("claude-code", dear, then="sleep 60")
    report = players.work("claude-code", replace(BRIEF, allowance_usd=0.0001))
    assert report.failure
    assert report.failure.type is FindingType.BUDGET_EXCEEDED
    assert report.usage
    assert report.usage.cost_usd

    over = {"subtype": "error_max_budget_usd", "is_error": True, "errors": ["Reached maximum budget"]}
    players.plays("claude-code", [INIT, ended("", **over)], then="exit 1")
    failure = players.work("claude-code").failure
    assert failure
    assert failure.type is FindingType.BUDGET_EXCEEDED


def test_a_result_longer_than_a_piece_is_understood(players: Players) -> None:
    lines = [
        INIT,
        assistant("m-1", use("c-1", "Read", file_path="a")),
        result("c-1", "x" * (3 * PIECE)),
        ended(),
    ]
    players.plays("claude-code", lines)

    players.work("claude-code")

    assert len([event for event in players.events if isinstance(event, ToolUsed)]) == 1


# --- Codex


def rollout(players: Players, session: str, **tokens: int) -> None:
    """Write down what Codex has used so far."""
    folder = players.home / "agents/codex/sessions/2026/11/16"
    folder.mkdir(parents=True, exist_ok=True)
    told = {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": tokens}}}
    settings = {"type": "turn_context", "payload": {"model": "gpt-5-codex"}}
    lines = [json.dumps(line, separators=(",", ":")) for line in (settings, told)]
    (folder / f"rollout-1-{session}.jsonl").write_text("\n".join([*lines, '{"type": "token_count"}', ""]))


def test_a_session_of_codex_is_told_noted_and_billed(players: Players) -> None:
    rollout(players, "t-1", input_tokens=130, cached_input_tokens=30, output_tokens=20)
    command = "/bin/bash -lc 'ls -A'"
    started = {
        "type": "item.started",
        "item": {"id": "item_1", "type": "command_execution", "command": command},
    }
    usage = {
        "input_tokens": 130,
        "cached_input_tokens": 30,
        "cache_write_input_tokens": 0,
        "output_tokens": 20,
    }
    lines = thread(
        item("error", message="Model metadata for `x` not found."),
        item("error", message="Something odd."),
        started,
        item("command_execution", command="ls", aggregated_output="a.py", exit_code=0),
        item("file_change", "item_2", changes=[{"path": "a.py", "kind": "add"}], status="completed"),
        item("agent_message", "item_3", text="All is well."),
        {"type": "turn.completed", "usage": usage},
    )
    players.plays("codex", lines)

    report = players.work("codex", model="openai:gpt-5-codex")

    assert (report.message, report.failure, report.session, report.model) == (
        "All is well.",
        None,
        "t-1",
        "gpt-5-codex",
    )
    assert report.usage
    assert replace(report.usage, cost_usd=None) == Usage(100, 20, 30)
    assert report.usage.cost_usd
    assert players.said == ["Something odd.", "Bash ls -A", "Edit add a.py", "All is well."]
    assert "-m\ngpt-5-codex\n" in players.arguments


def test_what_a_resumed_session_had_used_before_is_not_billed_again(players: Players) -> None:
    rollout(players, "t-0", input_tokens=1000, output_tokens=50)
    players.plays(
        "codex", thread({"type": "turn.completed", "usage": {"input_tokens": 1100, "output_tokens": 70}})
    )

    report = players.work("codex", replace(BRIEF, strategy="fork", continues=("t-0",)))

    assert report.usage
    assert (report.usage.input_tokens, report.usage.output_tokens) == (100, 20)
    assert players.arguments.startswith("exec\nfork\nt-0\n")
    assert any(isinstance(event, Warned) and "no price" in event.message for event in players.events)


def test_codex_may_not_write_what_is_locked_and_what_it_refuses_is_named(players: Players) -> None:
    tests = players.project / "tests"
    tests.mkdir()
    (players.project / ".git").mkdir()
    output = f"sh: {tests}/test_a.py: Read-only file system"
    lines = thread(
        item("command_execution", command="x", aggregated_output=output, exit_code=1),
        {"type": "turn.completed", "usage": {}},
    )
    players.plays("codex", lines, then="echo 'error=patch rejected: writing outside of the project' >&2")

    report = players.work("codex", locked=locking(tests, players.project / "gone"))

    assert len(report.refused) == 2
    assert f'"{tests}"="read"' in players.arguments
    assert f'"{players.project}/.git"="write"' in players.arguments
    assert "gone" not in players.arguments


def test_a_command_of_codex_that_only_its_own_record_tells_is_told_once(players: Players) -> None:
    rollout(players, "t-1")
    record = next(players.home.glob("agents/codex/sessions/*/*/*/*"))

    def refused(ident: str) -> list[str]:
        call = {"type": "function_call", "call_id": ident, "arguments": '{"cmd": "echo > test_a.py"}'}
        words = "Process exited with code 1\nOutput:\nsh: test_a.py: Read-only file system"
        output = {"type": "function_call_output", "call_id": ident, "output": words}
        return [json.dumps({"payload": each}, separators=(",", ":")) for each in (call, output)]

    record.write_text("\n".join(refused("before")))
    more, heard, program = players.bin / "more", players.bin / "heard", players.bin / "codex"
    more.write_text("\n".join(["", *refused("now")]))
    said = [item("agent_message", text=text) for text in ("Hm.", "Well.")]
    players.plays("codex", thread(*said, {"type": "turn.completed", "usage": {}}))
    out = f"{players.bin}/codex.out"
    parts = f"head -n 3 {out}; until [ -e {heard} ]; do :; done; cat {more} >> {record}; tail -n +4 {out}"
    program.write_text(program.read_text().replace(f"cat {out}", parts))

    def say(line: str) -> None:
        players.said.append(line)
        heard.touch()

    report = players.agent("codex").work(BRIEF, players.project, say)

    denied = "Bash echo > test_a.py: sh: test_a.py: Read-only file system"
    assert report.refused == (f"Codex refused {denied}",)
    assert players.said == ["Hm.", "Bash echo > test_a.py", f"Codex refused {denied}", "Well."]


def test_the_models_of_codex_call_their_tools_one_by_one(players: Players) -> None:
    kept = players.home / "kept.json"
    read = f"sed -n 's/^model_catalog_json=\"\\(.*\\)\"$/\\1/p' {players.home}/arguments | xargs cat > {kept}"
    players.plays("codex", thread({"type": "turn.completed", "usage": {}}), then=read)
    models = [{"slug": "gpt-6", "tool_mode": "code_mode_only", "new": [1]}, {"slug": "gpt-5"}]
    (players.home / "models.json").write_text(json.dumps({"models": models, "of": "today"}))
    agent = players.agent("codex", url="http://127.0.0.1:1/v1")

    for _ in range(2):
        agent.work(BRIEF, players.project, players.said.append)
        (players.home / "models.json").unlink(missing_ok=True)  # it is asked once

    direct = [{"slug": "gpt-6", "tool_mode": "direct", "new": [1]}, {"slug": "gpt-5", "tool_mode": "direct"}]
    assert json.loads(kept.read_text()) == {"models": direct, "of": "today"}
    assert f"CODEX_HOME={players.home}/agents/codex\n" in (players.home / "asking").read_text()


@pytest.mark.parametrize(
    ("models", "inherit"),
    [(None, False), ("who knows?", False), ('{"models": []}', False), ('{"models": [{}]}', True)],
)
def test_the_tools_of_codex_stay_as_they_are_where_it_tells_no_models_or_the_users_settings_count(
    players: Players, models: str | None, inherit: bool
) -> None:
    players.plays("codex", thread({"type": "turn.completed", "usage": {}}))
    if models is not None:
        (players.home / "models.json").write_text(models)

    assert players.work("codex", inherit=inherit).failure is None
    assert "model_catalog_json" not in players.arguments


def test_git_may_be_written_beside_another_checkout(players: Players) -> None:
    players.plays("codex", thread({"type": "turn.completed", "usage": {}}))
    (players.project / ".git").write_text("gitdir: /elsewhere/.git/worktrees/project\n")

    players.work("codex")

    assert '"/elsewhere/.git"="write"' in players.arguments


@pytest.mark.parametrize("inherit", [False, True])
def test_codex_has_a_home_of_its_own_with_the_users_sign_in(players: Players, inherit: bool) -> None:
    players.plays("codex", thread({"type": "turn.completed", "usage": {}}))
    (players.home / ".codex").mkdir()
    (players.home / ".codex/auth.json").write_text("{}")

    home = players.home / (".codex" if inherit else "agents/codex")
    for _ in range(2):
        players.work("codex", inherit=inherit)
        (home / "AGENTS.md").write_text("Forget the tests.")

    players.work("codex", inherit=inherit)
    assert f"CODEX_HOME={home}\n" in players.environment
    assert (home / "auth.json").read_text() == "{}"
    assert (home / "AGENTS.md").exists() is inherit


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", FindingType.RATE_LIMITED),
        ("unexpected status 401 Unauthorized: no", FindingType.MODEL_UNAVAILABLE),
        ("stream disconnected before completion", FindingType.NETWORK_ERROR),
        ("something else", FindingType.AGENT_FAILURE),
    ],
)
def test_a_failed_turn_of_codex_is_what_it_says(players: Players, words: str, kind: FindingType) -> None:
    players.plays("codex", thread({"type": "turn.failed", "error": {"message": words}}), then="exit 1")

    failure = players.work("codex", url="http://127.0.0.1:1/v1", retry_backoff=0.0).failure

    assert failure
    assert failure.type is kind
    assert 'base_url="http://127.0.0.1:1/v1"' in players.arguments


def test_codex_is_not_waited_for_where_the_key_is_refused(players: Players) -> None:
    first = {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"}
    then = {"type": "error", "message": "Reconnecting... 2/5 (unexpected status 401 Unauthorized: no)"}
    players.plays("codex", thread(first, then), then="sleep 60")

    failure = players.work("codex").failure

    assert players.said == ["Reconnecting... 1/5 (stream disconnected)"]
    assert failure
    assert failure.type is FindingType.MODEL_UNAVAILABLE


def test_odd_words_of_a_program_are_passed_over(players: Players) -> None:
    odd: list[Callable[[], Said]] = [
        lambda: [{"type": "stream_event"}, {"type": "system", "subtype": "status"}, INIT, ended(), "\n"],
        lambda: [
            {"type": "assistant", "message": {"content": "x"}},
            {"type": "user", "message": None},
            ended(),
        ],
    ]
    for lines in odd:
        players.plays("claude-code", lines())
        assert players.work("claude-code").failure is None
    players.plays("codex", thread({"type": "item.updated"}, item("reasoning"), {"type": "turn.completed"}))
    assert players.work("codex").failure is None


def test_a_program_that_is_here_is_offered_where_a_key_is_missing(players: Players) -> None:
    with pytest.raises(NotReadyError) as refused:
        agent_for("api", players.setup(model="claude-opus-4-5", env={"PATH": str(players.bin)}))
    assert "which is installed here" not in refused.value.hint

    players.plays("codex")
    with pytest.raises(NotReadyError) as refused:
        agent_for("api", players.setup(model="claude-opus-4-5", env={"PATH": str(players.bin)}))
    assert "--agent codex: with your account of that program, which is installed here." in refused.value.hint
