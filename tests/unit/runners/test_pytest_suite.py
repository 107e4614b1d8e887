"""What the suite tells about tests that a real pytest runs."""

import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from redgreenrefactor.errors import InterruptedRunError, NotReadyError
from redgreenrefactor.model.evidence import (
    Kind,
    Manner,
    Measure,
    Missing,
    Place,
    Reach,
    Status,
    SuiteRun,
    TestResult,
)
from redgreenrefactor.ports import Suite
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.runners.suite_context import RUNS, SuiteContext
from redgreenrefactor.sandbox.process import Interrupt

Run = Callable[..., SuiteRun]
Lay = Callable[[Mapping[str, str]], None]
PYTEST = f"{sys.executable} -m pytest"

CALC = """\
def add(a, b):
    return a + b

def later():
    raise NotImplementedError

class Box:
    pass
"""
KINDS = """\
import unittest.mock

import pytest

import calc
from shared import Shared, test_borrowed


def test_passes():
    assert calc.add(1, 2) == 3

def test_asserts():
    assert calc.add(1, 2) == 4

def test_fails():
    pytest.fail("not good")

def test_does_not_raise():
    with pytest.raises(ValueError):
        calc.add(1, 2)

def test_misses_an_attribute():
    calc.subtract(1)

def test_misses_a_method():
    calc.Box().open()

def test_misses_something_of_none():
    None.anything

def test_misses_what_it_patches():
    unittest.mock.patch("calc.subtract").start()

def test_misses_what_it_patches_in_a_class():
    unittest.mock.patch("calc.Box.close").start()

def test_misses_what_it_sets(monkeypatch):
    monkeypatch.setattr("calc.subtract", 1)

def test_misses_a_name():
    subtract(1)

def test_misses_an_import():
    from calc import subtract

def test_misses_a_module():
    import calculus.deep

def test_misses_for_a_reason():
    try:
        import calculus
    except ImportError as error:
        raise RuntimeError("no calculus") from error

def test_is_unbound():
    value += 1

def test_is_not_implemented():
    calc.later()

def test_evaluates_bad_syntax():
    eval("1 +")

def test_raises():
    {}["key"]

def test_exits():
    raise SystemExit(3)

def test_fails_in_two_ways():
    raise ExceptionGroup("two", [AssertionError("one"), ExceptionGroup("more", [AssertionError("two")])])

def test_fails_and_errs():
    raise ExceptionGroup("two", [AssertionError("one"), KeyError("two")])

def test_carries_nothing():
    class BaseExceptionGroup(Exception):
        pass
    raise BaseExceptionGroup("empty")

def test_reads_what_was_not_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    open("report.txt")

def test_reads_what_is_not_there():
    open("report.txt")

def test_reads_in_a_folder_that_is_gone(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    open("report.txt")

def test_has_no_message():
    class Mute(Exception):
        def __str__(self):
            raise ValueError
    raise Mute

def test_does_not_like_to_be_asked():
    class Shy(AttributeError):
        @property
        def name(self):
            raise ValueError
        obj = name
    raise Shy("shy")

def test_tells_nonsense():
    raise ImportError("nonsense", name=object())

def test_says_a_lot():
    raise ValueError("x" * 5000)

def test_is_deep():
    def fall(n):
        fall(n + 1)
    fall(0)

def test_lacks_a_fixture(nothing):
    pass

@pytest.fixture
def broken():
    assert False, "set-up"

def test_is_not_set_up(broken):
    pass

@pytest.fixture
def leaky():
    yield
    raise ValueError("tear-down")

def test_is_not_torn_down(leaky):
    pass

def test_fails_and_is_not_torn_down(leaky):
    assert False, "own"

def test_skips():
    pytest.skip("not now")

@pytest.mark.skip(reason="never")
def test_is_skipped():
    pass

@pytest.mark.xfail
def test_is_expected_to_fail():
    assert False

@pytest.mark.xfail
def test_passes_unexpectedly():
    pass

@pytest.mark.xfail(strict=True, reason="wait")
def test_may_not_pass():
    pass

@pytest.mark.parametrize("value", [1, 2])
@pytest.mark.parametrize("name", ["a[b]"])
def test_takes_values(name, value):
    assert value == 1

class TestBox:
    def test_method(self):
        pass

    class TestInner:
        def test_method(self):
            assert False

class TestHeir(TestBox):
    pass

class TestSharing(Shared):
    pass

class OldTest(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(calc.add(1, 1), 3)

    def test_parts(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)

    def test_skip(self):
        self.skipTest("old")

    @unittest.expectedFailure
    def test_expected(self):
        self.fail()

    @unittest.expectedFailure
    def test_unexpected(self):
        pass

class OldTestWithoutSetUp(unittest.TestCase):
    def setUp(self):
        raise KeyError("set-up")

    def test_nothing(self):
        pass

async def test_waits():
    pass
"""
SHARED = """\
class Shared:
    def test_shared(self):
        assert False

def test_borrowed():
    pass
"""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> SuiteRun:
    """Return one run of tests of every kind."""
    folder = tmp_path_factory.mktemp("kinds")
    for name, text in {"calc.py": CALC, "tests/test_kinds.py": KINDS, "tests/shared.py": SHARED}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    env = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return suite_for(PYTEST, SuiteContext(project=folder, env=env, timeout=120, cache=cache)).run(folder)


def of(run: SuiteRun, name: str) -> TestResult:
    return run.results[f"tests/test_kinds.py::{name}"]


