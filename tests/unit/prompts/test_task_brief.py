"""What the sessions of a task are told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from notes import with_keys
from redgreenrefactor.errors import UsageError
from redgreenrefactor.goals.task_file import task_from
from redgreenrefactor.loop.workflows import PLAIN, taskfile
from redgreenrefactor.model.handoff import ErrorDetails, Handoff
from redgreenrefactor.model.session import Brief
from redgreenrefactor.model.task import Source
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.model.workflow import Phase, PhaseName
from redgreenrefactor.prompts.task_brief import PARTS, TaskMatter, Tried, brief, handoff_template, texts
from task_samples import tdd_task

TOLD = TaskMatter(task_from(tdd_task(), Path("T.json")), "pytest -q", texts(None), handoff_template(None))
PHASES = {phase.name: phase for phase in (*taskfile(3).sessions(), *PLAIN.sessions())}
FRESH = Handoff(PhaseName.RED, PhaseName.RED, run_id="r")
FAILED = (Finding(FindingType.TEST_FAILURE, "it fails", "a.py", 3, hint="mend it"),)


def told(
    phase: PhaseName,
    handoff: Handoff = FRESH,
    given: TaskMatter = TOLD,
    attempt: int = 1,
    tried: Tried | None = None,
) -> Brief:
    return brief(given, phase_of(phase), handoff, attempt, "some-model", tried)


def phase_of(name: PhaseName) -> Phase:
    return PHASES[name]


def rejected(**keys: Any) -> Handoff:
    return with_keys(
        Handoff(PhaseName.RED, PhaseName.GREEN, error="no", findings=FAILED, cycle_number=1, retry_count=1),
        **keys,
    )


def test_red_is_told_the_cases_its_own_step_and_the_conventions() -> None:
    found = told(PhaseName.RED)
    for part in (
        "## Task IMPL-7: Calculator",
        "Cycle 1: 2 test cases:\n- adds\n- subtracts",
        "Expected coverage: >=85%",
        "Keep it small",
        "- Create tests/test_calc.py",
        "- tests/test_calc.py: two cases",
        "The tests are run with: `pytest -q`",
        "- tech stack: Python; pytest",
    ):
        assert part in found.task, part
    assert "Green: implement" not in found.task
    assert "Scope of the code: two functions" in found.task
    place = "Where GREEN will write the code, so that your tests can import it:\n- calc.py"
    assert place in found.task
    assert place not in told(PhaseName.GREEN).task
    assert (found.role.model, found.cycle, found.session, found.resume_from) == (
        "some-model",
        1,
        "WFS-calc-IMPL-7",
        ("WFS-calc-IMPL-6",),
    )
    assert "$" not in found.role.system_prompt


def test_every_phase_has_a_text_of_its_own() -> None:
    for name in PHASES:
        assert f"# Your phase: {name}" in told(name).role.system_prompt


def test_green_is_told_what_to_do_and_a_plain_session_everything() -> None:
    assert "Logic:\n- add\n- subtract" in told(PhaseName.GREEN).task
    assert "Scope of the code: two functions" in told(PhaseName.GREEN).task
    assert "Tidy up" not in told(PhaseName.GREEN).task
    assert all(words in told(PhaseName.CODE).task for words in ("Tidy up", "Green: implement", "Red: write"))


def test_what_was_gathered_and_what_parents_said_is_quoted() -> None:
    given = replace(
        TOLD,
        sources=(Source("docs/style.md", "Be brief."),),
        parents=(("S-1", "I did it."), ("S-2", "")),
        prefix="sub/",
    )
    task = told(PhaseName.RED, given=given).task
    for part in (
        "#### docs/style.md",
        "Be brief.",
        "What the session S-1 said",
        "I did it.",
        "(nothing)",
        "`sub/`",
    ):
        assert part in task, part


TRIED = Tried("refs/tdd/attempts/r/1-GREEN-1", ("`a.py`: edited",), "E  assert 1 == 2\n")


def test_a_retry_is_told_what_was_wrong_and_where_its_files_are() -> None:
    task = told(PhaseName.GREEN, rejected(), attempt=2).task
    assert "this is number 2 of 5" in task
    assert (
        "this is number 4 of 7" in told(PhaseName.GREEN, rejected(), attempt=4).task
    )  # gone on with after two
    assert "Its changes were undone" in task
    assert "TestFailure in a.py, line 3: it fails\nHint: mend it" in task
    diagnosis = {"before": 2, "message": "off by one", "failed": False}
    going_on = rejected(buildsOn="1-GREEN-1", diagnosis=diagnosis)
    task = told(PhaseName.GREEN, going_on, attempt=2).task
    assert "go on from there" in task
    assert "off by one" in task
    assert "off by one" not in told(PhaseName.DIAGNOSE, going_on, attempt=2).task
    assert "off by one" not in told(PhaseName.GREEN, going_on, attempt=3).task
    lost = {"before": 2, "message": "it ended without a word", "failed": True}
    task = told(PhaseName.GREEN, rejected(diagnosis=lost), attempt=2, tried=TRIED).task
    assert "without a word" not in task
    assert "E  assert 1 == 2" in task
    assert "### The last try was rejected\n" in told(PhaseName.RED, rejected(), attempt=2).task
    kept = [{"attempt": 1, "type": "TestFailure", "message": "it fails", "kept": "1-RED-1"}]
    red = replace(
        rejected(rejections=kept), error_details=ErrorDetails("TestFailure", "it fails"), run_id="r"
    )
    assert "`git show refs/tdd/attempts/r/1-RED-1` shows them" in told(PhaseName.RED, red, attempt=2).task
    assert "only words" in told(PhaseName.RED, replace(rejected(), findings=(), error="only words")).task


def test_after_a_try_that_broke_the_rules_the_brief_says_whose_files_lie_there() -> None:
    tries = [
        {"attempt": number, "type": "TestFailure", "message": "it fails", "kept": f"1-GREEN-{number}"}
        for number in (1, 2)
    ]
    said = "are those of an earlier try, 1-GREEN-1."
    for phase in (PhaseName.GREEN, PhaseName.DIAGNOSE):
        cheated = told(phase, rejected(buildsOn="1-GREEN-1", rejections=tries), attempt=3).task
        assert said in cheated
        assert "Its files lie before you" not in cheated
        failed = told(phase, rejected(buildsOn="1-GREEN-2", rejections=tries), attempt=3).task
        assert said not in failed
        assert "Its files lie before you as it left them" in failed


def test_a_diagnosis_is_told_the_number_of_the_try_it_looks_at() -> None:
    assert "(it was number 1 of 5)" in told(PhaseName.DIAGNOSE, rejected(), attempt=2).task


def test_green_is_told_how_the_tests_fail_and_every_rejection_so_far() -> None:
    red = with_keys(Handoff(PhaseName.RED, PhaseName.GREEN), failure="a.py::test_x: assert 1 == 2")
    assert (
        "### How the new tests fail\n\n```text\na.py::test_x: assert 1 == 2\n```"
        in told(PhaseName.GREEN, red).task
    )
    assert "How the new tests fail" not in told(PhaseName.REFACTOR, red).task
    rejections = [
        {"attempt": 1, "type": "TestFailure", "message": "first", "kept": "1-GREEN-1"},
        {"attempt": 2, "type": "TestFailure", "message": "it fails", "kept": ""},
    ]
    details = ErrorDetails("TestFailure", "it fails")
    later = replace(rejected(failure="x", rejections=rejections), error_details=details, run_id="r")
    task = told(PhaseName.GREEN, later, attempt=3).task
    assert "- 1: TestFailure: first (`git show refs/tdd/attempts/r/1-GREEN-1`)" in task
    assert "- 2:" not in task
    assert "How the new tests fail" not in task


def test_the_projects_own_rules_are_named() -> None:
    assert "stands in `AGENTS.md`" in told(PhaseName.CODE, given=replace(TOLD, guides=("AGENTS.md",))).task
    assert "AGENTS.md" not in told(PhaseName.CODE).task


def test_a_task_without_cycles_conventions_or_a_session_is_fine() -> None:
    bare = replace(TOLD.task, cycles=(), shared_context=(), steps=(), link=replace(TOLD.task.link, id=""))
    found = told(PhaseName.CODE, given=replace(TOLD, task=bare))
    assert "Cycle" not in found.task
    assert (found.session, found.strategy, found.resume_from) == ("", "", ())


def test_users_may_have_their_own_templates(tmp_path: Path) -> None:
    (tmp_path / "task-red.md").write_text("# Mine: $phase, $feature, $attempt")
    given = replace(TOLD, texts=texts(tmp_path))
    assert "# Mine: RED, , 1" in told(PhaseName.RED, given=given).role.system_prompt
    (tmp_path / "task-red.md").write_text("$nonsense")
    with pytest.raises(UsageError, match="nonsense"):
        texts(tmp_path)


def test_a_diagnosis_changes_nothing_and_sees_what_was_tried() -> None:
    found = told(PhaseName.DIAGNOSE, rejected(), attempt=2, tried=TRIED)
    assert "Mode: analysis" in found.task
    assert "What it changed (`git show refs/tdd/attempts/r/1-GREEN-1`):\n\n- `a.py`: edited" in found.task
    assert "What the tests printed:\n\n```text\nE  assert 1 == 2\n```" in found.task
    assert "commit on the current branch" not in found.role.system_prompt
    empty = told(PhaseName.DIAGNOSE, rejected(), tried=Tried("refs/x", (), "")).task
    assert "- nothing" in empty
    assert "printed" not in empty


def test_a_plain_session_hears_nothing_of_phases_it_does_not_have() -> None:
    found = told(PhaseName.CODE)
    assert not any(word in found.role.system_prompt for word in ("RED", "GREEN", "REFACTOR"))
    assert "commit on the current branch" in found.role.system_prompt
    assert "Mode: write" in found.task


def test_what_is_handed_over_has_a_template_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "task-handoff.md").write_text("$title from $task_file\n\n$rejected\n\n$criteria\n")
    given = replace(TOLD, template=handoff_template(tmp_path), file="tasks/T.json")
    task = told(PhaseName.CODE, given=given).task
    assert task.startswith("Calculator from The task file is `tasks/T.json`;")
    assert "\n\n### It is done when" in task
    assert "A calculator." not in task
    (tmp_path / "task-handoff.md").write_text(" ".join(f"${name}" for name in PARTS))
    assert handoff_template(tmp_path)
    (tmp_path / "task-handoff.md").write_text("$feature")
    with pytest.raises(UsageError, match=r"no placeholder '\$feature'"):
        handoff_template(tmp_path)
    (tmp_path / "task-common.md").write_text("Mine for all.")
    assert all(text.startswith("Mine for all.") for text in texts(tmp_path).values())
