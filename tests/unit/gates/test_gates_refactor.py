"""REFACTOR keeps the behaviour, and the tests as strong as they were; rewriting them honestly is welcome."""

from dataclasses import replace
from typing import Any

import pytest

from gates_support import (
    DIED,
    Files,
    Played,
    by_commit,
    change,
    changes,
    evidence,
    failing,
    judge,
    play,
    result,
    suite,
)
from notes import with_keys
from redgreenrefactor.gates.rules.scope import lost_names
from redgreenrefactor.model.evidence import Change, File, Missing, Reach, Rules, SuiteRun, Trial
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.verdict import FindingType, Ruling, Severity, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

REFACTOR = PhaseName.REFACTOR
CODE = "def half(x):\n    return x / 2\n\n\ndef double(x):\n    return 2 * x\n"
HALVES = "def test_halves():\n    assert half(4) == 2\n"
DOUBLES = "def test_doubles():\n    assert double(2) == 4\n"
EXAMPLES = "assert double(4) == 8", "assert double(2) > 3"
HEAD = "from thing import double, half\n\n\n"
BASE: Files = {"thing.py": CODE, "test_thing.py": f"{HEAD}{HALVES}\n\n{DOUBLES}"}


def rewritten(tests: str | None = None, before: Files = BASE, *, bend: Any = None, **more: Any) -> Played:
    """Judge a turn that leaves the test file so, and other files as they are named."""
    files = {path.replace("__", "/"): text for path, text in more.pop("files", {}).items()}
    after = {**before, **files}
    if tests is not None:
        after["test_thing.py"] = tests
    return play(REFACTOR, before, {path: text for path, text in after.items() if text}, bend=bend, **more)


def accepted(played: Played) -> bool:
    return played.verdict.ruling is Ruling.ACCEPTED


# --- the code


@pytest.mark.parametrize(
    ("feature", "code", "told"),
    [
        ("Numbers: `twice.double(x)` doubles.", CODE.replace("double", "twofold"), ["double"]),
        ("Numbers: double them.", CODE.replace("double", "twofold"), []),
        ("Numbers: `double(x)`.", CODE.replace("double", "twofold") + "\n\ndouble = twofold\n", []),
        ("Numbers: `double(x)`.", "import doubles\nfrom halves import half\ndouble = doubles.two\n", []),
        ("Numbers: `half(x)`.", CODE.replace("double", "twofold"), []),
    ],
)
def test_a_name_that_the_feature_promises_and_that_goes_is_told(
    feature: str, code: str, told: list[str]
) -> None:
    given = evidence(
        REFACTOR, BASE, {**BASE, "thing.py": code}, handoff=Handoff(REFACTOR, REFACTOR, feature=feature)
    )
    found = list(lost_names(given))
    assert [item.severity for item in found] == [Severity.WARNING] * len(told)
    assert [item.message.split("`")[1] for item in found] == told


def test_a_name_that_only_a_function_knew_may_go() -> None:
    inner = {"thing.py": "class Codes:\n    def read(self):\n        codes = table()\n        return codes\n"}
    outer = {"thing.py": "class Codes:\n    def read(self):\n        return table()\n"}
    feature = Handoff(REFACTOR, REFACTOR, feature="Read them from `codes.json`.")
    assert not list(lost_names(evidence(REFACTOR, inner, outer, handoff=feature)))


def test_a_name_that_the_case_promises_and_that_goes_is_only_a_warning() -> None:
    other = {"thing.py": CODE.replace("double", "twofold")}
    tests = BASE["test_thing.py"].replace("double(", "twofold(").replace("double,", "twofold,")
    case = Case("`double(2)` is 4", "test_thing.py", "thing.py")
    played = rewritten(tests, files=other, case=case)
    assert [item.type for item in played.warnings] == [FindingType.SCOPE_VIOLATION]


def test_no_change_is_accepted_without_a_run() -> None:
    played = play(REFACTOR, BASE, BASE)
    assert accepted(played)
    assert played.asked == []
    assert played.verdict.test_result is TestOutcome.PASS


def test_better_code_that_does_the_same_is_accepted() -> None:
    played = rewritten(files={"thing.py": CODE.replace("2 * x", "x + x")})
    assert accepted(played), played.told


def test_code_that_does_something_else_is_a_failure() -> None:
    assert rewritten(files={"thing.py": CODE.replace("2 * x", "3 * x")}).types == [FindingType.TEST_FAILURE]
    played = rewritten(files={"thing.py": CODE.replace("2 * x", "3 * x")}, opening=BASE)
    assert played.types == [FindingType.LEGACY_BROKEN]
    assert played.verdict.test_result is TestOutcome.FAIL


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pytest.ini", FindingType.TEST_TAMPERING),
        ("test-list.md", FindingType.SCOPE_VIOLATION),
    ],
)
def test_what_is_nobodys_is_left_alone(path: str, expected: FindingType) -> None:
    assert rewritten(files={path: "a\n"}).types == [expected]


def test_a_hook_is_tampering() -> None:
    assert rewritten(files={"conftest.py": "def pytest_configure():\n    pass\n"}).types == [
        FindingType.TEST_TAMPERING
    ]


# --- tests that say the same


@pytest.mark.parametrize(
    "tests",
    [
        f"{HEAD}# first of all\n{HALVES}\n\n{DOUBLES}",
        f"{HEAD}{DOUBLES}\n\n{HALVES}",
        f"{HEAD}{HALVES}\n\n{DOUBLES.replace('test_doubles', 'test_twice_as_much')}",
        f"{HEAD}{HALVES}\n\ndef test_doubles() -> None:\n    assert double(2) == 4\n",
        f"{HEAD}class TestThing:\n    def test_halves(self):\n        assert half(4) == 2\n\n    def test_doubles(self):\n        assert double(2) == 4\n",
        f"import thing\n{HEAD}{HALVES}\n\n{DOUBLES}\n\ndef test_more():\n    assert thing.half(2) == 1\n",
    ],
)
@pytest.mark.parametrize("legacy", [False, True])
def test_tests_that_only_moved_or_were_renamed_need_no_proof(tests: str, legacy: bool) -> None:
    played = rewritten(tests, opening=BASE if legacy else None)
    assert accepted(played), played.told
    assert not [trial for trial in played.asked if trial.probe]


