"""Going back, mending, and carrying a run from one repository to another."""

import shlex
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from redgreenrefactor.config.keys import template
from redgreenrefactor.errors import NotReadyError, UsageError, some_of
from redgreenrefactor.filesystem import replace_file
from redgreenrefactor.git import lock, transfer
from redgreenrefactor.git.executable import decoded
from redgreenrefactor.git.guard import SETTINGS
from redgreenrefactor.git.locked_checkout import LockedCheckout, locked_checkout
from redgreenrefactor.git.notes import Setting, configure
from redgreenrefactor.git.remote import remote_of
from redgreenrefactor.git.repair import Mend, Repair
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.git.transfer import Carried
from redgreenrefactor.lifecycle.factory import now
from redgreenrefactor.model.chain import on_top
from redgreenrefactor.model.codec import written
from redgreenrefactor.model.events import Warned
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.rollback import gone_back
from redgreenrefactor.model.values import frozen
from redgreenrefactor.surroundings import Surroundings

OFFERED = 6  # commits that a refusal names


@frozen
class RollbackResult:
    """Where a run goes on after it went back, and the ref that keeps what was left behind."""

    entry: Entry
    kept: str | None  # None: nothing was left behind


def rollback(around: Surroundings, name: str) -> RollbackResult:
    """Go back to the state of a handoff: branch, files and note; everything after it stays at a ref."""
    with held(around) as here:
        history = list(here.ledger.history())
        place = _place(here, history, name)
        here.workspace.require_clean()
        commit, head = history[place].commit, here.workspace.head()
        here.workspace.require_room(commit)
        left = [entry.handoff for entry in history[:place]]
        entry = Entry(commit, gone_back(history[place].handoff, left, now()))
        # The note first: whoever finds the branch moved must not use a number twice.
        here.ledger.write({commit: entry.handoff}, on_top)
        kept = None
        if commit != head:
            run_id = entry.handoff.run_id
            kept = _moved(around, here, run_id, commit, f"rgr rollback: to {entry.handoff.phase}")
        return RollbackResult(Entry(commit, here.ledger.read(commit) or entry.handoff), kept)


def _moved(around: Surroundings, here: LockedCheckout, run_id: str, to: str, why: str) -> str:
    """Make a commit the one that is checked out; tell of files that git has ignored until now."""
    kept = here.workspace.move(run_id, to, why)
    if bare := here.workspace.status().untracked:
        exclude = here.repository.common_dir / "info" / "exclude"
        around.emit(
            Warned(
                f"git does not ignore these at {to[:10]}: {some_of(bare, OFFERED)}; "
                f"before 'rgr resume', name them in {exclude}, commit them or move them away"
            )
        )
    return kept


@frozen
class Mended:
    """What was done to the notes, or would be, and how many can be read afterwards."""

    mends: tuple[Mend, ...]
    notes: int
    dry: bool

    def to_json(self) -> dict[str, Any]:
        """Return it as `rgr repair-notes --json` prints it."""
        return {"dryRun": self.dry, "notes": self.notes, "actions": written(self.mends)}


def repair_notes(around: Surroundings, *, dry: bool = False) -> Mended:
    """Make every note readable again, look for those that were lost, and keep whatever is replaced."""
    if dry:
        with closing(open_repository(around.project, around.environ)) as repository:
            return _mended(Repair(repository), dry=True)
    with held(around) as here:
        return _mended(Repair(here.repository), dry=False)


def _mended(repair: Repair, *, dry: bool) -> Mended:
    plan = repair.plan()
    if not dry:
        repair.carry_out(plan)
    return Mended(tuple(plan.mends), len(plan.notes), dry)


def push(
    around: Surroundings, remote: str | None = None, *, branch: str | None = None, alone: bool = False
) -> Carried:
    """Bring branch, notes and refs to a remote; `alone` says that the checkout is held already.

    Without a branch it is the one that is checked out; where HEAD is detached, none is pushed.
    """
    with closing(open_repository(around.project, around.environ)) as repository:
        branch = branch or _branch(repository)
        place = repository.git_dir / lock.NAME
        holding = nullcontext if alone else lambda: lock.held(place)
        there = remote_of(repository, branch, remote, around.interrupt)
        return transfer.push(repository, there, branch, holding)


