"""From a specification to a pull request: coder, reviewer, real git, a remote, and a GitHub."""

from collections.abc import Iterator

import pytest
from review_stage import APPROVE, BOTH, ReviewStage, coded, command_lines, plain_repo, said, two_rounds
from stage import CASES, PLAIN_SETTINGS, Stage, calculator, subjects

from github_server import TOKEN, Asked, GitHubServer, github
from repos import MakeRepo


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with github() as serving:
        yield serving


@pytest.fixture
def stage(make_repo: MakeRepo, server: GitHubServer) -> ReviewStage:
    return ReviewStage(plain_repo(make_repo), server=server)


@pytest.fixture
def alone(make_repo: MakeRepo) -> ReviewStage:
    """The same without token and network."""
    return ReviewStage(plain_repo(make_repo))


def test_two_rounds_from_a_specification_to_a_pull_request(stage: ReviewStage, server: GitHubServer) -> None:
    done = stage.tdd("SPEC.md", "--json")
    assert done.code == 0, done
    task = stage.task
    (pull,) = server.pulls
    assert done.json == {
        "success": True,
        "prUrl": pull["html_url"],
        "iterations": 2,
        "taskId": task,
        "branch": f"tdd/{task}",
        "keptRef": None,
        "error": None,
        "errorDetails": None,
        "hint": None,
    }
    assert (pull["title"], pull["head"]["ref"], pull["base"]["ref"]) == (
        "Add a calculator",
        f"tdd/{task}",
        "main",
    )
    for part in (
        "It adds and subtracts.",
        "1. feedback: calc.py",
        "2. approved",
        "rgr verify origin/main..",
        "Cost:",
    ):
        assert part in pull["body"]

    assert stage.turns == ["CODE-1-1", "REVIEW-1-1", "CODE-2-1", "REVIEW-2-1"]
    first, look, revision, again = (session["brief"] for session in stage.sessions)
    assert "It adds, and it subtracts." in first
    assert "revision" not in first
    assert "I wrote a calculator." in look
    assert "+    return a + b" in look
    assert "exit code 0" in look
    assert "## This is a revision" in revision
    assert "subtraction is missing" in revision
    assert "subtraction is missing" in again
    assert "What reviewers have asked for so far" not in look

    doctor = stage.rgr("doctor", "--json").json
    assert not [words for words in doctor["warnings"] if "unfinished" in words]
    subjects = stage.repo.git("log", "--format=%s", "--reverse", f"main..tdd/{task}").splitlines()
    assert subjects == ["feat: a calculator", "review: round 1", "feat: a calculator", "review: round 2"]
    assert stage.pushed(f"refs/heads/tdd/{task}") == stage.repo.git("rev-parse", f"tdd/{task}")
    assert stage.pushed("refs/notes/tdd-handoffs")
    note = stage.note(f"tdd/{task}")
    assert (note["phase"], note["nextPhase"], note["state"], note["verdict"]) == (
        "REVIEW",
        "COMPLETE",
        "complete",
        "approve",
    )

    state = stage.states()[task]
    assert state["status"] == "completed"
    assert (state["currentIteration"], state["maxIterations"]) == (2, 3)
    assert state["coderResponses"] == ["I wrote a calculator."] * 2
    assert ["subtraction" in text for text in state["reviewerResponses"]] == [True, False]
    assert state["specPath"] == "SPEC.md"
    assert state["worktreeInfo"]["baseBranch"] == "main"

    assert not stage.worktrees.exists()
    assert f"tdd/{task}" in stage.branches()  # its pull request is open
    assert stage.repo.git("status", "--porcelain") == "?? SPEC.md"
    assert ".codex/" in (stage.repo.path / ".git/info/exclude").read_text().splitlines()
    written = stage.everything_written()
    assert TOKEN.encode() not in written
    assert TOKEN not in done.out + done.err
    assert all("GITHUB_TOKEN" not in session["env"] for session in stage.sessions)


@pytest.mark.long
def test_without_a_forge_an_approved_branch_is_the_result(alone: ReviewStage) -> None:
    done = alone.tdd("SPEC.md", "--forge", "none", "--json")
    assert done.code == 0, done
    assert (done.json["success"], done.json["prUrl"]) == (True, None)
    assert f"tdd/{alone.task}" in alone.branches()
    assert alone.pushed(f"refs/heads/tdd/{alone.task}") == ""
    assert not alone.worktrees.exists()
    assert f"'git merge tdd/{alone.task}'" in done.json["hint"]
    assert "\n  complete\n" not in done.err
    task = alone.task
    cleaned = alone.tdd("--clean", task)
    assert alone.branches() == ["main"]
    assert f"kept at refs/tdd/kept/{task}" in cleaned.out


