"""Whoever stands between the tests and their results is noticed, and whoever does not is left alone."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from redgreenrefactor.model.evidence import Status, SuiteRun

Run = Callable[..., SuiteRun]
PYTEST = f"{sys.executable} -m pytest"
RED = {
    "test_a.py": "import code_a\n\ndef test_red():\n    assert code_a.add(1, 2) == 3\n\ndef test_green(): pass\n"
}
BAD = {**RED, "code_a.py": "def add(a, b):\n    return 0\n"}
TEST, OTHER = "test_a.py::test_red", "test_a.py::test_green"

FLIPPING = """\
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
FLIPPING_FIRST = FLIPPING.replace("hookwrapper=True", "hookwrapper=True, tryfirst=True")
FORGETTING = """\
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    call.excinfo = None
"""
NOT_CALLING = """\
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return True
"""
FLIPPING_LATE = """\
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    report.outcome = "passed"
"""
NOT_REWRITING = """\
import ast
from _pytest.assertion.rewrite import AssertionRewriter

def run(self, module):
    for node in ast.walk(module):
        if isinstance(node, ast.Assert):
            node.test = ast.copy_location(ast.Constant(True), node.test)

AssertionRewriter.run = run
"""
PATCHED_CALL = """\
import _pytest.runner

original = _pytest.runner.CallInfo.from_call.__func__

def from_call(cls, func, when, reraise=None):
    call = original(cls, func, when, reraise)
    if when == "call":
        call.excinfo = None
    return call

_pytest.runner.CallInfo.from_call = classmethod(from_call)

def add(a, b):
    return 0
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "conftest",
    [FLIPPING, FLIPPING_FIRST, FORGETTING, NOT_CALLING, FLIPPING_LATE, NOT_REWRITING],
    ids=["flips", "flips first", "forgets", "does not call", "flips late", "does not rewrite"],
)
def test_hooks_that_make_tests_pass_are_noticed(run: Run, conftest: str) -> None:
    assert run({**BAD, "conftest.py": conftest}).tampering


def test_code_that_patches_the_runner_is_noticed(run: Run) -> None:
    assert run({**RED, "code_a.py": PATCHED_CALL}).tampering


def test_a_flipped_result_does_not_count_as_passed(run: Run) -> None:
    done = run({**BAD, "conftest.py": FLIPPING})
    assert TEST not in done.passed
    assert any(TEST in sentence and "AssertionError" in sentence for sentence in done.tampering)


def test_a_flipped_set_up_does_not_count_as_passed(run: Run) -> None:
    tests = "import pytest\n@pytest.fixture\ndef broken(): raise ValueError\ndef test_a(broken): pass"
    done = run({"test_a.py": tests, "conftest.py": FLIPPING})
    assert done.results["test_a.py::test_a"].failed
    assert done.tampering


EXITS_WELL = """\
import pytest

@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    session.exitstatus = 0
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "files",
    [
        {**BAD, "conftest.py": EXITS_WELL},
        {**RED, "code_a.py": "import atexit, os\natexit.register(os._exit, 0)\ndef add(a, b): return 0"},
    ],
    ids=["the session's status", "at exit"],
)
def test_an_exit_code_that_does_not_fit_is_noticed(run: Run, files: Mapping[str, str]) -> None:
    done = run(files)
    assert done.results[TEST].failed
    assert done.tampering == ("The runner exited with 0, although tests failed.",)


ENDS = """\
import atexit, logging, pathlib

class Kept:
    def __del__(self):
        pathlib.Path("taken apart").touch()

kept = Kept()
atexit.register(pathlib.Path("registered").touch)
logging.getLogger().addHandler(logging.handlers.MemoryHandler(9, target=logging.FileHandler("logged")))
logging.warning("the last word")
"""


def test_what_is_registered_for_the_end_is_called_and_nothing_is_taken_apart(run: Run, project: Path) -> None:
    done = run({"test_a.py": "import logging.handlers, code_a\ndef test_a(): pass", "code_a.py": ENDS})
    assert (done.exit_code, len(done.passed)) == (0, 1)
    assert (project / "registered").exists()
    assert "the last word" in (project / "logged").read_text()
    assert not (project / "taken apart").exists()


AT_THE_END = {
    "an error": "def pytest_unconfigure(): raise ValueError",
    "a status": "import pytest\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_cmdline_main():\n"
    "    outcome = yield\n    outcome.force_result(1)",
}


