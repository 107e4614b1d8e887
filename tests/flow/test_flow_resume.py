"""What `resume` finds and does, and when `run` starts anew."""

import json
import subprocess
from collections.abc import Mapping

import pytest
from stage import CASES, GREENFIELD, PLAIN, PLAIN_SETTINGS, Json, Stage, calculator, code, listed, subjects

from repos import MakeRepo, Repo

STRICT = {**PLAIN, "tdd.properties": f"{PLAIN_SETTINGS}max.retries=0\n"}
GIVES_UP: Json = {"exit": 1}


def stopped_before(
    turn: str, make_repo: MakeRepo, cases: int = 1, files: Mapping[str, str] = STRICT
) -> Stage:
    """Return a run that gave up at this turn; from now on the agent would do well."""
    stage = Stage(make_repo(files=files), calculator(cases) | {f"{turn}-1": GIVES_UP})
    done = stage.run(env={"TDD_MAX_RETRIES": "0"})
    assert done.code == 1, done
    stage.play(calculator(cases))
    return stage


# --- the table, row by row


@pytest.mark.long
def test_without_a_handoff_there_is_nothing_to_resume(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN))
    done = stage.resume("--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "NothingToResume")
    assert "rgr run" in done.json["hint"]
    assert stage.resume().code == 3
    assert Stage(make_repo("unborn", born=False)).resume().code == 3
    assert stage.sessions == []


@pytest.mark.long
def test_a_complete_run_is_complete(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN), calculator(1))
    first = stage.run("--json").json
    head, sessions = stage.head(), len(stage.sessions)
    done = stage.resume("--json")
    assert (done.code, done.json["status"], stage.head()) == (0, "complete", head)
    assert done.json["cycles"] == first["cycles"]
    assert len(stage.sessions) == sessions
    assert "complete" in stage.resume().out


@pytest.mark.long
def test_the_due_phase_is_worked_at_with_the_error_it_had(make_repo: MakeRepo) -> None:
    stage = stopped_before("REFACTOR-1", make_repo)
    green = stage.head()
    error = stage.note()["error"]
    done = stage.resume("--json")
    assert (done.code, done.json["status"]) == (0, "complete"), done
    assert stage.turns[-2:] == ["REFACTOR-1-2", "PLAN-2-1"]
    assert error in stage.session("REFACTOR-1-2")["brief"]
    assert stage.repo.subjects()[1:] == subjects(1)
    assert stage.note(green)["runId"] == done.json["runId"]
    assert [cycle["outcome"] for cycle in done.json["cycles"]] == ["done"]
    assert done.json["cycles"][0]["commits"]["green"] == green


@pytest.mark.long
def test_the_first_plan_can_be_resumed_too(make_repo: MakeRepo) -> None:
    stage = stopped_before("PLAN-1", make_repo)
    assert stage.repo.subjects() == ["chore: start"]
    done = stage.resume()
    assert done.code == 0, done
    assert stage.turns[:2] == ["PLAN-1-1", "PLAN-1-2"]
    assert stage.repo.subjects()[1:] == subjects(1)


@pytest.mark.long
def test_leftovers_of_an_interrupted_session_are_kept_and_the_same_attempt_is_made_again(
    make_repo: MakeRepo,
) -> None:
    stage = stopped_before("GREEN-1", make_repo)
    red = stage.head()
    stage.play(
        calculator(1)
        | {"GREEN-1": {"files": {"calc.py": "half = 1\n"}, "run": ["kill -KILL $(cat ../orchestrator)"]}}
    )
    with stage.started("resume", "--agent", stage.agent) as process:
        (stage.repo.path.parent / "orchestrator").write_text(str(process.pid))
        process.wait()
    assert process.returncode == -9
    stage.play(calculator(1))
    done = stage.resume()
    assert done.code == 0, done
    assert stage.turns[-4:] == ["GREEN-1-2", "GREEN-1-2", "REFACTOR-1-1", "PLAN-2-1"]
    [(ref, kept)] = stage.kept().items()
    assert ref in done.out
    assert stage.repo.git("show", f"{kept}:calc.py") == "half = 1"
    assert stage.repo.git("log", "-1", "--format=%P", kept) == red
    assert stage.note("HEAD~2")["attempts"] == 2
    assert stage.is_clean()


