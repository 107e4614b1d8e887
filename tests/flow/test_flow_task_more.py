"""Task files at their edges: malformed, plain, several at once, sessions that go on, interruptions."""

import json
import os
import signal
from typing import Any

import pytest
from stage import SWIFT, surroundings, wait_for
from task_stage import ADD, CODE, FILES, SUBTRACT, TEST, TESTS, last_section, parts, staged, task

import redgreenrefactor
from repos import MakeRepo
from task_samples import SEED_EXAMPLE


@pytest.mark.long
def test_a_malformed_file_is_bad_usage(make_repo: MakeRepo) -> None:
    stage = staged(make_repo)
    done = stage.rgr_task("--json", document={"description": "", "convergence": {"criteria": []}, "id": "/"})
    assert done.code == 2, done
    assert done.json["errorDetails"]["type"] == "InvalidTask"
    for place in ("$.description", "$.convergence.criteria", "$.id"):
        assert place in done.json["error"]
    check = stage.rgr("task", "--check", str(stage.task_file(task())))
    assert (check.code, stage.sessions) == (0, []), check


@pytest.mark.slow
def test_the_example_of_the_format_runs_as_it_stands(make_repo: MakeRepo) -> None:
    stage = staged(make_repo)
    file = stage.repo.path.parent / "IMPL-1.json"
    file.write_text(SEED_EXAMPLE)
    done = stage.rgr("task", str(file), "--agent", stage.agent)
    assert done.code == 0, done
    section = last_section(done.out)
    assert section[:2] == ["## TASK COMPLETE", ""]
    assert "Coverage: 100% (target: >=85%)" in section
    assert "README.md" in stage.session("RED-1-1")["brief"]  # what `ls` found


RED_TROUBLE: dict[str, tuple[dict[str, Any], str, bool]] = {
    "a syntax error": ({"files": {TEST: "def test_adds(:\n"}}, "does not parse", False),
    "too few cases": (
        {"files": {TEST: TESTS.partition("\n\n\ndef test_sub")[0] + "\n"}},
        "1 of 2 test cases",
        False,
    ),
    "a test that asserts nothing": (
        {"files": {TEST: TESTS.replace("    assert calc.add(6, 3) == 9", "    calc.add(6, 3)")}},
        "asserts nothing",
        False,
    ),
    "code": ({"files": {TEST: TESTS, CODE: ADD}}, "RED may add stubs only", False),
    "no test file": (
        {"files": {"tests/test_other.py": TESTS}},
        "tests/test_calc.py, which the task's red",
        True,
    ),
}


@pytest.mark.slow
def test_what_is_wrong_in_red_is_tried_again_and_missing_files_end_it(make_repo: MakeRepo) -> None:
    played = parts()
    for number, (part, _, _) in enumerate(RED_TROUBLE.values(), 1):
        played[f"RED-1-{number}"] = {**part, "commit": "test: wrong"}
    stage = staged(
        make_repo, played, {**FILES, "tdd.properties": FILES["tdd.properties"] + "max.retries=9\n"}
    )
    start = stage.head()
    done = stage.rgr_task()
    assert done.code == 1, done
    for number, (_, expected, final) in enumerate(RED_TROUBLE.values(), 1):
        note = stage.note(stage.attempts()[f"1-RED-{number}"])
        assert expected in note["error"], number
        assert final or f"RED-1-{number + 1}" in stage.turns
    assert len(stage.turns) == len(RED_TROUBLE)
    section = last_section(done.out)
    assert section[0] == "## TASK FAILED"
    assert section[2] == "**Phase:** Red"
    assert stage.head() == start
    assert stage.is_clean()


@pytest.mark.long
def test_tests_that_pass_in_red_are_a_warning(make_repo: MakeRepo) -> None:
    files = {**FILES, CODE: ADD + SUBTRACT, "tests/test_old.py": "def test_old():\n    assert 1 == 2\n"}
    stage = staged(make_repo, parts(GREEN={}, REFACTOR={}), files)
    done = stage.rgr_task("--json")
    assert done.code == 0, done
    assert "failing before the run, and left alone: tests/test_old.py::test_old" in done.err
    assert stage.note("HEAD~3")["legacy"] == {"failing": ["tests/test_old.py::test_old"]}
    assert all("tests/test_old.py::test_old" in session["brief"] for session in stage.sessions)
    assert any("already passing before any code was written" in warning for warning in done.json["warnings"])
    assert {"points": 15, "why": "tests passed before any code was written"} in done.json["compliance"][
        "deductions"
    ]


