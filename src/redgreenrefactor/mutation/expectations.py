"""Test code whose comparisons say so when they would hold for other values, too."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from redgreenrefactor.languages import dataflow, python
from redgreenrefactor.mutation.false_expectations import slips
from redgreenrefactor.mutation.mutants import source_of_tree

FAR = 1e300  # beyond that a number may be none that can be written
BLIND = "_RgrBlind"  # what such a comparison raises: no test catches it by chance
_COMPARING = re.compile(
    r"equal|close|call|^assertIn$", re.IGNORECASE
)  # functions that hold two values against each other


@lru_cache(16)  # the same tests are looked at turn after turn
def with_bent_comparisons(text: str | None, impl_file: str) -> str | None:
    """Return a file of tests whose comparisons are tried with other values, where they hold; None where there are none.

    A comparison that still holds with another value on one side ends the test: what stands on the other side equals
    everything. Values that a test or a library for tests means to be so are left alone.
    """
    tree = python.parsed(text)
    if tree is None:
        return None
    bending = _Comparisons(tree, impl_file)
    written = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    numbers = {value for value in written if isinstance(value, int | float) and abs(value) < FAR}
    bending.visit(tree)
    if not bending.count:
        return None
    return source_of_tree(tree, MET.replace("WRITTEN", repr(numbers or {0})))


class _Comparisons(ast.NodeTransformer):
    """Puts a call in the place of each comparison, with what it compares."""

    def __init__(self, tree: ast.Module, impl_file: str) -> None:
        self.count = 0
        self._seeds = dataflow.imported_from(tree, impl_file)
        self._tested = self._seeds
        self._scope: ast.AST = tree
        self._judged = set(_judged(tree))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Know which names of a function carry what comes from the code."""
        around = self._tested, self._scope
        self._tested, self._scope = self._tested | dataflow.flowing(node, self._seeds), node
        self.generic_visit(node)
        self._tested, self._scope = around
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 # type: ignore[assignment] # they have the same parts

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Let `a == b` be tried."""
        operands = [node.left, *node.comparators]
        names = ast.Tuple([ast.Constant(type(op).__name__) for op in node.ops], ast.Load())
        judged = ast.Constant(node in self._judged)
        return self._tried("_rgr_met", node, operands, [judged, names], operands, [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Let `self.assertEqual(a, b)` be tried."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        held = node.args[:2]
        if name in ("isinstance", "assertIsInstance") and len(held) > 1:
            self.count += 1
            self.generic_visit(node)
            said = ast.Constant(f"line {node.lineno}: {ast.unparse(node)[:80]}")
            node.args[1] = ast.Call(ast.Name("_rgr_kind", ast.Load()), [said, node.args[1]], [])
            return node
        plain = not any(isinstance(item, ast.Starred) for item in held)
        if (
            not (name.startswith("assert") and _COMPARING.search(name) and held and plain)
            or "not" in name.lower()
        ):
            return self.generic_visit(node)
        alike = ast.Constant("call" not in name and name != "assertIn")
        return self._tried("_rgr_called", node, held, [alike, node.func], node.args, node.keywords)

    def _tried(
        self,
        function: str,
        node: ast.expr,
        held: list[ast.expr],
        first: list[ast.expr],
        values: list[ast.expr],
        keywords: list[ast.keyword],
    ) -> ast.AST:
        """Return the call, with the line, its text, and which operands come from the code as far as can be read."""
        self.count += 1
        said = ast.Constant(f"line {node.lineno}: {' '.join(ast.unparse(node).split())[:80]}")
        plain = [not any(isinstance(item, ast.Name) for item in ast.walk(operand)) for operand in held]
        suspects: list[ast.expr] = [
            ast.Constant(dataflow.uses(operand, self._tested) or any(plain[:i] + plain[i + 1 :]))
            for i, operand in enumerate(held)
        ]
        wrong = [ast.Tuple(list(map(_made_later, slips(self._scope, side))), ast.Load()) for side in held]
        self.generic_visit(node)
        arguments = [said, ast.Tuple(suspects, ast.Load()), ast.Tuple([*wrong], ast.Load()), *first, *values]
        return ast.copy_location(ast.Call(ast.Name(function, ast.Load()), arguments, keywords), node)


def _judged(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what is asked whether it is true."""
    for node in ast.walk(tree):
        match node:
            case ast.Assert(test=test) | ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield test
            case ast.UnaryOp(op=ast.Not(), operand=test):
                yield test
            case ast.BoolOp(values=tests) | ast.comprehension(ifs=tests):
                yield from tests
            case _:
                pass


