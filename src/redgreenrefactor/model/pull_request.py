"""A request to take a branch over, as a forge holds it."""

from enum import StrEnum
from typing import Any

from redgreenrefactor.model.codec import written
from redgreenrefactor.model.values import frozen


class PullRequestState(StrEnum):
    """What became of a pull request."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


@frozen
class PullRequest:
    """One pull request, as far as it matters here."""

    number: int
    title: str
    url: str
    state: PullRequestState
    head_branch: str
    base_branch: str

    def to_json(self) -> dict[str, Any]:
        """Return the value `rgr tdd --prs --json` prints a list of."""
        return written(self)


@frozen
class Draft:
    """A pull request that does not exist yet."""

    title: str
    body: str
    head: str  # the branch with the work
    base: str  # the branch it is to go into
