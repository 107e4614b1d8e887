"""A whole run in the place of the coder: rounds that continue the list, and every way such a run can end."""

import signal
from pathlib import Path

import pytest
from review_stage import APPROVE, FEEDBACK, ReviewStage, plain_repo, said
from stage import (
    CASES,
    PATIENCE,
    PLAIN_SETTINGS,
    TEST,
    Done,
    Json,
    Parts,
    calculator,
    planned,
    subjects,
    suite,
    wait_for,
)
from stage import code as code_of

from repos import MakeRepo

APPROVED: Parts = {"REVIEW-1": said(APPROVE), "REVIEW-2": said(APPROVE)}
SECOND: Parts = {
    "code-2/PLAN-1": planned(1, 2),
    "code-2/RED-1": {"files": {TEST: suite(2)}, "commit": f"test: {CASES[1]}"},
    "code-2/GREEN-1": {"files": {"calc.py": code_of(2)}, "commit": f"feat: {CASES[1]}"},
    "code-2/REFACTOR-1": {},
    "code-2/PLAN-2": planned(2, 2),
}
AGAIN = [planned(1, 2)["commit"], f"test: {CASES[1]}", f"feat: {CASES[1]}", "refactor: no changes needed"]


@pytest.fixture
def stage(make_repo: MakeRepo) -> ReviewStage:
    found = ReviewStage(plain_repo(make_repo))
    found.play({**calculator(1), **APPROVED})
    return found


def begun(stage: ReviewStage, *more: str, env: dict[str, str] | None = None) -> Done:
    return stage.tdd("SPEC.md", "--tdd", "--forge", "none", "--json", *more, env=env)


def log(stage: ReviewStage) -> list[str]:
    return stage.repo.git("log", "--format=%s", "--reverse", f"main..tdd/{stage.task}").splitlines()


def went_on(stage: ReviewStage, *more: str) -> None:
    """Resume, and see that it comes to the end it would have come to without a stop."""
    done = stage.tdd("--resume", stage.task, "--json", *more)
    assert done.code == 0, done
    assert (done.json["success"], done.json["iterations"]) == (True, 1)
    assert log(stage) == [*subjects(1), "feat: Calculator", "review: round 1"]
    assert stage.states()[stage.task]["status"] == "completed"
    assert not stage.worktrees.exists()


@pytest.mark.long
def test_a_second_round_continues_the_list_in_the_same_worktree(stage: ReviewStage) -> None:
    told = stage.repo.path.parent / "told"
    finish = f'on.finish=echo "$TDD_STATUS $TDD_RUN_ID" >> {told}\n'
    stage.repo.commit("chore: tell me", {"tdd.properties": PLAIN_SETTINGS + finish})
    stage.play({**calculator(1), **SECOND, **APPROVED, "REVIEW-1": said(FEEDBACK)})
    done = begun(stage)
    assert done.code == 0, done
    assert (done.json["success"], done.json["iterations"]) == (True, 2)
    task = stage.task

    first = [*subjects(1), "feat: Calculator", "review: round 1"]
    second = [*AGAIN, planned(2, 2)["commit"], "feat: Calculator", "review: round 2"]
    assert log(stage) == [*first, *second]
    runs = [stage.note(f"tdd/{task}~{number}")["runId"].removeprefix(task) for number in range(14)]
    # The first review's note stands inside the one that opens the second run, on the same commit.
    assert runs == ["-review"] * 2 + ["-code-2"] * 6 + ["-review"] + ["-code-1"] * 5
    assert stage.note(f"tdd/{task}~7")["previous"]["phase"] == "REVIEW"
    listed = stage.repo.git("show", f"tdd/{task}:test-list.md").splitlines()
    assert listed[-2:] == [f"- [x] {CASES[0]}", f"- [x] {CASES[1]}"]

    folders = {session["cwd"] for session in stage.sessions}
    assert folders == {str(stage.worktrees / task)}
    again = stage.session("PLAN-1-1")["brief"]
    assert "subtraction is missing" in again
    assert "It adds, and it subtracts." in again
    assert f"- {CASES[1]}" in stage.session("REVIEW-2-1")["brief"]
    assert told.read_text().splitlines() == [f"complete {task}-review"]


