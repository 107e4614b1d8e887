"""How much of GREEN's change the new test needs: pieces are taken away in turn."""

from collections.abc import Generator, Sequence
from typing import Any

from redgreenrefactor.gates.diff import Hunk, hunks
from redgreenrefactor.gates.paths import is_test
from redgreenrefactor.gates.proof import holds
from redgreenrefactor.model.evidence import Evidence, Question, SuiteRun, TestId, Trial
from redgreenrefactor.model.verdict import Finding, FindingType, Severity

MOST = 12  # pieces that are taken away


def minimality(
    evidence: Evidence, ids: Sequence[TestId]
) -> Generator[Question, SuiteRun, tuple[list[Finding], dict[str, Any]]]:
    """Return findings about code that no test asked for, and the share that was needed."""
    pieces = [
        hunk
        for change in evidence.changes
        if change.after and change.after.text is not None and not is_test(evidence, change.path)
        for hunk in hunks(change)
    ][:MOST]
    unneeded: list[Hunk] = []
    tried = 0
    for piece in pieces if len(pieces) > 1 else []:
        run = yield Trial(evidence.head, overlay=((piece.path, piece.without),), tests=tuple(ids), probe=True)
        if not run.answered:
            break
        tried += 1
        if holds(run, ids):
            unneeded.append(piece)
    total = tried or len(pieces)
    if not total:
        return [], {}
    share = round(100 * (total - len(unneeded)) / total)
    facts = {"minimality": {"share": share, "hunks": total, "unneeded": [piece.place for piece in unneeded]}}
    return list(_findings(evidence, share, unneeded)), facts


def _findings(evidence: Evidence, share: int, unneeded: Sequence[Hunk]) -> Sequence[Finding]:
    least = evidence.rules.minimality_min
    if not unneeded:
        return []
    binding = least is not None and share < least
    what = f"{share} % of the change is needed by the new test"
    places = ", ".join(piece.place for piece in unneeded[:5])
    return [
        Finding(
            FindingType.NOT_MINIMAL,
            f"{what}{f', at least {least:g} % is asked for' if binding else ''}; it passes without {places}",
            unneeded[0].path,
            unneeded[0].first,
            "Write the least code that makes the new test pass; the rest waits for its own case.",
            Severity.ERROR if binding else Severity.WARNING,
        ),
    ]
