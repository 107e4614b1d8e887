"""Turns in memory: two states of a few files, a tiny runner that really executes their tests, and builders."""

import ast
import builtins
import contextlib
import os
import pickle
import re
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from textwrap import dedent
from typing import Any, TypeVar, cast

import pytest

from redgreenrefactor.gates import REVIEW_GATES, TDD_GATES
from redgreenrefactor.gates.rules.measurement import Measured
from redgreenrefactor.model.codec import written
from redgreenrefactor.model.evidence import (
    Change,
    CollectError,
    Evidence,
    File,
    Hook,
    Kind,
    Missing,
    Place,
    Rules,
    Status,
    SuiteRun,
    TestResult,
    Trial,
)
from redgreenrefactor.model.goal import Case, Plan
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.session import Report
from redgreenrefactor.model.verdict import Finding, FindingType, Severity, Verdict
from redgreenrefactor.model.workflow import PhaseName

T = TypeVar("T")
Files = Mapping[str, str]
Answer = Callable[[Trial], SuiteRun]

OPENING, BASE, HEAD = "opening", "base", "head"
CASE = Case("doubles a number", "test_thing.py", "thing.py")
NO_FILES: Files = {}


# --- small values


def src(text: str) -> str:
    """Return a source without its margin, with one line end at the end."""
    return dedent(text).strip("\n") + "\n"


def change(path: str, before: str | None, after: str | None, *, mode: str = "100644") -> Change:
    """Return what happened to one file."""
    sides = [None if text is None else File(mode, str(hash(text)), text) for text in (before, after)]
    return Change(path, sides[0], sides[1])


