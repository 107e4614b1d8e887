"""Judging a workflow again."""

import sys
from typing import Any

import click

from redgreenrefactor.cli.common import common, print_json, project, reporting, surroundings, width


@click.command(short_help="Judge a workflow again from its commits and notes.")
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
@common
def verify(**flags: Any) -> None:
    """Judge a workflow again from its commits and notes, each commit in a clean checkout (RANGE as for git log).

    Example: rgr verify main..HEAD
    """
    code = 0
    with reporting(flags):
        from redgreenrefactor import verify as judging  # noqa: PLC0415

        with surroundings(flags, aside=True) as around:
            verified = judging.verify(
                around, flags["range"], pull_request=flags["pull_request"], strict=flags["strict"]
            )
        if flags["as_json"]:
            print_json(verified.to_json())
        else:
            from redgreenrefactor.views.proof import verified_text  # noqa: PLC0415

            click.echo(verified_text(verified, project(flags).name, width=width()))
        code = 0 if verified.ok else 3 if verified.undecided else 1
    if code:
        sys.exit(code)