def test_a_parameter_set_that_goes_by_its_number_is_told_by_what_it_holds(
    tmp_path: Path, cache: Path
) -> None:
    (tmp_path / "test_rows.py").write_text(
        "import datetime\nimport json\n\nimport pytest\n\n\n"
        "class Money:\n    def __init__(self, amount):\n        self.amount = amount\n\n\n"
        "class Odd:\n    __slots__ = ()\n\n    def __repr__(self):\n        raise ValueError\n\n\n"
        "DAYS = [datetime.date(2026, 1, day) for day in (1, 2, 1)]\n"
        "ROWS = [[1], [2], [1], Money(1), Money(2), Money(1), *DAYS, len, lambda: 1, lambda: 2, {1}, json, object()]\n\n\n"
        '@pytest.mark.parametrize("row", [*ROWS, Odd(), 1, "a"])\n'
        "def test_it(row):\n    assert row\n"
    )
    env = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = suite_for(PYTEST, SuiteContext(project=tmp_path, env=env, timeout=120, cache=cache)).run(tmp_path)
    given = [result.given for result in run.results.values()]
    told, (odd, number, text) = given[:-3], given[-3:]
    assert (odd, number, text) == ("", "", "")
    same = [told[start] == told[start + 2] for start in (0, 3, 6)]
    assert same == [True, True, True]
    assert len(set(told)) == len(told) - 3


@pytest.mark.parametrize(
    ("name", "status", "kind", "exception"),
    [
        ("test_passes", Status.PASSED, None, ""),
        ("test_asserts", Status.FAILED, Kind.ASSERTION, "AssertionError"),
        ("test_fails", Status.FAILED, Kind.ASSERTION, "Failed"),
        ("test_does_not_raise", Status.FAILED, Kind.ASSERTION, "Failed"),
        ("test_misses_an_attribute", Status.FAILED, Kind.MISSING, "AttributeError"),
        ("test_misses_a_name", Status.FAILED, Kind.MISSING, "NameError"),
        ("test_misses_an_import", Status.FAILED, Kind.MISSING, "ImportError"),
        ("test_misses_a_module", Status.FAILED, Kind.MISSING, "ModuleNotFoundError"),
        ("test_misses_for_a_reason", Status.FAILED, Kind.EXCEPTION, "RuntimeError"),
        ("test_is_unbound", Status.FAILED, Kind.EXCEPTION, "UnboundLocalError"),
        ("test_is_not_implemented", Status.FAILED, Kind.NOT_IMPLEMENTED, "NotImplementedError"),
        ("test_evaluates_bad_syntax", Status.FAILED, Kind.SYNTAX, "SyntaxError"),
        ("test_raises", Status.FAILED, Kind.EXCEPTION, "KeyError"),
        ("test_exits", Status.FAILED, Kind.EXIT, "SystemExit"),
        ("test_fails_in_two_ways", Status.FAILED, Kind.ASSERTION, "AssertionError"),
        ("test_fails_and_errs", Status.FAILED, Kind.EXCEPTION, "KeyError"),
        ("test_carries_nothing", Status.FAILED, Kind.EXCEPTION, "BaseExceptionGroup"),
        ("test_reads_what_was_not_written", Status.FAILED, Kind.UNWRITTEN, "FileNotFoundError"),
        ("test_reads_what_is_not_there", Status.FAILED, Kind.EXCEPTION, "FileNotFoundError"),
        ("test_reads_in_a_folder_that_is_gone", Status.FAILED, Kind.EXCEPTION, "FileNotFoundError"),
        ("test_lacks_a_fixture", Status.ERROR, Kind.SETUP, "FixtureLookupError"),
        ("test_is_not_set_up", Status.ERROR, Kind.SETUP, "AssertionError"),
        ("test_is_not_torn_down", Status.ERROR, Kind.SETUP, "ValueError"),
        ("test_fails_and_is_not_torn_down", Status.FAILED, Kind.ASSERTION, "AssertionError"),
        ("test_skips", Status.SKIPPED, None, ""),
        ("test_is_skipped", Status.SKIPPED, None, ""),
        ("test_is_expected_to_fail", Status.XFAILED, Kind.ASSERTION, "AssertionError"),
        ("test_passes_unexpectedly", Status.XPASSED, None, ""),
        ("test_may_not_pass", Status.FAILED, Kind.EXCEPTION, ""),
        ("test_takes_values[a[b]-1]", Status.PASSED, None, ""),
        ("test_takes_values[a[b]-2]", Status.FAILED, Kind.ASSERTION, "AssertionError"),
        ("OldTest::test_equal", Status.FAILED, Kind.ASSERTION, "AssertionError"),
        ("OldTest::test_parts", Status.FAILED, Kind.ASSERTION, "AssertionError"),
        ("OldTest::test_skip", Status.SKIPPED, None, ""),
        ("OldTest::test_expected", Status.XFAILED, None, ""),
        ("OldTest::test_unexpected", Status.FAILED, Kind.EXCEPTION, "Failed"),
        ("OldTestWithoutSetUp::test_nothing", Status.ERROR, Kind.SETUP, "KeyError"),
        ("test_waits", Status.FAILED, Kind.EXCEPTION, "Failed"),
    ],
)
def test_every_test_has_a_status_and_a_kind(
    kinds: SuiteRun, name: str, status: Status, kind: Kind | None, exception: str
) -> None:
    result = of(kinds, name)
    assert (result.status, result.kind, result.exception) == (status, kind, exception)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("test_misses_an_attribute", Missing("subtract", "calc")),
        ("test_misses_a_method", Missing("open", "Box")),
        ("test_misses_something_of_none", Missing("anything", "NoneType")),
        ("test_misses_what_it_patches", Missing("subtract", "calc")),
        ("test_misses_what_it_patches_in_a_class", Missing("close", "calc.Box")),
        ("test_misses_what_it_sets", Missing("subtract", "calc")),
        ("test_misses_a_name", Missing("subtract")),
        ("test_misses_an_import", Missing("subtract", "calc")),
        ("test_misses_a_module", Missing("calculus")),
        ("test_misses_for_a_reason", Missing("calculus")),
        ("test_is_unbound", None),
        ("test_raises", None),
        ("test_does_not_like_to_be_asked", None),
        ("test_tells_nonsense", None),
    ],
)
def test_what_was_not_found_is_named(kinds: SuiteRun, name: str, missing: Missing | None) -> None:
    assert of(kinds, name).missing == missing


