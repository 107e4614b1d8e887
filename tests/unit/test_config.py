"""Settings are read once, from the strongest place that says something, and nothing wrong passes."""

from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redgreenrefactor.config import Flags, Settings, load
from redgreenrefactor.config.keys import AGENTS, AGENTS_WITH_MORE, KEYS, ROLES, Key
from redgreenrefactor.errors import UsageError

FILE = "tdd.properties"
DEFAULT_MODEL = "claude-opus-4-5-20251101"
NO_FLAGS = Flags()


def of_file(text: str) -> Settings:
    return load((FILE, text), {}, NO_FLAGS)


def of_environment(**environ: str) -> Settings:
    return load(None, environ, NO_FLAGS)


def refusal(
    text: str | None = None, environ: Mapping[str, str] | None = None, flags: Flags = NO_FLAGS
) -> UsageError:
    with pytest.raises(UsageError) as caught:
        load(None if text is None else (FILE, text), environ or {}, flags)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return caught.value


def key(name: str) -> Key:
    return next(known for known in KEYS if known.name == name)


DEFAULTS: dict[str, object] = {
    "anthropic.api.key": None,
    "project.root": None,
    "max.retries": 3,
    "model": DEFAULT_MODEL,
    "agent": "api",
    "agent.env": (),
    "agent.url": None,
    "agent.path": None,
    "agent.inherit": "off",
    "agent.memory": "on",
    "test.command": None,
    "setup.command": None,
    "bash.timeout": 120,
    "test.timeout": 900,
    "session.timeout": 3600,
    "session.turns": 200,
    "retry.backoff": 1,
    "retry.session": "new",
    "red.on.pass": "cover",
    "plan.sessions": "needed",
    "legacy.on.break": "block",
    "legacy.tests": "keep",
    "coverage.min": None,
    "minimality.min": None,
    "probe.budget": 60,
    "probe.warm": "on",
    "probe.jobs": None,
    "github.host": "github.com",
    "budget.usd": None,
    "budget.phase.usd": None,
    "sandbox": "auto",
    "sandbox.network": "off",
    "sandbox.suite.network": "auto",
    "sandbox.env": (),
    "sandbox.agents": "off",
    "prompts.dir": None,
    "worktree.dir": "../.codex-worktrees",
    "on.finish": None,
}

GOOD_NUMBERS = [("1", 1.0), ("0.5", 0.5), ("+7", 7.0), (".25", 0.25), ("3.", 3.0), ("1e2", 100.0)]
BAD_NUMBERS = ["", "x", "-1", "nan", "inf", "1e999", "1_0", "1 2", "0x10", "1,5", "3 # three", "٣"]
WHOLE = ["session.turns", "probe.jobs"]
SECONDS = ["bash.timeout", "test.timeout", "session.timeout", "probe.budget"]
AMOUNTS = ["budget.usd", "budget.phase.usd"]
PERCENTAGES = ["coverage.min", "minimality.min"]
TEXTS = ["test.command", "setup.command", "prompts.dir", "worktree.dir", "on.finish"]
CHOICES = {
    "red.on.pass": ["cover", "abort", "warn"],
    "plan.sessions": ["needed", "always"],
    "probe.warm": ["on", "off"],
    "legacy.on.break": ["block", "report"],
    "legacy.tests": ["keep", "prove"],
    "sandbox": ["auto", "bubblewrap", "landlock", "off"],
    "sandbox.network": ["off", "on"],
    "sandbox.suite.network": ["auto", "off", "on"],
    "sandbox.agents": ["off", "auto", "on"],
}

