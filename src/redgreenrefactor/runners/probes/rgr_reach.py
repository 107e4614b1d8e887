"""What a run has used of the project, what it has asked about its surroundings, and what it has put in others' place."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.machinery import PathFinder
from operator import is_
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from rgr_imports import Redirection, foreign_files, installed_modules
from rgr_records import Order, Paths, is_of

_STARTS = frozenset(("subprocess.Popen", "os.posix_spawn", "os.exec", "os.fork", "os.forkpty", "os.system"))
_FRAMES = frozenset(("sys._getframe", "sys._current_frames", "gc.get_objects", "gc.get_referrers"))
_HEARD = _STARTS | _FRAMES | {"open", "import", "object.__setattr__"}
_POPEN = 4  # what it tells of: program, arguments, folder, environment
_WALKERS = ("inspect", "traceback")  # modules that ask for frames on somebody's behalf
_QUOTING = (*_WALKERS, "warnings")  # modules that open a source to quote from it
_RUNNERS = ("pytest", "_pytest", "pluggy", "unittest", "hypothesis", "coverage", "builtins")


class Reach:
    """What the tests' process asks for; an audit hook stays for as long as the process."""

    def __init__(self, paths: Paths, *, closely: bool) -> None:
        self._paths = paths
        self._openers: dict[str, set[str]] = {}  # by file
        self._importers: dict[str, set[str]] = {}  # by module
        self._lookups: set[tuple[str, int, str]] = set()
        # What was put in the place of a function of others: owner, place, name.
        self.swapped: set[tuple[str, str, int, str]] = set()
        self._started = 0
        self._loaded: set[str] = set()
        self._hears = True
        owners = ("self", "thread-self", os.getpid(), os.getppid())
        self._process = [f"/proc/{who}/{what}" for who in owners for what in ("cmdline", "environ")]
        self.recoded: list[FunctionType] | None = (
            [] if closely else None
        )  # functions that were given other code
        if closely:  # every call of id() is an event: too dear for a whole suite
            sys.addaudithook(self._heard)
        else:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, _: Any = None, __: Any = None) -> None:
        """Note who imports a module, and leave it to others to find it."""
        user = self._user(getattr(sys, "_getframe")(1))  # noqa: B009 - its name is a private one
        self._importers.setdefault(name, set()).update([user[0]] if user else [])

    def note_loaded(self) -> None:
        """Note which files of the project are loaded: tests may forget modules."""
        self._loaded.update(_file(module, self._paths) for module in list(sys.modules.values()))

    def facts(self) -> dict[str, Any]:
        """Return files of the project that were used, and by which; modules missed; programs started; questions asked."""
        self._hears = False
        loaded = {name: _file(module, self._paths) for name, module in list(sys.modules.items())}
        importers: dict[str, set[str]] = {}
        for name, users in self._importers.items():
            importers.setdefault(loaded.get(name, ""), set()).update(users)
        users = {user for by in (*importers.values(), *self._openers.values()) for user in by}
        return {  # of two modules with one name (`conftest`) only the last is loaded, but both have imported
            "files": sorted({*self._loaded, *loaded.values(), *self._openers, *users} - {""}),
            "opened": _sorted(self._openers),
            "imported": _sorted(importers),
            "missed": sorted(set(self._importers) - set(sys.modules)),
            "programs": self._started,
            "lookups": sorted(self._lookups),
        }

    def asked(self, what: str, frame: FrameType) -> None:
        """Note what a frame of the project wants to know about its surroundings, or to change in them."""
        file = self._paths.inside(frame.f_code.co_filename)
        if file and what[:7] == "import ":
            self._importers.setdefault(what[7:], set()).add(file)
        elif file and what[:5] == "swap ":
            owner, _, name = what[5:].rpartition(".")
            self.swapped.add((owner, file, frame.f_lineno, name))
        elif file:
            self._lookups.add((file, frame.f_lineno, what))

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _HEARD or not self._hears:
            return
        if event in _STARTS:
            self._started += 1
            self._starts(arguments, getattr(sys, "_getframe")(1))  # noqa: B009 - its name is a private one
            return
        if event == "object.__setattr__":
            if arguments[1] == "__code__" and self.recoded is not None:
                self.recoded.append(arguments[0])
            return
        self._hears = False  # asking for a frame is an event, too
        try:
            frame: Any = getattr(sys, "_getframe")(1)  # noqa: B009 - its name is a private one
            if event in _FRAMES:
                self._walks(frame)
            elif event == "import":
                user = self._user(frame)
                self._importers.setdefault(str(arguments[0]), set()).update([user[0]] if user else [])
            elif isinstance(arguments[0], (str, bytes)):
                self._opens(os.fsdecode(arguments[0]), frame)
        finally:
            self._hears = True

    def _starts(self, arguments: tuple[Any, ...], frame: Any) -> None:
        """Note who asks git about the project: its history has the tests, and what they expect."""
        try:
            git = b"git" in map(os.path.basename, _called(arguments)) and self._paths.inside(
                _folder(arguments)
            )
        except (TypeError, ValueError, OSError):  # whoever starts something like that is told so
            return
        user = self._user(frame) if git else None
        if user is not None:
            self._lookups.add((*user, "history"))

    def _walks(self, frame: Any) -> None:
        while frame is not None and frame.f_globals.get("__name__") in _WALKERS:
            frame = frame.f_back
        if frame is not None:
            self.asked("frames", frame)

    def _opens(self, path: str, frame: Any) -> None:
        own = path in self._process
        file = "" if own else self._paths.inside(os.path.abspath(path))  # noqa: PTH100
        if not file and not own:
            return
        user = None if frame.f_code.co_filename.startswith("<frozen importlib") else self._user(frame)
        if user is not None and own:
            self._lookups.add((*user, "process"))
        elif user is not None:
            self._openers.setdefault(file, set()).add(user[0])

    def _user(self, frame: Any) -> tuple[str, int] | None:
        """Return the innermost file of the project on the stack, and its line; nothing where a source is only quoted."""
        while frame is not None and frame.f_globals.get("__name__") not in _QUOTING:
            file = self._paths.inside(frame.f_code.co_filename)
            if file:
                return file, frame.f_lineno
            frame = frame.f_back
        return None


