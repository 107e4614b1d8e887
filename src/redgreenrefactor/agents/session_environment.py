"""The environment a session starts in."""

from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase

from redgreenrefactor.model.session import Brief
from redgreenrefactor.sandbox.cage import Cage
from redgreenrefactor.sandbox.secrets import masked, names_a_model_server, without_secrets

Confine = Callable[[Brief], Cage | None]  # what holds the programs of one session; asked once, as it begins

_OF_THE_USER = (
    "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_SSL_*",
    "GIT_EDITOR",
    "GIT_PAGER",
    "GIT_TERMINAL_PROMPT",
)

# What git reaches remotes with. A session publishes nothing, so it finds none of it unless `agent.env` names it.
_PUSHING = frozenset(
    (
        "SSH_AUTH_SOCK",
        "SSH_AGENT_PID",
        "SSH_ASKPASS",
        "GIT_ASKPASS",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT",
    )
)
_NO_HELPERS = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "credential.helper", "GIT_CONFIG_VALUE_0": ""}


def free(_brief: Brief) -> Cage | None:
    """Hold nothing."""
    return None


def environment(
    env: Mapping[str, str], passed_on: Collection[str] = (), identity: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return what a session finds: no credentials that were not named, no git but that of its own folder.

    Where GIT_ASKPASS is named, git may also ask its credential helpers.
    """
    kept = without_git(without_secrets(env, passed_on))
    usual = {name: value for name, value in kept.items() if name not in _PUSHING}
    named = {name: env[name] for name in _PUSHING.intersection(passed_on, env)}
    helpers = {} if "GIT_ASKPASS" in passed_on else {**_NO_HELPERS, "GIT_TERMINAL_PROMPT": "0"}
    return {**usual, **helpers, **named, **(identity or {})}


def of_a_program(
    env: Mapping[str, str], *, passed_on: Collection[str] = (), identity: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return what an agent finds that asks a model itself: it is told where, unless that would tell a password."""
    servers = [name for name in env if names_a_model_server(name) and masked(env[name]) == env[name]]
    return environment(env, passed_on=(*passed_on, *servers), identity=identity)


def without_git(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what would turn git to another repository, index or work tree."""
    return {name: value for name, value in env.items() if not name.startswith("GIT_") or _users(name)}


def _users(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in _OF_THE_USER)
