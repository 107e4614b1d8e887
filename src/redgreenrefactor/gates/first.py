"""The new test runs first where the suite is slow: an attempt that cannot be accepted costs no run of the suite."""

from collections.abc import Generator, Iterator, Sequence

from redgreenrefactor.gates import python
from redgreenrefactor.gates.legacy import failure
from redgreenrefactor.gates.measuring import timed_out
from redgreenrefactor.gates.paths import inside, is_test
from redgreenrefactor.gates.proof import belongs
from redgreenrefactor.model.evidence import Evidence, Measure, Question, SuiteRun, TestId, Trial
from redgreenrefactor.model.verdict import Finding

SLOW = 3.0  # seconds a suite takes from which on it is worth a run of its own to spare it
NAMED = 3  # failures that are told

Run = Generator[Question, SuiteRun, SuiteRun | None]


def new_test_alone(evidence: Evidence, before: SuiteRun) -> Run:
    """Return what the one test that was written does by itself; None where it cannot be told, or the suite is fast."""
    found = list(written(evidence))
    if not _is_slow(before) or len(found) != 1:
        return None
    [(file, test)] = found
    run = yield Trial(evidence.head, tests=tuple(_ids(before, file, test.name)))
    return run if run.finished and not run.tampering else None


def _is_slow(before: SuiteRun) -> bool:
    return before.finished and before.measure is Measure.PER_TEST and before.seconds >= SLOW


def written(evidence: Evidence) -> Iterator[tuple[str, python.Definition]]:
    """Yield the tests that stand there now and did not before, each with its file; as far as Python's text tells."""
    for change in evidence.changes:
        local = inside(evidence, change.path)
        if local and local.endswith(".py") and change.after and is_test(evidence, change.path):
            known = {test.name for test in python.tests_in(change.before.text if change.before else None)}
            new = {test.name: test for test in python.tests_in(change.after.text) if test.name not in known}
            yield from ((local, test) for test in new.values())


def _ids(before: SuiteRun, file: str, name: str) -> Iterator[TestId]:
    """Yield what the runner may call a test."""
    if any("::" in known for known in before.ids):
        yield "::".join([file, *name.split(".")])
        return
    parts = file.removesuffix(".py").split("/")
    yield from (".".join([*parts[start:], name]) for start in range(len(parts)))


def still_failing(
    evidence: Evidence, before: SuiteRun, names: Sequence[TestId]
) -> Generator[Question, SuiteRun, list[Finding]]:
    """Return why GREEN cannot be accepted, where the suite is slow and RED's test fails by itself already."""
    if not names or not _is_slow(before):
        return []
    run = yield Trial(evidence.head, tests=tuple(names))
    if run.timed_out:
        return [timed_out(run)]
    if not run.finished or run.tampering:
        return []  # the whole suite tells more
    failed = [r for r in run.results.values() if r.failed and any(belongs(r.id, name) for name in names)]
    return [failure(result) for result in failed[:NAMED]]
