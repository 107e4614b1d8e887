"""Mutants of Python code: the same file with one small thing in it that is wrong."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from redgreenrefactor.languages.python import Function, docstrings, parsed

COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


@dataclass(frozen=True, slots=True)
class Mutation:
    """One small thing that can be made wrong in a file."""

    line: int
    what: str
    index: int  # of the node in the walk through the syntax tree
    number: int  # of the change among those that can be made to that node
    slight: bool = False  # a value is only a little off


@dataclass(frozen=True, slots=True)
class _Change:
    """What a node is given to make it wrong."""

    what: str
    fields: dict[str, Any]
    slight: bool = False


def mutations(text: str, lines: frozenset[int]) -> Iterator[Mutation]:
    """Yield what can be made wrong in these lines of a file."""
    tree = parsed(text)
    if tree is None:
        return
    skipped = docstrings(tree) | _hints(tree)
    for index, node in enumerate(ast.walk(tree)):
        line = getattr(node, "lineno", 0)
        if line in lines and node not in skipped:
            for number, change in enumerate(_changes(tree, node)):
                yield Mutation(line, change.what, index, number, change.slight)


def mutated(text: str, mutation: Mutation) -> str:
    """Return the file with that thing wrong."""
    tree = ast.parse(text)
    node = next(node for index, node in enumerate(ast.walk(tree)) if index == mutation.index)
    change = list(_changes(tree, node))[mutation.number]
    vars(node).update(change.fields)
    if change.slight:
        define_altered(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _changes(tree: ast.Module, node: ast.AST) -> Iterator[_Change]:
    """Yield the ways to make a node wrong, slight ones first."""
    value: Any = getattr(node, "value", None)
    valued = isinstance(value, ast.expr) and not (isinstance(value, ast.Constant) and value.value is None)
    if valued and isinstance(node, ast.Return | ast.Yield):
        yield _Change("what is returned is a little off", {"value": altered(value)}, slight=True)
    if valued and isinstance(node, ast.Assign | ast.AnnAssign):
        yield _Change("what is assigned is a little off", {"value": altered(value)}, slight=True)
    if isinstance(node, ast.Expr) and isinstance(value, ast.Call) and (value.args or value.keywords):
        alone = ast.Call(value.func, [], [])
        yield _Change("it is called without its arguments", {"value": alone}, slight=True)
    if change := _gross(node, valued=valued):
        yield change
    if isinstance(node, ast.Return) and (given := _given(tree, node)):
        yield _Change(f"{given} is handed back as it was given", {"value": ast.Name(given, ast.Load())})


def _gross(node: ast.AST, *, valued: bool) -> _Change | None:
    match node:
        case ast.Compare(ops=[op]) if other := COMPARE.get(type(op)):
            return _Change(_became(op, other), {"ops": [other()]})
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if other := ARITHMETIC.get(type(op)):
            return _Change(_became(op, other), {"op": other()})
        case ast.BoolOp(op=op):
            other = ast.Or if isinstance(op, ast.And) else ast.And
            return _Change(_became(op, other), {"op": other()})
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return _Change("the condition was turned round", {"test": ast.UnaryOp(ast.Not(), test)})
        case ast.Return() if valued:
            return _Change("None is returned instead", {"value": ast.Constant(None)})
        case ast.Assign() | ast.AnnAssign() if valued:
            return _Change("None is assigned instead", {"value": ast.Constant(None)})
        case ast.Expr(value=ast.Call()):
            return _Change(_left_out(node), {"value": ast.Constant(None)})
        case ast.Raise():  # a bare `raise` outside a handler is an error of another kind
            return _Change(_left_out(node), {"exc": None, "cause": None})
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return _Change(f"{value!r:.40} became {_other(value)!r:.40}", {"value": _other(value)})
        case _:
            return None


def _became(op: ast.AST, other: type[ast.AST]) -> str:
    return f"{type(op).__name__} became {other.__name__}"


def _left_out(node: ast.AST) -> str:
    return f"{ast.unparse(node).splitlines()[0][:40]!r} is left out"


def _given(tree: ast.Module, node: ast.Return) -> str | None:
    """Return the first argument of the function that returns here, unless it is just that which is returned."""
    functions = [item for item in ast.walk(tree) if isinstance(item, Function) and node in ast.walk(item)]
    names = [argument.arg for argument in functions[-1].args.args] if functions else []
    own = [name for name in names if name not in ("self", "cls")]
    simple = isinstance(node.value, ast.Name | ast.Constant) or node.value is None
    return own[0] if own and not simple else None


def _hints(tree: ast.Module) -> set[ast.AST]:
    """Return everything that stands in annotations: it is not behaviour."""
    roots = [
        hint
        for node in ast.walk(tree)
        for hint in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if isinstance(hint, ast.AST)
    ]
    return {item for root in roots for item in ast.walk(root)}


def _other(value: bool | float | str) -> bool | float | str:  # noqa: FBT001
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return "~" if value != "~" else ""
    return value + 1 if value + 1 != value else 0


# --- a value that is not quite the one it was: the smallest difference that has to be noticed

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


def altered(node: ast.expr) -> ast.expr:
    """Return an expression whose value is another one."""
    return ast.Call(ast.Name("_rgr_other", ast.Load()), [node], [])


def define_altered(tree: ast.Module, source: str = OTHER) -> None:
    """Put the function that bends values where everything in the file can call it."""
    place = next((i for i, node in enumerate(tree.body) if not _must_come_first(node)), len(tree.body))
    tree.body[place:place] = ast.parse(source).body


def _must_come_first(node: ast.stmt) -> bool:
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")
