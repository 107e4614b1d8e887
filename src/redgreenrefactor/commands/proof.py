"""Judging a workflow again."""

import sys
from typing import Any

import click

from redgreenrefactor.commands.common import common, print_json, project, reporting, surroundings


@click.command()
@click.argument("range", required=False)
@common
def verify(**flags: Any) -> None:
    """Judge a workflow again from its commits: every test fails at RED and passes afterwards (RANGE as for git log)."""
    held = True
    with reporting(flags):
        from redgreenrefactor import verification  # noqa: PLC0415

        with surroundings(flags) as around:
            cycles = verification.verify(around, flags["range"])
        held = all(cycle.ok for cycle in cycles)
        if flags["as_json"]:
            print_json({"ok": held, "cycles": [cycle.to_json() for cycle in cycles]})
        else:
            click.echo(verification.verified_text(cycles, project(flags)))
    if not held:
        sys.exit(1)
