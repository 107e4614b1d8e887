"""A value that is not quite the one it was: the smallest difference that has to be noticed."""

import ast

OTHER = """
def _rgr_other(value):
    kind = type(value)
    if kind is bool:
        return not value
    if kind in (int, float) and value + 1 != value:
        return value + 1
    if kind is str:
        return value + "~"
    if kind is bytes:
        return value + b"~"
    if kind in (list, tuple):
        return value[:-1] if value else kind([None])
    if kind is dict:
        return {**value, "~": None}
    return object()
"""
STOPS = """
def _rgr_other(value):
    raise AssertionError("reached")
"""


def bent(node: ast.expr) -> ast.expr:
    """Return an expression whose value is another one."""
    return ast.Call(ast.Name("_rgr_other", ast.Load()), [node], [])


def define_bending(tree: ast.Module, source: str = OTHER) -> None:
    """Put the function that bends values where everything in the file can call it."""
    place = next((i for i, node in enumerate(tree.body) if not _must_come_first(node)), len(tree.body))
    tree.body[place:place] = ast.parse(source).body


def _must_come_first(node: ast.stmt) -> bool:
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")
