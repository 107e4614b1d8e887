"""Starting, resuming and looking at runs: what the commands and the library share."""

import shlex
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from redgreenrefactor.bench import Bench, opened
from redgreenrefactor.errors import InterruptedRunError, NotReadyError, RgrError
from redgreenrefactor.gates.rules.findings import named
from redgreenrefactor.gates.rules.legacy import sifted
from redgreenrefactor.git.worktrees import goes_on_in
from redgreenrefactor.loop.engine import Ended, Limits, Spent
from redgreenrefactor.model.decision import (
    ROUNDS_USED_UP,
    carried,
    cases_worked,
    exhausted,
    refreshed,
    relisted,
)
from redgreenrefactor.model.events import RunEnded, Warned
from redgreenrefactor.model.evidence import Measure, Trial
from redgreenrefactor.model.goal import EDITING, LIST, cited
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, State, with_extra
from redgreenrefactor.model.result import (
    Entry,
    RunStatus,
    WorkflowResult,
    result_of,
)
from redgreenrefactor.model.verdict import NOT_READY
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.views.lines import count
from redgreenrefactor.wiring import new_run_id, now

NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Wishes:
    """What one invocation was asked for beside the feature."""

    limits: Limits = NO_LIMITS
    approve: bool = False
    worktree: str | None = None
    new: bool = False
    publish: Callable[[], None] | None = (
        None  # what is left to do when the goal is reached, before that is told
    )
    tells: bool = True  # on.finish is run at its end; if not, whoever wanted the run sees to that
    reached: Callable[[Entry], bool] | None = (
        None  # whether the goal is reached, whatever the last phase said
    )


def start(feature: str, around: Surroundings, wishes: Wishes) -> WorkflowResult:
    """Run the whole workflow for a feature, from the commit that is checked out."""
    with opened(around, worktree=wishes.worktree) as bench:
        latest = None if bench.unborn or wishes.new else bench.ledger.latest_of_runs()
        require_finished(bench, latest, "rgr run")
        bench.workspace.require_clean()
        bench.workspace.adopt()
        bench.check()
        return begin(bench, feature, wishes, new_run_id())


def begin(bench: Bench, feature: str, wishes: Wishes, run_id: str, **noted: Any) -> WorkflowResult:
    """Open a run in a checkout that has been looked at, and take it to its end; `noted` goes into its opening."""
    handoff = bench.beginning(feature, run_id)
    bench.announce(run_id, feature, resumed=False)
    with nothing_begun():
        bench.engine.probe(handoff)
        base = bench.workspace.first_commit() if bench.unborn else bench.workspace.head()
        legacy = bench.baseline(base, feature)
    noted |= {"suiteRun": bench.lab.receipt(base), **bench.cages.noted()}
    begun = with_extra(handoff, legacy=legacy.facts or None, **noted)
    entry = Entry(base, bench.ledger.shelved(begun))
    bench.ledger.write({base: entry.handoff})
    return _to_the_end(bench, entry, base, wishes)


def resume(around: Surroundings, wishes: Wishes) -> WorkflowResult:
    """Go on from the last handoff: the phase that was due, with the error context it had."""
    with opened(around, worktree=wishes.worktree, resumes=True) as bench:
        latest = None if bench.unborn else bench.ledger.latest_of_runs()
        if latest is None:
            raise NotReadyError(
                "nothing to resume here",
                hint="Type 'rgr run \"FEATURE\"'; tasks go on with 'rgr tdd --resume TASKID'.",
                type="NothingToResume",
            )
        if folder := goes_on_in(bench.repository, bench.ledger, latest):
            raise NotReadyError(
                f"the run {cited(latest.handoff.feature)} began here, and goes on in {folder}",
                hint=f"Type 'rgr resume --project {shlex.quote(str(folder / bench.repository.prefix))}'.",
                type="NothingToResume",
            )
        if latest.handoff.next_phase is PhaseName.COMPLETE:
            bench.emit(
                RunEnded(RunStatus.COMPLETE, "the run is complete already; nothing is left to do", 0.0)
            )
            return result_of(list(bench.ledger.history()), RunStatus.COMPLETE, 0.0)
        bench.check()
        if latest.handoff.awaiting:
            latest = take_list(bench, latest)
        return go_on(bench, latest, wishes)


