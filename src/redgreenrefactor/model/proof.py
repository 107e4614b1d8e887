"""What judging a workflow again comes to: values that commands print and scripts read."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from itertools import chain
from typing import Any

from redgreenrefactor.model.codec import written
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

WORKED = (PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)
ROUND = (PhaseName.CODE, PhaseName.REVIEW)


@frozen
class Link:
    """One turn as commits and notes tell it: the handoff it started from, and its own."""

    before: Entry
    after: Entry
    parents: tuple[str, ...]  # of its commit
    subject: str
    prefixed: bool  # the subject has a prefix of the phase
    between: int = 0  # commits after the one it started from that no handoff of the run accounts for


@frozen
class Checked:
    """One commit, measured again; no result where nothing could be measured."""

    commit: str
    result: TestOutcome | None
    ok: bool


@frozen
class CheckedCycle:
    """One cycle, or round, judged again: what tests do at each of its commits, and what does not hold."""

    cycle_number: int
    test: str | None
    phases: Mapping[PhaseName, Checked]
    findings: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    run_id: str = ""
    is_round: bool = False  # of code, and a review of it or none

    @property
    def ok(self) -> bool:
        """Whether everything is as the notes say."""
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        """Return it as `rgr verify --json` prints it."""
        rows = ROUND if self.is_round else WORKED
        phases = {phase.lower(): written(self.phases.get(phase)) for phase in rows}
        return {
            "cycleNumber": self.cycle_number,
            "test": self.test,
            **phases,
            "ok": self.ok,
            "findings": written(self.findings),
            "warnings": written(self.warnings),
            "runId": self.run_id,
        }


@frozen
class Merged:
    """What became of a run's branch: the commit it was merged as, and how its tree compares."""

    commit: str
    run_id: str
    head: str  # the run's last commit
    tree: str  # equal, merged or differs
    differs: tuple[str, ...] = ()  # paths


@frozen
class Verification:
    """Everything that was judged again, and what lies outside of the cycles."""

    cycles: tuple[CheckedCycle, ...] = ()
    findings: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()  # what could not be looked at, in words
    merged: tuple[Merged, ...] = ()
    rounds: tuple[CheckedCycle, ...] = ()  # of coders and reviewers, and of tasks without tests of their own

    @property
    def ok(self) -> bool:
        """Whether everything that could be looked at holds."""
        return not self.findings and all(each.ok for each in (*self.cycles, *self.rounds))

    @property
    def undecided(self) -> bool:
        """Whether it does not hold for no other reason than that it could not be measured."""
        each = (*self.cycles, *self.rounds)
        found = [*self.findings, *(finding for cycle in each for finding in cycle.findings)]
        return bool(found) and all(finding.type is FindingType.UNDECIDED for finding in found)

    def to_json(self) -> dict[str, Any]:
        """Return the value `rgr verify --json` prints."""
        return {
            "ok": self.ok,
            "cycles": [cycle.to_json() for cycle in self.cycles],
            "rounds": [cycle.to_json() for cycle in self.rounds],
            "findings": written(self.findings),
            "warnings": written(self.warnings),
            "missing": list(self.missing),
            "merged": written(self.merged),
        }


def together(parts: Iterable[Verification]) -> Verification:
    """Return several verifications as one."""
    known = tuple(parts)
    every: dict[str, Any] = {
        each.name: tuple(chain.from_iterable(getattr(part, each.name) for part in known))
        for each in fields(Verification)
    }
    return Verification(**every)
