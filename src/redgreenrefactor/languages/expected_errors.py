"""How often a test looks into the errors it expects, by itself or through what it calls."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
class _Place:
    """A function, and where its names are looked up."""

    file: str
    node: python.Function
    owner: ast.ClassDef | None = None


def looks(read: Read, file: str, name: str, node: python.Function) -> Looks:
    """Return what a test expects, the functions, methods and fixtures that it uses included."""
    tree = python.parsed(read(file))
    owner = _class(tree, name.rpartition(".")[0].rpartition(".")[2]) if tree and "." in name else None
    return _looks(read, _Place(file, node, owner), frozenset(), DEEPEST)


def _looks(read: Read, place: _Place, unset: frozenset[str], depth: int) -> Looks:
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


def _used(read: Read, place: _Place) -> Iterator[tuple[ast.Call | None, _Place]]:
    """Yield what a function calls, and the fixtures it asks for."""
    calls = [item for item in ast.walk(place.node) if isinstance(item, ast.Call)]
    for call in calls:
        target = _called(read, place, call.func)
        if target is not None and target.node is not place.node:
            yield call, target
    for name in sorted(dataflow.arguments(place.node) - {"self", "cls"}):
        target = _fixture(read, place, name)
        if target is not None and target.node is not place.node:
            own = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]
            yield from ((call, target) for call in own or [None])


def _called(read: Read, place: _Place, function: ast.expr) -> _Place | None:
    match function:
        case ast.Name(id=name):
            return _named(read, place.file, name)
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            return _method(read, place.file, place.owner, name)
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
            return _inherited(read, place.file, place.owner, name)
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            meant = _meant(read, place.file, module)
            return _first(read, meant.replace(":", "."), name) if meant else None
        case _:
            return None


def _named(read: Read, file: str, name: str) -> _Place | None:
    """Return the function of this name, where a file defines it or where it comes from."""
    tree = python.parsed(read(file))
    for node in tree.body if tree else ():
        if isinstance(node, python.Function) and node.name == name:
            return _Place(file, node)
    module, colon, original = _meant(read, file, name).partition(":")
    return _first(read, module, original) if colon else None


def _meant(read: Read, file: str, name: str) -> str:
    """Return what an imported name stands for, with a relative one's folder put before it."""
    tree = python.parsed(read(file))
    meant = python.resolved(tree).get(name, "") if tree else ""
    dots = len(meant) - len(meant.lstrip("."))
    if not dots:
        return meant
    folder = PurePosixPath(file).parts[:-dots]
    rest = meant[dots:]
    return ".".join((*folder, rest)) if not rest.startswith(":") else ".".join(folder) + rest


def _first(read: Read, module: str, name: str) -> _Place | None:
    """Return the function of this name in a module of the project; tests see their own folder's modules, too."""
    if not module:
        return None
    for path in module_files(module):
        tree = python.parsed(read(path))
        for node in tree.body if tree else ():
            if isinstance(node, python.Function) and node.name == name:
                return _Place(path, node)
    return None


def _method(
    read: Read, file: str, owner: ast.ClassDef | None, name: str, depth: int = DEEPEST
) -> _Place | None:
    """Return the method of a class, its own or the one it inherits."""
    for node in owner.body if owner else ():
        if isinstance(node, python.Function) and node.name == name:
            return _Place(file, node, owner)
    return _inherited(read, file, owner, name, depth)


def _inherited(
    read: Read, file: str, owner: ast.ClassDef | None, name: str, depth: int = DEEPEST
) -> _Place | None:
    """Return the method as the classes above have it; a text may have them go round in a circle."""
    for base in owner.bases if owner and depth else ():
        last = ast.unparse(base).rpartition(".")[2]
        for path in _files_of(read, file, last):
            tree = python.parsed(read(path))
            above = _class(tree, last) if tree else None
            found = _method(read, path, above, name, depth - 1)
            if found is not None:
                return found
    return None


def _files_of(read: Read, file: str, name: str) -> Iterator[str]:
    """Yield the files that may define what a name of this file stands for."""
    yield file
    module, colon, _ = _meant(read, file, name).partition(":")
    if colon and module:
        yield from module_files(module)


def _class(tree: ast.Module, name: str) -> ast.ClassDef | None:
    return next(
        (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == name), None
    )


def _fixture(read: Read, place: _Place, name: str) -> _Place | None:
    """Return the fixture of this name that a test of this place gets."""
    found = _method(read, place.file, place.owner, name) or _named(read, place.file, name)
    if found is not None:
        return found
    folders = PurePosixPath(place.file).parents
    near = (_named(read, str(folder / "conftest.py"), name) for folder in folders)
    return next((target for target in near if target is not None), None)


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
