"""A note is believed only as far as commits and measurements bear it out."""

from dataclasses import replace
from typing import Any

import pytest

from notes import with_keys
from redgreenrefactor.gates.rules.note_claims import (
    about_turn,
    believed,
    carried_over,
    chained,
    recorded,
    shares,
)
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.codec import read
from redgreenrefactor.model.facts import NO_FACTS, Facts
from redgreenrefactor.model.goal import Case, Item, Plan
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.proof import Link
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Severity, TestOutcome, rule
from redgreenrefactor.model.workflow import PhaseName

CASE = Case("adds", "tests/test_calc.py", "calc.py")
PLAN = Plan((Item("adds", done=False, line=1), Item("subtracts", done=False, line=2)), blob="b10b")
TESTS = ("tests/test_calc.py::test_adds",)
RED = Handoff(
    PhaseName.RED,
    PhaseName.GREEN,
    run_id="run",
    feature="F",
    cycle_number=1,
    current_test=CASE,
    pending_tests=("subtracts",),
    test_result=TestOutcome.FAIL,
    test_list="b10b",
    facts=Facts(tests=TESTS),
)
GREEN = replace(RED, phase=PhaseName.GREEN, next_phase=PhaseName.REFACTOR, test_result=TestOutcome.PASS)
PLANNED = replace(RED, phase=PhaseName.PLAN, next_phase=PhaseName.RED, test_result=None, facts=NO_FACTS)


def link(before: Handoff = RED, after: Handoff = GREEN, **more: Any) -> Link:
    made = Link(Entry("a" * 40, before), Entry("b" * 40, after), ("a" * 40,), "feat: adds", prefixed=True)
    return replace(made, **more)


def messages(findings: Any) -> list[str]:
    return [finding.message for finding in findings]


# --- the chain


def test_a_turn_where_it_belongs_is_fine() -> None:
    assert list(chained(link())) == []
    opening = Handoff(PhaseName.PLAN, PhaseName.PLAN, run_id="run", feature="F")
    assert list(chained(link(opening, PLANNED, between=3))) == []  # rebased as a whole


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (link(before=PLANNED), "RED of cycle 1 is due"),
        (link(after=replace(GREEN, cycle_number=2)), "GREEN of cycle 1 is due"),
        (link(between=1), "a commit stands before it without a handoff"),
        (link(between=2), "2 commits stand before it without a handoff"),
        (link(parents=("a", "c")), "is a merge"),
        (link(prefixed=False), "no GREEN commit's"),
        (link(after=replace(GREEN, feature="G")), "another feature"),
    ],
    ids=["phase", "cycle", "one between", "two between", "merge", "prefix", "feature"],
)
def test_a_turn_elsewhere_is_found(changed: Link, words: str) -> None:
    (message,) = messages(chained(changed))
    assert words in message


def test_a_handoff_is_carried_over_as_it_is_or_asks_for_the_list_again() -> None:
    assert list(carried_over(RED, replace(RED, carried_from="a"), "c", PLAN)) == []
    again = replace(
        PLANNED, next_phase=PhaseName.PLAN, current_test=None, pending_tests=("adds", "subtracts")
    )
    assert list(carried_over(PLANNED, again, "c", PLAN)) == []
    longer = Plan((*PLAN.items, Item("divides", done=False, line=3)))
    relisted = replace(PLANNED, pending_tests=("subtracts", "divides"))
    assert list(carried_over(PLANNED, relisted, "c", longer)) == []


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (RED, replace(RED, next_phase=PhaseName.REFACTOR), "REFACTOR is due"),
        (RED, replace(RED, phase=PhaseName.PLAN), "carries a handoff of PLAN"),
        (RED, replace(RED, feature="G"), "feature G"),
        (RED, replace(RED, test_result=TestOutcome.PASS), "testResult PASS"),
        (RED, replace(RED, outcome=Outcome.WARNED), "outcome warned"),
        (RED, replace(RED, current_test=replace(CASE, impl_file=CASE.test_file)), "for tests/test_calc.py"),
        (RED, replace(RED, current_test=None), "currentTest nothing"),
        (RED, replace(RED, facts=NO_FACTS), "tests nothing"),
        (RED, replace(RED, completed_tests=("adds",)), "completedTests are not those"),
        (PLANNED, replace(PLANNED, current_test=None), "currentTest nothing"),
        (PLANNED, replace(PLANNED, completed_tests=("subtracts",)), "completedTests are not those"),
    ],
)
def test_a_handoff_that_was_changed_when_it_was_carried_over_is_found(
    before: Handoff, after: Handoff, words: str
) -> None:
    assert any(words in said for said in messages(carried_over(before, after, "c", PLAN)))


