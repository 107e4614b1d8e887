import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from views_samples import CASE, HOSTILE, UNNEEDED, texts

from notes import with_keys
from redgreenrefactor.demo import what_to_look_at
from redgreenrefactor.model.decision import written_again
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, State, TaskFileMark
from redgreenrefactor.model.result import AtWork, CycleCommits, CycleResult, Entry, RunStatus, WorkflowResult
from redgreenrefactor.model.review_task import run_id_of
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.verdict import FindingType, Outcome, TestOutcome
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import ASCII, Ink, cells
from redgreenrefactor.views.result_text import result_text
from redgreenrefactor.views.text import history_text, status_text
from redgreenrefactor.views.turn_words import evidence

OPENING = Handoff(
    PhaseName.PLAN, PhaseName.PLAN, "20261115-091512-3f2a", "roman numerals", timestamp="2026-11-15T09:15:12Z"
)
PLANNED = replace(
    OPENING,
    next_phase=PhaseName.RED,
    cycle_number=2,
    current_test=CASE,
    completed_tests=("0 is nothing",),
    pending_tests=("2 is II", "3 is III"),
)
FAILING = replace(PLANNED, phase=PhaseName.RED, next_phase=PhaseName.GREEN, test_result=TestOutcome.FAIL)
REFUSED = replace(
    FAILING,
    error="an existing test was edited",
    error_details=ErrorDetails("TestTampering", "an existing test was edited"),
    retry_count=2,
    attempts=2,
)
ATTEMPT = replace(REFUSED, phase=PhaseName.GREEN, attempts=1)
COVERED = replace(
    FAILING,
    next_phase=PhaseName.PLAN,
    outcome=Outcome.COVERED,
    test_result=TestOutcome.PASS,
    completed_tests=("0", "1 is I"),
)
FINISHED = replace(
    COVERED,
    phase=PhaseName.PLAN,
    next_phase=PhaseName.COMPLETE,
    state=State.COMPLETE,
    cycle_number=3,
    current_test=None,
    outcome=None,
    test_result=None,
    pending_tests=(),
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
COMMIT = "9c1d2ef0aaaabbbbccccddddeeeeffff00001111"
DONE = CycleResult(1, "1 is I", "done", CycleCommits("a" * 40, "b" * 40, "c" * 40, "d" * 40), 1, 3.2, None)
RESULT = WorkflowResult(
    "20261115-091512-3f2a", "roman numerals", RunStatus.COMPLETE, (DONE,), None, None, None, 12.3, COMMIT
)


def status(handoff: Handoff, *, width: int = 80, ink: Ink | None = None) -> str:
    return status_text(Entry(COMMIT, handoff), width=width, ink=ink)


def history(*handoffs: Handoff, width: int = 80) -> str:
    return "\n".join(history_text([Entry(COMMIT, handoff) for handoff in handoffs], width=width))


def is_safe(text: str) -> bool:
    return not any(unicodedata.category(character)[0] == "C" for character in text if character != "\n")


def test_without_a_workflow_the_status_says_how_to_start_one() -> None:
    assert (
        status_text(None, width=80) == 'No workflow has been started here.\n  → rgr run "FEATURE"  starts one'
    )


@pytest.mark.parametrize("entry", [None, Entry(COMMIT, FAILING), Entry(COMMIT, FINISHED)])
def test_while_a_run_is_at_work_nothing_is_offered_that_would_be_refused(entry: Entry | None) -> None:
    told = status_text(entry, width=80, at_work=AtWork("4711", "2026-11-15T09:15:12Z"))
    assert "rgr is at work here: process 4711, since 2026-11-15 09:15Z" in told
    assert "kill -INT 4711" in told
    assert "rgr run" not in told
    assert "→ rgr resume" not in told


def test_a_heading_is_told_without_its_marks_and_a_review_is_about_the_whole_of_it() -> None:
    reviewed = Handoff(PhaseName.REVIEW, PhaseName.CODE, feature="# Word wrap\n\nIt wraps.", cycle_number=1)
    assert status(reviewed).startswith("Word wrap …")
    assert "REVIEW    Word wrap …" in history(reviewed)
    assert "no case left" in history(replace(reviewed, phase=PhaseName.PLAN))


def test_a_task_goes_on_by_its_own_name() -> None:
    opened = Handoff(PhaseName.CODE, PhaseName.REVIEW, run_id=run_id_of("task-1"), cycle_number=1)
    assert "rgr tdd --resume task-1" in status(opened)
    assert "rgr resume" in status(replace(opened, run_id="run-1"))


def test_what_goes_on_as_it_began_is_what_is_advised() -> None:
    told = result_text(
        replace(RESULT, status=RunStatus.STOPPED), width=80, resume="rgr resume --agent 'command:a b'"
    )
    assert "→ rgr resume --agent 'command:a b'" in told
    long = f"rgr resume --agent 'command:{'x' * 30}'"
    told = result_text(replace(RESULT, status=RunStatus.FAILED), width=80, resume=long)
    assert f"  → {long}\n    goes on where this ended\n  → rgr history --attempts   " in told


def test_where_the_money_is_used_up_more_of_it_is_asked_for() -> None:
    spent = ErrorDetails("BudgetExceeded", "the budget of 0.01 USD is used up")
    result = replace(RESULT, status=RunStatus.STOPPED, error=spent.message, error_details=spent)
    assert "→ rgr resume --budget USD " in result_text(result, width=80)
    stopped = replace(OPENING, state=State.STOPPED, error=spent.message, error_details=spent)
    assert "→ rgr resume --budget USD " in status(stopped)
    between = Handoff(
        PhaseName.RED, PhaseName.GREEN, state=State.STOPPED, stopped_by=FindingType.BUDGET_EXCEEDED
    )
    assert "→ rgr resume --budget USD " in status(between)


def test_the_status_tells_what_is_due_for_which_case() -> None:
    told = status(FAILING)
    assert told.startswith("roman numerals")
    assert "run 20261115-091512-3f2a\ncut off · GREEN is due\n" in told
    assert "  cycle  2\n  case   1 is I\n         tests/test_roman.py → roman.py\n" in told
    assert "RED accepted (the new test fails, as it should) at 9c1d2ef\n  when   2026-11-15 09:15Z\n" in told
    assert told.endswith("  → rgr resume  goes on with GREEN")
    assert "why" not in told


def test_the_status_shows_the_list_around_the_current_case() -> None:
    told = status(FAILING)
    assert "test-list.md: 1 done, 1 in work, 2 to do\n  [x] 0 is nothing\n  [>] 1 is I" in told
    assert "GREEN due\n  [ ] 2 is II\n  [ ] 3 is III\n" in told


def test_a_finished_case_is_no_longer_in_work() -> None:
    told = status(COVERED)
    assert "PLAN is due" in told
    assert "  cycle  3\n" in told
    assert "RED accepted (already covered)" in told
    assert "[>]" not in told
    assert "  case  " not in told


def test_a_green_phase_tells_that_tests_pass() -> None:
    green = replace(
        FAILING, phase=PhaseName.GREEN, next_phase=PhaseName.REFACTOR, test_result=TestOutcome.PASS
    )
    assert "GREEN accepted (tests pass)" in status(green)


def test_long_lists_are_shown_in_part() -> None:
    many = replace(
        FAILING,
        completed_tests=tuple(f"done {n}" for n in range(20)),
        pending_tests=tuple(f"open {n}" for n in range(30)),
    )
    told = status(many)
    assert "  … 14 more done\n  [x] done 14\n" in told
    assert "  [ ] open 5\n  … 24 more to do\n" in told


def test_lists_that_a_note_only_counts_are_counted() -> None:
    counted = replace(FAILING, completed_tests=(), pending_tests=(), completed_count=150, pending_count=99)
    told = status(counted)
    assert "test-list.md: 150 done, 1 in work, 99 to do\n  … 150 more done\n  [>] 1 is I" in told
    assert "  … 99 more to do\n" in told


def test_the_work_of_a_task_file_has_no_list() -> None:
    assert "test-list.md" not in status(replace(FAILING, task=TaskFileMark("IMPL-1", "0", "s")))


def test_only_in_red_a_failing_test_is_as_it_should_be() -> None:
    assert dict(evidence(FAILING))["tests"] == "the new test fails, as it should"
    assert "tests" not in dict(evidence(ATTEMPT))


def test_a_test_with_many_sets_of_values_is_named_once() -> None:
    names = ("t.py::test_a[1-I]", "t.py::test_a[5-V]", "t.py::test_b[1]", "t.py::test_c")
    noted = replace(FAILING, facts=replace(FAILING.facts, tests=names))
    assert (
        dict(evidence(noted))["new test"]
        == "t.py::test_a, with 2 sets of values; t.py::test_b[1]; t.py::test_c"
    )


def test_a_count_that_is_none_counts_nothing() -> None:
    assert "test-list.md" not in status(with_keys(OPENING, completedCount="many"))


def test_the_status_tells_why_the_last_attempt_failed() -> None:
    told = status(REFUSED)
    assert "GREEN is due · retry 2\n" in told
    assert "  why    TestTampering: an existing test was edited\n" in told
    assert "  → rgr history --attempts  shows what was tried" in told


def test_an_error_without_details_is_told_too() -> None:
    assert "  why    an existing test was edited\n" in status(replace(REFUSED, error_details=None))


def test_an_aborted_run_says_so_and_how_to_go_on() -> None:
    told = status(replace(REFUSED, state=State.ABORTED, attempts=4))
    assert "aborted · GREEN was given up after 4 attempts\n" in told
    assert "goes on with GREEN and a fresh set of retries" in told
    assert "aborted · GREEN was given up\n" in status(replace(REFUSED, state=State.ABORTED, attempts=0))


def test_a_stopped_run_tells_whom_it_waits_for() -> None:
    told = status(replace(PLANNED, state=State.STOPPED, awaiting="approval"))
    assert "stopped · RED is due\n" in told
    assert "Waiting for approval: you may edit test-list.md: add, reword, reorder or drop" in told
    assert "do not commit it. Then go on.\n  → rgr resume" in told


def test_a_complete_run_needs_nothing() -> None:
    told = status(FINISHED)
    assert "complete · 2 cases done, nothing is due\n" in told
    second = replace(FINISHED, cycle_number=2)  # the other box was ticked before
    assert "complete · 1 case done, nothing is due\n" in status(second)
    task = replace(FINISHED, phase=PhaseName.REFACTOR, cycle_number=1)
    assert "complete · nothing is due\n" in status(task)
    assert "rgr resume" not in told
    assert "  → rgr history                   shows how it was made\n" in told


def test_a_run_that_has_only_begun_is_told() -> None:
    told = status(OPENING)
    assert "PLAN is due\n" in told
    assert "  cycle  1\n  last   started at 9c1d2ef\n  when   2026-11-15 09:15Z\n" in told
    assert "test-list.md" not in told


def test_a_handoff_that_was_carried_over_says_from_where() -> None:
    carried = replace(FAILING, carried_from="abcdef0123456789")
    assert "carried over from abcdef0" in status(carried)
    assert "carried over from abcdef0" in history(carried)


def test_a_bare_note_is_enough_for_a_status() -> None:
    told = status(Handoff(PhaseName.RED, PhaseName.GREEN, cycle_number=1))
    assert told.startswith("(no feature named)\ncut off · GREEN is due\n")


def test_a_timestamp_of_another_shape_is_shown_as_it_is() -> None:
    assert "  when   yesterday\n" in status(replace(FAILING, timestamp="yesterday"))


def test_an_empty_history_says_how_to_start() -> None:
    assert history() == "No handoffs here. Type 'rgr run \"FEATURE\"' to start a workflow."


def test_the_history_has_a_line_for_every_handoff() -> None:
    lines = history(FINISHED, COVERED, FAILING, PLANNED, OPENING, width=100).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "9c1d2ef cycle 3 PLAN no case left 2026-11-15 09:15Z",
        "9c1d2ef cycle 2 RED 1 is I covered 2026-11-15 09:15Z",
        "9c1d2ef cycle 2 RED 1 is I tests FAIL 2026-11-15 09:15Z",
        "9c1d2ef cycle 2 PLAN 1 is I 2026-11-15 09:15Z",
        "9c1d2ef start roman numerals 2026-11-15 09:15Z",
    ]


