"""What RED may add to the planned file: announcements without behaviour."""

import ast
from collections.abc import Sequence

from redgreenrefactor.languages.python import Function, parsed, shape

EMPTIES = ("list", "dict", "set", "tuple", "frozenset", "str", "int", "float", "bytes")
DECLARING = ("auto", "field", "TypeVar", "ParamSpec", "NewType", "namedtuple", "object", "Enum")


def beyond_stubs(before: str | None, after: str | None) -> tuple[int, str] | None:
    """Return line and description of the first thing in a change that is more than a new stub."""
    old, new = parsed(before or ""), parsed(after)
    if new is None or old is None:
        return (1, "it does not parse")
    return _beyond(old.body, new.body)


def _beyond(old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> tuple[int, str] | None:
    waiting = list(old)
    bound = {name for node in old for name in _binds(node)}
    for node in new:
        twin = next((item for item in waiting if shape(item) == shape(node)), None)
        grown = twin or next((item for item in waiting if _has_grown(item, node)), None)
        if grown is not None:
            waiting.remove(grown)
            inner = None if twin else _beyond(_members(grown), _members(node))
            if inner:
                return inner
        elif bound.intersection(_binds(node)):
            return (node.lineno, f"{_first_line(node)!r} takes the place of what is there")
        elif not is_stub(node):
            return (node.lineno, f"{_first_line(node)!r} is more than a stub")
    gone = [item for item in waiting if not isinstance(item, ast.Import | ast.ImportFrom)]
    if gone or not _imports(old) <= _imports(new):
        node = (gone or waiting)[0]
        return (node.lineno, f"{_first_line(node)!r} was changed or taken away")
    return None


def _first_line(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0][:80]


def _binds(node: ast.stmt) -> set[str]:
    """Return the names a statement defines; imports may come again."""
    if isinstance(node, Function | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {item.id for target in node.targets for item in ast.walk(target) if isinstance(item, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    return set()


def _imports(body: Sequence[ast.stmt]) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            owner = f"{'.' * node.level}{node.module}" if isinstance(node, ast.ImportFrom) else ""
            found |= {(owner, f"{alias.name} as {alias.asname}") for alias in node.names}
    return found


def _has_grown(one: ast.stmt, two: ast.stmt) -> bool:
    """Tell whether a class got members, or `__all__` got names."""
    if isinstance(one, ast.ClassDef) and isinstance(two, ast.ClassDef):
        heads = [[shape(item) for item in (*node.bases, *node.decorator_list)] for node in (one, two)]
        return one.name == two.name and heads[0] == heads[1]
    exports = [_exports(node) for node in (one, two)]
    return exports[0] is not None and exports[1] is not None and exports[0] <= exports[1]


def _exports(node: ast.stmt) -> set[str] | None:
    if not isinstance(node, ast.Assign) or _binds(node) != {"__all__"} or not is_literal(node.value):
        return None
    return {shape(item) for item in ast.walk(node.value) if isinstance(item, ast.Constant)}


def _members(node: ast.stmt) -> list[ast.stmt]:
    """Return a class's body; a lone `pass` or `...` may give way to a member."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    return [item for item in body if not _is_filler(item)]


def _is_filler(node: ast.stmt) -> bool:
    ellipsis = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...
    return isinstance(node, ast.Pass) or ellipsis


def is_stub(node: ast.stmt) -> bool:
    """Tell whether a statement only announces something: no behaviour, no computed value."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _is_idle(node, frozenset())
        case ast.ClassDef():
            return all(is_stub(item) for item in node.body) and not _hides_code(
                *node.decorator_list, *node.bases
            )
        case ast.Assign(value=value) | ast.AnnAssign(value=value):
            return value is None or is_literal(value) or _is_plain(value)
        case ast.If(orelse=[]):
            return "TYPE_CHECKING" in ast.dump(node.test) and all(is_stub(item) for item in node.body)
        case _:
            return False


def _is_idle(node: Function, outer: frozenset[str]) -> bool:
    """Tell whether a function hands on, at most, what it or those around it were given: a decorator without effect."""
    own = {item.arg for item in ast.walk(node.args) if isinstance(item, ast.arg)}
    inner = {item.name for item in node.body if isinstance(item, Function)}
    brought = (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults)
    return not _hides_code(*brought) and all(
        _is_idle(item, outer | own)
        if isinstance(item, Function)
        else _does_nothing(item, node.name, outer, frozenset(outer | own | inner))
        for item in node.body
    )


def _hides_code(*nodes: ast.expr | None) -> bool:
    """Tell whether what stands around a stub computes something."""
    return any(
        isinstance(item, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
        for node in nodes
        if node is not None
        for item in ast.walk(node)
    )


def _is_handed_on(node: ast.expr, outer: frozenset[str], names: frozenset[str]) -> bool:
    """Tell whether a value is what was given, or comes from a call of what the function around was given, untouched."""
    node = node.value if isinstance(node, ast.Await) else node
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Name) and node.id in names
    given = [item.value if isinstance(item, ast.Starred) else item for item in node.args]
    given += [word.value for word in node.keywords]
    return _is_handed_on(node.func, outer, outer) and all(
        isinstance(item, ast.Name) and item.id in names for item in given
    )


def _does_nothing(node: ast.stmt, function: str, outer: frozenset[str], names: frozenset[str]) -> bool:
    constructor = function in ("__init__", "__post_init__")
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Return(value=value) | ast.Expr(value=ast.Yield(value=value)):
            return value is None or is_literal(value) or _is_handed_on(value, outer, names)
        case ast.Raise(exc=raised):
            return raised is not None and "NotImplemented" in ast.dump(raised)
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=value):
            return constructor and (isinstance(value, ast.Name) or is_literal(value))
        case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self")), value=value):
            return constructor and (value is None or isinstance(value, ast.Name) or is_literal(value))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))))):
            return constructor
        case _:
            return False


def _is_plain(node: ast.expr) -> bool:
    """Tell whether a value is another name for something, or a declaration the language has a call for."""
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return True
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in DECLARING


def is_literal(node: ast.expr) -> bool:
    """Tell whether an expression is a constant, or a container of constants."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return (
            isinstance(node, ast.Call)
            and not node.args
            and not node.keywords
            and ast.unparse(node.func) in EMPTIES
        )
    return True
