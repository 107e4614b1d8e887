"""Whether a test minds what the planned code gives."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from redgreenrefactor.languages import python
from redgreenrefactor.languages.dataflow import imported_from
from redgreenrefactor.languages.paths import is_tests_own, module_files
from redgreenrefactor.model.evidence import Evidence, Inquiry, Kind, Place, SuiteRun, TestId, Trial
from redgreenrefactor.model.values import frozen
from redgreenrefactor.mutation.detection import SEED, holds, test_code
from redgreenrefactor.mutation.unlike import MEDDLED, Stand, stand_in

_TOOLS = frozenset(("ast", "dis", "inspect", "tokenize"))  # that take sources apart
_NEAR = re.compile(r"approx|isclose|allclose|Almost|delta|assertGreater|assertLess|[<>]=?")
_PATCHING = re.compile(r"\b(?:setattr|setitem|delattr|patch|mocker)\b")
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
        why = yield from _minds_errors_alone(stands, claims, passing=passing)
    else:
        made = _MAKING.search(case.description)
        deed = not made and not _asserted(none) and not holds((yield _meddled(stands, claims)), ids)
        why = "" if made or deed else "any object may come back, and all it notices is None"
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
        else:  # but it may mind that it gets back what it gave
            return "" if _asserted((yield stands.trial(Stand.ECHO))) else f"any {kind} will do"
    return ""


def _minds_errors_alone(stands: _Stands, claims: Claims, *, passing: bool) -> Inquiry[str]:
    """Return what else may come back, or be done, without a test noticing that passes with None and with anything."""
    if (yield from stands.passes(Stand.RAISING)):  # else it is about what functions do beside, or leave alone
        made = not (yield from stands.passes(Stand.NOTHING))
        return "" if made else "every function and class in it may just raise an error"
    if not claims.about_results and (yield from stands.passes(Stand.UNTOUCHABLE)):
        return "" if passing else (yield from _minds_no_deed(stands, claims))
    for stand in (Stand.ECHO, Stand.EMPTY, Stand.DIFFERENT):
        if not (yield from stands.passes(stand)):
            return ""
    return "it looks at what comes back, and passes whatever that is"


def _minds_no_deed(stands: _Stands, claims: Claims) -> Inquiry[str]:
    """Return that functions may do what they like with all that a test is seen to look at."""
    evidence = stands.evidence
    if claims.never or any(
        _looks_beyond(evidence, file) for file in test_code(evidence, [evidence.test_file])
    ):
        return ""
    run = yield _meddled(stands, claims)
    others = [file for file in run.reach.files if not is_tests_own(evidence, file) and evidence.text(file)]
    if not holds(run, stands.ids) or run.reach.programs or set(others) - {evidence.impl_file}:
        return ""
    return "it passes whatever functions in it return, change, call or write"


def _looks_beyond(evidence: Evidence, file: str) -> bool:
    """Tell whether code of tests uses what nobody meddles with, or puts something in the place of what code uses."""
    text = evidence.text(file) or ""
    tree = python.parsed(text) or ast.Module([], [])
    ours = (*MEDDLED, *(name.partition(".")[0] for name in python.planned_modules(evidence.impl_file)))
    used = {name.partition(".")[0] for name in python.imports(tree)}.difference(ours)
    there = (evidence.text(path) is not None for name in used for path in module_files(name))
    return sum(there) < len(used) or _PATCHING.search(text) is not None


def _meddled(stands: _Stands, claims: Claims) -> Trial:
    """Return a run with functions that do whatever a test may look at."""
    tree = python.parsed(stands.evidence.text(stands.evidence.test_file))
    asked = [item.attr for item in ast.walk(tree) if isinstance(item, ast.Attribute)] if tree else []
    said = sorted({*claims.words, *asked, "~"})
    return stands.trial(Stand.MEDDLING, [stands.evidence.impl_file, *said])
