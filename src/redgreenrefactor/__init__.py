"""Drives independent AI coding sessions through strict test-driven development, with git as the only memory.

Importing the package imports nothing else: every name below is fetched when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redgreenrefactor.doctor import Health, Remark
    from redgreenrefactor.errors import (
        ForgeError,
        GitError,
        InterruptedRunError,
        LedgerError,
        NotReadyError,
        RgrError,
        UsageError,
    )
    from redgreenrefactor.library import (
        clean_task,
        history,
        list_tasks,
        preflight,
        pull_requests,
        resume,
        resume_async,
        resume_task,
        roles,
        run,
        run_async,
        status,
        task,
        tdd,
    )
    from redgreenrefactor.model.events import Event
    from redgreenrefactor.model.goal import Case
    from redgreenrefactor.model.handoff import ErrorDetails, Handoff, State, WorktreeInfo
    from redgreenrefactor.model.pull_request import PullRequest, PullRequestState
    from redgreenrefactor.model.result import CycleCommits, CycleResult, Entry, RunStatus, WorkflowResult
    from redgreenrefactor.model.review_task import TaskResult, TaskState, TaskStatus
    from redgreenrefactor.model.session import Role, Usage
    from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus
    from redgreenrefactor.model.verdict import Finding, FindingType
    from redgreenrefactor.model.workflow import PhaseName, RoleName

    __version__: str

__all__ = [
    "Case",
    "CycleCommits",
    "CycleResult",
    "Entry",
    "ErrorDetails",
    "Event",
    "Finding",
    "FindingType",
    "ForgeError",
    "GitError",
    "Handoff",
    "Health",
    "InterruptedRunError",
    "LedgerError",
    "NotReadyError",
    "PhaseName",
    "PullRequest",
    "PullRequestState",
    "Remark",
    "RgrError",
    "Role",
    "RoleName",
    "RunStatus",
    "State",
    "TaskFileResult",
    "TaskFileStatus",
    "TaskResult",
    "TaskState",
    "TaskStatus",
    "Usage",
    "UsageError",
    "WorkflowResult",
    "WorktreeInfo",
    "__version__",
    "clean_task",
    "history",
    "list_tasks",
    "preflight",
    "pull_requests",
    "resume",
    "resume_async",
    "resume_task",
    "roles",
    "run",
    "run_async",
    "status",
    "task",
    "tdd",
]

_HOMES = {
    "doctor": "Health Remark",
    "errors": "ForgeError GitError InterruptedRunError LedgerError NotReadyError RgrError UsageError",
    "library": "clean_task history list_tasks preflight pull_requests resume resume_async resume_task roles run "
    "run_async status task tdd",
    "model.events": "Event",
    "model.goal": "Case",
    "model.handoff": "ErrorDetails Handoff State WorktreeInfo",
    "model.pull_request": "PullRequest PullRequestState",
    "model.result": "CycleCommits CycleResult Entry RunStatus WorkflowResult",
    "model.review_task": "TaskResult TaskState TaskStatus",
    "model.session": "Role Usage",
    "model.task_result": "TaskFileResult TaskFileStatus",
    "model.verdict": "Finding FindingType",
    "model.workflow": "PhaseName RoleName",
}


def __getattr__(name: str) -> Any:
    """Return an exported name from the module it lives in."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("redgreenrefactor")
    home = next((home for home, names in _HOMES.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    """Return the exported names beside those that are here already."""
    return sorted({*globals(), *__all__})
