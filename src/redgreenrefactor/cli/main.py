"""The command line: words in, exit code out. What a command needs is loaded when it is called."""

import gc
import os
import sys
from typing import NoReturn

from redgreenrefactor.errors import InterruptedRunError, RgrError

GARBAGE = (
    20_000  # objects more before cycles among them are looked for: loading alone makes 700 again and again
)
PLAIN = {"--json", "--quiet", "--no-color"}  # flags without a value


def main() -> None:
    """Run the program; whatever happens ends in one of the documented exit codes."""
    gc.set_threshold(GARBAGE)
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(errors="replace")  # a letter that cannot be shown is no reason to fail
    try:
        code = _called(sys.argv[1:])
        gc.freeze()  # at the end nothing has to be looked for, either
        if code:
            sys.exit(code)
    except RgrError as error:
        _fail(error)
    except KeyboardInterrupt:
        _fail(InterruptedRunError("interrupted"))
    except BrokenPipeError:
        from redgreenrefactor.cli.common import unheard  # noqa: PLC0415

        unheard()
    except Exception as error:  # noqa: BLE001
        _bug(error)


def _called(words: list[str]) -> int | None:
    """Do what is asked for: where the workflow stands, as prompts and editors ask, without the library for flags.

    That library takes as long to load as all the rest.
    """
    if words[:1] == ["status"] and PLAIN.issuperset(words[1:]):
        from redgreenrefactor.cli.looking import show_status  # noqa: PLC0415

        return show_status({"as_json": "--json" in words, "no_color": "--no-color" in words})
    from redgreenrefactor.cli.commands import called  # noqa: PLC0415

    return called()


def _fail(error: RgrError) -> NoReturn:
    from redgreenrefactor.cli.common import fail  # noqa: PLC0415

    fail(error, as_json="--json" in sys.argv)


def _bug(error: Exception) -> NoReturn:
    """Put the traceback into a file and one line before the person."""
    import tempfile  # noqa: PLC0415
    import traceback  # noqa: PLC0415

    from redgreenrefactor.sandbox.secrets import masking  # noqa: PLC0415

    with tempfile.NamedTemporaryFile(
        "w", prefix="rgr-bug-", suffix=".log", delete=False, errors="backslashreplace"
    ) as log:
        log.write(masking(os.environ)("".join(traceback.format_exception(error))))
    _fail(
        RgrError(
            f"this is a bug in rgr: {type(error).__name__}: {error}",
            hint=f"The traceback is in {log.name}; 'rgr resume' goes on.",
        )
    )
