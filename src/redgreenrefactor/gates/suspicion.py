"""What code gives away without being run: sniffing for tests, shadowing the runner, sloppy shortcuts."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

from redgreenrefactor.gates import python
from redgreenrefactor.gates.common import scope, tampering
from redgreenrefactor.gates.diff import added_lines, lines_of
from redgreenrefactor.gates.manifests import adds_for_tests
from redgreenrefactor.gates.paths import ROOTS, inside, is_test, is_test_file
from redgreenrefactor.model.evidence import Change, Evidence
from redgreenrefactor.model.verdict import Finding, FindingType, Severity

RUNNERS = frozenset(
    {"pytest", "_pytest", "pluggy", "unittest", "nose", "hypothesis", "coverage", "sitecustomize"}
)
BINARIES = (".so", ".pyd", ".dll", ".dylib", ".class", ".jar", ".pth")
SNIFFING = re.compile(
    r"PYTEST_CURRENT_TEST|PYTEST_VERSION|RGR_PROBE|rgr_(pytest_probe|canary|disguised|other)|/proc/(self|\d+)/(cmdline|environ)"
)
RUNNER_NAME = re.compile(r"^(_?pytest|unittest|nose|py\.test)$")
PLACES_TO_LOOK = ("modules", "argv", "orig_argv", "__main__")
FRAMES = frozenset({"_getframe", "_current_frames", "tb_frame", "f_back", "gi_frame", "cr_frame"})
WALKERS = frozenset(
    {
        "stack",
        "currentframe",
        "trace",
        "extract_stack",
        "walk_stack",
        "format_stack",
        "get_objects",
        "get_referrers",
    }
)
READING = ("getsource", "getsourcelines", "findsource", "getblock")
SHORTEST = 3  # letters that are enough to recognise a runner by
WALKING = ("inspect", "traceback", "gc", "sys")
ASKING = ("any", "all", "startswith", "endswith", "get", "find", "index", "count")
SWITCHES = re.compile(r"#\s*(type:\s*ignore|pragma:\s*no\s*cover|noqa|pylint:\s*disable)")
MANIFESTS = re.compile(
    r"^(requirements.*\.txt|Pipfile|poetry\.lock|uv\.lock|package(-lock)?\.json|Cargo\.toml|go\.mod)$"
)
LOCKS = re.compile(
    r"^(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|go\.sum)$"
)
LARGE = 1_000_000


def sniffing(evidence: Evidence) -> Iterator[Finding]:
    """Yield code that asks whether it is being tested, reads its tests, or gets at the runner."""
    for change, text in _code(evidence):
        tree, added = python.parsed(text), added_lines(change)
        if tree is None:
            continue
        new = [node for node in ast.walk(tree) if getattr(node, "lineno", 0) in added]
        values = [node for node in python.strings(tree) if node.lineno in added]
        yield from _asks(change, new, values)
        yield from _looks_at_callers(change, tree, new, values)
        yield from _reads_tests(evidence, change, new, values)
        yield from _patches_runner(change, tree, new)


def _asks(change: Change, new: list[ast.AST], values: list[ast.Constant]) -> Iterator[Finding]:
    lines = {node.lineno for node in values if SNIFFING.search(str(node.value))}
    for node in new:
        question = isinstance(node, ast.Compare) or (
            isinstance(node, ast.Call) and _word(node.func) in ASKING
        )
        parts = list(ast.walk(node)) if question else []
        looks = any(_word(part) in PLACES_TO_LOOK for part in parts)
        if looks and any(isinstance(part, ast.Constant) and _names_runner(part.value) for part in parts):
            lines.add(getattr(node, "lineno", 1))
    for line in sorted(lines):
        yield tampering(
            change, line, "the code asks whether it is being tested", "Behave the same, tested or not."
        )


def _names_runner(value: object) -> bool:
    """Tell whether a constant is a test runner's name, or the beginning of one."""
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    whole = RUNNER_NAME.match(text) is not None
    return whole or any(
        name.startswith(text) for name in ("pytest", "_pytest", "unittest") if len(text) >= SHORTEST
    )


