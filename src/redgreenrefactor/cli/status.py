"""Looking at a run: reads git only."""

import os
from itertools import islice
from typing import Any

import click

from redgreenrefactor.cli.common import common, pen, print_json, project, tell, width
from redgreenrefactor.cli.looking import entry_to_json, show_status
from redgreenrefactor.cli.offers import turns
from redgreenrefactor.lifecycle import status as runs
from redgreenrefactor.views.text import history_text

SCREEN, MANY = 50, 2000  # lines of a history that are shown at once: the first ones soon, the others cheaply


@click.command()
@common
def status(**flags: Any) -> None:
    """Show where the workflow stands; reads git only.

    Example: rgr status --json
    """
    show_status(flags)


@click.command()
@click.option("--limit", metavar="N", type=click.IntRange(1), help="Only the newest N.")
@click.option("--attempts", is_flag=True, help="Rejected attempts, too.")
@click.option(
    "--transcript",
    metavar="TURN",
    shell_complete=turns,
    help="What one session was told and did: 1-GREEN-1, or a commit.",
)
@click.option("--graph", is_flag=True, help="Cycle by cycle, each with its way through the phases.")
@common
def history(
    limit: int | None,
    attempts: bool,  # noqa: FBT001
    transcript: str | None,
    graph: bool,  # noqa: FBT001
    **flags: Any,
) -> None:
    """Show the accepted steps (handoffs) of the latest run, newest first.

    Example: rgr history --attempts

    Example: rgr history --transcript 1-GREEN-1
    """
    if transcript is not None:
        from redgreenrefactor.views.transcript_text import transcript_text  # noqa: PLC0415 - only here

        steps = runs.transcript(project(flags), os.environ, transcript)
        tell(flags, steps, "\n".join(transcript_text(steps)))
        return
    if graph and not flags["as_json"]:
        _draw(flags, limit)
        return
    told = runs.history_with_attempts if attempts else runs.history
    entries = islice(told(project(flags), os.environ), limit)
    if flags["as_json"]:
        print_json([entry_to_json(entry) for entry in entries])
        return
    lines = (f"{line}\n" for line in history_text(entries, width=width(), ink=pen(flags)))
    at_once = SCREEN
    while shown := "".join(islice(lines, at_once)):
        click.echo(shown, nl=False)
        at_once = MANY


def _draw(flags: dict[str, Any], limit: int | None) -> None:
    from dataclasses import replace  # noqa: PLC0415 - what a graph needs, a list does without

    from redgreenrefactor.reports import cycles_here  # noqa: PLC0415
    from redgreenrefactor.views.graph_text import graph_text  # noqa: PLC0415

    run = cycles_here(project(flags), os.environ)
    shown = replace(run, cycles=run.cycles[-limit:]) if limit else run
    click.echo("\n".join(graph_text(shown, width=width(), ink=pen(flags))))
