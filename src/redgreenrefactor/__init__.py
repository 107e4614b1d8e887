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
    from redgreenrefactor.model.result import CycleCommits, CycleResult, Entry, RunStatus, WorkflowResult
    from redgreenrefactor.model.review_task import (
        PullRequest,
        PullRequestState,
        TaskResult,
        TaskState,
        TaskStatus,
    )
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

# Where they live, what is imported soonest first.
_HOMES = (
    *("errors", "model.events", "model.goal", "model.handoff", "model.result"),
    *("model.review_task", "model.session", "model.task_result", "model.verdict", "model.workflow"),
    *("doctor", "library"),
)


def __getattr__(name: str) -> Any:
    """Return an exported name from the module it lives in."""
    from importlib import import_module, metadata  # noqa: PLC0415

    if name == "__version__":
        return metadata.version("redgreenrefactor")
    for home in _HOMES if name in __all__ else ():
        module = import_module(f"{__name__}.{home}")
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the exported names beside those that are here already."""
    return sorted({*globals(), *__all__})
