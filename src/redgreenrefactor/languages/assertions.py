"""What a test says: whether it asserts anything, and what."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from redgreenrefactor.languages.python import Function, docstrings, helpers, imports, parsed, tests_in

TOOLS = ("pytest", "unittest", "hypothesis")
PATCHING = ("setattr", "object")
VALUES: dict[str, Callable[..., object]] = {
    kind.__name__: kind for kind in (date, datetime, time, timedelta, Decimal, Fraction)
}
DOTTED = re.compile(r"\w+(\.\w+)+")  # as patches name what they replace
SKIPPING = re.compile(
    r"\b(pytest|mark|unittest|self)\.(skip|xfail|importorskip)|^(skipIf|skipUnless|importorskip)$"
)
ASSERTING = (
    "assert",
    "expect",
    "verify",
    "check",
    "should",
    "ensure",
    "raises",
    "warns",
    "fail",
    "must",
    "match",
)


def called(node: ast.AST) -> Iterator[str]:
    """Yield the names of what a piece of code calls."""
    for item in ast.walk(node):
        if isinstance(item, ast.Call):
            yield item.func.attr if isinstance(item.func, ast.Attribute) else getattr(item.func, "id", "")


def mentioned(node: ast.AST) -> set[str]:
    """Return every name and attribute in a piece of code: whoever is handed on is called by somebody."""
    return {getattr(item, "attr", getattr(item, "id", "")) for item in ast.walk(node)}


def asserts(node: ast.AST, tree: ast.Module | None = None) -> bool:
    """Tell whether a test can fail on purpose: by an assertion, a call that sounds like one, or a helper that has one."""
    if any(isinstance(item, ast.Assert) for item in ast.walk(node)):
        return True
    if any(
        isinstance(item, ast.Raise) and item.exc and "AssertionError" in ast.dump(item.exc)
        for item in ast.walk(node)
    ):
        return True
    names = set(called(node))
    if any(word in name.lower() for name in names for word in ASSERTING):
        return True
    return tree is not None and _through_helpers(node, names, tree)


def _through_helpers(node: ast.AST, names: set[str], tree: ast.Module) -> bool:
    """Tell whether something a test calls asserts for it; what comes from another test file gets the benefit of doubt."""
    arguments = {arg.arg for arg in node.args.args} if isinstance(node, Function) else set[str]()
    if names & arguments:
        return True
    spoken = mentioned(node)
    for item in ast.walk(tree):
        if isinstance(item, Function) and item is not node and item.name in spoken and asserts(item):
            return True
        if isinstance(item, ast.ImportFrom) and names & {alias.asname or alias.name for alias in item.names}:
            parts = (item.module or "").split(".")
            if item.level or any("test" in part or "helper" in part or part == "conftest" for part in parts):
                return True
    return False


def trivially_true(test: ast.AST) -> ast.stmt | None:
    """Return the last assertion of a test whose assertions all hold whatever the code does."""
    made = list(claims(test))
    own = [
        item
        for item in made
        if not isinstance(item, Function | ast.With | ast.AsyncWith | ast.Try | ast.If | ast.For)
    ]
    if own and len(own) == len(made) and all(_is_trivial(item) for item in own):
        return own[-1]
    return None


def claims_made(test: ast.AST, tree: ast.AST) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Return the statements that assert something for a test, and those that hand something on to functions which do.

    What calls a function of the same file asserts nothing: what that one says counts.
    """
    own = {item.name: item for item in ast.walk(tree) if isinstance(item, Function) and item is not test}
    helping = {name: said for name in mentioned(test) & own.keys() if (said := list(claims(own[name])))}
    direct = [item for item in claims(test) if own.keys().isdisjoint(called(item))]
    handing = [
        item for item in ast.walk(test) if isinstance(item, ast.Expr) and mentioned(item) & helping.keys()
    ]
    return [*direct, *(item for said in helping.values() for item in said)], [*handing]


