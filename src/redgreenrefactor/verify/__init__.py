"""Judging a workflow again, from its commits and notes alone."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

from redgreenrefactor.errors import InterruptedRunError, NotReadyError, UsageError
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.objects import Commit
from redgreenrefactor.git.refs import NOTES, RUNS
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.git.snapshots import GitSnapshots, looking_back
from redgreenrefactor.model.events import Emit, Event, Warned
from redgreenrefactor.model.proof import WORKED, Merged, Verification, together
from redgreenrefactor.model.task import command_of_tests, runs_all_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Severity
from redgreenrefactor.runners.warm_process import WarmProcesses
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.verify.judging import Yardsticks
from redgreenrefactor.verify.merges import Merges, differs
from redgreenrefactor.verify.recorded_run import RecordedRun, Wanted, recorded_run, runs_along
from redgreenrefactor.verify.retrial import Retrial
from redgreenrefactor.verify.unjudged_commits import UnjudgedCommits


def verify(
    around: Surroundings,
    span: str | None = None,
    *,
    pull_request: bool = False,
    strict: bool = False,
    sample: int | None = None,
) -> Verification:
    """Judge every turn again, each in a clean checkout; no handoff is a NotReadyError.

    Commits that are no turns are told of; `strict` does not let them pass. A sample is so many cycles of each run, spread
    over it, with its last one; what it leaves out is told.
    """
    told_once = replace(around, emit=_warned_once(around.emit))
    with _interruptible(), _opened(told_once, strict=strict, sample=sample) as verifier:
        return verifier.merged(span) if pull_request else verifier.judged(span)


def _warned_once(emit: Emit) -> Emit:
    """Return what passes events on, no warning twice: turns are judged with the same surroundings."""
    warned: set[Event] = set()

    def emitted(event: Event) -> None:
        if isinstance(event, Warned):
            if event in warned:
                return
            warned.add(event)
        emit(event)

    return emitted


@frozen
class Verifier:
    """One repository that is looked at, and never changed."""

    around: Surroundings
    repository: Repository
    ledger: GitLedger
    past: GitSnapshots
    warm: WarmProcesses
    unjudged: Severity = Severity.WARNING  # of what no gate has judged
    sample: int | None = None  # so many cycles of each run, if not all

    @property
    def merges(self) -> Merges:
        """The commits of the repository, as merges of others."""
        return Merges(self.repository.git, self.repository.objects, self.ledger)

    @property
    def shallow(self) -> bool:
        """Whether history was cut off when it was cloned."""
        return (self.repository.common_dir / "shallow").exists()

    def judged(self, span: str | None) -> Verification:
        """Return what holds of the latest run, or of the runs with commits in the range."""
        wanted, tips = self._commits(span), self._tips(span)
        runs = self._apart(found for tip in (*tips, *self._sides(wanted)) for found in self.runs(tip, wanted))
        if not runs:
            raise self._nothing(span)
        if unknown := next((found for found in runs if found.table.unknown), None):
            raise self._unknown(unknown)
        verified = together(self.judge(found, wanted) for found in runs)
        self._require_something(runs, verified)
        return together([verified, *(self._beside(runs, tip, wanted) for tip in tips)])

    def _sides(self, wanted: Wanted) -> list[str]:
        """Return where branches end that were merged within the range: runs may have been made there, too."""
        found = (self.repository.objects.commit(oid) for oid in wanted or ())
        return [oid for commit in found if commit for oid in commit.parents[1:] if oid in (wanted or ())]

    def _apart(self, runs: Iterable[RecordedRun]) -> list[RecordedRun]:
        """Return the runs without those that are part of another one, seen from a merged branch."""
        kept: list[RecordedRun] = []
        for found in runs:
            if not any(found.run_id == other.run_id and found.commits <= other.commits for other in kept):
                kept.append(found)
        return kept

    def _beside(self, runs: Sequence[RecordedRun], tip: str, wanted: Wanted) -> Verification:
        """Return what is to be said of commits that are no turns, and of what they have left of the runs' tests."""
        loose = UnjudgedCommits(self.ledger, self.merges, runs)
        known = (self.repository.objects.commit(oid) for oid in wanted or ())
        commits = [commit for commit in known if commit] if wanted is not None else list(loose.along(tip))
        found = [*loose.findings(commits, self.unjudged)]
        for stretch in loose.stretches(tip):
            owner = next(one for one in runs if stretch.left in one.commits)
            found += self._retrial(owner).outlasted(runs[-1].baseline, stretch.left, stretch.now)
        return _told(found)

    def runs(self, tip: str, wanted: Wanted) -> Iterator[RecordedRun]:
        """Yield the runs along the first parents of a commit, newest first."""
        for run_id in runs_along(self.ledger, tip, wanted):
            if found := recorded_run(self.ledger, tip, run_id, shallow=self.shallow):
                yield found

    def judge(self, found: RecordedRun, wanted: Wanted = None) -> Verification:
        """Judge one run again."""
        judged = self._retrial(found).judge(wanted, self.sample)
        return together([judged, _told([*self._other_tests(found)])])

    def _other_tests(self, found: RecordedRun) -> Iterator[Finding]:
        """Yield that a run was judged by a command that nobody but its own note names."""
        task, project = found.table.task, self._yardsticks(found).project_command(found.last.commit)
        if task and project and not runs_all_of(project, command_of_tests(task)):
            yield Finding(
                FindingType.SCOPE_VIOLATION,
                f"run {found.run_id} is judged by the command that its task names, {command_of_tests(task)!r}; "
                f"the project's own is {project!r}",
                severity=self.unjudged,
            )

    def merged(self, span: str | None) -> Verification:
        """Return what holds of the run that a pull request brought, from the refs that were pushed with it."""
        commit = self._one(span)
        parts = [part for merged in self.merges.sources(commit) for part in self._brought(merged)]
        if not parts:
            raise NotReadyError(
                f"nothing tells which run {commit.oid[:10]} was merged from: no ref in {RUNS} fits",
                hint=f"Type \"{self.fetching()}\", then 'rgr verify --pull-request' again.",
                type="NothingToVerify",
            )
        return together(parts)

    def _brought(self, merged: Merged) -> Iterator[Verification]:
        runs = list(self.runs(merged.head, None))
        if not runs:
            return
        found = [*differs(merged, self.unjudged)]
        if found:
            retrial, opening = self._retrial(runs[0]), runs[-1].baseline
            found += retrial.outlasted(opening, merged.head, merged.commit)
        yield from (self.judge(each) for each in runs)
        yield replace(_told(found), merged=(merged,))

    def _retrial(self, found: RecordedRun) -> Retrial:
        """Return what judges a run again, by the table it was made by."""
        return Retrial(found, self._yardsticks(found), self.ledger)

    def _yardsticks(self, found: RecordedRun) -> Yardsticks:
        noted = self.ledger.read(found.last.commit)
        return Yardsticks(self.around, self.repository, self.past, noted, self.warm, found.table.task)

    # --- what is asked for

    def _one(self, span: str | None) -> Commit:
        """Return the commit a pull request was merged as."""
        self._commits(span)
        tips = self._tips(span)
        found = self.repository.objects.commit(tips[0]) if tips else None
        if found is None:
            raise self._nothing(span)
        return found

    def _tips(self, span: str | None) -> list[str]:
        if span is None:
            return ["HEAD"] if self.repository.objects.resolve("HEAD") else []
        named = self.repository.git.text("rev-parse", "--revs-only", span).split()
        return [name for name in named if not name.startswith("^")]

    def _commits(self, span: str | None) -> Wanted:
        """Return the commits of a range, newest first, None for all."""
        if span is None:
            return None
        listed = self.repository.git.attempt("rev-list", span, "--")
        if span.startswith("-") or listed.exit_code != 0:
            raise UsageError(
                f"{span!r} is no range of commits", hint="Name one as git log does, e.g. main..HEAD."
            )
        return dict.fromkeys(listed.stdout.decode().split())

    def _nothing(self, span: str | None) -> NotReadyError:
        """Return why there is nothing to verify, and what to type."""
        if self.repository.objects.resolve(NOTES) is None:
            fetch = (
                f"Type \"{self.fetching()}\", then 'rgr verify' again; where" if self._remotes else "Where"
            )
            return NotReadyError(
                f"there is no handoff here to verify: this repository has no {NOTES}",
                hint=f'{fetch} no workflow was ever run, start one: rgr run "FEATURE".',
                type="NothingToVerify",
            )
        where = f"in {span}" if span else "in the history of HEAD"
        return NotReadyError(
            f"there is no handoff {where} to verify",
            hint="If they are elsewhere, type 'rgr fetch'; if notes were lost, 'rgr repair-notes'; after a squash "
            "merge, 'rgr verify --pull-request'.",
            type="NothingToVerify",
        )

    def _unknown(self, found: RecordedRun) -> NotReadyError:
        return NotReadyError(
            f"run {found.run_id} cannot be judged: {found.table.unknown}",
            hint=f"Type \"{self.fetching()}\" or 'git fetch --unshallow', then 'rgr verify' again.",
            type="NothingToVerify",
        )

    @property
    def _remotes(self) -> list[str]:
        return self.repository.git.text("remote").split()

    def fetching(self) -> str:
        """Return the command that brings notes and refs from where this clone came from."""
        remotes = self._remotes
        remote = "origin" if "origin" in remotes or not remotes else remotes[0]
        return f"git fetch {remote} 'refs/notes/tdd-handoffs:refs/notes/tdd-handoffs' 'refs/tdd/*:refs/tdd/*'"

    def _require_something(self, runs: list[RecordedRun], verified: Verification) -> None:
        """Refuse to call a run proved of which no turn of a cycle could be judged."""
        if not verified.ok or any(each.phases for each in (*verified.cycles, *verified.rounds)):
            return
        run_id = runs[0].run_id
        if self.shallow and any(found.lost is not None for found in runs):
            raise NotReadyError(
                f"this clone is too shallow: of run {run_id} no turn of a cycle can be judged",
                hint="Type 'git fetch --unshallow', then 'rgr verify' again.",
                type="NothingToVerify",
            )
        raise NotReadyError(
            f"run {run_id} has no cycle here to verify",
            hint="Type 'rgr resume' to go on with it; after a rebase that left its notes behind type "
            "'rgr repair-notes', after a squash merge 'rgr verify --pull-request'.",
            type="NothingToVerify",
        )


def _told(found: Sequence[Finding]) -> Verification:
    """Return findings that are about no cycle."""
    return Verification(
        findings=tuple(finding for finding in found if finding.severity is Severity.ERROR),
        warnings=tuple(finding for finding in found if finding.severity is not Severity.ERROR),
    )


@contextmanager
def _opened(around: Surroundings, *, strict: bool, sample: int | None) -> Generator[Verifier]:
    unjudged = Severity.ERROR if strict else Severity.WARNING
    with (
        closing(open_repository(around.project, around.environ)) as repository,
        looking_back(repository) as past,
        closing(WarmProcesses()) as warm,
    ):
        yield Verifier(around, repository, GitLedger(repository), past, warm, unjudged, sample)


@contextmanager
def _interruptible() -> Generator[None]:
    try:
        yield
    except InterruptedRunError as error:
        raise InterruptedRunError(
            error.message, hint="Nothing was changed: type 'rgr verify' again."
        ) from error


__all__ = ["WORKED", "Verification", "verify"]
