"""A run from its start to its end, and looking at it."""

import os
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redgreenrefactor.cli.common import (
    common,
    print_json,
    project,
    reporting,
    surroundings,
    width,
    working,
)
from redgreenrefactor.cli.recovery import pushing

if TYPE_CHECKING:
    from redgreenrefactor.model.result import Entry
    from redgreenrefactor.model.task_result import TaskFileResult
    from redgreenrefactor.surroundings import Surroundings


SCREEN, MANY = 50, 2000  # lines of a history that are shown at once: the first ones soon, the others cheaply


@click.command(short_help="Take a feature through the whole workflow.")
@click.argument("feature", required=False)
@click.option("--file", metavar="F", help="Read the feature from a file.")
@click.option("--new", is_flag=True, help="Start even though an unfinished run is here.")
@working
def run(feature: str | None, file: str | None, **flags: Any) -> None:
    """Run the whole workflow for FEATURE ('-' reads it from standard input).

    Example: rgr run "Convert numbers to Roman numerals"

    Example: rgr run --file feature.md --worktree roman --budget 5
    """
    with reporting(flags) as answer:
        from redgreenrefactor.goals.feature import read_feature  # noqa: PLC0415
        from redgreenrefactor.lifecycle.feature import start  # noqa: PLC0415

        asked = read_feature(feature, Path(file) if file else None, sys.stdin.read)
        with surroundings(flags) as around:
            with pushing(around, flags) as (heard, unpushed):
                result = start(asked, heard, _options(flags))
            answer(result, unpushed())


@click.command(short_help="Go on from the last handoff.")
@working
def resume(**flags: Any) -> None:
    """Go on from the last handoff: the phase that was due, with the error context it had.

    Example: rgr resume --max-cycles 1
    """
    code = 0
    with reporting(flags) as answer:
        from redgreenrefactor.lifecycle import feature  # noqa: PLC0415

        with surroundings(flags) as around:
            done = _resumed_task(around, flags)
            if done is None:
                with pushing(around, flags) as (heard, unpushed):
                    result = feature.resume(heard, _options(flags))
                answer(result, unpushed())
        if done is not None:
            from redgreenrefactor.cli.task import answer_task  # noqa: PLC0415

            code = answer_task([done], flags, several=False)
    if code:
        sys.exit(code)


def _resumed_task(around: "Surroundings", flags: dict[str, Any]) -> "TaskFileResult | None":
    """Go on with the task whose run stands here, if it is a task's."""
    from redgreenrefactor.lifecycle import status as looking  # noqa: PLC0415

    worktree = flags["worktree"]
    latest = None if worktree else looking.status(around.project, around.environ)
    if not worktree and (latest is None or "task" not in latest.handoff.extra):
        return None
    from redgreenrefactor.tasks.running import resume_task  # noqa: PLC0415

    return resume_task(around, worktree)


@click.command(short_help="Show where the workflow stands.")
@common
def status(**flags: Any) -> None:
    """Show where the workflow stands; reads git only.

    Example: rgr status --json
    """
    with reporting(flags):
        from redgreenrefactor.lifecycle import status as looking  # noqa: PLC0415

        entry = looking.status(project(flags), os.environ)
        if flags["as_json"]:
            print_json(_entry_to_json(entry) if entry else None)
        else:
            from redgreenrefactor.views.text import status_text  # noqa: PLC0415

            working = looking.at_work(project(flags), os.environ)
            click.echo(status_text(entry, width=width(), at_work=working))


@click.command(short_help="Show the handoffs of the latest run.")
@click.option("--limit", metavar="N", type=click.IntRange(1), help="Only the newest N.")
@click.option("--attempts", is_flag=True, help="Rejected attempts, too.")
@click.option(
    "--transcript", metavar="TURN", help="What one session was told and did: 1-GREEN-1, or a commit."
)
@common
def history(limit: int | None, attempts: bool, transcript: str | None, **flags: Any) -> None:  # noqa: FBT001
    """Show the handoffs of the latest run, newest first.

    Example: rgr history --attempts

    Example: rgr history --transcript 1-GREEN-1
    """
    with reporting(flags):
        if transcript is not None:
            _show_transcript(transcript, flags)
            return
        from redgreenrefactor.lifecycle import status as looking  # noqa: PLC0415

        told = looking.history_with_attempts if attempts else looking.history
        entries = islice(told(project(flags), os.environ), limit)
        if flags["as_json"]:
            print_json([_entry_to_json(entry) for entry in entries])
        else:
            from redgreenrefactor.views.text import history_text  # noqa: PLC0415

            lines = (f"{line}\n" for line in history_text(entries, width=width()))
            at_once = SCREEN
            while shown := "".join(islice(lines, at_once)):
                click.echo(shown, nl=False)
                at_once = MANY


def _show_transcript(turn: str, flags: dict[str, Any]) -> None:
    from redgreenrefactor.lifecycle import status as looking  # noqa: PLC0415
    from redgreenrefactor.views.transcript import transcript_text  # noqa: PLC0415

    told = looking.transcript(project(flags), os.environ, turn)
    if flags["as_json"]:
        print_json(told)
    else:
        for line in transcript_text(told):
            click.echo(line)


@click.command(short_help="Play a whole workflow on a kata: no key, no network.")
@common
def demo(**flags: Any) -> None:
    """Play a complete workflow on a bundled kata, with the scripted agent: no key, no network.

    Example: rgr demo
    """
    with reporting(flags) as answer:
        from redgreenrefactor import demo as demonstration  # noqa: PLC0415

        with surroundings({**flags, "agent": "replay:roman"}) as around:
            folder, result = demonstration.play(around)
            answer(result)
            if not flags["as_json"]:
                click.echo(demonstration.what_to_look_at(folder))


def _options(flags: dict[str, Any]) -> Any:
    from redgreenrefactor.lifecycle.feature import RunOptions  # noqa: PLC0415
    from redgreenrefactor.loop.budget import RunLimits  # noqa: PLC0415

    return RunOptions(
        limits=RunLimits(max_cycles=flags["max_cycles"]),
        approve=flags["approve"],
        worktree=flags["worktree"],
        new=flags.get("new", False),
    )


def _entry_to_json(entry: "Entry") -> dict[str, Any]:
    from redgreenrefactor.model.handoff import to_object  # noqa: PLC0415

    return {**to_object(entry.handoff), "commit": entry.commit or None}
