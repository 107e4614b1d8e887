"""Running task files: one or several, from the start or from where they stand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from redgreenrefactor import runs
from redgreenrefactor.bench import Bench, opened
from redgreenrefactor.errors import InterruptedRunError, NotReadyError, RgrError
from redgreenrefactor.goals.task_file import TaskFile, task_from
from redgreenrefactor.model.decision import refreshed
from redgreenrefactor.model.handoff import ErrorDetails, with_extra
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.tasks.standing import Begun, begun_in, digest_of, done_before
from redgreenrefactor.tasks.work import Work
from redgreenrefactor.wiring import new_run_id


@dataclass(frozen=True, slots=True)
class TaskWishes:
    """What one invocation was asked for beside the tasks."""

    session: str | None = None
    new: bool = False  # from the start, whatever stands here
    keep_going: bool = False  # with the tasks that do not depend on one that failed
    worktree: str | None = None


NO_WISHES = TaskWishes()


def run_tasks(
    files: Sequence[TaskFile], around: Surroundings, wishes: TaskWishes = NO_WISHES
) -> Iterator[TaskFileResult]:
    """Yield what becomes of the tasks, one after the other; the first that does not complete is the last, or not."""
    lost: set[str] = set()
    new = wishes.new
    for file in files:
        if waits := sorted(lost.intersection(file.task.depends_on)):
            lost.add(file.task.id)
            yield _never_begun(file.task, waits)
            continue
        result = run_task(file, around, replace(wishes, new=new or bool(lost)))
        yield result
        if result.status is TaskFileStatus.COMPLETE:
            continue
        lost.add(file.task.id)
        if not wishes.keep_going or result.status in (TaskFileStatus.INTERRUPTED, TaskFileStatus.STOPPED):
            return


def run_task(file: TaskFile, around: Surroundings, wishes: TaskWishes = NO_WISHES) -> TaskFileResult:
    """Do a task, or go on with it where it was begun here; what is in its way is a result, too."""
    try:
        with opened(_with_own_diagnosis(around), worktree=wishes.worktree) as bench:
            return _run(file, bench, wishes)
    except (NotReadyError, InterruptedRunError) as error:
        return _in_the_way(file.task, wishes.session, error)


def resume_task(around: Surroundings, worktree: str | None = None) -> TaskFileResult | None:
    """Go on with the task that stands here, None where what stands here is no task's run."""
    with opened(_with_own_diagnosis(around), worktree=worktree, resumes=True) as bench:
        begun = None if bench.unborn else begun_in(bench)
        if begun is None:
            return None
        file = TaskFile(task_from(begun.document, begun.path), begun.path, begun.document)
        return _go_on(Work(bench, file, begun.session), begun)


def _with_own_diagnosis(around: Surroundings) -> Surroundings:
    return replace(around, flags=replace(around.flags, spared=("diagnosis",)))


def _run(file: TaskFile, bench: Bench, wishes: TaskWishes) -> TaskFileResult:
    latest = None if bench.unborn else bench.ledger.latest()
    begun = begun_in(bench) if latest and not wishes.new else None
    digest = digest_of(file.document)
    if begun and begun.digest == digest and begun.entry.handoff.next_phase is not PhaseName.COMPLETE:
        return _go_on(Work(bench, file, wishes.session or begun.session), begun)
    if not wishes.new and latest and (done := done_before(bench, digest)):
        return done.result(file.task, bench)
    runs.require_finished(bench, None if wishes.new else latest, "rgr task")
    bench.workspace.require_clean()
    return _begin(bench, file, wishes.session)


def _begin(bench: Bench, file: TaskFile, session: str | None) -> TaskFileResult:
    run_id = new_run_id()
    work = Work(bench, file, session or file.task.session or run_id)
    bench.workspace.adopt()
    with runs.nothing_begun():
        work.prepare()
        bench.suite = work.suite
        bench.announce(run_id, file.task.title, resumed=False)
        handoff = work.beginning(run_id, file)
        work.engine.probe(handoff)
        base = bench.workspace.first_commit() if bench.unborn else bench.workspace.head()
        legacy = work.baseline(base).facts or None
    noted = {"suiteRun": work.lab.receipt(base), "legacy": legacy, **bench.cages.noted()}
    handoff = bench.ledger.shelved(with_extra(handoff, **noted))
    bench.ledger.write({base: handoff})
    return work.go(Entry(base, handoff), base)


def _go_on(work: Work, begun: Begun) -> TaskFileResult:
    try:
        return _gone_on(work, begun)
    except (NotReadyError, InterruptedRunError) as error:
        return _in_the_way(work.task, work.session, error, begun.entry.handoff.next_phase)


def _gone_on(work: Work, begun: Begun) -> TaskFileResult:
    bench = work.bench
    if begun.entry.handoff.next_phase is PhaseName.COMPLETE:
        return replace(work.result(TaskFileStatus.COMPLETE), already=True)
    work.prepare()
    bench.cages.as_noted(begun.entry.handoff)
    bench.suite, bench.lab = work.suite, work.lab
    bench.announce(begun.entry.handoff.run_id, work.task.title, resumed=True)
    bench.recall(begun.entry.handoff.run_id)
    latest = runs.caught_up(bench, begun.entry)
    entry = Entry(latest.commit, refreshed(latest.handoff))
    work.engine.probe(entry.handoff)
    if entry != latest:
        bench.ledger.write({entry.commit: entry.handoff})
    return work.go(entry, bench.opening(entry.handoff.run_id))


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