@pytest.mark.parametrize(
    ("name", "function", "defined_in"),
    [
        ("test_passes", "test_passes", ""),
        ("test_takes_values[a[b]-1]", "test_takes_values", ""),
        ("TestBox::test_method", "TestBox.test_method", ""),
        ("TestBox::TestInner::test_method", "TestBox.TestInner.test_method", ""),
        ("TestHeir::test_method", "TestBox.test_method", ""),
        ("TestSharing::test_shared", "Shared.test_shared", "tests/shared.py"),
        ("test_borrowed", "test_borrowed", "tests/shared.py"),
        ("OldTest::test_equal", "OldTest.test_equal", ""),
    ],
)
def test_every_test_tells_where_it_is_defined(
    kinds: SuiteRun, name: str, function: str, defined_in: str
) -> None:
    result = of(kinds, name)
    assert (result.file, result.function, result.defined_in) == ("tests/test_kinds.py", function, defined_in)
    lines = (SHARED if defined_in else KINDS).splitlines()
    definition = lines[result.line - 1 :]
    assert any(function.rpartition(".")[2] in line for line in definition[:3])


def test_the_traceback_leads_from_the_test_into_the_code(kinds: SuiteRun) -> None:
    frames = of(kinds, "test_is_not_implemented").frames
    line = KINDS.splitlines().index("    calc.later()") + 1
    assert frames == (
        Place("tests/test_kinds.py", line, "test_is_not_implemented"),
        Place("calc.py", 5, "later"),
    )


def test_a_long_traceback_keeps_both_ends(kinds: SuiteRun) -> None:
    result = of(kinds, "test_is_deep")
    assert result.exception == "RecursionError"
    assert len(result.frames) == 30
    assert result.frames[0].function == "test_is_deep"
    assert result.frames[-1].function == "fall"


def test_messages_are_kept_within_bounds(kinds: SuiteRun) -> None:
    assert of(kinds, "test_asserts").message.startswith("assert 3 == 4")
    assert of(kinds, "test_says_a_lot").message == "x" * 2000
    assert "Mute" in of(kinds, "test_has_no_message").message
    assert of(kinds, "test_skips").message == "not now"
    assert of(kinds, "test_lacks_a_fixture").message == "fixture 'nothing' not found"
    assert "wait" in of(kinds, "test_may_not_pass").message


def test_of_a_test_with_parts_the_broken_one_tells(kinds: SuiteRun) -> None:
    assert of(kinds, "OldTest::test_parts").message == "1 == 1"


def test_nothing_of_ours_shows(kinds: SuiteRun) -> None:
    assert not [name for name in kinds.ids if "canary" in name]
    assert "canary" not in kinds.output
    assert "rgr" not in kinds.output
    assert kinds.tampering == ()


def test_canaries_do_not_count(run: Run) -> None:
    for options in ("", " -v"):
        done = run({"test_a.py": "def test_a(): pass"}, PYTEST + options)
        assert "collected 1 item" in done.output
        assert "[100%]" in done.output
        assert "1 passed in" in done.output
        assert "canary" not in done.output


def test_a_run_with_failures_is_finished_and_not_green(kinds: SuiteRun) -> None:
    assert kinds.finished
    assert kinds.exit_code == 1
    assert not kinds.green
    assert kinds.seconds > 0
    assert kinds.measure is Measure.PER_TEST


def test_a_run_without_failures_is_green(run: Run) -> None:
    done = run({"test_a.py": "def test_a(): pass\ndef test_b(): pass"})
    assert done.green
    assert done.exit_code == 0
    assert done.passed == {"test_a.py::test_a", "test_a.py::test_b"}


def test_a_run_without_tests_is_finished_and_empty(run: Run) -> None:
    done = run({"code.py": ""})
    assert done.finished
    assert done.exit_code == 5
    assert done.results == {}


BROKEN = {
    "calc.py": CALC,
    "broken.py": "import calculus",
    "conftest.py": "",
    "tests/test_module.py": "import calculus",
    "tests/test_name.py": "from calc import subtract",
    "tests/test_syntax.py": "\ndef f(:",
    "tests/test_level.py": "x = 1\nx / 0",
    "tests/test_deep.py": "import broken",
    "tests/test_stop.py": "import unittest\nclass A(unittest.TestCase):\n    value = 1 / 0",
    "tests/test_said_again.py": (
        "try:\n    import calculus\nexcept ImportError:\n    raise ImportError('write it first') from None"
    ),
    "tests/test_fine.py": "def test_fine(): pass",
    "sub/test_twin.py": "def test_twin(): pass",
    "other/test_twin.py": "def test_twin(): pass",
    "deep/conftest.py": "import calculus",
    "deep/test_deep_down.py": "def test_d(): pass",
}


