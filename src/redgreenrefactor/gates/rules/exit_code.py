"""Judging by exit code, where a runner gives nothing better: fewer rules, and the note says which."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import islice

from redgreenrefactor.gates.rules.findings import errors, printed_error, tampering
from redgreenrefactor.gates.rules.measurement import Measured, old_tests, timed_out
from redgreenrefactor.gates.rules.new_test import asks_again
from redgreenrefactor.gates.rules.test_text import is_script, new_tests, text_rules
from redgreenrefactor.languages.dialects import dialect_of
from redgreenrefactor.languages.diff import added_lines
from redgreenrefactor.languages.paths import is_test, reconfigures
from redgreenrefactor.languages.sources import NEAR, Block, tally
from redgreenrefactor.model.evidence import Change, Evidence, Inquiry, Judgement, Measure, Trial
from redgreenrefactor.model.facts import NOTICED, TOUCHED, Facts, MutantCounts
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Severity, TestOutcome, rule
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.mutation.text_mutants import (
    code_mutants,
    failing_at_once,
    sharp_expectations,
    silenced,
    wrong_expectations,
)

UNMEASURED = (
    "exactly one test added",
    "the reason it fails",
    "tests gone or skipped, but for what the text shows",
    "which test broke",
    "order and repeatability",
)
FACTS = Facts(evidence=Measure.EXIT_CODE, unmeasured=UNMEASURED)


RUBBISH = "exit 1 )]}(("  # ends a shell script, and is read by no other language
MOST = 6  # tests that are looked at after a turn
ALWAYS = 2  # of them whatever time it takes
ALIKE = 0.6  # of a test's text that one under another name shares with it
SHARP = 3  # values of a new test that are made wrong, one by one
TRIED = 20  # mutants before a test that passes at once counts as blind
WRONG = 4  # expectations that are made wrong before a test counts as blind
MEANT_TO_FAIL = re.compile(r"should_panic|\bexpected\s*=|\.failing\b|\bfails\b")

Noticing = Inquiry[bool | None]  # None: there was no time to find out


@frozen
class CommittedTest:
    """One test at one commit, or a whole file of tests in a language that is not known."""

    commit: str
    path: str
    text: str
    block: Block | None = None
    spare: str = ""  # what is left out where there is no time for it

    @property
    def name(self) -> str:
        """What it is called: a script by its path."""
        return self.block.name if self.block else self.path

    @property
    def code(self) -> str:
        """What it consists of."""
        return self.block.code if self.block else self.text

    def notices_failure(self) -> Noticing:
        """Return whether the suite fails with a failure in the test."""
        return (yield from self._noticed(self._spoiled()))

    def notices_wrong_expectation(self) -> Noticing:
        """Return whether the suite notices one of the test's expectations being wrong; None if none can be."""
        others = wrong_expectations(self.path, self.text, self.block) if self.block else iter(())
        seen: bool | None = None
        for other in islice(others, WRONG):
            seen = yield from self._noticed(other)
            if seen is not False:
                break
        return seen

    def ignores_an_expectation(self) -> Inquiry[bool]:
        """Return whether the suite passes with a wrong value where it would notice a failure."""
        others = sharp_expectations(self.path, self.text, self.block) if self.block else iter(())
        for wrong, stopped in islice(others, SHARP):
            if (yield from self._noticed(wrong)) is False and (yield from self._noticed(stopped)):
                return True
        return False

    def _spoiled(self) -> str:
        start = max(self.block.start - NEAR, 0) if self.block else 0
        meant = self.block and MEANT_TO_FAIL.search(self.text[start : self.block.body])
        failing = failing_at_once(self.text, self.block) if self.block and not meant else None
        return failing or f"{RUBBISH}\n{self.text}"

    def _noticed(self, text: str) -> Noticing:
        return (yield from _fails(self.commit, (self.path, text), spare=self.spare))


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
            f"the suite fails even without the new test: {printed_error(without)}",
            hint="Leave everything but the new test as it was.",
        )
        return rule(*found, broken, test_result=TestOutcome.FAIL, facts=FACTS)
    new = tuple(f"{change.path}::{block.name}" for change, block in new_tests(evidence))
    facts = replace(FACTS, failure=printed_error(measured.after), tests=new or None)
    return rule(*found, test_result=TestOutcome.FAIL, facts=facts)


