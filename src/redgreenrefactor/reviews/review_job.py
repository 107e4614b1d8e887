"""Coder and reviewer in a worktree, until their work is approved, given up or stopped."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.errors import ForgeError, InterruptedRunError, NotReadyError, StoppedRunError
from redgreenrefactor.forge.github import GitHub
from redgreenrefactor.gates import INNER_GATES, REVIEW_GATES
from redgreenrefactor.git import transfer
from redgreenrefactor.lifecycle.factory import Factory, now
from redgreenrefactor.lifecycle.feature import FeatureJob
from redgreenrefactor.lifecycle.project import OpenProject, open_project
from redgreenrefactor.lifecycle.run import Equipment, Run, assemble, begin, go_on
from redgreenrefactor.loop.budget import RunLimits
from redgreenrefactor.loop.engine import Ended
from redgreenrefactor.loop.workflows import review
from redgreenrefactor.model.events import Event, Judged, Warned
from redgreenrefactor.model.facts import NO_FACTS
from redgreenrefactor.model.goal import title_of
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import Entry, RunStatus, WorkflowResult, result_of
from redgreenrefactor.model.review_task import (
    Draft,
    PullRequest,
    TaskState,
    TaskStatus,
    feedback_of,
    inner_run_id,
    rebuilt,
)
from redgreenrefactor.model.session import Brief, Report
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Severity
from redgreenrefactor.model.workflow import Phase, PhaseName
from redgreenrefactor.ports import Agent, Say, Suite
from redgreenrefactor.prompts.quote import quoted
from redgreenrefactor.prompts.rounds import Round
from redgreenrefactor.reviews.home import Home
from redgreenrefactor.views.pull_request_body import PullRequestMatter, body


def work_at(home: Home, state: TaskState, forge: GitHub | None) -> WorkflowResult:
    """Let coder and reviewer work until there is nothing more to do for them; what is approved is published."""
    folder = Path(state.worktree.path) / home.repository.prefix
    with open_project(replace(home.around, project=folder)) as project:
        job = ReviewJob(project, home, state, forge)
        latest = next(project.ledger.history(state.run_id), None)
        if latest is None:
            project.workspace.require_clean()
            return begin(project, job, state.run_id)
        if latest.handoff.next_phase is not PhaseName.COMPLETE:
            return go_on(project, job, latest)
        job.publish()  # which no agent is needed for
        done = result_of(list(project.ledger.history(state.run_id)), RunStatus.COMPLETE, 0.0)
        project.run_on_finish(done.run_id, done.status, done.head)
        return done


class ReviewJob(FeatureJob):
    """A specification that becomes a pull request."""

    def __init__(self, project: OpenProject, home: Home, state: TaskState, forge: GitHub | None) -> None:
        super().__init__(project, state.original_spec)
        self.home, self.state, self.forge = home, state, forge
        self.workflow = review(state.max_iterations, tdd=state.tdd)
        self.gates = INNER_GATES if state.tdd else REVIEW_GATES

    def own_agents(self, factory: Factory, suite: Suite) -> Mapping[PhaseName, Agent]:
        """Return the coder, where that is a whole run; its agents, too, are looked for before anything is begun."""
        if not self.state.tdd:
            return {}
        inner = assemble(self.project, InnerJob(self.project, self.feature), factory, suite)
        return {PhaseName.CODE: InnerRun(self.project, inner, self.state)}

    def opened_with(self, handoff: Handoff) -> Handoff:
        """Return the opening handoff with what the task's file is made again from."""
        return replace(handoff, task=self.state.mark())

    def round_of(self, phase: Phase) -> Round:
        """Return where coder and reviewer stand."""
        history = list(self.project.ledger.history(self.state.run_id))
        if phase.name is PhaseName.CODE:
            return Round(feedback=feedback_of(history))
        coded = next(entry.handoff for entry in history if entry.handoff.phase is PhaseName.CODE)
        opening = history[-1].commit
        return Round(
            feedback=feedback_of(history),
            account=coded.facts.message or "",
            tests=coded.facts.counts,
            warnings=tuple(item.message for item in coded.findings if item.severity is Severity.WARNING),
            changes=self.project.workspace.changes(opening, history[0].commit),
            opening=opening,
        )

    def reached(self) -> bool:
        """Tell whether the reviewer has opened the pull request itself."""
        try:
            return self.forge is not None and self.forge.find(self.state.branch_name) is not None
        except ForgeError as error:
            why = f"whether there is a pull request already is not known: {error.message}"
            self.project.emit(Warned(why))
            return False

    def hear(self, event: Event) -> None:
        """Have the state file tell, after every verdict, what the notes tell."""
        if isinstance(event, Judged):
            self.home.files.write(current(self.home, self.state))

    def publish(self) -> None:
        """Open the pull request of the task, which is approved, and write down that it is complete."""
        state = current(self.home, self.state)
        url = published(self.home, state, self.forge).url if self.forge else state.pr_url
        self.home.files.write(replace(state, status=TaskStatus.COMPLETED, pr_url=url, updated_at=now()))

    def conclude(self, ended: Ended, seconds: float) -> WorkflowResult:
        """Have the state file tell how the task stands; return what came of the run."""
        if ended.status is not RunStatus.COMPLETE:
            self.home.files.write(current(self.home, self.state))
        return super().conclude(ended, seconds)


