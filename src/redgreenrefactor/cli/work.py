"""What commands share that do something: the flags of those that let agents work, and who hears and interrupts them."""

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from redgreenrefactor.cli.common import Command, common, project
from redgreenrefactor.cli.offers import FILE, agents
from redgreenrefactor.config import Flags
from redgreenrefactor.config.keys import AGENTS, AGENTS_WITH_MORE
from redgreenrefactor.lifecycle.invocation import invocation
from redgreenrefactor.lifecycle.status import worktree_of
from redgreenrefactor.model.events import Emit
from redgreenrefactor.records.event_file import EventFile
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.views.console import View, view_for
from redgreenrefactor.views.messages import worktree_lines

EVENTS = click.option(
    "--events", metavar="FILE", type=FILE, help="Append what happens to FILE, one JSON object a line."
)
BUDGET = click.option("--budget", metavar="USD", type=float, help="Stop when sessions have cost this much.")
WORKTREE = click.option(
    "--worktree", metavar="NAME", help="Work on branch tdd/NAME in a folder beside this one."
)
MODEL = click.option("--model", metavar="MODEL", help="The model for every role.")
AGENT = click.option(
    "--agent",
    metavar="AGENT",
    shell_complete=agents,
    help=f"Who works: {', '.join((*AGENTS, *(f'{name}…' for name in AGENTS_WITH_MORE)))}",
)


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
        click.option("--watch", is_flag=True, help="Show the run in a browser while it goes on."),
    ):
        command = option(command)
    return agents_work(command)


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
        if flags.get("watch"):
            from redgreenrefactor.cli.watch import watched  # noqa: PLC0415 - a server that few ask for

            stack.enter_context(watched(flags))
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
