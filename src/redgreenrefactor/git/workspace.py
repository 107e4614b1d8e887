"""The checkout a run works in: turns become commits here, or are undone without losing anything."""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from redgreenrefactor.errors import GitError, NotReadyError, some_of
from redgreenrefactor.git import artifacts, guard, hidden, lock, mark
from redgreenrefactor.git.artifacts import BESIDE, left_out
from redgreenrefactor.git.checkout import CleanCheckout
from redgreenrefactor.git.commit_message import fits, mended
from redgreenrefactor.git.executable import decoded, encoded, nul_terminated
from redgreenrefactor.git.litter import remove_holes
from redgreenrefactor.git.mark import Mark
from redgreenrefactor.git.nested import changed_since, has_commit, note_environments
from redgreenrefactor.git.notes import only_others_wrote
from redgreenrefactor.git.objects import LINK, SUBMODULE, Commit, Node
from redgreenrefactor.git.obstacles import insist, sweep
from redgreenrefactor.git.pushes import Push, RunCommits, checked_out, moved_elsewhere, pushes
from redgreenrefactor.git.refs import (
    ATTEMPTS,
    KEPT,
    NOTES,
    ROLLED_BACK,
    Damage,
    Refs,
    damage,
    folder_of,
    read_refs,
    update_refs,
)
from redgreenrefactor.git.repository import IN_PROGRESS, CheckoutStatus, Repository
from redgreenrefactor.git.snapshots import GitSnapshots
from redgreenrefactor.git.stand_in import StandIn, Taken
from redgreenrefactor.model.workflow import Phase
from redgreenrefactor.ports import Sealed
from redgreenrefactor.reading import below
from redgreenrefactor.writing import remove

NAMED = 10  # files a refusal names before it counts the rest