def test_tests_may_move_to_another_file() -> None:
    played = rewritten(f"{HEAD}{HALVES}", files={"test_more.py": f"{HEAD}{DOUBLES}"}, opening=BASE)
    assert accepted(played), played.told


def test_a_renamed_function_may_be_renamed_in_its_tests() -> None:
    played = rewritten(
        BASE["test_thing.py"].replace("double(", "twice(").replace("import double", "import twice"),
        files={"thing.py": CODE.replace("def double", "def twice")},
        opening=BASE,
    )
    assert accepted(played), played.told


def test_a_moved_module_may_be_imported_from_its_new_place() -> None:
    after = {"stuff.py": CODE, "test_thing.py": BASE["test_thing.py"].replace("thing import", "stuff import")}
    played = play(REFACTOR, BASE, after, opening=BASE)
    assert accepted(played), played.told


# --- tests that say it otherwise


@pytest.mark.parametrize(
    "tests",
    [
        f'import pytest\n{HEAD}@pytest.mark.parametrize("x, y", [(4, 2)])\ndef test_halves(x, y):\n    assert half(x) == y\n\n\n{DOUBLES}',
        f"{HEAD}def test_both():\n    assert half(4) == 2\n    assert double(2) == 4\n",
        f"{HEAD}{HALVES}\n\ndef twice(x, y):\n    assert double(x) == y\n\n\ndef test_doubles():\n    twice(2, 4)\n",
        f"{HEAD}{HALVES}\n\ndef test_doubles():\n    result = double(2)\n\n    assert result == 4\n",
        f"{HEAD}{HALVES}\n\ndef test_doubles():\n    assert double(2) == 4\n    assert double(0) == 0\n",
    ],
)
def test_tests_that_notice_as_much_are_accepted(tests: str) -> None:
    played = rewritten(tests)
    assert accepted(played), played.told


@pytest.mark.parametrize(
    "weak",
    [
        "assert double(2)",
        "assert double(2) > 0",
        "assert double(2) in (3, 4, 5)",
        "assert double(2) is not None",
        "assert isinstance(double(2), int)",
        "double(2)",
        "return\n    assert double(2) == 4",
        "assert double(2) == 4 or True",
        "pass",
        "from unittest.mock import ANY\n    assert double(2) == ANY",
    ],
)
def test_a_weaker_test_is_tampering(weak: str) -> None:
    played = rewritten(f"{HEAD}{HALVES}\n\ndef test_doubles():\n    {weak}\n")
    assert played.types == [FindingType.TEST_TAMPERING], played.told


def test_an_example_less_is_tampering_where_one_value_would_do_for_the_rest() -> None:
    less = f"{HEAD}{HALVES}\n\n{DOUBLES}"
    another, again = ({**BASE, "test_thing.py": f"{less}    {more}\n"} for more in EXAMPLES)
    assert rewritten(less, another).types == [FindingType.TEST_TAMPERING]
    assert accepted(rewritten(less, again))


def test_a_lost_test_is_tampering() -> None:
    assert rewritten(f"{HEAD}{HALVES}").types == [FindingType.TEST_TAMPERING]
    assert rewritten(f"{HEAD}{HALVES}", opening=BASE).types == [FindingType.TEST_TAMPERING]


def test_a_lost_test_is_not_excused_by_another_one_of_the_same_shape() -> None:
    zero = "def test_half_of_nothing():\n    assert half(0) == 0\n\n\ndef test_double_of_nothing():\n    assert double(0) == 0\n"
    before = {**BASE, "test_thing.py": HEAD + zero}
    after = HEAD + zero.partition("\n\n\ndef test_double")[0] + "\n"
    assert rewritten(after, before).types == [FindingType.TEST_TAMPERING]


def test_a_lost_test_is_not_excused_by_an_empty_one() -> None:
    played = rewritten(f"{HEAD}{HALVES}\n\ndef test_nothing():\n    assert half(4) == 2\n")
    assert played.types == [FindingType.TEST_TAMPERING], played.told


def test_a_test_that_calls_a_double_of_its_own_is_tampering() -> None:
    tests = f"{HEAD}from doubles import four\n\n\n{HALVES}\n\ndef test_doubles():\n    assert four(2) == 4\n"
    played = rewritten(tests, files={"doubles.py": "def four(x):\n    return 4\n"})
    assert played.types == [FindingType.TEST_TAMPERING], played.told


def test_a_skipped_test_is_tampering() -> None:
    tests = f"import pytest\n{HEAD}{HALVES}\n\n@pytest.mark.skip\n{DOUBLES}"
    assert rewritten(tests).types == [FindingType.TEST_TAMPERING]


def test_a_legacy_test_that_is_rewritten_is_tampering() -> None:
    tests = f"{HEAD}{HALVES}\n\ndef test_doubles():\n    result = double(2)\n    assert result == 4\n"
    assert rewritten(tests, opening=BASE).types == [FindingType.TEST_TAMPERING]


def test_a_legacy_test_may_be_rewritten_where_it_proves_as_strong_or_an_earlier_run_wrote_it() -> None:
    otherwise = f"{HEAD}{HALVES}\n\ndef test_doubles():\n    result = double(2)\n    assert result == 4\n"
    weaker = otherwise.replace("== 4", "> 0")
    merged = f"{HEAD}def test_both():\n    assert half(4) == 2\n    assert double(2) == 4\n"
    ours = frozenset({"test_thing.py::test_doubles", "test_thing.py::test_halves"})
    allowed: dict[str, Any]
    for allowed in ({"rules": Rules(legacy_tests="prove")}, {"ours": ours}):
        assert accepted(rewritten(otherwise, opening=BASE, **allowed))
        assert accepted(rewritten(merged, opening=BASE, **allowed))
        assert rewritten(weaker, opening=BASE, **allowed).types == [FindingType.TEST_TAMPERING]
    gravest = rewritten(merged, opening=BASE).verdict.gravest
    assert gravest is not None
    assert gravest.type is FindingType.TEST_TAMPERING
    assert "with their bodies as they were" in str(gravest.hint)  # not that they may be merged
    other = frozenset({"test_thing.py::test_halves"})
    assert rewritten(otherwise, opening=BASE, ours=other).types == [FindingType.TEST_TAMPERING]


