"""What can go wrong, each with an exit code and a hint that says what to type next."""

from collections.abc import Sequence


class RgrError(Exception):
    """Something a person has to know: the message says what happened to what, the hint what to do."""

    exit_code = 70
    type = "Error"
    hint = ""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        type: str | None = None,  # noqa: A002
        problems: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.problems = problems  # where, and what is wrong there, if the message names several
        if hint is not None:
            self.hint = hint
        if type is not None:
            self.type = type


class UsageError(RgrError):
    """Bad usage or bad configuration."""

    exit_code = 2
    type = "UsageError"
    hint = "Type 'rgr --help' for the commands and their flags."


class NotReadyError(RgrError):
    """The surroundings are not ready; nothing was touched."""

    exit_code = 3
    type = "NotReady"


class LedgerError(NotReadyError):
    """A handoff could not be read from, or written to, the repository."""

    type = "LedgerError"
    hint = "Run 'tdd-orchestrator repair-notes' to recover."


class GitError(NotReadyError):
    """Git refused to do something that should have worked."""

    type = "GitError"


class ForgeError(NotReadyError):
    """The forge refused, or could not be asked; `type` tells which."""

    type = "ForgeError"


class StoppedRunError(RgrError):
    """A limit was reached, or something could not be measured; what was done is kept, and it can go on."""

    exit_code = 4
    type = "Stopped"
    hint = "Type 'rgr resume' to go on."


class InterruptedRunError(RgrError):
    """A person or the system asked the program to stop."""

    exit_code = 130
    type = "Interrupted"
    hint = "Type 'rgr resume' to go on."


def some_of(names: Sequence[str], most: int) -> str:
    """Return the first of these names as a message says them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
