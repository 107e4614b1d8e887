"""Looking at what a run needs before one is started."""

from typing import Any

import click

from redgreenrefactor.cli.common import common, tell, width
from redgreenrefactor.cli.work import AGENT, MODEL, surroundings
from redgreenrefactor.doctor import examine
from redgreenrefactor.views.messages import health_text


@click.command()
@MODEL
@AGENT
@common
def doctor(**flags: Any) -> int:
    """Look at what a run needs: git, tests, agents and credentials, sandbox, folders. Changes nothing.

    Example: rgr doctor --agent api
    """
    with surroundings(flags, aside=True) as around:
        health = examine(around)
    rows = [(str(remark.level), name, remark.message, remark.hint) for name, remark in health.remarks]
    tell(flags, health.to_json(), health_text(rows, width=width(), quiet=flags["quiet"]))
    return 0 if health.ok else 3
