"""Measures what our evidence costs: CPU of a suite with the probe in it, against the plain runner.

    python bench/overhead.py [--tests N] [--repeat N] [--json]

A suite of some hundred small tests is run by turns, plain and probed; what is printed is the median of the
ratios, for pytest and for unittest. The exit code is 1 if one of them is above the bar.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent, indent

from redgreenrefactor.model.evidence import Manner, SuiteRun
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.runners.suite_context import SuiteContext

BAR = 1.12
COMMANDS = {
    "pytest": "python -m pytest -q -p no:cacheprovider",
    "unittest": "python -m unittest -q",
}
CODE = '''
"""A shop's ledger: something that takes about as long as what small tests usually try."""

import json
import re
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Entry:
    name: str
    cents: int


class Ledger:
    def __init__(self):
        self.entries = []

    def add(self, line):
        found = re.fullmatch(r"(\\w+): (-?\\d+)\\.(\\d\\d)", line)
        if found is None:
            raise ValueError(f"not an entry: {line!r}")
        self.entries.append(Entry(found[1], int(found[2]) * 100 + int(found[3])))

    def total(self):
        return sum(entry.cents for entry in self.entries)

    def ranked(self):
        return sorted(self.entries, key=lambda entry: (-entry.cents, entry.name))

    def stored(self):
        return json.dumps([asdict(entry) for entry in self.entries])


def restored(text):
    ledger = Ledger()
    ledger.entries = [Entry(**entry) for entry in json.loads(text)]
    return ledger
'''
BODY = """
ledger = Ledger()
for number in range({size}):
    ledger.add(f"item{{number}}: {{number}}.25")
again = restored(ledger.stored())
assert again.total() == ledger.total() == sum(range({size})) * 100 + {size} * 25
assert again.ranked() == sorted(ledger.ranked(), key=lambda entry: -entry.cents)
"""
HEAD = {
    "pytest": "import pytest\n\nfrom ledger import Ledger, restored\n",
    "unittest": "import unittest\n\nfrom ledger import Ledger, restored\n\n\nclass {name}(unittest.TestCase):\n",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="overhead", description="Measure what evidence costs.")
    parser.add_argument("--tests", type=int, default=400)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    wanted = parser.parse_args(arguments)
    found = {runner: _ratio(runner, int(wanted.tests), int(wanted.repeat)) for runner in COMMANDS}
    if wanted.json:
        print(json.dumps(found))
    else:
        for runner, (ratio, plain) in found.items():
            print(
                f"{runner:>9}: {ratio:.3f} times the CPU of the plain run ({plain:.2f} s, {wanted.tests} tests)"
            )
    return 1 if any(ratio > BAR for ratio, _ in found.values()) else 0


KEEPING = Manner(keeps=True)  # as the suite is run before a run begins


def _ratio(runner: str, tests: int, repeat: int) -> tuple[float, float]:
    """Return the median of probed by plain, and the CPU seconds of a plain run."""
    with tempfile.TemporaryDirectory(prefix="rgr-overhead-") as name:
        folder = Path(name, "project")
        write(folder, runner, tests)
        env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        env["PYTHONPYCACHEPREFIX"] = str(Path(name, "cache/bytecode"))
        suite = suite_for(
            COMMANDS[runner], SuiteContext(project=folder, env=env, timeout=600, cache=Path(name, "cache"))
        )
        plain, probed = (
            (lambda: _plain(runner, folder, env)),
            (lambda: _probed(suite.run(folder, KEEPING), tests)),
        )
        for action in (plain, probed):  # everything is compiled once
            action()
        pairs = [(_cpu(probed), _cpu(plain)) for _ in range(repeat)]
    return statistics.median(one / other for one, other in pairs), statistics.median(p for _, p in pairs)


def write(folder: Path, runner: str, tests: int) -> None:
    """Write a project with so many tests, twenty to a file."""
    folder.mkdir()
    (folder / "ledger.py").write_text(CODE)
    (folder / "conftest.py").write_text("")
    for file in range(0, tests, 20):
        lines = [HEAD[runner].format(name=f"Ledger{file}Test")]
        for number in range(file, min(file + 20, tests)):
            self = "self" if runner == "unittest" else ""
            test = f"\n\ndef test_{number}({self}):\n{indent(dedent(BODY.format(size=200 + number % 200)), '    ')}"
            lines.append(indent(test, "    ") if runner == "unittest" else test)
        (folder / f"test_ledger_{file:04}.py").write_text("".join(lines))


def _plain(runner: str, folder: Path, env: dict[str, str]) -> None:
    subprocess.run(["/bin/sh", "-c", COMMANDS[runner]], cwd=folder, env=env, check=True, capture_output=True)


def _probed(run: SuiteRun, tests: int) -> None:
    if len(run.passed) != tests:
        raise SystemExit(f"{len(run.passed)} of {tests} tests passed: {run.output[-500:]}")


def _cpu(action: Callable[[], None]) -> float:
    """Return the CPU seconds that we and our children take for something."""
    before = _used()
    action()
    return _used() - before


def _used() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    sys.exit(main())
