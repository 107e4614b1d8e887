"""Where a workflow does something between the turns of its run."""

from redgreenrefactor.model.decision import Turn
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.session import Report


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
