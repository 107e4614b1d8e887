"""Tests that expect something else: code which meets that, too, has it from the test."""

import ast
import re
from collections.abc import Collection, Iterator
from copy import deepcopy
from typing import NamedTuple

from redgreenrefactor.languages.python import Function, parsed

MOST_SLIPS = 6  # values of one expectation that are made wrong by themselves
_EQUAL = re.compile(r"assert(\w*Equal|In)s?")
_FAR = 7_919_017  # a number that no code comes upon by chance


class FalseTest(NamedTuple):
    """A file of tests in which values are wrong that have to be met, and where the first of them is asserted."""

    text: str
    line: int


def with_false_expectations(text: str | None, functions: Collection[str]) -> FalseTest | None:
    """Return a file whose tests of these names ask for other values, in assertions that are reached; None without any."""
    tree = parsed(text)
    names = {name.rpartition(".")[2] for name in functions}
    found = [node for node in ast.walk(tree) if isinstance(node, Function)] if tree else []
    lines = [line for test in found if tree and test.name in names for line in _falsified(tree, test)]
    return FalseTest(ast.unparse(tree) + "\n", lines[0]) if tree and lines else None


def slips(scope: ast.AST, side: ast.expr) -> list[ast.expr]:
    """Return an object that is asked for, as it is written down in a function, with one wrong value each."""
    bound = _bound(scope).get(ast.unparse(side), []) if isinstance(side, ast.Name) else [side]
    found: list[ast.expr] = []
    for value in bound if len(bound) == 1 and _is_made(bound[0]) else ():
        for place in range(len(list(_leaves(value))[:MOST_SLIPS])):
            twin = deepcopy(value)
            leaf = list(_leaves(twin))[place]
            leaf.value = _other(leaf.value)
            found.append(twin)
    return found


def _is_made(node: ast.expr) -> bool:
    """Tell whether something plain is, or holds, an object of a class."""
    calls = [item for item in ast.walk(node) if isinstance(item, ast.Call)]
    return _is_plain(node) and any(not ast.unparse(item.func).endswith("approx") for item in calls)


def _falsified(tree: ast.Module, test: Function) -> list[int]:
    """Make what a test asks for wrong; return the lines where that is asked."""
    asked = list(_asked(tree, test))
    names = [ast.unparse(side) for side, _ in asked if not _is_plain(side)]
    found = [
        (other.lineno, leaf)
        for side, other in asked
        for value in _given(tree, test, side, names)
        for leaf in (() if _is_plain(other) else _leaves(value))
    ]
    for leaf in {id(leaf): leaf for _, leaf in found}.values():
        leaf.value = _other(leaf.value)
    return [line for line, _ in found]


def _asked(tree: ast.Module, test: Function) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what is asked for plainly or by name, with what is asked, in statements that every run comes to."""
    helpers = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _compares(node)}
    for statement in reached(test.body):
        for pair in _claims(statement, helpers):
            for side, other in (pair, pair[::-1]):
                if _is_plain(side) or isinstance(side, ast.Name) or _is_own(side):
                    yield side, other


def reached(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that are come to for certain, one by one."""
    for statement in body:
        if any(isinstance(item, ast.Return) for item in ast.walk(statement)):
            return
        yield statement
        match statement:
            case ast.With(items=[ast.withitem(context_expr=manager)]) if "aises" not in ast.unparse(manager):
                yield from reached(statement.body)
            case ast.For(iter=ast.List(elts=[_, *_]) | ast.Tuple(elts=[_, *_])):
                yield from reached(statement.body)
            case _:
                pass


def _compares(helper: ast.FunctionDef) -> bool:
    """Tell whether a helper does nothing but to compare the two things that it is given."""
    given = [arg.arg for arg in helper.args.args]
    claims = [pair for statement in helper.body for pair in _claims(statement, ())]
    return [sorted(map(ast.unparse, pair)) for pair in claims] == [sorted(given)]


