"""A checkout with nobody else at work in it, and nothing left over from a crash."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redgreenrefactor.repository import lock, mark
from redgreenrefactor.repository.ledger import GitLedger
from redgreenrefactor.repository.repository import Repository, open_repository
from redgreenrefactor.repository.workspace import GitWorkspace


@dataclass(frozen=True)
class Held:
    """A checkout, and what is needed to change it."""

    repository: Repository
    workspace: GitWorkspace
    ledger: GitLedger


@contextmanager
def held(project: Path, environ: Mapping[str, str], warn: Callable[[str], None]) -> Generator[Held]:
    """Hold a checkout while the block runs; what an interrupted command left there is cleaned up first."""
    repository = open_repository(project, environ)
    try:
        with lock.held(repository.git_dir / lock.NAME):
            if told := mark.steered_back(repository.git_dir, repository.common_dir, repository.cache):
                for line in filter(None, told):
                    warn(line)
                repository.close()
                repository = open_repository(project, environ)
            workspace = GitWorkspace(repository)
            ledger = GitLedger(repository.git, repository.objects)
            if kept := workspace.recover(ledger.accounts_for):
                warn(f"what was cut off here has been cleaned up; what was found is kept at {kept}")
            yield Held(repository, workspace, ledger)
    finally:
        repository.close()
