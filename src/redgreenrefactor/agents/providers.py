"""Model strings become models: whose API it is, with which key, at which address."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.sandbox.secrets import masked

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider


@dataclass(frozen=True, slots=True)
class Vendor:
    """A provider of models as far as it has to be told apart from others."""

    title: str
    keys: tuple[str, ...]  # variables that may hold the key, the usual one first
    addresses: tuple[str, ...]  # variables that may hold the base URL
    package: str
    extra: str = ""  # of ours, that brings the package
    address: str = ""  # where it is found if nobody says
    needs_key: bool = True


_OPENAI = Vendor("OpenAI", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",), "openai", "openai")
VENDORS: Mapping[str, Vendor] = {
    "anthropic": Vendor(
        "Anthropic",
        ("ANTHROPIC_API_KEY",),
        ("ANTHROPIC_BASE_URL",),
        "anthropic",
        address="https://api.anthropic.com",
    ),
    "openai": _OPENAI,
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "google": Vendor(
        "Google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), ("GOOGLE_GEMINI_BASE_URL",), "google.genai", "google"
    ),
    "ollama": Vendor(
        "Ollama",
        ("OLLAMA_API_KEY",),
        ("OLLAMA_BASE_URL",),
        "openai",
        "openai",
        address="http://localhost:11434/v1",
        needs_key=False,
    ),
}
DEFAULT = "anthropic"
_NO_KEY = "no-key-needed"


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """One model, and how it is reached."""

    provider: str  # as model strings spell it
    model: str
    title: str  # whose it is, for people
    variable: str = ""  # that holds the key
    url: str | None = field(default=None, repr=False)  # None: the provider's own; it may hold a password
    key: str | None = field(default=None, repr=False)

    @property
    def where(self) -> str:
        """Return where requests go, for people: without user and password."""
        if self.url is None:
            return f"{self.title}'s servers"
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def harmless(self, text: str) -> str:
        """Return a text of others' without the key, and without what belongs to the address alone."""
        inside = urlsplit(self.url or "")
        for secret in filter(None, (self.key, inside.netloc.rpartition("@")[0], inside.password)):
            text = text.replace(secret, "…")
        return masked(text)


def access(spec: str, url: str | None, environ: Mapping[str, str]) -> ModelAccess:
    """Return how the model is reached; no key, or no client installed, is a NotReadyError. Nothing is contacted."""
    provider, name = _named(spec)
    vendor = VENDORS.get(provider)
    if vendor is None:
        return _another(spec, provider, name, url)
    _installed(provider, vendor)
    found = url or _first(environ, vendor.addresses)
    key = _first(environ, vendor.keys)
    if key is None and (vendor.needs_key and not (found and vendor is _OPENAI)):
        raise NotReadyError(
            f"no API key for {vendor.title}: {vendor.keys[0]} is not set (it is needed for the model {spec!r})",
            hint=f"Set {vendor.keys[0]}, or choose another agent with --agent, or another model with --model.",
            type="CredentialsMissing",
        )
    address = base_url(provider, found) if found else vendor.address or None
    if provider == "openai" and found:
        provider = "openai-chat"  # what servers that are compatible with OpenAI's speak
    return ModelAccess(provider, name, vendor.title, vendor.keys[0], address, key)


def base_url(provider: str, url: str) -> str:
    """Return the address as the provider's client wants it, with the version in it or without."""
    url = url.rstrip("/")
    if provider == "anthropic":
        return url.removesuffix("/v1")
    if provider == "google":
        return url.removesuffix("/v1beta").removesuffix("/v1")
    return url if urlsplit(url).path else f"{url}/v1"


def model_of(way: ModelAccess, client: "httpx2.AsyncClient") -> "Model[Any]":
    """Return the model, to be talked to through this client."""
    from pydantic_ai.models import infer_model  # noqa: PLC0415

    return infer_model(f"{way.provider}:{way.model}", lambda _: _provider(way, client))


