"""What the suite tells about tests that a real `python -m unittest` runs."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from redgreenrefactor.model.evidence import Kind, Measure, Missing, Place, Status, SuiteRun, TestResult
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.runners.suite_context import SuiteContext

Run = Callable[..., SuiteRun]
UNITTEST = f"{sys.executable} -m unittest"
CALC = "def add(a, b):\n    return a + b\n\ndef later():\n    raise NotImplementedError\n"
KINDS = """\
import unittest

import calc
from tests.shared import Shared


class Heir(Shared, unittest.TestCase):
    pass

class Kinds(unittest.TestCase):
    def test_passes(self):
        self.assertEqual(calc.add(1, 2), 3)

    def test_asserts(self):
        self.assertEqual(calc.add(1, 2), 4)

    def test_does_not_raise(self):
        with self.assertRaises(ValueError):
            calc.add(1, 2)

    def test_misses_an_attribute(self):
        calc.subtract(1)

    def test_misses_an_import(self):
        from calc import subtract

    def test_misses_a_name(self):
        subtract(1)

    def test_is_not_implemented(self):
        calc.later()

    def test_raises(self):
        {}["key"]

    def test_exits(self):
        raise SystemExit(3)

    def test_parts(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)

    def test_good_parts(self):
        with self.subTest():
            pass

    def test_skipped_parts(self):
        for number in range(2):
            with self.subTest(number=number):
                self.skipTest("part")

    def test_skips(self):
        self.skipTest("not now")

    @unittest.skip("never")
    def test_is_skipped(self):
        pass

    @unittest.expectedFailure
    def test_is_expected_to_fail(self):
        self.fail()

    @unittest.expectedFailure
    def test_passes_unexpectedly(self):
        pass

class WithoutSetUp(unittest.TestCase):
    def setUp(self):
        self.fail("set-up")

    def test_a(self):
        pass

class WithoutTearDown(unittest.TestCase):
    def tearDown(self):
        raise KeyError("tear-down")

    def test_a(self):
        pass

class WithoutClassSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise KeyError("set-up")

    def test_a(self):
        pass

    def test_b(self):
        pass

class WithSkippedClassSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("class")

    def test_a(self):
        pass