GOOD: list[tuple[str, str, object]] = [
    *[
        ("max.retries", text, value)
        for text, value in [("0", 0), ("1", 1), ("10", 10), ("007", 7), ("+2", 2)]
    ],
    *[(key, text, value) for key in WHOLE for text, value in [("1", 1), ("500", 500)]],
    *[(name, text, value) for name in [*SECONDS, *AMOUNTS, "retry.backoff"] for text, value in GOOD_NUMBERS],
    *[(name, "1000000", 1_000_000.0) for name in [*SECONDS, "retry.backoff"]],
    ("retry.backoff", "0", 0.0),
    *[(name, text, float(text)) for name in PERCENTAGES for text in ("0", "100", "79.5")],
    *[(name, choice, choice) for name, choices in CHOICES.items() for choice in choices],
    *[(name, "some: text = #1 ünï", "some: text = #1 ünï") for name in TEXTS],
    *[("model", text, text) for text in (DEFAULT_MODEL, "openai:gpt-5", "ollama:llama3:8b")],
    *[("agent", text, text) for text in ("api", "claude-code", "codex", "gemini", "opencode")],
    *[("agent", text, text) for text in ("command:./agent.sh --fast", "replay:kata", "replay:a/b.json")],
    ("agent.env", "GH_TOKEN", ("GH_TOKEN",)),
    ("agent.env", "A,B, C\tD ,, A", ("A", "B", "C", "D")),
    ("agent.env", "", ()),
    ("sandbox.env", "DATABASE_URL", ("DATABASE_URL",)),
    ("agent.path", "/opt/agents/bin", "/opt/agents/bin"),
    ("agent.inherit", "on", "on"),
    ("agent.memory", "off", "off"),
    ("retry.session", "resume", "resume"),
    ("agent.url", "http://localhost:11434/v1", "http://localhost:11434/v1"),
    ("agent.url", "https://[::1]/", "https://[::1]/"),
    ("github.host", "Git.Firm.example", "git.firm.example"),
    ("github.host", "git.firm.example:8443", "git.firm.example:8443"),
]

BAD: list[tuple[str, str]] = [
    *[("max.retries", text) for text in ["-1", "1.5", "1e1", "9" * 5000, "", "three", "1_0", "٣"]],
    *[(key, text) for key in WHOLE for text in ["0", "-1", "1.5", "", "many"]],
    *[(name, text) for name in [*SECONDS, *AMOUNTS] for text in [*BAD_NUMBERS, "0", "-0"]],
    *[(name, text) for name in [*PERCENTAGES, "retry.backoff"] for text in BAD_NUMBERS],
    *[(name, "1000000.5") for name in [*SECONDS, "retry.backoff"]],
    *[(name, text) for name in PERCENTAGES for text in ["100.1", "80%", "-0.1"]],
    *[(name, text) for name in CHOICES for text in ["", "OFF", "yes", "true", "auto off"]],
    *[(name, text) for name in TEXTS for text in ["a\\u0000b", "a\\ud800b"]],
    *[("model", text) for text in ["", "a\\u0000"]],
    *[
        ("agent", text)
        for text in ["", "claude", "API", "command:", "command:  ", "replay:", "replay", "command"]
    ],
    *[(name, text) for name in ("agent.env", "sandbox.env") for text in ["A=1", "1A", "A;B", "$HOME", "Ä"]],
    *[
        ("agent.url", text)
        for text in ["localhost:11434", "ftp://x/", "http://", "http://[::1", "http://x:y", "http://x y"]
    ],
    ("agent.path", "a\\u0000b"),
    *[(name, "yes") for name in ("agent.inherit", "agent.memory", "retry.session")],
    *[("github.host", text) for text in ["", "https://git.firm.example", "a/b", "-a", "a b", "git@a", "a."]],
    *[("agent.url", text) for text in ["http://x:0", "http://x:99999", "http://x\\ty/"]],
]


@pytest.mark.parametrize(("name", "default"), DEFAULTS.items())
def test_without_anything_said_the_default_counts(name: str, default: object) -> None:
    settings = load(None, {}, NO_FLAGS)
    assert getattr(settings, key(name).field) == default
    assert settings.source(name) == "default"


