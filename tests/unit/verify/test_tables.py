"""Which table a run was made by, as its notes tell."""

from dataclasses import replace
from typing import Any

import pytest

from notes import with_keys
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.handoff import Handoff, ReviewMark, WorktreeInfo
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.verify.recorded_run import table_of
from task_samples import plain_task, tdd_task

HERE = WorktreeInfo("/w", "b", "main")
PLAIN_TASK = plain_task()
TDD_TASK = tdd_task()


MARK = {"id": "IMPL-1", "digest": "d", "session": "s"}


def note(phase: PhaseName, **keys: Any) -> Handoff:
    return with_keys(Handoff(phase, phase, run_id="r"), **keys)


def test_a_run_that_says_nothing_else_went_test_by_test() -> None:
    made = table_of([note(PhaseName.GREEN), note(PhaseName.PLAN)])
    assert (made.workflow, made.in_rounds, made.unknown) == (TDD, False, "")
    assert made.knows(PhaseName.RED)
    assert not made.knows(PhaseName.REVIEW)


@pytest.mark.parametrize("tdd", [True, False])
def test_coder_and_reviewer_go_in_rounds(tdd: bool) -> None:
    made = table_of(
        [
            note(PhaseName.REVIEW),
            replace(note(PhaseName.CODE), task=ReviewMark("t", "s", 3, "b", HERE, "now", tdd=tdd)),
        ]
    )
    assert made.in_rounds
    assert made.workflow.phase(PhaseName.CODE).inner is tdd
    assert not made.knows(PhaseName.RED)


def test_a_task_file_is_in_its_opening_note() -> None:
    made = table_of(
        [
            note(PhaseName.GREEN, workflow="taskfile", task=MARK),
            note(PhaseName.RED, workflow="taskfile", task={**MARK, "document": TDD_TASK}),
        ]
    )
    assert made.task
    assert (made.task.id, made.in_rounds) == ("IMPL-7", False)
    plain = table_of([note(PhaseName.CODE, workflow="plain", task={**MARK, "document": PLAIN_TASK})])
    assert (plain.in_rounds, plain.knows(PhaseName.REVIEW)) == (True, False)


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (MARK, "which holds the task, is not here"),
        ({"id": 7}, "which holds the task, is not here"),
        ({**MARK, "document": {"id": 7}}, "is not one that this version knows"),
    ],
)
def test_a_task_that_is_not_there_or_not_understood_cannot_be_judged(task: dict[str, Any], why: str) -> None:
    assert why in table_of([note(PhaseName.GREEN, workflow="taskfile", task=task)]).unknown
