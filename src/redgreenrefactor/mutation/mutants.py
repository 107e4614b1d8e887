"""Mutants of Python code: the same file with one small thing in it that is wrong."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from redgreenrefactor.languages.python import Function, assigned, docstrings, parsed, span
from redgreenrefactor.model.values import frozen

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
# Without these code does the same: they make it faster, or are for whoever reads it.
QUIET = frozenset(
    {
        "cache",
        "lru_cache",
        "override",
        "final",
        "overload",
        "abstractmethod",
        "Enum",
        "Flag",
        "IntEnum",
        "IntFlag",
        "StrEnum",
        "Generic",
        "Protocol",
        "TypedDict",
    }
)
TYPES = frozenset({"TypeVar", "TypeVarTuple", "ParamSpec", "NewType"})  # for type checkers
MAKERS = frozenset({"dataclass", "define", "frozen"})  # decorators that write methods
LONGEST_SHOWN = 40  # characters of code in words about it
OFF = "has a value that is off by one: a number, a letter or an item"  # as `_rgr_other` makes it
MADE = {"eq": "it is equal only to itself", "repr": "it shows itself as any object does"}


@frozen
class Mutation:
    """One small thing that can be made wrong in a file."""

    line: int
    what: str
    index: int  # of the node in the walk through the syntax tree
    number: int  # of the change among those that can be made to that node
    slight: bool = False  # a value is only a little off


@frozen
class _Change:
    """What a node is given to make it wrong."""

    what: str
    fields: dict[str, Any]
    slight: bool = False
    line: int = 0  # where that is seen, if not where the node begins


def mutations(text: str, lines: frozenset[int]) -> Iterator[Mutation]:
    """Yield what can be made wrong in these lines of a file."""
    tree = parsed(text)
    if tree is None:
        return
    skipped = docstrings(tree) | _hints(tree) | _unheard(tree) | _in_a_row(tree)
    for index, node in enumerate(ast.walk(tree)):
        if node in skipped or lines.isdisjoint(range(_first(node), getattr(node, "end_lineno", 0) + 1)):
            continue
        for number, change in enumerate(_changes(tree, node)):
            line = change.line or getattr(node, "lineno", 0)
            if line in lines:
                yield Mutation(line, change.what, index, number, change.slight)


def import_time_lines(text: str | None, executed: frozenset[int], used: frozenset[str]) -> frozenset[int]:
    """Return the lines of tables, fields, decorators and defaults that executed lines and used names depend on."""
    tree = parsed(text)
    found: set[int] = set()
    for node in ast.walk(tree) if tree else ():
        reached = executed.intersection(range(_first(node), getattr(node, "end_lineno", 0) + 1))
        if isinstance(node, Function) and reached:
            found.update(range(_first(node), node.body[0].lineno))
        elif isinstance(node, ast.ClassDef) and (reached or node.name in used):
            values = [item for item in node.body if isinstance(item, ast.Assign | ast.AnnAssign)]
            found.update(range(_first(node), node.body[0].lineno), *map(span, values))
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign | ast.AnnAssign) and used.intersection(assigned(node)):
            found.update(span(node))
    return frozenset(found)


def _first(node: ast.AST) -> int:
    return min(
        (item.lineno for item in getattr(node, "decorator_list", ())), default=getattr(node, "lineno", 0)
    )


def mutated(text: str, mutation: Mutation) -> str:
    """Return the file with that thing wrong."""
    tree = ast.parse(text)
    node = next(node for index, node in enumerate(ast.walk(tree)) if index == mutation.index)
    change = list(_changes(tree, node))[mutation.number]
    vars(node).update(change.fields)
    return source_of_tree(tree, OTHER if change.slight else "")


def _changes(tree: ast.Module, node: ast.AST) -> Iterator[_Change]:
    """Yield the ways to make a node wrong, slight ones first."""
    value: Any = getattr(node, "value", None)
    valued = isinstance(value, ast.expr) and not (isinstance(value, ast.Constant) and value.value is None)
    if valued and isinstance(node, ast.Return | ast.Yield):
        yield _Change(f"{_shown(node)} {OFF}", {"value": altered(value)}, slight=True)
    if valued and isinstance(node, ast.Assign | ast.AnnAssign):
        yield _Change(f"{_shown(node)} {OFF}", {"value": altered(value)}, slight=True)
    called = bare_call(node)
    if called and (called.args or called.keywords):
        alone = ast.Call(called.func, [], [])
        change = {"value": alone if called is value else ast.Await(alone)}
        yield _Change(f"{_shown(node)} is called without its arguments", change, slight=True)
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
        reason = ast.Call(node.exc.func, [ast.Constant("~"), *node.exc.args[1:]], node.exc.keywords)
        yield _Change(f"{_shown(node)} gives '~' as its reason", {"exc": reason}, slight=True)
    if change := _gross(node, valued=valued):
        yield change
    if isinstance(node, ast.FormattedValue):
        other = {"value": ast.Constant("~"), "conversion": -1, "format_spec": None}
        yield _Change(f"{{{ast.unparse(node.value):.40}}} became '~'", other, slight=True)
    if isinstance(node, Function | ast.ClassDef):
        yield from _generated(node)
    if isinstance(node, ast.Return) and (given := _given(tree, node)):
        yield _Change(f"{given} is handed back as it was given", {"value": ast.Name(given, ast.Load())})


def bare_call(node: ast.AST) -> ast.Call | None:
    """Return the call that is all of a statement, waited for or not."""
    value = node.value if isinstance(node, ast.Expr) else None
    value = value.value if isinstance(value, ast.Await) else value
    return value if isinstance(value, ast.Call) else None


def _gross(node: ast.AST, *, valued: bool) -> _Change | None:
    match node:
        case ast.Compare(ops=[op]) if other := COMPARE.get(type(op)):
            return _became(node, {"ops": [other()]})
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if other := ARITHMETIC.get(type(op)):
            return _became(node, {"op": other()})
        case ast.BoolOp(op=op):
            return _became(node, {"op": ast.Or() if isinstance(op, ast.And) else ast.And()})
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            what = f"the condition {_shown(test)} was turned round"
            return _Change(what, {"test": ast.UnaryOp(ast.Not(), test)})
        case ast.Return() | ast.Assign() | ast.AnnAssign() if valued:
            return _became(node, {"value": ast.Constant(None)})
        case ast.Expr() if bare_call(node):
            return _Change(f"{_shown(node)} is left out", {"value": ast.Constant(None)})
        case ast.Raise(
            exc=exc
        ):  # a bare `raise` outside a handler is an error of another kind, as any is inside one
            other = None if exc else ast.Name("RuntimeError", ast.Load())
            what = "a RuntimeError is raised instead" if other else f"{_shown(node)} is left out"
            return _Change(what, {"exc": other, "cause": None})
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return _Change(f"{value!r:.40} became {_other(value)!r:.40}", {"value": _other(value)})
        case _:
            return None


def _generated(node: Function | ast.ClassDef) -> Iterator[_Change]:
    """Yield what can be left out of what makes code: decorators, bases, fields."""
    for item in node.decorator_list:
        if _named(item) not in QUIET:
            others = [other for other in node.decorator_list if other is not item]
            what = f"@{ast.unparse(item)[:40]} is left out"
            yield _Change(what, {"decorator_list": others}, line=item.lineno)
        for part, lost in MADE.items() if _named(item) in MAKERS else ():
            function = item.func if isinstance(item, ast.Call) else item
            others = [other for other in node.decorator_list if other is not item]
            makes = ast.Call(function, [], [ast.keyword(part, ast.Constant(value=False))])
            yield _Change(lost, {"decorator_list": [*others, makes]}, line=item.lineno)
    if isinstance(node, ast.ClassDef):
        yield from _of_class(node)


def _of_class(node: ast.ClassDef) -> Iterator[_Change]:
    made_by = [base for base in node.bases if _named(base) not in QUIET]
    for base in made_by:
        bases = [other for other in node.bases if other is not base]
        yield _Change(f"the base {ast.unparse(base)[:40]} is left out", {"bases": bases})
    for field in node.body if node.decorator_list or made_by else ():  # else it is a hint, if it has no value
        if isinstance(field, ast.AnnAssign):
            body = [other for other in node.body if other is not field] or [ast.Pass()]
            what = f"the field {ast.unparse(field.target)} is dropped"
            yield _Change(what, {"body": body}, line=field.lineno)


def _named(node: ast.expr) -> str:
    """Return the last word of a decorator's or a base's name."""
    return re.split(r"[\[(]", ast.unparse(node))[0].rpartition(".")[2]


def _became(node: ast.AST, fields: dict[str, Any]) -> _Change:
    return _Change(f"{_shown(node)} became {_shown(type(node)(**{**vars(node), **fields}))}", fields)


def _shown(node: ast.AST) -> str:
    line = ast.unparse(node).splitlines()[0]
    return repr(line if len(line) <= LONGEST_SHOWN else f"{line[: LONGEST_SHOWN - 1]}…")


def _given(tree: ast.Module, node: ast.Return) -> str | None:
    """Return the first argument of the function that returns here, unless it is just that which is returned."""
    functions = [item for item in ast.walk(tree) if isinstance(item, Function) and node in ast.walk(item)]
    names = [argument.arg for argument in functions[-1].args.args] if functions else []
    own = [name for name in names if name not in ("self", "cls")]
    simple = isinstance(node.value, ast.Name | ast.Constant) or node.value is None
    return own[0] if own and not simple else None


def _unheard(tree: ast.Module) -> set[ast.AST]:
    """Return what runs only as a program, or is for tools alone."""
    roots = [
        node
        for node in ast.walk(tree)
        if (isinstance(node, ast.If) and "'__name__'" in ast.dump(node.test))
        or (isinstance(node, ast.Assign) and {"__all__", "__slots__"} & set(assigned(node)))
        or (isinstance(node, ast.Assign) and _named(node.value) in TYPES)
    ]
    return {item for root in roots for item in ast.walk(root)}


def _in_a_row(tree: ast.Module) -> set[ast.AST]:
    """Return the numbers of enumerations of which one more is another member's: two would become one."""
    found: set[ast.AST] = set()
    for node in (item for item in ast.walk(tree) if isinstance(item, ast.ClassDef)):
        counted = any(_named(base).endswith(("Enum", "Flag")) for base in node.bases)
        made = [item for item in node.body if isinstance(item, ast.Assign)] if counted else []
        numbers = {item.value.value: item for item in made if isinstance(item.value, ast.Constant)}
        near = [item for value, item in numbers.items() if isinstance(value, int) and value + 1 in numbers]
        found.update(part for item in near for part in (item, item.value))
    return found


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
def _rgr_other(value, depth=3):
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
    if kind in (set, frozenset):
        return value | {"~"}
    if len(getattr(kind, "__members__", ())) > 1:
        members = list(kind)
        return members[members.index(value) - 1]
    if depth and isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*[_rgr_other(item, depth - 1) for item in value])
    return _rgr_other_object(value, depth)


def _rgr_other_object(value, depth):
    import copy

    try:
        twin = copy.copy(value)
        fields = vars(twin) if depth and twin is not value else {}
    except Exception:
        fields = {}
    for name, item in list(fields.items()):
        fields[name] = _rgr_other(item, depth - 1)
    return twin if fields else object()
"""


def altered(node: ast.expr) -> ast.expr:
    """Return an expression whose value is another one."""
    return ast.Call(ast.Name("_rgr_other", ast.Load()), [node], [])


def source_of_tree(tree: ast.Module, source: str = "") -> str:
    """Return the text of a file, with a piece of code put where everything in the file can call it."""
    place = next((i for i, node in enumerate(tree.body) if not must_come_first(node)), len(tree.body))
    ast.fix_missing_locations(tree)
    first, rest = (ast.unparse(ast.Module(body, [])) for body in (tree.body[:place], tree.body[place:]))
    return "\n".join(filter(None, (first, source, rest))) + "\n"


def must_come_first(node: ast.stmt) -> bool:
    """Tell whether nothing may be put before a statement of a file."""
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")