def test_every_key_has_a_default_here_and_a_field_there() -> None:
    shared = [known for known in KEYS if known.role is None]
    assert {known.name for known in shared} == set(DEFAULTS)
    assert {known.field for known in shared} | {"agents", "models", "sources", "loosening"} == {
        field.name for field in fields(Settings)
    }


def test_every_key_that_can_be_set_is_tried_on_both_sides() -> None:
    settable = {known.name for known in KEYS if known.property_name and known.role is None}
    assert {name for name, _, _ in GOOD} == settable
    assert {name for name, _ in BAD} == settable


@pytest.mark.parametrize(("name", "text", "value"), GOOD)
def test_a_good_property_is_read(name: str, text: str, value: object) -> None:
    settings = of_file(f"# ours\n{name} = {text}\n")
    assert getattr(settings, key(name).field) == value
    assert type(getattr(settings, key(name).field)) is type(value)
    if text:
        assert settings.source(name) == f"{FILE} line 2"


@pytest.mark.parametrize(("name", "text"), BAD)
def test_a_bad_property_is_refused_with_file_line_and_key(name: str, text: str) -> None:
    error = refusal(f"# ours\n\n{name}={text}\n")
    assert error.message.startswith(f"{FILE} line 3: {name} is ")
    assert key(name).kind.expects in error.message
    assert "line 3" in error.hint
    assert len(error.message) < 300


@pytest.mark.parametrize("name", [*TEXTS, "agent.url", "agent.env"])
@pytest.mark.parametrize("blank", ["", "   ", "\\t", "\\u00a0"])
def test_a_blank_text_is_not_set(name: str, blank: str) -> None:
    settings = of_file(f"{name}={blank}\n")
    assert getattr(settings, key(name).field) == DEFAULTS[name]
    assert settings.source(name) == "default"


VARIABLES = {
    "TDD_MAX_RETRIES": ("max.retries", "5", 5),
    "TDD_MODEL": ("model", "openai:gpt-5", "openai:gpt-5"),
    "TDD_AGENT": ("agent", "codex", "codex"),
    "TDD_TEST_COMMAND": ("test.command", "make test", "make test"),
    "TDD_SANDBOX": ("sandbox", "off", "off"),
    "TDD_PROJECT_ROOT": ("project.root", "/srv/project", "/srv/project"),
    "ANTHROPIC_API_KEY": ("anthropic.api.key", "sk-ant-1", "sk-ant-1"),
}


def test_every_variable_is_tried() -> None:
    assert {known.variable for known in KEYS if known.variable} == set(VARIABLES)


@pytest.mark.parametrize(("variable", "expected"), VARIABLES.items())
def test_a_variable_is_read(variable: str, expected: tuple[str, str, object]) -> None:
    name, text, value = expected
    settings = of_environment(**{variable: f" {text}\n"})
    assert getattr(settings, key(name).field) == value
    assert settings.source(name) == variable


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_variable_is_not_set(variable: str, blank: str) -> None:
    assert of_environment(**{variable: blank}) == load(None, {}, NO_FLAGS)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("TDD_MAX_RETRIES", "many"),
        ("TDD_AGENT", "claude"),
        *[(variable, "a\udce9b") for variable in VARIABLES],
    ],
)
def test_a_bad_variable_is_refused_by_its_name(variable: str, text: str) -> None:
    error = refusal(environ={variable: text})
    assert error.message.startswith(f"{variable} is ")
    assert variable in error.hint
    error.message.encode()


def test_other_variables_are_nobodys_business() -> None:
    assert of_environment(TDD_ROLE="test", TDD_CYCLE="x", max_retries="x") == load(None, {}, NO_FLAGS)


