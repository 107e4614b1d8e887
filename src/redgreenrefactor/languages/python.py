"""What can be read off Python source without running it: its tests, its names, where values come from."""

import ast
import builtins
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache

from redgreenrefactor.model.values import frozen

Function = ast.FunctionDef | ast.AsyncFunctionDef
CODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
PLAIN = (
    bytes(code for code in range(32, 127) if code != ord("\\")) + rb" +AGE- \u0061 \x61 ~{VP~}"
)  # what some encodings read as something else
DEEPEST = 200  # levels of a syntax tree; deeper ones would overflow the stack of whoever walks them


@frozen
class Definition:
    """A test as it is written: its qualified name and its syntax tree."""

    name: str
    node: Function

    @property
    def line(self) -> int:
        """Where it starts."""
        return self.node.lineno


def parsed(text: str | None) -> ast.Module | None:
    """Return the syntax tree, None where the text is none, does not parse or is nested beyond reason."""
    if text is None:
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return None if _is_deep(text) else tree


@lru_cache(64)  # the same texts are read for one rule after the other
def _is_deep(text: str) -> bool:
    """Tell whether the syntax tree of a text has more levels than anybody can walk."""
    level: list[ast.AST] = [ast.parse(text)]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def is_too_deep(text: str | None) -> bool:
    """Tell whether a text is code that nobody can read: neither a person nor a gate."""
    if text is None or parsed(text) is not None:
        return False
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return isinstance(error, RecursionError | MemoryError)
    return True


def veil(text: str | None) -> str | None:
    """Return the encoding a source declares, if it makes Python run something else than everybody reads."""
    lines = re.split(r"\r\n?|\n", text or "")[:2]
    declared = (found[1] for line in lines if (found := CODING.match(line)))
    return next((name for name in declared if not _reads_as_it_is(name)), None)


def _reads_as_it_is(encoding: str) -> bool:
    try:
        return PLAIN.decode(encoding) == PLAIN.decode("ascii")
    except (LookupError, ValueError):
        return False


def shape(node: ast.AST) -> str:
    """Return what two pieces of code share that differ only in layout and comments."""
    return ast.dump(node)


# --- tests


def methods(tree: ast.AST) -> dict[tuple[str, str], str]:
    """Return what the methods of all classes in a piece of code do, by class and name."""
    return {
        (owner.name, node.name): body_shape(node).partition("\n")[2]
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, Function)
    }


def tests_in(text: str | None) -> list[Definition]:
    """Return the test functions and methods of a file, in order."""
    tree = parsed(text)
    return list(_tests(tree.body, "")) if tree else []