def _called(arguments: tuple[Any, ...]) -> list[bytes]:
    """Return the names of the programs that are started, also by a shell."""
    said: Any = arguments[min(1, len(arguments) - 1)] if arguments else ()
    words = [os.fsencode(word) for word in (said if type(said) in (list, tuple) else [said])]
    commands = [*words[:1], *(word for word in words[1:] if b" " in word)]  # a shell is given some more
    return [name for command in commands for name in re.findall(rb"(?:^|[;&|(])\s*([^\s;&|(]+)", command)]


def _folder(arguments: tuple[Any, ...]) -> str:
    """Return a path in the folder that a program is started in."""
    folder = arguments[2] if len(arguments) == _POPEN else None
    return os.path.abspath(os.path.join(os.getcwd(), os.fsdecode(folder or ""), "x"))  # noqa: PTH100, PTH109, PTH118


def tell_the_end(
    order: Order, reach: Reach, lines: Any, home: Redirection, write: Callable[..., None]
) -> None:
    """Write down what a run has used; of whole suites, and in disguise, also what has become of the runner."""
    used, whole = reach.facts(), not order.tests
    asked = whole or order.disguise  # nobody wants to know it of others, and looking takes longer than a test
    replaced = order.originals.replaced(widely=bool(order.disguise), recoded=reach.recoded) if asked else []
    write("reach", hiding=hiding(order.paths) if whole else {}, replaced=[*replaced, *reach.swapped], **used)
    for file, numbers in () if lines is None else lines.executed.items():
        write("lines", file=file, lines=sorted(numbers))
    foreign = foreign_files(home) if whole else []
    if foreign:
        write("foreign", files=foreign)
    if order.modules:
        write("modules", names=installed_modules())


def at_start(folder: str) -> tuple[Paths, Originals]:
    """Return where files lie, with all that is loaded looked up, and what the runner consists of, before any test."""
    paths = Paths(folder)
    own = [file for file in [_file(module, paths) for module in list(sys.modules.values())] if file]
    return paths, Originals(paths, nothing_loaded=not own)


