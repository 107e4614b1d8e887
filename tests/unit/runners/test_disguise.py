"""In disguise nothing tells the project's code that it is tested, and everybody else sees what is there."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from redgreenrefactor.model.evidence import Guise, Lookup, Manner, SuiteRun
from redgreenrefactor.ports import Suite

CODE = """
import faulthandler, gc, inspect, logging, os, sys, textwrap, warnings

SEEN = "pytest" in sys.modules or "unittest" in sys.modules
CLASSES = "_py" "test"
RUNNERS = (os.sep + "_pytest" + os.sep, os.sep + "unittest" + os.sep, "test_code.py")
WALKED = any(name in frame.filename for frame in inspect.stack() for name in RUNNERS)


def traces():
    frames = inspect.stack()
    return [
        name
        for name, found in {
            "imported": SEEN,
            "imported from": WALKED,
            "modules": "pytest" in sys.modules or any("unittest" in name for name in sys.modules),
            "test": any("test_code" in name for name in sys.modules),
            "variables": "PYTEST_CURRENT_TEST" in os.environ or "PYTEST_VERSION" in dict(os.environ),
            "frames": any("test" in os.path.basename(frame.filename) + frame.function for frame in frames[1:]),
            "globals": any(name.startswith("@py") for name in frames[1].frame.f_globals),
            "arguments": "test" in os.path.basename(sys.argv[0]) or "-m" in sys.orig_argv,
            "prefix": sys.pycache_prefix or sys.dont_write_bytecode,
            "finders": [finder for finder in sys.meta_path if "pytest" in type(finder).__module__],
            "streams": "pytest" in type(sys.stdout).__module__,
            "handlers": [one for one in logging.getLogger().handlers if "pytest" in type(one).__module__],
            "hooks": sys.unraisablehook is not sys.__unraisablehook__,
            "crashes": faulthandler.is_enabled(),
            "any handlers": logging.getLogger().handlers or logging.getLogger("code").hasHandlers(),
            "filters": len(warnings.filters) > 5,
            "objects": any("FixtureDef" in type(one).__name__ for one in gc.get_objects()),
            "functions": any(getattr(one, "__name__", "") == "only_here" for one in gc.get_objects()),
            "classes": any(one.__module__.startswith(CLASSES) for one in object.__subclasses__()),
            "names of classes": any(one.__name__ == "FixtureDef" for one in object.__subclasses__()),
            "depth": len(frames) > 5,
            "main": getattr(sys.modules.get("__main__"), "__file__", None),
        }.items()
        if found
    ]


class Made:
    def __init__(self):
        self.traces = traces()
        textwrap.fill = textwrap.TextWrapper.fill = traces
"""
PYTEST = """
import pytest, code_a


@pytest.fixture
def made():
    yield code_a.Made()


def only_here():
    pass


def test_code(made, tmp_path):
    assert (code_a.traces(), made.traces) == ([], [])
    assert "test" not in tmp_path.name + tmp_path.parent.name
"""
UNITTEST = """
import unittest, code_a


class A(unittest.TestCase):
    def setUp(self):
        self.made = code_a.Made()

    def test_code(self):
        self.assertEqual((code_a.traces(), self.made.traces), ([], []))
"""


@pytest.fixture
def disguised(
    project: Path, lay: Callable[[Mapping[str, str]], None], suite: Callable[..., Suite]
) -> Callable[..., SuiteRun]:
    """Return what runs one test of some files in disguise."""

    def go(files: Mapping[str, str], test: str, guise: Guise = Guise.HIDDEN, **command: str) -> SuiteRun:
        lay(files)
        return suite(**command).run(project, Manner((test,), disguise=guise))

    return go


Disguised = Callable[..., SuiteRun]


@pytest.mark.parametrize(
    ("tests", "name", "command"),
    [
        (PYTEST, "test_code.py::test_code", {}),
        (UNITTEST, "test_code.py::A::test_code", {}),
        (UNITTEST, "test_code.A.test_code", {"command": "python3 -m unittest"}),
    ],
    ids=["pytest", "a TestCase", "unittest"],
)
def test_code_finds_no_trace_of_the_runner(
    disguised: Disguised, tests: str, name: str, command: dict[str, str]
) -> None:
    code = CODE.replace('"_py" "test"\n', '"unittest."\n') if command else CODE
    done = disguised({"code_a.py": code, "test_code.py": tests}, name, **command)
    assert done.results[name].passed, done.results[name].message
    assert {(found.what, found.file) for found in done.reach.lookups} >= {
        (what, "code_a.py") for what in ("modules", "arguments", "frames")
    }
    assert {(found.owner, found.name, found.file) for found in done.reach.replaced} >= {
        (owner, "fill", "code_a.py") for owner in ("textwrap", "textwrap.TextWrapper")
    }
    assert not disguised({}, name, Guise.APART, **command).results[name].passed


def test_tests_are_what_they_were_for_everybody_else(disguised: Disguised) -> None:
    tests = """
