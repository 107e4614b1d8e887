"""A run as a file to read, to print, or to show to somebody."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from redgreenrefactor.cli import offers
from redgreenrefactor.cli.common import common, pen, print_json, project
from redgreenrefactor.errors import UsageError
from redgreenrefactor.filesystem import replace_file
from redgreenrefactor.model.run_report import RunReport, report_object
from redgreenrefactor.reports import reports
from redgreenrefactor.views.lines import count

FORMATS = ("html", "md", "json")


@click.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=offers.runs)
@click.option("--all", "every", is_flag=True, help="Every run of this repository, with an index.")
@click.option("--format", "kind", type=click.Choice(FORMATS), default=None, help="html, md or json.")
@click.option(
    "-o", "--output", metavar="FILE", type=offers.FILE, help="Write to FILE instead of standard output."
)
@common
def report(runs: tuple[str, ...], every: bool, kind: str | None, output: str | None, **flags: Any) -> None:  # noqa: FBT001
    """Tell the story of a run in one file: every cycle, verdict and diff.

    Example: rgr report -o ../report.html

    Example: rgr report --format md
    """
    told = reports(project(flags), os.environ, runs, every=every)
    chosen = kind or ("json" if flags["as_json"] and output is None else _meant_by(output))
    if output is None and chosen == "json":
        print_json(_as_json(told))
        return
    if output is None and chosen == "html" and sys.stdout.isatty():
        raise UsageError(
            "the report is a page for a browser, not for a terminal",
            hint="Type 'rgr report -o ../report.html', or 'rgr report --format md'.",
        )
    text = _rendered(told, chosen)
    if output is None:
        click.echo(text.encode(), nl=False)
        return
    replace_file(Path(output), text.encode())
    if flags["as_json"]:
        print_json({"file": output, "format": chosen, "runs": [run.run_id for run in told]})
    elif not flags["quiet"]:
        click.echo(f"{count(len(told), 'run')} in {output}")
        if chosen == "html" and sys.stdout.isatty():
            click.echo(f"  {pen(flags).arrow} open {Path(output).resolve().as_uri()} in a browser")


def _meant_by(output: str | None) -> str:
    """Return the format that a file's name asks for."""
    ending = Path(output or "").suffix.removeprefix(".").lower()
    return ending if ending in FORMATS else "html"


def _rendered(told: list[RunReport], kind: str) -> str:
    from redgreenrefactor.model.codec import readable_json  # noqa: PLC0415 - only one of the three is needed

    match kind:
        case "json":
            return readable_json(_as_json(told)) + "\n"
        case "md":
            from redgreenrefactor.views.report_markdown import report_markdown  # noqa: PLC0415

            return report_markdown(told)
        case _:
            from redgreenrefactor.views.report_page import report_page  # noqa: PLC0415

            return report_page(told, made=datetime.now(UTC).strftime("%Y-%m-%d"))


def _as_json(told: list[RunReport]) -> dict[str, Any]:
    return {"runs": [report_object(run) for run in told]}
