"""Everything that was done since a commit, as exactly one commit on top of it."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from redgreenrefactor.filesystem import below, remove
from redgreenrefactor.git.artifacts import left_out
from redgreenrefactor.git.executable import decoded, encoded, nul_terminated
from redgreenrefactor.git.nested import has_commit
from redgreenrefactor.git.objects import SUBMODULE, Commit
from redgreenrefactor.git.obstacles import insist
from redgreenrefactor.git.ref_guard import RefGuard
from redgreenrefactor.git.repository import CheckoutStatus, Repository
from redgreenrefactor.model.workflow import Phase

NAMED = 50  # changed paths; each is looked for among all files
NO_CHANGES = "refactor: no changes needed"


class Sealer:
    """Makes the commits of turns."""

    def __init__(self, repository: Repository, guard: RefGuard) -> None:
        self._repository = repository
        self._git = repository.excluding
        self._objects = repository.objects
        self._guard = guard

    def is_sealed(self, work: Commit, base: str, phase: Phase, status: CheckoutStatus) -> bool:
        """Tell whether the session's own commit is good as it is."""
        unchanged = work.tree == self._objects.require(base).tree
        return (
            work.parents == (base,)
            and not status.dirty
            and fits(work.message, phase.prefixes)
            and not self._artifacts(base, work)
            and work.oid not in self._guard.refs().oids.values()
            and not (unchanged and phase.key == "refactor" and work.subject != NO_CHANGES)
        )

    def reseal(
        self, base: str, work: Commit, phase: Phase, description: str, status: CheckoutStatus
    ) -> tuple[Commit, bool | None]:
        """Make one commit on top of the base of all that was done, committed or not; tell whether it is signed."""
        start, tree = self._objects.require(base), work.tree
        if status.dirty or self._artifacts(base, work):
            tree = self.stage(start, status)
        last = self._last_change(base, work)
        message = mended(last.message if last.oid != base else "", phase.prefixes, description)
        if tree == start.tree and phase.key == "refactor":
            message = f"{NO_CHANGES}\n"
        return self.commit(tree, base, message, last.author if last.oid != base else None)

    def _last_change(self, base: str, work: Commit) -> Commit:
        """Return the last commit of the work that changes something: it says more than an empty one after it."""
        found = work
        while found.oid != base and found.parents:
            before = self._objects.commit(found.parents[0])
            if before is None or before.tree != found.tree:
                return found
            found = before
        return work

    def _artifacts(self, base: str, work: Commit) -> list[str]:
        """Return the files added since the base that belong into no commit."""
        return [
            path
            for path in self._objects.added(self._objects.require(base).tree, work.tree)
            if left_out(path, lambda name: self._objects.node(work.tree, name) is not None)
        ]

    def stage(self, start: Commit, status: CheckoutStatus) -> str:
        """Stage everything but what is left out; return the tree of it."""
        self._absorb([self._repository.root / path for path in status.untracked if path.endswith("/")])
        self._add(status)
        tree = self._git.text("write-tree")
        root = self._repository.root
        added = self._objects.added(start.tree, tree)
        artifacts = [path for path in added if left_out(path, lambda name: (root / name).exists())]
        if artifacts:
            self._update_index(artifacts, "--force-remove")
            tree = self._git.text("write-tree")
        return tree

    def _absorb(self, folders: Sequence[Path]) -> None:
        """Make repositories without a commit plain folders: git refuses to add them, and nothing is lost."""
        for inner in [
            Path(entry.path) for folder in folders for entry in below(folder) if entry.name == ".git"
        ]:
            if inner.is_dir() and not has_commit(inner):
                remove(inner)

    def _add(self, status: CheckoutStatus) -> None:
        """Stage everything; repositories in the repository by where they stand, without git going into them.

        Adding the usual way, git looks there for changes, with the settings, and so the programs, that it finds. Few
        paths are named, if all are there: then git does not look at all the others.
        """
        inner, root = sorted(status.modules), self._repository.root
        where = [f":(top,literal){path}" for path in status.dirty if path not in inner]
        if len(where) > NAMED or not all(os.path.lexists(root / path) for path in status.dirty):
            inner = list(self._modules())
            where = [":/", *(f":(top,literal,exclude){path}" for path in inner)]
        if where:
            insist(self._git, "add", "--all", "--", *where)
        if inner:
            self._update_index(inner, "--add", "--remove")

    def _modules(self) -> Iterator[str]:
        """Yield the repositories in the repository that git tracks, changed or not."""
        listing = self._git.raw("ls-files", "--stage", "-z")
        rows = decoded(listing).split("\0") if SUBMODULE.encode() in listing else []
        return (row.partition("\t")[2] for row in rows if row.startswith(f"{SUBMODULE} "))

    def _update_index(self, paths: Sequence[str], *how: str) -> None:
        self._git.raw("update-index", *how, "-z", "--stdin", stdin=nul_terminated(paths))

    def signs(self) -> bool:
        """Tell whether the user signs commits."""
        return self._repository.config.get("commit.gpgsign", "").lower() in ("true", "yes", "on", "1")

    def commit(self, tree: str, base: str, message: str, author: str | None) -> tuple[Commit, bool | None]:
        """Write one commit, signed where the user signs; no two attempts share a commit."""
        env, raw, signs = _author_env(author), encoded(message), self.signs()
        while True:
            signed: bool | None = None
            oid = ""
            if signs:
                done = self._git.attempt("commit-tree", "-S", tree, "-p", base, stdin=raw, env=env)
                signed, oid = done.exit_code == 0, done.stdout.decode().strip()
            if not oid:
                oid = self._git.text("commit-tree", tree, "-p", base, stdin=raw, env=env)
            made = self._objects.require(oid)
            if oid not in self._guard.refs().oids.values():
                return made, signed
            date = f"{int(made.author.split()[-2]) + 1} +0000"
            env = {**env, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}


def _author_env(author: str | None) -> dict[str, str]:
    """Return the variables that make a commit somebody's; the stored form is `name <email> seconds zone`."""
    if author is None:
        return {}
    name, _, rest = author.partition(" <")
    email, _, date = rest.partition("> ")
    when = {"GIT_AUTHOR_DATE": f"@{date}"} if date else {}
    return {"GIT_AUTHOR_NAME": name or "unknown", "GIT_AUTHOR_EMAIL": email, **when}


CONVENTIONAL = (
    "build|chore|ci|docs|feat|feature|fix|perf|plan|refactor|revert|review|style|test|tests|wip|red|green"
)
PREFIX = re.compile(rf"^(?P<kind>{CONVENTIONAL})(?P<scope>\([^()\n]*\))?(?P<mark>!?):[^\S\n]*", re.IGNORECASE)


def fits(message: str, prefixes: Sequence[str]) -> bool:
    """Tell whether the subject starts with a prefix of the phase, a scope allowed, and says something."""
    found = PREFIX.match(message)
    said = message[found.end() :].partition("\n")[0].strip() if found else ""
    return found is not None and found["kind"] in prefixes and bool(said)


def mended(message: str, prefixes: Sequence[str], description: str) -> str:
    """Return the message with a prefix that fits; an empty one says what the case is about."""
    text = message.strip() or description.strip() or "no message"
    if fits(text, prefixes):
        return text + "\n"
    found = PREFIX.match(text)
    scope, mark = (found["scope"] or "", found["mark"]) if found else ("", "")
    rest = text[found.end() :].strip() if found else text
    subject, _, body = (rest or description.strip() or "no message").partition("\n")
    return f"{prefixes[0]}{scope}{mark}: {subject.strip()}\n" + (f"{body.rstrip()}\n" if body.strip() else "")
