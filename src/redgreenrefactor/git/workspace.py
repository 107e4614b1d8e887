"""The checkout a run works in: turns become commits here, or are undone without losing anything."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.errors import GitError, NotReadyError, some_of
from redgreenrefactor.filesystem import replace_file
from redgreenrefactor.git import artifacts, guard, hidden, mark
from redgreenrefactor.git.checkout import CleanCheckout
from redgreenrefactor.git.mark import Mark
from redgreenrefactor.git.nested import changed_since, checked_out_modules, note_environments
from redgreenrefactor.git.objects import Commit
from redgreenrefactor.git.obstacles import clear_away, remove_holes
from redgreenrefactor.git.pushes import moved_elsewhere
from redgreenrefactor.git.ref_guard import RefGuard
from redgreenrefactor.git.refs import (
    ATTEMPTS,
    KEPT,
    NOTES,
    ROLLED_BACK,
    Refs,
    folder_of,
    read_refs,
    update_refs,
)
from redgreenrefactor.git.repository import CheckoutStatus, Repository
from redgreenrefactor.git.rewinding import Rewinder
from redgreenrefactor.git.sealing import Sealer
from redgreenrefactor.git.snapshots import GitSnapshots
from redgreenrefactor.git.stand_in import StandIn
from redgreenrefactor.model.goal import LIST
from redgreenrefactor.model.workflow import Phase, PhaseName
from redgreenrefactor.ports import Sealed, SealedWork

NAMED = 10  # files a refusal names before it counts the rest


class GitWorkspace(GitSnapshots):
    """A checkout of a git repository, worked in by one orchestrator at a time."""

    def __init__(self, repository: Repository) -> None:
        super().__init__(repository, CleanCheckout(repository))
        self._git = repository.excluding
        self._refs = RefGuard(repository)
        self._sealer = Sealer(repository, self._refs)
        self._rewinder = Rewinder(repository, self._refs)
        self._stand_in = StandIn(repository)
        self._ground: str | None = None  # the tree a session goes on from, where it is not its base
        self._index = ""  # what git knew of all files when a session began; empty: nobody knows
        self._excluded: set[str] = set()  # environments and build outputs that were met
        self._listed: tuple[str, ...] | None = None  # what lay there untracked when git was asked last
        # What a session that was undone had done beside the files of the project.
        self.noticed: tuple[str, ...] = ()
        repository.write_excludes()

    # --- looking

    @property
    def project(self) -> Path:
        """The folder sessions work in."""
        return self._repository.project

    def head(self) -> str:
        """Return the commit that is checked out."""
        found = self._objects.resolve("HEAD")
        if found is None:
            raise NotReadyError(
                "there is no commit yet", hint="Type 'rgr run \"FEATURE\"': it makes an empty first one."
            )
        return found

    def status(self) -> CheckoutStatus:
        """Have git ignore build outputs and environments that are there by now; return the state of the checkout."""
        status = self._repository.status()
        outputs = {
            found for path in status.untracked for found in artifacts.outputs(self._repository.root, path)
        }
        if outputs:
            self._excluded |= outputs
            self._repository.write_excludes(*sorted(self._excluded))
            status = self._repository.status()
        self._listed = status.ignored
        return status

    def local_files_digest(self) -> str:
        """Return what differs where the user's untracked files do."""
        return self._clean.untracked.digest(self._untracked())

    def _untracked(self) -> tuple[str, ...]:
        return self.status().ignored if self._listed is None else self._listed

    def last_attempt(self, run_id: str, cycle: int, phase: str) -> int:
        """Return the highest number an attempt at this phase has been kept under."""
        start = f"{ATTEMPTS}{folder_of(run_id)}/{cycle}-{phase}-"
        names = self._refs.refs().oids
        numbers = [name.removeprefix(start) for name in names if name.startswith(start)]
        return max((int(number) for number in numbers if number.isdigit()), default=0)

    def others_at_work(self) -> bool:
        """Tell whether another orchestrator is at work in another checkout of the repository."""
        return self._refs.others_at_work()

    def require_clean(self) -> None:
        """Refuse to touch a checkout that holds work of the user's."""
        if what := self._repository.in_progress():
            raise NotReadyError(
                f"{what} is in progress here", hint="Finish or abort it, then try again.", type="InProgress"
            )
        if dirty := self.status().dirty:
            raise NotReadyError(
                f"the working tree has uncommitted changes: {some_of(dirty, NAMED)}",
                hint=self._repository.put_away,
                type="DirtyTree",
            )

    def require_room(self, to: str) -> None:
        """Refuse to lay out a commit over files that git ignores now and that would be lost."""
        self._rewinder.require_room(self.head(), to)

    # --- a session

    def begin(self, run_id: str, base: str) -> None:
        """Remember, beyond a crash, that whatever appears from now on is a session's work on this commit."""
        # What we write ourselves between two sessions is asked for by name: listing all refs again costs a process.
        self._clean.untracked.begin(self._untracked())
        self._stand_in.remove()
        branch, here = self._refs.branch(), self._repository
        ours = {name: self._objects.resolve(name) for name in (NOTES, branch) if name}
        steering = guard.remembered(
            here.root,
            here.git_dir,
            here.common_dir,
            project=here.project,
            modules=tuple(checked_out_modules(here.root, self._objects, base)),
        )
        refs = self._refs.refs().changed(ours)
        self._refs.write_mark(Mark(run_id, base, branch, refs, steering, self._refs.hidden()))
        self._ground, self._index = None, hidden.index_digest(self._git)

    def adopt(self) -> None:
        """Take every untracked file for the user's: nothing that sessions of an earlier run left is theirs any more."""
        self._clean.untracked.adopt()

    def lend(self) -> StandIn:
        """Make a git folder for the session that has begun to use in place of the real one; seal takes it back."""
        self._stand_in.make(self._refs.refs(), self.head())
        return self._stand_in

    def lay_out(self, run_id: str, attempt: str) -> None:
        """Make the files those of an attempt that was set aside, without checking it out."""
        ref = f"{ATTEMPTS}{folder_of(run_id)}/{attempt}"
        commit = self._objects.require(self._refs.refs().oids.get(ref, ref))
        self._git.raw("read-tree", "-m", "-u", "HEAD", commit.oid)
        self._ground = commit.tree

    def end(self) -> None:
        """Forget the session: what is checked out is accounted for."""
        self._refs.remove_mark()
        self._sealed_work.unlink(missing_ok=True)

    # --- sealing its work

    def seal(self, base: str, phase: Phase, description: str, *, empty: bool) -> Sealed:
        """Turn everything done since the base into one commit that is checked out, refs put right.

        Where nothing was done, `empty` says whether that, too, becomes a commit.
        """
        warnings = self._restore_steering()
        self._refs.clear_locks()
        taken = self._stand_in.take_over(base, self._refs.branch())
        unhidden = hidden.shown_again(self._git, self._refs.hidden(), self._index)
        status, filled = self._status_without_holes()
        status, swept = self._sweep_scratch(base, status)
        later = read_refs(self._git)
        warnings += self._settle_untracked(status)
        work = self._work(base, status)
        harm = self._refs.damage(later)
        rewritten = (*self._cut_loose(base, work), *harm.rewritten, *self._refs.damage_inside(taken))
        pushed = self._refs.note_pushes(base, work, later, taken)
        commit, signed = work, None
        untouched = work.oid == base and not status.dirty and not empty
        fits = not rewritten and self._sealer.is_sealed(work, base, phase, status)
        to_be_signed = taken.refs is not None and self._sealer.signs()  # which a held session could not do
        if not untouched and (to_be_signed or not fits):
            commit, signed = self._sealer.reseal(base, work, phase, description, status)
        self._refs.put_back(commit.oid, later, harm)
        self._rewinder.forget_half_done()
        if self._refs.mark is not None:
            self._refs.write_mark(replace(self._refs.mark, sealed=True))
        return Sealed(
            commit=commit.oid,
            subject=commit.subject,
            empty=commit.tree == self._objects.require(base).tree,
            resealed=commit.oid != work.oid,
            signed=signed,
            rewritten=rewritten,
            pushed=tuple(push.words for push in pushed),
            advice=tuple(push.advice for push in pushed),
            warnings=(*warnings, *taken.warnings, *harm.warnings, *hidden.told(unhidden), *filled, *swept),
        )

    def _work(self, base: str, status: CheckoutStatus) -> Commit:
        return self._objects.commit(status.head or base) or self._objects.require(base)

    def _restore_steering(self) -> tuple[str, ...]:
        """Take back what the session did to the files that steer git, before git is asked anything; tell what."""
        begun, here = self._refs.mark, self._repository
        if begun is None or begun.steering is None or not here.mark.exists():
            return here.look_again()
        litter = clear_away(here.root, begun.steering.gits, here.mark.stat().st_ctime_ns)
        told = guard.put_back(begun.steering, here.cache)
        return (*litter, *told, *here.look_again())

    def _status_without_holes(self) -> tuple[CheckoutStatus, tuple[str, ...]]:
        """Return the state of the checkout, with nothing of a session in it that would fill disks, and what to say."""
        status, begun = self.status(), self._repository.mark
        if not begun.exists():
            return status, ()
        told = remove_holes(self._git, status.dirty, begun.stat().st_ctime_ns)
        return (self.status() if told else status), told

    def _settle_untracked(self, status: CheckoutStatus) -> tuple[str, ...]:
        """Remember what the session did among ignored files, and put our settings back; tell what is worth a word."""
        self._clean.untracked.settle(status.ignored)
        here, begun = self._repository, self._refs.mark
        if begun is None or begun.sealed or not here.mark.exists():
            return ()
        changes = changed_since(here.root, status.ignored, here.mark.stat().st_ctime_ns)
        note_environments(here.cache, changes)
        back = guard.put_back(begun.steering, here.cache, status.ignored) if begun.steering else ()
        return (*back, *(change.told for change in changes))

    def _sweep_scratch(self, base: str, status: CheckoutStatus) -> tuple[CheckoutStatus, tuple[str, ...]]:
        """Put away what the session has left lying about, committed or not; return the state then, and what to say."""
        new = [*self._objects.added(self._objects.require(base).tree, self._work(base, status).tree)]
        new += artifacts.files_at(self._git, status.untracked)
        paths = artifacts.unused_scratch(self._git, new)
        if not paths:
            return status, ()
        ref = self._refs.keep(self._refs.run_id, "left-out", artifacts.commit_files(self._git, paths))
        artifacts.delete_files(self._repository.root, paths)
        return self.status(), (artifacts.warning(paths, ref),)

    def _cut_loose(self, base: str, work: Commit) -> Iterator[str]:
        """Yield that the commit a phase began from has been rewritten, if it has."""
        if base not in work.parents and not self._git.is_ancestor(base, work.oid):
            yield f"the commit the phase began from, {base[:10]}, is no longer part of the history"

    def set_aside(self, commit: str, run_id: str, name: str) -> None:
        """Make the commit stay reachable as an attempt of the run; what stood there before is kept, too."""
        ref = f"{ATTEMPTS}{folder_of(run_id)}/{name}"
        before = self._refs.refs().oids.get(ref)
        if before == commit:
            return
        updates: dict[str, str | None] = {ref: commit}
        commands = [f"update {ref} {commit} {before or '0' * len(commit)}"]
        if before:
            kept = f"{KEPT}{ref.removeprefix('refs/tdd/')}-{before[:10]}"
            updates[kept] = before
            commands.append(f"update {kept} {before}")
        update_refs(self._git, commands)
        self._refs.remember(updates)

    def keep(self, run_id: str, base: str, why: str) -> str | None:
        """Keep whatever differs from the base at a ref under refs/tdd/kept/; return the ref, None if nothing does."""
        self._refs.clear_locks()
        status, filled = self._status_without_holes()
        self.noticed = (*filled, *self._settle_untracked(status))
        head = status.head or base
        if head == base and not status.dirty:
            return None
        if status.dirty:
            tree = self._sealer.stage(self._objects.require(base), status)
            if head == base and tree == self._ground:
                return None  # nothing was added to what was laid out, and that is kept already
            head = self._git.text("commit-tree", tree, "-p", head, "-m", f"kept: {why}")
        return self._refs.keep(run_id, why.replace(" ", "-"), head)

    # --- judging it

    @property
    def _sealed_work(self) -> Path:
        return self._repository.mark.with_suffix(".sealed")

    def remember(self, work: SealedWork) -> None:
        """Remember, beyond a crash and until the session is forgotten, what is about to be judged."""
        mark.write(self._sealed_work, work)

    def unjudged(self, run_id: str, phase: PhaseName, attempt: int) -> SealedWork | None:
        """Return the sealed work of an attempt whose judgement was cut off."""
        found = mark.read(self._sealed_work, SealedWork)
        if found is None or (found.run_id, found.phase, found.attempt) != (run_id, phase, attempt):
            return None
        return found if self._objects.commit(found.sealed.commit) else None

    def take_up(self, work: SealedWork) -> None:
        """Check out such work again, as it was when it was sealed."""
        self.begin(work.run_id, work.base)
        self._rewinder.check_out(work.sealed.commit)
        if self._refs.mark is not None:
            self._refs.write_mark(replace(self._refs.mark, sealed=True))

    # --- going back

    def rewind(self, base: str) -> None:
        """Go back to the base; tracked files as they were, new untracked ones gone, ignored ones untouched."""
        self._rewinder.rewind(base)

    def abandon(self) -> str | None:
        """Undo the session that was begun last: refs and files are as before, its work is kept; return the ref."""
        begun = self._refs.mark
        if begun is None:
            return None
        if not begun.sealed:
            self._restore_steering()
            self._refs.clear_locks()
            self._stand_in.take_over(begun.base, begun.branch)
            hidden.shown_again(self._git, begun.hidden)
        kept = self.keep(begun.run_id, begun.base, "interrupted session")
        if not begun.sealed:
            later = read_refs(self._git)
            self._refs.put_back(begun.base, later, self._refs.damage(later))
            self._refs.remember(moved_elsewhere(begun.refs, later))
        self.rewind(begun.base)
        self._refs.remove_mark()
        return kept

    def recover(self, accounted: Callable[[str], bool]) -> str | None:
        """Clean up after a session that was cut off; return the ref its leftovers are kept at, if there are any.

        `accounted` tells whether a commit is a turn whose handoff was written: then nothing is left to do.
        """
        found = self._refs.mark = mark.read(self._repository.mark, Mark)
        kept: str | None = None
        if found is None:
            return None
        if self._objects.commit(found.base) is None:
            pass  # nobody can go back there; what there is, stays
        elif found.moving:
            kept = self.keep(found.run_id, found.base, ROLLED_BACK)
            self._rewinder.check_out(found.base)
        else:
            head = self._objects.commit("HEAD")
            done = head is not None and head.parents == (found.base,) and accounted(head.oid)
            kept = None if done else self.abandon()
            if done:
                self.end()
        self._refs.remove_mark()
        self._refs.mark = None  # much may have happened since it was written
        return kept

    def move(self, run_id: str, to: str, why: str) -> str:
        """Make this commit the one that is checked out, branch and files; return the ref that keeps the old one.

        The tree is clean. Cut off half-way, it is taken to its end by whoever works here next.
        """
        tip, ref = self.head(), ""
        if not self._git.is_ancestor(tip, to):
            ref = self._refs.keep(run_id, ROLLED_BACK, tip)
        branch, unseen = self._refs.branch(), self._refs.hidden()
        self._refs.write_mark(Mark(run_id, to, branch, Refs({}), hidden=unseen, sealed=True, moving=True))
        try:
            self._git.raw("update-ref", "-m", why, "HEAD", to, tip)
        except GitError:
            self.end()
            raise
        # What git ignores now, but not there, is the user's: nothing is cleaned up.
        self._rewinder.check_out(to)
        self.end()
        self._refs.mark = None
        return ref

    # --- commits that are not a session's

    def first_commit(self) -> str:
        """Make an empty first commit in a repository that has none."""
        commit = self.empty_commit()
        self._git.raw("update-ref", "HEAD", commit, "")
        return commit

    def empty_commit(self) -> str:
        """Make a commit that holds nothing, follows none, and is no branch's; return it."""
        return self._git.text("commit-tree", self._git.text("mktree"), "-m", "chore: empty first commit")

    def write_list(self, text: str) -> None:
        """Replace the text of `test-list.md`, as a session would."""
        replace_file(self.project / LIST, text.encode())

    def commit_list(self, base: str, subject: str) -> str:
        """Commit an edited `test-list.md`, and nothing else, on top of the base."""
        self._git.raw("add", "--", f"{self.prefix}test-list.md")
        commit, _ = self._sealer.commit(self._git.text("write-tree"), base, f"{subject}\n", None)
        self._git.raw("update-ref", "HEAD", commit.oid, base)
        self._refs.remember_branch(commit.oid)
        return commit.oid
