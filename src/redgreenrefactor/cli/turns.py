"""One turn: what was found, and what it changed."""

import os
import sys
from typing import Any

import click

from redgreenrefactor.cli.common import common, pen, print_json, project, tell, width
from redgreenrefactor.cli.offers import turns
from redgreenrefactor.model.run_report import turn_object
from redgreenrefactor.reports.turns import steps_of, turn_named
from redgreenrefactor.views.diffs import files_of
from redgreenrefactor.views.turn_text import diff_rows, turn_text


@click.command()
@click.argument("turn", shell_complete=turns)
@common
def show(turn: str, **flags: Any) -> None:
    """Show one step of a run, a turn: its verdict with the evidence, and what its session did in short.

    TURN is a commit, CYCLE-PHASE, or CYCLE-PHASE-ATTEMPT of the latest run.

    Example: rgr show 1-GREEN
    """
    found = turn_named(project(flags), os.environ, turn)
    steps = steps_of(project(flags), os.environ, found)
    text = turn_text(found, steps, width=width(), ink=pen(flags))
    tell(flags, {**turn_object(found), "transcript": steps}, text)


@click.command()
@click.argument("turn", shell_complete=turns)
@common
def diff(turn: str, **flags: Any) -> None:
    """Show what one step of a run, a turn, changed, as git does.

    TURN is a commit, CYCLE-PHASE, or CYCLE-PHASE-ATTEMPT of the latest run.

    Example: rgr diff 1-GREEN-1
    """
    found = turn_named(project(flags), os.environ, turn)
    patch = found.patch.text
    if flags["as_json"]:
        files = [
            {"path": file.path, "what": file.what or "edited", "added": file.added, "removed": file.removed}
            for file in files_of(patch)
        ]
        print_json({"turn": found.name, "commit": found.commit or None, "files": files, "diff": patch})
    elif not sys.stdout.isatty():
        click.echo(
            patch.encode("utf-8", "surrogateescape"), nl=bool(patch)
        )  # for another program, as git prints it
    else:
        ink = pen(flags)
        for row in diff_rows(patch, ink):
            click.echo(ink.painted(row))
