"""A whole workflow, in every kind of repository: which commits it makes, and what their notes say."""

import re
from collections.abc import Callable

import pytest
from stage import (
    CASES,
    CODE,
    GREENFIELD,
    PLAIN,
    SWIFT,
    TEST,
    Json,
    Stage,
    calculator,
    code,
    listed,
    subjects,
    suite,
)

from repos import MakeRepo

FEATURE = "A calculator"
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
PROMISED = {
    "schemaVersion",
    "runId",
    "feature",
    "state",
    "phase",
    "nextPhase",
    "cycleNumber",
    "currentTest",
    "completedTests",
    "pendingTests",
    "testResult",
    "error",
    "errorDetails",
    "retryCount",
    "timestamp",
    "attempts",
    "findings",
}
LEGACY = {
    "old.py": "def ok() -> int:\n    return 1\n",
    "tests/test_old.py": "import old\n\n\ndef test_passes() -> None:\n    assert old.ok() == 1\n\n\n"
    "def test_fails() -> None:\n    assert old.ok() == 2\n",
}


def greenfield(make_repo: MakeRepo) -> Stage:
    return Stage(make_repo(files=GREENFIELD))


def existing_project(make_repo: MakeRepo) -> Stage:
    return Stage(make_repo(files={**GREENFIELD, **LEGACY}))


def subfolder(make_repo: MakeRepo) -> Stage:
    files = {"README.md": "hello\n", "other/test_other.py": "def test_other() -> None:\n    assert False\n"}
    own = {f"deep/er/{name}": text for name, text in GREENFIELD.items()}
    return Stage(make_repo(files={**files, **own}), project="deep/er")


def unborn(make_repo: MakeRepo) -> Stage:
    repo = make_repo(born=False)
    repo.write(".git/info/exclude", "/tdd.properties\n")
    repo.write("tdd.properties", f"{SWIFT}test.command=python -m pytest\n")
    return Stage(repo)


def detached(make_repo: MakeRepo) -> Stage:
    repo = make_repo(files=PLAIN)
    repo.git("checkout", "-q", "--detach")
    return Stage(repo)


KINDS = [greenfield, existing_project, subfolder, unborn, detached]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)  # pyright: ignore[reportUnknownLambdaType]
def test_three_cases_are_thirteen_commits_that_tell_their_story(
    make_repo: MakeRepo, kind: Callable[[MakeRepo], Stage]
) -> None:
    stage = kind(make_repo)
    repo = stage.repo
    start = None if kind is unborn else stage.head()
    done = stage.run("--json")
    assert done.code == 0, done
    start = start or repo.git("rev-list", "--max-parents=0", "HEAD")
    commits = stage.commits(start)
    run_id = done.json["runId"]

    assert [repo.git("log", "-1", "--format=%s", commit) for commit in commits] == subjects()
    assert [repo.git("log", "-1", "--format=%P", commit) for commit in commits] == [start, *commits[:-1]]
    assert {repo.git("log", "-1", "--format=%an", commit) for commit in commits} == {"Ada"}

    assert _checked(stage.note(start)) == _opening(run_id)
    for commit, expected in zip(commits, _notes(run_id), strict=True):
        assert _checked(stage.note(commit)) == expected
    annotated = [line.split()[1] for line in repo.git("notes", "--ref=tdd-handoffs", "list").splitlines()]
    assert sorted(annotated) == sorted([start, *commits])

    assert stage.is_clean()
    assert {name for name in repo.refs() if name != "refs/heads/main"} == {"refs/notes/tdd-handoffs"}
    _check_result(done.json, commits)
    _check_where_it_stands(stage, kind, start)


def _check_where_it_stands(stage: Stage, kind: Callable[[MakeRepo], Stage], start: str) -> None:
    """HEAD is where it was, on the branch or detached, and the files are what the agent wrote."""
    repo = stage.repo
    if kind is detached:
        assert repo.git("rev-parse", "main") == start
        assert (repo.path / ".git/HEAD").read_text().strip() == stage.head()
    else:
        assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    project = repo.path / stage.project
    assert (project / CODE).read_text() == code(3, polished=2)
    assert (project / TEST).read_text() == suite(3)
    assert (project / "test-list.md").read_text() == listed(3)
    assert {session["cwd"] for session in stage.sessions} == {str(project.resolve())}
    if kind is unborn:
        assert repo.git("log", "-1", "--format=%s", start) == "chore: empty first commit"
        assert repo.git("ls-tree", start) == ""


def _checked(note: Json) -> Json:
    """Return the note's promised keys and how it was sealed, what is different in every run taken out."""
    assert set(note) >= PROMISED
    assert TIMESTAMP.fullmatch(note["timestamp"])
    told = PROMISED - {"timestamp"} | {"sealed", "outcome", "carriedFrom", "previous", "awaiting"}
    # These runs have no time for probes that may be left out, and their notes say so.
    found = [one for one in note["findings"] if not one["message"].startswith("not measured: ")]
    return {key: value for key, value in (note | {"findings": found}).items() if key in told}


def _note(run_id: str, **changes: object) -> Json:
    return {
        "schemaVersion": 1,
        "runId": run_id,
        "feature": FEATURE,
        "state": "running",
        "currentTest": None,
        "completedTests": [],
        "pendingTests": [],
        "testResult": None,
        "error": None,
        "errorDetails": None,
        "retryCount": 0,
        "attempts": 1,
        "findings": [],
        **changes,
    }


