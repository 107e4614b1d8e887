"""What became of a task is read off its notes."""

from dataclasses import replace
from typing import Any

import pytest

from notes import with_keys
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, State
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.task import Criterion, Cycle, Task
from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus, phases_of
from redgreenrefactor.model.verdict import Finding, FindingType, Severity
from redgreenrefactor.model.workflow import PhaseName

RED, GREEN, REFACTOR, CODE = PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR, PhaseName.CODE
CYCLE = Cycle(2, expected_coverage=">=85%", coverage_min=85)
TASK = Task("T", "t", "d", tdd=True, criteria=(Criterion("$ x", "x"),), cycles=(CYCLE,))


def noted(phase: PhaseName, then: PhaseName, attempts: int = 1, **keys: Any) -> Handoff:
    keys = {"suite": {"passed": 2, "total": 2}, "retries": attempts - 1, "seconds": 1.5, **keys}
    return with_keys(Handoff(phase, then, cycle_number=1, attempts=attempts), **keys)


OPENING = Entry("0", Handoff(RED, RED))
COVERED: dict[str, Any] = {"coverage": {"percent": 91.5, "wanted": 85.0}}
COMPLETE = [
    Entry("3", noted(REFACTOR, PhaseName.COMPLETE, complexity={"before": 3, "after": 2})),
    Entry("2", noted(GREEN, REFACTOR, **COVERED)),
    Entry("1", noted(RED, GREEN)),
    OPENING,
]


def result(history: list[Entry], attempts: tuple[Entry, ...] = (), **more: Any) -> TaskFileResult:
    return TaskFileResult(
        TASK, more.pop("status", TaskFileStatus.COMPLETE), phases_of(history, attempts), **more
    )


def test_a_complete_task_has_three_phases_and_nothing_deducted() -> None:
    found = result(COMPLETE)
    assert [(phase.name, phase.commit, phase.attempts) for phase in found.phases] == [
        (RED, "1", 1),
        (GREEN, "2", 1),
        (REFACTOR, "3", 1),
    ]
    assert (found.passed, found.total, found.pass_rate, found.coverage, found.iterations) == (
        2,
        2,
        100.0,
        91.5,
        1,
    )
    assert (found.compliance, found.deductions, found.exit_code) == (100, (), 0)


def test_json_has_the_promised_keys() -> None:
    body = result(COMPLETE, files=("a",), summary="s").to_json()
    expected = {"taskId", "status", "phases", "tests", "coverage", "iterations", "files", "summary"}
    assert expected <= body.keys()
    assert body["phases"][1] == {
        "phase": "GREEN",
        "done": True,
        "commit": "2",
        "attempts": 1,
        "tests": {"passed": 2, "total": 2},
        "coverage": 91.5,
        "seconds": 1.5,
    }
    assert body["errorDetails"] is None
    failed = result(COMPLETE, error_details=ErrorDetails("X", "x")).to_json()
    assert failed["errorDetails"] == {"type": "X", "message": "x"}


def test_a_phase_that_was_given_up_tells_of_its_last_try() -> None:
    base = replace(noted(RED, GREEN), error="no", attempts=3, state=State.ABORTED)
    tried = Entry("x", replace(noted(GREEN, GREEN, suite={"passed": 1, "total": 2}), error="no"))
    found = result([Entry("1", base), OPENING], (tried,), status=TaskFileStatus.FAILED)
    green = found.of(GREEN)
    assert green is not None
    assert (green.done, green.attempts, green.passed, green.commit) == (False, 3, 1, None)
    assert (found.passed, found.iterations) == (1, 3)
    assert [item.why for item in found.deductions] == [
        "GREEN was not completed",
        "GREEN took 3 tries",
        "REFACTOR was not completed",
    ]
    assert found.compliance == 100 - 30 - 10 - 30


def test_a_phase_without_a_commit_has_no_figures() -> None:
    opening = Entry("0", replace(OPENING.handoff, error="it crashed", attempts=1))
    found = result([opening], status=TaskFileStatus.FAILED)
    assert [(phase.name, phase.done, phase.measured) for phase in found.phases] == [(RED, False, False)]
    assert (found.last, found.passed, found.total, found.pass_rate) == (None, None, None, None)
    assert phases_of([], ()) == ()


