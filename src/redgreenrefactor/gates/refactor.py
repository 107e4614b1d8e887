"""REFACTOR: the code reads better, does the same, and the tests are as strong as they were."""

from dataclasses import replace
from pathlib import PurePosixPath

from redgreenrefactor.gates.green import honest_code, new_ids, not_green, owed
from redgreenrefactor.gates.rules.exit_code import by_exit_code
from redgreenrefactor.gates.rules.findings import errors
from redgreenrefactor.gates.rules.leaning import cut_off
from redgreenrefactor.gates.rules.legacy import also_mended, mended, regressions
from redgreenrefactor.gates.rules.measurement import Measured, interference, lost_tests, measure
from redgreenrefactor.gates.rules.ownership import with_roles
from redgreenrefactor.gates.rules.replacements import supplanted
from redgreenrefactor.gates.rules.rewrites import Rewritten, rewritten
from redgreenrefactor.gates.rules.scope import doubts, lost_names
from redgreenrefactor.gates.rules.strength import KEPT, is_kept, strength
from redgreenrefactor.gates.rules.tampering import (
    altered_examples,
    borrowed,
    forbidden,
    hooked,
    sniffing,
)
from redgreenrefactor.languages.paths import is_test
from redgreenrefactor.model.evidence import Evidence, Judgement, Measure, TestId, TestResult
from redgreenrefactor.model.facts import NO_FACTS
from redgreenrefactor.model.verdict import Finding, TestOutcome, Verdict, rule


def refactor(evidence: Evidence) -> Judgement:
    """Every test passes, the old ones too, and none was weakened; an unchanged tree needs no proof."""
    evidence = yield from with_roles(evidence)
    found = [*forbidden(evidence), *doubts(evidence), *lost_names(evidence)]
    if errors(found):
        return rule(*found)
    if not evidence.changes:
        late, facts = yield from owed(evidence)
        return rule(*found, *late, test_result=TestOutcome.PASS, facts=facts)
    measured = yield from measure(evidence)
    if isinstance(measured, Verdict):
        return measured
    found += borrowed(evidence, measured.after)
    if measured.after.measure is Measure.EXIT_CODE:
        return (yield from by_exit_code(evidence, measured, [*found, *hooked(evidence), *sniffing(evidence)]))
    rewrites = rewritten(evidence)
    found += [*interference(evidence, measured), *_lost(evidence, measured, rewrites)]
    found += altered_examples(evidence, measured.before)
    found += supplanted(evidence, measured.after, measured.before)
    found += not_green(measured, _failed_before(measured, rewrites))
    found += yield from regressions(evidence, measured)
    if not errors(found):
        found += yield from strength(evidence, measured, rewrites)
    if not errors(found):
        found += yield from cut_off(evidence, measured, rewrites)
    if not errors(found) and any(not is_test(evidence, change.path) for change in evidence.changes):
        found += yield from honest_code(evidence, measured, new_ids(evidence, measured))
    now_passing = mended(measured, rewrites.moved)
    found += also_mended(evidence, now_passing)
    late, learned = ([], NO_FACTS) if errors(found) else (yield from owed(evidence))
    facts = replace(learned, evidence=Measure.PER_TEST, mended=tuple(now_passing))
    outcome = TestOutcome.FAIL if errors(found) else TestOutcome.PASS
    return rule(*found, *late, test_result=outcome, facts=facts)


def _lost(evidence: Evidence, measured: Measured, rewrites: Rewritten) -> list[Finding]:
    """Return a finding where tests disappeared and nothing could have taken their place."""
    results = [measured.before.results[name] for name in measured.lost]
    lost = [result.id for result in results if not _accounted(evidence, measured, rewrites, result)]
    kept = any(is_kept(evidence, measured, name) for name in lost)
    hint = (
        KEPT
        if kept
        else "A test may be renamed, moved, split or merged into a parametrised one; none is dropped."
    )
    return list(lost_tests(measured, lost, "tests are gone", hint))


def _accounted(evidence: Evidence, measured: Measured, rewrites: Rewritten, result: TestResult) -> bool:
    """Tell whether a test goes by another name now, or new tests are there that will have to prove as much."""
    key, running = result.key, {r.key for r in measured.after.results.values()}
    kept = is_kept(evidence, measured, result.id)
    grown = [k for k in rewrites.new if k not in rewrites.old] or set(rewrites.new) & set(rewrites.old) - {
        key
    }
    if key not in rewrites.changed:  # renamed in the file is not enough: the runner has to find it
        return rewrites.twin(key) in running or _is_moved_doctest(measured, result)
    return (bool(grown) or key in running) and not kept


def _is_moved_doctest(measured: Measured, result: TestResult) -> bool:
    """Tell whether the examples of something are run elsewhere, or under another name: that none is lost was looked at."""
    return _is_doctest(result) and any(_is_doctest(r) for r in measured.fresh)


def _is_doctest(result: TestResult) -> bool:
    """Tell whether a test is the examples of a file, or of something in it: it is called like its module."""
    module = PurePosixPath(result.file).stem
    return not result.function.startswith("test") and module in result.id.rpartition("::")[2].split(".")


def _failed_before(measured: Measured, rewrites: Rewritten) -> frozenset[TestId]:
    """Return the tests that failed before the run and go by another name now."""
    failing = {r.key for r in measured.legacy.results.values() if not r.passed}
    return frozenset(r.id for r in measured.after.results.values() if rewrites.moved.get(r.key) in failing)
