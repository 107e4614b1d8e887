"""The commands as functions, for programs: values in, values out, errors as exceptions."""

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from redgreenrefactor import doctor, reviews
from redgreenrefactor.config import Flags
from redgreenrefactor.doctor import Health
from redgreenrefactor.errors import UsageError
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.goals.task_file import read_task
from redgreenrefactor.goals.text_file import read_feature, read_spec
from redgreenrefactor.lifecycle import feature as lifecycle
from redgreenrefactor.lifecycle import status as runs
from redgreenrefactor.lifecycle.feature import RunOptions
from redgreenrefactor.lifecycle.invocation import invocation
from redgreenrefactor.loop.budget import RunLimits
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.events import Emit, unheard
from redgreenrefactor.model.result import Entry, WorkflowResult
from redgreenrefactor.model.review_task import PullRequest, TaskResult, TaskState
from redgreenrefactor.model.session import Role
from redgreenrefactor.model.task_result import TaskFileResult
from redgreenrefactor.model.workflow import RoleName
from redgreenrefactor.prompts import render
from redgreenrefactor.surroundings import Surroundings, settings_of
from redgreenrefactor.tasks.running import TaskOptions, run_task
from redgreenrefactor.threads import in_thread

Folder = str | os.PathLike[str]


class LibraryOptions(TypedDict, total=False):
    """Where and how a function works; whatever is left out is as on the command line."""

    project: Folder  # the folder one is in
    agent: str | None
    model: str | None
    budget_usd: float | None
    environ: Mapping[str, str] | None  # os.environ
    on_event: Emit | None


def run(
    feature: str, *, max_cycles: int | None = None, new: bool = False, **how: Unpack[LibraryOptions]
) -> WorkflowResult:
    """Run the whole workflow for a feature; what cannot start, or cannot go on, is an RgrError.

    A run that failed or stopped at a limit is a result like any other: see its `status`. No signal is
    caught; after a KeyboardInterrupt, or an exception of `on_event`, `resume` goes on.
    """
    start = _start(feature, RunOptions(limits=_limits(max_cycles), new=new))
    with _surroundings(**how) as around:
        return start(around)


async def run_async(
    feature: str, *, max_cycles: int | None = None, new: bool = False, **how: Unpack[LibraryOptions]
) -> WorkflowResult:
    """Do what `run` does in a thread of its own, where `on_event` is called too.

    When it is cancelled the run is interrupted, its work kept, and it is over before this raises.
    """
    start = _start(feature, RunOptions(limits=_limits(max_cycles), new=new))
    with _surroundings(**how) as around:
        return await in_thread(lambda: start(around), around.interrupt, "cancellation")


def resume(*, max_cycles: int | None = None, **how: Unpack[LibraryOptions]) -> WorkflowResult:
    """Go on from the last handoff; the result tells of the whole run. Nothing to resume is a NotReadyError."""
    options = RunOptions(limits=_limits(max_cycles))
    with _surroundings(**how) as around:
        return lifecycle.resume(around, options)


async def resume_async(*, max_cycles: int | None = None, **how: Unpack[LibraryOptions]) -> WorkflowResult:
    """Do what `resume` does in a thread of its own, as `run_async` does for `run`."""
    options = RunOptions(limits=_limits(max_cycles))
    with _surroundings(**how) as around:
        return await in_thread(lambda: lifecycle.resume(around, options), around.interrupt, "cancellation")


def tdd(
    spec: Folder,
    *,
    max_reviews: int = reviews.REVIEWS,
    branch: str | None = None,
    base: str | None = None,
    cleanup: bool = True,
    forge: Literal["github", "none"] = "github",
    tdd: bool = False,
    **how: Unpack[LibraryOptions],
) -> TaskResult:
    """Take a specification file to a reviewed pull request; what cannot start, or cannot go on, is an RgrError.

    A task that failed, stopped at a limit or was interrupted is a result like any other: see `success`.
    """
    if max_reviews < 1:
        raise UsageError(f"max_reviews is {max_reviews}", hint="Give at least 1.")
    read = read_spec(Path(spec))
    options = reviews.ReviewOptions(max_reviews, branch, base, cleanup, forge, tdd)
    with _surroundings(**how) as around:
        return reviews.start(read, around, options)


