"""The test RED added: exactly one, that can be run and tells right from wrong."""

import ast
from collections.abc import Iterator, Sequence

from redgreenrefactor.gates.rules.answers import said
from redgreenrefactor.gates.rules.findings import about, named, place_in, python_tests, uncollectable
from redgreenrefactor.gates.rules.measurement import Measured
from redgreenrefactor.languages import assertions, dataflow, python
from redgreenrefactor.languages.paths import inside, is_test
from redgreenrefactor.model.evidence import (
    CollectError,
    Evidence,
    Inquiry,
    Kind,
    Measure,
    Status,
    SuiteRun,
    TestId,
    TestResult,
    Trial,
)
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Severity
from redgreenrefactor.mutation.detection import SEED

ASSERT = "Assert on what the code under test returns or does."


@frozen
class NewTest:
    """The test RED added: one definition, with as many results as it has parameter sets."""

    file: str
    function: str
    results: tuple[TestResult, ...]
    definition: python.Definition | None
    tree: ast.Module | None

    def finding(
        self, kind: FindingType, what: str, hint: str = ASSERT, severity: Severity = Severity.ERROR
    ) -> Finding:
        """Return a finding about it, at its definition."""
        line = self.definition.line if self.definition else self.results[0].line
        return Finding(kind, what, self.file, line or None, hint, severity)


def new_test(evidence: Evidence, measured: Measured) -> NewTest | list[Finding]:
    """Return the one test that was added, or why there is not exactly one that can be run, and what else is wrong."""
    broken = [error for error in measured.after.errors if error.file not in measured.before.uncollected]
    origins = dict.fromkeys(result.origin for result in measured.fresh)
    if broken:
        return _uncollected(evidence, broken, bool(origins))
    if not origins:
        return [_none_added(evidence, sorted(measured.after.deselected - measured.before.deselected))]
    first = measured.fresh[0]
    if len(origins) > 1:
        ids, line = [result.id for result in measured.fresh], measured.fresh[1].line
        return [_too_many(len(origins), ids, first.file, line or None), *_idle(evidence)]
    file, function = first.origin
    text = _text_of(evidence, file)
    tree = python.parsed(text)
    tests = python.tests_in(text)
    definition = next((test for test in tests if test.name == function), None) or next(
        (test for test in tests if test.name.rsplit(".", 1)[-1] == function), None
    )
    return NewTest(first.file, function, tuple(measured.fresh), definition, tree)


def _uncollected(
    evidence: Evidence,
    broken: list[CollectError],
    others: bool,  # noqa: FBT001
) -> NewTest | list[Finding]:
    """Return the new test of a file that cannot be collected only because the planned code is not there yet."""
    error, case = broken[0], evidence.case
    text = _text_of(evidence, error.file)
    tests = python.tests_in(text)
    alone = len(broken) == 1 and not others and len({test.name for test in tests}) == 1
    if case and alone and error.file == case.test_file and _is_planned(evidence, error):
        test = tests[0]
        name = "::".join([error.file, *test.name.split(".")])
        result = TestResult(
            name,
            Status.FAILED,
            error.file,
            test.name,
            test.line,
            kind=Kind.MISSING,
            exception=error.exception,
            message=error.message,
            missing=error.missing,
        )
        return NewTest(error.file, test.name, (result,), test, python.parsed(text))
    return [*(_uncollectable(evidence, error) for error in broken), *shown_by_text(evidence)]


def _uncollectable(evidence: Evidence, error: CollectError) -> Finding:
    hint = "Mend it: a test must be collected before it can fail."
    if _is_planned(evidence, error):
        hint = "The file holds other tests: put a stub into the planned implementation file, or import inside the test."
    return uncollectable(error, hint, where=f"{error.file}:{error.place.line}" if error.place else "")


def _is_planned(evidence: Evidence, error: CollectError) -> bool:
    """Tell whether a file is not collected for want of the planned code."""
    case, missing = evidence.case, error.missing
    return bool(case and missing and python.is_planned(missing.name, missing.owner, case.impl_file))


def shown_by_text(evidence: Evidence) -> Iterator[Finding]:
    """Yield what the text of the new tests shows, where no run tells: otherwise the retry would walk into it."""
    new = list(written(evidence))
    if len(new) - _taken_away(evidence) > 1:
        file, second = new[1]
        yield _too_many(len(new), [f"{path}::{test.name}" for path, test in new], file, second.line)
    yield from _idle(evidence)