def test_commits_of_the_users_own_are_taken_and_the_handoff_is_carried_over(make_repo: MakeRepo) -> None:
    stage = stopped_before("GREEN-1", make_repo)
    red = stage.head()
    before = stage.note()
    stage.repo.commit("docs: my own", {"NOTES.md": "mine\n"})
    mine = stage.repo.commit("docs: more of my own", {"NOTES.md": "mine too\n"})
    done = stage.resume("--json")
    assert (done.code, done.json["status"]) == (0, "complete"), done
    carried = stage.note(mine)
    assert carried["carriedFrom"] == red
    told = (
        "runId",
        "phase",
        "nextPhase",
        "cycleNumber",
        "currentTest",
        "completedTests",
        "pendingTests",
        "testResult",
    )
    assert {key: carried[key] for key in told} == {key: before[key] for key in told}
    assert stage.session("GREEN-1-2")["head"] == mine
    assert stage.session("GREEN-1-2")["handoff"]["carriedFrom"] == red
    [cycle] = done.json["cycles"]
    assert cycle["commits"]["red"] == red
    assert "carriedFrom" not in stage.note()
    assert "carriedFrom" not in stage.note("HEAD~2")
    history = stage.rgr("history", "--json").json
    assert [entry["phase"] for entry in history] == [
        "PLAN",
        "REFACTOR",
        "GREEN",
        "RED",
        "RED",
        "PLAN",
        "PLAN",
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("files", "told"), [(GREENFIELD, "test_add"), (PLAIN, "exit code 1")], ids=["pytest", "exit code"]
)
def test_commits_of_the_users_own_must_not_break_what_worked(
    make_repo: MakeRepo, files: Mapping[str, str], told: str
) -> None:
    stage = stopped_before("RED-2", make_repo, cases=2, files=files)
    stage.repo.commit("feat: oh dear", {"calc.py": "def add(a: int, b: int) -> int:\n    return 0\n"})
    head = stage.head()
    done = stage.resume("--json")
    assert done.code == 3, done
    assert told in done.json["error"]
    assert "rgr resume" in done.json["hint"]
    assert stage.head() == head
    stage.repo.commit("fix: mended", {"calc.py": code(1)})
    assert stage.resume("--max-cycles", "1").code == 4


@pytest.mark.long
def test_a_list_the_user_has_changed_and_committed_is_the_list(make_repo: MakeRepo) -> None:
    stage = stopped_before("RED-1", make_repo, cases=2)
    stage.repo.commit("plan: the other way round", {"test-list.md": f"- [ ] {CASES[1]}\n- [ ] {CASES[0]}\n"})
    mine = stage.head()
    other = calculator(2)["PLAN-2"]["say"]
    stage.play({"PLAN-1": {"say": other}, "RED-1": {"exit": 1}})
    assert stage.resume().code == 1
    assert stage.session("PLAN-1-2")["head"] == mine
    assert stage.sessions[-1]["handoff"]["currentTest"]["description"] == CASES[1]
    assert stage.note()["pendingTests"] == [CASES[0]]


@pytest.mark.long
@pytest.mark.parametrize("what", ["tracked", "untracked"])
def test_a_dirty_tree_that_is_not_ours_is_refused(make_repo: MakeRepo, what: str) -> None:
    stage = stopped_before("RED-1", make_repo)
    name = "README.md" if what == "tracked" else "mine.txt"
    stage.repo.write(name, "mine\n")
    sessions = len(stage.sessions)
    done = stage.resume("--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "DirtyTree")
    assert name in done.json["error"]
    assert "git stash" in done.json["hint"]
    assert (stage.repo.path / name).read_text() == "mine\n"
    assert len(stage.sessions) == sessions


# --- elsewhere and anew


@pytest.mark.long
def test_another_clone_that_has_the_notes_goes_on(make_repo: MakeRepo) -> None:
    stage = stopped_before("GREEN-1", make_repo)
    elsewhere = stage.repo.path.parent / "elsewhere"
    subprocess.run(["git", "clone", "-q", stage.repo.path, elsewhere], check=True, env=dict(stage.repo.env))
    clone = Repo(elsewhere, stage.repo.env)
    clone.git("config", "user.name", "Bea")
    clone.git("config", "user.email", "bea@localhost")
    other = Stage(clone, calculator(1))
    assert other.resume().code == 3
    clone.git("fetch", "-q", "origin", "refs/notes/tdd-handoffs:refs/notes/tdd-handoffs")
    done = other.resume("--json")
    assert (done.code, done.json["status"]) == (0, "complete"), done
    assert other.turns == ["GREEN-1-2", "REFACTOR-1-1", "PLAN-2-1"]
    assert clone.subjects()[1:] == subjects(1)
    assert clone.git("log", "-1", "--format=%an") == "Bea"
    assert done.json["runId"] == stage.note()["runId"]


@pytest.mark.long
def test_an_unfinished_run_is_in_the_way_of_another_unless_it_is_wanted(make_repo: MakeRepo) -> None:
    stage = stopped_before("REFACTOR-1", make_repo)
    before = stage.note()
    done = stage.run("--json", feature="Another one")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "UnfinishedRun")
    assert "rgr resume" in done.json["hint"]
    assert "rgr run --new" in done.json["hint"]
    assert stage.note() == before
    stage.play({"PLAN": GIVES_UP})
    done = stage.run("--new", "--json", feature="Another one")
    assert (done.code, done.json["feature"]) == (1, "Another one"), done
    assert done.json["runId"] == stage.note()["runId"] != before["runId"]
    assert stage.note()["previous"] == before
    assert stage.rgr("status", "--json").json["feature"] == "Another one"


