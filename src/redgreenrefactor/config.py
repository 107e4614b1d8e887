"""Settings: flags beat the environment, which beats `tdd.properties`, which beats the defaults."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal

from redgreenrefactor.errors import UsageError

ROLES = ("plan", "red", "green", "refactor", "coder", "reviewer", "diagnosis")
AGENTS = ("api", "claude-code", "codex", "gemini", "opencode")
AGENTS_WITH_MORE = ("command:", "replay:")

DEFAULT = "default"
MOST_SECONDS = 1_000_000  # eleven days; clocks and waits of the system overflow not far above
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
COUNTED = re.compile(r"\+?\d{1,9}", re.ASCII)
SPACE = re.compile(r"[\s\x00-\x1f]")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9])?(:[0-9]{1,5})?")
LINE_END = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value may be, in words, and how it is read; what cannot be read raises ValueError."""

    name: str
    expects: str
    read: Callable[[str], object]
    may_be_blank: bool = False  # then a blank property is as if it were not there
    secret: bool = False  # then the value is never shown


@dataclass(frozen=True, slots=True)
class Key:
    """One thing that can be set, and every place where it can be."""

    name: str
    kind: Kind
    default: object
    meaning: str
    property_name: str | None = None
    variable: str | None = None
    flag: str | None = None
    fallback: str | None = None  # the property that counts where the key's own is not set
    role: str | None = None
    unset: str = "none"  # what stands for a default of None
    harmless: Callable[[object], bool] | None = (
        None  # tells the values that a repository may set unapproved; None: any
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


def _number(text: str) -> float:
    if not NUMBER.fullmatch(text):
        raise ValueError(text)
    return float(text)


def _above(low: float, high: float = inf) -> Callable[[str], float]:
    """Return a reader of finite numbers that are greater than the one and not greater than the other."""

    def read(text: str) -> float:
        number = _number(text)
        if not low < number <= high or number == inf:
            raise ValueError(text)
        return number

    return read


def _within(low: float, high: float) -> Callable[[str], float]:
    """Return a reader of numbers between the two, both included."""

    def read(text: str) -> float:
        number = _number(text)
        if not low <= number <= high:
            raise ValueError(text)
        return number

    return read


def _whole(low: int) -> Kind:
    """Return the kind of value that is a whole number, at least so large."""

    def read(text: str) -> int:
        if not COUNTED.fullmatch(text) or int(text) < low:
            raise ValueError(text)
        return int(text)

    return Kind("count", f"a whole number from {low} to 999999999", read)


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


def _one_of(*choices: str) -> Kind:
    """Return the kind of value that is one of these words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(text)
        return text

    return Kind("choice", f"one of {', '.join(choices)}", read)


SECONDS = Kind("seconds", f"a number of seconds above 0, at most {MOST_SECONDS}", _above(0, MOST_SECONDS))
WAIT = Kind("wait", f"a number of seconds from 0 to {MOST_SECONDS}", _within(0, MOST_SECONDS))
PERCENT = Kind("percentage", "a percentage from 0 to 100, without a sign", _within(0, 100))
USD = Kind("dollars", "an amount in US dollars above 0", _above(0))
TEXT = Kind("text", "text", _something, may_be_blank=True)
SECRET = Kind("secret", "text", _something, may_be_blank=True, secret=True)
NAMES = Kind("names", "names of variables, separated by commas or spaces", _names, may_be_blank=True)
URL = Kind("address", "an address such as http://localhost:11434/v1", _url, may_be_blank=True)
HOST = Kind("host", "the name of a host, such as git.firm.example", _host)
MODEL = Kind("model", "the name of a model, or PROVIDER:MODEL", _something)
AGENT = Kind("agent", f"one of {', '.join(AGENTS)}, command:SHELL COMMAND, replay:NAME-OR-FILE", _agent)


def _never(_: object) -> bool:
    return False


def _if_in(*values: str) -> Callable[[object], bool]:
    return lambda value: value in values


def _key(name: str, kind: Kind, default: object, meaning: str, **more: Any) -> Key:
    """Return a key whose property is called as the key itself."""
    return Key(name, kind, default, meaning, property_name=name, **more)


def _role_keys(
    name: str, kind: Kind, default: object, variable: str, meaning: str, **more: Any
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
    _key("red.on.pass", _one_of("cover", "abort", "warn"), "cover", "when an honest new test passes in RED"),
    _key("legacy.on.break", _one_of("block", "report"), "block", "when a test from before the run breaks"),
    _key("coverage.min", PERCENT, None, "least coverage, per cent"),
    _key("minimality.min", PERCENT, None, "least minimality, per cent"),
    _key("probe.budget", SECONDS, 60.0, "seconds a turn for probes beyond the suite runs"),
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
    _key("sandbox.agents", _one_of("off", "on"), "off", "whether programs that are agents are held too"),
    _key("prompts.dir", TEXT, None, "folder of prompt templates", unset="bundled", harmless=_never),
    _key("worktree.dir", TEXT, "../.codex-worktrees", "folder of worktrees", harmless=_never),
    _key("on.finish", TEXT, None, "command to run at the end", harmless=_never),
)


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line sets."""

    agent: str | None = None
    model: str | None = None
    budget: float | None = None
    network: str | None = None
    spared: tuple[str, ...] = ()  # roles whose own properties count although others are chosen for all


@dataclass(frozen=True, slots=True)
class Line:
    """A line of `tdd.properties` as it is understood."""

    place: str  # file and line
    name: str
    value: str

    @property
    def text(self) -> str:
        """The line as one would write it."""
        return f"{self.name}={self.value}"

    @property
    def shown(self) -> str:
        """Where it stands and what it says, with nothing in it that a terminal would hide."""
        exact = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in self.text)
        return f"{self.place}: {''.join(exact)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set, read once; a field is called as its key, with `_` for the dots."""

    project_root: str | None
    anthropic_api_key: str | None = field(repr=False)
    max_retries: int
    model: str
    agent: str
    agent_env: tuple[str, ...]
    agent_url: str | None
    test_command: str | None
    setup_command: str | None
    bash_timeout: float
    test_timeout: float
    session_timeout: float
    session_turns: int
    retry_backoff: float
    red_on_pass: Literal["cover", "abort", "warn"]
    legacy_on_break: Literal["block", "report"]
    coverage_min: float | None
    minimality_min: float | None
    probe_budget: float
    github_host: str
    budget_usd: float | None
    budget_phase_usd: float | None
    sandbox: Literal["auto", "bubblewrap", "landlock", "off"]
    sandbox_network: Literal["off", "on"]
    sandbox_suite_network: Literal["auto", "off", "on"]
    sandbox_env: tuple[str, ...]
    sandbox_agents: Literal["off", "on"]
    prompts_dir: str | None
    worktree_dir: str
    on_finish: str | None
    agents: Mapping[str, str]
    models: Mapping[str, str]
    sources: Mapping[str, str]
    loosening: tuple[Line, ...] = ()  # what executes or loosens something because the repository says so

    def agent_for(self, role: str) -> str:
        """Return who works in this role."""
        return self.agents[role]

    def model_for(self, role: str) -> str:
        """Return the model this role thinks with."""
        return self.models[role]

    def source(self, name: str) -> str:
        """Return where a setting comes from: a flag, a variable, a line of the file, or `default`."""
        return self.sources[name]

    @property
    def budget_is_for_this_invocation(self) -> bool:
        """Whether the budget limits what is started now, and not the whole run with what was spent before."""
        return self.source("budget.usd") == "--budget"


