"""REVIEW: answers that can be read, those that cannot, and what may not be approved."""

import json

import pytest

from gates_support import by_commit, evidence, failing, judge, result, suite
from redgreenrefactor.gates.review import Opinion, read_opinion
from redgreenrefactor.model.evidence import Evidence, Measure, SuiteRun
from redgreenrefactor.model.session import Report
from redgreenrefactor.model.verdict import FindingType, Outcome, Ruling, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

APPROVE = '{"verdict": "approve", "title": "Add double", "body": "It doubles."}'
FEEDBACK = '{"verdict": "feedback", "feedback": "thing.py:3: name it."}'
GREEN = suite(result("a.py::test"))
RED = suite(result("a.py::test"), failing("a.py::test_new"))


def answered(message: str, *, touched: bool = False) -> Evidence:
    after = {"thing.py": "x = 1\n"} if touched else {}
    return evidence(PhaseName.REVIEW, {}, after, case=None, report=Report(message))


def test_an_approval_brings_title_and_text() -> None:
    played = judge(answered(f"Fine.\n\n```json\n{APPROVE}\n```"), by_commit(GREEN, GREEN, GREEN))
    assert played.verdict.ruling is Ruling.ACCEPTED
    assert (played.verdict.outcome, played.verdict.test_result) == (Outcome.APPROVED, TestOutcome.PASS)
    facts = played.facts
    assert (facts["verdict"], facts["title"], facts["body"]) == ("approve", "Add double", "It doubles.")


def test_feedback_brings_its_words() -> None:
    played = judge(answered(FEEDBACK), by_commit(GREEN, GREEN, GREEN))
    assert played.verdict.ruling is Ruling.ACCEPTED
    assert played.verdict.outcome is Outcome.FEEDBACK
    assert played.facts["feedback"] == "thing.py:3: name it."
    assert played.facts["message"] == FEEDBACK


def test_a_red_suite_cannot_be_approved() -> None:
    played = judge(answered(APPROVE), by_commit(GREEN, RED, RED))
    assert played.types == [FindingType.TEST_FAILURE]
    assert "cannot be approved" in played.told
    assert played.verdict.test_result is TestOutcome.FAIL


def test_a_red_suite_may_be_given_feedback_about() -> None:
    played = judge(answered(FEEDBACK), by_commit(GREEN, RED, RED))
    assert played.types == []
    assert played.verdict.test_result is TestOutcome.FAIL


@pytest.mark.parametrize(("code", "types"), [(0, []), (1, [FindingType.TEST_FAILURE])])
def test_an_exit_code_decides_where_there_is_nothing_else(code: int, types: list[FindingType]) -> None:
    run = SuiteRun(measure=Measure.EXIT_CODE, exit_code=code)
    assert judge(answered(APPROVE), by_commit(run, run, run)).types == types


def test_a_suite_that_cannot_be_measured_is_undecided() -> None:
    died = SuiteRun(finished=False, exit_code=3)
    assert judge(answered(APPROVE), by_commit(GREEN, died, died)).verdict.ruling is Ruling.UNDECIDED


def test_a_reviewer_changes_nothing() -> None:
    played = judge(answered(APPROVE, touched=True))
    assert played.types == [FindingType.SCOPE_VIOLATION]


@pytest.mark.parametrize(
    "message",
    [
        "Looks good to me.",
        '{"verdict": "approve"',
        '{"verdict": "feedback"}',
        '{"verdict": "feedback", "feedback": ""}',
        '{"verdict": "maybe", "title": "x"}',
        '{"verdict": null}',
        '{"title": "no verdict"}',
    ],
)
def test_an_answer_that_cannot_be_read_is_asked_for_again(message: str) -> None:
    played = judge(answered(message))
    assert played.types == [FindingType.MALFORMED_HANDOFF]
    assert played.facts["message"] == message


def test_the_last_answer_counts() -> None:
    opinion = read_opinion(f"First I thought {FEEDBACK}, but now: {APPROVE}")
    assert opinion == Opinion(Outcome.APPROVED, "Add double", "It doubles.")


@pytest.mark.parametrize("words", [{}, {"title": None}, {"title": "  "}])
def test_an_approval_without_a_title_takes_that_of_what_was_asked_for(words: dict[str, str | None]) -> None:
    opinion = read_opinion(json.dumps({"verdict": "approve", **words}), "Double it")
    assert opinion == Opinion(Outcome.APPROVED, "Double it", "")


def test_words_may_go_over_several_lines_as_they_stand() -> None:
    opinion = read_opinion('{"verdict": "feedback",\n "feedback": "calc.py:3\n\tadd zero"}')
    assert isinstance(opinion, Opinion)
    assert opinion.feedback == "calc.py:3\n\tadd zero"


def test_a_title_is_one_line() -> None:
    opinion = read_opinion(json.dumps({"verdict": "approve", "title": "Add\n double", "body": None}))
    assert opinion == Opinion(Outcome.APPROVED, "Add double", "")
