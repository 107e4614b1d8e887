"""GREEN: every test passes, the new one too, and no test or configuration was touched."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from redgreenrefactor.gates.rules.coverage import covered
from redgreenrefactor.gates.rules.disguise import beside, hidden, in_disguise
from redgreenrefactor.gates.rules.exit_code import by_exit_code
from redgreenrefactor.gates.rules.findings import about, brief, errors, failure, nothing_done
from redgreenrefactor.gates.rules.leaning import seen_uses, support_touched
from redgreenrefactor.gates.rules.legacy import also_mended, mended, regressions
from redgreenrefactor.gates.rules.measurement import (
    Measured,
    gone,
    interference,
    measure,
    timed_out,
    uncollected,
)
from redgreenrefactor.gates.rules.minimality import minimality
from redgreenrefactor.gates.rules.new_test import is_slow
from redgreenrefactor.gates.rules.ownership import with_roles
from redgreenrefactor.gates.rules.replacements import supplanted, usurped
from redgreenrefactor.gates.rules.scope import doubts, tests_touched
from redgreenrefactor.gates.rules.tampering import altered_examples, borrowed, forbidden, sniffing
from redgreenrefactor.languages import python
from redgreenrefactor.languages.assertions import claims_made
from redgreenrefactor.languages.diff import added_lines, first_written
from redgreenrefactor.languages.paths import inside, is_test
from redgreenrefactor.model.evidence import (
    Evidence,
    Inquiry,
    Judgement,
    Measure,
    SuiteRun,
    TestId,
    TestResult,
    Trial,
)
from redgreenrefactor.model.facts import MISTAKES, NO_FACTS, Facts, MutantCounts
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Severity, TestOutcome, Verdict, rule
from redgreenrefactor.mutation.detection import (
    HANDFUL,
    Mutant,
    belongs,
    blind_comparison,
    mutants_in,
    noticed_by,
    obeyed,
    spread,
)
from redgreenrefactor.mutation.false_expectations import reached

TOLD = 3  # failures of the new test alone


def green(evidence: Evidence) -> Judgement:
    """Every test passes, the new one too, and no test or configuration was touched; enough code is reached."""
    return (yield from covered(evidence, (yield from _green(evidence))))


def _green(evidence: Evidence) -> Judgement:
    evidence = yield from with_roles(evidence, evidence.earlier)
    found = [*forbidden(evidence), *tests_touched(evidence), *doubts(evidence)]
    if evidence.handoff.outcome is not Outcome.WARNED:
        found += nothing_done(evidence, "Write the least code that makes the new test pass.")
    if errors(found):
        return rule(*found)
    facts = Facts(evidence=Measure.PER_TEST)
    before = yield Trial(evidence.base)
    if failing := (yield from _still_failing(evidence, before, evidence.handoff.facts.new_tests)):
        return rule(*found, *failing, test_result=TestOutcome.FAIL, facts=facts)
    measured = yield from measure(evidence)
    if isinstance(measured, Verdict):
        return measured
    found += borrowed(evidence, measured.after)
    if measured.after.measure is Measure.EXIT_CODE:
        return (yield from by_exit_code(evidence, measured, [*found, *sniffing(evidence)]))
    found += [*interference(evidence, measured), *gone(evidence, measured), *not_green(measured)]
    found += altered_examples(evidence, measured.before)
    runs = yield from seen_uses(evidence, measured, evidence.head, new_ids(evidence, measured))
    found += [*support_touched(evidence, *runs), *supplanted(evidence, measured.after, measured.before)]
    found += yield from regressions(evidence, measured)
    if errors(found):
        return rule(*found, test_result=TestOutcome.FAIL, facts=facts)
    more, learned = yield from _probes(evidence, measured)
    now_passing = mended(measured)
    found += also_mended(evidence, now_passing)
    facts = replace(learned, mended=tuple(now_passing))
    return rule(*found, *more, test_result=TestOutcome.PASS, facts=facts)


def not_green(measured: Measured, excused: frozenset[TestId] = frozenset()) -> Iterator[Finding]:
    """Yield the tests that do not pass and never passed; those failing before the run are left alone."""
    yield from uncollected(measured, "Make the code importable: the new test has to run.")
    for error in measured.before.errors:
        if error.file not in measured.legacy.uncollected | measured.after.uncollected | measured.after.files:
            yield Finding(
                FindingType.TEST_TAMPERING,
                f"the tests of {error.file} are gone",
                error.file,
                hint="Let the runner collect the new test.",
            )
    for result in measured.after.results.values():
        if result.passed or result.id in measured.before.passed | measured.legacy.ids | excused:
            continue
        if result.silenced:
            what = f"{result.id} is {result.status} ({brief(result)})"
            yield about(result, FindingType.TEST_TAMPERING, what, "The new test has to run and pass.")
        else:
            yield failure(result)


# --- looking closer at the new test


def _probes(evidence: Evidence, measured: Measured) -> Inquiry[tuple[list[Finding], Facts]]:
    """Run the new test alone, in disguise, with wrong expectations, on broken and on smaller code."""
    ids = new_ids(evidence, measured)
    facts = Facts(evidence=Measure.PER_TEST, tests=ids)
    found = yield from honest_code(evidence, measured, ids)
    if ids and not errors(found):
        more, facts = yield from _closer_look(evidence, ids, facts, hidden(evidence, ids))
        found += more
    return found, facts


def _closer_look(
    evidence: Evidence, ids: Sequence[TestId], facts: Facts, usual: Trial
) -> Inquiry[tuple[list[Finding], Facts]]:
    noticed = yield from _bites(evidence, ids, usual)
    found, share = yield from minimality(evidence, ids)
    return [*_unnoticed(evidence, noticed), *found], replace(facts, mutants=noticed, minimality=share)


def owed(evidence: Evidence) -> Inquiry[tuple[list[Finding], Facts]]:
    """Return what the GREEN before this turn had no time to find out; it was accepted, so this only warns."""
    ids = evidence.handoff.facts.new_tests if evidence.earlier else ()
    if not ids:
        return [], NO_FACTS
    earlier = replace(evidence, head=evidence.base, changes=evidence.earlier)
    found, facts = yield from _closer_look(earlier, ids, NO_FACTS, hidden(earlier, ids))
    return [replace(finding, severity=Severity.WARNING) for finding in found], facts


def honest_code(evidence: Evidence, measured: Measured, ids: Sequence[TestId]) -> Inquiry[list[Finding]]:
    """Return why a test passes for another reason than that the code is right: the cycle's, or one of before."""
    if not ids:
        return []
    others = beside(evidence, measured, ids)
    found = yield from in_disguise(evidence, ids, others)
    if not errors(found):
        found += yield from _equals_anything(evidence, measured, ids, others)
    if not errors(found):
        found += yield from _idle(evidence, _results(measured, ids), ids)
    if not errors(found):
        unseen = yield hidden(evidence, ids)
        found += yield from usurped(evidence, unseen, ids, _files(measured, ids))
    return found


