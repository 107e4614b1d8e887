"""Measures what it costs to judge a run again: CPU of `rgr verify` by that of the run's own gates, and what both started.

    python bench/verify.py [--sandbox auto|off] [--setting KEY=VALUE]… [--slow SECONDS] [--json]

The run is that of `cycle.py`: four small cases. With `--slow` one more test takes that many seconds of CPU, as a large suite
does: what a case costs is then told in such suites. Nothing is run side by side here: the CPU would be anybody's.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import cycle

from redgreenrefactor.config import Flags
from redgreenrefactor.loop.lab import Lab
from redgreenrefactor.model.evidence import ALL, Manner, SuiteRun
from redgreenrefactor.runners.probed import ProbedSuite
from redgreenrefactor.runners.warm_process import WarmProcesses
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.verify import verify

BAR, SUITES, DEAR = 1.2, 3, 3.3
T = TypeVar("T")


@dataclass
class Counted:
    """What was run, and the CPU of it all: in this process, in what it started, and in what it kept loaded."""

    runs: Counter[str] = field(default_factory=Counter[str])
    spent: float = 0.0
    suites: list[float] = field(default_factory=list[float])  # CPU of each
    _depth: int = 0

    def watched(self, do: Callable[..., T]) -> Callable[..., T]:
        """Return the same function; what it takes is counted, once where one calls another."""

        def call(*words: Any, **named: Any) -> T:
            before, self._depth = cycle.used(), self._depth + 1
            try:
                return do(*words, **named)
            finally:
                self._depth -= 1
                self.spent += cycle.used() - before if not self._depth else 0.0

        return call

    def run(self, suite: ProbedSuite, folder: Path, manner: Manner = ALL) -> SuiteRun:
        """Run tests as ever, and count them."""
        before = cycle.used()
        run = _run(suite, folder, manner)
        kind = "fork" if run.warm else "probe" if manner.tests else "suite"
        self.runs[kind] += run.answered
        self.suites += [cycle.used() - before] if kind == "suite" else []
        return run


_run, _judge, _answer, _close = ProbedSuite.run, Lab.judge, Lab.answer, WarmProcesses.close


def counting() -> Counted:
    """Return what counts from now on."""
    counted = Counted()

    def run(suite: ProbedSuite, folder: Path, manner: Manner = ALL) -> SuiteRun:
        return counted.run(suite, folder, manner)

    changed: list[tuple[type, str, Callable[..., Any]]] = [
        (ProbedSuite, "run", run),
        (Lab, "judge", counted.watched(_judge)),
        (Lab, "answer", counted.watched(_answer)),
        (WarmProcesses, "close", counted.watched(_close)),
    ]
    for owner, name, do in changed:
        setattr(owner, name, do)
    return counted


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 if it is dearer than it may be."""
    parser = argparse.ArgumentParser(prog="verify", description="Measure what it costs to judge a run again.")
    parser.add_argument("--sandbox", default="auto")
    parser.add_argument("--setting", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--slow", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    wanted = parser.parse_args(arguments)
    cycle.PROJECT["tdd.properties"] = "".join(f"{line}\n" for line in ["probe.jobs=1", *wanted.setting])
    if wanted.slow:
        cycle.PROJECT["tests/test_slow.py"] = SLOW.format(wanted.slow)
    with tempfile.TemporaryDirectory(prefix="rgr-verify-") as name:
        environ = cycle.environment(Path(name), wanted.sandbox)
        if not wanted.slow:
            cycle.ours(Path(name, "first"), environ, cycle.Told())  # everything is compiled once
        gates = counting()
        cycle.ours(Path(name, "run"), environ, cycle.Told())
        again = counting()
        before = cycle.used()
        with closing(Interrupt()) as interrupt:
            found = verify(
                Surroundings(Path(name, "run", "project"), environ, Flags(), lambda _: None, interrupt)
            )
        again.spent = cycle.used() - before
    if not found.ok:
        raise SystemExit(f"the run does not hold: {found.findings}")
    return told(gates, again, as_json=wanted.json, slow=bool(wanted.slow))


SLOW = """\
import time


def test_slow():
    until = time.process_time() + {}
    while time.process_time() < until:
        pass
"""


def told(gates: Counted, again: Counted, *, as_json: bool, slow: bool) -> int:
    """Print what was counted; return 1 if it is more than it may be."""
    cases, ratio = len(cycle.CASES), again.spent / gates.spent
    rows = {"gates": gates, "verify": again}
    worth = {name: (each.spent / statistics.median(each.suites) - 1) / cases for name, each in rows.items()}
    if as_json:
        shown = {
            name: {"cpu": each.spent, "runs": each.runs, "suites": worth[name]} for name, each in rows.items()
        }
        print(json.dumps({"ratio": ratio, **shown}))
    else:
        print(
            f"verify: {again.spent:.2f} s of CPU, {ratio:.2f} times the run's own gates ({gates.spent:.2f} s)"
        )
        for name, each in rows.items():
            runs = ", ".join(f"{number} {kind}" for kind, number in sorted(each.runs.items()))
            print(
                f"  {name:<8} {cases} cases: {runs}; beside the first suite a case costs {worth[name]:.2f} suites"
            )
    many = again.runs["suite"] > SUITES * cases + 1
    return int(ratio > BAR or many or (slow and worth["gates"] > DEAR))


if __name__ == "__main__":
    sys.exit(main())
