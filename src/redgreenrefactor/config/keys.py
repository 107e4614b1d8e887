"""Everything that can be set: what it may be, where it is set, and what a repository may set unapproved."""

import re
from collections.abc import Callable, Iterator
from math import inf
from typing import Any

from redgreenrefactor.agents.table import AGENTS as KINDS
from redgreenrefactor.model.values import frozen

ROLES = ("plan", "red", "green", "refactor", "coder", "reviewer", "diagnosis")
AGENTS = tuple(name for name, kind in KINDS.items() if not kind.argument)
AGENTS_WITH_MORE = tuple(f"{name}:" for name, kind in KINDS.items() if kind.argument)

MOST_SECONDS = 1_000_000  # eleven days; clocks and waits of the system overflow not far above
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
COUNTED = re.compile(r"\+?\d{1,9}", re.ASCII)
SPACE = re.compile(r"[\s\x00-\x1f]")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9])?(:[0-9]{1,5})?")


@frozen
class ValueType:
    """What a value may be, in words, and how it is read; what cannot be read raises ValueError."""

    name: str
    expects: str
    read: Callable[[str], object]
    may_be_blank: bool = False  # then a blank property is as if it were not there
    secret: bool = False  # then the value is never shown


@frozen
class Key:
    """One thing that can be set, and every place where it can be."""

    name: str
    kind: ValueType
    default: object
    meaning: str
    property_name: str | None = None
    variable: str | None = None
    flag: str | None = None
    fallback: str | None = None  # the property that counts where the key's own is not set
    role: str | None = None
    unset: str = "none"  # what stands for a default of None
    harmless: Callable[[object], bool] | None = (
        None  # tells what a repository may set unapproved; None: anything
    )

    @property
    def places(self) -> tuple[str, ...]:
        """Where it can be set, the strongest first."""
        return tuple(
            place for place in (self.flag, self.variable, self.property_name, self.fallback) if place
        )

    @property
    def field(self) -> str:
        """How its field of the settings is called."""
        return self.name.replace(".", "_")

    @property
    def default_text(self) -> str:
        """What documentation gives as the default."""
        return self.unset if self.default in (None, ()) else _plain(self.default)


def _number(low: float, high: float = inf, *, above: bool = False) -> Callable[[str], float]:
    """Return a reader of finite numbers from the one to the other; `above` leaves the first one out."""

    def read(text: str) -> float:
        number = float(text) if NUMBER.fullmatch(text) else inf
        if number == inf or not low <= number <= high or (above and number == low):
            raise ValueError(text)
        return number

    return read


def _whole(low: int) -> ValueType:
    """Return the kind of value that is a whole number, at least so large."""

    def read(text: str) -> int:
        if not COUNTED.fullmatch(text) or int(text) < low:
            raise ValueError(text)
        return int(text)

    return ValueType("count", f"a whole number from {low} to 999999999", read)


def _something(text: str) -> str:
    if not text:
        raise ValueError(text)
    return text


def _names(text: str) -> tuple[str, ...]:
    """Return the names in the order given, each once."""
    names = tuple(dict.fromkeys(text.replace(",", " ").split()))
    if not all(NAME.fullmatch(name) for name in names):
        raise ValueError(text)
    return names


def _agent(text: str) -> str:
    """Return the agent as it was asked for, if there is such a one."""
    more = next((text.removeprefix(start) for start in AGENTS_WITH_MORE if text.startswith(start)), "")
    if text not in AGENTS and not more.strip():
        raise ValueError(text)
    return text


def _url(text: str) -> str:
    """Return the address, if a request could be sent there; a port that is none raises by itself."""
    from urllib.parse import urlsplit  # noqa: PLC0415

    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0 or SPACE.search(text):
        raise ValueError(text)
    return text


def _host(text: str) -> str:
    """Return the name of a host, with a port or without."""
    if not HOST_NAME.fullmatch(text.lower()):
        raise ValueError(text)
    return text.lower()


