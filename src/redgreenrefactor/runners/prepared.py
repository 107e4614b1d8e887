"""Tests of a checkout that has to be made runnable first."""

from dataclasses import replace
from pathlib import Path

from redgreenrefactor.model.evidence import ALL, Manner, Measure, SuiteRun
from redgreenrefactor.model.values import frozen
from redgreenrefactor.ports import Suite
from redgreenrefactor.runners.probed import printed
from redgreenrefactor.runners.suite_context import SuiteContext


class PreparedSuite:
    """Another suite, with a command before every run: a clean checkout keeps nothing that an earlier one made."""

    def __init__(self, suite: Suite, setup: str, where: SuiteContext) -> None:
        self._suite = suite
        self._setup = setup
        self._where = where

    @property
    def command(self) -> str:
        """What a person would type, once everything is prepared."""
        return self._suite.command

    @property
    def measure(self) -> Measure:
        """How much the tests tell."""
        return self._suite.measure

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        """Prepare the checkout, then run the tests; what cannot be prepared was not measured."""
        ended = self._where.run(self._where.anchored(self._setup), folder, replace(manner, limit=None))
        if ended.exit_code or ended.timed_out:
            return SuiteRun(
                exit_code=ended.exit_code,
                finished=False,
                timed_out=ended.timed_out,
                measure=self._suite.measure,
                seconds=ended.seconds,
                output=f"setup.command {self._setup!r} failed\n{printed(ended)}",
            )
        return self._suite.run(folder, manner)


_USAGE, _NONE = 4, 5  # pytest's exit codes: it was called wrongly, it found nothing to run


@frozen
class MaybeAbsent:
    """A suite whose command may name files that will only be written: as long as they are not there, no test runs.

    A runner that finds none of what it was told to run has come to its end all the same.
    """

    suite: Suite

    @property
    def command(self) -> str:
        """What a person would type."""
        return self.suite.command

    @property
    def measure(self) -> Measure:
        """How much its runs tell."""
        return self.suite.measure

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        """Run the tests, or just these, in a checkout of the project."""
        run = self.suite.run(folder, manner)
        absent = not run.finished and run.exit_code == _USAGE and not run.results
        if absent and "file or directory not found" in run.output:
            return replace(run, finished=True, exit_code=_NONE)
        return run