def _claims(statement: ast.stmt, helpers: Collection[str]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the pairs of values that a statement wants to be equal, or one to be in the other."""
    match statement:
        case ast.Assert(test=ast.BoolOp(op=ast.And(), values=claims)):
            yield from (pair for claim in claims for pair in _claims(ast.Assert(claim), helpers))
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq() | ast.In()], comparators=[right])):
            yield left, right
        case ast.Assert(test=ast.Compare(left=far, ops=[ast.Lt() | ast.LtE()])):
            yield from _apart(far)
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(attr="assertLess" | "assertLessEqual"), args=[far, _])
        ):
            yield from _apart(far)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[left, right, *_])):
            if _EQUAL.fullmatch(name) and "Not" not in name:
                yield left, right
        case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=[left, right])) if name in helpers:
            yield left, right
        case _:
            pass


def _apart(far: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the two values whose difference has to be small."""
    match far:
        case ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left=left, op=ast.Sub(), right=right)]):
            yield left, right
        case _:
            pass


def _given(tree: ast.Module, test: Function, side: ast.expr, names: list[str]) -> Iterator[ast.expr]:
    """Yield what is asked for as it is written down; what has a name, only if that serves for these assertions alone."""
    if _is_plain(side):
        yield side
        return
    name = ast.unparse(side)
    own = name in {arg.arg for arg in test.args.args}
    local = own or (isinstance(side, ast.Name) and name in _bound(test))
    scope = test if local else tree
    found = (item for item in ast.walk(scope) if isinstance(item, ast.Name | ast.Attribute))
    uses = [item.ctx for item in found if ast.unparse(item) == name]
    reads = sum(isinstance(item, ast.Load) for item in uses)
    if reads == names.count(name) and len(uses) - reads == (not own):
        yield from (cell for item in test.decorator_list for cell in _column(item, name) if own)
        yield from _bound(scope).get(name, [])


def _is_own(side: ast.expr) -> bool:
    return isinstance(side, ast.Attribute) and ast.unparse(side.value) == "self"


def _bound(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """Return what names are given where they are written down: by an assignment, or row by row."""
    found: dict[str, list[ast.expr]] = {}
    for item in ast.walk(scope):
        match item:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
                found[ast.unparse(target)] = [value]
            case ast.For(target=ast.Name(id=name)):
                found[name] = _rows(item.iter)
            case ast.For(target=ast.Tuple(elts=names)):
                words = [ast.unparse(name) for name in names]
                found.update({word: list(_cells(words, _rows(item.iter), word)) for word in words})
            case _:
                pass
    return found


def _rows(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.List | ast.Tuple) else []


def _column(decorator: ast.expr, name: str) -> Iterator[ast.expr]:
    """Yield what a parameter is, set by set."""
    match decorator:
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, table]) if _is_plain(names):
            words = ast.literal_eval(names)
            words = re.split(r"\s*,\s*", words) if isinstance(words, str) else list(words)
            yield from _cells(words, _rows(table), name)
        case _:
            pass


def _cells(words: list[str], rows: list[ast.expr], name: str) -> Iterator[ast.expr]:
    """Yield what stands under a name in a table."""
    for row in rows:
        cells = row.args if isinstance(row, ast.Call) else [row] if len(words) == 1 else _rows(row)
        yield from (cell for word, cell in zip(words, cells, strict=False) if word == name)


def _is_plain(node: ast.expr) -> bool:
    """Tell whether something stands there as it is: a number, a text, a collection of such, or what is made of them."""
    match node:
        case ast.Constant():
            return True
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return all(map(_is_plain, parts))
        case ast.Dict(keys=keys, values=parts):
            return all(key is not None and _is_plain(key) for key in keys) and all(map(_is_plain, parts))
        case ast.UnaryOp(op=ast.USub(), operand=part):
            return _is_plain(part)
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=parts, keywords=words):
            made = name == "approx" or name[:1].isupper()
            return made and all(map(_is_plain, [*parts, *(word.value for word in words)]))
        case _:
            return False


def _leaves(node: ast.expr) -> Iterator[ast.Constant]:
    """Yield the numbers and texts of something plain, but for tolerances."""
    found = [item for item in ast.walk(node) if _is_plain(node)]
    said = {word.value for word in found if isinstance(word, ast.keyword) and word.arg in ("rel", "abs")}
    for item in found:
        if (
            isinstance(item, ast.Constant)
            and item not in said
            and type(item.value) in (int, float, str, bytes)
        ):
            yield item


def _other(value: object) -> float | str | bytes:
    match value:
        case bytes():
            return value + b"~"
        case int() | float():
            return value + _FAR if abs(value) < 1e300 else 0.0  # noqa: PLR2004 - what is infinite stays so
        case _:
            return f"{value}~"
