"""Failures put into tests, where only an exit code tells: a suite that does not notice one does not run that test."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import islice

from redgreenrefactor.gates.rules.test_text import is_script
from redgreenrefactor.languages.paths import is_test, reconfigures
from redgreenrefactor.languages.sources import NEAR, Block, tally
from redgreenrefactor.model.evidence import Evidence, Inquiry, Trial
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome
from redgreenrefactor.mutation.text_mutants import (
    code_mutants,
    failing_at_once,
    sharp_expectations,
    wrong_expectations,
)

RUBBISH = "exit 1 )]}(("  # ends a shell script, and is read by no other language
MOST = 6  # tests that are looked at after a turn
ALWAYS = 2  # of them whatever time it takes
LATER = "whether further tests that were touched are still run"
ALIKE = 0.6  # of a test's text that one under another name shares with it
SHARP = 3  # values of a new test that are made wrong, one by one
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
        return (yield from _red(self.commit, (self.path, text), spare=self.spare))


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
        now = replace(test, spare=LATER if place >= ALWAYS else "")
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
    if code and not before.block and (yield from _red(evidence.head, (path, RUBBISH))) is False:
        return (yield from _red(evidence.base, (path, RUBBISH)))
    lost = tally(before.path, before.text).values - tally(now.path, now.text).words
    as_it_was = (before.path, before.text)
    if not code or not before.block or not lost or (yield from _red(evidence.head, as_it_was)) is not False:
        return False
    for wrong in islice(code_mutants(path, code, set(re.findall(r"\w+", before.block.code))), WRONG):
        unnoticed = (yield from _red(evidence.head, (path, wrong))) is False
        if unnoticed and (yield from _red(evidence.head, as_it_was, (path, wrong))):
            return True
    return False


def _red(commit: str, *overlay: tuple[str, str], spare: str = "") -> Noticing:
    """Return whether the suite fails with these files replaced."""
    run = yield Trial(commit, overlay=overlay, probe=True, spare=spare)
    return not run.green if run.answered else None


def _unheard(
    test: CommittedTest,
    what: str,
    hint: str = "Let every test run, and look at what the code does, as it did before.",
) -> Finding:
    name = f": {test.block.name!r}" if test.block else ""
    line = test.block.line if test.block else None
    return Finding(
        FindingType.TEST_TAMPERING,
        f"{test.path}{f':{line}' if line else ''}{name}: {what}",
        test.path,
        line,
        hint,
    )


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
