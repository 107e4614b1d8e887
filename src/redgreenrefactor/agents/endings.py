"""How sessions of programs end other than by themselves, as findings."""

from signal import Signals

from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.prompts.quote import bounded, plain
from redgreenrefactor.sandbox.process import Finished

LAST_LINES = 10  # of standard error, for the message of a failure
_LAST_CHARACTERS = 2000


def broke_off(what: str, finished: Finished, hint: str) -> Finding:
    """Return what is said of a program whose end tells that it failed, with its last words."""
    lines = plain(finished.stderr.decode("utf-8", "replace")).strip().splitlines()[-LAST_LINES:]
    said = bounded("\n".join(lines), _LAST_CHARACTERS)
    message = f"{what} {_ending(finished.exit_code)}" + (f":\n{said}" if said else "")
    return Finding(FindingType.AGENT_FAILURE, message, hint=hint)


def _ending(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    signal = next((known.name for known in Signals if known == -exit_code), "a signal")
    return f"was killed by {signal} (exit code {exit_code})"