@pytest.mark.long
def test_reviews_that_are_used_up_fail_with_what_there_is(alone: ReviewStage) -> None:
    done = alone.tdd("SPEC.md", "--forge", "none", "--max-reviews", "1", "--json")
    assert done.code == 1, done
    assert (done.json["success"], done.json["iterations"]) == (False, 1)
    assert done.json["errorDetails"] == {"type": "RoundsUsedUp", "message": done.json["error"]}
    assert done.json["error"] == "REVIEW asked for more, and the only round is used up"
    assert f"rgr tdd --resume {alone.task} --max-reviews N" in done.json["hint"]
    assert (done.json["branch"], done.json["keptRef"]) == (f"tdd/{alone.task}", None)
    assert "was rejected" not in done.err
    assert alone.states()[alone.task]["status"] == "failed"

    again = alone.tdd("--resume", alone.task, "--json")
    assert again.code == 1, again
    more = alone.tdd("--resume", alone.task, "--max-reviews", "2", "--json")
    assert more.code == 0, more
    assert (more.json["success"], more.json["iterations"]) == (True, 2)
    assert alone.turns == ["CODE-1-1", "REVIEW-1-1", "CODE-2-1", "REVIEW-2-1"]


@pytest.mark.long
def test_no_token_is_noticed_before_anything_is_begun(alone: ReviewStage) -> None:
    done = alone.tdd("SPEC.md", "--json", env={"GITHUB_API_URL": "http://127.0.0.1:9"})
    assert done.code == 3, done
    assert done.json["errorDetails"]["type"] == "GitHubAuth"
    assert "--forge none" in done.json["hint"]
    assert not (alone.repo.path / ".codex").exists()
    assert alone.branches() == ["main"]


@pytest.mark.long
def test_a_refused_token_is_noticed_before_anything_is_begun(
    stage: ReviewStage, server: GitHubServer
) -> None:
    server.token = "another"
    done = stage.tdd("SPEC.md", "--json")
    assert done.code == 3, done
    assert done.json["errorDetails"]["type"] == "GitHubAuth"
    assert stage.sessions == []
    assert stage.branches() == ["main"]


@pytest.mark.long
def test_a_host_that_nobody_named_and_a_page_that_is_not_githubs_are_told_before_anything_is_begun(
    stage: ReviewStage, server: GitHubServer
) -> None:
    server.when = {"GET": "html"}
    done = stage.tdd("SPEC.md", "--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "GitHubUnexpected"), done
    stage.repo.git("remote", "set-url", "origin", "https://git.firm.example/acme/calc")
    done = stage.tdd("SPEC.md", "--json", env={"GITHUB_API_URL": ""})
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "RepositoryNotFound"), done
    assert "github.host=git.firm.example" in done.json["hint"]
    assert (stage.sessions, stage.branches()) == ([], ["main"])


@pytest.mark.long
def test_what_cannot_start_leaves_nothing_behind(alone: ReviewStage) -> None:
    alone.repo.commit("chore: a suite that fails", {"run_all.py": "raise SystemExit(1)\n"})
    done = alone.tdd("SPEC.md", "--forge", "none", "--json")
    assert done.code == 3, done
    assert done.json["errorDetails"]["type"] == "SuiteRed"
    assert not alone.worktrees.exists()
    assert alone.branches() == ["main"]
    assert alone.states() == {}


@pytest.mark.slow
def test_an_unreadable_review_is_asked_for_once_more(alone: ReviewStage) -> None:
    alone.play({**alone.parts, "REVIEW-1-1": {"say": "Looks good!"}})
    done = alone.tdd("SPEC.md", "--forge", "none", "--json")
    assert done.code == 0, done
    assert alone.turns[:3] == ["CODE-1-1", "REVIEW-1-1", "REVIEW-1-2"]
    assert "MalformedHandoff" in alone.sessions[2]["brief"]