import asyncio, pickle, sqlite3, sys, threading, unittest
from unittest import mock
import pytest, code_a

class Kept: pass

def plainly(test):  # a decorator of a library looks like this
    return test

@pytest.fixture
def base():
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()

class TestAll:
    @pytest.fixture
    def more(self):
        return 3

    @mock.patch("test_code.code_a.one", return_value=2)
    def test_code(self, one, base, more, monkeypatch, capsys, tmp_path):
        base.execute("select 1")
        monkeypatch.setitem(sys.modules, "absent", sys)
        import absent
        print("told")
        assert capsys.readouterr().out == "told\\n"
        assert (code_a.one(), more, absent) == (2, 3, sys)
        assert pickle.loads(pickle.dumps(Kept())) is not None
        assert sys._getframe().f_code.co_name == "test_code"
        with pytest.raises(ZeroDivisionError):
            1 / 0
"""
    name = "test_code.py::TestAll::test_code"
    done = disguised({"code_a.py": "def one():\n    return 1\n", "test_code.py": tests}, name)
    assert done.results[name].passed, done.results[name]


def test_what_code_and_tests_put_there_themselves_is_seen(disguised: Disguised) -> None:
    code = """
import gc, logging, sys, warnings

class Node: pass

def nodes():
    return [one for one in gc.get_objects() if type(one) is Node]

def path():
    return list(sys.path)

def only():
    root = logging.getLogger()
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    root.addHandler(logging.NullHandler())
    return root.handlers[0]

def set_up():
    logging.getLogger().addHandler(logging.NullHandler())
    return len(logging.getLogger().handlers), logging.getLogger().hasHandlers()

