"""Changes aimed at tests: their runner and its configuration, tests that were there, code that asks whether it is tested."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from doctest import DocTestParser
from itertools import zip_longest
from pathlib import PurePosixPath

from redgreenrefactor.gates.rules.findings import python_tests, tampering
from redgreenrefactor.gates.rules.scope import history, misplaced, off_limits, python_code
from redgreenrefactor.languages import assertions, python
from redgreenrefactor.languages.diff import added_lines
from redgreenrefactor.languages.manifests import files_run
from redgreenrefactor.languages.paths import (
    inside,
    is_test,
    is_test_file,
    is_tests_own,
    module_files,
    reconfigures,
)
from redgreenrefactor.model.evidence import Change, Evidence, SuiteRun
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.model.workflow import PhaseName

SNIFFING = re.compile(r"PYTEST_CURRENT_TEST|PYTEST_VERSION|RGR_PROBE|/proc/(self|\d+)/(cmdline|environ)")
RUNNER_NAME = re.compile(r"^(_?pytest|unittest|nose|py\.test)$")
PLACES_TO_LOOK = ("modules", "argv", "orig_argv", "__main__")
SHORTEST = 3  # letters that are enough to recognise a runner by
# Programs that look at what was made, and run nothing.
LOOKING = ("[", "find", "grep", "ls", "rg", "stat", "test", "wc")
ASKING = ("any", "all", "startswith", "endswith", "get", "find", "index", "count")


def forbidden(evidence: Evidence) -> Iterator[Finding]:
    """Yield what no phase may do: to history, to what is nobody's, to how tests are run; and files of no commit."""
    yield from (*history(evidence), *off_limits(evidence), *configuration(evidence), *misplaced(evidence))


def sniffing(evidence: Evidence) -> Iterator[Finding]:
    """Yield code that asks whether it is being tested, by its text: for where it cannot be run in disguise."""
    for change, tree, new in _written(evidence):
        values = [node for node in python.strings(tree) if node in new]
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
                change.path,
                line,
                "the code asks whether it is being tested",
                "Behave the same, tested or not.",
            )


def _written(evidence: Evidence) -> Iterator[tuple[Change, ast.Module, list[ast.AST]]]:
    """Yield the code of a turn, with what is new in it."""
    for change, text in python_code(evidence):
        tree, added = python.parsed(text), added_lines(change)
        if tree is not None:
            yield change, tree, [node for node in ast.walk(tree) if getattr(node, "lineno", 0) in added]


def _names_runner(value: object) -> bool:
    """Tell whether a constant is a test runner's name, or the beginning of one."""
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    whole = RUNNER_NAME.match(text) is not None
    return whole or any(
        name.startswith(text) for name in ("pytest", "_pytest", "unittest") if len(text) >= SHORTEST
    )


def borrowed(evidence: Evidence, run: SuiteRun) -> Iterator[Finding]:
    """Yield code that imports tests, or what lies among them: where they are loaded already, no run can tell."""
    test = PurePosixPath(evidence.test_file)
    brought = [local for local, by_test in evidence.roles.items() if by_test]
    names = {"conftest", *(name for local in brought for name in python.planned_modules(local))}
    names |= {test.stem} if is_test_file(test.name) else set()
    folders = {PurePosixPath(file).parent for file in run.files}

    def is_theirs(module: str) -> bool:
        paths = [path for path in module_files(module) if evidence.text(path)]
        among = (is_tests_own(evidence, path) and PurePosixPath(path).parent in folders for path in paths)
        return not names.isdisjoint([module, *module.split(".")]) or (bool(paths) and all(among))

    for change, _, new in _written(evidence):
        for node in (item for item in new if isinstance(item, ast.Import | ast.ImportFrom)):
            if module := next(filter(is_theirs, python.imports(node)), None):
                hint = "Code does not know its tests: write what it needs into the code."
                yield tampering(change.path, node.lineno, f"the code imports the tests ({module})", hint)