@pytest.mark.slow
def test_a_review_that_stays_unreadable_fails_and_the_work_is_kept(
    stage: ReviewStage, server: GitHubServer
) -> None:
    stage.play({**stage.parts, "REVIEW-1": {"say": "Looks good!"}})
    done = stage.tdd("SPEC.md", "--json")
    assert done.code == 1, done
    task = stage.task
    assert server.pulls == []
    assert stage.branches() == ["main"]
    kept = stage.repo.git("rev-parse", f"refs/tdd/kept/{task}")
    assert stage.repo.git("log", "-1", "--format=%s", kept) == "feat: a calculator"
    assert f"refs/tdd/kept/{task}" in done.err
    assert done.json["keptRef"] == f"refs/tdd/kept/{task}"
    assert done.json["errorDetails"]["type"] == "MalformedHandoff"
    assert not stage.worktrees.exists()

    stage.play(two_rounds())
    more = stage.tdd("--resume", task, "--json")
    assert more.code == 0, more
    assert len(server.pulls) == 1


@pytest.mark.slow
def test_a_coder_that_leaves_the_suite_red_tries_again_on_its_own_files(alone: ReviewStage) -> None:
    red = coded(test="import calc\n\n\ndef test_add():\n    assert calc.add(6, 3) == 10\n")
    mended = {
        "files": {
            "calc.py": BOTH,
            "tests/test_calc.py": red["files"]["tests/test_calc.py"].replace("10", "9"),
        }
    }
    alone.play({**alone.parts, "CODE-1-1": red, "CODE-1-2": {**mended, "say": "Mended."}})
    done = alone.tdd("SPEC.md", "--forge", "none", "--json")
    assert done.code == 0, done
    assert alone.turns[:3] == ["CODE-1-1", "CODE-1-2", "REVIEW-1-1"]
    assert "those of an earlier try" in alone.sessions[1]["brief"]


@pytest.mark.long
def test_a_pull_request_the_reviewer_opened_is_the_end(stage: ReviewStage, server: GitHubServer) -> None:
    # From a file: other tests look for the token in every command line of the machine.
    header = stage.repo.path.parent / "header"
    header.write_text(f"Authorization: Bearer {TOKEN}\n")
    opened = (
        "git push -q origin HEAD:refs/heads/by-hand 2>/dev/null; "
        f"curl -s -o /dev/null -X POST -H '@{header}' -H 'Content-Type: application/json' "
        '-d "{\\"title\\": \\"Mine\\", \\"body\\": \\"b\\", \\"head\\": \\"$(git branch --show-current)\\", \\"base\\": \\"main\\"}" '
        f"{server.url}/repos/acme/calc/pulls"
    )
    server.branches = lambda _branch: True
    stage.play({**stage.parts, "REVIEW-1": {**stage.parts["REVIEW-1"], "run": [opened]}})
    done = stage.tdd("SPEC.md", "--json")
    assert done.code == 0, done
    assert done.json["iterations"] == 1
    assert [pull["title"] for pull in server.pulls] == ["Mine"]
    assert done.json["prUrl"] == server.pulls[0]["html_url"]
    assert f"the reviewer opened the pull request itself after 1 round: {done.json['prUrl']}" in done.err
    assert "approved" not in done.err


@pytest.mark.long
def test_an_open_pull_request_of_the_branch_is_updated_and_not_opened_twice(
    stage: ReviewStage, server: GitHubServer
) -> None:
    stage.repo.git("push", "-q", "origin", "main:refs/heads/feature/calc")
    draft = {"title": "Draft", "body": "later", "head": "feature/calc", "base": "main"}
    place = f"/repos/{server.owner}/{server.repo}/pulls"
    server.answer(Asked("POST", place, {}, draft, f"Bearer {TOKEN}", ""))
    stage.play({"CODE-1": coded(), "REVIEW-1": said({"verdict": "approve"})})
    done = stage.tdd("SPEC.md", "--branch", "feature/calc", "--json")
    assert done.code == 0, done
    (pull,) = server.pulls
    assert (pull["title"], pull["state"]) == ("Calculator", "open")  # the title is the specification's
    assert "### How this was made" in pull["body"]
    assert stage.pushed("refs/heads/feature/calc") == stage.repo.git("rev-parse", "feature/calc")


