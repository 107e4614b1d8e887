"""Whether a test minds what the planned code gives."""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from redgreenrefactor.languages import python
from redgreenrefactor.languages.dataflow import imported_from
from redgreenrefactor.model.evidence import Evidence, Inquiry, Place, SuiteRun, TestId, Trial
from redgreenrefactor.model.values import frozen
from redgreenrefactor.mutation.detection import SEED, holds
from redgreenrefactor.mutation.unlike import Stand, stand_in

_TOOLS = frozenset(("ast", "dis", "inspect", "tokenize"))  # that take sources apart
_NEAR = re.compile(r"approx|isclose|allclose|Almost|delta|assertGreater|assertLess|[<>]=?")
_MAKING = re.compile(r"\b(?:creat|construct|instantiat|built|build|made|make|new|exist)", re.IGNORECASE)


@frozen
class Claims:
    """What a test looks for in texts, where it asserts something, and whether all of that is about what comes back."""

    words: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    about_results: bool = False


def indifference(
    evidence: Evidence, ids: Sequence[TestId], claims: Claims, *, passing: bool = False
) -> Inquiry[str]:
    """Return what the planned code may do without these tests noticing; nothing where they notice, or nobody can tell.

    `passing` says that they pass as it is.
    """
    case = evidence.case
    if case is None or not case.impl_file.endswith(".py"):
        return ""
    path = f"{evidence.prefix}{case.impl_file}"
    text = evidence.read(evidence.head, path)
    if text is None and passing:
        return ""  # what there is lies elsewhere

    tree = python.parsed(evidence.text(evidence.test_file))
    planned = imported_from(tree, evidence.impl_file) if tree else ()
    found = [item for item in ast.walk(tree) if isinstance(item, ast.Attribute)] if tree else []
    names = {*planned, *(item.attr for item in found if ast.unparse(item.value) in planned)}

    def standing(stand: Stand) -> Trial:
        overlay = ((path, stand_in(text, stand, {*claims.words, *names})),)
        return Trial(evidence.head, overlay=overlay, tests=tuple(ids), seed=SEED, probe=True)

    def passes(stand: Stand) -> Inquiry[bool]:
        return holds((yield standing(stand)), ids)

    run = yield replace(standing(Stand.UNLIKE), trace=bool(claims.places))
    if not holds(run, ids):
        return (yield from _minds_no_value(passes, evidence, run))
    known = [place for place in claims.places if run.executed.get(place.file)]
    if known and not any(place.line in run.executed[place.file] for place in known):
        return "whatever else comes back, it comes to none of its assertions"
    if not (yield from passes(Stand.NONE)):
        made = _MAKING.search(case.description)
        return "" if made else "any object may come back, and all it notices is None"
    return (yield from _minds_errors_alone(passes, claims))


def _minds_no_value(
    passes: Callable[[Stand], Inquiry[bool]], evidence: Evidence, run: SuiteRun
) -> Inquiry[str]:
    """Return what else will do for a test that notices when what comes back is no value at all."""
    text = evidence.text(evidence.test_file)
    tree = python.parsed(text)
    reads = tree is not None and not _TOOLS.isdisjoint(python.imports(tree))
    if (reads or evidence.impl_file in run.reach.opened) and (yield from passes(Stand.SHOWN)):
        return "all it looks at is the source, whatever comes of that"
    far = bool(_NEAR.search(text or "")) and (yield from passes(Stand.HIGH))
    return "any number will do" if far and (yield from passes(Stand.LOW)) else ""


def _minds_errors_alone(passes: Callable[[Stand], Inquiry[bool]], claims: Claims) -> Inquiry[str]:
    """Return what else may come back, or be done, without a test noticing that passes with None and with anything."""
    if (yield from passes(Stand.RAISING)):  # else it is about what functions do beside, or leave alone
        made = not (yield from passes(Stand.NOTHING))
        return "" if made else "every function and class in it may just raise an error"
    if not claims.about_results and (yield from passes(Stand.UNTOUCHABLE)):
        return ""
    for stand in (Stand.ECHO, Stand.EMPTY, Stand.DIFFERENT):
        if not (yield from passes(stand)):
            return ""
    return "it looks at what comes back, and passes whatever that is"
