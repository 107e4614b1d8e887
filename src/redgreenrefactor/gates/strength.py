"""REFACTOR may rewrite tests, as long as they notice as much as they did."""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass

from redgreenrefactor.gates import python
from redgreenrefactor.gates.common import Measured, brief, errors, named
from redgreenrefactor.gates.paths import inside, is_test
from redgreenrefactor.gates.proof import HANDFUL, Overlay, Planted, bends, noticed_by, planted_in, spread
from redgreenrefactor.model.evidence import Evidence, Question, SuiteRun, TestId, TestResult, Trial
from redgreenrefactor.model.verdict import Finding, FindingType

Findings = Generator[Question, SuiteRun, list[Finding]]
Key = tuple[str, str]  # file, qualified name


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The tests a refactoring has touched: as they were, and as they are."""

    old: Mapping[Key, python.Definition]
    new: Mapping[Key, python.Definition]

    def results(self, run: SuiteRun, side: Mapping[Key, python.Definition]) -> list[TestResult]:
        """Return what these tests did in a run."""
        return [result for result in run.results.values() if (result.file, result.function) in side]


def strength(evidence: Evidence, measured: Measured) -> Findings:
    """Return what the tests no longer notice; a test that was only moved or renamed needs no proof."""
    if not any(is_test(evidence, change.path) for change in evidence.changes):
        return []
    found = yield from _behaviour(evidence, measured)
    rewritten = _rewritten(evidence)
    found += [*_legacy(measured, rewritten), *_parameters(measured, rewritten)]
    if rewritten.old and not errors(found):
        found += yield from _as_strong(evidence, measured, rewritten)
    return found


def _overlay(evidence: Evidence) -> Overlay:
    """Return the tests as they were before the turn."""
    return tuple(
        (change.path, change.before.text if change.before else None)
        for change in evidence.changes
        if is_test(evidence, change.path) and (change.before is None or change.before.text is not None)
    )


# --- behaviour: the tests as they were, on the code as it is


def _behaviour(evidence: Evidence, measured: Measured) -> Findings:
    files = {inside(evidence, change.path) for change in evidence.changes if is_test(evidence, change.path)}
    shared = any(name and not name.rpartition("/")[2].startswith("test") for name in files)
    ids = tuple(
        sorted(
            name for name in measured.before.passed if shared or measured.before.results[name].file in files
        )
    )
    if not ids:
        return []
    run = yield Trial(evidence.head, overlay=_overlay(evidence), tests=ids)
    return [
        _changed(run.results[name]) for name in ids if name in run.results and not _excused(run.results[name])
    ]


def _excused(result: TestResult) -> bool:
    """Tell whether an old test passes, or fails only because a name it uses was moved or renamed."""
    if result.passed or result.missing is not None:
        return True
    return result.exception == "TypeError" and "argument" in result.message


def _changed(result: TestResult) -> Finding:
    return Finding(
        FindingType.TEST_FAILURE,
        f"{result.id}, as it was before this refactoring, fails on the new code: {brief(result)}",
        result.file,
        result.line or None,
        hint="Keep the behaviour: a refactoring changes how the code is written, not what it does.",
    )


# --- strength: which tests were rewritten


def _rewritten(evidence: Evidence) -> Rewritten:
    """Return the tests that differ in more than name, place and layout, with those whose helpers do."""
    old, new = _definitions(evidence, before=True), _definitions(evidence, before=False)
    touched = _touched_helpers(evidence)
    bodies = {python.renamed(test.node) for test in new.values()}
    changed_old = {
        key: test
        for key, test in old.items()
        if python.renamed(test.node) not in bodies or python.mentions(test.node, touched)
    }
    known = {python.renamed(test.node) for test in old.values()}
    changed_new = {
        key: test
        for key, test in new.items()
        if python.renamed(test.node) not in known or python.mentions(test.node, touched)
    }
    return Rewritten(changed_old, changed_new)


def _definitions(evidence: Evidence, *, before: bool) -> dict[Key, python.Definition]:
    found: dict[Key, python.Definition] = {}
    for change in evidence.changes:
        side, local = (change.before if before else change.after), inside(evidence, change.path)
        if side and local and change.path.endswith(".py") and is_test(evidence, change.path):
            found.update({(local, test.name): test for test in python.tests_in(side.text)})
    return found


def _touched_helpers(evidence: Evidence) -> frozenset[str]:
    """Return the names of helpers, fixtures and constants of the tests that were changed or taken away."""
    names: set[str] = set()
    for change in evidence.changes:
        if change.path.endswith(".py") and is_test(evidence, change.path):
            before, after = (
                python.helpers(side.text if side else None) for side in (change.before, change.after)
            )
            names |= {name for name, code in before.items() if after.get(name) != code}
    return frozenset(names)


def _legacy(measured: Measured, rewritten: Rewritten) -> Iterator[Finding]:
    own_helpers = set(rewritten.old) & set(rewritten.new)
    for result in rewritten.results(measured.before, rewritten.old):
        key = (result.file, result.function)
        same = key in own_helpers and python.renamed(rewritten.old[key].node) == python.renamed(
            rewritten.new[key].node
        )
        if result.id in measured.legacy.ids and not same:
            yield Finding(
                FindingType.TEST_TAMPERING,
                f"{result.id} stood here before the run and was rewritten",
                result.file,
                result.line or None,
                hint="Tests that were here before may be moved or renamed, with their bodies as they were.",
            )


def _parameters(measured: Measured, rewritten: Rewritten) -> Iterator[Finding]:
    """Yield tests that have lost parameter sets."""
    for key in set(rewritten.old) & set(rewritten.new):
        before = {r.id for r in measured.before.results.values() if (r.file, r.function) == key}
        after = {r.id for r in measured.after.results.values() if (r.file, r.function) == key}
        if len(after) < len(before):
            lost = sorted(before - after)
            yield Finding(
                FindingType.TEST_TAMPERING,
                f"parameter sets are gone: {named(lost)}",
                key[0],
                rewritten.new[key].line,
                hint="Keep every parameter set.",
            )


# --- strength: what they notice


def _as_strong(evidence: Evidence, measured: Measured, rewritten: Rewritten) -> Findings:
    """Plant mistakes into the code: what the old tests notice the new ones have to notice, too."""
    new = tuple(result.id for result in rewritten.results(measured.after, rewritten.new))
    old = tuple(
        r.id for r in rewritten.results(measured.before, rewritten.old) if r.id in measured.before.passed
    )
    if not new:
        return [_weaker(rewritten, "they were taken away and nothing took their place")] if old else []
    overlay = _overlay(evidence)
    was = yield Trial(evidence.head, overlay=overlay, tests=old)
    runnable = tuple(name for name in old if name in was.passed)
    traced = yield Trial(
        evidence.head, overlay=overlay if runnable else (), tests=runnable or new, trace=True
    )
    planted = spread(planted_in(evidence, _code_lines(evidence, traced)), 3 * HANDFUL)
    if not runnable:
        return (yield from _still_bites(evidence, rewritten, new, planted))
    missed: list[str] = []
    for item in planted:
        noticed, tried = yield from noticed_by(
            evidence.head, runnable, [item], enough=1, least=1, overlay=overlay
        )
        if not tried:
            break
        if noticed:
            still, asked = yield from noticed_by(evidence.head, new, [item], enough=1, least=1)
            if asked and not still:
                missed.append(item.place)
    if missed:
        return [_weaker(rewritten, f"they no longer notice {missed[0]}")]
    return (yield from _not_bent(evidence, measured, rewritten))


def _still_bites(
    evidence: Evidence, rewritten: Rewritten, new: tuple[TestId, ...], planted: list[Planted]
) -> Findings:
    """Where the old tests cannot run on the new code, the new ones must at least notice a mistake."""
    noticed, tried = yield from noticed_by(evidence.head, new, planted, enough=1, least=1)
    if tried and not noticed:
        return [_weaker(rewritten, f"they notice none of {tried} mistakes planted into the code")]
    if _assertions(rewritten.new) < _assertions(rewritten.old):
        return [_weaker(rewritten, "they assert less than they did")]
    return []


def _assertions(tests: Mapping[Key, python.Definition]) -> int:
    return sum(python.assertion_count(test.node) for test in tests.values())


def _not_bent(evidence: Evidence, measured: Measured, rewritten: Rewritten) -> Findings:
    for file, function in rewritten.new:
        ids = [r.id for r in measured.after.results.values() if (r.file, r.function) == (file, function)]
        passes = (yield from bends(evidence, ids, file, function)) if ids else None
        if passes:
            return [_weaker(rewritten, f"{function} passes whatever it expects")]
    return []


def _code_lines(evidence: Evidence, traced: SuiteRun) -> Mapping[str, frozenset[int]]:
    return {
        name: lines
        for name, lines in traced.executed.items()
        if not is_test(evidence, f"{evidence.prefix}{name}")
    }


def _weaker(rewritten: Rewritten, why: str) -> Finding:
    (file, function), test = next(iter((rewritten.new or rewritten.old).items()))
    return Finding(
        FindingType.TEST_TAMPERING,
        f"{file}:{test.line}: the tests were weakened ({function}): {why}",
        file,
        test.line,
        hint="Rewritten tests have to notice every mistake the old ones noticed: keep their assertions as sharp.",
    )
