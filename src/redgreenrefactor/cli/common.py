"""What every command shares: its flags, and how what it comes to is told."""

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

from redgreenrefactor.errors import RgrError, UsageError
from redgreenrefactor.model.codec import readable_json
from redgreenrefactor.model.values import replace
from redgreenrefactor.sandbox.secrets import masked_in, masking
from redgreenrefactor.views.lines import Ink, Tone, in_color, ink_for, led

_USUAL = 100  # columns, where nobody knows
ENDLESS = 1_000_000  # columns and lines: what other programs read is not broken

Command = Callable[..., Any]

CASES = ("test", "currentTest", "completedTests", "pendingTests")  # they are as the list has them


def common(command: Command) -> Command:
    """Give a command the flags every command has; what it returns is the exit code, what it raises is told."""
    import click  # noqa: PLC0415 - slow to load, and where the workflow stands is told without it

    from redgreenrefactor.cli.offers import FOLDER  # noqa: PLC0415

    command = _reporting(command)
    for option in (
        click.option("--no-color", is_flag=True, help="No colours."),
        click.option("--quiet", is_flag=True, help="Only errors and the end."),
        click.option("--json", "as_json", is_flag=True, help="One JSON value on stdout, words on stderr."),
        click.option(
            "--project",
            metavar="DIR",
            type=FOLDER,
            help="The project's folder (TDD_PROJECT_ROOT, or where you are).",
        ),
    ):
        command = option(command)
    return command


def _reporting(command: Command) -> Command:
    @wraps(command)
    def reported(*args: Any, **flags: Any) -> None:
        code = 0
        try:
            code = command(*args, **flags)
        except RgrError as error:
            fail(error, as_json=flags["as_json"])
        except BrokenPipeError:
            unheard()
        if code:
            sys.exit(code)

    return reported


def project(flags: dict[str, Any]) -> Path:
    """Return the folder the command is about; one that is not there is a UsageError."""
    named = flags.get("project") or os.environ.get("TDD_PROJECT_ROOT") or "."
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise UsageError(f"there is no folder {named}", hint="Name an existing one: --project DIR.")
    return folder.resolve()


def print_json(value: Any) -> None:
    """Write the one JSON value a command answers with."""
    value = masked_in(value, masking(os.environ), CASES)
    text = readable_json(value)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # a file's name that is no UTF-8, or a terminal that knows few letters
        text = json.dumps(value, indent=2)
    echo(text)


def tell(flags: dict[str, Any], value: Any, text: str) -> None:
    """Answer with a JSON value, or with words, as the flags want it."""
    if flags["as_json"]:
        print_json(value)
    elif text:
        echo(text)


def say(text: str, *, err: bool = False) -> None:
    """Write words of others, or about them, for a person to read."""
    echo(masking(os.environ)(text), err=err)


def echo(text: str, *, err: bool = False) -> None:
    """Write a text that is fit to be shown, at once."""
    print(text, file=sys.stderr if err else sys.stdout, flush=True)


def pen(flags: dict[str, Any]) -> Ink:
    """Return what standard output is written with: signs that it can show, and colours where they are wanted."""
    color = in_color(sys.stdout, os.environ, unwanted=flags["no_color"])
    return replace(ink_for(sys.stdout), color=color)


def width() -> int:
    """Return how many characters a line of the terminal holds."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted):
        return int(wanted)
    with suppress(OSError, ValueError):  # no terminal, or nothing at all
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or _USUAL
    return _USUAL


def fail(error: RgrError, *, as_json: bool) -> NoReturn:
    """Say what went wrong and what to type, and end with the error's exit code."""
    if error.hint == UsageError.hint:
        from redgreenrefactor.cli.commands import how_to_use  # noqa: PLC0415 - with the library for flags

        error.hint = how_to_use()
    if as_json:
        details = {"type": error.type, "message": error.message}
        problems = [{"path": path, "message": what} for path, what in error.problems]
        told = {"error": error.message, "errorDetails": details, "hint": error.hint}
        print_json({**told, "problems": problems} if problems else told)
    complain(error.message, error.hint)
    sys.exit(error.exit_code)


def complain(message: str, hint: str) -> None:
    """Say what went wrong, and what to type."""
    color = in_color(sys.stderr, os.environ, unwanted="--no-color" in sys.argv)
    ink, room = replace(ink_for(sys.stderr), color=color), width() if sys.stderr.isatty() else ENDLESS
    rows = led(message, room, ink, lead="rgr: ", most=ENDLESS, tones=(Tone.BAD, Tone.PLAIN))
    for line in ink.lines(hint):
        rows += led(
            line, room, ink, indent=2, lead=f"{ink.arrow} ", most=ENDLESS, tones=(Tone.HINT, Tone.HINT)
        )
    for row in rows:
        say(ink.painted(row), err=True)


def unheard() -> None:
    """Speak to nobody: whoever read our output has gone, and the interpreter must not complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
