"""How often a test looks into the errors it expects, by itself or through what it calls."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from redgreenrefactor.languages import dataflow, python
from redgreenrefactor.languages.assertions import expected_errors
from redgreenrefactor.languages.paths import module_files

DEEPEST = 4  # calls from a test that are followed
Read = Callable[[str], str | None]  # a file of the project, as of one commit


@dataclass(frozen=True, slots=True)
class Looks:
    """Errors that are expected: with a look at their reason, and without."""

    closely: int = 0
    barely: int = 0
    again: bool = False  # in a loop: as often as there are turns

    def plus(self, other: "Looks", *, again: bool = False) -> "Looks":
        """Return both together."""
        repeats = self.again or ((other.again or again) and bool(other.closely))
        return Looks(self.closely + other.closely, self.barely + other.barely, repeats)


@dataclass(frozen=True, slots=True)
class _Definition:
    """A function, and where its names are looked up."""

    file: str
    node: python.Function
    owner: str = ""  # the class it is a method of


def looks(read: Read, file: str, name: str, node: python.Function) -> Looks:
    """Return what a test expects, the functions, methods and fixtures that it uses included."""
    owner = name.rpartition(".")[0].rpartition(".")[2]
    return _looks(read, _Definition(file, node, owner), frozenset(), DEEPEST)


def _looks(read: Read, place: _Definition, unset: frozenset[str], depth: int) -> Looks:
    """Return what a function expects when these of its parameters are left at None."""
    total, repeated = Looks(), _repeated(place.node)
    for call, reason in expected_errors(place.node):
        unread = reason is None or (isinstance(reason, ast.Name) and reason.id in unset)
        total = total.plus(Looks(barely=1) if unread else Looks(closely=1), again=call in repeated)
    for call, target in _used(read, place) if depth else ():
        found = _looks(read, target, _left_at_none(target.node, call), depth - 1)
        total = total.plus(found, again=call in repeated)
    return total


def _repeated(node: ast.AST) -> set[ast.AST]:
    loops = (item for item in ast.walk(node) if isinstance(item, ast.For | ast.While | ast.AsyncFor))
    return {item for loop in loops for item in ast.walk(loop)}


def _used(read: Read, place: _Definition) -> Iterator[tuple[ast.Call | None, _Definition]]:
    """Yield what a function calls, and the fixtures it asks for."""
    calls = [item for item in ast.walk(place.node) if isinstance(item, ast.Call)]
    for call in calls:
        if (target := _called(read, place, call.func)) is not None:
            yield call, target
    for name in sorted(dataflow.arguments(place.node) - {"self", "cls"}):
        if (target := _nearest(read, place, name, name)) is not None:
            own = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]
            yield from ((call, target) for call in own or [None])


def _called(read: Read, place: _Definition, function: ast.expr) -> _Definition | None:
    match function:
        case ast.Name(id=name) if name not in dataflow.arguments(place.node):
            return _nearest(read, place, name, name)
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            return _nearest(read, place, name)
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return _nearest(read, place, name, module)
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
            return _nearest(read, replace(place, owner=""), name)
        case _:
            return None


def _nearest(read: Read, place: _Definition, name: str, via: str = "") -> _Definition | None:
    """Return the function of this name that is nearest: in the class, the file, what it imports, its conftests.

    Where the name comes from is known by `via`: that which is imported, and nothing else.
    """
    tree = python.parsed(read(place.file))
    meant = python.resolved(tree).get(name, "").partition(":")[2] if tree else ""
    for file in _files(place.file, tree, via):
        wanted = name if file == place.file else meant or name
        found = [
            item
            for item in _definitions(read, file)
            if item.node.name == wanted and ast.dump(item.node) != ast.dump(place.node)
        ]
        if found:
            return min(found, key=lambda item: item.owner != place.owner)
    return None


def _definitions(read: Read, file: str) -> Iterator[_Definition]:
    tree = python.parsed(read(file))
    for node in tree.body if tree else ():
        for item in node.body if isinstance(node, ast.ClassDef) else (node,):
            if isinstance(item, python.Function):
                yield _Definition(file, item, node.name if isinstance(node, ast.ClassDef) else "")


def _files(file: str, tree: ast.Module | None, via: str) -> Iterator[str]:
    """Yield where names of a file may be defined: itself, what it imports, the conftests on the way to it."""
    yield file
    for item in (item for item in (python.imported(tree) if tree else ()) if via in ("", item.name)):
        module = item.module.lstrip(".")
        dots = len(item.module) - len(module)
        folder = PurePosixPath(file).parts[:-dots] if dots else ()
        for parts in ((*folder, module), (*folder, module, item.member)):
            yield from module_files(".".join(part for part in parts if part))
    yield from (str(folder / "conftest.py") for folder in PurePosixPath(file).parents)


def _left_at_none(node: python.Function, call: ast.Call | None) -> frozenset[str]:
    """Return the parameters that this call gives None, or leaves at it."""
    if call is None or any(isinstance(item, ast.Starred) for item in call.args):
        return frozenset()
    names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args) if arg.arg not in ("self", "cls")]
    given: dict[str, ast.expr | None] = {}
    defaults = node.args.defaults
    given.update(zip(names[len(names) - len(defaults) :], defaults, strict=False))
    given.update({a.arg: d for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)})
    given.update(zip(names, call.args, strict=False))
    given.update({word.arg: word.value for word in call.keywords if word.arg})
    return frozenset(n for n, v in given.items() if isinstance(v, ast.Constant) and v.value is None)
