"""What a reply used, and what that costs at list price."""

from decimal import Decimal
from math import ceil
from typing import TYPE_CHECKING, Any

from redgreenrefactor.model.session import Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

MANY = 1_000_000  # tokens, as prices are told
# What makers take as the most tokens of a reply differs, and too much is refused: known, likely, more than any writes.
_OLD, _USUAL, _ENDLESS = 4096, 16_384, 128_000


def usage_of(response: "ModelResponse", cost: Decimal | None) -> Usage:
    """Return what a reply used; the input counts neither what was read from nor written to the cache."""
    used = response.usage
    fresh = max(0, used.input_tokens - used.cache_read_tokens - used.cache_write_tokens)
    return Usage(
        fresh,
        used.output_tokens,
        used.cache_read_tokens,
        used.cache_write_tokens,
        None if cost is None else round(float(cost), 8),
    )


def cost_of(response: "ModelResponse") -> Decimal | None:
    """Return the price of a reply in US dollars, None if nobody knows it: no price is guessed."""
    if response.usage.cost is not None:
        return Decimal(response.usage.cost)
    try:
        return response.cost().total_price
    except (LookupError, ValueError, AssertionError):
        return None


def list_price(usage: Usage, model: str, provider: str) -> float | None:
    """Return what tokens of a model cost by the list, None if nobody knows; its name may tell its maker."""
    import genai_prices  # noqa: PLC0415

    maker, _, name = (provider, "", model) if provider else model.rpartition("/")
    sent = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    used = genai_prices.Usage(
        input_tokens=sent,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )
    try:
        return round(float(genai_prices.calc_price(used, name, provider_id=maker or None).total_price), 8)
    except (LookupError, ValueError):
        return None


def affordable(model: "Model[Any]", left: float, sent: int) -> int | None:
    """Return how many tokens of a reply this much money buys, so many being sent; None where that is no limit."""
    written = _price(model, output=MANY)
    if written is None:
        return None
    at_least = (_price(model, cached=MANY) or 0.0) * sent / MANY  # the cheapest that sending can be
    tokens = ceil((left - at_least) / (written / MANY)) if written else _ENDLESS
    profile: Any = model.profile
    known: int | None = profile.get("anthropic_max_output_tokens")
    if profile.get("anthropic_rejects_max_tokens_beyond_context_window"):
        known = _OLD
    if tokens >= (known or _ENDLESS):
        return None
    return min(tokens, known or _USUAL)


def _price(model: "Model[Any]", *, output: int = 0, cached: int = 0) -> float | None:
    """Return what a reply with so many tokens would cost, None if nobody knows."""
    from pydantic_ai.messages import ModelResponse  # noqa: PLC0415
    from pydantic_ai.usage import RequestUsage  # noqa: PLC0415

    used = RequestUsage(input_tokens=cached, cache_read_tokens=cached, output_tokens=output)
    reply = ModelResponse(
        parts=[],
        usage=used,
        model_name=model.model_name,
        provider_name=model.system,
        provider_url=model.base_url,
    )
    cost = cost_of(reply)
    return None if cost is None else float(cost)
