"""What a turn is about, in a few words: its phase, what its tests came to, what was found."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from redgreenrefactor.errors import some_of
from redgreenrefactor.model.facts import Counts, Facts
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.verdict import Finding, Outcome, TestOutcome
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import Ink, Row, Span, Tone, seconds

if TYPE_CHECKING:  # a report tells of no events, and where a run stands needs no report
    from redgreenrefactor.model.events import LookedBack, SuiteEnded
    from redgreenrefactor.model.run_report import ReportedCycle

MOST_MISSED = 2  # mutants that are named in a line
PROBE = "probe"  # the purpose of test runs beyond those of the whole suite
ROUND = (PhaseName.CODE, PhaseName.REVIEW)
PHASE_TONES = {
    PhaseName.PLAN: Tone.PLAN,
    PhaseName.RED: Tone.RED,
    PhaseName.GREEN: Tone.GREEN,
    PhaseName.REFACTOR: Tone.REFACTOR,
    PhaseName.CODE: Tone.GREEN,
    PhaseName.REVIEW: Tone.PLAN,
    PhaseName.DIAGNOSE: Tone.RED,
}


def is_round(cycle: "ReportedCycle") -> bool:
    """Tell whether a coder and a reviewer worked in it, instead of the phases of a case."""
    return any(turn.handoff.phase in ROUND for turn in cycle.turns)


def title_of_cycle(cycle: "ReportedCycle") -> str:
    """Return what a cycle is about."""
    if cycle.outcome == "closed":
        return "The last look at the list"
    if cycle.case:
        return cycle.case.description
    if is_round(cycle):
        return f"Round {cycle.number}"
    return "Planning" if cycle.turns[-1].handoff.phase is PhaseName.PLAN else "The whole task"


def phase_label(phase: PhaseName) -> Row:
    """Return the first column of a turn's line."""
    return (Span("  "), Span(f"{phase:<10}", PHASE_TONES.get(phase, Tone.STRONG)))


def fuller(known: "SuiteEnded | None", new: "SuiteEnded") -> "SuiteEnded | None":
    """Return the run that tells more of the whole suite: probes are no result of a phase."""
    if new.purpose == PROBE:
        return known
    return new if known is None or new.total >= known.total else known


def place(finding: Finding, ink: Ink) -> str:
    """Return file and line as editors take them; nothing where no file is known."""
    if not finding.file:
        return ""
    return ink.line(finding.file) + ("" if finding.line is None else f":{finding.line}")


def pause(value: float) -> str:
    """Return a waiting time without needless digits."""
    return f"{value:.0f} s" if value == int(value) else seconds(value)


def tally(suite: "SuiteEnded") -> str:
    """Return what a run of the tests came to."""
    if not suite.per_test:
        return "the suite passed" if suite.exit_code == 0 else f"the suite failed (exit {suite.exit_code})"
    if suite.total == suite.failed == 0:
        return "no tests"
    skipped = suite.total - suite.passed - suite.failed
    parts = [f"{suite.passed} passed", f"{suite.failed} failed" if suite.failed else ""]
    return ", ".join(part for part in [*parts, f"{skipped} skipped" if skipped > 0 else ""] if part)


def probed(facts: Facts) -> str:
    """Return how much of a change its test needs, how many mutants it notices, and which no test does."""
    said: list[str] = []
    if facts.minimality:
        said.append(f"{facts.minimality.share} % of the change needed by the test")
    if facts.mutants:
        found, others = facts.mutants, facts.mutants.others or ()
        missed = [place for place in found.missed or () if place not in others]
        said.append(f"{found.noticed} of {found.tried} mutants noticed")
        said += [f"{len(others)} more by other tests"] if others else []
        said += [f"missed: {some_of(missed, MOST_MISSED)}"] if missed else []
    return ", ".join(said)


def as_it_should(suite: "SuiteEnded | None", phase: PhaseName, result: TestOutcome | None) -> str:
    """Return what an accepted turn's tests came to: in RED a failing one is what was wanted."""
    if suite is None:
        return ""
    if phase is not PhaseName.RED or result is not TestOutcome.FAIL:
        return tally(suite)
    if not suite.per_test:
        return "the suite failed as it should"
    if suite.failed == 1:
        return f"1 failed as it should, {suite.passed} passed"
    return f"{suite.failed} failed as they should, {suite.passed} passed"


def looked_back(event: "LookedBack") -> str:
    """Return which turn is judged again, of how many, and how long the rest may take."""
    left = "" if event.left is None else f", about {seconds(event.left)} left"
    return f"judging again {event.number} of {event.total}: {event.what}{left}"


def measured(handoff: Handoff) -> str:
    """Return what a turn's tests said; where it was rejected for it, the findings tell more."""
    if handoff.outcome is Outcome.COVERED:
        return f"the new test passes at once, and {shown_by(handoff.facts)}"
    if handoff.test_result is TestOutcome.FAIL:
        return "the new test fails, as it should" if handoff.phase is PhaseName.RED else ""
    return "all tests pass" if handoff.test_result else ""


def shown_by(facts: Facts) -> str:
    """Return what was measured of a test that passes at once."""
    if facts.evidence != "exit-code" or facts.mutants:
        return "notices broken code"
    if facts.wrong_expectation:
        return "fails with a wrong expectation in it; whether it notices broken code was not measured"
    return "is run; whether it notices broken code was not measured"


def evidence(handoff: Handoff) -> list[tuple[str, str]]:
    """Return what was learned about a turn, each with what it is about."""
    facts = handoff.facts
    told = [
        ("tests", measured(handoff)),
        ("new test", _tests(facts.new_tests)),
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


def _tests(names: Sequence[str]) -> str:
    """Return the names of tests, each once, however many sets of values it runs with."""
    times = Counter(name.partition("[")[0] for name in names)
    told = {
        test: f"{test}, with {times[test]} sets of values" if times[test] > 1 else name
        for name in names
        for test in (name.partition("[")[0],)
    }
    return "; ".join(told.values())


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
