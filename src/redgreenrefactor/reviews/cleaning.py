"""Taking a task's worktree and branch away, however much of them is there, without losing anything."""

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from redgreenrefactor.errors import NotReadyError, RgrError
from redgreenrefactor.filesystem import remove
from redgreenrefactor.git import lock
from redgreenrefactor.git.refs import KEPT
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.git.worktrees import drop_branch, is_made, unmake, worktrees
from redgreenrefactor.model.review_task import TaskState
from redgreenrefactor.model.values import frozen
from redgreenrefactor.reviews.home import Home


@frozen
class Cleaned:
    """What became of a task's worktree and branch."""

    notices: tuple[str, ...] = ()  # what a person should know
    kept_ref: str | None = None  # where the branch's work is, if that is the only place


def cleaned(home: Home, state: TaskState, *, stays: bool) -> Cleaned:
    """Take the worktree away, and the branch unless it stays."""
    folder = Path(state.worktree.path)
    told = [*_leftovers(home, state, folder)]
    # The branch goes first, while a checkout has it in use: sessions of other tasks take no notice of it then.
    branch = _branch(home, state, folder, stays=stays)
    unmake(home.repository, folder)
    told += branch.notices
    if folder.exists():
        told.append(f"{folder} is no worktree of this repository any more, and was left as it is")
    return Cleaned(tuple(told), branch.kept_ref)


def require_idle(home: Home, state: TaskState) -> None:
    """Refuse to touch a task that somebody is working at."""
    folder = Path(state.worktree.path)
    if not is_made(home.repository, folder):
        return
    repository = open_repository(folder, home.around.environ)
    if lock.is_held(repository.git_dir / lock.NAME):
        raise NotReadyError(
            f"the task {state.task_id} is being worked at",
            hint="Wait for it, or stop it, then try again.",
            type="Locked",
        )


def _leftovers(home: Home, state: TaskState, folder: Path) -> Iterator[str]:
    """Keep what lies in the worktree uncommitted, and take away what was kept for its tests."""
    if not is_made(home.repository, folder):
        return
    try:
        repository = open_repository(folder, home.around.environ)
    except RgrError:
        return
    with closing(repository):
        workspace = GitWorkspace(repository)
        kept = workspace.keep(state.run_id, workspace.head(), "found when cleaning up")
        if kept:
            yield f"uncommitted work in {folder} is kept at {kept}"
    with suppress(OSError):
        remove(repository.cache)


def _branch(home: Home, state: TaskState, folder: Path, *, stays: bool) -> Cleaned:
    branch, before = state.branch_name, f"{KEPT}{state.task_id}"
    if stays or home.repository.objects.resolve(f"refs/heads/{branch}") is None:
        return Cleaned(kept_ref=before if home.repository.objects.resolve(before) and not stays else None)
    elsewhere = [tree.path for tree in worktrees(home.repository) if tree.branch == f"refs/heads/{branch}"]
    if any(path != folder.resolve() for path in elsewhere):
        return Cleaned((f"the branch {branch} is checked out elsewhere, and stays",))
    kept = drop_branch(home.repository, branch, state.task_id)
    return Cleaned((f"the work on {branch}, merged nowhere, is kept at {kept}",) if kept else (), kept)
