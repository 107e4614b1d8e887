"""Test code that reads what code of another form gives: attributes for keys, members for texts, coroutines for values."""

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Any

from redgreenrefactor.languages.python import Function, parsed
from redgreenrefactor.mutation.mutants import source_of_tree

_EQUALITY = re.compile(r"assert\w*Equals?")  # unittest's, for all kinds of values
_RUN = re.compile(
    r"__|test|pytest_|(async)?set_?up|(async)?tear_?down", re.IGNORECASE
)  # by the runner, or the language
_NAMED = 2  # parts of a member's name: its class, and itself


def became_members(rewritten: Iterable[tuple[Function, Function]]) -> dict[str, str]:
    """Return the texts of tests in whose place the same tests name something now: each one thing, which none else became."""
    found: set[tuple[str, str]] = set()
    for old, new in rewritten:
        was, now = _values(old), _values(new)
        pairs = zip(was, now, strict=True) if len(was) == len(now) else ()
        for one, two in pairs:
            if (
                isinstance(one, ast.Constant)
                and isinstance(two, ast.Attribute)
                and isinstance(one.value, str)
            ):
                found.add((one.value, ".".join(ast.unparse(two).split(".")[-_NAMED:])))
    one_for_one = len(found) == len({text for text, _ in found}) == len({name for _, name in found})
    return dict(sorted(found)) if one_for_one else {}


def _values(node: ast.AST) -> list[ast.Constant | ast.Attribute]:
    """Return the constants and the names with dots of a test, in the order they are written."""
    inner = {id(item.value) for item in ast.walk(node) if isinstance(item, ast.Attribute)}
    found = [
        item
        for item in ast.walk(node)
        if isinstance(item, ast.Constant | ast.Attribute) and id(item) not in inner
    ]
    return sorted(found, key=lambda item: (item.lineno, item.col_offset))


def reading_either_way(text: str | None, members: Mapping[str, str] | None = None) -> str | None:
    """Return a file of tests that reads what it is given as it did, or else in the other way.

    Members tell the texts in whose place members of an enumeration are given.
    """
    tree = parsed(text)
    if tree is None:
        return text
    _EitherWay().visit(tree)
    return source_of_tree(tree, READING.replace("MEMBERS", repr(dict(members or {}))))


class _EitherWay(ast.NodeTransformer):
    """Lets keys, attributes, calls without arguments and what is compared be read by a function."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        plain = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        return _read(node, node.value, node.slice) if plain else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        mangled = node.attr.startswith("__") and not node.attr.endswith(
            "__"
        )  # within a class, it means another
        return node if mangled else _read(node, node.value, ast.Constant(node.attr))

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """Leave patterns alone: in them, a call is a pattern of its own."""
        node.guard = self.visit(node.guard) if node.guard else None
        node.body = [self.visit(item) for item in node.body]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        operands = [_value(item) for item in (node.left, *node.comparators)]
        if all(isinstance(sign, ast.Eq | ast.NotEq) for sign in node.ops):
            operands = [_call("_RgrEither", item) for item in operands]
        node.left, node.comparators = operands[0], operands[1:]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        alone = bool(name) and not node.args and not node.keywords
        node.args = [_value(item) for item in node.args] if name.startswith("assert") else node.args
        self.generic_visit(node)
        if _EQUALITY.fullmatch(name):
            return ast.Call(ast.Name("_rgr_asserted", ast.Load()), [node.func, *node.args], node.keywords)
        return _call("_rgr_waited_for", _call("_rgr_called", node.func) if alone else node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return _call("_rgr_given", self.generic_visit(node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if not node.decorator_list and not _RUN.match(node.name):  # the code may be given it
            node.decorator_list = [ast.Name("_rgr_given", ast.Load())]
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Leave alone what waits by itself."""
        return node


def _value(node: ast.expr) -> ast.expr:
    """Return what is compared: an attribute may have become a method."""
    return _call("_rgr_value", node) if isinstance(node, ast.Attribute) else node


