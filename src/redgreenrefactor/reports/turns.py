"""One turn by its name: a commit, `CYCLE-PHASE`, or `CYCLE-PHASE-ATTEMPT` of the latest run here."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from redgreenrefactor.errors import UsageError
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.objects import patches
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.lifecycle.status import opened, run_here, turns_of
from redgreenrefactor.model.goal import cited
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.run_report import NO_PATCH, ReportedTurn
from redgreenrefactor.sandbox.secrets import masked_in, masking

if TYPE_CHECKING:
    from redgreenrefactor.model.codec import Json

HINT = "'rgr history --attempts' lists them: name a commit, CYCLE-PHASE such as 1-GREEN, or 1-GREEN-2."


def turn_named(project: Path, environ: Mapping[str, str], name: str) -> ReportedTurn:
    """Return a turn with what it changed, secrets masked; a name that no turn has is a UsageError."""
    with opened(project, environ) as (repository, ledger):
        turn = _found(repository, ledger, name)
        if turn is None:
            raise UsageError(f"there is no turn {cited(name)}", hint=HINT)
        patch = patches(repository.git, [turn.commit]).get(turn.commit, NO_PATCH)
        masked: ReportedTurn = masked_in(
            ReportedTurn(turn.commit, turn.handoff, turn.accepted, patch), masking(environ)
        )
        return masked


def _found(repository: Repository, ledger: GitLedger, name: str) -> ReportedTurn | None:
    wanted = name.upper()
    attempt: ReportedTurn | None = None
    for entry in turns_of(repository, ledger, run_here(repository, ledger)):
        turn = _turn(entry)
        if turn.handoff.carried_from or not turn.handoff.cycle_number:
            continue
        if turn.name == wanted or (turn.accepted and turn.name.rpartition("-")[0] == wanted):
            return turn
        if turn.name.rpartition("-")[0] == wanted:
            attempt = attempt or turn  # the latest one, unless one was accepted
    commit = None if attempt else repository.objects.commit(name)
    note = ledger.read(commit.oid) if commit else None
    return _turn(Entry(commit.oid, note)) if commit and note else attempt


def _turn(entry: Entry) -> ReportedTurn:
    return ReportedTurn(entry.commit, entry.handoff, not entry.is_attempt)


def steps_of(project: Path, environ: Mapping[str, str], turn: ReportedTurn) -> "list[Json]":
    """Return what the session of a turn was told and did, secrets masked; nothing where no transcript was kept."""
    from redgreenrefactor.records.transcripts import FOLDER, find, read  # noqa: PLC0415 - for few commands

    with opened(project, environ) as (repository, _):
        path = find(repository.common_dir / FOLDER, turn.handoff.run_id, turn.name)
    return masked_in(list(read(path)), masking(environ)) if path else []