def test_a_secret_is_neither_shown_nor_settable_in_the_file() -> None:
    assert "sk-ant" not in repr(of_environment(ANTHROPIC_API_KEY="sk-ant-1"))
    error = refusal(environ={"ANTHROPIC_API_KEY": "sk-ant-\udce9"})
    assert "sk-ant" not in error.message
    error = refusal("ANTHROPIC_API_KEY=sk-ant-1")
    assert "sk-ant" not in error.message + error.hint


def test_flags_beat_variables_beat_properties_beat_defaults() -> None:
    text, environ = "agent=codex\nmodel=of-file\n", {"TDD_AGENT": "gemini", "TDD_MODEL": "of-variable"}
    flags = Flags(agent="opencode", model="of-flag")
    seen = [
        load(None, {}, NO_FLAGS),
        load((FILE, text), {}, NO_FLAGS),
        load((FILE, text), environ, NO_FLAGS),
        load((FILE, text), environ, flags),
    ]
    assert [settings.agent for settings in seen] == ["api", "codex", "gemini", "opencode"]
    assert [settings.model for settings in seen] == [DEFAULT_MODEL, "of-file", "of-variable", "of-flag"]
    assert [settings.source("agent") for settings in seen] == [
        "default",
        f"{FILE} line 1",
        "TDD_AGENT",
        "--agent",
    ]
    assert [settings.source("model") for settings in seen] == [
        "default",
        f"{FILE} line 2",
        "TDD_MODEL",
        "--model",
    ]


def test_a_variable_beats_the_property_of_every_key_that_has_both() -> None:
    settings = load(
        (FILE, "max.retries=1\ntest.command=a"), {"TDD_MAX_RETRIES": "2", "TDD_TEST_COMMAND": "b"}, NO_FLAGS
    )
    assert (settings.max_retries, settings.test_command) == (2, "b")


@pytest.mark.parametrize("role", ROLES)
def test_among_properties_the_roles_own_wins(role: str) -> None:
    settings = of_file(f"agent.{role}=gemini\nagent=codex\nmodel=all\nmodel.{role}=own\n")
    assert (settings.agent_for(role), settings.model_for(role)) == ("gemini", "own")
    assert settings.source(f"agent.{role}") == f"{FILE} line 1"
    assert settings.source(f"model.{role}") == f"{FILE} line 4"
    for other in set(ROLES) - {role}:
        assert (settings.agent_for(other), settings.model_for(other)) == ("codex", "all")
        assert settings.source(f"agent.{other}") == f"{FILE} line 2"


@pytest.mark.parametrize("role", ROLES)
def test_a_role_without_anything_of_its_own_has_the_default(role: str) -> None:
    settings = of_file("")
    assert (settings.agent_for(role), settings.model_for(role)) == ("api", DEFAULT_MODEL)
    assert settings.source(f"agent.{role}") == "default"


@pytest.mark.parametrize("role", ROLES)
def test_a_variable_or_a_flag_sets_every_role(role: str) -> None:
    text = f"agent.{role}=gemini\nmodel.{role}=own\n"
    settings = load((FILE, text), {"TDD_AGENT": "codex", "TDD_MODEL": "all"}, NO_FLAGS)
    assert (settings.agent_for(role), settings.model_for(role)) == ("codex", "all")
    settings = load((FILE, text), {"TDD_AGENT": "codex"}, Flags(agent="replay:kata", model="flag"))
    assert (settings.agent_for(role), settings.model_for(role)) == ("replay:kata", "flag")
    assert settings.source(f"model.{role}") == "--model"


def test_a_role_may_be_spared_what_is_chosen_for_all() -> None:
    text = "agent.diagnosis=command:./look\nagent.green=codex\n"
    flags = Flags(agent="replay:kata", model="flag", spared=("diagnosis",))
    settings = load((FILE, text), {"TDD_AGENT": "gemini"}, flags)
    assert (settings.agent_for("diagnosis"), settings.agent_for("green")) == ("command:./look", "replay:kata")
    assert settings.model_for("diagnosis") == "flag"  # nothing was chosen for it
    assert [line.name for line in settings.loosening] == ["agent.diagnosis"]


