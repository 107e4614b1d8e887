"""A verdict follows from its findings."""

import pytest

from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.verdict import (
    Finding,
    FindingType,
    Outcome,
    Ruling,
    Severity,
    TestOutcome,
    Verdict,
    rule,
)

GRAVE = Finding(FindingType.TEST_TAMPERING, "tampered")
ERROR = Finding(FindingType.TEST_FAILURE, "fails")
WARNING = Finding(FindingType.HISTORY_REWRITTEN, "remark", severity=Severity.WARNING)
UNSEEN = Finding(FindingType.UNDECIDED, "no report")


@pytest.mark.parametrize(
    ("findings", "ruling", "gravest"),
    [
        ((), Ruling.ACCEPTED, None),
        ((WARNING,), Ruling.ACCEPTED, None),
        ((UNSEEN,), Ruling.UNDECIDED, UNSEEN),
        ((UNSEEN, WARNING), Ruling.UNDECIDED, UNSEEN),
        ((UNSEEN, ERROR), Ruling.REJECTED, ERROR),
        ((ERROR, GRAVE, WARNING), Ruling.REJECTED, GRAVE),
    ],
)
def test_errors_reject_and_what_could_not_be_measured_is_undecided(
    findings: tuple[Finding, ...], ruling: Ruling, gravest: Finding | None
) -> None:
    verdict = rule(*findings)
    assert (verdict.ruling, verdict.findings, verdict.gravest) == (ruling, findings, gravest)


def test_the_first_of_the_gravest_decides() -> None:
    other = Finding(FindingType.TEST_FAILURE, "fails, too")
    assert rule(ERROR, other).gravest == ERROR


def test_what_was_learned_on_the_way_is_kept() -> None:
    case, facts = Case("one", "t.py", "i.py"), Facts(written=3)
    verdict = rule(test_result=TestOutcome.PASS, outcome=Outcome.COVERED, case=case, facts=facts)
    assert verdict == Verdict(Ruling.ACCEPTED, (), TestOutcome.PASS, Outcome.COVERED, case, facts)


def test_findings_are_ordered_by_their_gravity() -> None:
    assert list(FindingType)[:3] == [
        FindingType.HISTORY_REWRITTEN,
        FindingType.TEST_TAMPERING,
        FindingType.SCOPE_VIOLATION,
    ]
