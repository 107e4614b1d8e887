import fcntl
import io
import os
import re
import struct
import subprocess
import sys
import termios
import threading
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from views_samples import (
    CASE,
    EVERY_EVENT,
    HOSTILE,
    RUN,
    TAMPERED,
    UNNEEDED,
    accepted,
    any_event,
    rejected,
    suite,
    turn,
    undecided,
)

from redgreenrefactor.model.events import (
    Event,
    Paused,
    RunEnded,
    RunStarted,
    SessionEnded,
    SessionSaid,
    SuiteStarted,
    ToolUsed,
    TurnStarted,
    Warned,
)
from redgreenrefactor.model.facts import NOTICED, Facts, Minimality, MutantCounts
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
from redgreenrefactor.views.attention import Waiting
from redgreenrefactor.views.console import (
    PlainView,
    TerminalView,
    View,
    awaited,
    clock_face,
    view_for,
)
from redgreenrefactor.views.lines import Ink, cells
from redgreenrefactor.views.turn_words import shown_by

NOTIFICATION = re.compile(r"\x07\x1b\]9;[^\x00-\x1f]*\x1b\\")
OURS = re.compile(
    r"\r|\x1b\[(?:0|1|2|3[1-6]|1;3[1-6])m|\x1b\[1A|\x1b\[2K|\x1b\[\?25[lh]|(?<=\n)\x07\x1b\]9;rgr: [^\x00-\x1f]*\x1b\\"
)  # a bell begins no line but ours
ENVIRON = {"TERM": "xterm-256color"}


class Terminal(io.StringIO):
    """A stream somebody watches."""

    def isatty(self) -> bool:
        return True


def plain(events: Sequence[Event], *, quiet: bool = False, width: int = 80) -> str:
    stream = io.StringIO()
    with closing(PlainView(stream, quiet=quiet, width=width)) as view:
        for event in events:
            view(event)
    return stream.getvalue()


def terminal(
    events: Sequence[Event],
    *,
    quiet: bool = False,
    color: bool = False,
    width: int = 80,
    clock: Callable[[], float] = lambda: 0.0,
) -> str:
    """Return everything that was written, the live line's comings and goings included."""
    stream = Terminal()
    with closing(TerminalView(stream, quiet=quiet, color=color, width=width, clock=clock)) as view:
        for event in events:
            view(event)
    return stream.getvalue()


def lasting(written: str) -> str:
    """Return what is left on the screen: the live line is always rewritten in its place."""
    screen: list[str] = [""]
    for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\].*?\x1b\\\\|\r|\n|[^\x1b\r\n]+", written):
        if token == "\x1b[2K":
            screen[-1] = ""
        elif token == "\x1b[1A":
            screen.pop()
        elif token == "\n":
            screen.append("")
        elif not token.startswith(("\x1b", "\r")):
            screen[-1] += token.removeprefix("\a")
    return "\n".join(line.rstrip() for line in screen)


def both(events: Sequence[Event], *, width: int = 80) -> list[str]:
    return [plain(events, width=width), lasting(terminal(events, width=width))]


def is_safe(text: str) -> bool:
    return not any(unicodedata.category(character)[0] == "C" for character in text if character != "\n")


def test_the_opening_names_feature_run_project_and_tests() -> None:
    for told in both([RUN]):
        assert "rgr · roman numerals" in told
        assert "run 20261115-091512-3f2a" in told
        assert "project: /home/me/roman" in told
        assert "tests: pytest (per-test results)" in told


def test_a_resumed_run_and_a_suite_that_tells_little_are_told_as_such() -> None:
    for told in both([replace(RUN, resumed=True, measure="exit-code")]):
        assert "roman numerals (going on)" in told
        assert "tests: pytest (exit code only)" in told


def test_the_suite_before_the_first_turn_is_told() -> None:
    for told in both([RUN, SuiteStarted("suite"), suite(3, 1, total=5)]):
        assert re.search(r"\nsuite: 3 passed, 1 failed, 1 skipped +0\.4 s\n", told)


