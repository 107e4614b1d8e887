"""How many ways lead through a piece of Python: McCabe's count, over whole files."""

import ast
from collections.abc import Iterable

from redgreenrefactor.languages import python

_COUNTED = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.IfExp,
    ast.comprehension,
    ast.match_case,
)


def complexity(texts: Iterable[str | None]) -> int:
    """Return the sum over all functions of these files; what does not parse counts nothing."""
    return sum(_of(tree) for tree in map(python.parsed, texts) if tree is not None)


def _of(tree: ast.Module) -> int:
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, _COUNTED):
            found += 1
        elif isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
    return found