def go_on(bench: Bench, latest: Entry, wishes: Wishes) -> WorkflowResult:
    """Take a run that is not complete to its end, from its latest handoff, with a fresh set of retries."""
    bench.cages.as_noted(latest.handoff)
    bench.workspace.require_clean()
    bench.announce(latest.handoff.run_id, latest.handoff.feature, resumed=True)
    bench.recall(latest.handoff.run_id)
    latest = caught_up(bench, latest)
    entry = Entry(latest.commit, exhausted(bench.table.workflow, refreshed(latest.handoff)))
    limits = bench.limits(wishes.limits, entry.handoff.run_id)
    if entry.handoff.state is State.RUNNING and Spent(limits.spent_usd).over(limits) is None:
        bench.engine.probe(entry.handoff)
    if entry != latest:
        bench.ledger.write({entry.commit: entry.handoff})
    return _to_the_end(bench, entry, bench.opening(entry.handoff.run_id), wishes)


def _to_the_end(bench: Bench, entry: Entry, base: str, wishes: Wishes) -> WorkflowResult:
    """Take turns until the end, and tell what came of it."""
    run_id, clock = entry.handoff.run_id, bench.engine.clock
    started = clock()
    engine = replace(
        bench.engine,
        opening=base,
        approve=partial(_approved, bench) if wishes.approve else None,
        reached=wishes.reached,
        noted=bench.cages.noted(),
    )
    ended = engine.run(entry, bench.limits(wishes.limits, run_id))
    seconds = clock() - started
    if ended.status is RunStatus.COMPLETE:
        _published(bench, wishes, seconds)
    words = _last_words(ended)
    if ended.entry.handoff.awaiting:
        words += f". You may edit {bench.repository.project / LIST}: {EDITING}. Then type 'rgr resume'."
    bench.emit(RunEnded(ended.status, words, seconds))
    result = result_of(list(bench.ledger.history(run_id)), ended.status, seconds)
    if ended.type is not None:
        details = ErrorDetails(ended.type, ended.reason)
        result = replace(result, error=ended.reason, error_details=details)
    if wishes.tells:
        bench.tell_on(run_id, result.status, result.head)
    return result


def _published(bench: Bench, wishes: Wishes, seconds: float) -> None:
    """Do what is left to do at the end of good work; a run is not complete without it."""
    try:
        if wishes.publish:
            wishes.publish()
    except RgrError:
        bench.emit(RunEnded(RunStatus.STOPPED, "stopped: the work is done, but not published", seconds))
        raise


def _approved(bench: Bench, entry: Entry) -> Entry | None:
    """Let a person edit the list; None where nobody is there to do so."""
    if bench.around.edit is None:
        return None
    bench.around.edit(bench.repository.project / LIST)
    return take_list(bench, entry)


def require_finished(bench: Bench, latest: Entry | None, command: str) -> None:
    """Refuse to start beside a run that waits here to be resumed."""
    if latest is None or not unfinished(bench, latest):
        return
    approves = f" approves {LIST} as it is now, and" if latest.handoff.awaiting else ""
    raise NotReadyError(
        f"an unfinished run is here: {cited(latest.handoff.feature)} ({latest.handoff.left_as})",
        hint=f"Type 'rgr resume', which{approves} goes on with it, or '{command} --new …' to start another one.",
        type="UnfinishedRun",
    )


def unfinished(bench: Bench, latest: Entry) -> bool:
    """Tell whether a run waits here to be resumed; one that only began here and goes on elsewhere does not."""
    if latest.handoff.next_phase is PhaseName.COMPLETE:
        return False
    began = latest.handoff.cycle_number == 0 and latest.handoff.carried_from is None
    return not (began and (bench.workspace.others_at_work() or bench.ledger.goes_on_elsewhere(latest)))


