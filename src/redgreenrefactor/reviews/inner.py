"""A whole run in the place of the coder: every case of the specification, test first, with commits and notes of its own."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from redgreenrefactor import runs
from redgreenrefactor.bench import TDD_TABLE, Bench
from redgreenrefactor.errors import InterruptedRunError, StoppedRunError
from redgreenrefactor.model.result import RunStatus, WorkflowResult, result_of
from redgreenrefactor.model.review_task import inner_run_id
from redgreenrefactor.model.session import Brief, Report
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Say
from redgreenrefactor.prompts.quote import quoted


@dataclass(frozen=True)
class InnerRun:
    """A coder that is a run in the same checkout; what was interrupted goes on, what is done is not done again."""

    outer: Bench  # of the task, looked at
    task_id: str
    spec: str
    feedback: Callable[[], tuple[str, ...]]
    name: str = "rgr run"

    @cached_property
    def bench(self) -> Bench:
        """What the run needs, in the same checkout, with the same workspace and suite."""
        inner = copy(self.outer)
        inner.equip(TDD_TABLE)
        return inner

    def work(self, brief: Brief, folder: Path, say: Say) -> Report:  # noqa: ARG002
        """Take the run of this round to its end; only one that is done or has failed is reported."""
        run_id = inner_run_id(self.task_id, brief.cycle)
        before, counts = self.bench.spent(run_id), not self.bench.settings.budget_is_for_this_invocation
        limits = runs.Limits(
            budget_usd=brief.allowance_usd,
            spent_usd=before if counts else 0.0,
            phase_usd=self.bench.settings.budget_phase_usd,
        )
        wishes = runs.Wishes(limits=limits, tells=False)
        latest = next(self.bench.ledger.history(run_id), None)
        if latest is None:
            self.bench.workspace.require_clean()
            result = runs.begin(self.bench, self._feature(), wishes, run_id)
        elif latest.handoff.next_phase is PhaseName.COMPLETE:
            result = result_of(list(self.bench.ledger.history(run_id)), RunStatus.COMPLETE, 0.0)
        else:
            result = runs.go_on(self.bench, latest, wishes)
        return replace(_reported(result), paid_before=0.0 if counts else before)

    def _feature(self) -> str:
        """Return what is asked for: the specification, and all that reviewers have said so far."""
        rounds = self.feedback()
        if not rounds:
            return self.spec
        told = [f"Round {number}:\n\n{quoted(text, None)}" for number, text in enumerate(rounds, 1)]
        return "\n\n".join(
            [
                self.spec,
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
