"""The files of a task."""

from pathlib import Path
from typing import Any

import pytest

from notes import with_keys
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.task import Criterion, Task
from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.records.task_folder import Iteration, TaskFolder, failure_text, iteration_text, ticked

TASK = Task("IMPL-1", "t", "d", tdd=True, criteria=(Criterion("$ x", "x"),))
FAILED = Finding(FindingType.TEST_FAILURE, "test_a fails:\nno")


def tried(error: str | None = "no", **keys: Any) -> Handoff:
    findings = (FAILED,) if error else ()
    made = Handoff(PhaseName.GREEN, PhaseName.GREEN, error=error, findings=findings, attempts=2)
    return with_keys(made, **keys)


def test_a_log_tells_what_failed_what_was_said_what_changed_and_what_came_of_it() -> None:
    figures: dict[str, Any] = {
        "suite": {"passed": 1, "total": 2},
        "coverage": {"percent": 60.0, "wanted": 85.0},
    }
    second = tried(diagnosis={"before": 2, "message": "The sign.", "failed": False}, **figures)
    text = iteration_text(TASK, Iteration(2, 3, Entry("abc", second), tried(), ("`a.py`: added",), "refs/x"))
    assert text.startswith(
        "# Task IMPL-1: Green, iteration 2 of 3\n\n## What failed before\n\n- TestFailure: test_a"
    )
    assert "## Diagnosis\n\nThe sign." in text
    assert "- `a.py`: added" in text
    assert "- tests: 1 of 2 pass\n- coverage: 60 % (85 % are wanted)" in text
    assert "Commit `abc`, kept at `refs/x`." in text


def test_the_first_log_and_one_without_a_commit() -> None:
    first = iteration_text(TASK, Iteration(1, 3, Entry("abc", tried(None)), None, (), None))
    assert "the tests that Red wrote" in first
    assert "none was needed" in first
    assert "- accepted" in first
    empty = iteration_text(TASK, Iteration(2, 3, None, None, (), None))
    assert "rejected; no commit was made" in empty
    assert "none was made" in empty
    told = Handoff(PhaseName.GREEN, PhaseName.GREEN, error="only words")
    assert "- only words" in iteration_text(TASK, Iteration(2, 3, Entry("a", told), told, (), None))


def test_a_failure_report_ends_with_where_the_work_is() -> None:
    result = TaskFileResult(TASK, TaskFileStatus.FAILED)
    text = failure_text(
        result,
        tried(diagnosis={"before": 3, "message": "hopeless", "failed": False}),
        ["refs/tdd/attempts/r/1-GREEN-1"],
    )
    assert "rejected 2 times of 3" in text
    assert "hopeless" in text
    assert text.endswith("- `git show refs/tdd/attempts/r/1-GREEN-1`\n")
    assert "no try made a commit" in failure_text(result, tried(), [])


LIST = """\
# Tasks
- [ ] **IMPL-10**: other
- [ ] **IMPL-1.2**: part
  - [ ] **IMPL-1**: this → [📋](./.task/IMPL-1.json)
- [ ] about IMPL-1 again
"""


def test_only_the_box_that_names_the_task_is_ticked() -> None:
    after = ticked(LIST, "IMPL-1").splitlines()
    before = LIST.splitlines()
    assert [line for line in range(5) if after[line] != before[line]] == [3]
    assert (
        after[3]
        == "  - [x] **IMPL-1**: this → [📋](./.task/IMPL-1.json) | [✅](./.summaries/IMPL-1-summary.md)"
    )


def test_ticking_twice_changes_nothing_more() -> None:
    once = ticked(LIST, "IMPL-1")
    assert ticked(once, "IMPL-1") == once
    assert ticked(LIST, "IMPL-7") == LIST
    assert ticked("1. [ ] a (IMPL-2.json)\n", "IMPL-2") == "1. [ ] a (IMPL-2.json)\n"


def test_a_summary_is_written_and_the_box_ticked_only_when_complete(tmp_path: Path) -> None:
    folder = TaskFolder(tmp_path, "S")
    folder.root.mkdir(parents=True)
    todo = folder.root / "TODO_LIST.md"
    todo.write_text("- [ ] IMPL-1\n")
    folder.summarise(TaskFileResult(TASK, TaskFileStatus.FAILED), "failed")
    assert todo.read_text() == "- [ ] IMPL-1\n"
    folder.summarise(TaskFileResult(TASK, TaskFileStatus.COMPLETE), "done")
    assert todo.read_text().startswith("- [x] IMPL-1 |")
    assert (tmp_path / folder.summary(TASK)).read_text() == "done"
    todo.write_bytes(b"\xff")
    folder.summarise(TaskFileResult(TASK, TaskFileStatus.COMPLETE), "done")
    assert todo.read_bytes() == b"\xff"
    folder.fail("why")
    folder.log(TASK, Iteration(1, 3, None, None, (), None))
    assert sorted(path.name for path in (folder.root / ".process").iterdir()) == [
        "green-fix-iteration-1.md",
        "green-phase-failure.md",
    ]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotReadyError, match="cannot be written"):
        TaskFolder(tmp_path / "file", "s").fail("why")


def test_what_an_earlier_run_of_the_task_left_is_taken_away(tmp_path: Path) -> None:
    folder = TaskFolder(tmp_path, "S")
    for number in (1, 2, 3):
        folder.log(TASK, Iteration(number, 3, None, None, (), None))
    other = Task("IMPL-10", "t", "d", tdd=True, criteria=TASK.criteria)
    folder.log(other, Iteration(4, 4, None, None, (), None))
    folder.fail(failure_text(TaskFileResult(TASK, TaskFileStatus.FAILED), tried(), []))
    folder.clear(TASK, 2, failed=True)
    left = ["green-fix-iteration-1.md", "green-fix-iteration-2.md", "green-fix-iteration-4.md"]
    assert sorted(file.name for file in (folder.root / ".process").iterdir()) == [
        *left,
        "green-phase-failure.md",
    ]
    folder.clear(TASK, 2, failed=False)
    assert sorted(file.name for file in (folder.root / ".process").iterdir()) == left


def test_no_text_is_written_where_a_link_leads_and_none_moves_a_cursor(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".workflow/active/s").mkdir(parents=True)
    home.mkdir()
    (project / ".workflow/active/s/.process").symlink_to(home)
    (project / ".workflow/active/s/.summaries").symlink_to(home)
    folder = TaskFolder(project, "s")
    folder.fail("title \x1b]0;pwned\x07 and \x9b31m colour\x7f\n")
    folder.summarise(TaskFileResult(TASK, TaskFileStatus.COMPLETE), "done")
    assert list(home.iterdir()) == []
    written = (folder.root / ".process/green-phase-failure.md").read_text()
    assert written == "title  and  colour\n"
