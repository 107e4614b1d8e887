"""A turn that is over and judged: what its commit is called, and what its note says beside the verdict."""

from dataclasses import replace

from redgreenrefactor.model.decision import Turn, cycle_of
from redgreenrefactor.model.goal import title_of
from redgreenrefactor.model.handoff import Expense, Handoff
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.session import Report
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Verdict
from redgreenrefactor.model.workflow import Phase, PhaseName
from redgreenrefactor.ports import Sealed

TITLE = 72  # characters of what was asked for that become a commit's subject


@frozen
class FinishedTurn:
    """A turn that is over and judged, not yet recorded."""

    here: Entry
    turn: Turn
    sealed: Sealed
    verdict: Verdict
    report: Report
    agent: str
    seconds: float
    changed: bool  # anything: a commit may be empty

    def told_in(self, note: Handoff) -> Handoff:
        """Return a note that says who worked, and what it took."""
        return replace(
            note,
            agent=self.agent,
            model=self.report.model or None,
            agent_version=self.report.version or None,
            agent_held=self.report.held or None,
            agent_session=self.report.session or None,
            usage=self.due.usage,
            seconds=self.due.seconds,
            retries=self.turn.attempt - 1,
            sealed=self.sealed.resealed or None,
            signed=self.sealed.signed,
        )

    @property
    def due(self) -> Expense:
        """What the attempts at the due phase have used so far, this one included."""
        return self.here.handoff.due_expense + Expense(self.report.usage, self.seconds)


def cost_of(report: Report) -> float:
    """Return what a session cost, as far as it said."""
    return (report.usage.cost_usd or 0.0) - report.paid_before if report.usage else 0.0


def description_of(phase: Phase, handoff: Handoff) -> str:
    """Return what a commit is about whose session gave it no message."""
    if phase.name is PhaseName.PLAN:
        return "update the list of cases" if handoff.cycle_number else "list the cases"
    if phase.name is PhaseName.REVIEW:
        return f"round {cycle_of(handoff)}"
    if handoff.current_test:
        return handoff.current_test.description
    return title_of(handoff.feature)[:TITLE]


class Hooks:
    """What a workflow does beside its turns; these do nothing."""

    needs_approval: bool = False  # a person is to see the first list

    def remembered(self, note: Handoff, before: Handoff, turn: Turn, report: Report) -> Handoff:  # noqa: ARG002
        """Return a turn's note with what else it says; the turn started from the one before."""
        return note

    def approved(self, entry: Entry) -> Entry | None:
        """Let a person change the first list; return where the run goes on, None if it has to wait."""
        return entry

    def reached(self) -> bool:
        """Tell whether what was asked for is there, whatever the last phase of a round said."""
        return False
