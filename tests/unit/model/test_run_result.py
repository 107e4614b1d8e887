"""What a run came to, told from its handoffs alone."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import NOTHING_USED, ErrorDetails, Expense, Handoff, State
from redgreenrefactor.model.result import (
    CycleCommits,
    Entry,
    RunStatus,
    WorkflowResult,
    expense_of,
    result_of,
)
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Severity
from redgreenrefactor.model.workflow import PhaseName

PLAN, RED, GREEN, REFACTOR = PhaseName.PLAN, PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR
OPENING = Entry("c0", Handoff(PLAN, PLAN, run_id="r", feature="count"))
USED = Usage(1, 2, 3, 4, 0.5)
AFTER = {PLAN: RED, RED: GREEN, GREEN: REFACTOR, REFACTOR: PLAN}
ERROR: dict[str, Any] = {"error": "it fails", "error_details": ErrorDetails("TestFailure", "it fails")}


def note(phase: PhaseName, cycle: int = 1, *, retries: int = 0, **changes: Any) -> Entry:
    handoff = Handoff(
        phase,
        AFTER[phase],
        run_id="r",
        feature="count",
        cycle_number=cycle,
        current_test=Case(f"case {cycle}", "t.py", "i.py"),
        usage=USED,
        seconds=1.5,
        retries=retries,
    )
    return Entry(f"{phase}-{cycle}", replace(handoff, **changes))


def result(entries: Sequence[Entry], status: RunStatus = RunStatus.STOPPED) -> WorkflowResult:
    return result_of([*reversed(entries), OPENING], status, 12.3456)


LAST_PLAN = note(PLAN, 3, next_phase=PhaseName.COMPLETE, state=State.COMPLETE, current_test=None)


def test_a_complete_run_tells_every_case_and_what_it_took() -> None:
    covered = note(RED, 2, next_phase=PLAN, outcome=Outcome.COVERED)
    whole = [note(PLAN), note(RED, retries=2), note(GREEN, retries=1), note(REFACTOR), note(PLAN, 2), covered]
    told = result([*whole, LAST_PLAN], RunStatus.COMPLETE)
    one, two = told.cycles
    assert (one.cycle_number, one.test, one.outcome) == (1, "case 1", "done")
    assert one.commits == CycleCommits("PLAN-1", "RED-1", "GREEN-1", "REFACTOR-1")
    assert (one.retries, one.seconds, one.usage) == (3, 6.0, Usage(4, 8, 12, 16, 2.0))
    assert (two.outcome, two.commits) == ("covered", CycleCommits("PLAN-2", "RED-2"))
    assert (told.error, told.error_details, told.head) == (None, None, "PLAN-3")
    assert told.usage == Usage(7, 14, 21, 28, 3.5)
    assert told.cost_per_test == 1.75


def test_the_json_is_as_promised() -> None:
    aborted = note(RED, state=State.ABORTED, attempts=3, **ERROR)
    body = result([note(PLAN), aborted], RunStatus.FAILED).to_json()
    assert body == {
        "runId": "r",
        "feature": "count",
        "status": "failed",
        "cycles": [
            {
                "cycleNumber": 1,
                "test": "case 1",
                "outcome": "failed",
                "commits": {"plan": "PLAN-1", "red": "RED-1", "green": None, "refactor": None},
                "retries": 2,
                "seconds": 3.0,
                "usage": {
                    "inputTokens": 2,
                    "outputTokens": 4,
                    "cacheReadTokens": 6,
                    "cacheWriteTokens": 8,
                    "costUsd": 1.0,
                },
            },
        ],
        "error": "it fails",
        "errorDetails": {"type": "TestFailure", "message": "it fails"},
        "usage": {
            "inputTokens": 2,
            "outputTokens": 4,
            "cacheReadTokens": 6,
            "cacheWriteTokens": 8,
            "costUsd": 1.0,
        },
        "seconds": 12.346,
        "head": "RED-1",
    }


def test_a_run_that_did_not_begin_a_cycle_has_none() -> None:
    told = result_of([OPENING], RunStatus.INTERRUPTED, 1.0)
    assert (told.cycles, told.usage, told.head) == ((), None, "c0")
    assert (told.to_json()["usage"], told.to_json()["errorDetails"]) == (None, None)


def test_a_case_that_was_begun_is_unfinished() -> None:
    told = result([note(PLAN), note(RED)])
    assert [cycle.outcome for cycle in told.cycles] == ["unfinished"]


def test_a_case_is_not_failed_by_the_list_that_follows_it() -> None:
    done = note(REFACTOR, state=State.ABORTED, attempts=2, **ERROR)
    (cycle,) = result([note(PLAN), note(RED), note(GREEN), done], RunStatus.FAILED).cycles
    assert (cycle.outcome, cycle.retries) == ("done", 0)


@pytest.mark.parametrize(("state", "retries"), [(State.ABORTED, 1), (State.STOPPED, 2)])
def test_every_rejection_of_the_phase_that_is_due_asks_for_a_retry_but_the_last(
    state: State, retries: int
) -> None:
    latest = note(RED, state=state, attempts=2, retries=1, **ERROR)
    (cycle,) = result([note(PLAN), latest]).cycles
    assert cycle.retries == 1 + retries


def test_attempts_of_a_phase_that_is_past_are_not_counted_again() -> None:
    (cycle,) = result([note(PLAN), note(RED, attempts=3, retries=2)]).cycles
    assert cycle.retries == 2


def test_what_rejected_attempts_used_counts_for_the_cycle_and_the_run() -> None:
    latest = note(RED, attempts=2, seconds=1, due=Expense(replace(USED, input_tokens=100), 20), **ERROR)
    told = result([note(PLAN), latest])
    assert told.usage is not None
    assert told.usage.input_tokens == 102
    assert (told.cycles[0].seconds, told.cycles[0].usage) == (22.5, told.usage)


def test_what_a_rejected_next_list_used_counts_for_the_run_alone() -> None:
    latest = note(REFACTOR, attempts=1, due=Expense(USED, 20), **ERROR)
    told = result([note(PLAN), note(RED), note(GREEN), latest])
    assert told.usage is not None
    assert told.cycles[0].usage is not None
    assert (told.usage.input_tokens, told.cycles[0].usage.input_tokens) == (5, 4)


def test_a_list_that_is_asked_for_again_belongs_to_its_cycle() -> None:
    again = note(PLAN, next_phase=PLAN, current_test=None, attempts=2, carried_from="PLAN-1", **ERROR)
    (cycle,) = result([note(PLAN), again]).cycles
    assert (cycle.retries, cycle.outcome, cycle.commits.plan) == (2, "unfinished", "PLAN-1")


def test_a_carried_handoff_is_no_turn_of_the_run() -> None:
    carried = replace(note(RED, carried_from="RED-1"), commit="users-own")
    told = result([note(PLAN), note(RED), carried])
    assert (told.head, told.cycles[0].commits.red) == ("users-own", "RED-1")
    assert told.usage == Usage(2, 4, 6, 8, 1.0)


def test_usage_adds_up_over_those_who_tell_it() -> None:
    assert expense_of([]) == NOTHING_USED
    told = [note(RED, usage=None), note(PLAN, usage=Usage(output_tokens=5)), note(PLAN)]
    assert expense_of(told) == Expense(Usage(1, 7, 3, 4, 0.5), 4.5)


def test_what_is_open_is_told_with_the_case_in_work_first() -> None:
    waiting = ("case 2", "case 3")
    begun = result([note(PLAN), note(RED, pending_tests=waiting)])
    assert (begun.open_cases, begun.open_count) == (("case 1", "case 2", "case 3"), 3)
    between = result([note(PLAN), note(RED), note(GREEN), note(REFACTOR, pending_tests=waiting)])
    assert (between.open_cases, between.open_count) == (waiting, 2)
    counted = result([note(REFACTOR, pending_count=300)])
    assert (counted.open_cases, counted.open_count) == ((), 300)


def test_warnings_of_accepted_phases_are_counted() -> None:
    warning = Finding(FindingType.NOT_MINIMAL, "a bit long", severity=Severity.WARNING)
    told = result([note(PLAN), note(RED, findings=(warning,)), note(GREEN, findings=(warning,), **ERROR)])
    assert told.warnings == 1