@contextmanager
def nothing_begun() -> Generator[None]:
    """Say what to type after an interruption that leaves no handoff to go on from."""
    try:
        yield
    except InterruptedRunError as error:
        raise InterruptedRunError(
            error.message, hint="Nothing was begun yet: type 'rgr run …' again."
        ) from error


def take_list(bench: Bench, entry: Entry) -> Entry:
    """Take an edited, uncommitted list as the accepted one: one more commit, PLAN's note carried over."""
    path = f"{bench.repository.prefix}{LIST}"
    status = bench.workspace.status()
    if status.dirty != (path,) or status.head != entry.commit:
        return entry
    commit = bench.workspace.commit_list(entry.commit, "plan: accepted list")
    handoff = relisted(entry.handoff, entry.commit, bench.plan(commit), now())
    bench.ledger.write({commit: handoff})
    return Entry(commit, handoff)


def caught_up(bench: Bench, latest: Entry) -> Entry:
    """Carry the handoff over the user's own commits, if there are any and the tests still hold."""
    head = bench.workspace.head()
    if head == latest.commit or bench.table.workflow.phase(latest.handoff.next_phase).inner:
        return latest
    if broken := _broken(bench, latest, head):
        raise NotReadyError(
            f"your commits since {latest.commit[:10]} break the suite: {broken}",
            hint="Mend them, commit, then type 'rgr resume'.",
            type="SuiteRed",
        )
    handoff = _carried(bench, latest, head)
    bench.ledger.write({head: handoff})
    bench.emit(
        Warned(
            f"your commits since {latest.commit[:10]} are taken as they are; the run goes on from {head[:10]}"
        )
    )
    return Entry(head, handoff)


def _carried(bench: Bench, latest: Entry, head: str) -> Handoff:
    """Return the handoff for the user's last commit; a list changed before anything was built on it counts."""
    planned = latest.handoff.phase is PhaseName.PLAN and latest.handoff.current_test is not None
    plan = bench.plan(head)
    if planned and plan.blob != bench.plan(latest.commit).blob:
        return relisted(latest.handoff, latest.commit, plan, now())
    return carried(latest.handoff, latest.commit, now())


def _broken(bench: Bench, latest: Entry, head: str) -> str:
    """Return what the user's commits break; a test that fails by chance is not counted."""
    before, after = bench.lab.answer(Trial(latest.commit)), bench.lab.answer(Trial(head))
    if after.measure is Measure.EXIT_CODE:
        red = latest.handoff.next_phase is PhaseName.GREEN
        return "" if after.green or red else f"exit code {after.exit_code}"
    if not after.finished:
        return f"the runner did not come to its end (exit code {after.exit_code})"
    failing = [after.results[name] for name in sorted(before.passed & after.ids - after.passed)]
    return named([r.id for r in bench.lab.judge(sifted(latest.commit, Trial(head), failing)).broken])


def _last_words(ended: Ended) -> str:
    handoff = ended.entry.handoff
    match ended.status:
        case RunStatus.COMPLETE:
            done = cases_worked(handoff)
            return "complete" if done is None else f"complete: {count(done, 'case')} done"
        case RunStatus.FAILED if handoff.error_details and handoff.error_details.type == ROUNDS_USED_UP:
            return f"failed: {handoff.error}"
        case RunStatus.FAILED:
            due = handoff.next_phase
            times = count(handoff.retry_count + 1, "time")
            return f"failed: {due} was rejected {times}; HEAD is the last good commit"
        case RunStatus.STOPPED:
            return f"stopped: {ended.reason}"
        case RunStatus.INTERRUPTED:
            return f"interrupted: {ended.reason}"


def exit_code(result: WorkflowResult) -> int:
    """Return the exit code a result has."""
    match result.status:
        case RunStatus.COMPLETE:
            return 0
        case RunStatus.FAILED:
            return 1
        case RunStatus.STOPPED:
            return 3 if result.error_details and result.error_details.type in NOT_READY else 4
        case RunStatus.INTERRUPTED:
            return 130


__all__ = ["Limits", "Wishes", "exit_code", "resume", "start"]
