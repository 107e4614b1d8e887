"""Programs that speak the Agent Client Protocol: what differs between them, an entry a program."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from redgreenrefactor.agents.account_file import AccountFile, HomePlace
from redgreenrefactor.agents.foreign_program import ForeignProgram
from redgreenrefactor.model.session import EVERY_STRATEGY


class Counting(Enum):
    """What the tokens mean that a program tells; money it tells is always that of all turns."""

    PROMPT = "this turn"
    REQUEST = "each request, beside its words"
    LAST = "the turn's last request alone"  # not counted: too little is worse than nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingKit:
    """What a program is started with; `$home`, `$role` (a file), `$model`, `$url`, `$auth`, `$attempts` are filled in."""

    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, str] = field(default_factory=dict[str, str])  # texts, by their place in $home


NOTHING = StartingKit()


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpPreset:
    """How a program is made an agent."""

    program: ForeignProgram
    always: StartingKit
    apart: StartingKit = NOTHING  # keeps out what is the user's, unless that is to be inherited
    with_model: StartingKit | None = None  # chooses the model; None: it is asked for in the session
    with_url: StartingKit | None = None  # chooses the model's server; None: that cannot be
    own_role: bool = False  # the role replaces its system prompt; otherwise it stands before the task
    auth: Mapping[str, str] = field(
        default_factory=dict[str, str]
    )  # $auth by the key that is there; "": none
    counting: Counting = Counting.PROMPT
    cached_within: bool = False  # what it tells to have sent counts what came from the cache
    gives_up: str = ""  # what it says as it ends its turn because something was refused
    unserved: str = ""  # pattern of what it says as it ends its turn because its model's server refused
    retried: str = ""  # pattern of what it prints when a request has failed: its status or its words
    history_last: str = (
        ""  # the update that comes when it has told the history of a session; nothing: that is over before
    )
    sessions: str = (
        ""  # files that are named by session and minute, and begun anew by a session of the same minute
    )
    replaces: HomePlace | None = (
        None  # a folder of the user's, in whose place all that it starts finds its home
    )
    hides_git: bool = (
        False  # its commands find none of the user's git settings, so nobody's name to commit in
    )
    strategies: frozenset[str] = EVERY_STRATEGY
    tried: bool = True  # by us, with the real program; the others are as their makers describe them


_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY")
# Its list of tools to have (`tools.core`) would also allow them without asking; this one only takes away.
_GEMINI_WITHOUT = (
    "update_topic activate_skill web_fetch google_web_search write_todos save_memory enter_plan_mode exit_plan_mode "
    "invoke_agent ask_user list_background_processes read_background_output get_internal_docs"
)
_GEMINI_SETTINGS = {
    "security": {"auth": {"selectedType": "$auth"}},
    "tools": {"exclude": _GEMINI_WITHOUT.split()},
    "general": {
        "enableAutoUpdate": False,
        "maxAttempts": "$attempts",
        "sessionRetention": {
            "enabled": False
        },  # or it removes sessions as it starts, also the one that is asked for
    },
    "privacy": {"usageStatisticsEnabled": False},
    "skills": {"enabled": False},
    "hooksConfig": {"enabled": False},
}
_QWEN_WITHOUT = (  # of its tools
    "agent task_stop send_message skill todo_write web_fetch monitor tool_search ask_user_question exit_plan_mode"
)
_QWEN_SETTINGS = {
    "tools": {"exclude": _QWEN_WITHOUT.split()},
    "general": {"enableAutoUpdate": False, "gitCoAuthor": False},  # or it rewrites commands that commit
    "privacy": {"usageStatisticsEnabled": False},
    "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
    "context": {"fileName": "none.md"},  # the role holds what the project says
    "security": {"folderTrust": {"enabled": True}},  # or it works with what the project's .qwen/ sets
    "model": {"generationConfig": {"maxRetries": 0}},  # beside the seven attempts that nothing changes
}
_COPILOT_SETTINGS = (
    "settings.json copilot-instructions.md mcp-config.json hooks skills agents installed-plugins"
)
_COPILOT_TOOLS_WITHOUT = "skill,sql,task,read_agent,list_agents,write_agent"
_COPILOT_WITHOUT = (
    "--no-auto-update",
    "--disable-client-telemetry",
    "--no-custom-instructions",
    "--no-ask-user",
    "--no-remote-export",
    "--disable-builtin-mcps",
    "--secret-env-vars=COPILOT_PROVIDER_API_KEY",
)
_OPENCODE_SETTINGS = {
    "autoupdate": False,
    "share": "disabled",
    "snapshot": False,
    "default_agent": "rgr",
    "agent": {
        "title": {"disable": True},
        "rgr": {
            "mode": "primary",
            "prompt": "{file:$role}",
            "permission": {
                "edit": "ask",
                "bash": "allow",
                "external_directory": "ask",
                "webfetch": "deny",
                "websearch": "deny",
                "task": "deny",
                "todowrite": "deny",
                "skill": "deny",
                "question": "deny",
            },
        },
    },
    "experimental": {"continue_loop_on_deny": True},
}


def _described(title: str, command: str, *arguments: str, install: str, sign_in: str) -> AcpPreset:
    """Return the entry of a program that we have only read about: started as its makers say, and nothing else."""
    return AcpPreset(
        program=ForeignProgram(title=title, command=command, install=install, sign_in=sign_in),
        always=StartingKit(arguments=arguments),
        tried=False,
    )


PRESETS: Mapping[str, AcpPreset] = {
    "gemini": AcpPreset(
        program=ForeignProgram(
            title="Gemini CLI",
            command="gemini",
            oldest="0.61.0",
            install="npm install -g @google/gemini-cli@latest",
            account=AccountFile(place=HomePlace(".gemini/oauth_creds.json"), needed=True),
            settings=tuple(
                HomePlace(f".gemini/{name}") for name in ("settings.json", "GEMINI.md", "extensions")
            ),
            sign_in="gemini",
            keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            provider="google",
        ),
        always=StartingKit(
            arguments=("--acp",),
            env={"GEMINI_CLI_NO_RELAUNCH": "1", "GEMINI_SYSTEM_MD": "$role"},
        ),
        apart=StartingKit(
            arguments=("-e", "none"),
            env={"GEMINI_CLI_HOME": "$home"},
            files={".gemini/settings.json": json.dumps(_GEMINI_SETTINGS).replace('"$attempts"', "$attempts")},
        ),
        with_model=StartingKit(arguments=("-m", "$model")),
        with_url=StartingKit(env={"GOOGLE_GEMINI_BASE_URL": "$url"}),
        own_role=True,
        auth={"GEMINI_API_KEY": "gemini-api-key", "GOOGLE_API_KEY": "vertex-ai", "": "oauth-personal"},
        retried=r"^Attempt \d+ failed(?: with status)?:? (.*)\. Retrying",
        history_last="available_commands_update",
        sessions=".gemini/tmp/*/chats/session-*-$id.jsonl",
        hides_git=True,
        strategies=EVERY_STRATEGY - {"fork"},
    ),
    "opencode": AcpPreset(
        program=ForeignProgram(
            title="opencode",
            command="opencode",
            oldest="1.18.33",
            install="npm install -g opencode-ai@latest",
            sign_in="opencode auth login",
            account=AccountFile(
                place=HomePlace("opencode/auth.json", ".local/share", "XDG_DATA_HOME"),
                renewing="refresh",
                ending="expires",
            ),
            keeps=(
                HomePlace("opencode", ".local/share", "XDG_DATA_HOME"),
                HomePlace("opencode", ".local/state", "XDG_STATE_HOME"),
                HomePlace("opencode", ".cache", "XDG_CACHE_HOME"),
            ),
            settings=(HomePlace("opencode", ".config", "XDG_CONFIG_HOME"),),
            keys=_KEYS,
            telling={
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
            },
        ),
        always=StartingKit(
            arguments=("acp", "--print-logs", "--log-level", "ERROR"),
            env={"OPENCODE_CONFIG": "$home/opencode.json"},
            files={"opencode.json": json.dumps(_OPENCODE_SETTINGS)},
        ),
        apart=StartingKit(
            arguments=("--pure",),
            env={
                "XDG_CONFIG_HOME": "$home",
                "OPENCODE_TEST_HOME": "$home",  # or it looks for ~/.opencode
                "OPENCODE_CONFIG_DIR": "$home/opencode",
                "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
                "OPENCODE_DISABLE_CLAUDE_CODE": "1",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
                "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
            },
        ),
        with_url=StartingKit(
            env={"OPENCODE_CONFIG_CONTENT": '{"provider":{"$provider":{"options":{"baseURL":"$url"}}}}'}
        ),
        own_role=True,
        replaces=HomePlace("", ".config", "XDG_CONFIG_HOME"),
        counting=Counting.LAST,
        retried=r'message="stream error".* error\.error="(?:AI_APICallError: )?(.*?)"',
    ),
    "qwen": AcpPreset(
        program=ForeignProgram(
            title="Qwen Code",
            command="qwen",
            oldest="0.15.10",
            install="npm install -g @qwen-code/qwen-code@latest",
            account=AccountFile(
                place=HomePlace(".qwen/oauth_creds.json"),
                needed=True,
                renewing="refresh_token",
                ending="expiry_date",
            ),
            settings=(HomePlace(".qwen/settings.json"), HomePlace(".qwen/QWEN.md")),
            sign_in="qwen",
            keys=("OPENAI_API_KEY",),
        ),
        always=StartingKit(arguments=("--acp", "--auth-type", "$auth"), env={"QWEN_SYSTEM_MD": "$role"}),
        apart=StartingKit(
            env={"QWEN_HOME": "$home/.qwen"},
            files={
                ".qwen/settings.json": json.dumps(_QWEN_SETTINGS),
                ".qwen/trustedFolders.json": '{"$folder": "DO_NOT_TRUST"}',
            },
        ),
        with_model=StartingKit(arguments=("-m", "$model")),
        with_url=StartingKit(env={"OPENAI_BASE_URL": "$url"}),
        own_role=True,
        auth={"OPENAI_API_KEY": "openai", "": "qwen-oauth"},
        counting=Counting.REQUEST,
        cached_within=True,
        strategies=EVERY_STRATEGY - {"fork"},
    ),
    "goose": _described(
        "Goose", "goose", "acp", install="brew install block-goose-cli", sign_in="goose configure"
    ),
    "kimi": _described("Kimi CLI", "kimi", "acp", install="uv tool install kimi-cli", sign_in="kimi login"),
    "copilot": AcpPreset(
        program=ForeignProgram(
            title="GitHub Copilot CLI",
            command="copilot",
            oldest="1.0.102",
            install="npm install -g @github/copilot@latest",
            account=AccountFile(place=HomePlace(".copilot/config.json")),
            settings=tuple(HomePlace(f".copilot/{name}") for name in _COPILOT_SETTINGS.split()),
            sign_in="copilot login",
            keys=("COPILOT_PROVIDER_API_KEY", "COPILOT_GITHUB_TOKEN"),
        ),
        always=StartingKit(arguments=("--acp", *_COPILOT_WITHOUT)),
        apart=StartingKit(
            arguments=(f"--excluded-tools={_COPILOT_TOOLS_WITHOUT}",),
            env={"COPILOT_HOME": "$home/.copilot"},
            files={".copilot/settings.json": '{"includeCoAuthoredBy": false}'},
        ),
        with_model=StartingKit(env={"COPILOT_MODEL": "$model"}),
        with_url=StartingKit(env={"COPILOT_PROVIDER_BASE_URL": "$url", "COPILOT_OFFLINE": "true"}),
        cached_within=True,
        gives_up="Info: Operation cancelled by user",
        unserved=r"^(?:Info: .*)?Error: (?:Failed to get response|Authentication failed|\d{3}\b)",
        strategies=EVERY_STRATEGY - {"fork"},
    ),
    "auggie": _described(
        "Auggie",
        "auggie",
        "--acp",
        install="npm install -g @augmentcode/auggie@latest",
        sign_in="auggie login",
    ),
    "vibe": _described(
        "Mistral Vibe", "vibe-acp", install="uv tool install mistral-vibe", sign_in="vibe --setup"
    ),
    "cline": _described(
        "Cline", "cline", "--acp", install="npm install -g cline@latest", sign_in="cline auth"
    ),
}