def test_a_plan_that_is_accepted_tells_its_case() -> None:
    events = [turn(PhaseName.PLAN), accepted(PhaseName.PLAN, case=CASE)]
    assert "\ncycle 1 · 1 is I\n  PLAN      ✓ 9c1d2ef test: 1 is I" in lasting(terminal(events))
    assert "next case: 1 is I" in plain(events)


def test_the_last_plan_opens_no_cycle() -> None:
    events = [turn(PhaseName.PLAN, cycle=6), accepted(PhaseName.PLAN, case=None)]
    assert "\nno case left\n  PLAN      ✓" in lasting(terminal(events))
    assert "cycle 6" not in lasting(terminal(events))
    assert "no case left" in plain(events)


def test_a_cycle_has_one_header_however_many_turns_it_takes() -> None:
    events = [turn(), accepted(), turn(PhaseName.GREEN), rejected(TAMPERED), turn(PhaseName.GREEN, attempt=2)]
    for told in both([*events, accepted(PhaseName.GREEN)]):
        assert told.count("cycle 1 · 1 is I") == 1


def test_every_cycle_has_its_header() -> None:
    for told in both([turn(), accepted(), turn(cycle=2), accepted()]):
        assert "cycle 1 · 1 is I" in told
        assert "cycle 2 · 1 is I" in told


def test_the_next_task_has_a_header_of_its_own() -> None:
    for told in both([turn(), accepted(), RUN, turn(), accepted()]):
        assert told.count("cycle 1 · 1 is I") == 2


def test_a_plan_that_was_rejected_first_still_tells_its_case() -> None:
    refused = replace(rejected(TAMPERED), phase=PhaseName.PLAN)
    events = [turn(PhaseName.PLAN), refused, accepted(PhaseName.PLAN, case=CASE)]
    for told in both(events):
        assert "\ncycle 1\n" in told
        assert "next case: 1 is I" in told


def test_an_accepted_turn_tells_commit_subject_tests_and_seconds() -> None:
    for told in both([turn(), suite(2, 1), accepted()]):
        assert re.search(r"RED       ✓ 9c1d2ef test: 1 is I +1 failed as it should, 2 passed  0\.8 s\n", told)


def test_green_tells_how_many_pass() -> None:
    for told in both([turn(PhaseName.GREEN), suite(3, 0), accepted(PhaseName.GREEN)]):
        assert re.search(r"GREEN     ✓ .* 3 passed  0\.8 s\n", told)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_what_probes_have_shown_is_told_whole_on_a_narrow_terminal(width: int) -> None:
    facts = Facts(minimality=Minimality(100, 1, ()), mutants=MutantCounts(3, 3))
    shown = plain([turn(PhaseName.GREEN), accepted(PhaseName.GREEN, facts=facts)], width=width)
    told = " ".join(shown.split())
    assert "100 % of the change needed by the test, 3 of 3 mutants noticed" in told


def test_mistakes_that_other_tests_notice_are_told_beside_those_of_the_new_one() -> None:
    facts = Facts(mutants=MutantCounts(3, 1, missed=("a.py:1: x", "a.py:2: y"), others=("a.py:2: y",)))
    shown = plain([turn(PhaseName.GREEN), accepted(PhaseName.GREEN, facts=facts)], width=100)
    assert "1 of 3 mutants noticed, 1 more by other tests, missed: a.py:1: x" in " ".join(shown.split())


def test_probes_do_not_pass_for_the_result_of_a_phase() -> None:
    for told in both(
        [turn(PhaseName.GREEN), suite(3, 0), suite(0, 9, purpose="probe"), accepted(PhaseName.GREEN)]
    ):
        assert re.search(r"GREEN     ✓ .* 3 passed  0\.8 s\n", told)


