"""Tests that cannot run here are refused before anybody is paid; those that fail are left alone."""

from collections.abc import Generator

import pytest

from redgreenrefactor.config import Flags
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.lifecycle.baseline import FirstMeasurement
from redgreenrefactor.lifecycle.feature import FeatureJob
from redgreenrefactor.lifecycle.project import open_project
from redgreenrefactor.lifecycle.run import equip
from redgreenrefactor.model.evidence import CollectError, Status, SuiteRun, TestResult
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.surroundings import Surroundings
from repos import MakeRepo

ABSENT = CollectError("tests/test_a.py", "ModuleNotFoundError: No module named 'absent.part'")
BROKEN = CollectError("tests/test_b.py", "SyntaxError: invalid syntax")


@pytest.fixture
def first(make_repo: MakeRepo) -> Generator[FirstMeasurement]:
    """A checkout that is ready but for its tests."""
    repo = make_repo(files={"pyproject.toml": "[project]\nname = 'x'\n"})
    interrupt = Interrupt()
    flags = Flags(agent="command:true")
    around = Surroundings(repo.path, dict(repo.env), flags, lambda _event: None, interrupt)
    with open_project(around) as project:
        made = equip(project, FeatureJob(project, "A calculator"))
        yield FirstMeasurement(project.repository, made.factory.confinement, made.lab, project.emit)
    interrupt.close()


def ran(*errors: CollectError, **statuses: Status) -> SuiteRun:
    results = {name: TestResult(name, status) for name, status in statuses.items()}
    return SuiteRun(results, errors, exit_code=2)


@pytest.mark.parametrize("run", [ran(ABSENT), ran(BROKEN, ABSENT), ran(ABSENT, test_c=Status.SKIPPED)])
def test_where_nothing_can_be_collected_the_module_and_the_command_are_named(
    first: FirstMeasurement, run: SuiteRun
) -> None:
    with pytest.raises(NotReadyError, match=r"can collect no test .*no module 'absent.part'") as refused:
        first.require_runnable(run, "A calculator")
    assert (refused.value.exit_code, refused.value.type) == (3, "TestsNotRunnable")
    assert "python3 -m venv .venv && .venv/bin/python -m pip install -e . pytest" in refused.value.hint


def test_what_does_not_even_parse_is_told_as_it_is(first: FirstMeasurement) -> None:
    with pytest.raises(NotReadyError, match="SyntaxError: invalid syntax") as refused:
        first.require_runnable(ran(BROKEN), "A calculator")
    assert "see that the command works" in refused.value.hint


@pytest.mark.parametrize(
    "run",
    [
        ran(),
        ran(test_a=Status.FAILED),
        ran(ABSENT, test_a=Status.PASSED),
        ran(ABSENT, test_a=Status.FAILED),
    ],
    ids=["no tests yet", "all fail", "some cannot be collected", "others run"],
)
def test_tests_that_run_are_left_alone_whatever_they_do(first: FirstMeasurement, run: SuiteRun) -> None:
    first.require_runnable(run, "A calculator")


def test_a_module_that_is_asked_for_may_be_tested_before_it_is_there(first: FirstMeasurement) -> None:
    first.require_runnable(ran(ABSENT), "Write absent/part.py so that tests/test_a.py passes")
    with pytest.raises(NotReadyError):
        first.require_runnable(ran(ABSENT, BROKEN), "Write absent/part.py")
