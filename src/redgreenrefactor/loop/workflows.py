"""The tables the one engine walks through: strict TDD, a coder and a reviewer, a task file."""

from redgreenrefactor.model.verdict import Outcome
from redgreenrefactor.model.workflow import Phase, PhaseName, RoleName, Workflow

_CODE = ("feat", "fix", "refactor", "test", "docs", "chore", "perf", "build", "ci", "style")

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


def review(max_reviews: int, *, tdd: bool = False) -> Workflow:
    """Return the table for at most so many reviews; an answer that cannot be read is asked for once more.

    With `tdd` the coder is a whole run, which has had its own retries when it fails.
    """
    code = Phase(
        PhaseName.CODE,
        RoleName.CODER,
        _CODE,
        then=PhaseName.REVIEW,
        builds_on=not tdd,
        inner=tdd,
        retries=0 if tdd else None,
    )
    look = Phase(
        PhaseName.REVIEW,
        RoleName.REVIEWER,
        ("review",),
        then=PhaseName.COMPLETE,
        instead=((Outcome.FEEDBACK, PhaseName.CODE),),
        may_be_empty=True,
        retries=1,
    )
    return Workflow("review", (code, look), cycles=max_reviews)


_DIAGNOSIS = Phase(PhaseName.DIAGNOSE, RoleName.DIAGNOSIS, (), then=PhaseName.GREEN)


def taskfile(max_iterations: int) -> Workflow:
    """Return the table for a task whose code may be tried so many times."""
    return Workflow(
        "taskfile",
        (
            Phase(PhaseName.RED, RoleName.TEST, ("test",), then=PhaseName.GREEN),
            Phase(
                PhaseName.GREEN,
                RoleName.IMPLEMENTING,
                ("feat", "fix"),
                then=PhaseName.REFACTOR,
                retries=max_iterations - 1,
                builds_on=True,
                diagnosis=_DIAGNOSIS,
            ),
            Phase(
                PhaseName.REFACTOR,
                RoleName.REFACTOR,
                ("refactor",),
                then=PhaseName.COMPLETE,
                may_be_empty=True,
                retries=0,
            ),
        ),
    )


PLAIN = Workflow(
    "plain",
    (
        Phase(
            PhaseName.CODE,
            RoleName.CODER,
            _CODE,
            then=PhaseName.COMPLETE,
            retries=0,
        ),
    ),
)
