"""What a handoff becomes when the run goes back to it."""

from dataclasses import replace
from typing import Any

import pytest

from notes import with_keys
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.decision import Turn, accepted, written_again
from redgreenrefactor.model.goal import Case, Plan
from redgreenrefactor.model.handoff import ErrorDetails, Expense, Handoff, Rejection, State
from redgreenrefactor.model.result import Entry, RunStatus, result_of
from redgreenrefactor.model.rollback import attempts_left_behind, gone_back
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.verdict import Finding, FindingType, rule
from redgreenrefactor.model.workflow import PhaseName

USED = Expense(Usage(3, cost_usd=0.25), 2.0)
FAILED = ErrorDetails("TestFailure", "it fails")


def note(phase: PhaseName, then: PhaseName, cycle: int = 1, attempts: int = 1, **values: Any) -> Handoff:
    made = Handoff(phase, then, "r", "f", cycle_number=cycle, attempts=attempts, timestamp="t1")
    return replace(made, **{"retries": 0, "seconds": 2.0, "usage": USED.usage, **values})


OPENING = Handoff(PhaseName.PLAN, PhaseName.PLAN, "r", "f", timestamp="t0")
PLAN = note(PhaseName.PLAN, PhaseName.RED, current_test=Case("c", "t.py", "i.py"))
RED = replace(PLAN, phase=PhaseName.RED, next_phase=PhaseName.GREEN)
GREEN = replace(PLAN, phase=PhaseName.GREEN, next_phase=PhaseName.REFACTOR)
REJECTED = {
    "error": "it fails",
    "error_details": FAILED,
    "findings": (Finding(FindingType.TEST_FAILURE, "x"),),
}


def test_nothing_left_behind_only_stops_the_run() -> None:
    aborted = replace(RED, state=State.ABORTED, attempts=4, retry_count=3, **REJECTED)
    assert gone_back(aborted, [], "t9") == replace(written_again(aborted, "t9"), state=State.STOPPED)


def test_a_complete_run_stays_complete_at_its_end() -> None:
    last = note(PhaseName.PLAN, PhaseName.COMPLETE, 2, state=State.COMPLETE)
    assert gone_back(last, [], "t9") == last


def test_attempts_and_costs_of_what_is_left_behind_are_remembered() -> None:
    due = gone_back(RED, [replace(GREEN, attempts=3)], "t9")
    assert (due.state, due.next_phase, due.timestamp) == (State.STOPPED, PhaseName.GREEN, "t9")
    assert attempts_left_behind(due, 1, "GREEN") == 3
    assert attempts_left_behind(due, 1, "RED") == 1
    assert attempts_left_behind(due, 2, "GREEN") == 0
    assert due.lost_expense == USED


def test_an_error_that_was_overcome_is_gone_its_attempts_are_not() -> None:
    tried = replace(
        RED,
        attempts=2,
        retry_count=2,
        retries=1,
        due=USED,
        rejections=(Rejection(1, "TestFailure", "it fails"),),
        **REJECTED,
    )
    due = gone_back(tried, [replace(GREEN, attempts=3)], "t9")
    assert (due.error, due.error_details, due.findings, due.retry_count) == (None, None, (), 0)
    assert due.attempts == 2  # of RED: one retry
    assert (due.due, due.rejections) == (None, ())
    assert attempts_left_behind(due, 1, "GREEN") == 3


def test_an_error_that_was_only_carried_over_stays() -> None:
    tried = replace(RED, attempts=2, **REJECTED)
    due = gone_back(tried, [replace(tried, carried_from="c", attempts=5)], "t9")
    assert (due.error, due.attempts_due) == ("it fails", 2)
    assert attempts_left_behind(due, 1, "GREEN") == 5


def test_rejections_of_the_phase_that_was_due_last_count_too() -> None:
    aborted = replace(GREEN, attempts=4, state=State.ABORTED, **REJECTED)
    due = gone_back(RED, [aborted], "t9")
    assert attempts_left_behind(due, 1, "GREEN") == 1
    assert attempts_left_behind(due, 1, "REFACTOR") == 4


def test_the_openings_own_attempts_count_on() -> None:
    tried = replace(OPENING, attempts=2, **REJECTED)
    due = gone_back(tried, [replace(PLAN, attempts=3)], "t9")
    assert (due.error, due.attempts_due) == (None, 2)
    assert attempts_left_behind(due, 1, "PLAN") == 3


def test_going_back_twice_forgets_nothing() -> None:
    once = gone_back(RED, [replace(GREEN, attempts=3)], "t8")
    again = gone_back(PLAN, [once], "t9")
    assert attempts_left_behind(again, 1, "GREEN") == 3
    assert attempts_left_behind(again, 1, "RED") == 1
    assert again.lost_expense.seconds == 4.0
    assert gone_back(PLAN, [once], "t9") == again  # however often it was begun


def test_the_whole_run_has_cost_the_same_before_and_after() -> None:
    tried = replace(RED, attempts=2, due=USED, **REJECTED)
    line = [replace(GREEN, attempts=3, usage=Usage(cost_usd=0.5)), tried, PLAN, OPENING]

    def cost(history: list[Handoff]) -> float | None:
        used = result_of([Entry("c", one) for one in history], RunStatus.STOPPED, 0.0).usage
        return used.cost_usd if used else None

    assert cost(line) == cost([gone_back(tried, line[:1], "t9"), *line[2:]]) == 1.0


def test_turns_that_follow_hand_it_on() -> None:
    due = gone_back(RED, [GREEN], "t9")
    turn = Turn(TDD.phase(PhaseName.GREEN), 1, 2, Plan(), "t10")
    assert accepted(due, turn, rule()).rolled_back == due.rolled_back
    assert accepted(RED, turn, rule()).rolled_back is None


@pytest.mark.parametrize("odd", [7, {"attempts": 7}, {"attempts": {"1-GREEN": "x"}}, None])
def test_what_others_wrote_there_is_passed_by(odd: Any) -> None:
    handoff = with_keys(RED, rolledBack=odd)
    assert attempts_left_behind(handoff, 1, "GREEN") == 0
    used = result_of([Entry("c", handoff)], RunStatus.STOPPED, 0.0).usage
    assert used == Usage(3, 0, 0, 0, 0.25)
