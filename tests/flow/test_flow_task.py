"""Whole task files, with real git and pytest and an agent that plays its part."""

import os

import pytest
from stage import surroundings
from task_stage import ADD, CODE, DEAD, FILES, SUBTRACT, TEST, TIDY, WRONG, last_section, parts, staged, task

from repos import MakeRepo


def test_a_task_goes_through_red_green_and_refactor(make_repo: MakeRepo) -> None:
    told = 'on.finish=echo "$TDD_STATUS $TDD_HEAD" >> ../told\n'
    stage = staged(make_repo, files={**FILES, "tdd.properties": FILES["tdd.properties"] + told})
    start = stage.head()
    done = stage.rgr_task()
    assert done.code == 0, done
    assert (stage.repo.path.parent / "told").read_text() == f"complete {stage.head()}\n"
    assert last_section(done.out) == [
        "## TASK COMPLETE",
        "",
        "TDD cycle completed: Red → Green → Refactor",
        "Test results: 2/2 passed (100%)",
        "Coverage: not measured, none expected (target: none)",
        "Green phase iterations: 1/3",
        f"Files modified: {CODE}, {TEST}",
    ]
    assert stage.turns == ["RED-1-1", "GREEN-1-1", "REFACTOR-1-1"]
    assert stage.repo.subjects()[-3:] == [
        "test: the calculator",
        "feat: the calculator",
        "refactor: say what it is",
    ]
    notes = [stage.note(commit) for commit in stage.commits(start)]
    assert [(note["phase"], note["nextPhase"], note["testResult"]) for note in notes] == [
        ("RED", "GREEN", "FAIL"),
        ("GREEN", "REFACTOR", "PASS"),
        ("REFACTOR", "COMPLETE", "PASS"),
    ]
    assert notes[0]["written"] == 2
    assert notes[2]["session"] == {"id": "WFS-calc-IMPL-1", "strategy": "new", "resumeFrom": []}
    assert notes[2]["complexity"] == {"before": 2, "after": 2}
    assert stage.is_clean()
    assert "- Test Cases Written: 2 (expected: 2)" in stage.summary
    assert f"- `{CODE}`: added (feat: the calculator; refactor: say what it is)" in stage.summary
    assert f"- **add(a: int, b: int) -> int**: says nothing about itself (`{CODE}`)" in stage.summary
    assert "## TDD Compliance: 100/100" in stage.summary
    assert "## Status: Complete (TDD Compliant)" in stage.summary
    assert ".workflow/" in (stage.repo.path / ".git/info/exclude").read_text()


@pytest.mark.long
def test_tries_at_green_build_on_each_other_with_a_diagnosis_between(make_repo: MakeRepo) -> None:
    stage = staged(
        make_repo,
        parts(
            GREEN_1_1={"files": {CODE: ADD}, "commit": "feat: half"},
            GREEN_1_2={"files": {CODE: ADD + WRONG}, "commit": "feat: other half"},
            GREEN_1_3={"run": [f"sed -i 's/b - a/a - b/' {CODE}"], "commit": "feat: the calculator"},
            DIAGNOSE_1_3={"say": "The sign is wrong.", "files": {"scribble.txt": "x"}},
        ),
    )
    done = stage.rgr_task("--json")
    assert done.code == 0, done
    result = done.json
    assert (result["taskId"], result["status"], result["iterations"]) == ("IMPL-1", "complete", 3)
    assert result["tests"] == {"passed": 2, "total": 2}
    assert [phase["phase"] for phase in result["phases"]] == ["RED", "GREEN", "REFACTOR"]
    assert result["compliance"]["deductions"] == [{"points": 10, "why": "GREEN took 3 tries"}]
    assert stage.turns == [
        "RED-1-1",
        "GREEN-1-1",
        "DIAGNOSE-1-2",
        "GREEN-1-2",
        "DIAGNOSE-1-3",
        "GREEN-1-3",
        "REFACTOR-1-1",
    ]
    assert "The sign is wrong." in stage.session("GREEN-1-3")["brief"]
    diagnosing = stage.session("DIAGNOSE-1-3")["brief"]
    assert "test_subtracts fails" in diagnosing
    assert "assert calc.subtract(6, 3) == 3" in diagnosing  # what pytest printed
    assert f"- `{CODE}`: added" in diagnosing
    assert "IMPL-1.json" in diagnosing
    assert "AttributeError" in stage.log(2)
    assert "The sign is wrong." in stage.log(3)
    assert "tests: 2 of 2 pass" in stage.log(3)
    assert "`calc.py`: edited" in stage.log(2)
    assert len(stage.repo.subjects()) == 4
    assert not (stage.repo.path / "scribble.txt").exists()
    assert stage.note("HEAD~1")["diagnosis"]["message"] == "The sign is wrong."


