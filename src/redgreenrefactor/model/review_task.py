"""A task of coder and reviewer as people and scripts read it: a pure function of its handoffs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.model.decision import ROUNDS_USED_UP, cycle_of
from redgreenrefactor.model.handoff import Handoff, State
from redgreenrefactor.model.result import Entry, RunStatus
from redgreenrefactor.model.workflow import PhaseName

KEY = "task"  # of the opening note: what the task's other notes do not say
CLEANED = "cleaned"  # of the last note: when a person had the task taken away
_RUN, _INNER = "-review", "-code-"
_OF_A_TASK = re.compile(rf"{_RUN}$|{_INNER}\d+$")


class TaskStatus(StrEnum):
    """What became of a task."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class WorktreeInfo:
    """Where a task is worked at, and what it started from."""

    path: str
    branch_name: str
    base_branch: str


@dataclass(frozen=True, slots=True)
class TaskState:
    """Everything `.codex/task-TASKID.json` says."""

    task_id: str
    spec_path: str
    original_spec: str
    max_iterations: int
    branch_name: str
    worktree: WorktreeInfo
    created_at: str
    updated_at: str
    current_iteration: int = 1
    coder_responses: tuple[str, ...] = ()
    reviewer_responses: tuple[str, ...] = ()
    status: TaskStatus = TaskStatus.RUNNING
    forge: str = "github"
    tdd: bool = False
    pr_url: str | None = None

    @property
    def run_id(self) -> str:
        """The run whose handoffs are the task's."""
        return run_id_of(self.task_id)

    def to_json(self) -> dict[str, Any]:
        """Return the state as the file spells it."""
        return {
            "taskId": self.task_id,
            "specPath": self.spec_path,
            "originalSpec": self.original_spec,
            "currentIteration": self.current_iteration,
            "maxIterations": self.max_iterations,
            "branchName": self.branch_name,
            "worktreeInfo": {
                "path": self.worktree.path,
                "branchName": self.worktree.branch_name,
                "baseBranch": self.worktree.base_branch,
            },
            "coderResponses": list(self.coder_responses),
            "reviewerResponses": list(self.reviewer_responses),
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
            "status": str(self.status),
            "forge": self.forge,
            "tdd": self.tdd,
            "prUrl": self.pr_url,
        }

    def noted(self) -> dict[str, Any]:
        """Return what the opening note keeps, so that the file can be made again from the notes."""
        own = (
            "taskId",
            "specPath",
            "maxIterations",
            "branchName",
            "worktreeInfo",
            "createdAt",
            "forge",
            "tdd",
        )
        return {key: value for key, value in self.to_json().items() if key in own}


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What one invocation made of a task."""

    success: bool
    task_id: str
    iterations: int
    pr_url: str | None = None
    error: str | None = None
    status: RunStatus = RunStatus.COMPLETE
    type: str = ""  # of the error
    branch: str = ""
    approved: bool = True  # if not, what was successful is a pull request that the reviewer opened itself
    kept_ref: str | None = None  # where the branch's work is, if that is the only place
    notices: tuple[str, ...] = ()  # what became of worktree and branch

    @property
    def hint(self) -> str | None:
        """What to type next; nothing where nothing is left to do."""
        if self.success:
            return None if self.pr_url else f"Type 'git merge {self.branch}' to bring it into your branch."
        more = {ROUNDS_USED_UP: " --max-reviews N", "BudgetExceeded": " --budget USD"}.get(self.type, "")
        return f"Type 'rgr tdd --resume {self.task_id}{more}' to go on."

    def to_json(self) -> dict[str, Any]:
        """Return the value `rgr tdd --json` prints."""
        details = {"type": self.type, "message": self.error} if self.error else None
        return {
            "success": self.success,
            "prUrl": self.pr_url,
            "iterations": self.iterations,
            "taskId": self.task_id,
            "branch": self.branch,
            "keptRef": self.kept_ref,
            "error": self.error,
            "errorDetails": details,
            "hint": self.hint,
        }


def run_id_of(task_id: str) -> str:
    """Return the run of a task; not the same name, for refs of the run lie below it and the task's own beside it."""
    return f"{task_id}{_RUN}"


def task_id_of(run_id: str) -> str | None:
    """Return the task a run belongs to, None if it is no task's."""
    return run_id.removesuffix(_RUN) if run_id.endswith(_RUN) else None


def task_of(run_id: str) -> str | None:
    """Return the task that a run is the whole of, or the coder of a round; None if it is no task's."""
    found = _OF_A_TASK.search(run_id)
    return run_id[: found.start()] if found else None


def resuming(run_id: str) -> str:
    """Return what to type to go on with a run."""
    task = task_of(run_id)
    return "rgr resume" if task is None else f"rgr tdd --resume {task}"


