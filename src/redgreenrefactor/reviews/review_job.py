"""Coder and reviewer in a worktree, until their work is approved, given up or stopped."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.errors import ForgeError
from redgreenrefactor.forge.github import GitHub
from redgreenrefactor.gates import INNER_GATES, REVIEW_GATES
from redgreenrefactor.lifecycle.factory import Factory, now
from redgreenrefactor.lifecycle.feature import FeatureJob
from redgreenrefactor.lifecycle.project import OpenProject, open_project
from redgreenrefactor.lifecycle.run import assemble, begin, go_on
from redgreenrefactor.loop.engine import Ended
from redgreenrefactor.loop.workflows import review
from redgreenrefactor.model.events import Event, Judged, Warned
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import RunStatus, WorkflowResult, result_of
from redgreenrefactor.model.review_task import TaskState, TaskStatus, feedback_of, rebuilt
from redgreenrefactor.model.verdict import Severity
from redgreenrefactor.model.workflow import Phase, PhaseName
from redgreenrefactor.ports import Agent, Suite
from redgreenrefactor.prompts.rounds import Round
from redgreenrefactor.reviews.home import Home
from redgreenrefactor.reviews.inner_run import InnerJob, InnerRun
from redgreenrefactor.reviews.publishing import published


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
