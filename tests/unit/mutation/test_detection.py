"""Proof that a test notices broken code comes from broken code, and from nothing else."""

from dataclasses import replace

from gates_support import HEAD, Answer, Files, Runner, drive, evidence, failing, result, suite
from redgreenrefactor.model.codec import written
from redgreenrefactor.model.evidence import UNANSWERED, CollectError, Kind, Reach, SuiteRun, Trial
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.mutation.detection import (
    MOST,
    Mutant,
    Noticed,
    Proof,
    belongs,
    blind_comparison,
    holds,
    mutants_in,
    noticed_by,
    proof,
    seen_in,
    spread,
)
from redgreenrefactor.mutation.mutants import Mutation

RED = PhaseName.RED
TEST = "test_thing.py::test_it"
CODE = "def double(x):\n    return 2 * x\n"


def proved(test: str, code: str = CODE, *, traced: bool = True, **more: str) -> Proof:
    files: Files = {"thing.py": code, "test_thing.py": test, **{f"{k}.py": v for k, v in more.items()}}
    runner = Runner({HEAD: files})

    def answer(trial: Trial) -> SuiteRun:
        run = runner.answer(trial)
        return run if traced else replace(run, executed={})

    return drive(proof(evidence(RED, files, files), [TEST], "test_thing.py"), answer)[0]


IMPORT = "from thing import double\n\n\n"


def test_a_test_that_fails_on_broken_code_is_proved() -> None:
    found = proved(f"{IMPORT}def test_it():\n    assert double(2) == 4\n")
    assert found.noticed
    assert written(found)["mutants"]["noticed"] > 0
    assert written(found)["mutants"]["examples"][0].startswith("thing.py:2: ")


def test_a_test_that_passes_on_broken_code_is_not_proved() -> None:
    found = proved(f"{IMPORT}def test_it():\n    assert callable(double) == True\n")
    assert not found.noticed
    assert "noticed none" in found.why


def test_where_no_line_was_seen_everything_the_test_imports_is_broken() -> None:
    assert proved(f"{IMPORT}def test_it():\n    assert double(2) == 4\n", traced=False).noticed
    other = "from more import triple\n\n\ndef test_it():\n    assert triple(2) == 6\n"
    assert proved(other, "A = None\n", traced=False, more="def triple(x):\n    return 3 * x\n").noticed


def test_a_test_of_no_code_at_all_is_not_proved() -> None:
    found = proved("def test_it():\n    assert 1 == 1\n", "import os\n", traced=False)
    assert not found.noticed
    assert found.why == "tests no code of the project"


def test_code_that_is_generated_is_proved_by_leaving_out_what_generates_it() -> None:
    code = "from dataclasses import dataclass\n\n\n@dataclass\nclass Money:\n    n: int\n"
    test = "from thing import Money\n\n\ndef test_it():\n    assert Money(5) == Money(5)\n"
    found = proved(test, code)
    assert found.noticed
    assert "thing.py:4: @dataclass is left out" in written(found)["mutants"]["examples"]


def test_without_a_case_only_imports_are_known() -> None:
    files: Files = {"thing.py": CODE, "test_thing.py": f"{IMPORT}def test_it():\n    assert double(2) == 4\n"}
    runner = Runner({HEAD: files})
    given = evidence(RED, files, files, case=None)

    def answer(trial: Trial) -> SuiteRun:
        return replace(runner.answer(trial), executed={})

    assert drive(proof(given, [TEST], "test_thing.py"), answer)[0].noticed


# --- pieces


def test_a_run_holds_when_every_named_test_ran_and_passed() -> None:
    one, two = "a.py::test_x[1]", "a.py::test_x[2]"
    assert holds(suite(result(one), result(two)), ["a.py::test_x"])
    assert holds(suite(result(one), failing("a.py::test_y")), ["a.py::test_x"])
    assert not holds(suite(result(one), failing(two)), ["a.py::test_x"])
    assert not holds(suite(), ["a.py::test_x"])
    assert not holds(suite(result(one), finished=False), [one])
    assert not holds(suite(result(one), errors=(CollectError("a.py", "x"),)), [one])


def test_a_test_belongs_to_its_name_and_to_no_longer_one() -> None:
    assert belongs("a.py::test_x[1]", "a.py::test_x")
    assert belongs("a.py::test_x", "a.py::test_x")
    assert not belongs("a.py::test_xy", "a.py::test_x")


def items(count: int) -> list[Mutant]:
    return [Mutant("thing.py", CODE, Mutation(2, str(number), 0, 0)) for number in range(count)]


def test_few_items_are_all_taken_and_many_evenly_with_their_ends() -> None:
    assert spread(items(3), 5) == items(3)
    chosen = [int(item.mutation.what) for item in spread(items(100), MOST)]
    assert len(chosen) == MOST
    assert {0, 99} <= set(chosen)
    assert len(set(chosen)) == MOST


