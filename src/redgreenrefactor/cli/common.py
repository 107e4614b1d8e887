"""What every command shares: its flags, and how what it comes to is told."""

import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, NoReturn

import click

from redgreenrefactor.config import Flags
from redgreenrefactor.errors import RgrError, UsageError
from redgreenrefactor.lifecycle.invocation import invocation
from redgreenrefactor.lifecycle.status import worktree_of
from redgreenrefactor.model.codec import readable_json
from redgreenrefactor.model.events import Emit
from redgreenrefactor.records.event_file import EventFile
from redgreenrefactor.sandbox.secrets import masked_in, masking
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.views.console import View, view_for
from redgreenrefactor.views.lines import ink_for
from redgreenrefactor.views.messages import worktree_lines

Command = Callable[..., Any]

CASES = ("test", "currentTest", "completedTests", "pendingTests")  # they are as the list has them
# Of all commands that let agents work.
EVENTS = click.option("--events", metavar="FILE", help="Append what happens to FILE, one JSON object a line.")
BUDGET = click.option("--budget", metavar="USD", type=float, help="Stop when sessions have cost this much.")
WORKTREE = click.option(
    "--worktree", metavar="NAME", help="Work on branch tdd/NAME in a folder beside this one."
)
MODEL = click.option("--model", metavar="MODEL", help="The model for every role.")
AGENT = click.option(
    "--agent",
    metavar="AGENT",
    help="Who works: api, claude-code, codex, gemini, opencode, command:…, replay:…",
)


def common(command: Command) -> Command:
    """Give a command the flags every command has; what it returns is the exit code, what it raises is told."""
    command = _reporting(command)
    for option in (
        click.option("--no-color", is_flag=True, help="No colours."),
        click.option("--quiet", is_flag=True, help="Only errors and the end."),
        click.option("--json", "as_json", is_flag=True, help="One JSON value on stdout, words on stderr."),
        click.option(
            "--project", metavar="DIR", help="The project's folder (TDD_PROJECT_ROOT, or where you are)."
        ),
    ):
        command = option(command)
    return command


def agents_work(command: Command) -> Command:
    """Give a command the flags of those that let agents work."""
    for option in (EVENTS, BUDGET, MODEL, AGENT):
        command = option(command)
    return common(command)


def working(command: Command) -> Command:
    """Give a command the flags of those that take a feature through the workflow."""
    for option in (
        click.option(
            "--approve", is_flag=True, help="Let a person see the first list before it is worked through."
        ),
        WORKTREE,
        click.option("--max-cycles", metavar="N", type=click.IntRange(1), help="Stop after N cases."),
        click.option("--push", is_flag=True, help="Push to the remote after every case and at the end."),
    ):
        command = option(command)
    return agents_work(command)


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


def tell_worktree(flags: dict[str, Any], *, complete: bool) -> None:
    """Say where the work of a command with --worktree lies, and how it is brought home."""
    name = flags.get("worktree")
    if not name or flags["quiet"]:
        return
    if folder := worktree_of(project(flags), os.environ, f"tdd/{name}"):
        for line in worktree_lines(f"tdd/{name}", os.path.relpath(folder), complete=complete):
            click.echo(line, err=flags["as_json"])


@contextmanager
def surroundings(flags: dict[str, Any], *, aside: bool = False) -> Generator[Surroundings]:
    """Make a view, an event file and a listener for signals, and take them down again.

    `aside`: what happens on the way is told on standard error, the answer alone goes to standard output.
    """
    given: dict[str, Any] = {name: flags.get(name) for name in ("agent", "model", "budget", "network")}
    with ExitStack() as stack:
        view = stack.enter_context(closing(_view(flags, aside=aside)))
        listeners: list[Emit] = [view]
        if flags.get("events"):
            file = EventFile(Path(flags["events"]), clock=lambda: datetime.now(UTC), warn=view)
            listeners.append(stack.enter_context(closing(file)))
        where, traced = project(flags), "agent" in flags
        around = stack.enter_context(invocation(where, os.environ, Flags(**given), *listeners, traced=traced))
        stack.enter_context(around.interrupt.listen())
        person = sys.stdin.isatty() and sys.stdout.isatty() and not flags["as_json"]
        yield _with_person(around, view) if person else around


def _with_person(around: Surroundings, view: View) -> Surroundings:
    """Let somebody who sits at the terminal be asked."""

    def edit(path: Path) -> None:
        view.close()  # the editor has the terminal to itself
        click.edit(filename=str(path))

    def ask(lines: Sequence[str]) -> bool:
        view.close()
        return approved(lines)

    return replace(around, edit=edit, ask=ask)


def approved(lines: Sequence[str]) -> bool:
    """Show what a repository wants, and have a person say whether it may."""
    click.echo("The repository's settings execute or loosen something:", err=True)
    for line in lines:
        click.echo(f"  {line}", err=True)
    return click.confirm("Do you approve of exactly this?", default=False, err=True)


def _view(flags: dict[str, Any], *, aside: bool) -> View:
    stream = sys.stderr if flags["as_json"] or aside else sys.stdout
    return view_for(stream, os.environ, quiet=flags["quiet"], no_color=flags["no_color"])


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
    click.echo(text)


def tell(flags: dict[str, Any], value: Any, text: str) -> None:
    """Answer with a JSON value, or with words, as the flags want it."""
    if flags["as_json"]:
        print_json(value)
    elif text:
        click.echo(text)


def say(text: str, *, err: bool = False) -> None:
    """Write words of others, or about them, for a person to read."""
    click.echo(masking(os.environ)(text), err=err)


def width() -> int:
    """Return how many characters a line of the terminal holds."""
    return get_terminal_size((100, 24)).columns


def fail(error: RgrError, *, as_json: bool) -> NoReturn:
    """Say what went wrong and what to type, and end with the error's exit code."""
    if error.hint == UsageError.hint:
        error.hint = how_to_use(click.get_current_context(silent=True))
    if as_json:
        details = {"type": error.type, "message": error.message}
        problems = [{"path": path, "message": what} for path, what in error.problems]
        told = {"error": error.message, "errorDetails": details, "hint": error.hint}
        print_json({**told, "problems": problems} if problems else told)
    complain(error.message, error.hint)
    sys.exit(error.exit_code)


def how_to_use(context: click.Context | None) -> str:
    """Return what to type to learn the flags of the command at hand."""
    if context is None or context.parent is None:
        return UsageError.hint
    return f"Type '{context.command_path} --help' for its flags and an example."


def complain(message: str, hint: str) -> None:
    """Say what went wrong, and what to type."""
    ink = ink_for(sys.stderr)
    for line in ink.lines(f"rgr: {message}"):
        say(line, err=True)
    if hint:
        say(f"  {ink.arrow} {ink.line(hint)}", err=True)


def unheard() -> None:
    """Speak to nobody: whoever read our output has gone, and the interpreter must not complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
