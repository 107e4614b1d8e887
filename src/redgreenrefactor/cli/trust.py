"""Approving what a repository's settings execute or loosen."""

import sys
from contextlib import closing
from typing import Any

import click

from redgreenrefactor.cli.common import common, print_json, tell
from redgreenrefactor.cli.work import approved, surroundings
from redgreenrefactor.config import load
from redgreenrefactor.errors import UsageError
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.surroundings import Surroundings, approval_of, approvals_for, loosening_of, properties
from redgreenrefactor.trust import Approval, approvals_of, not_trusted
from redgreenrefactor.views.lines import ink_for


@click.command()
@click.option("--yes", is_flag=True, help="Approve without being asked.")
@click.option("--list", "listed", is_flag=True, help="Show everything you have approved, in every project.")
@click.option("--revoke", is_flag=True, help="Forget what you have approved for this project.")
@click.option(
    "--at", "commit", metavar="COMMIT", default="HEAD", help="Read the settings of an earlier commit."
)
@common
def trust(**flags: Any) -> None:
    """Approve what this repository's tdd.properties executes or loosens, and what its virtual environment leads to.

    Shows the lines and remembers them, word for word, outside the repository. Lines that are changed later
    have to be approved again. TDD_TRUST=1 approves everything for one invocation.

    Example: rgr trust --list
    """
    if sum(map(bool, (flags["yes"], flags["listed"], flags["revoke"]))) > 1:
        raise UsageError("--yes, --list and --revoke do not go together", hint="Type one of them.")
    with surroundings(flags, aside=True) as around:
        if flags["listed"]:
            _show(approvals_of(around.environ).all(), "nothing has been approved", as_json=flags["as_json"])
        else:
            _decide(around, flags)


def _decide(around: Surroundings, flags: dict[str, Any]) -> None:
    with closing(open_repository(around.project, around.environ)) as repository:
        if repository.objects.resolve(flags["commit"]) is None and flags["commit"] != "HEAD":
            raise UsageError(f"there is no commit {flags['commit']!r}", hint="Name one as git log shows it.")
        # Variables and flags would hide what the file says.
        settings = load(properties(repository, flags["commit"]), {}, around.flags)
        loosening = loosening_of(settings, repository)
        wanted, approvals = approval_of(loosening, repository), approvals_for(repository, around.environ)
    if flags["revoke"]:
        gone = approvals.revoke(wanted.project)
        _show(gone, "nothing was approved here", as_json=flags["as_json"])
        if gone and not flags["as_json"]:
            click.echo("forgotten")
        return
    lines = [line.shown for line in loosening]
    known = approvals.has(wanted)
    if lines and not known:
        if not flags["yes"] and (around.ask is None or not approved(lines)):
            raise not_trusted(lines, "rgr trust --yes")
        approvals.add(wanted)
    words = [*lines, "approved already" if known else "approved"]
    nothing = "nothing to approve: what is here executes and loosens nothing by itself"
    told = {"project": wanted.project, "lines": lines, "approved": True}
    tell(flags, told, "\n".join(words) if lines else nothing)


def _show(found: list[Approval], nothing: str, *, as_json: bool) -> None:
    if as_json:
        print_json([{"project": each.project, "lines": list(each.lines)} for each in found])
        return
    if not found:
        click.echo(nothing)
    ink = ink_for(sys.stdout)
    for each in found:
        click.echo("\n".join([each.project, *(f"  {ink.line(line)}" for line in each.lines)]))
