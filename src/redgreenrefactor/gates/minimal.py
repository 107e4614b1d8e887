"""How much of GREEN's change the new test needs: pieces are taken away in turn."""

import ast
import copy
from collections.abc import Generator, Sequence
from typing import Any, cast

from redgreenrefactor.gates import python
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
        if _does_something(hunk, change.after.text)
    ][:MOST]
    family = _family(ids)
    unneeded: list[Hunk] = []
    tried = 0
    for piece in pieces if len(pieces) > 1 else []:
        run = yield Trial(evidence.head, overlay=((piece.path, piece.without),), tests=tuple(ids), probe=True)
        if not run.answered:
            break
        tried += 1
        if holds(run, ids):
            older = yield Trial(
                evidence.head, overlay=((piece.path, piece.without),), tests=family, probe=True
            )
            if older.answered and holds(older, family):
                unneeded.append(piece)
    if not tried and len(pieces) != 1:
        return [], {}
    total = max(tried, 1)
    share = round(100 * (total - len(unneeded)) / total)
    facts = {"minimality": {"share": share, "hunks": total, "unneeded": [piece.place for piece in unneeded]}}
    return list(_findings(evidence, share, unneeded)), facts


def _family(ids: Sequence[TestId]) -> tuple[TestId, ...]:
    """Return the file of the new test: an older test in it may need what the new one does not."""
    return tuple(dict.fromkeys(name.partition("::")[0] for name in ids)) if "::" in ids[0] else tuple(ids)


def _does_something(piece: Hunk, text: str) -> bool:
    """Tell whether code differs without a piece: comments, docstrings, hints and exports do nothing."""
    whole, less = python.parsed(text), python.parsed(piece.without)
    return whole is None or less is None or _effective(whole) != _effective(less)


def _effective(tree: ast.Module) -> list[str]:
    """Return the statements of a file that do something, docstrings taken out."""
    twin = copy.deepcopy(tree)
    alone = python.docstrings(twin)
    for node in ast.walk(twin):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [
                item
                for item in cast("list[ast.stmt]", body)
                if not (isinstance(item, ast.Expr) and item.value in alone)
            ]
            body[:] = kept or [ast.Pass()]
    return [ast.dump(node) for node in twin.body if not _is_formal(node)]


def _is_formal(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom) and node.module in ("__future__", "typing", "collections.abc"):
        return True
    exports = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    return (
        exports
        or isinstance(node, ast.Pass)
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
    )


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