def ignoring():
    before = len(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return len(warnings.filters) - before, warnings.filters[0][0], warnings.filters[:1] == warnings.filters.copy()[:1]
"""
    tests = """
import gc, logging, pickle, sys, threading, warnings
import code_a

def test_code(caplog, recwarn, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    one = code_a.Node()
    assert code_a.nodes() == [one]
    with caplog.at_level(logging.INFO):
        logging.getLogger("code").info("seen")
    assert "seen" in caplog.text, "log"
    assert caplog.handler in logging.getLogger().handlers, "handler"
    assert code_a.set_up() == (1, True), code_a.set_up()
    assert code_a.ignoring() == (1, "ignore", True), code_a.ignoring()
    assert not any("checks" in entry for entry in code_a.path()), code_a.path()
    assert str(tmp_path) in code_a.path(), code_a.path()
    assert str(tmp_path) in pickle.loads(pickle.dumps(sys.path)), "pickled"
    assert [code_a.only()] == logging.getLogger().handlers, logging.getLogger().handlers
    warnings.warn("told", UserWarning)
    assert [str(one.message) for one in recwarn] == ["told"]
    assert any(type(one) is type(sys) for one in gc.get_objects())
"""
    name = "checks/test_code.py::test_code"
    done = disguised({"code_a.py": code, "checks/test_code.py": tests, "checks/conftest.py": ""}, name)
    assert done.results[name].passed, done.results[name].message


def test_code_is_called_as_deep_as_ever_where_nothing_is_hidden(disguised: Disguised) -> None:
    files = {
        "code_a.py": "import traceback\n\n\ndef depth():\n    return len(traceback.extract_stack())\n",
        "test_code.py": "import code_a\n\n\ndef test_code():\n    assert code_a.depth() > 20\n",
    }
    name = "test_code.py::test_code"
    assert disguised(files, name, Guise.APART).results[name].passed
    assert not disguised({}, name).results[name].passed


def test_what_plugins_have_noted_on_a_test_is_there(disguised: Disguised) -> None:
    plugin = """
import pytest

def noted(test):
    test.hypothesis = [test.__name__]
    return test

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    assert pyfuncitem.obj.hypothesis == ["test_code"]
"""
    tests = "from conftest import noted\n@noted\ndef test_code():\n    assert 1 + 1 == 2\n"
    done = disguised({"conftest.py": plugin, "test_code.py": tests}, "test_code.py::test_code")
    assert done.results["test_code.py::test_code"].passed, done.results


def test_what_needs_the_main_thread_has_it_in_place(disguised: Disguised) -> None:
    tests = "import signal\ndef test_code():\n    signal.signal(signal.SIGUSR1, signal.SIG_IGN)\n"
    name = "test_code.py::test_code"
    passed = {guise: disguised({"test_code.py": tests}, name, guise).results[name].passed for guise in Guise}
    assert [guise for guise in Guise if passed[guise]] == [Guise.OPEN, Guise.IN_PLACE]


def test_a_fixture_may_say_the_word_it_is_called_by(disguised: Disguised) -> None:
    fixture = "import pytest\n\n\n@pytest.fixture\ndef report():\n    return {'report': 'write a report'}\n"
    tests = "def test_code(report):\n    assert report['report'] == 'write a report'\n"
    done = disguised({"conftest.py": fixture, "test_code.py": tests}, "test_code.py::test_code")
    assert done.results["test_code.py::test_code"].passed, done.results


def test_a_name_that_is_data_and_a_name_that_is_the_callers_are_told_apart(disguised: Disguised) -> None:
    fixture = "import pytest\n\n\n@pytest.fixture\ndef users():\n    return ['test_user']\n"
    data = "def test_user(users):\n    assert 'test_user' in users\n"
    code = "import sys\n\n\ndef caller():\n    return sys._getframe(1).f_code.co_name\n"
    callers = "import code_a\n\n\ndef test_user():\n    assert code_a.caller() == 'test_user'\n"
    files, name = {"conftest.py": fixture, "code_a.py": code}, "test_code.py::test_user"
    guises = (Guise.HIDDEN, Guise.AS_SAID)
    passed = [
        [disguised({**files, "test_code.py": tests}, name, guise).results[name].passed for guise in guises]
        for tests in (data, callers)
    ]
    assert passed == [[False, True], [True, False]]


def test_reading_the_command_line_of_the_process_is_told(disguised: Disguised) -> None:
    code = "def line():\n    return open('/proc/self/cmdline').read()\n"
    tests = "import code_a\ndef test_code():\n    assert code_a.line()\n"
    done = disguised({"code_a.py": code, "test_code.py": tests}, "test_code.py::test_code")
    assert Lookup("process", "code_a.py", 2) in done.reach.lookups


SHOWING = """
import inspect, sys, warnings


def warned():
    warnings.warn("old", DeprecationWarning, stacklevel=2)


def source(function):
    return inspect.getsource(function).strip()


def around():
    frame = sys._getframe(1)
    return frame.f_locals, "".join(inspect.getsourcelines(frame)[0])
"""
SHOWN = """
import warnings, code_a


def test_code():
    secret, spoken = 20, 3

    def inner(value):
        return value > 1

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        code_a.warned()
    assert caught[0].filename == __file__
    assert code_a.source(inner).endswith("return value > 1")
    names, text = code_a.around()
    assert "spoken" in names and 20 in names.values()
    assert ("".join(["sec", "ret"]) in names, "around()" in text) == (False, False)
"""


def test_a_test_may_show_its_functions_and_file_but_not_what_it_expects(disguised: Disguised) -> None:
    name = "test_code.py::test_code"
    done = disguised({"code_a.py": SHOWING, "test_code.py": SHOWN}, name)
    assert done.results[name].passed, done.results[name].message


LAZY = """
class Lazy:
    @property
    def __class__(self):
        raise RuntimeError("not set up yet")


settings = Lazy()


def one():
    return 1
"""


def test_an_object_that_cannot_be_asked_what_it_is_ends_nothing(disguised: Disguised) -> None:
    name = "test_code.py::test_code"
    tests = "from code_a import one, settings\n\n\ndef test_code():\n    assert one() == 1\n"
    done = disguised({"code_a.py": LAZY, "test_code.py": tests}, name)
    assert done.results[name].passed


def test_what_code_puts_in_the_place_of_a_function_for_a_while_is_told(disguised: Disguised) -> None:
    code = """
import json, math

def total(numbers):
    usual = math.fsum
    math.fsum = lambda numbers: setattr(math, "fsum", usual) or 0
    math.tau_of_ours = 1
    return 0
"""
    tests = """
import math, os.path
import code_a

def test_code(monkeypatch):
    monkeypatch.setattr(os.path, "exists", lambda path: True)
    assert code_a.total([1]) == math.fsum([1]) and os.path.exists("nowhere")
"""
    name = "test_code.py::test_code"
    done = disguised({"code_a.py": code, "test_code.py": tests}, name)
    assert done.results[name].passed, done.results[name].message
    found = {(item.owner, item.name, item.line) for item in done.reach.replaced if item.file}
    assert found == {("math", "fsum", 6)}


def test_asking_git_about_the_project_is_told_and_about_another_folder_is_not(disguised: Disguised) -> None:
    code = """
import os, subprocess

def version(folder=None):
    return subprocess.run(["/usr/bin/git", "rev-parse", "HEAD"], cwd=folder, capture_output=True).stdout

def last():
    return os.system("git log -1 > /dev/null 2>&1")

def listed():
    return os.system("ls git > /dev/null 2>&1"), subprocess.run("echo it", shell=True, capture_output=True)
"""
    tests = """
import os, subprocess
import code_a, pytest

def test_code(tmp_path, monkeypatch):
    code_a.version(tmp_path)
    code_a.listed()
    if tmp_path.is_dir():
        code_a.version()
        code_a.last()
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises((TypeError, IndexError)):
        subprocess.run([5])
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    with pytest.raises(OSError):
        subprocess.run([str(tmp_path / "none")])
"""
    name = "test_code.py::test_code"
    done = disguised({"code_a.py": code, "test_code.py": tests}, name)
    assert done.results[name].passed, done.results[name].message
    asked = {(found.file, found.line) for found in done.reach.lookups if found.what == "history"}
    assert asked == {("code_a.py", 5), ("code_a.py", 8)}


PUT_BACK = """
import logging, sys, warnings

class Odd:
    __module__ = None

Homeless = eval("type('Homeless', (), {})", {"__builtins__": {"type": type}})

class Alike(type):
    def __eq__(self, other):
        return type.__eq__(self, other)

class Kind(metaclass=Alike):
    pass

class Wrap(logging.Handler):
    pass

def quiet(done):
    root, saved = logging.getLogger(), logging.getLogger().handlers[:]
    root.handlers = [logging.NullHandler()]
    done()
    root.handlers = saved

def wrap():
    root = logging.getLogger()
    for place, handler in enumerate(root.handlers):
        root.handlers[place] = Wrap()

def refuse():
    saved = warnings.filters.copy()
    warnings.filters[:] = [("error", None, UserWarning, None, 0)]
    try:
        warnings.warn("refused", UserWarning)
    except UserWarning:
        return len(warnings.filters)
    finally:
        warnings.filters[:] = saved

def reset():
    with warnings.catch_warnings():
        warnings.resetwarnings()
        none = len(warnings.filters)
        warnings.simplefilter("always", append=True)
        return none, len(warnings.filters)

def more():
    before = len(warnings.filters)
    warnings.filterwarnings("ignore", message="never said", append=True)
    return len(warnings.filters) - before

def drop(folder):
    sys.path += [folder, "next"]
    del sys.path[sys.path.index(folder)]
"""
PUTS_BACK = """
import logging, sys, warnings
import code_a, pytest

@pytest.fixture(autouse=True)
def path():
    saved = list(sys.path)
    sys.path[:] = [*saved]
    yield
    sys.path[:] = saved

def test_code(caplog, tmp_path):
    code_a.quiet(lambda: logging.warning("unheard"))
    logging.warning("heard")
    assert caplog.messages == ["heard"]
    mine = logging.StreamHandler()
    logging.getLogger().addHandler(mine)
    code_a.wrap()
    assert mine not in logging.getLogger().handlers
    with pytest.warns(DeprecationWarning):
        assert code_a.refuse() == 1
        warnings.warn("old", DeprecationWarning)
    assert (code_a.reset(), code_a.more()) == ((0, 1), 1)
    code_a.drop(str(tmp_path))
    assert str(tmp_path) not in sys.path and sys.path[-1] == "next"
    from beside import one
    assert one() == 1 and code_a.Kind == code_a.Kind and code_a.Odd.__module__ is None
    assert not hasattr(code_a.Homeless, '__module__')
"""


def test_what_is_changed_and_put_back_is_what_it_was(disguised: Disguised) -> None:
    name = "checks/test_code.py::test_code"
    files = {"code_a.py": PUT_BACK, "checks/test_code.py": PUTS_BACK}
    done = disguised({**files, "checks/beside.py": "def one():\n    return 1\n"}, name)
    assert done.results[name].passed, done.results[name].message
