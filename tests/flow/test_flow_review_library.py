"""Tasks through functions: the same work as the command's, typed results, errors as exceptions."""

from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
import stage as stages
from review_stage import APPROVE, FEEDBACK, ReviewStage, coded, plain_repo, said, two_rounds

import redgreenrefactor as rgr
from github_server import TOKEN, GitHubServer, github
from redgreenrefactor.model.events import Event, Judged
from repos import MakeRepo


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with github() as serving:
        yield serving


@pytest.fixture
def stage(make_repo: MakeRepo, server: GitHubServer) -> ReviewStage:
    found = ReviewStage(plain_repo(make_repo), server=server)
    found.play({"CODE-1": coded(), "REVIEW-1": said(APPROVE)})
    return found


def around(stage: ReviewStage, **more: Any) -> dict[str, Any]:
    """Return what every call is given."""
    environ = {**stages.surroundings(stage.repo), **stage.env}
    return {"project": stage.repo.path, "agent": stage.agent, "environ": environ, **more}


@pytest.mark.long
def test_a_specification_becomes_a_pull_request(stage: ReviewStage, server: GitHubServer) -> None:
    heard: list[Event] = []
    result = rgr.tdd(
        stage.repo.path / "SPEC.md", **around(stage, on_event=heard.append, branch="feature/calc")
    )
    assert isinstance(result, rgr.TaskResult)
    assert (result.success, result.iterations, result.error) == (True, 1, None)
    assert result.pr_url == server.pulls[0]["html_url"]
    assert result.task_id == stage.task
    assert (result.status, result.branch) == (rgr.RunStatus.COMPLETE, "feature/calc")
    assert [event.phase for event in heard if isinstance(event, Judged)] == ["CODE", "REVIEW"]
    assert TOKEN not in repr(heard) + repr(result)
    with pytest.raises(FrozenInstanceError):
        result.success = False  # type: ignore[misc]

    again = rgr.resume_task(result.task_id, **around(stage))
    assert (again.success, again.pr_url, again.iterations) == (True, result.pr_url, 1)
    assert len(server.pulls) == 1
    assert len(stage.sessions) == 2

    where: Any = {"project": stage.repo.path, "environ": around(stage)["environ"]}
    (listed,) = rgr.list_tasks(**where)
    assert (listed.task_id, listed.status) == (result.task_id, rgr.TaskStatus.COMPLETED)
    (pull,) = rgr.pull_requests("feature/calc", **where)
    assert (pull.url, pull.state) == (result.pr_url, rgr.PullRequestState.OPEN)
    health = rgr.preflight(**where, agent=stage.agent)
    assert health.ok, health
    (stays,) = rgr.clean_task(result.task_id, **where)
    assert stays == "the branch feature/calc stays, for its pull request is open"
    assert rgr.list_tasks(**where) == []
    with pytest.raises(rgr.NotReadyError, match="was cleaned up"):
        rgr.resume_task(result.task_id, **around(stage))


@pytest.mark.long
def test_a_task_that_fails_is_a_result_and_goes_on_with_more_reviews(
    stage: ReviewStage, server: GitHubServer
) -> None:
    stage.play(two_rounds())
    result = rgr.tdd(str(stage.repo.path / "SPEC.md"), **around(stage, max_reviews=1))
    assert (result.success, result.status, result.iterations) == (False, rgr.RunStatus.FAILED, 1)
    assert result.error
    assert "used up" in result.error
    assert result.pr_url is None
    assert any("refs/tdd/kept/" in notice for notice in result.notices)
    more = rgr.resume_task(result.task_id, **around(stage, max_reviews=2))
    assert (more.success, more.iterations) == (True, 2)
    assert len(server.pulls) == 1


@pytest.mark.long
def test_a_whole_run_may_be_the_coder(stage: ReviewStage) -> None:
    stage.play({**stages.calculator(1), "REVIEW-1": said(APPROVE)})
    spec = stage.repo.path / "SPEC.md"
    result = rgr.tdd(spec, **around(stage, tdd=True, forge="none", cleanup=False))
    assert (result.success, result.pr_url, result.iterations) == (True, None, 1)
    assert (stage.worktrees / result.task_id / "calc.py").exists()


def test_what_cannot_start_is_an_exception(stage: ReviewStage, server: GitHubServer) -> None:
    spec = stage.repo.path / "SPEC.md"
    with pytest.raises(rgr.UsageError, match="There is no specification"):
        rgr.tdd(stage.repo.path / "nowhere.md", **around(stage))
    with pytest.raises(rgr.UsageError, match="max_reviews is 0"):
        rgr.tdd(spec, **around(stage, max_reviews=0))
    with pytest.raises(rgr.NotReadyError, match="there is no task") as missing:
        rgr.resume_task("20260101-000000-abcd", **around(stage))
    assert (missing.value.type, missing.value.exit_code) == ("TaskNotFound", 3)
    server.token = "another"
    with pytest.raises(rgr.ForgeError) as refused:
        rgr.tdd(spec, **around(stage))
    assert (refused.value.type, refused.value.exit_code) == ("GitHubAuth", 3)
    assert refused.value.hint
    assert stage.states() == {}


@pytest.mark.long
def test_an_exception_of_a_listener_leaves_a_task_that_goes_on(stage: ReviewStage) -> None:
    class EnoughError(Exception):
        pass

    def stop(event: Event) -> None:
        if isinstance(event, Judged) and event.phase == "CODE":
            raise EnoughError

    stage.play({"CODE-1": coded(), "REVIEW-1": said(FEEDBACK), "CODE-2": coded(), "REVIEW-2": said(APPROVE)})
    with pytest.raises(EnoughError):
        rgr.tdd(stage.repo.path / "SPEC.md", **around(stage, on_event=stop, forge="none"))
    stage.play({"REVIEW-1": said(APPROVE)})
    result = rgr.resume_task(stage.task, **around(stage))
    assert result.success
    assert stage.turns == ["CODE-1-1", "REVIEW-1-1"]
