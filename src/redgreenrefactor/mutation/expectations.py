"""A test with wrong expectations: whoever is honest fails it now."""

import ast
from enum import Enum

from redgreenrefactor.languages import dataflow, python
from redgreenrefactor.mutation.mutants import OTHER, STOPS, altered, define_altered


class Equalities(Enum):
    """Which equalities of a test count."""

    ALL = "all"
    RESULTS = "those that hold what comes from the code against something that does not"
    ARGUMENTS = "those that hold what the code was given against something that it was not"


EQUALITIES = frozenset(
    f"assert{kind}Equal" for kind in ("", "List", "Dict", "Tuple", "Set", "MultiLine", "Sequence")
)


def with_wrong_expectations(
    text: str | None,
    function: str,
    impl_file: str,
    *,
    stops: bool = False,
    only: int | None = None,
    equalities: Equalities = Equalities.ALL,
) -> str | None:
    """Return the file with a wrong value expected by every equality of a test, or only the n-th; None where there is none.

    With `stops` reaching such an equality is an error in itself. `equalities` tells which count.
    """
    tree = python.parsed(text)
    test = next((item.node for item in python.tests_in(text) if item.name == function), None)
    if tree is None or test is None:
        return None
    twin = next(
        node for node in ast.walk(tree) if isinstance(node, python.Function) and node.lineno == test.lineno
    )
    seeds = dataflow.imported_from(tree, impl_file)
    match equalities:
        case Equalities.ALL:
            wrong = _Expectations(dataflow.derived(twin, seeds), only)
        case Equalities.RESULTS:
            wrong = _Expectations(dataflow.flowing(twin, seeds | dataflow.arguments(twin)), only, apart=True)
        case _:
            given = dataflow.handed_over(twin, dataflow.flowing(twin, seeds))
            wrong = _Expectations(given, only, apart=True)
    wrong.visit(twin)
    if wrong.count <= (only or 0):
        return None
    define_altered(tree, STOPS if stops else OTHER)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _Expectations(ast.NodeTransformer):
    """Wraps the expected side of each asserted equality."""

    def __init__(self, tested: frozenset[str], only: int | None, *, apart: bool = False) -> None:
        self.tested = tested
        self.only = only
        self.apart = apart
        self.count = 0

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        """Make `assert a == b`, also inside `and`, expect something else."""
        parts = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
        for part in parts:
            if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Eq):
                part.left, right = self._wrong(part.left, part.comparators[0])
                part.comparators = [right]
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Make `self.assertEqual(a, b)` expect something else."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in EQUALITIES and len(node.args) > 1:
            node.args[:2] = self._wrong(*node.args[:2])
        return node

    def _wrong(self, left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr]:
        """Return both sides of an equality, the one that is expected being another."""
        from_left, from_right = dataflow.uses(left, self.tested), dataflow.uses(right, self.tested)
        if self.apart and from_left == from_right:
            return left, right
        return (self._other(left), right) if from_right and not from_left else (left, self._other(right))

    def _other(self, node: ast.expr) -> ast.expr:
        self.count += 1
        return altered(node) if self.only in (None, self.count - 1) else node
