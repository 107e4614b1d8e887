"""A pytest plugin that writes down what every test did; loaded from outside the project with `-p`.

Works with pytest 6.2 and later. The text PYTEST_DONT_REWRITE keeps pytest from rewriting this module.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import pytest
from rgr_around import Around
from rgr_imports import Redirection, redirect
from rgr_reach import Reach, tell_the_end
from rgr_records import (
    PLAIN,
    Order,
    Paths,
    Report,
    definition,
    describe,
    describe_collection,
    described_hook,
    digest_of,
    held_in,
    in_fixture,
    message_of,
)

# What would hide a test, run it elsewhere, or wait for a person; set where the option exists.
_OPTIONS: dict[str, Any] = {
    "maxfail": 0,
    "continue_on_collection_errors": True,
    "lf": False,
    "failedfirst": False,
    "stepwise": False,
    "stepwise_skip": False,
    "stepwise_reset": False,
    "usepdb": False,
    "numprocesses": 0,
    "dist": "no",
    "tx": [],
}
_CANARIES = """
def test_rgr_canary_{nonce}_raises():
    raise AssertionError({nonce!r})

def test_rgr_canary_{nonce}_compares():
    assert object() == {nonce!r}
"""
_MESSAGE = 500  # characters of a failure that comes without an exception
_UNSURE = frozenset(("skip", "skipif", "xfail"))  # marks under which a canary proves nothing
_NOTE, _AROUND = "rgr_note", "rgr_around"  # attributes of a report: what was raised, and what served the test


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Begin: by now the environment, which was only ours to be found by, is as it was before."""
    pluginmanager.register(_Session(Probe()), "rgr-session")


class Probe:
    """What all hooks share."""

    def __init__(self) -> None:
        self.order = Order(waits=True)
        self.redirection = Redirection(self.order.homes, self.order.folder)
        redirect(self.redirection)
        self.paths = self.order.paths
        self.canaries: frozenset[str] = frozenset()
        self.hooks: set[tuple[str, str]] = set()
        self._known_hooks: dict[
            int, tuple[Any, Any]
        ] = {}  # by their ids, and kept, so that these stay theirs
        self.planned = 0
        self.started = 0
        self.begun = False
        self.made_of: Callable[[], Any] = tuple  # what decides how far a process is that is kept loaded
        self._trap: Any = None
        if self.order.kept is None:
            self.begin()
        else:
            from rgr_departure import Trap  # noqa: PLC0415 - seldom asked for

            self._trap = Trap(self.paths, self.begin)

    def begin(self, manager: Any = None) -> None:
        """Be a run, if this is none yet: from here on something of the project may be loaded."""
        if self.begun:
            return
        if manager is not None:
            self._new_hooks(manager)  # once for all forks: none of them is the project's
        kept = self.order.kept
        self.order.become_a_run(self.made_of)
        sys.modules.pop("rgr_departure", None)
        if kept is not None:
            self._trap.remove()
            for name in ["rgr_lines"] * self.order.trace + ["rgr_disguise"] * bool(self.order.disguise):
                kept.provide(name)
        self.begun = True
        self.report = Report(self.order.report, self.order.nonce)
        self.around = Around(self.paths, self.report.write_later)
        self.reach = Reach(self.paths, closely=bool(self.order.tests))
        self.lines: Any = None
        if self.order.trace:
            from rgr_lines import Lines  # noqa: PLC0415 - seldom asked for

            self.lines = Lines(self.paths)
        self.disguise: Any = None
        if self.order.disguise:
            from rgr_disguise import Disguise  # noqa: PLC0415 - seldom asked for

            self.disguise = Disguise(self.order, self.paths, self.reach.asked)
        here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
        sys.path[:] = [entry for entry in sys.path if entry != here]
        self.order.settle_chance()
        if self.disguise is not None:
            self.disguise.begin()
        self.report.write("begin", runner="pytest " + pytest.__version__)

    def tell_hooks(self, manager: Any) -> None:
        """Write down every hook in force that the project implements, each once."""
        for caller, implementation in self._new_hooks(manager):
            hook = described_hook(implementation.function, implementation.plugin, self.paths)
            if hook is not None and (caller.name, hook["code"]) not in self.hooks:
                self.hooks.add((caller.name, hook["code"]))
                self.report.write("hook", name=caller.name, **hook)

    def _new_hooks(self, manager: Any) -> list[tuple[Any, Any]]:
        """Return the hooks that were not there when this was asked last."""
        callers: dict[str, Any] = manager.hook.__dict__
        found: list[tuple[Any, Any]] = []
        for caller in callers.values():
            for implementation in caller.get_hookimpls() if hasattr(caller, "get_hookimpls") else ():
                known = self._known_hooks.get(id(implementation))
                if known is None or known[1] is not implementation.function:
                    self._known_hooks[id(implementation)] = implementation, implementation.function
                    found.append((caller, implementation))
        return found

    def not_collected(self, path: str, raised: BaseException) -> None:
        """Write down that a file could not be collected, and why."""
        told = _cause(raised)
        facts = describe_collection(told, told.__traceback__, self.paths)
        file = self.paths.inside(path)
        if os.path.isdir(path) or not file:  # noqa: PTH112
            file = (facts["place"] or [file or path])[0]
        self.report.write("error", file=file, **facts)