class WithoutClassTearDown(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        raise KeyError("tear-down")

    def test_a(self):
        pass

    def test_b(self):
        pass

class Waiting(unittest.IsolatedAsyncioTestCase):
    async def test_waits(self):
        self.assertEqual(1, 2)
"""
SHARED = "class Shared:\n    def test_shared(self):\n        self.fail('shared')\n"
MODULE = """\
import unittest

def setUpModule():
    raise KeyError("set-up")

class A(unittest.TestCase):
    def test_a(self): pass
"""
FILES = {
    "calc.py": CALC,
    "tests/__init__.py": "",
    "tests/shared.py": SHARED,
    "tests/test_kinds.py": KINDS,
    "tests/test_module.py": MODULE,
    "tests/test_skip.py": "import unittest\nraise unittest.SkipTest('all of it')",
    "tests/test_missing.py": "import calculus",
    "tests/test_name.py": "from calc import subtract",
    "tests/test_syntax.py": "\ndef f(:",
    "tests/test_level.py": "x = 1\nx / 0",
    "tests/test_leaves.py": "import sys\nsys.exit(0)",
    "tests/test_load.py": "def load_tests(loader, tests, pattern): raise KeyError('load')",
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> SuiteRun:
    """Return one run of tests of every kind."""
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "tests").mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    env = {"PATH": os.environ["PATH"]}
    return suite_for(UNITTEST, SuiteContext(project=folder, env=env, timeout=120, cache=cache)).run(folder)


def of(run: SuiteRun, name: str) -> TestResult:
    return run.results[f"tests.{name}"]


@pytest.mark.parametrize(
    ("name", "status", "kind", "exception"),
    [
        ("Kinds.test_passes", Status.PASSED, None, ""),
        ("Kinds.test_asserts", Status.FAILED, Kind.ASSERTION, "AssertionError"),
        ("Kinds.test_does_not_raise", Status.FAILED, Kind.ASSERTION, "AssertionError"),
        ("Kinds.test_misses_an_attribute", Status.FAILED, Kind.MISSING, "AttributeError"),
        ("Kinds.test_misses_an_import", Status.FAILED, Kind.MISSING, "ImportError"),
        ("Kinds.test_misses_a_name", Status.FAILED, Kind.MISSING, "NameError"),
        ("Kinds.test_is_not_implemented", Status.FAILED, Kind.NOT_IMPLEMENTED, "NotImplementedError"),
        ("Kinds.test_raises", Status.FAILED, Kind.EXCEPTION, "KeyError"),
        ("Kinds.test_exits", Status.FAILED, Kind.EXIT, "SystemExit"),
        ("Kinds.test_parts", Status.FAILED, Kind.ASSERTION, "AssertionError"),
        ("Kinds.test_good_parts", Status.PASSED, None, ""),
        ("Kinds.test_skipped_parts", Status.SKIPPED, None, ""),
        ("Kinds.test_skips", Status.SKIPPED, None, ""),
        ("Kinds.test_is_skipped", Status.SKIPPED, None, ""),
        ("Kinds.test_is_expected_to_fail", Status.XFAILED, Kind.ASSERTION, "AssertionError"),
        ("Kinds.test_passes_unexpectedly", Status.FAILED, Kind.EXCEPTION, ""),
        ("WithoutSetUp.test_a", Status.ERROR, Kind.SETUP, "AssertionError"),
        ("WithoutTearDown.test_a", Status.ERROR, Kind.SETUP, "KeyError"),
        ("WithoutClassSetUp.test_a", Status.ERROR, Kind.SETUP, "KeyError"),
        ("WithoutClassSetUp.test_b", Status.ERROR, Kind.SETUP, "KeyError"),
        ("WithSkippedClassSetUp.test_a", Status.SKIPPED, None, ""),
        ("WithoutClassTearDown.test_a", Status.PASSED, None, ""),
        ("WithoutClassTearDown.test_b", Status.ERROR, Kind.SETUP, "KeyError"),
        ("Waiting.test_waits", Status.FAILED, Kind.ASSERTION, "AssertionError"),
        ("Heir.test_shared", Status.FAILED, Kind.ASSERTION, "AssertionError"),
    ],
)
def test_every_test_has_a_status_and_a_kind(
    kinds: SuiteRun, name: str, status: Status, kind: Kind | None, exception: str
) -> None:
    result = of(kinds, f"test_kinds.{name}")
    assert (result.status, result.kind, result.exception) == (status, kind, exception)


def test_a_module_that_is_not_set_up_fails_its_tests(kinds: SuiteRun) -> None:
    assert of(kinds, "test_module.A.test_a").kind is Kind.SETUP


def test_what_was_not_found_is_named(kinds: SuiteRun) -> None:
    assert of(kinds, "test_kinds.Kinds.test_misses_an_import").missing == Missing("subtract", "calc")


def test_every_test_tells_where_it_is_defined(kinds: SuiteRun) -> None:
    result = of(kinds, "test_kinds.Kinds.test_passes")
    assert (result.file, result.function, result.line) == ("tests/test_kinds.py", "Kinds.test_passes", 11)
    heir = of(kinds, "test_kinds.Heir.test_shared")
    assert (heir.file, heir.defined_in, heir.function, heir.line) == (
        "tests/test_kinds.py",
        "tests/shared.py",
        "Shared.test_shared",
        2,
    )


def test_the_traceback_leads_from_the_test_into_the_code(kinds: SuiteRun) -> None:
    frames = of(kinds, "test_kinds.Kinds.test_is_not_implemented").frames
    assert [(frame.file, frame.function) for frame in frames] == [
        ("tests/test_kinds.py", "test_is_not_implemented"),
        ("calc.py", "later"),
    ]


def test_files_that_cannot_be_loaded_tell_why(kinds: SuiteRun) -> None:
    assert {error.file: (error.exception, error.place, error.missing) for error in kinds.errors} == {
        "tests/test_missing.py": (
            "ModuleNotFoundError",
            Place("tests/test_missing.py", 1, "<module>"),
            Missing("calculus"),
        ),
        "tests/test_name.py": (
            "ImportError",
            Place("tests/test_name.py", 1, "<module>"),
            Missing("subtract", "calc"),
        ),
        "tests/test_syntax.py": ("SyntaxError", Place("tests/test_syntax.py", 2), None),
        "tests/test_level.py": ("ZeroDivisionError", Place("tests/test_level.py", 2, "<module>"), None),
        "tests/test_leaves.py": ("SystemExit", Place("tests/test_leaves.py", 2, "<module>"), None),
        "tests/test_load.py": ("KeyError", Place("tests/test_load.py", 1, "load_tests"), None),
    }


def test_nothing_of_ours_shows(kinds: SuiteRun) -> None:
    assert all(name.startswith("tests.") for name in kinds.ids)
    assert "anary" not in kinds.output
    assert "rgr" not in kinds.output
    assert kinds.tampering == ()
    assert kinds.finished
    assert kinds.exit_code == 1
    assert kinds.measure is Measure.PER_TEST


GREEN = (
    "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): pass\n"
)
BAD = "import unittest, code_a\nclass A(unittest.TestCase):\n    def test_a(self): self.assertEqual(code_a.one(), 1)\n"
ONE = "test_a.A.test_a"


def test_a_run_without_failures_is_green(run: Run) -> None:
    done = run({"test_a.py": GREEN}, UNITTEST)
    assert done.green
    assert done.exit_code == 0
    assert done.passed == {"test_a.A.test_a", "test_a.A.test_b"}
    assert "Ran 2 tests" in done.output


@pytest.mark.parametrize(
    "options",
    [
        " -v",
        " -q",
        " -f",
        " -b",
        " discover",
        " discover -s . -p 'test*.py'",
        " test_a",
        " test_a.A",
        " test_a.A.test_a",
    ],
)
def test_the_arguments_of_the_command_count(run: Run, options: str) -> None:
    done = run({"test_a.py": BAD, "code_a.py": "def one(): return 0"}, UNITTEST + options)
    assert done.results[ONE].kind is Kind.ASSERTION
    assert done.ids == {ONE}
    assert done.finished
    assert "anary" not in done.output


def test_the_first_failure_does_not_end_the_run(run: Run) -> None:
    tests = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): self.fail()\n    def test_b(self): pass\n"
    done = run({"test_a.py": tests}, f"{UNITTEST} -f")
    assert done.passed == {"test_a.A.test_b"}
    assert done.finished


def test_a_run_that_was_asked_wrongly_has_not_finished(run: Run) -> None:
    done = run({"test_a.py": GREEN}, f"{UNITTEST} --nonsense")
    assert not done.finished
    assert done.exit_code == 2


@pytest.mark.parametrize(
    ("name", "file", "exception"),
    [
        ("test_broken", "test_broken.py", "SyntaxError"),
        ("test_missing", "test_missing.py", "ModuleNotFoundError"),
        ("nowhere", "nowhere", "ModuleNotFoundError"),
        ("test_a.B", "B", "AttributeError"),
    ],
)
def test_a_module_that_is_asked_for_by_name_and_cannot_be_loaded_is_an_error(
    run: Run, name: str, file: str, exception: str
) -> None:
    files = {"test_broken.py": "def f(:", "test_missing.py": "import calculus", "test_a.py": GREEN}
    done = run(files, f"{UNITTEST} {name}")
    assert [(error.file, error.exception) for error in done.errors] == [(file, exception)]
    assert not done.green


class TestSelection:
    FILES: Mapping[str, str] = {
        "test_a.py": GREEN,
        "test_b.py": "open('imported', 'w').close()\n" + GREEN,
        "test_broken.py": "import calculus",
        "deep/__init__.py": "",
        "deep/test_c.py": GREEN,
    }

    @pytest.mark.parametrize(
        ("tests", "ids"),
        [
            (["test_a.A.test_a"], {"test_a.A.test_a"}),
            (["test_a.A"], {"test_a.A.test_a", "test_a.A.test_b"}),
            (["deep.test_c.A.test_b", "test_a.A.test_b"], {"deep.test_c.A.test_b", "test_a.A.test_b"}),
            (["test_a.A.test_nothing"], set[str]()),
            (["nowhere.A.test_a"], set[str]()),
        ],
    )
    def test_only_the_chosen_tests_are_run(
        self, run: Run, project: Path, tests: list[str], ids: set[str]
    ) -> None:
        done = run(self.FILES, UNITTEST, tests)
        assert done.ids == ids
        assert done.finished
        assert done.errors == ()
        assert not (project / "imported").exists()

    def test_a_file_that_the_command_names_need_not_be_chosen(self, run: Run) -> None:
        done = run(self.FILES, f"{UNITTEST} test_broken test_b test_a", ["test_a.A.test_b"])
        assert done.ids == {"test_a.A.test_b"}
        assert done.errors == ()

    def test_a_chosen_file_that_cannot_be_loaded_is_an_error(self, run: Run) -> None:
        done = run(self.FILES, UNITTEST, ["test_broken.A.test_a"])
        assert [error.file for error in done.errors] == ["test_broken.py"]


def test_the_lines_that_a_test_executes_are_told(run: Run) -> None:
    files = {"test_a.py": BAD, "code_a.py": "def one():\n    return 1\n\ndef two():\n    return 2\n"}
    assert run(files, UNITTEST).executed == {}
    done = run(files, UNITTEST, [ONE], trace=True)
    assert done.executed == {"test_a.py": {3}, "code_a.py": {2}}


PATCH = "import unittest\nunittest.TestCase.{name} = lambda self, *args, **more: None\ndef one(): return 0\n"


@pytest.mark.parametrize("name", ["assertEqual", "_baseAssertEqual", "_callTestMethod"])
def test_code_that_patches_the_runner_is_noticed(run: Run, name: str) -> None:
    done = run({"test_a.py": BAD, "code_a.py": PATCH.format(name=name)}, UNITTEST)
    assert done.tampering


def test_tests_that_are_never_called_are_no_finished_run(run: Run) -> None:
    done = run({"test_a.py": BAD, "code_a.py": PATCH.format(name="run")}, UNITTEST)
    assert not done.finished
    assert not done.passed


def test_an_exit_code_that_does_not_fit_is_noticed(run: Run) -> None:
    code = "import atexit, os\natexit.register(os._exit, 0)\ndef one(): return 0"
    done = run({"test_a.py": BAD, "code_a.py": code}, UNITTEST)
    assert done.tampering == ("The runner exited with 0, although tests failed.",)


@pytest.mark.parametrize(
    ("code", "running"),
    [
        ("import os\nos._exit(0)", None),
        ("import os\ndef one(): os._exit(0)", ONE),
        ("def one(): raise KeyboardInterrupt", ONE),
    ],
    ids=["os._exit at import", "os._exit", "KeyboardInterrupt"],
)
def test_a_runner_that_is_ended_early_has_not_finished(run: Run, code: str, running: str | None) -> None:
    done = run({"test_a.py": BAD, "code_a.py": code}, UNITTEST)
    assert not done.finished
    assert done.cut_off == running
    assert not done.passed
    assert done.errors == ()


def test_the_tests_see_the_environment_as_it_was(run: Run) -> None:
    tests = """\
import os, sys, unittest

class A(unittest.TestCase):
    def test_environment(self):
        self.assertEqual([name for name in os.environ if "RGR" in name], [])
        self.assertEqual([path for path in sys.path if "probes" in path], [])
        self.assertEqual(sys.path[0], os.getcwd())
        self.assertEqual(sys.argv[1:], ["-v"])
"""
    assert run({"test_a.py": tests}, f"{UNITTEST} -v").green


def test_a_command_behind_another_is_probed_too(run: Run) -> None:
    done = run({"sub/test_a.py": GREEN}, f"cd sub && {UNITTEST} -q")
    assert done.results[ONE].file == "sub/test_a.py"
    assert done.green


def test_what_serves_each_test_is_told_and_suites_of_its_own_stay(run: Run) -> None:
    base = (
        "from unittest import TestCase\n\nclass Base(TestCase):\n    def setUp(self):\n        pass\n\n"
        "    def same(self, a, b):\n        self.assertEqual(a, b)\n"
    )
    test = (
        "import unittest\n\nimport calc\nfrom tests.base import Base\n\nclass Own(unittest.TestSuite):\n"
        "    def run(self, result, debug=False):\n        calc.add = lambda a, b: 5\n        return super().run(result, debug)\n\n"
        "def load_tests(loader, tests, pattern):\n    return Own(tests)\n\ndef setUpModule():\n    pass\n\n"
        "class It(Base):\n    def setUp(self):\n        pass\n\n    def test_it(self):\n        self.same(calc.add(1, 2), 5)\n"
    )
    files = {"calc.py": CALC, "tests/__init__.py": "", "tests/base.py": base, "tests/test_it.py": test}
    for chosen in ((), ("tests.test_it.It.test_it",)):
        (result,) = run(files, UNITTEST, tests=chosen).results.values()
        assert result.passed, result.message
        assert {(hook.name, hook.file) for hook in result.around} == {
            ("set-up load_tests", "tests/test_it.py"),
            ("set-up setUpModule", "tests/test_it.py"),
            ("set-up setUp", "tests/test_it.py"),
            ("set-up setUp of a base", "tests/base.py"),
            ("set-up same", "tests/base.py"),
            ("calc.add", "tests/test_it.py"),
        }
