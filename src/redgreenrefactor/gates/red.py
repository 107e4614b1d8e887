"""RED: exactly one new test fails, for want of the behaviour, and nothing that worked has stopped working."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath

from redgreenrefactor.gates.rules.exit_code import by_exit_code
from redgreenrefactor.gates.rules.failure_reason import how_it_failed, wrong_reason
from redgreenrefactor.gates.rules.findings import errors, nothing_done, scope
from redgreenrefactor.gates.rules.leaning import cut_off
from redgreenrefactor.gates.rules.legacy import regressions
from redgreenrefactor.gates.rules.measurement import Measured, gone, interference, measure
from redgreenrefactor.gates.rules.new_test import (
    NewTest,
    asks_again,
    failing_anyway,
    kept_by_error,
    meaningless,
    new_test,
    new_test_alone,
    shown_by_text,
    silenced,
    unmendable,
)
from redgreenrefactor.gates.rules.ownership import with_roles
from redgreenrefactor.gates.rules.scope import brings_tools, tools_brought
from redgreenrefactor.gates.rules.tampering import edited_tests, forbidden, hooked, weaker_helpers
from redgreenrefactor.languages import assertions, dataflow, python, stubs
from redgreenrefactor.languages.paths import inside, is_test, is_tests_own, reconfigures
from redgreenrefactor.model.evidence import (
    Change,
    Evidence,
    Inquiry,
    Judgement,
    Kind,
    Measure,
    Place,
    SuiteRun,
    Trial,
)
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Severity, TestOutcome, Verdict, rule
from redgreenrefactor.mutation.detection import proof
from redgreenrefactor.mutation.indifference import Claims, indifference


def red(evidence: Evidence) -> Judgement:
    """Exactly one new test fails, for want of the behaviour, and nothing that worked has stopped working."""
    evidence = yield from with_roles(evidence, evidence.changes)
    found = [*forbidden(evidence), *_scope(evidence), *edited_tests(evidence), *tools_brought(evidence)]
    found += nothing_done(evidence, "Write the test and commit it.")
    if errors(found):
        return rule(*found, *shown_by_text(evidence))
    if hopeless := (yield from _hopeless(evidence, found)):
        return hopeless
    measured = yield from measure(evidence)
    if isinstance(measured, Verdict):
        return measured
    if measured.after.measure is Measure.EXIT_CODE:
        return (
            yield from by_exit_code(
                evidence, measured, [*found, *hooked(evidence), *weaker_helpers(evidence)]
            )
        )
    found += [
        *interference(evidence, measured),
        *gone(evidence, measured),
        *_code_after_all(evidence, measured),
    ]
    found += yield from regressions(evidence, measured)
    if not errors(found):
        found += yield from cut_off(evidence, measured)
    new = new_test(evidence, measured)
    if isinstance(new, list):
        return rule(*found, *new)
    return (yield from _judged(evidence, found, new))


def _hopeless(evidence: Evidence, found: list[Finding]) -> Inquiry[Verdict | None]:
    """Return a verdict where the new test, run by itself, cannot be accepted, whatever the others do."""
    before = yield Trial(evidence.base)
    alone = yield from new_test_alone(evidence, before)
    if alone is None:
        return None
    new = new_test(evidence, Measured(before, before, alone))
    if isinstance(new, list):  # how many there are the whole suite tells
        broken = any(finding.type is FindingType.COMPILATION_ERROR for finding in new)
        return rule(*found, *new) if broken else None
    wrong = [*found, *_wrong(evidence, new)]
    if not errors(wrong) and _passes(new) and asks_again(evidence):
        wrong.append(_unexpected(new, ""))
    outcome = TestOutcome.PASS if _passes(new) else TestOutcome.FAIL
    return rule(*wrong, test_result=outcome, facts=_facts(new)) if errors(wrong) else None


def _judged(evidence: Evidence, found: list[Finding], new: NewTest) -> Judgement:
    """Judge the new test itself."""
    found += _wrong(evidence, new)
    if _passes(new):
        if errors(found):
            return rule(*found, test_result=TestOutcome.PASS, facts=_facts(new))
        return (yield from _passing(evidence, found, new))
    if not errors(found):
        found += yield from _repeatable(evidence, new)
    if not errors(found):
        found += yield from unmendable(evidence, new)
    if not errors(found):
        found += yield from _indifferent(evidence, new)
    return rule(*found, test_result=TestOutcome.FAIL, facts=_facts(new))


def _facts(new: NewTest) -> Facts:
    failing = next((result for result in new.results if result.failed), None)
    ids = tuple(result.id for result in new.results)
    return Facts(Measure.PER_TEST, tests=ids, failure=how_it_failed(failing) if failing else None)


def _passes(new: NewTest) -> bool:
    return all(result.passed for result in new.results)


def _wrong(evidence: Evidence, new: NewTest) -> Iterator[Finding]:
    """Yield what is wrong with the new test as it stands there, and with why it fails."""
    yield from meaningless(new)
    kept_quiet = [r for r in new.results if r.silenced]
    if kept_quiet:
        yield silenced(kept_quiet[0])
        return
    yield from islice((wrong for r in new.results if r.failed for wrong in wrong_reason(evidence, r)), 1)


def _repeatable(evidence: Evidence, new: NewTest) -> Inquiry[list[Finding]]:
    """Return a finding where the new test, run alone and again, does not fail as it did."""
    expected = {result.id: result.passed for result in new.results}
    if any(result.kind is Kind.MISSING and not result.frames for result in new.results):
        return []  # the file cannot even be imported yet: that does not change from run to run
    first = Trial(evidence.head, tests=tuple(expected), seed=1, trace=True, probe=True)
    again = replace(first, seed=2, trace=False)
    for trial in (replace(first, along=(again,)), again):
        run = yield trial
        if alone := _tests_itself(evidence, new, run):
            return alone
        differs = [name for name, passed in expected.items() if (name in run.passed) != passed]
        if differs:
            what = f"{differs[0]} does not fail every time: run alone it passes"
            hint = "Make it repeatable: no randomness, clock, network or state of other tests."
            return [new.finding(FindingType.FLAKY_TEST, what, hint)]
    return []


def _indifferent(evidence: Evidence, new: NewTest) -> Inquiry[list[Finding]]:
    """Return a finding where the new test passes although the planned code gives nothing of what it promises."""
    ids = [result.id for result in new.results]
    may = yield from indifference(evidence, ids, _claims(new, evidence.impl_file), passing=_passes(new))
    if not may:
        return []
    what = f"{ids[0]} does not look at what {evidence.impl_file} gives: {may}"
    hint = "Compare what the planned code returns or does with what the case says."
    return [new.finding(FindingType.MEANINGLESS_TEST, what, hint)]


def _claims(new: NewTest, planned: str) -> Claims:
    """Return what the new test says of itself."""
    if new.definition is None or new.tree is None:
        return Claims()
    test = new.definition.node
    results = dataflow.flowing(test, dataflow.imported_from(new.tree, planned))
    made = list(assertions.claims(test))
    file = new.results[0].origin[0]
    said, handing = assertions.claims_made(test, new.tree)
    never, caught = failing_anyway(test, new.tree), kept_by_error(test)

    def places(items: Iterable[ast.stmt]) -> tuple[Place, ...]:
        return tuple(Place(file, line) for item in items for line in python.span(item))

    return Claims(
        tuple(item.value for item in ast.walk(test) if isinstance(item, ast.Constant)),
        places(said),
        (bool(made) and all(dataflow.uses(item, results) for item in made))
        or any(dataflow.uses(item, results) for item in handing),
        frozenset(places(never)),
        frozenset(places(item for item in never if item in caught)),
    )


def _tests_itself(evidence: Evidence, new: NewTest, run: SuiteRun) -> list[Finding]:
    """Return a finding where the new test's assertions fail without its having used anything but tests."""
    reach, failing = run.reach, [result for result in new.results if result.failed]
    if not reach.files or reach.programs or any(result.kind is not Kind.ASSERTION for result in failing):
        return []
    if any(python.is_planned(name, None, evidence.impl_file) for name in reach.missed):
        return []
    if not all(is_tests_own(evidence, file) for file in reach.files):
        return []
    alone = "it loads and opens no file of the project but tests, and starts no program"
    what = f"{new.results[0].id} tests only itself: {alone}"
    hint = "Import the planned code, call it, and compare what it gives."
    return [new.finding(FindingType.MEANINGLESS_TEST, what, hint)]