class GitWorkspace(GitSnapshots):
    """A checkout of a git repository, worked in by one orchestrator at a time."""

    def __init__(self, repository: Repository) -> None:
        super().__init__(repository, CleanCheckout(repository))
        self._git = repository.excluding
        self._mark: Mark | None = None
        self._stand_in = StandIn(repository)
        self._ground: str | None = None  # the tree a session goes on from, where it is not its base
        self._excluded: set[str] = set()  # environments and build outputs that were met
        self.noticed: tuple[
            str, ...
        ] = ()  # what a session that was undone had done beside the files of the project
        self._listed: tuple[str, ...] | None = None  # what lay there untracked when git was asked last
        repository.write_excludes()

    @property
    def project(self) -> Path:
        """The folder sessions work in."""
        return self._repository.project

    # --- looking

    def head(self) -> str:
        """Return the commit that is checked out."""
        found = self._objects.resolve("HEAD")
        if found is None:
            raise NotReadyError(
                "there is no commit yet", hint="Type 'rgr run \"FEATURE\"': it makes an empty first one."
            )
        return found

    def status(self) -> CheckoutStatus:
        """Return the state of the checkout; build outputs and environments found on the way count as ignored."""
        status = self._repository.status()
        outputs = {found for path in status.untracked for found in self._outputs(path)}
        if outputs:
            self._excluded |= outputs
            self._repository.write_excludes(*sorted(self._excluded))
            status = self._repository.status()
        self._listed = status.ignored
        return status

    def local_files_digest(self) -> str:
        """Return what differs where the user's untracked files do."""
        return self._clean.untracked.digest(self.status().ignored if self._listed is None else self._listed)

    def last_attempt(self, run_id: str, cycle: int, phase: str) -> int:
        """Return the highest number an attempt at this phase has been kept under."""
        start = f"{ATTEMPTS}{folder_of(run_id)}/{cycle}-{phase}-"
        numbers = [name.removeprefix(start) for name in self._refs().oids if name.startswith(start)]
        return max((int(number) for number in numbers if number.isdigit()), default=0)

    def others_at_work(self) -> bool:
        """Tell whether another orchestrator is at work in another checkout of the repository."""
        common = self._repository.common_dir
        places = (common / lock.NAME, *common.glob(f"worktrees/*/{lock.NAME}"))
        return any(lock.is_held(place) for place in places if place.parent != self._repository.git_dir)

    def require_clean(self) -> None:
        """Refuse to touch a checkout that holds work of the user's."""
        if what := self._repository.in_progress():
            raise NotReadyError(
                f"{what} is in progress here", hint="Finish or abort it, then try again.", type="InProgress"
            )
        if dirty := self.status().dirty:
            raise NotReadyError(
                f"the working tree has uncommitted changes: {some_of(dirty, NAMED)}",
                hint="Commit them, or put them away with 'git stash -u', then try again.",
                type="DirtyTree",
            )

    # --- working

    def first_commit(self) -> str:
        """Make an empty first commit in a repository that has none."""
        commit = self.empty_commit()
        self._git.raw("update-ref", "HEAD", commit, "")
        return commit

    def empty_commit(self) -> str:
        """Return a commit that holds nothing, follows none, and is no branch's."""
        return self._git.text("commit-tree", self._git.text("mktree"), "-m", "chore: empty first commit")

    def begin(self, run_id: str, base: str) -> None:
        """Remember, beyond a crash, that whatever appears from now on is a session's work on this commit."""
        # What we write ourselves between two sessions is asked for by name: listing all refs again costs a process.
        self._clean.untracked.begin(self.status().ignored if self._listed is None else self._listed)
        self._stand_in.remove()
        branch = self._branch()
        ours = {name: self._objects.resolve(name) for name in (NOTES, branch) if name}
        here = self._repository
        steering = guard.remembered(
            here.root,
            here.git_dir,
            here.common_dir,
            project=here.project,
            modules=tuple(self._modules_at(base)),
        )
        refs = self._refs().changed(ours)
        self._write_mark(Mark(run_id, base, branch, refs, steering, self._hidden()))
        self._ground = None

    def _modules_at(self, base: str) -> Iterator[Path]:
        """Yield the folders of the submodules that are checked out."""
        root = self._repository.root
        if not (root / ".gitmodules").exists():
            return
        for path, node in self._objects.files(self._commit(base).tree):
            if node.mode == SUBMODULE and (root / path / ".git").exists():
                yield root / path

    def adopt(self) -> None:
        """Take every untracked file for the user's: nothing that sessions of an earlier run left is theirs any more."""
        self._clean.untracked.adopt()

    def lend(self) -> StandIn:
        """Return a git folder for the session that has begun to use in place of the real one; seal takes it back."""
        self._stand_in.make(self._refs(), self.head())
        return self._stand_in

    def end(self) -> None:
        """Forget the session: what is checked out is accounted for."""
        self._repository.mark.unlink(missing_ok=True)

    def seal(self, base: str, phase: Phase, description: str, *, empty: bool) -> Sealed:
        """Turn everything done since the base into one commit that is checked out, refs put right.

        Where nothing was done, `empty` says whether that, too, becomes a commit.
        """
        warnings = self._steered_back()
        self._clear_locks()
        taken = self._stand_in.take(self._branch())
        unhidden = hidden.shown_again(self._git, self._hidden())
        status = self.status()
        if swept := self._swept(base, status):
            status = self.status()
        later = read_refs(self._git)
        self._clean.untracked.settle(status.ignored)
        warnings += self._changed_beside(status)
        work = self._objects.commit(status.head or base) or self._commit(base)
        harm = self._damage(later)
        rewritten = (*self._cut_loose(base, work), *harm.rewritten, *self._rewritten_inside(taken))
        pushed = self._pushes(base, work, later, taken)
        signed: bool | None = None
        untouched = work.oid == base and not status.dirty and not empty
        fits_as_it_is = not rewritten and self._good_as_it_is(work, base, phase, status)
        if untouched or (fits_as_it_is and not self._to_be_signed(taken)):
            commit = work
        else:
            commit, signed = self._resealed(base, work, phase, description, status)
        self._put_back(commit.oid, later, harm)
        self._settle()
        if self._mark is not None:
            self._write_mark(replace(self._mark, sealed=True))
        return Sealed(
            commit=commit.oid,
            subject=commit.subject,
            empty=commit.tree == self._commit(base).tree,
            resealed=commit.oid != work.oid,
            signed=signed,
            rewritten=rewritten,
            pushed=tuple(push.words for push in pushed),
            advice=tuple(push.advice for push in pushed),
            warnings=(*warnings, *taken.warnings, *harm.warnings, *hidden.told(unhidden), *swept),
        )

    def lay_out(self, run_id: str, attempt: str) -> None:
        """Make the files those of an attempt that was set aside, without checking it out."""
        ref = f"{ATTEMPTS}{folder_of(run_id)}/{attempt}"
        commit = self._commit(self._refs().oids.get(ref, ref))
        self._git.raw("read-tree", "-m", "-u", "HEAD", commit.oid)
        self._ground = commit.tree

    def rewind(self, base: str) -> None:
        """Go back to the base; tracked files as they were, new untracked ones gone, ignored ones untouched."""
        self._check_out(base)
        sweep(self._git)

    def _check_out(self, base: str) -> None:
        """Make tracked files those of the base; nothing else is touched."""
        self._settle()
        self._head_back()
        with hidden.left_alone(self._git, self._hidden()):
            insist(self._git, "reset", "--quiet", "--hard", base)
        if (self._repository.root / ".gitmodules").exists():
            self._git.attempt("submodule", "--quiet", "update", "--checkout", "--no-fetch")
        branch = self._branch()
        self._remember({branch: base} if branch else {})

    def set_aside(self, commit: str, run_id: str, name: str) -> None:
        """Make the commit stay reachable as an attempt of the run; what stood there before is kept, too."""
        ref = f"{ATTEMPTS}{folder_of(run_id)}/{name}"
        refs = self._refs()
        before = refs.oids.get(ref)
        if before == commit:
            return
        updates: dict[str, str | None] = {ref: commit}
        commands = [f"update {ref} {commit} {before or '0' * len(commit)}"]
        if before:
            kept = f"{KEPT}{ref.removeprefix('refs/tdd/')}-{before[:10]}"
            updates[kept] = before
            commands.append(f"update {kept} {before}")
        update_refs(self._git, commands)
        self._remember(updates)

    def keep(self, run_id: str, base: str, why: str) -> str | None:
        """Keep whatever differs from the base at a ref under refs/tdd/kept/; return the ref, None if nothing does."""
        self._clear_locks()
        status = self.status()
        self._clean.untracked.settle(status.ignored)
        self.noticed = self._changed_beside(status)
        head = status.head or base
        if head == base and not status.dirty:
            return None
        if status.dirty:
            tree = self._staged_tree(self._commit(base), status)
            if head == base and tree == self._ground:
                return None  # nothing was added to what was laid out, and that is kept already
            head = self._git.text("commit-tree", tree, "-p", head, "-m", f"kept: {why}")
        ref = f"{KEPT}{folder_of(run_id)}/{why.replace(' ', '-')}-{head[:10]}"
        update_refs(self._git, [f"update {ref} {head}"])
        self._remember({ref: head})
        return ref

    def recover(self, accounted: Callable[[str], bool]) -> str | None:
        """Clean up after a session that was cut off; return the ref its leftovers are kept at, if there are any.

        `accounted` tells whether a commit is a turn whose handoff was written: then nothing is left to do.
        """
        found = self._mark = mark.read(self._repository.mark)
        if found is None:
            return None
        if self._objects.commit(found.base) is None:  # so nobody can go back there; what there is, stays
            self.end()
            self._mark = None
            return None
        if found.moving:
            kept = self.keep(found.run_id, found.base, ROLLED_BACK)
            self._check_out(found.base)
            self.end()
            self._mark = None
            return kept
        head = self._objects.commit("HEAD")
        done = head is not None and head.parents == (found.base,) and accounted(head.oid)
        kept = None if done else self.abandon()
        self.end()
        self._mark = None  # much may have happened since it was written
        return kept

    def abandon(self) -> str | None:
        """Undo the session that was begun last: refs and files are as before, its work is kept; return the ref."""
        begun = self._mark
        if begun is None:
            return None
        if not begun.sealed:
            self._steered_back()
            self._clear_locks()
            self._stand_in.take(begun.branch)
            hidden.shown_again(self._git, begun.hidden)
        kept = self.keep(begun.run_id, begun.base, "interrupted session")
        if not begun.sealed:
            later = read_refs(self._git)
            self._put_back(begun.base, later, self._damage(later))
            self._remember(moved_elsewhere(begun.refs, later))
        self.rewind(begun.base)
        self.end()
        return kept

    def move(self, run_id: str, to: str, why: str) -> str:
        """Make this commit the one that is checked out, branch and files; return the ref that keeps the old one.

        The tree is clean. Cut off half-way, it is taken to its end by whoever works here next.
        """
        tip, ref = self.head(), ""
        if not self._git.is_ancestor(tip, to):
            ref = f"{KEPT}{folder_of(run_id)}/{ROLLED_BACK}-{tip[:10]}"
            update_refs(self._git, [f"update {ref} {tip}"])
        self._write_mark(
            Mark(run_id, to, self._branch(), Refs({}), hidden=self._hidden(), sealed=True, moving=True)
        )
        try:
            self._git.raw("update-ref", "-m", why, "HEAD", to, tip)
        except GitError:
            self.end()
            raise
        self._check_out(to)  # what git ignores now, but not there, is the user's: nothing is cleaned up
        self.end()
        self._mark = None
        return ref

    def require_room(self, to: str) -> None:
        """Refuse to lay out a commit over files that git ignores now and that would be lost."""
        there = self._commit(to).tree
        here = self._commit(self.head()).tree
        added = [
            (path, after)
            for path, before, after in self._objects.differences(here, there)
            if before is None and after is not None
        ]
        lost = list(dict.fromkeys(filter(None, (self._in_the_way(here, *one) for one in added))))
        if lost:
            root = self._repository.root
            move = shlex.join(["mv", "-i", str(root / lost[0]), str(root.parent)])
            raise NotReadyError(
                f"files that git ignores would be overwritten: {', '.join(lost[:NAMED])}",
                hint=f"Move them out of the repository, e.g. {move}, then try again.",
                type="DirtyTree",
            )

    def _in_the_way(self, here: str, path: str, node: Node) -> str | None:
        """Return what lies, tracked by nobody, where a file is to be laid out, and would be gone afterwards."""
        for folder in reversed(PurePosixPath(path).parents[:-1]):
            place = self._repository.root / folder
            if place.is_symlink() or place.is_file():
                return None if self._objects.node(here, str(folder)) else str(folder)
        place = self._repository.root / path
        if place.is_dir() and not place.is_symlink():
            inside = ("ls-files", "--others", "-z", "--", f":(top,literal){path}")
            return path if node.mode != SUBMODULE and self._git.raw(*inside) else None
        return path if os.path.lexists(place) and not self._lies_at(place, path, node) else None

    def _lies_at(self, place: Path, path: str, node: Node) -> bool:
        """Tell whether a file is what git would put there."""
        if place.is_symlink():
            found = self._git.text("hash-object", "--stdin", stdin=os.fsencode(place.readlink()))
            return node.mode == LINK and found == node.oid
        known = place.is_file() and node.mode != LINK
        return known and self._git.text("hash-object", f"--path={path}", "--", path) == node.oid

    def commit_list(self, base: str, subject: str) -> str:
        """Commit an edited `test-list.md`, and nothing else, on top of the base."""
        self._git.raw("add", "--", f"{self.prefix}test-list.md")
        commit, _ = self._written(self._git.text("write-tree"), base, f"{subject}\n", None)
        self._git.raw("update-ref", "HEAD", commit.oid, base)
        branch = self._branch()
        self._remember({branch: commit.oid} if branch else {})
        return commit.oid

    # --- inside

    def _branch(self) -> str | None:
        """Return the branch the run works on; only asked of git before the first session."""
        if self._mark is not None:
            return self._mark.branch
        name, found = None, "HEAD"
        while found:  # a branch may be another name for the one that commits go to
            found = decoded(self._git.attempt("symbolic-ref", "--quiet", found).stdout).strip()
            name = found or name
        return name

    def _refs(self) -> Refs:
        return self._mark.refs if self._mark is not None else read_refs(self._git)

    def _hidden(self) -> Mapping[str, str]:
        """Return the files that the user keeps git from looking at; asked of git before the first session only."""
        return self._mark.hidden if self._mark is not None else hidden.hidden_in(self._git)

    def _remember(self, updates: Mapping[str, str | None]) -> None:
        if self._mark is not None:
            self._mark = replace(self._mark, refs=self._mark.refs.changed(updates))

    def _steered_back(self) -> tuple[str, ...]:
        """Take back what the session did to the files that steer git, before git is asked anything; tell what."""
        begun, here = self._mark, self._repository
        told: tuple[str, ...] = ()
        if begun and begun.steering:
            began = here.mark.stat().st_ctime_ns if here.mark.exists() else 0
            told = guard.put_back(begun.steering, here.cache, began)
        return (*told, *here.look_again(), *remove_holes(self._git))

    def _changed_beside(self, status: CheckoutStatus) -> tuple[str, ...]:
        """Return what the session did among ignored files: to our settings, to repositories and to environments."""
        here, place = self._repository, self._repository.mark
        if self._mark is None or self._mark.sealed or not place.exists():
            return ()
        began = place.stat().st_ctime_ns
        changes = changed_since(here.root, status.ignored, began)
        note_environments(here.cache, changes)
        told = tuple(change.told for change in changes)
        steering = self._mark.steering
        back = guard.put_back_settings(steering, status.ignored, here.cache) if steering else ()
        return (*back, *told)

    def _write_mark(self, made: Mark) -> None:
        self._mark = made
        mark.write(self._repository.mark, made)

    def _outputs(self, path: str) -> Iterator[str]:
        """Yield environments and build outputs at, or in, an untracked path."""
        folder = self._repository.root / path
        if path.endswith("/") and folder.is_dir():
            root, entries = self._repository.root, list(below(folder))
            for place in (Path(entry.path) for entry in entries if entry.name == "pyvenv.cfg"):
                yield place.parent.relative_to(root).as_posix()
            outputs = (Path(entry.path) for entry in entries if entry.name in BESIDE and entry.is_dir())
            for place in (folder, *outputs):
                relative = place.relative_to(root).as_posix()
                if left_out(f"{relative}/x", self._on_disk):
                    yield relative

    def _on_disk(self, path: str) -> bool:
        return (self._repository.root / path).exists()

    def _cut_loose(self, base: str, work: Commit) -> Iterator[str]:
        """Yield that the commit a phase began from has been rewritten, if it has."""
        if base not in work.parents and not self._git.is_ancestor(base, work.oid):
            yield f"the commit the phase began from, {base[:10]}, is no longer part of the history"

    def _damage(self, later: Refs) -> Damage:
        run_id = self._mark.run_id if self._mark else "unknown"
        before, notes = self._refs(), later.oids.get(NOTES)
        if notes and only_others_wrote(self._objects, before.oids.get(NOTES), notes, run_id):
            before = before.changed({NOTES: notes})
        return damage(before, later, self._branch(), run_id)

    def _rewritten_inside(self, taken: Taken) -> tuple[str, ...]:
        """Return what a held session did to refs of its own git folder that it would not have been let do to ours."""
        if taken.before is None or taken.refs is None:
            return ()
        run_id = self._mark.run_id if self._mark else "unknown"
        return damage(taken.before, taken.refs, self._branch(), run_id).rewritten

    def _swept(self, base: str, status: CheckoutStatus) -> tuple[str, ...]:
        """Put away what the session has left lying about, committed or not; return what to say about it."""
        work = self._objects.commit(status.head or base) or self._commit(base)
        committed = self._objects.differences(self._commit(base).tree, work.tree)
        new = [path for path, before, _ in committed if before is None]
        if status.untracked:
            new += self._git.fields("ls-files", "--others", "--exclude-standard", "-z")
        paths = artifacts.unused_scratch(self._git, new)
        if not paths:
            return ()
        oid = artifacts.commit_files(self._git, paths)
        ref = f"{KEPT}{folder_of(self._mark.run_id if self._mark else 'unknown')}/left-out-{oid[:10]}"
        update_refs(self._git, [f"update {ref} {oid}"])
        self._remember({ref: oid})
        artifacts.delete_files(self._repository.root, paths)
        return (artifacts.warning(paths, ref),)

    def _pushes(self, base: str, work: Commit, later: Refs, taken: Taken) -> list[Push]:
        """Return what has reached remotes since the session began, and know of it from now on."""
        line = RunCommits(self._branch(), base, (work.oid, *checked_out(self._repository.git_dir)))
        before = self._refs()
        found = {push.ref: push for push in pushes(self._git, before, later, line)}
        if taken.before is not None and taken.refs is not None:
            found |= {push.ref: push for push in pushes(self._git, taken.before, taken.refs, line)}
        self._remember(moved_elsewhere(before, later))
        return list(found.values())

    def _to_be_signed(self, taken: Taken) -> bool:
        """Tell whether commits are signed here, which a held session could not do."""
        return taken.refs is not None and self._signs()

    def _signs(self) -> bool:
        return self._repository.config.get("commit.gpgsign", "").lower() in ("true", "yes", "on", "1")

    def _put_back(self, commit: str, later: Refs, harm: Damage) -> None:
        """Make all refs what they were, and the own branch, checked out, the sealed commit."""
        branch = self._branch()
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
        self._head_back(commit)
        self._remember({**kept, **own})

    def _head_back(self, commit: str | None = None) -> None:
        """Put HEAD back on the run's branch, or detach it again at the commit."""
        branch = self._branch()
        current = (self._repository.git_dir / "HEAD").read_text().strip()
        if branch and current != f"ref: {branch}":
            self._git.raw("symbolic-ref", "HEAD", branch)
        elif branch is None and commit and current != commit:
            self._git.raw("update-ref", "--no-deref", "HEAD", commit)

    def _good_as_it_is(self, work: Commit, base: str, phase: Phase, status: CheckoutStatus) -> bool:
        return (
            work.parents == (base,)
            and not status.dirty
            and fits(work.message, phase.prefixes)
            and not self._left_out(base, work)
            and work.oid not in self._refs().oids.values()
            and not (
                work.tree == self._commit(base).tree
                and phase.key == "refactor"
                and work.subject != NO_CHANGES
            )
        )

    def _left_out(self, base: str, work: Commit) -> list[str]:
        """Return the files added since the base that belong into no commit."""
        return [
            path
            for path, before, _ in self._objects.differences(self._commit(base).tree, work.tree)
            if before is None and left_out(path, lambda name: self._objects.node(work.tree, name) is not None)
        ]

    def _resealed(
        self, base: str, work: Commit, phase: Phase, description: str, status: CheckoutStatus
    ) -> tuple[Commit, bool | None]:
        """Make one commit on top of the base of all that was done, committed or not."""
        start = self._commit(base)
        tree = work.tree
        if status.dirty or self._left_out(base, work):
            tree = self._staged_tree(start, status)
        last = self._last_change(base, work)
        message = mended(last.message if last.oid != base else "", phase.prefixes, description)
        if tree == start.tree and phase.key == "refactor":
            message = f"{NO_CHANGES}\n"
        return self._written(tree, base, message, last.author if last.oid != base else None)

    def _last_change(self, base: str, work: Commit) -> Commit:
        """Return the last commit of the work that changes something: it says more than an empty one after it."""
        found = work
        while found.oid != base and found.parents:
            before = self._objects.commit(found.parents[0])
            if before is None or before.tree != found.tree:
                return found
            found = before
        return work

    def _staged_tree(self, start: Commit, status: CheckoutStatus) -> str:
        """Stage everything but what is left out, and return the tree of it."""
        for folder in (self._repository.root / path for path in status.untracked if path.endswith("/")):
            self._absorb(folder)
        self._stage()
        tree = self._git.text("write-tree")
        added = [
            path
            for path, before, _ in self._objects.differences(start.tree, tree)
            if before is None and left_out(path, self._on_disk)
        ]
        if added:
            paths = nul_terminated(added)
            self._git.raw("update-index", "--force-remove", "-z", "--stdin", stdin=paths)
            tree = self._git.text("write-tree")
        return tree

    def _stage(self) -> None:
        """Stage everything; repositories in the repository by where they stand, without git going into them.

        Adding the usual way, git looks there for changes, with the settings, and so the programs, that it finds.
        """
        listing = self._git.fields("ls-files", "--stage", "-z")
        inner = [entry.partition("\t")[2] for entry in listing if entry.startswith(f"{SUBMODULE} ")]
        insist(self._git, "add", "--all", "--", ":/", *(f":(top,literal,exclude){path}" for path in inner))
        if inner:
            paths = nul_terminated(inner)
            self._git.raw("update-index", "--add", "--remove", "-z", "--stdin", stdin=paths)

    def _absorb(self, folder: Path) -> None:
        """Make repositories without a commit plain folders: git refuses to add them, and nothing is lost."""
        for inner in [Path(entry.path) for entry in below(folder) if entry.name == ".git" and entry.is_dir()]:
            if not has_commit(inner):
                remove(inner)

    def _written(self, tree: str, base: str, message: str, author: str | None) -> tuple[Commit, bool | None]:
        """Write one commit, signed where the user signs; no two attempts share a commit."""
        env = _author_env(author)
        signs = self._signs()
        raw = encoded(message)
        while True:
            signed: bool | None = None
            oid = ""
            if signs:
                done = self._git.attempt("commit-tree", "-S", tree, "-p", base, stdin=raw, env=env)
                signed, oid = done.exit_code == 0, done.stdout.decode().strip()
            if not oid:
                oid = self._git.text("commit-tree", tree, "-p", base, stdin=raw, env=env)
            if oid not in self._refs().oids.values():
                return self._commit(oid), signed
            seconds = int(self._commit(oid).author.split()[-2]) + 1
            env = {**env, "GIT_AUTHOR_DATE": f"{seconds} +0000", "GIT_COMMITTER_DATE": f"{seconds} +0000"}

    def _clear_locks(self) -> None:
        """Remove the lock files of gits that died with their session."""
        own, common = self._repository.git_dir, self._repository.common_dir
        places = [own / "index.lock", own / "HEAD.lock", common / f"{self._branch() or 'HEAD'}.lock"]
        if not self.others_at_work():
            places += [common / name for name in ("packed-refs.lock", "config.lock", "refs/stash.lock")]
            found = (entry for name in LOCKABLE for entry in below(common / name))
            places += [Path(entry.path) for entry in found if entry.name.endswith(".lock")]
        for place in places:
            place.unlink(missing_ok=True)

    def _settle(self) -> None:
        """Forget merges, rebases and the like that a session left half done."""
        for name in HALF_DONE:
            place = self._repository.git_dir / name
            if place.is_dir():
                remove(place)
            else:
                place.unlink(missing_ok=True)


LOCKABLE = ("refs/heads", "refs/tags", "refs/notes", "refs/tdd")  # a fetch of the user's may lock others
NO_CHANGES = "refactor: no changes needed"
HALF_DONE = (*IN_PROGRESS, "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "REBASE_HEAD", "sequencer")


def _author_env(author: str | None) -> dict[str, str]:
    """Return the variables that make a commit somebody's; the stored form is `name <email> seconds zone`."""
    if author is None:
        return {}
    name, _, rest = author.partition(" <")
    email, _, date = rest.partition("> ")
    when = {"GIT_AUTHOR_DATE": f"@{date}"} if date else {}
    return {"GIT_AUTHOR_NAME": name or "unknown", "GIT_AUTHOR_EMAIL": email, **when}
