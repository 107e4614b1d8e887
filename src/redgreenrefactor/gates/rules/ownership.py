"""Whose a file is, where its name does not tell: the tests', or code."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import PurePosixPath

from redgreenrefactor.gates.rules.leaning import is_tested
from redgreenrefactor.languages import python
from redgreenrefactor.languages.assertions import knows_tests
from redgreenrefactor.languages.paths import AMBIGUOUS, inside, is_sample, is_test, is_tests_own, may_be_code
from redgreenrefactor.model.evidence import Change, Evidence, Inquiry, SuiteRun, Trial
from redgreenrefactor.model.workflow import PhaseName


def with_roles(evidence: Evidence, brought_by: Sequence[Change] = ()) -> Inquiry[Evidence]:
    """Return evidence that knows whose files are: those that RED wrote for its test, and code that is called like tests."""
    misnamed = yield from _misnamed(evidence)
    known = replace(evidence, roles=misnamed)
    return replace(known, roles={**misnamed, **_brought(known, brought_by)})


def _brought(evidence: Evidence, changes: Sequence[Change]) -> Mapping[str, bool]:
    """Return new files for a test that is about the planned code: fakes that it imports, data that it names."""
    tests = [change for change in changes if change.after and is_test(evidence, change.path)]
    trees = [tree for change in tests if change.after and (tree := python.parsed(change.after.text))]
    imported = {module for tree in trees for module in python.imports(tree)}
    words = {PurePosixPath(str(item.value)).name for tree in trees for item in python.strings(tree)}
    if not imported & python.planned_modules(evidence.impl_file):
        return {}
    found = ((local, change) for change in changes if (local := inside(evidence, change.path)))
    return {
        local: True
        for local, change in found
        if change.after
        and change.before is None
        and local != evidence.impl_file
        and not is_test(evidence, change.path)
        and (
            _is_fake(change.after.text, python.planned_modules(local) & imported)
            or (is_sample(local) and any(fnmatch(PurePosixPath(local).name, word) for word in words))
        )
    }


def _is_fake(text: str | None, imported: frozenset[str]) -> bool:
    """Tell whether a module does something for whoever imports it; what is only announced, and errors, code will need."""
    tree = python.parsed(text) if imported else None
    nodes = list(ast.walk(tree)) if tree else []
    bases = [ast.unparse(base) for node in nodes if isinstance(node, ast.ClassDef) for base in node.bases]
    acts = any(isinstance(node, ast.Return | ast.Yield | ast.Assign | ast.AnnAssign) for node in nodes)
    return acts and not any(base.endswith(("Error", "Exception")) for base in bases)


def _misnamed(evidence: Evidence) -> Inquiry[Mapping[str, bool]]:
    """Return files that are called like tests and were seen to be code, and those in which tests ran all the same."""
    changed = [(local, change) for change in evidence.changes if (local := inside(evidence, change.path))]
    misnamed = [(local, change) for local, change in changed if _is_doubtful(evidence, local, change)]
    if not misnamed:
        return {}
    before = yield Trial(evidence.base)
    code = {local: False for local, change in misnamed if _is_code(evidence, before, local, change)}
    return {**code, **{local: True for local, _ in misnamed if local in before.files}}


def _is_doubtful(evidence: Evidence, local: str, change: Change) -> bool:
    """Tell whether a Python file's name and its text say different things about it."""
    if not is_test(evidence, change.path):
        return local.endswith(".py") and bool(change.before and python.tests_in(change.before.text))
    texts = [side.text for side in (change.before, change.after) if side]
    return may_be_code(local) and not any(map(knows_tests, texts))


def _is_code(evidence: Evidence, before: SuiteRun, local: str, change: Change) -> bool:
    home = _home(local)
    if not is_tests_own(evidence, local) or (home and any(file.startswith(home) for file in before.files)):
        return False
    if change.before:
        return is_tested(evidence, before.reach, local)
    if not home:  # nobody but GREEN writes code, and it writes no tests
        return evidence.phase is PhaseName.GREEN
    return any(
        is_tested(evidence, before.reach, file) for file in before.reach.files if file.startswith(home)
    )


def _home(local: str) -> str:
    """Return the outermost folder that may be one of tests, with a slash, or nothing."""
    parts = PurePosixPath(local).parts[:-1]
    place = next((place for place, name in enumerate(parts, 1) if name in AMBIGUOUS), 0)
    return "".join(f"{name}/" for name in parts[:place])
