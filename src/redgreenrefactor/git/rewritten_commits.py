"""Commits that a rebase or an amend has made anew: which became of which."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from redgreenrefactor.git.executable import Git, decoded
from redgreenrefactor.git.objects import Objects
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.values import frozen

ENOUGH = 2  # of the traits below that two commits have to share
PREFIXES = {"PLAN": ("plan",), "RED": ("test",), "GREEN": ("feat", "fix"), "REFACTOR": ("refactor",)}


@frozen
class CommitTraits:
    """What a commit looks like: rewriting it changes its id, but seldom all of this."""

    oid: str
    parent: str
    tree: str
    author: str  # with the time
    subject: str


class RewrittenCommits:
    """Finds the commits on branches that were made of others which have been left behind."""

    def __init__(self, git: Git, objects: Objects, listed: str) -> None:
        self._git = git
        self._objects = objects
        self._listed = listed  # where the list of cases is

    def pairs(self, handoffs: Mapping[str, Handoff], noted: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield each commit with a handoff that is on no branch, and the one without a note that was made of it."""
        line = list(self._line())
        here = {one.oid for one in line}
        lost = {old: handoff for old, handoff in handoffs.items() if old not in here and _counts(handoff)}
        bare = [one for one in line if one.oid not in noted]
        if not lost or not bare:
            return
        traits = {old: one for old in lost if (one := self._traits(old))}
        vanished = {old: handoff for old, handoff in lost.items() if old not in traits}
        looks = _by_look(traits.values())
        made: dict[str, str] = {}
        for one in bare:
            alike = {
                old: _alike(traits[old], one, made) for look in _looks(one) for old in looks.get(look, ())
            }
            alike |= {old: self._told(handoff, one) for old, handoff in vanished.items()}
            ranks = {
                old: (number, lost[old].timestamp)
                for old, number in alike.items()
                if number >= ENOUGH and old not in made and _fits(lost[old], one)
            }
            if ranks:
                old = max(ranks, key=lambda one: ranks[one])
                made[old] = one.oid
                yield old, one.oid

    def _line(self) -> Iterator[CommitTraits]:
        """Yield the commits that branches are made of, the oldest first."""
        shown = "%H%x00%P%x00%T%x00%an <%ae> %at%x00%s"
        flags = ("--first-parent", "--topo-order", "--reverse", "--branches", f"--format={shown}")
        head = ["HEAD"] if self._objects.resolve("HEAD") else []
        # Branches that are damaged have nothing to tell; what can be read does.
        listing = decoded(self._git.attempt("log", "--ignore-missing", *flags, *head, "--").stdout)
        for row in listing.split("\n"):
            fields = row.split("\0")
            if len(fields) == 5:  # noqa: PLR2004
                oid, parents, tree, author, subject = fields
                yield CommitTraits(oid, parents.partition(" ")[0], tree, author, subject)

    def _traits(self, oid: str) -> CommitTraits | None:
        found = self._objects.commit(oid)
        if found is None:
            return None
        author = found.author.rpartition(" ")[0]
        return CommitTraits(oid, found.parents[0] if found.parents else "", found.tree, author, found.subject)

    def _told(self, handoff: Handoff, one: CommitTraits) -> int:
        """Compare a commit with all that is left of another, its note: the list of cases."""
        node = self._objects.node(one.tree, self._listed)
        same_list = node is not None and node.oid == handoff.test_list
        return ENOUGH if same_list else 0


def _counts(handoff: Handoff) -> bool:
    """Tell whether a handoff belongs on a branch: that of a rejected attempt never was on one."""
    return handoff.error is None or handoff.phase is not handoff.next_phase or handoff.cycle_number == 0


def _fits(handoff: Handoff, one: CommitTraits) -> bool:
    """Tell whether a commit may be a turn at this phase; the one a run began from may be called anything."""
    kind = one.subject.partition(":")[0].partition("(")[0]
    return handoff.cycle_number == 0 or kind in PREFIXES.get(handoff.phase, (kind,))


def _looks(one: CommitTraits) -> tuple[tuple[str, str], ...]:
    return ("tree", one.tree), ("author", one.author), ("subject", one.subject)


def _by_look(traits: Iterable[CommitTraits]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for one in traits:
        for look in _looks(one):
            found.setdefault(look, []).append(one.oid)
    return found


def _alike(before: CommitTraits, after: CommitTraits, made: Mapping[str, str]) -> int:
    """Return how many traits two commits share; the parent counts where one was made of the other's."""
    same = sum(one == two for one, two in zip(_looks(before), _looks(after), strict=True))
    if before.tree != after.tree and before.subject != after.subject:
        return 0  # the same author in the same second
    return same + (after.parent in (before.parent, made.get(before.parent)) and bool(after.parent))
