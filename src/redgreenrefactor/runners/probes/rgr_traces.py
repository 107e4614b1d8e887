"""What the runner has put where anybody may look: handlers of logs, filters of warnings, objects and classes of its own.

The project's code is shown what would be there without it; everybody else sees what is there. What the project's code
puts in the place of functions that a test calls is told, also if it is soon put back.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, FunctionType, ModuleType
from typing import Any, List, cast  # noqa: UP035 - Python 3.8

from rgr_records import is_of

_RUNNERS = frozenset(("pytest", "_pytest", "pluggy", "iniconfig", "xdist", "execnet", "coverage"))
_USUAL = tuple(  # filters of warnings, where nobody has asked for others
    (action, None, kind, module, 0)
    for action, kind, module in (
        ("default", DeprecationWarning, "__main__"),
        *(("ignore", kind, None) for kind in (DeprecationWarning, PendingDeprecationWarning)),
        *(("ignore", kind, None) for kind in (ImportWarning, ResourceWarning)),
    )
)
_SEARCHES = ("get_objects", "get_referrers", "get_referents")
_ASKED = ("logging", "hasHandlers")  # looks on somebody's behalf

_DICT: Any = dict


class Shown(List[Any]):  # noqa: UP006 - Python 3.8
    """A list that looks to the project's code as if the runner had put nothing into it.

    What the runner has put there stays when the project's code changes the list, or takes a copy and puts it back.
    """

    def __init__(
        self,
        held: Iterable[Any],
        asks: Callable[[FrameType], bool],
        hides: Callable[[Any], bool],
        usual: tuple[Any, ...] = (),
    ) -> None:
        """Show all that is held but what is hidden, and what is usually there in the place of that."""
        super().__init__(held)
        self._asks, self._hides, self._usual = asks, hides, usual
        self._own: list[Any] = []

    def __reduce__(self) -> Any:
        return list, (list(super().__iter__()),)

    def _parted(self) -> tuple[list[Any], list[Any]]:
        """Return what is shown and what is hidden."""
        shown: list[Any] = []
        hidden: list[Any] = []
        for one in super().__iter__():
            (shown if _is_among(one, self._own) or not self._hides(one) else hidden).append(one)
        return [*shown, *(self._usual if hidden else ())], hidden

    def _read(self, name: str, arguments: tuple[Any, ...]) -> Any:
        frame: Any = getattr(sys, "_getframe")(2)  # noqa: B009 - its name is a private one
        if (frame.f_globals.get("__name__"), frame.f_code.co_name) == _ASKED:
            frame = frame.f_back
        shown = self._asks(frame)
        whole = not shown or name == "copy" or arguments == (slice(None),)  # that may be put back
        found = getattr(list(super().__iter__()) if whole else self._parted()[0], name)(*arguments)
        if not whole or type(found) is not list:
            return found
        copy = Shown(found, self._asks, self._hides, self._usual)  # pyright: ignore[reportUnknownArgumentType]
        copy._own = self._own[:]
        return copy

    def _write(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        frame: Any = getattr(sys, "_getframe")(2)  # noqa: B009 - its name is a private one
        while frame is not None and frame.f_globals.get("__name__") == "warnings":
            frame = frame.f_back
        if frame is None or not self._asks(frame) or any(is_of(one, Shown) for one in arguments):
            return getattr(super(), name)(*arguments, **named)
        shown, hidden = self._parted()
        result = getattr(shown, name)(*arguments, **named)
        self._own = [one for one in shown if not _is_among(one, self._usual)]
        gone = self._usual and len(self._own) == len(shown)  # with what the hidden ones stand for
        super().__setitem__(slice(None), [*self._own, *(() if gone else hidden)])
        return self if name == "__iadd__" else result


def _is_among(one: Any, others: Iterable[Any]) -> bool:
    return any(one is each for each in others)


def _reading(name: str) -> Any:
    def read(self: Any, *arguments: Any) -> Any:
        return self._read(name, arguments)

    return read


def _writing(name: str) -> Any:
    def write(self: Any, *arguments: Any, **named: Any) -> Any:
        return self._write(name, arguments, named)

    return write


for _name in ("__getitem__", "__len__", "__iter__", "__reversed__", "__eq__", "__ne__"):
    setattr(Shown, _name, _reading(_name))
for _name in ("__repr__", "copy", "count", "index"):
    setattr(Shown, _name, _reading(_name))
for _name in (
    "__setitem__",
    "__delitem__",
    "__iadd__",
    "append",
    "extend",
    "insert",
    "remove",
    "pop",
    "clear",
):
    setattr(Shown, _name, _writing(_name))


def show_lists(asks: Callable[[FrameType], bool], of_tests: Callable[[str], bool]) -> None:
    """Let the project see neither handlers of logs nor filters of warnings of the runner, nor folders of tests on the path.

    Whoever has got hold of one of them may ask whether it is there.
    """
    logs: Any = sys.modules.get("logging")
    if logs is not None and not is_of(logs.root.handlers, Shown):
        home: Any = sys.modules.get("_pytest.logging")
        kinds = [kind for kind in home.__dict__.values() if is_of(kind, type)] if home is not None else []
        kinds = [kind for kind in kinds if kind not in logs.__dict__.values()]
        logs.root.handlers = Shown(logs.root.handlers, asks, lambda one: type(one) in kinds)
    warnings: Any = sys.modules["warnings"]
    if not is_of(warnings.filters, Shown):
        warnings.filters = Shown(warnings.filters, asks, lambda _: True, _USUAL)
    if not is_of(sys.path, Shown):
        sys.path = Shown(sys.path, asks, lambda one: of_tests(str(one)))


class Classes:
    """The classes of the runner: under names that are nobody's for as long as the project's code runs."""

    def __init__(self) -> None:
        self._depth = 0
        self._names: dict[int, tuple[type[Any], tuple[str, str, str]]] = {}  # by id: not all can be compared

    def __contains__(self, kind: Any) -> bool:
        return id(kind) in self._names

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._names = {
                id(kind): (kind, (kind.__module__, kind.__name__, kind.__qualname__)) for kind in _runners()
            }
            for kind, _ in self._names.values():
                _call(kind, "builtins", "object", "object")

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            for kind, names in self._names.values():
                _call(kind, *names)


def _call(kind: type[Any], *names: str) -> None:
    for name, value in zip(("__module__", "__name__", "__qualname__"), names):  # noqa: B905 - Python 3.8
        type.__setattr__(kind, name, value)


def _runners() -> Iterator[type[Any]]:
    """Yield every class of the runner and of ours; what tests make their own of keeps its name."""
    waiting: list[type[Any]] = [object]
    seen: dict[int, type[Any]] = {}
    while waiting:
        for kind in type.__subclasses__(waiting.pop()):
            if id(kind) not in seen and kind is not type:
                seen[id(kind)] = kind
                waiting.append(kind)
    # Without pytest, unittest is the tests' own, or the code's.
    runners = _RUNNERS if "_pytest" in sys.modules else {*_RUNNERS, "unittest"}
    for kind in seen.values():
        home = _home(kind)
        if home != "unittest.mock" and (home.partition(".")[0] in runners or home[:4] == "rgr_"):
            yield kind


def _home(kind: type[Any]) -> str:
    """Return the name of a class's module; nothing where it has none, or something else by that name."""
    try:
        home: Any = type.__dict__["__module__"].__get__(kind)  # its metaclass is not asked
    except AttributeError:
        return ""
    return home if type(home) is str else ""


