"""Parameter sets that a runner numbers keep what they are when a row among them is added."""

from gates_support import drive, evidence, failing, measured, nothing_is_run, result, suite
from redgreenrefactor.gates.rules.legacy import regressions
from redgreenrefactor.gates.rules.rewrites import ALL_KEPT
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName

BEFORE = suite(
    result("t.py::test[x0]", given="a"), result("t.py::test[x1]", given="b"), result("t.py::test_other")
)


def test_a_row_in_the_middle_is_the_new_one_and_no_other_is_gone() -> None:
    after = suite(
        result("t.py::test[x0]", given="a"),
        failing("t.py::test[x1]", given="new"),
        result("t.py::test[x2]", given="b"),
        result("t.py::test_other"),
    )
    both = measured(BEFORE, after)
    assert both.lost == []
    assert both.broken == []
    assert [test.id for test in both.fresh] == ["t.py::test[x1]"]
    assert ALL_KEPT.kept(both) == {
        "t.py::test[x0]": "t.py::test[x0]",
        "t.py::test[x1]": "t.py::test[x2]",
        "t.py::test_other": "t.py::test_other",
    }


def test_a_row_that_is_there_no_more_is_gone_or_fails_under_its_name() -> None:
    fewer = suite(result("t.py::test[x0]", given="b"), result("t.py::test_other"))
    assert measured(BEFORE, fewer).lost == ["t.py::test[x0]"]
    other = suite(
        result("t.py::test[x0]", given="a"),
        failing("t.py::test[x1]", given="new"),
        result("t.py::test_other"),
    )
    assert [test.id for test in measured(BEFORE, other).broken] == ["t.py::test[x1]"]
    assert measured(BEFORE, other).fresh == []


def test_rows_that_hold_the_same_are_told_apart_by_their_names_then_by_their_number() -> None:
    before = suite(result("t.py::test[x0]", given="a"), result("t.py::test[x1]", given="a"))
    after = suite(result("t.py::test[x1]", given="a"), result("t.py::test[x2]", given="a"))
    assert sorted(measured(before, after).twins.values()) == ["t.py::test[x1]", "t.py::test[x2]"]
    assert measured(before, before).twins == {name: name for name in before.ids}


def test_a_row_that_breaks_under_another_number_is_not_looked_for_among_the_old_ones() -> None:
    after = suite(
        result("t.py::test[x0]", given="a"),
        result("t.py::test[x1]", given="new"),
        failing("t.py::test[x2]", given="b"),
        result("t.py::test_other"),
    )
    both = measured(BEFORE, after, BEFORE)
    found, asked = drive(regressions(evidence(PhaseName.RED), both), nothing_is_run)
    assert [item.type for item in found] == [FindingType.TEST_FAILURE]
    assert asked == []