def test_files_that_cannot_be_collected_tell_why_and_keep_nobody_from_running(run: Run) -> None:
    done = run(BROKEN)
    errors = {error.file: error for error in done.errors}
    assert {file: (error.exception, error.place, error.missing) for file, error in errors.items()} == {
        "tests/test_module.py": (
            "ModuleNotFoundError",
            Place("tests/test_module.py", 1, "<module>"),
            Missing("calculus"),
        ),
        "tests/test_name.py": (
            "ImportError",
            Place("tests/test_name.py", 1, "<module>"),
            Missing("subtract", "calc"),
        ),
        "tests/test_said_again.py": (
            "ImportError",
            Place("tests/test_said_again.py", 4, "<module>"),
            Missing("calculus"),
        ),
        "tests/test_syntax.py": ("SyntaxError", Place("tests/test_syntax.py", 2), None),
        "tests/test_level.py": ("ZeroDivisionError", Place("tests/test_level.py", 2, "<module>"), None),
        "tests/test_deep.py": ("ModuleNotFoundError", Place("broken.py", 1, "<module>"), Missing("calculus")),
        "tests/test_stop.py": ("ZeroDivisionError", Place("tests/test_stop.py", 3, "A"), None),
        "sub/test_twin.py": ("CollectError", None, None),
        "deep/conftest.py": (
            "ModuleNotFoundError",
            Place("deep/conftest.py", 1, "<module>"),
            Missing("calculus"),
        ),
    }
    assert "division by zero" in errors["tests/test_level.py"].message
    assert "import file mismatch" in errors["sub/test_twin.py"].message
    assert done.passed == {"tests/test_fine.py::test_fine", "other/test_twin.py::test_twin"}
    assert done.finished
    assert not done.green


def test_a_conftest_that_cannot_be_loaded_is_told_of(run: Run) -> None:
    done = run({"conftest.py": "import calculus", "test_a.py": "def test_a(): pass"})
    assert [(error.file, error.missing) for error in done.errors] == [("conftest.py", Missing("calculus"))]
    assert not done.finished
    assert not done.green


def test_a_module_that_skips_itself_has_no_tests(run: Run) -> None:
    done = run({"test_a.py": "import pytest\npytest.importorskip('nothing')\ndef test_a(): pass"})
    assert done.errors == ()
    assert done.results == {}


def test_a_function_that_is_defined_twice_is_one_test(run: Run) -> None:
    done = run({"test_a.py": "def test_a(): assert False\ndef test_a(): pass"})
    assert done.passed == {"test_a.py::test_a"}
    assert done.results["test_a.py::test_a"].line == 2


def test_decorated_tests_are_defined_where_they_stand(run: Run) -> None:
    decorators = """\
import functools

def plain(function):
    def inner():
        return function()
    return inner

def wrapped(function):
    @functools.wraps(function)
    def inner():
        return function()
    return inner
"""
    tests = """\
from decorators import plain, wrapped

@plain
def test_plain():
    assert False

@wrapped
def test_wrapped():
    assert False
"""
    done = run({"decorators.py": decorators, "test_a.py": tests})
    plain, wrapped = done.results["test_a.py::test_plain"], done.results["test_a.py::test_wrapped"]
    assert (plain.function, plain.defined_in) == ("test_plain", "")
    assert (wrapped.function, wrapped.defined_in, wrapped.line) == ("test_wrapped", "", 7)


def test_parts_of_a_test_that_the_fixture_makes_count_too(run: Run) -> None:
    tests = """\
def test_parts(subtests):
    for number in range(3):
        with subtests.test(number=number):
            assert number != 1

def test_good_parts(subtests):
    with subtests.test():
        pass
"""
    done = run({"test_a.py": tests})
    assert done.results["test_a.py::test_parts"].status is Status.FAILED
    assert done.results["test_a.py::test_parts"].message == "assert 1 != 1"
    assert done.passed == {"test_a.py::test_good_parts"}


def test_doctests_are_tests_too(run: Run) -> None:
    good, bad, worse = (
        f'"""\n{example}\n"""\n' for example in (">>> 1 + 1\n2", ">>> 1 + 1\n3", ">>> bad()\n3")
    )
    files = {"good.py": good, "bad.py": bad, "worse.py": worse}
    done = run(files, f"{PYTEST} --doctest-modules --doctest-continue-on-failure")
    assert done.passed == {"good.py::good"}
    assert done.results["bad.py::bad"].kind is Kind.ASSERTION
    assert done.results["bad.py::bad"].message == "1 + 1 gave 2, not 3"
    assert done.results["worse.py::worse"].exception == "NameError"
    assert done.tampering == ()


