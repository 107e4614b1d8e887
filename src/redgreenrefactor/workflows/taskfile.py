"""A task file: all its tests first, code in tries that build on each other, then one try at refactoring."""

from redgreenrefactor.model.workflow import Phase, PhaseName, RoleName, Workflow

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
            ("feat", "fix", "refactor", "test", "docs", "chore", "perf", "build", "ci", "style"),
            then=PhaseName.COMPLETE,
            retries=0,
        ),
    ),
)