BOX = "class Box:\n    def __init__(self):\n        self.size = 4\n        self.limit = 4\n\n    def grow(self, by):\n        self.size += by\n"
BOXED = "from thing import Box\n\n\ndef test_grows():\n    box = Box()\n    box.grow(by=0)\n    assert box.size == 4\n"


def test_another_attribute_is_another_thing_unless_it_took_the_place_of_the_old_one() -> None:
    before = {"thing.py": BOX, "test_thing.py": BOXED}
    swapped = rewritten(BOXED.replace("box.size", "box.limit"), before, opening=before)
    assert swapped.types == [FindingType.TEST_TAMPERING]
    both = rewritten(BOXED.replace("box.size", "box.limit"), before)
    assert both.types == [FindingType.TEST_TAMPERING], both.told
    renamed = rewritten(
        BOXED.replace("box.size", "box.width").replace("by=", "amount="),
        before,
        files={"thing.py": BOX.replace("size", "width").replace("by", "amount")},
        opening=before,
    )
    assert accepted(renamed), renamed.told


STOCK = (
    "class Stock:\n    def low(self):\n        return [3]\n\n    def all(self):\n        return [3, 9]\n\n\n"
    "def told(stock):\n    low = stock.low()\n    return len(low)\n"
)
STOCKED = "from thing import Stock\n\n\ndef test_low():\n    assert Stock().low() == [3]\n"


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        (STOCK.replace("low(", "running_low("), True),  # a variable has the old name still
        (STOCK.replace("low(", "running_low(").replace("[3]", "[3][:]"), False),
        (
            STOCK.replace("low(", "running_low(") + "\n\nclass Sale:\n    def low(self):\n        return 1\n",
            False,
        ),
    ],
)
def test_a_method_that_does_the_same_under_another_name_was_renamed(code: str, kept: bool) -> None:
    before = {"thing.py": STOCK, "test_thing.py": STOCKED}
    played = rewritten(
        STOCKED.replace(".low(", ".running_low("), before, files={"thing.py": code}, opening=before
    )
    assert accepted(played) == kept, played.told


def test_two_things_do_not_become_one() -> None:
    code = {"thing.py": CODE, "test_thing.py": f"{HEAD}def test_it():\n    assert half(0) == double(0)\n"}
    tests = f"{HEAD.replace('double', 'twice')}def test_it():\n    assert half(0) == half(0)\n"
    files = {"thing.py": CODE.replace("def double", "def twice")}
    assert rewritten(tests, code, files=files, opening=code).types == [FindingType.TEST_TAMPERING]


def test_the_same_thing_may_be_imported_from_where_it_lies_now() -> None:
    there = {"stuff.py": CODE, "thing.py": "from stuff import double, half\n"}
    tests = BASE["test_thing.py"].replace("from thing", "from stuff")
    assert accepted(rewritten(tests, files=there, opening=BASE))
    there = {"stuff.py": CODE}
    assert rewritten(tests, files=there, opening=BASE).types == [FindingType.TEST_TAMPERING]


def test_a_helper_may_be_renamed_and_moved_but_not_exchanged() -> None:
    helped = f"{HEAD}def same(x, y):\n    assert x == y\n\n\ndef alike(x, y):\n    assert x\n\n\ndef test_doubles():\n    same(double(2), 4)\n"
    before = {**BASE, "test_thing.py": helped}
    moved = helped.replace("def same(x, y):\n    assert x == y\n\n\n", "from tests.checks import equal\n\n\n")
    checks = {"tests/checks.py": "def equal(one, two):\n    assert one == two\n"}
    assert accepted(rewritten(moved.replace("    same(", "    equal("), before, files=checks, opening=before))
    other = rewritten(helped.replace("    same(", "    alike("), before, opening=before)
    assert other.types == [FindingType.TEST_TAMPERING]


ROWS = f'import pytest\n{HEAD}@pytest.mark.parametrize("x", [1, 2, 3])\ndef test_doubles(x):\n    assert double(x) == 2 * x\n'


def test_a_lost_parameter_set_is_tampering_and_one_more_is_fine() -> None:
    before = {**BASE, "test_thing.py": ROWS}
    assert rewritten(ROWS.replace(", 3]", "]"), before).types == [FindingType.TEST_TAMPERING]
    assert accepted(rewritten(ROWS.replace("3]", "3, 4]"), before))


def test_a_lost_parameter_set_is_not_hidden_by_another_name() -> None:
    before = {**BASE, "test_thing.py": ROWS}
    lost = ROWS.replace(", 2, 3]", "]").replace("test_doubles", "test_twice")
    assert rewritten(lost, before).types == [FindingType.TEST_TAMPERING]


def test_parameter_sets_may_go_over_to_another_test_with_all_their_values() -> None:
    before = {**BASE, "test_thing.py": ROWS}
    fewer = ROWS.replace(", 2, 3]", "]")
    more = ROWS.removeprefix(f"import pytest\n{HEAD}").replace("test_doubles", "test_twice")
    assert accepted(rewritten(f"{fewer}\n\n{more.replace('1, 2, 3', '2, 3')}", before))
    played = rewritten(f"{fewer}\n\n{more.replace('1, 2, 3', '5, 6')}", before)
    assert "parameter sets are gone: test_thing.py::test_doubles[2]" in played.told


