"""Tests from before the run: which of them fail, which fail by chance, and which a turn has really broken."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from redgreenrefactor.gates.rules.findings import about, brief, failure, named, place_in
from redgreenrefactor.gates.rules.measurement import Measured
from redgreenrefactor.model.evidence import Evidence, Inquiry, SuiteRun, TestId, TestKey, TestResult, Trial
from redgreenrefactor.model.handoff import LegacyTests
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Severity

ROUNDS = 5  # times a test runs on the untouched tree before its failing counts as the turn's doing
TWICE = 2  # a test that fails so often by itself, where nothing was touched, leans on other tests
MANY = 20  # more tests than this do not all fail by chance: one round tells
AGAIN = 3  # times a test that failed may fail again after the turn before it is compared
APART = 10  # suite runs for comparison are measurements of their own
LISTED = 20  # tests a note names before it counts the rest


@frozen
class Baseline:
    """The tests as they were before the run."""

    run: SuiteRun
    failing: tuple[TestId, ...] = ()  # again and again, and files that cannot be collected
    flaky: tuple[TestId, ...] = ()  # failed, and passed when run again

    @property
    def noted(self) -> LegacyTests | None:
        """What the opening note says of them."""
        counts = [len(ids) if len(ids) > LISTED else None for ids in (self.failing, self.flaky)]
        listed = LegacyTests(self.failing[:LISTED], self.flaky[:LISTED], *counts)
        return listed if self.failing or self.flaky else None

    @property
    def told(self) -> tuple[str, ...]:
        """What a person is told of them."""
        said = {
            "before the run, and left alone": self.failing,
            "by chance (passed when run again), and left alone": self.flaky,
        }
        return tuple(f"failing {how}: {named(ids)}" for how, ids in said.items() if ids)


def baseline(opening: str) -> Inquiry[Baseline]:
    """Return what the tests do before anything is done; those that fail are run once more."""
    run = yield Trial(opening, keeps=True)
    failed = sorted(result.id for result in run.results.values() if result.failed)
    if not run.finished or not (failed or run.errors):
        return Baseline(run)
    again = (yield Trial(opening, tests=tuple(failed), repeat=1)) if failed else run
    flaky = tuple(name for name in failed if name in again.passed)
    return Baseline(run, (*(name for name in failed if name not in flaky), *sorted(run.uncollected)), flaky)


@frozen
class Rechecked:
    """Tests that failed after a turn: through it, or by chance."""

    broken: tuple[TestResult, ...]
    flaky: tuple[TestId, ...]


def rechecked(base: str, after: Trial, suspects: Sequence[TestResult]) -> Inquiry[Rechecked]:
    """Return which of these tests fail by chance: pass when run again, or fail where nothing was touched, too.

    A test that fails only among others is compared among others: code may break a test through what it leaves behind.
    """
    names = {result.id for result in suspects}
    if not names:
        return Rechecked((), ())
    alone = set(names)
    for number in range(1, (AGAIN if len(names) <= MANY else 1) + 1):
        alone -= (yield replace(after, tests=tuple(sorted(alone)), repeat=number)).passed if alone else set()
    chance, leaning = yield from _on_base(base, alone)
    crowd = (names - alone) | leaning
    flaky = chance | (yield from _among_others(base, after, crowd))
    return Rechecked(tuple(r for r in suspects if r.id not in flaky), tuple(sorted(flaky)))


def _on_base(base: str, names: set[TestId]) -> Inquiry[tuple[set[TestId], set[TestId]]]:
    """Return which of these tests fail now and then on the untouched tree, and which always do when run alone."""
    passed: set[TestId] = set()
    failures: dict[TestId, int] = dict.fromkeys(names, 0)
    open_: set[TestId] = set(names)
    for number in range(1, (ROUNDS if len(names) <= MANY else 1) + 1):
        if not open_:
            break
        run = yield Trial(base, tests=tuple(sorted(open_)), repeat=number)
        passed |= open_ & run.passed
        for name in open_ - run.passed:
            failures[name] += 1
        open_ = {name for name in open_ if failures[name] < TWICE and not (failures[name] and name in passed)}
    chance = {name for name in names if failures[name] and name in passed}
    return chance, {name for name in names if failures[name]} - chance


def _among_others(base: str, after: Trial, names: set[TestId]) -> Inquiry[set[TestId]]:
    """Return which of these tests do not fail every time the whole suite runs, or fail on the untouched tree, too."""
    still = names
    for number in range(AGAIN):
        still = still - (yield replace(after, repeat=APART + number)).passed if still else still
    untouched = (yield Trial(base, repeat=APART)).passed if still else set[TestId]()
    return names - (still & untouched)


def mended(measured: Measured, moved: Mapping[TestKey, TestKey] | None = None) -> list[TestId]:
    """Return the tests that failed since before the run, or could not be collected, and pass now."""
    twins = moved or {}
    failed = _failing(measured.legacy) & _failing(measured.before)
    passing = [
        result.id
        for result in measured.after.results.values()
        if result.passed
        and (twins.get(result.key) or result.key) in failed
        and (result.id not in measured.before.results or measured.before.results[result.id].failed)
    ]
    unread = measured.legacy.uncollected & measured.before.uncollected
    return sorted({*passing, *(unread & measured.after.files - measured.after.uncollected)})


def also_mended(evidence: Evidence, tests: Sequence[TestId]) -> list[Finding]:
    """Return a warning that names the mended tests which neither the case nor the feature speaks of."""
    case = evidence.case.description if evidence.case else ""
    asked = set(re.findall(r"\w+", f"{case} {evidence.handoff.feature}"))
    others = [name for name in tests if not _names_of(name) & asked]
    if not others:
        return []
    return [
        Finding(
            FindingType.SCOPE_VIOLATION,
            f"also mended: {named(others)} failed since before the run and passes now;"
            " right if that is asked for, otherwise more than was due",
            severity=Severity.WARNING,
        )
    ]


def _names_of(test: TestId) -> set[str]:
    """Return the words a feature may call a test by: its function, its class, its file."""
    file, *parts = test.partition("[")[0].split("::")
    dotted = [] if parts else re.findall(r"\w+", file)[-2:]  # unittest's ids, and files
    return {*parts, *dotted, PurePosixPath(file).stem} - {"", "py", "tests", "test"}


def _failing(run: SuiteRun) -> set[TestKey]:
    """Return the tests of a run that failed, all parameter sets of one together."""
    return {result.key for result in run.results.values() if result.failed}


def regressions(evidence: Evidence, measured: Measured) -> Inquiry[list[Finding]]:
    """Return a finding for every test that stopped passing; those from before the run may fail by chance."""
    known = measured.legacy.results
    reports = evidence.rules.legacy_on_break == "report"  # then what is broken stays so, and was told already
    broken = [r for r in measured.broken if not reports or r.id in measured.before.passed]
    twins = measured.twins
    old = [r for r in broken if r.id in known and twins.get(r.id) == r.id]  # else it was another one there
    recheck = yield from rechecked(evidence.base, Trial(evidence.head), old)
    found = list(_by_chance(recheck.flaky))
    for result in broken:
        if result in old and result not in recheck.broken:
            continue
        found.append(_stopped(evidence, measured, result))
    return found


def _stopped(evidence: Evidence, measured: Measured, result: TestResult) -> Finding:
    if result.silenced:
        hint = "A test that passed has to run and pass: take the skip or the expected failure away."
        what = f"{result.id} passed before and is now {result.status}"
        return about(result, FindingType.TEST_TAMPERING, what, hint)
    if result.id not in measured.legacy.ids:
        return failure(result, "It passed before this change: mend what broke it.")
    passed = result.id in measured.legacy.passed
    when = "before this run" if passed else "since it was mended in this run"
    return _broken_legacy(evidence, result, when)


def _by_chance(names: Sequence[TestId]) -> Iterable[Finding]:
    if names:
        yield Finding(
            FindingType.FLAKY_TEST,
            f"tests from before this run fail by chance, and are not counted: {named(names)}",
            severity=Severity.WARNING,
        )


def _broken_legacy(evidence: Evidence, result: TestResult, when: str) -> Finding:
    blocks = evidence.rules.legacy_on_break == "block"
    return Finding(
        FindingType.LEGACY_BROKEN,
        f"{result.id} passed {when} and fails now: {brief(result)}",
        result.file,
        place_in(result).line,
        hint="Keep the existing behaviour: the new feature must not break what worked.",
        severity=Severity.ERROR if blocks else Severity.WARNING,
    )
