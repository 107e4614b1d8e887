"""What a test says once its names are resolved: the same is said where the same is done with the same things."""

import ast
import copy
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from redgreenrefactor.languages.paths import module_files
from redgreenrefactor.languages.python import (
    Definition,
    Function,
    assigned,
    docstrings,
    imported,
    is_fixture,
    parsed,
)
from redgreenrefactor.model.values import field, frozen

DOTTED = re.compile(r"\w+(\.\w+)+")
DEEPEST = 6  # modules through which a name is handed on


@frozen
class Reference:
    """A name in a test that stands for something outside it."""

    kind: str  # thing: of a module; helper: of the tests; attribute: of whatever
    name: str  # of a thing with its module before a colon
    meaning: str = ""  # of a helper: all that it says


@frozen
class Said:
    """What a test says: its own text without names, and what these refer to."""

    text: str
    references: tuple[Reference, ...]


@frozen
class Project:
    """The sources of a project at one commit."""

    read: Callable[[str], str | None]
    is_test: Callable[[str], bool]
    _trees: dict[str, ast.Module | None] = field(default_factory=dict[str, ast.Module | None])
    _meanings: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def tree(self, file: str) -> ast.Module | None:
        """Return the syntax tree of a file."""
        if file not in self._trees:
            self._trees[file] = parsed(self.read(file))
        return self._trees[file]

    def file(self, module: str) -> str | None:
        """Return where a module of the project lies."""
        return next((path for path in module_files(module) if self.tree(path) is not None), None)

    def said(self, file: str, test: Definition) -> Said:
        """Return what a test says."""
        return Said(*Scope(self, file, _class_of(self.tree(file), test.name)).resolved(test.node))

    def origin(self, thing: str) -> tuple[str, str] | None:
        """Return the file that defines a thing and its name there, wherever it is handed on; None where it is not."""
        module, _, name = thing.partition(":")
        for _ in range(DEEPEST):
            tree = self.tree(self.file(module) or "")
            if tree is None:
                return None
            named = next((item for item in imported(tree) if item.name == name and item.member), None)
            owner = _absolute(named.module, self.file(module) or "") if named else ""
            if named is None or not self.file(owner):
                return (
                    (self.file(module) or "", name)
                    if name.partition(".")[0] in defined(tree) | {""}
                    else None
                )
            module, name = owner, named.member
        return None

    def meaning(self, file: str, name: str) -> str | None:
        """Return all that a helper, fixture or constant of the tests says; None where there is no such."""
        if (file, name) not in self._meanings:
            tree = self.tree(file)
            node = next((node for node in (tree.body if tree else ()) if name in _named(node)), None)
            if node is None:
                return None
            self._meanings[file, name] = "itself"  # while it is found out
            self._meanings[file, name] = _joined(*Scope(self, file).resolved(node))
        return self._meanings[file, name]


def defined(tree: ast.AST) -> set[str]:
    """Return every name that a piece of code gives to something: functions, arguments, variables, attributes."""
    found = {item.name for item in imported(tree)}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.arg(arg=name):
                found.add(name)
            case _:
                pass
    return found


@frozen
class Scope:
    """A file of the tests, or a class in it, in which names are looked up."""

    project: Project
    file: str
    owner: ast.ClassDef | None = None

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """What each imported name stands for."""
        tree = self.project.tree(self.file)
        return self.full(tree) if tree else {}

    def full(self, node: ast.AST) -> Mapping[str, str]:
        """Return what the imports in a piece of code bring, by their names here."""
        found: dict[str, str] = {}
        for item in imported(node):
            owner = _absolute(item.module, self.file)
            if item.member:
                is_module = self.project.file(f"{owner}.{item.member}")
                found[item.name] = f"{owner}{'.' if is_module else ':'}{item.member}"
            else:
                found[item.name] = item.name if owner.partition(".")[0] == item.name else owner
        return found

    def member(self, dotted: str) -> str | None:
        """Return a dotted name as something of a module of the project; None where there is no such module."""
        for place in range(len(dotted), 0, -1):
            if dotted[place - 1 : place] == "." and self.project.file(dotted[: place - 1]):
                return f"{dotted[: place - 1]}:{dotted[place:]}"
        return None

    def resolved(self, node: ast.AST) -> tuple[str, tuple[Reference, ...]]:
        """Return a piece of code without names, hints and docstrings, and what the names refer to."""
        twin: Any = copy.deepcopy(node)
        resolving = _Resolving(self, twin)
        return ast.dump(resolving.visit(twin)), tuple(resolving.references)

    def look_up(self, name: str) -> Reference | None:
        """Return the helper or constant of this file that a name stands for."""
        meaning = self.project.meaning(self.file, name)
        return None if meaning is None else Reference("helper", name, meaning)

    def thing(self, full: str) -> Reference:
        """Return what a full name stands for: something of a module, or a helper in another file of the tests."""
        module, colon, name = full.partition(":")
        file = self.project.file(module)
        if colon and file and self.project.is_test(file):
            return Reference("helper", name, self.project.meaning(file, name) or full)
        return Reference("thing", full)

    def fixture(self, name: str) -> Reference:
        """Return the fixture that an argument of a test stands for, from here up to the outermost conftest."""
        if own := self.method(name):
            return own
        conftests = (str(folder / "conftest.py") for folder in PurePosixPath(self.file).parents)
        places = (self.file, *conftests)
        meanings = (self.project.meaning(place, name) for place in places)
        return Reference("helper", name, next((said for said in meanings if said), name))

    def method(self, name: str) -> Reference | None:
        """Return what something of the test's own class says."""
        for node in self.owner.body if self.owner else ():
            if name in _named(node) and not name.startswith("test"):
                return Reference("helper", name, _joined(*Scope(self.project, self.file).resolved(node)))
        return None


