"""What a task's end says is what has ended it, from the same data as the JSON."""

import signal

import pytest
from stage import PLAIN, wait_for
from task_stage import ADD, CODE, SUBTRACT, TEST, TaskStage, last_section, parts, staged, task

from repos import MakeRepo

RUNS = "python -I -S -B run_all.py"
CRITERIA = {"criteria": [f"$ {RUNS}", "$ test -e licence.txt"]}
DOCUMENT = task(convergence=CRITERIA, meta={"max_iterations": 2})


def ended(stage: TaskStage, code: int) -> list[str]:
    done = stage.rgr_task(document=DOCUMENT)
    assert done.code == code, done
    return last_section(done.out)


@pytest.mark.long
def test_each_end_of_a_task_names_its_own_reason(make_repo: MakeRepo) -> None:
    stage = staged(make_repo, files=PLAIN)
    section = ended(stage, 1)
    assert section[3].startswith(
        "**Reason:** Max iterations (2) reached: the criterion `test -e licence.txt` fails (exit code 1)"
    )
    failure = stage.folder / ".process" / "green-phase-failure.md"
    assert "rejected 2 times of 2" in failure.read_text()

    stage.play(parts(GREEN_1_3={"run": ["sleep 60"]}))
    with stage.started("task", str(stage.task_file(DOCUMENT)), "--agent", stage.agent) as process:
        wait_for(lambda: "GREEN-1-3" in stage.turns, "Green goes on")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert last_section(out)[2:] == [
        "**Blocker:** The run was interrupted by SIGINT.",
        "**Need:** Nothing is lost: type the same command again, or 'rgr resume', to go on.",
        "**Attempted:** RED (1 try), GREEN (2 tries)",
        "**Phase:** green",
    ]

    good = {"files": {CODE: ADD + SUBTRACT, "licence.txt": "free\n"}, "commit": "feat: the calculator"}
    stage.play(parts(GREEN=good))
    section = ended(stage, 0)
    assert section[5:] == ["Green phase iterations: 3/4", f"Files modified: {CODE}, licence.txt, {TEST}"]
    assert "- Test-Fix Iterations: 3/4" in stage.summary
    assert stage.log(3).startswith("# Task IMPL-1: Green, iteration 3 of 4")
    assert not failure.exists()
    assert ended(stage, 0) == section  # nothing is left to do, and it says the same


@pytest.mark.long
def test_what_is_needed_is_what_the_blocker_asks_for(make_repo: MakeRepo) -> None:
    cycles = [{"test_count": 2, "expected_coverage": ">=85%"}]  # for which no tool is here
    criteria = {"criteria": [f"$ {RUNS}", "$ sh -c 'exec no-such-linter'"]}
    stage = staged(make_repo, files=PLAIN)
    done = stage.rgr_task(document=task(convergence=criteria, meta={"tdd_cycles": cycles}))
    assert done.code == 3, done
    section = last_section(done.out)
    assert "the criterion `sh -c 'exec no-such-linter'` could not be run" in section[2]
    assert section[3] == "**Need:** Install what it needs, or mend the criterion, then go on."
