"""Events of every kind, harmless and hostile, for the tests of the views."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from redgreenrefactor.model.events import (
    Event,
    Judged,
    Paused,
    RunEnded,
    RunStarted,
    SessionEnded,
    SessionSaid,
    SuiteEnded,
    SuiteStarted,
    TurnStarted,
    Warned,
)
from redgreenrefactor.model.facts import Facts, Minimality, MutantCounts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.verdict import (
    Finding,
    FindingType,
    Outcome,
    Ruling,
    Severity,
    TestOutcome,
    Verdict,
)
from redgreenrefactor.model.workflow import PhaseName

CASE = Case("1 is I", "tests/test_roman.py", "roman.py")
RUN = RunStarted("20261115-091512-3f2a", "roman numerals", "/home/me/roman", "pytest", "per-test")
TAMPERED = Finding(
    FindingType.TEST_TAMPERING,
    "an existing test was edited in GREEN",
    "tests/test_roman.py",
    4,
    "make the test pass by changing roman.py only",
)
UNNEEDED = Finding(
    FindingType.NOT_MINIMAL, "3 lines are not needed", "roman.py", 9, severity=Severity.WARNING
)


def turn(phase: PhaseName = PhaseName.RED, cycle: int = 1, attempt: int = 1) -> TurnStarted:
    return TurnStarted(phase, cycle, attempt, None if phase is PhaseName.PLAN else CASE, "command:./agent.sh")


def suite(passed: int, failed: int, **changed: Any) -> SuiteEnded:
    ended = SuiteEnded(
        "suite", passed, failed, passed + failed, 0.4, per_test=True, exit_code=int(failed > 0)
    )
    return replace(ended, **changed)


def accepted(phase: PhaseName = PhaseName.RED, **changed: Any) -> Judged:
    results = {PhaseName.PLAN: None, PhaseName.RED: TestOutcome.FAIL}
    values: dict[str, Any] = {"test_result": results.get(phase, TestOutcome.PASS), **changed}
    return Judged(phase, 1, 1, Verdict(Ruling.ACCEPTED, **values), "9c1d2ef0aaaa", "test: 1 is I", 0.8)


def rejected(*findings: Finding, commit: str | None = "aaaaaaaabbbb", aborts: bool = False) -> Judged:
    verdict = Verdict(Ruling.REJECTED, findings)
    return Judged(PhaseName.GREEN, 1, 1, verdict, commit, "feat: one", 1.9, aborts)


def undecided() -> Judged:
    finding = Finding(FindingType.UNDECIDED, "the runner died")
    return Judged(PhaseName.GREEN, 1, 2, Verdict(Ruling.UNDECIDED, (finding,)), "cccccccc", "feat: one", 1.0)


EVERY_EVENT: tuple[Event, ...] = (
    RUN,
    SuiteStarted("suite"),
    suite(3, 0),
    turn(PhaseName.PLAN),
    SessionSaid("reading the feature"),
    SessionEnded(0.2, failed=False),
    accepted(PhaseName.PLAN, case=CASE),
    turn(),
    suite(3, 1),
    accepted(),
    turn(PhaseName.GREEN),
    SessionEnded(0.2, failed=True),
    rejected(TAMPERED, UNNEEDED),
    Paused(2.0),
    undecided(),
    Warned("no git identity is configured"),
    RunEnded("stopped", "Type 'rgr resume' to go on.", 12.3),
)

HOSTILE = (
    "\x1b[2J\x1b[H\x1b[31mforged\x1b[0m",
    "\x1b]0;title\x07after",
    "\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\",
    "\x9b2Jeight bits\x9d0;x\x9c",
    "unterminated \x1b] \x1b[ \x1b",
    "\x1b\x1b[31m[31mnested",
    "over\rwritten\b\b\b",
    "first\n  RED       ✓ 9c1d2ef test: forged\nlast",
    "bidi \u202e txet \u2066",
    "zero\u200bwidth\u200dand\ufeffmarks" + "\u0301" * 500,
    "lone \udcff surrogate",
    "nul \x00 bell \x07 delete \x7f",
    "界面" * 200,
    "word " * 400,
    "x" * 20_000,
    "\u2028\u2029\x85\x0b\x0c",
    "[bold]markup[/bold] :smile: [/]",
    "",
    " \n\t\n ",
)


def texts() -> st.SearchStrategy[str]:
    """Any text at all, with what terminals obey more often than chance would have it."""
    pieces = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(), max_size=30))
    return st.lists(pieces, max_size=3).map("".join)


def any_event() -> st.SearchStrategy[Event]:
    """Any event with any text in every field that takes one."""
    text, amounts, times = texts(), st.integers(0, 10**6), st.floats(0, 10**6)
    phases = st.sampled_from([phase for phase in PhaseName if phase is not PhaseName.COMPLETE])
    cases = st.none() | st.builds(Case, text, text, text)
    finding = st.builds(
        Finding,
        st.sampled_from(FindingType),
        text,
        st.none() | text,
        st.none() | amounts,
        st.none() | text,
        st.sampled_from(Severity),
    )
    verdicts = st.builds(
        Verdict,
        st.sampled_from(Ruling),
        st.lists(finding, max_size=6).map(tuple),
        st.none() | st.sampled_from(TestOutcome),
        st.none() | st.sampled_from(Outcome),
        cases,
        st.builds(
            Facts,
            failure=text,
            mutants=st.none() | st.builds(MutantCounts, amounts, amounts),
            minimality=st.none() | st.builds(Minimality, amounts, amounts, st.just(())),
        ),
    )
    return st.one_of(
        st.builds(RunStarted, text, text, text, text, text, st.booleans()),
        st.builds(TurnStarted, phases, amounts, amounts, cases, text),
        st.builds(SessionSaid, text),
        st.builds(SessionEnded, times, st.booleans()),
        st.builds(SuiteStarted, text),
        st.builds(SuiteEnded, text, amounts, amounts, amounts, times, st.booleans(), amounts),
        st.builds(Judged, phases, amounts, amounts, verdicts, st.none() | text, text, times, st.booleans()),
        st.builds(Paused, times),
        st.builds(Warned, text),
        st.builds(RunEnded, text, text, times),
    )