def _read(node: ast.Subscript | ast.Attribute, value: ast.expr, name: ast.expr) -> ast.expr:
    keyed = ast.Constant(isinstance(node, ast.Subscript))
    return _call("_rgr_read", value, name, keyed) if isinstance(node.ctx, ast.Load) else node


def _call(name: str, *arguments: Any) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


READING = """
def _rgr_read(value, name, keyed):
    import operator

    ways = (operator.getitem, getattr)
    first, second = ways if keyed else ways[::-1]
    try:
        return first(value, name)
    except (TypeError, KeyError, AttributeError):
        try:
            return second(value, name)
        except Exception:
            pass
        raise


def _rgr_called(value):
    return value() if callable(value) else value


def _rgr_waited_for(value):
    import asyncio, inspect, sys

    async def listed():
        return [item async for item in value]

    coroutine = inspect.iscoroutine(value)
    if not coroutine and not inspect.isasyncgen(value) or asyncio._get_running_loop():
        return value
    code = value.cr_code if coroutine else value.ag_code
    if code.co_filename == sys._getframe(1).f_code.co_filename:
        return value
    return asyncio.run(value) if coroutine else iter(asyncio.run(listed()))


def _rgr_given(function):
    import dis, functools, inspect, sys

    async def later(given, named):
        return function(*given, **named)

    @functools.wraps(function)
    def called(*given, **named):
        frame = sys._getframe(1)
        coroutine = frame.f_code.co_flags & inspect.CO_COROUTINE
        code = dis.get_instructions(frame.f_code) if coroutine else ()
        what = next((item.opname for item in code if item.offset > frame.f_lasti), "")
        return later(given, named) if what == "GET_AWAITABLE" else function(*given, **named)

    return called


def _rgr_value(value):
    return value() if type(value).__name__ == "method" else value


def _rgr_fields(value):
    import dataclasses

    if isinstance(value, dict):
        return value
    kind = type(value)
    named = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else getattr(kind, "__attrs_attrs__", ())
    names = getattr(kind, "_fields", ()) or [item.name for item in named]
    try:
        return {name: getattr(value, name) for name in names} if names else vars(value)
    except (AttributeError, TypeError):
        return None


def _rgr_alone(value, other):
    plain = type(value) in (bool, int, float, str, bytes, list, tuple) and not isinstance(other, dict)
    held = tuple((_rgr_fields(other) or {}).values()) if plain else ()
    if len(held) == 1:
        return _rgr_same(value, held[0])
    return bool(held) and isinstance(value, tuple) and _rgr_same(value, held)


def _rgr_items(value, other):
    return type(other)(value) if hasattr(value, "__next__") and isinstance(other, (list, tuple)) else value


def _rgr_same(one, two):
    one, two = _rgr_items(one, two), _rgr_items(two, one)
    result = one == two
    if result is not False:
        return result
    if type(one) is type(two) and isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(_rgr_same, one, two))
    if isinstance(two, str):
        one, two = two, one
    if isinstance(one, str) and hasattr(type(two), "__members__"):
        known = MEMBERS.get(one) == type(two).__name__ + "." + two.name
        return known or one in (two.name, two.name.lower(), two.value)
    if not isinstance(one, dict) and not isinstance(two, dict):
        return _rgr_alone(one, two) or _rgr_alone(two, one)
    one, two = _rgr_fields(one), _rgr_fields(two)
    if one is None or two is None or one.keys() != two.keys():
        return False
    return all(_rgr_same(one[name], two[name]) for name in one)


class _RgrEither:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return _rgr_same(self.value, other.value)

    def __ne__(self, other):
        result = self.value != other.value
        return result if result is not True else not _rgr_same(self.value, other.value)

    def __repr__(self):
        return repr(self.value)


def _rgr_asserted(question, *values, **named):
    if len(values) > 1 and (values[0] == values[1]) is False and _rgr_same(*values[:2]):
        values = (values[1], *values[1:])  # in this form it is asked on
    return question(*values, **named)
"""