@pytest.mark.long
def test_a_finished_run_makes_room_for_the_next_and_stays_readable(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN), calculator(1))
    first = stage.run("--json").json
    last = stage.note()
    end = stage.head()
    parts = calculator(2)
    again = {name.replace("-2", "-1"): part for name, part in parts.items() if name.endswith("-2")}
    stage.play(
        {**again, "PLAN-1": {**parts["PLAN-2"], "commit": "plan: one more"}, "PLAN-2": parts["PLAN-3"]}
    )
    done = stage.run("--json", feature="Subtraction")
    assert done.code == 0, done
    opening = stage.note(end)
    assert opening["previous"] == last
    assert (opening["phase"], opening["nextPhase"], opening["cycleNumber"]) == ("PLAN", "PLAN", 0)
    assert opening["runId"] == done.json["runId"] != first["runId"]
    assert opening["completedTests"] == [CASES[0]]
    assert opening["state"] == "running"
    assert [cycle["cycleNumber"] for cycle in done.json["cycles"]] == [1]
    history = stage.rgr("history", "--json").json
    assert {entry["runId"] for entry in history} == {done.json["runId"]}
    assert len(history) == 6
    status = stage.rgr("status", "--json").json
    assert (status["feature"], status["commit"]) == ("Subtraction", stage.head())
    assert (stage.repo.path / "test-list.md").read_text() == listed(2, 2)


@pytest.mark.long
def test_status_and_history_without_a_run_say_so(make_repo: MakeRepo) -> None:
    for stage in (Stage(make_repo(files=PLAIN)), Stage(make_repo("unborn", born=False))):
        done = stage.rgr("status", "--json")
        assert (done.code, done.json) == (0, None)
        done = stage.rgr("history", "--json")
        assert (done.code, done.json) == (0, [])
        assert "rgr run" in stage.rgr("status").out


@pytest.mark.long
def test_settings_are_those_of_the_handoff_and_not_of_an_interrupted_session(make_repo: MakeRepo) -> None:
    stage = stopped_before("GREEN-1", make_repo)
    cheat = {"files": {"tdd.properties": "test.command=true\n"}, "commit": "feat: cheat"}
    stage.play(
        {"GREEN-1": {**cheat, "run": ["git commit -qam 'feat: cheat'", "kill -KILL $(cat ../orchestrator)"]}}
    )
    with stage.started("resume", "--agent", stage.agent) as process:
        (stage.repo.path.parent / "orchestrator").write_text(str(process.pid))
        process.wait()
    assert stage.repo.git("log", "-1", "--format=%s") == "feat: cheat"
    stage.play(calculator(1))
    events = stage.repo.path.parent / "events"
    assert stage.resume("--events", str(events)).code == 0
    told = [json.loads(line) for line in events.read_text().splitlines()]
    assert [event["testCommand"] for event in told if event["event"] == "RunStarted"] == [
        "python -I -S -B run_all.py"
    ]


@pytest.mark.long
def test_what_cannot_be_measured_is_kept_not_counted_and_made_again(make_repo: MakeRepo) -> None:
    stage = stopped_before("GREEN-1", make_repo)
    flag = stage.repo.path.parent / "flag"
    dies = {"TDD_TEST_COMMAND": f"[ ! -e {flag} ] || kill -KILL $$; python -I -S -B run_all.py"}
    flag.touch()
    before = stage.note()
    done = stage.resume("--json", env=dies)
    assert (done.code, done.json["status"], done.json["errorDetails"]["type"]) == (
        3,
        "stopped",
        "Undecided",
    ), done
    note = stage.note()
    assert (note["state"], note["nextPhase"], note["attempts"]) == ("stopped", "GREEN", before["attempts"])
    [kept] = stage.kept().values()
    assert stage.repo.git("show", f"{kept}:calc.py") == code(1).strip()
    assert stage.is_clean()
    flag.unlink()
    done = stage.resume("--json", env=dies)
    assert (done.code, done.json["status"]) == (0, "complete"), done
    assert stage.turns[-4:] == ["GREEN-1-2", "GREEN-1-2", "REFACTOR-1-1", "PLAN-2-1"]