def test_probes_have_no_line_of_their_own() -> None:
    probe = suite(0, 1, purpose="probe")
    for told in both([probe, turn(), probe]):
        assert "1 failed" not in told


def test_a_run_of_some_tests_does_not_pass_for_the_result_of_a_phase() -> None:
    for told in both([turn(PhaseName.GREEN), suite(3, 0), suite(0, 1), accepted(PhaseName.GREEN)]):
        assert re.search(r"GREEN     ✓ .* 3 passed  0\.8 s\n", told)


def test_a_suite_of_another_turn_is_not_told_again() -> None:
    for told in both(
        [turn(), suite(2, 1), accepted(), turn(PhaseName.PLAN), accepted(PhaseName.PLAN, case=CASE)]
    ):
        assert re.search(r"PLAN      ✓ 9c1d2ef test: 1 is I +0\.8 s\n", told)


@pytest.mark.parametrize(
    ("phase", "ended", "expected"),
    [
        (PhaseName.RED, suite(2, 3), "3 failed as they should, 2 passed"),
        (PhaseName.RED, suite(0, 0, per_test=False, exit_code=1), "the suite failed as it should"),
        (PhaseName.GREEN, suite(0, 0, per_test=False, exit_code=0), "the suite passed"),
        (PhaseName.GREEN, suite(0, 0, per_test=False, exit_code=2), "the suite failed (exit 2)"),
        (PhaseName.GREEN, suite(0, 0), "no tests"),
        (PhaseName.RED, suite(0, 1, total=0), "1 failed as it should, 0 passed"),
        (PhaseName.GREEN, suite(0, 1, total=0), "0 passed, 1 failed"),
    ],
)
def test_results_are_told_as_far_as_they_are_known(phase: PhaseName, ended: Event, expected: str) -> None:
    for told in both([turn(phase), ended, accepted(phase)]):
        assert re.search(rf"✓ .*{re.escape(expected)}  0\.8 s\n", told)


def test_a_covered_case_is_told_as_covered() -> None:
    for told in both([turn(), suite(2, 0), accepted(outcome=Outcome.COVERED, test_result=TestOutcome.PASS)]):
        assert "already covered: the new test passes, and it notices broken code" in told
        assert "as it should" not in told


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (Facts(mutants=MutantCounts(2, 1)), "notices broken code"),
        (Facts(wrong_expectation=NOTICED), "fails with a wrong expectation in it; whether it"),
        (Facts(), "is run; whether it notices broken code was not measured"),
    ],
)
def test_of_a_covered_case_only_what_was_measured_is_told(facts: Facts, words: str) -> None:
    assert shown_by(replace(facts, evidence="exit-code")).startswith(words)


def test_a_pass_that_was_let_through_is_told_as_a_warning() -> None:
    for told in both([turn(), accepted(outcome=Outcome.WARNED, test_result=TestOutcome.PASS)]):
        assert "! the new test passes before anything was built" in told


def test_warnings_of_an_accepted_turn_are_told() -> None:
    for told in both([turn(PhaseName.GREEN), accepted(PhaseName.GREEN, findings=(UNNEEDED,))]):
        assert "! NotMinimal: 3 lines are not needed (roman.py:9)" in told


def test_a_rejected_turn_tells_what_where_why_and_what_follows() -> None:
    for told in both([RUN, turn(PhaseName.GREEN), rejected(TAMPERED, UNNEEDED)]):
        assert re.search(r"GREEN     ✗ attempt 1 rejected: TestTampering +1\.9 s\n", told)
        assert " an existing test was edited in GREEN\n" in told
        assert " at tests/test_roman.py:4\n" in told
        assert " → make the test pass by changing roman.py only\n" in told
        assert " ! NotMinimal: 3 lines are not needed (roman.py:9)\n" in told
        assert " rolled back; attempt 2 is next\n" in told
        assert " kept at refs/tdd/attempts/20261115-091512-3f2a/1-GREEN-1\n" in told


