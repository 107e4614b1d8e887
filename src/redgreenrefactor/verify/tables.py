"""By which table a run was made: what its turns are judged again by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.errors import RgrError
from redgreenrefactor.gates import REVIEW_GATES, TDD_GATES, Gate
from redgreenrefactor.gates.task import task_gates
from redgreenrefactor.goals.task_file import task_from
from redgreenrefactor.loop.workflows import PLAIN, TDD, review, taskfile
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.review_task import KEY
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.workflow import PhaseName, Workflow

ROUNDS = (PhaseName.CODE, PhaseName.REVIEW)


@dataclass(frozen=True)
class RunTable:
    """How a run was made: its table, and its task where it did the work of a task file."""

    workflow: Workflow = TDD
    gates: Mapping[PhaseName, Gate] = field(default_factory=lambda: TDD_GATES)
    task: Task | None = None
    unknown: str = ""  # why its turns cannot be judged; nothing: they can

    @property
    def in_rounds(self) -> bool:
        """Whether its turns are rounds of code, and not cycles of a test."""
        return self.workflow.first.name is PhaseName.CODE

    def knows(self, phase: PhaseName) -> bool:
        """Tell whether the table has such a phase."""
        return any(row.name is phase for row in self.workflow.phases)


def table_of(handoffs: Sequence[Handoff]) -> RunTable:
    """Return how the run was made that these handoffs are of, the newest first."""
    named = next((str(name) for found in handoffs if (name := found.extra.get("workflow"))), None)
    task = next(filter(None, (_object(found.extra.get(KEY)) for found in handoffs[::-1])), _object(None))
    if named in (PLAIN.name, taskfile(1).name):
        return _of_task_file(task)
    if any(found.phase in ROUNDS for found in handoffs):
        return RunTable(review(1, tdd=task.get("tdd") is True), REVIEW_GATES)
    return RunTable()


def _of_task_file(noted: Mapping[str, Any]) -> RunTable:
    """Return the table of a task, whose criteria are part of what its turns are judged by."""
    document = _object(noted.get("document"))
    try:
        task = task_from(dict(document), Path(str(noted.get("file") or "task.json"))) if document else None
    except RgrError as error:
        return RunTable(PLAIN, unknown=f"its task is not one that this version knows: {error.message:.200}")
    if task is None:
        return RunTable(PLAIN, unknown="its opening note, which holds the task, is not here")
    return RunTable(taskfile(task.max_iterations) if task.tdd else PLAIN, task_gates(task), task)


def _object(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