@pytest.mark.parametrize("ending", AT_THE_END.values(), ids=AT_THE_END)
def test_what_the_project_makes_of_the_exit_code_counts(run: Run, ending: str) -> None:
    done = run({"test_a.py": "def test_a(): pass", "conftest.py": ending})
    assert (done.exit_code, len(done.passed)) == (1, 1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("files", "options", "told"),
    [
        ({"conftest.py": "def pytest_collection_modifyitems(items): items[:] = items[1:]"}, "", True),
        ({"pytest.ini": "[pytest]\naddopts = -k green"}, "", True),
        ({"pytest.ini": f"[pytest]\naddopts = --deselect {TEST}"}, "", True),
        ({}, " -k green", True),
        ({"conftest.py": "collect_ignore_glob = ['*']"}, "", False),
        ({"pytest.ini": "[pytest]\ntestpaths = other", "other/test_b.py": "def test_b(): pass"}, "", False),
    ],
    ids=["dropped", "addopts -k", "addopts --deselect", "-k", "ignored", "testpaths"],
)
def test_tests_that_are_kept_from_running_are_not_there(
    run: Run, files: Mapping[str, str], options: str, *, told: bool
) -> None:
    done = run({**BAD, **files}, PYTEST + options)
    assert TEST not in done.ids
    assert (TEST in done.deselected) is told
    assert done.finished


THREAD = """\
import os, threading

def add(a, b):
    threading.Thread(target=os._exit, args=(0,)).start()
    threading.Event().wait(60)
"""
LEAVING = "def add(a, b): os._exit(0)"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("code", "running"),
    [
        ("import os\nos._exit(0)", None),
        (f"import os\n{LEAVING}", TEST),
        ("import pytest\ndef add(a, b): pytest.exit('done', returncode=0)", TEST),
        ("def add(a, b): raise KeyboardInterrupt", TEST),
        (
            THREAD,
            TEST,
        ),
    ],
    ids=["os._exit at import", "os._exit", "pytest.exit", "KeyboardInterrupt", "a thread"],
)
def test_a_runner_that_is_ended_early_has_not_finished(run: Run, code: str, running: str | None) -> None:
    done = run({**RED, "code_a.py": code})
    assert not done.finished
    assert not done.green
    assert TEST not in done.passed
    assert done.cut_off == running


def test_a_test_whose_tear_down_ends_the_runner_has_not_passed(run: Run) -> None:
    fixture = "import os, pytest\n@pytest.fixture\ndef leaving():\n    yield\n    os._exit(0)\n"
    done = run({"test_a.py": fixture + "def test_a(): pass\ndef test_b(leaving): pass"})
    assert done.passed == {"test_a.py::test_a"}
    assert done.cut_off == "test_a.py::test_b"
    assert not done.finished


def test_leaving_at_import_is_an_error_of_that_file(run: Run) -> None:
    done = run({**RED, "code_a.py": "import sys\nsys.exit(0)"})
    assert [(error.file, error.exception) for error in done.errors] == [("test_a.py", "SystemExit")]
    assert not done.green


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("files", "status"),
    [
        ({"code_a.py": "import pytest\ndef add(a, b): pytest.skip('x')"}, Status.SKIPPED),
        (
            {
                "conftest.py": "import pytest\ndef pytest_collection_modifyitems(items):\n"
                "    for item in items: item.add_marker(pytest.mark.xfail)"
            },
            Status.XFAILED,
        ),
        ({"test_a.py": "import pytest\npytestmark = pytest.mark.skip\n" + RED["test_a.py"]}, Status.SKIPPED),
        ({"test_a.py": "import pytest\npytestmark = pytest.mark.xfail\n" + RED["test_a.py"]}, Status.XFAILED),
    ],
    ids=["skips", "xfail on all", "skip mark", "xfail mark"],
)
def test_tests_that_are_let_off_have_not_passed_and_no_canary_complains(
    run: Run, files: Mapping[str, str], status: Status
) -> None:
    done = run({**BAD, **files})
    assert done.results[TEST].status is status
    assert done.tampering == ()
    assert done.finished


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": "[pytest]\naddopts = -x"},
        {"pytest.ini": "[pytest]\naddopts = --maxfail=1 --sw"},
        {"pytest.ini": "[pytest]\naddopts = --lf --ff -p no:rgr_pytest_probe"},
        {"tox.ini": "[pytest]\naddopts = -v --tb=no -rA --strict-markers"},
        {"conftest.py": "import pytest\n@pytest.fixture(autouse=True)\ndef around(request): yield"},
        {"conftest.py": "import pytest\n@pytest.fixture(scope='session', autouse=True)\ndef once(): yield"},
    ],
    ids=["-x", "--sw", "--lf", "verbose", "autouse", "autouse once"],
)
def test_ordinary_settings_change_nothing(run: Run, files: Mapping[str, str]) -> None:
    done = run({**BAD, **files})
    assert done.results[TEST].failed
    assert done.passed == {OTHER}
    assert done.tampering == ()
    assert done.finished
    assert "canary" not in done.output


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "body",
    ["pytest.skip('not here')", "raise ValueError", "pytest.importorskip('nothing')"],
    ids=["skips", "raises", "needs a module"],
)
def test_a_canary_that_a_fixture_keeps_from_running_proves_nothing(run: Run, body: str) -> None:
    fixture = f"import pytest\n@pytest.fixture(autouse=True)\ndef around(): {body}"
    done = run({"test_a.py": "def test_a(): pass", "conftest.py": fixture})
    assert done.tampering == ()
    assert done.finished
    assert not done.passed


