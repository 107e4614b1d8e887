"""Codex, headless: a home of its own with the user's sign-in, our role as its instructions, what is locked read-only."""

import json
import re
import shlex
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redgreenrefactor.agents.account_file import AccountFile, HomePlace
from redgreenrefactor.agents.codex_rollout import Rollout, difference, usage_of_tokens
from redgreenrefactor.agents.foreign_program import (
    HOPELESS,
    ForeignProgram,
    answer_of,
    link_account,
    refused_by_server,
)
from redgreenrefactor.agents.program_agent import ProgramAgent, ProgramStart, SessionOrder, program_agent
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
from redgreenrefactor.filesystem import checkout_around
from redgreenrefactor.model.codec import json_object
from redgreenrefactor.model.session import Answered, Called, Usage, Uttered
from redgreenrefactor.prompts.quote import in_line
from redgreenrefactor.sandbox.cage import temporary_folder
from redgreenrefactor.sandbox.policy import Mount, MountMode, readable, writable

_HOME = (".codex", "CODEX_HOME")
_ACCOUNT = AccountFile(
    place=HomePlace("auth.json", *_HOME),
    renewing="refresh_token",
    renewed="last_refresh",
    ending="access_token",
)
PROGRAM = ForeignProgram(
    title="Codex",
    command="codex",
    oldest="0.166.0",
    calls_itself="codex",
    install="npm install -g @openai/codex@latest",
    signed_in=("login", "status"),
    account=_ACCOUNT,
    keeps=(HomePlace("", *_HOME),),
    settings=tuple(
        HomePlace(name, *_HOME)
        for name in (
            "config.toml",
            "AGENTS.md",
            "AGENTS.override.md",
            "hooks.json",
            "rules",
            "skills",
            "prompts",
        )
    ),
    sign_in="codex login",
    keys=("CODEX_API_KEY",),
    provider="openai",
)
Table = Mapping[str, "str | Table"]
_OFF = ("multi_agent", "goals", "apps", "sleep_tool", "view_image")  # what a session has no use for
_STATUS = re.compile(r"status:? (\d{3})\b")
_DISCONNECTED = re.compile(r"(?i)disconnected|error sending request|connection|timed? ?out")
_REFUSED = re.compile(r"patch rejected: (.*)")
_READ_ONLY = "Read-only file system"
_HARMLESS = "Model metadata for"  # of a model that it does not know by name


def build(_argument: str, setup: AgentSetup) -> ProgramAgent:
    """Return the agent that is Codex; a NotReadyError where it is missing or too old."""
    return program_agent("codex", Codex(), setup)


@dataclass(frozen=True)
class Codex:
    """How Codex is started, and what it answers."""

    program: ForeignProgram = PROGRAM
    _models: list[str] = field(default_factory=list[str])  # found out once

    @contextmanager
    def prepare(self, order: SessionOrder) -> Generator[ProgramStart]:
        """Provide how it is started: its home is ours, unless it shall work with the user's own settings."""
        home = _users_home(order.env) if order.setup.inherit and not order.held else _home(order)
        order.setup.home.mkdir(parents=True, exist_ok=True)
        with temporary_folder(order.setup.home) as folder:
            instructions, models = folder / "instructions.md", folder / "models.json"
            instructions.write_text(order.instructions, "utf-8")
            models.write_text(self._lean_models(order, home), "utf-8")
            yield ProgramStart(
                tuple(_arguments(order, instructions, models)),
                order.brief.task,
                _Lines(home, Rollout(home, order.parent).used()),
                env={"CODEX_HOME": str(home)},
                places=(*readable(folder), *writable(home), *_inherited(order, home)),
            )

    def _lean_models(self, order: SessionOrder, home: Path) -> str:
        """Return its own list of models, with tools that are called one by one; nothing where it tells none.

        Its models call tools by programs in a language that every request explains anew, in 11 KB. Only the list of
        models decides on that.
        """
        if not self._models and not order.setup.inherit:
            asked = [order.program, "debug", "models", *_spelled(_server(order))]
            env = {**order.env, "CODEX_HOME": str(home)}
            self._models.append(_one_by_one(answer_of(asked, env, order.setup.interrupt).stdout))
        return self._models[0] if self._models else ""


def _one_by_one(catalog: bytes) -> str:
    try:
        said = json_object(json.loads(catalog))
    except (ValueError, RecursionError):
        return ""
    models = [{**model, "tool_mode": "direct"} for model in objects(said.get("models"))]
    return json.dumps({**said, "models": models}) if models else ""


