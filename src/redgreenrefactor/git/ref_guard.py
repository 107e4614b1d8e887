"""The refs of a repository while a session works: what it does to them is noticed, kept out of the way, and put right."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.filesystem import below
from redgreenrefactor.git import hidden, lock, mark
from redgreenrefactor.git.executable import decoded
from redgreenrefactor.git.mark import Mark
from redgreenrefactor.git.notes import only_others_wrote
from redgreenrefactor.git.objects import Commit
from redgreenrefactor.git.pushes import Push, RunCommits, checked_out, moved_elsewhere, pushes
from redgreenrefactor.git.refs import KEPT, NOTES, Damage, Refs, damage, folder_of, read_refs, update_refs
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.git.stand_in import Taken

LOCKABLE = ("refs/heads", "refs/tags", "refs/notes", "refs/tdd")  # a fetch of the user's may lock others


class RefGuard:
    """Knows the mark of the session that was begun last, and so what every ref was before it."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._git = repository.excluding
        self._objects = repository.objects
        self.mark: Mark | None = None

    # --- what was there

    @property
    def run_id(self) -> str:
        """The run whose session was begun."""
        return self.mark.run_id if self.mark else "unknown"

    def branch(self) -> str | None:
        """Return the branch the run works on; only asked of git before the first session."""
        if self.mark is not None:
            return self.mark.branch
        name, found = None, "HEAD"
        while found:  # a branch may be another name for the one that commits go to
            found = decoded(self._git.attempt("symbolic-ref", "--quiet", found).stdout).strip()
            name = found or name
        return name

    def refs(self) -> Refs:
        """Return the refs as we know them to be; only asked of git before the first session."""
        return self.mark.refs if self.mark is not None else read_refs(self._git)

    def hidden(self) -> Mapping[str, str]:
        """Return the files that the user keeps git from looking at; asked of git before the first session only."""
        return self.mark.hidden if self.mark is not None else hidden.hidden_in(self._git)

    def write_mark(self, made: Mark) -> None:
        """Remember, beyond a crash, what a session starts from."""
        self.mark = made
        mark.write(self._repository.mark, made)

    def remove_mark(self) -> None:
        """Forget the session beyond a crash: what is checked out is accounted for."""
        self._repository.mark.unlink(missing_ok=True)

    def remember(self, updates: Mapping[str, str | None]) -> None:
        """Know of changes to refs that are our own, or nobody's fault."""
        if self.mark is not None:
            self.mark = replace(self.mark, refs=self.mark.refs.changed(updates))

    def remember_branch(self, commit: str) -> None:
        """Know that the run's branch is at a commit now."""
        branch = self.branch()
        self.remember({branch: commit} if branch else {})

    def keep(self, run_id: str, name: str, commit: str) -> str:
        """Make a commit stay reachable below refs/tdd/kept/; return the ref."""
        ref = f"{KEPT}{folder_of(run_id)}/{name}-{commit[:10]}"
        update_refs(self._git, [f"update {ref} {commit}"])
        self.remember({ref: commit})
        return ref

    # --- what became of it

    def damage(self, later: Refs) -> Damage:
        """Return what the session did to refs that are not its own; notes of other runs are no session's doing."""
        before, notes = self.refs(), later.oids.get(NOTES)
        if notes and only_others_wrote(self._objects, before.oids.get(NOTES), notes, self.run_id):
            before = before.changed({NOTES: notes})
        return damage(before, later, self.branch(), self.run_id)

    def damage_inside(self, taken: Taken) -> tuple[str, ...]:
        """Return what a held session did to refs of its own git folder that it would not have been let do to ours."""
        if taken.before is None or taken.refs is None:
            return ()
        return damage(taken.before, taken.refs, self.branch(), self.run_id).rewritten

    def note_pushes(self, base: str, work: Commit, later: Refs, taken: Taken) -> list[Push]:
        """Return what has reached remotes since the session began, and know of it from now on."""
        run = RunCommits(self.branch(), base, (work.oid, *checked_out(self._repository.git_dir)))
        before = self.refs()
        found = {push.ref: push for push in pushes(self._git, before, later, run)}
        if taken.before is not None and taken.refs is not None:
            found |= {push.ref: push for push in pushes(self._git, taken.before, taken.refs, run)}
        self.remember(moved_elsewhere(before, later))
        return list(found.values())

    def put_back(self, commit: str, later: Refs, harm: Damage) -> None:
        """Make all refs what they were, and the own branch, checked out, this commit."""
        branch = self.branch()
        own = {branch: commit} if branch and later.oids.get(branch) != commit else {}
        kept = {place: oid for place, oid in harm.kept.items() if self._objects.get(oid)}
        for name in harm.restored.keys() - later.oids.keys():
            if (file := self._repository.common_dir / name).is_file():
                file.unlink()  # what stands there is nothing that git could read and replace
        update_refs(
            self._git,
            [f"update {place} {oid}" for place, oid in kept.items()],
            [f"delete {name} {oid}" for name, oid in harm.removed.items()],
            [f"update {name} {oid}" for name, oid in {**harm.restored, **own}.items()],
        )
        self.put_head_back(commit)
        self.remember({**kept, **own})

    def put_head_back(self, commit: str | None = None) -> None:
        """Put HEAD back on the run's branch, or detach it again at the commit."""
        branch = self.branch()
        current = (self._repository.git_dir / "HEAD").read_text().strip()
        if branch and current != f"ref: {branch}":
            self._git.raw("symbolic-ref", "HEAD", branch)
        elif branch is None and commit and current != commit:
            self._git.raw("update-ref", "--no-deref", "HEAD", commit)

    def others_at_work(self) -> bool:
        """Tell whether another orchestrator is at work in another checkout of the repository."""
        common = self._repository.common_dir
        places = (common / lock.NAME, *common.glob(f"worktrees/*/{lock.NAME}"))
        return any(lock.is_held(place) for place in places if place.parent != self._repository.git_dir)

    def clear_locks(self) -> None:
        """Remove the lock files of gits that died with their session."""
        own, common = self._repository.git_dir, self._repository.common_dir
        places = [own / "index.lock", own / "HEAD.lock", common / f"{self.branch() or 'HEAD'}.lock"]
        if not self.others_at_work():
            places += [common / name for name in ("packed-refs.lock", "config.lock", "refs/stash.lock")]
            found = (entry for name in LOCKABLE for entry in below(common / name))
            places += [Path(entry.path) for entry in found if entry.name.endswith(".lock")]
        for place in places:
            place.unlink(missing_ok=True)