def _cause(raised: BaseException) -> BaseException:
    """Return what went wrong in a file, out of what pytest makes of it."""
    cause, name = raised.__cause__, type(raised).__name__
    if name == "ConftestImportFailure" and cause is not None:
        return cause
    plain = (
        isinstance(cause, (ImportError, SyntaxError)) and type(cause).__name__ != "ImportPathMismatchError"
    )
    return cause if name == "CollectError" and plain and cause is not None else raised


class _Session:
    """The hooks around the tests: options, collection, the end."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Generator[None, Any, None]:
        if self._probe.order.kept is not None:
            from rgr_departure import departs_early, initial_files  # noqa: PLC0415 - seldom asked for

            self._probe.made_of = partial(initial_files, early_config)
            if departs_early(early_config):
                self._probe.begin(early_config.pluginmanager)
        outcome = yield
        if outcome.excinfo is not None:
            raised: BaseException = outcome.excinfo[1]
            self._probe.not_collected(str(getattr(raised, "path", "")), raised)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        seeded = {} if self._probe.order.seed is None else {"randomly_seed": self._probe.order.seed}
        for name, value in {**_OPTIONS, **seeded}.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self) -> Generator[None, Any, None]:
        """Know what pytest exits with, unless something of the project has a say in it at the very end."""
        outcome = yield
        own = any(name == "pytest_cmdline_main" for name, _ in self._probe.hooks)
        if outcome.excinfo is None and not own:
            self._probe.order.exit_code = int(outcome.get_result() or 0)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> Generator[None, Any, None]:
        config, kept = session.config, self._probe.order.kept is not None
        self._probe.begin(config.pluginmanager)
        if kept:
            config.option.tbstyle = "no"  # nobody reads it: what was raised is in the report
            config.option.cacheshow = True  # nothing is kept for a next time
        if self._probe.order.tests:
            config.pluginmanager.register(_selection(self._probe, str(config.rootpath)), "rgr-selection")
        cache: Any = getattr(config, "cache", None)
        if hasattr(cache, "_cachedir"):  # a checkout stays as it was
            cache._cachedir = type(cache._cachedir)(self._probe.order.scratch)  # noqa: SLF001
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        outcome = yield
        if outcome.excinfo is not None:
            raised: BaseException | None = outcome.excinfo[1]
        else:
            report = outcome.get_result()
            call = getattr(report, "call", None)
            raised = call.excinfo.value if report.failed and call is not None and call.excinfo else None
        if raised is not None and self._wanted(collector):
            self._probe.not_collected(_path(collector), raised)

    def _wanted(self, collector: pytest.Collector) -> bool:
        """Tell whether a collector could have held a test that is to be run."""
        name = collector.nodeid
        tests = self._probe.order.tests
        return self._probe.order.chosen(name, "::") or any(test.startswith(name) for test in tests)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, Any, None]:
        collected = [item.nodeid for item in items]
        yield
        probe = self._probe
        kept = {item.nodeid for item in items}
        dropped = [name for name in collected if name not in kept and probe.order.chosen(name, "::")]
        if dropped:
            probe.report.write("deselected", ids=dropped)
        if probe.order.tests:
            items[:] = [item for item in items if probe.order.chosen(item.nodeid, "::")]
        canaries = _canaries(items, probe.order.canary, config) if probe.order.canary else []
        probe.canaries = frozenset(item.nodeid for item in canaries)
        probe.report.write("canaries", ids=sorted(probe.canaries))
        items.extend(canaries)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Register what listens to the tests last of all, so that it stands between them and everybody else."""
        self._probe.tell_hooks(session.config.pluginmanager)
        self._probe.reach.note_loaded()
        self._probe.planned = len(session.items)
        session.testscollected -= len(self._probe.canaries)
        session.config.pluginmanager.register(_Tests(self._probe, session), "rgr-tests")
        if self._probe.lines is not None:
            session.config.pluginmanager.register(_Trace(self._probe), "rgr-trace")
        if self._probe.disguise is not None:
            session.config.pluginmanager.register(_Disguised(self._probe), "rgr-disguise")
            if self._probe.disguise.hides:
                _name_folders_plainly(getattr(session.config, "_tmp_path_factory", None), self._probe.order)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, None]:
        yield
        probe = self._probe
        probe.tell_hooks(session.config.pluginmanager)
        tell_the_end(probe.order, probe.reach, probe.lines, probe.redirection, probe.report.write)
        probe.report.write(
            "finish", exit=int(session.exitstatus), planned=probe.planned, started=probe.started
        )


