"""What a test says can be read off its source."""

import ast

import pytest

from gates_support import src
from redgreenrefactor.languages.assertions import (
    asks_the_same,
    assertion_count,
    asserts,
    claims_made,
    constants,
    expected_values,
    knows_tests,
    names,
    other_forms,
    trivially_true,
    ways_out,
)
from redgreenrefactor.languages.python import Function


def function(text: str) -> Function:
    """Return the last function of a source."""
    return [node for node in ast.parse(src(text)).body if isinstance(node, Function)][-1]


def body(text: str, arguments: str = "") -> Function:
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    return function(f"def test_it({arguments}):\n{lines}\n")


@pytest.mark.parametrize(
    "text",
    [
        "assert f()",
        "with pytest.raises(ValueError):\n    f()",
        "self.assertEqual(f(), 1)",
        "raise AssertionError('no')",
        "mock.assert_called_once()",
        "expect(f()).to_equal(1)",
        "if f():\n    pytest.fail()",
        "def inner():\n    assert f()\ninner()",
    ],
)
def test_whatever_can_fail_on_purpose_asserts(text: str) -> None:
    assert asserts(body(text))


@pytest.mark.parametrize("text", ["f()", "x = f()\nprint(x)", "raise ValueError", "pass", "f()()"])
def test_what_only_calls_does_not_assert(text: str) -> None:
    assert not asserts(body(text))
    assert not asserts(body(text), ast.parse("def g(): pass"))


def test_a_helper_asserts_for_its_test() -> None:
    text = "def same(x):\n    assert x\n\n\ndef other(x):\n    pass\n\n\ndef test_it():\n    {}(f())\n"
    for name, right in (("same", True), ("other", False)):
        tree = ast.parse(text.format(name))
        assert asserts(tree.body[-1], tree) is right


def test_a_helper_from_another_test_file_has_the_benefit_of_doubt() -> None:
    for line, right in (
        ("from tests.tools import same", True),
        ("from .tools import same", True),
        ("from helpers import same", True),
        ("from thing import same", False),
    ):
        tree = ast.parse(f"{line}\n\n\ndef test_it():\n    same(1)\n")
        assert asserts(tree.body[-1], tree) is right


def test_a_fixture_that_is_called_may_assert() -> None:
    tree = ast.parse("def test_it(compare):\n    compare(f(), 4)\n")
    assert asserts(tree.body[-1], tree)


@pytest.mark.parametrize(
    "text",
    [
        "assert True",
        "assert 1 == 1",
        "x = f()\nassert x == x",
        "assert f() or True",
        "assert 1 and 'a'",
        "self.assertTrue(True)",
        "self.assertEqual(1, 1)",
        "f()\nassert True\nassert 'yes'",
        "assert (f() == 1, 'words')",
        "assert (f(x) == 1 for x in range(3))",
        "assert lambda: f() == 1",
        "assert f'{f() == 1}'",
        "assert f'found {f()}'",
        "assert f() == 1 or f() != 1",
    ],
)
def test_an_assertion_that_holds_anyway_is_recognised(text: str) -> None:
    assert trivially_true(body(text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "assert f()",
        "assert False",
        "assert f() == 1",
        "assert f() and True",
        "assert ()",
        "assert f'{f()}'",
        "assert f() == 1 or f() != 2",
        "assert f() != 1 or 1 < f() < 3",
        "assert True\nassert f()",
        "with pytest.raises(ValueError):\n    assert True",
        "self.assertTrue()",
        "self.assertEqual(f(), 1)",
        "self.assertIn(1, f())",
        "check(f())",
        "f()",
        "assert Money(5) == Money(5)",  # whether values are equal is what such a test asks
        "self.assertEqual(Money(5), Money(5))",
    ],
)
def test_an_assertion_that_may_fail_is_none_of_those(text: str) -> None:
    assert trivially_true(body(text)) is None


def test_assertions_are_counted() -> None:
    assert (
        assertion_count(body("assert a\nself.assertEqual(a, b)\nwith pytest.raises(E):\n    f()\nf()")) == 3
    )


