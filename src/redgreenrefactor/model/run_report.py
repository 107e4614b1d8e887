"""A run as its report tells it: cycle by cycle, each turn with its verdict and with what it changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from redgreenrefactor.model.codec import Json, written
from redgreenrefactor.model.decision import cycle_of
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import Expense, Handoff, State, to_object
from redgreenrefactor.model.result import Entry, expense_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Outcome
from redgreenrefactor.model.workflow import PhaseName

DONE = ("done", "covered")  # outcomes of a cycle whose case is finished


@frozen
class Patch:
    """What a commit says and changes, as git prints it."""

    subject: str = ""
    text: str = ""


NO_PATCH = Patch()


@frozen
class ReportedTurn:
    """One turn: the commit it left, its note, and what it changed."""

    commit: str  # nothing where an attempt left none
    handoff: Handoff
    accepted: bool
    patch: Patch = NO_PATCH

    @property
    def name(self) -> str:
        """What the turn is called: its cycle, phase and attempt."""
        return f"{self.handoff.cycle_number}-{self.handoff.phase}-{self.attempt}"

    @property
    def attempt(self) -> int:
        """Which attempt at its phase it was; a note that was written again since speaks of the next phase's."""
        note = self.handoff
        return (note.retries or 0) + 1 if self.accepted and note.error is not None else note.attempts

    @property
    def moment(self) -> str:
        """When it was judged."""
        return self.handoff.accepted_at or self.handoff.timestamp


@frozen
class ReportedCycle:
    """The turns of one case, in the order they were taken."""

    number: int
    turns: tuple[ReportedTurn, ...]
    outcome: str  # done, covered, approved, feedback, failed, unfinished; closed: the PLAN that found no case

    @property
    def case(self) -> Case | None:
        """The case that was worked at."""
        return self.turns[-1].handoff.current_test

    @property
    def accepted(self) -> Mapping[PhaseName, ReportedTurn]:
        """The turn that was accepted, by phase."""
        return {turn.handoff.phase: turn for turn in self.turns if turn.accepted}

    @property
    def rejected(self) -> tuple[ReportedTurn, ...]:
        """The attempts that were not."""
        return tuple(turn for turn in self.turns if not turn.accepted)

    @property
    def seconds(self) -> float:
        """How long its accepted turns took, the rejected attempts before each included."""
        return sum(turn.handoff.seconds or 0.0 for turn in self.turns if turn.accepted)

    @property
    def judged_seconds(self) -> float:
        """How much of that the gates took, as far as it was noted."""
        return sum(turn.handoff.facts.judged_seconds or 0.0 for turn in self.turns)

    @property
    def suite_seconds(self) -> float:
        """How much of that the runs of the whole suite took."""
        return sum(turn.handoff.facts.suite_seconds or 0.0 for turn in self.turns)


@frozen
class RunReport:
    """All that is told of one run."""

    latest: Entry
    cycles: tuple[ReportedCycle, ...]
    expense: Expense
    began: str  # when; nothing where the beginning is not among what was read
    at_work: bool = False  # somebody is, right now
    whole: bool = True  # from the opening on

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.latest.handoff.run_id

    @property
    def feature(self) -> str:
        """What was asked for."""
        return self.latest.handoff.feature

    @property
    def status(self) -> str:
        """How it stands: complete, failed, stopped, running, or cut off."""
        match self.latest.handoff.state:
            case _ if self.latest.handoff.next_phase is PhaseName.COMPLETE:
                return "complete"
            case State.ABORTED:
                return "failed"
            case State.STOPPED:
                return "stopped"
            case _:
                return "running" if self.at_work else "cut off"

    @property
    def cases_open(self) -> int:
        """How many cases are not done: the one in work, and those of the list."""
        note = self.latest.handoff
        working = note.next_phase in (PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)
        return note.cases_open + (1 if working and note.current_test else 0)

    def due_in(self, cycle: ReportedCycle) -> PhaseName | None:
        """Return the phase of a cycle that somebody is at work at."""
        note = self.latest.handoff
        here = self.status == "running" and cycle_of(note) == cycle.number
        return note.next_phase if here else None

    @property
    def clock_seconds(self) -> float | None:
        """How long it took by the clock, from its opening to its latest handoff; None where that is not known."""
        try:
            ends = [datetime.fromisoformat(moment) for moment in (self.began, self.latest.handoff.timestamp)]
        except ValueError:
            return None
        return max((ends[1] - ends[0]).total_seconds(), 0.0)

    @property
    def turns(self) -> tuple[ReportedTurn, ...]:
        """Every turn, in the order they were taken."""
        return tuple(turn for cycle in self.cycles for turn in cycle.turns)