@pytest.mark.long
def test_a_green_that_never_comes_is_reverted(make_repo: MakeRepo) -> None:
    stage = staged(
        make_repo, parts(GREEN={"files": {CODE: ADD + WRONG, "more.txt": "x"}, "commit": "feat: no"})
    )
    done = stage.rgr_task()
    assert done.code == 1, done
    assert last_section(done.out) == [
        "## TASK FAILED",
        "",
        "**Phase:** Green",
        "**Reason:** Max iterations (3) reached without passing tests",
        "**Action:** All changes auto-reverted",
        "**Diagnostics:** See .process/green-phase-failure.md",
    ]
    assert stage.repo.subjects()[-1] == "test: the calculator"
    assert not (stage.repo.path / CODE).exists()
    assert stage.is_clean()
    assert [turn for turn in stage.turns if turn.startswith("GREEN")] == [
        "GREEN-1-1",
        "GREEN-1-2",
        "GREEN-1-3",
    ]
    assert any("GREEN-given-up" in name for name in stage.kept())
    report = (stage.folder / ".process" / "green-phase-failure.md").read_text()
    assert "test_subtracts fails" in report
    assert "refs/tdd/attempts/" in report
    assert stage.note()["state"] == "aborted"
    again = stage.rgr("status")
    assert again.code == 0, again


@pytest.mark.long
def test_a_refactor_that_breaks_a_test_is_reverted_and_ends_the_task(make_repo: MakeRepo) -> None:
    stage = staged(make_repo, parts(REFACTOR={"files": {CODE: ADD + WRONG}, "commit": "refactor: worse"}))
    done = stage.rgr_task()
    assert done.code == 1, done
    section = last_section(done.out)
    assert section[0] == "## TASK FAILED"
    assert section[2] == "**Phase:** Refactor"
    assert "test_subtracts fails" in section[3]
    assert stage.turns == ["RED-1-1", "GREEN-1-1", "REFACTOR-1-1"]
    assert (stage.repo.path / CODE).read_text() == ADD + SUBTRACT
    assert stage.is_clean()


@pytest.mark.long
def test_coverage_below_the_target_is_one_more_iteration(make_repo: MakeRepo) -> None:
    stage = staged(
        make_repo,
        parts(
            GREEN_1_1={"files": {CODE: ADD + SUBTRACT + DEAD}, "commit": "feat: too much"},
            GREEN_1_2={"files": {CODE: ADD + SUBTRACT}, "commit": "feat: the calculator"},
        ),
        {
            **FILES,
            "tdd.properties": FILES["tdd.properties"] + "agent.diagnosis=command:echo Seen by another.\n",
        },
    )
    cycles = [{"test_count": 2, "expected_coverage": ">=85%"}]
    done = stage.rgr_task("--json", document=task(meta={"tdd_cycles": cycles}))
    assert done.code == 0, done
    assert (done.json["iterations"], done.json["coverage"]) == (2, 100.0)
    assert "CoverageTooLow: the tests reach 62.5 % of calc.py; 85 % are wanted" in stage.log(1)
    assert "coverage: 100 % (85 % are wanted)" in stage.log(2)
    assert "Seen by another." in stage.log(
        2
    )  # --agent does not say who diagnoses, where somebody was chosen for it


@pytest.mark.long
def test_a_missing_tool_blocks_the_task(make_repo: MakeRepo) -> None:
    stage = staged(make_repo)
    done = stage.rgr_task(document=task(convergence={"criteria": ["$ no-such-tool --test"]}))
    assert done.code == 3, done
    section = last_section(done.out)
    assert section[0] == "## TASK BLOCKED"
    assert "no-such-tool" in section[2]
    assert section[5] == "**Phase:** red"
    assert stage.sessions == []
    assert stage.is_clean()


@pytest.mark.long
def test_a_kind_of_session_that_the_agent_has_not_blocks_the_task(make_repo: MakeRepo) -> None:
    stage = staged(make_repo)
    gemini = stage.repo.path.parent / "gemini"
    gemini.write_text("#!/bin/sh\necho 0.61.0\n")
    gemini.chmod(0o755)
    link = {"id": "S-2", "strategy": "fork", "resume_from": "S-1"}
    document = task(convergence={"criteria": ["$ true"]}, cli_execution=link)
    path = f"{gemini.parent}{os.pathsep}{surroundings(stage.repo)['PATH']}"

    done = stage.rgr("task", str(stage.task_file(document)), "--agent", "gemini", env={"PATH": path})

    assert done.code == 3, done
    blocker, need = last_section(done.out)[2:4]
    assert (
        blocker == "**Blocker:** the agent gemini has no sessions of the kind 'fork', which the task asks for"
    )
    assert "codex" in need
    assert "'merge_fork', which hands over what earlier sessions said" in need


@pytest.mark.long
def test_tests_that_cannot_be_collected_block_the_task_before_anybody_works(make_repo: MakeRepo) -> None:
    tests = "import absent\n\n\ndef test_old() -> None:\n    pass\n"
    stage = staged(make_repo, files={**FILES, "tests/test_old.py": tests})
    done = stage.rgr_task("--json")
    assert (done.code, done.json["status"]) == (3, "blocked"), done
    assert "there is no module 'absent'" in done.err + done.out
    assert stage.sessions == []


@pytest.mark.slow
def test_the_refactored_code_is_what_was_asked_for(make_repo: MakeRepo) -> None:
    stage = staged(make_repo, parts(REFACTOR={}))
    done = stage.rgr_task()
    assert done.code == 0, done
    assert stage.repo.subjects()[-1] == "refactor: no changes needed"
    assert TIDY not in (stage.repo.path / CODE).read_text()
