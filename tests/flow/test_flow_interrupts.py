"""Being told to stop, at any moment: nothing runs on, nothing is lost, and `resume` goes on."""

import json
import signal
import uuid
from collections.abc import Generator
from contextlib import contextmanager, nullcontext

import pytest
from stage import (
    PATIENCE,
    PLAIN,
    PLAIN_SETTINGS,
    Done,
    Json,
    Stage,
    alive_with,
    calculator,
    subjects,
    wait_for,
)

from repos import MakeRepo, Repo

# The session starts something in a session of its own, as a server would be, and waits.
BUSY: Json = {
    "files": {"calc.py": "half = 1\n"},
    "run": ["setsid sleep 300 & touch ../working; trap '' INT; sleep 300"],
}


def struck(stage: Stage, number: signal.Signals, *words: str) -> Done:
    """Return how the program ended that was sent a signal as soon as a session, or a test, said it was working."""
    working = stage.repo.path.parent / "working"
    working.unlink(missing_ok=True)
    with stage.started(*words, "--agent", stage.agent, "--json") as process:
        wait_for(lambda: working.exists() or process.poll() is not None, "something to interrupt")
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    return Done(process.returncode, out, err)


@pytest.mark.long
def test_a_session_that_is_interrupted_ends_with_all_it_started_and_is_made_again(
    make_repo: MakeRepo,
) -> None:
    marker = f"RGR_MARKER={uuid.uuid4()}"
    stage = Stage(make_repo(files=PLAIN), {**calculator(1), "GREEN-1": BUSY})
    stage.env = dict([marker.split("=")])
    for count, number in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), 1):
        words = ["run", "A calculator"] if count == 1 else ["resume"]
        done = struck(stage, number, *words)
        assert (done.code, done.json["status"]) == (130, "interrupted"), done
        assert [cycle["outcome"] for cycle in done.json["cycles"]] == ["unfinished"]
        assert number.name in done.err
        assert alive_with(marker) == []
        assert stage.is_clean()
        note = stage.note()
        assert (note["state"], note["phase"], note["nextPhase"]) == ("stopped", "RED", "GREEN")
        assert (note["error"], note["retryCount"], note["attempts"]) == (None, 0, 1)
        assert stage.turns == ["PLAN-1-1", "RED-1-1", *["GREEN-1-1"] * count]
    assert stage.attempts() == {}
    assert {stage.repo.git("show", f"{ref}:calc.py") for ref in stage.kept()} == {"half = 1"}
    stage.play(calculator(1))
    done = stage.resume()
    assert done.code == 0, done
    assert stage.repo.subjects()[1:] == subjects(1)
    assert stage.note("HEAD~2")["attempts"] == 1


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["asked", "killed"])
def test_work_that_is_being_judged_is_kept_and_judged_later(make_repo: MakeRepo, how: signal.Signals) -> None:
    stage = Stage(make_repo(files=PLAIN))
    working = stage.repo.path.parent / "working"
    parts = calculator(1)
    test = parts["RED-1"]["files"]["tests/test_calc.py"]
    once = f"place = pathlib.Path({str(working)!r})\nif not place.exists():\n    place.touch()\n    time.sleep(300)\n"
    slow = f"import pathlib, time\n{once}{test}"
    stage.play({**parts, "RED-1": {"files": {"tests/test_calc.py": slow}, "commit": "test: slow"}})
    done = struck(stage, how, "run", "A calculator")
    if how is signal.SIGINT:
        assert (done.code, done.json["status"]) == (130, "interrupted"), done
        assert stage.is_clean()
        assert stage.repo.subjects()[1:] == ["plan: list the cases"]
        [(ref, kept)] = stage.kept().items()
        assert ref in done.err
        assert stage.repo.git("log", "-1", "--format=%s", kept) == "test: slow"
    resumed = stage.resume()
    assert resumed.code == 0, resumed
    assert stage.turns == ["PLAN-1-1", "RED-1-1", "GREEN-1-1", "REFACTOR-1-1", "PLAN-2-1"]
    assert stage.repo.subjects()[2:3] == ["test: slow"]
    assert stage.is_clean()
    assert stage.rgr("verify").code == 0


@pytest.mark.long
def test_a_wait_before_a_retry_can_be_interrupted(make_repo: MakeRepo) -> None:
    patient = {**PLAIN, "tdd.properties": PLAIN_SETTINGS + "retry.backoff=300\n"}
    stage = Stage(make_repo(files=patient), {"PLAN": {"run": ["touch ../working"], "exit": 1}})
    with stage.started("run", "x", "--agent", stage.agent) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "waiting 300 s" in line:
                break
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    note = stage.note()
    assert (note["state"], note["errorDetails"]["type"], note["attempts"]) == ("stopped", "AgentFailure", 1)
    assert stage.is_clean()
    stage.repo.commit("chore: swift", {"tdd.properties": PLAIN_SETTINGS})
    stage.play(calculator(1))
    assert stage.resume().code == 0
    assert stage.turns[:2] == ["PLAN-1-1", "PLAN-1-2"]


def test_before_anything_has_begun_there_is_nothing_to_resume(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN))
    stage.env = {"TDD_TEST_COMMAND": f"touch {stage.repo.path.parent}/working; sleep 300"}
    before = stage.repo.refs()
    done = struck(stage, signal.SIGTERM, "run", "x")
    assert (done.code, done.json["errorDetails"]["type"]) == (130, "Interrupted"), done
    assert "rgr run" in done.json["hint"]
    assert (stage.repo.refs(), stage.is_clean()) == (before, True)


# --- several at once