def test_what_an_opening_says_is_done_counts_as_far_as_the_list_shows_it() -> None:
    plan = Plan((Item("adds", done=True, line=1), Item("subtracts", done=False, line=2)))
    claims = Handoff(PhaseName.PLAN, PhaseName.PLAN, completed_tests=("adds", "subtracts"))
    assert believed(claims, plan).completed_tests == ("adds",)
    assert believed(RED, plan) is RED
    ended = replace(RED, phase=PhaseName.REFACTOR, current_test=replace(CASE, description="subtracts"))
    for earlier, done in ((ended, ("adds", "subtracts")), (replace(ended, phase=PhaseName.GREEN), ("adds",))):
        told = replace(claims, previous=replace(earlier, completed_tests=("divides",)))
        assert believed(told, plan).previous == replace(earlier, completed_tests=done)


# --- the note


def verdict(**facts: Any) -> Any:
    return rule(test_result=TestOutcome.PASS, facts=read(Facts, {"tests": list(TESTS), **facts}))


def test_a_note_that_follows_from_its_turn_is_fine() -> None:
    assert list(recorded(link(), TDD.phase(PhaseName.GREEN), PLAN, verdict())) == []


@pytest.mark.parametrize(
    ("note", "words"),
    [
        (replace(GREEN, next_phase=PhaseName.PLAN), "nextPhase PLAN, but it is REFACTOR"),
        (replace(GREEN, test_result=None), "testResult nothing, but it is PASS"),
        (replace(GREEN, outcome=Outcome.WARNED), "outcome warned, but it is nothing"),
        (replace(GREEN, current_test=None), "currentTest nothing, but it is 'adds'"),
        (replace(GREEN, completed_tests=("adds",)), "completedTests are not those"),
        (replace(GREEN, pending_tests=()), "pendingTests are not those"),
        (replace(GREEN, test_list="other"), "another test-list.md"),
        (replace(GREEN, facts=Facts(tests=("x::y",))), "names the test x::y"),
        (replace(GREEN, facts=NO_FACTS), "names the test none"),
        (replace(GREEN, current_test=replace(CASE, impl_file="other.py")), "for other.py"),
    ],
)
def test_a_note_that_does_not_follow_is_found(note: Handoff, words: str) -> None:
    found = messages(recorded(link(after=note), TDD.phase(PhaseName.GREEN), PLAN, verdict()))
    assert any(words in message for message in found), found


def test_a_long_list_is_compared_by_its_counts() -> None:
    counted = replace(GREEN, pending_tests=(), completed_count=0, pending_count=1)
    assert list(recorded(link(after=counted), TDD.phase(PhaseName.GREEN), PLAN, verdict())) == []
    wrong = replace(counted, pending_count=2)
    assert len(list(recorded(link(after=wrong), TDD.phase(PhaseName.GREEN), PLAN, verdict()))) == 1


# --- shares


def claiming(**keys: Any) -> Link:
    return link(after=with_keys(GREEN, **keys))


def hunks(number: int, *unneeded: str) -> dict[str, Any]:
    return {"share": 0, "hunks": number, "unneeded": list(unneeded)}


def test_a_share_that_is_measured_again_is_fine_and_so_is_none() -> None:
    same: dict[str, Any] = {
        "minimality": hunks(4, "calc.py:3-4"),
        "mutants": {"tried": 3, "noticed": 3, "missed": []},
    }
    assert list(shares(claiming(**same), verdict(**same))) == []
    assert list(shares(link(), verdict(**same))) == []
    assert list(shares(link(PLANNED, RED), verdict(**same))) == []
    assert list(shares(claiming(minimality="all of it", mutants={"tried": 0}), verdict(**same))) == []


def test_a_share_that_is_clearly_less_is_found_with_its_place() -> None:
    claimed = claiming(minimality=hunks(4))
    (finding,) = shares(claimed, verdict(minimality=hunks(4, "calc.py:3-4")))
    assert (finding.type, finding.severity, finding.file, finding.line) == (
        FindingType.NOT_MINIMAL,
        Severity.ERROR,
        "calc.py",
        3,
    )
    assert "the note says 100 % of the change is needed by the new test, now it is 75 %" in finding.message
    kill = claiming(mutants={"tried": 3, "noticed": 3, "missed": []})
    (finding,) = shares(kill, verdict(mutants={"tried": 3, "noticed": 2, "missed": ["calc"]}))
    assert (finding.type, finding.line) == (FindingType.MEANINGLESS_TEST, None)


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (hunks(2), hunks(4, "calc.py:9-9")),  # more was tried this time
        (hunks(4, "calc.py:3-4"), hunks(2, "calc.py:3-4")),  # fewer
        (hunks(4, "calc.py:3-4"), hunks(4)),  # more is needed than was claimed
        (hunks(4), None),
    ],
    ids=["more tried", "fewer tried", "better", "not measured"],
)
def test_a_share_that_differs_by_time_alone_is_a_warning(
    then: dict[str, Any], now: dict[str, Any] | None
) -> None:
    (finding,) = shares(claiming(minimality=then), verdict(minimality=now))
    assert finding.severity is Severity.WARNING


def test_a_gate_s_finding_is_told_with_its_turn() -> None:
    (finding,) = about_turn([Finding(FindingType.TIMEOUT, "late", "f.py", 3)], PhaseName.RED, "c" * 40)
    assert (finding.message, finding.file, finding.line) == (f"RED {'c' * 10}: late", "f.py", 3)
