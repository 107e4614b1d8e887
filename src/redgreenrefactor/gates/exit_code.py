"""Judging by exit code, where a runner gives nothing better: fewer rules, and the note says which."""

from redgreenrefactor.gates.common import Measured, tail, timed_out
from redgreenrefactor.gates.paths import is_test
from redgreenrefactor.model.evidence import Evidence, Judgement, Measure, Trial
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Severity, TestOutcome, rule
from redgreenrefactor.model.workflow import PhaseName

UNMEASURED = [
    "exactly one test added",
    "the reason it fails",
    "tests gone or skipped",
    "which test broke",
    "order and repeatability",
]
FACTS = {"evidence": str(Measure.EXIT_CODE), "unmeasured": UNMEASURED}


def by_exit_code(evidence: Evidence, measured: Measured) -> Judgement:
    """RED: the suite passed before, fails now, and passes again without the new test. Later: it passes."""
    if evidence.phase is PhaseName.RED:
        return (yield from _red(evidence, measured))
    if measured.after.green:
        return rule(test_result=TestOutcome.PASS, facts=FACTS)
    return rule(_failing(measured), test_result=TestOutcome.FAIL, facts=FACTS)


def _red(evidence: Evidence, measured: Measured) -> Judgement:
    if measured.after.green:
        warns = evidence.rules.red_on_pass == "warn"  # noqa: S105
        passes = Finding(
            FindingType.UNEXPECTED_PASS,
            "the suite passes with the new test in it",
            hint="Check the assertion, and that the test command runs the new test.",
            severity=Severity.WARNING if warns else Severity.ERROR,
        )
        outcome = Outcome.WARNED if warns else None
        return rule(passes, test_result=TestOutcome.PASS, outcome=outcome, facts=FACTS)
    taken_back = tuple(
        (change.path, change.before.text if change.before else None)
        for change in evidence.changes
        if is_test(evidence, change.path) and (change.before is None or change.before.text is not None)
    )
    without = yield Trial(evidence.head, overlay=taken_back)
    if without.timed_out:
        return rule(timed_out(without), facts=FACTS)
    if not without.green:
        broken = Finding(
            FindingType.TEST_FAILURE,
            f"the suite fails even without the new test: {tail(without)}",
            hint="Leave everything but the new test as it was.",
        )
        return rule(broken, test_result=TestOutcome.FAIL, facts=FACTS)
    return rule(test_result=TestOutcome.FAIL, facts=FACTS)


def _failing(measured: Measured) -> Finding:
    return Finding(
        FindingType.TEST_FAILURE,
        f"the suite fails (exit code {measured.after.exit_code}): {tail(measured.after)}",
        hint="Make every test pass.",
    )
