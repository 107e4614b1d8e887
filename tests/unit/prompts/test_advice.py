import pytest

from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.prompts.advice import MOST, advice

NO_FAULT_OF_THE_WORK = {
    FindingType.RATE_LIMITED,
    FindingType.NETWORK_ERROR,
    FindingType.MODEL_UNAVAILABLE,
    FindingType.BUDGET_EXCEEDED,
    FindingType.UNDECIDED,
}


@pytest.mark.parametrize("kind", [kind for kind in FindingType if kind not in NO_FAULT_OF_THE_WORK])
def test_there_is_advice_for_everything_a_session_can_do_wrong(kind: FindingType) -> None:
    assert len(advice(PhaseName.RED, [kind])) == 1


@pytest.mark.parametrize("kind", sorted(NO_FAULT_OF_THE_WORK))
def test_there_is_none_for_what_it_cannot_help(kind: FindingType) -> None:
    assert advice(PhaseName.GREEN, [kind]) == ()


def test_the_gravest_comes_first_and_each_once() -> None:
    kinds = [FindingType.NOT_MINIMAL, FindingType.TEST_TAMPERING, FindingType.NOT_MINIMAL]

    lines = advice(PhaseName.RED, kinds)

    assert len(lines) == 2
    assert "Leave existing tests" in lines[0]


def test_a_reviewer_is_not_told_about_lists_of_cases() -> None:
    kinds = [FindingType.MALFORMED_HANDOFF, FindingType.SCOPE_VIOLATION]
    told = " ".join(advice(PhaseName.REVIEW, kinds))
    assert "verdict" in told
    assert "temporary folder" in told
    assert "test-list.md" not in told
    assert "test-list.md" in " ".join(advice(PhaseName.PLAN, kinds))


def test_too_much_advice_is_none() -> None:
    assert len(advice(PhaseName.RED, FindingType)) == MOST


def test_an_unexpected_pass_asks_for_a_look_at_the_assertion() -> None:
    assert "Check the assertion" in advice(PhaseName.RED, [FindingType.UNEXPECTED_PASS])[0]


def test_after_a_failed_green_another_approach_is_asked_for() -> None:
    assert "another approach" in advice(PhaseName.GREEN, [FindingType.TEST_FAILURE])[-1]


def test_other_phases_and_other_failures_ask_for_no_other_approach() -> None:
    for phase, kind in (
        (PhaseName.RED, FindingType.TEST_FAILURE),
        (PhaseName.REFACTOR, FindingType.TEST_FAILURE),
        (PhaseName.GREEN, FindingType.AGENT_FAILURE),
    ):
        assert "another approach" not in " ".join(advice(phase, [kind]))