def test_a_shared_helper_that_no_longer_asserts_is_tampering() -> None:
    before = {
        "thing.py": CODE,
        "helpers_test.py": "def same(x, y):\n    assert x == y\n",
        "test_thing.py": f"{HEAD}from helpers_test import same\n\n\ndef test_doubles():\n    same(double(2), 4)\n",
    }
    weak = {**before, "helpers_test.py": "def same(x, y):\n    pass\n"}
    assert play(REFACTOR, before, weak).types == [FindingType.TEST_TAMPERING]
    strong = {**before, "helpers_test.py": "def same(one, two):\n    assert two == one\n"}
    played = play(REFACTOR, before, strong)
    assert accepted(played), played.told


def test_a_test_whose_helper_of_the_same_file_is_emptied_is_tampering() -> None:
    helped = f"{HEAD}def same(x, y):\n    assert x == y\n\n\ndef test_doubles():\n    same(double(2), 4)\n"
    before = {**BASE, "test_thing.py": helped}
    assert rewritten(helped.replace("    assert x == y", "    x, y"), before).types == [
        FindingType.TEST_TAMPERING
    ]
    assert accepted(rewritten(helped.replace("assert x == y", "assert y == x"), before, opening=before))


IN_CLASS = "import thing\n\n\nclass Plain:\n    pass\n\n\nclass TestHalf(Plain):\n    def test_halves(self):\n        assert thing.half(4) == 2\n"
CUT = "class Plain:\n    thing.half = {4: 2}.get\n"


@pytest.mark.parametrize(
    ("tests", "kept"),
    [
        (IN_CLASS.replace("class Plain:\n    pass\n", CUT), False),
        (IN_CLASS.replace("class Plain:\n    pass\n", CUT.replace("Plain", "Other")), False),
        (IN_CLASS.replace("\n\n\nclass Plain", "\n\nthing.half = {4: 2}.get\n\n\nclass Plain"), False),
        (IN_CLASS.replace("    pass", "    more = 1"), True),
        (IN_CLASS.replace("(Plain)", ""), True),
    ],
)
@pytest.mark.parametrize("name", ["test_halves", "test_gives_half"])
def test_what_is_done_around_tests_does_not_cut_them_off(tests: str, kept: bool, name: str) -> None:
    tests = tests.replace("(Plain)", "(Other)") if "Other" in tests else tests
    before = {**BASE, "test_thing.py": IN_CLASS}
    played = rewritten(tests.replace("test_halves", name), before, opening=before)
    assert accepted(played) == kept, played.told


def test_a_legacy_test_whose_data_is_emptied_is_tampering() -> None:
    before = {
        "thing.py": CODE,
        "tests/cases.txt": "2 4\n",
        "test_thing.py": f"{HEAD}from cases_of import rows\n\n\ndef test_doubles():\n    'cases.txt'\n    for x, y in rows():\n        assert double(x) == y\n",
        "cases_of.py": "def rows():\n    return [(2, 4)]\n",
    }
    run = suite(result("test_thing.py::test_doubles"))

    def looks(trial: Trial) -> SuiteRun:
        """Old data notices what new data does not."""
        if trial.trace:
            return suite(result("test_thing.py::test_doubles"), executed={"thing.py": frozenset({6})})
        old = ("tests/cases.txt", "2 4\n") in trial.overlay
        broken = any(path == "thing.py" for path, _ in trial.overlay)
        return suite(failing("test_thing.py::test_doubles")) if old and broken else run

    after = {**before, "tests/cases.txt": ""}
    played = judge(evidence(REFACTOR, before, after), by_commit(suite(), run, run, looks))
    assert played.types == [FindingType.TEST_TAMPERING], played.told


# --- behaviour and tests together


def test_tests_as_they_were_have_to_pass_on_the_new_code() -> None:
    after = f"{HEAD}{HALVES}\n\n{DOUBLES.replace('== 4', '== 6')}"
    played = rewritten(after, files={"thing.py": CODE.replace("2 * x", "3 * x")})
    assert FindingType.TEST_FAILURE in played.types, played.told


def test_behaviour_does_not_change_behind_a_new_name() -> None:
    after = f"{HEAD.replace('double', 'twice')}{HALVES}\n\ndef test_doubles():\n    assert twice(2) == 5\n"
    played = rewritten(
        after,
        files={
            "thing.py": CODE.replace(
                "def double(x):\n    return 2 * x", "def twice(x):\n    return 2 * x + 1"
            )
        },
    )
    assert not accepted(played), played.told


def test_where_old_tests_cannot_run_the_new_ones_still_have_to_bite() -> None:
    code = {"thing.py": CODE.replace("def double(x):", "def twice(x, y):").replace("2 * x", "y * x")}
    head = HEAD.replace("double", "twice")
    strong = f"{head}def test_doubles():\n    assert twice(2, 2) == 4\n"
    blind = f"{head}def test_doubles():\n    assert 4\n"
    less = f"{head}def test_doubles():\n    assert twice(2, 2) == 4\n"
    one = {**BASE, "test_thing.py": f"{HEAD.replace(', half', '')}{DOUBLES}"}
    two = {**BASE, "test_thing.py": f"{HEAD.replace(', half', '')}{DOUBLES}    assert double(1) == 2\n"}
    assert accepted(rewritten(strong, one, files=code))
    assert rewritten(blind, one, files=code).types == [FindingType.TEST_TAMPERING]
    assert rewritten(less, two, files=code).types == [FindingType.TEST_TAMPERING]


def test_an_old_test_that_misses_an_argument_is_excused_and_another_error_is_not() -> None:
    after = {**BASE, "test_thing.py": f"{HEAD}{HALVES}\n\n{DOUBLES}# more\n"}
    names = ["test_thing.py::test_halves", "test_thing.py::test_doubles"]
    whole = suite(*map(result, names))
    for fails, right in (
        (failing(names[1], exception="TypeError", message="missing 1 required positional argument"), True),
        (failing(names[1], exception="AttributeError", missing=Missing("x", "thing")), True),
        (failing(names[1], exception="TypeError", message="unsupported operand"), False),
    ):
        runs = by_commit(suite(), whole, whole, lambda _trial, fails=fails: suite(result(names[0]), fails))  # type: ignore[misc]
        assert accepted(judge(evidence(REFACTOR, BASE, after), runs)) is right