@dataclass(frozen=True, slots=True)
class _Written:
    """A value somebody wrote, as it stands there."""

    place: str
    label: str  # the place and, in a file, the key
    text: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Found:
    """A value that was understood."""

    value: object
    place: str
    text: str = ""


def known_keys() -> tuple[Key, ...]:
    """Return everything that can be set, in the order documentation shows it."""
    return KEYS


def load(
    project_properties: tuple[str, str] | None,
    environ: Mapping[str, str],
    flags: Flags,
    *,
    unheard: Callable[[str], bool] = lambda _: False,
) -> Settings:
    """Return the settings; an unknown key or a bad value, even one that is overruled, is a usage error.

    Properties that are unheard have to be right as well, but count for nothing.
    """
    written = _from_flags(flags) | _from_environment(environ) | _from_properties(project_properties)
    kinds = {place: key.kind for key in KEYS for place in key.places}
    read = {
        name: _Found(_read(kinds[name], entry), entry.place, entry.text) for name, entry in written.items()
    }
    found = {name: entry for name, entry in read.items() if not unheard(name)}
    keys = [_spared(key) if key.role in flags.spared and key.property_name in found else key for key in KEYS]
    chosen = {key.name: _choose(key, found) for key in keys}
    fields: dict[str, Any] = {key.field: chosen[key.name].value for key in KEYS if key.role is None}
    return Settings(
        **fields,
        agents={role: str(chosen[f"agent.{role}"].value) for role in ROLES},
        models={role: str(chosen[f"model.{role}"].value) for role in ROLES},
        sources={name: choice.place for name, choice in chosen.items()},
        loosening=tuple(sorted(_loosening(found, keys), key=lambda line: int(line.place.rpartition(" ")[2]))),
    )


