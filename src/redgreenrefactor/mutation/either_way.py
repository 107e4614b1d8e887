"""Test code that reads what code of another form gives: keys as attributes, dictionaries as objects, texts as members."""

import ast
import re

from redgreenrefactor.languages.python import parsed
from redgreenrefactor.mutation.mutants import source_of_tree

_EQUALITY = re.compile(r"assert\w*Equals?")  # unittest's, for all kinds of values


def reading_either_way(text: str | None) -> str | None:
    """Return a file of tests that reads what it is given as it did, or else in the other way."""
    tree = parsed(text)
    if tree is None:
        return text
    _EitherWay().visit(tree)
    return source_of_tree(tree, READING)


class _EitherWay(ast.NodeTransformer):
    """Lets keys, attributes, calls without arguments and what is compared be read by a function."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        plain = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        return _read(node, node.value, node.slice) if plain else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return _read(node, node.value, ast.Constant(node.attr))

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
        return _call("_rgr_called", node.func) if alone else node


def _value(node: ast.expr) -> ast.expr:
    """Return what is compared: an attribute may have become a method."""
    return _call("_rgr_value", node) if isinstance(node, ast.Attribute) else node


def _read(node: ast.Subscript | ast.Attribute, value: ast.expr, name: ast.expr) -> ast.expr:
    keyed = ast.Constant(isinstance(node, ast.Subscript))
    return _call("_rgr_read", value, name, keyed) if isinstance(node.ctx, ast.Load) else node


def _call(name: str, *arguments: ast.expr) -> ast.expr:
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
        return one in (two.name, two.name.lower(), two.value)
    if not isinstance(one, dict) and not isinstance(two, dict):
        return False
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