PAIRED = "def pair(x):\n    return {'half': x / 2, 'double': 2 * x}\n"
PAIRS = f"{HEAD}from thing import pair\n\n\n{HALVES}\n\ndef test_pairs():\n    both = pair(2)\n    assert both['half'] == 1\n    assert both['double'] == 4\n"
AS_OBJECT = "class Pair:\n    def __init__(self, x):\n        self.half = x / 2\n        self.double = 2 * x\n\n\ndef pair(x):\n    return Pair(x)\n"


def test_tests_may_follow_code_into_another_form_if_they_ask_the_same() -> None:
    before = {"thing.py": f"{CODE}\n\n{PAIRED}", "test_thing.py": PAIRS}
    files = {"thing.py": f"{CODE}\n\n{AS_OBJECT}"}
    tests = PAIRS.replace("both['half']", "both.half").replace("both['double']", "both.double")
    for otherwise in (tests, tests.replace("half(4) == 2", "2 == half(4)")):
        played = rewritten(otherwise, before, files=files)
        assert accepted(played), played.told
    for weaker in (tests.replace("both.double == 4", "both.double > 0"), tests.replace("(2)", "(3)")):
        assert not accepted(rewritten(weaker, before, files=files))


def test_a_test_that_cannot_follow_is_judged_beside_those_that_run() -> None:
    before = {"thing.py": CODE, "test_thing.py": BASE["test_thing.py"]}
    files = {"thing.py": CODE.replace("def double(x):", "def double(x, y):").replace("2 * x", "y * x")}
    tests = f"{HEAD}def test_halves():\n    assert 2 == half(4)\n\n\ndef test_doubles():\n    assert double(2, 2) == 4\n"
    assert accepted(rewritten(tests, before, files=files))
    blind = tests.replace("assert double(2, 2) == 4", "double(2, 2)")
    assert rewritten(blind, before, files=files).types == [FindingType.TEST_TAMPERING]
    merged = f"{HEAD}def test_both():\n    assert 2 == half(4)\n    assert double(2, 2) == 4\n"
    assert accepted(rewritten(merged, before, files=files))


# --- when there is no time, no test, no text


def test_what_green_had_no_time_for_is_measured_now() -> None:
    more = {**BASE, "thing.py": f"LIMIT = 3\n\n\n{CODE}"}
    owed = changes({**BASE, "thing.py": CODE.partition("\n\n\n")[0] + "\n"}, more)
    note = Handoff(REFACTOR, REFACTOR, facts=Facts(tests=("test_thing.py::test_doubles",)))
    for after in (more, {**more, "thing.py": more["thing.py"] + "\n\n# done\n"}):
        played = play(REFACTOR, more, after, handoff=note, earlier=owed, rules=Rules(minimality_min=100))
        assert accepted(played), played.told
        assert played.facts["mutants"]["tried"]
        assert played.facts["minimality"]["hunks"]
        assert [finding.type for finding in played.warnings] == [FindingType.NOT_MINIMAL]
        assert played.facts["minimality"]["share"] < 100
        assert {trial.commit for trial in played.asked if trial.spare} == {"base"}
    assert "mutants" not in play(REFACTOR, BASE, BASE, handoff=note).facts
    assert "mutants" not in play(REFACTOR, BASE, BASE, earlier=owed).facts


@pytest.mark.parametrize(("unlucky", "verdict"), [({1}, []), ({1, 2}, [FindingType.TEST_TAMPERING])])
@pytest.mark.parametrize(
    "code", [CODE, CODE.replace("double(x)", "double(x, times=2)").replace("2 * x", "times * x")]
)
def test_tests_that_miss_a_mistake_once_have_not_lost_their_strength(
    unlucky: set[int], verdict: list[FindingType], code: str
) -> None:
    def by_chance(trial: Trial, run: SuiteRun) -> SuiteRun:
        mutant = [path for path, _ in trial.overlay] == ["thing.py"]
        passed = {name: result(name) for name in run.results}
        return SuiteRun(passed, executed=run.executed) if mutant and trial.seed in unlucky else run

    kept = f"{HEAD}{HALVES}\n\ndef test_doubles():\n    twice = double(2)\n    assert twice == 4\n"
    assert rewritten(kept, files={"thing.py": code}, bend=by_chance).types == verdict


def test_new_tests_beside_the_old_ones_are_accepted() -> None:
    played = rewritten(BASE["test_thing.py"] + "\n\ndef test_doubles_nothing():\n    assert double(0) == 0\n")
    assert accepted(played), played.told


def test_a_new_test_file_without_old_tests_is_accepted() -> None:
    after = {"thing.py": CODE, "test_new.py": f"{HEAD}{HALVES}"}
    assert accepted(play(REFACTOR, {"thing.py": CODE}, after))


def test_a_binary_file_of_the_tests_is_not_put_back() -> None:
    picture = Change("tests/data/a.png", File("100644", "1"), File("100644", "2"))
    given = evidence(REFACTOR, BASE, BASE, changes=(picture, change("tests/data/b.txt", None, "x\n")))
    whole = suite(result("test_thing.py::test_halves"))
    played = judge(given, by_commit(suite(), whole, whole, lambda _trial: whole))
    assert accepted(played), played.told
    overlays = [trial.overlay for trial in played.asked if trial.overlay]
    assert set(overlays) == {(("tests/data/b.txt", None),)}


def test_a_legacy_test_that_failed_before_may_move() -> None:
    failing_test = "def test_later():\n    assert double(3) == 7\n"
    before = {**BASE, "test_old.py": f"{HEAD}{failing_test}"}
    after = {**BASE, "test_new.py": f"{HEAD}{failing_test}"}
    played = play(REFACTOR, before, after, opening=before)
    assert accepted(played), played.told


