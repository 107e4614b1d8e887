"""A whole run in the place of the coder: every case of the specification, test first, with commits and notes of its own."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from redgreenrefactor import runs
from redgreenrefactor.errors import InterruptedRunError, NotReadyError, StoppedRunError
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

    outer: runs.Bench  # of the task, looked at
    task_id: str
    spec: str
    feedback: Callable[[], tuple[str, ...]]
    name: str = "rgr run"

    @cached_property
    def bench(self) -> runs.Bench:
        """What the run needs, in the same checkout, with the same workspace and suite."""
        inner = copy(self.outer)
        inner.equip(runs.TDD_TABLE)
        return inner

    def work(self, brief: Brief, folder: Path, say: Say) -> Report:  # noqa: ARG002
        """Take the run of this round to its end; only one that is done or has failed is reported."""
        run_id = inner_run_id(self.task_id, brief.cycle)
        wishes = runs.Wishes(limits=runs.Limits(budget_usd=brief.allowance_usd))
        latest = next(self.bench.ledger.history(run_id), None)
        if latest is None:
            self.bench.workspace.require_clean()
            result = runs.begin(self.bench, self._feature(), wishes, run_id)
        elif latest.handoff.next_phase is PhaseName.COMPLETE:
            result = result_of(list(self.bench.ledger.history(run_id)), RunStatus.COMPLETE, 0.0)
        else:
            result = runs.go_on(self.bench, latest, wishes)
        return _reported(result)

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
    match runs.exit_code(result):
        case 0:
            cases = [f"- {cycle.test}" for cycle in result.cycles if cycle.test]
            return Report("\n".join(["Cases done, each test first:", *cases]), result.usage)
        case 1:
            why = result.error or "it was given up"
            failure = Finding(
                FindingType.AGENT_FAILURE,
                f"the run that was to write the code failed: {why}",
                hint="Look at it with 'rgr status' in the worktree; resuming the task goes on with it.",
            )
            return Report(
                failure=failure
            )  # what it cost is told when it is done: it goes on with its own sums
        case 3:
            raise NotReadyError(
                result.error or "nothing could be measured",
                hint="See that the tests run in the worktree, then type 'rgr tdd --resume TASKID'.",
                type="Undecided",
            )
        case 4:
            raise StoppedRunError("the run that writes the code was stopped by a limit")
        case _:
            raise InterruptedRunError("the run that writes the code was interrupted")