class TestSelection:
    FILES: Mapping[str, str] = {
        "tests/__init__.py": "",
        "tests/test_a.py": """\
import pytest

def test_one(): pass

@pytest.mark.parametrize("x", [1, 2])
def test_two(x): pass

class TestBox:
    def test_in(self): pass
    def test_out(self): pass
""",
        "tests/test_b.py": "open('imported', 'w').close()\ndef test_b(): pass",
        "tests/deep/test_c.py": "def test_c(): pass",
        "tests/test_broken.py": "import calculus",
    }

    @pytest.mark.parametrize(
        ("tests", "ids"),
        [
            (["tests/test_a.py::test_one"], {"test_one"}),
            (["tests/test_a.py::test_two"], {"test_two[1]", "test_two[2]"}),
            (["tests/test_a.py::test_two[2]"], {"test_two[2]"}),
            (["tests/test_a.py::TestBox"], {"TestBox::test_in", "TestBox::test_out"}),
            (["tests/test_a.py::TestBox::test_in", "tests/nothing.py::test_x"], {"TestBox::test_in"}),
            (["tests/test_a.py::test_nothing"], set[str]()),
            (["tests/nothing.py"], set[str]()),
        ],
    )
    def test_only_the_chosen_tests_are_run(
        self, run: Run, project: Path, tests: list[str], ids: set[str]
    ) -> None:
        done = run(self.FILES, tests=tests)
        assert done.ids == {f"tests/test_a.py::{name}" for name in ids}
        assert done.finished
        assert done.errors == ()
        assert done.deselected == frozenset()
        assert not (project / "imported").exists()

    def test_files_in_deeper_folders_can_be_chosen(self, run: Run) -> None:
        done = run(self.FILES, tests=["tests/deep/test_c.py::test_c", "tests/test_a.py::test_one"])
        assert done.passed == {"tests/deep/test_c.py::test_c", "tests/test_a.py::test_one"}

    def test_a_file_that_the_command_names_need_not_be_chosen(self, run: Run) -> None:
        command = f"{PYTEST} tests/test_b.py tests/test_broken.py tests/test_a.py"
        done = run(self.FILES, command, tests=["tests/test_a.py::test_one"])
        assert done.passed == {"tests/test_a.py::test_one"}
        assert done.errors == ()
        assert done.finished

    def test_a_chosen_file_that_cannot_be_collected_is_an_error(self, run: Run) -> None:
        done = run(self.FILES, tests=["tests/test_broken.py::test_x"])
        assert [error.file for error in done.errors] == ["tests/test_broken.py"]


class TestTrace:
    FILES: Mapping[str, str] = {
        "code.py": "import threading\n\ndef used(x):\n    if x:\n        return 1\n    return 2\n\ndef unused():\n    return 3\n",
        "late.py": "VALUE = 1\n\ndef value():\n    return VALUE\n",
        "threaded.py": "def work():\n    x = 1\n    return x\n",
        "test_a.py": """\
import code as standard
import threading
import code_under_test as code
import threaded

def test_a():
    assert code.used(0) == 2

def test_late():
    import late
    assert late.value() == 1

def test_thread():
    thread = threading.Thread(target=threaded.work)
    thread.start()
    thread.join()
""",
    }

    def files(self) -> dict[str, str]:
        files = dict(self.FILES)
        files["code_under_test.py"] = files.pop("code.py")
        return files

    def test_lines_are_told_only_if_asked_for(self, run: Run) -> None:
        assert run(self.files()).executed == {}

    def test_the_lines_that_a_test_executes_are_told(self, run: Run) -> None:
        done = run(self.files(), tests=["test_a.py::test_a"], trace=True)
        assert done.passed == {"test_a.py::test_a"}
        assert done.executed == {"code_under_test.py": {4, 6}, "test_a.py": {7}}

    def test_a_module_that_is_first_imported_in_a_test_counts(self, run: Run) -> None:
        done = run(self.files(), tests=["test_a.py::test_late"], trace=True)
        assert done.executed["late.py"] == {1, 3, 4}

    def test_threads_count(self, run: Run) -> None:
        done = run(self.files(), tests=["test_a.py::test_thread"], trace=True)
        assert done.executed["threaded.py"] == {2, 3}

    def test_what_a_test_uses_is_told(self, run: Run) -> None:
        tests = (
            "from pathlib import Path\nimport subprocess, sys\n"
            "def test_a():\n    Path('data.txt').read_text()\n"
            "    subprocess.run([sys.executable, '-c', ''])\n"
            "    try:\n        import absent\n    except ImportError:\n        pass\n"
        )
        files = {
            "test_b.py": tests,
            "data.txt": "1",
            "other.txt": "2",
            "conftest.py": "import used\n",
            "used.py": "",
        }
        used = run(files, tests=["test_b.py::test_a"], trace=True).reach
        assert used.files == {"test_b.py", "data.txt", "conftest.py", "used.py"}
        assert ("absent" in used.missed, used.programs) == (True, 1)
        assert used.opened == {"data.txt": {"test_b.py"}}
        assert used.imported == {"used.py": {"conftest.py"}}

    def test_of_two_files_with_one_name_both_have_been_used(self, run: Run) -> None:
        files = {
            "conftest.py": "import used\n",
            "used.py": "",
            "deep/conftest.py": "import other\n",
            "other.py": "",
            "deep/test_b.py": "def test_a():\n    pass\n",
        }
        assert run(files, tests=["deep/test_b.py::test_a"]).reach.files == files.keys()

    def test_what_is_in_the_way_of_the_language_or_the_runner_is_told_where_imports_start(
        self, run: Run
    ) -> None:
        files = {
            "decimal.py": "",
            "pytest.py": "",
            "statistics/__init__.py": "",
            "calendar/month.py": "",
            "plain.py": "",
            "deep/queue.py": "",
            "test_b.py": "def test_a():\n    pass\n",
        }
        there = {"decimal": "decimal.py", "pytest": "pytest.py", "statistics": "statistics/__init__.py"}
        assert run(files).reach.hiding == there

    def test_a_test_that_uses_nothing_is_told_of_as_such(self, run: Run) -> None:
        settings = {"pytest.ini": "[pytest]\n", "pyproject.toml": "[project]\nname = 'a'\n", "code_a.py": ""}
        files = {**settings, "test_b.py": "def test_a():\n    assert 1 == 2\n"}
        used = run(files, tests=["test_b.py::test_a"], trace=True).reach
        assert replace(used, replaced=frozenset()) == Reach(frozenset({"test_b.py"}))


