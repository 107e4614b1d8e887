"""A run as a chain of commits and notes: who follows whom, and where the chain ends."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from redgreenrefactor.errors import RgrError
from redgreenrefactor.gates import REVIEW_GATES, TDD_GATES, Gate
from redgreenrefactor.gates.rules.note_claims import RESTORE
from redgreenrefactor.gates.task import task_gates
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.objects import Commit
from redgreenrefactor.git.sealing import fits
from redgreenrefactor.goals.task_file import task_from
from redgreenrefactor.loop.workflows import PLAIN, TDD, review, taskfile
from redgreenrefactor.model.chain import of_run, runs_of
from redgreenrefactor.model.handoff import Handoff, ReviewMark, TaskFileMark
from redgreenrefactor.model.proof import ROUND, WORKED, Link
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.review_task import task_id_of, task_of
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.values import field, frozen
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.model.workflow import PhaseName, Workflow

Wanted = Collection[str] | None  # the commits that are asked for, None for all


ROUNDS = (PhaseName.CODE, PhaseName.REVIEW)


@frozen
class RunTable:
    """How a run was made: its table, and its task where it did the work of a task file."""

    workflow: Workflow = TDD
    gates: Mapping[PhaseName, Gate] = field(default_factory=lambda: TDD_GATES)
    task: Task | None = None
    unknown: str = ""  # why its turns cannot be judged; nothing: they can

    @property
    def in_rounds(self) -> bool:
        """Whether its turns are rounds of code, and not cycles of a test."""
        return self.workflow.first.name is PhaseName.CODE

    def knows(self, phase: PhaseName) -> bool:
        """Tell whether the table has such a phase."""
        return any(row.name is phase for row in self.workflow.phases)


def table_of(handoffs: Sequence[Handoff]) -> RunTable:
    """Return how the run was made that these handoffs are of, the newest first."""
    named = next((found.workflow for found in handoffs if found.workflow), None)
    task = next((found.task for found in handoffs[::-1] if found.task), None)
    if named in (PLAIN.name, taskfile(1).name):
        return _of_task_file(task if isinstance(task, TaskFileMark) else None)
    if any(found.phase in ROUNDS for found in handoffs):
        return RunTable(review(1, tdd=isinstance(task, ReviewMark) and task.tdd), REVIEW_GATES)
    return RunTable()


@frozen
class RecordedRun:
    """One run along the first parents of a commit: its turns, oldest first, and what is wrong with their order."""

    run_id: str
    last: Entry
    table: RunTable
    links: tuple[Link, ...]
    findings: tuple[tuple[int, Finding], ...] = ()  # each with its cycle
    baseline: str | None = None  # where the tests are that were there before the run; None: out of reach
    lost: Entry | None = None  # the oldest turn, where what it started from is out of reach
    carries: tuple[tuple[Entry, Entry], ...] = ()  # handoffs that were carried over: from where, and to where

    @property
    def commits(self) -> frozenset[str]:
        """The commits of its turns."""
        lost = [self.lost.commit] if self.lost else []
        return frozenset([*(link.after.commit for link in self.links), *lost])

    @property
    def cycles(self) -> list[int]:
        """The numbers of its cycles, as far as anything is known of them."""
        numbers = {link.after.handoff.cycle_number for link in self.links}
        numbers |= {self.lost.handoff.cycle_number} if self.lost else set()
        numbers |= {after.handoff.cycle_number for _, after in self.carries if after.handoff.cycle_number}
        return sorted(numbers | {number for number, _ in self.findings})

    def links_of(self, cycle: int) -> list[Link]:
        """Return the turns of a cycle."""
        return [link for link in self.links if link.after.handoff.cycle_number == cycle]

    def entries(self, cycle: int) -> Iterator[Entry]:
        """Yield the handoffs of a cycle, whether what they started from is there or not."""
        if self.lost and self.lost.handoff.cycle_number == cycle:
            yield self.lost
        yield from (link.after for link in self.links_of(cycle))

    def is_asked_for(self, cycle: int, wanted: Wanted) -> bool:
        """Tell whether one of these commits is a cycle's."""
        return wanted is None or any(entry.commit in wanted for entry in self.entries(cycle))

    def has_lost(self, cycle: int) -> bool:
        """Tell whether a cycle's work is there, but not what it started from."""
        lost = self.lost.handoff if self.lost else None
        return lost is not None and lost.cycle_number == cycle and lost.phase in (*WORKED, *ROUND)

    def out_of_reach(self, wanted: Wanted) -> Iterator[str]:
        """Yield what of it cannot be looked at."""
        if self.lost is not None and wanted is None:
            lost = self.lost.handoff
            yield (
                f"history ends at {self.lost.commit[:10]}, {lost.phase} of cycle {lost.cycle_number}: "
                "what lies before it was not looked at"
            )
        last = self.last.handoff
        if last.next_phase is not PhaseName.COMPLETE:
            yield f"the run is not finished ({last.state}): {last.next_phase} is due"


