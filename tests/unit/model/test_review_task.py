"""A task's state: a function of its handoffs, and a shape that is checked key by key."""

from dataclasses import replace
from typing import Any

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.handoff import Handoff, State, WorktreeInfo
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.review_task import (
    PullRequest,
    PullRequestState,
    TaskResult,
    TaskState,
    TaskStatus,
    belongs_to_a_task,
    feedback_of,
    inner_run_id,
    read_state,
    rebuilt,
    run_id_of,
    task_id_of,
)
from redgreenrefactor.model.verdict import Outcome
from redgreenrefactor.model.workflow import PhaseName

STATE = TaskState(
    task_id="t1",
    spec_path="SPEC.md",
    original_spec="It adds.",
    max_iterations=3,
    branch_name="tdd/t1",
    worktree=WorktreeInfo("/w/t1", "tdd/t1", "main"),
    created_at="2026-01-01T00:00:00Z",
    updated_at="2026-01-01T00:00:00Z",
)
OPENED = Handoff(PhaseName.CODE, PhaseName.CODE, run_id="t1-review", feature="It adds.", task=STATE.mark())
CODED = Handoff(
    PhaseName.CODE, PhaseName.REVIEW, run_id="t1-review", cycle_number=1, facts=Facts(message="I coded.")
)
ASKED = Handoff(
    PhaseName.REVIEW,
    PhaseName.CODE,
    run_id="t1-review",
    cycle_number=1,
    outcome=Outcome.FEEDBACK,
    timestamp="2026-01-02T00:00:00Z",
    facts=Facts(message="More!", feedback="Subtract, too."),
)


def history(*handoffs: Handoff) -> list[Entry]:
    """Return entries, newest first, of handoffs that are given oldest first."""
    return [Entry(str(number), handoff) for number, handoff in enumerate(handoffs)][::-1]


def test_what_is_written_is_read_again() -> None:
    state = replace(
        STATE, coder_responses=("a",), status=TaskStatus.COMPLETED, pr_url="https://x/1", tdd=True
    )
    assert read_state(state.to_json()) == state
    assert read_state(STATE.to_json()) == STATE


def test_keys_that_the_file_does_not_need_may_be_missing() -> None:
    body = {key: value for key, value in STATE.to_json().items() if key not in ("forge", "tdd", "prUrl")}
    assert read_state(body) == STATE


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"taskId": 7}, "taskId is 7"),
        ({"specPath": None}, "specPath is None"),
        ({"tdd": "yes"}, "tdd is 'yes'"),
        ({"maxIterations": 0}, "maxIterations"),
        ({"maxIterations": True}, "maxIterations"),
        ({"currentIteration": "1"}, "currentIteration"),
        ({"worktreeInfo": []}, "worktreeInfo is no object"),
        ({"worktreeInfo": {"path": "x"}}, "worktreeInfo.branchName"),
        ({"coderResponses": "x"}, "coderResponses"),
        ({"reviewerResponses": [1]}, "reviewerResponses is 1"),
        ({"status": "sleeping"}, "status is 'sleeping'"),
    ],
)
def test_a_wrong_shape_is_named_by_its_key(change: dict[str, Any], named: str) -> None:
    with pytest.raises(NotReadyError) as raised:
        read_state({**STATE.to_json(), **change})
    assert raised.value.type == "StateMalformed"
    assert named in raised.value.message


@pytest.mark.parametrize("body", [None, [], "text", 7])
def test_what_is_no_object_is_no_state(body: Any) -> None:
    with pytest.raises(NotReadyError):
        read_state(body)


def test_the_notes_tell_all_that_the_file_does() -> None:
    coded_again = replace(CODED, cycle_number=2, facts=Facts(message="I coded again."))
    state = rebuilt(history(OPENED, CODED, ASKED, coded_again))
    assert state.task_id == "t1"
    assert (state.original_spec, state.worktree) == ("It adds.", STATE.worktree)
    assert (state.coder_responses, state.reviewer_responses) == (("I coded.", "I coded again."), ("More!",))
    assert (state.current_iteration, state.status) == (2, TaskStatus.RUNNING)


def test_a_task_whose_opening_does_not_tell_of_it_is_not_rebuilt() -> None:
    with pytest.raises(NotReadyError, match="opening note"):
        rebuilt(history(CODED))


def test_a_task_that_was_only_opened_is_in_its_first_round() -> None:
    assert rebuilt(history(OPENED)).current_iteration == 1


def test_feedback_opens_the_next_round_and_giving_up_does_not() -> None:
    assert rebuilt(history(OPENED, CODED, ASKED)).current_iteration == 2
    given_up = rebuilt(history(OPENED, CODED, replace(ASKED, state=State.ABORTED, error="used up")))
    assert (given_up.current_iteration, given_up.status) == (1, TaskStatus.FAILED)


def test_handoffs_that_were_carried_over_are_not_counted_twice() -> None:
    carried = replace(ASKED, carried_from="2")
    assert rebuilt(history(OPENED, CODED, ASKED, carried)).reviewer_responses == ("More!",)
    assert feedback_of(history(OPENED, CODED, ASKED, carried)) == ("Subtract, too.",)


def test_an_approval_is_no_feedback() -> None:
    approved = replace(ASKED, next_phase=PhaseName.COMPLETE, facts=Facts(verdict="approve"))
    assert feedback_of(history(OPENED, CODED, approved)) == ()


def test_runs_of_a_task_are_told_from_others() -> None:
    assert STATE.run_id == run_id_of("t1") == "t1-review"
    assert task_id_of("t1-review") == "t1"
    assert task_id_of("20260101-000000-abcd") is None
    assert inner_run_id("t1", 2) == "t1-code-2"
    assert belongs_to_a_task("t1-code-12")
    assert belongs_to_a_task("t1-review")
    assert not belongs_to_a_task("20260101-000000-abcd")


def test_results_and_pull_requests_have_the_keys_scripts_read() -> None:
    assert TaskResult(success=True, task_id="t1", iterations=2, pr_url="u").to_json() == {
        "success": True,
        "prUrl": "u",
        "iterations": 2,
        "taskId": "t1",
        "branch": "",
        "keptRef": None,
        "error": None,
        "errorDetails": None,
        "hint": None,
    }
    failed = TaskResult(
        success=False,
        task_id="t1",
        iterations=1,
        error="why",
        type="RoundsUsedUp",
        kept_ref="refs/tdd/kept/t1",
    ).to_json()
    assert failed["errorDetails"] == {"type": "RoundsUsedUp", "message": "why"}
    assert failed["keptRef"] == "refs/tdd/kept/t1"
    assert failed["hint"] == "Type 'rgr tdd --resume t1 --max-reviews N' to go on."
    pull = PullRequest(1, "t", "u", PullRequestState.MERGED, "h", "b")
    assert pull.to_json() == {
        "number": 1,
        "title": "t",
        "url": "u",
        "state": "merged",
        "headBranch": "h",
        "baseBranch": "b",
    }
