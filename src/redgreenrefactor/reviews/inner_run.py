"""A whole run in the place of the coder: every case of the specification, test first, with commits and notes of its own."""

from dataclasses import replace
from pathlib import Path

from redgreenrefactor.errors import InterruptedRunError, StoppedRunError
from redgreenrefactor.lifecycle.feature import FeatureJob
from redgreenrefactor.lifecycle.project import OpenProject
from redgreenrefactor.lifecycle.run import Equipment, Run
from redgreenrefactor.loop.budget import RunLimits
from redgreenrefactor.model.result import RunStatus, WorkflowResult, result_of
from redgreenrefactor.model.review_task import TaskState, feedback_of, inner_run_id
from redgreenrefactor.model.session import Brief, Report
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Say
from redgreenrefactor.prompts.quote import quoted


class InnerJob(FeatureJob):
    """The feature of one round, which is part of a task."""

    ends_invocation = False


@frozen
class InnerRun:
    """A coder that is a run in the same checkout; what was interrupted goes on, what is done is not done again."""

    project: OpenProject
    equipment: Equipment
    state: TaskState
    name: str = "rgr run"

    def work(self, brief: Brief, folder: Path, say: Say) -> Report:  # noqa: ARG002
        """Take the run of this round to its end; only one that is done or has failed is reported."""
        project, run_id = self.project, inner_run_id(self.state.task_id, brief.cycle)
        settings = project.settings
        before, counts = project.spent(run_id), not settings.budget_is_for_this_invocation
        limits = RunLimits(
            budget_usd=brief.allowance_usd,
            spent_usd=before if counts else 0.0,
            phase_usd=settings.budget_phase_usd,
        )
        run = Run(project, InnerJob(project, self._feature()), self.equipment, limits)
        latest = next(project.ledger.history(run_id), None)
        if latest is None:
            project.workspace.require_clean()
            result = run.begin(run_id)
        elif latest.handoff.next_phase is PhaseName.COMPLETE:
            result = result_of(list(project.ledger.history(run_id)), RunStatus.COMPLETE, 0.0)
        else:
            result = run.go_on(latest)
        return replace(_reported(result), paid_before=0.0 if counts else before)

    def _feature(self) -> str:
        """Return what is asked for: the specification, and all that reviewers have said so far."""
        spec = self.state.original_spec
        rounds = feedback_of(list(self.project.ledger.history(self.state.run_id)))
        if not rounds:
            return spec
        told = [f"Round {number}:\n\n{quoted(text, None)}" for number, text in enumerate(rounds, 1)]
        return "\n\n".join(
            [
                spec,
                "# Feedback of the reviewer",
                "The code is there. What follows was asked for after looking at it; plan cases for it.",
                *told,
            ],
        )


def _reported(result: WorkflowResult) -> Report:
    """Return what a run that is over has to say; one that was stopped or interrupted does so to the task."""
    match result.status:
        case RunStatus.COMPLETE:
            cases = [f"- {cycle.test}" for cycle in result.cycles if cycle.test]
            return Report("\n".join(["Cases done, each test first:", *cases]), result.usage)
        case RunStatus.FAILED:
            failure = Finding(
                FindingType.AGENT_FAILURE,
                f"the run that was to write the code failed: {result.error or 'it was given up'}",
                hint="Look at it with 'rgr status' in the worktree; resuming the task goes on with it.",
            )
            # What it cost is told when it is done: it goes on with its own sums.
            return Report(failure=failure)
        case RunStatus.STOPPED:
            kind = result.error_details.type if result.error_details else FindingType.UNDECIDED
            why = result.error or "nothing could be measured"
            raise StoppedRunError(f"the run that writes the code was stopped: {why}", type=kind)
        case RunStatus.INTERRUPTED:
            raise InterruptedRunError("the run that writes the code was interrupted")
