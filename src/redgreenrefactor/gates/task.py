"""The gates of a task file: RED writes all its cases, GREEN and REFACTOR make them and every criterion hold."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

from redgreenrefactor.gates import Gate
from redgreenrefactor.gates.code import code, counted
from redgreenrefactor.gates.green import green
from redgreenrefactor.gates.refactor import refactor
from redgreenrefactor.gates.rules.coverage import covered
from redgreenrefactor.gates.rules.findings import (
    brief,
    errors,
    last_line,
    named,
    printed_error,
    python_tests,
    scope,
    uncollectable,
)
from redgreenrefactor.gates.rules.legacy import regressions
from redgreenrefactor.gates.rules.measurement import Measured, gone, interference, measure
from redgreenrefactor.gates.rules.tampering import edited_tests, forbidden, hooked, weaker_helpers
from redgreenrefactor.gates.rules.test_text import new_tests, text_rules
from redgreenrefactor.languages import assertions, python, stubs
from redgreenrefactor.languages.paths import inside, is_test, is_test_file, reconfigures
from redgreenrefactor.languages.python import complexity
from redgreenrefactor.model.evidence import Evidence, Inquiry, Judgement, Measure, Trial
from redgreenrefactor.model.facts import Complexity, Facts
from redgreenrefactor.model.goal import LIST
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.verdict import (
    Finding,
    FindingType,
    Outcome,
    Ruling,
    Severity,
    TestOutcome,
    Verdict,
    rule,
)
from redgreenrefactor.model.workflow import PhaseName

_PATH = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*\.[A-Za-z]\w*|(?:[\w.@+-]+/)+[\w.@+-]*")
_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
_MISSING = ("ImportError", "ModuleNotFoundError")
_REPEATS = re.compile(
    r"\b(each|for|foreach|while|t\.Run|map|table|cases?|rows?|subTest)\b|param|theory|values",
    re.IGNORECASE,
)
FAILURES = 5  # failing tests that GREEN is told of
UNMEASURED = ("how many tests were added", "which of them fail", "the reason they fail")
OUTPUT = 6_000  # characters of what rejected tests printed that a note keeps
_NOT_STARTED = (126, 127)  # what a shell answers for a program that it cannot start or find


def task_gates(task: Task) -> Mapping[PhaseName, Gate]:
    """Return what judges each phase of a task."""
    return {
        PhaseName.RED: partial(task_red, task),
        PhaseName.GREEN: partial(task_green, task),
        PhaseName.REFACTOR: partial(task_refactor, task),
        PhaseName.CODE: partial(task_plain, task),
    }


def task_red(task: Task, evidence: Evidence) -> Judgement:
    """Every case has a test that can be run; those that pass already are only worth a warning."""
    found = [*forbidden(evidence), *_scope(task, evidence)]
    found += [*edited_tests(evidence), *weaker_helpers(evidence)]
    absent, unparsable = list(_absent(task, evidence)), list(_unparsable(evidence))
    if errors(found) or absent or unparsable:
        return replace(rule(*found, *absent, *unparsable), final=bool(absent) and not errors(found))
    measured = yield from measure(evidence)
    if isinstance(measured, Verdict):
        return measured
    files = [change.path for change in evidence.changes if change.after and is_test(evidence, change.path)]
    facts = Facts(expected=task.test_count, test_files=tuple(files), suite=counted(measured.after))
    if measured.after.measure is Measure.EXIT_CODE:
        found += [*hooked(evidence), *text_rules(evidence), *_worth(evidence, measured), *_silent(evidence)]
        found += _counted_by_text(task, evidence)
        return _by_exit_code(found, measured, facts)
    found += [*interference(evidence, measured), *gone(evidence, measured)]
    found += yield from regressions(evidence, measured)
    return _judged(task, evidence, measured, found, facts)


def expected_files(task: Task) -> list[str]:
    """Return the test files that the red step says it will write."""
    step = task.step(PhaseName.RED)
    texts = step.modification_points if step else ()
    return [path for path in paths_in(texts) if is_test_file(path)]


def paths_in(texts: tuple[str, ...]) -> list[str]:
    """Return what looks like a path in these texts, each once."""
    found = (match.removeprefix("./") for text in texts for match in _PATH.findall(text))
    return list(dict.fromkeys(found))


# --- what was changed


def _absent(task: Task, evidence: Evidence) -> Iterator[Finding]:
    """Yield the test files that are not where they are expected; without any, there is nothing to go on with."""
    for path in expected_files(task):
        if evidence.text(path) is None:
            yield Finding(
                FindingType.NO_TEST_ADDED,
                f"the test file {path}, which the task's red step names, is not there",
                path,
                hint="Write the tests into the files that modification_points name.",
            )
    if not any(change.after and is_test(evidence, change.path) for change in evidence.changes):
        yield Finding(
            FindingType.NO_TEST_ADDED,
            "RED wrote no test file",
            hint="Write the test cases into files that the test command finds.",
        )


def _scope(task: Task, evidence: Evidence) -> Iterator[Finding]:
    """Yield changes beyond tests and stubs of the code they need."""
    planned = {path for step in task.steps for path in paths_in(step.modification_points)}
    planned |= {path.removeprefix("./") for path in task.focus_paths}
    for change in evidence.changes:
        local = inside(evidence, change.path)
        if (
            is_test(evidence, change.path)
            or reconfigures(change, evidence.command)
            or local in (LIST, "tdd.properties")
        ):
            continue
        if change.path.endswith(".py"):
            if beyond := stubs.beyond_stubs(change.old_text, change.new_text):
                yield scope(
                    change, f"RED may add stubs only, and {beyond[1]}", "Leave the behaviour to GREEN."
                )
        elif local not in planned:
            yield scope(
                change, "RED writes tests, not code", "Write only the tests and what belongs to them."
            )


def _unparsable(evidence: Evidence) -> Iterator[Finding]:
    """Yield Python files of the tests that are no Python, whatever runs them."""
    hint = "Mend the syntax: a test must be collected before it can fail."
    for change, _, text in python_tests(evidence):
        if text and python.parsed(text) is None:
            yield Finding(
                FindingType.COMPILATION_ERROR, f"{change.path} does not parse", change.path, hint=hint
            )


# --- the new tests


def _judged(
    task: Task, evidence: Evidence, measured: Measured, found: list[Finding], facts: Facts
) -> Verdict:
    broken, waiting = _uncollected(evidence, measured)
    found += broken
    ids = [*(result.id for result in measured.fresh), *(name for _, names in waiting for name in names)]
    written = max(len(ids), sum(count for count, _ in waiting) + len(measured.fresh))
    definitions = len(dict.fromkeys(r.origin for r in measured.fresh)) + sum(len(n) for _, n in waiting)
    found += [*_counted(task, written, definitions), *_worth(evidence, measured)]
    passing = [result.id for result in measured.fresh if result.passed]
    if passing:
        found.append(_unexpected(passing))
    failing = list(_failing(measured))
    warned = bool(ids) and len(passing) == len(ids)
    outcome = TestOutcome.PASS if warned else TestOutcome.FAIL
    return rule(
        *found,
        test_result=outcome,
        outcome=Outcome.WARNED if warned else None,
        facts=replace(
            facts,
            evidence=Measure.PER_TEST,
            tests=tuple(ids),
            written=definitions,
            failure="\n".join(failing[:FAILURES]) if failing else None,
        ),
    )


def _failing(measured: Measured) -> Iterator[str]:
    """Yield how the new tests fail, and the files of them that cannot be collected yet."""
    yield from (f"{result.id}: {brief(result)}" for result in measured.fresh if result.failed)
    for error in measured.after.errors:
        if error.file not in measured.before.uncollected:
            where = f"{error.file}:{error.line}" if error.line else error.file
            yield f"{where}: {error.exception}: {last_line(error.message)}"


def _uncollected(evidence: Evidence, measured: Measured) -> tuple[list[Finding], list[tuple[int, list[str]]]]:
    """Return what is wrong with files that cannot be collected, and the tests of those that wait for code."""
    wrong: list[Finding] = []
    waiting: list[tuple[int, list[str]]] = []
    for error in (error for error in measured.after.errors if error.file not in measured.before.uncollected):
        tests = python.tests_in(evidence.text(error.file))
        if error.exception in _MISSING and tests:
            names = list(dict.fromkeys("::".join([error.file, *test.name.split(".")]) for test in tests))
            waiting.append((sum(max(1, len(python.rows(test.node))) for test in tests), names))
        else:
            what = "has a syntax error" if error.exception in _SYNTAX else "cannot be collected"
            hint = "Mend it: a test must be collected before it can fail."
            wrong.append(uncollectable(error, hint, what=what))
    return wrong, waiting


def _counted(task: Task, written: int, definitions: int) -> Iterator[Finding]:
    """Yield that there are fewer tests than cases, or more than were asked for."""
    if not written:
        yield Finding(
            FindingType.NO_TEST_ADDED,
            "RED added no test that the test command finds",
            hint="See that the names of files and functions are what the runner looks for.",
        )
    elif written < task.test_count:
        yield _too_few(task, written)
    elif task.test_count and definitions > task.test_count:
        yield Finding(
            FindingType.TOO_MANY_TESTS,
            f"{definitions} tests were written for {task.test_count} cases",
            severity=Severity.WARNING,
        )


def _too_few(task: Task, written: int) -> Finding:
    return Finding(
        FindingType.TOO_FEW_TESTS,
        f"only {written} of {task.test_count} test cases are written",
        hint="Write a test for every case the task names.",
    )


def _counted_by_text(task: Task, evidence: Evidence) -> Iterator[Finding]:
    """Yield that a text shows fewer tests than cases; one that repeats itself stands for who knows how many."""
    blocks = [block for _, block in new_tests(evidence)]
    if 0 < len(blocks) < task.test_count and not any(_REPEATS.search(block.mask) for block in blocks):
        yield _too_few(task, len(blocks))


def _worth(evidence: Evidence, measured: Measured) -> Iterator[Finding]:
    """Yield new tests that could never tell right from wrong."""
    for result in measured.fresh:
        if result.silenced:
            yield _meaningless(result.file, result.line, f"{result.id} is {result.status}: it never fails")
    for change, before, after in python_tests(evidence):
        tree = python.parsed(after)
        old = {test.name for test in python.tests_in(before)}
        for test in python.tests_in(after):
            if test.name not in old and not assertions.asserts(test.node, tree):
                yield _meaningless(
                    change.path, test.line, f"{change.path}:{test.line}: {test.name} asserts nothing"
                )


def _silent(evidence: Evidence) -> Iterator[Finding]:
    """Yield new tests of other languages than Python whose text asserts nothing."""
    for change, block in new_tests(evidence):
        if not change.path.endswith(".py") and block.says_nothing:
            what = f"{change.path}:{block.line}: {block.name!r} asserts nothing that the code does"
            yield _meaningless(change.path, block.line, what)


def _meaningless(file: str, line: int, what: str) -> Finding:
    return Finding(
        FindingType.MEANINGLESS_TEST,
        what,
        file,
        line or None,
        hint="Assert what the case says should be true.",
    )


def _unexpected(passing: list[str]) -> Finding:
    return Finding(
        FindingType.UNEXPECTED_PASS,
        f"already passing before any code was written: {named(passing)}; they may not test the new behaviour",
        severity=Severity.WARNING,
    )


# --- judged by exit code


def _by_exit_code(found: list[Finding], measured: Measured, facts: Facts) -> Verdict:
    """Return what an exit code tells: the suite should fail now."""
    facts = replace(facts, evidence=Measure.EXIT_CODE, unmeasured=UNMEASURED)
    run = measured.after
    if run.green:
        return rule(
            *found,
            _unexpected(["the whole suite"]),
            test_result=TestOutcome.PASS,
            outcome=Outcome.WARNED,
            facts=facts,
        )
    facts = replace(facts, failure=printed_error(run))
    broken = next((line for line in run.output.splitlines() if any(name in line for name in _SYNTAX)), None)
    files = [PurePosixPath(path).name for path in facts.test_files or ()] if broken else []
    if broken and any(name in run.output for name in files):
        found.append(
            Finding(
                FindingType.COMPILATION_ERROR,
                f"the new tests do not parse: {broken.strip()[:200]}",
                hint="Mend the syntax: a test must run before it can fail.",
            ),
        )
    return rule(*found, test_result=TestOutcome.FAIL, facts=facts)


# --- GREEN, REFACTOR, and a task without either


def task_green(task: Task, evidence: Evidence) -> Judgement:
    """Every test passes and none was touched, enough code is reached, and every criterion holds."""
    verdict = yield from green(evidence)
    return (yield from _finished(task, evidence, verdict))


def task_refactor(task: Task, evidence: Evidence) -> Judgement:
    """Everything that held after GREEN still does; the note says how complicated the code was and is."""
    verdict = yield from refactor(evidence)
    if evidence.changes:
        verdict = yield from covered(evidence, verdict)
        paths = tuple(change.path for change in evidence.changes)
        facts = replace(verdict.facts, refactored=paths, complexity=_simpler(evidence))
        verdict = replace(verdict, facts=facts)
    return (yield from _finished(task, evidence, verdict))


def task_plain(task: Task, evidence: Evidence) -> Judgement:
    """The suite is green, nothing was given up for it, enough code is reached, and every criterion holds."""
    verdict = yield from code(evidence)
    verdict = yield from covered(evidence, verdict)
    return (yield from _finished(task, evidence, verdict))


def _finished(task: Task, evidence: Evidence, verdict: Verdict) -> Judgement:
    """Return the verdict with the figures of the suite, turned down where another criterion does not hold."""
    run = yield Trial(evidence.head)
    facts = replace(verdict.facts, suite=counted(run))
    broken: dict[str, Finding] = {}
    if verdict.ruling is Ruling.ACCEPTED:
        broken = yield from _broken(task, evidence)
    else:
        facts = replace(facts, output=run.output[-OUTPUT:])
    facts = replace(facts, unmet=tuple(broken))
    found = broken.values()
    wrong = {finding.type for finding in found if finding.severity is Severity.ERROR}
    ruling = verdict.ruling
    if wrong:
        ruling = Ruling.UNDECIDED if wrong == {FindingType.UNDECIDED} else Ruling.REJECTED
    return replace(verdict, ruling=ruling, findings=(*verdict.findings, *found), facts=facts)


def _broken(task: Task, evidence: Evidence) -> Inquiry[dict[str, Finding]]:
    """Return a finding for every command of the criteria, but the tests', that does not succeed."""
    found: dict[str, Finding] = {}
    for command in task.commands:
        if command == evidence.command:
            continue
        run = yield Trial(evidence.head, command=command)
        if run.exit_code in _NOT_STARTED:
            message = f"the criterion `{command}` could not be run (exit code {run.exit_code}): {printed_error(run)}"
            hint = "Install what it needs, or mend the criterion, then go on."
            found[command] = Finding(FindingType.UNDECIDED, message, hint=hint)
        elif run.timed_out or run.exit_code:
            why = "ran past test.timeout" if run.timed_out else f"fails (exit code {run.exit_code})"
            message = f"the criterion `{command}` {why}: {printed_error(run)}"
            found[command] = Finding(FindingType.TEST_FAILURE, message, hint="Make every criterion hold.")
    return found


def _simpler(evidence: Evidence) -> Complexity:
    """Return how many ways lead through the files REFACTOR changed, before and after."""
    paths = [
        change.path
        for change in evidence.changes
        if change.path.endswith(".py") and not is_test(evidence, change.path)
    ]
    if not paths:
        return Complexity(why="only Python code is measured, and none was changed")
    before, after = (
        complexity(evidence.read(commit, path) for path in paths) for commit in (evidence.base, evidence.head)
    )
    return Complexity(before, after)
