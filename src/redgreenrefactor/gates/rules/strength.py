"""REFACTOR may rewrite tests, as long as they notice as much as they did."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from redgreenrefactor.gates.rules.findings import about, brief, errors, named, tampering
from redgreenrefactor.gates.rules.legacy import rechecked
from redgreenrefactor.gates.rules.measurement import Measured, old_tests
from redgreenrefactor.gates.rules.rewrites import Rewritten, Tests
from redgreenrefactor.languages import python
from redgreenrefactor.languages.assertions import (
    argument_names,
    asks_the_same,
    assertion_count,
    attributes,
    constants,
    expected_values,
    keys,
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
    in_lost_lines,
    mutants_in,
    noticed_by,
    seen_in,
    spread,
)
from redgreenrefactor.mutation.either_way import reading_either_way
from redgreenrefactor.mutation.unlike import fitted

FORMS = (
    "Keep the behaviour: touched tests are also run on the new code as they were. What it gives may have another form"
    " (an attribute instead of a key, a method instead of a property, an object with the fields of a dictionary),"
    " not other values."
)
SLIGHT, GROSS = 4, 5  # mutants of each sort that are tried
FITTING = 4  # values of the old tests that all functions give


def strength(evidence: Evidence, measured: Measured, rewrites: Rewritten) -> Inquiry[list[Finding]]:
    """Return what the tests no longer notice; a test that was only moved or renamed needs no proof."""
    if not any(is_test(evidence, change.path) for change in evidence.changes):
        return []
    found = yield from _behaviour(evidence, measured, rewrites)
    found += [*_legacy(evidence, measured, rewrites), *_sets(measured, rewrites)]
    if rewrites.old and not errors(found):
        found += yield from _as_strong(evidence, measured, rewrites)
    return found


# --- behaviour: the tests as they were, on the code as it is


def _behaviour(evidence: Evidence, measured: Measured, rewrites: Rewritten) -> Inquiry[list[Finding]]:
    files = {inside(evidence, change.path) for change in evidence.changes if is_test(evidence, change.path)}
    shared = any(name and not name.rpartition("/")[2].startswith("test") for name in files)
    ids = tuple(
        sorted(
            name for name in measured.before.passed if shared or measured.before.results[name].file in files
        )
    )
    if not ids:
        return []
    trial, run = yield from _as_they_were(evidence, ids)
    failed = [
        run.results[name] for name in ids if name in run.results and not _excused(evidence, run.results[name])
    ]
    changed = [result for result in failed if not _follows(rewrites, result.key)]
    old = [result for result in changed if result.id in measured.legacy.ids]
    recheck = yield from rechecked(evidence.base, trial, old)
    return list(_changes([r for r in changed if r not in old or r in recheck.broken]))


def _as_they_were(evidence: Evidence, ids: Sequence[TestId]) -> Inquiry[tuple[Trial, SuiteRun]]:
    """Return how the tests as they were are run, and what they do; where that helps, they read results in either way."""
    trial = Trial(evidence.head, overlay=old_tests(evidence), tests=tuple(ids))
    run = yield trial
    if len(run.passed) == len(ids):
        return trial, run
    overlay = tuple(
        (path, reading_either_way(text) if path.endswith(".py") else text) for path, text in trial.overlay
    )
    other = replace(trial, overlay=overlay)
    either = (yield other) if overlay != trial.overlay else run
    return (other, either) if len(either.passed) > len(run.passed) else (trial, run)


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
            hint="Tests that were here before may be moved or renamed, with their bodies as they were (legacy.tests=keep).",
        )


def _sets(measured: Measured, rewrites: Rewritten) -> Iterator[Finding]:
    """Yield tests that have lost parameter sets, under their own name or under another one."""
    was, now = (
        rewrites.results(measured.before, rewrites.old),
        rewrites.results(measured.after, rewrites.new),
    )
    for key in sorted(set(rewrites.old) & set(rewrites.new)):
        before, after = ({r.id for r in side if r.key == key} for side in (was, now))
        if len(after) < len(before):
            yield _weaker(rewrites, f"parameter sets are gone: {named(sorted(before - after))}", [key])
    gone = [r for r in was if r.key not in rewrites.new]
    families = {r.id.partition("[")[0] for r in gone if "[" in r.id}
    lost = [r for r in gone if r.id.partition("[")[0] in families]
    if len(lost) > sum(r.key not in rewrites.old for r in now):
        yield _weaker(rewrites, f"parameter sets are gone: {named([r.id for r in lost])}", [lost[0].key])


# --- strength: what they notice


def _as_strong(evidence: Evidence, measured: Measured, rewrites: Rewritten) -> Inquiry[list[Finding]]:
    """Make mutants of the code: what the old tests notice the new ones have to notice, too."""
    new = tuple(result.id for result in rewrites.results(measured.after, rewrites.new))
    old = tuple(
        r.id for r in rewrites.results(measured.before, rewrites.old) if r.id in measured.before.passed
    )
    if not new or not old:
        return [_weaker(rewrites, "they were taken away and nothing took their place")] if old else []
    trial, was = yield from _as_they_were(evidence, old)
    runnable = tuple(name for name in old if name in was.passed)
    traced = yield Trial(
        evidence.head, overlay=trial.overlay if runnable else (), tests=runnable or new, trace=True
    )
    seen = seen_in(evidence, traced)
    mutants = mutants_in(evidence, seen)
    now = yield Trial(evidence.head, tests=new, trace=True)
    mutants = [*in_lost_lines(evidence, mutants, traced, now), *_chosen(mutants)]
    stuck = _part(
        rewrites, [was.results[name] for name in old if name in was.results and name not in was.passed]
    )
    if not runnable or stuck.old:
        lost = yield from _still_bites(evidence, measured, stuck if runnable else rewrites, mutants)
        if lost or not runnable:
            return lost
    slightly = not mutants  # whether the old tests notice a value that is a little off
    for item in mutants:
        then, lost = yield from _no_longer_noticed(replace(trial, tests=runnable), rewrites, new, item)
        slightly = slightly or (item.mutation.slight and bool(then.by_assertion))
        again = _no_longer_noticed(replace(trial, tests=runnable), rewrites, new, item, seed=SEED + 1)
        if lost is not None and (yield from again)[1] is not None:
            return [_weaker(rewrites, f"they no longer notice {item.place}", lost)]
    if _assertions(measured.after, rewrites.new) < _assertions(measured.before, rewrites.old):
        given = yield from _fits(evidence, replace(trial, tests=runnable), rewrites, new, seen)
        if given is not None:
            return [_weaker(rewrites, f"code that gives {given}, whatever it is asked for, would do now")]
    if not slightly and (lost := _no_longer_expected(evidence, rewrites)):
        return [_weaker(rewrites, f"{lost[0]} is no longer expected", _expecting(rewrites, lost[0]))]
    return (yield from _expectations_count(evidence, measured, rewrites))


def _fits(
    evidence: Evidence, old: Trial, rewrites: Rewritten, new: Sequence[TestId], files: Iterable[str]
) -> Inquiry[str | None]:
    """Return what all functions might give now; the old tests, which asserted more, would have noticed."""
    nodes = [*(test.node for test in rewrites.new.values()), *_shared(evidence, rewrites)]
    expected = {value for test in rewrites.old.values() for value in expected_values(test.node)}
    for value in sorted(expected & constants(nodes))[:FITTING]:
        overlay = code_rewritten(evidence, files, partial(fitted, value=value))
        then = yield replace(old, overlay=(*old.overlay, *overlay), seed=SEED, probe=True)
        now = yield Trial(evidence.head, overlay, tuple(new), seed=SEED, probe=True)
        if then.answered and not holds(then, old.tests) and holds(now, new):
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


def _no_longer_noticed(
    old: Trial, rewrites: Rewritten, new: Sequence[TestId], item: Mutant, seed: int = SEED
) -> Inquiry[tuple[Noticed, list[TestKey] | None]]:
    """Return how the old tests notice a mutant, and which do if the new ones do not; chance is the same for both.

    Where a value is a little off, every test has to notice that did, unless another one does it now in its stead.
    """
    then = yield from noticed_by(old.commit, old.tests, [item], overlay=old.overlay, seed=seed)
    if not then.by_failing:
        return then, None
    now = yield from noticed_by(old.commit, new, [item], seed=seed)
    noticing, still = ({r.key: r.kind for r in side.failed} for side in (then, now))
    if not now.by_failing:
        return then, list(noticing) if now.tried else None
    closely = [key for key, kind in noticing.items() if kind is Kind.ASSERTION and key in rewrites.new]
    lost = [key for key in closely if key not in still] if item.mutation.slight else []
    return then, lost if lost and still.keys() <= noticing.keys() else None


def _chosen(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Return slight ones first: a weakened assertion misses those."""
    slight = [item for item in mutants if item.mutation.slight]
    gross = [item for item in mutants if not item.mutation.slight]
    return [*spread(slight, SLIGHT), *spread(gross, GROSS)]


