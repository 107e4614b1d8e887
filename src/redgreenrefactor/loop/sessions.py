"""Who works at each phase, and what a session is told."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from redgreenrefactor.model.decision import built_on, cycle_of, diagnosis_due
from redgreenrefactor.model.events import (
    Emit,
    SessionBegan,
    SessionEnded,
    SessionReported,
    SessionSaid,
    TurnStarted,
)
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.planning import next_case
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.rollback import attempts_left_behind
from redgreenrefactor.model.session import Brief, Report
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import Phase, PhaseName, Workflow
from redgreenrefactor.ports import Agent, Greeting, Probing, Workspace


class Briefing(Protocol):
    """Writes briefs: each workflow tells its sessions something else."""

    def brief(self, phase: Phase, handoff: Handoff, attempt: int) -> Brief:
        """Return everything one session is told."""
        ...


@frozen
class Sessions:
    """The agents of a run and their briefs, in the checkout they work in."""

    workspace: Workspace
    agents: Mapping[PhaseName, Agent]
    briefing: Briefing
    emit: Emit
    clock: Callable[[], float]
    plans_ahead: bool = True  # no session is asked for what the latest PLAN has said already
    resumes: bool = False  # a retry goes on with the session whose work was rejected

    def planned(self, handoff: Handoff) -> Case | None:
        """Return the case that is due to be opened without a session, if there is one."""
        return next_case(handoff) if self.plans_ahead else None

    def attempt_due(self, handoff: Handoff, phase: Phase) -> int:
        """Return the number of the attempt that is due; no number is used twice."""
        cycle = cycle_of(handoff)
        kept = self.workspace.last_attempt(handoff.run_id, cycle, phase.name)
        return max(handoff.attempts_due, kept, attempts_left_behind(handoff, cycle, phase.name)) + 1

    def probe(self, workflow: Workflow, handoff: Handoff) -> None:
        """Let the agents find out whether they can work at all; if one cannot, that is a NotReadyError.

        The one whose turn it is begins its session; those that come later are only asked for a word, first, because
        that costs least.
        """
        phase = workflow.phase(handoff.next_phase)
        attempt = self.attempt_due(handoff, phase)
        first = diagnosis_due(handoff, phase, attempt) or phase
        agent = self.agents[first.name]
        for later in self.agents.values():
            if later is not agent and isinstance(later, Greeting):
                later.greet()
        due = self.planned(handoff) is None and not self.workspace.unjudged(
            handoff.run_id, phase.name, attempt
        )
        if due and isinstance(agent, Probing):
            agent.probe(self.briefing.brief(first, handoff, attempt))

    def start(self, here: Entry, phase: Phase, attempt: int, who: str) -> None:
        """Tell who works at a phase, and remember beyond a crash that whatever appears from now on is its work."""
        handoff = here.handoff
        cases = (handoff.cases_done, handoff.cases_open)
        self.emit(TurnStarted(phase.name, cycle_of(handoff), attempt, handoff.current_test, who, *cases))
        if not phase.inner:
            self.workspace.begin(handoff.run_id, here.commit)

    def hold(self, here: Entry, phase: Phase, due: Phase, attempt: int, allowance: float | None) -> Report:
        """Let one session work at a phase, on the ground that the due phase's next try goes on from."""
        handoff, agent, started = here.handoff, self.agents[phase.name], self.clock()
        self.start(here, phase, attempt, agent.name)
        if due.builds_on and (ground := built_on(handoff)):
            self.workspace.lay_out(handoff.run_id, ground)
        brief = replace(self.briefing.brief(phase, handoff, attempt), allowance_usd=allowance)
        if self.resumes and phase is due and handoff.error is not None and handoff.rejected_session:
            brief = replace(brief, strategy="resume", continues=(handoff.rejected_session,))
        folder = self.workspace.project
        self.emit(SessionBegan(brief, agent.name, str(folder), here.commit))
        report = agent.work(brief, folder, lambda line: self.emit(SessionSaid(line)))
        seconds = self.clock() - started
        self.emit(SessionReported(report, seconds))
        self.emit(SessionEnded(seconds, failed=report.failure is not None))
        return report
