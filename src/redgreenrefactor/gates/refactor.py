"""REFACTOR: the code reads better, does the same, and the tests are as strong as they were."""

from redgreenrefactor.gates import python
from redgreenrefactor.gates.common import (
    Measured,
    configuration,
    errors,
    history,
    hooked,
    interference,
    measure,
    named,
    off_limits,
    regressions,
)
from redgreenrefactor.gates.exit_code import by_exit_code
from redgreenrefactor.gates.green import not_green
from redgreenrefactor.gates.paths import is_test
from redgreenrefactor.gates.strength import strength
from redgreenrefactor.gates.suspicion import doubts, misplaced, shadowing, sniffing
from redgreenrefactor.model.evidence import Evidence, Judgement, Measure
from redgreenrefactor.model.verdict import Finding, FindingType, TestOutcome, Verdict, rule


def refactor(evidence: Evidence) -> Judgement:
    """Every test passes, the old ones too, and none was weakened; an unchanged tree needs no proof."""
    found = [*history(evidence), *off_limits(evidence), *configuration(evidence), *hooked(evidence)]
    found += [*shadowing(evidence), *sniffing(evidence), *misplaced(evidence), *doubts(evidence)]
    if errors(found):
        return rule(*found)
    if not evidence.changes:
        return rule(*found, test_result=TestOutcome.PASS)
    measured = yield from measure(evidence)
    if isinstance(measured, Verdict):
        return measured
    if measured.after.measure is Measure.EXIT_CODE:
        return (yield from by_exit_code(evidence, measured))
    found += [*interference(evidence, measured.after), *_lost(evidence, measured), *not_green(measured)]
    found += yield from regressions(evidence, measured)
    if not errors(found):
        found += yield from strength(evidence, measured)
    outcome = TestOutcome.FAIL if errors(found) else TestOutcome.PASS
    return rule(*found, test_result=outcome, facts={"evidence": str(Measure.PER_TEST)})


def _lost(evidence: Evidence, measured: Measured) -> list[Finding]:
    """Return a finding where tests disappeared and no test came or changed that could have taken their place."""
    lost = [name for name in measured.lost if not _taken_in(evidence, measured, name)]
    if not lost:
        return []
    return [
        Finding(
            FindingType.TEST_TAMPERING,
            f"tests are gone: {named(lost)}",
            measured.before.results[lost[0]].file,
            hint="A test may be renamed, moved, split or merged into a parametrised one; none is dropped.",
        ),
    ]


def _taken_in(evidence: Evidence, measured: Measured, name: str) -> bool:
    """Tell whether what a lost test asserted is asserted by the tests that are there now."""
    result = measured.before.results[name]
    text = evidence.read(evidence.base, f"{evidence.prefix}{result.file}")
    test = next((item for item in python.tests_in(text) if item.name == result.function), None)
    if test is None:
        return False
    known = {
        python.renamed(item.node)
        for change in evidence.changes
        if change.after and is_test(evidence, change.path)
        for item in python.tests_in(change.after.text)
    }
    merged = any(fresh.file.endswith(".py") for fresh in measured.fresh) or _grown(measured)
    return python.renamed(test.node) in known or (merged and result.id not in measured.legacy.ids)


def _grown(measured: Measured) -> bool:
    """Tell whether a test has more parameter sets than before."""
    return len(measured.after.ids) > len(measured.before.ids & measured.after.ids)
