"""Claude Code, headless: our role as its system prompt, six tools, nothing of the user's settings, what is locked denied."""

import json
import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redgreenrefactor.agents.account_file import AccountFile, HomePlace
from redgreenrefactor.agents.foreign_program import HOPELESS, ForeignProgram, refused_by_server
from redgreenrefactor.agents.program_agent import (
    ProgramAgent,
    ProgramStart,
    SessionOrder,
    money,
    program_agent,
)
from redgreenrefactor.agents.program_events import (
    ActionRefused,
    ProgramEvent,
    ReplyBilled,
    RequestRetried,
    SessionConcluded,
    SessionOpened,
)
from redgreenrefactor.agents.program_session import objects
from redgreenrefactor.agents.providers import base_url
from redgreenrefactor.agents.table import AgentSetup
from redgreenrefactor.filesystem import LARGEST, head_of
from redgreenrefactor.model.codec import json_object
from redgreenrefactor.model.session import MORE_MONEY, Answered, Called, Usage, Uttered
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.prompts.quote import in_line
from redgreenrefactor.sandbox.cage import temporary_folder
from redgreenrefactor.sandbox.policy import Mount, MountMode

_HOME = (".claude", "CLAUDE_CONFIG_DIR")
PROGRAM = ForeignProgram(
    title="Claude Code",
    command="claude",
    oldest="2.1.325",
    calls_itself="Claude Code",
    install="npm install -g @anthropic-ai/claude-code@latest",
    signed_in=("auth", "status"),
    account=AccountFile(
        place=HomePlace(".credentials.json", *_HOME), renewing="refreshToken", ending="expiresAt"
    ),
    keeps=(HomePlace("", *_HOME),),
    settings=tuple(
        HomePlace(name, *_HOME)
        for name in (
            "settings.json",
            "CLAUDE.md",
            "rules",
            "agents",
            "commands",
            "skills",
            "hooks",
            "plugins",
        )
    ),
    sign_in="claude auth login",
    keys=("CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"),
    provider="anthropic",
    telling={
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
    },
)
# Set where this program itself was started by Claude Code: a session of its own is none of that one's.
_OUTER = frozenset(("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID"))
_EDITING = ("Write", "Edit")
_ACCOUNT = (
    "primaryApiKey",
    "oauthAccount",
    "customApiKeyResponses",
    "hasCompletedOnboarding",
)  # of what it keeps
_STATUS = {  # its own words for what a server answers
    "authentication_failed": 401,
    "oauth_org_not_allowed": 403,
    "billing_error": 402,
    "model_not_found": 404,
    "rate_limit": 429,
    "overloaded": 529,
    "server_error": 500,
    "unknown": 500,
}


def build(_argument: str, setup: AgentSetup) -> ProgramAgent:
    """Return the agent that is Claude Code; a NotReadyError where it is missing or too old."""
    return program_agent("claude-code", ClaudeCode(), setup)


@frozen
class ClaudeCode:
    """How Claude Code is started, and what it answers."""

    program: ForeignProgram = PROGRAM

    @contextmanager
    def prepare(self, order: SessionOrder) -> Generator[ProgramStart]:
        """Provide how it is started: the task on standard input, everything else as arguments."""
        order.setup.home.mkdir(parents=True, exist_ok=True)
        with temporary_folder(order.setup.home) as folder:
            held = {"CLAUDE_CONFIG_DIR": str(HomePlace("", *_HOME).of(order.env))} if order.held else {}
            yield ProgramStart(
                tuple(_arguments(order)),
                order.brief.task,
                _Stream(),
                env={**_environment(order), **held},
                without=_OUTER,
                places=tuple(_folders(order, folder)) if order.held else (),
            )


def _folders(order: SessionOrder, folder: Path) -> Iterator[Mount]:
    """Yield what it keeps where it is held: its sessions of this project among the user's, the rest as long as one lasts."""
    users = HomePlace("", *_HOME).of(order.env)
    with suppress(OSError, ValueError):
        told = HomePlace(".claude.json", "", "CLAUDE_CONFIG_DIR").of(order.env)
        known = json_object(json.loads(head_of(told, LARGEST)))
        kept = {key: known[key] for key in known if order.setup.inherit or key in _ACCOUNT}
        (folder / told.name).write_text(json.dumps(kept), "utf-8")
    sessions = users / "projects" / re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(order.folder))
    sessions.mkdir(parents=True, exist_ok=True)
    yield Mount(users, MountMode.WRITE, folder)
    yield Mount(sessions, MountMode.WRITE)