def belongs_to_a_task(run_id: str) -> bool:
    """Tell whether a run is a task's, or the coder of one: it goes on in the task's worktree."""
    return task_of(run_id) is not None


def inner_run_id(task_id: str, cycle: int) -> str:
    """Return the run that is the coder of one round."""
    return f"{task_id}{_INNER}{cycle}"


def read_state(body: Any) -> TaskState:
    """Return the state a decoded file holds; another shape is a NotReadyError that names the key."""
    given = _Given(_object(body, ""), "")
    inner = _Given(_object(given.body.get("worktreeInfo"), "worktreeInfo"), "worktreeInfo.")
    return TaskState(
        task_id=given.text("taskId"),
        spec_path=given.text("specPath"),
        original_spec=given.text("originalSpec"),
        max_iterations=given.count("maxIterations"),
        branch_name=given.text("branchName"),
        worktree=WorktreeInfo(inner.text("path"), inner.text("branchName"), inner.text("baseBranch")),
        created_at=given.text("createdAt"),
        updated_at=given.text("updatedAt"),
        current_iteration=given.count("currentIteration"),
        coder_responses=given.texts("coderResponses"),
        reviewer_responses=given.texts("reviewerResponses"),
        status=given.status("status"),
        forge=given.text("forge", "github"),
        tdd=given.body.get("tdd") is True,
        pr_url=given.text("prUrl", "") or None,
    )


def rebuilt(history: Sequence[Entry]) -> TaskState:
    """Return the state that a task's handoffs tell of, newest first down to its opening; never empty."""
    first, latest = history[-1].handoff, history[0].handoff
    noted: Any = first.extra.get(KEY)
    body: dict[str, Any] = {
        **_object(noted, KEY),
        "originalSpec": first.feature,
        "currentIteration": _iteration(latest),
        "coderResponses": _messages(history, PhaseName.CODE),
        "reviewerResponses": _messages(history, PhaseName.REVIEW),
        "updatedAt": latest.timestamp,
        "status": str(_status(latest)),
    }
    return read_state(body)


def _status(latest: Handoff) -> TaskStatus:
    """Return what the last handoff says; an approved task is complete only when its pull request stands."""
    return TaskStatus.FAILED if latest.state is State.ABORTED else TaskStatus.RUNNING


def _iteration(latest: Handoff) -> int:
    over = latest.state in (State.ABORTED, State.COMPLETE) and latest.cycle_number > 0
    return latest.cycle_number if over else cycle_of(latest)


def _messages(history: Sequence[Entry], phase: PhaseName) -> list[str]:
    own = [
        entry.handoff
        for entry in reversed(history)
        if entry.handoff.phase is phase
        and entry.handoff.cycle_number > 0
        and entry.handoff.carried_from is None
    ]
    return [str(handoff.extra.get("message") or "") for handoff in own]


def feedback_of(history: Sequence[Entry]) -> tuple[str, ...]:
    """Return what reviewers have asked for so far, the oldest first."""
    told = [
        entry.handoff.extra.get("feedback")
        for entry in reversed(history)
        if entry.handoff.phase is PhaseName.REVIEW and entry.handoff.carried_from is None
    ]
    return tuple(text for text in told if isinstance(text, str))


@dataclass(frozen=True, slots=True)
class _Given:
    """An object from outside, read key by key."""

    body: Mapping[str, Any]
    path: str

    def text(self, key: str, default: str | None = None) -> str:
        found: Any = self.body.get(key)
        if found is None and default is not None:
            return default
        return str(self._checked(key, found, isinstance(found, str)))

    def count(self, key: str) -> int:
        found: Any = self.body.get(key)
        good = isinstance(found, int) and not isinstance(found, bool) and found > 0
        return int(self._checked(key, found, good))

    def texts(self, key: str) -> tuple[str, ...]:
        found: Any = self.body.get(key)
        items = cast("list[Any]", self._checked(key, found, isinstance(found, list)))
        return tuple(str(self._checked(key, item, isinstance(item, str))) for item in items)

    def status(self, key: str) -> TaskStatus:
        try:
            return TaskStatus(self.text(key))
        except ValueError:
            raise _malformed(f"{self.path}{key} is {self.body.get(key)!r:.50}") from None

    def _checked(self, key: str, found: Any, good: bool) -> Any:  # noqa: FBT001
        if not good:
            raise _malformed(f"{self.path}{key} is {found!r:.50}")
        return found


def _object(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _malformed(f"{path or 'the whole'} is no object")
    return cast("dict[str, Any]", value)


def _malformed(what: str) -> NotReadyError:
    return NotReadyError(
        f"the task's state has the wrong shape: {what}",
        hint="It is made again from the notes with 'rgr tdd --resume TASKID'.",
        type="StateMalformed",
    )