@pytest.mark.long
def test_a_github_that_is_gone_after_the_approval_can_be_tried_again(
    stage: ReviewStage, server: GitHubServer
) -> None:
    server.when = {"POST": "422"}
    done = stage.tdd("SPEC.md", "--json")
    assert done.code == 3, done
    task = stage.task
    assert done.json["errorDetails"]["type"] == "GitHubRejected"
    assert f"rgr tdd --resume {task}" in done.json["hint"]
    assert "the work is done, but not published" in done.err
    assert "complete" not in done.err
    assert stage.states()[task]["status"] == "running"
    server.when = {}
    more = stage.rgr("tdd", "--resume", task, "--agent", "api", "--json")  # no key: only publishing is left
    assert more.code == 0, more
    assert len(server.pulls) == 1
    assert len(stage.sessions) == 4


@pytest.mark.long
def test_a_coder_that_pushes_is_rejected_and_the_remote_is_the_persons_to_put_back(
    stage: ReviewStage, server: GitHubServer
) -> None:
    main = stage.pushed("refs/heads/main")
    commit = "git add -A && git commit -q -m 'feat: mine' && git push -q origin HEAD:main"
    stage.play({"CODE-1": coded(), "CODE-1-1": coded(run=[commit]), "REVIEW-1": said(APPROVE)})
    keys = {"SSH_AUTH_SOCK": "/tmp/agent", "GIT_ASKPASS": "/bin/true", "GH_TOKEN": "x"}
    done = stage.tdd("SPEC.md", "--json", env=keys)
    assert done.code == 0, done
    assert stage.turns == ["CODE-1-1", "CODE-1-2", "REVIEW-1-1"]
    assert "HistoryRewritten" in stage.sessions[1]["brief"]
    assert "force-with-lease" not in stage.sessions[1]["brief"]
    assert not [name for session in stage.sessions for name in keys if name in session["env"]]
    moved = stage.pushed("refs/heads/main")
    assert moved != main
    assert f"git push --force-with-lease=main:{moved} origin {main}:refs/heads/main" in " ".join(
        done.err.split()
    )
    assert len(server.pulls) == 1


@pytest.mark.long
def test_a_remote_that_takes_only_branches_gets_the_branch_and_that_is_told(
    stage: ReviewStage, server: GitHubServer
) -> None:
    hook = stage.bare / "hooks" / "update"
    hook.write_text('#!/bin/sh\ncase "$1" in refs/heads/*) ;; *) echo only branches >&2; exit 1;; esac\n')
    hook.chmod(0o755)
    stage.play({"CODE-1": coded(), "REVIEW-1": said(APPROVE)})
    done = stage.tdd("SPEC.md", "--json")
    assert done.code == 0, done
    (pull,) = server.pulls
    assert done.json["prUrl"] == pull["html_url"]
    assert "the branch is pushed, but not all of its handoffs" in done.err
    assert "only branches" in done.err
    assert "rgr verify" not in pull["body"]  # which would find nothing there
    branch = f"refs/heads/tdd/{stage.task}"
    assert stage.pushed(branch) == stage.repo.git("rev-parse", branch)
    assert stage.pushed("refs/notes/tdd-handoffs") == ""


@pytest.mark.long
def test_tasks_are_listed_and_cleaned_up(stage: ReviewStage, server: GitHubServer) -> None:
    assert stage.tdd("SPEC.md", "--no-cleanup").code == 0
    task = stage.task
    assert (stage.worktrees / task / "calc.py").exists()
    (shown,) = stage.tdd("--list", "--json").json
    assert shown == stage.states()[task]
    assert task in stage.tdd("--list").out

    prs = stage.tdd("--prs", f"tdd/{task}", "--json").json
    assert prs == [
        {
            "number": 1,
            "title": "Add a calculator",
            "url": server.pulls[0]["html_url"],
            "state": "open",
            "headBranch": f"tdd/{task}",
            "baseBranch": "main",
        },
    ]

    (stage.worktrees / task / "mine.txt").write_text("not committed\n")
    server.close(1)
    cleaned = stage.tdd("--clean", task)
    assert cleaned.code == 0, cleaned
    assert not stage.worktrees.exists()
    assert stage.states() == {}
    assert not (stage.repo.path / ".codex").exists()
    assert stage.branches() == ["main"]
    assert stage.repo.git("log", "-1", "--format=%s", f"refs/tdd/kept/{task}") == "review: round 2"
    (left,) = [ref for ref in stage.kept() if "found-when-cleaning-up" in ref]
    assert stage.repo.git("show", f"{left}:mine.txt") == "not committed"
    for _ in range(2):  # what is kept does not bring it back
        assert stage.tdd("--list", "--json").json == []
        assert not (stage.repo.path / ".codex").exists()
        assert stage.tdd("--clean", task, "--json").code == 0
    resumed = stage.tdd("--resume", task, "--json")
    assert (resumed.code, resumed.json["errorDetails"]["type"]) == (3, "TaskNotFound"), resumed
    assert f"refs/tdd/kept/{task}" in resumed.json["hint"]
    assert stage.tdd("--list").out == "no tasks here; 'rgr tdd SPEC.md' starts one\n"
    assert stage.tdd("--prs", "main").out == "main has no pull request\n"


