"""What every probe shares: its order, the file its records go to, and how an exception becomes a record.

Probes run inside somebody else's interpreter: Python 3.8 and later, the standard library only, nothing of
ours but the modules of this folder, and as few traces in the process as possible.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import re
import sys
from collections.abc import Callable
from hashlib import sha256
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType, TracebackType
from typing import Any, cast

VARIABLE = "RGR_PROBE"
_MESSAGE = 2000  # characters of an exception's message that are kept
_FRAMES = 30  # frames of a traceback that are kept, half of them from each end
_FIXTURES = frozenset(("setUp", "tearDown", "asyncSetUp", "asyncTearDown"))
_LINKS = 10  # causes that are followed
_INSTALLED = frozenset(("site-packages", "dist-packages"))
PLAIN = (str, bytes, int, float, complex, bool, type(None))
_HOLDING = (list, tuple, dict)
VALUES = (*PLAIN, *_HOLDING, set, frozenset)
_LONGEST, _DEEPEST = 2000, 3  # characters or parts of a value that are looked at, and levels

# Compiled when they are needed, because most runs do without.
_FROM = r"cannot import name '([^']+)' from (?:partially initialized module )?'([^']+)'"
_NO_MODULE = r"No module named '([^']+)'"
_NO_ATTRIBUTE = (  # as the language, mock and monkeypatch say it
    r"(?:'module' object at |'?)([\w.]+)'?(?: from '[^']*')?>?(?: object)? "
    r"(?:has no attribute|does not have the attribute) '([^']+)'"
)
_NO_NAME = r"name '([^']+)' is not defined"


class Order:
    """What the probe was asked to do; reading it takes every trace of the asking out of the environment."""

    def __init__(self, *, waits: bool = False) -> None:
        """Wait for orders at once where the process is to be kept loaded, or when `become_a_run` is called."""
        with open(os.environ.pop(VARIABLE), encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs an import
            asked: dict[str, Any] = json.load(file)
        _restore_environment(asked)
        gc.freeze()  # what is there by now stays: looking through it again and again takes a runner's time
        from rgr_reach import at_start  # noqa: PLC0415 - in a circle otherwise

        self.exit_code: int | None = None  # of a run that has come to its end, and has nothing more to say
        count: Callable[[], int] = getattr(atexit, "_ncallbacks", lambda: sys.maxsize)
        if count() <= ("logging" in sys.modules):
            atexit.register(self._leave)
        self.kept: Any = None  # what is to be kept loaded, until it is a run
        if "warm" in asked:
            from rgr_warm import Kept  # noqa: PLC0415 - seldom asked for

            self.kept = Kept(asked)
        self.paths, self.originals = at_start(asked["folder"])  # once for all forks
        if asked["current_folder_first"] and sys.path[:1] != [os.getcwd()]:  # noqa: PTH109
            sys.path.insert(0, os.getcwd())  # noqa: PTH109
        self._take(asked)
        if not waits:
            self.become_a_run()

    def become_a_run(self, made_of: Callable[[], Any] = tuple) -> None:
        """Return in a process that is a run of its own; what changes with the state that it is made of is not kept."""
        if self.kept is None:
            return
        self.originals.remember_others()
        asked = self.kept.continued(made_of)
        self.kept = None
        del sys.modules["rgr_warm"]
        _restore_environment(asked)
        self._take(asked)

    def _leave(self) -> None:
        """End a run whose exit code is known without taking its interpreter apart, which takes as long as many tests.

        What was registered for the end has been called by now: all of it came later, but for what closes logs.
        """
        if self.exit_code is None:
            return
        closing = ((sys.modules.get("logging"), "shutdown"), (sys.stdout, "flush"), (sys.stderr, "flush"))
        for module, name in closing:
            try:
                getattr(module, name)()
            except Exception:  # noqa: BLE001, S112 - as the interpreter does
                continue
        os._exit(self.exit_code)

    def _take(self, asked: dict[str, Any]) -> None:
        self.report: str = asked["report"]
        self.nonce: str = asked["nonce"]
        self.canary: str = asked["canary"]
        self.folder: str = asked["folder"]
        self.homes: list[str] = asked["homes"]
        self.scratch: str = asked["scratch"]
        self.tests: frozenset[str] = frozenset(asked["tests"])
        self.trace: bool = asked["trace"]
        self.disguise: str = asked["disguise"]
        self.seed: int | None = asked["seed"]
        self.modules: bool = asked["modules"]

    def settle_chance(self) -> None:
        """Let what happens at random from now on happen alike each time, if the order has a seed."""
        if self.seed is None:
            return
        import random  # noqa: PLC0415 - seldom asked for

        random.seed(self.seed)
        numpy, hypothesis, home = (
            sys.modules.get(name) for name in ("numpy.random", "hypothesis.core", "hypothesis.configuration")
        )
        if numpy is not None:
            numpy.seed(self.seed)
        if hypothesis is not None:
            hypothesis.global_force_seed = self.seed  # type: ignore[attr-defined] # not a name of modules
        if home is not None:
            home.set_hypothesis_home_dir(self.scratch)  # what earlier runs have found is not tried first

    def chosen(self, name: str, separator: str) -> bool:
        """Tell whether a test is to be run: all are, or it, its parameter family or what holds it was named."""
        if not self.tests or name in self.tests:
            return True
        head, mark, tail = name.partition(separator)
        name = head + mark + tail.partition("[")[0]
        while name and name not in self.tests:
            name = name.rpartition(separator)[0]
        return bool(name)


def _restore_environment(asked: dict[str, Any]) -> None:
    """Leave no variable that was set only so that we are found."""
    for name, value in asked["environ"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class Report:
    """The file that records are appended to, one line each, by this process alone."""

    def __init__(self, path: str, nonce: str) -> None:
        self._path = path
        self._opening = '{"nonce":' + json.dumps(nonce) + ',"event":"'
        self._encode = json.JSONEncoder(default=str).encode
        self._waiting = ""
        self._process = os.getpid()
        self._file = self._opened()
        self._identity = os.fstat(self._file)[1:3]

    def write(self, event: str, **facts: Any) -> None:
        """Append a record at once, so that it outlives whatever comes next."""
        self.write_later(event, **facts)
        if os.getpid() == self._process:  # a forked test must not speak for its parent
            if not self._is_open():
                self._file = self._opened()
            os.write(self._file, self._waiting.encode("ascii"))
        self._waiting = ""

    def write_later(self, event: str, **facts: Any) -> None:
        """Append a record together with the next one; a process that dies before, in a tear-down, takes it along."""
        self._waiting += self._opening + event + '",' + self._encode(facts)[1:] + "\n"

    def _opened(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _is_open(self) -> bool:
        """Tell whether the descriptor is still ours: tests close what they do not know."""
        try:
            return os.fstat(self._file)[1:3] == self._identity
        except OSError:
            return False


class Paths:
    """Where files lie, seen from the project."""

    def __init__(self, folder: str) -> None:
        self._roots = {folder.rstrip(os.sep) + os.sep, os.path.realpath(folder).rstrip(os.sep) + os.sep}
        self._known: dict[str, str] = {}
        self._folders: dict[str, str] = {}

    def inside(self, path: str) -> str:
        """Return the path relative to the project, or nothing for what is not part of it."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._relative(path)
        return known

    def alias(self, path: str, real: str) -> None:
        """Let a path stand for another from now on."""
        self._known[path] = self.inside(real)

    def _relative(self, path: str) -> str:
        if not path or path.startswith("<"):
            return ""
        for spelled in (os.path.abspath(path), self._real(path)):  # noqa: PTH100
            for root in self._roots:
                if spelled.startswith(root) and not is_installed(spelled, root):
                    return spelled[len(root) :].replace(os.sep, "/")
        return ""

    def _real(self, path: str) -> str:
        """Return where a path leads; most lie in few folders, which are looked at once."""
        if os.path.islink(path):  # noqa: PTH114
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return os.path.join(self._folders[folder], name)  # noqa: PTH118