def _users_home(env: Mapping[str, str]) -> Path:
    return HomePlace("", *_HOME).of(env)


def _inherited(order: SessionOrder, home: Path) -> Iterator[Mount]:
    """Yield the user's settings in the home of a session that is held: its own could be written there."""
    for setting in PROGRAM.settings if order.setup.inherit else ():
        if (users := setting.of(order.env)).exists():
            yield Mount(home / setting.name, MountMode.READ, users)


def _home(order: SessionOrder) -> Path:
    """Return a home for its sessions in which nothing of the user's lies but the sign-in, which it may renew."""
    home, users = order.setup.home / "codex", _ACCOUNT.place
    home.mkdir(parents=True, exist_ok=True)
    PROGRAM.forget(home)
    link_account(home / users.name, users.of(order.env))
    return home


def _arguments(order: SessionOrder, instructions: Path, models: Path) -> Iterator[str]:
    yield "exec"
    if order.parent:
        yield "fork" if order.brief.strategy == "fork" else "resume"
        yield order.parent
    yield from ("--json", "--ignore-rules", "--skip-git-repo-check")
    if not order.setup.inherit:
        yield "--ignore-user-config"
    if order.model:
        yield from ("-m", order.model)
    yield from _spelled(_settings(order, instructions, models))
    if order.held:  # by us: its own sandbox cannot be made inside another one
        yield "--dangerously-bypass-approvals-and-sandbox"
    yield "-"


def _spelled(settings: Iterator[tuple[str, str]]) -> Iterator[str]:
    """Yield settings as arguments."""
    return (word for key, value in settings for word in ("-c", f"{key}={value}"))


def _settings(order: SessionOrder, instructions: Path, models: Path) -> Iterator[tuple[str, str]]:
    """Yield settings by name, values as TOML spells them: texts and lists as JSON does."""
    yield "model_instructions_file", json.dumps(str(instructions))
    if models.stat().st_size:
        yield "model_catalog_json", json.dumps(str(models))
    yield "project_doc_max_bytes", "0"  # our instructions hold what the project says
    yield "web_search", '"disabled"'
    yield from (
        (f"features.{name}", "false") for name in _OFF
    )  # a newer one may have no such feature: it says so
    yield "agents.enabled", "false"
    yield "tools.experimental_request_user_input.enabled", "false"
    yield "skills.bundled.enabled", "false"
    if not order.setup.inherit:
        yield "skills.include_instructions", "false"  # of ~/.agents/skills, which lies in no home of its own
    yield "include_permissions_instructions", "false"
    yield "include_collaboration_mode_instructions", "false"
    yield "allow_login_shell", "false"  # its PATH would not be the user's, with the project's environment
    yield "check_for_update_on_startup", "false"
    yield "analytics.enabled", "false"
    yield "shell_environment_policy.exclude", json.dumps(list(PROGRAM.keys))
    if not order.held:
        yield "default_permissions", '"rgr"'
        yield "permissions.rgr", _table({"filesystem": _files(order)})
    yield from _server(order)


def _server(order: SessionOrder) -> Iterator[tuple[str, str]]:
    """Yield the settings that say where its models are, if that is not its maker's."""
    setup = order.setup
    retries = "" if setup.retry_backoff else ",request_max_retries=0,stream_max_retries=0"
    if setup.url:
        yield "model_provider", '"rgr"'
        where = f'name="rgr",base_url={json.dumps(base_url("openai", setup.url))}'
        auth = 'wire_api="responses",requires_openai_auth=true'
        yield "model_providers.rgr", f"{{{where},{auth}{retries}}}"


def _files(order: SessionOrder) -> Table:
    """Return what its commands and patches may do with files: read all, write into the checkout but what is locked."""
    root = checkout_around(order.folder)
    return {
        ":root": "read",
        ":tmpdir": "write",
        ":slash_tmp": "write",
        ":workspace_roots": {".": "write"},
        **{str(place): "write" for place in _git_folders(root)},
        **{str(path): "read" for path in order.locked if path.exists()},
    }


def _git_folders(root: Path) -> Iterator[Path]:
    """Yield where commits are written: beside another checkout that is elsewhere."""
    git = root / ".git"
    if git.is_dir():
        yield git
    elif git.is_file():
        folder = Path(git.read_text("utf-8").removeprefix("gitdir:").strip())
        yield from (folder, folder.parent.parent)