def _opening(run_id: str) -> Json:
    return _note(run_id, phase="PLAN", nextPhase="PLAN", cycleNumber=0, attempts=0)


def _notes(run_id: str) -> list[Json]:
    """Return what an honest run's notes say, from the first PLAN to the last."""
    cases = list(CASES)
    notes: list[Json] = []
    for number, case in enumerate(cases):
        shared: Json = {
            "cycleNumber": number + 1,
            "currentTest": {"description": case, "testFile": TEST, "implFile": CODE},
            "completedTests": cases[:number],
            "pendingTests": cases[number + 1 :],
        }
        finished = {"completedTests": cases[: number + 1]} | ({} if number == 1 else {"sealed": True})
        notes += [
            _note(run_id, phase="PLAN", nextPhase="RED", **shared),
            _note(run_id, phase="RED", nextPhase="GREEN", **shared, testResult="FAIL"),
            _note(run_id, phase="GREEN", nextPhase="REFACTOR", **shared, testResult="PASS"),
            _note(run_id, phase="REFACTOR", nextPhase="PLAN", **(shared | finished), testResult="PASS"),
        ]
    end = {"state": "complete", "phase": "PLAN", "nextPhase": "COMPLETE", "cycleNumber": 4}
    return [*notes, _note(run_id, **end, completedTests=cases)]


def _check_result(result: Json, commits: list[str]) -> None:
    """The printed result has the promised shape and names the right commits."""
    assert set(result) == {
        "runId", "feature", "status", "cycles", "error", "errorDetails", "usage", "seconds", "head",
    }  # fmt: skip
    told = {key: result[key] for key in ("feature", "status", "error", "errorDetails", "usage", "head")}
    assert told == {
        "feature": FEATURE,
        "status": "complete",
        "error": None,
        "errorDetails": None,
        "usage": None,
        "head": commits[-1],
    }
    assert result["seconds"] > 0
    assert len(result["cycles"]) == 3
    for number, cycle in enumerate(result["cycles"]):
        own = commits[4 * number : 4 * number + 4]
        assert cycle.pop("seconds") > 0
        assert cycle == {
            "cycleNumber": number + 1,
            "test": CASES[number],
            "outcome": "done",
            "commits": dict(zip(("plan", "red", "green", "refactor"), own, strict=True)),
            "retries": 0,
            "usage": None,
        }


@pytest.mark.long
def test_work_that_is_not_committed_is_sealed_and_the_note_says_so(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN))
    parts = calculator(1)
    parts["PLAN-1"]["commit"] = None
    parts["RED-1"]["commit"] = "add a test"
    parts["GREEN-1"] |= {"commit": "chore(calc): add\n\nWith reasons.", "run": ["touch left-over.txt"]}
    parts["REFACTOR-1"] = {"files": {"calc.py": code(1, polished=1)}, "commit": None}
    parts["PLAN-2"] |= {
        "commit": "plan(list): all done",
        "run": ["mkdir -p __pycache__ && touch __pycache__/x.pyc"],
    }
    stage.play(parts)
    start = stage.head()
    done = stage.run()
    assert done.code == 0, done
    assert stage.repo.subjects()[1:] == [
        "plan: list the cases",
        "test: add a test",
        "feat(calc): add",
        "refactor: adds two numbers",
        "plan(list): all done",
    ]
    notes = [stage.note(commit) for commit in stage.commits(start)]
    assert [note.get("sealed", False) for note in notes] == [True, True, True, True, True]
    green = stage.commits(start)[2]
    assert stage.repo.git("log", "-1", "--format=%b", green) == "With reasons."
    assert "left-over.txt" in stage.repo.git("show", "--name-only", "--format=", green)
    assert not any("pycache" in path for path in stage.repo.git("ls-files").splitlines())
    assert (stage.repo.path / "__pycache__/x.pyc").exists()


@pytest.mark.long
def test_where_git_knows_nobody_commits_are_ours_and_it_is_said_once(make_repo: MakeRepo) -> None:
    repo = make_repo(files=PLAIN)
    repo.git("config", "--unset", "user.name")
    repo.git("config", "--unset", "user.email")
    stage = Stage(repo, calculator(1))
    done = stage.run()
    assert done.code == 0, done
    assert set(repo.git("log", "-5", "--format=%an <%ae>").splitlines()) == {
        "RedGreenRefactor <rgr@localhost>"
    }
    assert done.out.count("commits are made as RedGreenRefactor") == 1


@pytest.mark.long
def test_a_list_that_is_there_already_is_continued_and_its_ticks_are_taken_as_given(
    make_repo: MakeRepo,
) -> None:
    ready = {"test-list.md": listed(1, 2), "calc.py": code(1), "tests/test_calc.py": suite(1)}
    stage = Stage(make_repo(files={**PLAIN, **ready}))
    parts = calculator(2)
    second = {name.replace("-2", "-1"): part for name, part in parts.items() if name.endswith("-2")}
    stage.play({**second, "PLAN-1": {"say": parts["PLAN-2"]["say"]}, "PLAN-2": parts["PLAN-3"]})
    start = stage.head()
    done = stage.run()
    assert done.code == 0, done
    assert stage.note(start)["completedTests"] == [CASES[0]]
    assert stage.note(start)["pendingTests"] == [CASES[1]]
    first = stage.commits(start)[0]
    assert stage.repo.git("log", "-1", "--format=%s", first) == "plan: list the cases"
    assert stage.repo.git("diff", "--name-only", start, first) == ""
    assert stage.note()["completedTests"] == list(CASES[:2])