def _spared(key: Key) -> Key:
    return replace(key, flag=None, variable=None)


def _loosening(found: Mapping[str, _Found], keys: Sequence[Key]) -> Iterator[Line]:
    """Yield the properties that count and that a repository may not set by itself."""
    told: set[str] = set()
    for key in keys:
        place = next((place for place in key.places if place in found), None)
        if key.harmless is None or place in (None, key.flag, key.variable, *told):
            continue
        if key.harmless(found[place].value):
            continue
        told.add(place)
        yield Line(found[place].place, place, found[place].text.strip())


def _choose(key: Key, found: Mapping[str, _Found]) -> _Found:
    """Return what the strongest place says that says anything."""
    return next((found[place] for place in key.places if place in found), _Found(key.default, DEFAULT))


def _from_flags(flags: Flags) -> dict[str, _Written]:
    given = {key.flag: getattr(flags, key.flag.removeprefix("--")) for key in KEYS if key.flag}
    return {
        flag: _Written(flag, flag, str(value), f"Type {flag} with another value, or leave it out.")
        for flag, value in given.items()
        if value is not None
    }


def _from_environment(environ: Mapping[str, str]) -> dict[str, _Written]:
    """Return the variables that are set to something."""
    given = {key.variable: environ.get(key.variable, "") for key in KEYS if key.variable}
    return {
        variable: _Written(variable, variable, text, f"Set {variable} to another value, or unset it.")
        for variable, text in given.items()
        if text.strip()
    }


def _from_properties(project_properties: tuple[str, str] | None) -> dict[str, _Written]:
    """Return the properties that are set, the last of each name."""
    if project_properties is None:
        return {}
    file, text = project_properties
    kinds = {key.property_name: key.kind for key in KEYS if key.property_name}
    written: dict[str, _Written] = {}
    for line, name, value in _lines(file, text):
        place = f"{file} line {line}"
        if name not in kinds:
            raise UsageError(f"{place}: there is no setting {_short(name)}.", hint=_did_you_mean(name))
        hint = f"Change or remove line {line} of {file}."
        written[name] = _Written(place, f"{place}: {name}", value, hint)
    return {
        name: entry for name, entry in written.items() if entry.text.strip() or not kinds[name].may_be_blank
    }


def _lines(file: str, text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, key and value of each property."""
    import javaproperties  # noqa: PLC0415

    line = 1
    # Its annotations leave open what a file-like source yields; ours is text.
    elements = javaproperties.parse(text.removeprefix("\ufeff"))  # pyright: ignore[reportUnknownMemberType]
    try:
        for element in elements:
            if isinstance(element, javaproperties.KeyValue):
                yield line, element.key, element.value
            line += len(LINE_END.findall(element.source))
    except javaproperties.InvalidUEscapeError as error:
        raise UsageError(
            f"{file} line {line}: {_short(error.escape)} is no character.",
            hint=r"After \u come four hexadecimal digits; a backslash itself is written \\.",
        ) from error


def _read(kind: Kind, entry: _Written) -> object:
    """Return the value as its kind understands it."""
    text = entry.text.strip()
    try:
        return kind.read(_passable(text))
    except ValueError:
        said = "not usable" if kind.secret else _short(text)
        message = f"{entry.label} is {said}, but must be {kind.expects}."
        raise UsageError(message, hint=entry.hint) from None


def _passable(text: str) -> str:
    """Return the text, if a program can be given it: no NUL, no half of a surrogate pair."""
    text.encode()
    if "\0" in text:
        raise ValueError(text)
    return text


def _did_you_mean(name: str) -> str:
    """Return a hint with the nearest setting, or with all of them."""
    from difflib import get_close_matches  # noqa: PLC0415

    names = [key.property_name for key in KEYS if key.property_name]
    plain = name.lower().replace("_", ".").replace("-", ".")
    near = get_close_matches(plain, names, n=1)
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"The settings are: {', '.join(names)}."


def _short(text: str) -> str:
    limit = 80
    return repr(text if len(text) <= limit else f"{text[: limit - 1]}…")


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def template() -> str:
    """Return a `tdd.properties` that sets nothing and shows all that can be set, with its defaults."""
    lines = ["# Settings of rgr. Take away the '#' before a line to set it; what is shown is the default."]
    for key in known_keys():
        if key.property_name and key.role is None:
            default = "" if key.default in (None, ()) else key.default_text
            lines += ["", f"# {key.meaning}: {key.kind.expects}", f"#{key.property_name}={default}"]
    return "\n".join([*lines, ""])
