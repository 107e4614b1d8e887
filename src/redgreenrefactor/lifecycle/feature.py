"""A feature, test by test: starting its run, and going on with it."""

import shlex
from dataclasses import replace

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.gates import TDD_GATES
from redgreenrefactor.git.worktrees import goes_on_in
from redgreenrefactor.lifecycle.factory import new_run_id
from redgreenrefactor.lifecycle.job import Job
from redgreenrefactor.lifecycle.project import OpenProject, open_project
from redgreenrefactor.lifecycle.run import NO_LIMITS, begin, go_on, require_finished, take_list
from redgreenrefactor.loop.budget import RunLimits
from redgreenrefactor.loop.engine import Ended
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.decision import ROUNDS_USED_UP, cases_worked
from redgreenrefactor.model.events import RunEnded
from redgreenrefactor.model.goal import EDITING, LIST, cited
from redgreenrefactor.model.handoff import ErrorDetails
from redgreenrefactor.model.result import Entry, RunStatus, WorkflowResult, result_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import NOT_READY
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.views.lines import count


@frozen
class RunOptions:
    """What one invocation was asked for beside the feature."""

    limits: RunLimits = NO_LIMITS
    approve: bool = False
    worktree: str | None = None
    new: bool = False


class FeatureJob(Job[WorkflowResult]):
    """A feature that is to be there, test by test."""

    workflow = TDD
    gates = TDD_GATES

    def __init__(self, project: OpenProject, feature: str, *, approve: bool = False) -> None:
        super().__init__(project)
        self.feature = self.asked = feature
        self.needs_approval = approve

    def approved(self, entry: Entry) -> Entry | None:
        """Let a person edit the list; None where nobody is there to do so."""
        edit = self.project.around.edit
        if edit is None:
            return None
        edit(self.project.repository.project / LIST)
        return take_list(self.project, entry)

    def last_words(self, ended: Ended) -> str:
        """Return how the run ended, and what to do where it waits."""
        words = _how_it_ended(ended)
        if ended.entry.handoff.awaiting:
            where = self.project.repository.project / LIST
            words += f". You may edit {where}: {EDITING}. Then type 'rgr resume'."
        return words

    def conclude(self, ended: Ended, seconds: float) -> WorkflowResult:
        """Return what the notes tell of the run, for the reason that ended it now."""
        history = list(self.project.ledger.history(ended.entry.handoff.run_id))
        result = result_of(history, ended.status, seconds)
        if ended.type is None:
            return result
        return replace(result, error=ended.reason, error_details=ErrorDetails(ended.type, ended.reason))


def start(feature: str, around: Surroundings, options: RunOptions) -> WorkflowResult:
    """Run the whole workflow for a feature, from the commit that is checked out."""
    with open_project(around, worktree=options.worktree) as project:
        latest = None if project.unborn or options.new else project.ledger.latest_of_runs()
        require_finished(project, latest, "rgr run")
        project.workspace.require_clean()
        project.workspace.adopt()
        job = FeatureJob(project, feature, approve=options.approve)
        return begin(project, job, new_run_id(), options.limits)


def resume(around: Surroundings, options: RunOptions) -> WorkflowResult:
    """Go on from the last handoff: the phase that was due, with the error context it had."""
    with open_project(around, worktree=options.worktree, resumes=True) as project:
        latest = None if project.unborn else project.ledger.latest_of_runs()
        if latest is None:
            raise NotReadyError(
                "nothing to resume here",
                hint="Type 'rgr run \"FEATURE\"'; tasks go on with 'rgr tdd --resume TASKID'.",
                type="NothingToResume",
            )
        _require_here(project, latest)
        if latest.handoff.next_phase is PhaseName.COMPLETE:
            words = "the run is complete already; nothing is left to do"
            project.emit(RunEnded(RunStatus.COMPLETE, words, 0.0))
            return result_of(list(project.ledger.history()), RunStatus.COMPLETE, 0.0)
        job = FeatureJob(project, latest.handoff.feature, approve=options.approve)
        return go_on(project, job, latest, options.limits)


def _require_here(project: OpenProject, latest: Entry) -> None:
    """Refuse a run that only began here."""
    repository = project.repository
    if folder := goes_on_in(repository, project.ledger, latest):
        raise NotReadyError(
            f"the run {cited(latest.handoff.feature)} began here, and goes on in {folder}",
            hint=f"Type 'rgr resume --project {shlex.quote(str(folder / repository.prefix))}'.",
            type="NothingToResume",
        )


def _how_it_ended(ended: Ended) -> str:
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


def exit_code(status: RunStatus, error: str) -> int:
    """Return the exit code of a run that ended so, with an error of this type or none."""
    match status:
        case RunStatus.COMPLETE:
            return 0
        case RunStatus.FAILED:
            return 1
        case RunStatus.STOPPED:
            return 3 if error in NOT_READY else 4
        case RunStatus.INTERRUPTED:
            return 130
