"""Probes are forks of a process that has the runner loaded: they say what a cold run says, and leave no trace for the next."""

import json
import shutil
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from cages import LEVELS, cage
from redgreenrefactor.errors import InterruptedRunError
from redgreenrefactor.model.evidence import Guise, Manner, Status, SuiteRun
from redgreenrefactor.ports import Suite
from redgreenrefactor.runners.command_line import stands_alone
from redgreenrefactor.runners.probed import PROBES
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.runners.suite_context import SuiteContext
from redgreenrefactor.runners.warm_process import SEED, WarmProcesses
from redgreenrefactor.sandbox.policy import readable
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.threads import side_by_side

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux only")

Lay = Callable[[Mapping[str, str]], None]
ADD = "def add(a, b):\n    return a + b\n"
TEST = "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n"


@dataclass
class Bench:
    """A project whose tests can be run cold and warm."""

    project: Path
    suite: Suite
    warm: WarmProcesses
    interrupt: Interrupt

    def __call__(
        self, *tests: str, warm: bool = True, seed: int | None = SEED, limit: float | None = None
    ) -> SuiteRun:
        return self.suite.run(self.project, Manner(tests, seed=seed, limit=limit, warm=warm))


@pytest.fixture
def make(project: Path, environment: dict[str, str], cache: Path) -> Generator[Callable[..., Bench]]:
    warm, interrupt = WarmProcesses(), Interrupt()

    def bench(command: str = f"{sys.executable} -m pytest -q", **env: str) -> Bench:
        where = SuiteContext(
            project, {**environment, **env}, timeout=120.0, cache=cache, interrupt=interrupt, warm=warm
        )
        return Bench(project, suite_for(command, where), warm, interrupt)

    yield bench
    warm.close()
    interrupt.close()


def told(run: SuiteRun) -> dict[str, tuple[Status, str, str]]:
    return {name: (r.status, r.exception, r.message) for name, r in run.results.items()}


SURROUNDINGS = """\
import json, os, resource, signal, sys

def test_it():
    names = sorted(name for name in sys.modules if name.startswith("rgr_"))
    found = {
        "environ": dict(os.environ), "argv": sys.argv, "path": sys.path, "cwd": os.getcwd(), "names": names,
        "files": sorted(os.listdir("/proc/self/fd")), "status": open("/proc/self/status").read().count("\\n"),
        "limits": [resource.getrlimit(n) for n in range(16)], "mask": os.umask(0),
        "signals": [str(signal.getsignal(n)) for n in (1, 2, 13, 15, 17)], "tty": os.isatty(0) or os.isatty(1),
        "hash": hash("a"), "main": sys.modules["__main__"].__spec__.name, "stdin": os.readlink("/proc/self/fd/0"),
    }
    raise AssertionError(json.dumps(found, sort_keys=True))
"""