def _one_of(*choices: str) -> ValueType:
    """Return the kind of value that is one of these words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(text)
        return text

    return ValueType("choice", f"one of {', '.join(choices)}", read)


SECONDS = ValueType(
    "seconds", f"a number of seconds above 0, at most {MOST_SECONDS}", _number(0, MOST_SECONDS, above=True)
)
WAIT = ValueType("wait", f"a number of seconds from 0 to {MOST_SECONDS}", _number(0, MOST_SECONDS))
PERCENT = ValueType("percentage", "a percentage from 0 to 100, without a sign", _number(0, 100))
USD = ValueType("dollars", "an amount in US dollars above 0", _number(0, above=True))
TEXT = ValueType("text", "text", _something, may_be_blank=True)
SECRET = ValueType("secret", "text", _something, may_be_blank=True, secret=True)
NAMES = ValueType("names", "names of variables, separated by commas or spaces", _names, may_be_blank=True)
URL = ValueType("address", "an address such as http://localhost:11434/v1", _url, may_be_blank=True)
HOST = ValueType("host", "the name of a host, such as git.firm.example", _host)
MODEL = ValueType("model", "the name of a model, or PROVIDER:MODEL", _something)
_SPELLED = [f"{name}:{kind.argument}" if kind.argument else name for name, kind in KINDS.items()]
AGENT = ValueType("agent", f"one of {', '.join(_SPELLED)}", _agent)


def _never(_: object) -> bool:
    return False


def _if_in(*values: str) -> Callable[[object], bool]:
    return lambda value: value in values


def _key(name: str, kind: ValueType, default: object, meaning: str, **more: Any) -> Key:
    """Return a key whose property is called as the key itself."""
    return Key(name, kind, default, meaning, property_name=name, **more)


def _role_keys(
    name: str, kind: ValueType, default: object, variable: str, meaning: str, **more: Any
) -> Iterator[Key]:
    """Yield the key that counts for every role, then each role's own."""
    shared = {"variable": variable, "flag": f"--{name}", **more}
    yield _key(name, kind, default, f"{meaning} of every role", **shared)
    for role in ROLES:
        meant = f"{meaning} of {role}"
        yield _key(f"{name}.{role}", kind, default, meant, role=role, fallback=name, **shared)


