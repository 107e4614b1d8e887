"""A workflow is a table of phases: data that the engine walks through."""

from collections.abc import Iterator
from enum import StrEnum

from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Outcome


class PhaseName(StrEnum):
    """The names phases have in notes, variables and on screen."""

    PLAN = "PLAN"
    RED = "RED"
    GREEN = "GREEN"
    REFACTOR = "REFACTOR"
    CODE = "CODE"
    REVIEW = "REVIEW"
    DIAGNOSE = "DIAGNOSE"  # only ever between two tries at another phase
    COMPLETE = "COMPLETE"  # never worked at: it only ever stands in nextPhase


class RoleName(StrEnum):
    """Who works in a phase."""

    TEST_LIST = "test-list"
    TEST = "test"
    IMPLEMENTING = "implementing"
    REFACTOR = "refactor"
    CODER = "coder"
    REVIEWER = "reviewer"
    DIAGNOSIS = "diagnosis"


_KEYS = {
    PhaseName.CODE: RoleName.CODER,
    PhaseName.REVIEW: RoleName.REVIEWER,
    PhaseName.DIAGNOSE: RoleName.DIAGNOSIS,
}


@frozen
class Phase:
    """One kind of turn: who works, how its commit is called, what follows when it is accepted, and when not."""

    name: PhaseName
    role: RoleName
    prefixes: tuple[str, ...]
    then: PhaseName
    instead: tuple[tuple[Outcome, PhaseName], ...] = ()  # of `then`, after these outcomes
    may_be_empty: bool = False  # having nothing to change is a result
    retries: int | None = None  # of its own; None: as many as the settings allow
    builds_on: bool = False  # a try goes on from the rejected one before it, not from the phase's beginning
    diagnosis: "Phase | None" = None  # a session that looks at a rejected try before the next one
    inner: bool = False  # a run of its own does the work: its commits stay, and the turn's own is empty

    @property
    def key(self) -> str:
        """The name as configuration spells it."""
        return str(_KEYS.get(self.name, self.name.lower()))

    def follows(self, outcome: Outcome | None) -> PhaseName:
        """Return the phase that is due once this one was accepted with this outcome."""
        return next((phase for special, phase in self.instead if special is outcome), self.then)


@frozen
class Workflow:
    """Phases in the order they are usually met; the first one opens a cycle."""

    name: str
    phases: tuple[Phase, ...]
    cycles: int | None = None  # how often it may come round before it gives up

    @property
    def first(self) -> Phase:
        """Where a run begins."""
        return self.phases[0]

    def phase(self, name: PhaseName) -> Phase:
        """Return the row of that name."""
        return next(phase for phase in self.phases if phase.name == name)

    def sessions(self) -> Iterator[Phase]:
        """Yield every phase that a session works at, diagnoses too."""
        for phase in self.phases:
            yield phase
            if phase.diagnosis:
                yield phase.diagnosis
