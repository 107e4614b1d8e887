"""What can be read off Python source without running it."""

import ast
import builtins
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Definition:
    """A test as it is written: its qualified name and its syntax tree."""

    name: str
    node: Function

    @property
    def line(self) -> int:
        """Where it starts."""
        return self.node.lineno


def parsed(text: str | None) -> ast.Module | None:
    """Return the syntax tree, None where the text is none or does not parse."""
    if text is None:
        return None
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def tests_in(text: str | None) -> list[Definition]:
    """Return the test functions and methods of a file, in order."""
    tree = parsed(text)
    return list(_tests(tree.body, "")) if tree else []


def _tests(body: Sequence[ast.stmt], prefix: str) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield Definition(f"{prefix}{node.name}", node)
        elif isinstance(node, ast.ClassDef):
            yield from _tests(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _tests(node.body, prefix)


def shape(node: ast.AST) -> str:
    """Return what two pieces of code share that differ only in layout and comments."""
    return ast.dump(node)


def body_shape(node: Function) -> str:
    """Return the shape of a test without its parameter sets."""
    decorators = [shape(item) for item in node.decorator_list if not _is_parametrize(item)]
    return "\n".join([node.name, shape(node.args), *decorators, *(shape(item) for item in node.body)])


def renamed(node: Function) -> str:
    """Return what two tests share that differ only in names and place: the n-th name stands for itself."""
    twin = copy.deepcopy(node)
    numbers: dict[str, str] = {}

    def number(name: str) -> str:
        return numbers.setdefault(name, f"n{len(numbers)}")

    twin.name = "test"
    twin.body = [item for item in twin.body if not _is_docstring(item)] or [ast.Pass()]
    for item in ast.walk(twin):
        if isinstance(item, ast.Name):
            item.id = number(item.id) if item.id not in FIXED else item.id
        elif isinstance(item, ast.Attribute):
            item.attr = number(item.attr) if not _is_meaningful(item.attr) else item.attr
        elif isinstance(item, ast.arg):
            item.arg = number(item.arg)
        elif isinstance(item, ast.alias):
            item.name, item.asname = number(item.name), None
        elif isinstance(item, ast.ImportFrom):
            item.module = None
    return ast.dump(twin)


FIXED = frozenset(dir(builtins))


def _is_meaningful(name: str) -> bool:
    """Tell whether an attribute says how strict a test is, so that another one is no mere renaming."""
    return any(word in name.lower() for word in ASSERTING) or name in (
        "mark",
        "approx",
        "skip",
        "xfail",
        "ANY",
    )


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def helpers(text: str | None) -> dict[str, str]:
    """Return what a test file defines beside its tests, by name: helpers, fixtures, constants, classes' set-up."""
    tree = parsed(text)
    found: dict[str, str] = {}
    for node in tree.body if tree else []:
        found.update(_defined(node, ""))
    return found


def _defined(node: ast.stmt, prefix: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, Function) and not node.name.startswith("test"):
        yield f"{prefix}{node.name}", shape(node)
    elif isinstance(node, ast.ClassDef):
        inner = [
            item for item in node.body if not (isinstance(item, Function) and item.name.startswith("test"))
        ]
        if any(isinstance(item, Function) and item.name.startswith("test") for item in node.body):
            for item in inner:
                yield from _defined(item, "")
        else:
            yield node.name, shape(node)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                yield target.id, shape(node)


def mentions(node: Function, names: frozenset[str]) -> bool:
    """Tell whether a test uses one of these names, as a fixture, a helper or its class's set-up."""
    if not names:
        return False
    if names & IMPLICIT:
        return True
    arguments = {arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)}
    attributes = {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)}
    return bool(names & (arguments | attributes)) or uses(node, names)


IMPLICIT = frozenset(
    {"setUp", "tearDown", "setUpClass", "setup_method", "setup_function", "setup_class", "setup"}
)