def resume_task(
    task_id: str, *, max_reviews: int | None = None, cleanup: bool = True, **how: Unpack[LibraryOptions]
) -> TaskResult:
    """Go on with a task wherever it was left; one that does not exist is a NotReadyError."""
    options = reviews.ReviewOptions(max_reviews, cleanup=cleanup)
    with _surroundings(**how) as around:
        return reviews.resume(task_id, around, options)


def list_tasks(project: Folder = ".", *, environ: Mapping[str, str] | None = None) -> list[TaskState]:
    """Return every task of coder and reviewer in the repository, the oldest first."""
    with _surroundings(project, environ=environ) as around:
        return reviews.listed(around)


def clean_task(
    task_id: str, *, project: Folder = ".", environ: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Take worktree, branch and state file of a task away; return what a person should know, e.g. what is kept."""
    with _surroundings(project, environ=environ) as around:
        return reviews.clean(task_id, around)


def pull_requests(
    branch: str, *, project: Folder = ".", environ: Mapping[str, str] | None = None
) -> tuple[PullRequest, ...]:
    """Return every pull request of a branch, newest first; a GitHub that refuses is a ForgeError."""
    with _surroundings(project, environ=environ) as around:
        return reviews.pull_requests(branch, around)


def preflight(
    project: Folder = ".",
    *,
    agent: str | None = None,
    model: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Health:
    """Look at everything a run needs, as `rgr doctor` does; nothing of the repository is run or changed."""
    with _surroundings(project, agent=agent, model=model, environ=environ) as around:
        return doctor.examine(around)


def task(
    file: Folder, *, session: str | None = None, new: bool = False, **how: Unpack[LibraryOptions]
) -> TaskFileResult:
    """Do the work of a task file, or go on with it; a file that is not valid is a UsageError.

    What is in a task's way is a result, too: its `status` is blocked.
    """
    with _surroundings(**how) as around:
        return run_task(read_task(Path(file), around.project), around, TaskOptions(session=session, new=new))


def status(project: Folder = ".", *, environ: Mapping[str, str] | None = None) -> Entry | None:
    """Return the latest handoff and its commit, None where no workflow was started; reads git only."""
    return runs.status(_folder(project), _environment(environ))


def history(project: Folder = ".", *, environ: Mapping[str, str] | None = None) -> list[Entry]:
    """Return the handoffs of the latest run, newest first, down to its opening; reads git only."""
    return list(runs.history(_folder(project), _environment(environ)))


def roles(project: Folder = ".", *, environ: Mapping[str, str] | None = None) -> Mapping[RoleName, Role]:
    """Return who the sessions of a run would be here, with the project's own templates and models."""
    with (
        _surroundings(project, environ=environ) as around,
        closing(open_repository(around.project, around.environ)) as repository,
    ):
        settings = settings_of(repository, around)
    keys = {phase.role: phase.key for phase in TDD.phases}
    models = {role: settings.model_for(keys.get(role, str(role))) for role in RoleName}
    prompts_dir = repository.project / settings.prompts_dir if settings.prompts_dir else None
    return render.roles(prompts_dir, models)


def _start(feature: str, options: RunOptions) -> Callable[[Surroundings], WorkflowResult]:
    asked = read_feature(feature, None, lambda: feature)
    return lambda around: lifecycle.start(asked, around, options)


@contextmanager
def _surroundings(
    project: Folder = ".",
    *,
    agent: str | None = None,
    model: str | None = None,
    budget_usd: float | None = None,
    environ: Mapping[str, str] | None = None,
    on_event: Emit | None = None,
) -> Generator[Surroundings]:
    """Provide what a run needs from its caller; signals stay the caller's."""
    flags = Flags(agent, model, budget_usd)
    with invocation(_folder(project), _environment(environ), flags, on_event or unheard) as around:
        yield around


def _folder(project: Folder) -> Path:
    folder = Path(project)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", hint="Give project= an existing one.")
    return folder.resolve()


def _environment(environ: Mapping[str, str] | None) -> Mapping[str, str]:
    return os.environ if environ is None else environ


def _limits(max_cycles: int | None) -> RunLimits:
    if max_cycles is not None and max_cycles < 1:
        raise UsageError(f"max_cycles is {max_cycles}", hint="Give at least 1, or None for no limit.")
    return RunLimits(max_cycles=max_cycles)