def _files(measured: Measured, ids: Sequence[TestId]) -> Iterable[str]:
    """Return the files that these tests stand in, each once."""
    return dict.fromkeys(result.file for result in _results(measured, ids))


def _results(measured: Measured, ids: Sequence[TestId]) -> list[TestResult]:
    return [result for result in measured.after.results.values() if _is_of(result.id, ids)]


def _idle(evidence: Evidence, results: Sequence[TestResult], ids: Sequence[TestId]) -> Inquiry[list[Finding]]:
    """Return that tests come to none of their assertions, where they may pass all of them by."""
    file, names = results[0].file if results else "", {result.function for result in results}
    text = evidence.text(file)
    tree, tests = python.parsed(text), [test.node for test in python.tests_in(text) if test.name in names]
    made = [item for test in tests for item in claims_made(test, tree or test)[0]]
    certain = [item for test in tests for item in reached(test.body)]
    if not made or any(item in certain for item in made):
        return []
    executed = (yield Trial(evidence.head, tests=tuple(ids), trace=True, probe=True)).executed.get(file)
    if not executed or any(line in executed for item in made for line in python.span(item)):
        return []
    what = f"{ids[0]} passes without coming to any of its assertions"
    return [_met_anyway(evidence, what, "Do what the case says: the test has to come to what it asserts.")]


def new_ids(evidence: Evidence, measured: Measured) -> tuple[TestId, ...]:
    """Return the tests RED wrote, as its note names them, or those that did not run before."""
    names = evidence.handoff.facts.new_tests
    known = tuple(name for name in names if any(belongs(test, name) for test in measured.after.ids))
    fresh = tuple(sorted(measured.after.ids - measured.before.ids))
    return (
        known or fresh or tuple(r.id for r in measured.after.results.values() if r.file == evidence.test_file)
    )