def _still_bites(
    evidence: Evidence, measured: Measured, rewrites: Rewritten, mutants: list[Mutant]
) -> Inquiry[list[Finding]]:
    """Where the old tests cannot run on the new code, the new ones must notice a mutant and expect the same."""
    new = tuple(result.id for result in rewrites.results(measured.after, rewrites.new))
    exact = any(isinstance(item, ast.Eq) for test in rewrites.old.values() for item in ast.walk(test.node))
    mutants = [item for item in mutants if item.mutation.slight and exact] or mutants
    found = yield from noticed_by(evidence.head, new, mutants)
    if found.tried and not found.by_failing:  # by chance, perhaps
        found = yield from noticed_by(evidence.head, new, mutants, seed=SEED + 1)
    if found.tried and not found.by_failing:
        return [_weaker(rewrites, f"they notice none of {found.tried} mutants of the code")]
    if _assertions(measured.after, rewrites.new) < _assertions(measured.before, rewrites.old):
        fewer = [key for key in rewrites.old if _asserts_less(measured, rewrites, key)]
        return [_weaker(rewrites, "they assert less than they did", fewer)]
    if lost := _no_longer_expected(evidence, rewrites):
        return [_weaker(rewrites, f"{lost[0]} is no longer expected", _expecting(rewrites, lost[0]))]
    return []


def _no_longer_expected(evidence: Evidence, rewrites: Rewritten) -> list[str]:
    """Return the constants of the old assertions that the new tests know nothing of; keys may have become names."""
    expected = {value for test in rewrites.old.values() for value in expected_values(test.node)}
    nodes = [*(test.node for test in rewrites.new.values()), *_shared(evidence, rewrites)]
    now = constants(nodes) | {repr(name) for node in nodes for name in attributes(node)}
    keyed = {value for test in rewrites.old.values() for value in keys(test.node)}
    given = {repr(name) for node in nodes for name in argument_names(node)}
    return sorted(expected - now - (keyed & given))


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


def _weaker(rewrites: Rewritten, why: str, guilty: Sequence[TestKey] = ()) -> Finding:
    """Return the finding that tests were weakened, at the first of the guilty ones; without any, of all."""
    tests = {**rewrites.old, **rewrites.new}
    key = next((key for key in guilty if key in tests), next(iter(rewrites.new or rewrites.old)))
    (file, function), line = key, tests[key].line
    hint = "Rewritten tests have to notice every mutant the old ones noticed: keep their assertions as sharp."
    return tampering(file, line, f"the tests were weakened ({function}): {why}", hint)
