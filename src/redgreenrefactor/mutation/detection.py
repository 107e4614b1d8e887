"""Whether tests notice mutants of the code, and wrong expectations of their own."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass

from redgreenrefactor.languages import python
from redgreenrefactor.languages.paths import is_test, module_files
from redgreenrefactor.model.evidence import Evidence, Kind, Question, SuiteRun, TestId, TestResult, Trial
from redgreenrefactor.model.facts import PERTURBED, MutantCounts
from redgreenrefactor.mutation.expectations import Equalities, with_wrong_expectations
from redgreenrefactor.mutation.mutants import Mutation, mutated, mutations

HANDFUL = 3
COMPARED = 4  # equalities of a test that are made wrong one by one: an honest one would hide the others
MOST = 20  # mutants that are tried before a test counts as blind

Overlay = tuple[tuple[str, str | None], ...]
Lines = Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file of the repository with one thing in it that is wrong."""

    path: str
    text: str  # of the file without it
    mutation: Mutation

    @property
    def place(self) -> str:
        """What it is, and where."""
        return f"{self.path}:{self.mutation.line}: {self.mutation.what}"

    @property
    def overlay(self) -> Overlay:
        """The file with that in it."""
        return ((self.path, mutated(self.text, self.mutation)),)


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether a test noticed what was done to the code or to its expectations."""

    noticed: bool
    why: str = ""
    mutants: MutantCounts | None = None
    perturbation: str = ""


def holds(run: SuiteRun, ids: Sequence[TestId]) -> bool:
    """Tell whether every one of these tests, with all its parameter sets, ran and passed."""
    if not run.finished or run.errors:
        return False
    found = [result for name in ids for result in run.results.values() if belongs(result.id, name)]
    return bool(found) and all(result.passed for result in found)


def belongs(test: TestId, name: TestId) -> bool:
    """Tell whether a test is the named one, a parameter set of it, or stands in the named file or class."""
    return test == name or test.startswith((f"{name}[", f"{name}::"))


def proof(
    evidence: Evidence, ids: Sequence[TestId], file: str, function: str
) -> Generator[Question, SuiteRun, Proof]:
    """Return whether a test that passes would fail if the code it executes were broken."""
    traced = yield Trial(evidence.head, tests=tuple(ids), trace=True)
    seen = seen_in(evidence, traced)
    candidates = mutants_in(evidence, seen or _everything(evidence, file))
    slight = spread([item for item in candidates if item.mutation.slight], HANDFUL)
    mutants = [*slight, *spread([item for item in candidates if item not in slight], MOST)]
    # A crash is noticed by any test that runs at all: where a value can be a little off, an assertion has to notice.
    found = yield from noticed_by(
        evidence.head, ids, mutants, enough=1, least=HANDFUL, by_assertion=bool(slight)
    )
    tried, noticed = found.tried, found.by_assertion if slight else found.by_failing
    examples = tuple(item.place for item in noticed[:3])
    counts = MutantCounts(tried, len(noticed), examples) if tried else None
    if noticed:
        return Proof(noticed=True, mutants=counts)
    # Code that crashes when it is broken is run by the test; wrong expectations tell whether it is looked at.
    # What was given to the code and left alone no mutant's result can show.
    equalities = (
        Equalities.ALL if not mutants else Equalities.RESULTS if found.by_failing else Equalities.ARGUMENTS
    )
    runs = seen or found.by_failing
    if (
        runs
        and (yield from ignores_expectations(evidence, ids, file, function, equalities=equalities)) is False
    ):
        return Proof(noticed=True, mutants=counts, perturbation=PERTURBED)
    why = (
        f"noticed none of {tried} mistakes planted into the code" if tried else "tests no code of the project"
    )
    return Proof(noticed=False, why=why, mutants=counts)


@dataclass(frozen=True, slots=True)
class Noticed:
    """What became of mutants."""

    tried: int
    by_failing: tuple[Mutant, ...] = ()  # in whatever way, crashes included
    by_assertion: tuple[Mutant, ...] = ()
    failed: tuple[TestResult, ...] = ()  # the tests that noticed the last of them


def noticed_by(
    commit: str,
    ids: Sequence[TestId],
    mutants: Sequence[Mutant],
    *,
    enough: int,
    least: int,
    overlay: Overlay = (),
    by_assertion: bool = False,
    spare: str = "",
) -> Generator[Question, SuiteRun, Noticed]:
    """Return which mutants make these tests fail, and how many were tried before that was enough."""
    failed: list[Mutant] = []
    asserted: list[Mutant] = []
    noticing: tuple[TestResult, ...] = ()
    tried = 0
    for item in mutants:
        if len(asserted if by_assertion else failed) >= enough and tried >= least:
            break
        changed = (*overlay, *item.overlay)
        run = yield Trial(commit, overlay=changed, tests=tuple(ids), probe=True, spare=spare)
        if not run.answered:
            break
        tried += 1
        if not holds(run, ids):
            failed.append(item)
            noticing = tuple(result for result in run.results.values() if result.failed)
            if any(result.kind is Kind.ASSERTION for result in run.results.values()):
                asserted.append(item)
    return Noticed(tried, tuple(failed), tuple(asserted), noticing)


def ignores_expectations(
    evidence: Evidence,
    ids: Sequence[TestId],
    file: str,
    function: str,
    *,
    equalities: Equalities = Equalities.ALL,
) -> Generator[Question, SuiteRun, bool | None]:
    """Return whether the test passes with a wrong expectation although it compares it; None where it compares none."""
    path = f"{evidence.prefix}{file}"
    text, impl = evidence.read(evidence.head, path), evidence.case.impl_file if evidence.case else ""

    def passes(*, stops: bool, only: int | None) -> Generator[Question, SuiteRun, bool | None]:
        wrong = with_wrong_expectations(text, function, impl, stops=stops, only=only, equalities=equalities)
        if wrong is None:
            return None
        run = yield Trial(evidence.head, overlay=((path, wrong),), tests=tuple(ids), probe=True)
        return holds(run, ids)

    known: bool | None = None
    single = with_wrong_expectations(text, function, impl, only=1, equalities=equalities) is None
    for only in (None,) if single else range(COMPARED):
        blind = yield from passes(stops=False, only=only)
        if blind is None:
            break
        # Not even reached: nothing is known about what it compares there.
        reached = (yield from passes(stops=True, only=only)) is False if blind else True
        if blind and reached:
            return True
        known = False if reached else known
    return known


def mutants_in(evidence: Evidence, lines: Lines) -> list[Mutant]:
    """Return the mutants of these lines of the project's code."""
    found: list[Mutant] = []
    for file, numbers in sorted(lines.items()):
        path = f"{evidence.prefix}{file}"
        text = evidence.read(evidence.head, path)
        if text is not None and file.endswith(".py") and not is_test(evidence, path):
            found += [Mutant(path, text, mutation) for mutation in mutations(text, numbers)]
    return found


