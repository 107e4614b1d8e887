"""Proof that a test notices broken code comes from broken code, and from nothing else."""

from dataclasses import replace

from gates_support import HEAD, Files, Runner, drive, evidence, failing, result, suite
from redgreenrefactor.model.codec import written
from redgreenrefactor.model.evidence import UNANSWERED, CollectError, Kind, SuiteRun, Trial
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.mutation.detection import (
    MOST,
    Mutant,
    Noticed,
    Proof,
    belongs,
    holds,
    ignores_expectations,
    mutants_in,
    noticed_by,
    proof,
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

    return drive(proof(evidence(RED, files, files), [TEST], "test_thing.py", "test_it"), answer)[0]


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


def test_code_without_a_place_for_mistakes_is_proved_by_bending() -> None:
    code = "from dataclasses import dataclass\n\n\n@dataclass\nclass Money:\n    n: int\n"
    test = "from thing import Money\n\n\ndef test_it():\n    assert Money(5) == Money(5)\n"
    found = proved(test, code)
    assert found.noticed
    assert written(found)["perturbation"]


def test_without_a_case_only_imports_are_known() -> None:
    files: Files = {"thing.py": CODE, "test_thing.py": f"{IMPORT}def test_it():\n    assert double(2) == 4\n"}
    runner = Runner({HEAD: files})
    given = evidence(RED, files, files, case=None)

    def answer(trial: Trial) -> SuiteRun:
        return replace(runner.answer(trial), executed={})

    assert drive(proof(given, [TEST], "test_thing.py", "test_it"), answer)[0].noticed


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
    fails = suite(failing(TEST))
    asking = noticed_by(HEAD, [TEST], mutants, enough=1, least=2)
    found, _ = drive(asking, lambda _trial: fails)
    assert (len(found.by_failing), len(found.by_assertion), found.tried) == (2, 2, 2)
    asking = noticed_by(HEAD, [TEST], mutants, enough=1, least=2, by_assertion=True)
    found, _ = drive(asking, lambda _trial: suite(failing(TEST, Kind.EXCEPTION)))
    assert (len(found.by_failing), found.by_assertion, found.tried) == (len(mutants), (), len(mutants))
    found, _ = drive(noticed_by(HEAD, [TEST], mutants, enough=1, least=2), lambda _trial: UNANSWERED)
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
    assert written(found)["perturbation"] == "failed as it should"


BACKWARDS = "def backwards(words):\n    return list(reversed(words))\n"
WORDS = "from thing import backwards\n\n\ndef test_it():\n    words = ['a', 'b']\n"


def test_a_list_that_stays_as_it_was_and_another_one_than_it_are_proved() -> None:
    found = proved(f"{WORDS}    backwards(words)\n    assert words == ['a', 'b']\n", BACKWARDS)
    assert written(found)["perturbation"] == "failed as it should"
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


def test_bending_needs_an_equality() -> None:
    files = {"test_thing.py": "def test_it():\n    assert 1\n"}
    none, asked = drive(
        ignores_expectations(evidence(RED, files, files), [TEST], "test_thing.py", "test_it"),
        lambda _trial: suite(),
    )
    assert none is None
    assert asked == []
