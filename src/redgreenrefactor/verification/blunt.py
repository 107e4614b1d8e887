"""A suite that tells no more than green or not, for turns that were judged by that alone."""

from dataclasses import replace
from pathlib import Path

from redgreenrefactor.model.evidence import ALL, Manner, Measure, SuiteRun
from redgreenrefactor.ports import Suite


class BluntSuite:
    """Another suite's exit code."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    @property
    def command(self) -> str:
        """What a person would type."""
        return self._suite.command

    @property
    def measure(self) -> Measure:
        """Green or not, all together."""
        return Measure.EXIT_CODE

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        """Run all the tests and keep their exit code."""
        run = self._suite.run(folder, Manner(limit=manner.limit, keeps=manner.keeps))
        return replace(run, results={}, errors=(), measure=Measure.EXIT_CODE)
