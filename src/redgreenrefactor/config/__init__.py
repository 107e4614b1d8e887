"""Settings: flags beat the environment, which beats `tdd.properties`, which beats the defaults."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from redgreenrefactor.config.keys import KEYS, ROLES, Key, ValueType
from redgreenrefactor.errors import UsageError

DEFAULT = "default"
LINE_END = re.compile(r"\r\n?|\n")


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
    agent_path: str | None
    agent_inherit: Literal["off", "on"]
    agent_memory: Literal["on", "off"]
    test_command: str | None
    setup_command: str | None
    bash_timeout: float
    test_timeout: float
    session_timeout: float
    session_turns: int
    retry_backoff: float
    retry_session: Literal["new", "resume"]
    red_on_pass: Literal["cover", "abort", "warn"]
    plan_sessions: Literal["needed", "always"]
    legacy_on_break: Literal["block", "report"]
    legacy_tests: Literal["keep", "prove"]
    coverage_min: float | None
    minimality_min: float | None
    probe_budget: float
    probe_warm: Literal["on", "off"]
    probe_jobs: int | None
    github_host: str
    budget_usd: float | None
    budget_phase_usd: float | None
    sandbox: Literal["auto", "bubblewrap", "landlock", "off"]
    sandbox_network: Literal["off", "on"]
    sandbox_suite_network: Literal["auto", "off", "on"]
    sandbox_env: tuple[str, ...]
    sandbox_agents: Literal["off", "auto", "on"]
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


def _read(kind: ValueType, entry: _Written) -> object:
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
