"""A handoff survives being written and read, in either spelling, with whatever else stands beside it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notes import with_keys
from redgreenrefactor.errors import LedgerError
from redgreenrefactor.model.codec import Json, JsonObject
from redgreenrefactor.model.facts import Counts, Facts, MutantCounts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import (
    ErrorDetails,
    Handoff,
    Rejection,
    State,
    TaskFileMark,
    from_json,
    to_json,
    to_object,
)
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Severity, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

EARLIER: list[Json] = json.loads(
    (Path(__file__).parents[2] / "data" / "earlier_notes.json").read_text(encoding="utf-8")
)
PLANNED = Handoff(PhaseName.PLAN, PhaseName.RED)
text = st.text(max_size=30)
some_text = st.text(min_size=1, max_size=30)
findings = st.builds(
    Finding,
    st.sampled_from(FindingType),
    text,
    st.none() | text,
    st.none() | st.integers(1, 999),
    st.none() | text,
    st.sampled_from(Severity),
)
known = {"schemaVersion", "cycle", "perturbation"}
handoffs = st.builds(
    Handoff,
    phase=st.sampled_from(PhaseName),
    next_phase=st.sampled_from(PhaseName),
    run_id=text,
    feature=text,
    state=st.sampled_from(State),
    cycle_number=st.integers(0, 10**6),
    current_test=st.none() | st.builds(Case, text, text, text),
    completed_tests=st.lists(text, max_size=5).map(tuple),
    pending_tests=st.lists(text, max_size=5).map(tuple),
    test_result=st.none() | st.sampled_from(TestOutcome),
    error=st.none() | text,
    error_details=st.none() | st.builds(ErrorDetails, text, text),
    retry_count=st.integers(0, 99),
    timestamp=text,
    attempts=st.integers(0, 99),
    outcome=st.none() | st.sampled_from(Outcome),
    findings=st.lists(findings, max_size=3).map(tuple),
    carried_from=st.none() | some_text,
    awaiting=st.none() | some_text,
    usage=st.none() | st.builds(Usage, cost_usd=st.none() | st.floats(0, 9)),
    seconds=st.none() | st.floats(0, 9),
    rejections=st.lists(st.builds(Rejection, st.integers(0, 9), text, text, text), max_size=2).map(tuple),
    task=st.none()
    | st.builds(TaskFileMark, text, text, text, document=st.none() | st.just(JsonObject("{}"))),
    facts=st.builds(
        Facts,
        evidence=text,
        tests=st.none() | st.lists(text).map(tuple) | st.builds(Counts, st.none() | st.integers()),
        mutants=st.none() | st.builds(MutantCounts, st.integers(), st.integers(), st.just(("a.py:1",))),
    ),
    unknown=st.dictionaries(
        st.text("xyz", min_size=1, max_size=5), st.none() | st.integers() | text, max_size=3
    ).map(lambda keys: JsonObject.of(dict(sorted(keys.items())))),
)


@given(handoffs)
def test_writing_and_reading_gives_the_same(handoff: Handoff) -> None:
    assert from_json(to_json(handoff)) == handoff


@given(handoffs)
def test_snake_case_is_read_too(handoff: Handoff) -> None:
    body = {_snake(key): value for key, value in to_object(handoff).items()}
    for key in ("current_test",):
        if body[key]:
            body[key] = {_snake(name): value for name, value in body[key].items()}
    assert from_json(json.dumps(body)) == handoff


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | text,
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                text
                | st.sampled_from(
                    ["phase", "nextPhase", "cycleNumber", "findings", "currentTest", "errorDetails"]
                ),
                inner,
            )
        ),
    )
)
def test_any_json_is_a_handoff_or_a_ledger_error(body: Any) -> None:
    try:
        from_json(json.dumps(body))
    except LedgerError as error:
        assert error.hint  # noqa: PT017


@given(st.text())
def test_any_text_is_a_handoff_or_a_ledger_error(note: str) -> None:
    with pytest.raises(LedgerError):
        from_json(note)


def test_what_a_key_was_called_before_is_read() -> None:
    handoff = from_json('{"phase": "RED", "nextPhase": "PLAN", "perturbation": "failed as it should"}')
    assert handoff.facts.wrong_expectation == "failed as it should"
    assert handoff.unknown.value == {}


def test_the_form_of_the_specification_is_read() -> None:
    handoff = from_json(
        '{"phase": "GREEN", "next_phase": "REFACTOR", "cycle": 1, "current_test": {"description": "d",'
        ' "test_file": "t.py", "impl_file": "i.py"}, "completed_tests": ["a"], "pending_tests": [],'
        ' "test_result": "PASS", "error": null, "timestamp": "2025-01-11T10:30:00Z", "mine": 1}'
    )
    assert (handoff.cycle_number, handoff.next_phase) == (1, PhaseName.REFACTOR)
    assert handoff.unknown.value == {"mine": 1}
    assert handoff.current_test == Case("d", "t.py", "i.py")


@pytest.mark.parametrize(
    ("note", "named"),
    [
        ("nonsense", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"phase": "RED"}', "nextPhase"),
        ('{"phase": "BLUE", "nextPhase": "RED"}', "phase"),
        ('{"phase": "RED", "nextPhase": "GREEN", "cycleNumber": -1}', "cycleNumber"),
        ('{"phase": "RED", "nextPhase": "GREEN", "cycleNumber": true}', "cycleNumber"),
        ('{"phase": "RED", "nextPhase": "GREEN", "currentTest": []}', "currentTest"),
        ('{"phase": "RED", "nextPhase": "GREEN", "currentTest": {}}', "currentTest"),
        ('{"phase": "RED", "nextPhase": "GREEN", "completedTests": "a"}', "completedTests"),
        ('{"phase": "RED", "nextPhase": "GREEN", "findings": {}}', "findings"),
        ('{"phase": "RED", "nextPhase": "GREEN", "feature": 3}', "feature"),
        ('{"phase": "RED", "nextPhase": "GREEN", "schemaVersion": 2}', "schema version"),
    ],
)
def test_what_is_wrong_is_named(note: str, named: str) -> None:
    with pytest.raises(LedgerError, match=named) as refusal:
        from_json(note)
    assert "repair-notes" in refusal.value.hint


@pytest.mark.parametrize(
    ("state", "awaiting", "told"),
    [
        (State.RUNNING, None, "cut off"),
        (State.RUNNING, "approval", "its list waits for approval"),
        (State.STOPPED, None, "stopped"),
    ],
)
def test_how_a_run_was_left_is_said(state: State, awaiting: str | None, told: str) -> None:
    left = Handoff(
        phase=PhaseName.PLAN,
        next_phase=PhaseName.RED,
        run_id="r",
        feature="f",
        state=state,
        awaiting=awaiting,
    )
    assert left.left_as == told


def test_a_long_list_is_counted_not_listed() -> None:
    long = Handoff(
        PhaseName.PLAN,
        PhaseName.RED,
        completed_tests=("a",) * 150,
        pending_tests=("b",) * 60,
        test_list="blob",
    )
    body = to_object(long)
    assert (body["completedTests"], body["pendingTests"]) == (None, None)
    assert (body["completedCount"], body["pendingCount"], body["testList"]) == (150, 60, "blob")
    again = to_object(from_json(to_json(long)))
    assert again == body


def test_a_name_that_is_no_utf_8_can_be_written_and_read() -> None:
    odd = Handoff(PhaseName.PLAN, PhaseName.RED, error="caf\udce9.py was changed", feature='ü "\\udce9"')
    assert from_json(to_json(odd).encode().decode()) == odd


def test_numbers_that_are_none_say_nothing_and_are_not_passed_on() -> None:
    note = '{"phase": "PLAN", "nextPhase": "RED", "retryCount": NaN, "seconds": -Infinity, "usage": {"costUsd": 1e999}}'
    handoff = from_json(note)
    assert (handoff.retry_count, handoff.seconds, handoff.usage) == (0, None, Usage())
    json.loads(to_json(handoff), parse_constant=pytest.fail)


def test_the_first_spelling_counts_and_none_is_left_over() -> None:
    handoff = from_json(
        '{"phase": "PLAN", "nextPhase": "RED", "next_phase": "GREEN", "cycle": 3, "cycleNumber": 1}'
    )
    assert (handoff.next_phase, handoff.cycle_number, handoff.unknown) == (PhaseName.RED, 1, "{}")


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


@pytest.mark.parametrize("note", EARLIER, ids=lambda note: f"{note['phase']}-{note['runId']}")
def test_notes_of_the_version_before_are_understood_whole_and_written_as_they_were(note: Json) -> None:
    handoff = from_json(json.dumps(note))
    assert handoff.unknown == "{}"
    assert to_object(handoff) == note


@pytest.mark.parametrize(
    ("key", "odd"),
    [
        ("usage", {"inputTokens": "many"}),
        ("seconds", "long"),
        ("retries", True),
        ("due", "soon"),
        ("rolledBack", 7),
        ("legacy", {"failing": 3}),
        ("remarks", ["a", 1]),
        ("rejections", [{"attempt": 1}]),
        ("task", {"id": 1}),
        ("tests", {"total": "all"}),
        ("minimality", "all of it"),
        ("previous", {"phase": "NONE"}),
        ("previous", "text"),
        ("mine", [{"x": None}]),
    ],
)
def test_what_nobody_can_read_says_nothing_and_is_kept_as_it_is(key: str, odd: object) -> None:
    handoff = with_keys(PLANNED, **{key: odd})
    assert replace(handoff, unknown=PLANNED.unknown) == PLANNED
    assert to_object(from_json(to_json(handoff)))[key] == odd


def test_what_is_known_takes_the_place_of_what_could_not_be_read() -> None:
    handoff = replace(with_keys(PLANNED, seconds="long"), seconds=1.5)
    assert to_object(handoff)["seconds"] == 1.5


def test_runs_below_one_that_cannot_be_read_are_kept_with_it() -> None:
    odd = {**to_object(PLANNED), "phase": "NONE", "previous": to_object(PLANNED)}
    assert to_object(with_keys(PLANNED, previous=odd))["previous"] == odd


def test_handoffs_that_say_the_same_are_one_in_a_set() -> None:
    one, same = with_keys(PLANNED, a=[1], b={"c": None}), with_keys(PLANNED, b={"c": None}, a=[1])
    other = with_keys(one, a=[1, 2])

    assert len({one, same, other, from_json(to_json(one))}) == 2
    assert one != other


def test_nothing_that_a_handoff_holds_can_be_changed_afterwards() -> None:
    given: list[Any] = ["one"]
    handoff = with_keys(PLANNED, mine=given)
    given.append("two")
    handoff.unknown.value["mine"].append("three")
    assert handoff.unknown.value == {"mine": ["one"]}


def test_what_no_note_could_hold_is_no_part_of_a_handoff() -> None:
    with pytest.raises(TypeError):
        with_keys(PLANNED, mine=object())


def test_what_stands_under_tests_are_ids_or_counts() -> None:
    named, counted = Facts(tests=("a",)), Facts(tests=Counts(total=3))
    assert (named.new_tests, named.counts) == (("a",), Counts())
    assert (counted.new_tests, counted.counts) == ((), Counts(total=3))


def test_no_note_holds_what_a_terminal_obeys() -> None:
    odd = "a\x7fb\x9b31mc\x9d0;t\x9cd\u202ee\u2066f\x1bg ü é"
    text = to_json(Handoff(PhaseName.PLAN, PhaseName.RED, feature=odd))
    assert not {"\x7f", "\x9b", "\x9d", "\x9c", "\u202e", "\u2066", "\x1b"} & set(text)
    assert "ü é" in text
    assert from_json(text).feature == odd
