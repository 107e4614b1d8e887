"""Whether code does the same where nothing tells it that it is tested."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from redgreenrefactor.gates.rules.findings import brief, errors, tampering, worth_a_look
from redgreenrefactor.gates.rules.measurement import Measured
from redgreenrefactor.languages import python
from redgreenrefactor.languages.assertions import knows_tests
from redgreenrefactor.languages.diff import added_lines
from redgreenrefactor.languages.paths import inside, is_test, is_tests_own, may_be_code
from redgreenrefactor.model.evidence import (
    NO_REACH,
    Change,
    Evidence,
    Guise,
    Inquiry,
    Reach,
    SuiteRun,
    TestId,
    TestResult,
    Trial,
)
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.mutation.detection import belongs, holds

QUICK = 1.0  # seconds that tests of before may take which are looked at beside the new one
SLOW = 20.0  # and slower ones together, where no other speaks of what was changed
LOOKUPS = {
    "modules": "the code looks for the test runner among the modules",
    "environment": "the code asks for a variable of the test runner",
    "arguments": "the code looks at the name of the program",
    "frames": "the code looks at its callers",
    "history": "the code asks git about the repository that it is tested in, whose history has the tests",
}


def beside(evidence: Evidence, measured: Measured, ids: Sequence[TestId]) -> tuple[TestId, ...]:
    """Return the quickest tests of before, to be looked at with the new one; none where code was only added.

    Of everything that was changed, the quickest that speaks of it is among them.
    """
    code = [c for c in evidence.changes if c.path.endswith(".py") and not is_test(evidence, c.path)]
    if all(python.only_adds(change.old_text, change.new_text) for change in code):
        return ()
    older = measured.before.passed & measured.after.passed
    others = [
        measured.after.results[name] for name in sorted(older) if not any(belongs(name, own) for own in ids)
    ]
    others.sort(key=lambda result: result.seconds)
    spent = accumulate(result.seconds for result in others)
    found = [result for result, seconds in zip(others, spent, strict=True) if seconds <= QUICK]
    changed = {name for change in code for name in _changed(change)}
    said = dict(_spoken(evidence, {result.file for result in others}, changed))
    left = SLOW
    for name in sorted(changed):
        speaking = (r for r in others if r.seconds <= left and name in said.get((r.file, r.function), ()))
        first = next(speaking, None)
        if first is not None and first not in found:
            found.append(first)
            left -= first.seconds
    return tuple(result.id for result in found)


def _changed(change: Change) -> set[str]:
    """Return the names of the functions and classes in which a turn has changed something."""
    tree, added = python.parsed(change.new_text), added_lines(change)
    nodes = (
        (node for node in ast.walk(tree) if isinstance(node, python.Function | ast.ClassDef)) if tree else ()
    )
    return {node.name for node in nodes if not added.isdisjoint(python.span(node))}


def _spoken(
    evidence: Evidence, files: Iterable[str], wanted: set[str]
) -> Iterator[tuple[tuple[str, str], set[str]]]:
    """Yield file and name of the tests that stand beside one of these names, and what each of them names itself."""
    for file in files:
        text = evidence.text(file) or ""
        for test in python.tests_in(text) if any(name in text for name in wanted) else ():
            parts = [item for item in ast.walk(test.node) if isinstance(item, ast.Name | ast.Attribute)]
            yield (
                (file, test.name),
                {item.id if isinstance(item, ast.Name) else item.attr for item in parts},
            )


def in_disguise(
    evidence: Evidence, ids: Sequence[TestId], others: Sequence[TestId] = ()
) -> Inquiry[list[Finding]]:
    """Return why tests pass only among others, or only when the code can see the runner; what it asks is worth a look."""
    unseen = yield hidden(evidence, ids)
    found = [*_asked(evidence, unseen.reach), *_read(evidence, unseen.reach)]
    if not holds(unseen, ids):
        found += yield from _unlike_seen(evidence, ids)
    if not others or errors(found):
        return found
    older = yield hidden(evidence, others)
    found += [*_asked(evidence, older.reach, unseen.reach), *_read(evidence, older.reach)]
    failed = [result for result in older.results.values() if result.id in others and result.failed]
    return [*found, *(yield from _knowing_now(evidence, failed))]


def _unlike_seen(evidence: Evidence, ids: Sequence[TestId]) -> Inquiry[list[Finding]]:
    """Return why the new test does not hold in disguise, if it is not for want of something that is no proof."""
    alone = yield Trial(evidence.head, tests=tuple(ids), seed=1, probe=True)
    if not holds(alone, ids):
        return [_leaning(ids[0], _failed(alone))]
    apart = yield hidden(evidence, ids, Guise.APART)
    # Whoever cannot do without the runner's own thread is looked at there; whose name is a word of its data, with it.
    unseen = yield hidden(evidence, ids, Guise.AS_SAID if holds(apart, ids) else Guise.IN_PLACE)
    if holds(unseen, ids) or _is_no_proof(_failed(unseen)):
        return []
    return [_knowing(evidence, ids[0], _failed(unseen))]


def _knowing_now(evidence: Evidence, suspects: Sequence[TestResult]) -> Inquiry[list[Finding]]:
    """Return which tests of before pass only when the code can see the runner, and did not need that before this turn."""
    if not suspects:
        return []
    question = hidden(evidence, [result.id for result in suspects])
    before = yield replace(question, commit=evidence.base)
    again = yield replace(question, repeat=1)
    return [_knowing(evidence, r.id, r) for r in suspects if r.id in before.passed - again.passed][:1]


def hidden(evidence: Evidence, ids: Sequence[TestId], guise: Guise = Guise.HIDDEN) -> Trial:
    """Return the question what tests do alone, where the code sees nothing of the runner, or not more than this."""
    return Trial(evidence.head, tests=tuple(ids), disguise=guise, seed=1, probe=True)


def _failed(run: SuiteRun) -> TestResult | None:
    return next((result for result in run.results.values() if result.failed), None)


def _is_no_proof(result: TestResult | None) -> bool:
    """Tell whether a test fails for want of what the disguise takes away: its source, or something a plugin looks for.

    A plugin fails before or after the test; where code does, the test that called it is on the way.
    """
    if result is None:
        return False
    if result.frames and all(place.file.startswith("/") for place in result.frames):
        return True
    if result.exception != "OSError" or "source" not in result.message:
        return False
    return all(place.file.startswith("/") or place.file == result.file for place in result.frames)


def _knowing(evidence: Evidence, name: TestId, failed: TestResult | None) -> Finding:
    places = [place for place in failed.frames if not place.file.startswith("/")] if failed else []
    return Finding(
        FindingType.TEST_TAMPERING,
        f"{name} passes only as long as the code can tell that it is being tested"
        + (f": {brief(failed)}" if failed else ""),
        places[-1].file if places else evidence.impl_file or None,
        places[-1].line if places else None,
        hint="Behave the same, tested or not: no looking at the call stack, test names or the runner.",
    )


def _leaning(name: TestId, failed: TestResult | None) -> Finding:
    return Finding(
        FindingType.FLAKY_TEST,
        f"{name} passes with the whole suite and fails alone" + (f": {brief(failed)}" if failed else ""),
        failed.file if failed else None,
        hint="The new test must pass by itself: no state left over from other tests or from an earlier run.",
    )


def _asked(evidence: Evidence, reach: Reach, told: Reach = NO_REACH) -> Iterator[Finding]:
    """Yield what lines of this turn have asked about their surroundings; what cannot be hidden is not asked for."""
    changes = {change.path: change for change in evidence.changes if not is_test(evidence, change.path)}
    for lookup in sorted(
        reach.lookups - told.lookups, key=lambda lookup: (lookup.file, lookup.line, lookup.what)
    ):
        change = changes.get(f"{evidence.prefix}{lookup.file}")
        if change is None or lookup.line not in added_lines(change):
            continue
        if lookup.what in LOOKUPS:
            yield worth_a_look(change, lookup.line, LOOKUPS[lookup.what])
        else:
            what = "the code reads how its own process was started, and so that it is being tested"
            yield tampering(change.path, lookup.line, what, "Behave the same, tested or not.")


def _read(evidence: Evidence, reach: Reach) -> Iterator[Finding]:
    """Yield that code opens its test, or what tests import, or imports that; what reads all sources alike is a tool."""
    changed = {inside(evidence, change.path) for change in evidence.changes}
    theirs = {file for file in (*reach.imported, evidence.test_file) if _is_theirs(evidence, file)}
    users = {user for table in (reach.opened, reach.imported) for by in table.values() for user in by}
    for user in sorted(user for user in users if not is_tests_own(evidence, user)):
        opened = {file for file, by in reach.opened.items() if user in by and file.endswith(".py")}
        imported = {file for file in theirs & reach.imported.keys() if user in reach.imported[file]}
        used = (opened if opened <= theirs else set[str]()) | (imported if user in changed else set[str]())
        if used:
            what = f"{user} opens or imports {min(used)}, which belongs to its tests, while it is tested"
            hint = "Compute the result; do not read it off the test."
            yield Finding(FindingType.TEST_TAMPERING, what, user, hint=hint)


def _is_theirs(evidence: Evidence, file: str) -> bool:
    """Tell whether a file is the tests' own; `spec` is a word for other things, too, and what lies there may be code."""
    if not is_tests_own(evidence, file):
        return False
    known = file == evidence.test_file or file in evidence.roles
    return known or not may_be_code(file) or knows_tests(evidence.text(file))