def _equals_anything(
    evidence: Evidence, measured: Measured, ids: Sequence[TestId], others: Sequence[TestId]
) -> Inquiry[list[Finding]]:
    """Return a finding where what a test compares equals anything, or is whatever the test asks for."""
    all_ids = (*ids, *others)
    blind = yield from blind_comparison(evidence, all_ids, _files(measured, all_ids))
    if blind is not None and blind.id in others:  # as it may have been before this turn
        then = replace(evidence, head=evidence.base)
        blind = None if (yield from blind_comparison(then, (blind.id,), (blind.file,))) else blind
    if blind is not None:
        what = f"{blind.id} passes with other values, too: in {blind.file}, {blind.message}"
        return [_met_anyway(evidence, what, "Return plain values: what compares equal has to be equal.")]
    asked = yield from obeyed(evidence, _results(measured, ids))
    if asked is None:
        return []
    what = f"{ids[0]} passes although another value is asked for at {asked.file}:{asked.line}"
    return [
        _met_anyway(evidence, what, "Compute the result from what is given; do not read it off the test.")
    ]


def _met_anyway(evidence: Evidence, what: str, hint: str) -> Finding:
    planned = evidence.impl_file
    lines = (first_written(change) for change in evidence.changes if inside(evidence, change.path) == planned)
    return Finding(FindingType.TEST_TAMPERING, what, planned or None, next(lines, None), hint)


def _bites(evidence: Evidence, ids: Sequence[TestId], usual: Trial) -> Inquiry[MutantCounts | None]:
    """Return how many mutants of the lines written now the new test notices, and which only other tests do."""
    lines = {
        local: added_lines(change)
        for change in evidence.changes
        if change.after
        and (local := inside(evidence, change.path)) is not None
        and not is_test(evidence, change.path)
    }
    mutants = spread(mutants_in(evidence, lines), HANDFUL)
    many = len(mutants)
    run = (yield replace(usual, spare=MISTAKES)) if mutants else None
    alone = Trial(evidence.head, tests=tuple(ids), spare=MISTAKES)
    found = yield from noticed_by(alone, mutants, enough=many, least=many, usual=run)
    if not found.tried:
        return None
    missed = [item for item in mutants[: found.tried] if item not in found.by_failing]
    elsewhere = (yield from _noticed_elsewhere(evidence, ids, missed)) if missed else ()
    return MutantCounts(
        found.tried,
        len(found.by_failing),
        missed=tuple(item.place for item in missed),
        others=tuple(item.place for item in elsewhere) or None,
    )


def _noticed_elsewhere(
    evidence: Evidence, ids: Sequence[TestId], mutants: Sequence[Mutant]
) -> Inquiry[tuple[Mutant, ...]]:
    """Return the mutants that other tests than these notice, where there are any and they are fast."""
    whole, many = (yield Trial(evidence.head)), len(mutants)
    others = tuple(sorted(name for name in whole.passed if not _is_of(name, ids)))
    if is_slow(whole) or not others:
        return ()
    trial = Trial(evidence.head, tests=others, spare=MISTAKES)
    found = yield from noticed_by(trial, mutants, enough=many, least=many)
    return found.by_failing


def _is_of(test: TestId, names: Sequence[TestId]) -> bool:
    return any(belongs(test, name) for name in names)


def _unnoticed(evidence: Evidence, counts: MutantCounts | None) -> Iterator[Finding]:
    """Yield that the new test notices nothing of what may go wrong in the code that was written for it."""
    if counts and not counts.noticed:
        yield Finding(
            FindingType.MEANINGLESS_TEST,
            f"the new test notices none of {counts.tried} mutants of the lines written for it",
            evidence.test_file or None,
            hint="Let REFACTOR sharpen what the test compares, or the next case look at it.",
            severity=Severity.WARNING,
        )


def _still_failing(evidence: Evidence, before: SuiteRun, names: Sequence[TestId]) -> Inquiry[list[Finding]]:
    """Return why GREEN cannot be accepted, where the suite is slow and RED's test fails by itself already."""
    if not names or not is_slow(before):
        return []
    run = yield Trial(evidence.head, tests=tuple(names))
    if run.timed_out:
        return [timed_out(run)]
    if not run.finished or run.tampering:
        return []  # the whole suite tells more
    failed = [result for result in run.results.values() if result.failed and _is_of(result.id, names)]
    return [failure(result) for result in failed[:TOLD]]