def test_mutants_are_made_of_code_only() -> None:
    files = {"thing.py": CODE, "test_thing.py": "A = 1\n", "notes.txt": "1\n"}
    every = dict.fromkeys([*files, "gone.py"], frozenset(range(1, 9)))
    assert {item.path for item in mutants_in(evidence(RED, files, files), every)} == {"thing.py"}


def test_a_project_in_a_subfolder_is_broken_there() -> None:
    given = evidence(RED, {}, {"thing.py": CODE}, prefix="app/")
    mutants = mutants_in(given, {"thing.py": frozenset({2})})
    assert {item.overlay[0][0] for item in mutants} == {"app/thing.py"}


def test_asking_stops_when_enough_is_known_or_time_is_up() -> None:
    mutants = mutants_in(evidence(RED, {}, {"thing.py": CODE}), {"thing.py": frozenset({2})})
    assert len(mutants) > 2

    def mutated_fails(kind: Kind) -> Answer:
        return lambda trial: suite(failing(TEST, kind) if trial.overlay else result(TEST))

    asking = noticed_by(Trial(HEAD, tests=(TEST,)), mutants, enough=1, least=2)
    found, asked = drive(asking, mutated_fails(Kind.ASSERTION))
    assert (len(found.by_failing), len(found.by_assertion), found.tried) == (2, 2, 2)
    most = len(mutants)
    assert [(trial.number, trial.of) for trial in asked] == [(0, 0), (1, most), (2, most)]
    asking = noticed_by(Trial(HEAD, tests=(TEST,)), mutants, enough=1, least=2, by_assertion=True)
    found, _ = drive(asking, mutated_fails(Kind.EXCEPTION))
    assert (len(found.by_failing), found.by_assertion, found.tried) == (len(mutants), (), len(mutants))
    in_time = suite(result(TEST))
    found, _ = drive(
        noticed_by(Trial(HEAD, tests=(TEST,)), mutants, enough=1, least=2), lambda _trial: UNANSWERED
    )
    assert found == Noticed(0)
    asking = noticed_by(Trial(HEAD, tests=(TEST,)), mutants, enough=1, least=2)
    found, _ = drive(asking, lambda trial: UNANSWERED if trial.overlay else in_time)
    assert found == Noticed(0)


KEEPING = """
class Box:
    def __init__(self, parts):
        self.parts = parts

    def best(self):
        return max(self.parts)
"""


def test_what_an_object_keeps_can_be_a_little_off() -> None:
    test = "from thing import Box\n\n\ndef test_it():\n    box = Box([1, 2])\n    box.best()\n    assert box.parts == [1, 2]\n"
    assert written(proved(test, KEEPING))["mutants"]["noticed"] > 0


COUNTING = """
def total(parts):
    result = 0
    for part in parts:
        result += part.size
    return result
"""
GIVEN = "from thing import total\n\n\nclass Part:\n    size = 1\n\n\ndef test_it():\n    parts = [Part()]\n"


def test_an_argument_that_is_left_as_it_was_is_proved_by_bent_expectations() -> None:
    crashing = COUNTING.replace("return result", "return str(result).upper() and check(result)")
    crashing += (
        "\n\ndef check(value):\n    if value != 1:\n        raise ValueError(value)\n    return value\n"
    )
    found = proved(f"{GIVEN}    total(parts)\n    assert len(parts) == 1\n", crashing)
    assert written(found)["wrongExpectation"] == "failed as it should"


BACKWARDS = "def backwards(words):\n    return list(reversed(words))\n"
WORDS = "from thing import backwards\n\n\ndef test_it():\n    words = ['a', 'b']\n"


def test_a_list_that_stays_as_it_was_and_another_one_than_it_are_proved() -> None:
    found = proved(f"{WORDS}    backwards(words)\n    assert words == ['a', 'b']\n", BACKWARDS)
    assert written(found)["wrongExpectation"] == "failed as it should"
    found = proved(f"{WORDS}    assert backwards(words) is not words\n", BACKWARDS)
    assert written(found)["mutants"]["noticed"] > 0


def test_a_list_that_the_code_never_saw_proves_nothing() -> None:
    for idle in (
        "backwards(words)\n    others = ['c']\n    assert others == ['c']",
        "size = 2\n    backwards([size])\n    assert size == 2",
        "assert words == ['a', 'b']",
    ):
        assert not proved(f"{WORDS}    {idle}\n", BACKWARDS).noticed, idle


def test_what_does_not_come_from_the_code_proves_nothing() -> None:
    crashing = COUNTING + "\n\ndef check(value):\n    if value != 1:\n        raise ValueError(value)\n"
    crashing = crashing.replace("    return result", "    check(result)\n    return result")
    for idle in (
        "assert len([1]) == 1",
        "x = 1\n    assert x == 1",
        "assert total(parts) == total([Part()])",
    ):
        found = proved(f"{GIVEN}    total(parts)\n    {idle}\n", crashing)
        assert not found.noticed, idle


# --- comparisons that hold for every value


