"""Measures what a cycle costs: CPU of our run of four small cases, against the thinnest driver of the same steps.

    python bench/cycle.py [--repeat N] [--sandbox auto|off] [--setting KEY=VALUE]… [--json]

Sessions are scripted and run in this process, so all that is counted is ours: sealing, suites, probes, notes. The
thinnest driver does three cold runs of the suite, four commits and four notes a cycle, and judges nothing. Both
are run by turns; what is printed is the median of the ratios, and what each gate has started.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from redgreenrefactor.config import Flags
from redgreenrefactor.lifecycle.feature import FeatureJob
from redgreenrefactor.lifecycle.project import open_project
from redgreenrefactor.lifecycle.run import Run, equip
from redgreenrefactor.model.events import Event, Judged, SuiteEnded
from redgreenrefactor.model.result import RunStatus
from redgreenrefactor.model.session import Brief
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.testing import FakeAgent

BAR = 1.5
CASES = {
    "adds": ("add", "    return a + b\n", "calc.add(6, 3) == 9"),
    "tells the larger": (
        "larger",
        "    if a > b:\n        return a\n    return b\n",
        "calc.larger(6, 3) == 6\n    assert calc.larger(3, 7) == 7",
    ),
    "multiplies": ("multiply", "    return a * b\n", "calc.multiply(6, 3) == 18"),
    "tells the difference": ("difference", "    return abs(a - b)\n", "calc.difference(3, 7) == 4"),
}
TEST, CODE, LIST = "tests/test_calc.py", "calc.py", "test-list.md"
PROJECT = {"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n', CODE: '"""Numbers."""\n'}


@dataclass
class Told:
    """What our run has told: how many runs of each kind a gate has asked for."""

    counts: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    pending: Counter[str] = field(default_factory=Counter[str])

    def take(self, event: Event) -> None:
        """Count runs of tests, and give them to the gate that asked when it has judged."""
        if isinstance(event, SuiteEnded):
            self.pending["fork" if event.warm else event.purpose] += 1
        elif isinstance(event, Judged):
            self.counts[f"{event.cycle}-{event.phase}"], self.pending = self.pending, Counter()


def suite(count: int) -> str:
    """Return the tests of the first cases."""
    tests = [f"\n\ndef test_{name}():\n    assert {said}\n" for name, _, said in list(CASES.values())[:count]]
    return "import calc\n" + "".join(tests)


def code(count: int, *, polished: int = 0) -> str:
    """Return what makes the first cases pass."""
    functions = [
        f"\n\ndef {name}(a, b):\n" + (f'    """Return what {name} gives."""\n' if n < polished else "") + body
        for n, (name, body, _) in enumerate(list(CASES.values())[:count])
    ]
    return '"""Numbers."""\n' + "".join(functions)


def session(brief: Brief, folder: Path) -> str:
    """Do what the phase asks for, as an honest session would."""
    return worked(brief.phase, brief.cycle, folder)


def worked(phase: PhaseName, cycle: int, folder: Path) -> str:
    """Change the files as this phase of this cycle does; return what is said at its end."""
    if phase is PhaseName.PLAN:
        boxes = [f"- [{'x' if n < cycle else ' '}] {text}\n" for n, text in enumerate(CASES, 1)]
        (folder / LIST).write_text("# Numbers\n\n" + "".join(boxes))
        current = None
        if cycle <= len(CASES):
            current = {"description": list(CASES)[cycle - 1], "testFile": TEST, "implFile": CODE}
        return json.dumps({"currentTest": current})
    if phase is PhaseName.RED:
        (folder / TEST).parent.mkdir(exist_ok=True)
        (folder / TEST).write_text(suite(cycle))
    else:
        (folder / CODE).write_text(code(cycle, polished=cycle - (phase is PhaseName.GREEN)))
    return ""


def repository(folder: Path, environ: Mapping[str, str]) -> Path:
    """Make a repository with a project that has no tests yet."""
    project = folder / "project"
    project.mkdir(parents=True)
    for name, text in PROJECT.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text)
    for words in (("init", "-q", "-b", "main"), ("add", "--all"), ("commit", "-q", "-m", "chore: start")):
        subprocess.run(["git", *words], cwd=project, env=environ, check=True)
    return project


def ours(folder: Path, environ: Mapping[str, str], told: Told) -> float:
    """Return the CPU seconds of a cycle of our run."""
    project = repository(folder, environ)
    around = Surroundings(project, environ, Flags(), told.take, Interrupt())
    with closing(around.interrupt), open_project(around) as opened:
        job = FeatureJob(opened, "numbers")
        usual = equip(opened, job)
        agents = {phase.name: FakeAgent(session) for phase in job.workflow.phases}
        run = Run(opened, job, replace(usual, sessions=replace(usual.sessions, agents=agents)))
        before = used()
        with closing(usual):
            result = run.begin("bench")
        spent = used() - before
    if result.status is not RunStatus.COMPLETE:
        raise SystemExit(f"the run ended as {result.status}: {result.error}")
    return spent / len(CASES)


def thinnest(folder: Path, environ: Mapping[str, str]) -> float:
    """Return the CPU seconds of a cycle of a driver that runs, commits and notes, and looks at nothing."""
    project = repository(folder, environ)
    before = used()
    for cycle in range(1, len(CASES) + 1):
        for step in PhaseName.PLAN, PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR:
            worked(step, cycle, project)
            for words in (
                ("add", "--all"),
                ("commit", "-q", "--allow-empty", "-m", str(step)),
                ("notes", "--ref=bench", "add", "-m", "{}"),
            ):
                subprocess.run(["git", *words], cwd=project, env=environ, check=True)
            if step is not PhaseName.PLAN:
                subprocess.run(
                    ["python", "-m", "pytest", "-q"],
                    cwd=project,
                    env=environ,
                    stdout=subprocess.DEVNULL,
                    check=False,
                )
    return (used() - before) / len(CASES)


def used() -> float:
    """Return the CPU seconds of this process and of those it has waited for."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def environment(folder: Path, sandbox: str) -> dict[str, str]:
    """Return an environment with nobody's settings, in which `python` is ours."""
    home = folder / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@localhost\n")

    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "TDD_TRUST": "1",
        "TDD_AGENT": "command:true",
        "TDD_SANDBOX": sandbox,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 if the ratio is above the bar."""
    parser = argparse.ArgumentParser(prog="cycle", description="Measure what a cycle costs.")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sandbox", default="auto")
    parser.add_argument("--setting", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    wanted = parser.parse_args(arguments)
    PROJECT["tdd.properties"] = "".join(f"{line}\n" for line in wanted.setting)
    pairs: list[tuple[float, float]] = []
    told = Told()
    with tempfile.TemporaryDirectory(prefix="rgr-cycle-") as name:
        environ = environment(Path(name), wanted.sandbox)
        thinnest(Path(name, "first"), environ)  # everything is compiled once
        ours(Path(name, "second"), environ, Told())
        for turn in range(wanted.repeat):
            told = Told()
            mine = ours(Path(name, f"ours-{turn}"), environ, told)
            pairs.append((mine, thinnest(Path(name, f"thin-{turn}"), environ)))
    ratio = statistics.median(one / other for one, other in pairs)
    mine, thin = (statistics.median(column) for column in zip(*pairs, strict=True))
    if wanted.json:
        print(json.dumps({"ratio": ratio, "ours": mine, "thinnest": thin, "gates": told.counts}))
    else:
        print(f"a cycle: {mine:.2f} s of CPU, {ratio:.2f} times the thinnest driver ({thin:.2f} s)")
        for gate, counts in told.counts.items():
            print(f"  {gate:<12} " + ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())))
    return int(ratio > BAR)


if __name__ == "__main__":
    sys.exit(main())
