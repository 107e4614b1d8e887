"""When a turn ends its case."""

import pytest

from redgreenrefactor.model.events import Judged
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Verdict, rule
from redgreenrefactor.model.workflow import PhaseName

BAD = rule(Finding(FindingType.TEST_FAILURE, "fails"))


@pytest.mark.parametrize(
    ("phase", "verdict", "ends"),
    [
        (PhaseName.REFACTOR, rule(), True),
        (PhaseName.REFACTOR, BAD, False),
        (PhaseName.GREEN, rule(), False),
        (PhaseName.RED, rule(outcome=Outcome.COVERED), True),
    ],
)
def test_a_case_is_done_with_refactor_or_where_it_was_covered(
    phase: PhaseName, verdict: Verdict, ends: bool
) -> None:
    assert Judged(phase, 1, 1, verdict, "abc", "x", 1.0).ends_case is ends
