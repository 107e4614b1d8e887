"""Git's own settings that keep notes and commits together."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from redgreenrefactor.git.executable import decoded
from redgreenrefactor.git.refs import NOTES
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.model.values import frozen

REWRITE_REF = "notes.rewriteRef"
REWRITE_MODE = "notes.rewriteMode"


@frozen
class Setting:
    """One line of git's configuration."""

    name: str
    value: str
    new: bool  # it was set just now; else it, or something to the same effect, was there


def configure(repository: Repository) -> Iterator[Setting]:
    """Make notes follow their commits through amend and rebase, and come with every fetch; yield each setting."""
    refs = _values(repository, REWRITE_REF)
    yield _ensured(
        repository, REWRITE_REF, NOTES, there=next((ref for ref in refs if fnmatchcase(NOTES, ref)), None)
    )
    modes = _values(repository, REWRITE_MODE)
    yield _ensured(repository, REWRITE_MODE, "overwrite", there=modes[-1] if modes else None)
    for remote in filter(None, repository.git.text("remote").split("\n")):
        name, spec = f"remote.{remote}.fetch", refspec(remote)
        yield _ensured(repository, name, spec, there=spec if spec in _values(repository, name) else None)


def refspec(remote: str) -> str:
    """Return what makes every fetch bring a remote's notes; as a pattern, for there may be none yet."""
    return f"+refs/notes/tdd-*:refs/notes/{remote}/tdd-*"


def _ensured(repository: Repository, name: str, value: str, *, there: str | None) -> Setting:
    if there is None:
        repository.git.raw("config", "--local", "--add", name, value)
    return Setting(name, there or value, new=there is None)


def _values(repository: Repository, name: str) -> list[str]:
    found = repository.git.attempt("config", "-z", "--get-all", name)
    return [value for value in decoded(found.stdout).split("\0") if value]