@pytest.mark.long
def test_two_orchestrators_work_in_two_worktrees_of_one_repository(make_repo: MakeRepo) -> None:
    main = make_repo(files=PLAIN)
    stages: list[Stage] = []
    for name in ("one", "two"):
        folder = main.path.parent / name
        main.git("worktree", "add", "-q", "-b", name, str(folder))
        repo = Repo(folder, main.env)
        repo.commit(f"chore: {name}", {f"{name}.txt": "x\n"})
        stages.append(Stage(repo, calculator(2 if name == "one" else 1)))
    with (
        stages[0].started("run", "first", "--agent", stages[0].agent) as first,
        stages[1].started("run", "second", "--agent", stages[1].agent) as second,
    ):
        ends = [process.communicate(timeout=PATIENCE) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), ends
    for stage, cases, feature in zip(stages, (2, 1), ("first", "second"), strict=True):
        assert stage.repo.subjects()[2:] == subjects(cases)
        history = stage.rgr("history", "--json").json
        assert {entry["feature"] for entry in history} == {feature}
        assert len(history) == 4 * cases + 2
        assert {finding["type"] for entry in history for finding in entry["findings"]} == set()
    assert stages[0].kept() == {}


@pytest.mark.long
def test_two_worktrees_may_start_from_the_same_commit_and_leave_it_free_for_others(
    make_repo: MakeRepo,
) -> None:
    main = make_repo(files=PLAIN)
    one, two = (Stage(main, calculator(cases), name=name) for name, cases in (("one", 2), ("two", 1)))
    with one.started("run", "first", "--worktree", "one", "--agent", one.agent) as first:
        wait_for(lambda: one.sessions, "the first run's first session")
        with two.started("run", "second", "--worktree", "two", "--agent", two.agent) as second:
            ends = [process.communicate(timeout=PATIENCE) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), ends
    for name, cases, feature in (("one", 2, "first"), ("two", 1, "second")):
        folder = main.path.parent / ".codex-worktrees" / name
        history = one.rgr("history", "--json", "--project", str(folder)).json
        assert {entry["feature"] for entry in history} == {feature}
        assert len(history) == 4 * cases + 2
        assert Repo(folder, main.env).subjects()[1:] == subjects(cases)
    one.play(calculator(1))
    done = one.rgr("run", "third", "--agent", one.agent)
    assert done.code == 0, done
    assert main.subjects()[1:] == subjects(1)


@pytest.mark.long
def test_a_run_that_comes_and_goes_during_a_session_is_nobodys_fault(make_repo: MakeRepo) -> None:
    main = make_repo(files=PLAIN)
    gone = Stage(main, {"PLAN-1-1": {"files": {"calc.py": "1\n"}, "say": "{}"}, **calculator(1)})
    inner = json.dumps(["run", "within", "--agent", gone.agent, "--project", str(main.path)])
    script = main.path.parent / "within.py"
    script.write_text(
        "import json, os, subprocess, sys\n"
        "env = {name: value for name, value in os.environ.items() if not name.startswith('TDD_')}\n"
        "env['TDD_TRUST'] = '1'\n"
        f"sys.exit(subprocess.run([sys.executable, '-m', 'redgreenrefactor', *json.loads({inner!r})], env=env).returncode)\n",
    )
    folder = main.path.parent / "outer"
    main.git("worktree", "add", "-q", "-b", "outer", str(folder))
    repo = Repo(folder, main.env)
    repo.commit("chore: outer", {"outer.txt": "x\n"})
    parts = calculator(1)
    parts["GREEN-1"]["run"] = [f"python {script} > {main.path.parent}/within.log 2>&1"]
    outer = Stage(repo, parts)
    done = outer.run()
    assert done.code == 0, done
    assert outer.turns == ["PLAN-1-1", "RED-1-1", "GREEN-1-1", "REFACTOR-1-1", "PLAN-2-1"]
    assert gone.turns[:2] == ["PLAN-1-1", "PLAN-1-2"]
    assert main.subjects()[1:] == subjects(1)
    assert list(gone.attempts()) == ["1-PLAN-1"]
    assert len(gone.rgr("history", "--json").json) == len(outer.rgr("history", "--json").json) == 6


@pytest.mark.long
@pytest.mark.parametrize("company", [False, True], ids=["alone", "in company"])
def test_notes_that_a_session_touches_come_back_whoever_else_is_at_work(
    make_repo: MakeRepo, company: bool
) -> None:
    stage = Stage(make_repo(files=PLAIN))
    forged = 'git notes --ref=tdd-handoffs add -f -m \'{"phase": "REFACTOR", "nextPhase": "COMPLETE"}\' HEAD'
    parts = calculator(1)
    stage.play({**parts, "GREEN-1-1": {**parts["GREEN-1"], "run": [forged]}})
    with somebody_else(stage) if company else nullcontext():
        assert stage.run().code == 0
    handoff = stage.session("GREEN-1-2")["handoff"]
    assert handoff["errorDetails"]["type"] == "HistoryRewritten"
    assert (handoff["phase"], handoff["nextPhase"]) == ("RED", "GREEN")


@contextmanager
def somebody_else(stage: Stage) -> Generator[None]:
    """Have another orchestrator at work in the repository, and nothing coming of it."""
    folder = stage.repo.path.parent / "other"
    stage.repo.git("worktree", "add", "-q", "-b", "other", str(folder))
    repo = Repo(folder, stage.repo.env)
    repo.commit("chore: other", {"other.txt": "x\n"})
    other = Stage(repo, {"PLAN": {"run": ["touch ../other-working; sleep 300"]}})
    with other.started("run", "other", "--agent", other.agent):
        wait_for((folder.parent / "other-working").exists, "the other session")
        yield
