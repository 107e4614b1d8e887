"""An approved task becomes a pull request: one, whatever happened on the way."""

from contextlib import nullcontext

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.forge.github import GitHub
from redgreenrefactor.git import transfer
from redgreenrefactor.model.events import Warned
from redgreenrefactor.model.facts import NO_FACTS
from redgreenrefactor.model.goal import title_of
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.pull_request import Draft, PullRequest
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.review_task import TaskState, inner_run_id
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.reviews.home import Home
from redgreenrefactor.views.pull_request_body import PullRequestMatter, body


def published(home: Home, state: TaskState, forge: GitHub) -> PullRequest:
    """Push the branch and its handoffs, and return the pull request that stands for it afterwards."""
    history = home.history(state)
    standing = forge.find(state.branch_name)
    carried = _push(home, state, forge)
    draft = _draft(home, state, history, checkable=carried)
    if standing is None:
        return forge.create(draft)
    opened_by_reviewer = _approval(history) is None
    return standing if opened_by_reviewer else forge.update(standing.number, draft.title, draft.body)


def _push(home: Home, state: TaskState, forge: GitHub) -> bool:
    """Bring branch, notes and refs to origin, no upstream is set; tell whether it has taken more than the branch."""
    with home.origin(forge) as remote:
        try:
            transfer.push(remote.repository, remote, state.branch_name, nullcontext)
        except NotReadyError as error:
            transfer.push_branch(remote.repository, remote, state.branch_name)
            why = f"the branch is pushed, but not all of its handoffs: {error.message}"
            home.around.emit(
                Warned(f"{why}. 'rgr push' tries again; only with them 'rgr verify' works elsewhere")
            )
            return False
    return True


def _draft(home: Home, state: TaskState, history: list[Entry], *, checkable: bool) -> Draft:
    approval = _approval(history)
    words = approval.facts if approval else NO_FACTS
    tip = home.tip(state.task_id, state.branch_name)
    inner = [
        entry.handoff
        for number in range(1, state.current_iteration + 1)
        if state.tdd
        for entry in reversed(list(home.ledger.history(inner_run_id(state.task_id, number), tip or "HEAD")))
    ]
    told = PullRequestMatter(
        task_id=state.task_id,
        words=words.body or "",
        base=state.worktree.base_branch,
        branch=state.branch_name,
        history=history,
        inner=inner,
        checkable=checkable,
    )
    title = words.title or title_of(state.original_spec) or state.branch_name
    return Draft(title, body(told), state.branch_name, state.worktree.base_branch)


def _approval(history: list[Entry]) -> Handoff | None:
    return next(
        (
            entry.handoff
            for entry in history
            if entry.handoff.phase is PhaseName.REVIEW and entry.handoff.facts.verdict == "approve"
        ),
        None,
    )
