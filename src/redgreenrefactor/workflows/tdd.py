"""Strict test-driven development: one case at a time, until the list is done."""

from redgreenrefactor.model.verdict import Outcome
from redgreenrefactor.model.workflow import Phase, PhaseName, RoleName, Workflow

TDD = Workflow(
    "tdd",
    (
        Phase(PhaseName.PLAN, RoleName.TEST_LIST, ("plan",), then=PhaseName.RED, may_be_empty=True),
        Phase(
            PhaseName.RED,
            RoleName.TEST,
            ("test",),
            then=PhaseName.GREEN,
            instead=((Outcome.COVERED, PhaseName.PLAN),),
        ),
        Phase(PhaseName.GREEN, RoleName.IMPLEMENTING, ("feat", "fix"), then=PhaseName.REFACTOR),
        Phase(PhaseName.REFACTOR, RoleName.REFACTOR, ("refactor",), then=PhaseName.PLAN, may_be_empty=True),
    ),
)
