"""What code gives away without being run: sniffing for tests, shadowing the runner, sloppy shortcuts."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

from redgreenrefactor.gates import python
from redgreenrefactor.gates.common import scope
from redgreenrefactor.gates.diff import added_lines
from redgreenrefactor.gates.paths import inside, is_test
from redgreenrefactor.model.evidence import Change, Evidence
from redgreenrefactor.model.verdict import Finding, FindingType, Severity

RUNNERS = frozenset(
    {"pytest", "_pytest", "pluggy", "unittest", "nose", "hypothesis", "coverage", "sitecustomize"}
)
ROOTS = ("", "src/", "lib/", "test/", "tests/")
BINARIES = (".so", ".pyd", ".dll", ".dylib", ".class", ".jar", ".pth")
SNIFFING = re.compile(r"PYTEST_CURRENT_TEST|PYTEST_VERSION|RGR_PROBE|rgr_pytest_probe|rgr_canary")
LOADED = re.compile(
    r"""["'](_?pytest|unittest|nose)["']\s+(?:not\s+)?in\s+(?:\w+\.)?modules|modules\.get\(\s*["']_?pytest"""
)
FRAMES = re.compile(
    r"_getframe|inspect\.(stack|currentframe|trace)|extract_stack|walk_stack|format_stack|_current_frames"
)
SWITCHES = re.compile(r"#\s*(type:\s*ignore|pragma:\s*no\s*cover|noqa|pylint:\s*disable)")
MANIFESTS = re.compile(
    r"^(requirements.*\.txt|Pipfile|poetry\.lock|uv\.lock|package(-lock)?\.json|Cargo\.toml|go\.mod)$"
)
LARGE = 1_000_000


def sniffing(evidence: Evidence) -> Iterator[Finding]:
    """Yield code that asks whether it is being tested, or reads its tests."""
    for change, text in _code(evidence):
        lines = text.splitlines()
        for number in sorted(added_lines(change)):
            line = lines[number - 1] if number <= len(lines) else ""
            if SNIFFING.search(line) or LOADED.search(line):
                yield _tampering(
                    change,
                    number,
                    "the code asks whether it is being tested",
                    "Behave the same, tested or not.",
                )
        yield from _looks_at_callers(change, text)
        yield from _reads_tests(evidence, change, text)


def _looks_at_callers(change: Change, text: str) -> Iterator[Finding]:
    """Yield where new code walks the call stack: to find tests in it is tampering, otherwise only worth a look."""
    added = added_lines(change)
    lines = {number: line for number, line in enumerate(text.splitlines(), 1) if number in added}
    walks = next((number for number, line in lines.items() if FRAMES.search(line)), None)
    if walks is None:
        return
    if any(re.search(r"""["'][^"']*test[^"']*["']""", line, re.IGNORECASE) for line in lines.values()):
        yield _tampering(
            change, walks, "the code looks for tests among its callers", "Behave the same, whoever calls."
        )
    else:
        yield _warning(change, walks, "the code looks at its callers")


def _reads_tests(evidence: Evidence, change: Change, text: str) -> Iterator[Finding]:
    case = evidence.case
    name = PurePosixPath(case.test_file).name if case else ""
    tree = python.parsed(text)
    if not name or tree is None:
        return
    added = added_lines(change)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and name in node.value
            and node.lineno in added
        ):
            yield _tampering(
                change,
                node.lineno,
                f"the code refers to its own test file {name}",
                "Compute the result; do not read it off the test.",
            )


def shadowing(evidence: Evidence) -> Iterator[Finding]:
    """Yield new modules that take the place of the standard library's or the runner's, unless they were planned."""
    for change in evidence.changes:
        local = inside(evidence, change.path)
        planned = evidence.case is not None and local == evidence.case.impl_file
        if change.before is not None or change.after is None or local is None or planned:
            continue
        name = _top_level(local)
        if name and (name in RUNNERS or name in sys.stdlib_module_names):
            yield _tampering(
                change,
                None,
                f"it takes the place of the module {name!r} whenever tests run",
                "Choose another name.",
            )


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
        if change.after is None or change.before is not None:
            continue
        if change.path.endswith(BINARIES):
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


def _sloppy(change: Change, text: str) -> Iterator[Finding]:
    added = added_lines(change)
    lines = text.splitlines()
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


def _tampering(change: Change, line: int | None, what: str, hint: str) -> Finding:
    where = f"{change.path}:{line}" if line else change.path
    return Finding(FindingType.TEST_TAMPERING, f"{where}: {what}", change.path, line, hint)


def _warning(change: Change, line: int | None, what: str) -> Finding:
    where = f"{change.path}:{line}" if line else change.path
    return Finding(
        FindingType.SCOPE_VIOLATION, f"{where}: {what}", change.path, line, severity=Severity.WARNING
    )
