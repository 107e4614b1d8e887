"""Task files."""

from pathlib import Path
from typing import Any

import click

from redgreenrefactor.cli.common import print_json, project, say, tell
from redgreenrefactor.cli.offers import FILE
from redgreenrefactor.cli.work import WORKTREE, agents_work, surroundings, tell_worktree
from redgreenrefactor.errors import UsageError
from redgreenrefactor.goals.task_file import schema_text
from redgreenrefactor.goals.task_set import read_tasks
from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus
from redgreenrefactor.tasks.running import TaskOptions, run_tasks
from redgreenrefactor.views.task_text import last_section, one_line


@click.command()
@click.argument("files", nargs=-1, metavar="TASK.json…", type=FILE)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of task files, and do nothing else.")
@click.option("--check", is_flag=True, help="Only tell what is wrong with the files.")
@click.option(
    "--session", metavar="NAME", help="The session whose folder below .workflow/active/ is written to."
)
@click.option("--keep-going", is_flag=True, help="Go on with tasks that do not depend on one that failed.")
@click.option("--new", is_flag=True, help="Start anew, whatever run stands here.")
@WORKTREE
@agents_work
def task(files: tuple[str, ...], schema: bool, check: bool, **flags: Any) -> int:  # noqa: FBT001
    """Do the work of TDD task files: tests first, code in tries that build on each other, then refactoring.

    TASK.json may also be a folder of task files, or a plan; they are done in the order of their depends_on.
    The output ends with '## TASK COMPLETE', '## TASK BLOCKED' or '## TASK FAILED'; exit code 0, 3 or 1.

    Example: rgr task IMPL-1.json

    Example: rgr task --check tasks/
    """
    if schema:
        click.echo(schema_text(), nl=False)
        return 0
    if not files:
        raise UsageError("no task file was given", hint="Type: rgr task TASK.json")
    paths = [Path(file).expanduser() for file in files]
    found = read_tasks(paths, project(flags))
    if check:
        words = "\n".join(f"{item.path}: {item.task.id} is a task that can be run" for item in found)
        tell(flags, {"ok": True, "tasks": [item.task.id for item in found]}, words)
        return 0
    options = TaskOptions(flags["session"], flags["new"], flags["keep_going"], flags["worktree"])
    with surroundings(flags) as around:
        results = list(run_tasks(found, around, options))
    return answer_task(results, flags, several=len(paths) > 1 or len(found) > 1 or paths[0].is_dir())


def answer_task(results: list[TaskFileResult], flags: dict[str, Any], *, several: bool) -> int:
    """Tell what became of the tasks, one section of it last; return the exit code of the first that failed."""
    shown = next((result for result in results if result.status is not TaskFileStatus.COMPLETE), results[-1])
    tell_worktree(flags, complete=shown.status is TaskFileStatus.COMPLETE)
    if flags["as_json"]:
        listed = {"status": str(shown.status), "tasks": [result.to_json() for result in results]}
        print_json(listed if several else shown.to_json())
        return shown.exit_code
    if several:
        click.echo("\n".join(one_line(result) for result in results) + "\n")
    if shown.already:
        click.echo("the task is complete already; nothing is left to do (--new starts it again)\n")
    say(last_section(shown))
    return shown.exit_code
