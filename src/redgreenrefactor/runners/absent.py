"""Tests that are named and not there yet."""

from dataclasses import replace
from pathlib import Path

from redgreenrefactor.model.evidence import ALL, Manner, Measure, SuiteRun
from redgreenrefactor.model.values import frozen
from redgreenrefactor.ports import Suite

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