def load_client(provider: str) -> Thread:
    """Begin to load a provider's client, beside whatever else is done; what hinders it is told to whoever uses it."""
    family = "openai" if provider.startswith(("openai", "ollama")) else provider
    names = [f"pydantic_ai.{kind}.{family}" for kind in ("models", "providers")]

    def load() -> None:
        with suppress(Exception):
            for name in names:
                import_module(name)

    loading = Thread(target=load, name="rgr-client", daemon=True)  # which nobody waits for at the end
    loading.start()
    return loading


def _provider(way: ModelAccess, client: "httpx2.AsyncClient") -> "Provider[Any]":
    match way.provider:
        case "anthropic":
            from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

            return AnthropicProvider(api_key=way.key, base_url=way.url, http_client=client)
        case "openai" | "openai-chat" | "openai-responses":
            from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

            return OpenAIProvider(api_key=way.key or _NO_KEY, base_url=way.url, http_client=client)
        case "google":
            from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

            return GoogleProvider(api_key=way.key, base_url=way.url, http_client=client)
        case "ollama":
            from pydantic_ai.providers.ollama import OllamaProvider  # noqa: PLC0415

            return OllamaProvider(base_url=way.url, api_key=way.key or _NO_KEY, http_client=client)
        case other:
            from pydantic_ai.providers import infer_provider  # noqa: PLC0415

            return infer_provider(other)


def _named(spec: str) -> tuple[str, str]:
    """Return provider and model of a model string; one without a provider is Anthropic's."""
    provider, colon, name = spec.partition(":")
    if not colon:
        return DEFAULT, spec.strip()
    if not provider.strip() or not name.strip():
        raise UsageError(
            f"the model {spec!r} names no provider or no model", hint="Write MODEL, or PROVIDER:MODEL."
        )
    return provider.strip(), name.strip()


def _another(spec: str, provider: str, name: str, url: str | None) -> ModelAccess:
    """Return a model of one of the many providers that pydantic-ai knows and we have nothing to add to."""
    from pydantic_ai.exceptions import UserError  # noqa: PLC0415
    from pydantic_ai.providers import infer_provider, infer_provider_class  # noqa: PLC0415

    try:
        infer_provider_class(provider)
    except ValueError:
        raise UsageError(
            f"the model {spec!r}: there is no provider {provider!r}",
            hint=f"Write PROVIDER:MODEL with one of {', '.join(VENDORS)}; for a server that is compatible with"
            " OpenAI's, openai:MODEL and its address in agent.url.",
        ) from None
    except ImportError as error:
        raise NotReadyError(
            f"the provider {provider!r} cannot be used: {error}",
            hint=f"Type 'pip install \"pydantic-ai-slim[{provider}]\"', then try again.",
            type="AgentMissing",
        ) from error
    if url:
        raise UsageError(
            f"agent.url cannot be combined with the model {spec!r}",
            hint="Write openai:MODEL for a server that is compatible with OpenAI's.",
        )
    try:
        infer_provider(provider)
    except (UserError, ImportError) as error:
        raise NotReadyError(
            f"the model {spec!r} cannot be reached: {error}",
            hint="Set the variable it names, then try again.",
            type="CredentialsMissing",
        ) from error
    return ModelAccess(provider, name, provider)


def _installed(provider: str, vendor: Vendor) -> None:
    """Raise a NotReadyError unless the provider's client is there; looking for it does not import it."""
    try:
        found = find_spec(vendor.package) is not None
    except ModuleNotFoundError:  # of the package around it
        found = False
    if not found:
        what = f"redgreenrefactor[{vendor.extra}]" if vendor.extra else vendor.package
        raise NotReadyError(
            f"models of {provider!r} need the package {vendor.package!r}, which is not installed",
            hint=f"Type: pip install '{what}'",
            type="AgentMissing",
        )


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := environ.get(name, "").strip())), None)
