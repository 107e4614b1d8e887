"""The new test runs first where the suite is slow: an attempt that cannot be accepted costs no run of the suite."""

from collections.abc import Generator, Iterator, Sequence

from redgreenrefactor.gates import python
from redgreenrefactor.gates.common import timed_out
from redgreenrefactor.gates.legacy import failure
from redgreenrefactor.gates.paths import inside, is_test
from redgreenrefactor.gates.proof import belongs
from redgreenrefactor.model.evidence import Evidence, Measure, Question, SuiteRun, TestId, Trial
from redgreenrefactor.model.verdict import Finding

SLOW = 3.0  # seconds a suite takes from which on it is worth a run of its own to spare it
NAMED = 3  # failures that are told

Run = Generator[Question, SuiteRun, SuiteRun | None]


def new_test_alone(evidence: Evidence, before: SuiteRun) -> Run:
    """Return what the one test that was written does by itself; None where it cannot be told, or the suite is fast."""
    written = list(_written(evidence))
    if not _is_slow(before) or len(written) != 1:
        return None
    run = yield Trial(evidence.head, tests=tuple(_ids(before, *written[0])))
    return run if run.finished and not run.tampering else None


def _is_slow(before: SuiteRun) -> bool:
    return before.finished and before.measure is Measure.PER_TEST and before.seconds >= SLOW


def _written(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield file and name of the tests that stand there now and did not before."""
    for change in evidence.changes:
        local = inside(evidence, change.path)
        if local and local.endswith(".py") and change.after and is_test(evidence, change.path):
            known = {test.name for test in python.tests_in(change.before.text if change.before else None)}
            names = dict.fromkeys(test.name for test in python.tests_in(change.after.text))
            yield from ((local, name) for name in names if name not in known)


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
