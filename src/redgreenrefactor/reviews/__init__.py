"""From a specification to a reviewed pull request: tasks are started, resumed, listed and cleaned up here."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.errors import InterruptedRunError, NotReadyError, RgrError, UsageError
from redgreenrefactor.filesystem import remove
from redgreenrefactor.forge.address import WITHOUT_FORGE
from redgreenrefactor.forge.github import GitHub
from redgreenrefactor.git import lock
from redgreenrefactor.git.refs import KEPT
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.git.worktrees import drop_branch, is_made, make, unmake, worktrees
from redgreenrefactor.goals.text_file import Spec
from redgreenrefactor.lifecycle.factory import new_run_id, now
from redgreenrefactor.model.handoff import WorktreeInfo
from redgreenrefactor.model.result import RunStatus, WorkflowResult
from redgreenrefactor.model.review_task import PullRequest, TaskResult, TaskState, TaskStatus
from redgreenrefactor.model.values import frozen
from redgreenrefactor.reviews.home import Home, home_of
from redgreenrefactor.reviews.review_job import work_at
from redgreenrefactor.surroundings import Surroundings

IGNORED = (".codex/", ".workflow/")
REVIEWS = 3


@frozen
class ReviewOptions:
    """What one invocation was asked for beside the specification; None: as the task has it, or the usual."""

    max_reviews: int | None = None
    branch: str | None = None
    base: str | None = None
    cleanup: bool = True
    forge: str | None = None
    tdd: bool = False


def start(spec: Spec, around: Surroundings, options: ReviewOptions) -> TaskResult:
    """Take a specification to a reviewed pull request; what cannot start leaves nothing behind."""
    with home_of(around) as home:
        kind = options.forge or "github"
        forge = home.forge(kind)
        if options.base is None:
            home.make_first_commit()
        base = home.base(options.base, published=forge is not None)
        task_id = new_run_id()
        branch = options.branch or f"tdd/{task_id}"
        home.require_free(branch)
        if forge:
            _require_way_out(home, forge, branch, base.commit)
        state = TaskState(
            task_id=task_id,
            spec_path=_relative(spec.path, home.root),
            original_spec=spec.text,
            max_iterations=options.max_reviews or REVIEWS,
            branch_name=branch,
            worktree=WorktreeInfo(str(home.folder(task_id)), branch, base.name),
            created_at=now(),
            updated_at=now(),
            forge=kind,
            tdd=options.tdd,
        )
        home.repository.exclude(*IGNORED)
        home.files.write(state)
        with _undone_unless_begun(home, state):
            make(home.repository, Path(state.worktree.path), branch, base.commit)
            return _worked(home, state, forge, options)


def resume(task_id: str, around: Surroundings, options: ReviewOptions) -> TaskResult:
    """Go on with a task wherever it was left; one that is complete is only told about."""
    with home_of(around) as home:
        state = home.find_or_restore(task_id)
        state = replace(
            state,
            max_iterations=options.max_reviews or state.max_iterations,
            forge=options.forge or state.forge,
        )
        if state.status is TaskStatus.COMPLETED:
            return _tidied(home, state, _completed(home, state), options, home_open=_is_open(home, state))
        forge = home.forge(state.forge)
        tip = home.tip(state.task_id, state.branch_name)
        if forge and tip:
            _require_way_out(home, forge, state.branch_name, tip)
        home.repository.exclude(*IGNORED)
        with _going_on(state.task_id):
            return _worked(home, _remade(home, state), forge, options)


def listed(around: Surroundings) -> list[TaskState]:
    """Return every task of the repository, the oldest first."""
    with home_of(around) as home:
        return list(home.known())


def clean(task_id: str, around: Surroundings) -> tuple[str, ...]:
    """Take worktree, branch and state file of a task away; return what a person should know about it."""
    with home_of(around) as home:
        if home.files.is_free(task_id) and home.is_cleaned(task_id):
            return ()
        state = home.find_or_restore(task_id)
        require_idle(home, state)
        stays = _is_open(home, state)
        home.mark_cleaned(state)  # first, for a branch that was merged leaves nothing to find the notes by
        notices = cleaned(home, state, stays=stays).notices
        home.files.remove(task_id)
        return (
            (*notices, f"the branch {state.branch_name} stays, for its pull request is open")
            if stays
            else notices
        )


def pull_requests(branch: str, around: Surroundings) -> tuple[PullRequest, ...]:
    """Return every pull request of a branch, newest first."""
    with home_of(around) as home:
        return home.github().list(branch)


def issue_text(number: int, around: Surroundings) -> str:
    """Return what an issue on the forge asks for."""
    try:
        with home_of(around) as home:
            return home.github().issue(number)
    except RgrError as error:  # its hint is for whoever wants a pull request
        error.hint = error.hint.replace(WITHOUT_FORGE, "copy the issue into a file for 'rgr run --file FILE'")
        raise


# --- inside


def _worked(home: Home, state: TaskState, forge: GitHub | None, options: ReviewOptions) -> TaskResult:
    """Work at the task until it is over or has to wait."""
    ended = work_at(home, state, forge)
    state = home.find_or_restore(state.task_id)
    result = _result(home, state, ended)
    over = ended.status in (RunStatus.COMPLETE, RunStatus.FAILED)
    return _tidied(home, state, result, options, home_open=state.pr_url is not None) if over else result


def _tidied(
    home: Home, state: TaskState, result: TaskResult, options: ReviewOptions, *, home_open: bool
) -> TaskResult:
    """Take away what a task that is over needs no more, unless that was not wished for."""
    if not options.cleanup:
        return result
    done = cleaned(home, state, stays=home_open or state.forge == "none")  # there the branch is the result
    return replace(result, notices=done.notices, kept_ref=done.kept_ref)


def _require_way_out(home: Home, forge: GitHub, branch: str, commit: str) -> None:
    """Refuse to begin what could not be published: the token is accepted, and the remote lets us write."""
    forge.find(branch)
    with home.origin(forge) as remote:
        remote.require_writable(branch, commit)


def _result(home: Home, state: TaskState, ended: WorkflowResult) -> TaskResult:
    if ended.status is RunStatus.COMPLETE:
        return _completed(home, state)
    error = ended.error or str(ended.status)
    return TaskResult(
        success=False,
        task_id=state.task_id,
        iterations=state.current_iteration,
        error=error,
        status=ended.status,
        type=ended.error_details.type if ended.error_details else "",
        branch=state.branch_name,
    )


def _completed(home: Home, state: TaskState) -> TaskResult:
    last = home.history(state)[:1]
    return TaskResult(
        success=True,
        task_id=state.task_id,
        iterations=state.current_iteration,
        pr_url=state.pr_url,
        branch=state.branch_name,
        approved=not any(entry.handoff.reached for entry in last),
    )


def _remade(home: Home, state: TaskState) -> TaskState:
    """Make worktree and branch again where they are gone, or were never made whole; return the state with their place.

    That is where git knows the worktree to be, or where we would make one: file and notes may name any place.
    """
    folder = Path(state.worktree.path)
    if is_made(home.repository, folder):
        return state
    if all(tree.path != folder.resolve() for tree in worktrees(home.repository)[1:]):
        folder = home.folder(state.task_id)
    unmake(home.repository, folder)
    tip = home.tip(state.task_id, state.branch_name)
    start = tip or home.base(state.worktree.base_branch, published=False).commit
    make(home.repository, folder, state.branch_name, start)
    return replace(state, worktree=replace(state.worktree, path=str(folder)))


def _is_open(home: Home, state: TaskState) -> bool:
    """Tell whether the task's pull request is open, as far as that can be known."""
    if state.forge == "none" or state.pr_url is None:
        return False
    try:
        forge = home.forge(state.forge)
        return forge is not None and forge.find(state.branch_name) is not None
    except RgrError:
        return True  # not known: then the branch stays


