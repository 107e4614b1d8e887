"""What `rgr tdd` and `rgr task` leave behind is proved in any clone; what was edited afterwards is found out."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from review_stage import APPROVE, BOTH, FEEDBACK, TEST_BOTH, ReviewStage, coded, plain_repo, said
from stage import GREENFIELD, PLAIN, PLAIN_SETTINGS, SWIFT, Done, Json, Parts, Stage, calculator
from task_stage import CODE, TEST, TESTS, WRONG, staged
from task_stage import parts as task_parts
from task_stage import task as task_document
from test_flow_review_tdd import SECOND

from github_server import GitHubServer, github
from repos import MakeRepo, Repo

NOTES = "--ref=tdd-handoffs"
MEASURED = {**GREENFIELD, "tdd.properties": f"{SWIFT}coverage.min=50\n"}


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with github() as serving:
        yield serving


def verified(stage: Stage, *words: str) -> Done:
    return stage.rgr("verify", *words, "--json")


def kinds(done: Done) -> set[str]:
    """Return the types of all that was found."""
    body = done.json
    each = [*body["cycles"], *body["rounds"]]
    return {finding["type"] for part in (body, *each) for finding in part["findings"]}


def checked_as_the_pull_request_says(stage: ReviewStage, body: str) -> Done:
    """Return what the commands in a pull request's text come to in a fresh clone."""
    found = re.search(r"```sh\n(.*?)```", body, re.DOTALL)
    assert found
    *prepare, judge = found[1].strip().splitlines()
    assert judge.startswith("rgr verify ")
    clone = stage.repo.path.parent / "clone"
    stage.repo.git("clone", "-q", str(stage.bare), str(clone))
    there = Stage(Repo(clone, stage.repo.env), name="clone")
    for line in prepare:
        subprocess.run(line, shell=True, cwd=clone, env=dict(stage.repo.env), check=True, capture_output=True)
    return there.rgr(*shlex.split(judge)[1:], "--json")


def forged(stage: Stage, commit: str, **keys: Any) -> None:
    """Change a note."""
    body = {**stage.note(commit), **keys}
    stage.repo.git("notes", NOTES, "add", "-f", "-F", "-", commit, stdin=json.dumps(body))


def replaced(stage: Stage, base: str, branch: str, subject: str, path: str, text: str) -> None:
    """Make the commits of a branch again with a file changed from one of them on, the notes following."""
    repo, changed = stage.repo, False
    parent = repo.git("rev-parse", base)
    for commit in repo.git("rev-list", "--reverse", f"{base}..{branch}").split():
        message = repo.git("log", "-1", "--format=%B", commit)
        changed = changed or message.startswith(subject)
        repo.git("read-tree", commit)
        if changed:
            blob = repo.git("hash-object", "-w", "--stdin", stdin=text)
            repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
        parent = repo.git("commit-tree", repo.git("write-tree"), "-p", parent, "-m", message)
        repo.git("notes", NOTES, "copy", "-f", commit, parent)
    repo.git("update-ref", f"refs/heads/{branch}", parent)
    repo.git("read-tree", "HEAD")


# --- coder and reviewer


def two_rounds() -> Parts:
    return {
        "CODE-1": coded(),
        "REVIEW-1": said(FEEDBACK),
        "CODE-2": coded(BOTH, TEST_BOTH),
        "REVIEW-2": said(APPROVE),
    }


@pytest.mark.long
@pytest.mark.parametrize("files", [PLAIN, pytest.param(MEASURED, marks=pytest.mark.slow)])
def test_a_clone_proves_a_task_as_its_pull_request_says(
    make_repo: MakeRepo, server: GitHubServer, files: dict[str, str]
) -> None:
    stage = ReviewStage(make_repo("calc/project", files=files), server=server)
    stage.play({**two_rounds(), "REVIEW-1-1": {"say": "Well?"}})
    assert stage.tdd("SPEC.md").code == 0
    body = server.pulls[0]["body"]
    assert f"- Coverage: {'100 %' if files is MEASURED else 'not measured'}\n" in body
    done = checked_as_the_pull_request_says(stage, body)
    assert done.code == 0, done
    assert (done.json["ok"], done.json["cycles"]) == (True, [])
    assert [(each["cycleNumber"], each["ok"]) for each in done.json["rounds"]] == [(1, True), (2, True)]
    assert all(
        each[phase]["result"] == "PASS" for each in done.json["rounds"] for phase in ("code", "review")
    )
    assert done.json["missing"] == []