def _made_later(value: ast.expr) -> ast.expr:
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.Lambda(nothing, value)


MET = """
class _RgrBlind(BaseException):
    pass


class _RgrUnlike:
    def __bool__(self):
        raise TypeError("neither true nor false")


def _rgr_others(value, alike, against):
    kind = type(value)
    yield _RgrUnlike()
    if kind in (list, tuple, set, frozenset):
        yield kind([_RgrUnlike()])
        yield kind([_RgrUnlike() for _ in value] or [_RgrUnlike()])
    if not alike:
        return
    if getattr(value, "__dict__", None) and not isinstance(value, type) and _rgr_equals_all(value, False):
        import copy
        other = copy.copy(value)
        other.__dict__.update((name, _RgrUnlike()) for name in vars(value))
        yield other
    if kind is bool:
        yield not value
    elif kind in (int, float):
        far = 2 * abs(value) + 10**9 + 7
        if _rgr_equals_all(against, False):  # a tolerance of the code's own
            far = abs(value) + 1
        yield value + far if abs(value) < 1e300 else 0.0
    elif kind is str:
        yield from ("~" + value + "~", "~" * len(value) + "~" * (value == "~" * len(value)))
    elif kind is bytes:
        yield from (b"~" + value + b"~", b"~" * len(value) + b"~" * (value == b"~" * len(value)))
    elif kind is dict:
        yield {**value, "~": _RgrUnlike()}
        yield {name: _RgrUnlike() for name in value} or {"~": _RgrUnlike()}


def _rgr_equals_all(value, suspect):
    import os
    for owner in type(value).__mro__:
        for item in vars(owner).values():
            space, code = getattr(item, "__globals__", {}), getattr(item, "__code__", None)
            if "_rgr_met" in space:
                return False
            if code and not code.co_filename.startswith((os.path.dirname(os.__file__), "<frozen")):
                if "-packages" not in code.co_filename:
                    return True
    return suspect


def _rgr_holds(question, *values):
    try:
        return bool(question(*values))
    except Exception:
        return False


def _rgr_parts(value, path=()):
    names = list(getattr(value, "__dict__", ())) or getattr(type(value), "__slots__", ())
    if isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            yield from _rgr_parts(item, (*path, place))
    elif names and not isinstance(names, str) and len(path) < 5:
        for name in names:
            yield from _rgr_parts(getattr(value, name, None), (*path, name))
    else:
        yield path, value


def _rgr_slipped(got, wanted, makers):
    for make in makers:
        try:
            other = make()
            if not isinstance(got, type(wanted)) or not got == other:
                continue
            mine, asked, its = (dict(_rgr_parts(item)) for item in (got, wanted, other))
            for path in asked:
                if not asked[path] == its.get(path) and not mine.get(path) == asked[path]:
                    name = ".".join(map(str, path))
                    return f"whatever its {name} is: {mine.get(path)!r} and not {asked[path]!r}"
        except Exception:
            pass
    return ""


def _rgr_only_near(said, *pair):
    for own, plain in (pair, pair[::-1]):
        if type(plain) in (int, float) and _rgr_equals_all(own, False):
            held = [item for item in getattr(own, "__dict__", {}).values() if type(item) in (int, float)]
            kind = next((kind for kind in (int, float) if isinstance(own, kind)), None)
            beneath = kind.__add__(own, kind(0)) if kind else held[0] if len(held) == 1 else plain
            far = abs(beneath - plain) > abs(plain) / 100 and beneath not in WRITTEN
            if far and _rgr_holds(lambda one, two: one == two, own, (beneath + plain) / 2):
                raise _RgrBlind(f"{said} holds for {beneath!r}, which is only near")


def _rgr_pair(said, suspects, slips, judged, name, left, right):
    import operator
    ordered = {"Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "Eq": "eq"}
    question = getattr(operator, ordered.get(name, "contains"))
    pair = (right, left) if name == "In" else (left, right)
    suspects = suspects[::-1] if name == "In" else suspects
    held = []  # first of all: what learns from being compared learns this
    for place in (0, 1):
        others = _rgr_others(pair[place], name == "Eq", pair[1 - place])
        if name == "In":  # whoever asks an iterator before takes something out of it
            others = ([_RgrUnlike()],) if place == 0 else () if hasattr(right, "__next__") else others
        for other in others:
            if _rgr_holds(question, *((other, pair[1]) if place == 0 else (pair[0], other))):
                held.append((place, type(other) is bool))
    result = question(*pair)
    if not judged and type(result) is not bool:
        return result  # a question of its own kind, and nobody asks whether it is true
    for place in (0, 1) if name == "Eq" and _rgr_holds(lambda: result) else ():
        slipped = _rgr_slipped(pair[1 - place], pair[place], slips[place])
        if slipped:
            raise _RgrBlind(said + " holds " + slipped)
    right_too = _rgr_holds(lambda: result) if held else True
    for place, turned in held:
        blamed = _rgr_equals_all(pair[1 - place], right_too and suspects[1 - place])
        if blamed and (right_too or not turned):
            raise _RgrBlind(said + " holds for another value, too")
    if name == "Eq" and _rgr_holds(lambda: result):
        _rgr_only_near(said, left, right)
    return result


def _rgr_met(said, suspects, slips, judged, names, *values):
    result = True
    for index, name in enumerate(names):
        left, right = values[index : index + 2]
        if name in ("Is", "IsNot", "NotEq", "NotIn"):
            import operator
            result = {
                "Is": operator.is_, "IsNot": operator.is_not, "NotEq": operator.ne,
                "NotIn": lambda one, all_: one not in all_,
            }[name](left, right)
        else:
            two = slice(index, index + 2)
            result = _rgr_pair(said, suspects[two], slips[two], judged, name, left, right)
        if index + 1 < len(names) and not result:
            return result
    return result


def _rgr_kind(said, kind):
    if _rgr_equals_all(kind, False) and _rgr_holds(isinstance, _RgrUnlike(), kind):
        raise _RgrBlind(said + " holds for whatever is asked")
    return kind


def _rgr_called(said, suspects, slips, alike, question, *values, **named):
    blind = learns = False
    known = "_rgr_met" in getattr(question, "__globals__", {}) or any(hasattr(item, "__next__") for item in values)
    for place in () if known else range(len(suspects)):
        against = values[1 - place] if len(suspects) > 1 else None
        for other in _rgr_others(values[place], alike, against):
            try:
                question(*values[:place], other, *values[place + 1 :], **named)
            except Exception:
                continue
            blind = blind or len(suspects) == 1 or _rgr_equals_all(against, suspects[1 - place])
            learns = learns or _rgr_equals_all(against, False)
    try:
        result = question(*values, **named)
    except AssertionError:
        if learns:
            raise _RgrBlind(said + " holds for another value, and not for this one") from None
        raise
    for place in (0, 1) if alike and len(suspects) > 1 and not known else ():
        slipped = _rgr_slipped(values[1 - place], values[place], slips[place])
        if slipped:
            raise _RgrBlind(said + " holds " + slipped)
    if blind and result is None:
        raise _RgrBlind(said + " holds for another value, too")
    if alike and len(suspects) > 1 and not known:
        _rgr_only_near(said, *values[:2])
    return result
"""