class _Tests:
    """The hooks around each test."""

    def __init__(self, probe: Probe, session: pytest.Session) -> None:
        self._probe = probe
        self._session = session
        self._write = probe.report.write
        self._write_later = probe.report.write_later
        self._hides = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if item.nodeid in self._probe.canaries and not self._hides:
            self._hides = True  # not before, because it costs something with every test
            item.config.pluginmanager.register(_Hiding(self._probe.canaries), "rgr-hiding")
        self._probe.started += 1
        self._probe.order.settle_chance()
        self._write("test", id=item.nodeid, **_definition(item, self._probe.paths))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, None]:
        """Note what was raised; it is read on both sides, because TestCases only have it on the far one."""
        before = call.excinfo
        outcome = yield
        raised = before or call.excinfo
        if outcome.excinfo is not None:
            return
        if (raised or call.when == "call") and item.nodeid not in self._probe.canaries:
            setattr(outcome.get_result(), _AROUND, _around(item, self._probe.around))
        if raised is None:
            return
        note: dict[str, Any] = {"message": message_of(raised.value)}
        if not _is_skip(raised.value):
            note = describe(raised.value, raised.tb, self._probe.paths, failure=pytest.fail.Exception)
            if note["exception"] == "FixtureLookupError":
                note["message"] = f"fixture {getattr(raised.value, 'argname', None)!r} not found"
            note["fixture"] = call.when != "call" or (_is_unittest(item) and in_fixture(note))
        setattr(outcome.get_result(), _NOTE, note)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down what everybody else has made of the report."""
        noted: dict[str, Any] | None = getattr(report, _NOTE, None)
        status, around = _status(report), getattr(report, _AROUND, [])
        if noted is None and status in (None, "passed"):
            if status is not None:
                self._write_later(
                    "part", id=report.nodeid, status=status, seconds=report.duration, around=around
                )
            return
        note = dict(noted or {})
        flipped = report.outcome == "passed" and "exception" in note
        if flipped:
            status = "failed"
        if status in ("failed", "error") and not note:
            note = {"message": str(report.longrepr or "")[:_MESSAGE], "kind": "exception"}
        if note.pop("fixture", False) and status in ("failed", "error"):
            status, note["kind"] = "error", "setup"
        if status is not None:
            told = {"status": status, "seconds": report.duration, "flipped": flipped, "around": around}
            self._write("part", id=report.nodeid, **told, **note)
        if report.nodeid in self._probe.canaries and report.failed:
            self._session.testsfailed -= 1  # the exit code is the project's own


class _Hiding:
    """Keeps canaries from the eyes of whoever reads the output."""

    def __init__(self, canaries: frozenset[str]) -> None:
        self._canaries = canaries

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        return ("", "", "") if report.nodeid in self._canaries else None


class _Canary(pytest.Function):
    """A test of ours that fails; nobody reads how."""

    def repr_failure(self, *_: Any, **__: Any) -> str:
        return ""


class _Trace:
    """Watches which lines the tests execute."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._lines = probe.lines

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        if item.nodeid in self._probe.canaries:
            yield
            return
        self._lines.start()
        try:
            yield
        finally:
            self._lines.stop()


