"""What became of a task, in a few lines."""

from collections.abc import Iterator

from redgreenrefactor.model.review_task import TaskResult
from redgreenrefactor.views.lines import count


def result_lines(result: TaskResult) -> Iterator[str]:
    """Yield what a person reads at the end."""
    rounds = count(result.iterations, "round")
    if result.success and not result.approved:
        yield f"the reviewer opened the pull request itself after {rounds}: {result.pr_url}"
    elif result.success:
        yield f"approved after {rounds}: {result.pr_url or f'branch {result.branch}'}"
    else:
        yield f"task {result.task_id}: {result.error}"
    yield from result.notices
    if result.hint:
        yield result.hint