def test_a_fork_finds_what_a_process_of_its_own_finds(make: Callable[..., Bench], lay: Lay) -> None:
    lay({"test_it.py": SURROUNDINGS, "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n'})
    bench, name = make(X="1"), "test_it.py::test_it"

    cold, warm = bench(name, warm=False), bench(name)

    assert (cold.warm, warm.warm, warm.cold) == (False, True, "")
    found = [json.loads(run.results[name].message) for run in (cold, warm)]
    assert found[0] == found[1]
    assert (cold.exit_code, cold.finished, cold.hooks, cold.reach) == (
        warm.exit_code,
        warm.finished,
        warm.hooks,
        warm.reach,
    )
    assert warm.output.count("1 failed") == cold.output.count("1 failed") == 1


def test_every_fork_runs_what_is_there_now(make: Callable[..., Bench], lay: Lay) -> None:
    lay({"calc.py": ADD, "test_calc.py": TEST})
    bench, name = make(), "test_calc.py::test_add"

    assert bench(name).passed == {name}
    lay({"calc.py": ADD.replace("+", "-")})  # of the same size, in the same second
    assert bench(name).results[name].status is Status.FAILED
    lay({"calc.py": ADD})
    assert bench(name, seed=None).passed == {name}
    hidden = bench.suite.run(bench.project, Manner((name,), disguise=Guise.HIDDEN, seed=SEED, warm=True))
    assert (hidden.passed, hidden.warm) == ({name}, True)


def test_each_seed_and_each_checkout_has_a_process_of_its_own_and_they_run_side_by_side(
    make: Callable[..., Bench], lay: Lay, tmp_path: Path
) -> None:
    lay({"test_a.py": "def test_a():\n    raise AssertionError(hash('a'))\n"})
    bench, name = make(), "test_a.py::test_a"
    other = Path(shutil.copytree(bench.project, tmp_path / "other"))
    asked = [(folder, seed) for folder in (bench.project, other) for seed in (1, 2)]

    warm = side_by_side(
        [partial(bench.suite.run, place, Manner((name,), seed=seed, warm=True)) for place, seed in asked]
    )

    assert all(run.warm for run in warm)
    messages = [run.results[name].message for run in warm]
    assert messages[:2] == messages[2:]
    assert messages[:2] == [bench(name, warm=False, seed=seed).results[name].message for seed in (1, 2)]


def test_settings_of_the_runner_that_change_are_read_again(make: Callable[..., Bench], lay: Lay) -> None:
    lay({"test_a.py": "def check_a():\n    pass\n\n\ndef test_a():\n    pass\n"})
    bench = make()

    assert bench("test_a.py").ids == {"test_a.py::test_a"}
    lay({"pytest.ini": "[pytest]\npython_functions = check_*\n"})
    run = bench("test_a.py")

    assert (run.ids, run.warm) == ({"test_a.py::check_a"}, True)


def test_what_is_loaded_before_any_test_is_loaded_by_the_fork_also_where_it_comes_later(
    make: Callable[..., Bench], lay: Lay
) -> None:
    lay({"tests/test_a.py": "def test_a(request):\n    assert request.getfixturevalue('given') == 1\n"})
    bench, name = make(), "tests/test_a.py::test_a"
    given = "import pytest\n\n\n@pytest.fixture\ndef given():\n    return 1\n"

    assert bench(name).results[name].exception == "FixtureLookupError"
    for text, passed in (given, {name}), (given.replace("1", "2"), set[str]()), (given, {name}):
        lay({"tests/conftest.py": text})
        run = bench(name)
        assert (run.passed, run.warm) == (passed, True), run.output


def test_a_plug_in_that_is_the_project_itself_is_loaded_by_the_fork(
    make: Callable[..., Bench], lay: Lay
) -> None:
    plug = "import pytest\n\n\n@pytest.fixture\ndef given():\n    return 1\n"
    lay({"plug.py": plug, "test_a.py": "def test_a(given):\n    assert given == 1\n"})
    bench, name = make(PYTEST_PLUGINS="plug", PYTHONPATH="."), "test_a.py::test_a"

    first = bench(name)
    lay({"plug.py": plug.replace("1", "2")})

    assert (first.passed, first.warm) == ({name}, True), (first.cold, first.output)
    assert bench(name).results[name].status is Status.FAILED


ENDS = """\
import atexit, os

def test_it():
    atexit.register(lambda: open("ended", "a").write("."))
    os.write(1, b"caught")
    assert False
"""


def test_a_fork_ends_as_a_process_of_its_own_does(make: Callable[..., Bench], lay: Lay) -> None:
    lay({"test_it.py": ENDS})
    bench, name = make(), "test_it.py::test_it"

    cold, warm = bench(name, warm=False), bench(name)
    assert (bench.project / "ended").read_text() == ".."
    assert (warm.warm, warm.exit_code) == (True, cold.exit_code)
    lay({"conftest.py": "def pytest_unconfigure(config):\n    raise SystemExit(0)\n"})
    cold, warm = bench(name, warm=False), bench(name)
    assert (warm.warm, warm.exit_code, warm.tampering) == (True, 0, cold.tampering)
    assert "exited with 0" in warm.tampering[0]


def test_what_one_fork_prints_is_not_caught_by_the_next(make: Callable[..., Bench], lay: Lay) -> None:
    caught = "request.config.pluginmanager.getplugin('capturemanager').read_global_capture()"
    lay({"test_a.py": "import os\n\n\ndef test_a():\n    os.write(1, b'left')\n    os._exit(3)\n"})
    lay({"test_b.py": f"def test_b(request):\n    print('mine')\n    assert {caught} == ('mine\\n', '')\n"})
    bench = make()

    assert (bench("test_a.py").exit_code, bench("test_b.py").passed) == (3, {"test_b.py::test_b"})


def test_unittest_is_kept_loaded_too(make: Callable[..., Bench], lay: Lay) -> None:
    lay(
        {
            "test_a.py": "import unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 2)\n"
        }
    )
    bench, name = make(f"{sys.executable} -m unittest -q"), "test_a.A.test_a"

    cold, warm = bench(name, warm=False), bench(name)

    assert told(cold) == told(warm)
    assert (warm.warm, warm.exit_code) == (True, cold.exit_code)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("put", "found"),
    [
        ("json.dumps = mine", {("json", "dumps")}),
        ("json.JSONDecoder.decode = mine", {("json.decoder.JSONDecoder", "decode")}),
        ("json.dumps.__code__ = mine.__code__", {("json", "dumps")}),
        ("sys.modules['json'] = type(sys)('json'); import json; json.dumps = mine", {("json", "dumps")}),
        (
            "json.JSONEncoder = type('JSONEncoder', (), {'__module__': 'json', 'a': mine})",
            {("json.JSONEncoder", "a")},
        ),
        ("json.loads.__kwdefaults__ = {}", set[tuple[str, str]]()),
        ("mine.__code__ = other.__code__; json.dumps('')", set[tuple[str, str]]()),
    ],
)
@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_what_code_puts_into_other_modules_is_found_in_a_fork_as_it_is_in_a_process_of_its_own(
    put: str, found: set[tuple[str, str]], runner: str, make: Callable[..., Bench], lay: Lay
) -> None:
    code = f"import json, sys\n\ndef other(*_, **__):\n    return 2\n\ndef mine(*_, **__):\n    return 1\n\n{put}\n"
    test = "import unittest, calc\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n        assert calc.mine()\n"
    lay({"calc.py": code, "test_calc.py": test})
    bench = make(f"{sys.executable} -m {runner}")
    name = {"pytest": "test_calc.py::TestIt::test_it", "unittest": "test_calc.TestIt.test_it"}[runner]
    bench(warm=False)  # so that what the suite imports is loaded beforehand

    cold, warm = (
        bench.suite.run(bench.project, Manner((name,), disguise=Guise.HIDDEN, seed=SEED, warm=warm))
        for warm in (False, True)
    )

    assert warm.warm
    assert warm.results[name].passed
    assert {(item.owner, item.name) for item in warm.reach.replaced if item.file} == found
    assert warm.reach.replaced == cold.reach.replaced


def test_what_the_suite_imports_from_packages_is_loaded_beforehand_and_nothing_of_the_project(
    make: Callable[..., Bench], lay: Lay, tmp_path: Path
) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "slow_package.py").write_text("import os\nLOADED_BY = os.getpid()\n")
    lay({"calc.py": "import os\nLOADED_BY = os.getpid()\n"})
    lay(
        {
            "test_a.py": "import os, calc, slow_package\n\n\ndef test_a():\n    assert calc.LOADED_BY == os.getpid() != slow_package.LOADED_BY\n"
        }
    )
    bench = make(PYTHONPATH=str(installed))

    assert bench("test_a.py", seed=1).warm  # nothing is known yet
    assert bench(warm=False, seed=None).results["test_a.py::test_a"].status is Status.FAILED
    assert "slow_package" in next(iter(bench.warm.modules.values()))
    assert not {"calc", "test_a"} & set(next(iter(bench.warm.modules.values())))
    bench.warm.close()
    assert bench("test_a.py").passed == {"test_a.py::test_a"}


THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
FILE = "KEPT = open(__file__)\n"
MEMORY = "import mmap\nKEPT = mmap.mmap(-1, 4096)\n"


@pytest.mark.parametrize(
    ("package", "why"), [(THREAD, "threads live"), (FILE, "keeps a file open"), (MEMORY, "shares memory")]
)
@pytest.mark.long
def test_what_forks_would_share_is_refused_and_the_run_is_for_others_to_start(
    make: Callable[..., Bench], lay: Lay, tmp_path: Path, package: str, why: str
) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "odd_package.py").write_text(package)
    lay({"test_a.py": "import odd_package\n\n\ndef test_a():\n    pass\n"})
    bench = make(PYTHONPATH=str(installed))
    assert bench(warm=False).passed

    run = bench("test_a.py")

    assert (run.answered, run.warm) == (False, False)
    assert why in run.cold


@pytest.mark.parametrize("settings", ["addopts = -p plug", "addopts = -q -pplug"])
def test_plug_ins_that_settings_name_are_not_kept_loaded(
    make: Callable[..., Bench], lay: Lay, settings: str
) -> None:
    lay({"plug.py": "", "test_a.py": "def test_a():\n    pass\n", "pytest.ini": f"[pytest]\n{settings}\n"})

    assert "plug" in make(PYTHONPATH=".")("test_a.py").cold


