"""What goes on in a checkout, as git tells it."""

from redgreenrefactor import looking
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.review_task import run_id_of
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.repository.ledger import GitLedger
from redgreenrefactor.repository.repository import open_repository
from repos import Repo

TASK = Handoff(PhaseName.CODE, PhaseName.CODE, run_id=run_id_of("task-1"), feature="a task")
OWN = Handoff(PhaseName.PLAN, PhaseName.RED, run_id="run-1", feature="a run", cycle_number=1)


def noted(repo: Repo, *handoffs: Handoff) -> None:
    """Put these handoffs on the newest commit, one after the other."""
    repository = open_repository(repo.path, repo.env)
    for handoff in handoffs:
        GitLedger(repository.git, repository.objects).write({repo.git("rev-parse", "HEAD"): handoff})
    repository.close()


def seen(repo: Repo) -> str | None:
    entry = looking.status(repo.path, repo.env)
    return entry and entry.handoff.run_id


def test_a_task_that_began_here_and_goes_on_elsewhere_is_not_what_is_due_here(repo: Repo) -> None:
    noted(repo, TASK)
    assert seen(repo) is None
    repo.commit("plan: x", {"a": "1"})
    noted(repo, OWN, TASK)
    assert seen(repo) == "run-1"


def test_in_its_own_worktree_a_task_is_what_is_due(repo: Repo) -> None:
    noted(repo, TASK)
    repo.commit("feat: x", {"a": "1"})
    noted(repo, Handoff(PhaseName.CODE, PhaseName.REVIEW, run_id=run_id_of("task-1"), cycle_number=1))
    assert seen(repo) == run_id_of("task-1")