@pytest.mark.long
@pytest.mark.parametrize("files", [PLAIN, pytest.param(GREENFIELD, marks=pytest.mark.slow)])
def test_a_clone_proves_a_task_whose_coder_was_a_whole_run(
    make_repo: MakeRepo, server: GitHubServer, files: dict[str, str]
) -> None:
    stage = ReviewStage(make_repo("calc/project", files=files), server=server)
    stage.play({**calculator(1), **SECOND, "REVIEW-1": said(FEEDBACK), "REVIEW-2": said(APPROVE)})
    assert stage.tdd("SPEC.md", "--tdd").code == 0
    done = checked_as_the_pull_request_says(stage, server.pulls[0]["body"])
    assert done.code == 0, done
    task = stage.task
    assert [(each["runId"], each["ok"]) for each in done.json["cycles"]] == [
        (f"{task}-code-2", True),
        (f"{task}-code-1", True),
    ]
    assert [each["cycleNumber"] for each in done.json["rounds"]] == [1, 2]
    # Without a range it is the latest run with all that belongs to it.
    stage.repo.git("switch", "-q", f"tdd/{task}")
    assert verified(stage).json == done.json
    text = stage.rgr("verify").out
    assert "verified 2 cycles and 2 rounds" in text
    assert "2 of 2 cycles hold, 2 of 2 rounds hold" in text


@pytest.mark.long
def test_a_squash_merged_task_is_proved_from_what_was_pushed(
    make_repo: MakeRepo, server: GitHubServer
) -> None:
    stage = ReviewStage(plain_repo(make_repo), server=server)
    stage.play({**calculator(1), "REVIEW-1": said(APPROVE)})
    assert stage.tdd("SPEC.md", "--tdd").code == 0
    stage.repo.git("merge", "-q", "--squash", f"tdd/{stage.task}")
    stage.repo.git("commit", "-qm", "Add a calculator (#1)")
    done = verified(stage, "--pull-request")
    assert done.code == 0, done
    assert (len(done.json["cycles"]), len(done.json["rounds"])) == (1, 1)
    assert done.json["merged"][0]["tree"] == "equal"


@pytest.mark.long
def test_a_pull_request_that_the_reviewer_opened_itself_is_an_honest_end(
    make_repo: MakeRepo, server: GitHubServer
) -> None:
    stage = ReviewStage(plain_repo(make_repo), server=server)
    stage.play(two_rounds())
    place = f"/repos/{server.owner}/{server.repo}/pulls"
    server.branches = lambda _branch: True

    def opened(asked: Any) -> None:
        if asked.method == "GET" and len(stage.sessions) == 2 and not server.pulls:
            body = {"title": "Mine", "body": "b", "head": f"tdd/{stage.task}", "base": "main"}
            server.answer(type(asked)("POST", place, {}, body, asked.token, asked.agent))

    server.seen = opened
    done = stage.tdd("SPEC.md", "--json")
    assert (done.code, done.json["iterations"]) == (0, 1), done
    assert verified(stage, f"main..tdd/{stage.task}").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("files", [PLAIN, GREENFIELD])
def test_rejected_tries_and_commits_of_the_user_s_own_are_honest(
    make_repo: MakeRepo, files: dict[str, str]
) -> None:
    legacy = {"tests/test_old.py": "def test_old():\n    assert True\n"}
    stage = ReviewStage(make_repo("calc/project", files={**files, **legacy}))
    red = coded(test="import calc\n\n\ndef test_add():\n    assert calc.add(6, 3) == 10\n")
    stage.play({**two_rounds(), "CODE-1-1": red, "CODE-1-2": coded()})
    done = stage.tdd("SPEC.md", "--forge", "none", "--max-reviews", "1", "--no-cleanup", "--json")
    assert done.code == 1, done
    there = Repo(stage.worktrees / stage.task, stage.repo.env)
    there.commit("docs: mine", {"mine.txt": "x\n"})
    more = stage.tdd("--resume", stage.task, "--max-reviews", "2", "--json")
    assert more.code == 0, more
    proved = verified(stage, f"main..tdd/{stage.task}")
    assert proved.code == 0, proved
    assert [each["ok"] for each in proved.json["rounds"]] == [True, True]


@pytest.mark.long
def test_code_that_was_changed_afterwards_is_found_out(make_repo: MakeRepo) -> None:
    stage = ReviewStage(plain_repo(make_repo))
    stage.play({"CODE-1": coded(), "REVIEW-1": said(APPROVE)})
    assert stage.tdd("SPEC.md", "--forge", "none").code == 0
    span = f"main..tdd/{stage.task}"
    first = verified(stage, span)
    assert first.code == 0, first
    replaced(stage, "main", f"tdd/{stage.task}", "feat:", "calc.py", "def add(a, b):\n    return a - b\n")
    done = verified(stage, span)
    assert done.code == 1, done
    assert "TestFailure" in kinds(done)


