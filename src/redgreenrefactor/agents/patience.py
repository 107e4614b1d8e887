"""How long a request that failed is made again: servers that are busy or out of reach are waited for."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from redgreenrefactor.agents.troubles import Trouble
from redgreenrefactor.model.verdict import FindingType

LONGEST_WAIT = 60.0  # seconds between two tries, unless the server asks for more


@dataclass(frozen=True, slots=True)
class Patience:
    """How often, and how soon, a request is made again."""

    tries: int = 8  # of requests that cost something, make no sense, or are not waited between
    first_wait: float = 1.0

    def wait(self, number: int) -> float:
        """Return the seconds before the next try: doubling, with a jitter so that many do not come at once."""
        usual = min(self.first_wait * 2 ** (number - 1), LONGEST_WAIT)
        return usual * random.uniform(0.75, 1.25)  # noqa: S311 - not for secrets


ONCE = Patience(tries=1)


def _uncounted(_seconds: float) -> None:
    """Nobody keeps the time."""


@dataclass
class Waits:
    """The waits of one session: they end before the session's time is over, and the work is not timed by them."""

    patience: Patience
    until: float = inf  # on the monotonic clock
    tell: Callable[[float], None] = _uncounted  # hears of every wait before it begins
    trouble: Trouble | None = None  # of the request that is being made again
    _dear: int = field(default=0, init=False)  # tries that are counted, since the last success

    def before(self, trouble: Trouble, number: int) -> float | None:
        """Return the seconds before the next try, None where there is no point in one or no time for it."""
        self.trouble = trouble
        counted = trouble.begun or trouble.type is FindingType.AGENT_FAILURE or not self.patience.first_wait
        self._dear += counted
        seconds = max(self.patience.wait(min(number, 30)), trouble.after or 0.0)
        late = time.monotonic() + seconds >= self.until
        if not trouble.again or self.patience == ONCE or self._dear >= self.patience.tries or late:
            return None
        self.tell(seconds)
        return seconds

    def over(self) -> None:
        """Know that a request succeeded."""
        self.trouble, self._dear = None, 0