KEYS = (
    Key("anthropic.api.key", SECRET, None, "needed for the default agent only", variable="ANTHROPIC_API_KEY"),
    Key(
        "project.root",
        TEXT,
        None,
        "the project's folder",
        variable="TDD_PROJECT_ROOT",
        unset="current folder",
    ),
    _key("max.retries", _whole(0), 3, "retries of a rejected phase", variable="TDD_MAX_RETRIES"),
    *_role_keys("model", MODEL, "claude-opus-4-5-20251101", "TDD_MODEL", "the model"),
    *_role_keys("agent", AGENT, "api", "TDD_AGENT", "the agent", harmless=_never),
    _key(
        "agent.env",
        NAMES,
        (),
        "variables that agents are given although they may hold credentials",
        harmless=_never,
    ),
    _key("agent.url", URL, None, "base URL of the model server", harmless=_never),
    _key(
        "agent.path",
        TEXT,
        None,
        "where the program of an agent lies: its folder, or the program itself",
        unset="on PATH",
        harmless=_never,
    ),
    _key(
        "agent.inherit",
        _one_of("off", "on"),
        "off",
        "whether programs that are agents work with your own settings of theirs, hooks and plugins included",
        harmless=_if_in("off"),
    ),
    _key(
        "agent.memory", _one_of("on", "off"), "on", "whether agents are told what AGENTS.md and CLAUDE.md say"
    ),
    _key(
        "test.command",
        TEXT,
        None,
        "runs the tests",
        variable="TDD_TEST_COMMAND",
        unset="detected",
        harmless=_never,
    ),
    _key("setup.command", TEXT, None, "makes a clean checkout runnable", harmless=_never),
    _key("bash.timeout", SECONDS, 120.0, "seconds for every Bash command of an agent"),
    _key("test.timeout", SECONDS, 900.0, "seconds for one run of the suite"),
    _key("session.timeout", SECONDS, 3600.0, "seconds for one agent session"),
    _key("session.turns", _whole(1), 200, "requests to the model in one session of the api agent"),
    _key(
        "retry.backoff", WAIT, 1.0, "seconds before the first retry, doubling with each; 0 waits not at all"
    ),
    _key(
        "retry.session",
        _one_of("new", "resume"),
        "new",
        "whether a retry begins anew, or goes on with the session whose work was rejected",
    ),
    _key("red.on.pass", _one_of("cover", "abort", "warn"), "cover", "when an honest new test passes in RED"),
    _key(
        "plan.sessions",
        _one_of("needed", "always"),
        "needed",
        "whether PLAN is asked before every case, or where the plan does not tell what comes next",
    ),
    _key("legacy.on.break", _one_of("block", "report"), "block", "when a test from before the run breaks"),
    _key(
        "legacy.tests",
        _one_of("keep", "prove"),
        "keep",
        "tests from before the run: only moved or renamed, or rewritten where they prove as strong",
        harmless=_if_in("keep"),
    ),
    _key("coverage.min", PERCENT, None, "least coverage, per cent"),
    _key("minimality.min", PERCENT, None, "least minimality, per cent"),
    _key("probe.budget", SECONDS, 60.0, "seconds a turn for measurements that are only counted"),
    _key(
        "probe.warm",
        _one_of("on", "off"),
        "on",
        "whether probes are forks of a process that has the runner loaded, where that can be",
    ),
    _key(
        "probe.jobs",
        _whole(1),
        None,
        "runs of tests at a time; none: as many as there are cores, at most 4, where the sandbox keeps them apart",
    ),
    _key(
        "github.host",
        HOST,
        "github.com",
        "the GitHub server that gets GITHUB_TOKEN, beside github.com and *.ghe.com",
        harmless=_if_in("github.com"),
    ),
    _key("budget.usd", USD, None, "what the whole run may cost", flag="--budget"),
    _key("budget.phase.usd", USD, None, "what one phase may cost"),
    _key(
        "sandbox",
        _one_of("auto", "bubblewrap", "landlock", "off"),
        "auto",
        "holds the Bash tool and suites",
        variable="TDD_SANDBOX",
        harmless=_if_in("auto", "bubblewrap"),
    ),
    _key("sandbox.network", _one_of("off", "on"), "off", "network of the Bash tool", harmless=_if_in("off")),
    _key(
        "sandbox.suite.network",
        _one_of("auto", "off", "on"),
        "auto",
        "network of the suites",
        flag="--network",
        harmless=_if_in("auto", "off"),
    ),
    _key(
        "sandbox.env",
        NAMES,
        (),
        "variables that suites are given although they may hold credentials",
        harmless=_never,
    ),
    _key(
        "sandbox.agents",
        _one_of("off", "auto", "on"),
        "off",
        "whether programs that are agents are held too; auto: where that is known to work",
    ),
    _key("prompts.dir", TEXT, None, "folder of prompt templates", unset="bundled", harmless=_never),
    _key("worktree.dir", TEXT, "../.codex-worktrees", "folder of worktrees", harmless=_never),
    _key("on.finish", TEXT, None, "command to run at the end", harmless=_never),
)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def template() -> str:
    """Return a `tdd.properties` that sets nothing and shows all that can be set, with its defaults."""
    lines = ["# Settings of rgr. Take away the '#' before a line to set it; what is shown is the default."]
    for key in KEYS:
        if key.property_name and key.role is None:
            default = "" if key.default in (None, ()) else key.default_text
            lines += ["", f"# {key.meaning}: {key.kind.expects}", f"#{key.property_name}={default}"]
    return "\n".join([*lines, ""])
