"""Judging by exit code, where a runner gives nothing better: fewer rules, and the note says which."""

from collections.abc import Sequence
from dataclasses import replace

from redgreenrefactor.gates.rules.findings import errors, tail
from redgreenrefactor.gates.rules.measurement import Measured, old_tests, timed_out
from redgreenrefactor.gates.rules.new_test import asks_again
from redgreenrefactor.gates.rules.silenced_tests import CommittedTest, believed, still_run
from redgreenrefactor.gates.rules.test_text import new_tests, text_rules
from redgreenrefactor.languages.dialects import dialect_of
from redgreenrefactor.languages.diff import added_lines
from redgreenrefactor.languages.paths import is_test
from redgreenrefactor.languages.sources import Block
from redgreenrefactor.model.evidence import Change, Evidence, Inquiry, Judgement, Measure, Trial
from redgreenrefactor.model.facts import NOTICED, Facts
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Severity, TestOutcome, rule
from redgreenrefactor.model.workflow import PhaseName

UNMEASURED = (
    "exactly one test added",
    "the reason it fails",
    "tests gone or skipped, but for what the text shows",
    "which test broke",
    "order and repeatability",
)
FACTS = Facts(evidence=Measure.EXIT_CODE, unmeasured=UNMEASURED)


def by_exit_code(evidence: Evidence, measured: Measured, known: Sequence[Finding] = ()) -> Judgement:
    """RED: the suite passed before, fails now, and passes again without the new test. Later: it passes, and not blindly.

    What is known already is told, too; what the text shows of tests that are gone or silenced rejects.
    """
    found = [*known, *text_rules(evidence)]
    if errors(found):
        return rule(*found, facts=FACTS)
    if evidence.phase is PhaseName.RED:
        return (yield from _red(evidence, measured, found))
    if not measured.after.green:
        return rule(*found, _failing(measured), test_result=TestOutcome.FAIL, facts=FACTS)
    more = {PhaseName.GREEN: believed, PhaseName.REFACTOR: still_run}.get(evidence.phase)
    found += (yield from more(evidence)) if more else []
    return rule(*found, test_result=TestOutcome.PASS, facts=FACTS)


def _red(evidence: Evidence, measured: Measured, found: list[Finding]) -> Judgement:
    if measured.after.green:
        return (yield from _passing(evidence, found))
    without = yield Trial(evidence.head, overlay=old_tests(evidence))
    if without.timed_out:
        return rule(*found, timed_out(without), facts=FACTS)
    if not without.green:
        broken = Finding(
            FindingType.TEST_FAILURE,
            f"the suite fails even without the new test: {tail(without)}",
            hint="Leave everything but the new test as it was.",
        )
        return rule(*found, broken, test_result=TestOutcome.FAIL, facts=FACTS)
    new = tuple(f"{change.path}::{block.name}" for change, block in new_tests(evidence))
    facts = replace(FACTS, failure=tail(measured.after), tests=new or None)
    return rule(*found, test_result=TestOutcome.FAIL, facts=facts)


def _failing(measured: Measured) -> Finding:
    return Finding(
        FindingType.TEST_FAILURE,
        f"the suite fails (exit code {measured.after.exit_code}): {tail(measured.after)}",
        hint="Make every test pass.",
    )


# --- a test that passes at once


def _passing(evidence: Evidence, found: list[Finding]) -> Judgement:
    """Judge a suite that passes with the new test in it: asked again once, then as red.on.pass says."""
    policy = evidence.rules.red_on_pass
    if policy == "warn":
        warning = _unexpected("", severity=Severity.WARNING)
        return rule(*found, warning, test_result=TestOutcome.PASS, outcome=Outcome.WARNED, facts=FACTS)
    if asks_again(evidence):
        return rule(*found, _unexpected(""), test_result=TestOutcome.PASS, facts=FACTS)
    shown = yield from _shown(evidence)
    found += shown.findings
    facts = replace(FACTS, wrong_expectation=shown.wrong_expectation)
    if errors(found):
        return rule(*found, test_result=TestOutcome.PASS, facts=facts)
    return rule(*found, test_result=TestOutcome.PASS, outcome=Outcome.COVERED, facts=facts)


def _unexpected(more: str, severity: Severity = Severity.ERROR, file: str | None = None) -> Finding:
    return Finding(
        FindingType.UNEXPECTED_PASS,
        f"the suite passes with the new test in it{more}",
        file,
        hint="Check the assertion, and that the test command runs the new test. If the behaviour is already there, "
        "write the honest test again; it is kept as covered.",
        severity=severity,
    )


@frozen
class _Shown:
    """What a new test that passes has shown of itself."""

    findings: tuple[Finding, ...] = ()
    wrong_expectation: str = ""


def _shown(evidence: Evidence) -> Inquiry[_Shown]:
    """Return whether a new test is there, is run, and would notice another result."""
    tests = new_tests(evidence)
    if tests:
        return (yield from _test_shown(evidence, *tests[0]))
    scripts = [c for c in evidence.changes if is_test(evidence, c.path) and dialect_of(c.path) is None]
    grown = [c for c in scripts if c.new_text and (not c.before or added_lines(c))]
    if not grown:
        none = "RED added no test"
        return _Shown((Finding(FindingType.NO_TEST_ADDED, none, hint="Add one test and commit it."),))
    script = CommittedTest(evidence.head, grown[0].path, grown[0].new_text or "")
    return _Shown(
        (_unnoticed(script) if (yield from script.notices_failure()) is False else _doubted(script),)
    )


def _test_shown(evidence: Evidence, change: Change, block: Block) -> Inquiry[_Shown]:
    if block.says_nothing:
        what = f"{change.path}:{block.line}: {block.name!r} asserts nothing that the code does"
        hint = "Assert on what the code under test returns or does."
        return _Shown((Finding(FindingType.MEANINGLESS_TEST, what, change.path, block.line, hint),))
    test = CommittedTest(evidence.head, change.path, change.new_text or "", block)
    noticed = yield from test.notices_failure()
    if noticed is False:
        return _Shown((_unnoticed(test),))
    if noticed and (yield from test.notices_wrong_expectation()):
        return _Shown(wrong_expectation=NOTICED)
    return _Shown((_doubted(test),))


def _unnoticed(test: CommittedTest) -> Finding:
    more = ", and it does so with a failure put into that test: the test command does not run it"
    return _unexpected(more, file=test.path)


def _doubted(test: CommittedTest) -> Finding:
    more = "; whether it would notice broken code could not be shown"
    return _unexpected(more, Severity.WARNING, test.path)
