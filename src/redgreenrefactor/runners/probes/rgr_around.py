"""What is done for a test and what its names stand for: fixtures, set-ups, decorators, helpers, constants."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from rgr_records import VALUES, Paths, content_of, digest_of, innermost, named_like

_OF_MODULES = (  # what a runner calls without being asked
    "setUpModule",
    "tearDownModule",
    "setup_module",
    "teardown_module",
    "setup_function",
    "teardown_function",
    "load_tests",
)
_NOBODYS = ("__annotate__", "__annotate_func__")


class Around:
    """Tells each thing that serves tests once, under a number; a test is told by numbers.

    What a thing does is told by a digest: of its own code, and of the functions near the tests that it calls by name.
    """

    def __init__(self, paths: Paths, write: Callable[..., None]) -> None:
        self._paths = paths
        self._write = write
        self._numbers: dict[tuple[str, str, str], int] = {}
        self._things: dict[
            tuple[str, int], tuple[int, Any]
        ] = {}  # a thing that is kept has its id for itself
        self._classes: dict[type[Any], list[int]] = {}
        self._modules: dict[str, list[int]] = {}
        self._digests: dict[int, tuple[str, Any]] = {}
        self._names: dict[CodeType, frozenset[str]] = {}

    def of(self, test: Any, cls: type[Any] | None, fixtures: Iterable[tuple[str, Any]]) -> list[int]:
        """Return the numbers of all that serves a test: its function, its class, what fixtures are made by."""
        function = test.__func__ if type(test) is MethodType else test
        inner = innermost(function)
        module = str(getattr(inner if cls is None else cls, "__module__", ""))
        home = self._file_of(module)
        found = {
            self._number(f"fixture {name}", made, home) for name, made in fixtures if self._home(made)[0]
        }
        found.update(self._of_class(cls) if cls is not None else ())
        found.update(self._of_module(module))
        if function is not inner:
            found.add(self._told("decorators", digest_of(_wrapping(function)), home, 0))
        if type(inner) is FunctionType:
            found.update(self._number(name, value, home) for name, value in self._named(inner))
        return sorted(found)

    def _of_class(self, cls: type[Any]) -> list[int]:
        if cls not in self._classes:
            found: dict[str, int] = {}  # what is defined again is another thing: the first one counts
            for base in cls.__mro__:
                home = self._file_of(base.__module__)
                for name, value in list(vars(base).items()) if home else ():
                    if _serves(name, value):
                        known = f"set-up {name}"
                        while known in found:
                            known += " of a base"
                        found[known] = self._number(known, value, home)
            self._classes[cls] = list(found.values())
        return self._classes[cls]

    def _of_module(self, name: str) -> list[int]:
        """Return what is done for all tests of a module; packages may have a say in how it is loaded."""
        if name not in self._modules:
            parts = name.split(".")
            spaces = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
            self._modules[name] = [
                self._number(f"set-up {key}", vars(sys.modules[space])[key], self._file_of(space))
                for space in spaces
                for key in _OF_MODULES
                if key in vars(sys.modules.get(space, ModuleType("")))
            ]
        return self._modules[name]

    def _number(self, name: str, thing: Any, home: str) -> int:
        known = self._things.get((name, id(thing)))
        if known is None:
            file, line = self._home(thing)
            number = self._told(name, self._does(thing, home), file or home, line)
            known = self._things[name, id(thing)] = number, thing
        return known[0]

    def _told(self, name: str, code: str, file: str, line: int) -> int:
        number = self._numbers.get((name, code, file))
        if number is None:
            number = self._numbers[name, code, file] = len(self._numbers)
            self._write("around", number=number, name=name, code=code, file=file, line=line)
        return number

    def _home(self, thing: Any) -> tuple[str, int]:
        """Return where something of the project is written, or nothing."""
        thing = innermost(thing)
        if type(thing) is FunctionType:
            return self._paths.inside(thing.__code__.co_filename), thing.__code__.co_firstlineno
        return (self._file_of(thing.__module__) if issubclass(type(thing), type) else ""), 0

    def _file_of(self, module: Any) -> str:
        file: Any = getattr(sys.modules.get(str(module)), "__file__", None)
        return self._paths.inside(file) if isinstance(file, str) else ""

    def _does(self, thing: Any, home: str) -> str:
        """Return the same for things that do the same, as far as their code and functions near the tests tell."""
        if not self._home(thing)[0]:
            return named_like(thing)
        found: dict[int, str] = {}
        waiting = [thing]
        while waiting:
            one = innermost(waiting.pop())
            if id(one) in found:
                continue
            found[id(one)] = self._digest(one)
            parts = [one, *_parts(one)] if _is_near(home, self._home(one)[0]) else []
            near = (value for part in parts if type(part) is FunctionType for _, value in self._named(part))
            waiting += [value for value in near if _is_near(home, self._home(value)[0])]
        return digest_of(sorted(found.values()))

    def _digest(self, thing: Any) -> str:
        """Return a digest of a function's or a class's own code, of the constants that it names, and of its decorators."""
        known = self._digests.get(id(thing))
        if known is None:
            functions = [part for part in (thing, *_parts(thing)) if type(part) is FunctionType]
            constants = [
                f"{name} {named_like(value)}"
                for part in functions
                for name, value in self._named(part)
                if type(value) in VALUES
            ]
            content = [
                (content_of(part.__code__), named_like(part.__defaults__), _kept_in(part))
                for part in functions
            ]
            known = self._digests[id(thing)] = digest_of([content, sorted(constants), _values(thing)]), thing
        return known[0]

    def _named(self, function: FunctionType) -> Iterator[tuple[str, Any]]:
        """Yield what the names in a function stand for, of its module and of modules that it names."""
        names, space = self._in(function.__code__), function.__globals__
        for name in names:
            value: Any = space.get(name, self)
            if value is self:
                value = sys.modules.get(name, self)
            elif not issubclass(type(value), ModuleType):
                yield name, value
            if issubclass(type(value), ModuleType) and self._file_of(value.__name__):
                held: dict[str, Any] = value.__dict__
                yield from ((f"{name}.{key}", held[key]) for key in names if key in held)
            elif issubclass(type(value), ModuleType):
                yield name, value

    def _in(self, code: CodeType) -> frozenset[str]:
        """Return every name in a piece of code."""
        if code not in self._names:
            inner = [self._in(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
            own = (name for name in code.co_names if not name.startswith("@"))  # others are pytest's
            self._names[code] = frozenset(own).union(*inner)
        return self._names[code]


def _wrapping(function: Any) -> list[Any]:
    """Return what decorators have put around a function: their code, and what they replace while it runs."""
    found: list[Any] = []
    while type(function) is FunctionType and "__wrapped__" in vars(function):
        patches: Iterable[Any] = getattr(function, "patchings", ())
        replaced = [
            (getattr(item, "attribute", ""), named_like(getattr(item, "new", None))) for item in patches
        ]
        found.append((content_of(function.__code__), replaced))
        function = vars(function)["__wrapped__"]
    return found


def _serves(name: str, value: Any) -> bool:
    """Tell whether a member of a class is there for its tests, and is not one of them."""
    if name.startswith("test") or name in _NOBODYS:
        return False
    return not name.startswith("_") or type(value) in (FunctionType, classmethod, staticmethod)


def _parts(thing: Any) -> list[Any]:
    """Return the functions of a class."""
    members = list(_members(thing).values())
    members += [part for member in members if type(member) is property for part in (member.fget, member.fset)]
    return [innermost(member) for member in members]


def _members(thing: Any) -> dict[str, Any]:
    return dict(thing.__dict__) if issubclass(type(thing), type) else {}


def _values(thing: Any) -> list[str]:
    """Return the values that a class holds."""
    return sorted(
        f"{name} {named_like(value)}"
        for name, value in _members(thing).items()
        if not name.startswith("__") and type(innermost(value)) is not FunctionType
    )


def _kept_in(function: FunctionType) -> list[str]:
    """Return what a function was given when it was made."""
    cells = function.__closure__ or ()
    return [named_like(_content(cell)) for cell in cells]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _is_near(file: str, other: str) -> bool:
    """Tell whether two files lie in the same outermost folder."""
    (one, nested, _), (two, deep, _) = file.partition("/"), other.partition("/")
    return bool(other) and (one == two if nested else not deep)