def _taken_away(evidence: Evidence) -> int:
    """Return how many tests stand there no longer: one of another name may be the same."""
    names = (
        [{test.name for test in python.tests_in(text)} for text in texts]
        for _, *texts in python_tests(evidence)
    )
    return sum(len(before - after) for before, after in names)


def _idle(evidence: Evidence) -> Iterator[Finding]:
    """Yield the new tests whose text asserts nothing."""
    for file, test in written(evidence):
        yield from meaningless(NewTest(file, test.name, (), test, python.parsed(_text_of(evidence, file))))


def _too_many(number: int, names: list[str], file: str, line: int | None) -> Finding:
    return Finding(
        FindingType.TOO_MANY_TESTS,
        f"{number} tests were added: {named(names)}",
        file,
        line,
        hint="Add exactly one test for the current case; the others have their own cycles.",
    )


def _none_added(evidence: Evidence, deselected: Sequence[TestId]) -> Finding:
    changed = [change.path for change in evidence.changes if is_test(evidence, change.path)]
    where = f"; {changed[0]} was changed, but the runner finds no new test there" if changed else ""
    if deselected:
        where = f" that runs: {named(deselected)} is there, but the project's settings deselect it"
    return Finding(
        FindingType.NO_TEST_ADDED,
        f"RED added no test{where}",
        changed[0] if changed else None,
        hint="Add one test that the test command collects and runs (names and marks as the runner expects them).",
    )


def _text_of(evidence: Evidence, file: str) -> str | None:
    return next((c.new_text for c in evidence.changes if c.path == f"{evidence.prefix}{file}"), None)


# --- what the new test is worth


def meaningless(new: NewTest) -> Iterator[Finding]:
    """Yield why the test could never tell right from wrong."""
    if new.definition is None:
        return
    place, node = f"{new.file}:{new.definition.line}", new.definition.node
    failed_by_assertion = any(result.kind is Kind.ASSERTION for result in new.results)
    if not assertions.asserts(node, new.tree) and not failed_by_assertion:
        what = f"{place}: {new.function} asserts nothing"
        yield new.finding(FindingType.MEANINGLESS_TEST, what, "Assert what the case says should be true.")
        return
    if idle := assertions.trivially_true(node):
        what = f"{new.file}:{idle.lineno}: {_first_line(idle)!r} holds whatever the code does"
        yield new.finding(FindingType.MEANINGLESS_TEST, what)
        return
    for result in new.results:
        line = place_in(result).line
        statement = python.statement_at(node, line) if line and result.failed else None
        if statement is not None and _can_never_pass(new, node, statement):
            what = f"{new.file}:{statement.lineno}: {_first_line(statement)!r} fails whatever the code does"
            yield new.finding(FindingType.MEANINGLESS_TEST, what)
            return


def _can_never_pass(new: NewTest, test: python.Function, statement: ast.stmt) -> bool:
    """Tell whether a statement is come to in any case, and fails by itself."""
    return _is_come_to(test, statement) and statement in failing_anyway(test, new.tree)


def _is_come_to(test: python.Function, statement: ast.stmt) -> bool:
    """Tell whether nothing the code does keeps a test from a statement, but for an error."""
    returns = any(isinstance(item, ast.Return) and item.lineno < statement.lineno for item in ast.walk(test))
    return statement in test.body and not returns


def failing_anyway(test: python.Function, tree: ast.Module | None) -> list[ast.stmt]:
    """Return the statements of a test that fail by themselves, once they are come to, whatever the code under test does."""
    outside = dataflow.outside_names(tree, test)
    if outside is None:
        return []
    names = dataflow.derived(test, outside | dataflow.arguments(test))

    def fails(item: ast.AST) -> bool:
        if isinstance(item, ast.Assert):
            return not dataflow.uses(item.test, names)
        if isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
            return ast.unparse(item.value.func) in ("pytest.fail", "fail", "self.fail")
        return isinstance(item, ast.Raise)

    return [item for item in ast.walk(test) if isinstance(item, ast.stmt) and fails(item)]