def current(home: Home, state: TaskState) -> TaskState:
    """Return the state as the notes have it now."""
    history = home.history(state)
    told = rebuilt(history) if history else state
    return replace(told, max_iterations=state.max_iterations, forge=state.forge, pr_url=state.pr_url)


def published(home: Home, state: TaskState, forge: GitHub) -> PullRequest:
    """Push the branch and its handoffs, and return the pull request that stands for it afterwards."""
    history = home.history(state)
    standing = forge.find(state.branch_name)
    carried = _push(home, state, forge)
    draft = _draft(home, state, history, checkable=carried)
    if standing is None:
        return forge.create(draft)
    opened_by_reviewer = _approval(history) is None
    return standing if opened_by_reviewer else forge.update(standing.number, draft.title, draft.body)


def _push(home: Home, state: TaskState, forge: GitHub) -> bool:
    """Bring branch, notes and refs to origin, no upstream is set; tell whether it has taken more than the branch."""
    with home.origin(forge) as remote:
        try:
            transfer.push(remote.repository, remote, state.branch_name, nullcontext)
        except NotReadyError as error:
            transfer.push_branch(remote.repository, remote, state.branch_name)
            why = f"the branch is pushed, but not all of its handoffs: {error.message}"
            home.around.emit(
                Warned(f"{why}. 'rgr push' tries again; only with them 'rgr verify' works elsewhere")
            )
            return False
    return True


def _draft(home: Home, state: TaskState, history: list[Entry], *, checkable: bool) -> Draft:
    approval = _approval(history)
    words = approval.facts if approval else NO_FACTS
    tip = home.tip(state.task_id, state.branch_name)
    inner = [
        entry.handoff
        for number in range(1, state.current_iteration + 1)
        if state.tdd
        for entry in reversed(list(home.ledger.history(inner_run_id(state.task_id, number), tip or "HEAD")))
    ]
    told = PullRequestMatter(
        task_id=state.task_id,
        words=words.body or "",
        base=state.worktree.base_branch,
        branch=state.branch_name,
        history=history,
        inner=inner,
        checkable=checkable,
    )
    title = words.title or title_of(state.original_spec) or state.branch_name
    return Draft(title, body(told), state.branch_name, state.worktree.base_branch)


def _approval(history: list[Entry]) -> Handoff | None:
    return next(
        (
            entry.handoff
            for entry in history
            if entry.handoff.phase is PhaseName.REVIEW and entry.handoff.facts.verdict == "approve"
        ),
        None,
    )


# --- a coder that is a whole run


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
