"""All refs at one moment, and what a session may not do to them."""

import re
from collections.abc import Iterable, Iterator, Mapping

from redgreenrefactor.git.executable import Git, encoded
from redgreenrefactor.model.values import frozen

NOTES = "refs/notes/tdd-handoffs"
ATTEMPTS = "refs/tdd/attempts/"
KEPT = "refs/tdd/kept/"
ROLLED_BACK = "rolled-back"  # what is kept of a branch that went back
STASH = "refs/stash"
OF_RUNS = (ATTEMPTS, KEPT)  # every run in the repository adds to these, below its own id
RUNS = "refs/tdd/runs/"  # where remotes know a run's last turn to be
ELSEWHERE = (
    "refs/remotes/",
    "refs/prefetch/",
    RUNS,
)  # moved by any fetch, also the one an editor makes by itself


def folder_of(run_id: str) -> str:
    """Return a run's id as refs can spell it: another tool may have written any, or none."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", run_id) or "unknown"


def is_copy(name: str) -> bool:
    """Tell whether a ref holds the notes as a remote has them, e.g. `refs/notes/origin/tdd-handoffs`."""
    return name.startswith("refs/notes/") and name.endswith("/tdd-handoffs") and name != NOTES


@frozen
class Refs:
    """Every ref with its object, and the branches that other checkouts have in use."""

    oids: Mapping[str, str]
    in_use: frozenset[str] = frozenset()

    def changed(self, updates: Mapping[str, str | None]) -> "Refs":
        """Return the refs after these changes of ours."""
        merged = {**self.oids, **updates}
        return Refs({name: oid for name, oid in merged.items() if oid is not None}, self.in_use)


@frozen
class Damage:
    """What a session did to refs that are not its own, and what mends it."""

    rewritten: tuple[str, ...]  # what nobody may do
    warnings: tuple[str, ...]
    kept: Mapping[str, str]  # what is put away, by its new name
    removed: Mapping[str, str]  # what was not there before
    restored: Mapping[str, str]  # what was there before, as it was


def damage(before: Refs, later: Refs, own: str | None, run_id: str) -> Damage:
    """Return what happened to the refs: existing ones come back, new ones are kept out of the way."""
    ours = tuple(f"{start}{folder_of(run_id)}/" for start in OF_RUNS)

    def counts(name: str) -> bool:
        busy = name in before.in_use or name in later.in_use  # somebody works on it in another checkout
        return name != own and not busy and not name.startswith(ELSEWHERE) and not is_copy(name)

    def is_new(name: str) -> bool:
        of_another_run = name.startswith(OF_RUNS) and not name.startswith(ours)
        return name not in before.oids and not of_another_run

    def place_of(name: str) -> str:
        return f"{KEPT}{folder_of(run_id)}/{name.removeprefix('refs/')}-{later.oids[name][:10]}"

    moved = [name for name, oid in before.oids.items() if counts(name) and later.oids.get(name) != oid]
    added = [name for name in later.oids if counts(name) and is_new(name)]
    stashed = (
        [STASH] if STASH in moved and STASH in later.oids else []
    )  # a new stash on top of the user's own
    return Damage(
        rewritten=tuple(
            f"{name} was {'moved' if name in later.oids else 'deleted'}"
            for name in moved
            if name not in stashed
        ),
        warnings=tuple(
            f"{name} was made by the session; it is kept at {place_of(name)}" for name in (*added, *stashed)
        ),
        # What was moved may be the user's own doing, after a crash: nothing that stood anywhere is lost.
        kept={place_of(name): later.oids[name] for name in (*added, *moved) if name in later.oids},
        removed={name: later.oids[name] for name in added},
        restored={name: before.oids[name] for name in moved},
    )


def read_refs(git: Git) -> Refs:
    """Return all refs as they are now; a symbolic one stands for another, which is looked at itself."""
    fields = "%00".join(f"%({field})" for field in ("refname", "objectname", "symref", "worktreepath"))
    rows = [row for row in _rows(git.text("for-each-ref", f"--format={fields}")) if not row[2]]
    here = str(git.folder)
    return Refs(
        {name: oid for name, oid, _, _ in rows},
        frozenset(name for name, _, _, path in rows if path and path != here),
    )


def list_refs(git: Git, *patterns: str) -> dict[str, str]:
    """Return the refs below these, with their objects."""
    listing = git.text("for-each-ref", "--format=%(refname) %(objectname)", *patterns)
    return {name: oid for name, _, oid in (row.rpartition(" ") for row in listing.splitlines())}


def _rows(listing: str) -> Iterator[list[str]]:
    for row in listing.split("\n"):
        fields = row.split("\0")
        if len(fields) == 4:  # noqa: PLR2004 - else the rest of a folder's name with a line break in it
            yield fields


def update_refs(git: Git, *steps: Iterable[str]) -> None:
    """Carry out these update-ref commands, step by step, each step all or none; symbolic refs are not followed."""
    blocks = [["start", *commands, "commit"] for commands in map(list, steps) if commands]
    if blocks:
        text = "".join(f"{line}\n" for block in blocks for line in block)
        git.raw("update-ref", "--no-deref", "--stdin", stdin=encoded(text))
