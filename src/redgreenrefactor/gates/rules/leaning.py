"""What tests lean on: a file that only tests use is theirs, wherever it lies and whatever it is called."""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from redgreenrefactor.gates.rules.findings import named, tampering
from redgreenrefactor.gates.rules.measurement import Measured, old_tests
from redgreenrefactor.gates.rules.rewrites import ALL_KEPT, Rewritten
from redgreenrefactor.languages import python
from redgreenrefactor.languages.assertions import knows_tests
from redgreenrefactor.languages.paths import inside, is_test, is_tests_own
from redgreenrefactor.model.evidence import (
    Change,
    Evidence,
    Hook,
    Inquiry,
    Reach,
    SuiteRun,
    TestId,
    TestResult,
    Trial,
)
from redgreenrefactor.model.verdict import Finding
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.mutation.detection import Mutant, Noticed, lost_mutant, telling

SHARP = (
    "Leave what existing tests lean on as sharp as it was; write another helper or fixture if you need one."
)


def cut_off(evidence: Evidence, measured: Measured, rewrites: Rewritten = ALL_KEPT) -> Inquiry[list[Finding]]:
    """Return that tests which say what they said notice less: what they lean on is another, or more is done around them."""
    kept = rewrites.kept(measured)
    known = yield from seen_uses(evidence, measured, evidence.base, sorted(kept))
    touched = dict(_touched(evidence, known))
    everywhere = not touched.keys() <= measured.before.files
    served = {old: hook for old, new in kept.items() if (hook := _served(evidence, measured, old, new))}
    tests = {
        old: new
        for old, new in sorted(kept.items())
        if everywhere or old in served or measured.before.results[old].file in touched
    }
    if not tests:
        return []
    touched = {**touched, **{hook.file: hook.line for hook in served.values()}}
    overlay = (*old_tests(evidence), *_as_it_was(evidence, touched))
    beside = tuple(result.id for result in measured.fresh)  # what their files do at import is done to all
    old, new = Trial(evidence.head, overlay, tuple(tests)), Trial(evidence.head, tests=tuple(tests.values()))
    mutants = yield from telling(evidence, old, replace(new, tests=(*new.tests, *beside)))

    def losing(_: Mutant, then: Noticed, now: Noticed) -> list[TestResult]:
        noticing = {result.id for result in now.failed}
        return [result for result in then.failed if tests.get(result.id) not in noticing]

    lost = yield from lost_mutant(old, new, mutants, losing, beside)
    if lost is None:
        return []
    file, line = next(iter(touched.items()))
    what = f"since it was changed, {named([test.id for test in lost.tests])} no longer notices {lost.mutant.place}"
    return [tampering(file or "", line, what, SHARP)]


def _served(evidence: Evidence, measured: Measured, old: TestId, new: TestId) -> Hook | None:
    """Return a fixture, set-up or helper of a test, or whatever else its names stand for, that is not what it was.

    What is not the tests' own may be another in REFACTOR; in RED nobody has written any of it.
    """
    before, after = (
        {
            hook
            for hook in result.around
            if evidence.phase is PhaseName.RED or is_tests_own(evidence, hook.file)
        }
        for result in (measured.before.results[old], measured.after.results[new])
    )
    return min((after - before) or (before - after), key=lambda hook: (hook.file, hook.line), default=None)


def _as_it_was(evidence: Evidence, files: Collection[str | None]) -> Iterator[tuple[str, str | None]]:
    """Yield these files with what stood in them before the turn."""
    for change in evidence.changes:
        if inside(evidence, change.path) in files and change.before and change.before.text is not None:
            yield change.path, change.before.text


def seen_uses(
    evidence: Evidence, measured: Measured, commit: str, tests: Sequence[TestId]
) -> Inquiry[list[SuiteRun]]:
    """Return who has used which files; data that was changed is worth a run in which tests are seen to open it."""
    found = [measured.before, measured.after]
    if any(
        c.before and not c.path.endswith(".py") and not is_test(evidence, c.path) for c in evidence.changes
    ):
        found.append((yield Trial(commit, tests=tuple(tests), trace=True)))
    return found


def _touched(evidence: Evidence, runs: Sequence[SuiteRun]) -> Iterator[tuple[str | None, int]]:
    """Yield what tests lean on and is not what it was, with the line."""
    for change in evidence.changes:
        if is_test(evidence, change.path):
            line = _altered(change) or _imposed(change)
        else:
            line = _altered_support(evidence, change, runs)
        if line is not None:
            yield inside(evidence, change.path), line


def support_touched(evidence: Evidence, *runs: SuiteRun) -> Iterator[Finding]:
    """Yield changes to what tests lean on, by a phase that has no tests to write; what is only added changes nothing."""
    for change in evidence.changes:
        line = _altered_support(evidence, change, runs)
        if line is not None and inside(evidence, change.path) != evidence.impl_file:
            what = f"only tests use it, and it was changed in {evidence.phase}: what tests lean on stays as RED left it"
            hint = "Make the test pass by changing the implementation only; leave helpers and data of the tests alone."
            yield tampering(change.path, line, what, hint)


