"""Small mistakes planted into Python code, to see whether a test notices them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

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


HANDED_BACK = "is handed back as it was given"


@dataclass(frozen=True, slots=True)
class Site:
    """A place in a file where one mistake can be planted."""

    line: int
    what: str
    index: int  # of the node in the walk through the syntax tree
    slight: bool = False  # a value is only a little off


def sites(text: str, lines: frozenset[int]) -> Iterator[Site]:
    """Yield where mistakes can be planted into these lines of a file."""
    tree = parsed(text)
    if tree is None:
        return
    skipped = docstrings(tree) | _hints(tree)
    for index, node in enumerate(ast.walk(tree)):
        line = getattr(node, "lineno", 0)
        if line not in lines or node in skipped:
            continue
        if isinstance(node, ast.Return | ast.Yield) and node.value is not None and not _is_none(node.value):
            yield Site(line, "what is returned is a little off", index, slight=True)
        if (
            isinstance(node, ast.Assign | ast.AnnAssign)
            and node.value is not None
            and not _is_none(node.value)
        ):
            yield Site(line, "what is assigned is a little off", index, slight=True)
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and (node.value.args or node.value.keywords)
        ):
            yield Site(line, "it is called without its arguments", index, slight=True)
        what = _mistake(node)
        if what is not None:
            yield Site(line, what, index)
        if isinstance(node, ast.Return) and (given := _given(tree, node)):
            yield Site(line, f"{given} {HANDED_BACK}", index)


def mutated(text: str, site: Site) -> str:
    """Return the file with the mistake in it."""
    tree = ast.parse(text)
    target = next(node for index, node in enumerate(ast.walk(tree)) if index == site.index)
    valued = isinstance(target, ast.Return | ast.Yield | ast.Assign | ast.AnnAssign)
    if site.slight and valued and target.value is not None:
        target.value = altered(target.value)
        define_altered(tree)
    elif site.what.endswith(HANDED_BACK) and isinstance(target, ast.Return):
        target.value = ast.Name(_given(tree, target) or "", ast.Load())
    elif site.slight and isinstance(target, ast.Expr) and isinstance(target.value, ast.Call):
        target.value.args, target.value.keywords = [], []
    else:
        _plant(target)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


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


def _mistake(node: ast.AST) -> str | None:
    """Return the mistake that can be made at a node."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARE:
            return f"{_op(op)} became {COMPARE[type(op)].__name__}"
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            return f"{_op(op)} became {ARITHMETIC[type(op)].__name__}"
        case ast.BoolOp(op=op):
            return f"{_op(op)} became {'Or' if isinstance(op, ast.And) else 'And'}"
        case ast.If() | ast.While() | ast.IfExp():
            return "the condition was turned round"
        case ast.Return(value=value) if value is not None and not _is_none(value):
            return "None is returned instead"
        case ast.Assign(value=value) | ast.AnnAssign(value=value) if value is not None and not _is_none(
            value
        ):
            return "None is assigned instead"
        case ast.Expr(value=ast.Call()) | ast.Raise():
            return f"{ast.unparse(node).splitlines()[0][:40]!r} is left out"
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return f"{value!r:.40} became {_other(value)!r:.40}"
        case _:
            return None


def _plant(node: ast.AST) -> None:
    match node:
        case ast.Compare(ops=[op]):
            node.ops = [COMPARE[type(op)]()]
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            node.op = ARITHMETIC[type(op)]()
        case ast.BoolOp(op=op):
            node.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.If() | ast.While() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Return() | ast.Assign() | ast.AnnAssign() | ast.Expr():
            node.value = ast.Constant(None)
        case ast.Raise():
            node.exc, node.cause = None, None  # a bare `raise` outside a handler is an error of another kind
        case ast.Constant():
            node.value = _other(node.value)  # type: ignore[arg-type]
        case _:
            raise AssertionError(node)


def _other(value: bool | float | str) -> bool | float | str:  # noqa: FBT001
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return "~" if value != "~" else ""
    return value + 1 if value + 1 != value else 0


def _op(op: ast.AST) -> str:
    return type(op).__name__


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


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
