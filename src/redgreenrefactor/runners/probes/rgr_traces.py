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
    """A list that looks to the project's code as if the runner had put nothing into it."""

    def __init__(
        self,
        held: Iterable[Any],
        asks: Callable[[FrameType], bool],
        instead: Callable[[list[Any], list[Any]], list[Any]],
    ) -> None:
        """Show what `instead` makes of all that is held and of what the project's code has put there."""
        super().__init__(held)
        self._asks, self._instead = asks, instead
        self._own: list[Any] = []

    def insert(self, place: Any, item: Any) -> None:
        """Put something in, and know whose it is."""
        frame: Any = getattr(sys, "_getframe")(1)  # noqa: B009 - its name is a private one
        while frame is not None and frame.f_globals.get("__name__") == "warnings":
            frame = frame.f_back
        if frame is not None and self._asks(frame):
            self._own.append(item)
        super().insert(place, item)

    def __reduce__(self) -> Any:
        return list, (list(super().__iter__()),)

    def _seen(self, name: str, arguments: tuple[Any, ...]) -> Any:
        frame: Any = getattr(sys, "_getframe")(2)  # noqa: B009 - its name is a private one
        if (frame.f_globals.get("__name__"), frame.f_code.co_name) == _ASKED:
            frame = frame.f_back
        shown, whole = self._asks(frame), list(super().__iter__())
        found = getattr(self._instead(whole, self._own) if shown else whole, name)(*arguments)
        if shown or type(found) is not list:
            return found
        copy = Shown(found, self._asks, self._instead)  # pyright: ignore[reportUnknownArgumentType]
        copy._own = self._own[:]
        return copy


def _reading(name: str) -> Any:
    def read(self: Any, *arguments: Any) -> Any:
        return self._seen(name, arguments)

    return read


for _name in ("__getitem__", "__len__", "__iter__", "__reversed__", "__eq__", "__ne__"):
    setattr(Shown, _name, _reading(_name))
for _name in ("__repr__", "copy", "count", "index"):
    setattr(Shown, _name, _reading(_name))


def show_lists(asks: Callable[[FrameType], bool], of_tests: Callable[[str], bool]) -> None:
    """Let the project see neither handlers of logs nor filters of warnings of the runner, nor folders of tests on the path.

    Whoever has got hold of one of them may ask whether it is there.
    """
    logs: Any = sys.modules.get("logging")
    if logs is not None and not is_of(logs.root.handlers, Shown):
        home: Any = sys.modules.get("_pytest.logging")
        kinds = [kind for kind in home.__dict__.values() if is_of(kind, type)] if home is not None else []
        kinds = [kind for kind in kinds if kind not in logs.__dict__.values()]
        logs.root.handlers = Shown(
            logs.root.handlers, asks, lambda held, _: [one for one in held if type(one) not in kinds]
        )
    warnings: Any = sys.modules["warnings"]
    if not is_of(warnings.filters, Shown):
        warnings.filters = Shown(warnings.filters, asks, _as_usual)
    if not is_of(sys.path, Shown):
        sys.path = Shown(sys.path, asks, lambda held, _: [one for one in held if not of_tests(str(one))])


def _as_usual(held: list[Any], own: list[Any]) -> list[Any]:
    return [one for one in held if any(one is each for each in own)] + list(_USUAL)


class Classes:
    """The classes of the runner: under names that are nobody's for as long as the project's code runs."""

    def __init__(self) -> None:
        self._depth = 0
        self._names: dict[type[Any], tuple[str, str, str]] = {}

    def __contains__(self, kind: Any) -> bool:
        return kind in self._names

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._names = {kind: (kind.__module__, kind.__name__, kind.__qualname__) for kind in _runners()}
            for kind in self._names:
                _call(kind, "builtins", "object", "object")

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            for kind, names in self._names.items():
                _call(kind, *names)


def _call(kind: type[Any], *names: str) -> None:
    for name, value in zip(("__module__", "__name__", "__qualname__"), names):  # noqa: B905 - Python 3.8
        type.__setattr__(kind, name, value)


def _runners() -> Iterator[type[Any]]:
    """Yield every class of the runner and of ours; what tests make their own of keeps its name."""
    waiting: list[type[Any]] = [object]
    seen: set[type[Any]] = set()
    while waiting:
        for kind in type.__subclasses__(waiting.pop()):
            if kind not in seen and kind is not type:
                seen.add(kind)
                waiting.append(kind)
    runners = (
        _RUNNERS if "_pytest" in sys.modules else {*_RUNNERS, "unittest"}
    )  # else it is the tests' own, or the code's
    for kind in seen:
        home = kind.__module__
        if home != "unittest.mock" and (home.partition(".")[0] in runners or home[:4] == "rgr_"):
            yield kind


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
