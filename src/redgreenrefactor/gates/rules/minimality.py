"""How much of GREEN's change the new test needs: pieces are taken away in turn."""

import ast
import copy
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from redgreenrefactor.languages import python
from redgreenrefactor.languages.diff import Hunk, added_lines, hunks, lines_of
from redgreenrefactor.languages.paths import is_test
from redgreenrefactor.languages.sources import bare
from redgreenrefactor.model.evidence import Change, Evidence, Inquiry, TestId, Trial
from redgreenrefactor.model.facts import NEEDED, Minimality
from redgreenrefactor.model.verdict import Finding, FindingType, Severity
from redgreenrefactor.mutation.detection import holds

MOST = 12  # pieces that are taken away
PROSE = re.compile(
    r"\.(md|markdown|rst|adoc|txt)$|(^|/)(README|CHANGELOG|CHANGES|LICENSE|NOTICE|AUTHORS)[^/]*$|(^|/)\.gitignore$",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Tally:
    """What became of the pieces that were taken away."""

    tried: int = 0
    unneeded: list[Hunk] = field(default_factory=list[Hunk])
    answered: bool = True


def minimality(evidence: Evidence, ids: Sequence[TestId]) -> Inquiry[tuple[list[Finding], Minimality | None]]:
    """Return findings about code that no test asked for, and the share that was needed."""
    code = [
        (change, text)
        for change in evidence.changes
        if (text := change.new_text) is not None and _is_code(evidence, change.path)
    ]
    pieces = [hunk for change, text in code for hunk in hunks(change) if _does_something(hunk, text)][:MOST]
    counted = _Tally()
    if len(pieces) > 1:
        yield from _without(evidence, ids, pieces, counted)
        if not counted.tried:
            return [], None
    elif not pieces:
        return [], None
    counted.tried = max(counted.tried, 1)  # a change of one piece is needed: without it the test failed
    if counted.answered:
        branches = [item for change, text in code for item in _branches(change, text)]
        inside = [item for item in branches if _is_part(item, pieces, counted.unneeded)]
        yield from _without(evidence, ids, inside[: MOST - len(pieces)], counted)
    total, unneeded = counted.tried, counted.unneeded
    share = round(100 * (total - len(unneeded)) / total)
    figures = Minimality(share, total, tuple(piece.place for piece in unneeded))
    return list(_findings(evidence, share, unneeded)), figures


def _without(
    evidence: Evidence, ids: Sequence[TestId], pieces: Sequence[Hunk], counted: _Tally
) -> Inquiry[None]:
    """Take these pieces away in turn, as long as there is time for it; a piece in one that is not needed is skipped."""
    family = _family(ids)
    trials = [_taken_away(evidence, ids, pieces, number) for number in range(len(pieces))]
    for number, piece in enumerate(pieces):
        if any(_holds(other, piece) for other in counted.unneeded):
            continue
        run = yield replace(trials[number], along=tuple(trials[number + 1 :]))
        if not run.answered:
            counted.answered = False
            return
        counted.tried += 1
        if holds(run, ids):
            older = yield replace(trials[number], tests=family)
            if older.answered and holds(older, family):
                counted.unneeded.append(piece)


def _taken_away(evidence: Evidence, ids: Sequence[TestId], pieces: Sequence[Hunk], number: int) -> Trial:
    overlay, many = ((pieces[number].path, pieces[number].without),), len(pieces)
    return Trial(evidence.head, overlay, tuple(ids), probe=True, spare=NEEDED, number=number + 1, of=many)


def _is_code(evidence: Evidence, path: str) -> bool:
    return not is_test(evidence, path) and not PROSE.search(path)


def _is_part(branch: Hunk, pieces: Sequence[Hunk], unneeded: Sequence[Hunk]) -> bool:
    """Tell whether a branch is less than the piece it stands in, and that piece was needed."""
    around = [piece for piece in pieces if _holds(piece, branch)]
    whole = any(_holds(branch, piece) for piece in pieces)
    return bool(around) and not whole and not any(piece in unneeded for piece in around)


def _holds(outer: Hunk, inner: Hunk) -> bool:
    return outer.path == inner.path and outer.first <= inner.first and inner.last <= outer.last


def _branches(change: Change, text: str) -> Iterator[Hunk]:
    """Yield the branches that were added and can be taken away by themselves: guards, elifs, cases; outer ones first."""
    tree, lines = python.parsed(text), lines_of(text)
    if tree is None or not change.path.endswith(".py"):
        return
    added = added_lines(change)
    for first, last in sorted({*_guards(tree, lines), *_cases(tree)}, key=lambda span: (span[0], -span[1])):
        without = "".join([*lines[: first - 1], *lines[last:]])
        piece = Hunk(change.path, first, last, without)
        if set(range(first, last + 1)) <= added and python.parsed(without) and _does_something(piece, text):
            yield piece


def _guards(tree: ast.Module, lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines of every `if` without an `else` that does not stand alone, and of every `elif`."""
    for parent in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block: Any = getattr(parent, name, None)
            items = cast("list[ast.stmt]", block) if isinstance(block, list) else []
            for item in items:
                if not isinstance(item, ast.If):
                    continue
                if lines[item.lineno - 1].lstrip().startswith("elif"):
                    yield item.lineno, item.body[-1].end_lineno or item.lineno
                elif not item.orelse and len(items) > 1:
                    yield item.lineno, item.end_lineno or item.lineno


def _cases(tree: ast.Module) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        for case in node.cases if isinstance(node, ast.Match) and len(node.cases) > 1 else ():
            yield case.pattern.lineno, case.body[-1].end_lineno or case.pattern.lineno


def _family(ids: Sequence[TestId]) -> tuple[TestId, ...]:
    """Return the file of the new test: an older test in it may need what the new one does not."""
    return tuple(dict.fromkeys(name.partition("::")[0] for name in ids)) if "::" in ids[0] else tuple(ids)


def _does_something(piece: Hunk, text: str) -> bool:
    """Tell whether code differs without a piece.

    Comments, docstrings, hints and exports do nothing, nor do imports for what stays: they go with it.
    """
    if not piece.path.endswith(".py"):
        return bare(piece.path, text) != bare(piece.path, piece.without)
    whole, less = python.parsed(text), python.parsed(piece.without)
    used = _without_import(less) if less else ()
    return whole is None or less is None or _effective(whole, used) != _effective(less, used)


def _without_import(tree: ast.Module) -> set[str]:
    """Return the names that a file uses, in hints too, and does not import."""
    nodes = list(ast.walk(tree))
    hints = (getattr(node, name, None) for node in nodes for name in ("annotation", "returns"))
    quoted = (str(text.value) for hint in hints if hint for text in python.strings(hint))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {word for text in quoted for word in re.findall(r"\w+", text)}
    return names - {item.name for item in python.imported(tree)}


def _effective(tree: ast.Module, used: Collection[str]) -> list[str]:
    """Return the statements of a file that do something, docstrings and imports for these names taken out."""
    twin = copy.deepcopy(tree)
    alone = python.docstrings(twin)
    for node in ast.walk(twin):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [
                item
                for item in cast("list[ast.stmt]", body)
                if not (isinstance(item, ast.Expr) and item.value in alone) and not _declares(item, node)
            ]
            body[:] = kept or [ast.Pass()]
    return [ast.dump(node) for node in twin.body if not _is_formal(node, used)]


def _declares(item: ast.stmt, owner: ast.AST) -> bool:
    """Tell whether a member only says what others have: nothing runs it."""
    bases = owner.bases if isinstance(owner, ast.ClassDef) else []
    if isinstance(item, ast.AnnAssign):
        return item.value is None and _names(bases, "Protocol")
    if not isinstance(item, python.Function) or ast.unparse(item.body[-1]) != "..." or len(item.body) > 2:  # noqa: PLR2004 - a docstring and dots
        return False
    return _names(bases, "Protocol", "ABC") or _names(item.decorator_list, "overload", "abstractmethod")


def _names(nodes: Sequence[ast.expr], *names: str) -> bool:
    return any(re.split(r"[\[(]", ast.unparse(node))[0].rpartition(".")[2] in names for node in nodes)


def _is_formal(node: ast.stmt, used: Collection[str]) -> bool:
    if isinstance(node, ast.ImportFrom) and node.module in ("__future__", "typing", "collections.abc"):
        return True
    if isinstance(node, ast.Import | ast.ImportFrom):
        return all(item.name in used for item in python.imported(node))
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