# --- what RED may change


def _scope(evidence: Evidence) -> Iterator[Finding]:
    case = evidence.case
    for change in evidence.changes:
        local = inside(evidence, change.path)
        if is_test(evidence, change.path) or reconfigures(change, evidence.command) or _is_marker(change):
            continue
        if brings_tools(change):  # the test may need a tool that only tests use
            continue
        if case and local == case.impl_file:
            yield from _stubs_only(change)
        elif local not in ("test-list.md", "tdd.properties"):
            yield _is_no_test(change, "RED writes a test, not code")


def _code_after_all(evidence: Evidence, measured: Measured) -> Iterator[Finding]:
    """Yield what was written for the new test alone, and is imported by code."""
    for change in evidence.changes:
        users = measured.after.reach.imported.get(local := inside(evidence, change.path) or "", ())
        if local in evidence.roles and not all(is_tests_own(evidence, user) for user in users):
            yield _is_no_test(change, f"RED writes a test, and code uses this: {min(users)}")


def _is_no_test(change: Change, what: str) -> Finding:
    hint = "Write only the test, what it alone uses, and stubs in the planned implementation file."
    return scope(change, what, hint)


# --- a test that passes at once


def _passing(evidence: Evidence, found: list[Finding], new: NewTest) -> Judgement:
    """Judge a new test that passes: asked again once, then as red.on.pass says."""
    facts, policy = _facts(new), evidence.rules.red_on_pass
    if asks_again(evidence):
        return rule(*found, _unexpected(new, ""), test_result=TestOutcome.PASS, facts=facts)
    if policy == "warn":
        warning = _unexpected(new, "", Severity.WARNING)
        return rule(*found, warning, test_result=TestOutcome.PASS, outcome=Outcome.WARNED, facts=facts)
    ids = [result.id for result in new.results]
    if idle := (yield from _indifferent(evidence, new)):
        return rule(*found, *idle, test_result=TestOutcome.PASS, facts=facts)
    traced = yield Trial(evidence.head, tests=tuple(ids), trace=True)
    if elsewhere := _about_something_else(evidence, traced):
        return rule(*found, _unexpected(new, elsewhere), test_result=TestOutcome.PASS, facts=facts)
    proved = yield from proof(evidence, ids, new.file)
    facts = replace(facts, mutants=proved.mutants, wrong_expectation=proved.wrong_expectation)
    if not proved.noticed:
        unexpected = _unexpected(new, f" and {proved.why}")
        return rule(*found, unexpected, test_result=TestOutcome.PASS, facts=facts)
    return rule(*found, test_result=TestOutcome.PASS, outcome=Outcome.COVERED, facts=facts)


