"""A run carried to a remote and back: branch, notes, and what is kept of attempts and rollbacks."""

import shlex
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from redgreenrefactor.errors import LedgerError, NotReadyError
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.notes import (
    commit_notes,
    holds_notes,
    merge_note,
    notes_tip,
    point_notes,
    read_tree,
    write_tree,
)
from redgreenrefactor.git.refs import KEPT, NOTES, ROLLED_BACK, RUNS, folder_of, list_refs
from redgreenrefactor.git.remote import OutrunError, Remote
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.model.values import frozen

TDD = "refs/tdd/"
RACES = 5
WHY = "Notes merged by rgr"

Result = TypeVar("Result")
Alone = Callable[[], AbstractContextManager[object]]  # holds the checkout while refs of ours are changed


@frozen
class Carried:
    """What was carried over."""

    remote: str
    branch: str | None
    head: str | None  # where the branch is now, on the side it was carried to
    notes: str  # none, unchanged, pushed, fetched, merged
    refs: int  # of attempts, of what is kept, and of runs
    moved: bool = False  # the branch


def push(repository: Repository, remote: Remote, branch: str | None, alone: Alone) -> Carried:
    """Bring branch, notes and refs to a remote; its newer notes are merged first, newer commits are refused."""

    def attempt() -> Carried:
        there = remote.listing(NOTES, f"{TDD}*", *([f"refs/heads/{branch}"] if branch else []))
        return _pushed(repository, remote, branch, there, alone)

    return _until_first(remote, attempt)


def push_branch(repository: Repository, remote: Remote, branch: str) -> None:
    """Bring a branch to a remote, and nothing else; newer commits there are refused."""
    name = f"refs/heads/{branch}"
    head = repository.objects.resolve(name) or ""

    def attempt() -> None:
        theirs = remote.listing(name).get(name)
        _require_forward(repository, remote, branch, theirs, head)
        remote.push({name: head} if theirs != head else {}, {}, {})

    _until_first(remote, attempt)


def _until_first(remote: Remote, attempt: Callable[[], Result]) -> Result:
    """Return what an attempt returns during which nobody else was faster."""
    complaint = ""
    for _ in range(RACES):
        try:
            return attempt()
        except OutrunError as error:
            complaint = str(error)
    raise NotReadyError(
        f"{remote.name} has moved on whenever we pushed, or does not take it: {complaint}",
        hint="Type 'rgr push' again.",
        type="RemoteBusy",
    )


def _pushed(
    repository: Repository, remote: Remote, branch: str | None, there: dict[str, str], alone: Alone
) -> Carried:
    head = repository.objects.resolve(f"refs/heads/{branch}" if branch else "HEAD")
    if head is None:
        raise NotReadyError("there is no commit yet to push", hint="Type 'rgr run \"FEATURE\"' first.")
    together: dict[str, str] = {}
    if branch:
        name = f"refs/heads/{branch}"
        _require_forward(repository, remote, branch, there.get(name), head)
        together |= {name: head} if there.get(name) != head else {}
    told, notes = _notes_to_push(repository, remote, there.get(NOTES), alone)
    together |= {NOTES: notes} if notes and notes != there.get(NOTES) else {}
    apart, leases = _refs_to_push(repository, there, head)
    remote.push(together, apart, leases)
    return Carried(remote.name, branch, head, told, len(apart), f"refs/heads/{branch}" in together)


def _require_forward(
    repository: Repository, remote: Remote, branch: str, theirs: str | None, head: str
) -> None:
    """Refuse to push over commits that are not here."""
    if theirs is None or leads_to(repository, head, theirs):
        return
    known = repository.objects.commit(theirs) is not None
    force = shlex.join(
        ["git", "push", f"--force-with-lease={branch}:{theirs[:10]}", remote.name, f"refs/heads/{branch}"]
    )
    raise NotReadyError(
        f"{branch} on {remote.name} is at {theirs[:10]}, which {branch} here does not lead to",
        hint=f"Type 'git rebase {theirs[:10]}' or 'git merge {theirs[:10]}' to build on it, then 'rgr push'; "
        f"to put yours in its place, e.g. after a rollback: '{force}', then 'rgr push'."
        if known
        else "Type 'rgr fetch' to get it, then 'rgr push'.",
        type="BranchDiverged",
    )


def leads_to(repository: Repository, tip: str, ancestor: str) -> bool:
    """Tell whether one commit is, or comes after, another that may not be here at all."""
    known = tip == ancestor or repository.objects.commit(ancestor) is not None
    return known and repository.git.is_ancestor(ancestor, tip)


