"""Whether code does the same where nothing tells it that it is tested."""

from collections.abc import Iterator, Sequence

from redgreenrefactor.gates.rules.findings import brief, tampering, worth_a_look
from redgreenrefactor.languages.diff import added_lines
from redgreenrefactor.languages.paths import is_test, is_tests_own
from redgreenrefactor.model.evidence import (
    Evidence,
    Guise,
    Inquiry,
    Reach,
    SuiteRun,
    TestId,
    TestResult,
    Trial,
)
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.mutation.detection import holds

LOOKUPS = {
    "modules": "the code looks for the test runner among the modules",
    "environment": "the code asks for a variable of the test runner",
    "arguments": "the code looks at the name of the program",
    "frames": "the code looks at its callers",
}


def in_disguise(evidence: Evidence, ids: Sequence[TestId]) -> Inquiry[list[Finding]]:
    """Return why tests pass only among others, or only when the code can see the runner; what it asks is worth a look."""
    unseen = yield hidden(evidence, ids)
    found = [*_asked(evidence, unseen.reach), *_read(evidence, unseen.reach)]
    if holds(unseen, ids):
        return found
    alone = yield Trial(evidence.head, tests=tuple(ids), seed=1, probe=True)
    if not holds(alone, ids):
        return [*found, _leaning(ids[0], _failed(alone))]
    apart = yield Trial(evidence.head, tests=tuple(ids), disguise=Guise.APART, seed=1, probe=True)
    if not holds(apart, ids):  # whoever cannot do without the runner's own thread is looked at there
        unseen = yield Trial(evidence.head, tests=tuple(ids), disguise=Guise.IN_PLACE, seed=1, probe=True)
    if holds(unseen, ids) or _is_no_proof(_failed(unseen)):
        return found
    return [*found, _knowing(evidence, ids[0], _failed(unseen))]


def hidden(evidence: Evidence, ids: Sequence[TestId]) -> Trial:
    """Return the question what tests do alone, where the code sees nothing of the runner."""
    return Trial(evidence.head, tests=tuple(ids), disguise=Guise.HIDDEN, seed=1, probe=True)


def _failed(run: SuiteRun) -> TestResult | None:
    return next((result for result in run.results.values() if result.failed), None)


def _is_no_proof(result: TestResult | None) -> bool:
    """Tell whether a test fails for want of what the disguise takes away: its source, or something a plugin looks for.

    A plugin fails before or after the test; where code does, the test that called it is on the way.
    """
    if result is None:
        return False
    if result.frames and all(place.file.startswith("/") for place in result.frames):
        return True
    if result.exception != "OSError" or "source" not in result.message:
        return False
    return all(place.file.startswith("/") or place.file == result.file for place in result.frames)


def _knowing(evidence: Evidence, name: TestId, failed: TestResult | None) -> Finding:
    places = [place for place in failed.frames if not place.file.startswith("/")] if failed else []
    return Finding(
        FindingType.TEST_TAMPERING,
        f"{name} passes only as long as the code can tell that it is being tested"
        + (f": {brief(failed)}" if failed else ""),
        places[-1].file if places else evidence.impl_file or None,
        places[-1].line if places else None,
        hint="Behave the same, tested or not: no looking at the call stack, test names or the runner.",
    )


def _leaning(name: TestId, failed: TestResult | None) -> Finding:
    return Finding(
        FindingType.FLAKY_TEST,
        f"{name} passes with the whole suite and fails alone" + (f": {brief(failed)}" if failed else ""),
        failed.file if failed else None,
        hint="The new test must pass by itself: no state left over from other tests or from an earlier run.",
    )


def _asked(evidence: Evidence, reach: Reach) -> Iterator[Finding]:
    """Yield what lines of this turn have asked about their surroundings; what cannot be hidden is not asked for."""
    changes = {change.path: change for change in evidence.changes if not is_test(evidence, change.path)}
    for lookup in sorted(reach.lookups, key=lambda lookup: (lookup.file, lookup.line, lookup.what)):
        change = changes.get(f"{evidence.prefix}{lookup.file}")
        if change is None or lookup.line not in added_lines(change):
            continue
        if lookup.what in LOOKUPS:
            yield worth_a_look(change, lookup.line, LOOKUPS[lookup.what])
        else:
            what = "the code reads how its own process was started, and so that it is being tested"
            yield tampering(change.path, lookup.line, what, "Behave the same, tested or not.")


def _read(evidence: Evidence, reach: Reach) -> Iterator[Finding]:
    """Yield that code opens its test; what reads all sources alike is a tool."""
    test = evidence.test_file
    for user in sorted(reach.opened.get(test, ())):
        others = [file for file, users in reach.opened.items() if user in users and file.endswith(".py")]
        if not is_tests_own(evidence, user) and others == [test]:
            yield Finding(
                FindingType.TEST_TAMPERING,
                f"{user} opens its own test file {test} while it is tested",
                user,
                hint="Compute the result; do not read it off the test.",
            )
