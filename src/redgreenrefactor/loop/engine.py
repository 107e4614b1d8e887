"""The loop that does, again and again, what the latest handoff says comes next."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from redgreenrefactor.errors import InterruptedRunError, RgrError, StoppedRunError
from redgreenrefactor.gates import Gate
from redgreenrefactor.gates.rules.answers import said
from redgreenrefactor.gates.rules.scope import history
from redgreenrefactor.loop.budget import RunLimits, Spent
from redgreenrefactor.loop.finished_turn import FinishedTurn, Hooks, cost_of, description_of
from redgreenrefactor.loop.lab import Judge, brought_by_red
from redgreenrefactor.loop.sessions import Sessions
from redgreenrefactor.model.decision import (
    Finish,
    Halt,
    Turn,
    accepted,
    attempted,
    cycle_of,
    decide,
    diagnosis_due,
    exhausted,
    finished,
    may_be_built_on,
    rejected,
    stopped,
    unmeasured,
    with_uncommitted,
)
from redgreenrefactor.model.events import Diagnosed, Emit, Judged, Paused, TurnStarted, Warned, WorkSealed
from redgreenrefactor.model.evidence import Change, Evidence, Rules
from redgreenrefactor.model.goal import LIST, Plan
from redgreenrefactor.model.handoff import Diagnosis, Expense, Handoff, State
from redgreenrefactor.model.planning import OURSELVES, answer, opened
from redgreenrefactor.model.result import Entry, RunStatus
from redgreenrefactor.model.session import Report
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import (
    STOPPING,
    Finding,
    FindingType,
    Outcome,
    Ruling,
    Severity,
    Verdict,
    rule,
)
from redgreenrefactor.model.workflow import Phase, PhaseName, Workflow
from redgreenrefactor.ports import (
    Ledger,
    Sealed,
    SealedWork,
    SessionInterruptedError,
    SessionStoppedError,
    Workspace,
)

BUDGET = FindingType.BUDGET_EXCEEDED
DOUBLINGS = 10  # waits stop growing after so many retries


@frozen
class Ended:
    """How an invocation ended, and where."""

    status: RunStatus
    entry: Entry
    reason: str = ""
    type: FindingType | None = None  # of the reason, where the handoff does not tell


@frozen
class Engine:
    """Everything that the turns of one run need."""

    workflow: Workflow
    gates: Mapping[PhaseName, Gate]
    hooks: Hooks
    workspace: Workspace
    ledger: Ledger
    lab: Judge
    sessions: Sessions
    plan_at: Callable[[str], Plan]  # the list of cases at a commit
    rules: Rules
    emit: Emit
    clock: Callable[[], float]
    now: Callable[[], str]
    pause: Callable[[float], None]
    opening: str  # the commit that the run began from
    ours: frozenset[str] = frozenset()  # tests that earlier runs have written
    backoff: float = 1.0
    command: str = ""  # the test command
    noted: Callable[[Handoff], Handoff] = lambda note: note  # with what every note says beside

    def run(self, start: Entry, limits: RunLimits) -> Ended:
        """Take turns until the work is done, cannot be done, or a limit is reached."""
        here, cycles, spent = start, 0, Spent(limits.spent_usd)
        try:
            while (ended := self._ended(here, limits, cycles, spent)) is None:
                phase = self.workflow.phase(here.handoff.next_phase)
                here, looked = self._diagnosed(here, phase, spent.left(limits))
                spent = spent.plus(looked)
                there, cost = self._turn(here, phase, spent.left(limits, whole=phase.inner))
                advanced, here = there.commit != here.commit, there
                cycles += advanced and here.handoff.next_phase is self.workflow.first.name
                spent = spent.plus(cost, over=advanced)
                here = self._settled(self._approved(here) if advanced else here)
                self._rest(here)
        except InterruptedRunError as error:
            return Ended(RunStatus.INTERRUPTED, self._stopped(_billed(here, error)), error.message)
        except StoppedRunError as error:
            # Of an inner run, or of a session that could not say why a try failed.
            why = FindingType(error.type)
            here = self._stopped(_billed(here, error), why=why)
            return Ended(RunStatus.STOPPED, here, error.message, why)
        return ended

    def _ended(self, here: Entry, limits: RunLimits, cycles: int, spent: Spent) -> Ended | None:
        """Return why there is no next turn, None if there is one."""
        decision = decide(self.workflow, here.handoff)
        if isinstance(decision, Finish):
            return Ended(RunStatus.COMPLETE, here)
        if isinstance(decision, Halt):
            failed = here.handoff.state is State.ABORTED
            why = "the list waits for approval" if here.handoff.awaiting else here.handoff.error or ""
            return Ended(RunStatus.FAILED if failed else RunStatus.STOPPED, here, why)
        opens = decision.phase is self.workflow.first
        if limits.max_cycles is not None and opens and cycles >= limits.max_cycles:
            return Ended(RunStatus.STOPPED, self._stopped(here), f"--max-cycles {limits.max_cycles} reached")
        if reason := spent.over(limits):
            return Ended(RunStatus.STOPPED, self._stopped(here, why=BUDGET), reason, BUDGET)
        return None

    def _rest(self, here: Entry) -> None:
        """Wait before a retry, longer each time."""
        if here.handoff.error is None or here.handoff.state is not State.RUNNING:
            return
        seconds = self.backoff * 2 ** min(here.handoff.retry_count - 1, DOUBLINGS)
        self.emit(Paused(seconds))
        self.pause(seconds)

    # --- one turn

    def _turn(self, here: Entry, phase: Phase, allowance: float | None) -> tuple[Entry, float]:
        """Take one turn; return what follows and what it cost. An interrupted one leaves no trace but what is kept."""
        # An inner run goes on where it was interrupted.
        with nullcontext() if phase.inner else self._cut_off():
            done = self._done(here, phase, allowance)
        return self._recorded(done), cost_of(done.report)

    def _done(self, here: Entry, phase: Phase, allowance: float | None) -> FinishedTurn:
        """Let a session work, seal what it did, and judge it."""
        handoff = here.handoff
        cycle, attempt = cycle_of(handoff), self.sessions.attempt_due(handoff, phase)
        work = self._left(here, phase, attempt) or self._sealed(here, phase, attempt, allowance)
        sealed, report, started = work.sealed, work.report, self.clock()
        changes = self.workspace.changes(here.commit, sealed.commit)
        self.emit(WorkSealed(sealed.commit, sealed.subject, self.workspace.prefix, changes))
        for line in sealed.advice:
            self.emit(Warned(line))
        verdict = self._verdict(here, phase, report, sealed, changes)
        turn = Turn(
            phase, cycle, attempt, self.plan_at(sealed.commit), self.now(), said(report.message, "replan")
        )
        seconds = work.seconds + self.clock() - started
        return FinishedTurn(here, turn, sealed, verdict, report, work.agent, seconds, bool(changes))

    def _left(self, here: Entry, phase: Phase, attempt: int) -> SealedWork | None:
        """Take up what was sealed for this very attempt and not judged, because that was cut off; it is paid already."""
        work = self.workspace.unjudged(here.handoff.run_id, phase.name, attempt)
        if work is None or work.base != here.commit:
            return None
        cycle, case = cycle_of(here.handoff), here.handoff.current_test
        self.emit(TurnStarted(phase.name, cycle, attempt, case, work.agent))
        self.emit(Warned("this session had come to its end when the run was cut off: its work is judged now"))
        self.workspace.take_up(work)
        usage = work.report.usage
        paid = (usage.cost_usd if usage else None) or 0.0
        return replace(work, report=replace(work.report, paid_before=paid))

    def _sealed(self, here: Entry, phase: Phase, attempt: int, allowance: float | None) -> SealedWork:
        """Let a session work, and seal what it did; that is remembered until it is judged."""
        handoff, started = here.handoff, self.clock()
        agent, report = self._worked(here, phase, attempt, allowance)
        base = self._worked_on(here, phase)
        empty = phase.inner or phase.may_be_empty or handoff.outcome is Outcome.WARNED
        sealed = self.workspace.seal(
            base, phase, description_of(phase, handoff), empty=empty and report.failure is None
        )
        seconds = self.clock() - started
        work = SealedWork(handoff.run_id, base, phase.name, attempt, agent, report, sealed, seconds)
        if report.failure is None and not phase.inner:
            self.workspace.remember(work)
        return work

    def _worked(self, here: Entry, phase: Phase, attempt: int, allowance: float | None) -> tuple[str, Report]:
        """Let a session work, or open the cycle that the latest plan has named; return who did it, and what was said."""
        handoff = here.handoff
        case = self.sessions.planned(handoff)
        listed = self.workspace.read(here.commit, LIST) if case else None
        text = opened(listed[1], self.plan_at(here.commit), handoff, case) if case and listed else None
        if case is None or text is None:
            report = self.sessions.hold(here, phase, phase, attempt, allowance)
            return self.sessions.agents[phase.name].name, report
        self.sessions.start(here, phase, attempt, OURSELVES)
        self.workspace.write_list(text)
        return OURSELVES, Report(answer(case, handoff.upcoming))

    def _worked_on(self, here: Entry, phase: Phase) -> str:
        """Return the commit that the turn's own goes on top of: the last one of an inner run, whose commits stay."""
        if not phase.inner:
            return here.commit
        head = self.workspace.head()
        self.workspace.begin(here.handoff.run_id, head)
        return head

    def _diagnosed(self, here: Entry, phase: Phase, allowance: float | None) -> tuple[Entry, float]:
        """Let a session say why the last try was rejected; whatever it changed is undone, what it said is noted."""
        attempt = self.sessions.attempt_due(here.handoff, phase)
        looking = diagnosis_due(here.handoff, phase, attempt)
        if looking is None:
            return here, 0.0
        started = self.clock()
        with self._cut_off():
            report = self.sessions.hold(here, looking, phase, attempt, allowance)
        self.workspace.abandon()
        if report.failure is not None and report.failure.type in STOPPING:
            raise SessionStoppedError(report.failure, report.usage)
        message = report.failure.message if report.failure else report.message
        found = Diagnosis(attempt, message, report.failure is not None)
        used = Expense(report.usage, self.clock() - started)
        handoff = replace(here.handoff, diagnosis=found, due=here.handoff.due_expense + used)
        self.ledger.write({here.commit: handoff})
        self.emit(Diagnosed(attempt, message, failed=report.failure is not None))
        return Entry(here.commit, handoff), cost_of(report)

    def _verdict(
        self, here: Entry, phase: Phase, report: Report, sealed: Sealed, changes: tuple[Change, ...]
    ) -> Verdict:
        noticed = [
            Finding(FindingType.SCOPE_VIOLATION, warning, severity=Severity.WARNING)
            for warning in (*sealed.warnings, *report.refused)
        ]
        evidence = Evidence(
            phase=phase.name,
            case=here.handoff.current_test,
            base=here.commit,
            head=sealed.commit,
            opening=self.opening,
            changes=changes,
            report=report,
            handoff=here.handoff,
            ours=self.ours,
            earlier=self.workspace.changes(None, here.commit) if here.handoff.leads_on else (),
            plan_before=self.plan_at(here.commit),
            plan_after=self.plan_at(sealed.commit),
            rewritten=sealed.rewritten,
            pushed=sealed.pushed,
            prefix=self.workspace.prefix,
            command=self.command,
            rules=self.rules,
            read=self.workspace.source,
            brought=lambda path: brought_by_red(self.ledger.history(), self.workspace, path),
        )
        if report.failure is not None:
            return rule(report.failure, *history(evidence), *noticed)
        verdict = self.lab.judge(self.gates[phase.name](evidence))
        return replace(verdict, findings=(*verdict.findings, *noticed))

    # --- what follows

    def _recorded(self, done: FinishedTurn) -> Entry:
        record = {
            Ruling.ACCEPTED: self._accepted,
            Ruling.REJECTED: self._rejected,
            Ruling.UNDECIDED: self._undecided,
        }
        return record[done.verdict.ruling](done)

    def _accepted(self, done: FinishedTurn) -> Entry:
        note = self._noted(done, accepted(done.here.handoff, done.turn, done.verdict))
        note = replace(note, suite_run=self.lab.keep_result(done.sealed.commit))
        handoff = exhausted(self.workflow, note)
        self.ledger.write({done.sealed.commit: handoff})
        self.workspace.end()
        self._judged(done, aborts=handoff.state is State.ABORTED)
        return Entry(done.sealed.commit, handoff)

    def _rejected(self, done: FinishedTurn) -> Entry:
        """Keep the attempt, write down why it was rejected, and only then go back."""
        here, turn = done.here, done.turn
        made = done.sealed.commit != here.commit and not turn.phase.inner
        kept = f"{turn.cycle}-{turn.phase.name}-{turn.attempt}" if made else ""
        shown = kept if done.changed else ""
        after = rejected(here.handoff, turn, done.verdict, retries=self.rules.retries, kept=shown)
        after = replace(after, due=done.due, rejected_session=done.report.session or None)
        notes = {here.commit: after}
        if made:
            self.workspace.set_aside(done.sealed.commit, after.run_id, kept)
            if turn.phase.builds_on and may_be_built_on(done.verdict):
                notes[here.commit] = replace(notes[here.commit], builds_on=kept)
            notes[done.sealed.commit] = self._noted(done, attempted(here.handoff, turn, done.verdict))
        elif done.sealed.commit == here.commit:
            notes[here.commit] = with_uncommitted(notes[here.commit], turn)
        if turn.phase.builds_on and after.state is State.ABORTED:
            self.workspace.keep(after.run_id, here.commit, f"{turn.phase.name} given up")
        self.ledger.write(notes)
        if not turn.phase.inner:
            self.workspace.rewind(here.commit)
        self.workspace.end()
        self._judged(done, aborts=after.state is State.ABORTED)
        return Entry(here.commit, notes[here.commit])

    def _noted(self, done: FinishedTurn, note: Handoff) -> Handoff:
        note = self.noted(done.told_in(note))
        return self.hooks.remembered(note, done.here.handoff, done.turn, done.report)

    def _undecided(self, done: FinishedTurn) -> Entry:
        here = done.here
        why = str(done.report.failure.type) if done.report.failure else "undecided attempt"
        self.workspace.keep(here.handoff.run_id, here.commit, why)
        after = replace(unmeasured(here.handoff, done.turn, done.verdict), due=done.due)
        self.ledger.write({here.commit: after})
        self.workspace.rewind(here.commit)
        self.workspace.end()
        self._judged(done)
        return Entry(here.commit, after)

    def _judged(self, done: FinishedTurn, *, aborts: bool = False) -> None:
        turn, sealed = done.turn, done.sealed
        commit = sealed.commit if sealed.commit != done.here.commit else None
        self.emit(
            Judged(
                turn.phase.name,
                turn.cycle,
                turn.attempt,
                done.verdict,
                commit,
                sealed.subject if commit else "",
                done.seconds,
                aborts=aborts,
                builds_on=turn.phase.builds_on and may_be_built_on(done.verdict),
            ),
        )

    @contextmanager
    def _cut_off(self) -> Generator[None]:
        """Leave the workspace as it was before a session that is interrupted in here; its work stays reachable."""
        try:
            yield
        except InterruptedRunError:
            if kept := self.workspace.abandon():
                self.emit(Warned(f"what the interrupted session had done is kept at {kept}"))
            raise

    def _stopped(self, here: Entry, *, awaiting: str | None = None, why: FindingType | None = None) -> Entry:
        after = stopped(here.handoff, self.now(), awaiting=awaiting, why=why)
        self.ledger.write({here.commit: after})
        return Entry(here.commit, after)

    def _settled(self, entry: Entry) -> Entry:
        """Be done where the last phase of a round was worked at, and what was asked for is there already."""
        handoff = entry.handoff
        looked = PhaseName.REVIEW in (handoff.phase, handoff.next_phase if handoff.error else None)
        if not looked or handoff.next_phase is PhaseName.COMPLETE or not self.hooks.reached():
            return entry
        after = finished(handoff, self.now())
        self.ledger.write({entry.commit: after})
        return Entry(entry.commit, after)

    def _approved(self, entry: Entry) -> Entry:
        """Let a person see the first list before anything is built on it."""
        handoff = entry.handoff
        first = handoff.phase is PhaseName.PLAN and handoff.cycle_number == 1
        if not self.hooks.needs_approval or not first or handoff.next_phase is PhaseName.COMPLETE:
            return entry
        waiting = self._stopped(entry, awaiting="approval")  # also for whoever finds the list half edited
        approved = self.hooks.approved(entry)
        if approved is None:
            return waiting
        self.ledger.write({approved.commit: approved.handoff})
        return approved


def _billed(here: Entry, error: RgrError) -> Entry:
    """Return where a run stands with what a session had used that was ended: it is to be paid all the same."""
    if not isinstance(error, SessionInterruptedError | SessionStoppedError):
        return here
    due = here.handoff.due_expense + Expense(error.usage)
    return Entry(here.commit, replace(here.handoff, due=due))
