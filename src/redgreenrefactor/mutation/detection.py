"""Whether tests notice mutants of the code, and wrong expectations of their own."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from redgreenrefactor.languages import python
from redgreenrefactor.languages.paths import is_test, is_tests_own, module_files
from redgreenrefactor.model.evidence import (
    UNANSWERED,
    Evidence,
    Inquiry,
    Kind,
    Place,
    SuiteRun,
    TestId,
    TestResult,
    Trial,
)
from redgreenrefactor.model.facts import NOTICED, MutantCounts
from redgreenrefactor.model.values import frozen
from redgreenrefactor.mutation.expectations import BLIND, with_bent_comparisons
from redgreenrefactor.mutation.false_expectations import with_false_expectations
from redgreenrefactor.mutation.mutants import Mutation, import_time_lines, mutated, mutations
from redgreenrefactor.mutation.originals import with_originals
from redgreenrefactor.mutation.unlike import declared_otherwise, spoiled, talkative

HANDFUL = 3
SEED = 1  # of whatever is compared: chance makes no difference between two sides
SLACK, TIMES = 3.0, 5  # a mutant may take so many seconds, and so many times what the tests take without it
SLIGHT, GROSS = 4, 5  # mutants of each sort that tell the strength of tests
MOST = 30  # mutants that are tried before a test counts as blind

Overlay = tuple[tuple[str, str | None], ...]
Lines = Mapping[str, frozenset[int]]


@frozen
class Mutant:
    """A file of the repository with one thing in it that is wrong."""

    path: str
    text: str  # of the file without it
    mutation: Mutation

    @property
    def place(self) -> str:
        """What it is, and where."""
        return f"{self.path}:{self.mutation.line}: {self.mutation.what}"

    def is_in(self, lines: Lines, prefix: str) -> bool:
        """Tell whether it lies in these lines of a project."""
        return self.mutation.line in lines.get(self.path.removeprefix(prefix), ())

    @property
    def overlay(self) -> Overlay:
        """The file with that in it."""
        return ((self.path, mutated(self.text, self.mutation)),)


@frozen
class Proof:
    """Whether a test noticed what was done to the code or to its expectations."""

    noticed: bool
    why: str = ""
    mutants: MutantCounts | None = None
    wrong_expectation: str = ""


def holds(run: SuiteRun, ids: Sequence[TestId]) -> bool:
    """Tell whether every one of these tests, with all its parameter sets, ran and passed."""
    if not run.finished or run.errors:
        return False
    found = [result for name in ids for result in run.results.values() if belongs(result.id, name)]
    return bool(found) and all(result.passed for result in found)


def belongs(test: TestId, name: TestId) -> bool:
    """Tell whether a test is the named one, a parameter set of it, or stands in the named file or class."""
    return test == name or test.startswith((f"{name}[", f"{name}::"))


def proof(evidence: Evidence, ids: Sequence[TestId], file: str) -> Inquiry[Proof]:
    """Return whether a test that passes would fail if the code it executes were broken."""
    traced = yield Trial(evidence.head, tests=tuple(ids), trace=True)
    seen = seen_in(evidence, traced)
    everything = _everything(evidence, file)
    candidates = mutants_in(evidence, seen or everything)
    slight = spread([item for item in candidates if item.mutation.slight], HANDFUL)
    others = [item for item in candidates if item not in slight]
    ran = [item for item in others if item.is_in(traced.executed, evidence.prefix)]
    loaded = [item for item in others if item not in ran]  # when the file is imported, or nobody knows
    mutants = [*slight, *spread(ran, MOST), *spread(loaded, max(MOST - len(ran), HANDFUL))]
    # A crash is noticed by any test that runs at all: where a value can be a little off, an assertion has to notice.
    closely = any(not seen or item.is_in(traced.executed, evidence.prefix) for item in slight)
    mutants += [item for item in ran if item.mutation.slight and item not in mutants] if closely else []
    whole = Trial(evidence.head, tests=tuple(ids))
    found = yield from noticed_by(whole, mutants, least=HANDFUL, by_assertion=closely)
    tried, noticed = found.tried, found.by_assertion if closely else found.by_failing
    examples = tuple(item.place for item in noticed[:3])
    missed = tuple(item.place for item in mutants[:tried] if item not in found.by_failing)
    counts = MutantCounts(tried, len(noticed), examples, missed or None) if tried else None
    if noticed:
        return Proof(noticed=True, mutants=counts)
    # What was given to the code and left alone, kept to itself or only declared, no mutant's result can show.
    for rewrite in (spoiled, talkative, declared_otherwise):
        if overlay := code_rewritten(evidence, seen or everything, rewrite):
            run = yield Trial(evidence.head, overlay=overlay, tests=tuple(ids), seed=SEED, probe=True)
            if any(result.kind is Kind.ASSERTION for result in run.results.values()):
                return Proof(noticed=True, mutants=counts, wrong_expectation=NOTICED)
    why = f"noticed none of {tried} mutants of the code" if tried else "tests no code of the project"
    return Proof(noticed=False, why=why, mutants=counts)


def code_rewritten(
    evidence: Evidence, files: Iterable[str], rewrite: Callable[[str | None], str | None]
) -> Overlay:
    """Return the code of these files, rewritten where that can be."""
    paths = [f"{evidence.prefix}{file}" for file in sorted(files) if file.endswith(".py")]
    code = [path for path in paths if not is_test(evidence, path)]
    twins = ((path, rewrite(evidence.read(evidence.head, path))) for path in code)
    return tuple((path, twin) for path, twin in twins if twin is not None)


@frozen
class Noticed:
    """What became of mutants."""

    tried: int
    by_failing: tuple[Mutant, ...] = ()  # in whatever way, crashes included
    by_assertion: tuple[Mutant, ...] = ()
    failed: tuple[TestResult, ...] = ()  # the tests that noticed the last of them


def noticed_by(
    tests: Trial,
    mutants: Sequence[Mutant],
    *,
    enough: int = 1,
    least: int = 1,
    beside: Sequence[TestId] = (),
    by_assertion: bool = False,
    usual: SuiteRun | None = None,
) -> Inquiry[Noticed]:
    """Return which mutants make these tests fail, others run beside them, and how many were tried before that was enough.

    What the tests do without a mutant is asked for unless a run is given in which they pass.
    """
    failed, asserted = list[Mutant](), list[Mutant]()
    noticing: tuple[TestResult, ...] = ()
    tried, sure, ids = 0, list[Trial](), tests.tests
    trial = replace(tests, tests=(*ids, *beside), seed=tests.seed or SEED, probe=True)
    if usual is None or not holds(usual, ids):
        usual = (yield trial) if mutants else UNANSWERED
    trial = replace(trial, limit=SLACK + TIMES * usual.seconds)  # an endless loop is noticed, too
    for number, item in enumerate(mutants if holds(usual, ids) else ()):
        if len(asserted if by_assertion else failed) >= enough and tried >= least:
            break
        sure = sure[1:] or [*_on(mutants, trial, number, max(enough, least))]
        run = yield replace(sure[0], along=tuple(sure[1:]))
        if not run.answered:
            break
        tried += 1
        if not holds(run, ids):
            failed.append(item)
            noticing = tuple(result for result in run.results.values() if result.failed)
            if any(result.kind is Kind.ASSERTION for result in run.results.values()):
                asserted.append(item)
    return Noticed(tried, tuple(failed), tuple(asserted), noticing)


def _on(mutants: Sequence[Mutant], trial: Trial, first: int, sure: int) -> Iterator[Trial]:
    """Yield a trial on the first of these mutants, and on those after it that are tried in any case."""
    for place in range(first, min(max(sure, first + 1), len(mutants))):
        overlay = (*trial.overlay, *mutants[place].overlay)
        yield replace(trial, overlay=overlay, number=place + 1, of=len(mutants))


def blind_comparison(
    evidence: Evidence, ids: Sequence[TestId], files: Iterable[str]
) -> Inquiry[TestResult | None]:
    """Return a test of these files in which something holds for any value, with what that is; None where none is seen."""
    impl = evidence.impl_file
    overlay = _rewritten(evidence, files, lambda text: with_bent_comparisons(text, impl))
    if not overlay:
        return None
    run = yield Trial(evidence.head, overlay, tuple(ids), seed=SEED, probe=True)
    return next((result for result in run.results.values() if result.exception == BLIND), None)


def misled(
    evidence: Evidence, ids: Sequence[TestId], files: Iterable[str], names: Sequence[tuple[str, str]]
) -> Inquiry[TestResult | None]:
    """Return a test that fails where tests call these functions, owner and name, as they were before the code was loaded."""
    overlay = _rewritten(evidence, files, lambda text: with_originals(text, names))
    run = yield Trial(evidence.head, overlay, tuple(ids), seed=SEED, probe=True)
    return next((result for result in run.results.values() if result.failed), None)


def _rewritten(
    evidence: Evidence, files: Iterable[str], rewrite: Callable[[str | None], str | None]
) -> Overlay:
    """Return these files of tests, and the code of tests that they use, each rewritten where that can be."""
    twins = ((file, rewrite(evidence.text(file))) for file in test_code(evidence, files))
    return tuple((f"{evidence.prefix}{file}", twin) for file, twin in twins if twin is not None)


def obeyed(evidence: Evidence, results: Iterable[TestResult]) -> Inquiry[Place | None]:
    """Return where tests ask for something else, and pass all the same: the code knows what they ask for."""
    files: dict[str, list[TestResult]] = {}
    for result in results:
        files.setdefault(result.file, []).append(result)
    for file, found in files.items():
        path = f"{evidence.prefix}{file}"
        names = {result.function for result in found}
        if false := with_false_expectations(evidence.read(evidence.head, path), names):
            tests = tuple(dict.fromkeys(_family(result.id) for result in found))
            overlay, limit = ((path, false.text),), SLACK * TIMES  # some look for what they never find
            run = yield Trial(evidence.head, overlay, tests, seed=SEED, limit=limit, probe=True)
            if holds(run, tests):
                return Place(file, false.line)
    return None


def _family(test: TestId) -> TestId:
    """Return a test without its parameters: what it asks for may be among them, and so in its id."""
    file, mark, name = test.partition("::")
    return file + mark + name.partition("[")[0]


def test_code(evidence: Evidence, files: Iterable[str]) -> list[str]:
    """Return these files and the code of tests that they use: what they import, and what is found above them."""
    found: list[str] = []
    waiting = [*files]
    while waiting:
        file = waiting.pop()
        if file in found or not is_tests_own(evidence, file):
            continue
        found.append(file)
        waiting += _imports(evidence, file)
        above = PurePosixPath(file).parents
        waiting += [name for folder in above if _there(evidence, name := str(folder / "conftest.py"))]
    return found


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
    """Return the lines of code that a test was seen to execute, and those of import time that they depend on."""
    files = {*traced.executed, *(traced.reach.files if traced.reach else ())}
    texts = {file: evidence.text(file) for file in files}
    none = frozenset[int]()
    used = frozenset(
        name for file, lines in traced.executed.items() for name in python.names_in(texts[file], lines)
    )
    seen = {
        file: traced.executed.get(file, none) | import_time_lines(text, traced.executed.get(file, none), used)
        for file, text in texts.items()
        if file.endswith(".py") and not is_tests_own(evidence, file)
    }
    return {file: lines for file, lines in seen.items() if lines}


def telling(evidence: Evidence, old: Trial, new: Trial) -> Inquiry[list[Mutant]]:
    """Return a few mutants of what tests execute by which they are told from others, which may have been cut off from it.

    Those come first that lie in lines the others do not execute, then slight ones: a weakened assertion misses those.
    """
    then = yield replace(old, trace=True)
    now = yield replace(new, trace=True)
    found, none = mutants_in(evidence, seen_in(evidence, then)), frozenset[int]()
    lost = {file: lines - now.executed.get(file, none) for file, lines in then.executed.items()}
    cut_off = spread([item for item in found if item.is_in(lost, evidence.prefix)], HANDFUL)
    slight = [item for item in found if item.mutation.slight and item not in cut_off]
    gross = [item for item in found if not item.mutation.slight and item not in cut_off]
    return [*cut_off, *spread(slight, SLIGHT), *spread(gross, GROSS)]


@frozen
class Lost:
    """A mutant that tests noticed and do not any more."""

    mutant: Mutant
    tests: tuple[TestResult, ...]


Losing = Callable[[Mutant, Noticed, Noticed], Sequence[TestResult]]


def lost_mutant(
    old: Trial, new: Trial, mutants: Sequence[Mutant], losing: Losing, beside: Sequence[TestId] = ()
) -> Inquiry[Lost | None]:
    """Return the first of these mutants that is lost on tests, where it is with another seed, too.

    `losing` says which tests have lost one, of those that noticed it.
    """
    for mutant in mutants:
        for seed in (SEED, SEED + 1):
            then = yield from noticed_by(replace(old, seed=seed), [mutant])
            again = noticed_by(replace(new, seed=seed), [mutant], beside=beside)
            now = (yield from again) if then.by_failing else then
            lost = tuple(losing(mutant, then, now)) if now.tried else ()
            if not lost:
                break
        else:
            return Lost(mutant, lost)
    return None


def _everything(evidence: Evidence, file: str) -> Lines:
    """Return all lines of what a test imports and of what was planned: it may run in another process."""
    return {name: frozenset(range(1, 10_000)) for name in _imported(evidence, file)}


def _imported(evidence: Evidence, file: str) -> Iterator[str]:
    if evidence.case:
        yield evidence.case.impl_file
    yield from _imports(evidence, file)


def _imports(evidence: Evidence, file: str) -> Iterator[str]:
    """Yield the files of the project that a file imports, as far as its text tells."""
    tree = python.parsed(evidence.text(file))
    for module in python.imports(tree) if tree else ():
        yield from (path for path in module_files(module) if _there(evidence, path))


def _there(evidence: Evidence, file: str) -> bool:
    return evidence.text(file) is not None


def spread(items: Sequence[Mutant], count: int) -> list[Mutant]:
    """Return so many of the items, evenly spread, the ends first."""
    if len(items) <= count:
        return list(items)
    places = sorted({round(index * (len(items) - 1) / (count - 1)) for index in range(count)})
    chosen = [items[place] for place in places]
    return [*chosen[::3], *chosen[1::3], *chosen[2::3]]