def test_points_are_deducted_for_what_is_not_as_it_should_be() -> None:
    early = Finding(FindingType.UNEXPECTED_PASS, "early", severity=Severity.WARNING)
    many = Finding(FindingType.TOO_MANY_TESTS, "many", severity=Severity.WARNING)
    history = [
        Entry("3", noted(REFACTOR, PhaseName.COMPLETE, complexity={"before": 1, "after": 9})),
        Entry(
            "2",
            noted(
                GREEN,
                REFACTOR,
                evidence="exit-code",
                coverage={"percent": None, "wanted": 80, "why": "no tool"},
            ),
        ),
        Entry("1", replace(noted(RED, GREEN), findings=(early, many))),
        OPENING,
    ]
    found = result(history)
    assert [(item.points, item.why) for item in found.deductions] == [
        (15, "tests passed before any code was written"),
        (5, "more tests were written than cases were named"),
        (5, "GREEN could be judged by its exit code only"),
        (10, "the expected coverage could not be compared"),
        (5, "the code is more complicated after Refactor than before"),
    ]
    assert found.warnings == ("early", "many")
    assert found.coverage_note == "no tool"


def test_a_plain_task_is_all_or_nothing() -> None:
    plain = replace(TASK, tdd=False, cycles=())
    done = TaskFileResult(
        plain, TaskFileStatus.COMPLETE, phases_of([Entry("1", noted(CODE, PhaseName.COMPLETE))], ())
    )
    assert (done.compliance, done.coverage_note, done.iterations) == (100, "none expected", 0)
    assert TaskFileResult(plain, TaskFileStatus.FAILED).compliance == 0
    assert TaskFileResult(TASK, TaskFileStatus.FAILED).coverage_note == "not measured"


@pytest.mark.parametrize(
    ("status", "code"), [("complete", 0), ("failed", 1), ("blocked", 3), ("stopped", 4), ("interrupted", 130)]
)
def test_every_end_has_an_exit_code(status: str, code: int) -> None:
    assert TaskFileResult(TASK, TaskFileStatus(status)).exit_code == code


@pytest.mark.parametrize(
    ("state", "retries", "attempts", "allowed"),
    [
        (State.ABORTED, 2, 3, 3),  # given up at the first go
        (State.ABORTED, 2, 6, 6),  # and once more
        (State.RUNNING, 1, 4, 6),  # gone on with after three, one more rejected, then interrupted
        (State.RUNNING, 0, 3, 6),  # interrupted before anything else was rejected
    ],
)
def test_a_task_that_is_gone_on_with_has_as_many_tries_again(
    state: State, retries: int, attempts: int, allowed: int
) -> None:
    waiting = replace(noted(RED, GREEN), error="no", state=state, retry_count=retries, attempts=attempts)
    found = result([Entry("1", waiting), OPENING], status=TaskFileStatus.FAILED)
    assert (found.iterations, found.max_iterations) == (attempts, allowed)
    done = result([Entry("2", noted(GREEN, REFACTOR, attempts=5, earlierAttempts=3)), OPENING])
    assert (done.iterations, done.max_iterations, done.to_json()["maxIterations"]) == (5, 6, 6)


def test_the_figures_of_one_try_are_not_taken_for_those_of_another() -> None:
    waiting = replace(noted(RED, GREEN), error="the session failed", state=State.ABORTED, attempts=2)
    tried = Entry("x", replace(noted(GREEN, GREEN), error="t fails"))
    assert result([Entry("1", waiting)], (tried,)).phases[-1].facts == waiting.facts
    own = Entry("y", replace(noted(GREEN, GREEN, suite={"total": 7}), error="the session failed"))
    assert result([Entry("1", waiting)], (tried, own)).phases[-1].total == 7


def test_only_tests_that_fail_are_said_to_fail() -> None:
    failed = result([], error_details=ErrorDetails("TestFailure", "t fails"))
    assert failed.lacks_passing_tests
    assert not replace(failed, error_details=None).lacks_passing_tests
    assert not replace(failed, error_details=ErrorDetails("CoverageTooLow", "few")).lacks_passing_tests
    unmet = replace(noted(GREEN, GREEN, unmet=["ruff"]), error="no")
    waiting = Entry("1", replace(noted(RED, GREEN), error="no"))
    told = replace(failed, phases=phases_of([waiting], (Entry("x", unmet),)))
    assert not told.lacks_passing_tests