def _tests(body: Sequence[ast.stmt], prefix: str) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test") and not is_fixture(node):
            yield Definition(f"{prefix}{node.name}", node)
        elif isinstance(node, ast.ClassDef):
            yield from _tests(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _tests(node.body, prefix)


def is_fixture(node: Function) -> bool:
    """Tell whether a function is a fixture, whatever it is called."""
    plain = (item.func if isinstance(item, ast.Call) else item for item in node.decorator_list)
    return any(ast.unparse(item).endswith("fixture") for item in plain)


def duplicates(text: str | None) -> list[Definition]:
    """Return the tests that are defined again further down and so never run."""
    seen: dict[str, Definition] = {}
    shadowed: list[Definition] = []
    for test in tests_in(text):
        if test.name in seen:
            shadowed.append(seen[test.name])
        seen[test.name] = test
    return shadowed


def body_shape(node: Function) -> str:
    """Return the shape of a test without its parameter sets."""
    decorators = [shape(item) for item in node.decorator_list if not _is_parametrize(item)]
    return "\n".join([node.name, shape(node.args), *decorators, *(shape(item) for item in node.body)])


def rows(node: Function) -> list[str]:
    """Return the parameter sets of a test, one by one."""
    return [shape(row) for row in _rows(node)]


def values_given(node: Function) -> list[ast.expr]:
    """Return what a test is given in its parameter sets, whatever these are called."""
    found = _rows(node)
    return [part for row in found for part in (row.args if isinstance(row, ast.Call) else [row])]


def _rows(node: Function) -> list[ast.expr]:
    found: list[ast.expr] = []
    for item in node.decorator_list:
        if isinstance(item, ast.Call) and _is_parametrize(item):
            for argument in (*item.args[1:2], *(k.value for k in item.keywords if k.arg == "argvalues")):
                found += argument.elts if isinstance(argument, ast.List | ast.Tuple) else [argument]
    return found


def _is_parametrize(node: ast.expr) -> bool:
    return "parametrize" in ast.dump(node.func if isinstance(node, ast.Call) else node)


RUNNERS_OWN = ("collect_ignore", "collect_ignore_glob", "pytest_plugins", "__test__")


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
        found.update({name: shape(node) for name in assigned(node) if name in RUNNERS_OWN})
    return found


def helpers(text: str | None) -> dict[str, ast.stmt]:
    """Return what a test file defines beside its tests, by name: helpers, fixtures, constants, classes' set-up."""
    tree = parsed(text)
    return dict(item for node in (tree.body if tree else []) for item in _defined(node))


def _defined(node: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    if isinstance(node, Function) and (not node.name.startswith("test") or is_fixture(node)):
        yield node.name, node
    elif isinstance(node, ast.ClassDef):
        if any(True for _ in _tests(node.body, "")):
            for item in node.body:
                yield from _defined(item)
        else:
            yield node.name, node
    for name in assigned(node):
        yield name, node


def defined_names(text: str | None) -> Iterator[str]:
    """Yield what a module defines or imports, and what its classes define, by name; what is in functions is their own."""
    nodes: list[ast.AST] = [tree] if (tree := parsed(text)) else []
    for node in nodes:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (item.name for item in imported(node))
        elif isinstance(node, ast.stmt):
            yield from assigned(node)
        nodes += [] if isinstance(node, Function) else ast.iter_child_nodes(node)


def only_adds(before: str | None, after: str | None) -> bool:
    """Tell whether a module is as it was, but for imports and plain functions under new names."""
    old, new = parsed(before or ""), parsed(after)
    if old is None or new is None:
        return False
    was, known = {shape(node) for node in old.body}, set(defined_names(before))
    added = [node for node in new.body if shape(node) not in was]
    kept = was <= {shape(node) for node in new.body}
    return kept and all(_is_plain(node) and known.isdisjoint(_named(node)) for node in added)


def _is_plain(node: ast.stmt) -> bool:
    """Tell whether a statement does nothing but give names: no decorators, defaults, calls."""
    if isinstance(node, Function):
        return not (node.decorator_list or node.args.defaults or any(node.args.kw_defaults))
    return isinstance(node, ast.Import | ast.ImportFrom)


def _named(node: ast.stmt) -> set[str]:
    return {node.name} if isinstance(node, Function) else {item.name for item in imported(node)}


def assigned(node: ast.stmt) -> Iterator[str]:
    """Yield the names a statement gives values to."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (item.id for item in ast.walk(target) if isinstance(item, ast.Name))


IMPLICIT = frozenset(
    {"setUp", "tearDown", "setUpClass", "setup_method", "setup_function", "setup_class", "setup"}
)


# --- modules and names


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


@frozen
class Import:
    """One name that an import statement binds."""

    name: str  # as the file calls it
    module: str  # with a dot for every level up, where it is relative
    member: str = ""  # of the module; none: the module itself


def imported(tree: ast.AST) -> Iterator[Import]:
    """Yield the names that a file gets from elsewhere; `import a.b` binds `a`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(a.asname or a.name.split(".")[0], a.name) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            owner = f"{'.' * node.level}{node.module or ''}"
            yield from (Import(alias.asname or alias.name, owner, alias.name) for alias in node.names)


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield the modules a file names in its imports, and what may be one."""
    for item in imported(tree):
        module = item.module.lstrip(".")
        if module:
            yield module
            yield from [f"{module}.{item.member}"] if item.member else []


BUILTINS = frozenset(dir(builtins))


def statement_at(node: ast.AST, line: int) -> ast.stmt | None:
    """Return the innermost statement that covers a line and holds no other statement."""
    found: ast.stmt | None = None
    for item in ast.walk(node):
        if isinstance(item, ast.stmt) and item.lineno <= line <= (item.end_lineno or item.lineno):
            found = item
    return None if isinstance(found, Function | ast.ClassDef) else found


def span(node: ast.stmt) -> range:
    """Return the lines of a statement."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def function_at(tree: ast.Module, line: int) -> Function | None:
    """Return the innermost function that covers a line."""
    found: Function | None = None
    for item in ast.walk(tree):
        if isinstance(item, Function) and item.lineno <= line <= (item.end_lineno or item.lineno):
            found = item
    return found


def names_in(text: str | None, lines: Container[int]) -> Iterator[str]:
    """Yield the names and attributes that stand in these lines of a source."""
    tree = parsed(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Name | ast.Attribute) and node.lineno in lines:
            yield node.id if isinstance(node, ast.Name) else node.attr


def strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the texts in a piece of code that are values: no docstrings, no comments."""
    skipped = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node


def docstrings(tree: ast.AST) -> set[ast.AST]:
    """Return the constants that stand alone as statements."""
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


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
    return sum(_of(tree) for tree in map(parsed, texts) if tree is not None)


def _of(tree: ast.Module) -> int:
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, _COUNTED):
            found += 1
        elif isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
    return found