class _Resolving(ast.NodeTransformer):
    """Takes the names out of a piece of code: local ones are numbered, others refer to something."""

    def __init__(self, scope: Scope, node: ast.AST) -> None:
        self.scope = scope
        self.references: list[Reference] = []
        self.numbers: dict[str, str] = {}
        self.alone = docstrings(node)
        self.imports = {**scope.imports, **scope.full(node)}
        self.fixtures = _fixtures(node)
        self.bound = _bound(node) - self.fixtures
        if isinstance(node, Function | ast.ClassDef):
            node.name = "_"

    def _refer(self, reference: Reference) -> ast.Name:
        self.references.append(reference)
        return ast.Name("@", ast.Load())

    def _number(self, name: str) -> str:
        return self.numbers.setdefault(name, f"v{len(self.numbers)}") if name in self.bound else name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Resolve a name."""
        if node.id in self.fixtures:
            return self._refer(self.scope.fixture(node.id))
        if node.id in self.bound:
            return ast.Name(self._number(node.id), node.ctx)
        if node.id in self.imports:
            return self._refer(self.scope.thing(self.imports[node.id]))
        found = self.scope.look_up(node.id)
        return self._refer(found) if found else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Resolve an attribute: of a module it is a thing, of a test's own class a helper."""
        base = node.value.id if isinstance(node.value, ast.Name) else ""
        method = self.scope.method(node.attr) if base in ("self", "cls") else None
        if method:
            return self._refer(method)
        names = ast.unparse(node) if base or isinstance(node.value, ast.Attribute) else ""
        first, _, rest = names.partition(".")
        full = self.imports.get(first, ":") if first not in self.bound | self.fixtures else ":"
        if rest and ":" not in full and (thing := self.scope.member(f"{full}.{rest}")):
            return self._refer(self.scope.thing(thing))
        self.references.append(Reference("attribute", node.attr))
        return ast.Attribute(self.visit(node.value), "@", node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Resolve a text that names something of the project, as patches do."""
        known = isinstance(node.value, str) and DOTTED.fullmatch(node.value)
        thing = self.scope.member(node.value) if known and isinstance(node.value, str) else None
        return self._refer(Reference("thing", thing)) if thing else node

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        """Resolve the name of an argument that a call gives."""
        if node.arg:
            self.references.append(Reference("attribute", node.arg))
        return ast.keyword(node.arg and "@", self.visit(node.value))

    def visit_arg(self, node: ast.arg) -> ast.arg | None:
        """Resolve an argument: a fixture, or a name for what is given."""
        if node.arg in ("self", "cls"):
            return None
        if node.arg in self.fixtures:
            self._refer(self.scope.fixture(node.arg))
            return ast.arg("@")
        return ast.arg(self._number(node.arg))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """Number the name of a caught error."""
        node.name = node.name and self._number(node.name)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: Any) -> ast.AST:
        """Take the hints away."""
        node.name, node.returns = self._number(node.name), None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Take the hints away."""
        return self.visit_FunctionDef(node)

    def visit_Import(self, node: ast.Import) -> None:
        """Leave an import out: what it brings is resolved where it is used."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Leave an import out, too."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Leave a docstring out."""
        return None if node.value in self.alone else self.generic_visit(node)


def _fixtures(node: ast.AST) -> set[str]:
    """Return the arguments of a test or a fixture that are fixtures; the others are parameters."""
    if not isinstance(node, Function) or not (node.name.startswith("test") or is_fixture(node)):
        return set()
    texts = (
        item.value
        for call in node.decorator_list
        for item in ast.walk(call)
        if isinstance(item, ast.Constant)
    )
    listed = {name for text in texts if isinstance(text, str) for name in re.findall(r"\w+", text)}
    return {item.arg for item in node.args.args} - listed - {"self", "cls"}


def _bound(node: ast.AST) -> set[str]:
    """Return the names that a piece of code gives to something by itself."""
    found = {item.arg for item in ast.walk(node) if isinstance(item, ast.arg)}
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load):
            found.add(item.id)
        elif isinstance(item, Function | ast.ExceptHandler) and item is not node and item.name:
            found.add(item.name)
    return found


def _joined(text: str, references: tuple[Reference, ...]) -> str:
    return "|".join([text, *(f"{item.kind} {item.meaning or item.name}" for item in references)])


def _named(node: ast.stmt) -> set[str]:
    """Return the names that a statement of a file defines."""
    return {node.name} if isinstance(node, Function | ast.ClassDef) else set(assigned(node))


def _class_of(tree: ast.Module | None, name: str) -> ast.ClassDef | None:
    """Return the class that a test of this qualified name stands in."""
    owner = name.rpartition(".")[0].rpartition(".")[2]
    classes = (node for node in ast.walk(tree or ast.Pass()) if isinstance(node, ast.ClassDef))
    return next((node for node in classes if node.name == owner), None)


def _absolute(module: str, file: str) -> str:
    """Return a module as it is called from the project's folder; one that is relative counts from a file."""
    name = module.lstrip(".")
    up = len(module) - len(name)
    folders = PurePosixPath(file).parts[:-1]
    return ".".join([*folders[: len(folders) - up + 1], *([name] if name else [])]) if up else name
