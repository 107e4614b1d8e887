"""What a turn is about, in a few words: its phase, what its tests came to, what was found."""

from redgreenrefactor.model.events import LookedBack, SuiteEnded
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.verdict import Finding, TestOutcome
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import Ink, Row, Span, Tone, seconds

PROBE = "probe"  # the purpose of test runs beyond those of the whole suite
PHASE_TONES = {
    PhaseName.PLAN: Tone.PLAN,
    PhaseName.RED: Tone.RED,
    PhaseName.GREEN: Tone.GREEN,
    PhaseName.REFACTOR: Tone.REFACTOR,
    PhaseName.CODE: Tone.GREEN,
    PhaseName.REVIEW: Tone.PLAN,
    PhaseName.DIAGNOSE: Tone.RED,
}


def phase_label(phase: PhaseName) -> Row:
    """Return the first column of a turn's line."""
    return (Span("  "), Span(f"{phase:<10}", PHASE_TONES.get(phase, Tone.STRONG)))


def fuller(known: SuiteEnded | None, new: SuiteEnded) -> SuiteEnded | None:
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


def tally(suite: SuiteEnded) -> str:
    """Return what a run of the tests came to."""
    if not suite.per_test:
        return "the suite passed" if suite.exit_code == 0 else f"the suite failed (exit {suite.exit_code})"
    if suite.total == suite.failed == 0:
        return "no tests"
    skipped = suite.total - suite.passed - suite.failed
    parts = [f"{suite.passed} passed", f"{suite.failed} failed" if suite.failed else ""]
    return ", ".join(part for part in [*parts, f"{skipped} skipped" if skipped > 0 else ""] if part)


def probed(facts: Facts) -> str:
    """Return how much of a change its test needs, and how many mutants it notices."""
    said: list[str] = []
    if facts.minimality:
        said.append(f"{facts.minimality.share} % of the change needed by the test")
    if facts.mutants:
        found, others = facts.mutants, len(facts.mutants.others or ())
        said.append(f"{found.noticed} of {found.tried} mutants noticed")
        said += [f"{others} more by other tests"] if others else []
    return ", ".join(said)


def as_it_should(suite: SuiteEnded | None, phase: PhaseName, result: TestOutcome | None) -> str:
    """Return what an accepted turn's tests came to: in RED a failing one is what was wanted."""
    if suite is None:
        return ""
    if phase is not PhaseName.RED or result is not TestOutcome.FAIL:
        return tally(suite)
    if not suite.per_test:
        return "the suite failed as it should"
    if suite.failed == 1:
        return f"1 failed as it should, {suite.passed} passed"
    return f"{suite.failed} failed, {suite.passed} passed"


def looked_back(event: LookedBack) -> str:
    """Return which turn is judged again, of how many, and how long the rest may take."""
    left = "" if event.left is None else f", about {seconds(event.left)} left"
    return f"judging again {event.number} of {event.total}: {event.what}{left}"
