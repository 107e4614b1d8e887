"""What a run costs: processes of git, runs of the suite, modules that are loaded for nothing."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stage import GREENFIELD, Stage, calculator, listed, surroundings

from repos import MakeRepo

HEAVY = ("pydantic", "pydantic_ai", "rich", "starlette", "asyncio", "anyio")


@pytest.fixture
def counted(make_repo: MakeRepo) -> Stage:
    """A stage whose git writes down every call of the orchestrator's; agents have TDD_PHASE in their environment."""
    stage = Stage(make_repo(files=GREENFIELD))
    shim = stage.repo.path.parent / "shim"
    shim.mkdir()
    real = shutil.which("git", path=stage.repo.env["PATH"])
    (shim / "git").write_text(f'#!/bin/sh\n[ "$TDD_PHASE" ] || echo "$*" >> {shim}/calls\nexec {real} "$@"\n')
    (shim / "git").chmod(0o755)
    stage.env["PATH"] = f"{shim}{os.pathsep}{surroundings(stage.repo)['PATH']}"
    return stage


def calls(stage: Stage) -> list[str]:
    return (stage.repo.path.parent / "shim/calls").read_text().splitlines()


@pytest.mark.long
def test_a_cycle_costs_few_processes_of_git_and_three_runs_of_the_suite(counted: Stage) -> None:
    """Thirty-four with an agent that commits for itself; what tests have disturbed in a small project we see ourselves."""
    parts = calculator()
    for cycle in (1, 3):  # an agent that commits, whatever it has to commit
        parts[f"REFACTOR-{cycle}"] = {"commit": "refactor: no changes needed"}
    counted.play(parts)
    events = counted.repo.path.parent / "events"
    done = counted.run("--events", str(events))
    assert done.code == 0, done
    told = [json.loads(line) for line in events.read_text().splitlines()]
    suites = [event for event in told if event["event"] == "SuiteEnded" and event["purpose"] == "suite"]
    assert len(suites) <= 1 + 3 * 3
    asked = [event for event in told if event["event"] == "SuiteEnded" and event["purpose"] == "probe"]
    probes, started = len(asked), [event for event in asked if not event["warm"]]
    assert len(started) <= 2 * 3, started  # where suites are slow, RED's and GREEN's new test by itself first
    assert probes - len(started) <= 3 * (3 + 7 + 3), asked  # forks: of RED, GREEN and REFACTOR
    three = len(calls(counted))
    (counted.repo.path.parent / "shim/calls").unlink()
    fourth = {"description": "divides", "testFile": "tests/test_calc.py", "implFile": "calc.py"}
    files = {"test-list.md": f"{listed(3)}- [ ] divides\n"}
    say = json.dumps({"currentTest": fourth})
    counted.play({"PLAN-1": {"files": files, "commit": "plan: another case", "say": say}})
    assert counted.run("--approve").code == 4  # that much is needed around the cycles
    none = len(calls(counted))
    assert three - none <= 3 * 34, calls(counted)


@pytest.mark.long
def test_the_baseline_is_measured_once_and_an_unchanged_tree_not_again(counted: Stage) -> None:
    """How many probes there is time for depends on the machine; every start is told, and the suites are few."""
    counter, events = (counted.repo.path.parent / name for name in ("suites", "events"))
    counted.env["TDD_TEST_COMMAND"] = f"echo x >> {counter}; python -m pytest"
    counted.play(calculator(1))
    assert counted.run("--events", str(events)).code == 0
    told = [json.loads(line) for line in events.read_text().splitlines()]
    ended = [event["purpose"] for event in told if event["event"] == "SuiteEnded"]
    assert len(counter.read_text().split()) == len(ended)
    assert ended.count("suite") == 1 + 2  # of RED and GREEN; REFACTOR changes nothing


@pytest.mark.long
def test_a_tree_that_was_judged_is_not_judged_again_after_a_resume(counted: Stage) -> None:
    events = counted.repo.path.parent / "events"
    counted.play(calculator(2))
    assert counted.run("--max-cycles", "1").code == 4
    done = counted.resume("--events", str(events))
    assert done.code == 0, done
    told = [json.loads(line) for line in events.read_text().splitlines()]
    suites = [event for event in told if event["event"] == "SuiteEnded" and event["purpose"] == "suite"]
    assert len(suites) == 3  # RED, GREEN, and a REFACTOR that changes something


@pytest.mark.parametrize(
    "words", [["--help"], ["status"], ["status", "--json"], ["history"], ["run", "--help"]], ids=" ".join
)
def test_commands_that_only_look_load_nothing_heavy(make_repo: MakeRepo, words: list[str]) -> None:
    repo = make_repo(files=GREENFIELD)
    look = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        "from redgreenrefactor.cli.main import main\n"
        f"sys.argv = ['rgr', *{words!r}]\n"
        "main()\n"
    )
    env = {name: value for name, value in surroundings(repo).items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=repo.path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done
    loaded = {name.partition(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}
    assert loaded.isdisjoint(HEAVY)


def test_status_loads_nothing_of_what_lets_agents_work_nor_what_reads_flags(make_repo: MakeRepo) -> None:
    repo = make_repo(files=GREENFIELD)
    look = (
        "import atexit, sys; sys.argv = ['rgr', 'status']\n"
        "sys.addaudithook(lambda what, args: what == 'subprocess.Popen' and print(args[0], file=sys.stderr))\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "from redgreenrefactor.cli.main import main; main()"
    )
    env = {name: value for name, value in surroundings(repo).items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=repo.path, env=env, capture_output=True, text=True, check=True
    )
    *started, modules = done.stderr.splitlines()
    assert started == ["git"] * 4  # where everything lies, settings, objects, and whether there are notes
    assert {"click", "dataclasses", "inspect", "hashlib", "shutil", "datetime"}.isdisjoint(modules.split())
    loaded = {name.partition(".")[2] for name in modules.split() if name.startswith("redgreen")}
    families = {name.partition(".")[0] for name in loaded}
    assert families.isdisjoint({"agents", "config", "loop", "gates", "runners", "surroundings"})
    assert loaded.isdisjoint(
        {"model.events", "model.evidence", "model.task", "model.run_report", "sandbox.cage"}
    )
    assert len(loaded) < 50


def test_a_command_that_takes_a_moment_to_load_says_so_before(tmp_path: Path, env: dict[str, str]) -> None:
    look = (
        "import sys; from importlib.abc import MetaPathFinder\n"
        "class Stop(MetaPathFinder):\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'redgreenrefactor.cli.run': raise SystemExit('loaded')\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from redgreenrefactor.cli.main import main; main()"
    )
    for words, told in (["run", "x"], "rgr run: one moment\n"), (["run", "x", "--quiet"], ""):
        done = subprocess.run(
            [sys.executable, "-c", look, *words],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stdout, done.stderr) == (told, "loaded\n")


def test_importing_the_package_has_no_effects(tmp_path: Path, env: dict[str, str]) -> None:
    look = "import sys, redgreenrefactor; print(len(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_help_loads_nothing_of_ours_but_the_words(tmp_path: Path, env: dict[str, str]) -> None:
    look = (
        "import atexit, sys; sys.argv = ['rgr', '--help']\n"
        "atexit.register(lambda: print(*(n for n in sys.modules if n.startswith('redgreen')), file=sys.stderr))\n"
        "from redgreenrefactor.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert "Commands" in done.stdout
    assert sorted(done.stderr.split()) == [
        "redgreenrefactor",
        "redgreenrefactor.cli",
        "redgreenrefactor.cli.commands",
        "redgreenrefactor.cli.main",
        "redgreenrefactor.errors",
    ]