def test_a_doctest_may_move_with_its_module() -> None:
    before = {"shapes.py": "def area(a):\n    return a * a\n", **BASE}
    after = {"forms.py": before["shapes.py"], **BASE}
    old, new = result("shapes.py::shapes.area"), result("forms.py::forms.area")
    played = judge(
        evidence(REFACTOR, before, after),
        by_commit(suite(old), suite(old), suite(new), lambda _trial: suite(new)),
    )
    assert accepted(played), played.told


def test_a_runner_that_dies_is_tampering() -> None:
    after = {**BASE, "thing.py": CODE + "# more\n"}
    runs = by_commit(suite(), suite(), DIED)
    assert judge(evidence(REFACTOR, BASE, after), runs).types == [FindingType.TEST_TAMPERING]


def test_a_lost_parameter_set_is_not_made_good_by_another_test() -> None:
    before = {**BASE, "test_thing.py": ROWS}
    after = ROWS.replace(", 3]", "]") + "\n\ndef test_halves():\n    assert half(4) == 2\n"
    assert rewritten(after, before).types == [FindingType.TEST_TAMPERING]


def test_a_renamed_function_beside_constants_is_still_a_renaming() -> None:
    before = {**BASE, "thing.py": "LIMIT = 3\n" + CODE}
    tests = BASE["test_thing.py"].replace("double(", "twice(").replace("import double", "import twice")
    files = {"thing.py": before["thing.py"].replace("def double", "def twice")}
    played = rewritten(tests, before, files=files, opening=before)
    assert accepted(played), played.told


def test_what_looks_like_a_test_but_never_ran_needs_no_proof() -> None:
    extra = "\n\nclass Base:\n    def test_more(self):\n        assert {}\n"
    before = {**BASE, "test_thing.py": BASE["test_thing.py"] + extra.format("half(2) == 1")}
    assert accepted(rewritten(BASE["test_thing.py"] + extra.format("half(2)"), before))


def test_an_expected_value_does_not_get_lost_behind_a_new_name() -> None:
    before = {"thing.py": CODE, "test_thing.py": f"{HEAD.replace(', half', '')}{DOUBLES}"}
    tests = before["test_thing.py"].replace("double(", "twice(").replace("import double", "import twice")
    code = CODE.replace("def double(x):\n    return 2 * x", "def twice(x):\n    return 2 * x + 1")
    played = rewritten(tests.replace("== 4", "== 5"), before, files={"thing.py": code})
    assert played.types == [FindingType.TEST_TAMPERING], played.told
    same = CODE.replace("def double", "def twice")
    assert accepted(rewritten(tests, before, files={"thing.py": same}))


def test_a_rewritten_test_that_passes_whatever_it_expects_is_tampering() -> None:
    code = "class Any:\n    def __eq__(self, other):\n        return True\n\n\ndef double(x):\n    return Any()\n"
    head = "from thing import double\n\n\n"
    before = {"thing.py": code, "test_thing.py": f"{head}{DOUBLES}"}
    after = f"{head}def test_doubles():\n    result = double(2)\n\n    assert result == 4\n"
    assert rewritten(after, before).types == [FindingType.TEST_TAMPERING]


def test_a_test_that_no_longer_looks_at_the_reason_of_an_error_is_tampering() -> None:
    head = "import pytest\nfrom thing import refuse\n\n\n"
    test = "def test_refuses():\n    with pytest.raises(ValueError{}):\n        refuse()\n"
    before = {
        "thing.py": "def refuse():\n    raise ValueError('no')\n",
        "test_thing.py": head + test.format(", match='no'"),
    }
    assert rewritten(head + test.format(""), before).types == [FindingType.TEST_TAMPERING]
    same = test.format(", match='^no$'")
    assert accepted(rewritten(head + same, before))


REFUSING: Files = {
    "thing.py": "def refuse(x):\n    raise ValueError('no')\n",
    "test_thing.py": (
        "import pytest\nfrom thing import refuse\n\n\n"
        "def test_refuses():\n    with pytest.raises(ValueError, match='no'):\n        refuse(1)\n\n\n"
        "def test_refuses_more():\n    with pytest.raises(ValueError, match='no'):\n        refuse(2)\n"
    ),
}
THROUGH_A_FUNCTION = (
    "import pytest\nfrom thing import refuse\n\n\n"
    "def refused(x, reason):\n    with pytest.raises(ValueError{}):\n        refuse(x)\n\n\n"
    "def test_refuses():\n    refused(1, 'no')\n\n\ndef test_refuses_more():\n    refused(2, 'no')\n"
)


def test_the_look_at_the_reason_may_move_into_a_function_that_the_tests_share() -> None:
    played = rewritten(THROUGH_A_FUNCTION.format(", match=reason"), REFUSING)
    assert accepted(played), played.told
    assert rewritten(THROUGH_A_FUNCTION.format(""), REFUSING).types == [FindingType.TEST_TAMPERING]


def test_two_looks_at_a_reason_may_become_one_in_a_loop() -> None:
    test = (
        "import pytest\nfrom thing import refuse\n\n\n"
        "def test_refuses():\n    with pytest.raises(ValueError, match='no'):\n        refuse(1)\n"
        "    with pytest.raises(ValueError, match='no'):\n        refuse(2)\n"
    )
    loop = "import pytest\nfrom thing import refuse\n\n\ndef test_refuses():\n    for x in (1, 2):\n        with pytest.raises(ValueError{}):\n            refuse(x)\n"
    before = {**REFUSING, "test_thing.py": test}
    played = rewritten(loop.format(", match='no'"), before)
    assert accepted(played), played.told
    assert rewritten(loop.format(""), before).types == [FindingType.TEST_TAMPERING]