def _altered_support(evidence: Evidence, change: Change, runs: Sequence[SuiteRun]) -> int | None:
    """Return where something that was there, and that tests alone use, is not what it was."""
    local = inside(evidence, change.path)
    if not local or change.before is None or is_test(evidence, change.path):
        return None
    serves = any(serves_tests(evidence, one, local, change.old_text) for one in runs)
    return _altered(change) if serves else None


def _altered(change: Change) -> int | None:
    """Return where something that was there is not what it was."""
    before, after = change.old_text, change.new_text
    if not change.path.endswith(".py") or after is None:
        return 1 if change.before else None
    now = python.helpers(after)
    for name, node in python.helpers(before).items():
        if name not in now or python.shape(now[name]) != python.shape(node):
            return now.get(name, node).lineno
    return None


def _imposed(change: Change) -> int | None:
    """Return where something was added that tests get without asking: autouse fixtures, set-ups, statements, other names."""
    if not change.path.endswith(".py"):
        return None
    before, after = python.parsed(change.old_text), python.parsed(change.new_text)
    known = {python.shape(node) for node in before.body} if before else set[str]()
    imported = {item.name for item in python.imported(before)} if before else set[str]()
    classes = {node.name: node for node in before.body if isinstance(node, ast.ClassDef)} if before else {}
    for node in after.body if after else []:
        if python.shape(node) in known:
            continue
        if isinstance(node, ast.ClassDef) and node.name in classes:
            old = {python.shape(item) for item in _parts(classes[node.name])}
            new = [item for item in _parts(node) if python.shape(item) not in old and not _is_a_test(item)]
            if new:
                return new[0].lineno
        elif _is_imposed(node, imported):
            return node.lineno
    return None


def _parts(node: ast.ClassDef) -> Sequence[ast.stmt | ast.expr]:
    return *node.decorator_list, *node.bases, *node.body


def _is_a_test(node: ast.AST) -> bool:
    return isinstance(node, python.Function) and node.name.startswith("test")


def _is_imposed(node: ast.stmt, imported: set[str]) -> bool:
    if isinstance(node, python.Function):
        asked_for = not any("autouse" in ast.dump(item) for item in node.decorator_list)
        return not asked_for or node.name.startswith("setup") or node.name in imported
    if isinstance(node, ast.Assign) and all(isinstance(item, ast.Name) for item in node.targets):
        return not imported.isdisjoint(python.assigned(node))
    plain = isinstance(node, ast.ClassDef | ast.Import | ast.ImportFrom | ast.AnnAssign)
    return not plain and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def serves_tests(evidence: Evidence, run: SuiteRun, file: str, text: str | None) -> bool:
    """Tell whether a file was seen to be used by tests alone, and not to be what they test."""
    reach = run.reach
    around = {hook for result in run.results.values() for hook in result.around if hook.file == file}
    serves = {hook.name.partition(" ")[0] for hook in around}
    users = reach.opened.get(file, frozenset()) | reach.imported.get(file, frozenset())
    if not users or not all(is_tests_own(evidence, user) for user in users):
        return False
    if "set-up" in serves:  # a class that tests derive from is not what they are about
        return not _is_imported_by_code(evidence, reach, file)
    theirs = supports(text) or "fixture" in serves or evidence.brought(f"{evidence.prefix}{file}")
    return not file.endswith(".py") or (theirs and not is_tested(evidence, reach, file))


def supports(text: str | None) -> bool:
    """Tell whether a module asserts, knows the runner, or holds nothing but values."""
    tree = python.parsed(text)
    if tree is None:
        return False
    values = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    rest = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)]
    return knows_tests(text) or (bool(values) and values == rest)


def is_tested(evidence: Evidence, reach: Reach, file: str) -> bool:
    """Tell whether code imports a module, or a file of tests imports nothing else of the project's code."""
    names = python.planned_modules(file)
    known = {name: used for name in reach.files if (used := _imports(evidence, name)) is not None}
    code = [name for name in known if not is_tests_own(evidence, name) and name != file]
    planned = (python.planned_modules(name) for name in (*code, evidence.impl_file))
    others = frozenset[str]().union(*planned) - names
    return any(
        names & used and (name in code or not others & used) for name, used in known.items() if name != file
    )


def _is_imported_by_code(evidence: Evidence, reach: Reach, file: str) -> bool:
    names = python.planned_modules(file)
    code = [name for name in reach.files if not is_tests_own(evidence, name) and name != file]
    return any(names & (_imports(evidence, name) or frozenset()) for name in code)


def _imports(evidence: Evidence, file: str) -> frozenset[str] | None:
    """Return what a module imports, by its text: what was loaded before is asked for by no run."""
    return _imported_by(evidence.text(file, evidence.base)) if file.endswith(".py") else None


@lru_cache(64)  # the same files are looked at for one question after the other
def _imported_by(text: str | None) -> frozenset[str] | None:
    tree = python.parsed(text)
    return frozenset(python.imports(tree)) if tree else None