def fetch(around: Surroundings, remote: str | None = None) -> Carried:
    """Bring branch, notes and refs from a remote; the branch only forwards, and with nothing uncommitted."""
    with held(around) as here:
        repository, branch = here.repository, _branch(here.repository)
        source = remote_of(repository, branch, remote, around.interrupt)
        carried = transfer.fetch(repository, source, branch)
        head, theirs = repository.objects.resolve("HEAD"), carried.head
        if theirs is None or (head and transfer.leads_to(repository, head, theirs)):
            return carried
        if transfer.left_behind(repository, theirs):
            around.emit(
                Warned(f"{source.name}/{branch} is what was rolled back here; {branch} stays as it is")
            )
            return carried
        if head is None or not transfer.leads_to(repository, theirs, head):
            raise _apart(source.name, str(branch), head)
        here.workspace.require_clean()
        here.workspace.require_room(theirs)
        _moved(around, here, "", theirs, "rgr fetch: fast-forward")
        return replace(carried, moved=True)


def _apart(remote: str, branch: str, head: str | None) -> NotReadyError:
    if head is None:
        return NotReadyError(
            f"notes and refs are here, but {branch} has no commit yet",
            hint=f"Type '{shlex.join(['git', 'pull', remote, branch])}'.",
            type="BranchDiverged",
        )
    rebase = shlex.join(["git", "rebase", f"{remote}/{branch}"])
    return NotReadyError(
        f"notes and refs are here, but {branch} and {remote}/{branch} have gone different ways",
        hint=f"Type '{rebase}', then 'rgr repair-notes' if 'rgr init' was never typed here.",
        type="BranchDiverged",
    )


def _branch(repository: Repository) -> str | None:
    found = repository.git.attempt("symbolic-ref", "--quiet", "HEAD")
    return decoded(found.stdout).strip().removeprefix("refs/heads/") or None


def init(around: Surroundings) -> tuple[Setting, ...]:
    """Make notes follow their commits through amend and rebase, and come with every fetch; safe to repeat."""
    with (
        closing(open_repository(around.project, around.environ)) as repository,
        lock.held(repository.git_dir / lock.NAME),
    ):
        return tuple(configure(repository))


def write_properties(around: Surroundings) -> str:
    """Write a `tdd.properties` that shows every setting, commented out; one that is there is left alone."""
    file = around.project / SETTINGS
    if file.exists():
        raise UsageError(f"{file} is there already", hint="Type 'rgr init' without --properties.")
    replace_file(file, template().encode())
    return str(file)


def write_own_properties(around: Surroundings) -> str | None:
    """Write the same for this user alone, ignored by git; None where the project has settings."""
    file = around.project / SETTINGS
    with closing(open_repository(around.project, around.environ)) as repository:
        path = f"{repository.prefix}{SETTINGS}"
        if file.exists() or repository.git.text("ls-files", "--", f":(top,literal){path}"):
            return None
        repository.exclude_path(path)
    return write_properties(around)


@contextmanager
def held(around: Surroundings) -> Generator[LockedCheckout]:
    """Hold the checkout an invocation works in."""
    with locked_checkout(around.project, around.environ, lambda line: around.emit(Warned(line))) as here:
        yield here


def _place(here: LockedCheckout, history: Sequence[Entry], name: str) -> int:
    """Return which of the handoffs is on the commit of this name; none is a UsageError that names some."""
    if not history:
        raise UsageError(
            f"{name!r} is no handoff: no workflow was started here", hint="Type 'rgr run …' first."
        )
    found = here.repository.objects.commit(f"{name}^{{commit}}") if name else None
    places = [place for place, entry in enumerate(history) if found and entry.commit == found.oid]
    if places:
        return places[0]
    if found is None:
        what = "names no commit"
    else:
        noted = here.ledger.read(found.oid) is not None
        what = "is not a commit of this run on this branch" if noted else "carries no handoff"
    some = ", ".join(f"{entry.commit[:10]} ({_told(entry)})" for entry in history[:OFFERED])
    raise UsageError(
        f"{name!r} {what}", hint=f"Type 'rgr rollback COMMIT' with one of {some}; 'rgr history' has all."
    )


def _told(entry: Entry) -> str:
    handoff = entry.handoff
    return f"{handoff.phase} of cycle {handoff.cycle_number}" if handoff.cycle_number else "the opening"