@pytest.mark.parametrize(
    ("line", "expects"),
    [
        ("assert row.id is not None", False),
        ("assert isinstance(self.base, Base)", False),
        ("assert given is not None", True),
        ("assert isinstance(given.row, Row)", True),
        ("assert row.id", True),
        ("assert row is None", True),
        ("assert row.id is not None\n        assert given == row", True),
        ("pass", False),
    ],
)
def test_code_that_narrows_types_of_its_own_values_does_not_know_tests(line: str, expects: bool) -> None:
    code = f"class Store:\n    def add(self, given):\n        row = self.base.add(given)\n        {line}\n        return row.id\n"
    assert knows_tests(code) is expects


def test_what_is_expected_is_found_in_assertions_only() -> None:
    node = body("x = 7\nassert f(x) == 4\nself.assertEqual(g(), 'a')\nprint(5)")
    assert expected_values(node) == {"4", "'a'"}


def test_the_constants_of_code_are_all_of_them() -> None:
    assert constants([ast.parse("A = [1, 'b']\n"), ast.parse("2")]) == {"1", "'b'", "2"}
    assert constants([]) == set()


ASKS = "ada = person('Ada', 37)\nwith patch('thing.now'):\n    assert ada['name'] == 'Ada'\n    assert ada.age == 37"


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (ASKS.replace("ada['name']", "ada.name"), False),  # read in either way, that is measured
        (ASKS.replace("ada.age", "ada.age()"), False),
        (ASKS.replace("'thing.now'", "'clocks.now'"), True),
        (f"'What it is.'\n{ASKS}", True),
        (ASKS.replace("== 37", "== 38"), False),
        (ASKS.replace("== 37", "> 37"), False),
        (ASKS.replace("== 37", "- 1 == 37"), False),
        (ASKS.replace("assert ada.age", "assert not ada.age"), False),
        (ASKS.replace("ada.age ==", "less(ada.age) =="), False),
        (ASKS.replace("    assert ada.age == 37", "    ada.age, 37"), False),
    ],
)
def test_a_test_for_code_of_another_form_may_ask_the_same(other: str, same: bool) -> None:
    assert asks_the_same(body(ASKS), body(other)) is same


def test_what_hands_something_on_to_a_function_that_asserts_is_no_assertion_itself() -> None:
    tree = ast.parse(
        "def check(x):\n    assert x\n\n\ndef test_it():\n    pool.map(check, f())\n    check(1)\n    assert f()\n"
    )
    said, handing = claims_made(tree.body[1], tree)
    assert [item.lineno for item in said] == [8, 2]
    assert [item.lineno for item in handing] == [6, 7]
    assert asserts(tree.body[1].body[0], tree)  # type: ignore[attr-defined] # a function


def test_conditions_on_which_tests_are_left_out_are_found() -> None:
    text = "@pytest.mark.skipif(a)\ndef test_a():\n    if b:\n        return\n    reader.skip(3)\n    self.skipTest('c')\n"
    assert ways_out(ast.parse(text)) == {"pytest.mark.skipif(a)", "b", "self.skipTest('c')"}
    assert ways_out(ast.parse("def helper():\n    if b:\n        return\n")) == ways_out(None) == set()


def test_a_patch_may_become_an_argument_and_what_it_puts_there_counts() -> None:
    old = body("monkeypatch.setattr(thing.random, 'randint', lambda low, high: high)\nassert f(2) == [6, 6]")
    assert asks_the_same(old, body("assert f(2, die=lambda low, high: high) == [6, 6]"))
    assert not asks_the_same(old, body("assert f(2, die=lambda low, high: high) == [6, 5]"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("date(2024, 1, 25)", "2024-01-25"),
        ("datetime.timedelta(1)", "1 day, 0:00:00"),
        ("Decimal('0.5')", 0.5),
    ],
)
def test_a_value_of_the_language_says_the_same_as_a_text_or_a_number(text: str, said: object) -> None:
    assert repr(said) in other_forms([body(f"assert f() == {text}")])


@pytest.mark.parametrize(
    "text",
    [
        *("date(2024, 13, 1)", "date(year, 1, 1)", "Decimal('x')", "made(1)", "date('x')"),
        "Fraction('1e999999999')",
    ],
)
def test_what_is_no_such_value_says_nothing(text: str) -> None:
    assert other_forms([body(f"assert f() == {text}")]) == set()


def test_a_number_that_is_none_for_the_machine_is_a_text_all_the_same() -> None:
    assert other_forms([body("assert f() == Decimal('sNaN')")]) == {"'sNaN'"}


def test_names_are_what_texts_may_have_become() -> None:
    assert names([body("assert Half_Circle(1).area() == _")]) == {"halfcircle", "area"}
