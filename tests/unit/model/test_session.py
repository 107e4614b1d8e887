"""What a session is told, says and uses."""

import pytest

from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.session import Brief, Report, Role, Usage, answered, dollars
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName, RoleName


def brief(phase: PhaseName = PhaseName.PLAN) -> Brief:
    return Brief(Role(RoleName.TEST, "", "Who you are.\n\n"), phase, 1, 1, "r", "What to do.\n\n", "{}")


def test_the_whole_brief_is_the_role_and_then_the_task() -> None:
    assert brief().text == "Who you are.\n\nWhat to do.\n"


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4, 0.5) + Usage(10, 20, 30, 40, 0.25) == Usage(11, 22, 33, 44, 0.75)


@pytest.mark.parametrize(
    ("one", "two", "cost"), [(None, None, None), (None, 0.5, 0.5), (0.5, None, 0.5), (0.0, None, 0.0)]
)
def test_a_cost_is_known_as_soon_as_one_is(one: float | None, two: float | None, cost: float | None) -> None:
    assert (Usage(cost_usd=one) + Usage(cost_usd=two)).cost_usd == cost


def test_an_answer_is_what_was_said_without_space_around_it() -> None:
    assert answered(brief(), " yes \n", Usage(1)) == Report("yes", Usage(1))


@pytest.mark.parametrize("phase", [PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR])
def test_where_nothing_is_asked_silence_is_fine(phase: PhaseName) -> None:
    assert answered(brief(phase), " \n") == Report("")


def test_where_an_answer_is_asked_silence_is_a_failure() -> None:
    report = answered(brief(), " \n", Usage(1))
    assert report.failure is not None
    assert (report.failure.type, report.usage) == (FindingType.AGENT_FAILURE, Usage(1))


def test_phases_are_found_by_name_and_the_first_opens_a_cycle() -> None:
    assert TDD.first is TDD.phase(PhaseName.PLAN)
    assert [phase.key for phase in TDD.phases] == ["plan", "red", "green", "refactor"]
    assert [phase.then for phase in TDD.phases] == ["RED", "GREEN", "REFACTOR", "PLAN"]


@pytest.mark.parametrize(
    ("usd", "told"),
    [
        (0, "0.00 USD"),
        (0.00105875, "0.00106 USD"),
        (0.006, "0.006 USD"),
        (0.01, "0.01 USD"),
        (0.25, "0.25 USD"),
        (0.9999, "1.00 USD"),
        (1.5, "1.50 USD"),
        (1234.567, "1234.57 USD"),
    ],
)
def test_amounts_are_told_as_finely_as_it_takes_to_tell_them_apart(usd: float, told: str) -> None:
    assert dollars(usd) == told
