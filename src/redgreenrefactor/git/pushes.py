"""Work that has reached a remote although nobody but the orchestrator publishes it."""

import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from redgreenrefactor.git.executable import Git, decoded, encoded
from redgreenrefactor.git.refs import Refs
from redgreenrefactor.model.values import frozen

REMOTES, HEADS, TAGS = "refs/remotes/", "refs/heads/", "refs/tags/"
LAST = 200  # lines of HEAD's log that are looked at


@frozen
class Push:
    """A branch of a remote that was made to hold work of this run."""

    ref: str  # as the remote's branch is known here
    before: str | None
    after: str

    @property
    def words(self) -> str:
        """What happened."""
        return f"{self._branch} on {self._remote} was moved to {self.after[:10]}, this run's work, by a push"

    @property
    def advice(self) -> str:
        """What a person can do about it; nobody else may touch the remote."""
        lease = f"--force-with-lease={self._branch}:{self.after}"
        back = shlex.join(["git", "push", lease, self._remote, f"{self.before or ''}:{HEADS}{self._branch}"])
        return f"{self.words} of the session. It is not undone from here; if you want that, type: {back}"

    @property
    def _remote(self) -> str:
        return self.ref.removeprefix(REMOTES).partition("/")[0]

    @property
    def _branch(self) -> str:
        return self.ref.removeprefix(REMOTES).partition("/")[2]


@frozen
class RunCommits:
    """What a run has made so far: its branch, what its session began from, and every commit that was checked out."""

    own: str | None
    base: str
    tips: tuple[str, ...]


def pushes(git: Git, before: Refs, later: Refs, run: RunCommits) -> Iterator[Push]:
    """Yield the branches of remotes that hold, since then, commits which only this run has.

    A fetch, or a push of other work from another checkout, moves them too, and is nobody's fault. So does bringing
    accepted work to a branch of the same name: a person may do that at any time.
    """
    moved = {name: oid for name, oid in _of_remotes(later).items() if before.oids.get(name) != oid}
    if not moved:
        return
    others = {
        *(
            oid
            for name, oid in before.oids.items()
            if name != run.own and name.startswith((HEADS, TAGS, REMOTES))
        ),
        *(later.oids[name] for name in later.in_use if name in later.oids),
    }
    made = _reached(git, (run.base, *run.tips), others)
    accepted = _reached(git, (run.base,), others)
    for name, oid in moved.items():
        same = run.own is not None and name.removeprefix(REMOTES).partition("/")[2] == run.own.removeprefix(
            HEADS
        )
        if oid in made and not (same and oid in accepted):
            yield Push(name, before.oids.get(name), oid)


def moved_elsewhere(before: Refs, later: Refs) -> dict[str, str | None]:
    """Return how the remotes' branches differ from what was known of them."""
    return {name: later.oids.get(name) for name in {**_of_remotes(before), **_of_remotes(later)}}


def checked_out(git_dir: Path) -> tuple[str, ...]:
    """Return the commits that were checked out lately, as git has logged them."""
    with suppress(OSError):
        rows = (git_dir / "logs" / "HEAD").read_bytes().splitlines()[-LAST:]
        return tuple(dict.fromkeys(decoded(row).split(" ", 2)[1] for row in rows if row.count(b" ") > 1))
    return ()


def _of_remotes(refs: Refs) -> dict[str, str]:
    return {name: oid for name, oid in refs.oids.items() if name.startswith(REMOTES)}


def _reached(git: Git, tips: Iterable[str], others: Iterable[str]) -> set[str]:
    """Return the commits that lead to these tips and to none of the others."""
    wanted = "".join([*(f"{tip}\n" for tip in tips), *(f"^{oid}\n" for oid in others)])
    return set(
        decoded(git.attempt("rev-list", "--ignore-missing", "--stdin", stdin=encoded(wanted)).stdout).split()
    )