def runs_along(ledger: GitLedger, tip: str, wanted: Wanted) -> list[str]:
    """Return the runs with a turn of theirs on these commits, newest first.

    Where none are named that is the latest run, and with it all that belong to the same task.
    """
    found: dict[str, None] = {}
    for commit, handoff in ledger.along(tip):
        if wanted is not None and commit.oid not in wanted:
            continue
        for one in runs_of(handoff):
            if wanted is not None and one.cycle_number > 0:
                found.setdefault(one.run_id)
            elif wanted is None and (not found or _family(one.run_id) == _family(next(iter(found)))):
                found.setdefault(one.run_id)
                if _begins(one):
                    return list(found)
    return list(found)


def _family(run_id: str) -> str:
    return task_of(run_id) or run_id


def _begins(handoff: Handoff) -> bool:
    """Tell whether nothing older belongs to the same task."""
    return _opens(handoff) and task_of(handoff.run_id) in (None, task_id_of(handoff.run_id))


def recorded_run(ledger: GitLedger, tip: str, run_id: str, *, shallow: bool) -> RecordedRun | None:
    """Return a run as it lies along the first parents of a commit, None where it has no handoff there."""
    steps = _steps(ledger, tip, run_id)
    noted = [Entry(step.commit.oid, step.handoff) for step in steps if step.handoff is not None]
    if not noted:
        return None
    after = next(number for number, step in enumerate(steps) if step.handoff is not None)
    reader = _Reader(ledger, run_id, table_of([entry.handoff for entry in noted]), shallow=shallow)
    reader.read(steps[after:][::-1])
    return RecordedRun(
        run_id,
        noted[0],
        reader.table,
        tuple(reader.links),
        tuple(reader.findings),
        reader.baseline,
        reader.lost,
        tuple(reader.carries),
    )


@frozen
class _Step:
    """A commit, and what the run has noted there; `lent` tells that a turn's own run has."""

    commit: Commit
    handoff: Handoff | None
    lent: bool = False


def _steps(ledger: GitLedger, tip: str, run_id: str) -> list[_Step]:
    """Return the commits from the tip down to the run's opening, or to the end, newest first."""
    steps: list[_Step] = []
    task = task_id_of(run_id)
    for commit, handoff in ledger.along(tip):
        own = of_run(handoff, run_id) if handoff else None
        lent = task is not None and handoff is not None and task_of(handoff.run_id) == task
        steps.append(_Step(commit, own, lent))
        if own is not None and _opens(own):
            break
    while steps and steps[-1].handoff is None:
        steps.pop()  # older than the run's oldest note that is left
    return steps


def _opens(handoff: Handoff) -> bool:
    return handoff.cycle_number == 0 and handoff.carried_from is None


