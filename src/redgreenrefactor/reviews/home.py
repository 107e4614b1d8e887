"""The repository that tasks belong to: its main checkout, its forge, and what is known about each task."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from redgreenrefactor.errors import LedgerError, NotReadyError, RgrError, UsageError
from redgreenrefactor.forge.address import Address, address_of
from redgreenrefactor.forge.github import GitHub, token_of
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.refs import KEPT
from redgreenrefactor.git.remote import ORIGIN, Remote, credentials, remote_url
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.git.worktrees import main_root
from redgreenrefactor.lifecycle.factory import now
from redgreenrefactor.model.chain import runs_of
from redgreenrefactor.model.events import Warned
from redgreenrefactor.model.handoff import ReviewMark
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.review_task import TaskState, rebuilt, run_id_of, task_id_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.records.task_files import TaskFiles
from redgreenrefactor.sandbox.secrets import masking
from redgreenrefactor.surroundings import Surroundings, settings_of


@frozen
class Base:
    """What a task starts from: a name for people and pull requests, and the commit."""

    name: str
    commit: str


@frozen
class Home:
    """One repository, seen from the checkout the command was typed in."""

    repository: Repository
    around: Surroundings

    @cached_property
    def root(self) -> Path:
        """The main checkout."""
        return main_root(self.repository)

    @cached_property
    def files(self) -> TaskFiles:
        """The state files."""
        return TaskFiles(self.root, masking(self.around.environ))

    @cached_property
    def ledger(self) -> GitLedger:
        """The handoffs."""
        return GitLedger(self.repository)

    @cached_property
    def address(self) -> Address:
        """Where the repository lives on its forge."""
        settings = settings_of(self.repository, self.around)
        return address_of(remote_url(self.repository), self.around.environ, settings.github_host)

    def forge(self, kind: str) -> GitHub | None:
        """Return the forge; `none` is none. A missing token or remote is a NotReadyError."""
        return None if kind == "none" else self.github()

    def github(self) -> GitHub:
        """Return GitHub; a missing token or remote is a NotReadyError."""
        environ = self.around.environ
        return GitHub(
            self.address, token_of(environ), pause=self.around.interrupt.pause, mask=masking(environ)
        )

    @contextmanager
    def origin(self, forge: GitHub) -> Generator[Remote]:
        """Provide the remote, reached with the forge's token where that fits."""
        host = self.address.host if self.address.known else ""
        more = credentials(self.repository, forge.token, host)
        repository = replace(self.repository, environ={**self.repository.environ, **more})
        with closing(repository):
            yield Remote(repository, ORIGIN, self.around.interrupt)

    def folder(self, task_id: str) -> Path:
        """Return where a task is worked at."""
        place = settings_of(self.repository, self.around).worktree_dir
        return (self.root / place / task_id).resolve()

    def base(self, wanted: str | None, *, published: bool) -> Base:
        """Return what a task starts from: the branch that was named, else the current one."""
        objects = self.repository.objects
        if wanted is None:
            return self._current(published=published)
        for ref, name in (
            (f"refs/heads/{wanted}", wanted),
            (f"refs/remotes/{wanted}", wanted.partition("/")[2]),
            (wanted, wanted),
        ):
            oid = objects.resolve(ref) if not wanted.startswith("-") else None
            if oid is not None and objects.commit(oid) is not None:
                return Base(name, oid)
        raise UsageError(f"there is no branch {wanted!r}", hint="Name an existing one: --base BRANCH.")

    def make_first_commit(self) -> None:
        """See to it that there is a commit to start from."""
        if self.repository.status().head is None:
            GitWorkspace(self.repository).first_commit()

    def _current(self, *, published: bool) -> Base:
        status = self.repository.status()
        commit = status.head or ""
        if status.branch is None and published:
            raise UsageError(
                "HEAD is detached, so there is no branch for the pull request to go into",
                hint="Name it: --base BRANCH.",
            )
        return Base(status.branch or commit, commit)

    def require_free(self, branch: str) -> None:
        """Refuse a branch that cannot be made."""
        if (
            branch.startswith("-")
            or self.repository.git.attempt("check-ref-format", f"refs/heads/{branch}").exit_code
        ):
            raise UsageError(
                f"--branch {branch!r} is no name for a branch",
                hint="Use letters, digits, dashes and slashes.",
            )
        if self.repository.objects.resolve(f"refs/heads/{branch}") is not None:
            raise NotReadyError(
                f"there is a branch {branch} already",
                hint="Name another one with --branch, or go on with its task: 'rgr tdd --list'.",
                type="BranchExists",
            )

    # --- what is known

    def tip(self, task_id: str, branch: str) -> str | None:
        """Return the task's last commit: its branch's, or what was kept of it."""
        objects = self.repository.objects
        return objects.resolve(f"refs/heads/{branch}") or objects.resolve(f"{KEPT}{task_id}")

    def history(self, state: TaskState) -> list[Entry]:
        """Return the task's handoffs, newest first; none where nothing was begun yet."""
        tip = self.tip(state.task_id, state.branch_name)
        return list(self.ledger.history(state.run_id, tip)) if tip else []

    def find_or_restore(self, task_id: str) -> TaskState:
        """Return what is known of a task; a file that is missing or broken is made again from its notes."""
        broken: NotReadyError | None = None
        try:
            if (state := self.files.read(task_id)) is not None:
                return state
        except NotReadyError as error:
            broken = error
        found = self._from_notes(task_id)
        if found is None:
            raise _unknown(task_id, broken)
        if self.is_cleaned(task_id):
            raise NotReadyError(
                f"the task {task_id} was cleaned up",
                hint=f"What is kept of its work, if it was merged nowhere: 'git log {KEPT}{task_id}'.",
                type="TaskNotFound",
            )
        self.files.write(found)
        self.around.emit(
            Warned(f"the state file of {task_id} was missing or broken; it was made again from the notes")
        )
        return found

    def known(self) -> Iterator[TaskState]:
        """Yield every task that has a file or notes, the oldest first."""
        for task_id in sorted({*self.files.ids(), *self._noted()}):
            try:
                yield self.find_or_restore(task_id)
            except RgrError as error:
                self.around.emit(Warned(f"{task_id}: {error.message}"))

    def mark_cleaned(self, state: TaskState) -> None:
        """Have the notes tell that a task was cleaned up: whatever is kept of it, it is not listed any more."""
        with suppress(
            LedgerError
        ):  # notes that cannot be read list nothing, and are no reason to keep a worktree
            for entry in self.history(state)[:1]:
                self.ledger.write({entry.commit: replace(entry.handoff, cleaned=now())})

    def is_cleaned(self, task_id: str) -> bool:
        """Tell whether a task was cleaned up."""
        own = run_id_of(task_id)
        return any(entry.handoff.run_id == own and entry.handoff.cleaned for entry in self._entries())

    def _entries(self) -> Iterator[Entry]:
        """Yield every handoff that is noted anywhere, each by itself."""
        for entry in self.ledger.everything():
            yield from (Entry(entry.commit, handoff) for handoff in runs_of(entry.handoff))

    def _noted(self) -> set[str]:
        """Return the tasks whose branch, or what was kept of it, is still there, but those that were cleaned up."""
        found: set[str] = set()
        gone: set[str] = set()
        for handoff in (entry.handoff for entry in self._entries()):
            task_id, task = task_id_of(handoff.run_id), handoff.task
            if task_id and isinstance(task, ReviewMark) and self.tip(task_id, task.branch_name):
                found.add(task_id)
            if task_id and handoff.cleaned:
                gone.add(task_id)
        return found - gone

    def _from_notes(self, task_id: str) -> TaskState | None:
        for entry in self._entries():
            if entry.handoff.run_id == run_id_of(task_id) and entry.handoff.task:
                return rebuilt(self.history(rebuilt([entry])) or [entry])
        return None


def _unknown(task_id: str, broken: NotReadyError | None) -> NotReadyError:
    """Return what to say about a task that neither its file nor a note tells of."""
    if broken is None:
        return NotReadyError(
            f"there is no task {task_id}",
            hint="Type 'rgr tdd --list' to see the tasks.",
            type="TaskNotFound",
        )
    return NotReadyError(
        f"{broken.message}; and there are no notes to make it from",
        hint=f"Nothing of the task was begun: remove .codex/task-{task_id}.json, then type 'rgr tdd SPEC.md'.",
        type=broken.type,
    )


@contextmanager
def home_of(around: Surroundings) -> Generator[Home]:
    """Open the repository that the project lies in."""
    with closing(open_repository(around.project, around.environ)) as repository:
        yield Home(repository, around)
