"""Running task files: one or several, from the start or from where they stand."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from redgreenrefactor.errors import InterruptedRunError, NotReadyError, RgrError
from redgreenrefactor.goals.task_file import TaskFile, task_from
from redgreenrefactor.lifecycle.factory import new_run_id
from redgreenrefactor.lifecycle.project import OpenProject, open_project
from redgreenrefactor.lifecycle.run import begin, go_on, require_finished
from redgreenrefactor.model.handoff import ErrorDetails
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.tasks.earlier import Begun, begun_in, digest_of, done_before, take_back
from redgreenrefactor.tasks.task_job import TaskJob


@frozen
class TaskOptions:
    """What one invocation was asked for beside the tasks."""

    session: str | None = None
    new: bool = False  # from the start, whatever stands here
    keep_going: bool = False  # with the tasks that do not depend on one that failed
    worktree: str | None = None
    clears: bool = False  # the commits of a task that failed just now make room


NO_OPTIONS = TaskOptions()


def run_tasks(
    files: Sequence[TaskFile], around: Surroundings, options: TaskOptions = NO_OPTIONS
) -> Iterator[TaskFileResult]:
    """Yield what becomes of the tasks, one after the other; the first that does not complete is the last, or not."""
    lost: set[str] = set()
    for file in files:
        if waits := sorted(lost.intersection(file.task.depends_on)):
            lost.add(file.task.id)
            yield _never_begun(file.task, waits)
            continue
        result = run_task(file, around, options)
        yield result
        if result.status is TaskFileStatus.COMPLETE:
            continue
        lost.add(file.task.id)
        if not options.keep_going or result.status in (TaskFileStatus.INTERRUPTED, TaskFileStatus.STOPPED):
            return
        options = replace(options, new=True, clears=True)


def run_task(file: TaskFile, around: Surroundings, options: TaskOptions = NO_OPTIONS) -> TaskFileResult:
    """Do a task, or go on with it where it was begun here; what is in its way is a result, too."""
    try:
        with open_project(_with_own_diagnosis(around), worktree=options.worktree) as project:
            return _run(file, project, options)
    except (NotReadyError, InterruptedRunError) as error:
        return _in_the_way(file.task, options.session, error)


def resume_task(around: Surroundings, worktree: str | None = None) -> TaskFileResult | None:
    """Go on with the task that stands here, None where what stands here is no task's run."""
    with open_project(_with_own_diagnosis(around), worktree=worktree, resumes=True) as project:
        begun = None if project.unborn else begun_in(project)
        if begun is None:
            return None
        file = TaskFile(task_from(begun.document, begun.path), begun.path, begun.document)
        return _go_on(TaskJob(project, file, begun.session), begun)


def _with_own_diagnosis(around: Surroundings) -> Surroundings:
    return replace(around, flags=replace(around.flags, spared=("diagnosis",)))


def _run(file: TaskFile, project: OpenProject, options: TaskOptions) -> TaskFileResult:
    latest = None if project.unborn else project.ledger.latest()
    begun = begun_in(project) if latest else None
    digest = digest_of(file.document)
    if begun and options.new:
        if options.clears or begun.task_id == file.task.id:
            take_back(project, begun)
    elif begun and begun.unfinished and begun.task_id == file.task.id:
        _require_same_text(begun, digest, file)
        return _go_on(TaskJob(project, file, options.session or begun.session), begun)
    if not options.new and latest and (done := done_before(project, file.task, digest)):
        return done
    require_finished(project, None if options.new else latest, "rgr task")
    project.workspace.require_clean()
    run_id = new_run_id()
    job = TaskJob(project, file, options.session or file.task.session or run_id)
    project.workspace.adopt()
    project.repository.exclude(".workflow/")
    return begin(project, job, run_id)


def _require_same_text(begun: Begun, digest: str, file: TaskFile) -> None:
    """Refuse to go on with a task whose file says something else than when its tests were written."""
    if begun.digest != digest:
        raise NotReadyError(
            f"{file.path} has been edited since {begun.task_id} was begun here ({begun.entry.handoff.left_as})",
            hint=f"Type 'rgr task --new {file.path}', which puts its commits aside and starts with what the file"
            " says now, or 'rgr resume', which goes on with what it said.",
            type="TaskEdited",
        )


def _go_on(job: TaskJob, begun: Begun) -> TaskFileResult:
    if not begun.unfinished:
        return replace(job.result(TaskFileStatus.COMPLETE), already=True)
    try:
        job.project.workspace.require_clean()
        job.project.repository.exclude(".workflow/")
        return go_on(job.project, job, begun.entry)
    except (NotReadyError, InterruptedRunError) as error:
        return _in_the_way(job.task, job.session, error, begun.entry.handoff.next_phase)


def _never_begun(task: Task, waits: Sequence[str]) -> TaskFileResult:
    message = f"it depends on {', '.join(waits)}, which did not complete"
    details = ErrorDetails("DependencyFailed", message)
    return TaskFileResult(
        task, TaskFileStatus.BLOCKED, error=message, error_details=details, phase=_first(task)
    )


def _first(task: Task) -> PhaseName:
    return PhaseName.RED if task.tdd else PhaseName.CODE


def _in_the_way(
    task: Task, session: str | None, error: RgrError, phase: PhaseName | None = None
) -> TaskFileResult:
    """Return the result of a task that could not be begun, or gone on with, or was interrupted before that."""
    return TaskFileResult(
        task,
        TaskFileStatus.INTERRUPTED if isinstance(error, InterruptedRunError) else TaskFileStatus.BLOCKED,
        session=session or task.session or "",
        error=error.message,
        error_details=ErrorDetails(error.type, error.message),
        hint=error.hint,
        phase=phase or _first(task),
    )
