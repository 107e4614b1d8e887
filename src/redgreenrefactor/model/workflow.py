"""A workflow is a table of phases: data that the engine walks through."""

from dataclasses import dataclass
from enum import StrEnum


class PhaseName(StrEnum):
    """The names phases have in notes, variables and on screen."""

    PLAN = "PLAN"
    RED = "RED"
    GREEN = "GREEN"
    REFACTOR = "REFACTOR"
    COMPLETE = "COMPLETE"  # never worked at: it only ever stands in nextPhase


class RoleName(StrEnum):
    """Who works in a phase."""

    TEST_LIST = "test-list"
    TEST = "test"
    IMPLEMENTING = "implementing"
    REFACTOR = "refactor"


@dataclass(frozen=True, slots=True)
class Phase:
    """One kind of turn: who works, how its commit is called, and what follows when it is accepted."""

    name: PhaseName
    role: RoleName
    prefixes: tuple[str, ...]
    then: PhaseName

    @property
    def key(self) -> str:
        """The name as configuration spells it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Workflow:
    """Phases in the order they are usually met; the first one opens a cycle."""

    name: str
    phases: tuple[Phase, ...]

    @property
    def first(self) -> Phase:
        """Where a run begins."""
        return self.phases[0]

    def phase(self, name: PhaseName) -> Phase:
        """Return the row of that name."""
        return next(phase for phase in self.phases if phase.name == name)