def _looks_at_callers(
    change: Change, tree: ast.Module, new: list[ast.AST], values: list[ast.Constant]
) -> Iterator[Finding]:
    """Yield where new code walks the call stack: to find tests in it is tampering, otherwise only worth a look."""
    tools = {name for name, full in python.resolved(tree).items() if re.split(r"[.:]", full)[0] in WALKING}
    walks = [
        node
        for node in new
        if isinstance(node, ast.Attribute)
        and (node.attr in FRAMES or (node.attr in WALKERS and _word(node.value) in tools))
    ]
    walks += [node for node in new if isinstance(node, ast.Name) and node.id in tools & WALKERS]
    reads_constants = any(_word(node) in ("co_consts", "f_locals") for node in new)
    reads_constants = reads_constants or (bool(walks) and any(_word(node) in READING for node in new))
    if not walks and not reads_constants:
        return
    line = getattr((walks or new)[0], "lineno", 1)
    if reads_constants or any(re.search(r"\btest|pytest", str(node.value), re.IGNORECASE) for node in values):
        yield tampering(
            change, line, "the code looks for tests among its callers", "Behave the same, whoever calls."
        )
    else:
        yield _warning(change, line, "the code looks at its callers")


def _reads_tests(
    evidence: Evidence, change: Change, new: list[ast.AST], values: list[ast.Constant]
) -> Iterator[Finding]:
    file = PurePosixPath(evidence.case.test_file) if evidence.case else PurePosixPath("?")
    for node in values:
        if file.name in re.split(r"[/\\]", str(node.value)):
            yield tampering(
                change,
                node.lineno,
                f"the code refers to its own test file {file.name}",
                "Compute the result; do not read it off the test.",
            )
    for node in (item for item in new if isinstance(item, ast.Import | ast.ImportFrom)):
        named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for module in named:
            parts = module.split(".")
            if (is_test_file(file.name) and file.stem in parts) or "conftest" in parts:
                yield tampering(
                    change,
                    node.lineno,
                    f"the code imports the tests ({module})",
                    "Code does not know its tests.",
                )


def _patches_runner(change: Change, tree: ast.Module, new: list[ast.AST]) -> Iterator[Finding]:
    """Yield assignments into the test runner, or into the language itself."""
    names = {
        name
        for name, full in python.resolved(tree).items()
        if re.split(r"[.:]", full)[0] in (*RUNNERS, "builtins")
    }
    for node in new:
        targets = node.targets if isinstance(node, ast.Assign) else []
        owners = [target.value for target in targets if isinstance(target, ast.Attribute)]
        if isinstance(node, ast.Call) and _word(node.func) in ("setattr", "patch", "object") and node.args:
            owners.append(node.args[0])
        for owner in owners:
            if any(isinstance(item, ast.Name) and item.id in names for item in ast.walk(owner)):
                yield tampering(
                    change,
                    getattr(node, "lineno", 1),
                    "the code changes the test runner",
                    "Leave it as it is.",
                )