@pytest.mark.parametrize("role", ["test", "code", "RED", ""])
def test_an_unknown_role_is_refused(role: str) -> None:
    assert "there is no setting" in refusal(f"agent.{role}=codex").message
    with pytest.raises(KeyError):
        of_file("").agent_for(role)


@pytest.mark.parametrize(("role_key", "bad"), [("agent.red", "claude"), ("model.coder", "")])
def test_a_bad_value_of_a_role_is_refused(role_key: str, bad: str) -> None:
    assert refusal(f"{role_key}={bad}").message.startswith(f"{FILE} line 1: {role_key} is ")


def test_an_unknown_agent_is_told_what_is_possible() -> None:
    message = refusal(flags=Flags(agent="claude")).message
    for possible in (*AGENTS, *AGENTS_WITH_MORE):
        assert possible in message


@pytest.mark.parametrize(
    ("flag", "flags"),
    [
        ("--agent", Flags(agent="")),
        ("--agent", Flags(agent="command: ")),
        ("--model", Flags(model=" ")),
        *[("--budget", Flags(budget=amount)) for amount in (0.0, -1.0, float("nan"), float("inf"))],
    ],
)
def test_a_bad_flag_is_refused_by_its_name(flag: str, flags: Flags) -> None:
    error = refusal(flags=flags)
    assert error.message.startswith(f"{flag} is ")
    assert flag in error.hint


@pytest.mark.parametrize("amount", [5.0, 0.01, 1e-7, 1e20, 3])
def test_the_budget_flag_beats_the_property_and_is_for_this_invocation(amount: float) -> None:
    settings = load((FILE, "budget.usd=2"), {}, Flags(budget=amount))
    assert settings.budget_usd == amount
    assert settings.budget_is_for_this_invocation
    assert not of_file("budget.usd=2").budget_is_for_this_invocation


def test_a_bad_value_is_refused_even_where_it_is_overruled() -> None:
    error = refusal("agent=claude", {"TDD_AGENT": "codex"}, Flags(agent="api"))
    assert error.message.startswith(f"{FILE} line 1: agent is 'claude'")