def changes(before: Files, after: Files) -> tuple[Change, ...]:
    """Return what differs between two states."""
    return tuple(
        change(path, before.get(path), after.get(path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    )


def result(name: str, status: Status = Status.PASSED, **facts: Any) -> TestResult:
    """Return a test's result; file and function are read off its id."""
    file, *parts = name.partition("[")[0].split("::")
    given: dict[str, Any] = {"file": file, "function": ".".join(parts), "line": 1, **facts}
    return TestResult(name, status, **given)


def failing(name: str, kind: Kind = Kind.ASSERTION, **facts: Any) -> TestResult:
    """Return the result of a test that failed."""
    return result(name, Status.FAILED, kind=kind, **facts)


def suite(*results: TestResult, **facts: Any) -> SuiteRun:
    """Return a run with these results."""
    return SuiteRun({item.id: item for item in results}, **facts)


DIED = SuiteRun(finished=False, exit_code=3, output="Segmentation fault\n")


def measured(before: SuiteRun, after: SuiteRun, legacy: SuiteRun | None = None) -> Measured:
    """Return three runs; nothing is legacy unless said."""
    return Measured(legacy if legacy is not None else suite(), before, after)


def evidence(
    phase: PhaseName,
    before: Files = NO_FILES,
    after: Files = NO_FILES,
    *,
    case: Case | None = CASE,
    prefix: str = "",
    **facts: Any,
) -> Evidence:
    """Return the evidence of a turn from one state of the files to another; paths are those of the project."""
    there = {f"{prefix}{path}": text for path, text in before.items()}
    here = {f"{prefix}{path}": text for path, text in after.items()}
    trees = {OPENING: there, BASE: there, HEAD: here}

    def read(commit: str, path: str) -> str | None:
        return trees.get(commit, {}).get(path)

    given: dict[str, Any] = {
        "changes": changes(there, here),
        "report": Report(),
        "handoff": Handoff(phase, phase),
        "read": read,
        **facts,
    }
    return Evidence(phase, case, BASE, HEAD, OPENING, prefix=prefix, **given)


# --- driving


def drive(asking: Generator[Trial, SuiteRun, T], answer: Answer) -> tuple[T, list[Trial]]:
    """Answer every question; return what came out of it, and the questions."""
    asked: list[Trial] = []
    try:
        question = next(asking)
        while True:
            asked.append(question)
            question = asking.send(answer(question))
    except StopIteration as end:
        return cast("T", end.value), asked


def nothing_is_run(_trial: Trial) -> SuiteRun:
    """Refuse every question."""
    raise AssertionError("nothing needs to be run here")


def by_commit(legacy: SuiteRun, before: SuiteRun, after: SuiteRun, probe: Answer = nothing_is_run) -> Answer:
    """Answer questions for the whole suite by commit, all others by the probe."""
    runs = {OPENING: legacy, BASE: before, HEAD: after}

    def answer(trial: Trial) -> SuiteRun:
        whole = not trial.tests and not trial.overlay and not trial.probe
        return runs[trial.commit] if whole else probe(trial)

    return answer


@dataclass(frozen=True)
class Played:
    """A verdict with the questions that led to it."""

    verdict: Verdict
    asked: list[Trial]

    @property
    def facts(self) -> dict[str, Any]:
        """What was learned, as a note says it."""
        return written(self.verdict.facts)

    @property
    def types(self) -> list[FindingType]:
        """The types of what rejects, in order."""
        return [item.type for item in self.verdict.findings if item.severity is Severity.ERROR]

    @property
    def warnings(self) -> list[Finding]:
        """What is only worth a look."""
        return [item for item in self.verdict.findings if item.severity is Severity.WARNING]

    @property
    def told(self) -> str:
        """All messages, and whether anything rejects."""
        return "; ".join(f"{item.severity} {item.type}: {item.message}" for item in self.verdict.findings)


def judge(given: Evidence, answer: Answer = nothing_is_run) -> Played:
    """Let the phase's gate judge."""
    verdict, asked = drive({**TDD_GATES, **REVIEW_GATES}[given.phase](given), answer)
    return Played(verdict, asked)


def play(
    phase: PhaseName,
    before: Files,
    after: Files,
    *,
    opening: Files | None = None,
    notes: Sequence[str] | None = None,
    rules: Rules | None = None,
    bend: Callable[[Trial, SuiteRun], SuiteRun] | None = None,
    **facts: Any,
) -> Played:
    """Judge a turn whose tests are really executed; everything before the turn belongs to the run, or `opening` says."""
    before = {path: src(text) for path, text in before.items()}
    after = {path: src(text) for path, text in after.items()}
    trees = {OPENING: opening if opening is not None else {}, BASE: before, HEAD: after}
    runner = Runner(trees)

    def answer(trial: Trial) -> SuiteRun:
        run = runner.answer(trial)
        return bend(trial, run) if bend else run

    given = evidence(phase, before, after, **facts)
    handoff = given.handoff
    if phase is PhaseName.GREEN:
        fresh = notes if notes is not None else new_ids(before)
        handoff = replace(handoff, facts=replace(handoff.facts, tests=tuple(fresh)))
    given = replace(given, handoff=handoff, rules=rules or given.rules)
    return judge(given, answer)


def new_ids(files: Files) -> list[str]:
    """Return the last test of the planned file, as RED's note names it."""
    names = list(names_of_tests(files.get(CASE.test_file, "")))
    return [f"{CASE.test_file}::{names[-1]}"] if names else []


def names_of_tests(text: str) -> Iterator[str]:
    """Yield the names of the tests of a file, as ids spell them."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            inner = (item.name for item in node.body if isinstance(item, ast.FunctionDef))
            yield from (f"{node.name}::{name}" for name in inner if name.startswith("test"))


# --- a runner in miniature


@dataclass
class Runner:
    """Runs the test functions of a tree in this process: no fixtures, hooks only by name, parameter sets and classes only."""

    trees: Mapping[str, Files]
    asked: list[Trial] = field(default_factory=list[Trial])

    def answer(self, trial: Trial) -> SuiteRun:
        """Return what the tests do on that tree."""
        self.asked.append(trial)
        files = dict(self.trees[trial.commit])
        for path, text in trial.overlay:
            if text is None:
                files.pop(path, None)
            else:
                files[path] = text
        meddles = any("def _rgr_meddle(" in (text or "") for _, text in trial.overlay)
        return _run_apart(files, trial) if meddles else _run(files, trial)


def _run_apart(files: Files, trial: Trial) -> SuiteRun:
    """Return what tests do in a process of their own: clocks, folder and environment will not be what they were."""
    read, write = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        with open(write, "wb") as end, contextlib.suppress(BaseException):  # noqa: PTH123
            for number in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            warnings.simplefilter("default")
            pickle.dump(_run(files, trial), end)
        os._exit(0)
    os.close(write)
    with open(read, "rb") as end:  # noqa: PTH123
        run: SuiteRun = pickle.load(end)
    os.waitpid(child, 0)
    return run


def _run(files: Files, trial: Trial) -> SuiteRun:
    results: dict[str, TestResult] = {}
    errors: list[CollectError] = []
    lines: dict[str, set[int]] = {path: set() for path in files if trial.trace}
    for path in sorted(files):
        if not re.fullmatch(r"(.*/)?test_\w+\.py", path) or not _wanted(path, trial):
            continue
        try:
            namespace = _Modules(files).load(path)
        except Exception as error:  # noqa: BLE001 - whatever a module does at import
            where = _frames(error, files)
            errors.append(
                CollectError(
                    path, str(error), type(error).__name__, where[-1] if where else None, _missing(error)
                )
            )
            continue
        with _watched(lines):
            made = list(_results(path, namespace, files))
        for found in made:
            if not trial.tests or any(_belongs(found.id, name) for name in trial.tests):
                results[found.id] = found
    code = {path: frozenset(range(1, 1000)) for path in files if not path.startswith("test")}
    executed = {**{path: frozenset(found) for path, found in lines.items()}, **code}
    return SuiteRun(
        results,
        tuple(errors),
        executed=executed if trial.trace else {},
        exit_code=1 if errors else 0,
        hooks=frozenset(_hooks(files)),
    )


@contextmanager
def _watched(lines: dict[str, set[int]]) -> Generator[None]:
    """Note the lines of these files that are executed."""

    def reached(frame: types.FrameType, *_: object) -> Any:
        found = lines.get(frame.f_code.co_filename)
        if found is not None:
            found.add(frame.f_lineno)
        return reached if found is not None else None

    before = sys.gettrace()
    if lines:
        sys.settrace(reached)
    yield
    sys.settrace(before)


def _hooks(files: Files) -> Iterator[Hook]:
    for name, value in _Modules(files).load("conftest.py").items() if "conftest.py" in files else ():
        if name.startswith("pytest_") and isinstance(value, types.FunctionType):
            code = value.__code__
            yield Hook(name, code.co_code.hex(), "conftest.py", code.co_firstlineno)


def _around(path: str, test: Any, files: Files) -> Iterator[Hook]:
    """Yield what the names of a test stand for, what its class holds, and the functions of a conftest."""
    held = dict(_Modules(files).load("conftest.py")) if "conftest.py" in files else {}
    held = {f"fixture {name}": value for name, value in held.items() if callable(value)}
    owner: type[Any] = getattr(test, "__self__", None).__class__
    held.update({f"set-up {name}": value for name, value in vars(owner).items() if name.startswith("set")})
    for name in set(test.__code__.co_names) & test.__globals__.keys():
        value = test.__globals__[name]
        modules = vars(value) if isinstance(value, types.ModuleType) else {name: value}
        held.update({key: modules[key] for key in test.__code__.co_names if key in modules})
    for name, value in held.items():
        code = getattr(value, "__code__", None)
        does = str((code.co_code, code.co_consts, code.co_names) if code else type(value))
        yield Hook(name, re.sub(r"0x\w+|line \d+", "", does), getattr(code, "co_filename", path), 1)


def _wanted(path: str, trial: Trial) -> bool:
    return not trial.tests or any(name.startswith(path) for name in trial.tests)


def _belongs(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith((f"{wanted}[", f"{wanted}::"))


def _results(path: str, namespace: dict[str, Any], files: Files) -> Iterator[TestResult]:
    for name, value in list(namespace.items()):
        if name.startswith("test") and isinstance(value, types.FunctionType):
            yield from _executed(f"{path}::{name}", path, name, value, files)
        elif name.startswith("Test") and isinstance(value, type):
            for inner in vars(value):
                if inner.startswith("test"):
                    test = getattr(value(), inner)
                    yield from _executed(f"{path}::{name}::{inner}", path, f"{name}.{inner}", test, files)


def _executed(
    name: str, path: str, function: str, test: Callable[..., Any], files: Files
) -> Iterator[TestResult]:
    line = test.__code__.co_firstlineno  # type: ignore[attr-defined]
    for ending, values in _parameter_sets(test):
        facts: dict[str, Any] = {"file": path, "function": function, "line": line}
        facts["around"] = frozenset(_around(path, test, files))
        marks = {mark.name for mark in getattr(test, "pytestmark", [])}
        try:
            if "skip" in marks:
                pytest.skip("marked")
            test(*values)
        except pytest.skip.Exception as skipped:
            yield TestResult(f"{name}{ending}", Status.SKIPPED, message=str(skipped), **facts)
        except BaseException as error:  # noqa: BLE001 - whatever a test does
            yield TestResult(f"{name}{ending}", Status.FAILED, **facts, **_told(error, files))
        else:
            yield TestResult(f"{name}{ending}", Status.PASSED, **facts)


def _parameter_sets(test: Callable[..., Any]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    if not marks:
        yield "", ()
        return
    names, sets = marks[0].args
    several = not isinstance(names, str) or "," in names
    for item in sets:
        named = getattr(item, "id", None)
        values = tuple(item.values) if hasattr(item, "values") else tuple(item) if several else (item,)
        yield f"[{named or '-'.join(map(str, values))}]", values


def _told(error: BaseException, files: Files) -> dict[str, Any]:
    if isinstance(error, AssertionError | pytest.fail.Exception):
        kind = Kind.ASSERTION
    elif isinstance(error, NotImplementedError):
        kind = Kind.NOT_IMPLEMENTED
    elif isinstance(error, ImportError | AttributeError | NameError):
        kind = Kind.MISSING
    else:
        kind = Kind.EXCEPTION
    return {
        "kind": kind,
        "exception": type(error).__name__,
        "message": str(error),
        "frames": _frames(error, files),
        "missing": _missing(error),
    }


def _frames(error: BaseException, files: Files) -> tuple[Place, ...]:
    found = [
        Place(item.filename, item.lineno or 0, item.name)
        for item in traceback.extract_tb(error.__traceback__)
    ]
    return tuple(item for item in found if item.file in files)


def _missing(error: BaseException) -> Missing | None:
    if isinstance(error, ImportError):
        named = re.search(r"cannot import name '(.+?)' from '(.+?)'", str(error))
        return Missing(named[1], named[2]) if named else Missing(error.name)
    if isinstance(error, AttributeError):
        owner = error.obj if isinstance(error.obj, types.ModuleType | type) else type(error.obj)
        return Missing(error.name, owner.__name__)
    return Missing(error.name) if isinstance(error, NameError) else None


class _Modules:
    """Imports the files of a tree afresh, everything else as usual."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._known: dict[str, types.ModuleType] = {}

    def load(self, path: str) -> dict[str, Any]:
        """Execute a file and return what it defines."""
        module = types.ModuleType(path.removesuffix(".py").replace("/", "."))
        self._execute(module, path)
        return vars(module)

    def _execute(self, module: types.ModuleType, path: str) -> None:
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": self._import}
        module.__file__ = path
        exec(compile(self._files[path], path, "exec", dont_inherit=True), vars(module))

    def _import(
        self,
        name: str,
        globals_: Mapping[str, object] | None = None,
        locals_: Mapping[str, object] | None = None,
        wanted: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        path = next((item for item in (f"{name.replace('.', '/')}.py",) if item in self._files), None)
        if path is None:
            return builtins.__import__(name, globals_, locals_, wanted or (), level)
        if name not in self._known:
            self._known[name] = types.ModuleType(name)
            self._execute(self._known[name], path)
        return self._known[name]


# --- plans


def plan_of(*lines: str) -> Plan:
    """Return a list out of lines like `x done` and `o open`."""
    from redgreenrefactor.model.goal import Item  # noqa: PLC0415

    return Plan(tuple(Item(line[2:], line.startswith("x "), number) for number, line in enumerate(lines, 1)))
