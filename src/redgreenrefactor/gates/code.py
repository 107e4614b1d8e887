"""CODE: whatever was asked for is written, the suite is green, and nothing that worked was given up for it."""

from collections.abc import Iterator
from dataclasses import replace

from redgreenrefactor.gates.rules.coverage import covered
from redgreenrefactor.gates.rules.disguise import in_disguise
from redgreenrefactor.gates.rules.exit_code import by_exit_code
from redgreenrefactor.gates.rules.findings import errors, failure, nothing_done
from redgreenrefactor.gates.rules.legacy import regressions
from redgreenrefactor.gates.rules.measurement import (
    Measured,
    interference,
    lost_tests,
    measure,
    uncollected,
)
from redgreenrefactor.gates.rules.rewrites import rewritten
from redgreenrefactor.gates.rules.scope import doubts
from redgreenrefactor.gates.rules.tampering import borrowed, forbidden, hooked, sniffing
from redgreenrefactor.model.evidence import Evidence, Judgement, Measure, SuiteRun
from redgreenrefactor.model.facts import Counts, Facts
from redgreenrefactor.model.verdict import Finding, Severity, TestOutcome, Verdict, rule

LONGEST = 100_000  # characters of a session's account that a note keeps


def code(evidence: Evidence) -> Judgement:
    """The suite is green, nothing that passed is gone or skipped, and the runner's configuration is untouched."""
    found = [*forbidden(evidence), *doubts(evidence)]
    found += nothing_done(evidence, "Write what the specification, and the reviewer, ask for, and commit it.")
    facts = Facts(message=evidence.report.message[:LONGEST])
    if errors(found):
        return rule(*found, facts=facts)
    measured = yield from measure(evidence)
    if isinstance(measured, Verdict):
        return measured
    facts = replace(facts, tests=counted(measured.after))
    found += borrowed(evidence, measured.after)
    if measured.after.measure is Measure.EXIT_CODE:
        verdict = yield from by_exit_code(evidence, measured)
        found += [*hooked(evidence), *sniffing(evidence), *verdict.findings]
        facts = replace(verdict.facts, message=facts.message, tests=facts.tests)
        return rule(*found, test_result=verdict.test_result, facts=facts)
    found += [*interference(evidence, measured), *_gone(evidence, measured), *failing(measured)]
    found += yield from regressions(evidence, measured)
    if not errors(found) and (fresh := [result.id for result in measured.fresh if result.passed]):
        found += yield from in_disguise(evidence, fresh)
    outcome = TestOutcome.FAIL if errors(found) else TestOutcome.PASS
    return rule(*found, test_result=outcome, facts=replace(facts, evidence=Measure.PER_TEST))


def coded(evidence: Evidence) -> Judgement:
    """The same of one session's work, and enough of it is reached by tests."""
    return (yield from covered(evidence, (yield from code(evidence))))


def failing(measured: Measured) -> Iterator[Finding]:
    """Yield what keeps the suite from being green; tests that failed before the run are left alone."""
    yield from uncollected(measured, "Make the code importable and every test collectable.")
    for result in measured.after.results.values():
        if result.failed and result.id not in measured.before.passed | measured.legacy.ids:
            yield failure(result)


def counted(run: SuiteRun) -> Counts:
    """Return what a run of the suite came to, as notes and reviewers read it."""
    if run.measure is Measure.EXIT_CODE:
        return Counts(exit_code=run.exit_code, seconds=round(run.seconds, 3))
    failed = sum(result.failed for result in run.results.values())
    return Counts(
        passed=len(run.passed),
        failed=failed + len(run.errors),
        skipped=len(run.results) - len(run.passed) - failed,
        total=len(run.results) + len(run.errors),
        seconds=round(run.seconds, 3),
    )


def _gone(evidence: Evidence, measured: Measured) -> Iterator[Finding]:
    """Yield tests that have disappeared: those from before the run for good, the coder's own for the reviewer."""
    running = {result.key for result in measured.after.results.values()}
    moves = rewritten(evidence) if measured.lost else None
    lost = [
        name
        for name in measured.lost
        if moves is None or moves.twin(measured.before.results[name].key) not in running
    ]
    legacy = [name for name in lost if name in measured.legacy.passed]
    own = [name for name in lost if name not in measured.legacy.ids]
    hint = "Bring them back: no test is deleted, deselected or shadowed."
    yield from lost_tests(measured, legacy, "tests that passed before are gone", hint)
    yield from lost_tests(measured, own, "tests of an earlier round are gone", severity=Severity.WARNING)