def _arguments(order: SessionOrder) -> Iterator[str]:
    yield from ("-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "dontAsk")
    yield from ("--system-prompt", order.instructions, "--tools", ",".join(order.brief.role.tools))
    yield from ("--settings", json.dumps(_settings(order)))
    if not order.setup.inherit:
        yield from ("--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands")
    if order.model:
        yield from ("--model", order.model)
    if allowed := money(order):
        yield from ("--max-budget-usd", allowed)
    if order.parent:
        yield from ("--resume", order.parent)
        if order.brief.strategy == "fork":
            yield "--fork-session"


def _settings(order: SessionOrder) -> Mapping[str, Any]:
    """Return what it may do: read anything, run commands, and change what lies in the folder and is not locked."""
    tools = order.brief.role.tools
    edits = [f"Edit({_everything(order.folder)})"] if set(_EDITING).intersection(tools) else []
    locked = [_everything(path) if path.is_dir() else f"/{path}" for path in order.locked]
    allowed = [tool for tool in tools if tool not in _EDITING]
    denied = [f"Edit({pattern})" for pattern in locked]
    return {"permissions": {"allow": [*allowed, *edits], "deny": denied}, "includeCoAuthoredBy": False}


def _everything(folder: Path) -> str:
    """Return the pattern of all that lies in a folder; one that begins with two slashes is an absolute path."""
    return f"/{folder}/**"


def _environment(order: SessionOrder) -> dict[str, str]:
    setup, patience = order.setup, f"{order.setup.bash_timeout * 1000:.0f}"
    return {
        "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
        "BASH_DEFAULT_TIMEOUT_MS": patience,
        "BASH_MAX_TIMEOUT_MS": patience,
        **({} if setup.inherit else {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}),
        **({} if setup.retry_backoff else {"CLAUDE_CODE_MAX_RETRIES": "0"}),
        **({"ANTHROPIC_BASE_URL": base_url("anthropic", setup.url)} if setup.url else {}),
    }


@dataclass
class _Stream:
    """What `--output-format stream-json` tells, an object a line."""

    _billed: set[str] = field(default_factory=set[str])  # replies come in several pieces
    _trouble: str = ""  # how it calls what went wrong with its last request

    def read(self, said: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        match said.get("type"):
            case "system":
                yield from self._system(said)
            case "assistant":
                yield from self._assistant(said)
            case "user":
                yield from self._results(said)
            case "result":
                yield self._result(said)
            case _:
                pass

    def overhear(self, line: str) -> Iterator[ProgramEvent]:
        if line.strip():
            yield RequestRetried(in_line(line))

    def _system(self, said: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        match said.get("subtype"):
            case "init":
                yield SessionOpened(str(said.get("session_id", "")), str(said.get("model", "")))
            case "api_retry":
                status, kind = said.get("error_status"), str(said.get("error", ""))
                words = f"the model's server answered {status or 'nothing'} ({kind})"
                hopeless = _failure(words, status, kind) if status in HOPELESS else None
                seconds = float(said.get("retry_delay_ms") or 0) / 1000
                yield RequestRetried(f"{words}: tried again in {seconds:.1f} s", hopeless)
            case "permission_denied":
                yield ActionRefused(_reason(str(said.get("message", ""))), str(said.get("tool_use_id", "")))
            case _:
                pass

    def _assistant(self, said: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        message: Mapping[str, Any] = said.get("message") or {}
        if said.get("error"):
            self._trouble = str(said["error"])
            return
        for block in objects(message.get("content")):
            if block.get("type") == "text" and str(block.get("text", "")).strip():
                yield Uttered(str(block["text"]))
            elif block.get("type") == "tool_use":
                yield Called(
                    str(block.get("id", "")), str(block.get("name", "")), dict(block.get("input") or {})
                )
        ident = str(message.get("id", ""))
        if ident not in self._billed and said.get("parent_tool_use_id") is None:
            self._billed.add(ident)
            yield ReplyBilled(_usage(message.get("usage") or {}), str(message.get("model", "")))

    def _results(self, said: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        message: Mapping[str, Any] = said.get("message") or {}
        refused = {str(meta.get("id")) for meta in objects(said.get("tool_result_meta")) if _is_rule(meta)}
        for block in objects(message.get("content")):
            if block.get("type") != "tool_result":
                continue
            ident, text = str(block.get("tool_use_id", "")), _text(block.get("content"))
            if ident in refused:
                yield ActionRefused(_reason(text), ident)
            yield Answered(ident, text, bool(block.get("is_error")))

    def _result(self, said: Mapping[str, Any]) -> SessionConcluded:
        # Beside this, tokens are those of the last request where money ended it, and costs those of all turns.
        recent: Mapping[str, Mapping[str, Any]] = said.get("model_usage_since_last_result") or {}
        cost = said.get("total_cost_usd")
        told = _usage(said.get("usage") or {}, float(cost) if cost is not None else None)
        usage = sum(map(_usage_of_model, recent.values()), Usage()) if recent else told
        message = str(said.get("result") or "")
        if said.get("subtype") == "error_max_budget_usd":
            total = f"Claude Code ended the session: {'; '.join(map(str, said.get('errors') or ()))}"
            return SessionConcluded("", usage, Finding(FindingType.BUDGET_EXCEEDED, total, hint=MORE_MONEY))
        if not said.get("is_error"):
            return SessionConcluded(message, usage)
        words = message or "; ".join(map(str, said.get("errors") or ())) or str(said.get("subtype"))
        return SessionConcluded("", usage, _failure(words, said.get("api_error_status"), self._trouble))


def _is_rule(meta: Mapping[str, Any]) -> bool:
    """Tell whether a call was refused by the settings without an event of its own."""
    decision: Mapping[str, Any] = meta.get("permission_decision") or {}
    return decision.get("decision") == "reject" and "non_execution_kind" not in meta


def _reason(text: str) -> str:
    return in_line(text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>"))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in objects(content))


def _usage(said: Mapping[str, Any], cost: float | None = None) -> Usage:
    return Usage(
        int(said.get("input_tokens") or 0),
        int(said.get("output_tokens") or 0),
        int(said.get("cache_read_input_tokens") or 0),
        int(said.get("cache_creation_input_tokens") or 0),
        cost,
    )


def _usage_of_model(said: Mapping[str, Any]) -> Usage:
    return Usage(
        int(said.get("inputTokens") or 0),
        int(said.get("outputTokens") or 0),
        int(said.get("cacheReadInputTokens") or 0),
        int(said.get("cacheCreationInputTokens") or 0),
        float(said.get("costUSD") or 0),
    )


def _failure(words: str, status: Any, kind: str) -> Finding:
    """Return what a failure means, by the server's status or by the program's own word for it."""
    return refused_by_server(PROGRAM, words, status if isinstance(status, int) else _STATUS.get(kind))
