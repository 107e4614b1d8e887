"""Whether what a run has proved still holds after commits that no gate has judged."""

from collections.abc import Iterator
from dataclasses import replace

from redgreenrefactor.gates.rules.findings import errors, named, printed_error
from redgreenrefactor.gates.rules.rewrites import rewritten
from redgreenrefactor.gates.rules.test_text import text_rules
from redgreenrefactor.languages.paths import is_test_file
from redgreenrefactor.model.evidence import Change, Evidence, Inquiry, Kind, Measure, SuiteRun, TestId, Trial
from redgreenrefactor.model.verdict import Finding, FindingType, Severity


def still_holds(evidence: Evidence, left: SuiteRun, own: frozenset[TestId] | None) -> Inquiry[list[Finding]]:
    """Return which of a run's tests that passed when it left them are gone or fail now; None: of all tests.

    Tests that were changed together with the code fail as the run had left them, which is told; a name that was
    changed by hand does not make them fail.
    """
    now = yield Trial(evidence.head)
    if now.measure is Measure.EXIT_CODE:
        return list(_by_exit_code(evidence, left, now))
    wanted = sorted(left.passed if own is None else left.passed & own)
    if gone := _gone(evidence, left, now, wanted):
        return [
            _broken(evidence, f"tests of the run are gone or fail: {named(gone)}", left.results[gone[0]].file)
        ]
    overlay = tuple(
        (change.path, change.before.text) for change in evidence.changes if change.before and _is_own(change)
    )
    again = (yield Trial(evidence.head, overlay=overlay)) if overlay else now
    if fails := [name for name in wanted if not _passes(again, left, name)]:
        # Only by hand can behaviour be changed that a test of the run has settled.
        what = (
            f"tests of the run were changed together with the code; as it left them they fail: {named(fails)}"
        )
        found = _broken(evidence, what, left.results[fails[0]].file)
        return [replace(found, severity=Severity.WARNING)]
    return []


def _is_own(change: Change) -> bool:
    return is_test_file(change.path) and change.before is not None and change.before.text is not None


def _gone(evidence: Evidence, left: SuiteRun, now: SuiteRun, wanted: list[TestId]) -> list[TestId]:
    """Return the tests that neither pass under their name nor under another one they were given."""
    missing = [name for name in wanted if name not in now.passed]
    if not missing:
        return []
    moves = rewritten(evidence)
    passing = {now.results[name].key for name in now.passed}
    return [name for name in missing if name in now.ids or moves.twin(left.results[name].key) not in passing]


def _passes(again: SuiteRun, left: SuiteRun, name: TestId) -> bool:
    """Tell whether a test passes as it was, or fails for want of a name alone."""
    if name in again.passed:
        return True
    uncollected = any(error.missing and error.file == left.results[name].file for error in again.errors)
    result = again.results.get(name)
    return uncollected or (result is not None and result.kind is Kind.MISSING)


def _by_exit_code(evidence: Evidence, left: SuiteRun, now: SuiteRun) -> Iterator[Finding]:
    if left.green and not now.green:
        yield _broken(evidence, f"the suite fails (exit code {now.exit_code}): {printed_error(now)}", None)
    for finding in errors(text_rules(evidence)):
        yield _broken(evidence, finding.message, finding.file)


def _broken(evidence: Evidence, what: str, file: str | None) -> Finding:
    return Finding(
        FindingType.TEST_TAMPERING,
        f"{evidence.head[:10]}: {what}",
        file,
        hint=f"See 'git diff {evidence.base[:10]} {evidence.head[:10]}'.",
    )