@pytest.mark.long
def test_what_a_reviewer_is_said_to_have_changed_or_decided_is_found_out(make_repo: MakeRepo) -> None:
    stage = ReviewStage(plain_repo(make_repo))
    stage.play({"CODE-1": coded(), "REVIEW-1": said(FEEDBACK), "CODE-2": {"exit": 1}})
    stage.repo.commit("chore: no retries", {"tdd.properties": f"{PLAIN_SETTINGS}max.retries=0\n"})
    assert stage.tdd("SPEC.md", "--forge", "none").code == 1
    branch = f"tdd/{stage.task}"
    assert verified(stage, f"main..{branch}").code == 0
    forged(stage, branch, outcome="approved", verdict="approve", nextPhase="COMPLETE", state="complete")
    done = verified(stage, f"main..{branch}")
    assert (done.code, kinds(done)) == (1, {"MalformedHandoff"}), done

    replaced(stage, "main", branch, "review:", "calc.py", "def add(a, b):\n    return b + a\n")
    done = verified(stage, f"main..{branch}")
    assert done.code == 1, done
    assert "ScopeViolation" in kinds(done)


@pytest.mark.long
def test_a_commit_that_no_run_accounts_for_is_found_out_between_rounds(make_repo: MakeRepo) -> None:
    stage = ReviewStage(plain_repo(make_repo))
    stage.play({**calculator(1), **SECOND, "REVIEW-1": said(FEEDBACK), "REVIEW-2": said(APPROVE)})
    assert stage.tdd("SPEC.md", "--tdd", "--forge", "none").code == 0
    branch = f"tdd/{stage.task}"
    assert verified(stage, f"main..{branch}").code == 0
    lost = stage.repo.git("rev-parse", f"{branch}~4")
    stage.repo.git("notes", NOTES, "remove", lost)
    done = verified(stage, f"main..{branch}")
    assert done.code == 1, done
    assert "HistoryRewritten" in kinds(done)


# --- task files


@pytest.mark.long
def test_a_task_file_is_proved_by_its_own_gates(make_repo: MakeRepo) -> None:
    stage = staged(make_repo)
    assert stage.rgr_task().code == 0
    done = verified(stage)
    assert done.code == 0, done
    (cycle,) = done.json["cycles"]
    assert [cycle[phase]["result"] for phase in ("red", "green", "refactor")] == ["FAIL", "PASS", "PASS"]
    assert cycle["test"] == "Calculator"
    assert done.json["missing"] == []
    assert "1 of 1 cycle holds" in stage.rgr("verify").out


@pytest.mark.slow
def test_a_task_with_tries_at_green_and_criteria_is_proved_and_a_plain_one_too(make_repo: MakeRepo) -> None:
    wrong: Json = {"files": {CODE: f"def add(a, b):\n    return a + b\n{WRONG}"}, "commit": "feat: a try"}
    stage = staged(make_repo, task_parts(GREEN_1_1=wrong))
    criteria = {"criteria": ["$ pytest -q", "`test -f calc.py`"]}
    assert stage.rgr_task(document=task_document(convergence=criteria)).code == 0
    plain = task_document(id="IMPL-2", title="More", meta={"tdd_workflow": False}, implementation=[])
    stage.play({"CODE": {"files": {"more.py": "MORE = 1\n"}, "commit": "feat: more", "say": "More."}})
    first = stage.head()
    assert stage.rgr_task(document=plain).code == 0
    assert verified(stage, f"main~4..{first}").code == 0
    done = verified(stage)
    assert done.code == 0, done
    (each,) = done.json["rounds"]
    assert (each["code"]["result"], each["review"]) == ("PASS", None)


@pytest.mark.long
def test_a_task_whose_note_or_tests_were_changed_afterwards_is_found_out(make_repo: MakeRepo) -> None:
    stage = staged(make_repo)
    base = stage.head()
    assert stage.rgr_task().code == 0
    green = stage.repo.git("rev-parse", "HEAD~1")
    forged(stage, "HEAD~1", testResult="FAIL")
    done = verified(stage)
    assert (done.code, kinds(done)) == (1, {"MalformedHandoff"}), done
    assert green[:10] in json.dumps(done.json["cycles"])
    forged(stage, "HEAD~1", testResult="PASS")
    assert verified(stage).code == 0
    weak = TESTS.replace("== 9", "> 0")
    replaced(stage, base, "main", "feat:", TEST, weak)
    done = verified(stage)
    assert done.code == 1, done
    assert "TestTampering" in kinds(done)


@pytest.mark.long
def test_a_task_whose_opening_is_not_here_is_said_not_to_be_judged(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    stage = staged(make_repo)
    assert stage.rgr_task().code == 0
    clone = tmp_path / "shallow"
    stage.repo.git("clone", "-q", "--depth", "2", f"file://{stage.repo.path}", str(clone))
    there = Stage(Repo(clone, stage.repo.env), name="shallow")
    there.repo.git("fetch", "-q", "origin", "refs/notes/tdd-handoffs:refs/notes/tdd-handoffs")
    done = verified(there)
    assert done.code == 3, done
    assert "its opening note, which holds the task, is not here" in done.json["error"]