def is_installed(path: str, root: str = "") -> bool:
    """Tell whether a path under a root belongs to a virtual environment or is an installed package."""
    return not _INSTALLED.isdisjoint(path[len(root) :].split(os.sep)) or _is_in_prefix(path, root)  # noqa: PTH206


def _is_in_prefix(path: str, root: str) -> bool:
    """Tell whether a path belongs to the environment in use, which may have been lent by a link.

    An interpreter that is nobody's environment counts only where it lies in the project, as conda's do.
    """
    if sys.prefix == sys.base_prefix and not (root and sys.prefix.startswith(root)):
        return False
    names = ((path, sys.prefix), (os.path.realpath(path), os.path.realpath(sys.prefix)))
    return any(spelled.startswith(prefix.rstrip(os.sep) + os.sep) for spelled, prefix in names)


def definition(path: str, name: str, cls: type[Any] | None, function: Any, paths: Paths) -> dict[str, Any]:
    """Return where a test is defined: its file, qualified name and line, and the file of an inherited one."""
    home, qualified = path, name
    if cls is not None:
        owner = next((base for base in cls.__mro__ if name in vars(base)), cls)
        home, qualified = _file_of(owner.__module__) or path, owner.__qualname__ + "." + name
    elif _is_imported(function, name):
        home = _file_of(function.__module__) or path
    file, elsewhere = paths.inside(path) or path, paths.inside(home) or home
    return {
        "file": file,
        "function": qualified,
        "line": _line(function, elsewhere, paths),
        "defined_in": "" if elsewhere == file else elsewhere,
    }


