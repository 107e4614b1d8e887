"""Stands in for `python -m unittest` and writes down what every test did."""

from __future__ import annotations

import os
import sys
import time
import unittest
import unittest.loader
from collections.abc import Callable, Iterator
from typing import Any

from rgr_around import Around
from rgr_imports import Redirection, redirect
from rgr_reach import Reach, tell_the_end
from rgr_records import Order, Report, definition, describe, describe_collection, in_fixture


class Probe:
    """What was planned, what came of it, and where it is written down."""

    def __init__(self) -> None:
        self.order = Order()
        self.report = Report(self.order.report, self.order.nonce)
        self.paths = self.order.paths
        self.canaries: frozenset[str] = frozenset()
        self._redirection = Redirection(self.order.homes, self.order.folder)
        self._classes: dict[str, type[Any]] = {}  # of the tests that are to run
        self._started: list[str] = []
        self._reach = Reach(self.paths, closely=bool(self.order.tests))
        self._around = Around(self.paths, self.report.write_later)
        self._lines: Any = None
        self._disguise: Any = None
        self._take_off: Callable[[], None] | None = None
        if self.order.trace:
            from rgr_lines import Lines  # noqa: PLC0415 - seldom asked for

            self._lines = Lines(self.paths)
        if self.order.disguise:
            from rgr_disguise import Disguise  # noqa: PLC0415 - seldom asked for

            self._disguise = Disguise(self.order, self.paths, self._reach.asked)
        here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
        sys.path[:] = [entry for entry in sys.path if entry != here]
        redirect(self._redirection)
        self.order.settle_chance()
        if self._disguise is not None:
            self._disguise.begin()
        self.report.write("begin", runner="unittest")

    def plan(self, suite: Any) -> unittest.TestSuite:
        """Return what is to run: the tests, or the chosen ones, and two that must fail."""
        tests = list(_flat(suite))
        if self.order.tests:
            tests = [test for test in tests if self._is_chosen(test)]
            suite = _only(suite, {id(test) for test in tests})
        self._classes = {test.id(): type(test) for test in tests if not _is_stand_in(test)}
        self._reach.note_loaded()
        canaries = _canaries(self.order.canary) if self.order.canary else []
        self.canaries = frozenset(test.id() for test in canaries)
        self.report.write("canaries", ids=sorted(self.canaries))
        return unittest.TestSuite([suite, *canaries])

    def _is_chosen(self, test: Any) -> bool:
        if _is_stand_in(test):
            return holds_chosen(self.order, test._testMethodName)  # noqa: SLF001
        return self.order.chosen(test.id(), ".")

    @property
    def begun(self) -> bool:
        """Whether a test has started."""
        return bool(self._started)

    def begins(self, test: Any) -> None:
        """Write down that a test starts, and begin to watch it."""
        self.order.settle_chance()
        self._starts(test.id(), test.__class__)
        if self._disguise is not None:
            name: str = test._testMethodName  # noqa: SLF001
            self._take_off = self._disguise.wear(getattr(test, name, None))
            for part in (name, "setUp", "tearDown"):
                setattr(test, part, self._disguise.called(getattr(test, part)))
        if self._lines is not None:
            self._lines.start()

    def ends(self) -> None:
        """Watch no longer."""
        if self._lines is not None:
            self._lines.stop()
        if self._take_off is not None:
            self._take_off()
            self._take_off = None

    def _starts(self, name: str, cls: type[Any]) -> None:
        self._started.append(name)
        path: Any = getattr(sys.modules.get(cls.__module__), "__file__", None) or ""
        method = name.rpartition(".")[2]
        facts = definition(str(path), method, cls, getattr(cls, method, None), self.paths)
        self.report.write("test", id=name, **facts)

    def part(self, test: Any, status: str, seconds: float = 0.0, **facts: Any) -> None:
        """Write down what became of a test, or of all the tests that a failed fixture stands for."""
        if _is_stand_in(test):
            return
        names = [test.id()] if isinstance(test, unittest.TestCase) else self._behind(test.id())
        around = self._serving(test)
        for name in names:
            self.report.write("part", id=name, status=status, seconds=seconds, around=around, **facts)

    def _serving(self, test: Any) -> list[int]:
        """Return what serves a test: set-ups, helpers, all that it names."""
        try:
            cls: Any = test.__class__
            method: Any = getattr(cls, str(getattr(test, "_testMethodName", "")), None)
            return self._around.of(method, cls, ()) if test.id() not in self.canaries else []
        except Exception:  # noqa: BLE001 - somebody else's objects
            return []

    def _behind(self, fixture: str) -> list[str]:
        """Return the tests that a failed `setUpClass (tests.A)` kept from running, or whom its end concerns."""
        method, _, owner = fixture.rstrip(")").partition(" (")
        concerned = [
            name
            for name, cls in self._classes.items()
            if owner in (cls.__module__, f"{cls.__module__}.{cls.__qualname__}")
        ]
        if not method.startswith("setUp"):
            return [name for name in self._started if name in concerned][-1:]
        waiting = [name for name in concerned if name not in self._started]
        for name in waiting:
            self._starts(name, self._classes[name])
        return waiting

    def raised(self, test: Any, raised: Any, seconds: float = 0.0) -> None:
        """Write down that a test did not hold, or that its file could not be collected."""
        exception, traceback = raised[1], raised[2]
        if _is_failed(test):
            self.not_collected(test._testMethodName, getattr(exception, _ORIGINAL, exception))  # noqa: SLF001
            return
        failure: Any = getattr(test, "failureException", None)
        facts = describe(exception, traceback, self.paths, failure=failure)
        status = "failed"
        if not isinstance(test, unittest.TestCase) or in_fixture(facts):
            status, facts["kind"] = "error", "setup"
        self.part(test, status, seconds, **facts)

    def not_collected(self, name: str, raised: BaseException) -> None:
        """Write down that a module could not be loaded, and why."""
        facts = describe_collection(raised, raised.__traceback__, self.paths)
        file = self._file(name) or (facts["place"] or [name])[0]
        self.report.write("error", file=file, **facts)

    def _file(self, module: str) -> str:
        path = module.replace(".", os.sep)
        for entry in sys.path if module else ():
            for name in (path + ".py", os.path.join(path, "__init__.py")):  # noqa: PTH118
                file = os.path.join(entry, name)  # noqa: PTH118
                if os.path.isfile(file) and self.paths.inside(file):  # noqa: PTH113
                    return self.paths.inside(file)
        return ""

    def finish(self, code: int) -> None:
        """Write down that everything came to its end."""
        tell_the_end(self.order, self._reach, self._lines, self._redirection, self.report.write)
        self.report.write(
            "finish",
            exit=code,
            planned=len(self._classes),
            started=len(set(self._started) & set(self._classes)),
        )


