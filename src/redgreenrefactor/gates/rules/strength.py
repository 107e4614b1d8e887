"""REFACTOR may rewrite tests, as long as they notice as much as they did."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from redgreenrefactor.gates.rules.findings import about, brief, errors, named, python_tests, tampering
from redgreenrefactor.gates.rules.legacy import rechecked
from redgreenrefactor.gates.rules.measurement import Measured, old_tests
from redgreenrefactor.gates.rules.rewrites import Rewritten, Tests
from redgreenrefactor.languages import python
from redgreenrefactor.languages.assertions import (
    asks_the_same,
    assertion_count,
    constants,
    expected_values,
    fields,
    keys,
    letters_of,
    names,
    other_forms,
    ways_out,
)
from redgreenrefactor.languages.paths import inside, is_test, is_tests_own
from redgreenrefactor.model.evidence import (
    Evidence,
    Inquiry,
    Kind,
    SuiteRun,
    TestId,
    TestKey,
    TestResult,
    Trial,
)
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.mutation.detection import (
    SEED,
    Mutant,
    Noticed,
    belongs,
    blind_comparison,
    code_rewritten,
    holds,
    lost_mutant,
    noticed_by,
    seen_in,
    telling,
)
from redgreenrefactor.mutation.either_way import became_members, reading_either_way
from redgreenrefactor.mutation.unlike import fitted

FORMS = (
    "Keep the behaviour: touched tests are also run on the new code as they were. What it gives may have another form"
    " (an attribute instead of a key, a method instead of a property, an object with the fields of a dictionary),"
    " not other values."
)
KEPT = (
    "Tests that were here before may be moved or renamed, with their bodies as they were (legacy.tests=keep)."
)
SHARP = "Rewritten tests have to notice every mutant the old ones noticed: keep their assertions as sharp."
SETS = "Give the same values to this test, or to another one that asks the same; none is left out."
FITTING = 4  # values of the old tests that all functions give


def strength(evidence: Evidence, measured: Measured, rewrites: Rewritten) -> Inquiry[list[Finding]]:
    """Return what the tests no longer notice; a test that was only moved or renamed needs no proof."""
    touched = {inside(evidence, change.path) for change in evidence.changes if is_test(evidence, change.path)}
    shared = any(name and not name.rpartition("/")[2].startswith("test") for name in touched)
    passed = sorted(measured.before.passed)
    ids = [name for name in passed if shared or measured.before.results[name].file in touched]
    found = [
        *_legacy(evidence, measured, rewrites),
        *_sets(evidence, measured, rewrites),
        *_left_out(evidence),
    ]
    if not ids:
        return found
    trial, run = yield from _as_they_were(evidence, ids, rewrites)
    found += yield from _behaviour(evidence, measured, rewrites, trial, run)
    if rewrites.old and not errors(found):
        found += yield from _as_strong(evidence, measured, rewrites, trial, run)
    return found


# --- behaviour: the tests as they were, on the code as it is


def _as_they_were(
    evidence: Evidence, ids: Sequence[TestId], rewrites: Rewritten
) -> Inquiry[tuple[Trial, SuiteRun]]:
    """Return how the tests as they were are run, and what they do; where that helps, they read results in either way."""
    trial = Trial(evidence.head, overlay=old_tests(evidence), tests=tuple(ids))
    run = yield trial
    if len(run.passed) == len(ids):
        return trial, run
    pairs = ((test.node, rewrites.new[key].node) for key, test in rewrites.old.items() if key in rewrites.new)
    members = became_members(pairs)
    overlay = tuple(
        (path, reading_either_way(text, members) if path.endswith(".py") else text)
        for path, text in trial.overlay
    )
    other = replace(trial, overlay=overlay)
    either = (yield other) if overlay != trial.overlay else run
    return (other, either) if len(either.passed) > len(run.passed) else (trial, run)


def _behaviour(
    evidence: Evidence, measured: Measured, rewrites: Rewritten, trial: Trial, run: SuiteRun
) -> Inquiry[list[Finding]]:
    ran = [result for result in run.results.values() if result.id in trial.tests]
    failed = [result for result in ran if not _excused(evidence, result)]
    changed = [result for result in failed if not _follows(rewrites, result.key)]
    old = [result for result in changed if result.id in measured.legacy.ids]
    recheck = yield from rechecked(evidence.base, trial, old)
    return list(_changes([r for r in changed if r not in old or r in recheck.broken]))


def _excused(evidence: Evidence, result: TestResult) -> bool:
    """Tell whether an old test passes, or fails only because a name was moved, or the code is to be given something else."""
    if result.passed or result.missing is not None or result.exception == "AttributeError":
        return True
    interface = "argument" in result.message or "not callable" in result.message
    in_code = result.frames and not is_tests_own(evidence, result.frames[-1].file)
    return result.exception == "TypeError" and bool(interface or in_code)


def _follows(rewrites: Rewritten, key: TestKey) -> bool:
    """Tell whether an old test was rewritten for code of another form, and asks the same of it."""
    new = rewrites.new.get(key)
    return key in rewrites.changed and new is not None and asks_the_same(rewrites.old[key].node, new.node)


def _changes(results: Sequence[TestResult]) -> Iterator[Finding]:
    """Yield a finding for each test, however many of its parameter sets fail."""
    for key in dict.fromkeys(result.key for result in results):
        first, *others = [result for result in results if result.key == key]
        more = f" (and {len(others)} more of its parameter sets)" if others else ""
        what = f"{first.id}, as it was before this refactoring, fails on the new code: {brief(first)}{more}"
        yield about(first, FindingType.TEST_FAILURE, what, FORMS)


# --- strength: what must not happen at all


def is_kept(evidence: Evidence, measured: Measured, name: TestId) -> bool:
    """Tell whether a test may only be moved or renamed: somebody else wrote it, and `legacy.tests` says so."""
    keeps = evidence.rules.legacy_tests == "keep" and name in measured.legacy.ids
    return keeps and not any(belongs(name, own) for own in evidence.ours)


def _legacy(evidence: Evidence, measured: Measured, rewrites: Rewritten) -> Iterator[Finding]:
    old = [
        result
        for result in rewrites.results(measured.before, rewrites.old)
        if is_kept(evidence, measured, result.id) and result.key in rewrites.changed
    ]
    if old:
        yield Finding(
            FindingType.TEST_TAMPERING,
            f"rewritten, and here since before the run: {named([result.id for result in old])}",
            old[0].file,
            old[0].line or None,
            hint=KEPT,
        )


def _sets(evidence: Evidence, measured: Measured, rewrites: Rewritten) -> Iterator[Finding]:
    """Yield that parameter sets are gone: fewer are left in all, or values that no test is given any more."""
    was, now = (
        rewrites.results(measured.before, rewrites.old),
        rewrites.results(measured.after, rewrites.new),
    )
    before, after = (Counter(result.key for result in side) for side in (was, now))
    fewer = {r.key: before[r.key] - after[r.key] for r in was if "[" in r.id or after[r.key]}
    fewer = {key: many for key, many in fewer.items() if many > 0}
    given = constants(item for key in fewer for item in python.values_given(rewrites.old[key].node))
    known = constants([*(test.node for test in rewrites.new.values()), *_shared(evidence, rewrites)])
    if sum(fewer.values()) > (after - before).total() or given - known:
        left = {result.id for result in now}
        lost = [result.id for result in was if result.key in fewer and result.id not in left]
        yield _weaker(rewrites, f"parameter sets are gone: {named(lost)}", sorted(fewer), SETS)


def _left_out(evidence: Evidence) -> Iterator[Finding]:
    """Yield tests that were there and may end early, or be skipped, on a condition that no test of these files knew."""
    files = list(python_tests(evidence))
    known = {way for _, before, _ in files for way in ways_out(python.parsed(before))}
    for change, before, after in files:
        names = {test.name for test in python.tests_in(before)}
        new = [test.node for test in python.tests_in(after) if test.name not in names]
        fresh = ways_out(python.parsed(after)) - known - {way for node in new for way in ways_out(node)}
        if before and fresh:
            what = f"tests that always ran are left out where {min(fresh)}"
            yield tampering(change.path, None, what, "Let every test run to its end wherever it did.")


# --- strength: what they notice


def _as_strong(
    evidence: Evidence, measured: Measured, rewrites: Rewritten, trial: Trial, was: SuiteRun
) -> Inquiry[list[Finding]]:
    """Make mutants of the code: what the old tests notice the new ones have to notice, too."""
    new = tuple(result.id for result in rewrites.results(measured.after, rewrites.new))
    old = [r.id for r in rewrites.results(measured.before, rewrites.old) if r.id in trial.tests]
    if not new or not old:
        return [_weaker(rewrites, "they were taken away and nothing took their place")] if old else []
    runnable = tuple(name for name in old if name in was.passed)
    stuck = _part(
        rewrites, [was.results[name] for name in old if name in was.results and name not in runnable]
    )
    after = Trial(evidence.head, tests=new)
    before = replace(trial, tests=runnable) if runnable else after
    mutants = yield from telling(evidence, before, after)
    if not runnable or stuck.old:
        lost = yield from _still_bites(evidence, measured, stuck if runnable else rewrites, mutants)
        if lost or not runnable:
            return lost
    slightly = [not mutants]  # whether the old tests notice a value that is a little off

    def losing(item: Mutant, then: Noticed, now: Noticed) -> list[TestResult]:
        slightly.append(item.mutation.slight and bool(then.by_assertion))
        return _blind(rewrites, item, then, now)

    if found := (yield from lost_mutant(before, after, mutants, losing)):
        return [
            _weaker(rewrites, f"they no longer notice {found.mutant.place}", [t.key for t in found.tests])
        ]
    if _assertions(measured.after, rewrites.new) < _assertions(measured.before, rewrites.old):
        given = yield from _fits(evidence, before, after, rewrites)
        if given is not None:
            return [_weaker(rewrites, f"code that gives {given}, whatever it is asked for, would do now")]
    if not any(slightly) and (lost := _no_longer_expected(evidence, rewrites)):
        return [_weaker(rewrites, f"{lost[0]} is no longer expected", _expecting(rewrites, lost[0]))]
    return (yield from _expectations_count(evidence, measured, rewrites))


def _fits(evidence: Evidence, old: Trial, new: Trial, rewrites: Rewritten) -> Inquiry[str | None]:
    """Return what all functions might give now; the old tests, which asserted more, would have noticed."""
    seen = seen_in(evidence, (yield replace(old, trace=True)))
    nodes = [*(test.node for test in rewrites.new.values()), *_shared(evidence, rewrites)]
    expected = {value for test in rewrites.old.values() for value in expected_values(test.node)}
    for value in sorted(expected & constants(nodes))[:FITTING]:
        overlay = code_rewritten(evidence, seen, partial(fitted, value=value))
        then = yield replace(old, overlay=(*old.overlay, *overlay), seed=SEED, probe=True)
        now = yield replace(new, overlay=overlay, seed=SEED, probe=True)
        if then.answered and not holds(then, old.tests) and holds(now, new.tests):
            return value
    return None


def _part(rewrites: Rewritten, results: Sequence[TestResult]) -> Rewritten:
    """Return what was rewritten of these tests; of what went by another name, all that is new."""
    keys = {result.key for result in results} & set(rewrites.old)
    new = {key: rewrites.new[key] for key in keys if key in rewrites.new}
    return replace(
        rewrites,
        old={key: rewrites.old[key] for key in keys},
        new=new if len(new) == len(keys) else rewrites.new,
    )


def _blind(rewrites: Rewritten, item: Mutant, then: Noticed, now: Noticed) -> list[TestResult]:
    """Return which tests noticed a mutant that nobody notices now.

    Where a value is a little off, every test has to notice that did, unless another one does it now in its stead.
    """
    noticing, still = ({test.key for test in side.failed} for side in (then, now))
    if not now.by_failing:
        return list(then.failed)
    if not item.mutation.slight or not still <= noticing:
        return []
    closely = [test for test in then.failed if test.kind is Kind.ASSERTION and test.key in rewrites.new]
    return [test for test in closely if test.key not in still]


def _still_bites(
    evidence: Evidence, measured: Measured, rewrites: Rewritten, mutants: list[Mutant]
) -> Inquiry[list[Finding]]:
    """Where the old tests cannot run on the new code, the new ones must notice a mutant and expect the same."""
    new = tuple(result.id for result in rewrites.results(measured.after, rewrites.new))
    exact = any(isinstance(item, ast.Eq) for test in rewrites.old.values() for item in ast.walk(test.node))
    mutants = [item for item in mutants if item.mutation.slight and exact] or mutants
    trial = Trial(evidence.head, tests=new)
    found = yield from noticed_by(trial, mutants)
    if found.tried and not found.by_failing:  # by chance, perhaps
        found = yield from noticed_by(replace(trial, seed=SEED + 1), mutants)
    if found.tried and not found.by_failing:
        return [_weaker(rewrites, f"they notice none of {found.tried} mutants of the code")]
    if _assertions(measured.after, rewrites.new) < _assertions(measured.before, rewrites.old):
        fewer = [key for key in rewrites.old if _asserts_less(measured, rewrites, key)]
        return [_weaker(rewrites, "they assert less than they did", fewer)]
    if lost := _no_longer_expected(evidence, rewrites):
        return [_weaker(rewrites, f"{lost[0]} is no longer expected", _expecting(rewrites, lost[0]))]
    return []


def _no_longer_expected(evidence: Evidence, rewrites: Rewritten) -> list[str]:
    """Return the constants of the old assertions that the new tests know nothing of.

    Keys and other texts may have become names, texts and numbers values of the language (dates, decimal numbers).
    """
    expected = {value for test in rewrites.old.values() for value in expected_values(test.node)}
    keyed = {value for test in rewrites.old.values() for value in keys(test.node)}
    nodes = [*(test.node for test in rewrites.new.values()), *_shared(evidence, rewrites)]
    named_now = {name for node in nodes for name in fields(node)}
    said, known = constants(nodes) | other_forms(nodes), names(nodes)
    return sorted(value for value in expected - said - (keyed & named_now) if letters_of(value) not in known)


def _expecting(rewrites: Rewritten, value: str) -> list[TestKey]:
    """Return the old tests that expected a value, the first being those that have lost it under their own name."""
    had = [key for key, test in rewrites.old.items() if value in expected_values(test.node)]
    return sorted(had, key=lambda key: key not in rewrites.new)


def _shared(evidence: Evidence, rewrites: Rewritten) -> Iterator[ast.AST]:
    """Yield what the files of the rewritten tests define beside them."""
    for file in {file for file, _ in rewrites.new}:
        yield from python.helpers(evidence.read(evidence.head, evidence.prefix + file)).values()


def _assertions(run: SuiteRun, tests: Tests) -> int:
    """Return how often these tests assert something, parameter sets counted."""
    keys = [result.key for result in run.results.values()]
    return sum(assertion_count(test.node) * max(keys.count(key), 1) for key, test in tests.items())


def _asserts_less(measured: Measured, rewrites: Rewritten, key: TestKey) -> bool:
    was = _assertions(measured.before, {key: rewrites.old[key]})
    return key in rewrites.new and _assertions(measured.after, {key: rewrites.new[key]}) < was


def _expectations_count(
    evidence: Evidence, measured: Measured, rewrites: Rewritten
) -> Inquiry[list[Finding]]:
    ids = [result.id for result in rewrites.results(measured.after, rewrites.new)]
    blind = yield from blind_comparison(evidence, ids, {file for file, _ in rewrites.new})
    if blind is None:
        return []
    return [_weaker(rewrites, f"whatever it is compared with, {blind.message}", [blind.key])]


def _weaker(rewrites: Rewritten, why: str, guilty: Sequence[TestKey] = (), hint: str = SHARP) -> Finding:
    """Return the finding that tests were weakened, at the first of the guilty ones; without any, of all."""
    tests = {**rewrites.old, **rewrites.new}
    key = next((key for key in guilty if key in tests), next(iter(rewrites.new or rewrites.old)))
    (file, function), line = key, tests[key].line
    return tampering(file, line, f"the tests were weakened ({function}): {why}", hint)