CHANCE = """\
import random
import unittest

import numpy.random
from hypothesis import given, settings, strategies as st

AT_IMPORT = random.random()


class Chances(unittest.TestCase):
    def test_chance(self):
        drawn = []

        @settings(max_examples=3)
        @given(st.integers())
        def draw(number):
            drawn.append(number)

        draw()
        raise ValueError((AT_IMPORT, random.random(), drawn, hash("a"), numpy.random.SEEDS[:1]))
"""


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (PYTEST, "test_a.py::Chances::test_chance"),
        (f"{sys.executable} -m unittest", "test_a.Chances.test_chance"),
    ],
)
@pytest.mark.long
def test_with_a_seed_chance_is_the_same_each_time(run: Run, command: str, name: str) -> None:
    files = {
        "test_a.py": CHANCE,
        "numpy/__init__.py": "",
        "numpy/random.py": "SEEDS = []\nget_state = set_state = lambda *_: None\nseed = SEEDS.append\n",
    }
    said = [run(files, command, tests=[name], seed=seed).results[name].message for seed in (3, 3, 4)]
    assert said[0] == said[1] != said[2]
    assert "[3]" in said[0]


@pytest.mark.long
def test_a_test_that_hangs_is_named_when_time_is_up(run: Run) -> None:
    tests = "import time\ndef test_a(): pass\ndef test_b(): time.sleep(600)"
    for timeout in (2.0, 8.0, 32.0):  # enough for pytest to get that far, however busy the machine
        done = run({"test_a.py": tests}, timeout=timeout)
        assert done.timed_out
        assert not done.finished
        assert not done.green
        if done.cut_off:
            break
    assert done.cut_off == "test_a.py::test_b"
    assert done.passed == {"test_a.py::test_a"}


