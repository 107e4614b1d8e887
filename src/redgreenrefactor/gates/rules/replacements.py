"""What a turn has put in the place of something else: of the runner, of code, of what is installed."""

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from redgreenrefactor.gates.rules.findings import brief, tampering, worth_a_look
from redgreenrefactor.languages import python
from redgreenrefactor.languages.dataflow import imported_from
from redgreenrefactor.languages.paths import inside, is_test, is_tests_own, module_files
from redgreenrefactor.model.evidence import (
    Evidence,
    Inquiry,
    Reach,
    Replacement,
    SuiteRun,
    TestId,
)
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.mutation.detection import misled


def replaced(evidence: Evidence, reach: Reach, *before: Reach) -> Iterator[Finding]:
    """Yield what is not what it was when the tests are over, and was before the turn."""
    known = frozenset[Replacement]().union(*(one.replaced for one in before))
    for item in sorted(reach.replaced - known, key=lambda item: (item.owner, item.name)):
        if why := _harm(evidence, item):
            where = f"{item.file}:{item.line}: " if item.file else ""
            yield Finding(
                FindingType.TEST_TAMPERING,
                f"{where}{item.owner} has another {item.name} after the tests: {why}",
                item.file or None,
                item.line or None,
                hint="Put it back, or patch it for the one test that needs it (monkeypatch, mock.patch).",
            )


def _harm(evidence: Evidence, item: Replacement) -> str | None:
    """Return what comes of it that one thing stands where another did; nothing where it is the project's own affair."""
    if not item.owner.endswith(".py"):
        return "it decides what tests report"
    by_test = not item.file or is_tests_own(evidence, item.file)
    if is_tests_own(evidence, item.owner):
        return "it is a test of others" if item.name.startswith("test") and not by_test else None
    return "every test that comes later tests that instead of the code" if by_test else None


def hidden(evidence: Evidence, reach: Reach, *before: Reach) -> Iterator[Finding]:
    """Yield files of this turn that are imported instead of what is installed; not planned ones, nor tests' own."""
    known = {name for one in before for name in one.hiding}
    new = {inside(evidence, change.path) for change in evidence.changes if change.before is None}
    for name, file in sorted(reach.hiding.items()):
        planned = evidence.case is not None and evidence.case.impl_file.startswith(
            file.removesuffix("__init__.py")
        )
        users = reach.imported.get(file, frozenset())
        own = bool(users) and all(is_tests_own(evidence, one) for one in (file, *users))
        if name not in known and file in new and not planned and not own:
            what = f"it takes the place of the module {name!r} whenever tests run"
            yield tampering(file, None, what, "Choose another name.")


def supplanted(evidence: Evidence, run: SuiteRun, before: SuiteRun) -> Iterator[Finding]:
    """Yield files that tests import and that are there, but were not loaded: something else was given to the tests."""
    for test in sorted(run.files & run.reach.files - run.uncollected):
        for line, files in _imported(evidence, test):
            loaded = [file for file in files if file in run.reach.files]
            was = [file for file in files if file in before.reach.files]
            known = was or ([] if test in before.reach.files else files)
            if all(file in loaded for file in known) or (loaded and not was):
                continue
            given = f"{loaded[0]} was" if loaded else "something else was"
            what = f"it imports {known[0]}, which is there, and {given} given to it"
            hint = "Leave the modules that tests import to the tests: no other under their names."
            yield tampering(test, line, what, hint)


def _imported(evidence: Evidence, test: str) -> Iterator[tuple[int, list[str]]]:
    """Yield where a file of tests imports something of the project whenever it is loaded, and the files that may be it."""
    tree = python.parsed(evidence.text(test))
    folder = PurePosixPath(test).parent
    for node in tree.body if tree else ():
        plain = isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level)
        for module in sorted({item.module for item in python.imported(node)}) if plain else ():
            if module.partition(".")[0] in sys.stdlib_module_names:
                continue
            paths = dict.fromkeys(
                [str(folder / path) for path in module_files(module)] + [*module_files(module)]
            )
            there = [path for path in paths if evidence.text(path) is not None]
            if there:
                yield node.lineno, there


def usurped(
    evidence: Evidence, run: SuiteRun, ids: Sequence[TestId], files: Iterable[str]
) -> Inquiry[list[Finding]]:
    """Return that tests need what this turn's code has put into modules of others; a warning where they do not."""
    changed = {inside(evidence, c.path): c for c in evidence.changes if not is_test(evidence, c.path)}
    found = sorted(
        (item for item in run.reach.replaced if item.file in changed and not item.owner.endswith(".py")),
        key=lambda item: (item.owner, item.name),
    )
    if not found:
        return []
    failed = yield from misled(evidence, ids, files, [(item.owner, item.name) for item in found])
    first = found[0]
    what = f"the code has put its own {first.name} into {first.owner}, for everybody"
    if failed is None or any(_installs(evidence, file) for file in files):
        return [worth_a_look(changed[first.file], first.line, what)]
    what = f"{what}, and {failed.id} passes with that alone: {brief(failed)}"
    hint = "Leave what others have written as it is: tests compare with it. Give your function a name of its own."
    return [tampering(first.file, first.line, what, hint)]


def _installs(evidence: Evidence, file: str) -> bool:
    """Tell whether a test bids the planned code do something of which it wants nothing back, or for as long as it lasts."""
    tree = python.parsed(evidence.text(file))
    planned = imported_from(tree, evidence.impl_file) if tree else frozenset[str]()
    nodes = list(ast.walk(tree)) if tree else []
    said = (node.value for node in nodes if isinstance(node, ast.Expr))
    calls = [node for node in said if isinstance(node, ast.Call) and not (node.args or node.keywords)]
    entered = [node.context_expr for node in nodes if isinstance(node, ast.withitem)]
    return any(
        ast.unparse(node).partition("(")[0].partition(".")[0] in planned for node in (*calls, *entered)
    )