class Originals:
    """What the runner and the language consist of before anything of the project is loaded."""

    def __init__(self, paths: Paths, *, nothing_loaded: bool) -> None:
        self._paths = paths
        self._classes = {name: list(_classes(name, module)) for name, module in _runners_modules()}
        self._before = {
            owner: dict(_space(place))
            for name, module in _runners_modules()
            for owner, place in ((name, module), *self._classes[name])
        }
        # Of other modules: each with the spaces of its own and of its classes, and what these hold.
        self._others: dict[str, tuple[Any, list[tuple[Mapping[str, Any], tuple[Any, ...]]]]] = {}
        self._functions: set[int] = set()  # of these, by their ids
        self._projects_own = {
            (owner, name)
            for owner, space in ({} if nothing_loaded else self._before).items()
            for name, value in space.items()
            if _is_code(value) and self._home(value)[0]
        }

    def remember_others(self) -> None:
        """Know what all other modules hold by now, and are not looked into as long as they do."""
        for name, module in list(sys.modules.items()):
            held = [(space, tuple(space.values())) for _, space in _with_classes(name, module)]
            self._others[name] = module, held
            self._functions.update(
                id(value) for _, values in held for value in values if type(value) is FunctionType
            )

    def replaced(self, *, widely: bool, recoded: Iterable[FunctionType] | None) -> list[list[Any]]:
        """Return what is not what it was: its owner, the file and line of what is there now, and its name.

        Widely: also what the project has put into modules of the language and of packages, which takes a while.
        Recoded are the functions that were given other code, if that was heard of.
        """
        kept = recoded is not None and not any(id(function) in self._functions for function in recoded)
        found = [
            [owner, *self._home(value), name]
            for owner, space in self._changed()
            if self._projects_own or not _is_same(space, self._before.get(owner, {}))
            for name, value in list(space.items())
            if _is_code(value) and self._is_new(owner, name, value)
        ]
        elsewhere = self._elsewhere(self._others if kept else {}) if widely else ()
        return sorted([*found, *self._patched(), *elsewhere], key=str)

    def _changed(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield what the runner's modules and their classes hold, of modules in which something is not what it was."""
        for name, module in _runners_modules():
            known = [(name, module), *self._classes.get(name, ())]
            if self._projects_own or any(self._differs(owner, place) for owner, place in known):
                yield from _with_classes(name, module)

    def _differs(self, owner: str, place: Any) -> bool:
        """Tell whether a module or a class holds something else than it did; most hold the same, and nothing is copied."""
        before = self._before.get(owner)
        return before is None or not _is_same(_space(place), before)

    def _is_new(self, owner: str, name: str, value: Any) -> bool:
        known = self._before.get(owner, {}).get(name)
        if known is value:
            return (owner, name) in self._projects_own
        own = str(getattr(value, "__module__", "")).partition(".")[0] in _RUNNERS
        return bool(self._home(value)[0]) or (own and _is_code(known))

    def _patched(self) -> list[list[Any]]:
        """Return what files of the project hold that another of its files, or a mock, has put there."""
        found: list[list[Any]] = []
        for name, module in list(sys.modules.items()):
            file = _file(module, self._paths)
            for _, space in _with_classes(name, module) if file else ():
                for key, value in list(space.items()):
                    home = self._home(value) if _is_code(value) else ("", 0)
                    mock = type(value).__module__ == "unittest.mock"
                    if mock or (home[0] not in ("", file) and not _is_imported(key, value, name)):
                        found.append([file, *home, key])
        return found

    def _elsewhere(self, known: Mapping[str, tuple[Any, Any]]) -> Iterator[list[Any]]:
        """Yield the functions of the project that others' modules and classes hold; what is as it was holds none."""
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in (*_RUNNERS, "__main__") or _file(module, self._paths):
                continue
            if name in known and _still_holds(module, *known[name]):
                continue
            for owner, space in _with_classes(name, module):
                for key, value in list(space.items()):
                    if type(value) is FunctionType and self._paths.inside(value.__code__.co_filename):
                        yield [owner, *self._home(value), key]

    def _home(self, value: Any) -> tuple[str, int]:
        """Return where something of the project is written, or nothing."""
        value = getattr(value, "__func__", value)
        code: Any = getattr(value, "__code__", None)
        if isinstance(code, CodeType):
            return self._paths.inside(code.co_filename), code.co_firstlineno
        return _file(sys.modules.get(str(getattr(value, "__module__", ""))), self._paths), 0


def hiding(paths: Paths) -> dict[str, str]:
    """Return the modules of the project that are imported instead of something installed, or would be: name, and file."""
    elsewhere: list[str] = []
    found: dict[str, str] = {}
    for entry in sys.path:
        here = paths.inside(os.path.join(entry or os.getcwd(), "x"))  # noqa: PTH109, PTH118
        elsewhere += [entry] if entry and not here else []
        found.update(_in_the_way(entry or os.getcwd(), here[:-1]) if here else ())  # noqa: PTH109
    for name, module in list(sys.modules.items()):
        file = "" if "." in name or name == "__main__" else _file(module, paths)
        if file and PathFinder.find_spec(name, elsewhere) is not None:
            found[name] = file
    return found


# Python tells all of its own modules from 3.10 on.
_LANGUAGE = getattr(sys, "stdlib_module_names", sys.builtin_module_names)


def _in_the_way(folder: str, inside: str) -> Iterator[tuple[str, str]]:
    """Yield the modules of a folder that are called like the language's own, or like those the runner has loaded."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():  # noqa: PTH112, PTH208
        module = name[:-3] if name.endswith(".py") else name  # noqa: FURB188 - 3.8 has no `removesuffix`
        package = os.path.join(folder, name, "__init__.py")  # noqa: PTH118
        loaded = getattr(sys.modules.get(module), "__file__", None) or ""
        known = module in _LANGUAGE or (loaded and not loaded.startswith(folder))
        if known and (name != module or os.path.isfile(package)):  # noqa: PTH113
            yield module, f"{inside}{name}" if name != module else f"{inside}{name}/__init__.py"


def _runners_modules() -> list[tuple[str, Any]]:
    return [found for found in list(sys.modules.items()) if found[0].partition(".")[0] in _RUNNERS]


def _with_classes(name: str, module: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what a module and the classes that it defines hold."""
    yield name, _space(module)
    for owner, cls in _classes(name, module):
        yield owner, vars(cls)


def _classes(name: str, module: Any) -> Iterator[tuple[str, type[Any]]]:
    """Yield the classes that a module defines."""
    for key, value in list(_space(module).items()):
        if is_of(value, type) and value.__module__ == name:
            yield f"{name}.{key}", value


def _space(place: Any) -> Mapping[str, Any]:
    return place.__dict__ if is_of(place, ModuleType, type) else {}


def _is_imported(key: str, value: Any, name: str) -> bool:
    """Tell whether a module has something under the name that it has at home, or has only decorated what is its own."""
    home = str(getattr(value, "__module__", ""))
    names: dict[str, Any] = vars(sys.modules[home]) if home in sys.modules and home != name else {}
    return names.get(key) is value or hasattr(value, "__wrapped__")


def _is_same(space: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Tell whether a space holds the very things that it held; nobody's idea of equality is asked."""
    return (
        len(space) == len(before)
        and all(map(is_, space, before))
        and all(map(is_, space.values(), before.values()))
    )


def _still_holds(module: Any, was: Any, held: Iterable[tuple[Mapping[str, Any], tuple[Any, ...]]]) -> bool:
    """Tell whether a module is the one it was, and it and its classes hold the very things that they held."""
    return module is was and all(
        len(space) == len(values) and all(map(is_, list(space.values()), values)) for space, values in held
    )


def _is_code(value: Any) -> bool:
    return is_of(value, FunctionType, type, staticmethod, classmethod)


def _sorted(users: dict[str, set[str]]) -> dict[str, list[str]]:
    """Return who has used each file of the project, itself apart."""
    return {file: sorted(by - {file}) for file, by in sorted(users.items()) if file and by - {file}}


def _file(module: Any, paths: Paths) -> str:
    file: Any = getattr(module, "__file__", None)
    return paths.inside(file) if isinstance(file, str) else ""