def blind(**files: str) -> tuple[str | None, list[Trial]]:
    there = {f"{name}.py": text for name, text in files.items()}
    runner = Runner({HEAD: there})
    found, asked = drive(
        blind_comparison(evidence(RED, there, there), [TEST], ["test_thing.py"]), runner.answer
    )
    return found and found.message, asked


ANYTHING = "class Anything:\n    def __eq__(self, other):\n        return True\n\n\ndef double(x):\n    return Anything()\n"


def test_what_equals_everything_is_seen_wherever_the_tests_compare_it() -> None:
    test = f"{IMPORT}def test_it():\n    assert double(2) == 4\n"
    assert blind(thing=ANYTHING, test_thing=test)[0] == "line 5: double(2) == 4 holds for another value, too"
    assert blind(thing=CODE, test_thing=test)[0] is None
    helped = (
        "from test_help import check\nfrom thing import double\n\n\ndef test_it():\n    check(double(2), 4)\n"
    )
    helper = "def check(one, other):\n    assert one == other\n"
    found, asked = blind(thing=ANYTHING, test_thing=helped, test_help=helper, conftest="import test_help\n")
    assert found == "line 2: one == other holds for another value, too"
    assert [path for path, _ in asked[0].overlay] == ["test_help.py"]


def test_where_nothing_is_compared_nothing_is_run() -> None:
    assert blind(thing=CODE, test_thing="def test_it():\n    assert 1\n") == (None, [])
    files = {"test_thing.py": "def test_it():\n    assert 1 == 1\n"}
    asking = blind_comparison(evidence(RED, files, files, case=None), [TEST], ["test_thing.py"])
    assert drive(asking, lambda _trial: UNANSWERED)[0] is None


# --- mistakes in what is done at import


RATES = """
LIMIT = 9
RATES = {
    "a": 1,
}


class Rate:
    kind = "a"

    def value(self, kind=kind):
        return RATES[kind]
"""


def test_tables_and_defaults_that_were_used_count_as_seen() -> None:
    files = {
        "thing.py": RATES,
        "test_thing.py": "from thing import Rate\n\n\ndef test_it():\n    Rate().value()\n",
    }
    given = evidence(RED, files, files)
    executed = {"thing.py": frozenset({12}), "test_thing.py": frozenset({5}), "gone.py": frozenset({1})}
    reach = Reach(frozenset({"thing.py", "test_thing.py", "data.csv"}))
    seen = seen_in(given, SuiteRun(executed=executed, reach=reach))
    assert seen == {"thing.py": frozenset({3, 4, 5, 8, 9, 11, 12}), "gone.py": frozenset({1})}
    asked = "from thing import LIMIT\n\n\ndef test_it():\n    assert LIMIT == 9\n"
    given = evidence(RED, files, {**files, "test_thing.py": asked})
    seen = seen_in(given, SuiteRun(executed={"test_thing.py": frozenset({5})}, reach=reach))
    assert seen == {"thing.py": frozenset({2})}


# --- trees that are compared by a method of the test's own

TREE = """
class Node:
    def __init__(self, data):
        self.data = data


class Tree:
    def __init__(self, items):
        self.root = Node(items[0])

    def top(self):
        return self.root
"""
SAME = """
from thing import Node, Tree


class TestTree:
    def same(self, one, two):
        try:
            if one.data != two.data:
                raise AssertionError
        except AssertionError:
            raise AssertionError(f"{one} != {two}")

    def test_it(self):
        self.same(Tree(["4"]).top(), Node("4"))
"""


def test_what_is_compared_by_a_method_of_the_tests_own_is_proved_by_results_that_are_like_nothing() -> None:
    files = {"thing.py": TREE, "test_thing.py": SAME}
    asking = proof(evidence(RED, files, files), ["test_thing.py::TestTree::test_it"], "test_thing.py")
    found, _ = drive(asking, Runner({HEAD: files}).answer)
    assert found.noticed, found.why


def test_a_mutant_that_runs_on_is_given_the_time_the_test_takes_and_is_noticed() -> None:
    mutants = mutants_in(evidence(RED, {}, {"thing.py": CODE}), {"thing.py": frozenset({2})})[:1]
    limits: list[float | None] = []

    def endless(trial: Trial) -> SuiteRun:
        limits.append(trial.limit)
        return SuiteRun(finished=False, timed_out=True) if trial.overlay else suite(result(TEST), seconds=0.5)

    found, asked = drive(noticed_by(Trial(HEAD, tests=(TEST,)), mutants, enough=1, least=1), endless)
    assert (found.tried, len(found.by_failing)) == (1, 1)
    assert limits == [None, 5.5]
    assert {trial.seed for trial in asked} == {1}


def test_tests_that_fail_without_a_mutant_tell_nothing() -> None:
    mutants = mutants_in(evidence(RED, {}, {"thing.py": CODE}), {"thing.py": frozenset({2})})
    found, _ = drive(
        noticed_by(Trial(HEAD, tests=(TEST,)), mutants, enough=1, least=1),
        lambda _trial: suite(failing(TEST)),
    )
    assert found == Noticed(0)
