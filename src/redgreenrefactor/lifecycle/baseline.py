"""The tests as they are before anything is done: where they cannot be run, nothing starts."""

import re

from redgreenrefactor.confinement import Confinement
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.gates.rules.legacy import Baseline, baseline
from redgreenrefactor.gates.rules.measurement import foreign
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.loop.lab import Lab
from redgreenrefactor.model.events import Emit, Warned
from redgreenrefactor.model.evidence import Measure, SuiteRun, Trial
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.values import frozen
from redgreenrefactor.runners.virtual import how_to_install, missing_module

INSTALL = "Install the project's test dependencies, see that the command works, then try again."
NAMED = 3  # files of many
SHOWN, WIDE = 15, 200  # lines of what a suite printed that are told, and how much of each


@frozen
class FirstMeasurement:
    """What is needed to run the tests of a project for the first time."""

    repository: Repository
    confinement: Confinement
    lab: Lab
    emit: Emit

    def baseline(self, base: str, asked: str, *, may_fail: bool = False) -> Baseline:
        """Run the tests as they are before anything is done; where that cannot be measured nothing starts.

        A command of which only an exit code can be had may fail where it names tests that are still to be written.
        """
        found = self._with_network_if_needed(base, self.lab.judge(baseline(base)))
        run = found.run
        self.require_runnable(run, asked)
        if run.foreign:
            elsewhere = foreign(run.foreign, "try again")
            raise NotReadyError(elsewhere.message, hint=elsewhere.hint or "", type=elsewhere.type)
        if run.measure is Measure.EXIT_CODE:
            self._require_green(run, may_fail=may_fail)
        else:
            for line in found.told:
                self.emit(Warned(line))
        return found

    def _require_green(self, run: SuiteRun, *, may_fail: bool) -> None:
        command = self.lab.suite.command
        self.emit(
            Warned(f"{command!r} tells no results test by test: phases are judged by its exit code"),
        )
        if run.green or may_fail:
            return
        if module := missing_module(run.output):
            raise self._not_runnable(f"fails before the run: there is no module {module!r}", module)
        raise NotReadyError(
            f"the test command {command!r} fails before the run (exit code {run.exit_code})\n{printed(run)}",
            hint="Make the suite pass first: by exit code alone a new failure could not be told from an old one.",
            type="SuiteRed",
        )

    def require_collected(self, here: Entry, asked: str) -> None:
        """Refuse to go on where no test can be collected any more; what is planned need not be there yet."""
        case = here.handoff.current_test
        run = self.lab.answer(Trial(here.commit))
        if run.finished:  # else the turn will tell
            self.require_runnable(run, f"{here.handoff.feature} {asked} {case.impl_file if case else ''}")

    def require_runnable(self, run: SuiteRun, asked: str) -> None:
        """Refuse tests that do not run here, above all for want of what they import.

        A module that is asked for is still to be written: its tests may be there before it.
        """
        lacking = [missing_module(error.message) for error in run.errors]
        if not run.finished:
            words = " | ".join(line.strip() for line in run.output.strip().splitlines()[-5:] if line.strip())
            how = f"did not come to its end (exit code {run.exit_code})"
            what = ": ".join(filter(None, ["ran past test.timeout" if run.timed_out else how, words[-600:]]))
            raise self._not_runnable(what, missing_module(run.output))
        named = set(re.findall(r"\w+", asked))
        planned = all(name and name.rpartition(".")[2] in named for name in lacking)
        ran = any(result.passed or result.failed for result in run.results.values())
        if run.errors and not ran and not planned:
            files = ", ".join(sorted({error.file for error in run.errors})[:NAMED])
            module = next(filter(None, lacking), None)
            why = f"there is no module {module!r}" if module else run.errors[0].message.strip()[-300:]
            raise self._not_runnable(f"can collect no test ({files}): {why}", module)

    def _not_runnable(self, what: str, module: str | None) -> NotReadyError:
        where = self.repository
        how = how_to_install(where.environ, where.project, where.root, module) if module else INSTALL
        command = self.lab.suite.command
        return NotReadyError(f"the test command {command!r} {what}", hint=how, type="TestsNotRunnable")

    def _with_network_if_needed(self, base: str, without: Baseline) -> Baseline:
        """Measure again with the network where tests fail without; suites keep it if they need it."""
        if not self.confinement.suite_may_need_network or _all_well(without.run):
            return without
        known = self.lab.measure_anew()
        self.confinement.suite_network = True
        found = self.lab.judge(baseline(base))
        if _does_better(found.run, without.run):
            self.emit(
                Warned("tests fail without the network that pass with it: suites are run with the network")
            )
            return found
        self.confinement.suite_network = False
        self.lab.measure_anew(known)
        return without


def printed(run: SuiteRun) -> str:
    """Return the end of what a suite printed, line by line."""
    lines = [line.rstrip()[:WIDE] for line in run.output.splitlines() if line.strip()]
    return "\n".join(f"  {line}" for line in lines[-SHOWN:]) or "  it printed nothing"


def _all_well(run: SuiteRun) -> bool:
    if run.measure is Measure.EXIT_CODE:
        return run.green
    return run.finished and not run.errors and not any(result.failed for result in run.results.values())


def _does_better(run: SuiteRun, other: SuiteRun) -> bool:
    """Tell whether a run passes where another one does not."""
    if run.measure is Measure.EXIT_CODE:
        return run.green and not other.green
    return bool(run.passed - other.passed) or (run.finished and not other.finished)