def _failing(measured: Measured) -> Finding:
    return Finding(
        FindingType.TEST_FAILURE,
        f"the suite fails (exit code {measured.after.exit_code}): {printed_error(measured.after)}",
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
    shown, facts = yield from _shown(evidence)
    found += shown
    outcome = None if errors(found) else Outcome.COVERED
    return rule(*found, test_result=TestOutcome.PASS, outcome=outcome, facts=facts)


def _unexpected(more: str, severity: Severity = Severity.ERROR, file: str | None = None) -> Finding:
    return Finding(
        FindingType.UNEXPECTED_PASS,
        f"the suite passes with the new test in it{more}",
        file,
        hint="Check the assertion, and that the test command runs the new test. If the behaviour is already there, "
        "write the honest test again; it is kept as covered.",
        severity=severity,
    )


Shown = tuple[list[Finding], Facts]  # what a new test that passes has shown of itself


def _shown(evidence: Evidence) -> Inquiry[Shown]:
    """Return whether a new test is there, is run, and would notice another result."""
    tests = new_tests(evidence)
    if tests:
        return (yield from _test_shown(evidence, *tests[0]))
    scripts = [c for c in evidence.changes if is_test(evidence, c.path) and dialect_of(c.path) is None]
    grown = [c for c in scripts if c.new_text and (not c.before or added_lines(c))]
    if not grown:
        none = Finding(FindingType.NO_TEST_ADDED, "RED added no test", hint="Add one test and commit it.")
        return [none], FACTS
    script = CommittedTest(evidence.head, grown[0].path, grown[0].new_text or "")
    unheard = (yield from script.notices_failure()) is False
    return [_unnoticed(script) if unheard else _doubted(script)], FACTS


def _test_shown(evidence: Evidence, change: Change, block: Block) -> Inquiry[Shown]:
    if block.says_nothing:
        what = f"{change.path}:{block.line}: {block.name!r} asserts nothing that the code does"
        hint = "Assert on what the code under test returns or does."
        return [Finding(FindingType.MEANINGLESS_TEST, what, change.path, block.line, hint)], FACTS
    test = CommittedTest(evidence.head, change.path, change.new_text or "", block)
    noticed = yield from test.notices_failure()
    if noticed is False:
        return [_unnoticed(test)], FACTS
    sharp = NOTICED if noticed and (yield from test.notices_wrong_expectation()) else ""
    mutants = (yield from _noticed_mutants(evidence, test, block)) if noticed else None
    facts = replace(FACTS, wrong_expectation=sharp, mutants=mutants)
    if mutants and not mutants.noticed:
        blind = f", which notices none of {mutants.tried} mutants of {evidence.impl_file}"
        return [_unexpected(blind, file=test.path)], facts
    return [] if sharp or mutants else [_doubted(test)], facts


def _noticed_mutants(evidence: Evidence, test: CommittedTest, block: Block) -> Inquiry[MutantCounts | None]:
    """Return how many mutants of the planned file a test notices, up to the first; None where that is not to be told.

    The other tests of its file are silenced; what is noticed with this one silenced, too, tests elsewhere notice.
    """
    path, code = f"{evidence.prefix}{evidence.impl_file}", evidence.text(evidence.impl_file) or ""
    blocks = tally(test.path, test.text).blocks
    alone = (test.path, silenced(test.text, [other for other in blocks if other != block]))
    without = (test.path, silenced(test.text, blocks))
    named = code_mutants(path, code, set(re.findall(r"\w+", block.code)))
    mutants = list(dict.fromkeys((*named, *code_mutants(path, code, ()))))
    if not mutants or (yield from _fails(test.commit, alone)) is not False:
        return None
    unclear = False
    for tried, wrong in enumerate(mutants[:TRIED], 1):
        seen = yield from _fails(test.commit, alone, (path, wrong))
        if seen and (yield from _fails(test.commit, without, (path, wrong))) is False:
            return MutantCounts(tried, 1)
        unclear |= seen is not False
    if len(mutants) > TRIED:  # of so many the right one may not have been among those that were tried
        unclear |= (yield from _fails(test.commit, alone, (path, RUBBISH))) is not False
    return None if unclear else MutantCounts(min(len(mutants), TRIED), 0)


def _unnoticed(test: CommittedTest) -> Finding:
    more = ", and it does so with a failure put into that test: the test command does not run it"
    return _unexpected(more, file=test.path)


def _doubted(test: CommittedTest) -> Finding:
    more = "; whether it would notice broken code could not be shown"
    return _unexpected(more, Severity.WARNING, test.path)


# --- failures put into tests: a suite that does not notice one does not run that test


def believed(evidence: Evidence) -> Inquiry[list[Finding]]:
    """Return why a suite that passes after GREEN proves nothing: what goes wrong in RED's test, it does not notice."""
    hint = "Return what is asked for, and let the runner finish; where the test itself is at fault, answer with `replan`."
    for test in _written(evidence):
        if (yield from test.notices_failure()) is False:
            return [_unheard(test, "the suite passes with a failure put into this test", hint)]
        if (yield from test.ignores_an_expectation()):
            return [_unheard(test, "the suite passes although another value is expected there", hint)]
    return []


def _written(evidence: Evidence) -> Sequence[CommittedTest]:
    """Return the tests that RED's note names; where it names none, the last of the planned file."""
    if evidence.handoff.outcome is Outcome.WARNED:
        return []  # RED's test passed, and was let through
    names = evidence.handoff.facts.new_tests
    own = [f"{evidence.prefix}{evidence.case.test_file}"] if evidence.case else []
    paths = dict.fromkeys([name.partition("::")[0] for name in names] or own)
    tests = list(_tests(evidence, evidence.head, paths))
    return [test for test in tests if f"{test.path}::{test.name}" in names] or tests[:1]


def still_run(evidence: Evidence) -> Inquiry[list[Finding]]:
    """Return the tests whose failures the suite noticed before this turn and does not notice any more."""
    for place, (test, before) in enumerate(islice(_touched(evidence), MOST)):
        now = replace(test, spare=TOUCHED if place >= ALWAYS else "")
        noticed = yield from now.notices_failure()
        if noticed is False and (before is None or (yield from before.notices_failure())):
            return [_unheard(now, "the test command does not notice a failure in it any more")]
        if before is None or noticed is not True or now.code == before.code:
            continue
        blind = (yield from now.notices_wrong_expectation()) is False and (
            yield from before.notices_wrong_expectation()
        )
        if blind or (yield from _weaker(evidence, now, before)):
            return [_unheard(now, "other results are not noticed any more")]
    return []


def _weaker(evidence: Evidence, now: CommittedTest, before: CommittedTest) -> Noticing:
    """Return whether mutants of the code were noticed by a test as it was, and go unnoticed now.

    Only where values are gone that it compared with; for the test as it was, the code has to be right as it is.
    A script is tried on code that is broken altogether.
    """
    path, code = f"{evidence.prefix}{evidence.impl_file}", evidence.text(evidence.impl_file)
    if code and not before.block and (yield from _fails(evidence.head, (path, RUBBISH))) is False:
        return (yield from _fails(evidence.base, (path, RUBBISH)))
    lost = tally(before.path, before.text).values - tally(now.path, now.text).words
    as_it_was = (before.path, before.text)
    if not code or not before.block or not lost or (yield from _fails(evidence.head, as_it_was)) is not False:
        return False
    for wrong in islice(code_mutants(path, code, set(re.findall(r"\w+", before.block.code))), WRONG):
        unnoticed = (yield from _fails(evidence.head, (path, wrong))) is False
        if unnoticed and (yield from _fails(evidence.head, as_it_was, (path, wrong))):
            return True
    return False


def _fails(commit: str, *overlay: tuple[str, str], spare: str = "") -> Noticing:
    """Return whether the suite fails with these files replaced."""
    run = yield Trial(commit, overlay=overlay, probe=True, spare=spare)
    return not run.green if run.answered else None


def _unheard(
    test: CommittedTest,
    what: str,
    hint: str = "Let every test run, and look at what the code does, as it did before.",
) -> Finding:
    if test.block is None:
        return tampering(test.path, None, what, hint)
    return tampering(test.path, test.block.line, f"{test.block.name!r}: {what}", hint)


def _touched(evidence: Evidence) -> Iterator[tuple[CommittedTest, CommittedTest | None]]:
    """Yield the tests that a turn may have silenced, the current case's first, each with what it was before."""
    concerned = [
        c for c in evidence.changes if is_test(evidence, c.path) or reconfigures(c, evidence.command)
    ]
    if not concerned:
        return
    own = [f"{evidence.prefix}{evidence.case.test_file}"] if evidence.case else []
    paths = dict.fromkeys([*own, *(change.path for change in concerned)])
    old, new = (list(_tests(evidence, commit, paths)) for commit in (evidence.base, evidence.head))
    kept = {test.name for test in new}
    for test in new:
        twins = [twin for twin in old if twin.name == test.name]
        before = min(twins, key=lambda twin: twin.path != test.path, default=None)
        before = before or _closest(test, [twin for twin in old if twin.name not in kept])
        if before or test.block:  # a new script may be anything
            yield test, before


def _closest(test: CommittedTest, gone: Sequence[CommittedTest]) -> CommittedTest | None:
    """Return which of the tests that are gone a new one may be, under another name."""
    ratios = {twin: SequenceMatcher(None, twin.code, test.code).ratio() for twin in gone if test.block}
    return max((twin for twin in gone if ratios.get(twin, 0) >= ALIKE), key=ratios.__getitem__, default=None)


def _tests(evidence: Evidence, commit: str, paths: Iterable[str]) -> Iterator[CommittedTest]:
    """Yield the tests of these files, the last of each first: new ones stand at the end."""
    for path in paths:
        text = evidence.read(commit, path) or ""
        yield from (CommittedTest(commit, path, text, block) for block in reversed(tally(path, text).blocks))
        if text and is_script(evidence, path):
            yield CommittedTest(commit, path, text)