def test_a_rejected_try_that_the_next_one_goes_on_from_is_not_said_to_be_undone() -> None:
    for told in both([RUN, turn(PhaseName.GREEN), replace(rejected(TAMPERED), builds_on=True)]):
        assert " its files stay; attempt 2 is next\n" in told
    for told in both([RUN, turn(PhaseName.GREEN), replace(rejected(TAMPERED), builds_on=True, aborts=True)]):
        assert " rolled back; no attempts left\n" in told


def test_a_place_the_message_already_names_is_not_repeated() -> None:
    named = replace(TAMPERED, message="tests/test_roman.py:4 was edited in GREEN", hint=None)
    for told in both([turn(PhaseName.GREEN), rejected(named)]):
        assert told.count("tests/test_roman.py:4") == 1
        assert "→" not in told


def test_a_file_without_a_line_is_a_place_too() -> None:
    for told in both([turn(PhaseName.GREEN), rejected(replace(TAMPERED, line=None))]):
        assert " at tests/test_roman.py\n" in told


def test_an_attempt_without_a_commit_is_kept_nowhere() -> None:
    for told in both([turn(PhaseName.GREEN), rejected(TAMPERED, commit=None)]):
        assert "nothing was committed" in told
        assert "refs/tdd" not in told


def test_the_last_attempt_says_that_none_is_left() -> None:
    for told in both([turn(PhaseName.GREEN), rejected(TAMPERED, aborts=True)]):
        assert "rolled back; no attempts left" in told
        assert "is next" not in told


def test_further_findings_are_told_in_short_and_then_counted() -> None:
    others = [Finding(FindingType.TEST_FAILURE, f"test {n} fails\nwith details", "t.py", n) for n in range(6)]
    for told in both([turn(PhaseName.GREEN), rejected(TAMPERED, *others)]):
        assert "also TestFailure: test 0 fails … (t.py:0)" in told
        assert "and 2 more findings" in told
        assert "with details" not in told


def test_what_could_not_be_judged_is_neither_accepted_nor_rejected() -> None:
    for told in both([RUN, turn(PhaseName.GREEN, attempt=2), undecided()]):
        assert "? attempt 2 could not be judged: Undecided" in told
        assert "rolled back; not counted as an attempt\n              kept at refs/tdd/kept/\n" in told


def test_a_rejection_without_a_finding_is_told_all_the_same() -> None:
    for told in both([turn(PhaseName.GREEN), rejected()]):
        assert "✗ attempt 1 rejected " in told


def test_a_message_of_several_lines_is_indented_and_bounded() -> None:
    long = replace(TAMPERED, message="\n".join(f"line {n}" for n in range(40)))
    for told in both([turn(PhaseName.GREEN), rejected(long)]):
        assert "\n              line 5\n" in told
        assert "\n              … 29 more lines\n" in told


def test_warnings_are_told() -> None:
    for told in both([Warned("no git identity\nis configured")]):
        assert "  ! no git identity\n    is configured\n" in told


@pytest.mark.parametrize(
    ("status", "mark"), [("complete", "✓"), ("failed", "✗"), ("stopped", "!"), ("interrupted", "!")]
)
def test_the_end_is_told_with_its_message(status: str, mark: str) -> None:
    for told in both([RUN, RunEnded(status, "Type 'rgr resume' to go on.", 12.34)]):
        assert f"\n{mark} {status} after 12.3 s\n  Type 'rgr resume' to go on.\n" in told


def test_the_end_is_not_told_twice() -> None:
    for told in both([RunEnded("failed", "failed: GREEN was rejected 4 times", 1.0)]):
        assert "✗ failed after 1.0 s\n  GREEN was rejected 4 times\n" in told


