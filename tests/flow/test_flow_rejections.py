"""What is rejected, what stays of it, what the next session is told, and how a run gives up and goes on."""

import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest
from stage import (
    CASES,
    GREENFIELD,
    PLAIN,
    PLAIN_SETTINGS,
    SWIFT,
    TEST,
    Json,
    Parts,
    Stage,
    alive_with,
    calculator,
    code,
    listed,
)

from repos import MakeRepo, Repo
from shared import once

PATIENT = {
    **GREENFIELD,
    "tdd.properties": f"{SWIFT}max.retries=9\nagent.env=GITHUB_TOKEN\n",
}
ONE = "import calc\n\n\ndef test_add() -> None:\n    assert calc.add(6, 3) == 9\n"
TWO = (
    "def test_add() -> None:\n    import calc\n\n    assert calc.add(6, 3) == 9\n\n\n"
    "def test_more() -> None:\n    import calc\n\n    assert calc.add(1, 1) == 2\n"
)
WRONG = "def add(a: int, b: int) -> int:\n    return a - b\n"


@dataclass(frozen=True)
class Rejection:
    """One attempt that must not be accepted."""

    turn: str
    type: str
    part: Json
    commits: bool = True  # whether it leaves something behind that can be kept
    told: str = ""  # what the next brief says


REJECTIONS = (
    Rejection(
        "PLAN-1-1",
        "ScopeViolation",
        {"files": {"calc.py": "x = 1\n", "test-list.md": listed(0, 1)}, "commit": "plan: more", "say": "{}"},
        told="Change only the files your phase may change",
    ),
    Rejection(
        "PLAN-1-2",
        "MalformedHandoff",
        {"files": {"test-list.md": listed(0, 1)}, "commit": "plan: list", "say": "Start with the first one."},
        told="first open box is the current test",
    ),
    Rejection("PLAN-1-3", "AgentFailure", {"exit": 1}, commits=False, told="Begin again"),
    Rejection(
        "RED-1-1",
        "UnexpectedPass",
        {
            "files": {TEST: "def test_add() -> None:\n    total = 6 + 3\n    assert total == 9\n"},
            "commit": "test: add",
        },
        told="Check the assertion",
    ),
    Rejection(
        "RED-1-2", "TooManyTests", {"files": {TEST: TWO}, "commit": "test: add"}, told="Add one test only"
    ),
    Rejection(
        "RED-1-3",
        "CompilationError",
        {"files": {TEST: "def test_add() -> None\n    assert\n"}, "commit": "test: add"},
        told="Make every file parse",
    ),
    Rejection("RED-1-4", "NothingDone", {}, commits=False, told="must change something"),
    Rejection(
        "GREEN-1-1",
        "TestTampering",
        {
            "files": {TEST: ONE.replace("== 9", "is not None"), "calc.py": WRONG},
            "run": [f"git update-index --skip-worktree {TEST}"],
            "commit": "feat: add",
        },
        told="Take back what is named above",
    ),
    Rejection(
        "GREEN-1-2",
        "TestFailure",
        {"files": {"calc.py": WRONG}, "commit": "feat: add"},
        told="otherwise take another approach",
    ),
    Rejection("GREEN-1-3", "AgentFailure", {"files": {"calc.py": WRONG}, "exit": 1}, told="exit code 1"),
    Rejection(
        "GREEN-1-4",
        "HistoryRewritten",
        {"files": {"calc.py": code(1)}, "run": ["git tag -d v1"], "commit": "feat: add"},
        told="Add one commit on top",
    ),
    Rejection(
        "REFACTOR-1-1",
        "TestFailure",
        {
            "files": {"calc.py": WRONG},
            "run": ["git update-index --assume-unchanged calc.py"],
            "commit": "refactor: simplify",
        },
        told="Run the whole suite",
    ),
)
ACCEPTED = {"PLAN-1-4": 4, "RED-1-5": 5, "GREEN-1-5": 5, "REFACTOR-1-2": 2, "PLAN-2-1": 1}