_ORIGINAL = "rgr_original"  # the attribute of a loader's error that holds the real one


def holds_chosen(order: Order, module: str) -> bool:
    """Tell whether a module is in the way of a chosen test."""
    return order.chosen(module, ".") or any(test.startswith(module + ".") for test in order.tests)


class _Result(unittest.TextTestResult):
    """Writes down what it is told, and keeps what it is told about canaries to itself."""

    probe: Probe
    _began = 0.0

    def _own(self, test: Any) -> bool:
        return test.id() in self.probe.canaries

    def _seconds(self) -> float:
        return time.perf_counter() - self._began

    def startTest(self, test: Any) -> None:  # noqa: N802
        if not self._own(test):
            super().startTest(test)
            self._began = time.perf_counter()
            if not _is_stand_in(test):
                self.probe.begins(test)

    def stopTest(self, test: Any) -> None:  # noqa: N802
        if not self._own(test):
            self.probe.ends()
            super().stopTest(test)

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        self.probe.part(test, "passed", self._seconds())
        if not self._own(test):
            super().addSuccess(test)

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self.probe.raised(test, err, self._seconds())
        if not self._own(test):
            super().addFailure(test, err)

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self.probe.raised(test, err, self._seconds())
        if not self._own(test):
            super().addError(test, err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self.probe.part(getattr(test, "test_case", test), "skipped", message=str(reason))
        if not self._own(test):
            super().addSkip(test, reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        facts = describe(err[1], err[2], self.probe.paths)
        self.probe.part(test, "xfailed", self._seconds(), **facts)
        if not self._own(test):
            super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        self.probe.part(test, "failed", self._seconds(), kind="exception", message="Unexpected success")
        if not self._own(test):
            super().addUnexpectedSuccess(test)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            self.probe.raised(test, err)
        super().addSubTest(test, subtest, err)

    def addDuration(self, test: Any, elapsed: float) -> None:  # noqa: N802
        if not self._own(test):
            super().addDuration(test, elapsed)  # type: ignore[misc] # since 3.12


class _Runner(unittest.TextTestRunner):
    """Runs what the probe planned, to the end."""

    probe: Probe
    resultclass: Any = _Result
    over = False

    def _makeResult(self) -> Any:  # noqa: N802
        result: Any = super()._makeResult()
        result.probe = self.probe
        return result

    def run(self, test: Any) -> Any:
        self.failfast = False
        result = super().run(self.probe.plan(test))
        type(self).over = True
        return result


class _Loader(unittest.TestLoader):
    """Leaves alone the files that hold none of the chosen tests."""

    order: Order

    def _match_path(self, path: str, full_path: str, pattern: str) -> bool:
        matches: Callable[[str, str, str], bool] = super()._match_path  # type: ignore[misc] # meant to be overridden
        name = str(self._get_name_from_path(full_path))  # type: ignore[attr-defined]
        return matches(path, full_path, pattern) and holds_chosen(self.order, name)


def _flat(suite: Any) -> Iterator[Any]:
    try:
        inner = iter(suite)
    except TypeError:
        yield suite
        return
    for test in inner:
        yield from _flat(test)


def _only(suite: Any, chosen: set[int]) -> Any:
    """Return a suite with the chosen tests alone; its own ways stay."""
    held: Any = getattr(suite, "_tests", None)
    if not isinstance(held, list):
        return unittest.TestSuite(test for test in _flat(suite) if id(test) in chosen)
    kept: list[Any] = [test for test in held if _holds(test) or id(test) in chosen]  # type: ignore[reportUnknownVariableType]
    held[:] = [_only(test, chosen) if _holds(test) else test for test in kept]
    return suite


def _holds(test: Any) -> bool:
    return hasattr(test, "__iter__")


def _is_failed(test: Any) -> bool:
    return type(test).__name__ == "_FailedTest"


def _is_stand_in(test: Any) -> bool:
    """Tell whether the loader made this up for a module it could not load or was told to skip."""
    return type(test).__module__ == "unittest.loader"


def _canaries(nonce: str) -> list[unittest.TestCase]:
    def test_raises(_: unittest.TestCase) -> None:  # noqa: PT019
        raise AssertionError(nonce)

    def test_compares(self: unittest.TestCase) -> None:
        self.assertEqual(object(), nonce)  # noqa: PT009

    methods: dict[str, Any] = {"test_raises": test_raises, "test_compares": test_compares}
    cls = type("RgrCanary" + nonce, (unittest.TestCase,), methods)
    return [cls(name) for name in methods]


def _keep_original_errors() -> None:
    """Make the loader's errors, which only quote what was raised in a module, remember it."""
    quoting: Any = getattr(unittest.loader, "_make_failed_import_test", None)
    if quoting is None:
        return

    def remembering(name: str, *rest: Any) -> Any:
        made = quoting(name, *rest)
        for test in _flat(made[0]):
            setattr(test._exception, _ORIGINAL, sys.exc_info()[1])  # noqa: SLF001
        return made

    unittest.loader._make_failed_import_test = remembering  # type: ignore[attr-defined] # noqa: SLF001


def main() -> None:
    """Run as `python -m unittest` would, with the same arguments, output and exit code."""
    arguments = ["python -m unittest", *sys.argv[1:]]
    sys.argv[0] = arguments[0]
    probe = Probe()
    _keep_original_errors()
    runner = type("Runner", (_Runner,), {"probe": probe})
    loader = unittest.defaultTestLoader
    if probe.order.tests:
        loader = _Loader()
        loader.order = probe.order
    try:
        unittest.main(module=None, argv=arguments, testRunner=runner, testLoader=loader)
    except SystemExit as end:
        if runner.over:
            probe.finish(int(end.code or 0))
        raise
    except BaseException as raised:
        if not probe.begun:
            probe.not_collected("", raised)
        raise


if __name__ == "__main__":
    main()
