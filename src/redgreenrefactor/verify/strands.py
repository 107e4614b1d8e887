"""A run as a chain of commits and notes: who follows whom, and where the chain ends."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import cast

from redgreenrefactor.gates.rules.note_claims import RESTORE
from redgreenrefactor.git.commit_message import fits
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.objects import Commit
from redgreenrefactor.model.chain import of_run, runs_of
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.proof import Link
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.review_task import task_id_of, task_of
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.verify.tables import Made, made_by

Wanted = Collection[str] | None  # the commits that are asked for, None for all


@dataclass(frozen=True)
class Strand:
    """One run along the first parents of a commit: its turns, oldest first, and what is wrong with their order."""

    run_id: str
    tip: str
    last: Entry
    links: tuple[Link, ...]
    findings: tuple[tuple[int, Finding], ...] = ()  # each with its cycle
    baseline: str | None = None  # where the tests are that were there before the run; None: out of reach
    lost: Entry | None = None  # the oldest turn, where what it started from is out of reach
    after: int = 0  # commits on top of the last handoff
    carries: tuple[tuple[Entry, Entry], ...] = ()  # handoffs that were carried over: from where, and to where
    made: Made = field(default_factory=Made)

    @property
    def commits(self) -> frozenset[str]:
        """The commits of its turns."""
        lost = [self.lost.commit] if self.lost else []
        return frozenset([*(link.after.commit for link in self.links), *lost])


@dataclass
class _Spun:
    """A strand in the making."""

    made: Made
    links: list[Link] = field(default_factory=list[Link])
    findings: list[tuple[int, Finding]] = field(default_factory=list[tuple[int, Finding]])
    carries: list[tuple[Entry, Entry]] = field(default_factory=list[tuple[Entry, Entry]])
    baseline: str | None = None
    lost: Entry | None = None


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


def strand(ledger: GitLedger, tip: str, run_id: str, *, shallow: bool) -> Strand | None:
    """Return a run as it lies along the first parents of a commit, None where it has no handoff there."""
    steps = _steps(ledger, tip, run_id)
    noted = [Entry(step.commit.oid, step.handoff) for step in steps if step.handoff is not None]
    if not noted:
        return None
    after = next(number for number, step in enumerate(steps) if step.handoff is not None)
    made = made_by([entry.handoff for entry in noted])
    spun = _spun(ledger, run_id, steps[after:][::-1], made, shallow=shallow)
    return Strand(
        run_id,
        tip,
        noted[0],
        tuple(spun.links),
        tuple(spun.findings),
        spun.baseline,
        spun.lost,
        after,
        tuple(spun.carries),
        made,
    )


@dataclass(frozen=True, slots=True)
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


def _spun(ledger: GitLedger, run_id: str, steps: Sequence[_Step], made: Made, *, shallow: bool) -> _Spun:
    spun = _Spun(made)
    before: Entry | None = None
    between = 0
    for step in steps:
        commit, handoff = step.commit, step.handoff
        if handoff is None:
            between += not step.lent
            continue
        entry = Entry(commit.oid, handoff)
        if handoff.carried_from is not None and before is not None:
            spun.carries.append((before, entry))
        elif handoff.cycle_number == 0:  # carried over or not: whatever is older was rebased away
            spun.baseline = commit.oid
        elif handoff.carried_from is not None:
            _lose(spun, entry, shallow=shallow)
        else:
            _turn(ledger, run_id, spun, commit, _Turned(before, entry, between, shallow))
        before, between = entry, 0
    return spun


@dataclass(frozen=True, slots=True)
class _Turned:
    before: Entry | None
    entry: Entry
    between: int
    shallow: bool


def _turn(ledger: GitLedger, run_id: str, spun: _Spun, commit: Commit, turned: _Turned) -> None:
    """Add a turn to the strand, or say why what it started from is not there."""
    entry, before = turned.entry, turned.before
    if before is None:
        before = _supposed(ledger, run_id, spun.made, commit, entry)
        if before is None:
            _lose(spun, entry, shallow=turned.shallow)
            return
        spun.baseline = before.commit
    elif _opens(before.handoff) and turned.between and commit.parents:
        spun.baseline = commit.parents[0]  # rebased as a whole: what was there before is what is below it now
        before = Entry(commit.parents[0], before.handoff)
    spun.links.append(
        Link(
            before,
            entry,
            commit.parents,
            commit.subject,
            _fits(spun.made, commit, entry.handoff.phase),
            turned.between,
        )
    )


def _lose(spun: _Spun, entry: Entry, *, shallow: bool) -> None:
    """Say that what a handoff followed is not there; where history was cut off, nobody is to blame."""
    spun.lost = entry
    if not shallow:
        spun.findings.append((entry.handoff.cycle_number, _loose(entry)))


def _fits(made: Made, commit: Commit, phase: PhaseName) -> bool:
    return made.knows(phase) and fits(commit.message, made.workflow.phase(phase).prefixes)


def _supposed(ledger: GitLedger, run_id: str, made: Made, commit: Commit, entry: Entry) -> Entry | None:
    """Return the handoff a run's first turn started from, where it was rebased away from its opening."""
    opener = made.workflow.first.name
    first = entry.handoff.phase is opener and entry.handoff.cycle_number == 1
    parent = next(ledger.along(commit.parents[0]), None) if first and commit.parents else None
    if parent is None:
        return None
    openings = (of_run(found.handoff, run_id) for found in ledger.everything())
    opening = next((found for found in openings if found and _opens(found)), None)
    blank = Handoff(opener, opener, run_id=run_id, feature=entry.handoff.feature)
    return Entry(parent[0].oid, opening or blank)


def _loose(entry: Entry) -> Finding:
    return Finding(
        FindingType.HISTORY_REWRITTEN,
        f"{entry.handoff.phase} {entry.commit[:10]}: the handoff it started from is missing",
        hint=RESTORE,
    )


def tests_noted(ledger: GitLedger, run_id: str) -> frozenset[str]:
    """Return the ids of all tests that a run's notes name, wherever their commits are."""
    names: set[str] = set()
    for entry in ledger.everything():
        handoff = of_run(entry.handoff, run_id)
        noted = handoff.extra.get("tests") if handoff else None
        if isinstance(noted, list):
            names |= {name for name in cast("list[object]", noted) if isinstance(name, str)}
    return frozenset(names)
