"""A task of coder and reviewer as people and scripts read it: a pure function of its handoffs."""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.model.codec import ShapeError, read, written
from redgreenrefactor.model.decision import ROUNDS_USED_UP, cycle_of
from redgreenrefactor.model.handoff import Handoff, ReviewMark, State, WorktreeInfo
from redgreenrefactor.model.result import Entry, RunStatus
from redgreenrefactor.model.values import attributes, field, frozen
from redgreenrefactor.model.workflow import PhaseName

_RUN, _INNER = "-review", "-code-"
_OF_A_TASK = re.compile(rf"{_RUN}$|{_INNER}\d+$")


class TaskStatus(StrEnum):
    """What became of a task."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


@frozen
class TaskState:
    """Everything `.codex/task-TASKID.json` says."""

    task_id: str
    spec_path: str
    original_spec: str
    max_iterations: int
    branch_name: str
    worktree: WorktreeInfo = field(metadata={"key": "worktreeInfo"})
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
        return written(self)

    def mark(self) -> ReviewMark:
        """Return what the opening note keeps, so that the file can be made again from the notes."""
        return ReviewMark(**{each.name: getattr(self, each.name) for each in attributes(ReviewMark)})


@frozen
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
    try:
        state = read(TaskState, body)
    except ShapeError as error:
        raise _malformed(str(error)) from error
    if min(state.max_iterations, state.current_iteration) < 1:
        raise _malformed("maxIterations or currentIteration is less than 1")
    return state


def rebuilt(history: Sequence[Entry]) -> TaskState:
    """Return the state that a task's handoffs tell of, newest first down to its opening; never empty."""
    first, latest = history[-1].handoff, history[0].handoff
    mark = first.task
    if not isinstance(mark, ReviewMark):
        raise _malformed("the opening note does not tell of the task")
    return TaskState(
        **{each.name: getattr(mark, each.name) for each in attributes(ReviewMark)},
        original_spec=first.feature,
        current_iteration=_iteration(latest),
        coder_responses=_messages(history, PhaseName.CODE),
        reviewer_responses=_messages(history, PhaseName.REVIEW),
        updated_at=latest.timestamp,
        status=_status(latest),
    )


def _status(latest: Handoff) -> TaskStatus:
    """Return what the last handoff says; an approved task is complete only when its pull request stands."""
    return TaskStatus.FAILED if latest.state is State.ABORTED else TaskStatus.RUNNING


def _iteration(latest: Handoff) -> int:
    over = latest.state in (State.ABORTED, State.COMPLETE) and latest.cycle_number > 0
    return latest.cycle_number if over else cycle_of(latest)


def _messages(history: Sequence[Entry], phase: PhaseName) -> tuple[str, ...]:
    return tuple(handoff.facts.message or "" for handoff in _of(history, phase) if handoff.cycle_number)


def _of(history: Sequence[Entry], phase: PhaseName) -> list[Handoff]:
    """Return a phase's own handoffs, the oldest first."""
    notes = [entry.handoff for entry in reversed(history)]
    return [note for note in notes if note.phase is phase and note.carried_from is None]


def feedback_of(history: Sequence[Entry]) -> tuple[str, ...]:
    """Return what reviewers have asked for so far, the oldest first."""
    told = (handoff.facts.feedback for handoff in _of(history, PhaseName.REVIEW))
    return tuple(text for text in told if text is not None)


def _malformed(what: str) -> NotReadyError:
    return NotReadyError(
        f"the task's state has the wrong shape: {what}",
        hint="It is made again from the notes with 'rgr tdd --resume TASKID'.",
        type="StateMalformed",
    )


class PullRequestState(StrEnum):
    """What became of a pull request."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


@frozen
class PullRequest:
    """One pull request, as far as it matters here."""

    number: int
    title: str
    url: str
    state: PullRequestState
    head_branch: str
    base_branch: str

    def to_json(self) -> dict[str, Any]:
        """Return the value `rgr tdd --prs --json` prints a list of."""
        return written(self)


@frozen
class Draft:
    """A pull request that does not exist yet."""

    title: str
    body: str
    head: str  # the branch with the work
    base: str  # the branch it is to go into