def test_plain_lines_also_tell_what_begins() -> None:
    events = [
        turn(PhaseName.GREEN, attempt=2),
        SessionSaid("thinking\nediting"),
        SessionEnded(3.0, failed=True),
    ]
    told = plain([*events, suite(1, 0), Paused(2.0), Paused(0.5), Paused(0.0)])
    assert "  GREEN     working: command:./agent.sh · attempt 2\n" in told
    long = replace(turn(PhaseName.GREEN, attempt=2), agent="command:" + "x" * 200)
    assert any(line.endswith("x… · attempt 2") for line in plain([long]).splitlines())
    assert "\n              │ thinking\n              │ editing\n" in told
    assert "the session failed after 3.0 s" in told
    assert "              tests: 1 passed " in told
    assert "waiting 2 s before the next attempt" in told
    assert told.count("waiting") == 2


def test_a_session_that_ended_well_needs_no_line() -> None:
    assert plain([SessionEnded(3.0, failed=False), SuiteStarted("suite")]) == ""


def test_plain_lines_hold_no_codes_at_all() -> None:
    assert is_safe(plain(EVERY_EVENT))


def test_every_plain_line_is_flushed() -> None:
    class Counting(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    stream = Counting()
    PlainView(stream)(RUN)
    assert stream.flushed == stream.getvalue().count("\n") == 4


def test_lines_of_several_threads_stay_whole() -> None:
    stream = io.StringIO()
    view = PlainView(stream)
    talk = [
        threading.Thread(target=lambda: [view(SessionSaid("word " * 10)) for _ in range(50)])
        for _ in range(4)
    ]
    for thread in talk:
        thread.start()
    for thread in talk:
        thread.join()
    assert set(stream.getvalue().splitlines()) == {"              │ " + ("word " * 10).rstrip()}


def test_quiet_tells_rejections_and_the_end_only() -> None:
    events = [RUN, turn(), accepted(), Warned("w"), turn(PhaseName.GREEN), rejected(TAMPERED), Paused(2.0)]
    for told in (plain(events, quiet=True), lasting(terminal(events, quiet=True))):
        assert told.lstrip().startswith("cycle 1 · 1 is I\n  GREEN     ✗ attempt 1 rejected: TestTampering")
        assert "roman numerals" not in told
        assert "waiting" not in told
        assert "✓" not in told
    assert "failed after" in plain([RunEnded("failed", "", 1.0)], quiet=True)


def test_quiet_on_a_terminal_has_no_live_line() -> None:
    assert terminal([RUN, turn(), SessionSaid("hello")], quiet=True) == ""


def test_a_terminal_rings_and_notifies_at_the_end_of_a_run_that_was_long_and_a_log_never_does() -> None:
    ends = [RunEnded("complete", "", seconds) for seconds in (19.0, 20.0)]
    assert [terminal([RUN, end]).count("\a") for end in ends] == [0, 1]
    assert [terminal([RUN, end]).count("\x1b]9;rgr: complete\x1b\\") for end in ends] == [0, 1]
    assert not {"\a", "\x1b"} & set(plain([RUN, *ends]))


def test_colours_are_there_only_when_wanted() -> None:
    assert "\x1b[1;31mRED" in terminal([turn(), accepted()], color=True)
    assert not re.search(r"\x1b\[[0-9;]*m", terminal(EVERY_EVENT, color=False))


def test_all_codes_on_a_terminal_are_ours() -> None:
    assert is_safe(OURS.sub("", terminal(EVERY_EVENT, color=True)))


def test_the_cursor_comes_back_at_the_end_and_on_closing() -> None:
    for events in ([RUN, turn()], [RUN, turn(), RunEnded("complete", "", 1.0)]):
        written = terminal(events)
        assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l") >= 0


def test_nothing_of_the_live_line_is_left_behind() -> None:
    assert "at work" in terminal([RUN, turn()])
    assert "at work" not in lasting(terminal([RUN, turn()]))


def test_the_live_line_comes_back_after_closing() -> None:
    stream = Terminal()
    view = TerminalView(stream, width=80)
    view(turn())
    view.close()
    before = len(stream.getvalue())
    view(SessionSaid("more"))
    view.close()
    assert "session at work" in stream.getvalue()[before:]


PROBED = (SuiteStarted("probe"), suite(0, 1, purpose="probe"))


def moving(events: Sequence[Event], width: int = 80) -> list[str]:
    """Return the screen with the lines that are redrawn, as they are at the end."""
    stream = Terminal()
    with closing(TerminalView(stream, color=False, width=width, clock=lambda: 0.0)) as view:
        for event in (*events, ToolUsed("Read", "1", failed=False, seconds=0.1)):
            view(event)
    return lasting(stream.getvalue().rpartition("\x1b[?25h")[0]).split("\n")


@pytest.mark.parametrize(
    ("events", "waited"),
    [
        ([RUN], "⠋ getting ready · 0:00"),
        ([RUN, SuiteStarted("suite")], "⠋ running the suite · 0:00"),
        ([RUN, SuiteStarted("suite"), suite(1, 0)], "⠋ getting ready · 0:00"),
        ([turn()], "  session at work · 0:00"),
        ([turn(), SessionSaid("a\nreading x\n\n")], "  session at work · 0:00  reading x"),
        ([turn(), SessionEnded(1.0, failed=False)], "  sealing and judging · 0:00"),
        ([turn(), SuiteStarted("suite")], "  running the suite · 0:00"),
        ([turn(), SuiteStarted("probe")], "  probing · 0:00"),
        ([turn(), *PROBED], "  probing: 1 so far · 0:00"),
        ([turn(), *PROBED, *PROBED, SuiteStarted("probe")], "  probing: 2 so far · 0:00"),
        ([turn(), *PROBED, turn(PhaseName.GREEN), SuiteStarted("probe")], "  probing · 0:00"),
        ([turn(), SuiteStarted("probe", "is it?", 3, 7)], "  is it? 3 of 7 · 0:00"),
        ([turn(), SuiteStarted("suite"), suite(1, 0)], "  judging · 0:00"),
        ([turn(), accepted()], "  getting ready · 0:00"),
        ([turn(), rejected(TAMPERED), Paused(2.0)], "  waiting 2 s before the next attempt · 0:00"),
    ],
)
def test_the_live_lines_tell_what_is_waited_for(events: list[Event], waited: str) -> None:
    assert waited in moving(events)


def test_the_live_line_counts_on_from_probe_to_probe() -> None:
    now = [100.0]
    stream = Terminal()
    with closing(TerminalView(stream, color=False, width=80, clock=lambda: now[0])) as view:
        for event in (turn(), *PROBED):
            view(event)
        now[0] += 65
        view(SuiteStarted("probe"))
        assert "probing: 1 so far · 1:05" in stream.getvalue()


def test_a_plain_log_says_once_that_proving_takes_long() -> None:
    slow = suite(0, 1, purpose="probe", seconds=6.0)
    assert plain([turn(), slow, slow, slow, slow]).count("still probing: 2 probes so far\n") == 1
    assert "probing" not in plain([turn(), slow, turn(PhaseName.GREEN), slow])
    assert "still probing" not in terminal([turn(), slow, slow, slow])


def test_where_the_time_went_is_told_when_judging_took_much_of_it() -> None:
    slow = replace(accepted(facts=Facts(judged_seconds=63.0)), seconds=80.0)
    for told in both([turn(), slow]):  # the session's end was told before the run was cut off
        assert re.search(r"session 17(\.0)? s, gates (63(\.0)? s|1:03)", told), told
    for told in both([turn(), SessionEnded(17.0, failed=False), replace(accepted(), seconds=80.0)]):
        assert "gates" not in told


def test_the_live_line_counts_from_when_the_waiting_began() -> None:
    now = [100.0]
    stream = Terminal()
    with closing(TerminalView(stream, color=False, width=80, clock=lambda: now[0])) as view:
        view(turn())
        now[0] += 65
        view(Warned("so much for that"))
        assert "session at work · 1:05" in stream.getvalue()
        view(SessionEnded(65.0, failed=False))
    assert "sealing and judging · 0:00" in stream.getvalue()


def test_a_live_line_is_cut_where_the_session_talks() -> None:
    def told(width: int, what: str = "session at work", so_far: str = "") -> str:
        row = awaited(Waiting(what, so_far), 0.0, "reading a very long file name", width, Ink())
        return "".join(span.text for span in row)

    assert told(38) == "session at work · 0:00  reading a ver…"
    assert told(16) == "session … · 0:00"
    assert told(30, "does the test notice it?", "3 of 7") == "does the test n… 3 of 7 · 0:00"
    assert told(24, "what it needs", "3 of 7") == "what it …: 3 of 7 · 0:00"


def test_the_spinner_turns() -> None:
    now = [0.0]
    stream = Terminal()
    with closing(TerminalView(stream, color=False, width=80, clock=lambda: now[0])) as view:
        view(turn())
        for _ in range(10):
            now[0] += 1 / 8
            view(Warned("x"))
    assert set(Ink().spinner) <= set(stream.getvalue())


@pytest.mark.parametrize(
    ("elapsed", "face"), [(0.9, "0:00"), (59.9, "0:59"), (754, "12:34"), (3723, "1:02:03")]
)
def test_elapsed_time_is_told_as_a_stopwatch_does(elapsed: float, face: str) -> None:
    assert clock_face(elapsed) == face


def test_narrow_terminals_keep_the_type_of_a_rejection_and_the_counts() -> None:
    for told in both(
        [RUN, turn(), suite(2, 1), accepted(), turn(PhaseName.GREEN), rejected(TAMPERED)], width=40
    ):
        assert all(cells(line) <= 40 for line in told.splitlines())
        assert "\n    1 failed as it should, 2 passed\n" in told
        assert "\n    TestTampering\n" in told
        assert "\nrun 20261115-091512-3f2a\n" in told


@pytest.mark.parametrize("width", [1, 20, 40, 80, 500])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for told in both(EVERY_EVENT, width=width):
        assert max(cells(line) for line in told.splitlines()) <= max(width, 20)


def hostile_events(text: str) -> list[Event]:
    case = Case(text, text, text)
    finding = Finding(FindingType.TEST_FAILURE, text, text or None, 1, text)
    return [
        RunStarted(text, text, text, text, text),
        SuiteStarted(text),
        suite(1, 0, purpose=text),
        TurnStarted(PhaseName.RED, 1, 1, case, text),
        SessionSaid(text),
        replace(accepted(), commit=text, subject=text),
        replace(
            rejected(),
            verdict=Verdict(Ruling.REJECTED, (finding, finding, replace(finding, severity=Severity.WARNING))),
        ),
        accepted(PhaseName.PLAN, case=case),
        Warned(text),
        RunEnded(text, text, 1.0),
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_from_outside_can_move_the_cursor(text: str) -> None:
    assert is_safe(plain(hostile_events(text), width=40))
    assert is_safe(OURS.sub("", terminal(hostile_events(text), color=True, width=40)))


def test_nothing_from_outside_can_pass_for_a_line_of_ours() -> None:
    forged = "x\n  RED       ✓ 9c1d2ef test: forged\rcycle 9 · forged\ncycle 9 · forged"
    for told in both(hostile_events(forged)):
        assert not re.search(r"^(cycle 9|  RED       ✓ 9c1d2ef test: forged)", told, re.MULTILINE)


@given(st.lists(any_event(), max_size=5), st.integers(20, 120))
@settings(deadline=None, database=None)
def test_no_text_in_any_field_breaks_the_plain_view(events: list[Event], width: int) -> None:
    told = plain(events, width=width)
    assert is_safe(told)
    assert all(cells(line) <= width for line in told.split("\n"))


@given(st.lists(any_event(), max_size=4), st.integers(20, 120))
@settings(deadline=None, database=None)
def test_no_text_in_any_field_breaks_the_terminal_view(events: list[Event], width: int) -> None:
    written = terminal(events, color=True, width=width)
    assert is_safe(OURS.sub("", written))
    shown = NOTIFICATION.sub("", written)  # which takes no room
    assert all(cells(line) <= width for line in lasting(shown).split("\n"))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_a_stream_that_cannot_encode_everything_gets_what_it_can(encoding: str) -> None:
    for make in (PlainView, TerminalView):
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, encoding=encoding)
        with closing(make(stream, width=80)) as view:
            for event in [*EVERY_EVENT, *hostile_events("naïve 界面 🎉"), rejected(TAMPERED)]:
                view(event)
        written = raw.getvalue().decode(encoding)
        assert "roman numerals" in written
        assert ("✗" if encoding == "utf-8" else "x") + " attempt 1 rejected" in re.sub(
            r"\x1b\[[0-9;]*m", "", written
        )


@pytest.mark.parametrize("make", [PlainView, TerminalView])
def test_a_closed_pipe_stops_nothing(make: type[View]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    with closing(make(stream)) as view:
        for event in EVERY_EVENT:
            view(event)
    stream.close()


@pytest.mark.parametrize("make", [PlainView, TerminalView])
def test_a_closed_stream_stops_nothing(make: type[View]) -> None:
    stream = io.StringIO()
    stream.close()
    with closing(make(stream)) as view:
        for event in EVERY_EVENT:
            view(event)


def test_a_terminal_gets_the_terminal_view_and_anything_else_plain_lines() -> None:
    assert isinstance(view_for(Terminal(), ENVIRON), TerminalView)
    assert isinstance(view_for(io.StringIO(), ENVIRON), PlainView)
    assert isinstance(view_for(Terminal(), {"TERM": "dumb"}), PlainView)


@pytest.mark.parametrize(
    ("environ", "no_color", "coloured"),
    [
        ({}, False, True),
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, False, True),
    ],
)
def test_colour_is_given_up_when_somebody_says_so(
    environ: dict[str, str], no_color: bool, coloured: bool
) -> None:
    stream = Terminal()
    with closing(view_for(stream, ENVIRON | environ, no_color=no_color)) as view:
        view(RUN)
    assert bool(re.search(r"\x1b\[[0-9;]*m", stream.getvalue())) is coloured


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_quiet_is_passed_on(stream: io.StringIO) -> None:
    view_for(stream, ENVIRON, quiet=True)(RUN)
    assert stream.getvalue() == ""


PLAY = """
import os, sys
from contextlib import closing
from views_samples import EVERY_EVENT
from redgreenrefactor.views.console import view_for
with closing(view_for(sys.stdout, os.environ)) as view:
    for event in EVERY_EVENT:
        view(event)
"""


def test_on_a_real_terminal_of_forty_columns_everything_fits() -> None:
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    names = {
        **os.environ,
        "TERM": "xterm",
        "PYTHONPATH": str(Path(__file__).parent),
        "PYTHONIOENCODING": "utf-8",
    }
    environ = {name: value for name, value in names.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    with subprocess.Popen(
        [sys.executable, "-c", PLAY], stdin=theirs, stdout=theirs, stderr=theirs, env=environ
    ) as play:
        os.close(theirs)
        written = read_all(ours).decode()
    assert play.returncode == 0
    screen = lasting(written.replace("\r\n", "\n"))
    assert "\n    TestTampering\n" in screen
    assert "! stopped after 12.3 s" in screen
    assert all(cells(line) <= 40 for line in screen.splitlines())
    assert "\x1b[1;31mRED" in written


def read_all(file: int) -> bytes:
    """Return what a pseudo terminal gives until its other side is gone."""
    parts: list[bytes] = []
    try:
        while part := os.read(file, 65536):
            parts.append(part)
    except OSError:
        pass  # Linux says so when nobody is left
    os.close(file)
    return b"".join(parts)