def imports(tree: ast.Module) -> Iterator[str]:
    """Yield the modules a file names in its imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def assertion_count(node: ast.AST) -> int:
    """Return how many things a test asserts."""
    return sum(isinstance(item, ast.Assert) or _is_assertion(item) for item in ast.walk(node))


def _is_assertion(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return str(name).startswith(("assert", "raises", "warns"))


def _is_parametrize(node: ast.expr) -> bool:
    return "parametrize" in ast.dump(node.func if isinstance(node, ast.Call) else node)


def duplicates(text: str | None) -> list[Definition]:
    """Return the tests that are defined again further down and so never run."""
    seen: dict[str, Definition] = {}
    shadowed: list[Definition] = []
    for test in tests_in(text):
        if test.name in seen:
            shadowed.append(seen[test.name])
        seen[test.name] = test
    return shadowed


def hooks(text: str | None) -> dict[str, str]:
    """Return what a test file or conftest does to the runner itself, by name."""
    tree = parsed(text)
    found: dict[str, str] = {}
    for node in tree.body if tree else []:
        if (
            isinstance(node, Function)
            and node.name.startswith("pytest_")
            and node.name != "pytest_generate_tests"
        ):
            found[node.name] = shape(node)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id in (
                    "collect_ignore",
                    "collect_ignore_glob",
                    "pytest_plugins",
                    "__test__",
                ):
                    found[target.id] = shape(node)
    return found


def planned_modules(impl_file: str) -> frozenset[str]:
    """Return every dotted name under which a planned file may be imported."""
    if not impl_file.endswith(".py"):
        return frozenset()
    parts = impl_file.removesuffix(".py").removesuffix("/__init__").split("/")
    return frozenset(".".join(parts[start:]) for start in range(len(parts)))


def is_planned(name: str | None, owner: str | None, impl_file: str) -> bool:
    """Tell whether a missing name is the planned module, a package on the way to it, or a name of it."""
    modules = planned_modules(impl_file)
    parents = {
        module.rsplit(".", count)[0] for module in modules for count in range(1, module.count(".") + 1)
    }
    if owner is not None:
        return owner in modules | parents
    return name is not None and name in modules | parents


# --- stubs


def beyond_stubs(before: str | None, after: str | None) -> tuple[int, str] | None:
    """Return line and description of the first thing in a change that is more than a new stub."""
    old, new = parsed(before or ""), parsed(after)
    if new is None or old is None:
        return (1, "it does not parse")
    return _beyond(old.body, new.body)


def _beyond(old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> tuple[int, str] | None:
    waiting = list(old)
    for node in new:
        same = next((item for item in waiting if shape(item) == shape(node)), None)
        twin = next((item for item in waiting if _same_class(item, node)), None)
        if same is not None:
            waiting.remove(same)
        elif twin is not None:
            waiting.remove(twin)
            if found := _beyond(_class_body(twin), _class_body(node)):
                return found
        elif not is_stub(node):
            return (node.lineno, f"{ast.unparse(node).splitlines()[0][:80]!r} is more than a stub")
    if waiting:
        return (
            waiting[0].lineno,
            f"{ast.unparse(waiting[0]).splitlines()[0][:80]!r} was changed or taken away",
        )
    return None


def _same_class(one: ast.stmt, two: ast.stmt) -> bool:
    return (
        isinstance(one, ast.ClassDef)
        and isinstance(two, ast.ClassDef)
        and one.name == two.name
        and [shape(base) for base in one.bases] == [shape(base) for base in two.bases]
        and [shape(item) for item in one.decorator_list] == [shape(item) for item in two.decorator_list]
    )


def _class_body(node: ast.stmt) -> list[ast.stmt]:
    """Return a class's body; a lone `pass` may give way to a member."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    return [item for item in body if not isinstance(item, ast.Pass)]


