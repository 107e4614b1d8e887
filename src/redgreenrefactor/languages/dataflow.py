"""Where values of a Python function come from: which names carry what the code under test has made."""

import ast
from collections.abc import Iterator
from typing import TypeGuard

from redgreenrefactor.languages.python import (
    BUILTINS,
    IMPLICIT,
    Function,
    Import,
    assigned,
    imported,
    is_planned,
)


def imported_from(tree: ast.Module, impl_file: str) -> frozenset[str]:
    """Return the names of a file that stand for the planned module, something of it, or what it has a hand in making."""
    names = frozenset(item.name for item in imported(tree) if _is_of(item, impl_file))
    for node in tree.body:
        if _is_made_by(node, names):
            names |= {node.name}
    return names


def _is_made_by(node: ast.AST, names: frozenset[str]) -> TypeGuard[Function | ast.ClassDef]:
    """Tell whether one of these names has a say in what a function or a class is: a decorator, a base, a metaclass."""
    if not isinstance(node, Function | ast.ClassDef):
        return False
    derived_from = [*node.bases, *node.keywords] if isinstance(node, ast.ClassDef) else []
    return any(uses(item, names) for item in (*node.decorator_list, *derived_from))


def _is_of(item: Import, impl_file: str) -> bool:
    owner = item.module.lstrip(".")
    if not item.member:
        return is_planned(owner, None, impl_file)
    if owner != item.module and (not owner or owner.split(".")[-1] in impl_file):
        return True
    return is_planned(None, owner, impl_file) or is_planned(
        f"{owner}.{item.member}".strip("."), None, impl_file
    )


def outside_names(tree: ast.Module | None, test: Function) -> frozenset[str] | None:
    """Return the names a test gets from outside itself, files included; None where a star import leaves that open."""
    names = {"self", "cls", "open", *(item.name for item in (imported(tree) if tree else ()))}
    if "*" in names:
        return None
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, Function | ast.ClassDef) and node is not test:
            names.add(node.name)
    for node in tree.body if tree else ():
        names.update(assigned(node))
    return frozenset(names)


# Fixtures that give a test something to work with; what code has done to capsys or caplog is its result.
FROM_PYTEST = frozenset({"tmp_path", "tmpdir", "tmp_path_factory", "monkeypatch", "request", "self", "cls"})


def uses(node: ast.AST, names: frozenset[str]) -> bool:
    """Tell whether a piece of code mentions one of these names."""
    return any(isinstance(item, ast.Name) and item.id in names for item in ast.walk(node))


def arguments(test: Function) -> frozenset[str]:
    """Return what a test is given: its fixtures and parameters."""
    return frozenset(arg.arg for arg in (*test.args.args, *test.args.kwonlyargs))


def derived(test: Function, seeds: frozenset[str]) -> frozenset[str]:
    """Return the names of a function whose values come from these names or its fixtures, filled in place included."""
    names = set(seeds) | (arguments(test) - FROM_PYTEST)
    size = -1
    while size != len(names):
        size = len(names)
        for node in ast.walk(test):
            if _is_made_by(node, frozenset(names)) and node is not test:
                names.add(node.name)
            if isinstance(node, Function) and node is not test and node.name in names:
                names |= {item.id for item in ast.walk(node) if isinstance(item, ast.Name)} - BUILTINS
            if isinstance(node, STEPS) and uses(_own_part(node), frozenset(names)):
                names |= {
                    item.id for item in ast.walk(_own_part(node)) if isinstance(item, ast.Name)
                } - BUILTINS
    return frozenset(names)


def flowing(test: Function, seeds: frozenset[str]) -> frozenset[str]:
    """Return the names of a function that get their values from these names."""
    names = set(seeds)
    size = -1
    while size != len(names):
        size = len(names)
        for node in ast.walk(test):
            if _is_made_by(node, frozenset(names)) and node is not test:
                names.add(node.name)
            for target, value in _steps(node):
                if uses(value, frozenset(names)):
                    names |= {item.id for item in ast.walk(target) if isinstance(item, ast.Name)}
    return frozenset(names)


def _steps(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield what a node binds, and to what."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((target, value) for target in targets)
        case (
            ast.AnnAssign(target=target, value=value)
            | ast.AugAssign(target=target, value=value)
            | ast.NamedExpr(target=target, value=value)
        ) if value is not None:
            yield target, value
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            yield target, value
        case ast.withitem(context_expr=value, optional_vars=target) if target is not None:
            yield target, value
        case _:
            pass


STEPS = (
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.NamedExpr,
    ast.Expr,
    ast.For,
    ast.comprehension,
    ast.withitem,
)


def _own_part(node: ast.AST) -> ast.AST:
    """Return a statement without the statements inside it."""
    if isinstance(node, ast.For):
        return ast.Tuple([node.target, node.iter], ast.Load())
    return node


def sets_up(tree: ast.Module, test: Function, names: frozenset[str]) -> bool:
    """Tell whether the class of a test prepares its object with one of these names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and test in node.body:
            return any(
                isinstance(item, Function) and item.name in IMPLICIT and uses(item, names)
                for item in node.body
            )
    return False
