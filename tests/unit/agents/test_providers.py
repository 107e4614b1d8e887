import sys
from pathlib import Path

import pytest

from agent_setup import setup_with
from redgreenrefactor.agents.api import build
from redgreenrefactor.agents.providers import ModelAccess, access, base_url, load_client
from redgreenrefactor.errors import NotReadyError, UsageError

KEYS = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "GEMINI_API_KEY": "g"}


def test_a_model_without_a_provider_is_anthropics() -> None:
    way = access("claude-opus-4-5-20251101", None, KEYS)

    assert (way.provider, way.model, way.key) == ("anthropic", "claude-opus-4-5-20251101", "a")
    assert way.url == "https://api.anthropic.com"


@pytest.mark.parametrize(
    ("spec", "provider", "model", "key"),
    [
        ("anthropic:claude-haiku-4-5", "anthropic", "claude-haiku-4-5", "a"),
        ("openai:gpt-5", "openai", "gpt-5", "o"),
        ("google:gemini-2.5-pro", "google", "gemini-2.5-pro", "g"),
        ("ollama:qwen3:8b", "ollama", "qwen3:8b", None),
    ],
)
def test_a_provider_can_be_named(spec: str, provider: str, model: str, key: str | None) -> None:
    way = access(spec, None, KEYS)

    assert (way.provider, way.model, way.key) == (provider, model, key)


@pytest.mark.parametrize(
    ("spec", "variable"),
    [
        ("claude-opus-4-5", "ANTHROPIC_API_KEY"),
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("google:x", "GOOGLE_API_KEY"),
    ],
)
@pytest.mark.parametrize(
    "environ", [{}, {"ANTHROPIC_API_KEY": " ", "OPENAI_API_KEY": "", "GOOGLE_API_KEY": ""}]
)
def test_a_key_that_is_not_set_is_named(spec: str, variable: str, environ: dict[str, str]) -> None:
    with pytest.raises(NotReadyError, match=variable) as caught:
        access(spec, None, environ)

    assert variable in caught.value.hint


def test_servers_of_ones_own_need_no_key() -> None:
    assert access("ollama:qwen3", None, {}).url == "http://localhost:11434/v1"
    assert access("openai:qwen3", "http://localhost:8000/v1", {}).key is None


def test_anthropics_key_is_needed_wherever_its_server_is() -> None:
    with pytest.raises(NotReadyError, match="ANTHROPIC_API_KEY"):
        access("claude-opus-4-5", "http://localhost:8000", {})


def test_a_server_that_is_compatible_with_openais_is_spoken_to_as_such_servers_are() -> None:
    assert access("openai:qwen3", "http://localhost:8000/v1", KEYS).provider == "openai-chat"
    assert access("openai-responses:gpt-5", "http://localhost:8000/v1", KEYS).provider == "openai-responses"


def test_the_setting_comes_before_the_providers_own_variable() -> None:
    environ = {**KEYS, "ANTHROPIC_BASE_URL": "http://localhost:1"}

    assert access("claude-opus-4-5", None, environ).url == "http://localhost:1"
    assert access("claude-opus-4-5", "http://localhost:2", environ).url == "http://localhost:2"


@pytest.mark.parametrize(
    ("provider", "given", "meant"),
    [
        ("anthropic", "http://h:1", "http://h:1"),
        ("anthropic", "http://h:1/v1/", "http://h:1"),
        ("anthropic", "http://h:1/proxy", "http://h:1/proxy"),
        ("google", "http://h:1/v1beta", "http://h:1"),
        ("openai", "http://h:1", "http://h:1/v1"),
        ("openai", "http://h:1/", "http://h:1/v1"),
        ("openai", "http://h:1/api/v3", "http://h:1/api/v3"),
        ("ollama", "http://h:1", "http://h:1/v1"),
    ],
)
def test_an_address_is_taken_with_its_version_or_without(provider: str, given: str, meant: str) -> None:
    assert base_url(provider, given) == meant


@pytest.mark.parametrize("spec", ["nobody:model", "qwen3:8b", ":model", "openai:", " : "])
def test_a_provider_that_does_not_exist_is_bad_usage(spec: str) -> None:
    with pytest.raises(UsageError):
        access(spec, None, KEYS)


def test_a_provider_whose_client_is_not_installed_says_how_to_get_it() -> None:
    with pytest.raises(NotReadyError):
        access("mistral:large", None, KEYS)


def test_any_other_provider_that_is_known_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "d")

    assert access("deepseek:deepseek-chat", None, KEYS) == ModelAccess(
        "deepseek", "deepseek-chat", "deepseek"
    )
    with pytest.raises(UsageError, match=r"agent\.url"):
        access("deepseek:deepseek-chat", "http://localhost:1", KEYS)


def test_another_providers_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)

    with pytest.raises(NotReadyError, match="DEEPSEEK_API_KEY"):
        access("deepseek:deepseek-chat", None, KEYS)


def test_a_key_is_not_shown() -> None:
    assert "secret" not in repr(access("claude-opus-4-5", None, {"ANTHROPIC_API_KEY": "secret"}))


def test_without_a_key_every_other_way_is_named_and_what_is_here_comes_first(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    setup = setup_with(env={"PATH": str(program.parent)}, model="claude-opus-4-5-20251101")
    with pytest.raises(NotReadyError, match="no API key") as caught:
        build("", setup)

    first, second, *others = caught.value.hint.splitlines()
    assert first.startswith("Set ANTHROPIC_API_KEY")
    assert second == "--agent codex: with your account of that program, which is installed here."
    assert others[0].startswith("--agent claude-code, gemini, ")
    assert others[0].endswith(": with your account of that program, once it is installed.")
    assert "codex" not in others[0]
    assert [line.partition(":")[0] for line in others[-2:]] == ["--model ollama", "rgr demo"]
    assert caught.value.exit_code == 3


def test_a_client_is_loaded_beside_other_work_and_one_that_is_not_there_hinders_nobody() -> None:
    agent = build("", setup_with(model="claude-opus-4-5", env=KEYS))
    agent.load()
    assert agent.known.loading is not None
    agent.known.loading.join(60)
    assert "pydantic_ai.providers.anthropic" in sys.modules

    nobodys = load_client("nobody's")
    nobodys.join(60)
    assert not nobodys.is_alive()
