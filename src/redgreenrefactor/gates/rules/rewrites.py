"""Which tests a refactoring has rewritten: those that are not, one for one, the old ones under other names."""

import ast
from collections.abc import Iterator, Mapping
from functools import partial

from redgreenrefactor.gates.rules.findings import python_tests
from redgreenrefactor.gates.rules.measurement import Measured
from redgreenrefactor.languages import python
from redgreenrefactor.languages.paths import inside, is_tests_own
from redgreenrefactor.languages.references import Project, Reference, Said, defined
from redgreenrefactor.model.evidence import Evidence, SuiteRun, TestId, TestKey, TestResult
from redgreenrefactor.model.values import frozen

Tests = Mapping[TestKey, python.Definition]


@frozen
class Rewritten:
    """What became of the tests that were there: those that need proof, as they were and as they are."""

    old: Tests
    new: Tests
    changed: frozenset[TestKey]  # those of the old whose own text is different, or gone
    moved: Mapping[
        TestKey, TestKey
    ]  # those that are the same under another name or in another place: new, old

    def twin(self, key: TestKey) -> TestKey:
        """Return what an old test that was not rewritten is called now."""
        return next((new for new, old in self.moved.items() if old == key), key)

    def kept(self, measured: Measured) -> dict[TestId, TestId]:
        """Return the tests that say what they said, and pass as they did: what each was called, and is."""
        was = {(r.key, _parameters(r)): r.id for r in measured.before.results.values() if r.passed}
        now = [r for r in measured.after.results.values() if r.passed and r.key not in self.changed]
        here = {new: old for old, new in measured.twins.items() if old in measured.before.passed}
        moved = {r.id: was.get((self.moved[r.key], _parameters(r))) for r in now if r.key in self.moved}
        pairs = ((moved.get(r.id, here.get(r.id)), r.id) for r in now)
        return {old: new for old, new in pairs if old is not None}

    def results(self, run: SuiteRun, side: Tests) -> list[TestResult]:
        """Return what these tests did in a run."""
        return [result for result in run.results.values() if result.key in side]


ALL_KEPT = Rewritten({}, {}, frozenset(), {})


def _parameters(result: TestResult) -> str:
    return result.id.partition("[")[2]


def rewritten(evidence: Evidence) -> Rewritten:
    """Return the tests that do not say what they said, and those that say it with other helpers or fixtures."""
    sides = _Sides(evidence)
    old, new = dict(_tests(evidence, before=True)), dict(_tests(evidence, before=False))
    pairs = dict(_pairs(sides, old, new))
    leaning = {key: twin for key, twin in pairs.items() if sides.leans((key, old[key]), (twin, new[twin]))}
    changed = frozenset(key for key in old if key not in pairs)
    same = set(pairs.values()) - set(leaning.values())
    return Rewritten(
        {key: old[key] for key in (*changed, *leaning)},
        {key: new[key] for key in new if key not in same},
        changed,
        {twin: key for key, twin in pairs.items() if key != twin},
    )


def _tests(evidence: Evidence, *, before: bool) -> Iterator[tuple[TestKey, python.Definition]]:
    for change, *texts in python_tests(evidence):
        local = inside(evidence, change.path)
        if local:
            yield from (((local, test.name), test) for test in python.tests_in(texts[0 if before else 1]))


def _pairs(sides: "_Sides", old: Tests, new: Tests) -> Iterator[tuple[TestKey, TestKey]]:
    """Yield each old test with the new one it has become; one new test stands for one old one only."""
    same_name = [key for key in old if key in new and sides.same((key, old[key]), (key, new[key]))]
    yield from ((key, key) for key in same_name)
    free = [key for key in new if key not in same_name]
    for key, test in old.items():
        others = (name for name in free if key not in same_name)
        twin = next((name for name in others if sides.same((key, test), (name, new[name]))), None)
        if twin is not None:
            free.remove(twin)
            yield key, twin


Test = tuple[TestKey, python.Definition]


class _Sides:
    """The project before and after a turn: whether a test has only moved, or been renamed with what it refers to."""

    def __init__(self, evidence: Evidence) -> None:
        self.before, self.after = (
            Project(partial(evidence.text, commit=commit), partial(is_tests_own, evidence))
            for commit in (evidence.base, evidence.head)
        )
        changed = [
            local for c in evidence.changes if (local := inside(evidence, c.path)) and local.endswith(".py")
        ]
        was, now = (
            {name for file in changed if (tree := side.tree(file)) for name in defined(tree)}
            for side in (self.before, self.after)
        )
        self.gone, self.fresh = was - now, now - was
        old, new = (
            {
                item: text
                for file in changed
                for item, text in python.methods(side.tree(file) or ast.Pass()).items()
            }
            for side in (self.before, self.after)
        )
        self.renamed = set(_renamed(old, new))

    def same(self, one: Test, two: Test) -> bool:
        """Tell whether two tests say the same of the same things, wherever these are now and whatever they are called."""
        old, new = self._said(one, two)
        if old.text != new.text or len(old.references) != len(new.references):
            return False
        pairs = list(zip(old.references, new.references, strict=True))
        names = {(was.kind, was.name, now.name) for was, now in pairs if was.kind != "helper"}
        one_for_one = (
            len(names)
            == len({(kind, name) for kind, name, _ in names})
            == len({(kind, name) for kind, _, name in names})
        )
        return one_for_one and all(self._is(was, now) for was, now in pairs)

    def leans(self, one: Test, two: Test) -> bool:
        """Tell whether two tests that say the same say it with other helpers."""
        old, new = ([item.meaning for item in said.references] for said in self._said(one, two))
        return old != new

    def _said(self, one: Test, two: Test) -> tuple[Said, Said]:
        return self.before.said(one[0][0], one[1]), self.after.said(two[0][0], two[1])

    def _is(self, was: Reference, now: Reference) -> bool:
        """Tell whether two names stand for the same thing, or for one that was moved or renamed."""
        if was.kind != now.kind or was.kind == "helper":
            return was.kind == now.kind and (was.name == now.name or was.meaning == now.meaning)
        if was.name == now.name:
            return True
        if was.kind == "attribute":
            afresh = was.name in self.gone and now.name in self.fresh
            return afresh or (was.name, now.name) in self.renamed
        there = self.after.origin(was.name)
        if there is not None:
            return there == self.after.origin(now.name)
        moved = self.before.origin(was.name) is not None and self.before.origin(now.name) is None
        return moved and self.after.origin(now.name) is not None


def _renamed(
    old: Mapping[tuple[str, str], str], new: Mapping[tuple[str, str], str]
) -> Iterator[tuple[str, str]]:
    """Yield the names of methods that no class has any more, with those under which their class does the same now."""
    had, has = ({name for _, name in side} for side in (old, new))
    for (owner, was), does in old.items():
        for (holder, now), text in new.items():
            if (owner, does) == (holder, text) and was not in has and now not in had:
                yield was, now