def is_stub(node: ast.stmt) -> bool:
    """Tell whether a statement only announces something: no behaviour, no computed value."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Pass():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            constructor = node.name in ("__init__", "__post_init__")
            return all(_does_nothing(item, constructor=constructor) for item in node.body)
        case ast.ClassDef():
            return all(is_stub(item) for item in node.body)
        case ast.Assign(value=value):
            return is_literal(value)
        case ast.AnnAssign(value=value):
            return value is None or is_literal(value) or _is_field(value)
        case ast.If():
            return "TYPE_CHECKING" in ast.dump(node.test) and all(is_stub(item) for item in node.body)
        case _:
            return False


def _does_nothing(node: ast.stmt, *, constructor: bool) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Return(value=value):
            return value is None or is_literal(value)
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


def _is_field(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("field", "dataclasses.field")


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


EMPTIES = ("list", "dict", "set", "tuple", "frozenset", "str", "int", "float", "bytes")


# --- what a test says

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


def asserts(node: ast.AST) -> bool:
    """Tell whether a test can fail on purpose: an assertion, or a call that sounds like one."""
    for item in ast.walk(node):
        if isinstance(item, ast.Assert):
            return True
        if isinstance(item, ast.Raise) and item.exc is not None and "AssertionError" in ast.dump(item.exc):
            return True
        if isinstance(item, ast.Call):
            name = item.func.attr if isinstance(item.func, ast.Attribute) else getattr(item.func, "id", "")
            if any(word in str(name).lower() for word in ASSERTING):
                return True
    return False


def statement_at(node: ast.AST, line: int) -> ast.stmt | None:
    """Return the innermost statement of a function that covers a line."""
    found: ast.stmt | None = None
    for item in ast.walk(node):
        if isinstance(item, ast.stmt) and item.lineno <= line <= (item.end_lineno or item.lineno):
            found = item
    return found


def uses(node: ast.AST, names: frozenset[str]) -> bool:
    """Tell whether a piece of code mentions one of these names."""
    return any(isinstance(item, ast.Name) and item.id in names for item in ast.walk(node))


def imported_from(tree: ast.Module, impl_file: str) -> frozenset[str]:
    """Return the local names that stand for the planned module or something of it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {
                (alias.asname or alias.name.split(".")[0])
                for alias in node.names
                if is_planned(alias.name, None, impl_file)
            }
        elif isinstance(node, ast.ImportFrom):
            owner = node.module or ""
            names |= {
                alias.asname or alias.name
                for alias in node.names
                if is_planned(None, owner, impl_file)
                or is_planned(f"{owner}.{alias.name}".strip("."), None, impl_file)
                or (node.level and (not owner or owner.split(".")[-1] in impl_file))
            }
    return frozenset(names)


def outside_names(tree: ast.Module | None, test: Function) -> frozenset[str]:
    """Return the names a test gets from outside itself: imports, what the file defines, its own object."""
    names = {"self", "cls"}
    for node in (*(tree.body if tree else ()), *ast.walk(test)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, Function | ast.ClassDef) and node is not test:
            names.add(node.name)
        elif isinstance(node, ast.Assign) and node in (tree.body if tree else ()):
            names |= {
                item.id for target in node.targets for item in ast.walk(target) if isinstance(item, ast.Name)
            }
    return frozenset(names)


def derived(test: Function, seeds: frozenset[str]) -> frozenset[str]:
    """Return the names of a test whose values come, directly or not, from these names or its fixtures."""
    names = set(seeds) | {arg.arg for arg in (*test.args.args, *test.args.kwonlyargs)}
    size = -1
    while size != len(names):
        size = len(names)
        for node in ast.walk(test):
            source: ast.AST | None = None
            targets: list[ast.expr] = []
            if isinstance(node, ast.Assign):
                source, targets = node.value, node.targets
            elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
                source, targets = node.value, [node.target]
            elif isinstance(node, ast.For | ast.comprehension):
                source, targets = node.iter, [node.target]
            elif isinstance(node, ast.withitem) and node.optional_vars:
                source, targets = node.context_expr, [node.optional_vars]
            if source is not None and uses(source, frozenset(names)):
                names |= {
                    item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)
                }
    return frozenset(names)