def test_the_history_is_written_while_it_is_read() -> None:
    read: list[str] = []

    def entries() -> Iterator[Entry]:
        for commit in ("one", "two"):
            read.append(commit)
            yield Entry(commit, FAILING)

    next(iter(history_text(entries(), width=80)))
    assert read == ["one"]


def test_rejected_attempts_are_marked_in_the_history() -> None:
    told = history(ATTEMPT)
    assert "9c1d2ef  cycle 2   GREEN     ✗ attempt 1 rejected" in told
    assert "\n         ✗ TestTampering: an existing test was edited" in told


def test_an_attempt_that_left_no_commit_says_so() -> None:
    told = "\n".join(history_text([Entry("", ATTEMPT)], width=80))
    assert told.startswith(" " * 9 + "cycle 2   GREEN     ✗ attempt 1 rejected, no commit")


def test_on_a_narrow_terminal_a_handoff_still_takes_one_line() -> None:
    long = replace(REFUSED.current_test or CASE, description="4000 and more are refused with a ValueError")
    told = history(replace(REFUSED, current_test=long, error=None), width=60)
    assert told == "9c1d2ef  cycle 2   RED       4000 and more are refuse…  FAIL"
    told = history(replace(REFUSED, current_test=long, error=None), width=80)
    assert told == "9c1d2ef  cycle 2   RED       4000 and more are refused with…  FAIL  11-15 09:15Z"


