"""Commands that do not say what they run."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from redgreenrefactor.model.evidence import Manner, Measure, SuiteRun
from redgreenrefactor.ports import Suite

Run = Callable[..., SuiteRun]
Lay = Callable[[Mapping[str, str]], None]
MakeSuite = Callable[..., Suite]
PYTHON = {"setup.py": "", "test_a.py": "def test_a(): pass\ndef test_b(): pass\n"}
BAD = {"test_b.py": "def test_c(): assert False\n"}
SCRIPT = f"#!/bin/sh\n{sys.executable} -m pytest && exit ${{1:-0}}\n"


class TestExitCode:
    def test_the_exit_code_is_all_there_is(self, run: Run) -> None:
        done = run({}, "echo out; echo err >&2; exit 3")
        assert done.exit_code == 3
        assert done.measure is Measure.EXIT_CODE
        assert done.finished
        assert not done.green
        assert done.results == {}
        assert done.output == "out\n\nerr\n"

    def test_zero_is_green(self, run: Run) -> None:
        assert run({}, "true").green

    def test_a_program_that_cannot_be_started_has_not_finished(self, run: Run) -> None:
        done = run({}, "/nowhere/tests")
        assert done.exit_code == 127
        assert not done.finished

    def test_a_killed_program_has_not_finished(self, run: Run) -> None:
        assert not run({}, "kill -9 $$").finished

    def test_time_can_be_up(self, run: Run) -> None:
        done = run({}, "sleep 600", timeout=0.2)
        assert done.timed_out
        assert not done.finished
        assert not done.green

    def test_chosen_tests_cannot_be_told_apart(self, run: Run) -> None:
        assert run({}, "test $# = 0", tests=["a"], trace=True).green

    def test_nothing_is_said_of_more_than_the_exit_code(self, suite: MakeSuite) -> None:
        made = suite("go test ./...")
        assert made.measure is Measure.EXIT_CODE
        assert made.command == "go test ./..."

    def test_only_the_end_of_a_long_output_is_kept(self, run: Run) -> None:
        done = run({}, "seq 1 10000")
        assert len(done.output) == 8000
        assert done.output.endswith("9999\n10000\n")

    def test_paths_are_those_of_the_persons_own_folder(
        self, suite: MakeSuite, project: Path, tmp_path: Path
    ) -> None:
        checkout = tmp_path / "checkout"
        checkout.mkdir()
        done = suite('echo "at $PWD/a.js"').run(checkout, Manner())
        assert done.output == f"at {project}/a.js\n"

    def test_bytecode_does_not_go_to_the_checkout(self, run: Run, project: Path) -> None:
        assert run({"code_a.py": ""}, f"{sys.executable} -c 'import code_a' && true").green
        assert [path.name for path in project.iterdir()] == ["code_a.py"]


class TestScript:
    def test_a_script_that_runs_pytest_has_a_result_for_every_test(
        self, lay: Lay, project: Path, suite: MakeSuite
    ) -> None:
        lay({**PYTHON, **BAD, "check": SCRIPT})
        made = suite("sh check")
        assert made.measure is Measure.EXIT_CODE
        done = made.run(project)
        assert made.measure is done.measure is Measure.PER_TEST
        assert done.passed == {"test_a.py::test_a", "test_a.py::test_b"}
        assert done.results["test_b.py::test_c"].failed
        assert done.finished

    def test_chosen_tests_can_be_run(self, run: Run) -> None:
        done = run({**PYTHON, "check": SCRIPT}, "sh check", tests=["test_a.py::test_b"])
        assert done.ids == {"test_a.py::test_b"}
        assert done.green

    def test_a_script_that_fails_for_another_reason_has_not_finished(self, run: Run) -> None:
        done = run({**PYTHON, "check": SCRIPT}, "sh check 4")
        assert done.exit_code == 4
        assert not done.finished
        assert not done.green

    def test_a_script_that_swallows_the_exit_code_is_no_cheat(self, run: Run) -> None:
        done = run({**PYTHON, **BAD}, f"{sys.executable} -m pytest || true")
        assert done.exit_code == 0
        assert done.finished
        assert done.tampering == ()
        assert not done.green

    def test_a_script_that_no_longer_runs_pytest_has_not_finished(
        self, lay: Lay, project: Path, suite: MakeSuite
    ) -> None:
        lay({**PYTHON, "check": SCRIPT})
        made = suite("sh check")
        assert made.run(project).green
        lay({"check": "exit 0"})
        done = made.run(project)
        assert done.measure is Measure.PER_TEST
        assert not done.finished
        assert not done.green

    def test_a_script_without_pytest_has_an_exit_code(self, run: Run) -> None:
        done = run({**PYTHON, "check": "exit 0"}, "sh check")
        assert done.measure is Measure.EXIT_CODE
        assert done.green

    def test_a_pytest_that_cannot_load_the_probe_is_run_without_it(
        self, lay: Lay, project: Path, suite: MakeSuite
    ) -> None:
        lay({**PYTHON, "check": f"echo run >> runs\nunset PYTHONPATH\n{sys.executable} -m pytest\n"})
        made = suite("sh check")
        for _ in range(2):
            done = made.run(project)
            assert done.measure is made.measure is Measure.EXIT_CODE
            assert done.green
        assert (project / "runs").read_text() == "run\n" * 3

    def test_another_languages_project_is_not_probed(self, run: Run) -> None:
        done = run({**PYTHON, "go.mod": "", "check": SCRIPT}, "sh check")
        assert done.measure is Measure.EXIT_CODE
        assert done.green
