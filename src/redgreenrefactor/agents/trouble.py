"""What can go wrong between us and a model: what it is called, what to type, and how long it is tried again."""

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

from redgreenrefactor.agents.providers import ModelAccess
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.model.codec import json_list, json_object
from redgreenrefactor.model.events import unheard
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.prompts.quote import in_line

if TYPE_CHECKING:
    from pydantic_ai.exceptions import ModelAPIError

REFUSED = "CredentialsRefused"
_WORDS = 300  # characters of what a server said


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a request failed."""

    type: FindingType
    message: str
    hint: str
    again: bool = False  # the same request may succeed later
    after: float | None = None  # seconds the server asked us to wait
    refused: bool = False  # it was the key
    begun: bool = False  # a reply had begun, which is on the bill

    def finding(self) -> Finding:
        """Return it as what a session failed of."""
        return Finding(self.type, self.message, hint=self.hint)

    def error(self) -> NotReadyError:
        """Return it as why nothing can begin."""
        kind = REFUSED if self.refused else str(self.type)
        if self.type is FindingType.AGENT_FAILURE:
            kind = "ModelUnavailable"
        hint = f"{self.hint} {_AGAIN}"
        return NotReadyError(self.message, hint=hint, type=kind)


def trouble_of(error: Exception, way: ModelAccess) -> Trouble:
    """Return what an exception of pydantic-ai means."""
    from pydantic_ai import exceptions as known  # noqa: PLC0415

    said = _said(error, way)
    after = _after(error)
    match error:
        case known.ModelAuthenticationError():
            return _refused(way, said)
        case known.ModelNotFoundError():
            return _not_found(error, way, said)
        case known.ModelQuotaExceededError():
            message = f"{way.title} lets the account behind {way.variable} spend no more: {said}"
            return Trouble(FindingType.MODEL_UNAVAILABLE, message, "Add credit there.")
        case known.ModelRateLimitError() | known.ModelUnavailableError():
            return _busy(error, way, said, after)
        case known.ModelConnectionError() | known.ModelRequestTimeout():
            return _no_connection(error, way, said)
        case known.ModelServerError():
            message = f"{way.where} failed{_status(error)}: {said}"
            return Trouble(FindingType.NETWORK_ERROR, message, _LATER, again=True, after=after)
        case known.ModelContextWindowExceededError():
            message = f"the session's conversation no longer fits into {way.model}: {said}"
            return Trouble(FindingType.AGENT_FAILURE, message, "Work in smaller steps; read less at once.")
        case known.ModelAPIError():
            message = f"{way.where} refused a request to {way.model}{_status(error)}: {said}"
            return Trouble(FindingType.AGENT_FAILURE, message, _CHECK)
        case _:
            message = f"what answers at {way.where} makes no sense as {way.title}'s API: {said}"
            return Trouble(FindingType.AGENT_FAILURE, message, _CHECK, again=True)


_CHECK = "Check --model and agent.url in tdd.properties."
_LATER = "Wait a while."
_AGAIN = "Then type the same command again."  # nothing has been begun: there is nothing to resume


def _refused(way: ModelAccess, said: str) -> Trouble:
    key = f"the key in {way.variable}" if way.variable else "the key"
    message = f"{way.where} refused {key} for the model {way.model!r}: {said}"
    hint = f"Set {way.variable or 'the key'} to a valid key that may use this model."
    return Trouble(FindingType.MODEL_UNAVAILABLE, message, hint, refused=True)


def _not_found(error: "ModelAPIError", way: ModelAccess, said: str) -> Trouble:
    """A model that is not there, or, where the answer is not the API's own, an address that is wrong."""
    if _words(error.body) is None:
        message = f"nothing at {way.where} answers as {way.title}'s API{_status(error)}: {said}"
        return Trouble(
            FindingType.MODEL_UNAVAILABLE, message, "Check agent.url, the base URL of the model server."
        )
    suggested = getattr(error, "suggested_model_id", None)
    near = f" Did you mean {suggested!r}?" if suggested else ""
    message = f"the model {way.model!r} is not available at {way.where}: {said}"
    return Trouble(
        FindingType.MODEL_UNAVAILABLE,
        message,
        f"Check the name in --model, TDD_MODEL or tdd.properties.{near}",
    )


def _busy(error: Exception, way: ModelAccess, said: str, after: float | None) -> Trouble:
    message = f"{way.where} takes no more requests to {way.model} for now{_status(error)}: {said}"
    hint = f"Wait {after:g} s, as it asks for." if after else _LATER
    return Trouble(FindingType.RATE_LIMITED, message, hint, again=True, after=after)


def _no_connection(error: Exception, way: ModelAccess, said: str) -> Trouble:
    cause = error.__cause__
    while cause is not None and cause.__cause__ is not None:
        cause = cause.__cause__
    words = way.harmless(str(cause or "")) or (type(cause).__name__ if cause else said)
    why = in_line(words, _WORDS)
    message = f"the connection to {way.where} failed: {why}"
    return Trouble(
        FindingType.NETWORK_ERROR, message, "Check the network, and agent.url if you have set it.", again=True
    )


def _after(error: Exception) -> float | None:
    """Return the seconds the server asks us to wait; some spell them with a fraction, against the rules."""
    after: float | None = getattr(error, "retry_after", None)
    headers: Mapping[str, str] = getattr(error, "headers", None) or {}
    try:
        return after if after is not None else max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None


def _status(error: Exception) -> str:
    code = getattr(error, "status_code", None)
    return f" (HTTP {code})" if code else ""


def _said(error: Exception, way: ModelAccess) -> str:
    """Return the server's own words on one line, without the key and without what the address holds of it."""
    words = _words(getattr(error, "body", None)) or getattr(error, "message", None) or str(error)
    return in_line(way.harmless(words), _WORDS)


def _words(body: Any) -> str | None:
    """Return the message in an error's body, None if it has none: then it is not an answer of the API."""
    if isinstance(body, bytes | str):
        try:
            body = json.loads(body)
        except ValueError:
            return None
    body = next(iter(json_list(body)), body)  # Google's streams
    if not isinstance(body, dict):
        return None
    inside: Any = json_object(body).get("error", body)
    message = inside if isinstance(inside, str) else json_object(inside).get("message")
    return message if isinstance(message, str) and not message.lstrip().startswith("<") else None


# --- trying again

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


@dataclass
class Waits:
    """The waits of one session: they end before the session's time is over, and the work is not timed by them."""

    patience: Patience
    until: float = inf  # on the monotonic clock
    tell: Callable[[float], None] = unheard  # hears of every wait before it begins
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