def test_a_single_item_more_is_shown_instead_of_counted() -> None:
    done = tuple(f"done {number}" for number in range(7))
    told = status(replace(REFUSED, completed_tests=done, pending_tests=done))
    assert "more" not in told
    assert told.count("done 0") == 2


def test_a_handoff_is_dated_by_its_acceptance_whatever_was_written_into_it_since() -> None:
    note = written_again(REFUSED, "2026-11-15T11:59:00Z")
    assert "2026-11-15 09:15Z" in history(note, width=100)
    assert "11:59" not in history(note, width=100)


def test_an_attempt_without_details_is_marked_too() -> None:
    assert "\n         ✗ an existing test was edited" in history(replace(ATTEMPT, error_details=None))


def test_what_has_gone_wrong_since_is_told_beside_the_handoff_that_stands() -> None:
    assert "\n         ! then GREEN was rejected: TestTampering: an existing test was edited" in history(
        REFUSED
    )
    assert "! then GREEN was rejected: an existing" in history(replace(REFUSED, error_details=None))


def test_a_rejection_that_stands_as_an_attempt_is_not_told_again_beside_the_handoff() -> None:
    told = "\n".join(history_text([Entry("b", ATTEMPT), Entry("a", REFUSED)], width=80))
    assert "was rejected" not in told
    other = replace(ATTEMPT, error="something else")
    told = "\n".join(history_text([Entry("b", other), Entry("a", REFUSED)], width=80))
    assert "! then GREEN was rejected" in told


