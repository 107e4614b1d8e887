"""What became of a run's branch: which commit it was merged as, and whether that holds what the run left."""

from collections.abc import Iterator
from itertools import islice

from redgreenrefactor.git.executable import Git
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.objects import EMPTY, Commit, Objects
from redgreenrefactor.git.refs import RUNS
from redgreenrefactor.model.proof import Merged
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Severity

FAR = 100  # commits of the user's on top of a run
SHOWN = 10  # paths that a message names


@frozen
class Merges:
    """The commits of a repository, seen as what pull requests became."""

    git: Git
    objects: Objects
    ledger: GitLedger

    def sources(self, commit: Commit) -> list[Merged]:
        """Return where the run that a commit brought ended: its second parent, or a ref that was pushed."""
        tips = commit.parents[1:] or tuple(self._tips())
        ends = {entry.commit: entry for tip in tips for entry in self._ends(tip)}
        new = (entry for entry in ends.values() if not self._holds(commit, entry))
        brought = sorted(new, key=lambda entry: entry.handoff.timestamp)
        found = [self._source(commit, entry) for entry in brought if self._brings(commit, entry)]
        return [merged for merged in found if merged.tree != "differs"] or found[-1:]

    def _holds(self, commit: Commit, entry: Entry) -> bool:
        """Tell whether a run is part of the commit's own first line already: then it was not squashed."""
        line = self.git.text("rev-list", "--first-parent", commit.oid).split()
        return entry.commit in line

    def _brings(self, commit: Commit, entry: Entry) -> bool:
        """Tell whether a commit can have brought a run: what the run made was not there before, and now some of it is."""
        before = self.objects.commit(commit.parents[0]) if commit.parents else None
        tip = self.objects.commit(entry.commit)
        if before is None or tip is None or tip.tree == commit.tree:
            return True
        base = self.git.attempt("merge-base", before.oid, tip.oid).stdout.decode().strip()
        start = self.objects.commit(base) if base else None
        made = {path for path, _, _ in self.objects.differences(start.tree if start else EMPTY, tip.tree)}
        changed = {path for path, _, _ in self.objects.differences(before.tree, commit.tree)}
        return bool(made & changed) and self._write_merged_tree(commit, tip) != before.tree

    def own(self, commit: Commit) -> list[str]:
        """Return the paths in which a commit differs from what its parents alone come to."""
        parents = [self.objects.commit(name) for name in commit.parents]
        known = [parent for parent in parents if parent is not None]
        if len(known) < len(parents):
            return []  # history is cut off here
        before = known[0].tree if known else EMPTY
        if len(known) > 1:
            before = self._write_merged_tree(commit, known[1]) or before
        return [path for path, _, _ in self.objects.differences(before, commit.tree)]

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

    def _source(self, commit: Commit, entry: Entry) -> Merged:
        tip = self.objects.commit(entry.commit) or commit
        tree, differs = "equal", ()
        if tip.tree != commit.tree:
            expected = self._write_merged_tree(commit, tip)
            differs = tuple(
                path for path, _, _ in self.objects.differences(expected or tip.tree, commit.tree)
            )
            tree = "differs" if differs else "merged"
        return Merged(commit.oid, entry.handoff.run_id, entry.commit, tree, differs)

    def _write_merged_tree(self, commit: Commit, tip: Commit) -> str | None:
        """Have git make a tree of a run and of what was there before its merge, and return it; None: it cannot.

        Where both have changed the same lines, these stand in it side by side, and everything else as merged.
        """
        if not commit.parents:
            return None
        made = self.git.attempt("merge-tree", "--write-tree", commit.parents[0], tip.oid)
        return made.stdout.decode().split("\n")[0] if made.exit_code in (0, 1) else None


def differs(merged: Merged, severity: Severity) -> Iterator[Finding]:
    """Yield that a merge holds something else than its run has left."""
    if merged.tree == "differs":
        yield Finding(
            FindingType.HISTORY_REWRITTEN,
            f"{merged.commit[:10]} differs from what run {merged.run_id} left in {', '.join(merged.differs[:SHOWN])}",
            merged.differs[0],
            severity=severity,
        )
