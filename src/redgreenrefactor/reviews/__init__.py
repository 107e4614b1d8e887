"""From a specification to a reviewed pull request: tasks are started, resumed, listed and cleaned up here."""

from redgreenrefactor.reviews.tasks import (
    REVIEWS,
    TaskWishes,
    clean,
    exit_code,
    listed,
    pull_requests,
    resume,
    start,
)

__all__ = ["REVIEWS", "TaskWishes", "clean", "exit_code", "listed", "pull_requests", "resume", "start"]
