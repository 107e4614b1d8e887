"""Looking at runs: reads git only, and imports nothing that a run needs."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from redgreenrefactor.errors import UsageError
from redgreenrefactor.git import lock
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.git.worktrees import goes_on_in, worktrees
from redgreenrefactor.model.decision import uncommitted
from redgreenrefactor.model.goal import cited
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import AtWork, Entry
from redgreenrefactor.model.review_task import belongs_to_a_task

if TYPE_CHECKING:
    from redgreenrefactor.model.codec import Json


def status(project: Path, environ: Mapping[str, str]) -> Entry | None:
    """Return the latest handoff of what goes on in this checkout; reads git only.

    Where a task or run was begun, its opening lies in the history of other checkouts, too; it goes on in its own.
    """
    return standing(project, environ)[0]


def standing(project: Path, environ: Mapping[str, str]) -> tuple[Entry | None, AtWork | None]:
    """Return the latest handoff, as `status` does, and who is at work here right now."""
    with opened(project, environ) as (repository, ledger):
        return _latest(repository, ledger), lock.holder(repository.git_dir / lock.NAME)


def _latest(repository: Repository, ledger: GitLedger) -> Entry | None:
    past = (entry for entry in ledger.past() if not _opens_a_task(entry.handoff))
    return next((entry for entry in past if goes_on_in(repository, ledger, entry) is None), None)


def run_here(repository: Repository, ledger: GitLedger) -> str | None:
    """Return the run that goes on in this checkout; where all that began here go on elsewhere, the latest of them."""
    latest = _latest(repository, ledger) or ledger.latest()
    return latest.handoff.run_id if latest else None


def worktree_of(project: Path, environ: Mapping[str, str], branch: str) -> Path | None:
    """Return the folder where a branch is checked out."""
    with opened(project, environ) as (repository, _):
        found = (one.path for one in worktrees(repository) if one.branch == f"refs/heads/{branch}")
        return next(found, None)


def _opens_a_task(handoff: Handoff) -> bool:
    return handoff.cycle_number == 0 and belongs_to_a_task(handoff.run_id)


def history(project: Path, environ: Mapping[str, str]) -> Generator[Entry]:
    """Yield the handoffs of the latest run, newest first, down to its opening."""
    with opened(project, environ) as (repository, ledger):
        yield from ledger.history(run_here(repository, ledger))


def history_with_attempts(project: Path, environ: Mapping[str, str]) -> Generator[Entry]:
    """Yield the same, and before each handoff the rejected attempts that started from it, newest first.

    Those that left no commit are told, too: of them the handoff knows.
    """
    with opened(project, environ) as (repository, ledger):
        yield from turns_of(repository, ledger, run_here(repository, ledger))


def turns_of(
    repository: Repository,
    ledger: GitLedger,
    run_id: str | None,
    start: str = "HEAD",
    most: int | None = None,
) -> Iterator[Entry]:
    """Yield the handoffs and attempts of a run along a commit's first parents, as `history_with_attempts` does.

    `most`: of the attempts only the latest.
    """
    tried = ledger.attempts(run_id, most) if run_id else []
    commits = [repository.objects.commit(one.commit) for one in tried]
    for entry in ledger.history(run_id, start):
        own = zip(tried, commits, strict=True)
        here = [one for one, commit in own if commit and entry.commit in commit.parents]
        here += [Entry("", one) for one in uncommitted(entry.handoff)]
        yield from sorted(here, key=_made, reverse=True)
        yield entry


def _made(attempt: Entry) -> tuple[str, int]:
    return attempt.handoff.timestamp, attempt.handoff.attempts


def transcript(project: Path, environ: Mapping[str, str], turn: str) -> "list[Json]":
    """Return what a session was told and did, e.g. that of turn `1-GREEN-1` of the latest run, or behind a commit."""
    from redgreenrefactor.records.transcripts import FOLDER, find, read, turns  # noqa: PLC0415

    with opened(project, environ) as (repository, ledger):
        folder = repository.common_dir / FOLDER
        run_id = run_here(repository, ledger) or ""
        path = find(folder, run_id, turn) or find(folder, run_id, repository.objects.resolve(turn) or turn)
    if path is None:
        known = ", ".join(turns(folder, run_id)) or "none"
        raise UsageError(
            f"there is no transcript of {cited(turn)}",
            hint=f"Those of the latest run are: {known}. Name one of them, RUN/TURN, or a commit.",
        )
    return list(read(path))


@contextmanager
def opened(project: Path, environ: Mapping[str, str]) -> Generator[tuple[Repository, GitLedger]]:
    """Open the repository a folder lies in, and its notes."""
    with closing(open_repository(project, environ, to_look=True)) as repository:
        yield repository, GitLedger(repository)
