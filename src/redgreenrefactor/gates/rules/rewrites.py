"""Which tests a refactoring has rewritten: those that are not, one for one, the old ones under other names."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from redgreenrefactor.gates.rules.findings import python_tests
from redgreenrefactor.gates.rules.measurement import Measured
from redgreenrefactor.languages import dataflow, python
from redgreenrefactor.languages.assertions import free_names, renamed
from redgreenrefactor.languages.paths import inside, is_test, module_files
from redgreenrefactor.model.evidence import Evidence, SuiteRun, TestResult

Key = tuple[str, str]  # file, qualified name
Tests = Mapping[Key, python.Definition]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Tests that need proof: as they were, and as they are."""

    old: Tests
    new: Tests
    changed: frozenset[Key]  # those of the old whose own text is different, or gone
    moved: Mapping[Key, Key]  # those that are the same under another name or in another place: new, old

    def twin(self, key: Key) -> Key:
        """Return what an old test that was not rewritten is called now."""
        return next((new for new, old in self.moved.items() if old == key), key)

    def results(self, run: SuiteRun, side: Tests) -> list[TestResult]:
        """Return what these tests did in a run."""
        return [result for result in run.results.values() if (result.file, result.function) in side]


def rewritten(evidence: Evidence, measured: Measured) -> Rewritten:
    """Return the tests whose text differs in more than names and place, and those whose helpers or data differ."""
    old, new = dict(_tests(evidence, before=True)), dict(_tests(evidence, before=False))
    pairs = dict(_pairs(evidence, old, new))
    taken = set(pairs.values())
    touched, files = _touched_helpers(evidence), _touched_data(evidence)
    leaning = {
        key for key in pairs if dataflow.mentions(old[key].node, touched) or _reads(evidence, key[0], files)
    }
    elsewhere = dict(_untouched(evidence, measured, touched, files))
    changed = frozenset(key for key in old if key not in pairs)
    return Rewritten(
        {**{key: old[key] for key in (*changed, *leaning)}, **elsewhere},
        {
            **{key: new[key] for key in new if key not in taken or key in {pairs[k] for k in leaning}},
            **elsewhere,
        },
        changed,
        {twin: key for key, twin in pairs.items() if key != twin},
    )


def _tests(evidence: Evidence, *, before: bool) -> Iterator[tuple[Key, python.Definition]]:
    for change, *texts in python_tests(evidence):
        local = inside(evidence, change.path)
        if local:
            yield from (((local, test.name), test) for test in python.tests_in(texts[0 if before else 1]))


def _pairs(evidence: Evidence, old: Tests, new: Tests) -> Iterator[tuple[Key, Key]]:
    """Yield each old test with the new one it has become; one new test stands for one old one only."""
    same_name = [key for key in old if key in new and _same(evidence, (key, old[key]), (key, new[key]))]
    yield from ((key, key) for key in same_name)
    free = [key for key in new if key not in same_name]
    for key, test in old.items():
        twin = (
            None
            if key in same_name
            else next((name for name in free if _same(evidence, (key, test), (name, new[name]))), None)
        )
        if twin is not None:
            free.remove(twin)
            yield key, twin


def _same(evidence: Evidence, one: tuple[Key, python.Definition], two: tuple[Key, python.Definition]) -> bool:
    """Tell whether two tests differ only in names and place, every imported name meaning what it meant."""
    (old_key, old), (new_key, new) = one, two
    if renamed(old.node) != renamed(new.node):
        return False
    trees = [
        python.parsed(evidence.read(commit, f"{evidence.prefix}{key[0]}"))
        for commit, key in (
            (evidence.base, old_key),
            (evidence.head, new_key),
        )
    ]
    meant, means = (python.resolved(tree) if tree else {} for tree in trees)
    for before, after in zip(free_names(old.node), free_names(new.node), strict=False):
        stood_for, stands_for = meant.get(before), means.get(after)
        if stood_for and stood_for != stands_for and (stands_for is None or not _gone(evidence, stood_for)):
            return False
    return True


def _gone(evidence: Evidence, full: str) -> bool:
    """Tell whether a thing of the project is no longer where it was: then another name for it is a renaming."""
    module, _, name = full.partition(":")
    now, then = (_module(evidence, commit, module.lstrip(".")) for commit in (evidence.head, evidence.base))
    if now is None:
        return then is not None
    return bool(name) and name not in _bound(now)


def _module(evidence: Evidence, commit: str, module: str) -> ast.Module | None:
    texts = (evidence.read(commit, f"{evidence.prefix}{path}") for path in module_files(module))
    return next((tree for text in texts if (tree := python.parsed(text)) is not None), None)


def _bound(tree: ast.Module) -> set[str]:
    names = set(python.resolved(tree))
    for node in tree.body:
        if isinstance(node, python.Function | ast.ClassDef):
            names.add(node.name)
        names |= {
            item.id
            for item in ast.walk(node)
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        }
    return names


def _touched_helpers(evidence: Evidence) -> frozenset[str]:
    """Return the names of helpers, fixtures and constants of the tests that were changed or taken away."""
    names: set[str] = set()
    for _, *texts in python_tests(evidence):
        before, after = map(python.helpers, texts)
        names |= {
            name
            for name, node in before.items()
            if name not in after or python.shape(after[name]) != python.shape(node)
        }
        names |= {name for name in after if name not in before and _takes_the_place(name)}
    return frozenset(names)


def _takes_the_place(name: str) -> bool:
    """Tell whether a new helper hides something that tests already use."""
    return name.startswith("assert") or name in python.BUILTINS or name in ("raises", "approx", "pytest")


def _touched_data(evidence: Evidence) -> frozenset[str]:
    """Return the names of data files of the tests that were changed."""
    return frozenset(
        PurePosixPath(change.path).name
        for change in evidence.changes
        if change.before and not change.path.endswith(".py") and is_test(evidence, change.path)
    )


def _untouched(
    evidence: Evidence, measured: Measured, touched: frozenset[str], data: frozenset[str]
) -> Iterator[tuple[Key, python.Definition]]:
    """Yield tests of files that were not changed, which lean on helpers or data that were."""
    if not touched and not data:
        return
    changed = {inside(evidence, change.path) for change in evidence.changes}
    for file in sorted({result.file for result in measured.before.results.values()} - changed):
        reads = _reads(evidence, file, data)
        for test in python.tests_in(evidence.read(evidence.head, f"{evidence.prefix}{file}")):
            if reads or dataflow.mentions(test.node, touched):
                yield (file, test.name), test


def _reads(evidence: Evidence, file: str, data: frozenset[str]) -> bool:
    """Tell whether a test file names one of these data files."""
    text = evidence.read(evidence.head, f"{evidence.prefix}{file}") or ""
    return any(name in text for name in data)
