"""Killed at any step, a task that is resumed comes to the same end, with one pull request."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from review_stage import ReviewStage, plain_repo
from stage import Parts, calculator, subjects

from github_server import Asked, GitHubServer, github
from repos import MakeRepo

pytestmark = pytest.mark.slow

SUBJECTS = ["feat: a calculator", "review: round 1", "feat: a calculator", "review: round 2"]
TURNS = ("CODE-1", "REVIEW-1", "CODE-2", "REVIEW-2")
REQUESTS = range(
    1, 6
)  # the token is tried, a pull request is looked for after each feedback and before pushing, opened


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with github() as serving:
        yield serving


@pytest.fixture
def stage(make_repo: MakeRepo, server: GitHubServer) -> ReviewStage:
    return ReviewStage(plain_repo(make_repo), server=server)


def came_to_the_same_end(
    stage: ReviewStage, server: GitHubServer, ends: list[str] = SUBJECTS, *flags: str
) -> None:
    """Resume, or start again where nothing was begun, and compare."""
    states = stage.states()
    args = ("--resume", next(iter(states))) if states else ("SPEC.md", *flags)
    done = stage.tdd(*args, "--json")
    assert done.code == 0, done
    task = stage.task
    assert len(server.pulls) == 1
    assert done.json["prUrl"] == server.pulls[0]["html_url"]
    assert stage.repo.git("log", "--format=%s", "--reverse", f"main..tdd/{task}").splitlines() == ends
    assert stage.pushed(f"refs/heads/tdd/{task}") == stage.repo.git("rev-parse", f"tdd/{task}")
    assert stage.states()[task]["status"] == "completed"
    assert len(stage.states()[task]["coderResponses"]) == (1 if flags else 2)
    assert not stage.worktrees.exists()


def killed_in(stage: ReviewStage, turn: str, *flags: str) -> None:
    """Start a task, and kill the program while the session of this turn works."""
    whole: Parts = dict(stage.parts)
    pid_file = stage.repo.path.parent / "pid"
    deadly = f"until [ -s {pid_file} ]; do sleep 0.01; done; kill -9 $(cat {pid_file}); sleep 60"
    stage.play({**whole, turn: {**whole[turn], "run": [deadly]}})
    with stage.started("tdd", "SPEC.md", *flags, "--agent", stage.agent) as process:
        pid_file.write_text(str(process.pid))
        process.wait(timeout=120)
    assert process.returncode == -signal.SIGKILL
    stage.play(whole)


@pytest.mark.parametrize("turn", TURNS)
def test_killed_while_a_session_works(stage: ReviewStage, server: GitHubServer, turn: str) -> None:
    killed_in(stage, turn)
    came_to_the_same_end(stage, server)


@pytest.mark.parametrize("turn", ["PLAN-1", "RED-1", "GREEN-1", "REFACTOR-1", "PLAN-2", "REVIEW-1"])
def test_killed_while_a_session_of_an_inner_run_works(
    stage: ReviewStage, server: GitHubServer, turn: str
) -> None:
    stage.play({**calculator(1), "REVIEW-1": stage.parts["REVIEW-2"]})
    killed_in(stage, turn, "--tdd")
    ends = [*subjects(1), "feat: Calculator", "review: round 1"]
    came_to_the_same_end(stage, server, ends, "--tdd")
    assert [note["verdict"] for note in (stage.note(f"tdd/{stage.task}"),)] == ["approve"]


@pytest.mark.parametrize("step", range(12))
def test_killed_whenever(stage: ReviewStage, server: GitHubServer, step: int) -> None:
    """Wherever that is: worktrees are made, suites run, notes and refs written, things taken away."""
    with stage.started("tdd", "SPEC.md", "--agent", stage.agent) as process:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.25 + step * 0.22)
        process.kill()
        process.wait(timeout=120)
    if process.returncode == 0:
        return
    came_to_the_same_end(stage, server)


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize("number", REQUESTS)
def test_killed_while_github_is_asked(
    stage: ReviewStage, server: GitHubServer, number: int, answered: bool
) -> None:
    started = threading.Event()
    pids: list[int] = []

    def seen(_asked: Asked) -> None:
        if len(server.asked) == number:
            started.wait(60)
            if answered:  # what was asked for is done, nobody hears of it
                server.answer(_asked)
            with suppress(ProcessLookupError):
                os.kill(pids[0], signal.SIGKILL)
            server.next = ["drop"]

    server.seen = seen
    with stage.started("tdd", "SPEC.md", "--agent", stage.agent) as process:
        pids.append(process.pid)
        started.set()
        process.wait(timeout=120)
    server.seen, server.next = None, []
    if process.returncode == 0:
        assert len(server.asked) < number
        return
    assert process.returncode == -signal.SIGKILL
    came_to_the_same_end(stage, server)
