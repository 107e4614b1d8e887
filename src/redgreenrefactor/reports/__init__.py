"""Runs as people look at them: found, told from their notes and commits alone, and shown as a page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.git import lock
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.objects import patches
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.git.worktrees import git_dir_of, worktrees
from redgreenrefactor.lifecycle.status import opened, run_here, turns_of
from redgreenrefactor.model.chain import age
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.run_report import RunReport, run_report
from redgreenrefactor.model.values import frozen, replace
from redgreenrefactor.sandbox.secrets import masked_in, masking

AS_LISTED = ("completed_tests", "pending_tests")  # in JSON alone, and there as the list has them
NOTHING = "no run has been started here"


@frozen
class KnownRun:
    """A run, and its latest handoff wherever in the repository that is."""

    latest: Entry
    at_work: bool = False

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.latest.handoff.run_id


def reports(
    project: Path, environ: Mapping[str, str], wanted: Sequence[str] = (), *, every: bool = False
) -> list[RunReport]:
    """Return the reports of these runs, else of the latest one here, or of all; secrets are masked."""
    with opened(project, environ) as (repository, ledger):
        several = wanted or every
        runs = chosen(known_runs(repository, ledger), wanted) if several else [_latest(repository, ledger)]
        return [report_of(repository, ledger, run) for run in runs]


def runs_here(project: Path, environ: Mapping[str, str]) -> list[str]:
    """Return the ids of the runs of every branch and checkout, the latest first."""
    with opened(project, environ) as (repository, ledger):
        return [run.run_id for run in known_runs(repository, ledger)]


def cycles_here(project: Path, environ: Mapping[str, str]) -> RunReport:
    """Return the latest run here, cycle by cycle, without what its turns changed; secrets are masked."""
    with opened(project, environ) as (repository, ledger):
        return report_of(repository, ledger, _latest(repository, ledger), changes=False)


def _latest(repository: Repository, ledger: GitLedger) -> KnownRun:
    run_id = run_here(repository, ledger)
    entry = next(ledger.history(run_id), None) if run_id else None
    if entry is None:
        raise NotReadyError(
            NOTHING, hint="Type 'rgr run \"FEATURE\"' to start one, or 'rgr demo' to see one."
        )
    if not entry.handoff.cycle_number:  # it may have begun here, and go on in another checkout
        return chosen(known_runs(repository, ledger), [entry.handoff.run_id])[0]
    return KnownRun(entry, lock.is_held(repository.git_dir / lock.NAME))


def chosen(runs: Sequence[KnownRun], wanted: Sequence[str]) -> list[KnownRun]:
    """Return the runs of these ids, or of ids that begin so; without any, all."""
    found: list[KnownRun] = []
    for name in wanted:
        own = [run for run in runs if run.run_id.startswith(name)]
        if not own:
            ids = ", ".join(run.run_id for run in runs) or "none"
            raise UsageError(f"there is no run {name}", hint=f"Those of this repository are: {ids}.")
        found += [run for run in own if run not in found]
    if not (wanted or runs):
        raise NotReadyError(
            NOTHING, hint="Type 'rgr run \"FEATURE\"' to start one, or 'rgr demo' to see one."
        )
    return found if wanted else list(runs)


def known_runs(repository: Repository, ledger: GitLedger, most: int | None = None) -> list[KnownRun]:
    """Return the runs of every branch and checkout, the latest first; `most`: of each only so many handoffs are read."""
    latest: dict[str, Entry] = {}
    seen: set[str] = set()
    for start in _tips(repository):
        for entry in _unseen(ledger, start, seen, most):
            run_id = entry.handoff.run_id
            if run_id not in latest or age(latest[run_id].handoff) < age(entry.handoff):
                latest[run_id] = entry
    busy = _in_work(repository, ledger)
    runs = [KnownRun(entry, run_id in busy) for run_id, entry in latest.items()]
    return sorted(runs, key=lambda run: (run.at_work, age(run.latest.handoff)), reverse=True)


def _unseen(ledger: GitLedger, start: str, seen: set[str], most: int | None) -> Iterator[Entry]:
    """Yield the handoffs along a history down to where another one has been looked at."""
    before = frozenset(seen)
    for entry in islice(ledger.past(start), most):
        if entry.commit in before:
            return
        seen.add(entry.commit)
        yield entry


def _tips(repository: Repository) -> Iterable[str]:
    """Return what every checkout and every branch ends in, that of this checkout first."""
    heads = repository.git.text(
        "for-each-ref", "--sort=-committerdate", "--format=%(objectname)", "refs/heads/"
    )
    detached = (repository.objects.resolve(f"worktrees/{name}/HEAD") for name in _worktree_names(repository))
    here = repository.objects.resolve("HEAD")
    return dict.fromkeys(tip for tip in (here, *detached, *heads.split()) if tip)


def _worktree_names(repository: Repository) -> list[str]:
    folder = repository.common_dir / "worktrees"
    return sorted(place.name for place in folder.iterdir()) if folder.is_dir() else []


def _in_work(repository: Repository, ledger: GitLedger) -> set[str]:
    """Return the runs that somebody is at work at, in whatever checkout."""
    busy: set[str] = set()
    for tree in worktrees(repository):
        try:
            git_dir = tree.path / ".git" if (tree.path / ".git").is_dir() else git_dir_of(tree.path)
        except OSError:
            continue
        if lock.is_held(git_dir / lock.NAME):
            head = repository.objects.resolve(tree.branch) if tree.branch else None
            entry = ledger.latest(head) if head else None
            busy |= {entry.handoff.run_id} if entry else set()
    return busy


def report_of(
    repository: Repository,
    ledger: GitLedger,
    run: KnownRun,
    *,
    start: str | None = None,
    most: int | None = None,
    changes: bool = True,
) -> RunReport:
    """Return what is told of one run, secrets masked; `most`: only so many turns, up to `start` or the latest.

    `changes`: what the turns changed, too.
    """
    turns = turns_of(repository, ledger, run.run_id, start or run.latest.commit, most)
    entries = list(islice(turns, most))
    shown = (entry.commit for entry in entries if changes and entry.handoff.cycle_number)
    changed = patches(repository.git, shown)
    report = run_report(entries, changed, at_work=run.at_work)
    if report is None:
        raise NotReadyError(f"the notes of run {run.run_id} are gone", hint="Type 'rgr repair-notes'.")
    mask = cache(masking(repository.environ))  # the same words stand in many notes of a run
    masked: RunReport = masked_in(replace(report, latest=run.latest), mask, AS_LISTED)
    return masked
