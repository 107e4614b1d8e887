"""A checkout with nobody else at work in it, and nothing left over from a crash."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from redgreenrefactor.git import guard, lock, mark
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.obstacles import clear_away
from redgreenrefactor.git.repository import Repository, open_repository, own_folders
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.model.values import frozen


@frozen
class LockedCheckout:
    """A checkout, and what is needed to change it."""

    repository: Repository
    workspace: GitWorkspace
    ledger: GitLedger


@contextmanager
def locked_checkout(
    project: Path, environ: Mapping[str, str], warn: Callable[[str], None]
) -> Generator[LockedCheckout]:
    """Hold a checkout while the block runs; what an interrupted command left there is cleaned up first."""
    for line in steered_back(project, environ):
        warn(line)
    repository = open_repository(project, environ)
    try:
        repository.make_cache()
        with lock.held(_lock_of(repository.mark)), lock.held(repository.git_dir / lock.NAME):
            workspace = GitWorkspace(repository)
            ledger = GitLedger(repository)
            if kept := workspace.recover(ledger.accounts_for):
                warn(f"what was cut off here has been cleaned up; what was found is kept at {kept}")
            for line in (*workspace.noticed, *repository.programs.told):
                warn(line)
            yield LockedCheckout(repository, workspace, ledger)
    finally:
        repository.close()


def steered_back(project: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Take back what a session that was cut off did to what steers git, before git is asked anything; tell what."""
    real = project.resolve()
    for folder in (real, *real.parents):
        for home in own_folders(environ, folder):
            place = mark.place_of(home, folder)
            found = mark.read(place, mark.Mark)
            if found is None or found.steering is None or found.sealed:
                continue
            with lock.held(_lock_of(place)):
                if not guard.is_stale(found.steering):
                    litter = clear_away(folder, found.steering.gits, place.stat().st_ctime_ns)
                    return (*litter, *guard.put_back(found.steering, place.parent))
                place.unlink(missing_ok=True)
    return ()


def _lock_of(place: Path) -> Path:
    """Make the folder that marks lie in; return the lock of one."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return place.with_suffix(".lock")
