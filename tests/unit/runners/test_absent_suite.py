"""Tests that are named and not there yet."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redgreenrefactor.model.evidence import ALL, Manner, Measure, Status, SuiteRun, TestResult
from redgreenrefactor.runners.prepared import MaybeAbsent


@dataclass(frozen=True)
class Tests:
    """A suite that always answers the same."""

    __test__ = False

    answer: SuiteRun
    command: str = "pytest tests/x.py"
    measure: Measure = Measure.PER_TEST

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        return self.answer


def ran(**facts: Any) -> SuiteRun:
    return MaybeAbsent(Tests(SuiteRun(**facts))).run(Path())


def test_a_runner_that_finds_no_such_file_has_run_nothing() -> None:
    run = ran(finished=False, exit_code=4, output="ERROR: file or directory not found: tests/x.py\n")
    assert (run.finished, run.exit_code, run.results) == (True, 5, {})


def test_any_other_end_is_left_as_it_is() -> None:
    assert not ran(finished=False, exit_code=4, output="unrecognized arguments").finished
    assert not ran(finished=False, exit_code=3, output="file or directory not found").finished
    result = TestResult("a", Status.PASSED)
    assert not ran(
        results={"a": result}, finished=False, exit_code=4, output="file or directory not found"
    ).finished
    assert ran(exit_code=1).exit_code == 1


def test_it_is_the_suite_it_stands_for() -> None:
    suite = MaybeAbsent(Tests(SuiteRun()))
    assert (suite.command, suite.measure) == ("pytest tests/x.py", Measure.PER_TEST)