def test_warnings_of_an_accepted_phase_stand_in_the_history() -> None:
    warned = replace(FAILING, findings=(UNNEEDED,))
    assert "\n         ! NotMinimal: 3 lines are not needed" in history(warned)
    assert "NotMinimal" not in history(replace(REFUSED, findings=(UNNEEDED,)))


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [
        ("2026-01-11T10:30:00.123+00:00", "2026-01-11 10:30Z"),
        ("2026-01-11T10:30:00+02:00", "2026-01-11T10:30:00+02:00"),
        ("yesterday", "yesterday"),
    ],
)
def test_a_moment_is_told_to_the_minute_and_what_is_none_as_it_stands(timestamp: str, shown: str) -> None:
    assert history(replace(OPENING, timestamp=timestamp), width=100).endswith(f"  {shown}")


def test_only_notes_of_rejected_attempts_are_attempts() -> None:
    assert Entry("", ATTEMPT).is_attempt
    assert not Entry("", REFUSED).is_attempt
    assert not Entry("", FAILING).is_attempt
    assert not Entry("", replace(OPENING, error="the first plan was rejected")).is_attempt


@pytest.mark.parametrize("handoff", [OPENING, PLANNED, REFUSED, COVERED, FINISHED])
def test_colours_are_laid_over_the_same_words(handoff: Handoff) -> None:
    bright, attempt = Ink(color=True), Entry(COMMIT, ATTEMPT)
    failed = replace(RESULT, cycles=(replace(DONE, outcome="failed"),), error="it was edited")
    told = [
        (status(handoff), status(handoff, ink=bright)),
        (result_text(failed, width=80), result_text(failed, width=80, ink=bright)),
        *(
            zip(
                history_text([Entry(COMMIT, handoff), attempt], width=80),
                history_text([Entry(COMMIT, handoff), attempt], width=80, ink=bright),
                strict=True,
            )
        ),
    ]
    for plain, colourful in told:
        assert COLOUR.sub("", colourful) == plain
        assert COLOUR.search(colourful)