class _Reader:
    """Goes through the commits of a run, the oldest first, and writes down who follows whom."""

    def __init__(self, ledger: GitLedger, run_id: str, table: RunTable, *, shallow: bool) -> None:
        self._ledger, self._run_id, self._shallow = ledger, run_id, shallow
        self.table = table
        self.links: list[Link] = []
        self.findings: list[tuple[int, Finding]] = []
        self.carries: list[tuple[Entry, Entry]] = []
        self.baseline: str | None = None
        self.lost: Entry | None = None

    def read(self, steps: Sequence[_Step]) -> None:
        """Take in what the run has noted on these commits."""
        before: Entry | None = None
        between = 0
        for step in steps:
            commit, handoff = step.commit, step.handoff
            if handoff is None:
                between += not step.lent
                continue
            entry = Entry(commit.oid, handoff)
            if handoff.carried_from is not None and before is not None:
                self.carries.append((before, entry))
            elif handoff.cycle_number == 0:  # carried over or not: whatever is older was rebased away
                self.baseline = commit.oid
            elif handoff.carried_from is not None:
                self._lose(entry)
            else:
                self._add_turn(before, entry, commit, between)
            before, between = entry, 0

    def _add_turn(self, before: Entry | None, entry: Entry, commit: Commit, between: int) -> None:
        """Add a turn, or say why what it started from is not there."""
        if before is None:
            before = self._supposed(commit, entry)
            if before is None:
                self._lose(entry)
                return
            self.baseline = before.commit
        elif _opens(before.handoff) and between and commit.parents:
            self.baseline = commit.parents[0]  # rebased as a whole: what was there before is below it now
            before = Entry(commit.parents[0], before.handoff)
        phase = entry.handoff.phase
        fitting = self.table.knows(phase) and fits(commit.message, self.table.workflow.phase(phase).prefixes)
        self.links.append(Link(before, entry, commit.parents, commit.subject, fitting, between))

    def _lose(self, entry: Entry) -> None:
        """Say that what a handoff followed is not there; where history was cut off, nobody is to blame."""
        self.lost = entry
        if not self._shallow:
            missing = f"{entry.handoff.phase} {entry.commit[:10]}: the handoff it started from is missing"
            finding = Finding(FindingType.HISTORY_REWRITTEN, missing, hint=RESTORE)
            self.findings.append((entry.handoff.cycle_number, finding))

    def _supposed(self, commit: Commit, entry: Entry) -> Entry | None:
        """Return the handoff a run's first turn started from, where it was rebased away from its opening."""
        opener = self.table.workflow.first.name
        first = entry.handoff.phase is opener and entry.handoff.cycle_number == 1
        parent = next(self._ledger.along(commit.parents[0]), None) if first and commit.parents else None
        if parent is None:
            return None
        openings = (of_run(found.handoff, self._run_id) for found in self._ledger.everything())
        opening = next((found for found in openings if found and _opens(found)), None)
        blank = Handoff(opener, opener, run_id=self._run_id, feature=entry.handoff.feature)
        return Entry(parent[0].oid, opening or blank)


def tests_noted(ledger: GitLedger, run_id: str) -> frozenset[str]:
    """Return the ids of all tests that a run's notes name, wherever their commits are."""
    names: set[str] = set()
    for entry in ledger.everything():
        handoff = of_run(entry.handoff, run_id)
        names |= set(handoff.facts.new_tests if handoff else ())
    return frozenset(names)


def _of_task_file(noted: TaskFileMark | None) -> RunTable:
    """Return the table of a task, whose criteria are part of what its turns are judged by."""
    document = noted.document.value if noted and noted.document else None
    try:
        task = task_from(document, Path(noted.file or "task.json")) if noted and document else None
    except RgrError as error:
        return RunTable(PLAIN, unknown=f"its task is not one that this version knows: {error.message:.200}")
    if task is None:
        return RunTable(PLAIN, unknown="its opening note, which holds the task, is not here")
    return RunTable(taskfile(task.max_iterations) if task.tdd else PLAIN, task_gates(task), task)