def test_plug_ins_that_settings_switch_off_do_no_harm(make: Callable[..., Bench], lay: Lay) -> None:
    lay({"test_a.py": "def test_a():\n    pass\n", "pytest.ini": "[pytest]\naddopts = -p no:cacheprovider\n"})

    assert make()("test_a.py").warm


# --- tests that are the attacker

PATCHES = "import builtins, os, pytest, unittest\npytest.raises = None\nbuiltins.MARK = 1\nos.environ['MARK'] = '1'\n"
EXHAUSTS = """\
import os
kept = []
try:
    while True:
        kept.append(os.dup(1))
except OSError:
    for number in kept[:64]:
        os.close(number)
"""
OUTLIVES = """\
import os, signal, time
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        open("alive", "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
while not os.path.exists("alive") or not open("alive").read():
    time.sleep(0.01)
"""
THREADS = "import threading, time\nthreading.Thread(target=time.sleep, args=(0.05,)).start()\n"
READS = """\
import os
mine = f"/proc/{os.getppid()}/"
names = ["mem", "environ", "maps", *(f"fd/{number}" for number in range(8))]
for name in names:
    try:
        os.close(os.open(mine + name, os.O_RDONLY))
    except (PermissionError, FileNotFoundError):
        continue
    raise AssertionError(name)
"""
TRACES = """\
import ctypes, os
assert ctypes.CDLL(None, use_errno=True).ptrace(16, os.getppid(), 0, 0) == -1, "attached"
"""


@pytest.mark.parametrize(
    "attack",
    [PATCHES, EXHAUSTS, OUTLIVES, THREADS],
    ids=["patches", "exhausts", "outlives", "threads"],
)
def test_no_attack_of_a_test_reaches_the_next_probe(
    make: Callable[..., Bench], lay: Lay, attack: str
) -> None:
    body = "".join(f"    {line}\n" for line in attack.splitlines())
    lay({"test_bad.py": f"def test_bad():\n{body}"})
    lay(
        {
            "test_good.py": "import builtins, os, pytest\n\n\ndef test_good():\n    with pytest.raises(KeyError):\n        {}[1]\n    assert not hasattr(builtins, 'MARK') and 'MARK' not in os.environ\n"
        }
    )
    bench = make()

    bad, good = bench("test_bad.py"), bench("test_good.py")

    assert (bad.passed, bad.warm) == ({"test_bad.py::test_bad"}, True), bad.output
    assert (good.passed, good.warm) == ({"test_good.py::test_good"}, True)
    if attack is OUTLIVES:
        pid = (bench.project / "alive").read_text()
        assert not Path(f"/proc/{pid}").exists()


LEAVES = """\
import os, socket, tempfile
places = [tempfile.gettempdir(), *(["/dev/shm", os.path.expanduser("~")] if HELD == "bubblewrap" else [])]
for place in places:
    assert not os.path.exists(place + "/left"), place
    os.makedirs(place + "/left/deep")
"""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.long
def test_a_held_test_can_neither_read_nor_trace_what_it_was_forked_from_nor_leave_anything_to_the_next(
    project: Path, environment: dict[str, str], cache: Path, lay: Lay, level: str
) -> None:
    bodies = {"reads": READS, "traces": TRACES, "leaves": f"HELD = {level!r}\n{LEAVES}"}
    texts = {name: "".join(f"    {line}\n" for line in body.splitlines()) for name, body in bodies.items()}
    lay({"test_bad.py": "".join(f"def test_{name}():\n{text}\n\n" for name, text in texts.items())})
    shown = readable(Path(sys.base_prefix), Path(sys.prefix), PROBES, cache)
    held = cage(level, project, *shown)
    held = replace(held, policy=replace(held.policy, temporary=cache))
    warm = WarmProcesses()
    where = SuiteContext(project, environment, 120.0, cache, cage=lambda _f, _m: held, warm=warm)
    bench = Bench(project, suite_for(f"{sys.executable} -m pytest -q", where), warm, Interrupt())

    with closing(warm), closing(bench.interrupt):
        for _ in range(2):
            run = bench("test_bad.py")
            assert run.warm, (run.cold, run.output)
            assert run.passed == {f"test_bad.py::test_{name}" for name in bodies}, run.output


