"""The gates of a task file."""

from collections.abc import Mapping
from functools import partial

from redgreenrefactor.gates import Gate
from redgreenrefactor.gates.task_green import task_green, task_plain, task_refactor
from redgreenrefactor.gates.task_red import task_red
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.workflow import PhaseName


def task_gates(task: Task) -> Mapping[PhaseName, Gate]:
    """Return what judges each phase of a task."""
    return {
        PhaseName.RED: partial(task_red, task),
        PhaseName.GREEN: partial(task_green, task),
        PhaseName.REFACTOR: partial(task_refactor, task),
        PhaseName.CODE: partial(task_plain, task),
    }