@contextmanager
def _undone_unless_begun(home: Home, state: TaskState) -> Generator[None]:
    """Leave nothing behind of a task that could not begin."""
    try:
        yield
    except RgrError as error:
        if not home.history(state):
            drop_branch(home.repository, state.branch_name, state.task_id)
            unmake(home.repository, Path(state.worktree.path))
            home.files.remove(state.task_id)
            if isinstance(error, InterruptedRunError):
                error.hint = "Nothing was begun yet: type 'rgr tdd SPEC.md' again."
        else:
            _tell_how(state.task_id, error)
        raise


@contextmanager
def _going_on(task_id: str) -> Generator[None]:
    """Say which command goes on where the task was stopped, whatever stopped it."""
    try:
        yield
    except RgrError as error:
        _tell_how(task_id, error)
        raise


def _tell_how(task_id: str, error: RgrError) -> None:
    how = f"'rgr tdd --resume {task_id}' goes on with the task."
    if isinstance(error, InterruptedRunError):
        error.hint = how
    elif not isinstance(error, UsageError):
        error.hint = f"{error.hint} {how}".strip()


def _relative(path: Path, root: Path) -> str:
    resolved = path.resolve()
    return (
        str(resolved.relative_to(root.resolve()))
        if resolved.is_relative_to(root.resolve())
        else str(resolved)
    )


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