def _about_something_else(evidence: Evidence, run: SuiteRun) -> str:
    """Return that a test uses the project's code and not the planned file, which is there; else nothing."""
    planned, reach = evidence.impl_file, run.reach
    there = planned.endswith(".py") and evidence.text(planned)
    if not there or not reach.files or reach.programs or planned in reach.files:
        return ""
    return f", and does not even load the planned file {planned}: what it shows is about something else"


def _unexpected(new: NewTest, more: str, severity: Severity = Severity.ERROR) -> Finding:
    hint = (
        "Check the assertion: does it really test the case? If the behaviour is already there, "
        "write the honest test again; it is kept as covered when it notices broken code."
    )
    what = f"{new.results[0].id} passes without any new code{more}"
    return new.finding(FindingType.UNEXPECTED_PASS, what, hint, severity)


def _is_marker(change: Change) -> bool:
    """Tell whether a change is a new package marker without content."""
    if PurePosixPath(change.path).name != "__init__.py" or change.before or not change.after:
        return False
    tree = python.parsed(change.after.text)
    return tree is not None and all(isinstance(node, ast.Expr) and stubs.is_stub(node) for node in tree.body)


def _stubs_only(change: Change) -> Iterator[Finding]:
    if not change.path.endswith(".py"):
        return  # other languages are not read yet: the note says what was not measured
    beyond = stubs.beyond_stubs(change.old_text, change.new_text)
    if beyond:
        yield Finding(
            FindingType.SCOPE_VIOLATION,
            f"{change.path}:{beyond[0]}: RED may add stubs only, and {beyond[1]}",
            change.path,
            beyond[0],
            hint="Leave the behaviour to GREEN: a stub has an empty body, returns a constant or what it is given, "
            "or raises NotImplementedError.",
        )