@pytest.mark.long
def test_green_may_not_touch_the_tests(make_repo: MakeRepo) -> None:
    cheat = {"files": {TEST: TESTS.replace("== 3", "== -3"), CODE: ADD + SUBTRACT.replace("a - b", "b - a")}}
    stage = staged(make_repo, parts(GREEN_1_1={**cheat, "commit": "feat: easy"}))
    done = stage.rgr_task("--json")
    assert done.code == 0, done
    assert "TestTampering" in stage.log(1)
    assert (stage.repo.path / TEST).read_text() == TESTS


@pytest.mark.slow
def test_every_criterion_is_run_by_us(make_repo: MakeRepo) -> None:
    criteria = ["`pytest -q`", "$ test -e licence.txt"]
    stage = staged(
        make_repo, parts(GREEN_1_2={"files": {"licence.txt": "free\n"}, "commit": "feat: licence"})
    )
    done = stage.rgr_task("--json", document=task(convergence={"criteria": criteria}))
    assert done.code == 0, done
    assert done.json["iterations"] == 2
    assert "the criterion `test -e licence.txt` fails (exit code 1)" in stage.log(1)


@pytest.mark.slow
def test_a_plain_task_is_one_session_judged_by_its_criteria(make_repo: MakeRepo) -> None:
    document = {"id": "T", "description": "Write it.", "convergence": {"criteria": ["$ pytest -q"]}}
    good = {"files": {TEST: TESTS, CODE: ADD + SUBTRACT}, "commit": "feat: all of it", "say": "done"}
    stage = staged(make_repo, {"CODE": good})
    done = stage.rgr_task(document=document)
    assert done.code == 0, done
    assert last_section(done.out)[2] == "Task completed: one plain session, judged by the criteria"
    assert stage.turns == ["CODE-1-1"]
    other = staged(make_repo, {"CODE": {**good, "files": {TEST: TESTS}}}, name="other")
    failed = other.rgr_task(document=document)
    assert failed.code == 1, failed
    assert other.turns == ["CODE-1-1"]
    assert other.is_clean()


@pytest.mark.slow
def test_a_node_project_is_judged_by_its_exit_code(make_repo: MakeRepo) -> None:
    test = "const calc = require('./calc.js');\nif (calc.add(1, 2) !== 3) process.exit(1);\n"
    files = {"package.json": '{"name": "p", "scripts": {"test": "node check.js"}}', "tdd.properties": SWIFT}
    document = task(
        convergence={"criteria": ["$ node calc.test.js"]},
        meta={"tdd_cycles": [{"test_count": 1, "test_cases": ["adds"]}]},
        implementation=[
            {"tdd_phase": "red", "description": "Red", "modification_points": ["calc.test.js"]},
            {"tdd_phase": "green", "description": "Green", "modification_points": ["calc.js"]},
            {"tdd_phase": "refactor", "description": "Refactor"},
        ],
    )
    played = {
        "RED": {"files": {"calc.test.js": test}, "commit": "test: adds"},
        "GREEN-1-1": {"files": {"calc.js": "exports.add = (a, b) => a - b;\n"}, "commit": "feat: adds"},
        "GREEN": {"files": {"calc.js": "exports.add = (a, b) => a + b;\n"}, "commit": "feat: adds"},
        "DIAGNOSE": {"say": "wrong sign"},
        "REFACTOR": {},
    }
    stage = staged(make_repo, played, files)
    done = stage.rgr_task("--json", document=document)
    assert done.code == 0, done
    assert (done.json["iterations"], done.json["coverage"]) == (2, None)


@pytest.mark.slow
def test_sessions_go_on_from_those_of_earlier_tasks(make_repo: MakeRepo) -> None:
    stage = staged(make_repo)
    assert stage.rgr_task().code == 0
    link = {"id": "WFS-calc-IMPL-2", "strategy": "fork", "resume_from": "WFS-calc-IMPL-1"}
    document = task(id="IMPL-2", cli_execution=link, implementation=None, meta={"tdd_workflow": False})
    del document["implementation"]
    stage.play(
        {
            "CODE": {
                "files": {"tests/test_more.py": "def test_more():\n    assert 1 + 1 == 2\n"},
                "say": "done",
            }
        }
    )
    done = stage.rgr("task", str(stage.task_file(document, "IMPL-2.json")), "--agent", stage.agent)
    assert done.code == 0, done
    found = stage.session("CODE-1-1")
    assert [found["env"][f"TDD_{name}"] for name in ("SESSION", "STRATEGY", "RESUME_FROM")] == [
        "WFS-calc-IMPL-2",
        "fork",
        "WFS-calc-IMPL-1",
    ]
    assert "Two functions." in found["brief"]
    link["resume_from"] = "WFS-nobody"
    lost = stage.rgr("task", str(stage.task_file(document, "IMPL-2.json")), "--agent", stage.agent)
    assert lost.code == 3, lost
    assert "WFS-nobody" in last_section(lost.out)[2]