def kept_by_error(test: python.Function) -> set[ast.AST]:
    """Return the parts of a test that code may keep it from by an error: where errors may be caught, or lead out."""
    inside = [
        item
        for item in ast.walk(test)
        if isinstance(item, ast.With | ast.AsyncWith) or (isinstance(item, ast.Try) and item.handlers)
    ]
    caught = {part for item in inside for part in ast.walk(item)}
    return set(ast.walk(test)) if any(isinstance(item, ast.Return) for item in caught) else caught


def unmendable(evidence: Evidence, new: NewTest) -> Inquiry[list[Finding]]:
    """Return that the part of a failed assertion which no code has a say in fails by itself."""
    failed = next((result for result in new.results if result.kind is Kind.ASSERTION), None)
    line = place_in(failed).line if failed else None
    tree = python.parsed(evidence.text(new.file))
    test = python.function_at(tree, line) if tree and line else None
    statement = python.statement_at(test, line) if test and line else None
    outside = dataflow.outside_names(tree, test) if test else None
    if not (failed and tree and test and isinstance(statement, ast.Assert)) or outside is None:
        return []
    names = dataflow.derived(test, outside | dataflow.arguments(test))
    parts = assertions.conjuncts(statement.test)
    free = [part for part in parts if not dataflow.uses(part, names)]
    if len(free) in (0, len(parts)) or not _is_come_to(test, statement):
        return []
    statement.test = ast.BoolOp(ast.And(), [*free, *free])
    del test.body[test.body.index(statement) + 1 :]
    overlay = ((f"{evidence.prefix}{new.file}", ast.unparse(ast.fix_missing_locations(tree))),)
    run = yield Trial(evidence.head, overlay=overlay, tests=(failed.id,), seed=SEED, probe=True)
    if not any(result.kind is Kind.ASSERTION for result in run.results.values()):
        return []
    what = f"{new.file}:{line}: {ast.unparse(free[0])!r} fails whatever the code does"
    return [new.finding(FindingType.MEANINGLESS_TEST, what)]


def _first_line(statement: ast.stmt) -> str:
    return ast.unparse(statement).splitlines()[0][:80]


def silenced(result: TestResult) -> Finding:
    """Return the finding that the new test is skipped or expected to fail."""
    hint = "Take the skip or the expected failure away: the new test has to run and fail."
    what = f"{result.id} is {result.status}: it cannot fail"
    return about(result, FindingType.MEANINGLESS_TEST, what, hint)


SLOW = 3.0  # seconds a suite takes from which on it is worth a run of its own to spare it


def new_test_alone(evidence: Evidence, before: SuiteRun) -> Inquiry[SuiteRun | None]:
    """Return what the one test that was written does by itself; None where it cannot be told, or the suite is fast."""
    found = list(written(evidence))
    if not is_slow(before) or len(found) != 1:
        return None
    [(file, test)] = found
    run = yield Trial(evidence.head, tests=tuple(_ids(before, file, test.name)))
    return run if run.finished and not run.tampering else None


def is_slow(before: SuiteRun) -> bool:
    """Tell whether a suite takes so long that a run of the new test alone is worth its time."""
    return before.finished and before.measure is Measure.PER_TEST and before.seconds >= SLOW


def written(evidence: Evidence) -> Iterator[tuple[str, python.Definition]]:
    """Yield the tests that stand there now and did not before, each with its file; as far as Python's text tells."""
    for change, before, after in python_tests(evidence):
        local = inside(evidence, change.path)
        if local:
            known = {test.name for test in python.tests_in(before)}
            new = {test.name: test for test in python.tests_in(after) if test.name not in known}
            yield from ((local, test) for test in new.values())


def _ids(before: SuiteRun, file: str, name: str) -> Iterator[TestId]:
    """Yield what the runner may call a test."""
    if any("::" in known for known in before.ids):
        yield "::".join([file, *name.split(".")])
        return
    parts = file.removesuffix(".py").split("/")
    yield from (".".join([*parts[start:], name]) for start in range(len(parts)))


def asks_again(evidence: Evidence) -> bool:
    """Tell whether a test that passes at once is sent back, to be looked at again or for good."""
    details = evidence.handoff.error_details
    looked_again = details is not None and details.type == FindingType.UNEXPECTED_PASS
    looked_again = looked_again or bool(said(evidence.report.message, "covered"))
    policy = evidence.rules.red_on_pass
    return policy == "abort" or (evidence.rules.retries > 0 and not looked_again)
