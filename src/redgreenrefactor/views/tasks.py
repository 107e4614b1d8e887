"""What became of a task, in a few lines."""

from collections.abc import Iterator

from redgreenrefactor.model.result import RunStatus
from redgreenrefactor.model.review_task import TaskResult
from redgreenrefactor.views.lines import count
from redgreenrefactor.views.text import going_on


def result_lines(result: TaskResult) -> Iterator[str]:
    """Yield what a person reads at the end."""
    rounds = count(result.iterations, "round")
    if result.success:
        yield f"approved after {rounds}: {result.pr_url or f'branch {result.branch}'}"
    else:
        yield f"task {result.task_id}: {result.error}"
    yield from result.notices
    if result.status in (RunStatus.STOPPED, RunStatus.INTERRUPTED):
        yield f"go on with: {going_on(f'rgr tdd --resume {result.task_id}', '', result.type)[0]}"
    elif result.status is RunStatus.FAILED:
        yield f"go on with: rgr tdd --resume {result.task_id} (more reviews: --max-reviews N)"