@pytest.mark.parametrize("number", ["SIGKILL", "SIGINT"])
@pytest.mark.long
def test_a_test_that_ends_what_it_was_forked_from_is_for_others_to_start(
    make: Callable[..., Bench], lay: Lay, number: str
) -> None:
    lay(
        {
            "test_bad.py": f"import os, signal\n\n\ndef test_bad():\n    os.kill(os.getppid(), signal.{number})\n    signal.pause()\n"
        }
    )
    lay({"test_good.py": "def test_good():\n    pass\n"})
    bench = make()

    bad, good = bench("test_bad.py"), bench("test_good.py")

    assert (bad.answered, bad.cold) == (False, "the process that was kept loaded was ended by what it ran")
    assert (good.passed, good.warm) == ({"test_good.py::test_good"}, True)


@pytest.mark.long
def test_a_process_that_is_stopped_by_what_it_ran_says_nothing(make: Callable[..., Bench], lay: Lay) -> None:
    lay(
        {"test_bad.py": "import os, signal\n\n\ndef test_bad():\n    os.kill(os.getppid(), signal.SIGSTOP)\n"}
    )

    run = make()("test_bad.py", limit=3.0)

    assert not run.answered
    assert "kept from its work" in run.cold


@pytest.mark.long
def test_a_probe_that_takes_too_long_is_ended_and_the_next_one_runs(
    make: Callable[..., Bench], lay: Lay
) -> None:
    lay(
        {
            "test_a.py": "import signal\n\n\ndef test_long():\n    signal.pause()\n\n\ndef test_short():\n    pass\n"
        }
    )
    bench = make()
    assert bench("test_a.py::test_short").warm

    late, next_one = bench("test_a.py::test_long", limit=1.0), bench("test_a.py::test_short")

    assert (late.timed_out, late.cut_off, late.finished) == (True, "test_a.py::test_long", False)
    assert (next_one.passed, next_one.warm) == ({"test_a.py::test_short"}, True)


@pytest.mark.long
def test_an_interruption_ends_the_probe_and_what_it_was_forked_from(
    make: Callable[..., Bench], lay: Lay
) -> None:
    lay(
        {
            "test_a.py": "import signal\n\n\ndef test_long():\n    signal.pause()\n\n\ndef test_short():\n    pass\n"
        }
    )
    bench = make()
    assert bench("test_a.py::test_short").warm
    bench.interrupt.request("the test")

    started = time.monotonic()
    with pytest.raises(InterruptedRunError):
        bench("test_a.py::test_long")

    assert time.monotonic() - started < 60


def test_what_starts_anew_for_good_reasons_does_so_without_a_word(
    make: Callable[..., Bench], lay: Lay
) -> None:
    lay({"test_a.py": "def test_a():\n    pass\n"})

    for run in (
        make()("test_a.py", seed=3),
        make(PYTHONHASHSEED="0")("test_a.py", seed=None),
        make(f"cd . && {sys.executable} -m pytest")("test_a.py"),
    ):
        assert (run.answered, run.cold) == (False, "")


@pytest.mark.parametrize(
    ("command", "alone"),
    [
        ("pytest -q tests", True),
        ("X=1 python3 -m pytest", True),
        ("uv run pytest", True),
        ("timeout 9 pytest", False),
        ("coverage run -m pytest", False),
        ("python -m coverage run -m pytest", False),
        ("make && pytest", False),
        ("pytest | tee log", False),
        ("pytest > log", False),
        ("pytest $MORE", False),
        ("", False),
    ],
)
def test_only_a_line_that_is_nothing_but_a_runner_is_kept_loaded(command: str, alone: bool) -> None:
    assert stands_alone(command) is alone