def test_the_guilty_test_is_named_and_not_the_first_rewritten_one() -> None:
    after = REFUSING["test_thing.py"].replace("refuse(1)", "refuse(3)")
    after = after[::-1].replace("'on'=hctam ,", "", 1)[::-1]

    [found] = rewritten(after, REFUSING).verdict.findings

    assert (found.file, found.line) == ("test_thing.py", 10)
    assert "(test_refuses_more)" in found.message


def test_the_test_that_no_longer_notices_a_mistake_is_named() -> None:
    after = f"{HEAD}def test_halves():\n    assert half(4) == 4 / 2\n\n\ndef test_doubles():\n    assert double(2)\n"

    [found] = rewritten(after).verdict.findings

    assert (found.file, found.line) == ("test_thing.py", 8)
    assert "(test_doubles)" in found.message


def test_refactored_code_that_behaves_only_when_it_is_tested_is_tampering() -> None:
    def seen_through(trial: Trial, run: SuiteRun) -> SuiteRun:
        return suite(failing("test_thing.py::test_doubles")) if trial.disguise else run

    noted = with_keys(Handoff(PhaseName.GREEN, REFACTOR), tests=["test_thing.py::test_doubles"])
    files = {"thing.py": CODE.replace("2 * x", "x + x")}
    assert accepted(rewritten(files=files, handoff=noted))
    assert rewritten(files=files, handoff=noted, bend=seen_through).types == [FindingType.TEST_TAMPERING]


def test_a_runner_that_dies_on_the_untouched_tree_too_is_nobodys_fault() -> None:
    after = {**BASE, "thing.py": CODE + "# more\n"}
    runs = by_commit(suite(), suite(), DIED)

    def answer(trial: Trial) -> SuiteRun:
        return DIED if trial.repeat > 1 else runs(trial)

    played = judge(evidence(REFACTOR, BASE, after), answer)
    assert played.types == [FindingType.UNDECIDED]


def test_where_there_is_no_slight_mutant_expected_values_stay() -> None:
    before = {
        "thing.py": "def sizes(n=2):\n    yield from [n]\n",
        "test_thing.py": "from thing import sizes\n\ndef test_size():\n    assert [*sizes()] == [2]\n",
    }
    moved = "from thing import sizes\n\nSIZE = 2\n\ndef test_size():\n    assert [*sizes()] == [SIZE]\n"
    assert accepted(rewritten(moved, before))
    computed = "from thing import sizes\n\ndef test_size():\n    assert [*sizes()] == [1 + 1]\n"
    assert rewritten(computed, before).types == [FindingType.TEST_TAMPERING]


def test_an_assertion_may_move_to_the_test_it_belongs_to() -> None:
    both = "def test_halves():\n    assert half(4) == 2\n    assert double(2) == 4\n\n\ndef test_doubles():\n    {}\n"
    before = {**BASE, "test_thing.py": HEAD + both.format("assert double")}
    moved = HEAD + both.replace("    assert double(2) == 4\n\n", "\n").format("assert double(2) == 4")
    played = rewritten(moved, before)
    assert accepted(played), played.told
    lost = HEAD + both.replace("    assert double(2) == 4\n\n", "\n").format("assert double(2)")
    assert rewritten(lost, before).types == [FindingType.TEST_TAMPERING]


def test_a_reason_may_move_from_an_equality_into_an_anchored_pattern() -> None:
    test = "import pytest\nfrom thing import refuse\n\n\ndef test_refuses():\n    with pytest.raises(ValueError{}:\n        refuse(3)\n{}"
    equal = test.format(") as refused", "    assert str(refused.value) == '3 is no'\n")
    before = {"thing.py": "def refuse(x):\n    raise ValueError(f'{x} is no')\n", "test_thing.py": equal}
    played = rewritten(test.format(", match=r'^3 is no$')", ""), before)
    assert accepted(played), played.told
    assert rewritten(test.format(")", ""), before).types == [FindingType.TEST_TAMPERING]


AS_DICTIONARY: Files = {
    "thing.py": "def parse(line):\n    name, age = line.split(';')\n    return {'name': name, 'age': int(age)}\n",
    "test_thing.py": "from thing import parse\n\n\ndef test_parses():\n    person = parse('Ada;36')\n"
    "    assert person['name'] == 'Ada'\n    assert person['age'] == 36\n",
}
AS_TUPLE = (
    "from collections import namedtuple\n\nPerson = namedtuple('Person', 'name age')\n\n\n"
    "def parse(line):\n    name, age = line.split(';')\n    return Person(name, int(age))\n"
)


def test_a_dictionary_may_become_an_object_that_is_compared_as_a_whole() -> None:
    files = {"thing.py": AS_TUPLE}
    test = "from thing import Person, parse\n\n\ndef test_parses():\n    {}\n"
    whole = test.format("assert parse('Ada;36') == Person('Ada', 36)")
    played = rewritten(whole, AS_DICTIONARY, files=files)
    assert accepted(played), played.told
    kind = test.format("assert isinstance(parse('Ada;36'), Person)\n    assert Person('Ada', 36).age == 36")
    assert rewritten(kind, AS_DICTIONARY, files=files).types == [FindingType.TEST_TAMPERING]


COMPARED: Files = {
    "thing.py": AS_DICTIONARY["thing.py"],
    "test_thing.py": "from thing import parse\n\n\ndef test_parses():\n"
    "    assert parse('Ada;36') == {'name': 'Ada', 'age': 36}\n",
}


def test_a_dictionary_that_was_compared_as_a_whole_may_become_an_object() -> None:
    test = "from thing import Person, parse\n\n\ndef test_parses():\n    assert parse('Ada;36') == {}\n"
    played = rewritten(test.format("Person(name='Ada', age=36)"), COMPARED, files={"thing.py": AS_TUPLE})
    assert accepted(played), played.told
    older = AS_TUPLE.replace("int(age)", "int(age) + 1")
    played = rewritten(test.format("Person(name='Ada', age=37)"), COMPARED, files={"thing.py": older})
    assert played.types == [FindingType.TEST_FAILURE]
    assert "an object with the fields of a dictionary" in (played.verdict.findings[0].hint or "")


