"""Tests as they were, for code of another form: a key may be an attribute now, a property a method, or the reverse."""

import ast

from redgreenrefactor.languages.python import parsed
from redgreenrefactor.mutation.mutants import define_altered


def reading_either_way(text: str | None) -> str | None:
    """Return a file of tests that reads what it is given as it did, or else in the other way."""
    tree = parsed(text)
    if tree is None:
        return text
    _EitherWay().visit(tree)
    define_altered(tree, READING)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _EitherWay(ast.NodeTransformer):
    """Lets keys, attributes and calls without arguments be read by a function."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        plain = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        return _read(node, node.value, node.slice) if plain else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return _read(node, node.value, ast.Constant(node.attr))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        operands = [_value(item) for item in (node.left, *node.comparators)]
        node.left, node.comparators = operands[0], operands[1:]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        alone = bool(name) and not node.args and not node.keywords
        node.args = [_value(item) for item in node.args] if name.startswith("assert") else node.args
        self.generic_visit(node)
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
"""
