"""What one invocation may use, and what it has used so far."""

from redgreenrefactor.model.session import dollars
from redgreenrefactor.model.values import frozen


@frozen
class RunLimits:
    """What one invocation may use before it stops by itself."""

    max_cycles: int | None = None
    budget_usd: float | None = None
    spent_usd: float = 0.0  # what counts against the budget already
    phase_usd: float | None = None  # for one phase, its retries included


@frozen
class Spent:
    """What has been spent so far, in US dollars: in all, and on the phase that is due."""

    total: float = 0.0
    phase: float = 0.0

    def plus(self, cost: float, *, over: bool = False) -> "Spent":
        """Return it with one more session, after which the phase may be over."""
        return Spent(self.total + cost, 0.0 if over else self.phase + cost)

    def left(self, limits: RunLimits, *, whole: bool = False) -> float | None:
        """Return what the next session may cost, None if that does not matter; a whole run has phases of its own."""
        total = None if limits.budget_usd is None else limits.budget_usd - self.total
        phase = None if limits.phase_usd is None or whole else limits.phase_usd - self.phase
        return min((amount for amount in (total, phase) if amount is not None), default=None)

    def over(self, limits: RunLimits) -> str | None:
        """Return which budget is used up."""
        if limits.budget_usd is not None and self.total >= limits.budget_usd:
            return f"the budget of {dollars(limits.budget_usd)} is used up: {dollars(self.total)} were spent"
        if limits.phase_usd is not None and self.phase >= limits.phase_usd:
            return f"the phase's budget of {dollars(limits.phase_usd)} is used up: {dollars(self.phase)} were spent"
        return None