def _notes_to_push(
    repository: Repository, remote: Remote, theirs: str | None, alone: Alone
) -> tuple[str, str | None]:
    tip = notes_tip(repository.git, repository.objects)
    mine = tip.oid if tip else None
    if theirs is None or mine == theirs:
        return ("none" if mine is None else "pushed" if theirs is None else "unchanged"), mine
    if mine and leads_to(repository, mine, theirs):
        return "pushed", mine
    remote.fetch({NOTES: remote.notes})
    with alone():
        merge_notes(repository, remote)
    return "merged", repository.objects.resolve(NOTES)


def merge_notes(repository: Repository, remote: Remote) -> bool:
    """Make the notes here hold also what a remote's hold: note by note the newest; tell whether they changed."""
    objects, git = repository.objects, repository.git
    theirs, mine = objects.commit(remote.notes), notes_tip(git, objects)
    if theirs is None or not holds_notes(objects, theirs):
        instead = f"+{NOTES}" if mine else f":{NOTES}"
        raise LedgerError(
            f"{NOTES} on {remote.name} holds no notes",
            hint=f"See 'git show {remote.notes}', what it is; to {'put yours' if mine else 'have nothing'} "
            f"in its place there: 'git push {remote.name} {instead}'.",
        )
    if mine is None or leads_to(repository, theirs.oid, mine.oid):
        if mine is None or mine.oid != theirs.oid:
            point_notes(git, theirs.oid, mine.oid if mine else None, WHY)
        return mine is None or mine.oid != theirs.oid
    if leads_to(repository, mine.oid, theirs.oid):
        return False
    ours, other = read_tree(objects, mine.tree), read_tree(objects, theirs.tree)
    notes = {**other.notes, **ours.notes}
    merged = {
        commit: merge_note(objects, blob, other.notes[commit])
        if commit in other.notes and other.notes[commit] != blob
        else blob
        for commit, blob in notes.items()
    }
    tree = write_tree(git, merged, {**other.others, **ours.others})
    commit_notes(git, tree, [mine.oid, theirs.oid], mine.oid, WHY)
    return True


def _refs_to_push(
    repository: Repository, there: dict[str, str], head: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Return what is to be made there of our refs; a name that is taken there is not taken away."""
    apart: dict[str, str] = {}
    leases: dict[str, str] = {}
    for name, oid in list_refs(repository.git, TDD).items():
        place = name if there.get(name, oid) == oid else second_name(name, oid)
        if not name.startswith(RUNS) and there.get(place) != oid:
            apart[place] = oid
    latest = GitLedger(repository).latest(head)
    if latest is not None:
        name = f"{RUNS}{folder_of(latest.handoff.run_id)}"
        before = there.get(name)
        if before is not None and not leads_to(repository, latest.commit, before):
            if left_behind(repository, before):
                leases[name] = before
            else:  # somebody goes on with the same run elsewhere
                name = second_name(name, latest.commit)
        if before != latest.commit:
            apart[name] = latest.commit
    return apart, leases


def left_behind(repository: Repository, commit: str) -> bool:
    """Tell whether a commit was left behind by a rollback here."""
    if repository.objects.commit(commit) is None:
        return False
    left = f"{KEPT}*/{ROLLED_BACK}-*"
    return bool(repository.git.text("for-each-ref", "--count=1", f"--contains={commit}", left))


def second_name(name: str, oid: str) -> str:
    """Return what something is kept under whose name is taken."""
    return f"{KEPT}{name.removeprefix(TDD).removeprefix('kept/')}-{oid[:10]}"


def fetch(repository: Repository, remote: Remote, branch: str | None) -> Carried:
    """Bring notes and refs from a remote, and its branch to where remote branches stand."""
    there = remote.listing(NOTES, f"{TDD}*", *([f"refs/heads/{branch}"] if branch else []))
    here = list_refs(repository.git, TDD)
    wanted: dict[str, str] = {}
    for name, oid in there.items():
        if name.startswith(TDD) and here.get(name) != oid:
            taken = name in here and not name.startswith(RUNS)
            place = second_name(name, oid) if taken else name
            wanted |= {name: place} if here.get(place) != oid else {}
    refs = len(wanted)
    theirs = there.get(f"refs/heads/{branch}") if branch else None
    if theirs:
        wanted[f"refs/heads/{branch}"] = f"refs/remotes/{remote.name}/{branch}"
    told = "none" if NOTES not in there else "unchanged"
    if NOTES in there:
        wanted[NOTES] = remote.notes
    remote.fetch(wanted)
    if NOTES in there:
        alone = repository.objects.resolve(NOTES) is None
        if merge_notes(repository, remote):
            told = "fetched" if alone else "merged"
    return Carried(remote.name, branch, theirs, told, refs)