def run_report(
    entries: Sequence[Entry], patches: Mapping[str, Patch], *, at_work: bool = False
) -> RunReport | None:
    """Return the report of a run whose handoffs and attempts these are, newest first; None where there are none."""
    own = [entry for entry in entries if entry.handoff.carried_from is None]
    handoffs = [entry for entry in entries if not entry.is_attempt]
    if not handoffs:
        return None
    turns = [
        ReportedTurn(entry.commit, entry.handoff, not entry.is_attempt, patches.get(entry.commit, NO_PATCH))
        for entry in reversed(own)
        if entry.handoff.cycle_number > 0
    ]
    opening = own[-1].handoff if own and own[-1].handoff.cycle_number == 0 else None
    return RunReport(
        latest=handoffs[0],
        cycles=tuple(_cycles(turns, handoffs[0].handoff)),
        expense=expense_of(handoffs),
        began=(opening.accepted_at or opening.timestamp) if opening else "",
        at_work=at_work,
        whole=opening is not None,
    )


def _cycles(turns: Iterable[ReportedTurn], latest: Handoff) -> Iterator[ReportedCycle]:
    grouped: dict[int, list[ReportedTurn]] = {}
    for turn in turns:
        grouped.setdefault(turn.handoff.cycle_number, []).append(turn)
    for number in sorted(grouped):
        yield ReportedCycle(number, tuple(grouped[number]), _outcome(grouped[number], latest))


def _outcome(turns: Sequence[ReportedTurn], latest: Handoff) -> str:
    last = next((turn.handoff for turn in reversed(turns) if turn.accepted), None)
    if last is not None and last.outcome in (Outcome.COVERED, Outcome.APPROVED, Outcome.FEEDBACK):
        return str(last.outcome)
    if last is not None and last.phase is PhaseName.REFACTOR:
        return "done"
    if last is not None and last.next_phase is PhaseName.COMPLETE:
        return "closed"
    given_up = latest.state is State.ABORTED and cycle_of(latest) == turns[-1].handoff.cycle_number
    return "failed" if given_up else "unfinished"


def report_object(run: RunReport) -> Json:
    """Return what `rgr report --format json` prints of a run."""
    return {
        "runId": run.run_id,
        "feature": run.feature,
        "status": run.status,
        "head": run.latest.commit,
        "startedAt": run.began or None,
        "casesDone": run.latest.handoff.cases_done,
        "casesOpen": run.cases_open,
        "usage": written(run.expense.usage),
        "seconds": run.expense.seconds,
        "judgedSeconds": round(sum(cycle.judged_seconds for cycle in run.cycles), 3),
        "clockSeconds": run.clock_seconds,
        "cycles": [_cycle_object(cycle) for cycle in run.cycles],
    }


def _cycle_object(cycle: ReportedCycle) -> Json:
    return {
        "cycleNumber": cycle.number,
        "test": cycle.case.description if cycle.case else None,
        "outcome": cycle.outcome,
        "turns": [turn_object(turn) for turn in cycle.turns],
    }


def turn_object(turn: ReportedTurn) -> Json:
    """Return what is told of a turn in JSON."""
    return {
        "turn": turn.name,
        "ruling": "accepted" if turn.accepted else "rejected",
        "commit": turn.commit or None,
        "subject": turn.patch.subject,
        "diff": turn.patch.text,
        "handoff": to_object(turn.handoff),
    }
