"""What a program tells of the session it holds, whatever words it has for that."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from redgreenrefactor.model.session import Answered, Called, Usage, Uttered
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding


@frozen
class SessionOpened:
    """The session has an id, by which the program finds it again."""

    session: str
    model: str = ""
    version: str = ""  # of the program, where it tells that only now


@frozen
class ActionRefused:
    """The program did not do what its model wanted; the call's id says what that was, if it was a call."""

    why: str
    call: str = ""


@frozen
class RequestRetried:
    """A request failed and is made again; a failure that no waiting mends is given."""

    why: str
    hopeless: Finding | None = None


@frozen
class ReplyBilled:
    """What has been used for one more reply."""

    usage: Usage
    model: str


@frozen
class SessionConcluded:
    """The session is over: its last text, what it used in all, why it failed."""

    message: str = ""
    usage: Usage | None = None
    failure: Finding | None = None


ProgramEvent = (
    SessionOpened
    | Uttered
    | Called
    | Answered
    | ActionRefused
    | RequestRetried
    | ReplyBilled
    | SessionConcluded
)


class Interpreter(Protocol):
    """Understands what one session of a program prints."""

    def read(self, said: Mapping[str, Any]) -> Iterator[ProgramEvent]:
        """Yield what an object on its standard output tells."""
        ...

    def overhear(self, line: str) -> Iterator[ProgramEvent]:
        """Yield what a line on its standard error tells."""
        ...