def seen_in(evidence: Evidence, traced: SuiteRun) -> Lines:
    """Return the lines of code that a test was seen to execute."""
    return {
        name: lines
        for name, lines in traced.executed.items()
        if not is_test(evidence, f"{evidence.prefix}{name}")
    }


def _everything(evidence: Evidence, file: str) -> Lines:
    """Return all lines of what a test imports and of what was planned: it may run in another process."""
    return {name: frozenset(range(1, 10_000)) for name in _imported(evidence, file)}


def _imported(evidence: Evidence, file: str) -> Iterator[str]:
    if evidence.case:
        yield evidence.case.impl_file
    tree = python.parsed(evidence.read(evidence.head, f"{evidence.prefix}{file}"))
    for module in python.imports(tree) if tree else ():
        for path in module_files(module):
            if evidence.read(evidence.head, f"{evidence.prefix}{path}") is not None:
                yield path


def spread(items: Sequence[Mutant], count: int) -> list[Mutant]:
    """Return so many of the items, evenly spread, the ends first."""
    if len(items) <= count:
        return list(items)
    places = sorted({round(index * (len(items) - 1) / (count - 1)) for index in range(count)})
    chosen = [items[place] for place in places]
    return [*chosen[::3], *chosen[1::3], *chosen[2::3]]
