import pytest

from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.prompts.rejection import MOST, advice

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
    said = " ".join(advice(PhaseName.REVIEW, kinds))
    assert "verdict" in said
    assert "temporary folder" in said
    assert "test-list.md" not in said
    assert "test-list.md" in " ".join(advice(PhaseName.PLAN, kinds))


def test_too_much_advice_is_none() -> None:
    assert len(advice(PhaseName.RED, FindingType)) == MOST


def test_an_unexpected_pass_asks_for_a_look_at_the_assertion() -> None:
    assert "Check the assertion" in advice(PhaseName.RED, [FindingType.UNEXPECTED_PASS])[0]


def test_after_a_failed_green_another_approach_is_asked_for_unless_it_was_a_near_miss() -> None:
    (*_, first) = advice(PhaseName.GREEN, [FindingType.TEST_FAILURE], "refs/x")
    assert first == (
        "If the rejected code is nearly right, use it again: `git checkout refs/x -- FILES` and mend it;"
        " otherwise take another approach."
    )
    firm = "Take another approach than the rejected one, rather than mending it."
    assert advice(PhaseName.GREEN, [FindingType.TEST_FAILURE], "refs/x", again=True)[-1] == firm
    for kind in (FindingType.LEGACY_BROKEN, FindingType.TEST_TAMPERING):
        assert advice(PhaseName.GREEN, [FindingType.TEST_FAILURE, kind], "refs/x")[-1] == firm


@pytest.mark.parametrize(
    "kind", [FindingType.COMPILATION_ERROR, FindingType.NOT_MINIMAL, FindingType.COVERAGE_TOO_LOW]
)
def test_a_near_miss_may_be_used_again(kind: FindingType) -> None:
    lines = advice(PhaseName.GREEN, [kind], "refs/x")
    assert lines[-1] == "What was right may be used again: `git checkout refs/x -- FILES`."
    assert "another approach" not in " ".join(lines)
    assert len(advice(PhaseName.GREEN, [kind])) == 1


def test_only_red_hears_of_stubs() -> None:
    assert "stub" in advice(PhaseName.RED, [FindingType.COMPILATION_ERROR])[0]
    assert "stub" not in " ".join(advice(PhaseName.GREEN, [FindingType.COMPILATION_ERROR]))


def test_only_a_refactoring_hears_that_tests_are_run_as_they_were() -> None:
    assert "the old ones have to pass" in advice(PhaseName.REFACTOR, [FindingType.TEST_FAILURE])[0]
    assert "the old ones have to pass" not in advice(PhaseName.GREEN, [FindingType.TEST_FAILURE])[0]


def test_other_phases_and_other_failures_ask_for_no_other_approach() -> None:
    for phase, kind in (
        (PhaseName.RED, FindingType.TEST_FAILURE),
        (PhaseName.REFACTOR, FindingType.TEST_FAILURE),
        (PhaseName.GREEN, FindingType.AGENT_FAILURE),
    ):
        assert "another approach" not in " ".join(advice(phase, [kind]))
