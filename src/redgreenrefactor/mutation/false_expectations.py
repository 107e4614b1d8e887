"""Tests that expect something else: code which meets that, too, has it from the test."""

import ast
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from redgreenrefactor.languages.python import Function, parsed

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


def _falsified(tree: ast.Module, test: Function) -> list[int]:
    """Make what a test asks for wrong; return the lines where that is asked."""
    asked = list(_asked(test))
    names = [side.id for side, _ in asked if isinstance(side, ast.Name)]
    found = [
        (other.lineno, leaf)
        for side, other in asked
        for value in _given(tree, test, side, names)
        for leaf in (() if _is_plain(other) else _leaves(value))
    ]
    for leaf in {id(leaf): leaf for _, leaf in found}.values():
        leaf.value = _other(leaf.value)
    return [line for line, _ in found]


def _asked(test: Function) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what is asked for plainly or by name, with what is asked, in statements that every run comes to."""
    for statement in test.body:
        if any(isinstance(item, ast.Return) for item in ast.walk(statement)):
            return
        for pair in _claims(statement):
            for side, other in (pair, pair[::-1]):
                if isinstance(side, ast.Name) or _is_plain(side):
                    yield side, other


def _claims(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the pairs of values that a statement wants to be equal, or one to be in the other."""
    match statement:
        case ast.Assert(test=ast.BoolOp(op=ast.And(), values=claims)):
            yield from (pair for claim in claims for pair in _claims(ast.Assert(claim)))
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq() | ast.In()], comparators=[right])):
            yield left, right
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[left, right, *_])):
            if _EQUAL.fullmatch(name) and "Not" not in name:
                yield left, right
        case _:
            pass


def _given(tree: ast.Module, test: Function, side: ast.expr, names: list[str]) -> Iterator[ast.expr]:
    """Yield what is asked for as it is written down; what has a name, only if that serves for these assertions alone."""
    if not isinstance(side, ast.Name):
        yield side
        return
    own = side.id in {arg.arg for arg in test.args.args}
    scope = test if own or side.id in _bound(test.body) else tree
    uses = [item.ctx for item in ast.walk(scope) if isinstance(item, ast.Name) and item.id == side.id]
    reads = sum(isinstance(item, ast.Load) for item in uses)
    if reads == names.count(side.id) and len(uses) - reads == (not own):
        yield from (cell for item in test.decorator_list for cell in _column(item, side.id) if own)
        yield from (value for name, value in _bound(scope.body).items() if name == side.id)


def _bound(body: list[ast.stmt]) -> dict[str, ast.expr]:
    return {
        item.targets[0].id: item.value
        for item in body
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and len(item.targets) == 1
    }


def _column(decorator: ast.expr, name: str) -> Iterator[ast.expr]:
    """Yield what a parameter is, set by set."""
    match decorator:
        case ast.Call(
            func=ast.Attribute(attr="parametrize"), args=[names, ast.List(elts=rows) | ast.Tuple(elts=rows)]
        ):
            words = ast.literal_eval(names) if _is_plain(names) else ()
            words = re.split(r"\s*,\s*", words) if isinstance(words, str) else list(words)
            for row in rows:
                cells = row.args if isinstance(row, ast.Call) else getattr(row, "elts", [row])
                cells = [row] if len(words) == 1 and not isinstance(row, ast.Call) else cells
                yield from (cell for word, cell in zip(words, cells, strict=False) if word == name)
        case _:
            pass


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
