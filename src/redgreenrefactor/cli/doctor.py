"""Looking at what a run needs before one is started."""

import sys
from typing import Any

import click

from redgreenrefactor.cli.common import common, print_json, reporting, surroundings, width


@click.command(short_help="Look at what a run needs; changes nothing.")
@click.option("--model", metavar="MODEL", help="The model for every role.")
@click.option("--agent", metavar="AGENT", help="The agent that is going to work.")
@common
def doctor(**flags: Any) -> None:
    """Look at what a run needs: git, tests, agents and credentials, sandbox, folders. Changes nothing.

    Example: rgr doctor --agent api
    """
    ok = True
    with reporting(flags):
        from redgreenrefactor.doctor import examine  # noqa: PLC0415

        with surroundings(flags, aside=True) as around:
            health = examine(around)
        ok = health.ok
        if flags["as_json"]:
            print_json(health.to_json())
        else:
            from redgreenrefactor.views.health import health_text  # noqa: PLC0415

            rows = [(str(remark.level), name, remark.message, remark.hint) for name, remark in health.remarks]
            click.echo(health_text(rows, width=width(), quiet=flags["quiet"]))
    if not ok:
        sys.exit(3)
