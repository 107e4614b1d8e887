"""What a shell offers when somebody presses Tab: files, agents, turns of the latest run."""

import os
from contextlib import suppress

import click

from redgreenrefactor.errors import RgrError

FILE = click.Path()
FOLDER = click.Path(file_okay=False)


def agents(_context: click.Context, _of: click.Parameter, typed: str) -> list[str]:
    """Return the agents whose names begin as typed; what some of them want after a colon only their owner knows."""
    from redgreenrefactor.config.keys import AGENTS, AGENTS_WITH_MORE  # noqa: PLC0415 - only now

    return [name for name in (*AGENTS, *AGENTS_WITH_MORE) if name.startswith(typed)]


def runs(context: click.Context, _of: click.Parameter, typed: str) -> list[str]:
    """Return the ids of runs of this repository that begin as typed, the latest first."""
    from redgreenrefactor.cli.common import project  # noqa: PLC0415
    from redgreenrefactor.reports import runs_here  # noqa: PLC0415 - reads git

    with suppress(RgrError):
        return [name for name in runs_here(project(context.params), os.environ) if name.startswith(typed)]
    return []


def turns(context: click.Context, _of: click.Parameter, typed: str) -> list[str]:
    """Return the turns of the latest run whose names begin as typed, the latest first; none where there is no run."""
    from redgreenrefactor.cli.common import project  # noqa: PLC0415
    from redgreenrefactor.reports import cycles_here  # noqa: PLC0415 - reads git

    with suppress(RgrError):
        run = cycles_here(project(context.params), os.environ)
        return [turn.name for turn in reversed(run.turns) if turn.name.startswith(typed.upper())]
    return []
