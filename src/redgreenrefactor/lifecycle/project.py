"""The checkout a run works in, opened for it alone."""

from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from redgreenrefactor.config import Line, Settings
from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.local_files import bring_ignored
from redgreenrefactor.git.lock import LOCKED
from redgreenrefactor.git.locked_checkout import locked_checkout
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.goals.test_list import plan_at
from redgreenrefactor.loop.budget import RunLimits
from redgreenrefactor.model.events import Emit, Event, Warned
from redgreenrefactor.model.goal import Plan
from redgreenrefactor.model.result import expense_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.records.transcripts import FOLDER, Transcripts
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.secrets import masking
from redgreenrefactor.surroundings import Surroundings, files_run, settings_of


@frozen
class OpenProject:
    """One checkout, locked and recovered: what is stored in it, and how it is set up."""

    around: Surroundings
    repository: Repository
    workspace: GitWorkspace
    ledger: GitLedger
    settings: Settings
    files_run: tuple[Line, ...]  # what the settings have us run, as it was approved
    unborn: bool  # there was no commit when it was opened

    @property
    def emit(self) -> Emit:
        """Tells what happens."""
        return self.around.emit

    def plan(self, commit: str) -> Plan:
        """Return the list of cases at a commit."""
        return plan_at(self.workspace, commit)

    def limits(self, limits: RunLimits, run_id: str) -> RunLimits:
        """Return the limits with the budget: a flag's is for this invocation, a setting's for the whole run."""
        if limits.budget_usd is not None:
            return limits  # what is left of a budget that counts for more than this run
        settings = self.settings
        spent = 0.0 if settings.budget_is_for_this_invocation else self.spent(run_id)
        return replace(
            limits, budget_usd=settings.budget_usd, spent_usd=spent, phase_usd=settings.budget_phase_usd
        )

    def spent(self, run_id: str) -> float:
        """Return what a run has cost so far in US dollars, as far as its notes tell."""
        used = expense_of(self.ledger.history(run_id)).usage
        return used.cost_usd or 0.0 if used else 0.0

    def run_on_finish(self, run_id: str, status: str, head: str) -> None:
        """Run the user's own command about a run that has ended; whatever becomes of it, the result stands."""
        if not self.settings.on_finish:
            return
        if files_run(self.settings, self.repository) != self.files_run:
            self.emit(
                Warned("on.finish was not run: what it runs in the repository is not what it was before")
            )
            return
        told = {"TDD_RUN_ID": run_id, "TDD_STATUS": status, "TDD_HEAD": head}
        finished = process.run(
            self.settings.on_finish,
            cwd=self.repository.project,
            env={**self.around.environ, **told},
            timeout=self.settings.bash_timeout,
        )
        if finished.timed_out or finished.exit_code:
            how = "ran past bash.timeout" if finished.timed_out else f"ended with {finished.exit_code}"
            words = finished.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            self.emit(Warned(": ".join([f"on.finish {how}", *words])))


@contextmanager
def open_project(
    around: Surroundings, *, worktree: str | None = None, resumes: bool = False
) -> Generator[OpenProject]:
    """Open the checkout an invocation works in, alone, with nothing left over from a crash."""
    folder = _make_worktree(around, worktree, resumes=resumes) if worktree else around.project
    with (
        _way_in(worktree),
        locked_checkout(folder, around.environ, lambda line: around.emit(Warned(line))) as checkout,
        _transcribed(checkout.repository, around) as transcribed,
    ):
        repository = checkout.repository
        settings = settings_of(repository, transcribed)
        yield OpenProject(
            transcribed,
            repository,
            checkout.workspace,
            checkout.ledger,
            settings,
            files_run(settings, repository),
            unborn=repository.objects.resolve("HEAD") is None,
        )


@contextmanager
def _way_in(worktree: str | None) -> Generator[None]:
    """Say how to come back to a worktree that somebody else works in."""
    try:
        yield
    except NotReadyError as error:
        if worktree and error.type == LOCKED:
            error.hint = error.hint.replace("rgr resume", f"rgr resume --worktree {worktree}")
        raise


@contextmanager
def _transcribed(repository: Repository, around: Surroundings) -> Generator[Surroundings]:
    """Have every session's steps written down beside what else is done with events."""
    folder, mask = repository.common_dir / FOLDER, masking(around.environ)
    made = Transcripts(folder, mask=mask, clock=lambda: datetime.now(UTC), warn=around.emit)
    with closing(made) as transcripts:

        def emit(event: Event) -> None:
            transcripts(event)
            around.emit(event)

        yield replace(around, emit=emit)


def _make_worktree(around: Surroundings, name: str, *, resumes: bool) -> Path:
    """Make the checkout of branch tdd/NAME beside the main one, if it is not there yet; return its folder."""
    with closing(open_repository(around.project, around.environ)) as repository:
        branch = _branch(repository, name)
        folder = (repository.root / settings_of(repository, around).worktree_dir / name).resolve()
        if not (folder / ".git").exists():
            _add_worktree(repository, folder, branch, resumes=resumes)
        return folder / repository.prefix


def _branch(repository: Repository, name: str) -> str:
    wrong = name.startswith("-") or "/" in name
    if wrong or repository.git.attempt("check-ref-format", f"refs/heads/tdd/{name}").exit_code:
        raise UsageError(
            f"--worktree {name!r} cannot be part of a branch name", hint="Use letters, digits and dashes."
        )
    return f"tdd/{name}"


def _add_worktree(repository: Repository, folder: Path, branch: str, *, resumes: bool) -> None:
    known = repository.objects.resolve(f"refs/heads/{branch}") is not None
    if resumes and not known:
        raise NotReadyError(
            f"nothing to resume: there is no branch {branch}",
            hint=f"Type 'rgr run --worktree {folder.name} \"FEATURE\"' to start there.",
            type="NothingToResume",
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    what = (str(folder), branch) if known else ("-b", branch, str(folder))
    repository.git.raw("worktree", "add", "--quiet", *what)
    bring_ignored(repository, folder)
