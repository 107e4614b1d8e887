"""Runs that only began here: their opening lies in the history of several checkouts, and they go on in one."""

from contextlib import suppress
from pathlib import Path

from redgreenrefactor.git import lock
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.git.worktrees import git_dir_of, worktrees
from redgreenrefactor.model.chain import of_run
from redgreenrefactor.model.result import Entry


def goes_on_in(repository: Repository, ledger: GitLedger, entry: Entry) -> Path | None:
    """Return the other checkout that has later handoffs of a run which began here, or is at work on its first."""
    if entry.handoff.cycle_number or entry.handoff.carried_from is not None:
        return None
    here = repository.root.resolve()
    others = (tree for tree in worktrees(repository) if tree.branch and tree.path.resolve() != here)
    for tree in others:
        tip = repository.objects.resolve(tree.branch or "")
        if tip == entry.commit:
            going_on = _is_worked_at(tree.path)
        else:
            noted = ledger.read(tip) if tip else None
            going_on = noted is not None and of_run(noted, entry.handoff.run_id) is not None
        if going_on and tree.path.is_dir():
            return tree.path
    return None


def _is_worked_at(folder: Path) -> bool:
    own = folder / ".git"
    with suppress(OSError):
        return lock.is_held((own if own.is_dir() else git_dir_of(folder)) / lock.NAME)
    return False
