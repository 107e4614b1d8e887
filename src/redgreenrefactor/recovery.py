"""Going back, mending, and carrying a run from one repository to another."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from redgreenrefactor.errors import UsageError
from redgreenrefactor.model.chain import on_top
from redgreenrefactor.model.events import Warned
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.rollback import gone_back
from redgreenrefactor.repository import hold
from redgreenrefactor.repository.hold import Held
from redgreenrefactor.repository.repair import Mend, Repair
from redgreenrefactor.repository.repository import open_repository
from redgreenrefactor.wiring import Surroundings, now

OFFERED = 6  # commits that a refusal names


@dataclass(frozen=True, slots=True)
class RolledBack:
    """Where a run goes on after it went back, and the ref that keeps what was left behind."""

    entry: Entry
    kept: str | None  # None: nothing was left behind


def rollback(around: Surroundings, name: str) -> RolledBack:
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
            kept = here.workspace.move(run_id, commit, f"rgr rollback: to {entry.handoff.phase}")
        return RolledBack(Entry(commit, here.ledger.read(commit) or entry.handoff), kept)


@dataclass(frozen=True, slots=True)
class Mended:
    """What was done to the notes, or would be, and how many can be read afterwards."""

    mends: tuple[Mend, ...]
    notes: int
    dry: bool

    def to_json(self) -> dict[str, Any]:
        """Return it as `rgr repair-notes --json` prints it."""
        actions = [
            {"action": mend.action, "commit": mend.commit, "message": mend.told, "kept": mend.kept}
            for mend in self.mends
        ]
        return {"dryRun": self.dry, "notes": self.notes, "actions": actions}


def repair_notes(around: Surroundings, *, dry: bool = False) -> Mended:
    """Make every note readable again, look for those that were lost, and keep whatever is replaced."""
    if dry:
        repository = open_repository(around.project, around.environ)
        try:
            return _mended(Repair(repository), dry=True)
        finally:
            repository.close()
    with held(around) as here:
        return _mended(Repair(here.repository), dry=False)


def _mended(repair: Repair, *, dry: bool) -> Mended:
    plan = repair.plan()
    if not dry:
        repair.carry_out(plan)
    return Mended(tuple(plan.mends), len(plan.notes), dry)


@contextmanager
def held(around: Surroundings) -> Generator[Held]:
    """Hold the checkout an invocation works in."""
    with hold.held(around.project, around.environ, lambda line: around.emit(Warned(line))) as here:
        yield here


def _place(here: Held, history: Sequence[Entry], name: str) -> int:
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