@pytest.mark.parametrize(
    ("unknown", "near"),
    [
        ("max.retry", "max.retries"),
        ("MAX_RETRIES", "max.retries"),
        ("TDD_MODEL", "model"),
        ("test-command", "test.command"),
        ("agent.reviewr", "agent.reviewer"),
        ("sandbox.networks", "sandbox.network"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(unknown: str, near: str) -> None:
    error = refusal(f"max.retries=1\n{unknown}=1\n")
    assert error.message == f"{FILE} line 2: there is no setting {unknown!r}."
    assert error.hint == f"Did you mean {near!r}?"


@pytest.mark.parametrize("unknown", ["zzz", "", "\\ud800", "\\u0000", "q" * 100_000])
def test_a_key_like_no_other_is_refused_with_all_there_are(unknown: str) -> None:
    error = refusal(f"{unknown}=1")
    assert f"{FILE} line 1" in error.message
    assert "max.retries" in error.hint
    assert len(error.message) < 200
    error.message.encode()


def test_of_a_key_said_twice_the_last_counts() -> None:
    settings = of_file("max.retries=never read\nmax.retries=1\nmax.retries=2\n")
    assert settings.max_retries == 2
    assert settings.source("max.retries") == f"{FILE} line 3"


def test_a_text_emptied_later_is_not_set() -> None:
    assert of_file("test.command=make\ntest.command=\n").test_command is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_over_comments_blanks_and_continuations(end: str) -> None:
    lines = [
        "\ufeff# ours",
        "! too",
        "",
        "  \t",
        "test.command : make \\",
        "   -k \\",
        "   test",
        "sandbox off",
        "zzz=1",
    ]
    assert refusal(end.join(lines)).message.startswith(f"{FILE} line 9:")
    settings = of_file(end.join(lines[:-1]))
    assert (settings.test_command, settings.source("test.command")) == ("make -k test", f"{FILE} line 5")
    assert (settings.sandbox, settings.source("sandbox")) == ("off", f"{FILE} line 8")


def test_a_form_feed_ends_no_line() -> None:
    assert of_file("# a\fb\x0bc\x85d\u2028e\nmax.retries=1").source("max.retries") == f"{FILE} line 2"


def test_a_byte_order_mark_before_the_first_key_is_no_part_of_it() -> None:
    assert of_file("\ufeffmax.retries=1").max_retries == 1


def test_escapes_are_understood_as_java_does() -> None:
    settings = of_file(
        "test.command=caf\\u00e9 \\ud83d\\ude00 a\\\\b\non.finish=größer ✓\nm\\u0061x.retries=1"
    )
    assert (settings.test_command, settings.on_finish, settings.max_retries) == (
        "café 😀 a\\b",
        "größer ✓",
        1,
    )


@pytest.mark.parametrize("text", ["test.command=\\u12", "test.command=\\uxyzw", "\\u=1", "on.finish=a \\u 1"])
def test_a_malformed_escape_is_refused_with_its_line(text: str) -> None:
    error = refusal(f"# ours\nmax.retries=1\n{text}\n")
    assert error.message.startswith(f"{FILE} line 3: ")
    assert "\\u" in error.hint


def test_the_file_is_called_as_it_was_introduced() -> None:
    with pytest.raises(UsageError, match=r"^sub/tdd\.properties line 1: "):
        load(("sub/tdd.properties", "zzz=1"), {}, NO_FLAGS)
    assert load(("sub/x", "sandbox=off"), {}, NO_FLAGS).source("sandbox") == "sub/x line 1"


def test_settings_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        load(None, {}, NO_FLAGS).max_retries = 4  # pyright: ignore[reportAttributeAccessIssue]


def test_the_source_of_nothing_is_refused() -> None:
    with pytest.raises(KeyError):
        load(None, {}, NO_FLAGS).source("zzz")


def test_the_table_tells_documentation_everything() -> None:
    assert all(known.meaning and known.places and known.kind.expects for known in KEYS)
    shown = {known.name: known.default_text for known in KEYS}
    assert (shown["test.command"], shown["prompts.dir"], shown["agent.env"]) == (
        "detected",
        "bundled",
        "none",
    )
    assert (shown["bash.timeout"], shown["max.retries"], shown["model.red"]) == ("120", "3", DEFAULT_MODEL)


NAMES = [known.name for known in KEYS]
LINES = st.tuples(
    st.sampled_from([*NAMES, "zzz"]),
    st.sampled_from(["=", ":", " ", " = ", ""]),
    st.one_of(st.text(max_size=20), st.sampled_from([text for _, text, _ in GOOD])),
).map("".join)
FILES = st.one_of(st.text(), st.lists(LINES).map("\n".join))


def outcome(text: str | None, environ: Mapping[str, str]) -> Settings | UsageError:
    try:
        return load(None if text is None else (FILE, text), environ, NO_FLAGS)
    except UsageError as error:
        return error


@given(FILES)
@hypothesis.settings(deadline=None)
def test_any_file_gives_settings_or_a_usage_error_with_its_line(text: str) -> None:
    result = outcome(text, {})
    assert isinstance(result, Settings) or (result.message.startswith(f"{FILE} line ") and result.hint)


@given(st.dictionaries(st.sampled_from(list(VARIABLES)), st.text()))
@hypothesis.settings(deadline=None)
def test_any_environment_gives_settings_or_a_usage_error_with_its_variable(environ: dict[str, str]) -> None:
    result = outcome(None, environ)
    assert isinstance(result, Settings) or result.message.startswith(tuple(environ))