class _Disguised:
    """Hides from the code under test that it is being tested."""

    def __init__(self, probe: Probe) -> None:
        self._disguise = probe.disguise
        self._probe = probe

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        test: Any = getattr(item, "obj", None)
        if item.nodeid in self._probe.canaries or not callable(test):
            yield
            return
        take_off, own = self._disguise.wear(test), item
        own.obj = self._disguise.called(test)  # type: ignore[attr-defined]
        for name in ("setUp", "tearDown") if _is_unittest(item) else ():
            case: Any = getattr(item, "instance", None) or getattr(item, "_testcase", None)
            setattr(case, name, self._disguise.called(getattr(case, name)))
        try:
            yield
        finally:
            own.obj = test  # type: ignore[attr-defined]
            take_off()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, None]:
        made = fixturedef.func
        function: Any = getattr(made, "__func__", made)
        code: Any = getattr(function, "__code__", None)
        if code is not None and self._probe.paths.inside(code.co_filename):
            called = self._disguise.called(function)
            fixturedef.func = called if made is function else MethodType(called, made.__self__)
        yield
        fixturedef.func = made


def _name_folders_plainly(factory: Any, order: Order) -> None:
    """Let folders for tests be called neither after the runner nor after a test."""
    if factory is None:
        return
    os.makedirs(order.scratch, exist_ok=True)  # noqa: PTH103
    factory._given_basetemp = Path(order.scratch, "work")  # noqa: SLF001 - there is no other way once it is made
    make = factory.mktemp

    def made(basename: str, *args: Any, **options: Any) -> Any:
        return make("folder" if basename.startswith("test") else basename, *args, **options)

    factory.mktemp = made


class _Selection:
    """Keeps files that hold none of the chosen tests from being imported."""

    def __init__(self, probe: Probe, root: str) -> None:
        files = {name.partition("::")[0] for name in probe.order.tests}
        self._files = {os.path.normpath(os.path.join(root, file)) for file in files}  # noqa: PTH118

    def ignores(self, path: str) -> bool | None:
        """Return True for what is in the way of none of the chosen tests, else leave it to others."""
        if os.path.basename(path) == "__init__.py":  # noqa: PTH119 - may make a package of its folder
            path = os.path.dirname(path)  # noqa: PTH120
        inside = os.path.join(path, "")  # noqa: PTH118
        return None if any(file == path or file.startswith(inside) for file in self._files) else True


class _SelectionByPath(_Selection):
    def pytest_ignore_collect(self, collection_path: Any) -> bool | None:
        return self.ignores(str(collection_path))


class _SelectionBefore7(_Selection):
    def pytest_ignore_collect(self, path: Any) -> bool | None:
        return self.ignores(str(path))


def _selection(probe: Probe, root: str) -> _Selection:
    """Return a plugin that ignores files, in the spelling of this pytest."""
    renamed = int(pytest.__version__.partition(".")[0]) >= 7  # noqa: PLR2004 - the hook's argument
    return (_SelectionByPath if renamed else _SelectionBefore7)(probe, root)