def _play(folder: Path) -> None:
    """Play one run in which everything goes wrong that can, each time once."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "TDD_TRUST": "1"}
    repo = Repo(folder / "project", env)
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@localhost")
    repo.commit("chore: start", PATIENT)
    repo.git("tag", "v1")
    parts: Parts = calculator(1) | {"RED-1": {"files": {TEST: ONE}, "commit": "test: add"}}
    parts["PLAN-1"] |= {"run": ["echo x > nohup.out"]}  # what is left lying about, committed and not
    parts["GREEN-1"]["files"] |= {"debug.log": "seen\n"}
    stage = Stage(repo, parts | {rejection.turn: rejection.part for rejection in REJECTIONS})
    stage.env = {"ANTHROPIC_API_KEY": "key-1", "GITHUB_TOKEN": "token-1", "OTHER": "other-1"}
    done = stage.run("--json")
    (folder / "done.json").write_text(json.dumps({"code": done.code, "out": done.out, "err": done.err}))


@pytest.fixture
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    folder = once(tmp_path_factory, "rejections", _play)
    repo = Repo(folder / "project", {"PATH": os.environ["PATH"], "HOME": str(folder)})
    return Stage(repo, json.loads((folder / "project-parts.json").read_text()))


def _result(stage: Stage) -> Json:
    return json.loads((stage.repo.path.parent / "done.json").read_text())


def test_after_every_kind_of_rejection_the_run_comes_to_its_end(stage: Stage) -> None:
    done = _result(stage)
    assert done["code"] == 0, done["err"]
    assert sorted(stage.turns) == sorted([rejection.turn for rejection in REJECTIONS] + list(ACCEPTED))
    assert stage.repo.subjects()[1:] == [
        "plan: list the cases",
        "test: add",
        f"feat: {CASES[0]}",
        "refactor: no changes needed",
        f"plan: tick {CASES[0]!r}",
    ]
    [cycle] = json.loads(done["out"])["cycles"]
    assert (cycle["retries"], cycle["outcome"]) == (len(REJECTIONS), "done")
    assert stage.is_clean()
    assert {line[0] for line in stage.repo.git("ls-files", "-v").splitlines()} == {"H"}  # nothing is hidden


def test_what_is_left_lying_about_is_in_no_commit_but_at_a_ref_and_told_to_those_who_come_later(
    stage: Stage,
) -> None:
    log = stage.repo.git("log", "--name-only", "--format=", "main").split()
    assert sorted(set(log)) == sorted([*PATIENT, "calc.py", TEST, "test-list.md"])
    kept = [name for name in stage.kept() if "/left-out-" in name]
    assert {stage.repo.git("ls-tree", "--name-only", ref) for ref in kept} == {"nohup.out", "debug.log"}
    for turn in ("REFACTOR-1-1", "REFACTOR-1-2", "PLAN-2-1"):
        brief = stage.session(turn)["brief"]
        assert "- GREEN: left out of the commit, being used by nothing: debug.log" in brief
        assert "- PLAN: left out of the commit, being used by nothing: nohup.out" in brief


@pytest.mark.parametrize("rejection", REJECTIONS, ids=lambda rejection: rejection.turn)
def test_a_rejected_attempt_is_kept_rolled_back_and_told_to_the_next(
    stage: Stage, rejection: Rejection
) -> None:
    phase, cycle, number = rejection.turn.split("-")
    tried = stage.session(rejection.turn)
    after = stage.session(f"{phase}-{cycle}-{int(number) + 1}")
    assert (after["head"], after["status"]) == (tried["head"], "")

    handoff = after["handoff"]
    assert (handoff["phase"], handoff["nextPhase"]) == (tried["handoff"]["phase"], phase)
    assert handoff["errorDetails"]["type"] == rejection.type
    assert handoff["error"] == handoff["errorDetails"]["message"]
    assert (handoff["retryCount"], handoff["attempts"], handoff["state"]) == (
        int(number),
        int(number),
        "running",
    )
    assert rejection.type in {finding["type"] for finding in handoff["findings"]}
    assert rejection.told in " ".join(after["brief"].split())
    assert handoff["error"].splitlines()[0][:60] in after["brief"]

    kept = stage.attempts().get(f"{cycle}-{phase}-{number}")
    assert (kept is not None) is rejection.commits
    if kept is not None:
        note = stage.note(kept)
        assert (note["errorDetails"], note["error"]) == (handoff["errorDetails"], handoff["error"])
        assert (note["phase"], note["nextPhase"], note["cycleNumber"]) == (phase, phase, 1)
        assert (note["attempts"], note["retryCount"]) == (int(number), int(number) - 1)
        assert note["findings"] == handoff["findings"]
        assert stage.repo.git("log", "-1", "--format=%P", kept) == tried["head"]


def test_findings_say_what_where_and_what_to_do_instead(stage: Stage) -> None:
    for handoff in (session["handoff"] for session in stage.sessions):
        for finding in handoff["findings"]:
            assert set(finding) == {"type", "message", "file", "line", "hint", "severity"}
    finding, *_ = stage.session("GREEN-1-2")["handoff"]["findings"]
    assert (finding["file"], finding["line"], finding["severity"]) == (TEST, 5, "error")


def test_an_accepted_note_has_no_error_and_tells_the_retries_it_took(stage: Stage) -> None:
    following = [
        stage.session(turn)["handoff"] for turn in ("RED-1-1", "GREEN-1-1", "REFACTOR-1-1", "PLAN-2-1")
    ]
    for (turn, attempts), note in zip(ACCEPTED.items(), [*following, stage.note()], strict=True):
        told = (note["phase"], note["error"], note["errorDetails"], note["retryCount"], note["attempts"])
        assert told == (turn.split("-")[0], None, None, attempts - 1, attempts)


def test_refs_a_session_destroyed_come_back(stage: Stage) -> None:
    assert stage.repo.git("rev-parse", "v1") == stage.repo.git("rev-list", "--max-parents=0", "HEAD")


@pytest.mark.long
def test_history_shows_the_run_and_on_demand_its_attempts(stage: Stage) -> None:
    plain = stage.rgr("history", "--json").json
    assert [entry["commit"] for entry in plain] == stage.repo.git("rev-list", "HEAD").split()
    everything = stage.rgr("history", "--attempts", "--json").json
    told = [
        f"{entry['phase']}-{entry['attempts']}"
        for entry in everything
        if entry["commit"] in stage.attempts().values()
    ]
    assert told == [
        *["REFACTOR-1", "GREEN-4", "GREEN-3", "GREEN-2", "GREEN-1"],
        *["RED-3", "RED-2", "RED-1", "PLAN-2", "PLAN-1"],
    ]
    known = {*stage.attempts().values(), None}  # an attempt that left nothing behind has no commit
    assert [entry for entry in everything if entry["commit"] not in known] == plain
    assert [entry["commit"] for entry in everything[:3]] == [
        *[e["commit"] for e in plain[:2]],
        stage.attempts()["1-REFACTOR-1"],
    ]
    assert len(stage.rgr("history", "--limit", "2", "--json").json) == 2
    shown = stage.rgr("history", "--attempts")
    assert shown.code == 0
    assert "TestTampering" in shown.out


def test_every_session_finds_who_it_is_and_where_it_starts(stage: Stage) -> None:
    roles = {"PLAN": "test-list", "RED": "test", "GREEN": "implementing", "REFACTOR": "refactor"}
    for session in stage.sessions:
        env = session["env"]
        assert env["TDD_ROLE"] == roles[env["TDD_PHASE"]]
        assert env["TDD_RUN_ID"] == session["handoff"]["runId"] == json.loads(_result(stage)["out"])["runId"]
        assert session["handoff"]["nextPhase"] == env["TDD_PHASE"]
        assert not Path(env["TDD_HANDOFF"]).exists()
        assert not Path(env["TDD_HANDOFF"]).is_relative_to(stage.repo.path)
        assert session["cwd"] == str(stage.repo.path)
    assert {session["env"]["TDD_CYCLE"] for session in stage.sessions[:-1]} == {"1"}
    assert stage.sessions[-1]["env"]["TDD_CYCLE"] == "2"


def test_credentials_stay_with_the_orchestrator_unless_they_are_named(stage: Stage) -> None:
    for session in stage.sessions:
        assert "key-1" not in session["env"].values()
        assert (session["env"]["GITHUB_TOKEN"], session["env"]["OTHER"]) == ("token-1", "other-1")


def test_the_brief_holds_the_feature_the_case_and_the_test_command(stage: Stage) -> None:
    for session in stage.sessions:
        assert "A calculator" in session["brief"]
    for turn in ("RED-1-1", "GREEN-1-1", "REFACTOR-1-1"):
        assert CASES[0] in stage.session(turn)["brief"]
        assert "pytest" in stage.session(turn)["brief"]


# --- giving up, and going on


@pytest.mark.long
def test_after_the_last_retry_the_run_is_aborted_and_resume_has_a_fresh_set(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files={**GREENFIELD, "tdd.properties": f"{SWIFT}max.retries=1\n"}))
    bad = {"files": {"calc.py": WRONG}, "commit": "feat: add"}
    stage.play(calculator(1) | {f"GREEN-1-{number}": bad for number in (1, 2, 3)})
    done = stage.run("--json")
    assert (done.code, done.json["status"]) == (1, "failed"), done
    assert done.json["errorDetails"]["type"] == "TestFailure"
    assert done.json["error"] == done.json["errorDetails"]["message"]
    [cycle] = done.json["cycles"]
    assert (cycle["outcome"], cycle["retries"], cycle["commits"]["green"]) == ("failed", 1, None)
    red = stage.head()
    assert done.json["head"] == red == cycle["commits"]["red"]
    note = stage.note()
    assert (note["state"], note["phase"], note["nextPhase"]) == ("aborted", "RED", "GREEN")
    assert (note["retryCount"], note["attempts"], note["errorDetails"]["type"]) == (1, 2, "TestFailure")
    assert sorted(stage.attempts()) == ["1-GREEN-1", "1-GREEN-2"]
    assert stage.is_clean()
    assert stage.rgr("status", "--json").json == {**note, "commit": red}
    shown = stage.rgr("status").out
    assert "aborted" in shown
    assert "rgr resume" in shown

    error = note["error"]
    done = stage.resume("--json")
    assert (done.code, done.json["status"]) == (0, "complete"), done
    assert [turn for turn in stage.turns if turn.startswith("GREEN")] == [
        f"GREEN-1-{n}" for n in (1, 2, 3, 4)
    ]
    third = stage.session("GREEN-1-3")
    assert error in third["brief"]
    assert (third["handoff"]["retryCount"], third["handoff"]["state"]) == (0, "running")
    assert third["handoff"]["error"] == error
    assert stage.session("GREEN-1-4")["handoff"]["retryCount"] == 1
    green = stage.note(stage.commits(red)[0])
    assert (green["retryCount"], green["attempts"], green["error"]) == (1, 4, None)
    [cycle] = done.json["cycles"]
    assert (cycle["outcome"], cycle["retries"]) == ("done", 3)
    assert sorted(stage.attempts()) == ["1-GREEN-1", "1-GREEN-2", "1-GREEN-3"]


@pytest.mark.long
def test_a_session_that_runs_past_its_limit_is_ended_even_if_it_would_not_be(make_repo: MakeRepo) -> None:
    hasty = {**PLAIN, "tdd.properties": f"{PLAIN_SETTINGS}session.timeout=1\nmax.retries=0\n"}
    marker = f"RGR_MARKER={uuid.uuid4()}"
    stubborn = {"files": {"half.py": "1\n"}, "run": ["trap '' TERM; sleep 300 & sleep 300"]}
    stage = Stage(make_repo(files=hasty), {"PLAN": stubborn}, env=dict([marker.split("=")]))
    done = stage.run("--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (1, "Timeout"), done
    assert "ran past its limit of 1 s" in done.json["error"]
    assert alive_with(marker) == []
    assert stage.is_clean()
    assert stage.repo.git("show", f"{stage.attempts()['1-PLAN-1']}:half.py") == "1"
    stage.repo.commit("chore: more time", {"tdd.properties": PLAIN_SETTINGS})
    stage.play(calculator(1))
    assert stage.resume().code == 0
    assert "ran past its limit of 1 s" in stage.session("PLAN-1-2")["brief"]


@pytest.mark.long
def test_without_retries_the_first_rejection_is_the_last(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=GREENFIELD), calculator(1) | {"PLAN-1": {"exit": 7}})
    done = stage.run("--json", env={"TDD_MAX_RETRIES": "0"})
    assert (done.code, done.json["errorDetails"]["type"]) == (1, "AgentFailure")
    assert "exit code 7" in done.json["error"]
    assert stage.turns == ["PLAN-1-1"]
    note = stage.note()
    assert (note["state"], note["retryCount"], note["attempts"], note["cycleNumber"]) == ("aborted", 0, 1, 0)
    assert stage.attempts() == {}


@pytest.mark.long
def test_a_retry_that_makes_the_very_same_commit_again_gets_a_note_of_its_own(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=GREENFIELD))
    dated = "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z git commit -qm 'feat: add'"
    same = {"files": {"calc.py": WRONG}, "run": ["git add -A", dated]}
    stage.play(calculator(1) | {"GREEN-1": same})
    done = stage.run("--json", env={"TDD_MAX_RETRIES": "1"})
    assert done.code == 1, done
    first, second = (stage.attempts()[f"1-GREEN-{number}"] for number in (1, 2))
    assert first != second
    assert [stage.note(commit)["attempts"] for commit in (first, second)] == [1, 2]
    assert stage.repo.git("rev-parse", f"{first}^{{tree}}") == stage.repo.git(
        "rev-parse", f"{second}^{{tree}}"
    )


@pytest.mark.long
def test_waits_double_and_are_announced(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files={**GREENFIELD, "tdd.properties": "retry.backoff=0.01\n"}))
    stage.play(calculator(1) | {"PLAN-1": {"exit": 1}})
    events = stage.repo.path.parent / "events"
    assert stage.run("--events", str(events)).code == 1
    told = [json.loads(line) for line in events.read_text().splitlines()]
    assert [event["seconds"] for event in told if event["event"] == "Paused"] == [0.01, 0.02, 0.04]


@pytest.mark.long
@pytest.mark.parametrize("policy", ["block", "report"])
def test_a_legacy_test_that_breaks_is_rejected_or_only_reported(make_repo: MakeRepo, policy: str) -> None:
    legacy = {
        "old.py": "LIMIT = 1\n",
        "tests/test_old.py": "import old\n\n\ndef test_old() -> None:\n    assert old.LIMIT == 1\n",
        "tdd.properties": f"{SWIFT}max.retries=0\nlegacy.on.break={policy}\n",
    }
    breaks = {"files": {"calc.py": code(1), "old.py": "LIMIT = 2\n"}, "commit": "feat: add"}
    stage = Stage(
        make_repo(files={**GREENFIELD, **legacy}),
        calculator(1) | {"GREEN-1": breaks, "REFACTOR-1": {"exit": 1}},
    )
    done = stage.run("--json")
    assert done.code == 1
    note = stage.note()
    if policy == "block":
        assert (note["nextPhase"], note["errorDetails"]["type"]) == ("GREEN", "LegacyBroken")
    else:
        assert (note["nextPhase"], note["testResult"]) == ("REFACTOR", "PASS")
        green = stage.session("REFACTOR-1-1")["handoff"]
        assert ("LegacyBroken", "warning") in [(f["type"], f["severity"]) for f in green["findings"]]
        assert "LegacyBroken" in done.err
