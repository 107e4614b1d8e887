"""What became of a run's branch: which commit it was merged as, and whether that holds what the run left."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from redgreenrefactor.gates.common import named
from redgreenrefactor.gates.paths import is_test_file
from redgreenrefactor.gates.proof import belongs
from redgreenrefactor.lab import Lab
from redgreenrefactor.model.evidence import Measure, Trial
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.proof import Merged
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.verdict import Finding, FindingType, Severity
from redgreenrefactor.repository.git import Git
from redgreenrefactor.repository.ledger import GitLedger
from redgreenrefactor.repository.objects import Commit, Objects
from redgreenrefactor.repository.past import GitPast
from redgreenrefactor.repository.refs import RUNS

FAR = 100  # commits of the user's on top of a run
SHOWN = 10  # paths that a message names


@dataclass(frozen=True, slots=True)
class Source:
    """Where a run ended, and how the commit it was merged as compares with that."""

    tip: str
    handoff: Handoff
    merged: Merged


@dataclass(frozen=True)
class Merges:
    """The commits of a repository, seen as what pull requests became."""

    git: Git
    objects: Objects
    ledger: GitLedger

    def sources(self, commit: Commit) -> list[Source]:
        """Return where the run that a commit brought ended: its second parent, or a ref that was pushed."""
        tips = commit.parents[1:] or tuple(self._tips())
        ends = {entry.commit: entry for tip in tips for entry in self._ends(tip)}
        found = [self._source(commit, entry) for entry in ends.values() if not self._holds(commit, entry)]
        exact = [source for source in found if source.merged.tree != "differs"]
        newest = sorted(found, key=lambda source: source.handoff.timestamp)[-1:]
        return exact or newest

    def _holds(self, commit: Commit, entry: Entry) -> bool:
        """Tell whether a run is part of the commit's own first line already: then it was not squashed."""
        line = self.git.text("rev-list", "--first-parent", commit.oid).split()
        return entry.commit in line

    def _tips(self) -> list[str]:
        """Return where runs may have ended: the refs that were pushed for them, and branches."""
        places = (RUNS, "refs/heads/", "refs/remotes/")
        return list(dict.fromkeys(self.git.text("for-each-ref", "--format=%(objectname)", *places).split()))

    def _ends(self, tip: str) -> Iterator[Entry]:
        """Yield the last handoff at or not far below a commit."""
        for commit, handoff in islice(self.ledger.along(tip), FAR):
            if handoff is not None and handoff.cycle_number > 0:
                yield Entry(commit.oid, handoff)
                return

    def _source(self, commit: Commit, entry: Entry) -> Source:
        tip = self.objects.commit(entry.commit) or commit
        tree, differs = "equal", ()
        if tip.tree != commit.tree:
            expected = self._merged(commit, tip)
            differs = tuple(
                path for path, _, _ in self.objects.differences(expected or tip.tree, commit.tree)
            )
            tree = "differs" if differs else "merged"
        merged = Merged(commit.oid, entry.handoff.run_id, entry.commit, tree, differs)
        return Source(entry.commit, entry.handoff, merged)

    def _merged(self, commit: Commit, tip: Commit) -> str | None:
        """Return the tree that git makes of a run and of what was there before its merge; None: it cannot."""
        if not commit.parents:
            return None
        made = self.git.attempt("merge-tree", "--write-tree", commit.parents[0], tip.oid)
        return made.stdout.decode().split("\n")[0] if made.exit_code == 0 else None


def compared(past: GitPast, lab: Lab, source: Source, own: frozenset[str] | None) -> Iterator[Finding]:
    """Yield what a merge that differs from its run has done to the run's tests; None: to all there were."""
    merged = source.merged
    if merged.tree != "differs":
        return
    paths = ", ".join(merged.differs[:SHOWN])
    yield Finding(
        FindingType.HISTORY_REWRITTEN,
        f"{merged.commit[:10]} differs from what run {merged.run_id} left in {paths}",
        merged.differs[0],
        severity=Severity.WARNING,
    )
    left, now = lab.answer(Trial(merged.head)), lab.answer(Trial(merged.commit))
    if now.measure is Measure.EXIT_CODE:
        if left.green and not now.green:
            yield _broken(merged, "the suite fails", None)
        return
    wanted = sorted(name for name in left.passed if own is None or any(belongs(name, test) for test in own))
    if gone := [name for name in wanted if name not in now.passed]:
        yield _broken(merged, f"tests of the run are gone or fail: {named(gone)}", left.results[gone[0]].file)
        return
    files = [path for path in merged.differs if is_test_file(path)]
    overlay = tuple((path, past.source(merged.head, path)) for path in files)
    again = lab.answer(Trial(merged.commit, overlay=overlay)) if overlay else now
    if fails := [name for name in wanted if name not in again.passed]:
        what = f"tests of the run, as it left them, fail: {named(fails)}"
        yield _broken(merged, what, left.results[fails[0]].file)


def _broken(merged: Merged, what: str, file: str | None) -> Finding:
    return Finding(
        FindingType.TEST_TAMPERING,
        f"{merged.commit[:10]}: {what}",
        file,
        hint=f"See 'git diff {merged.head[:10]} {merged.commit[:10]}'.",
    )
