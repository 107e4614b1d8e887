"""A run as a chain of commits and notes: who follows whom, and where the chain ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from redgreenrefactor.gates.record import RESTORE, carried_over
from redgreenrefactor.model.chain import of_run, previous_of
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.proof import Link
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.repository.ledger import GitLedger
from redgreenrefactor.repository.message import fits
from redgreenrefactor.repository.objects import Commit
from redgreenrefactor.workflows.tdd import TDD

OF_TDD = frozenset(phase.name for phase in TDD.phases)


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


@dataclass
class _Spun:
    """A strand in the making."""

    links: list[Link] = field(default_factory=list[Link])
    findings: list[tuple[int, Finding]] = field(default_factory=list[tuple[int, Finding]])
    baseline: str | None = None
    lost: Entry | None = None


def runs_along(ledger: GitLedger, tip: str, wanted: frozenset[str] | None) -> list[str]:
    """Return the runs with a turn of theirs on these commits, newest first; the latest run where none are named."""
    found: dict[str, None] = {}
    for commit, handoff in ledger.along(tip):
        if wanted is not None and commit.oid not in wanted:
            continue
        for one in _stack(handoff):
            if one.phase in OF_TDD and (wanted is None or one.cycle_number > 0):
                found.setdefault(one.run_id)
                if wanted is None:
                    return list(found)
    return list(found)


def _stack(handoff: Handoff | None) -> Iterator[Handoff]:
    while handoff is not None:
        yield handoff
        handoff = previous_of(handoff)


def strand(ledger: GitLedger, tip: str, run_id: str, *, shallow: bool) -> Strand | None:
    """Return a run as it lies along the first parents of a commit, None where it has no handoff there."""
    steps = _steps(ledger, tip, run_id)
    noted = [Entry(commit.oid, handoff) for commit, handoff in steps if handoff is not None]
    if not noted:
        return None
    after = next(number for number, (_, handoff) in enumerate(steps) if handoff is not None)
    spun = _spun(ledger, run_id, steps[after:][::-1], shallow=shallow)
    return Strand(
        run_id, tip, noted[0], tuple(spun.links), tuple(spun.findings), spun.baseline, spun.lost, after
    )


def _steps(ledger: GitLedger, tip: str, run_id: str) -> list[tuple[Commit, Handoff | None]]:
    """Return the commits from the tip down to the run's opening, or to the end, newest first."""
    steps: list[tuple[Commit, Handoff | None]] = []
    for commit, handoff in ledger.along(tip):
        own = of_run(handoff, run_id) if handoff else None
        steps.append((commit, own))
        if own is not None and _opens(own):
            break
    while steps and steps[-1][1] is None:
        steps.pop()  # older than the run's oldest note that is left
    return steps


def _opens(handoff: Handoff) -> bool:
    return handoff.cycle_number == 0 and handoff.carried_from is None


def _spun(
    ledger: GitLedger, run_id: str, steps: Sequence[tuple[Commit, Handoff | None]], *, shallow: bool
) -> _Spun:
    spun = _Spun()
    before: Entry | None = None
    between = 0
    for commit, handoff in steps:
        if handoff is None:
            between += 1
            continue
        entry = Entry(commit.oid, handoff)
        if handoff.carried_from is not None and before is not None:
            found = carried_over(before.handoff, handoff, commit.oid)
            spun.findings += [(handoff.cycle_number, finding) for finding in found]
        elif _opens(handoff):
            spun.baseline = commit.oid
        elif handoff.carried_from is None:
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
        before = _supposed(ledger, run_id, commit, entry)
        if before is None:
            spun.lost = entry
            if not turned.shallow:
                spun.findings.append((entry.handoff.cycle_number, _loose(entry)))
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
            _fits(commit, entry.handoff.phase),
            turned.between,
        )
    )


def _fits(commit: Commit, phase: PhaseName) -> bool:
    return phase in OF_TDD and fits(commit.message, TDD.phase(phase).prefixes)


def _supposed(ledger: GitLedger, run_id: str, commit: Commit, entry: Entry) -> Entry | None:
    """Return the handoff a run's first turn started from, where it was rebased away from its opening."""
    first = entry.handoff.phase is PhaseName.PLAN and entry.handoff.cycle_number == 1
    parent = next(ledger.along(commit.parents[0]), None) if first and commit.parents else None
    if parent is None:
        return None
    openings = (of_run(found.handoff, run_id) for found in ledger.everything())
    opening = next((found for found in openings if found and _opens(found)), None)
    blank = Handoff(PhaseName.PLAN, PhaseName.PLAN, run_id=run_id, feature=entry.handoff.feature)
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