def test_a_complete_result_lists_its_cycles_and_where_to_look() -> None:
    told = result_text(RESULT, width=80)
    assert "\n\n  cycles 1 done\n  time   12.3 s by the clock\n" in told
    assert "    1  ✓ done        1 is I                           1 retry  ddddddd     3.2 s\n" in told
    assert "  run    20261115-091512-3f2a\n  head   9c1d2ef\n" in told
    worked = result_text(replace(RESULT, worked=9.5), width=80)
    assert "  time   12.3 s by the clock, 9.5 s in sessions and gates\n" in worked
    assert "  → git log --oneline aaaaaaa^..9c1d2ef  shows its commits\n" in told
    assert told.endswith("  → rgr report -o ../report.html         makes a page of it for a browser")
    assert "rgr resume" not in told


def test_on_a_narrow_terminal_every_cycle_of_a_result_takes_one_line() -> None:
    long = replace(DONE, test="every symbol from 5 to 1000, subtracted ones included")
    told = result_text(replace(RESULT, cycles=(long, replace(long, retries=0))), width=60)
    assert told.splitlines()[:2] == [
        "    1  ✓ done        every symbol from 5…  1 retry     3.2 s",
        "    1  ✓ done        every symbol from 5 to 1000,…     3.2 s",
    ]


def test_what_to_look_at_after_a_demonstration_fits_the_terminal() -> None:
    for width in (60, 100):
        lines = what_to_look_at(Path("/tmp/a place"), width=width, ink=Ink(), whole=True).splitlines()
        assert max(map(len, lines)) <= width
        assert any(line.startswith("  → cd '/tmp/a place'") for line in lines)
        assert not any("rgr resume" in line for line in lines)
    assert "→ rgr resume " in what_to_look_at(Path("/tmp"), width=100, ink=Ink(), whole=False)
    assert "→" not in result_text(RESULT, width=80, resume=None)


def test_a_failed_result_says_why_and_how_to_go_on() -> None:
    failed = replace(DONE, cycle_number=2, outcome="failed", commits=CycleCommits("e" * 40), retries=3)
    covered = replace(
        DONE, cycle_number=3, outcome="covered", commits=CycleCommits("e" * 40, "f" * 40), retries=0
    )
    told = result_text(
        replace(
            RESULT,
            status=RunStatus.FAILED,
            cycles=(DONE, failed, covered),
            error="it was edited",
            error_details=ErrorDetails("TestTampering", "it was edited"),
        ),
        width=80,
    )
    assert "  cycles 1 done, 1 covered, 1 failed\n" in told
    assert "    2  ✗ failed      1 is I                         3 retries  eeeeeee     3.2 s\n" in told
    assert "    3  ✓ covered     1 is I                                    fffffff     3.2 s\n" in told
    assert "  why    TestTampering: it was edited\n" in told
    assert "  → rgr resume " in told
    assert "  → rgr history --attempts " in told


