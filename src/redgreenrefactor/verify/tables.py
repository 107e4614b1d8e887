"""By which table a run was made: what its turns are judged again by."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from redgreenrefactor.errors import RgrError
from redgreenrefactor.gates import REVIEW_GATES, TDD_GATES, Gate
from redgreenrefactor.gates.task import task_gates
from redgreenrefactor.goals.task_file import task_from
from redgreenrefactor.loop.workflows import PLAIN, TDD, review, taskfile
from redgreenrefactor.model.handoff import Handoff, ReviewMark, TaskFileMark
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.values import field, frozen
from redgreenrefactor.model.workflow import PhaseName, Workflow

ROUNDS = (PhaseName.CODE, PhaseName.REVIEW)


@frozen
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
    named = next((found.workflow for found in handoffs if found.workflow), None)
    task = next((found.task for found in handoffs[::-1] if found.task), None)
    if named in (PLAIN.name, taskfile(1).name):
        return _of_task_file(task if isinstance(task, TaskFileMark) else None)
    if any(found.phase in ROUNDS for found in handoffs):
        return RunTable(review(1, tdd=isinstance(task, ReviewMark) and task.tdd), REVIEW_GATES)
    return RunTable()


def _of_task_file(noted: TaskFileMark | None) -> RunTable:
    """Return the table of a task, whose criteria are part of what its turns are judged by."""
    document = noted.document.value if noted and noted.document else None
    try:
        task = task_from(document, Path(noted.file or "task.json")) if noted and document else None
    except RgrError as error:
        return RunTable(PLAIN, unknown=f"its task is not one that this version knows: {error.message:.200}")
    if task is None:
        return RunTable(PLAIN, unknown="its opening note, which holds the task, is not here")
    return RunTable(taskfile(task.max_iterations) if task.tdd else PLAIN, task_gates(task), task)