def _canaries(items: list[pytest.Item], nonce: str, config: pytest.Config) -> list[pytest.Item]:
    """Return two tests that must fail, beside the last test that is not marked to be let off."""
    for item in reversed(items):
        module = item.getparent(pytest.Module) if isinstance(item, pytest.Function) else None
        if module is not None and _UNSURE.isdisjoint(mark.name for mark in module.iter_markers()):
            make: Any = getattr(_Canary, "from_parent")  # noqa: B009 - its types are partly unknown
            return [
                make(module, name=name, callobj=function)
                for name, function in _functions(_CANARIES.format(nonce=nonce), config).items()
            ]
    return []


def _functions(source: str, config: pytest.Config) -> dict[str, FunctionType]:
    """Return the functions of a source that is compiled just as test files are."""
    tree = ast.parse(source)
    try:
        from _pytest.assertion.rewrite import rewrite_asserts  # noqa: PLC0415

        rewrite_asserts(tree, source.encode(), None, config)
    except Exception:  # noqa: BLE001, S110 - no public name; without it they are only plainer
        pass
    names: dict[str, Any] = {}
    exec(compile(tree, "<rgr>", "exec", dont_inherit=True), names)  # noqa: S102 - our own text
    return {name: value for name, value in names.items() if isinstance(value, FunctionType)}


def _status(report: pytest.TestReport) -> str | None:
    """Return what a report says, or None if it says nothing about the test."""
    if report.outcome == "failed":
        return "failed" if report.when == "call" else "error"
    excused = hasattr(report, "wasxfail")
    if report.outcome == "skipped":
        return "xfailed" if excused else "skipped"
    if report.outcome == "passed" and report.when == "call":
        return "xpassed" if excused else "passed"
    return None  # set up and torn down well, or to be run again


def _is_skip(raised: BaseException) -> bool:
    skips: Any = getattr(sys.modules.get("unittest"), "SkipTest", pytest.skip.Exception)
    return isinstance(raised, (pytest.skip.Exception, pytest.xfail.Exception, skips))


def _path(node: Any) -> str:
    return str(getattr(node, "path", None) or node.fspath)


def _definition(item: pytest.Item, paths: Paths) -> dict[str, Any]:
    """Return where a test is defined, as far as an item of some plugin's own lets itself be asked."""
    try:
        name: str = getattr(item, "originalname", None) or item.name
        cls: Any = getattr(item, "cls", None)
        facts = definition(_path(item), name, cls, getattr(item, "function", None), paths)
        facts["line"] = facts["line"] or (item.location[1] or 0) + 1
        facts["given"] = _given(item)
    except Exception:  # noqa: BLE001
        return {"file": paths.inside(_path(item)), "function": item.name}
    return facts


def _given(item: Any) -> str:
    """Return a digest of a parameter set, if the runner may have numbered it; it names numbers and texts by themselves."""
    params: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    if all(type(value) in PLAIN for value in params.values()):
        return ""
    try:
        return digest_of([(name, held_in(value)) for name, value in sorted(params.items())])
    except Exception:  # noqa: BLE001 - somebody else's objects
        return ""


def _around(item: Any, around: Around) -> list[int]:
    """Return what serves a test: the fixtures that it has been given so far, and all that it names."""
    try:
        used: dict[str, Any] = getattr(getattr(item, "_request", None), "_fixture_defs", {})
        known: dict[str, Any] = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        made = [
            (name, each.func)
            for name, one in used.items()
            for each in (*(known.get(name, ()) if name in one.argnames else ()), one)
        ]
        return around.of(getattr(item, "function", None), getattr(item, "cls", None), made)
    except Exception:  # noqa: BLE001 - somebody else's objects
        return []


def _is_unittest(item: pytest.Item) -> bool:
    cls: Any = getattr(item, "cls", None)
    case: Any = getattr(sys.modules.get("unittest"), "TestCase", None)
    return cls is not None and case is not None and issubclass(cls, case)
