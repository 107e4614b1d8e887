"""Attempts that left no commit are told of by the handoff they started from."""

from typing import Any

import pytest

from notes import with_keys
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.decision import (
    MOST_UNCOMMITTED,
    Turn,
    carried,
    rejected,
    stopped,
    uncommitted,
    with_uncommitted,
)
from redgreenrefactor.model.goal import Plan
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.verdict import Finding, FindingType, rule
from redgreenrefactor.model.workflow import PhaseName

RED = Handoff(PhaseName.RED, PhaseName.GREEN, "run", "f", cycle_number=2, timestamp="t1", attempts=1)
GREEN = TDD.phase(PhaseName.GREEN)
FAILED = rule(Finding(FindingType.AGENT_FAILURE, "it ended with exit code 3"))


def tried(handoff: Handoff, attempt: int, when: str) -> Handoff:
    turn = Turn(GREEN, 2, attempt, Plan(), when)
    return with_uncommitted(rejected(handoff, turn, FAILED, retries=3), turn)


def test_every_attempt_without_a_commit_is_told_with_its_reason_and_its_time() -> None:
    told = uncommitted(tried(tried(RED, 1, "t2"), 2, "t3"))
    assert [(one.phase, one.next_phase, one.cycle_number) for one in told] == [("GREEN", "GREEN", 2)] * 2
    assert [(one.attempts, one.timestamp) for one in told] == [(1, "t2"), (2, "t3")]
    assert {one.error for one in told} == {"it ended with exit code 3"}
    assert {one.error_details and one.error_details.type for one in told} == {"AgentFailure"}


def test_a_note_that_is_written_again_keeps_when_its_turn_was_accepted() -> None:
    again = stopped(tried(tried(RED, 1, "t2"), 2, "t3"), "t4")
    assert (again.timestamp, again.accepted_at) == ("t4", "t1")


def test_what_is_carried_to_another_commit_leaves_both_where_they_were() -> None:
    there = carried(tried(RED, 1, "t2"), "commit", "t3")
    assert uncommitted(there) == []
    assert there.accepted_at is None


def test_only_the_latest_ones_are_listed() -> None:
    handoff = RED
    for number in range(MOST_UNCOMMITTED + 5):
        handoff = tried(handoff, number, "t")
    assert [one.attempts for one in uncommitted(handoff)] == list(range(5, MOST_UNCOMMITTED + 5))


def test_a_rejection_without_details_is_listed_too() -> None:
    bare = with_uncommitted(RED, Turn(GREEN, 2, 1, Plan(), "t2"))
    assert [one.error for one in uncommitted(bare)] == [""]


@pytest.mark.parametrize("listed", [None, "x", [1, "x"], {}, [{"phase": "X", "cycle": "1", "attempt": None}]])
def test_a_list_that_is_none_tells_of_nothing(listed: Any) -> None:
    assert uncommitted(with_keys(RED, uncommitted=listed)) == []
