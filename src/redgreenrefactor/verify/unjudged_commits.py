"""Commits that no turn accounts for: who they are, what they touch, and where they lie among the turns."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from redgreenrefactor.errors import some_of
from redgreenrefactor.gates.rules.note_claims import RESTORE
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.objects import Commit
from redgreenrefactor.languages.paths import is_prose
from redgreenrefactor.model.chain import runs_of
from redgreenrefactor.model.goal import cited
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Severity
from redgreenrefactor.verify.merges import Merges
from redgreenrefactor.verify.recorded_run import RecordedRun

SHOWN = 10  # commits, and paths of each, that are named


@frozen
class UnjudgedStretch:
    """Commits in a row that no turn accounts for: the turn below them, and the last of them."""

    left: str
    now: str


@frozen
class UnjudgedCommits:
    """The commits of some runs, and those that lie among and on top of them."""

    ledger: GitLedger
    merges: Merges
    runs: Sequence[RecordedRun]

    @cached_property
    def turns(self) -> frozenset[str]:
        """The commits that are turns."""
        return frozenset(oid for run in self.runs for oid in run.commits)

    def stretches(self, tip: str) -> Iterator[UnjudgedStretch]:
        """Yield the commits in a row above each turn, along the first parents of a commit; newest first."""
        rest, now = set(self.turns), ""
        for commit, _ in self.ledger.along(tip):
            if not rest:
                return
            if commit.oid not in self.turns:
                now = now or commit.oid
                continue
            rest.discard(commit.oid)
            if now:
                yield UnjudgedStretch(commit.oid, now)
            now = ""

    def along(self, tip: str) -> Iterator[Commit]:
        """Yield the commits of no turn that lie above the beginning of the runs, newest first."""
        ends = {*self.turns, *(run.baseline for run in self.runs if run.baseline)}
        for commit, _ in self.ledger.along(tip):
            ends.discard(commit.oid)
            if not ends:
                return
            if commit.oid not in self.turns:
                yield commit

    def findings(self, commits: Sequence[Commit], severity: Severity) -> Iterator[Finding]:
        """Yield turns that belong to no run's chain, and what else these commits change beside prose."""
        loose = [commit for commit in commits if commit.oid not in self.turns]
        yield from (finding for commit in loose for finding in self._stray(commit))
        changed = [(commit, self._changed(commit)) for commit in loose]
        told = [(commit, paths) for commit, paths in changed if paths]
        for commit, paths in told[:SHOWN]:
            yield _unjudged(f"{commit.oid[:10]} {cited(commit.subject)} is no turn of a run", paths, severity)
        if rest := told[SHOWN:]:
            more = sorted({path for _, paths in rest for path in paths})
            yield _unjudged(f"{len(rest)} more commits are no turns of a run", more, severity)

    def _changed(self, commit: Commit) -> list[str]:
        return [path for path in self.merges.own(commit) if not is_prose(path)]

    def _stray(self, commit: Commit) -> Iterator[Finding]:
        for handoff in runs_of(self.ledger.read(commit.oid)):
            if handoff.cycle_number > 0 and handoff.carried_from is None:
                yield Finding(
                    FindingType.HISTORY_REWRITTEN,
                    f"{handoff.phase} {commit.oid[:10]} of cycle {handoff.cycle_number} belongs to no chain of "
                    f"handoffs: run {handoff.run_id} begins above it",
                    hint=RESTORE,
                )


def _unjudged(who: str, paths: list[str], severity: Severity) -> Finding:
    return Finding(
        FindingType.SCOPE_VIOLATION,
        f"{who}, so no gate has judged what it does to {some_of(paths, SHOWN)}",
        paths[0],
        severity=severity,
    )
