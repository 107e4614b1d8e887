"""A request to take a branch over, as a forge holds it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from redgreenrefactor.model.codec import written


class PullRequestState(StrEnum):
    """What became of a pull request."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Draft:
    """A pull request that does not exist yet."""

    title: str
    body: str
    head: str  # the branch with the work
    base: str  # the branch it is to go into
