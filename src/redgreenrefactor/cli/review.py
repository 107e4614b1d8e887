"""From a specification to a reviewed pull request."""

from pathlib import Path
from typing import Any

import click

from redgreenrefactor import reviews
from redgreenrefactor.cli.common import print_json, say, tell
from redgreenrefactor.cli.offers import FILE
from redgreenrefactor.cli.work import agents_work, surroundings
from redgreenrefactor.errors import UsageError
from redgreenrefactor.goals.text_file import read_spec
from redgreenrefactor.lifecycle.feature import exit_code
from redgreenrefactor.model.review_task import TaskResult
from redgreenrefactor.views.lines import columns
from redgreenrefactor.views.messages import result_lines

INSTEAD = ("list_tasks", "resume", "clean", "prs")


@click.command()
@click.argument("spec", required=False, metavar="SPEC.md", type=FILE)
@click.option("--max-reviews", metavar="N", type=click.IntRange(1), help="Give up after N reviews (3).")
@click.option("--branch", metavar="NAME", help="The branch to work on (tdd/TASKID).")
@click.option("--base", metavar="BRANCH", help="The branch to start from (the current one).")
@click.option("--no-cleanup", is_flag=True, help="Leave worktree and branch in place at the end.")
@click.option("--forge", type=click.Choice(["github", "none"]), help="Where the pull request goes (github).")
@click.option("--tdd", is_flag=True, help="Let a whole 'rgr run' be the coder.")
@click.option("--list", "list_tasks", is_flag=True, help="Show the tasks.")
@click.option("--resume", metavar="TASKID", help="Go on with a task.")
@click.option("--clean", metavar="TASKID", help="Take a task's worktree, branch and state file away.")
@click.option("--prs", metavar="BRANCH", help="Show the pull requests of a branch.")
@agents_work
def tdd(spec: str | None, **flags: Any) -> int:
    """Let a coder and a reviewer work on SPEC.md in a worktree until it is approved, then open a pull request.

    Example: rgr tdd SPEC.md --max-reviews 2

    Example: rgr tdd --resume TASKID
    """
    _one_of(spec, flags)
    read = read_spec(Path(spec)) if spec else None
    options = reviews.ReviewOptions(
        max_reviews=flags["max_reviews"],
        branch=flags["branch"],
        base=flags["base"],
        cleanup=not flags["no_cleanup"],
        forge=flags["forge"],
        tdd=flags["tdd"],
    )
    with surroundings(flags) as around:
        if read is not None:
            return _told(reviews.start(read, around, options), flags)
        if flags["resume"]:
            return _told(reviews.resume(flags["resume"], around, options), flags)
        if flags["clean"]:
            notices = reviews.clean(flags["clean"], around)
            words = "\n".join((*notices, f"{flags['clean']} is gone"))
            tell(flags, {"taskId": flags["clean"], "notices": list(notices)}, words)
        elif flags["prs"]:
            pulls = [pull.to_json() for pull in reviews.pull_requests(flags["prs"], around)]
            _show(pulls, _of_pull, flags, none=f"{flags['prs']} has no pull request")
        else:
            tasks = [state.to_json() for state in reviews.listed(around)]
            _show(tasks, _of_task, flags, none="no tasks here; 'rgr tdd SPEC.md' starts one")
    return 0


def _one_of(spec: str | None, flags: dict[str, Any]) -> None:
    given = [f"--{name.partition('_')[0]}" for name in INSTEAD if flags[name]]
    given = ([f"the specification {spec}"] if spec else []) + given
    if len(given) != 1:
        what = f"{' and '.join(given)} do not go together" if given else "no specification was given"
        raise UsageError(what, hint="Type: rgr tdd SPEC.md, or one of --list, --resume, --clean, --prs.")


def _told(result: TaskResult, flags: dict[str, Any]) -> int:
    if flags["as_json"]:
        print_json(result.to_json())
    for line in result_lines(result):
        say(line, err=flags["as_json"])
    return exit_code(result.status, result.type)


def _show(items: list[dict[str, Any]], cells: Any, flags: dict[str, Any], *, none: str) -> None:
    tell(flags, items, "\n".join(columns([cells(item) for item in items])) if items else none)


def _of_pull(pull: dict[str, Any]) -> list[str]:
    branches = f"{pull['headBranch']} → {pull['baseBranch']}"
    return [f"#{pull['number']}", pull["state"], branches, pull["title"], pull["url"]]


def _of_task(task: dict[str, Any]) -> list[str]:
    rounds = f"round {task['currentIteration']} of {task['maxIterations']}"
    return [task["taskId"], task["status"], rounds, task["branchName"], task["specPath"]]
