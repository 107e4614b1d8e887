"""A coder and a reviewer: what was asked for is written, looked at, and written again until it is approved."""

from redgreenrefactor.model.verdict import Outcome
from redgreenrefactor.model.workflow import Phase, PhaseName, RoleName, Workflow


def review(max_reviews: int, *, tdd: bool = False) -> Workflow:
    """Return the table for at most so many reviews; an answer that cannot be read is asked for once more.

    With `tdd` the coder is a whole run, which has had its own retries when it fails.
    """
    code = Phase(
        PhaseName.CODE,
        RoleName.CODER,
        ("feat", "fix", "refactor", "test", "docs", "chore", "perf", "build", "ci", "style"),
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