def test_an_interrupted_result_tells_what_was_rejected_last_and_not_as_its_reason() -> None:
    edited = ErrorDetails("TestTampering", "it was edited")
    result = replace(RESULT, status=RunStatus.INTERRUPTED, error=edited.message, error_details=edited)
    told = result_text(result, width=80)
    assert "  last   rejected as TestTampering: it was edited\n" in told
    assert "why" not in told


@pytest.mark.parametrize("ended", [RunStatus.STOPPED, RunStatus.INTERRUPTED])
def test_a_result_without_cycles_still_says_how_to_go_on(ended: RunStatus) -> None:
    told = result_text(replace(RESULT, status=ended, cycles=()), width=80)
    assert told.startswith("  time   12.3 s by the clock\n")
    assert told.endswith("  → rgr resume  goes on where this ended")


def test_a_stopped_result_names_what_is_open_and_counts_warnings() -> None:
    stopped = replace(
        RESULT, status=RunStatus.STOPPED, open_cases=("2 is II", "3 is III"), open_count=5, warnings=1
    )
    told = result_text(stopped, width=80)
    assert "  open   5 cases open; next: 2 is II\n" in told
    assert "         1 warning; 'rgr history' shows them\n" in told
    told = result_text(RESULT, width=80)
    assert "open" not in told
    assert "warning" not in told


def test_an_unfinished_cycle_without_a_case_or_commits_is_listed() -> None:
    unfinished = replace(DONE, test=None, outcome="unfinished", commits=CycleCommits(), retries=0)
    told = result_text(replace(RESULT, status=RunStatus.STOPPED, cycles=(unfinished,)), width=80)
    assert "    1  - unfinished  (not planned)" in told
    assert "git log" not in told


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        (Usage(12345, 678), "12,345 tokens in, 678 out\n"),
        (Usage(cost_usd=0.1234), "0.123 USD\n"),  # whoever tells no tokens
        (Usage(1000, 10, 500, 20, 0.1234), "1,520 tokens in (500 from the cache), 10 out, 0.123 USD\n"),
    ],
)
def test_usage_is_told_where_it_is_known(usage: Usage, told: str) -> None:
    assert f"  used   {told}" in result_text(replace(RESULT, usage=usage), width=80)
    assert "used" not in result_text(RESULT, width=80)


def test_other_symbols_can_be_asked_for() -> None:
    entry = Entry(COMMIT, replace(ATTEMPT, feature="naïve"))
    pages = [status(entry.handoff, ink=ASCII), *history_text([entry], width=80, ink=ASCII)]
    assert "".join([*pages, result_text(RESULT, width=80, ink=ASCII)]).isascii()


def pages(text: str, width: int) -> list[str]:
    """Return every page with this text in every place that takes one."""
    lists: dict[str, Any] = {"completed_tests": (text, text), "pending_tests": (text,)}
    values: dict[str, Any] = {
        "run_id": text,
        "feature": text,
        "timestamp": text,
        "awaiting": text,
        "carried_from": text,
    }
    details = ErrorDetails(text, text)
    found = [
        replace(
            handoff,
            **values,
            **lists,
            error=error,
            error_details=details,
            current_test=Case(text, text, text),
        )
        for handoff in (OPENING, REFUSED, ATTEMPT, COVERED, FINISHED)
        for error in (None, text)
    ]
    commits = CycleCommits(text, text, text, text)
    cycle = replace(DONE, test=text, outcome=text, commits=commits)
    result = replace(
        RESULT,
        run_id=text,
        feature=text,
        error=text,
        error_details=details,
        cycles=(cycle,),
        head=text,
        usage=Usage(1, 2),
    )
    told = [status_text(Entry(text, handoff), width=width) for handoff in found]
    told.append("\n".join(history_text([Entry(text, handoff) for handoff in found], width=width)))
    return [*told, result_text(result, width=width)]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_from_outside_can_move_the_cursor(text: str) -> None:
    assert all(is_safe(page) for page in pages(text, 80))


@given(texts(), st.integers(20, 120))
@settings(deadline=None, database=None)
def test_no_text_in_any_field_breaks_a_page(text: str, width: int) -> None:
    for page in pages(text, width):
        assert is_safe(page)
        assert all(cells(line) <= width for line in page.split("\n"))