def _table(value: Table) -> str:
    """Return a table as TOML spells it in a line."""
    inside = (
        f"{json.dumps(key)}={json.dumps(item) if isinstance(item, str) else _table(item)}"
        for key, item in value.items()
    )
    return f"{{{','.join(inside)}}}"


@dataclass
class _Lines:
    """What `codex exec --json` tells, an object a line."""

    home: Path
    before: Usage  # of the session it goes on from: what is told counts it again
    _billed: Usage = field(default_factory=Usage)
    _last_text: str = ""
    _rollout: Rollout = field(init=False)

    def __post_init__(self) -> None:
        self._rollout = Rollout(self.home, "")  # of no session yet

    def read(self, said: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        item: Mapping[str, Any] = said.get("item") or {}
        match said.get("type"):
            case "thread.started":
                self._rollout = Rollout(self.home, str(said.get("thread_id", "")))
                list(self._rollout.silent())  # those of sessions it goes on from
                yield SessionOpened(self._rollout.session)
            case "item.started" if item.get("type") == "command_execution":
                yield from self._silent()
                yield Called(str(item.get("id", "")), "Bash", {"command": _command(item)})
            case "item.completed":
                yield from self._silent()
                yield from self._item(item)
            case "turn.completed":
                total = usage_of_tokens(said.get("usage") or {})
                yield SessionOpened(self._rollout.session, self._rollout.model())
                yield from self._silent()
                yield SessionConcluded(self._last_text, difference(total, self.before))
            case "error":
                yield from self._retry(str(said.get("message", "")))
            case "turn.failed":
                error: Mapping[str, Any] = said.get("error") or {}
                words = str(error.get("message", ""))
                usage = difference(self._rollout.used(), self.before)
                yield SessionConcluded("", usage, refused_by_server(PROGRAM, words, _status(words)))
            case _:
                pass

    def overhear(self, line: str) -> Iterator[ProgramEvent]:
        if found := _REFUSED.search(line):
            yield ActionRefused(f"a patch: {in_line(found[1])}")

    def _silent(self) -> Iterator[ProgramEvent]:
        """Yield what has been run since without a word about it; what is refused often ends so."""
        for silent in self._rollout.silent():
            yield Called(silent.call, "Bash", {"command": silent.command})
            yield from self._ended(silent.call, silent.output, silent.exit_code)

    def _ended(self, ident: str, output: str, exit_code: Any) -> Iterator[ProgramEvent]:
        refused = next((line for line in output.split("\n") if _READ_ONLY in line), "")
        if refused:
            yield ActionRefused(in_line(refused), ident)
        yield from self._bill()
        yield Answered(ident, output, exit_code != 0)

    def _item(self, item: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        ident, kind = str(item.get("id", "")), item.get("type")
        if kind == "agent_message":
            self._last_text = str(item.get("text", ""))
            yield Uttered(self._last_text)
        elif kind == "command_execution":
            yield from self._ended(ident, str(item.get("aggregated_output", "")), item.get("exit_code"))
        elif kind == "file_change":
            paths = [f"{change.get('kind')} {change.get('path')}" for change in objects(item.get("changes"))]
            yield Called(ident, "Edit", {"file_path": ", ".join(paths)})
            yield from self._bill()
            yield Answered(ident, str(item.get("status", "")), item.get("status") == "failed")
        elif kind == "error" and not str(item.get("message", "")).startswith(_HARMLESS):
            yield RequestRetried(in_line(str(item.get("message", ""))))

    def _bill(self) -> Iterator[ProgramEvent]:
        """Yield what has been used since it was told last: only its own record of the session tells before the end."""
        used = difference(self._rollout.used(), self.before)
        recent, self._billed = difference(used, self._billed), used
        if recent != Usage():
            yield ReplyBilled(recent, self._rollout.model())

    def _retry(self, words: str) -> Iterator[ProgramEvent]:
        status = _status(words)
        hopeless = refused_by_server(PROGRAM, words, status) if status in HOPELESS else None
        yield RequestRetried(in_line(words), hopeless)


def _command(item: Mapping[str, Any]) -> str:
    """Return a command as the model wrote it: it is told with the shell that runs it."""
    said = str(item.get("command", ""))
    with suppress(ValueError):
        match shlex.split(said):
            case [_, "-c" | "-lc", command]:
                return command
            case _:
                pass
    return said


def _status(words: str) -> int | None:
    """Return the status that a server answered with, as far as words tell; no answer at all is a server's failure."""
    found = _STATUS.search(words)
    if found:
        return int(found[1])
    return 503 if _DISCONNECTED.search(words) else None