def test_a_key_that_became_the_name_of_an_argument_is_still_expected() -> None:
    test = "from thing import Person, read\n\n\ndef test_parses():\n    assert read('Ada;36') == Person(name='Ada', age=36)\n"
    played = rewritten(test, COMPARED, files={"thing.py": AS_TUPLE.replace("parse", "read")})
    assert accepted(played), played.told


def test_a_value_that_became_the_name_of_an_argument_is_no_longer_expected() -> None:
    test = "from thing import {0}\n\n\ndef test_states():\n    assert {0}(True) == 'open'\n    assert {0}(False) == 'shut'\n"
    code = "def state(open):\n    return 'open' if open else 'shut'\n"
    before = {"thing.py": code, "test_thing.py": test.format("state")}
    named = test.format("of").replace("(True) == 'open'", "(open=True) != of(open=False)")
    played = rewritten(named, before, files={"thing.py": code.replace("state", "of")})
    assert "'open' is no longer expected" in played.told


def test_parameter_sets_that_fail_together_are_told_once() -> None:
    before = {**BASE, "test_thing.py": ROWS}
    code = {"thing.py": CODE.replace("2 * x", "3 * x")}
    [found] = rewritten(ROWS.replace("2 * x", "3 * x"), before, files=code).verdict.findings
    assert found.message.endswith("(and 2 more of its parameter sets)")


# --- what tests lean on beside them


HELPER = "def same(one, two):\n    assert one == two\n"
LEANING: Files = {
    "thing.py": "def half(x):\n    return x / 2\n",
    "same.py": HELPER,
    "table.json": "{}",
    "test_thing.py": "from same import same\nfrom thing import half\n\n\ndef test_halves():\n    same(half(4), 2)\n",
}


def leaning(trial: Trial, run: SuiteRun) -> SuiteRun:
    used = frozenset({"test_thing.py"})
    opened = {"table.json": used} if trial.trace else {}
    return replace(run, reach=Reach(frozenset(LEANING), opened, {"same.py": used, "thing.py": used}))


@pytest.mark.parametrize(
    ("helper", "kept"),
    [
        (HELPER.replace("assert one == two", "assert one is not None"), False),
        (HELPER.replace("assert one == two", "assert one == two, 'not the same'"), True),
    ],
)
def test_a_helper_beside_the_tests_stays_as_sharp(helper: str, kept: bool) -> None:
    played = play(REFACTOR, LEANING, {**LEANING, "same.py": helper}, bend=leaning)
    assert accepted(played) == kept, played.told
    assert (
        kept or "same.py:1: since it was changed, test_thing.py::test_halves no longer notices" in played.told
    )


def test_data_that_only_tests_open_is_looked_at_closely() -> None:
    played = play(REFACTOR, LEANING, {**LEANING, "table.json": "[]"}, bend=leaning)
    assert accepted(played), played.told
    assert any(trial.trace and ("table.json", "{}\n") in trial.overlay for trial in played.asked)


def test_a_new_file_of_tests_does_nothing_to_others_when_it_is_loaded() -> None:
    patching = (
        "import thing\n\nthing.half = {4: 2}.get\n\n\ndef test_none():\n    assert thing.half(5) is None\n"
    )
    played = play(REFACTOR, LEANING, {**LEANING, "test_more.py": patching}, bend=leaning)
    assert [trial for trial in played.asked if "test_more.py::test_none" in trial.tests], played.told


@pytest.mark.parametrize(
    ("tests", "fine"),
    [
        (
            f"{HEAD}import os\n\n\n{HALVES}\n\ndef test_doubles():\n    if os.sep == '|':\n        return\n    assert double(2) == 4\n",
            False,
        ),
        (f"{HEAD}import unittest\n\n\n{HALVES}\n\n@unittest.skipIf(double is None, 'no')\n{DOUBLES}", False),
        (
            f"{HEAD}{HALVES}\n\n{DOUBLES}\n\ndef test_more():\n    if half(2) == 7:\n        return\n    assert double(4) == 8\n",
            True,
        ),
    ],
)
def test_a_test_that_always_ran_to_its_end_is_left_out_on_no_condition(tests: str, fine: bool) -> None:
    assert rewritten(tests).types == ([] if fine else [FindingType.TEST_TAMPERING])


def test_a_condition_that_tests_have_always_had_may_move() -> None:
    guarded = f"{HEAD}def test_halves():\n    if half(2) == 7:\n        return\n    assert half(4) == 2\n"
    before = {**BASE, "test_thing.py": f"{guarded}\n\n{DOUBLES}"}
    assert rewritten(f"{before['test_thing.py']}\n# the same\n", before).types == []


@pytest.mark.parametrize("text", ["in_progress", "in-progress", "in progress"])
def test_a_text_of_several_words_may_become_a_member_named_by_them(text: str) -> None:
    test = "from thing import {}\n\n\ndef test_states():\n    assert {}\n    assert {}\n"
    code = "def {}(done):\n    return {} if done else {}\n"
    before = {
        "thing.py": code.format("state", "'shut'", repr(text)),
        "test_thing.py": test.format("state", "state(True) == 'shut'", f"state(False) == {text!r}"),
    }
    members = "from enum import Enum, auto\n\n\nclass State(Enum):\n    SHUT = auto()\n    IN_PROGRESS = auto()\n\n\n"
    now = test.format("State, of", "of(True) is State.SHUT", "of(False) is State.IN_PROGRESS")
    after = members + code.format("of", "State.SHUT", "State.IN_PROGRESS")
    played = rewritten(now, before, files={"thing.py": after})
    assert accepted(played), played.told
    played = rewritten(
        now.replace("is State.IN_PROGRESS", "is not of(True)"), before, files={"thing.py": after}
    )
    assert f"{text!r} is no longer expected" in played.told
