"""What one run of the tests says."""

import pytest

from redgreenrefactor.model.evidence import (
    CollectError,
    Evidence,
    Measure,
    Status,
    SuiteRun,
    TestResult,
)
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.session import Report
from redgreenrefactor.model.workflow import PhaseName


def run(*statuses: Status, **more: object) -> SuiteRun:
    return SuiteRun({f"t{n}": TestResult(f"t{n}", status) for n, status in enumerate(statuses)}, **more)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("status", "passed", "failed"),
    [
        (Status.PASSED, True, False),
        (Status.FAILED, False, True),
        (Status.ERROR, False, True),
        (Status.SKIPPED, False, False),
        (Status.XFAILED, False, False),
        (Status.XPASSED, False, False),
    ],
)
def test_a_test_passes_fails_or_neither(status: Status, passed: bool, failed: bool) -> None:
    result = TestResult("t", status)
    assert (result.passed, result.failed) == (passed, failed)


def test_ids_and_what_passed() -> None:
    both = run(Status.PASSED, Status.FAILED)
    assert (both.ids, both.passed) == ({"t0", "t1"}, {"t0"})


@pytest.mark.parametrize(
    ("told", "green"),
    [
        (run(Status.PASSED, Status.SKIPPED), True),
        (run(Status.PASSED, Status.FAILED), False),
        (run(Status.PASSED, finished=False), False),
        (run(Status.PASSED, errors=(CollectError("t.py", "syntax"),)), False),
        (run(measure=Measure.EXIT_CODE), True),
        (run(measure=Measure.EXIT_CODE, exit_code=1), False),
        (run(measure=Measure.EXIT_CODE, finished=False), False),
    ],
)
def test_a_run_is_green_if_nothing_is_wrong(told: SuiteRun, green: bool) -> None:
    assert told.green is green


def test_parameter_sets_of_a_test_share_their_origin() -> None:
    one = TestResult("t.py::A::test_x[1]", Status.PASSED, file="t.py", function="A.test_x")
    two = TestResult("t.py::A::test_x[2]", Status.FAILED, file="t.py", function="A.test_x")
    assert one.origin == two.origin == ("t.py", "A.test_x")


def test_classes_that_inherit_a_test_from_elsewhere_share_its_origin() -> None:
    one = TestResult("a", Status.PASSED, file="a.py", function="A.test_x", defined_in="base.py")
    two = TestResult("b", Status.PASSED, file="b.py", function="B.test_x", defined_in="base.py")
    assert one.origin == two.origin == ("base.py", "test_x")


def test_evidence_without_a_reader_reads_nothing() -> None:
    handoff = Handoff(PhaseName.PLAN, PhaseName.RED)
    evidence = Evidence(PhaseName.RED, None, "b", "h", "o", (), Report(), handoff)
    assert evidence.read("b", "README.md") is None
