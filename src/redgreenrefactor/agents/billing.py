"""What a reply used, and what that costs at list price."""

from decimal import Decimal
from typing import TYPE_CHECKING

from redgreenrefactor.model.session import Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse


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
