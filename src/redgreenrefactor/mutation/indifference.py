"""Whether a test minds what the planned code gives."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from redgreenrefactor.languages import python
from redgreenrefactor.languages.dataflow import imported_from
from redgreenrefactor.model.evidence import Evidence, Inquiry, Kind, Place, SuiteRun, TestId, Trial
from redgreenrefactor.model.values import frozen
from redgreenrefactor.mutation.detection import SEED, holds
from redgreenrefactor.mutation.unlike import Stand, stand_in

_TOOLS = frozenset(("ast", "dis", "inspect", "tokenize"))  # that take sources apart
_NEAR = re.compile(r"approx|isclose|allclose|Almost|delta|assertGreater|assertLess|[<>]=?")
_FAR = 7_919_017.5e30  # above every number that a test may mean
_ODD = "\t~Rgr  \u00df-\n9Z "  # a text that nobody expects, and that keeps no promise about texts
_MAKING = re.compile(r"\b(?:creat|construct|instantiat|built|build|made|make|new|exist)", re.IGNORECASE)


@frozen
class Claims:
    """What a test speaks of, where it asserts something or fails, and whether all of that is about what comes back."""

    constants: tuple[object, ...] = ()
    places: tuple[Place, ...] = ()
    about_results: bool = False
    never: frozenset[Place] = frozenset()  # statements that fail by themselves: not to be come to
    by_error: frozenset[Place] = frozenset()  # those of them that code may keep a test from by an error

    @property
    def words(self) -> list[str]:
        """Texts it may look for."""
        return [item for item in self.constants if isinstance(item, str)]


@frozen
class _Stands:
    """Runs of tests with something else in the place of the planned code."""

    evidence: Evidence
    ids: tuple[TestId, ...]
    code: str | None
    words: frozenset[str]

    def trial(self, stand: Stand, value: object = None) -> Trial:
        path = f"{self.evidence.prefix}{self.evidence.impl_file}"
        overlay = ((path, stand_in(self.code, stand, self.words, value)),)
        return Trial(self.evidence.head, overlay=overlay, tests=self.ids, seed=SEED, probe=True)

    def passes(self, stand: Stand, value: object = None) -> Inquiry[bool]:
        return holds((yield self.trial(stand, value)), self.ids)


def _asserted(run: SuiteRun) -> bool:
    return any(result.kind is Kind.ASSERTION for result in run.results.values())


def indifference(
    evidence: Evidence, ids: Sequence[TestId], claims: Claims, *, passing: bool = False
) -> Inquiry[str]:
    """Return what the planned code may do without these tests noticing; nothing where they notice, or nobody can tell.

    `passing` says that they pass as it is.
    """
    case = evidence.case
    if case is None or not case.impl_file.endswith(".py"):
        return ""
    text = evidence.text(case.impl_file)
    if text is None and passing:
        return ""  # what there is lies elsewhere
    stands = _Stands(evidence, tuple(ids), text, frozenset((*claims.words, *_names(evidence))))
    run = yield replace(stands.trial(Stand.UNLIKE), trace=bool(claims.places))
    if any(result.silenced for result in run.results.values()):
        return "whatever else comes back, it is skipped or expected to fail"
    if not holds(run, ids):
        fails = yield from _fails_anyway(stands, run, claims)
        return fails or (yield from _minds_no_value(stands, run, claims))
    known = [place for place in claims.places if run.executed.get(place.file)]
    said = [place for place in known if place not in claims.never]
    if said and not any(place.line in run.executed[place.file] for place in known):
        return "whatever else comes back, it comes to none of its assertions"
    none = yield stands.trial(Stand.NONE)
    if holds(none, ids):
        why = yield from _minds_errors_alone(stands, claims)
    else:
        made = _MAKING.search(case.description) or (claims.never and not _asserted(none))
        why = "" if made else "any object may come back, and all it notices is None"
    return "" if why and (yield from _minds_a_value(stands, claims)) else why


def _names(evidence: Evidence) -> set[str]:
    """Return what tests use of the planned code, by name."""
    tree = python.parsed(evidence.text(evidence.test_file))
    planned = imported_from(tree, evidence.impl_file) if tree else ()
    found = [item for item in ast.walk(tree) if isinstance(item, ast.Attribute)] if tree else []
    return {*planned, *(item.attr for item in found if ast.unparse(item.value) in planned)}


def _values(claims: Claims) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Yield kinds of values, each with some that no test lets through which minds: all it speaks of, none of it, nothing."""
    yield "number", (_FAR, -_FAR, 0)
    yield "text", (_ODD.join(["", *claims.words, ""]), _ODD, "")
    spoken = claims.words or [item for item in claims.constants if type(item) in (int, float)]
    yield "list", ([*spoken, *spoken], [_ODD, "B", _ODD], [])


def _minds_a_value(stands: _Stands, claims: Claims) -> Inquiry[bool]:
    """Tell whether a test lets some value through and not another of its kind, which is not just empty."""
    for _, values in _values(claims):
        met: list[bool] = []
        for value in values:
            met += [(yield from stands.passes(Stand.GIVEN, value))]
        if any(met) and not all(met[:2]):
            return True
    return False


def _fails_anyway(stands: _Stands, run: SuiteRun, claims: Claims) -> Inquiry[str]:
    """Return that a test comes to a statement which fails by itself, whatever is given to it."""
    place = _failed_in(run, claims)
    for stand in (Stand.ALIKE, Stand.NONE):
        if place is None or _failed_in((yield stands.trial(stand)), claims) != place:
            return ""
    return f"whatever comes back, it fails in line {place.line}" if place else ""


def _failed_in(run: SuiteRun, claims: Claims) -> Place | None:
    """Return the statement that no code has a say in, and that a test has failed in."""
    failed = next((result for result in run.results.values() if result.kind is Kind.ASSERTION), None)
    inside = [Place(it.file, it.line) for it in failed.frames if it.file == failed.file] if failed else []
    return inside[-1] if inside and inside[-1] in claims.never - claims.by_error else None


def _minds_no_value(stands: _Stands, run: SuiteRun, claims: Claims) -> Inquiry[str]:
    """Return what else will do for a test that notices when what comes back is no value at all."""
    evidence = stands.evidence
    text = evidence.text(evidence.test_file) or ""
    reads = not _TOOLS.isdisjoint(python.imports(python.parsed(text) or ast.Module([], [])))
    if (reads or evidence.impl_file in run.reach.opened) and (yield from stands.passes(Stand.SHOWN)):
        return "all it looks at is the source, whatever comes of that"
    for kind, values in _values(claims):
        if _asserted(run) and not (kind == "number" and _NEAR.search(text)):
            continue  # that it was not equal has been noticed
        for value in values:
            if not (yield from stands.passes(Stand.GIVEN, value)):
                break
        else:
            return f"any {kind} will do"
    return ""


def _minds_errors_alone(stands: _Stands, claims: Claims) -> Inquiry[str]:
    """Return what else may come back, or be done, without a test noticing that passes with None and with anything."""
    if (yield from stands.passes(Stand.RAISING)):  # else it is about what functions do beside, or leave alone
        made = not (yield from stands.passes(Stand.NOTHING))
        return "" if made else "every function and class in it may just raise an error"
    if not claims.about_results and (yield from stands.passes(Stand.UNTOUCHABLE)):
        return ""
    for stand in (Stand.ECHO, Stand.EMPTY, Stand.DIFFERENT):
        if not (yield from stands.passes(stand)):
            return ""
    return "it looks at what comes back, and passes whatever that is"