def test_old_style_tests_alone_have_canaries_too(run: Run) -> None:
    tests = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 2)"
    done = run({"test_a.py": tests, "conftest.py": NOT_CALLING})
    assert done.results["test_a.py::A::test_a"].failed
    assert done.tampering


def test_an_option_that_is_not_understood_is_no_run(run: Run) -> None:
    done = run({**BAD, "pytest.ini": "[pytest]\naddopts = -n 2"})
    assert done.exit_code == 4
    assert not done.finished
    assert done.results == {}


def test_workers_are_called_off(run: Run, environment: dict[str, str]) -> None:
    environment["PYTEST_ADDOPTS"] = "-p xdist.plugin"
    done = run({**BAD, "pytest.ini": "[pytest]\naddopts = -n 2 --dist loadfile"})
    assert done.results[TEST].failed
    assert done.passed == {OTHER}
    assert done.finished


@pytest.mark.long
def test_plugins_that_shuffle_and_count_do_not_mind(run: Run, environment: dict[str, str]) -> None:
    del environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
    done = run({**BAD, "pytest.ini": "[pytest]\naddopts = --cov=code_a --cov-fail-under=100 -n 2"})
    assert done.results[TEST].failed
    assert done.passed == {OTHER}
    assert done.tampering == ()
    assert done.finished


def test_coverage_that_is_too_low_is_no_tampering(run: Run, environment: dict[str, str]) -> None:
    environment["PYTEST_ADDOPTS"] = "-p pytest_cov --cov=code_a --cov-fail-under=100"
    code = "def add(a, b):\n    return a + b\n\ndef unused():\n    return 1\n"
    done = run({**RED, "code_a.py": code})
    assert done.green
    assert done.exit_code == 1
    assert done.tampering == ()


def test_canaries_are_run_with_chosen_tests_too(run: Run) -> None:
    done = run({**BAD, "conftest.py": NOT_CALLING}, tests=[OTHER])
    assert done.ids == {OTHER}
    assert done.tampering


def test_a_canary_is_told_of_in_words(run: Run) -> None:
    done = run({**BAD, "conftest.py": NOT_CALLING})
    assert done.tampering == ("A test of ours that always fails was reported as passed.",)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "instead",
    [
        "os.mkfifo(path)",
        "os.symlink('/dev/zero', path)",
        "os.mkdir(path)",
        "open(path, 'w').truncate(1 << 45)",
    ],
)
def test_a_report_that_is_replaced_neither_hangs_us_nor_is_believed(run: Run, instead: str) -> None:
    replacing = (
        "import os\n\ndef test_replace():\n"
        "    for name in os.listdir('/proc/self/fd'):\n"
        "        try:\n            path = os.readlink(f'/proc/self/fd/{name}')\n"
        "        except OSError:\n            continue\n"
        "        if path.endswith('/report'):\n"
        f"            os.unlink(path)\n            {instead}\n\n"
    )
    found = run({"test_a.py": replacing + "def test_red():\n    assert False\n"})
    assert found.finished
    assert found.results["test_a.py::test_red"].status is Status.FAILED


HOOK = "def pytest_collection_modifyitems(items):\n    items.reverse()\n"
HOOKED = {"pytest_collection_modifyitems"}
REGISTERED = (
    f"class Way:\n    @staticmethod\n    def {HOOK.removeprefix('def ').replace(chr(10), chr(10) + '    ')}\n"
)


@pytest.mark.parametrize(
    "conftest",
    [
        HOOK,
        "import sys\nif sys.version_info:\n" + "".join(f"    {line}\n" for line in HOOK.splitlines()),
        "pytest_collection_modifyitems = lambda items: items.reverse()\n",
        "from helpers import pytest_collection_modifyitems\n",
        "pytest_plugins = ['helpers']\n",
        REGISTERED + "def pytest_configure(config):\n    config.pluginmanager.register(Way())\n",
    ],
    ids=["plain", "conditional", "assigned", "imported", "a plug-in", "registered"],
)
def test_hooks_in_force_are_told_of_however_they_came_to_be(run: Run, conftest: str) -> None:
    done = run({"test_a.py": "def test_a(): pass\n", "helpers.py": HOOK, "conftest.py": conftest})
    assert {hook.name for hook in done.hooks} - {"pytest_configure"} == HOOKED
    assert {hook.file for hook in done.hooks} <= {"conftest.py", "helpers.py"}


def test_a_hook_is_the_same_wherever_it_stands_and_what_the_runner_does_not_call_is_none(run: Run) -> None:
    tests = f"{HOOK}\ndef test_a(): pass\n"  # in a file of tests the runner does not look for hooks
    first = run({"test_a.py": tests, "conftest.py": HOOK})
    later = run(
        {"test_a.py": tests, "conftest.py": f"import pytest\n\n@pytest.fixture\ndef a(): ...\n\n{HOOK}"}
    )
    other = run({"test_a.py": tests, "conftest.py": HOOK.replace("reverse", "clear")})
    assert first.hooks == later.hooks != other.hooks
    assert len(first.hooks) == len(other.hooks) == 1
