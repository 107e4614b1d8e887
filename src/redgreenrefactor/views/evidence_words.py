"""What was learned about a turn, in words, from its note alone."""

from redgreenrefactor.model.facts import Counts, Facts
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.verdict import Outcome, TestOutcome


def measured(handoff: Handoff) -> str:
    """Return what an accepted turn's tests said."""
    if handoff.outcome is Outcome.COVERED:
        return "the new test passes at once, and notices broken code"
    if handoff.test_result is None:
        return ""
    if handoff.test_result is TestOutcome.FAIL:
        return "the new test fails, as it should"
    return "all tests pass"


def evidence(handoff: Handoff) -> list[tuple[str, str]]:
    """Return what was learned about a turn, each with what it is about."""
    facts = handoff.facts
    told = [
        ("tests", measured(handoff)),
        ("new test", ", ".join(facts.new_tests)),
        ("failure", facts.failure or ""),
        ("suite", _counts(facts.suite or facts.counts)),
        ("mutants", _mutants(facts)),
        ("minimality", _minimality(facts)),
        ("coverage", _coverage(facts)),
        ("wrong expectation", f"the test {facts.wrong_expectation}" if facts.wrong_expectation else ""),
        ("mended", ", ".join(facts.mended)),
        ("given up", ", ".join(facts.dropped)),
        ("not measured", ", ".join(facts.unmeasured)),
        ("criteria unmet", ", ".join(facts.unmet)),
        ("evidence", "only the exit code of the suite" if facts.evidence == "exit-code" else ""),
        ("review", facts.feedback or ""),
    ]
    return [(name, words) for name, words in told if words]


def _counts(counts: Counts) -> str:
    if counts.total is None:
        return "" if counts.exit_code is None else f"exit code {counts.exit_code}"
    told = (("passed", counts.passed), ("failed", counts.failed), ("skipped", counts.skipped))
    return ", ".join(f"{number} {name}" for name, number in told if number) or "no tests"


def _mutants(facts: Facts) -> str:
    if facts.mutants is None:
        return ""
    found = facts.mutants
    words = f"{found.noticed} of {found.tried} wrong versions of the code are noticed"
    missed = ", ".join(found.missed or ())
    return words + (f"; missed: {missed}" if missed else "")


def _minimality(facts: Facts) -> str:
    if facts.minimality is None:
        return ""
    unneeded = ", ".join(facts.minimality.unneeded)
    words = f"{facts.minimality.share} % of the change is needed by the test"
    return words + (f"; not needed: {unneeded}" if unneeded else "")


def _coverage(facts: Facts) -> str:
    figure = facts.coverage
    if figure is None:
        return ""
    if figure.percent is None:
        return f"not known: {figure.why}"
    return f"{figure.percent:g} % of the changed code, {figure.wanted:g} % wanted"
