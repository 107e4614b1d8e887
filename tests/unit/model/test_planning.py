"""When a cycle is opened without a session."""

import json
from dataclasses import replace

import pytest

from redgreenrefactor.goals.test_list import parse
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import Handoff, from_json, to_json
from redgreenrefactor.model.planning import answer, next_case, opened, reason_to_plan
from redgreenrefactor.model.verdict import Finding, FindingType, Severity, Verdict, rule
from redgreenrefactor.model.workflow import PhaseName

ONE, TWO, THREE = (Case(text, "test_a.py", "a.py") for text in ("one", "two", "three"))
SMOOTH = Handoff(
    PhaseName.REFACTOR,
    PhaseName.PLAN,
    cycle_number=1,
    current_test=ONE,
    pending_tests=("**Two.**", "three"),
    upcoming=(TWO, THREE),
)
LIST = "# Cases\r\n\r\n- [ ] one\r\n- [ ] two\r\n  - [ ] three"


def test_a_case_that_the_plan_has_named_needs_no_session() -> None:
    assert next_case(SMOOTH) == TWO


@pytest.mark.parametrize(
    "rough",
    [
        replace(SMOOTH, upcoming=()),
        replace(SMOOTH, upcoming=(THREE,)),
        replace(SMOOTH, pending_tests=()),  # the last PLAN asks whether anything is missing
        replace(SMOOTH, replan="GREEN asks for it: too large"),
        replace(SMOOTH, error="rejected"),
        replace(SMOOTH, phase=PhaseName.PLAN),  # asked again
        replace(SMOOTH, next_phase=PhaseName.GREEN),
    ],
)
def test_everything_else_is_asked(rough: Handoff) -> None:
    assert next_case(rough) is None


def test_what_is_planned_outlives_the_process() -> None:
    told = replace(SMOOTH, replan="RED needed a retry")
    assert from_json(to_json(told)) == told


def test_the_finished_case_is_ticked_and_nothing_else_changes() -> None:
    text = opened(LIST, parse(LIST), SMOOTH, TWO)
    assert text is not None
    assert text == LIST.replace("[ ] one", "[x] one")
    assert [item.text for item in parse(text).done] == ["one"]


@pytest.mark.parametrize(
    ("text", "handoff"),
    [
        (LIST.replace("[ ] one", "[x] one"), SMOOTH),  # ticked by somebody else
        (LIST.replace("[ ] two", "[ ] zero\n- [ ] two"), SMOOTH),  # something was put before it
        ("- [ ] one\n", SMOOTH),
        (LIST.replace("three", "\ufffd"), SMOOTH),  # no UTF-8: it would not be written back as it was
        (LIST, replace(SMOOTH, current_test=None)),
    ],
)
def test_a_list_that_is_not_as_planned_is_left_to_a_session(text: str, handoff: Handoff) -> None:
    assert opened(text, parse(text), handoff, TWO) is None


def test_the_answer_is_the_one_a_session_would_give() -> None:
    said = json.loads(answer(TWO, (TWO, THREE)))
    assert said["currentTest"] == {"description": "two", "testFile": "test_a.py", "implFile": "a.py"}
    assert [case["description"] for case in said["upcoming"]] == ["three"]


WARNING = rule(Finding(FindingType.SCOPE_VIOLATION, "odd", severity=Severity.WARNING))


@pytest.mark.parametrize(
    ("phase", "attempt", "asked", "verdict", "reason"),
    [
        (PhaseName.REFACTOR, 1, "", rule(), None),
        (PhaseName.GREEN, 1, "too large", rule(), "GREEN asks for it: too large"),
        (PhaseName.RED, 2, "", rule(), "RED needed a retry"),
        (PhaseName.REFACTOR, 1, "", WARNING, "REFACTOR left a warning"),
        (PhaseName.PLAN, 2, "", WARNING, None),  # it has just been looked at
    ],
)
def test_a_cycle_that_went_otherwise_is_a_reason_to_look_at_the_list(
    phase: PhaseName, attempt: int, asked: str, verdict: Verdict, reason: str | None
) -> None:
    assert reason_to_plan(SMOOTH, phase, attempt, asked, verdict) == reason


def test_the_first_reason_of_a_cycle_stays() -> None:
    red = replace(SMOOTH, replan="RED needed a retry")
    assert reason_to_plan(red, PhaseName.GREEN, 1, "too large", rule()) == "RED needed a retry"
