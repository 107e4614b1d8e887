"""Judging a workflow again."""

from typing import Any

import click

from redgreenrefactor import verify as judging
from redgreenrefactor.cli.common import common, project, tell, width
from redgreenrefactor.cli.work import surroundings
from redgreenrefactor.views.verified import verified_text


@click.command()
@click.argument("range", required=False)
@click.option(
    "--pull-request",
    is_flag=True,
    help="HEAD, or the commit named, is a merged pull request: prove its cycles from the refs pushed with it.",
)
@click.option(
    "--network", flag_value="on", default=None, help="Let the tests of this repository reach the network."
)
@click.option("--strict", is_flag=True, help="Commits that are no turns of a run do not pass.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="A quick look: N cycles of each run, spread over it, with its last one.",
)
@common
def verify(**flags: Any) -> int:
    """Prove that a run was made test by test: every commit is judged again in a clean checkout (RANGE as for git log).

    Example: rgr verify main..HEAD
    """
    with surroundings(flags, aside=True) as around:
        verified = judging.verify(
            around,
            flags["range"],
            pull_request=flags["pull_request"],
            strict=flags["strict"],
            sample=flags["sample"],
        )
    tell(flags, verified.to_json(), verified_text(verified, project(flags).name, width=width()))
    return 0 if verified.ok else 3 if verified.undecided else 1
