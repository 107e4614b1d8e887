"""A run from its start to its end."""

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from redgreenrefactor import demo as demonstration
from redgreenrefactor.cli.common import common, complain, pen, print_json, say, width
from redgreenrefactor.cli.offers import FILE
from redgreenrefactor.cli.recovery import pushing
from redgreenrefactor.cli.task import answer_task
from redgreenrefactor.cli.work import surroundings, tell_worktree, working
from redgreenrefactor.errors import RgrError, UsageError
from redgreenrefactor.goals.text_file import HOW_TO_RUN, read_feature, usable_feature
from redgreenrefactor.lifecycle import feature as features
from redgreenrefactor.lifecycle.feature import RunOptions, exit_code
from redgreenrefactor.lifecycle.status import status
from redgreenrefactor.loop.budget import RunLimits
from redgreenrefactor.model.result import RunStatus, WorkflowResult
from redgreenrefactor.model.task_result import TaskFileResult
from redgreenrefactor.reviews import issue_text
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.tasks.running import resume_task
from redgreenrefactor.views.result_text import result_text


@click.command()
@click.argument("feature", required=False)
@click.option("--file", metavar="F", type=FILE, help="Read the feature from a file.")
@click.option(
    "--issue", metavar="N", type=click.IntRange(1), help="Take the feature from an issue on GitHub."
)
@click.option("--new", is_flag=True, help="Start even though an unfinished run is here.")
@working
def run(feature: str | None, file: str | None, issue: int | None, **flags: Any) -> int:
    """Build FEATURE ('-' reads it from standard input): a list of cases, then for each a failing test, code, refactoring.

    Example: rgr run "Convert numbers to Roman numerals"

    Example: rgr run --file feature.md --worktree roman --budget 5

    Example: rgr run --issue 42 --agent claude-code
    """
    if issue is not None and (feature or file):
        raise UsageError(f"The feature was given twice: there is --issue {issue}, too.", hint=HOW_TO_RUN)
    asked = "" if issue else read_feature(feature, Path(file) if file else None, sys.stdin.read)
    with surroundings(flags) as around:
        if issue is not None:
            asked = usable_feature(issue_text(issue, around), f"Issue {issue}")
        with pushing(around, flags) as (heard, unpushed):
            result = features.start(asked, heard, _options(flags))
        return _answer(result, flags, unpushed())


@click.command()
@working
def resume(**flags: Any) -> int:
    """Continue the run that was left here after a stop, a failure or a crash, with the phase that was due.

    Example: rgr resume --max-cycles 1
    """
    with surroundings(flags) as around:
        done = _resumed_task(around, flags)
        if done is None:
            with pushing(around, flags) as (heard, unpushed):
                result = features.resume(heard, _options(flags))
            return _answer(result, flags, unpushed())
    return answer_task([done], flags, several=False)


def _resumed_task(around: Surroundings, flags: dict[str, Any]) -> TaskFileResult | None:
    """Go on with the task whose run stands here, if it is a task's."""
    worktree = flags["worktree"]
    latest = None if worktree else status(around.project, around.environ)
    if not worktree and (latest is None or latest.handoff.task is None):
        return None
    return resume_task(around, worktree)


@click.command()
@common
def demo(**flags: Any) -> int:
    """Play a complete workflow on a bundled kata, with the scripted agent: no key, no network.

    Example: rgr demo
    """
    with surroundings({**flags, "agent": "replay:roman"}) as around:
        folder, result = demonstration.play(around)
        code = _answer(result, flags, advise=False)
        if not flags["as_json"]:
            whole = result.status is RunStatus.COMPLETE
            click.echo(demonstration.what_to_look_at(folder, width=width(), ink=pen(flags), whole=whole))
        return code


def _options(flags: dict[str, Any]) -> RunOptions:
    return RunOptions(
        limits=RunLimits(max_cycles=flags["max_cycles"]),
        approve=flags["approve"],
        worktree=flags["worktree"],
        new=flags.get("new", False),
    )


def _answer(
    result: WorkflowResult, flags: dict[str, Any], unpushed: RgrError | None = None, *, advise: bool = True
) -> int:
    """Tell what came of a run; return the exit code."""
    code = exit_code(result.status, result.error_details.type if result.error_details else "")
    if flags["as_json"]:
        print_json(result.to_json())
    elif not flags["quiet"]:
        say(result_text(result, width=width(), ink=pen(flags), resume=_resuming(flags) if advise else None))
    if unpushed is not None:
        code = code or 3
        told = f"what came of the run is here, but not pushed: {unpushed.message}"
        complain(told, f"{unpushed.hint} 'rgr push' does it later.".strip())
    tell_worktree(flags, complete=result.status == "complete")
    return code


def _resuming(flags: dict[str, Any]) -> str:
    """Return the command that goes on as this one did: settings are remembered, flags are not."""
    named = [
        word
        for name in ("agent", "model", "worktree", "project")
        if flags.get(name)
        for word in (f"--{name}", flags[name])
    ]
    return shlex.join(["rgr", "resume", *named])
