"""What every suite promises, whoever runs the tests."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from redgreenrefactor.model.evidence import Guise, Manner, Measure, Status, SuiteRun, TestResult
from redgreenrefactor.ports import Suite
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.runners.suite_context import SuiteContext
from redgreenrefactor.testing import FakeSuite

CODE = {1: "VALUE = 1\n", 2: "VALUE = 2\n"}
PYTEST = """\
import pytest
import code_c

def test_one(): assert code_c.VALUE == 1
def test_two(): assert code_c.VALUE == 2
def test_skip(): pytest.skip("later")
"""
UNITTEST = """\
import unittest
import code_c

class A(unittest.TestCase):
    def test_one(self): self.assertEqual(code_c.VALUE, 1)
    def test_two(self): self.assertEqual(code_c.VALUE, 2)
    def test_skip(self): self.skipTest("later")
"""


@dataclass(frozen=True)
class Subject:
    """A suite, a checkout for it, and what its tests are called."""

    suite: Suite
    folder: Path
    command: str
    one: str
    two: str
    skip: str

    def write(self, value: int) -> None:
        """Change the code under test."""
        (self.folder / "code_c.py").write_text(CODE[value])

    def run(self, *tests: str) -> SuiteRun:
        return self.suite.run(self.folder, Manner(tests))


def fake_answer(folder: Path, tests: Sequence[str]) -> SuiteRun:
    value = (folder / "code_c.py").read_text()
    statuses: Mapping[str, Status] = {
        "one": Status.PASSED if value == CODE[1] else Status.FAILED,
        "two": Status.PASSED if value == CODE[2] else Status.FAILED,
        "skip": Status.SKIPPED,
    }
    results = {
        name: TestResult(name, status) for name, status in statuses.items() if not tests or name in tests
    }
    return SuiteRun(results, exit_code=int(any(result.failed for result in results.values())))


@pytest.fixture(params=["pytest", "unittest", "fake"])
def subject(request: pytest.FixtureRequest, tmp_path: Path, cache: Path) -> Subject:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "code_c.py").write_text(CODE[1])
    if request.param == "fake":
        return Subject(FakeSuite(fake_answer, "fake"), folder, "fake", "one", "two", "skip")
    command = f"{sys.executable} -m {request.param}"
    (folder / "test_c.py").write_text(PYTEST if request.param == "pytest" else UNITTEST)
    env = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    suite = suite_for(command, SuiteContext(project=folder, env=env, timeout=120, cache=cache))
    stem = "test_c.py::test_" if request.param == "pytest" else "test_c.A.test_"
    return Subject(suite, folder, command, f"{stem}one", f"{stem}two", f"{stem}skip")


def test_the_command_is_what_a_person_typed(subject: Subject) -> None:
    assert subject.suite.command == subject.command
    assert subject.suite.measure is Measure.PER_TEST


def test_a_run_tells_what_became_of_every_test(subject: Subject) -> None:
    done = subject.run()
    assert {name: result.status for name, result in done.results.items()} == {
        subject.one: Status.PASSED,
        subject.two: Status.FAILED,
        subject.skip: Status.SKIPPED,
    }
    assert all(result.id == name for name, result in done.results.items())
    assert done.finished
    assert not done.green
    assert done.exit_code == 1
    assert (done.timed_out, done.errors, done.tampering, done.executed) == (False, (), (), {})
    assert (done.deselected, done.foreign, done.cut_off) == (frozenset(), (), None)
    assert done.measure is Measure.PER_TEST


def test_only_chosen_tests_are_run(subject: Subject) -> None:
    done = subject.run(subject.one, subject.skip)
    assert done.ids == {subject.one, subject.skip}
    assert done.green
    assert done.exit_code == 0


def test_a_test_that_is_not_there_has_no_result(subject: Subject) -> None:
    done = subject.run(subject.one, f"{subject.one}_more")
    assert done.passed == {subject.one}
    assert done.finished


def test_a_run_tells_of_the_code_as_it_is(subject: Subject) -> None:
    assert subject.run().passed == {subject.one}
    subject.write(2)
    assert subject.run().passed == {subject.two}
    subject.write(1)
    assert subject.run().passed == {subject.one}


def test_a_run_leaves_the_checkout_as_it_is(subject: Subject) -> None:
    before = {path: path.read_bytes() for path in subject.folder.rglob("*")}
    subject.run()
    assert {path: path.read_bytes() for path in subject.folder.rglob("*")} == before


def test_whatever_else_is_asked_for_changes_no_result(subject: Subject) -> None:
    done = subject.suite.run(
        subject.folder, Manner((subject.one,), trace=True, disguise=Guise.HIDDEN, seed=7)
    )
    assert done.passed == {subject.one}
    alone = subject.suite.run(subject.folder, Manner((subject.one, subject.two), canaries=False))
    assert (alone.ids, alone.passed, alone.exit_code) == ({subject.one, subject.two}, {subject.one}, 1)


class TestFakeOfStatuses:
    def test_it_says_what_it_was_told(self, tmp_path: Path) -> None:
        suite = FakeSuite({"a": Status.PASSED, "b[1]": Status.FAILED, "b[2]": Status.PASSED})
        done = suite.run(tmp_path)
        assert done.passed == {"a", "b[2]"}
        assert done.exit_code == 1
        assert suite.run(tmp_path, Manner(("b",))).ids == {"b[1]", "b[2]"}
        assert suite.run(tmp_path, Manner(("a", "c"))).green
        assert suite.runs == [(tmp_path, ()), (tmp_path, ("b",)), (tmp_path, ("a", "c"))]

    def test_it_may_know_an_exit_code_only(self, tmp_path: Path) -> None:
        suite = FakeSuite({}, "make test", Measure.EXIT_CODE)
        assert suite.command == "make test"
        assert suite.run(tmp_path).measure is suite.measure is Measure.EXIT_CODE