def claims(test: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a test that assert something."""
    yield from (item for item in ast.walk(test) if isinstance(item, ast.stmt) and _claims(item))


def _claims(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return True
    return isinstance(node, ast.Expr | ast.With | ast.AsyncWith) and any(
        word in name.lower() for name in called(node) for word in ASSERTING
    )


def _is_trivial(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return _holds_anyway(node.test)
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
    ):
        arguments = node.value.args
        if node.value.func.attr == "assertTrue" and arguments:
            return _holds_anyway(arguments[0])
        if node.value.func.attr == "assertEqual" and len(arguments) > 1:
            return _the_same(arguments[0], arguments[1])
    return False


def _holds_anyway(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=[_, *_]) | ast.GeneratorExp() | ast.Lambda():
            return True  # an object that is there, whatever is in it
        case ast.JoinedStr(values=values):
            return any(isinstance(item, ast.Constant) or _decides(item) for item in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_holds_anyway(value) for value in values) or _contradict(values)
        case ast.BoolOp(values=values):
            return all(_holds_anyway(value) for value in values)
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return _the_same(left, right)
        case _:
            return False


def _decides(node: ast.expr) -> bool:
    """Tell whether what is put into a text is yes or no, neither of which is empty."""
    return isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Compare | ast.BoolOp)


def _contradict(values: list[ast.expr]) -> bool:
    """Tell whether of two comparisons one holds where the other does not."""
    heads = [
        (ast.dump(item.left), ast.dump(item.comparators[0]), type(item.ops[0]))
        for item in values
        if isinstance(item, ast.Compare) and len(item.ops) == 1
    ]
    return any((left, right, ast.NotEq) in heads for left, right, kind in heads if kind is ast.Eq)


def _the_same(left: ast.expr, right: ast.expr) -> bool:
    """Tell whether two expressions are one; two objects that are made alike, or runs with one seed, may still differ."""
    if ast.dump(left) != ast.dump(right):
        return False
    calls = [item for item in ast.walk(left) if isinstance(item, ast.Call)]
    return not any(call.keywords or ast.unparse(call.func).rpartition(".")[2][:1].isupper() for call in calls)


def conjuncts(node: ast.expr) -> list[ast.expr]:
    """Return all that has to hold for something to hold: what is joined by `and`, and the links of a chain."""
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return [part for value in values for part in conjuncts(value)]
        case ast.Compare(left=left, ops=ops, comparators=others):
            pairs = zip([left, *others], ops, others, strict=False)
            return [ast.Compare(one, [op], [two]) for one, op, two in pairs]
        case _:
            return [node]


def ways_out(tree: ast.AST | None) -> set[str]:
    """Return the conditions on which tests end early or are left out: marks, calls that skip, returns within them."""
    tree = tree or ast.Module([], [])
    said = [
        item
        for item in ast.walk(tree)
        if isinstance(item, ast.Call) and SKIPPING.search(ast.unparse(item.func))
    ]
    tests = [item for item in ast.walk(tree) if isinstance(item, Function) and item.name.startswith("test")]
    asked = [item for test in tests for item in ast.walk(test) if isinstance(item, ast.If)]
    ends = [item.test for item in asked if any(isinstance(part, ast.Return) for part in item.body)]
    return {ast.unparse(item) for item in (*said, *ends)}


def assertion_count(node: ast.AST) -> int:
    """Return how many things a test asserts."""
    calls = sum(name.startswith(("assert", "raises", "warns")) for name in called(node))
    return calls + sum(isinstance(item, ast.Assert) for item in ast.walk(node))


@lru_cache(64)  # the same files are looked at for one question after the other
def knows_tests(text: str | None) -> bool:
    """Tell whether a Python file holds tests, asserts, or knows a runner."""
    tree = parsed(text)
    knows = any(module.split(".")[0] in TOOLS for module in (imports(tree) if tree else ()))
    return knows or bool(tests_in(text)) or any(_expects(node) for node in helpers(text).values())


def _expects(node: ast.AST) -> bool:
    """Tell whether code asserts more than that something it has got hold of itself is there, as type checkers ask for."""
    given = {item.arg for item in ast.walk(node) if isinstance(item, ast.arg)} - {"self", "cls"}
    narrowing = [
        item for item in ast.walk(node) if isinstance(item, ast.Assert) and _narrows(item.test, given)
    ]
    return assertion_count(node) > len(narrowing)


def _narrows(test: ast.expr, given: set[str]) -> bool:
    match test:
        case ast.Compare(left=value, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            pass
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, _]):
            pass
        case _:
            return False
    return not any(isinstance(item, ast.Name) and item.id in given for item in ast.walk(value))


def expected_values(node: ast.AST) -> set[str]:
    """Return the constants that stand in a test's assertions."""
    return {
        repr(item.value)
        for statement in ast.walk(node)
        if isinstance(statement, ast.Assert | ast.Expr)
        and (isinstance(statement, ast.Assert) or _claims(statement))
        for item in ast.walk(statement)
        if isinstance(item, ast.Constant)
    }


def constants(nodes: Iterable[ast.AST]) -> set[str]:
    """Return every constant of these pieces of code."""
    return {repr(item.value) for node in nodes for item in ast.walk(node) if isinstance(item, ast.Constant)}


def other_forms(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the constants that say the same as values of the language that are made here: dates, decimal numbers."""
    found: set[str] = set()
    calls = (item for node in nodes for item in ast.walk(node) if isinstance(item, ast.Call))
    for call in calls:
        made = VALUES.get(ast.unparse(call.func).rpartition(".")[2])
        given = [item.value for item in call.args if isinstance(item, ast.Constant)]
        endless = made is Fraction and "e" in str(given).casefold()  # all digits of a power would be made
        if made is None or endless or len(given) != len(call.args):
            continue
        with suppress(TypeError, ValueError, ArithmeticError):
            value = made(*given)
            found |= {repr(str(value))}
            found |= {repr(float(value))} if isinstance(value, Decimal | Fraction) else set()
    return found


def names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return all names and attributes in pieces of code, as `letters_of` has them."""
    found = (
        getattr(item, "attr", None) or getattr(item, "id", None) for node in nodes for item in ast.walk(node)
    )
    return {letters_of(name) for name in found if isinstance(name, str)} - {""}


def letters_of(words: str) -> str:
    """Return the same for a text in quotes and a name that may stand for it: no case, and nothing between words."""
    return re.sub(r"[\s'_-]", "", words).casefold()


def keys(node: ast.AST) -> set[str]:
    """Return the constants by which a piece of code makes or reads dictionaries."""
    found = [
        *(key for item in ast.walk(node) if isinstance(item, ast.Dict) for key in item.keys),
        *(item.slice for item in ast.walk(node) if isinstance(item, ast.Subscript)),
    ]
    return {repr(item.value) for item in found if isinstance(item, ast.Constant)}


def fields(node: ast.AST) -> set[str]:
    """Return what may have been keys: the names of attributes and of arguments that calls are given."""
    found = (getattr(item, "attr", None) or getattr(item, "arg", None) for item in ast.walk(node))
    return {repr(name) for name in found if name}


def asks_the_same(old: Function, new: Function) -> bool:
    """Tell whether two tests have the same values in the same order, the same operators and no new calls.

    What was patched may be given.
    """
    same = _values(old) == _values(new) and _operators(old) == _operators(new)
    return same and set(called(new)) <= set(called(old))


def _values(node: ast.AST) -> list[object]:
    """Return the constants of a test in the order they are written, but for prose and what patches name."""
    alone = docstrings(node) | set(_patched(node))
    found = [item for item in ast.walk(node) if isinstance(item, ast.Constant) and item not in alone]
    ordered = sorted(found, key=lambda item: (item.lineno, item.col_offset))
    return [
        item.value for item in ordered if not (isinstance(item.value, str) and DOTTED.fullmatch(item.value))
    ]


def _patched(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the names of what is replaced: `monkeypatch.setattr(owner, "name", …)`, `patch.object(owner, "name")`."""
    for item in ast.walk(node):
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and item.func.attr in PATCHING:
            yield from item.args[1:2]


def _operators(node: ast.AST) -> list[type[ast.AST]]:
    signs = (ast.cmpop, ast.boolop, ast.operator, ast.Not, ast.Assert)
    return [type(item) for item in ast.walk(node) if isinstance(item, signs)]
