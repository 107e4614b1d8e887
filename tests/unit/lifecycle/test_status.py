"""What goes on in a checkout, as git tells it."""

from dataclasses import replace

from redgreenrefactor.git import lock
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.lifecycle import status
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.decision import Turn, attempted, rejected, with_uncommitted
from redgreenrefactor.model.goal import Plan
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.review_task import run_id_of
from redgreenrefactor.model.verdict import Finding, FindingType, rule
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.text import history_text
from repos import Repo

TASK = Handoff(PhaseName.CODE, PhaseName.CODE, run_id=run_id_of("task-1"), feature="a task")
OWN = Handoff(PhaseName.PLAN, PhaseName.RED, run_id="run-1", feature="a run", cycle_number=1)


def noted(repo: Repo, *handoffs: Handoff) -> None:
    """Put these handoffs on the newest commit, one after the other."""
    repository = open_repository(repo.path, repo.env)
    for handoff in handoffs:
        GitLedger(repository).write({repo.git("rev-parse", "HEAD"): handoff})
    repository.close()


def seen(repo: Repo) -> str | None:
    entry = status.status(repo.path, repo.env)
    return entry and entry.handoff.run_id


def test_a_task_that_began_here_and_goes_on_elsewhere_is_not_what_is_due_here(repo: Repo) -> None:
    noted(repo, TASK)
    assert seen(repo) is None
    repo.commit("plan: x", {"a": "1"})
    noted(repo, OWN, TASK)
    assert seen(repo) == "run-1"


def test_a_run_that_goes_on_in_another_checkout_is_not_what_is_due_here(repo: Repo) -> None:
    opening = replace(OWN, next_phase=PhaseName.PLAN, cycle_number=0)
    noted(repo, replace(OWN, run_id="run-0", next_phase=PhaseName.COMPLETE), opening)
    folder = repo.path.parent / "beside"
    repo.git("worktree", "add", "-q", "-b", "tdd/x", str(folder))
    assert seen(repo) == "run-1"  # nothing is there yet that it could go on from
    beside = Repo(folder, repo.env)
    with lock.held(folder / beside.git("rev-parse", "--git-dir") / lock.NAME):
        assert seen(repo) == "run-0"
    beside.commit("plan: x", {"a": "1"})
    assert seen(repo) == "run-1"
    noted(beside, OWN)
    assert (seen(repo), seen(beside)) == ("run-0", "run-1")


def test_a_run_that_ended_in_its_first_plan_is_that_of_the_branch_it_began_on(repo: Repo) -> None:
    folder = repo.path.parent / "beside"
    repo.git("worktree", "add", "-q", "-b", "tdd/x", str(folder))
    beside = Repo(folder, repo.env)
    opening = replace(OWN, next_phase=PhaseName.PLAN, cycle_number=0)
    noted(repo, replace(opening, run_id="run-0", branch="refs/heads/main"))
    assert (seen(repo), seen(beside)) == ("run-0", None)
    noted(repo, replace(opening, branch="refs/heads/tdd/x"))
    assert (seen(repo), seen(beside)) == ("run-0", "run-1")
    for place, run_id in ((repo, "run-0"), (beside, "run-1")):
        for told in (status.history, status.history_with_attempts):
            assert {entry.handoff.run_id for entry in told(place.path, place.env)} == {run_id}


def test_in_its_own_worktree_a_task_is_what_is_due(repo: Repo) -> None:
    noted(repo, TASK)
    repo.commit("feat: x", {"a": "1"})
    noted(repo, Handoff(PhaseName.CODE, PhaseName.REVIEW, run_id=run_id_of("task-1"), cycle_number=1))
    assert seen(repo) == run_id_of("task-1")


def test_attempts_stand_in_time_order_those_without_a_commit_too(repo: Repo) -> None:
    red = replace(OWN, phase=PhaseName.RED, next_phase=PhaseName.GREEN, timestamp="2026-01-01T10:00:00Z")
    noted(repo, replace(red, cycle_number=0, phase=PhaseName.PLAN, next_phase=PhaseName.PLAN))
    base = repo.commit("test: x", {"a": "1"})
    turns = [Turn(TDD.phase(PhaseName.GREEN), 1, n, Plan(), f"2026-01-01T10:0{n}:00Z") for n in (1, 2, 3)]
    failed = rule(Finding(FindingType.AGENT_FAILURE, "no"))
    commit = repo.commit("feat: x", {"a": "2"})
    repo.git("update-ref", "refs/tdd/attempts/run-1/1-GREEN-2", commit)
    noted(repo, attempted(red, turns[1], failed))
    repo.git("reset", "-q", "--hard", base)
    for turn in turns:
        red = rejected(red, turn, failed, retries=3)
        red = red if turn.attempt == 2 else with_uncommitted(red, turn)
    noted(repo, red)
    told = list(status.history_with_attempts(repo.path, repo.env))
    assert [(entry.handoff.attempts, entry.commit) for entry in told[:3]] == [(3, ""), (2, commit), (1, "")]
    shown = "\n".join(history_text(told, width=80))
    assert [line[-6:] for line in shown.splitlines() if line.endswith("Z")][:4] == [
        "10:03Z",
        "10:02Z",
        "10:01Z",
        "10:00Z",
    ]


def test_who_is_at_work_in_a_checkout_can_be_told(repo: Repo) -> None:
    assert status.standing(repo.path, repo.env)[1] is None
    with lock.held(repo.path / ".git" / lock.NAME):
        assert status.standing(repo.path, repo.env)[1] is not None
