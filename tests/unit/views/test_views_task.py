"""What became of a task, in words."""

from dataclasses import replace
from typing import Any

from redgreenrefactor.model.facts import Complexity, CoverageFigure, Facts
from redgreenrefactor.model.handoff import ErrorDetails
from redgreenrefactor.model.task import Criterion, Cycle, Task
from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus, TaskPhase
from redgreenrefactor.model.verdict import Finding, FindingType, Severity
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.task_text import last_section, one_line, summary

CYCLE = Cycle(2, scope="two functions", expected_coverage=">=85%", coverage_min=85)
TASK = Task("T", "Calculator", "d", tdd=True, criteria=(Criterion("$ x", "x"),), cycles=(CYCLE,))


def phase(name: PhaseName, **more: Any) -> TaskPhase:
    given: dict[str, Any] = {"done": True, "attempts": 1, "passed": 2, "total": 2, "measured": True, **more}
    return TaskPhase(name, **given)


PHASES = (
    phase(PhaseName.RED, facts=Facts(test_files=("tests/a.py",), written=2), passed=0),
    phase(PhaseName.GREEN, attempts=2, coverage=91.5),
    phase(PhaseName.REFACTOR, facts=Facts(complexity=Complexity(5, 3), refactored=("a.py",))),
)
COMPLETE = TaskFileResult(TASK, TaskFileStatus.COMPLETE, PHASES, files=("a.py", "tests/a.py"), summary="S")


def test_a_complete_task_ends_with_its_figures() -> None:
    assert last_section(COMPLETE) == (
        "## TASK COMPLETE\n\nTDD cycle completed: Red → Green → Refactor\nTest results: 2/2 passed (100%)\n"
        "Coverage: 91.5% (target: >=85%)\nGreen phase iterations: 2/3\nFiles modified: a.py, tests/a.py"
    )


def test_what_was_not_measured_is_said() -> None:
    phases = (
        phase(
            PhaseName.GREEN,
            passed=None,
            total=None,
            facts=Facts(coverage=CoverageFigure(None, 85, why="no tool")),
        ),
    )
    text = last_section(TaskFileResult(TASK, TaskFileStatus.COMPLETE, phases))
    assert "judged by the exit code" in text
    assert "Coverage: not measured, no tool (target: >=85%)" in text
    assert "Files modified: none" in text
    empty = last_section(
        TaskFileResult(TASK, TaskFileStatus.COMPLETE, (phase(PhaseName.GREEN, passed=0, total=0),))
    )
    assert "Test results: 0/0 passed\n" in empty


def test_a_failed_task_ends_with_phase_reason_action_and_diagnostics() -> None:
    failed = TaskFileResult(
        TASK,
        TaskFileStatus.FAILED,
        error="t fails",
        error_details=ErrorDetails("TestFailure", "t fails"),
        phase=PhaseName.GREEN,
    )
    green = last_section(failed)
    assert green.splitlines()[2:] == [
        "**Phase:** Green",
        "**Reason:** Max iterations (3) reached without passing tests",
        "**Action:** All changes auto-reverted",
        "**Diagnostics:** See .process/green-phase-failure.md",
    ]
    other = "**Reason:** Max iterations (3) reached: t fails"
    assert other in last_section(replace(failed, error_details=ErrorDetails("CoverageTooLow", "t fails")))
    unmet = phase(PhaseName.GREEN, done=False, facts=Facts(unmet=("ruff",)))
    assert other in last_section(replace(failed, phases=(unmet,)))
    red = TaskFileResult(TASK, TaskFileStatus.FAILED, phase=PhaseName.RED, error="two\nlines", summary="S")
    assert last_section(red).splitlines()[3:] == [
        "**Reason:** two lines",
        "**Action:** The changes of Red were reverted",
        "**Diagnostics:** See S",
    ]
    assert "rgr status" in last_section(replace(red, summary=None))


def test_a_blocked_task_ends_with_what_is_missing() -> None:
    blocked = TaskFileResult(
        TASK, TaskFileStatus.BLOCKED, error="no pytest", hint="Install it.", phase=PhaseName.GREEN
    )
    assert last_section(blocked) == (
        "## TASK BLOCKED\n\n**Blocker:** no pytest\n**Need:** Install it.\n"
        "**Attempted:** nothing yet: the surroundings were checked first\n**Phase:** green"
    )
    stopped = TaskFileResult(TASK, TaskFileStatus.INTERRUPTED, PHASES)
    assert "**Attempted:** RED (1 try), GREEN (2 tries), REFACTOR (1 try)" in last_section(stopped)
    assert "**Need:** Nothing is lost: type the same command again, or 'rgr resume'" in last_section(stopped)


def test_of_several_tasks_each_tells_why_it_did_not_complete() -> None:
    assert one_line(COMPLETE) == "T: complete"
    assert (
        one_line(TaskFileResult(TASK, TaskFileStatus.FAILED, error="two\nlines")) == "T: failed (two lines)"
    )


def test_the_summary_has_every_section() -> None:
    text = summary(COMPLETE, ["`a.py`: added"], ["**add()**: Add."])
    assert "### Content Added\n- **add()**: Add.\n" in text
    for line in (
        "# Task: T Calculator",
        "- Test Cases Written: 2 (expected: 2)",
        "- Test Files: tests/a.py",
        "- Initial Result: All tests failing as expected",
        "- Implementation Scope: two functions",
        "- Test-Fix Iterations: 2/3",
        "- Refactorings Applied: 1 files changed",
        "- Complexity (cyclomatic): 5 before, 3 after",
        "- Regression Test: All tests still passing",
        "- `a.py`: added",
        "## TDD Compliance: 95/100\n- -5: GREEN took 2 tries",
        "## Status: Complete (TDD Compliant)",
    ):
        assert line in text, line


def test_the_summary_of_a_failure_and_of_a_plain_task() -> None:
    early = Finding(FindingType.UNEXPECTED_PASS, "early", severity=Severity.WARNING)
    red = phase(PhaseName.RED, findings=(early,))
    text = summary(TaskFileResult(TASK, TaskFileStatus.FAILED, (red,), error="no"), [])
    for line in (
        "some tests passed already",
        "- Test Files: none",
        "- none",
        "## Status: Failed: no",
        "- early",
    ):
        assert line in text, line
    assert "not completed" in text
    plain = replace(TASK, tdd=False, cycles=())
    done = TaskFileResult(plain, TaskFileStatus.COMPLETE, (phase(PhaseName.CODE),))
    assert "## Plain Session\n\n- Final Test Results: 2/2 passed (100%)" in summary(done, [])
    assert "## Status: Complete\n" in summary(done, [])
    assert "Task completed: one plain session" in last_section(done)