def several(*depends: tuple[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    return [
        {
            "id": name,
            "description": name,
            "depends_on": list(on),
            "convergence": {"criteria": ["$ test -e go"]},
        }
        for name, on in depends
    ]


@pytest.mark.slow
def test_several_tasks_are_done_in_the_order_of_their_dependencies(make_repo: MakeRepo) -> None:
    stage = staged(
        make_repo,
        {"CODE": {"run": ["echo x >> done.txt"], "commit": "feat: more", "say": "done"}},
        {**FILES, "go": ""},
    )
    for document in several(("A", ("C",)), ("B", ()), ("C", ("B",))):
        stage.task_file(document, f"tasks/{document['id']}.json")
    folder = str(stage.repo.path.parent / "tasks")
    done = stage.rgr("task", folder, "--json", "--agent", stage.agent)
    assert done.code == 0, done
    assert [item["taskId"] for item in done.json["tasks"]] == ["B", "C", "A"]
    again = stage.rgr("task", folder, "--agent", stage.agent)
    assert again.code == 0, again
    assert "complete already" in again.out
    assert len(stage.sessions) == 3


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--keep-going",)], ids=["stopping", "going on"])
def test_the_first_failure_is_the_end_unless_told_otherwise(
    make_repo: MakeRepo, more: tuple[str, ...]
) -> None:
    stage = staged(
        make_repo,
        {"CODE": {"run": ["echo x >> done.txt"], "commit": "feat: more", "say": "done"}},
        {**FILES, "go": ""},
    )
    documents = several(("A", ()), ("B", ("A",)), ("C", ()))
    documents[0]["convergence"]["criteria"] = ["$ test ! -e done.txt"]
    for document in documents:
        stage.task_file(document, f"tasks/{document['id']}.json")
    done = stage.rgr("task", str(stage.repo.path.parent / "tasks"), "--json", "--agent", stage.agent, *more)
    assert done.code == 1, done
    told = {item["taskId"]: item["status"] for item in done.json["tasks"]}
    assert told == ({"A": "failed", "B": "blocked", "C": "complete"} if more else {"A": "failed"})


@pytest.mark.long
def test_an_interrupted_task_goes_on_where_it_was(make_repo: MakeRepo) -> None:
    stage = staged(make_repo, parts(GREEN={"run": ["sleep 60"]}))
    file = str(stage.task_file(task()))
    with stage.started("task", file, "--agent", stage.agent) as process:
        wait_for(lambda: "GREEN-1-1" in stage.turns, "Green begins")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert last_section(out)[0] == "## TASK BLOCKED"
    assert stage.is_clean()
    stage.play(parts())
    done = stage.rgr("task", file, "--agent", stage.agent)
    assert done.code == 0, done
    assert stage.turns.count("RED-1-1") == 1


@pytest.mark.slow
def test_a_killed_task_resumes_to_the_same_end(make_repo: MakeRepo) -> None:
    half = {"files": {CODE: ADD}, "commit": "feat: half"}
    stage = staged(make_repo, parts(GREEN_1_1=half, GREEN_1_2={"run": ["sleep 60"]}))
    with stage.started("task", str(stage.task_file(task())), "--agent", stage.agent) as process:
        wait_for(lambda: "GREEN-1-2" in stage.turns, "the second try begins")
        process.kill()
        process.wait()
    stage.play(parts(GREEN_1_1=half))
    done = stage.rgr("resume", "--agent", stage.agent, "--json")
    assert done.code == 0, done
    assert (done.json["status"], done.json["iterations"]) == ("complete", 2)
    assert json.loads(json.dumps(done.json))["tests"] == {"passed": 2, "total": 2}
    assert len(stage.repo.subjects()) == 4
    assert stage.is_clean()


@pytest.mark.slow
def test_a_failed_task_is_gone_on_with_or_begun_anew(make_repo: MakeRepo) -> None:
    stage = staged(make_repo, parts(GREEN={"files": {CODE: ADD}, "commit": "feat: half"}))
    document = task(meta={"max_iterations": 1})
    assert stage.rgr_task(document=document).code == 1
    stage.play(parts())
    other = stage.rgr_task(document=task(id="OTHER"))
    assert other.code == 3, other
    assert "an unfinished run is here" in last_section(other.out)[2]
    done = stage.rgr_task("--json", document=document)
    assert (done.code, done.json["iterations"]) == (0, 2), done
    assert stage.turns.count("RED-1-1") == 1


@pytest.mark.long
def test_a_failed_task_whose_file_was_edited_starts_where_it_had_started(make_repo: MakeRepo) -> None:
    stage = staged(make_repo, parts(GREEN={"files": {CODE: ADD}, "commit": "feat: half"}))
    assert stage.rgr_task(document=task(meta={"max_iterations": 1})).code == 1
    before = stage.repo.subjects()
    stage.play(parts())
    edited = task(description="A calculator that adds and subtracts whole numbers.")
    told = stage.rgr_task(document=edited)
    assert told.code == 3, told
    assert "has been edited since IMPL-1 was begun here" in last_section(told.out)[2]
    assert "--new" in last_section(told.out)[3]
    done = stage.rgr_task("--new", "--json", document=edited)
    assert (done.code, done.json["iterations"]) == (0, 1), done
    assert len(stage.repo.subjects()) == len(before) + 2  # the test of before is put aside
    kept = stage.repo.git("for-each-ref", "--format=%(subject)", "refs/tdd/kept/")
    assert "test: the calculator" in kept
    assert stage.rgr("verify").code == 0


@pytest.mark.slow
def test_the_box_in_the_sessions_list_is_ticked(make_repo: MakeRepo) -> None:
    stage = staged(make_repo)
    (stage.repo.path / ".git/info/exclude").write_text(".workflow/\n")
    stage.folder.mkdir(parents=True)
    todo = stage.folder / "TODO_LIST.md"
    todo.write_text("- [ ] **IMPL-1**: Calculator → [📋](./.task/IMPL-1.json)\n- [ ] **IMPL-10**: More\n")
    assert stage.rgr_task().code == 0
    assert todo.read_text() == (
        "- [x] **IMPL-1**: Calculator → [📋](./.task/IMPL-1.json) | [✅](./.summaries/IMPL-1-summary.md)\n"
        "- [ ] **IMPL-10**: More\n"
    )


@pytest.mark.long
def test_a_program_can_have_a_task_done(make_repo: MakeRepo) -> None:
    stage = staged(make_repo)
    env = {**surroundings(stage.repo)}
    result = redgreenrefactor.task(
        stage.task_file(task()), project=stage.repo.path, agent=stage.agent, session="S-9", environ=env
    )
    assert (result.status, result.passed, result.session) == (
        redgreenrefactor.TaskFileStatus.COMPLETE,
        2,
        "S-9",
    )
    assert (stage.repo.path / ".workflow/active/S-9/.summaries/IMPL-1-summary.md").is_file()
    again = redgreenrefactor.task(
        stage.task_file(task()), project=stage.repo.path, agent=stage.agent, environ=env
    )
    assert again.already
    assert len(stage.sessions) == 3
    with pytest.raises(redgreenrefactor.UsageError, match="cannot be the name of a folder"):
        redgreenrefactor.task(
            stage.task_file(task(title="other")),
            project=stage.repo.path,
            agent=stage.agent,
            session="../x",
            environ=env,
        )


@pytest.mark.long
def test_a_failing_step_of_the_analysis_blocks_the_task(make_repo: MakeRepo) -> None:
    stage = staged(make_repo)
    steps = [{"step": "look", "command": "bash(exit 3)", "on_error": "fail"}]
    done = stage.rgr_task("--json", document=task(pre_analysis=steps))
    assert (done.code, done.json["status"]) == (3, "blocked"), done
    assert done.json["errorDetails"]["type"] == "PreAnalysisFailed"
    wrong = task(focus_paths=["../elsewhere"], meta={"tdd_worflow": True, "max_iterations": 0})
    refused = stage.rgr_task("--json", document=wrong)
    assert refused.code == 2, refused
    assert [item["path"] for item in refused.json["problems"]] == [
        "$.meta.max_iterations",
        "$.meta.tdd_worflow",
        "$.focus_paths[0]",
    ]
    os.mkfifo(stage.repo.path / ".git" / "pipe")
    stuck = stage.rgr_task(document=task(description="<files_to_read>.git/pipe</files_to_read>"))
    assert stuck.code == 3, stuck
    assert ".git/pipe" in last_section(stuck.out)[2]
    assert "a named pipe" in last_section(stuck.out)[2]