@pytest.mark.slow
def test_a_state_file_that_is_lost_or_broken_is_made_again_from_the_notes(stage: ReviewStage) -> None:
    assert stage.tdd("SPEC.md", "--no-cleanup").code == 0
    task = stage.task
    file = stage.repo.path / ".codex" / f"task-{task}.json"
    before = stage.states()[task]
    for broken in (None, "{", '{"taskId": 7}', "[]"):
        file.unlink(missing_ok=True)
        if broken is not None:
            file.write_text(broken)
        done = stage.tdd("--list", "--json")
        assert done.code == 0, done
        (state,) = done.json
        forgotten = {"updatedAt", "status", "prUrl"}
        assert {k: v for k, v in state.items() if k not in forgotten} == {
            k: v for k, v in before.items() if k not in forgotten
        }
    more = stage.tdd("--resume", task, "--json")
    assert more.code == 0, more
    assert stage.server
    assert len(stage.server.pulls) == 1


@pytest.mark.parametrize(
    ("args", "code", "kind"),
    [
        (("nowhere.md",), 2, "SpecUnusable"),
        pytest.param((".",), 2, "SpecUnusable", marks=pytest.mark.long),
        pytest.param((), 2, "UsageError", marks=pytest.mark.long),
        (("SPEC.md", "--list"), 2, "UsageError"),
        pytest.param(("SPEC.md", "--base", "nowhere"), 2, "UsageError", marks=pytest.mark.long),
        pytest.param(("SPEC.md", "--branch", "a..b"), 2, "UsageError", marks=pytest.mark.long),
        (("SPEC.md", "--branch", "main"), 3, "BranchExists"),
        (("--resume", "20260101-000000-abcd"), 3, "TaskNotFound"),
        pytest.param(("--resume", "../x"), 2, "UsageError", marks=pytest.mark.long),
        pytest.param(("--clean", "20260101-000000-abcd"), 3, "TaskNotFound", marks=pytest.mark.long),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(
    stage: ReviewStage, args: tuple[str, ...], code: int, kind: str
) -> None:
    done = stage.tdd(*args, "--json")
    assert done.code == code, done
    assert done.json["errorDetails"]["type"] == kind
    assert done.json["hint"]
    assert not (stage.repo.path / ".codex").exists()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{", "StateUnusable"),
        pytest.param("[]", "StateMalformed", marks=pytest.mark.long),
        ('{"taskId": "20260101-000000-abcd"}', "StateMalformed"),
    ],
)
@pytest.mark.long
def test_a_broken_state_file_without_notes_says_what_is_wrong_with_it(
    alone: ReviewStage, text: str, kind: str
) -> None:
    task = "20260101-000000-abcd"
    alone.repo.write(f".codex/task-{task}.json", text)
    done = alone.tdd("--resume", task, "--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, kind), done
    assert f".codex/task-{task}.json" in done.json["hint"]


@pytest.mark.long
def test_places_that_cannot_be_written_are_named_and_nothing_is_left_behind(alone: ReviewStage) -> None:
    (alone.repo.path.parent / "file").write_text("")
    settings = f"{PLAIN_SETTINGS}worktree.dir=../file/x\n"
    alone.repo.commit("chore: settings", {"tdd.properties": settings})
    done = alone.tdd("SPEC.md", "--forge", "none", "--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "WorktreeFailed"), done
    assert (alone.states(), alone.branches()) == ({}, ["main"])
    alone.repo.write(".codex", "a file")
    done = alone.tdd("SPEC.md", "--forge", "none", "--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "StateUnusable"), done
    assert alone.branches() == ["main"]


@pytest.mark.slow
def test_another_run_can_start_where_a_task_began(alone: ReviewStage) -> None:
    alone.play({**alone.parts, "CODE-1": {"exit": 1}})
    assert alone.tdd("SPEC.md", "--forge", "none").code == 1
    alone.repo.path.joinpath("SPEC.md").unlink()
    other = Stage(alone.repo, name="other")
    refused = other.resume()
    assert refused.code == 3, refused
    assert "rgr tdd --resume" in refused.err
    assert other.run("--max-cycles", "1").code == 4


@pytest.mark.long
def test_with_tdd_the_coder_is_a_whole_run_whose_commits_and_notes_stay(
    make_repo: MakeRepo, server: GitHubServer
) -> None:
    stage = ReviewStage(plain_repo(make_repo), server=server)
    stage.play({**calculator(1), "REVIEW-1": stage.parts["REVIEW-2"]})
    done = stage.tdd("SPEC.md", "--tdd", "--json")
    assert done.code == 0, done
    task = stage.task
    found = stage.repo.git("log", "--format=%s", "--reverse", f"main..tdd/{task}").splitlines()
    assert found[:-2] == subjects(1)
    assert found[-1] == "review: round 1"
    assert stage.note(f"tdd/{task}~1")["phase"] == "CODE"
    assert stage.note(f"tdd/{task}~2")["runId"] == f"{task}-code-1"
    (pull,) = server.pulls
    assert f"- [x] {CASES[0]}" in pull["body"]
    assert f"rgr verify origin/main..tdd/{task}" in pull["body"]
    assert stage.turns[-1] == "REVIEW-1-1"


@pytest.mark.slow
def test_an_inner_run_that_fails_is_a_failed_coder_and_goes_on_when_resumed(alone: ReviewStage) -> None:
    alone.repo.commit("chore: no retries", {"tdd.properties": f"{PLAIN_SETTINGS}max.retries=0\n"})
    good = calculator(1)
    alone.play({**good, "GREEN-1": {"exit": 1}, "REVIEW-1": alone.parts["REVIEW-2"]})
    done = alone.tdd("SPEC.md", "--tdd", "--forge", "none", "--json")
    assert done.code == 1, done
    assert "failed" in done.json["error"]
    alone.play({**good, "REVIEW-1": said(APPROVE)})
    more = alone.tdd("--resume", alone.task, "--json")
    assert more.code == 0, more
    assert [turn for turn in alone.turns if turn.startswith("RED")] == ["RED-1-1"]


@pytest.mark.slow
def test_two_tasks_at_the_same_time_do_not_disturb_each_other(
    stage: ReviewStage, server: GitHubServer
) -> None:
    shown: list[str] = []
    server.seen = lambda _asked: shown.extend(command_lines())
    with (
        stage.started("tdd", "SPEC.md", "--json", "--agent", stage.agent) as one,
        stage.started("tdd", "SPEC.md", "--json", "--agent", stage.agent) as two,
    ):
        ends = [process.communicate(timeout=240) for process in (one, two)]
    assert (one.returncode, two.returncode) == (0, 0), ends
    assert len(server.pulls) == 2
    tasks = sorted(stage.states())
    assert sorted(pull["head"]["ref"] for pull in server.pulls) == [f"tdd/{task}" for task in tasks]
    for task in tasks:
        found = stage.repo.git("log", "--format=%s", f"main..tdd/{task}").splitlines()
        assert len(found) == 4
        assert stage.states()[task]["status"] == "completed"
    assert not any("HistoryRewritten" in out + err for out, err in ends)
    assert shown
    assert not any(TOKEN in line for line in shown)


@pytest.mark.long
def test_a_run_takes_its_feature_from_an_issue(stage: ReviewStage, server: GitHubServer) -> None:
    server.issues = {7: {"title": "A calculator", "body": "It adds."}}
    (stage.repo.path / "SPEC.md").unlink()
    failing = {"TDD_MAX_RETRIES": "0", "TDD_AGENT": "command:false"}

    twice = stage.rgr("run", "A calculator", "--issue", "7", env=failing)
    missing = stage.rgr("run", "--issue", "8", env=failing)
    nobody = stage.rgr("run", "--issue", "7", env={**failing, "GITHUB_TOKEN": ""})
    done = stage.rgr("run", "--issue", "7", "--json", env=failing)

    assert (twice.code, "The feature was given twice" in twice.err) == (2, True), twice
    assert (missing.code, "there is no issue 8 in acme/calc" in missing.err) == (3, True), missing
    assert (nobody.code, "or copy the issue into a file" in nobody.err) == (3, True), nobody
    assert "--forge" not in nobody.err
    assert (done.code, done.json["feature"]) == (1, "A calculator\n\nIt adds."), done
