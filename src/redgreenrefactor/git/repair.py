"""Mending the notes: what can be read again is, what was lost is looked for, and nothing is thrown away."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path

from redgreenrefactor.errors import LedgerError, NotReadyError
from redgreenrefactor.git.executable import Git, decoded
from redgreenrefactor.git.notes import (
    NotesTree,
    commit_notes,
    find_note,
    merge_note,
    point_notes,
    read_note,
    read_tree,
    write_tree,
)
from redgreenrefactor.git.objects import Objects
from redgreenrefactor.git.refs import ATTEMPTS, KEPT, NOTES, list_refs, update_refs
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.git.rewritten_commits import RewrittenCommits
from redgreenrefactor.model.chain import age, mended
from redgreenrefactor.model.goal import LIST
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.values import frozen

KEPT_NOTES = f"{KEPT}notes/"
SHORT = 10


@frozen
class Mend:
    """One thing that was found and put right, or will be."""

    action: str  # pointed, merged, restored, mended, moved, dropped, rearranged, left
    message: str
    commit: str | None = None
    kept: str | None = None  # the ref under which what stood there before is kept


@dataclass
class RepairPlan:
    """What the notes will be."""

    notes: dict[str, str | Handoff] = field(default_factory=dict[str, str | Handoff])
    tree: NotesTree = field(default_factory=NotesTree)
    before: str | None = None  # where the notes point now
    parents: list[str] = field(default_factory=list[str])
    keep: dict[str, str] = field(default_factory=dict[str, str])  # ref → object
    mends: list[Mend] = field(default_factory=list[Mend])
    rubbish: Path | None = None  # a file where the ref should be
    torn: bool = False  # part of the notes, and so of their history, is gone or damaged

    def say(self, action: str, message: str, commit: str | None = None, kept: str | None = None) -> None:
        """Remember what is done."""
        self.mends.append(Mend(action, message, commit, kept))


class Repair:
    """What is wrong with the notes of a repository, and what mends it."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._git: Git = repository.git
        self._objects: Objects = repository.objects
        self._rewritten = RewrittenCommits(self._git, self._objects, f"{repository.prefix}{LIST}")

    def plan(self) -> RepairPlan:
        """Return what has to be done; nothing is changed by it."""
        plan = RepairPlan()
        self._look(plan)
        self._fill_holes(plan)
        for name, tip in self._sources(plan).items():
            self._take_in(plan, name, tip)
        self._read_again(plan)
        self._find_rewritten(plan)
        self._drop_vanished(plan)
        if plan.torn:
            plan.parents = [*self._sound_past(plan.parents[:1]), *plan.parents[1:]]
            plan.say("rearranged", "their history goes on from before the part of it that is gone")
        if plan.tree.odd:
            plan.say("rearranged", f"the notes tree is written anew: {', '.join(plan.tree.odd)}")
        if plan.before and not plan.torn and any(mend.action != "left" for mend in plan.mends):
            self._keep_tip(plan)
        return plan

    def carry_out(self, plan: RepairPlan) -> None:
        """Make the notes what the plan says; whatever stood there before is kept first."""
        if plan.rubbish is not None:
            rubbish = self._git.text("hash-object", "-w", "--stdin", stdin=plan.rubbish.read_bytes())
            plan.keep[f"{KEPT_NOTES}{rubbish[:SHORT]}"] = rubbish
        update_refs(self._git, [f"update {ref} {oid}" for ref, oid in plan.keep.items()])
        if plan.rubbish is not None:
            plan.rubbish.unlink()
        if not any(mend.action != "left" for mend in plan.mends):
            return
        if not plan.notes and not plan.tree.others:
            if plan.before:
                update_refs(self._git, [f"delete {NOTES} {plan.before}"])
            return
        tree = write_tree(self._git, plan.notes, plan.tree.others)
        for parent in plan.parents:
            tip = self._objects.commit(parent)
            if (
                tip
                and tip.tree == tree
                and all(self._git.is_ancestor(other, parent) for other in plan.parents)
            ):
                if parent != plan.before:
                    point_notes(self._git, parent, plan.before, "rgr repair-notes")
                return
        commit_notes(self._git, tree, plan.parents, plan.before, "Notes mended by rgr")

    # --- what is there

    def _look(self, plan: RepairPlan) -> None:
        """Find the notes that everything else is measured by: where the ref points, or where it last made sense."""
        plan.before = (
            decoded(self._git.attempt("rev-parse", "--verify", "--quiet", NOTES).stdout).strip() or None
        )
        file = self._repository.common_dir / NOTES
        if plan.before is None and file.is_file():
            rubbish = self._git.text("hash-object", "--stdin", stdin=file.read_bytes())
            plan.rubbish, plan.before = file, self._packed()
            plan.say("pointed", f"{NOTES} held no object's name", kept=f"{KEPT_NOTES}{rubbish[:SHORT]}")
        what = self._objects.get(plan.before) if plan.before else None
        kind = what[1] if what else "missing object"
        tip = self._objects.commit(f"{plan.before}^{{commit}}") if what else None
        tree = tip.tree if tip else plan.before if kind == "tree" else None
        found = read_tree(self._objects, tree)
        if tree and (found.notes or not found.others):
            plan.tree, plan.notes = found, dict(found.notes)
            plan.parents = [tip.oid] if tip else []
            if kind != "commit":
                plan.say("pointed", f"{NOTES} pointed to a {kind}; its notes are taken over")
            return
        if plan.before:
            kind = "commit without notes" if tree else kind
            plan.say("pointed", f"{NOTES} pointed to a {kind}")
        self._fall_back(plan)

    def _packed(self) -> str | None:
        """Return where git's packed refs say the notes are, which a file hides."""
        try:
            text = (self._repository.common_dir / "packed-refs").read_text("utf-8", "replace")
        except OSError:
            return None
        rows = [line.split(" ") for line in text.splitlines() if line.endswith(f" {NOTES}")]
        return rows[-1][0] if rows else None

    def _fall_back(self, plan: RepairPlan) -> None:
        """Start from where the notes last made sense."""
        for tip in chain(self._logged(), self._dangling()):
            commit = self._objects.commit(tip) if tip != plan.before else None
            found = read_tree(self._objects, commit and commit.tree)
            if commit and found.notes:
                plan.tree, plan.notes, plan.parents = found, dict(found.notes), [commit.oid]
                plan.say("restored", f"{len(found.notes)} notes as they were at {commit.oid[:SHORT]}")
                return

    def _fill_holes(self, plan: RepairPlan) -> None:
        """Put back the notes of folders that are gone, as the history of the notes last has them."""
        if not plan.tree.holes:
            return
        self._tear(plan)
        for tip in self._ancestors(plan.parents):
            commit = self._objects.commit(tip)
            found = read_tree(self._objects, commit and commit.tree)
            lost = {
                noted: blob
                for noted, blob in found.notes.items()
                if noted.startswith(plan.tree.holes) and noted not in plan.notes
            }
            plan.tree = plan.tree.with_features_of(found)
            if lost:
                plan.notes |= lost
                plan.say("restored", f"{len(lost)} notes as they were at {tip[:SHORT]}")
            if commit and not found.holes:
                return

    def _tear(self, plan: RepairPlan) -> None:
        """Remember that something is gone for good: nobody could push or pack a history with a hole in it."""
        if any(key.endswith(".promisor") for key in self._repository.config):
            raise NotReadyError(
                "part of the notes is not here, and cannot be had from where this partial clone comes from",
                hint="See that 'git fetch' works, then try again.",
                type="RemoteUnreachable",
            )
        plan.torn = True

    def _ancestors(self, tips: Sequence[str]) -> list[str]:
        """Return the history of notes, the latest first, as far as it is here."""
        found = self._git.attempt("rev-list", "--topo-order", *tips) if tips else None
        return decoded(found.stdout).split() if found else []

    def _sound_past(self, tips: Sequence[str]) -> list[str]:
        """Return the latest commit of a history that nothing is gone from up to there, if there is one."""
        sound: set[str] = set()
        latest: list[str] = []
        for tip in reversed(self._ancestors(tips)):
            commit = self._objects.commit(tip)
            if commit is None or not self._is_sound(commit.tree, sound):
                break
            latest = [tip]
        return latest

    def _is_sound(self, oid: str, known: set[str]) -> bool:
        """Tell whether a note, or a folder and all that is in it, can be read; add what can to those known."""
        if oid in known:
            return True
        found = self._objects.get(oid)
        inside = self._objects.tree(oid).values() if found and found[1] == "tree" else ()
        if found is None or not all(self._is_sound(node.oid, known) for node in inside):
            return False
        known.add(oid)
        return True

    def _logged(self) -> list[str]:
        """Return where the notes have pointed, the latest first."""
        return [line.split()[1] for line in reversed(self._log()) if len(line.split()) > 1]

    def _log(self) -> list[str]:
        try:
            return (self._repository.common_dir / "logs" / NOTES).read_text("utf-8", "replace").splitlines()
        except OSError:
            return []

    def _dangling(self) -> Iterator[str]:
        """Yield notes commits that nothing leads to any more, the latest first."""
        flags = ("--unreachable", "--no-reflogs", "--connectivity-only", "--no-progress")
        listing = decoded(self._git.attempt("fsck", *flags).stdout)
        oids = re.findall(r"^unreachable commit ([0-9a-f]+)$", listing, re.MULTILINE)
        commits = [commit for oid in oids if (commit := self._objects.commit(oid))]
        ours = [
            commit for commit in commits if commit.subject.startswith("Notes ") and "rgr" in commit.subject
        ]
        older = {parent for commit in ours for parent in commit.parents}
        heads = [commit for commit in ours if commit.oid not in older]
        yield from (
            commit.oid for commit in sorted(heads, key=lambda one: one.author.split()[-2:], reverse=True)
        )

    # --- what is elsewhere

    def _sources(self, plan: RepairPlan) -> dict[str, str]:
        """Return other copies of the notes that hold something this one does not, by name."""
        found = {**self._copies, **list_refs(self._git, KEPT_NOTES)}
        found |= {f"{NOTES} before a fetch ({oid[:SHORT]})": oid for oid in self._overwritten()}
        base = plan.parents[0] if plan.parents else None
        return {
            name: oid
            for name, oid in found.items()
            if self._objects.commit(oid) and not (base and self._git.is_ancestor(oid, base))
        }

    def _overwritten(self) -> Iterator[str]:
        """Yield where the notes were before a forced fetch threw them over."""
        for line in self._log():
            ids, _, why = line.partition("\t")
            if why.startswith(("fetch", "pull")) and "forced" in why:
                yield ids.split()[0]

    def _take_in(self, plan: RepairPlan, name: str, tip: str) -> None:
        """Take from another copy what is newer there, or not here at all."""
        commit = self._objects.commit(tip)
        found = read_tree(self._objects, commit and commit.tree)
        plan.tree = plan.tree.with_features_of(found)
        shared = name.endswith("/tdd-handoffs")  # somebody else goes on from there
        took = False
        for noted, blob in found.notes.items():
            mine = plan.notes.get(noted)
            if mine == blob or (read_note(self._objects, blob) is None and (mine is not None or not shared)):
                continue
            if mine is None:
                if not shared and self._objects.commit(noted) is None:
                    continue
                took, plan.notes[noted] = True, blob
                plan.say("restored", f"from {name}", noted)
            elif isinstance(mine, str) and (new := merge_note(self._objects, mine, blob)) != mine:
                took, plan.notes[noted] = True, new
                plan.say("merged", f"the newer one of {name}", noted)
        if shared and (found.notes or not found.others):
            if not took:
                plan.say("merged", f"{name} holds nothing newer")
            plan.parents.append(tip)

    # --- note by note

    def _read_again(self, plan: RepairPlan) -> None:
        for commit, note in list(plan.notes.items()):
            if not isinstance(note, str) or read_note(self._objects, note) is not None:
                continue
            found = self._objects.get(note)
            kept = None
            if found is None:
                self._tear(plan)
            else:
                kept = f"{KEPT_NOTES}{commit[:SHORT]}-{note[:SHORT]}"
                plan.keep[kept] = note
            texts = [text for text in (found and mended(found[2]), self._earlier(plan, commit)) if text]
            if texts:
                plan.notes[commit] = max(texts, key=age)
                plan.say("mended", "it could not be read; what it said before is there again", commit, kept)
            else:
                del plan.notes[commit]
                plan.say("dropped", "it could not be read, and nothing tells what it said", commit, kept)

    def _earlier(self, plan: RepairPlan, commit: str) -> Handoff | None:
        """Return what a note said when it could last be read."""
        seen: set[str] = set()
        for tip in self._ancestors(plan.parents):
            blob = self._blob(tip, commit)
            if blob and blob not in seen:
                seen.add(blob)
                if handoff := read_note(self._objects, blob):
                    return handoff
        return None

    def _blob(self, tip: str, commit: str) -> str | None:
        found = self._objects.commit(tip)
        try:
            return find_note(self._objects, found.tree, commit) if found else None
        except LedgerError:
            return None

    def _find_rewritten(self, plan: RepairPlan) -> None:
        """Put notes on the commits that a rebase or an amend made of theirs."""
        attempts = set(list_refs(self._git, ATTEMPTS).values())
        handoffs = {
            commit: handoff
            for commit, note in plan.notes.items()
            if commit not in attempts
            and (handoff := read_note(self._objects, note) if isinstance(note, str) else note)
        }
        for old, new in self._rewritten.pairs(handoffs, set(plan.notes)):
            plan.notes[new] = plan.notes[old]
            plan.say("moved", f"copied from {old[:SHORT]}, which was rewritten as {new[:SHORT]}", new)

    def _drop_vanished(self, plan: RepairPlan) -> None:
        left: dict[str, list[str]] = {}
        gone = [commit for commit in plan.notes if self._objects.commit(commit) is None]
        for commit in gone:
            if why := self._may_be_elsewhere(commit):
                left.setdefault(why, []).append(commit)
            else:
                del plan.notes[commit]
                plan.say("dropped", "its commit is gone", commit)
        for why, commits in left.items():
            plan.say("left", f"{len(commits)} on commits that are not here: {why}")

    def _may_be_elsewhere(self, commit: str) -> str:
        """Return why a note on a commit that is not here may still be somebody's."""
        if (self._repository.common_dir / "shallow").exists():
            return "this is a shallow clone"
        for name, tip in self._copies.items():
            if self._blob(tip, commit):
                return f"{name} has the note"
        if self._git.text("remote") and not self._copies:
            return "it may be at a remote: type 'rgr fetch' first"
        return ""

    @cached_property
    def _copies(self) -> Mapping[str, str]:
        """The notes as remotes have them, as far as they were fetched."""
        found = list_refs(self._git, "refs/notes", "refs/remotes")
        return {name: oid for name, oid in found.items() if name != NOTES and name.endswith("/tdd-handoffs")}

    def _keep_tip(self, plan: RepairPlan) -> None:
        """Keep what the notes were, unless all of it is in what they become."""
        lossless = {"merged", "restored", "moved"}
        harmless = all(mend.action in lossless or mend.action == "left" for mend in plan.mends)
        if plan.before and not harmless and self._objects.get(plan.before):
            plan.keep[f"{KEPT_NOTES}{plan.before[:SHORT]}"] = plan.before