def described_hook(function: Any, plugin: Any, paths: Paths) -> dict[str, Any] | None:
    """Return where a hook of the project comes from and a digest of what it does; nothing for anybody else's."""
    function = getattr(function, "__func__", function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code: Any = getattr(function, "__code__", None)
    home = getattr(plugin, "__file__", None) or _file_of(type(plugin).__module__) or ""
    file = paths.inside(code.co_filename if code is not None else home) or paths.inside(home)
    if not file:
        return None
    line = code.co_firstlineno if code is not None else 0
    return {"file": file, "line": line, "code": digest_of(content_of(code))}


def content_of(code: Any) -> Any:
    """Return what a function does, without where it stands."""
    if isinstance(code, frozenset):  # a literal of a set, whose order is chance
        return sorted(map(repr, code))  # pyright: ignore[reportUnknownArgumentType]
    if not isinstance(code, CodeType):
        return code
    constants = [content_of(constant) for constant in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, constants


def digest_of(content: Any) -> str:
    """Return the same for the same content."""
    return sha256(repr(content).encode("utf-8", "replace")).hexdigest()


def innermost(function: Any) -> Any:
    """Return what lies within decorators, and behind a method of a class or an instance."""
    if issubclass(type(function), (MethodType, staticmethod, classmethod)):
        function = function.__func__
    while type(function) is FunctionType and "__wrapped__" in vars(function):
        function = vars(function)["__wrapped__"]
    return function


def is_of(value: Any, *kinds: Any) -> bool:
    """Tell whether something is of one of these kinds; what it takes itself for is not asked: some would go and find out."""
    return issubclass(type(value), kinds)


def named_like(value: Any, depth: int = 0) -> str:
    """Return the same for values that are the same, without asking them anything of their own."""
    if type(value) in PLAIN:
        return repr(value)[:_LONGEST]
    if type(value) in VALUES:
        held: Any = value.items() if isinstance(value, dict) else value  # type: ignore[reportUnknownVariableType]
        parts = [named_like(item, depth + 1) for item in list(held)[:_LONGEST]] if depth < _DEEPEST else []
        return str(
            sorted(parts) if isinstance(value, (set, frozenset)) else [isinstance(value, list), *parts]
        )
    if type(value) is ModuleType:
        return value.__name__
    inner = innermost(value)
    if type(inner) is FunctionType:
        return f"{inner.__module__}.{inner.__qualname__} {digest_of(content_of(inner.__code__))}"
    if type(inner) is BuiltinFunctionType:
        return f"{inner.__module__}.{inner.__qualname__}"
    owner = inner if is_of(inner, type) else cast("Any", type(inner))
    return f"{'' if owner is inner else 'a '}{owner.__module__}.{owner.__qualname__}"


def held_in(value: Any, depth: int = 0) -> Any:
    """Return the same for values of one kind that hold the same, as they show it or in their fields."""
    if type(value) in _HOLDING and depth < _DEEPEST:
        kind = named_like(type(value))
        held: Any = value.items() if isinstance(value, dict) else value  # type: ignore[reportUnknownVariableType]
        return kind, [held_in(part, depth + 1) for part in list(held)[:_LONGEST]]
    if type(innermost(value)) is FunctionType or is_of(value, type, ModuleType):
        return named_like(value)
    fields: Any = getattr(value, "__dict__", None)
    if type(fields) is dict and depth < _DEEPEST:
        return named_like(value), held_in(fields, depth + 1)
    shown = type(value) not in VALUES and type(value).__repr__ is not object.__repr__
    return repr(value)[:_LONGEST] if shown else named_like(value)


def _file_of(module: str) -> str | None:
    file: Any = getattr(sys.modules.get(module), "__file__", None)
    return file if isinstance(file, str) else None


def _is_imported(function: Any, name: str) -> bool:
    """Tell whether a test is really another module's, and not just decorated there."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    return function is not None and getattr(module, name, None) is function


def _line(function: Any, file: str, paths: Paths) -> int:
    """Return the line a function begins at, if that is in this file."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code: Any = getattr(function, "__code__", None)
    if code is None or (paths.inside(code.co_filename) or code.co_filename) != file:
        return 0
    return code.co_firstlineno


def describe(
    exception: BaseException,
    traceback: TracebackType | None,
    paths: Paths,
    *,
    failure: type[BaseException] | None = None,
) -> dict[str, Any]:
    """Return what a record says about an exception; `failure` is the runner's own way of failing a test."""
    telling = _telling(exception, 0)
    if telling is not exception:
        exception, traceback = telling, telling.__traceback__ or traceback
    frames = _frames(traceback, paths)
    return {
        "exception": type(exception).__name__,
        "message": message_of(exception),
        "kind": _kind(exception, failure, paths, own=any(inside for _, _, _, inside in frames)),
        "frames": [list(frame[:3]) for frame in _bounded(frames)],
        "missing": missing_from(exception),
    }


def in_fixture(description: dict[str, Any]) -> bool:
    """Tell whether a TestCase's set-up or tear-down raised what is described, and not its test."""
    frames = description["frames"]
    return bool(frames) and frames[0][2] in _FIXTURES


def describe_collection(
    exception: BaseException, traceback: TracebackType | None, paths: Paths
) -> dict[str, Any]:
    """Return what a record says about a file that could not be collected."""
    inside = [frame[:3] for frame in _frames(traceback, paths) if frame[3]]
    place = list(inside[-1]) if inside else None
    if isinstance(exception, SyntaxError) and exception.filename and exception.lineno:
        place = [paths.inside(exception.filename) or exception.filename, exception.lineno, ""]
    return {
        "exception": type(exception).__name__,
        "message": message_of(exception),
        "place": place,
        "missing": missing_from(exception),
    }


def _telling(exception: BaseException, depth: int) -> BaseException:
    """Return what lies behind an exception that only carries others: the first that is no assertion, if there is one."""
    carried: list[BaseException] = []
    if any(kind.__name__ == "BaseExceptionGroup" for kind in type(exception).__mro__):
        carried = list(_attribute(exception, "exceptions") or ())
    elif type(exception).__name__ == "MultipleDoctestFailures":
        carried = list(_attribute(exception, "failures") or ())
    elif type(exception).__name__ == "UnexpectedException":  # of an example of a doctest
        carried = [_attribute(exception, "exc_info")[1]]
    if not carried or depth > _LINKS:
        return exception
    found = [_telling(item, depth + 1) for item in carried]
    return next((item for item in found if not _is_assertion(item)), found[0])


def _is_assertion(exception: BaseException) -> bool:
    return isinstance(exception, AssertionError) or type(exception).__name__ == "DocTestFailure"


def message_of(exception: BaseException) -> str:
    """Return the message, whatever it takes, within bounds."""
    try:
        if type(exception).__name__ == "DocTestFailure":
            example, got = _attribute(exception, "example"), _attribute(exception, "got")
            return f"{example.source.strip()} gave {got.strip() or 'nothing'}, not {example.want.strip()}"[
                :_MESSAGE
            ]
        return str(exception)[:_MESSAGE]
    except Exception as broken:  # noqa: BLE001 - it is somebody else's __str__
        return f"<{type(exception).__name__} whose message raises {type(broken).__name__}>"


def _kind(exception: BaseException, failure: type[BaseException] | None, paths: Paths, *, own: bool) -> str:
    if _is_assertion(exception):
        return "assertion"
    if isinstance(exception, FileNotFoundError) and _is_elsewhere(exception.filename, paths):
        return "unwritten"
    if failure is not None and isinstance(exception, failure):
        return "assertion" if own else "exception"  # the runner refused, nobody called fail()
    if isinstance(exception, NotImplementedError):
        return "not-implemented"
    if isinstance(exception, (ImportError, AttributeError, NameError)) and not isinstance(
        exception, UnboundLocalError
    ):
        return "missing-symbol"
    if isinstance(exception, SyntaxError):
        return "syntax"
    return "exception" if isinstance(exception, Exception) else "exit"


def _is_elsewhere(path: Any, paths: Paths) -> bool:
    """Tell whether a file, from the folder that a test has gone to, lies outside the project."""
    try:
        return isinstance(path, (str, os.PathLike)) and not paths.inside(os.path.abspath(path))  # noqa: PTH100
    except OSError:  # the folder is gone
        return False


def _frames(traceback: TracebackType | None, paths: Paths) -> list[tuple[str, int, str, bool]]:
    """Return the traceback, outermost first, from where it enters the project, if it does."""
    frames: list[tuple[str, int, str, bool]] = []
    entered = False
    while traceback is not None:
        code = traceback.tb_frame.f_code
        inside = paths.inside(code.co_filename)
        if inside and not entered:
            entered = True
            frames.clear()
        frames.append((inside or code.co_filename, traceback.tb_lineno or 0, code.co_name, bool(inside)))
        traceback = traceback.tb_next
    return frames


def _bounded(frames: list[tuple[str, int, str, bool]]) -> list[tuple[str, int, str, bool]]:
    return frames if len(frames) <= _FRAMES else frames[: _FRAMES // 2] + frames[-(_FRAMES // 2) :]


def missing_from(exception: BaseException | None) -> list[str | None] | None:
    """Return name and owner of what was not found, here or in what this was raised from."""
    for _ in range(_LINKS):
        if exception is None or isinstance(exception, UnboundLocalError):
            return None
        find = next((find for kind, find in _MISSING if isinstance(exception, kind)), None)
        if find is not None:
            name, owner = find(exception)
            if name or owner:
                return [name, owner]
            # Somebody has said it again in other words, and without the name.
            before = exception.__context__
            exception = before if isinstance(before, ImportError) else None
        else:
            exception = exception.__cause__
    return None


def _missing_import(exception: BaseException) -> tuple[str | None, str | None]:
    message = message_of(exception)
    found = re.search(_FROM, message)
    if found:
        return found.group(1), found.group(2)
    module = re.search(_NO_MODULE, message)
    return _told(exception, "name") or (module.group(1) if module else None), None


def _missing_attribute(exception: BaseException) -> tuple[str | None, str | None]:
    found = re.search(_NO_ATTRIBUTE, message_of(exception))
    owner, name = found.groups() if found else (None, None)
    return _told(exception, "name") or name, _owner(exception) or owner


def _missing_name(exception: BaseException) -> tuple[str | None, str | None]:
    found = re.search(_NO_NAME, message_of(exception))
    return _told(exception, "name") or (found.group(1) if found else None), None


_MISSING = ((ImportError, _missing_import), (AttributeError, _missing_attribute), (NameError, _missing_name))


def _owner(exception: BaseException) -> str | None:
    """Return the name of the module or the type that an attribute was looked for in; 3.10 and later tell."""
    thing = _attribute(exception, "obj")
    if thing is None:
        return None
    return _told(thing if isinstance(thing, (ModuleType, type)) else type(thing), "__name__")


def _told(thing: object, attribute: str) -> str | None:
    value = _attribute(thing, attribute)
    return str(value) if isinstance(value, str) else None


def _attribute(thing: object, name: str) -> Any:
    """Return an attribute of what may be anybody's, and may not like to be asked."""
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001
        return None