@pytest.mark.long
def test_a_run_that_is_interrupted_leaves_nothing(
    lay: Lay, project: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    lay({"test_a.py": "import time\ndef test_a():\n    open('started', 'w').close()\n    time.sleep(600)"})
    interrupt, cache = Interrupt(), tmp_path / "own"
    asked = Thread(target=request_when, args=(interrupt, project / "started"))
    asked.start()
    suite = suite_for(
        PYTEST, SuiteContext(project=project, env=environment, timeout=600, cache=cache, interrupt=interrupt)
    )
    with pytest.raises(InterruptedRunError):
        suite.run(project)
    asked.join()
    interrupt.close()
    assert list((cache / RUNS).iterdir()) == []


def request_when(interrupt: Interrupt, file: Path) -> None:
    """Ask for the end of the run as soon as the file is there."""
    deadline = time.monotonic() + 120
    while not file.exists() and time.monotonic() < deadline:
        interrupt.pause(0.01)
    interrupt.request("a test")


def test_warnings_that_are_errors_do_not_strike_the_probe(run: Run) -> None:
    files = {"pytest.ini": "[pytest]\nfilterwarnings = error", "test_a.py": "def test_a(): pass"}
    done = run(files, f"{sys.executable} -W error -m pytest --strict-config", trace=True)
    assert done.green
    assert done.passed


def test_a_project_below_the_runners_own_root_is_told_of_by_its_own_paths(
    lay: Lay, project: Path, environment: dict[str, str], cache: Path
) -> None:
    lay({"pytest.ini": "[pytest]", "sub/test_a.py": "def test_a(): pass\ndef test_b(): pass"})
    folder = project / "sub"
    suite = suite_for(PYTEST, SuiteContext(project=folder, env=environment, timeout=120, cache=cache))
    done = suite.run(folder, Manner(("sub/test_a.py::test_b",)))
    assert done.passed == {"sub/test_a.py::test_b"}
    assert done.results["sub/test_a.py::test_b"].file == "test_a.py"


def test_a_checkout_may_be_reached_by_a_link(
    lay: Lay, project: Path, environment: dict[str, str], cache: Path
) -> None:
    lay({"test_a.py": "import os\ndef test_a(): raise ValueError(os.getcwd())"})
    link = project.with_name("link")
    link.symlink_to(project)
    suite = suite_for(
        PYTEST, SuiteContext(project=Path("/home/me"), env=environment, timeout=120, cache=cache)
    )
    result = suite.run(link).results["test_a.py::test_a"]
    assert (result.file, result.frames[0].file, result.message) == ("test_a.py", "test_a.py", "/home/me")


def test_paths_with_spaces_and_other_letters_are_no_problem(
    tmp_path: Path, environment: dict[str, str], cache: Path
) -> None:
    folder = tmp_path / "mein schönes Projekt 'ß'"
    (folder / "tëst dir").mkdir(parents=True)
    (folder / "tëst dir" / "test_ä.py").write_text("def test_ö(): assert 'ü' == 'ö'\n", encoding="utf-8")
    suite = suite_for(PYTEST, SuiteContext(project=folder, env=environment, timeout=120, cache=cache))
    name = "tëst dir/test_ä.py::test_ö"
    for tests in ((), (name,)):
        done = suite.run(folder, Manner(tuple(tests)))
        assert done.results[name].status is Status.FAILED
        assert done.results[name].file == "tëst dir/test_ä.py"
        assert "ü" in done.results[name].message


def test_a_checkout_stays_as_it_was(run: Run, project: Path) -> None:
    run({"code.py": "", "test_a.py": "import code\ndef test_a(): assert False"})
    assert sorted(path.name for path in project.iterdir()) == ["code.py", "test_a.py"]


@pytest.mark.long
def test_a_report_is_gone_afterwards(
    lay: Lay, project: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    lay({"test_a.py": "def test_a(): pass"})
    cache = tmp_path / "own"
    suite_for(PYTEST, SuiteContext(project=project, env=environment, timeout=120, cache=cache)).run(project)
    assert list((cache / RUNS).iterdir()) == []


def test_a_changed_source_is_noticed_however_fast_it_changes(
    lay: Lay, project: Path, suite: Callable[..., Suite]
) -> None:
    lay({"test_a.py": "import code_a\ndef test_a(): assert code_a.VALUE == 0"})
    checked = suite()
    for value in (0, 1, 0, 2):
        lay({"code_a.py": f"VALUE = {value}\n"})
        os.utime(project / "code_a.py", (2_000_000_000, 2_000_000_000))
        assert checked.run(project).green is (value == 0)


class TestEnvironment:
    def test_the_tests_see_the_environment_as_it_was(
        self, run: Run, environment: dict[str, str], project: Path
    ) -> None:
        environment["PYTHONPATH"] = str(project / "lib")
        environment["PYTEST_ADDOPTS"] = "-q"
        tests = """\
import os, sys

def test_environment():
    assert os.environ["PYTHONPATH"] == os.path.join(os.getcwd(), "lib")
    assert os.environ["PYTEST_ADDOPTS"] == "-q"
    assert "PYTHONSAFEPATH" not in os.environ
    assert not [name for name in os.environ if "RGR" in name]
    assert not [path for path in sys.path if "probes" in path]
    assert sys.path[0] == os.getcwd() or os.getcwd() in sys.path
"""
        assert run({"test_a.py": tests, "lib/x.py": ""}).green

    def test_a_pytest_inside_a_test_has_no_probe(self, run: Run) -> None:
        inner = """\
import pathlib, subprocess, sys, tempfile

def test_outer():
    with tempfile.TemporaryDirectory() as inside:
        pathlib.Path(inside, "test_inner.py").write_text("def test_inner(): pass")
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", inside], capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
"""
        done = run({"test_a.py": inner})
        assert done.passed == {"test_a.py::test_outer"}
        assert done.finished

    def test_a_fork_does_not_speak_for_its_parent(self, run: Run) -> None:
        tests = """\
import os, pytest

def test_fork():
    child = os.fork()
    if child == 0:
        try:
            pytest.fail("in the child")
        finally:
            os._exit(0)
    os.waitpid(child, 0)

def test_after(): pass
"""
        done = run({"test_a.py": tests})
        assert done.passed == {"test_a.py::test_fork", "test_a.py::test_after"}
        assert done.finished

    def test_a_test_that_closes_files_it_does_not_know_does_no_harm(self, run: Run, project: Path) -> None:
        tests = """\
import os

def test_a():
    os.closerange(10, 200)
    files = [open("written", "w") for _ in range(20)]

def test_b(): assert False
"""
        done = run({"test_a.py": tests}, f"{PYTEST} -s")
        assert done.results["test_a.py::test_b"].failed
        assert (project / "written").read_text() == ""

    def test_imports_come_from_the_checkout(
        self, lay: Lay, project: Path, environment: dict[str, str], cache: Path, tmp_path: Path
    ) -> None:
        lay({"src/code_b.py": "VALUE = 'project'"})
        checkout = tmp_path / "checkout"
        (checkout / "src").mkdir(parents=True)
        (checkout / "src" / "code_b.py").write_text("VALUE = 'checkout'")
        (checkout / "test_a.py").write_text("import code_b\ndef test_a(): assert code_b.VALUE == 'checkout'")
        environment["PYTHONPATH"] = str(project / "src")
        suite = suite_for(PYTEST, SuiteContext(project=project, env=environment, timeout=120, cache=cache))
        assert suite.run(checkout).green

    def test_paths_in_what_is_told_are_the_persons_own(
        self, project: Path, environment: dict[str, str], cache: Path, tmp_path: Path
    ) -> None:
        checkout = tmp_path / "checkout"
        checkout.mkdir()
        (checkout / "test_a.py").write_text("import os\ndef test_a(): raise ValueError(os.getcwd())")
        suite = suite_for(PYTEST, SuiteContext(project=project, env=environment, timeout=120, cache=cache))
        done = suite.run(checkout)
        assert done.results["test_a.py::test_a"].message == str(project)
        assert f"rootdir: {project}" in done.output
        assert "checkout" not in done.output


class TestProgram:
    def test_the_projects_own_pytest_comes_first(
        self, lay: Lay, project: Path, suite: Callable[..., Suite]
    ) -> None:
        lay({"test_a.py": "def test_a(): pass", ".venv/bin/pytest": "#!/bin/sh\necho mine $1\n"})
        (project / ".venv/bin/pytest").chmod(0o755)
        chosen = suite("pytest -q")
        done = chosen.run(project)
        assert done.output == "mine -q\n"
        assert not done.finished
        assert chosen.command == "pytest -q"

    def test_then_the_one_on_the_path(
        self, lay: Lay, project: Path, environment: dict[str, str], suite: Callable[..., Suite]
    ) -> None:
        lay({"bin/pytest": "#!/bin/sh\necho from path\n"})
        (project / "bin/pytest").chmod(0o755)
        environment["PATH"] = f"{project}/bin:/usr/bin:/bin"
        assert suite("pytest").run(project).output == "from path\n"

    def test_then_our_own(
        self, lay: Lay, project: Path, environment: dict[str, str], suite: Callable[..., Suite]
    ) -> None:
        environment["PATH"] = str(project)
        lay({"calc.py": CALC, "test_a.py": "import calc\ndef test_a(): pass"})
        assert suite("pytest").run(project).green

    def test_without_any_pytest_the_surroundings_are_not_ready(
        self,
        project: Path,
        environment: dict[str, str],
        suite: Callable[..., Suite],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        environment["PATH"] = str(project)
        monkeypatch.setitem(sys.modules, "pytest", None)
        with pytest.raises(NotReadyError, match="'pytest -q'") as refused:
            suite("pytest -q")
        assert "pip install pytest" in refused.value.hint

    def test_a_command_behind_another_is_probed_too(self, run: Run, project: Path) -> None:
        program = shlex.quote(str(Path(sys.executable).with_name("pytest")))
        done = run({"sub/test_a.py": "def test_a(): pass"}, f"cd sub && X=1 {program} -q")
        assert done.passed == {"test_a.py::test_a"}
        assert done.results["test_a.py::test_a"].file == "sub/test_a.py"

    def test_a_runner_that_is_not_there_has_not_finished(self, run: Run) -> None:
        done = run({}, "/nowhere/bin/pytest")
        assert done.exit_code == 127
        assert not done.finished
        assert not done.green

    def test_a_command_that_fails_before_its_runner_has_not_finished(self, run: Run) -> None:
        done = run({"test_a.py": "def test_a(): pass"}, f"echo no lint && false && {PYTEST}")
        assert not done.finished
        assert "no lint" in done.output

    def test_two_runners_in_one_command_add_up(self, run: Run) -> None:
        files = {"test_a.py": "def test_a(): pass", "test_b.py": "def test_b(): pass"}
        done = run(files, f"{PYTEST} test_a.py && {PYTEST} test_b.py")
        assert done.passed == {"test_a.py::test_a", "test_b.py::test_b"}
        assert done.green

    def test_a_module_named_like_the_runner_does_not_take_its_place(self, run: Run) -> None:
        files = {
            "pytest.py": "print('shadow')",
            "rgr_pytest_probe.py": "print('shadow')",
            "test_a.py": "def test_a(): assert False",
        }
        done = run(files)
        assert done.results["test_a.py::test_a"].failed
        assert "shadow" not in done.output


SERVED = {
    "calc.py": CALC,
    "conftest.py": "import pytest\n\ndef _made():\n    return 1\n\nmade = pytest.fixture(_made)\n\n"
    "@pytest.fixture(autouse=True)\ndef calm():\n    pass\n\n@pytest.fixture\ndef late():\n    return 2\n",
    "near/conftest.py": "import pytest\n\n@pytest.fixture\ndef made():\n    return 3\n",
    "near/test_near.py": "from unittest.mock import patch\n\nimport calc\n\nLIMIT = 9\n\ndef same(a, b):\n    assert a == b < LIMIT\n\n"
    "def setup_function():\n    pass\n\ndef test_near(made, request):\n    request.getfixturevalue('late')\n    same(calc.add(1, 2), 3)\n\n"
    "class TestIt:\n    def setup_method(self):\n        pass\n\n    @patch('calc.later', None)\n    def test_it(self):\n        pass\n",
    "test_far.py": "def test_far(made):\n    assert made == 1\n",
}


def test_what_serves_each_test_is_told_with_its_file(run: Run) -> None:
    found = {
        result.function: {(hook.name, hook.file) for hook in result.around}
        for result in run(SERVED).results.values()
    }
    calm, near = ("fixture calm", "conftest.py"), "near/test_near.py"
    assert found["test_far"] == {calm, ("fixture made", "conftest.py")}
    assert found["test_near"] == {
        calm,
        ("fixture made", "near/conftest.py"),
        ("fixture late", "conftest.py"),
        ("set-up setup_function", near),
        ("same", near),
        ("calc.add", "calc.py"),
    }
    assert found["TestIt.test_it"] == {
        calm,
        ("set-up setup_method", near),
        ("set-up setup_function", near),
        ("decorators", near),
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("old", "new", "other"),
    [
        ("LIMIT = 9", "LIMIT = 99", True),
        ("a == b <", "a <= b <", True),
        ("def same(a, b):\n", "def same(a, b):  # compares\n\n", False),
        ("LIMIT = 9\n", "LIMIT = 9\nMORE = 4\n", False),
        ("import calc\n", "import calc\n\ncalc.add = lambda a, b: 3\n", True),
    ],
)
def test_what_serves_a_test_is_told_from_what_did_before(run: Run, old: str, new: str, other: bool) -> None:
    file = "near/test_near.py"
    chosen = (f"{file}::test_near",)
    (before,) = run(SERVED, tests=chosen).results.values()
    (after,) = run({file: SERVED[file].replace(old, new)}, tests=chosen).results.values()
    assert (before.around != after.around) == other