def _word(node: ast.AST) -> str:
    """Return the name or attribute a node stands for."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def configuration(evidence: Evidence) -> Iterator[Finding]:
    """Yield changes to how tests are found and run."""
    for change in evidence.changes:
        what = reconfigures(change, evidence.command)
        if what is None and _is_run_by(evidence, change):
            what = "the test command runs it"
        if what:
            yield Finding(
                FindingType.TEST_TAMPERING,
                f"{change.path} was changed, and {what}",
                change.path,
                hint="Leave the test runner and its configuration as they are.",
            )


def _is_run_by(evidence: Evidence, change: Change) -> bool:
    """Tell whether the test command names a file, or is a tool that reads it."""
    local = inside(evidence, change.path)
    steps = [step.replace("=", " ").split() for step in re.split(r"[;&|!\n]+", evidence.command)]
    words = [word for step in steps if step and step[0] not in LOOKING for word in step]
    tools = {
        "make": ("Makefile", "makefile", "GNUmakefile"),
        "tox": ("tox.ini",),
        "nox": ("noxfile.py",),
        "just": ("justfile", "Justfile"),
        "task": ("Taskfile.yml", "Taskfile.yaml"),
        "rake": ("Rakefile",),
    }
    read = {name for word in words for name in tools.get(word, ())}
    package = evidence.text("package.json", evidence.base)
    started = files_run(package, evidence.command)
    planned = {evidence.test_file, evidence.impl_file}
    named_files = {word.removeprefix("./") for word in words} | started - planned
    is_one = is_test_file(local or "") or local == evidence.test_file
    return local is not None and (local in read or (local in named_files and not is_one))


def hooked(evidence: Evidence) -> Iterator[Finding]:
    """Yield new or changed ways into the runner: hooks, plug-ins, files kept from being collected."""
    for change, before, after in python_tests(evidence):
        known = python.hooks(before)
        for name, code in python.hooks(after).items():
            if known.get(name) != code:
                what = f"{name} changes how tests are collected or reported"
                yield tampering(change.path, None, what, "Write tests and fixtures only: take the hook away.")


def edited_tests(evidence: Evidence) -> Iterator[Finding]:
    """Yield existing tests that were edited, taken away or shadowed, and new ways into the runner."""
    for change, before, after in python_tests(evidence):
        yield from _edited(change, before, after)
        known = {test.name for test in python.duplicates(before)}
        for test in python.duplicates(after):
            if test.name not in known:
                yield tampering(
                    change.path,
                    test.line,
                    f"{test.name} is defined twice, so the first never runs",
                    "Give the new test a name of its own.",
                )


def weaker_helpers(evidence: Evidence) -> Iterator[Finding]:
    """Yield helpers of existing tests that assert, and were edited or taken away: for where nothing is compared."""
    for change, before, after in python_tests(evidence):
        now = python.helpers(after)
        for name, node in python.helpers(before).items():
            twin = now.get(name)
            if assertions.assertion_count(node) and (
                twin is None or python.shape(twin) != python.shape(node)
            ):
                yield tampering(
                    change.path,
                    twin.lineno if twin else None,
                    f"the helper {name}, which asserts for existing tests, was changed",
                    "Leave it as it is; write a helper of another name if you need one.",
                )


def _edited(change: Change, before: str | None, after: str | None) -> Iterator[Finding]:
    if change.after is None:
        yield tampering(change.path, None, "the file was deleted", "Bring it back.")
        return
    if python.parsed(after) is None:
        return  # what does not parse is reported by the run
    now = _by_name(after)
    for name, tests in _by_name(before).items():
        for test, twin in zip_longest(tests, now.get(name, [])[: len(tests)]):
            if twin is None:
                yield tampering(
                    change.path, test.line, f"{name} was taken away", "Bring it back: RED only adds."
                )
            elif python.body_shape(test.node) != python.body_shape(twin.node) or not _keeps_rows(test, twin):
                yield tampering(
                    change.path,
                    twin.line,
                    f"{name} was edited",
                    "Leave existing tests as they are: RED only adds one.",
                )


def _by_name(text: str | None) -> dict[str, list[python.Definition]]:
    found: dict[str, list[python.Definition]] = {}
    for test in python.tests_in(text):
        found.setdefault(test.name, []).append(test)
    return found


def _keeps_rows(test: python.Definition, twin: python.Definition) -> bool:
    """Tell whether every parameter set is still there, in the old order."""
    rest = iter(python.rows(twin.node))
    return all(row in rest for row in python.rows(test.node))


Example = tuple[str, str]  # what is called, and what comes of it


def altered_examples(evidence: Evidence, before: SuiteRun) -> Iterator[Finding]:
    """Yield files whose examples were run, and have another result now, or are gone; REFACTOR may rename and move."""
    exactly = evidence.phase is PhaseName.GREEN
    now = Counter(
        _key(item, exactly) for change in evidence.changes for item in _examples(change.path, change.new_text)
    )
    for change in evidence.changes:
        if inside(evidence, change.path) not in before.files or is_test(evidence, change.path):
            continue
        was = Counter(_key(item, exactly) for item in _examples(change.path, change.old_text))
        if lost := next(iter(was - now), None):
            yield tampering(
                change.path,
                None,
                f"the example {lost!r} was changed or taken away",
                "Keep examples as they were.",
            )


def _key(example: Example, exactly: bool) -> str:  # noqa: FBT001
    return "\n".join(example) if exactly else example[1]


def _examples(path: str, text: str | None) -> Iterator[Example]:
    tree = python.parsed(text) if path.endswith(".py") else None
    strings = python.docstrings(tree) if tree else set[ast.AST]()
    found = [node.value for node in strings if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for each in found if tree else [text or ""]:
        try:
            examples = DocTestParser().get_examples(each)
        except ValueError:  # written as no doctest can be run
            continue
        yield from ((example.source.strip(), example.want.strip()) for example in examples)
