"""A command that does not say what it runs: an exit code, and more if a probe makes itself heard."""

from dataclasses import replace
from pathlib import Path

from redgreenrefactor.model.evidence import ALL, Manner, Measure, SuiteRun
from redgreenrefactor.ports import Suite
from redgreenrefactor.runners.detect import is_python_only
from redgreenrefactor.runners.probed import Hearing, ProbeInsertion, listen, printed, told, translation
from redgreenrefactor.runners.pytest_suite import pytest_probing
from redgreenrefactor.runners.suite_context import SuiteContext
from redgreenrefactor.sandbox import process

_PROBE = b"rgr_pytest_probe"
_NOT_STARTED = (126, 127)  # what a shell answers for a program that it cannot start or find


class ExitCodeSuite:
    """Tests of which only an exit code can be had."""

    def __init__(self, command: str, where: SuiteContext) -> None:
        self.command = command
        self._where = where

    @property
    def measure(self) -> Measure:
        """Green or not, all together."""
        return Measure.EXIT_CODE

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        """Run all the tests, because single ones cannot be asked for."""
        return by_exit_code(
            self._where.run(self._where.anchored(self.command), folder, manner), folder, self._where
        )


class OpaqueSuite:
    """Tests that some script runs, in a project whose tests are pytest's as far as its files tell.

    Every pytest below the script is given the probe. Once it has been heard from, the suite is one with a
    result for every test, and a run without it is a run that did not finish. A script that also fails for
    other reasons than its tests is not believed to have finished either.
    """

    def __init__(self, command: str, where: SuiteContext, probing: ProbeInsertion) -> None:
        self.command = command
        self._where = where
        self._probing = probing
        self._plain = ExitCodeSuite(command, where)
        self._heard = False
        self._harmful = False

    @property
    def measure(self) -> Measure:
        """How much the runs so far have told."""
        return Measure.PER_TEST if self._heard else Measure.EXIT_CODE

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        """Run the tests, just these if that is possible, in a checkout of the project."""
        if self._harmful:
            return self._plain.run(folder, manner)
        hearing = listen(self._where, self._probing, folder, manner)
        self._heard = self._heard or hearing.heard.sessions > 0
        if self._heard:
            return self._told(hearing)
        self._harmful = _PROBE in hearing.ended.stdout + hearing.ended.stderr
        return (
            self._plain.run(folder, manner)
            if self._harmful
            else by_exit_code(hearing.ended, folder, self._where)
        )

    def _told(self, hearing: Hearing) -> SuiteRun:
        run = told(hearing, self._where, exits_as_runner=False)
        explained = run.exit_code == 0 or any(ending.exit_code for ending in hearing.heard.endings)
        return replace(run, finished=run.finished and explained)


def suite(command: str, where: SuiteContext) -> Suite:
    """Return the tests of a command that we know nothing about."""
    if is_python_only(where.project):
        return OpaqueSuite(command, where, pytest_probing(where.anchored(command), as_module=False))
    return ExitCodeSuite(command, where)


def by_exit_code(ended: process.Finished, folder: Path, where: SuiteContext) -> SuiteRun:
    """Return all that an exit code tells of a run in a checkout."""
    return SuiteRun(
        exit_code=ended.exit_code,
        finished=not ended.timed_out and ended.exit_code >= 0 and ended.exit_code not in _NOT_STARTED,
        timed_out=ended.timed_out,
        measure=Measure.EXIT_CODE,
        seconds=ended.seconds,
        output=translation(folder, where.project)(printed(ended)),
    )
