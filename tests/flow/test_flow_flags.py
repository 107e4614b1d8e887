"""Flags, variables and settings: what they change about a run and what it prints."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from stage import (
    CASES,
    GREENFIELD,
    PLAIN,
    PLAIN_SETTINGS,
    SWIFT,
    Json,
    Stage,
    calculator,
    listed,
    planned,
    program,
    subjects,
    surroundings,
)

from redgreenrefactor.model.goal import EDITING
from repos import MakeRepo, Repo

STRICT = {**PLAIN, "tdd.properties": f"{PLAIN_SETTINGS}max.retries=0\n"}
FAILS: Json = {"exit": 1}


# --- a person may change the list first


def waiting(make_repo: MakeRepo, cases: int = 1) -> Stage:
    """Return a run whose list waits for approval."""
    stage = Stage(make_repo(files=STRICT), calculator(cases))
    done = stage.run("--approve", "--json")
    assert (done.code, done.json["status"]) == (4, "stopped"), done
    told = f"You may edit {stage.repo.path / 'test-list.md'}: {EDITING}. Then type 'rgr resume'."
    assert told in " ".join(done.err.split())
    assert stage.turns == ["PLAN-1-1"]
    note = stage.note()
    assert (note["state"], note["phase"], note["nextPhase"]) == ("stopped", "PLAN", "RED")
    return stage


@pytest.mark.long
def test_without_a_terminal_the_run_stops_and_an_unedited_list_goes_on_as_it_is(make_repo: MakeRepo) -> None:
    stage = waiting(make_repo)
    shown = " ".join(stage.rgr("status").out.split())
    assert f"you may edit test-list.md: {EDITING}" in shown
    assert "rgr resume" in shown
    done = stage.resume()
    assert done.code == 0, done
    assert stage.repo.subjects()[1:] == subjects(1)


@pytest.mark.long
def test_an_edited_list_is_accepted_with_a_commit_of_its_own(make_repo: MakeRepo) -> None:
    stage = waiting(make_repo)
    plan = stage.head()
    stage.repo.write("test-list.md", listed(0, 2))
    refused = stage.run()
    assert (refused.code, "'A calculator' (its list waits for approval)" in refused.err) == (3, True), refused
    assert "Type 'rgr resume', which approves test-list.md as it is now, and goes on with it" in refused.err
    stage.play({**calculator(2), "RED-1": FAILS})
    assert stage.resume().code == 1
    accepted = stage.head()
    assert stage.repo.subjects()[1:] == ["plan: list the cases", "plan: accepted list"]
    assert stage.repo.git("log", "-1", "--format=%P") == plan
    note = stage.note()
    assert note["carriedFrom"] == plan
    assert (note["phase"], note["nextPhase"], note["cycleNumber"]) == ("PLAN", "RED", 1)
    assert (note["currentTest"]["description"], note["pendingTests"]) == (CASES[0], [CASES[1]])
    assert stage.session("RED-1-1")["head"] == accepted
    stage.play(calculator(2))
    done = stage.resume("--json")
    assert (done.code, [cycle["outcome"] for cycle in done.json["cycles"]]) == (0, ["done", "done"]), done
    assert stage.repo.subjects()[1:] == [subjects(2)[0], "plan: accepted list", *subjects(2)[1:]]
    assert done.json["cycles"][0]["commits"]["plan"] == plan


@pytest.mark.long
def test_plan_is_asked_again_where_another_case_comes_first_now(make_repo: MakeRepo) -> None:
    stage = waiting(make_repo, cases=2)
    stage.repo.write("test-list.md", f"- [ ] {CASES[1]}\n- [ ] {CASES[0]}\n")
    stage.play({"PLAN-1": {"say": calculator(2)["PLAN-2"]["say"]}, "RED": FAILS})
    assert stage.resume().code == 1
    assert stage.turns == ["PLAN-1-1", "PLAN-1-2", "RED-1-1"]
    again = stage.session("PLAN-1-2")["handoff"]
    assert (again["nextPhase"], again["currentTest"], again["pendingTests"]) == (
        "PLAN",
        None,
        [CASES[1], CASES[0]],
    )
    note = stage.note()
    assert (note["phase"], note["cycleNumber"], note["attempts"]) == ("PLAN", 1, 1)
    assert (note["currentTest"]["description"], note["pendingTests"]) == (CASES[1], [CASES[0]])
    assert stage.repo.subjects()[-2:] == ["plan: accepted list", "plan: update the list of cases"]


@pytest.mark.long
def test_a_run_that_has_worked_no_case_is_over_only_where_a_person_empties_its_list(
    make_repo: MakeRepo,
) -> None:
    """A second feature, on a list whose boxes are all ticked."""
    strict = {**STRICT, "test-list.md": listed(1, 1)}
    stage = Stage(make_repo(files=strict), {"PLAN-1": {"say": '{"currentTest": null}'}})
    done = stage.run("--json")
    assert (done.code, done.json["errorDetails"]["type"], done.json["cycles"]) == (1, "MalformedHandoff", [])
    assert "cases are not on the list yet" in stage.session("PLAN-1-1")["brief"]

    stage.play({"PLAN-1": planned(1, 2)})
    assert stage.resume("--approve").code == 4
    stage.repo.write("test-list.md", listed(1, 1))
    stage.play({"PLAN-1": {"say": '{"currentTest": null}'}})
    done = stage.resume("--json")
    assert (done.code, done.json["status"], done.json["cycles"]) == (0, "complete", []), done


@pytest.mark.long
def test_while_a_list_waits_anything_else_is_still_dirt(make_repo: MakeRepo) -> None:
    stage = waiting(make_repo)
    stage.repo.write("test-list.md", listed(0, 2))
    stage.repo.write("mine.txt", "mine\n")
    done = stage.resume("--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "DirtyTree")
    assert "mine.txt" in done.json["error"]
    assert (stage.repo.path / "test-list.md").read_text() == listed(0, 2)


@pytest.mark.long
def test_on_a_terminal_the_editor_opens(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=STRICT), {**calculator(2), "RED-1": FAILS})
    stage.play({**stage.parts, "PLAN-1": calculator(1)["PLAN-1"]})
    editor = stage.repo.path.parent / "editor"
    editor.write_text(f'#!/bin/sh\necho "- [ ] {CASES[1]}" >> "$1"\n')
    editor.chmod(0o755)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*program(), "run", "A calculator", "--approve", "--agent", stage.agent],
        cwd=stage.repo.path,
        env={**surroundings(stage.repo), "EDITOR": str(editor), "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = _all_of(ours)
        assert process.wait() == 1, shown
    assert stage.repo.subjects()[1:] == ["plan: list the cases", "plan: accepted list"]
    assert stage.note()["pendingTests"] == [CASES[1]]
    assert "\x1b[?25h" in shown  # the cursor is there again


def _all_of(terminal: int) -> str:
    """Return everything that is written to a terminal, until its last writer is gone."""
    text = b""
    with os.fdopen(terminal, "rb", buffering=0) as stream:
        try:
            while chunk := stream.read(65536):
                text += chunk
        except OSError:  # how Linux tells that the other side is closed
            pass
    return text.decode()


# --- limits


@pytest.mark.long
def test_max_cycles_stops_after_so_many_cases_of_this_invocation(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN), calculator(2))
    done = stage.run("--max-cycles", "1", "--json")
    assert (done.code, done.json["status"]) == (4, "stopped"), done
    assert [cycle["outcome"] for cycle in done.json["cycles"]] == ["done"]
    assert done.json["error"] is None
    assert stage.repo.subjects()[1:] == subjects(2)[:4]
    assert (stage.note()["state"], stage.note()["nextPhase"]) == ("stopped", "PLAN")
    done = stage.resume("--max-cycles", "1")
    assert done.code == 4, done
    assert "--max-cycles 1" in done.out
    assert stage.repo.subjects()[1:] == subjects(2)[:8]
    done = stage.resume("--json")
    assert (done.code, len(done.json["cycles"])) == (0, 2)
    assert stage.repo.subjects()[1:] == subjects(2)


# --- what is printed


@pytest.mark.long
def test_quiet_tells_only_the_end(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=STRICT), {**calculator(1), "GREEN-1": FAILS})
    done = stage.run("--quiet")
    assert done.code == 1
    assert "GREEN" in done.out
    assert "exit code 1" in done.out
    assert "working" not in done.out
    stage.play(calculator(1))
    done = stage.resume("--quiet")
    assert (done.code, done.err) == (0, "")
    assert 0 < len(done.out.strip().splitlines()) <= 3
    assert "complete" in done.out


@pytest.mark.long
def test_with_json_everything_for_people_is_on_standard_error(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=STRICT), {"PLAN": FAILS})
    done = stage.run("--json")
    assert done.json["status"] == "failed"
    assert "PLAN" in done.err
    assert "PLAN" not in json.dumps(done.json["cycles"])
    assert stage.resume("--json", "--quiet").json["status"] == "failed"


@pytest.mark.long
def test_without_json_the_story_and_the_result_are_on_standard_output(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=GREENFIELD), calculator(1))
    done = stage.run("--no-color")
    assert (done.code, done.err) == (0, "")
    for words in (
        "A calculator",
        "PLAN",
        "RED",
        "GREEN",
        "REFACTOR",
        "1 failed as it should",
        CASES[0],
        "git log",
    ):
        assert words in done.out
    assert "\x1b" not in done.out


@pytest.mark.long
def test_events_are_appended_as_json_lines(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=STRICT), {**calculator(1), "GREEN-1": FAILS})
    events = stage.repo.path.parent / "events.jsonl"
    assert stage.run("--events", str(events)).code == 1
    first = [json.loads(line) for line in events.read_text().splitlines()]
    assert [
        event["event"]
        for event in first
        if event["event"] in ("RunStarted", "TurnStarted", "Judged", "RunEnded")
    ] == [
        "RunStarted",
        *["TurnStarted", "Judged"] * 3,
        "RunEnded",
    ]
    assert [event["phase"] for event in first if event["event"] == "TurnStarted"] == ["PLAN", "RED", "GREEN"]
    assert first[-1]["status"] == "failed"
    stage.play(calculator(1))
    assert stage.resume("--events", str(events)).code == 0
    both = [json.loads(line) for line in events.read_text().splitlines()]
    assert both[: len(first)] == first
    resumed = both[len(first)]
    assert (resumed["event"], resumed["resumed"], resumed["runId"]) == ("RunStarted", True, first[0]["runId"])


# --- where it works


@pytest.mark.long
def test_a_worktree_is_made_beside_the_project_and_left_in_place(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=STRICT), {**calculator(1), "GREEN-1": FAILS})
    stage.repo.write("mine.txt", "the main checkout may be dirty\n")
    start = stage.head()
    failed = stage.run("--worktree", "calc")
    assert failed.code == 1
    assert "--worktree calc" in failed.out.partition("→ rgr resume")[2]
    folder = stage.repo.path.parent / ".codex-worktrees" / "calc"
    assert {session["cwd"] for session in stage.sessions} == {str(folder)}
    beside = Repo(folder, stage.repo.env)
    assert beside.git("symbolic-ref", "HEAD") == "refs/heads/tdd/calc"
    assert stage.rgr("status", "--json", "--project", str(folder)).json["state"] == "aborted"
    assert stage.rgr("status", "--json").json is None  # it only began here
    stage.repo.git("stash", "-u")
    refused = stage.resume("--json")
    assert (refused.code, refused.json["errorDetails"]["type"]) == (3, "NothingToResume"), refused
    assert f"rgr resume --project {folder}" in refused.json["hint"]
    stage.repo.git("stash", "pop")
    stage.play(calculator(1))
    done = stage.resume("--worktree", "calc", "--json")
    assert (done.code, done.json["status"]) == (0, "complete"), done
    assert "The work is on branch tdd/calc, in ../.codex-worktrees/calc." in done.err
    assert "git merge tdd/calc" in done.err
    assert "git merge" not in failed.out
    assert beside.subjects()[1:] == subjects(1)
    assert beside.git("status", "--porcelain") == ""
    assert (stage.head(), stage.repo.git("rev-parse", "main")) == (start, start)
    assert stage.repo.git("status", "--porcelain") == "?? mine.txt"


@pytest.mark.long
def test_a_worktree_that_was_removed_comes_back_from_its_branch(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=STRICT), {"PLAN": FAILS})
    assert stage.run("--worktree", "calc").code == 1
    stage.repo.git("worktree", "remove", "../.codex-worktrees/calc")
    stage.play(calculator(1))
    assert stage.resume("--worktree", "calc").code == 0
    assert (stage.repo.path.parent / ".codex-worktrees/calc/calc.py").exists()


@pytest.mark.long
def test_resuming_in_a_worktree_that_never_was_makes_none(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN))
    done = stage.resume("--worktree", "calc", "--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "NothingToResume")
    assert "--worktree calc" in done.json["hint"]
    assert stage.repo.refs().keys() == {"refs/heads/main"}
    assert not (stage.repo.path.parent / ".codex-worktrees").exists()


@pytest.mark.long
def test_the_project_is_where_the_flag_or_the_variable_says(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=STRICT), {"PLAN": FAILS})
    other = make_repo("other", files=PLAIN)
    elsewhere = stage.repo.path.parent / "elsewhere"
    elsewhere.mkdir()
    words = ["run", "x", "--agent", stage.agent]
    done = stage.rgr(*words, cwd=elsewhere, env={"TDD_PROJECT_ROOT": str(stage.repo.path)})
    assert done.code == 1, done
    assert stage.note()["feature"] == "x"
    words = ["status", "--json", "--project", str(other.path)]
    assert stage.rgr(*words, cwd=elsewhere, env={"TDD_PROJECT_ROOT": str(stage.repo.path)}).json is None
    assert stage.rgr("status", "--json", "--project", "../project", cwd=elsewhere).json["feature"] == "x"


# --- what is asked for


@pytest.mark.long
def test_the_feature_may_come_from_a_file_or_from_standard_input(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=STRICT), {"PLAN": FAILS})
    feature = stage.repo.path.parent / "feature.md"
    feature.write_text("# Sums\n\nAdd größere numbers.\n")
    done = stage.rgr("run", "--file", str(feature), "--agent", stage.agent, "--json")
    assert done.json["feature"] == "# Sums\n\nAdd größere numbers."
    done = stage.rgr("run", "-", "--new", "--agent", stage.agent, "--json", stdin="From\r\na pipe\n")
    assert done.json["feature"] == "From\na pipe"
    assert "From\na pipe" in stage.sessions[-1]["brief"].replace("> ", "")


# --- settings


@pytest.mark.long
def test_settings_are_read_from_the_commit_unless_git_ignores_the_file(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=STRICT), {"PLAN": FAILS})
    stage.repo.git("update-index", "--skip-worktree", "tdd.properties")
    stage.repo.write("tdd.properties", "max.retries=2\nretry.backoff=0\n")
    assert stage.run().code == 1
    assert stage.turns == ["PLAN-1-1"]

    ignoring = {"README.md": "x\n", "pyproject.toml": "", ".gitignore": "tdd.properties\n"}
    stage = Stage(make_repo("ignoring", files=ignoring), {"PLAN": FAILS})
    stage.repo.write("tdd.properties", "max.retries=2\nretry.backoff=0\n")
    assert stage.run().code == 1
    assert stage.turns == ["PLAN-1-1", "PLAN-1-2", "PLAN-1-3"]


@pytest.mark.long
def test_flags_beat_variables_which_beat_properties(make_repo: MakeRepo, tmp_path: Path) -> None:
    stage = Stage(make_repo(files=PLAIN))
    lines = [PLAIN_SETTINGS.strip(), "max.retries=5", "agent=command:exit 3", "agent.red=command:exit 4"]
    stage.repo.commit("chore: settings", {"tdd.properties": "\n".join(lines) + "\n"})
    done = stage.rgr("run", "x", "--json", env={"TDD_MAX_RETRIES": "0"})
    assert (done.code, "exit code 3" in done.json["error"], stage.note()["attempts"]) == (1, True, 1)
    done = stage.rgr("resume", "--json", env={"TDD_MAX_RETRIES": "0", "TDD_AGENT": "command:exit 5"})
    assert "exit code 5" in done.json["error"]
    variables = {"TDD_MAX_RETRIES": "0", "TDD_AGENT": "command:exit 5"}
    done = stage.rgr("resume", "--json", "--agent", "command:exit 6", env=variables)
    assert "exit code 6" in done.json["error"]
    plan = calculator(1)
    stage.play({"PLAN": plan["PLAN-1"]})
    lines[2] = f"agent={stage.agent}".replace("\\", "\\\\")
    stage.repo.commit("chore: another agent", {"tdd.properties": "\n".join(lines) + "\n"})
    done = stage.rgr("resume", "--json", env={"TDD_MAX_RETRIES": "0"})
    assert stage.note()["nextPhase"] == "RED", done
    assert "exit code 4" in done.json["error"]


@pytest.mark.long
@pytest.mark.parametrize("policy", ["warn", "abort"])
def test_red_on_pass_decides_about_an_honest_test_that_passes(make_repo: MakeRepo, policy: str) -> None:
    ready = {"calc.py": "def add(a: int, b: int) -> int:\n    return a + b\n"}
    settings = {"tdd.properties": f"{SWIFT}red.on.pass={policy}\nmax.retries=2\n"}
    parts = {name: part for name, part in calculator(1).items() if name != "GREEN-1"}
    stage = Stage(make_repo(files={**GREENFIELD, **ready, **settings}), {**parts, "GREEN-1": {}})
    done = stage.run("--json")
    if policy == "abort":
        assert (done.code, done.json["errorDetails"]["type"]) == (1, "UnexpectedPass"), done
        assert stage.turns == ["PLAN-1-1", "RED-1-1", "RED-1-2", "RED-1-3"]
    else:
        assert done.code == 0, done
        assert stage.turns[:4] == ["PLAN-1-1", "RED-1-1", "RED-1-2", "GREEN-1-1"]
        red = stage.note("HEAD~3")
        assert (red["phase"], red["testResult"], red["nextPhase"]) == ("RED", "PASS", "GREEN")
        assert stage.note("HEAD~2")["testResult"] == "PASS"


@pytest.mark.long
def test_a_reader_that_goes_away_changes_nothing_about_the_exit_code(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=STRICT), {"PLAN": FAILS})
    for words, code in ((["run", "x", "--agent", stage.agent], 1), (["status"], 0)):
        reading, writing = os.pipe()
        os.close(reading)
        with subprocess.Popen(
            [*program(), *words],
            cwd=stage.repo.path,
            env=surroundings(stage.repo),
            stdout=writing,
            stderr=subprocess.PIPE,
        ) as process:
            os.close(writing)
            _, complaints = process.communicate()
        assert (process.returncode, complaints) == (code, b""), words


@pytest.mark.long
def test_on_finish_is_told_how_the_run_ended_and_its_failure_is_a_warning(make_repo: MakeRepo) -> None:
    told = 'echo "$TDD_STATUS $TDD_RUN_ID $TDD_HEAD" >> ../told; echo oh dear >&2; exit 7'
    files = {**PLAIN, "tdd.properties": f"{PLAIN_SETTINGS}on.finish={told}\n"}
    stage = Stage(make_repo(files=files), calculator(1))
    assert stage.run("--max-cycles", "1").code == 4
    done = stage.resume("--json")
    assert done.code == 0, done
    assert "on.finish ended with 7: oh dear" in done.err
    run_id = done.json["runId"]
    first, second = (stage.repo.path.parent / "told").read_text().splitlines()
    assert first.split()[:2] == ["stopped", run_id]
    assert second.split() == ["complete", run_id, stage.head()]


@pytest.mark.long
def test_on_finish_does_not_run_what_a_session_has_made_of_a_script(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    settings = f"{PLAIN_SETTINGS}on.finish=sh ./tell.sh\n"
    repo = make_repo(files={**PLAIN, "tdd.properties": settings, "tell.sh": f"touch {tmp_path}/told\n"})
    assert Stage(repo, calculator(1)).run().code == 0
    assert (tmp_path / "told").exists()
    parts = calculator(1)
    evil = {"tell.sh": f"touch {tmp_path}/got-out\n"}
    parts["REFACTOR-1"] = {"files": evil, "commit": "refactor: tell otherwise"}
    other = make_repo("other", {**PLAIN, "tdd.properties": settings, "tell.sh": "true\n"})
    done = Stage(other, parts).run()
    assert (done.code, (tmp_path / "got-out").exists()) == (0, False), done
    assert "on.finish was not run" in done.err + done.out
