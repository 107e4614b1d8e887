"""Tests of a checkout that has to be made runnable first."""

from dataclasses import replace
from pathlib import Path

from redgreenrefactor.model.evidence import ALL, Manner, Measure, SuiteRun
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