def show_objects(
    asks: Callable[[FrameType], bool],
    asked: Callable[..., None],
    own: Classes,
    is_hidden: Callable[[str], bool],
) -> None:
    """Let the project's code find no object of the runner, and no function of a file of tests, among all there are."""

    def hides(thing: Any) -> bool:
        space: Any = thing.__dict__ if is_of(thing, ModuleType) else thing
        space = space.__globals__ if type(space) is FunctionType else space
        kind = cast("Any", type(thing))
        name: Any = space.get("__name__") if type(space) is _DICT else None
        return (thing if issubclass(kind, type) else kind) in own or (type(name) is str and is_hidden(name))

    def searching(search: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def found(*arguments: Any, **named: Any) -> list[Any]:
            frame: Any = getattr(sys, "_getframe")(1)  # noqa: B009 - its name is a private one
            whole = search(*arguments, **named)
            if not asks(frame):
                return whole
            asked("frames", frame)
            return [thing for thing in whole if not hides(thing)]

        return found

    for name in _SEARCHES:
        setattr(gc, name, searching(getattr(gc, name)))


def watch_modules(tests: Iterable[FunctionType], note: Callable[[str, FrameType], None]) -> None:
    """Note from now on who puts something in the place of a function in the modules that tests name."""
    watched = _watched(note)
    for test in tests:
        names = test.__code__.co_names
        found: list[Any] = [test.__globals__.get(name, sys.modules.get(name)) for name in names]
        spaces: list[Any] = [one.__dict__ for one in found if is_of(one, ModuleType)]
        parts = [space.get(name) for space in spaces for name in names]
        for module in (*found, *parts, sys.modules["builtins"]):
            if type(module) is ModuleType:
                module.__class__ = watched


def _watched(note: Callable[[str, FrameType], None]) -> type[ModuleType]:
    """Return the type of modules that tell what is done to them."""

    def put(self: ModuleType, name: str, value: Any) -> None:
        if callable(self.__dict__.get(name)) and not is_of(self.__dict__[name], type):
            note(f"swap {self.__name__}.{name}", getattr(sys, "_getframe")(1))  # noqa: B009 - a private name
        ModuleType.__setattr__(self, name, value)

    return type("module", (ModuleType,), {"__setattr__": put, "__module__": "builtins"})