@pytest.mark.long
def test_an_inner_run_out_of_budget_stops_the_task_and_resuming_it_goes_on(stage: ReviewStage) -> None:
    script = stage.repo.path.parent / "red.toml"
    test = suite(1).replace("\n", "\\n")
    script.write_text(
        'name = "red"\n[[turn]]\nphase = "RED"\ncycle = 1\nusage = {output_tokens = 9, cost_usd = 0.6}\n'
        f'[[turn.call]]\ntool = "Write"\nfile_path = "{TEST}"\ncontent = "{test}"\n'
        f'[[turn.call]]\ntool = "Bash"\ncommand = "git add -A && git commit -qm \'test: {CASES[0]}\'"\n'
    )
    settings = f"{PLAIN_SETTINGS}agent={stage.agent}\nagent.red=replay:{script}\nbudget.usd=0.5\n"
    stage.repo.commit("chore: settings", {"tdd.properties": settings})
    done = stage.rgr("tdd", "SPEC.md", "--tdd", "--forge", "none", "--json")
    assert done.code == 4, done
    assert "budget of 0.50 USD is used up" in done.json["error"]
    assert done.json["taskId"] == stage.task
    assert f"rgr tdd --resume {stage.task}" in done.err
    assert stage.states()[stage.task]["status"] == "running"

    # The budget in the settings is the whole task's: what its inner run has spent before counts.
    still = stage.rgr("tdd", "--resume", stage.task, "--json")
    assert still.code == 4, still
    assert [turn for turn in stage.turns if turn.startswith("GREEN")] == []

    # A flag's is for one invocation: what was spent before does not count.
    more = stage.rgr("tdd", "--resume", stage.task, "--budget", "0.5", "--json")
    assert more.code == 0, more
    assert log(stage) == [*subjects(1), "feat: Calculator", "review: round 1"]


@pytest.mark.long
def test_an_inner_run_that_cannot_measure_stops_the_task_and_resuming_it_goes_on(stage: ReviewStage) -> None:
    flag = stage.repo.path.parent / "flag"
    dies = {"TDD_TEST_COMMAND": f"[ ! -e {flag} ] || kill -KILL $$; python -I -S -B run_all.py"}
    green = {**calculator(1)["GREEN-1"], "run": [f"touch {flag}"]}
    stage.play({**stage.parts, "GREEN-1": green})
    done = begun(stage, env=dies)
    assert done.code == 3, done
    assert "was stopped" in done.json["error"]
    assert stage.states()[stage.task]["status"] == "running"
    flag.unlink()
    stage.play({**calculator(1), **APPROVED})
    stage.env = dies
    went_on(stage)


@pytest.mark.long
def test_an_inner_run_whose_tests_cannot_be_run_is_not_ready(stage: ReviewStage) -> None:
    stage.repo.commit("chore: no tests", {"tdd.properties": "retry.backoff=0\n"})
    done = begun(stage)
    assert done.code == 3, done
    assert done.json["errorDetails"]["type"] == "NoTestCommand"
    assert "--resume" not in done.json["hint"]  # there is no task that could go on
    assert (stage.states(), stage.branches(), stage.sessions) == ({}, ["main"], [])


@pytest.mark.long
@pytest.mark.parametrize("where", ["GREEN-1", "PLAN-1"])
def test_an_interrupted_inner_run_interrupts_the_task_and_resuming_it_goes_on(
    stage: ReviewStage, where: str
) -> None:
    working = stage.repo.path.parent / "working"
    busy: Json = {"files": {"calc.py": "half = 1\n"}, "run": [f"touch {working}; sleep 300"]}
    stage.play({**stage.parts, where: busy})
    done = struck(stage, working)
    assert done.code == 130, done
    assert (done.json["success"], done.json["taskId"]) == (False, stage.task)
    assert f"rgr tdd --resume {stage.task}" in done.err
    assert stage.states()[stage.task]["status"] == "running"
    stage.play({**calculator(1), **APPROVED})
    went_on(stage)


@pytest.mark.long
def test_a_task_interrupted_before_anything_was_begun_leaves_nothing_behind(stage: ReviewStage) -> None:
    working = stage.repo.path.parent / "working"
    stage.env = {"TDD_TEST_COMMAND": f"touch {working}; sleep 300"}
    done = struck(stage, working)
    assert done.code == 130, done
    assert done.json["hint"] == "Nothing was begun yet: type 'rgr tdd SPEC.md' again."
    assert (stage.states(), stage.branches()) == ({}, ["main"])
    assert not stage.worktrees.exists()


def struck(stage: ReviewStage, working: Path) -> Done:
    """Return how a task ended that was interrupted as soon as something said that it was working."""
    words = ("tdd", "SPEC.md", "--tdd", "--forge", "none", "--json", "--agent", stage.agent)
    with stage.started(*words) as process:
        wait_for(lambda: working.exists() or process.poll() is not None, "something to interrupt")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    return Done(process.returncode, out, err)
