"""Lets a run look like any other program: no frame, name, module or variable tells that something is tested.

What is hidden is hidden from the project's own code alone: libraries that look at modules go on working.
"""

from __future__ import annotations

import importlib
import linecache
import os
import queue
import re
import sys
import threading
from _thread import get_ident, start_new_thread
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder, SourceFileLoader
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Dict, List  # noqa: UP035 - Python 3.8

from rgr_records import Order, Paths, is_of
from rgr_traces import Classes, show_lists, show_objects, watch_modules

APART, IN_PLACE, AS_SAID = "apart", "in place", "as said"
_RUNNERS = frozenset(
    (
        *("pytest", "_pytest", "pluggy", "iniconfig", "py", "xdist", "execnet", "pytest_cov", "conftest"),
        *("unittest", "nose", "nose2", "hypothesis", "_hypothesis_pytestplugin", "coverage", "__main__"),
    )
)
_VARIABLES = ("PYTEST", "RGR_", "COV_CORE", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")
_PASSED_ON = (__name__, "collections.abc", "os")  # modules that ask on somebody's behalf
_IMPORTERS = ("importlib", "importlib._bootstrap")
_SHORTEST = 5  # letters of a name that is looked for in texts
_DEEPEST = 5  # wrappers around a test: a chain longer than any real one


class Disguise:
    """What stands between the project's code and the runner for a whole run.

    HIDDEN takes every trace away, IN_PLACE all but the runner's frames, AS_SAID all but what texts of the tests say.
    APART takes none away, and does all else in the same way: whoever fails there fails because of the way.
    """

    def __init__(self, order: Order, paths: Paths, asked: Callable[[str, FrameType], None]) -> None:
        self.hides, self._rewords = order.disguise != APART, order.disguise != AS_SAID
        self._name = "job_" + os.urandom(4).hex()
        self._file = os.path.join(order.folder, self._name + ".py")  # noqa: PTH118
        self._files: dict[str, str] = {}  # of tests, and how they are called instead
        self._paths = paths
        self._asked = asked
        self._own = _RUNNERS | _modules_of(order.tests)
        self._frame = None if self.hides else _runners_frame()
        self._classes = Classes()
        self._worker = None if order.disguise == IN_PLACE else _Worker(self._served())

    def begin(self) -> None:
        """Hide the runner, or nothing, from what is imported from now on."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if not _rewrites(finder)]
        if self._worker is not None:
            place = next((i for i, f in enumerate(sys.meta_path) if f is PathFinder), len(sys.meta_path))
            sys.meta_path.insert(place, _Finder(self._paths, self._apart))
        if not self.hides:
            return
        os.environ.pop("PYTEST_VERSION", None)
        _forget_files()
        for environment in (os.environ, getattr(os, "environb", None)):
            if environment is not None:
                environment.__class__ = _seen_environment(type(environment), self._is_asked, self._asked)
        sys.modules = seen = _SeenModules(self._own, self._name, self._is_asked, self._asked)
        show_objects(
            self._is_code, self._asked, self._classes, lambda name: name == self._name or seen.hides(name)
        )
        sys.argv = _Arguments([self._file], self._is_asked, self._asked)
        sys.orig_argv = [sys.executable, self._file]  # type: ignore[attr-defined] # since 3.10
        sys.pycache_prefix, sys.dont_write_bytecode = None, False
        setattr(SourceFileLoader, "set_data", _keep_nothing)  # noqa: B010 - a checkout stays as it was
        main: Any = importlib.import_module("__main__")
        main.__spec__ = None
        if hasattr(main, "__file__"):
            del main.__file__

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call a function of the project where no variable of the runner and, if so wanted, none of its frames is."""
        take_off = self.wear(function)
        taken = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PYTEST_")}
        if not self.hides:
            os.environ.update(taken)
        hooks = list(_unhooked()) if self.hides else []
        try:
            return self._unseen(self._worker, function, *arguments, **named)
        finally:
            os.environ.update(taken)
            for owner, name, hook in hooks:
                setattr(owner, name, hook)
            take_off()

    def _unseen(self, worker: Any, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call a function where what the runner has put up is not seen, in a thread if there is one for it."""
        call: Callable[..., Any] = worker.call if worker is not None else _called
        if not self.hides:
            return call(self._served(_below), _depth(), function, arguments, named)  # type: ignore[arg-type]
        show_lists(self._is_ours, self._is_for_tests)
        with self._classes:
            return call(function, *arguments, **named)

    def called(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what calls a function of the project like that; a generator function stays one."""
        code: Any = getattr(function, "__code__", None)
        if code is not None and code.co_flags & 0x280:  # a coroutine is run by somebody else's loop
            return function
        if code is not None and code.co_flags & 0x20:

            def generating(*arguments: Any, **named: Any) -> Iterator[Any]:
                made = self.call(function, *arguments, **named)
                while True:
                    take_off = self.wear(function)
                    try:
                        value = self.call(next, made, made)
                    finally:
                        take_off()
                    if value is made:
                        return
                    yield value

            return _like(function, generating)

        def plain(*arguments: Any, **named: Any) -> Any:
            return self.call(function, *arguments, **named)

        return _like(function, plain)

    def wear(self, test: Any) -> Callable[[], None]:
        """Give a test's functions other names; return what gives them their own back."""
        if not self.hides:
            return lambda: None
        inside = (found for found in _functions(test, 0) if self._paths.inside(found.__code__.co_filename))
        own = {id(found): found for found in inside}  # a library's wrapper stays what it is
        watch_modules(own.values(), self._noted)
        spaces = [found.__globals__ for found in own.values()]
        before = [
            (found, found.__code__, id(found) in own, (found.__name__, found.__qualname__))
            for found in {**{id(item): item for space in spaces for item in _beside(space)}, **own}.values()
        ]
        modules = [(space, space.get("__name__"), space.get("__file__")) for space in spaces]
        tests = [code for _, code, is_test, _ in before if is_test or code.co_name.startswith("test")]
        for function, code, is_test, _ in before:
            self._rename(function, self._file_for(code.co_filename, tests), is_test=is_test)
        for space, module, file in modules:
            sys.modules[self._name] = sys.modules.get(str(module), sys)  # for whoever patches by name
            space["__name__"] = self._name
            if file is not None:
                space["__file__"] = shown = _BothNames(file)
                shown.other = self._file_for(str(file), tests)

        def take_off() -> None:
            for function, code, _, names in before:
                function.__code__ = code
                function.__name__, function.__qualname__ = names
            for space, module, file in reversed(modules):
                space["__name__"] = module
                if file is not None:
                    space["__file__"] = file
            if all(module != self._name for _, module, _ in modules):  # else somebody else still wears it
                sys.modules.pop(self._name, None)

        return take_off

    def _rename(self, function: FunctionType, file: str, *, is_test: bool) -> None:
        """Let a function be from another file and, if it is a test, be called otherwise."""
        code = function.__code__
        module = str(function.__globals__.get("__name__"))
        name = self._name if is_test else code.co_name
        words = {os.path.basename(code.co_filename): os.path.basename(file), module: self._name}  # noqa: PTH119
        if code.co_name.startswith("test"):  # a fixture's name may be any word
            words[code.co_name] = name
        function.__code__ = _renamed(code, name, file, words if self._rewords else {})
        if is_test:
            function.__name__, function.__qualname__ = name, name

    def _file_for(self, file: str, tests: list[CodeType]) -> str:
        """Return how a file is called; whoever is shown its source sees nothing of the tests themselves."""
        if file in self._files.values():
            return file
        if file not in self._files:
            other = self._files[file] = f"{self._file[:-3]}{len(self._files) or ''}.py"
            self._paths.alias(other, file)
            lines = _without_tests(
                linecache.getlines(file), [code for code in tests if code.co_filename == file]
            )
            linecache.cache.pop(file, None)
            linecache.cache[other] = (sum(map(len, lines)), None, lines, other)
        return self._files[file]

    def _is_asked(self, through: tuple[str, ...] = ()) -> FrameType | None:
        """Return the frame of the project that asks, if it is one of its own that does, or asks through these modules."""
        frame: Any = getattr(sys, "_getframe")(1)  # noqa: B009 - its name is a private one
        while frame is not None and frame.f_globals.get("__name__") in (*_PASSED_ON, *through):
            frame = frame.f_back
        return frame if frame is not None and self._paths.inside(frame.f_code.co_filename) else None

    def _noted(self, what: str, frame: FrameType | None) -> None:
        """Note what the innermost frame of the project does, if it is not a test's."""
        while frame is not None and not self._paths.inside(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None and self._is_code(frame):
            self._asked(what, frame)

    def _apart(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in a thread that ends with it: its callers are not seen."""
        worker = _Worker(self._served())
        try:
            return self._unseen(worker, function, *arguments)
        finally:
            worker.end()

    def _is_ours(self, frame: FrameType) -> bool:
        """Tell whether a frame is of the project."""
        return bool(self._paths.inside(frame.f_code.co_filename))

    def _is_for_tests(self, folder: str) -> bool:
        """Tell whether a folder of the project holds no loaded module but tests, for which it is on the path."""
        if not self._paths.inside(folder):
            return False
        modules: dict[str, Any] = getattr(sys.modules, "_real", sys.modules)
        files = {name: str(getattr(one, "__file__", None)) for name, one in list(modules.items())}
        here = [name for name, file in files.items() if os.path.dirname(file) == folder.rstrip(os.sep)]  # noqa: PTH120
        return bool(here) and all(name in self._own or name in ("conftest", self._name) for name in here)

    def _is_code(self, frame: FrameType) -> bool:
        """Tell whether a frame is of the project's code, and not of a test that is called otherwise for now."""
        file = frame.f_code.co_filename
        return bool(self._paths.inside(file)) and file not in self._files.values()

    def _served(self, does: FunctionType | None = None) -> FunctionType:
        """Return what a thread does, by a name that is nobody's, or the runner's."""
        name, file, module = self._frame or (self._name, self._file, self._name)
        space: dict[str, Any] = {"__name__": module, **_BUILTINS}
        made = FunctionType(_renamed((does or _serve).__code__, name, file, {}), space)
        space["_below"] = made
        return made


_BUILTINS = {"BaseException": BaseException, "__builtins__": __builtins__}


def _called(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    return function(*arguments, **named)


def _depth() -> int:
    """Return how many callers there are."""
    frame: Any = getattr(sys, "_getframe")(1)  # noqa: B009 - its name is a private one
    count = 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


def _below(depth: int, function: Any, arguments: Any, named: Any) -> Any:
    """Call a function with so many callers above it."""
    return _below(depth - 1, function, arguments, named) if depth > 0 else function(*arguments, **named)


def _serve(jobs: Any, done: Any) -> None:
    while True:
        job = jobs.get()
        if job is None:
            return
        try:
            done.put((job[0](*job[1], **job[2]), None))
        except BaseException as raised:  # noqa: BLE001 - it is raised again where the call was made
            done.put((None, raised))
        job = None


class _Worker:
    """A thread with a short stack, which does what it is told, one thing after another."""

    def __init__(self, serve: FunctionType) -> None:
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = start_new_thread(serve, (self._jobs, self._done))  # no callers, as programs have none

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        if get_ident() == self._thread:
            return function(*arguments, **named)
        self._jobs.put((function, arguments, named))
        value, raised = self._done.get()
        if raised is None:
            return value
        traceback = raised.__traceback__
        raise raised.with_traceback(traceback.tb_next if traceback is not None else None)

    def end(self) -> None:
        self._jobs.put(None)


class _Finder:
    """Lets the modules of the project be executed where their importers are not seen."""

    def __init__(self, paths: Paths, apart: Callable[..., Any]) -> None:
        self._paths, self._apart = paths, apart

    def find_spec(self, name: str, path: Any = None, _: Any = None) -> Any:
        spec: Any = PathFinder.find_spec(name, path)
        if spec is None or type(spec.loader) is not SourceFileLoader or not self._paths.inside(spec.origin):
            return None
        execute = spec.loader.exec_module

        def executed(module: ModuleType) -> None:
            spec._initializing = False  # noqa: SLF001 - else an import in a circle waits for this one's end
            self._apart(execute, module)

        spec.loader.exec_module = executed
        return spec


_Finder.__module__, _Finder.__name__ = PathFinder.__module__, PathFinder.__name__


class _SeenModules(Dict[str, Any]):  # noqa: UP006 - Python 3.8
    """`sys.modules`, for the project's code without the runner and the tests."""

    def __init__(
        self, own: frozenset[str], alias: str, asks: Callable[..., Any], asked: Callable[..., None]
    ) -> None:
        super().__init__()
        self._real, self._own, self._alias, self._asks, self._asked = sys.modules, own, alias, asks, asked

    def _seen(self, name: str, arguments: tuple[Any, ...]) -> Any:
        looked_up = name in ("__getitem__", "__contains__", "get")
        importer = self._asks(_IMPORTERS) if looked_up else None
        if importer is not None:
            self._asked(f"import {arguments[0]}", importer)
        frame = self._asks()
        if frame is None:
            return self._real
        if looked_up and self.hides(arguments[0]):
            self._asked("modules", frame)
        others = () if looked_up else (self._alias,)  # whoever knows the name is the test
        shown = (key for key in self._real if key not in others and not self.hides(key))
        return {key: self._real[key] for key in shown}

    def hides(self, name: Any) -> bool:
        return str(name).partition(".")[0] in self._own or str(name) in self._own or str(name)[:4] == "rgr_"


def _reading(name: str) -> Any:
    def read(self: Any, *arguments: Any) -> Any:
        return getattr(self._seen(name, arguments), name)(*arguments)

    return read


def _writing(name: str) -> Any:
    def write(self: Any, *arguments: Any, **named: Any) -> Any:
        return getattr(self._real, name)(*arguments, **named)

    return write


for _name in ("__getitem__", "__contains__", "__iter__", "__len__", "__repr__", "__reversed__", "__eq__"):
    setattr(_SeenModules, _name, _reading(_name))
for _name in ("get", "keys", "values", "items", "copy"):
    setattr(_SeenModules, _name, _reading(_name))
for _name in ("__setitem__", "__delitem__", "pop", "popitem", "update", "setdefault", "clear"):
    setattr(_SeenModules, _name, _writing(_name))


def _seen_environment(kind: Any, asks: Callable[[], Any], asked: Callable[..., None]) -> Any:
    """Return a class of environments that keep the runner's variables from the project's code."""

    def hides(key: Any) -> bool:
        return (os.fsdecode(key) if isinstance(key, bytes) else str(key)).startswith(_VARIABLES)

    def get(self: Any, key: Any) -> Any:
        frame = asks() if hides(key) else None
        if frame is not None:
            asked("environment", frame)
            raise KeyError(key)
        return kind.__getitem__(self, key)

    def each(self: Any) -> Iterator[Any]:
        shown = asks() is not None
        return (key for key in kind.__iter__(self) if not (shown and hides(key)))

    return type(kind.__name__, (kind,), {"__getitem__": get, "__iter__": each, "__module__": kind.__module__})


class _Arguments(List[str]):  # noqa: UP006 - Python 3.8
    """`sys.argv` of nobody in particular."""

    def __init__(self, words: list[str], asks: Callable[[], Any], asked: Callable[..., None]) -> None:
        super().__init__(words)
        self._asks, self._asked = asks, asked

    def __getitem__(self, place: Any) -> Any:
        frame = self._asks() if place == 0 else None
        if frame is not None:
            self._asked("arguments", frame)
        return super().__getitem__(place)


class _BothNames(str):  # noqa: SLOT000 - a text with an attribute
    """The path of a test's file, which is also what the disguise calls it."""

    other = ""

    def __eq__(self, path: object) -> bool:
        return super().__eq__(path) is True or self.other.__eq__(path) is True

    def __ne__(self, path: object) -> bool:
        return not self == path

    __hash__ = str.__hash__


def _like(function: Any, instead: FunctionType) -> FunctionType:
    """Return what stands for a function, with the marks on it that plugins look for."""
    marks = {
        name: value for name, value in getattr(function, "__dict__", {}).items() if name != "__wrapped__"
    }
    instead.__dict__.update(marks)
    return instead


def _keep_nothing(*_: Any, **__: Any) -> None:
    """Write no byte code."""


def _forget_files() -> None:
    """Forget which files of the runner were found, or quoted from; whoever needs one finds it again."""
    kept: Any
    for kept in (linecache.cache, sys.path_importer_cache):
        for path in [path for path in kept if not _RUNNERS.isdisjoint(re.split(r"[/\\]", str(path)))]:
            del kept[path]


def _unhooked() -> Iterator[tuple[Any, str, Any]]:
    """Take the runner's hooks away, each of which is yielded, and what tells that streams and handlers are its own."""
    logs: Any = sys.modules.get("logging")
    for kind in map(type, (sys.stdin, sys.stdout, sys.stderr, *(logs.getLogger().handlers if logs else ()))):
        if kind.__module__.startswith("_pytest"):
            base = next(base for base in kind.__mro__ if not base.__module__.startswith("_pytest"))
            kind.__module__, kind.__name__, kind.__qualname__ = base.__module__, base.__name__, base.__name__
    _forget_files()
    for owner, name in ((sys, "unraisablehook"), (threading, "excepthook")):
        hook: Any = getattr(owner, name)
        usual = getattr(owner, f"__{name}__", None)  # for threads since 3.10
        if usual is not None and getattr(hook, "func", hook).__module__.startswith("_pytest"):
            setattr(owner, name, usual)
            yield owner, name, hook
    if "faulthandler" in sys.modules:
        sys.modules["faulthandler"].disable()  # pytest has switched it on


def _modules_of(tests: frozenset[str]) -> frozenset[str]:
    """Return every name under which the files of these tests may have been imported."""
    names: set[str] = set()
    for test in tests:
        file, mark, _ = test.partition("::")
        parts = os.path.splitext(file)[0].split("/") if mark else test.split(".")  # noqa: PTH122
        names |= {".".join(parts[start:]) for start in range(len(parts))} if mark else set()
        names |= {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return frozenset(names)


def _rewrites(finder: Any) -> bool:
    """Tell whether a finder is pytest's, whose assertions are known by the names they need."""
    return type(finder).__module__ == "_pytest.assertion.rewrite"


def _runners_frame() -> tuple[str, str, str]:
    """Return name, file and module of what calls tests."""
    home: Any = sys.modules.get("_pytest.python")
    if home is not None:
        return "pytest_pyfunc_call", str(home.__file__), "_pytest.python"
    import unittest.case  # noqa: PLC0415 - it is there

    return "run", str(unittest.case.__file__), "unittest.case"


def _functions(test: Any, depth: int) -> Iterator[FunctionType]:
    """Yield a test's own function, however it is wrapped."""
    if isinstance(test, FunctionType):
        yield test
    if depth > _DEEPEST:
        return
    for inner in (
        getattr(test, "__func__", None),
        getattr(test, "__wrapped__", None),
        getattr(test, "func", None),
        getattr(getattr(test, "hypothesis", None), "inner_test", None),
    ):
        if inner is not None and inner is not test:
            yield from _functions(inner, depth + 1)


def _beside(space: dict[str, Any]) -> Iterator[FunctionType]:
    """Yield the functions and methods that a file defines."""
    file = space.get("__file__")
    for value in list(space.values()):
        inner: list[Any] = list(value.__dict__.values()) if is_of(value, type) else []
        for found in (value, *inner):
            if type(found) is FunctionType and found.__code__.co_filename == file:
                yield found


def _renamed(
    code: CodeType, name: str, file: str, words: dict[str, str], *, outermost: bool = True
) -> CodeType:
    """Return code by another name, from another file; where it says the old ones, it says the new ones."""
    constants = tuple(
        _renamed(constant, name, file, words, outermost=False)
        if isinstance(constant, CodeType)
        else _reworded(constant, words)
        for constant in code.co_consts
    )
    changed: Any = {"co_filename": file, "co_consts": constants, "co_varnames": _local_names(code, words)}
    if outermost:
        changed["co_name"] = name
        if hasattr(code, "co_qualname"):
            changed["co_qualname"] = name
    return code.replace(**changed)


def _without_tests(lines: list[str], tests: list[CodeType]) -> list[str]:
    """Return the lines of a file, those of its tests empty but for the functions that are defined in them."""
    shown = list(lines)
    for test in tests:
        inner = [code for code in test.co_consts if isinstance(code, CodeType) and code.co_name[:1] != "<"]
        kept = {line for code in inner for line in _lines_of(code)}
        for line in _lines_of(test) - kept:
            shown[line - 1 : line] = ["\n"]
    return shown


def _lines_of(code: CodeType) -> set[int]:
    found = {line for _, _, line in code.co_lines() if line} if hasattr(code, "co_lines") else set[int]()
    inner = (_lines_of(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    last = max((code.co_firstlineno, *found, *(line for lines in inner for line in lines)))
    return set(range(code.co_firstlineno, last + 1))


def _local_names(code: CodeType, words: dict[str, str]) -> tuple[str, ...]:
    """Return the names of a function's variables, each another unless it is an argument or some text speaks of it."""
    arguments = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    texts = " ".join(text for text in _texts(code.co_consts) if text not in words)
    return tuple(
        name
        if place < arguments or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", texts)
        else f"value_{place}"
        for place, name in enumerate(code.co_varnames)
    )


def _texts(constants: tuple[Any, ...]) -> Iterator[str]:
    for constant in constants:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple):
            yield from _texts(constant)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(constant, CodeType):
            yield from _texts(constant.co_consts)


def _reworded(constant: Any, words: dict[str, str]) -> Any:
    if isinstance(constant, tuple):
        return tuple(_reworded(item, words) for item in constant)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(constant, str):
        for old, new in words.items():
            if len(old) >= _SHORTEST and old in constant:
                constant = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, constant)
    return constant
