"""What a test says can be read off its source; two tests that say the same are recognised."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates_support import src
from redgreenrefactor.languages.assertions import (
    assertion_count,
    asserts,
    constants,
    expected_values,
    free_names,
    renamed,
    trivially_true,
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


def test_what_is_expected_is_found_in_assertions_only() -> None:
    node = body("x = 7\nassert f(x) == 4\nself.assertEqual(g(), 'a')\nprint(5)")
    assert expected_values(node) == {"4", "'a'"}


def test_the_constants_of_code_are_all_of_them() -> None:
    assert constants([ast.parse("A = [1, 'b']\n"), ast.parse("2")]) == {"1", "'b'", "2"}
    assert constants([]) == set()


# --- two tests that say the same

TEST = "def test_it(tmp_path):\n    from thing import double\n    x = double(2)\n    y = half(x)\n    assert x == 4\n    assert y == x.value\n"


@pytest.mark.parametrize(
    "other",
    [
        TEST.replace("test_it", "test_that"),
        TEST.replace("double", "twice"),
        TEST.replace("x", "result"),
        TEST.replace("from thing", "from other.place"),
        TEST.replace("value", "amount"),
        TEST.replace("tmp_path", "folder"),
        TEST.replace("):\n", ") -> None:\n").replace("tmp_path", "tmp_path: Path"),
        TEST.replace("    from", '    """What it says."""\n    # why\n\n    from'),
        TEST.replace("(tmp_path)", "(self, tmp_path)"),
    ],
)
def test_other_names_places_hints_and_layout_say_the_same(other: str) -> None:
    assert renamed(function(TEST)) == renamed(function(other))


@pytest.mark.parametrize(
    "other",
    [
        TEST.replace("== 4", "== 5"),
        TEST.replace("== 4", "> 4"),
        TEST.replace("    assert x == 4\n", ""),
        TEST.replace("half(x)", "half(y)"),
        TEST.replace("assert y == x.value", "assert y == y.value"),
        TEST.replace("double(2)", "len(2)"),
        "@pytest.mark.skip\n" + TEST,
        TEST.replace("    x =", "    return\n    x ="),
        TEST.replace("x.value", "x.approx"),
        TEST.replace("def", "async def"),
    ],
)
def test_anything_else_says_something_else(other: str) -> None:
    assert renamed(function(TEST)) != renamed(function(other))


def test_a_test_of_nothing_but_a_docstring_says_nothing() -> None:
    assert renamed(body('"""Later."""')) == renamed(body("pass"))


def test_the_names_of_a_test_come_in_the_order_they_are_counted() -> None:
    assert set(free_names(body("a = b(c)\nd = a"))) == {"a", "b", "c", "d"}
    assert free_names(body("a = a")) == ["a"]


NAMES = ["alpha", "beta", "gamma", "delta"]
places = st.lists(st.sampled_from(range(4)), min_size=3, max_size=6)
renamings = st.permutations(["one", "two", "three", "four"])


def written(order: list[int], names: list[str]) -> str:
    lines = [f"    {names[place]} = {names[order[0]]}({number})" for number, place in enumerate(order)]
    return "\n".join(["def test_it():", *lines, f"    assert {names[order[-1]]} == 4", ""])


@given(places, renamings)
def test_consistent_renaming_says_the_same(order: list[int], names: list[str]) -> None:
    assert renamed(function(written(order, NAMES))) == renamed(function(written(order, list(names))))


@given(places, st.integers(0, 5), st.integers(0, 5))
def test_two_names_that_change_places_say_something_else(order: list[int], one: int, two: int) -> None:
    one, two = one % len(order), two % len(order)
    swapped = list(order)
    swapped[one], swapped[two] = order[two], order[one]
    pattern = [order.index(place) for place in order]
    other = [swapped.index(place) for place in swapped]
    same = renamed(function(written(order, NAMES))) == renamed(function(written(swapped, NAMES)))
    assert same == (pattern == other)