def _word(node: ast.AST) -> str:
    """Return the name or attribute a node stands for."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def shadowing(evidence: Evidence) -> Iterator[Finding]:
    """Yield new modules that take the place of the standard library's or the runner's, unless they were planned."""
    for change in evidence.changes:
        local = inside(evidence, change.path)
        planned = (
            evidence.case is not None and local is not None and _is_planned(local, evidence.case.impl_file)
        )
        if change.before is not None or change.after is None or local is None or planned:
            continue
        name = _top_level(local)
        if name and (name in RUNNERS or name in sys.stdlib_module_names):
            yield tampering(
                change,
                None,
                f"it takes the place of the module {name!r} whenever tests run",
                "Choose another name.",
            )


def _is_planned(local: str, impl_file: str) -> bool:
    """Tell whether a file is the planned one, or makes a package of a folder on the way to it."""
    package = local.removesuffix("__init__.py")
    return local == impl_file or (package != local and impl_file.startswith(package))


def _top_level(path: str) -> str | None:
    """Return the name under which a file is imported from where imports start, if it is."""
    for root in ROOTS:
        rest = path.removeprefix(root) if path.startswith(root) else ""
        if re.fullmatch(r"\w+\.py", rest):
            return rest.removesuffix(".py")
        if re.fullmatch(r"\w+/__init__\.py", rest):
            return rest.split("/")[0]
    return None


def misplaced(evidence: Evidence) -> Iterator[Finding]:
    """Yield files that belong into no commit, and names that only look different."""
    folded: dict[str, str] = {}
    for change in evidence.changes:
        if change.after and change.path.endswith(".py") and python.is_too_deep(change.after.text):
            yield scope(change, "it is nested beyond reason", "Write it so that a person can read it.")
        if change.after is None or change.before is not None:
            continue
        if change.path.endswith(BINARIES) or re.search(r"\.(egg|dist)-info/", change.path):
            yield scope(change, "compiled files are not committed", "Commit sources; take the file away.")
        twin = folded.setdefault(change.path.casefold(), change.path)
        if twin != change.path or _collides(evidence, change.path):
            yield scope(
                change, "its name differs from another file's only in letter case", "Choose another name."
            )
        if any(ord(letter) < 32 or letter in HIDDEN for letter in change.path):  # noqa: PLR2004
            yield scope(change, "its name holds characters that cannot be seen", "Choose a plain name.")


HIDDEN = "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"


def _collides(evidence: Evidence, path: str) -> bool:
    """Tell whether a file of another letter case stood there before and still does."""
    name = PurePosixPath(path).name
    for variant in {name.lower(), name.upper(), name.capitalize(), name.swapcase()} - {name}:
        twin = str(PurePosixPath(path).with_name(variant))
        if evidence.read(evidence.head, twin) is not None:
            return True
    return False


def doubts(evidence: Evidence) -> Iterator[Finding]:
    """Yield what a person may want to look at; none of it rejects."""
    for change in evidence.changes:
        name = PurePosixPath(change.path).name
        if MANIFESTS.match(name) or (name == "pyproject.toml" and change.before):
            yield _warning(change, None, "dependencies or project settings were changed")
        if name == ".gitignore":
            yield _warning(change, None, "what git ignores was changed")
        if change.after and change.after.text and len(change.after.text) > LARGE:
            yield _warning(change, None, "a large file was committed")
    for change, text in _code(evidence):
        yield from _sloppy(change, text)


def tools_brought(evidence: Evidence) -> Iterator[Finding]:
    """Yield that RED brings something for the tests to work with, for a person to look at."""
    for change in evidence.changes:
        if brings_tools(change):
            yield _warning(change, None, "what the tests depend on was changed")


def brings_tools(change: Change) -> bool:
    """Tell whether a change does nothing but bring dependencies for tests, or is the record of their versions."""
    name = PurePosixPath(change.path).name
    if LOCKS.match(name):
        return True
    return (
        change.before is not None
        and change.after is not None
        and adds_for_tests(name, change.before.text or "", change.after.text or "")
    )


def _sloppy(change: Change, text: str) -> Iterator[Finding]:
    added = added_lines(change)
    lines = lines_of(text)
    for number in sorted(added):
        if number <= len(lines) and (found := SWITCHES.search(lines[number - 1])):
            yield _warning(change, number, f"{found[1]!r} switches a check off")
    tree = python.parsed(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.ExceptHandler) and node.lineno in added and _swallows(node):
            yield _warning(change, node.lineno, "every error is swallowed here")


def _swallows(node: ast.ExceptHandler) -> bool:
    broad = node.type is None or ast.unparse(node.type) in ("Exception", "BaseException")
    return broad and all(isinstance(item, ast.Pass | ast.Return | ast.Continue) for item in node.body)


def _code(evidence: Evidence) -> Iterator[tuple[Change, str]]:
    """Yield the Python files outside the tests that were added or edited."""
    for change in evidence.changes:
        text = change.after.text if change.after else None
        if text is not None and change.path.endswith(".py") and not is_test(evidence, change.path):
            yield change, text


def _warning(change: Change, line: int | None, what: str) -> Finding:
    where = f"{change.path}:{line}" if line else change.path
    return Finding(
        FindingType.SCOPE_VIOLATION, f"{where}: {what}", change.path, line, severity=Severity.WARNING
    )
