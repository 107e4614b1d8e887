"""Every mutant is a real one: it parses, it means something else, it lies where it was asked for."""

import ast
import sys
from collections.abc import Callable
from enum import Enum
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gates_support import src
from redgreenrefactor.model.evidence import Status
from redgreenrefactor.mutation.mutants import (
    ARITHMETIC,
    COMPARE,
    OTHER,
    Mutation,
    import_time_lines,
    mutated,
    mutations,
)

ALL = frozenset(range(1, 1000))
SAMPLE = src('''
    """What it is for."""

    LIMIT = 10


    def price(amount: int, *, member: bool = False) -> int:
        """Return the price."""
        total = amount * 3
        if amount > LIMIT and not member:
            total -= 1
        while total < 0:
            total += 1
        return total if member or total else 7


    def check(value):
        if value == "bad":
            raise ValueError("no " + value)
        print(value)
        return None
''')


def mutants(text: str, lines: frozenset[int] = ALL) -> list[tuple[Mutation, str]]:
    return [(site, mutated(text, site)) for site in mutations(text, lines)]


def changed_lines(one: str, two: str) -> set[int]:
    """Return the lines on which two texts of equal layout differ, what bends values left out."""
    tree = ast.parse(two)
    tree.body = [node for node in tree.body if not getattr(node, "name", "").startswith("_rgr_other")]
    two = ast.unparse(tree)
    pairs = zip(one.splitlines(), two.splitlines(), strict=True)
    return {number for number, (left, right) in enumerate(pairs, 1) if left != right}


def value_of(text: str, expression: str) -> Any:
    names: dict[str, Any] = {}
    exec(text, names)
    return eval(expression, names)


def the_mistake(text: str, what: str) -> str:
    return next(code for site, code in mutants(text) if what in site.what)


def test_every_mistake_parses_and_differs_from_the_original() -> None:
    original = ast.dump(ast.parse(SAMPLE))
    found = mutants(SAMPLE)
    assert len(found) > 10
    assert all(ast.dump(ast.parse(code)) != original for _, code in found)


def test_only_lines_that_were_asked_for_are_touched() -> None:
    plain = ast.unparse(ast.parse(SAMPLE)) + "\n"
    for line in range(1, len(plain.splitlines()) + 1):
        for site, code in mutants(plain, frozenset({line})):
            assert site.line == line
            assert changed_lines(plain, code) == {line}


def test_docstrings_are_left_alone() -> None:
    assert not mutants(
        src('''
        """Module."""


        class A:
            """Class."""

            def f(self):
                """Function."""
    ''')
    )


def test_no_mutant_is_made_of_what_does_not_parse() -> None:
    assert list(mutations("def broken(:", ALL)) == []
    assert list(mutations("a\0b", ALL)) == []


def test_nothing_to_get_wrong_gives_no_mistake() -> None:
    assert mutants("import os\n\n\ndef f():\n    return None\n") == []


@pytest.mark.parametrize(
    ("text", "what", "expression", "before", "after"),
    [
        ("def f(a, b):\n    return a + b\n", "'a + b' became 'a - b'", "f(5, 3)", 8, 2),
        ("def f(a, b):\n    return a + b\n", "'return a + b' became 'return None'", "f(5, 3)", 8, None),
        (
            "said = []\n\n\nasync def say(a):\n    said.append(a)\n\n\nasync def f():\n    await say(1)\n",
            "'await say(1)' is left out",
            "__import__('asyncio').run(f()) or said",
            [1],
            [],
        ),
        ("def f(a, b):\n    return a + b\n", "off by", "f(5, 3)", 8, 9),
        ("def f(a):\n    return [a, a]\n", "off by", "f(5)", [5, 5], [5]),
        ("def f(a):\n    return a\n", "off by", "f({})", {}, {"~": None}),
        ("def f(a):\n    return (a,) if a else ()\n", "off by", "f(0)", (), (None,)),
        ("def f(a, b):\n    return a == b\n", "'a == b' became 'a != b'", "f(1, 1)", True, False),
        ("def f(a, b):\n    return a and b\n", "'a and b' became 'a or b'", "f(0, 1)", 0, 1),
        ("def f(a, b):\n    return a or b\n", "'a or b' became 'a and b'", "f(0, 1)", 1, 0),
        (
            "def f(a):\n    if a:\n        return 1\n    return 2\n",
            "the condition 'a' was turned round",
            "f(True)",
            1,
            2,
        ),
        ("def f(a):\n    return 1 if a else 2\n", "the condition 'a' was turned round", "f(True)", 1, 2),
        ("def f(a):\n    a += 4\n    return a\n", "'a += 4' became 'a -= 4'", "f(1)", 5, -3),
        ("A = True\n", "True became False", "A", True, False),
        ("A = 'x'\n", "'x' became '~'", "A", "x", "~"),
        ("A = '~'\n", "'~' became ''", "A", "~", ""),
        ("def f(a):\n    return f'<{a!r:>3}'\n", "{a} became '~'", "f(7)", "<  7", "<~"),
        ("A = 41\n", "41 became 42", "A", 41, 42),
        ("A = 1\n", "became 'A = None'", "A", 1, None),
        ("A: int = 1\n", "became 'A: int = None'", "A", 1, None),
        ("A = []\nA.append(1)\n", "left out", "A", [1], []),
    ],
)
def test_a_mistake_does_what_its_name_says(
    text: str, what: str, expression: str, before: object, after: object
) -> None:
    assert value_of(text, expression) == before
    assert value_of(the_mistake(text, what), expression) == after


def test_words_show_what_was_put_there_and_no_more_than_a_piece_of_it() -> None:
    said = {site.what for site, _ in mutants(f"def f():\n    raise ValueError({'x' * 50!r})\n")}
    raising = f'"raise ValueError(\'{"x" * 21}…"'
    assert said == {
        f"{raising} gives '~' as its reason",
        f"{raising} is left out",
        f"{'x' * 50!r:.40} became '~'",
    }


def test_a_raise_that_is_left_out_no_longer_raises_the_same() -> None:
    code = the_mistake("def f():\n    raise ValueError('no')\n", "left out")
    with pytest.raises(RuntimeError):
        value_of(code, "f()")


@pytest.mark.parametrize("number", [1e17, 2.5, 0, -1, 10**30])
def test_another_number_is_never_the_same_number(number: float) -> None:
    code = next(code for site, code in mutants(f"A = {number!r}\n") if "became" in site.what)
    assert value_of(code, "A") != number


def test_every_comparison_and_operator_becomes_another_one() -> None:
    assert all(one is not two for table in (COMPARE, ARITHMETIC) for one, two in table.items())


def test_a_constant_of_an_annotation_is_no_behaviour() -> None:
    assert not [
        site for site in mutations("def f(a: 'int') -> 'str':\n    pass\n", ALL) if "became" in site.what
    ]


names = st.sampled_from(["a", "b", "c"])
numbers = st.integers(0, 9).map(str)
expressions = st.recursive(
    names | numbers,
    lambda inner: st.builds(
        "({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "<", "==", "and", "or", "in"]), inner
    ),
    max_leaves=5,
)
statements = st.one_of(
    st.builds("    x = {}".format, expressions),
    st.builds("    x += {}".format, expressions),
    st.builds("    if {}:\n        x = 1".format, expressions),
    st.builds("    return {}".format, expressions),
    st.just("    g(x)"),
)


@given(st.lists(statements, min_size=1, max_size=5), st.sets(st.integers(1, 12), max_size=6))
def test_in_any_code_mistakes_parse_differ_and_stay_on_their_lines(body: list[str], lines: set[int]) -> None:
    text = ast.unparse(ast.parse("\n".join(["def f(a, b, c, x=0):", *body]))) + "\n"
    assume(text.count("\n") == len(text.splitlines()))
    for site, code in mutants(text, frozenset(lines)):
        assert ast.dump(ast.parse(code)) != ast.dump(ast.parse(text))
        assert changed_lines(text, code) == {site.line}
        assert site.line in lines


@given(st.text(max_size=60))
def test_any_text_has_its_mistakes_or_none(text: str) -> None:
    for site in mutations(text, ALL):
        ast.parse(mutated(text, site))


def test_what_was_given_is_handed_back() -> None:
    text = src("""
        class Box:
            def sorted(self, items):
                return sorted(items)

            def size(self):
                return len(self.items)

        def same(x):
            return x

        LINE = 1
    """)
    found = [site for site in mutations(text, frozenset(range(1, 20))) if "handed back" in site.what]
    assert [site.what.split()[0] for site in found] == ["items"]
    assert "return items" in mutated(text, found[0])


GENERATED = src("""
    from dataclasses import dataclass
    from functools import cache
    from typing import Generic, NamedTuple, TypeVar

    __all__ = ["Point"]
    T = TypeVar("T")


    @dataclass(order=True)
    class Point:
        x: int
        y: int = 0

        @property
        def far(self):
            return self.x > 9


    class Only(NamedTuple):
        x: int


    class Missing(KeyError):
        pass


    class Box(Generic[T]):
        hint: int


    class Plain:
        hint: int


    @cache
    def loaded(kind="a"):
        try:
            return TABLE[kind]
        except KeyError:
            raise


    TABLE = {
        "a": 1,
    }

    if __name__ == "__main__":
        print(loaded("a"))
""")


def test_what_generates_code_is_left_out() -> None:
    found = {site.what: site.line for site in mutations(GENERATED, ALL) if not site.slight}
    generated = {what: line for what, line in found.items() if "left out" in what or "dropped" in what}
    assert generated == {
        "@dataclass(order=True) is left out": 9,
        "the field x is dropped": 20,
        "the field y is dropped": 12,
        "@property is left out": 14,
        "the base NamedTuple is left out": 19,
        "the base KeyError is left out": 23,
    }
    left_out = the_mistake(GENERATED, "the field y")
    assert repr(value_of(left_out, "Point(3)")) == "Point(x=3)"
    alone, hidden = the_mistake(GENERATED, "equal only to itself"), the_mistake(GENERATED, "shows itself")
    assert not value_of(alone, "Point(3) == Point(3)")
    assert "object at" in repr(value_of(hidden, "Point(3)"))
    assert not value_of(the_mistake(GENERATED, "KeyError"), "issubclass(Missing, KeyError)")
    assert value_of(the_mistake("class Only(tuple):\n    x: int\n", "the field"), "Only()") == ()


def test_a_bare_raise_becomes_another_error_and_what_is_for_tools_or_programs_stays() -> None:
    again = the_mistake(GENERATED, "a RuntimeError is raised instead")
    with pytest.raises(RuntimeError):
        value_of(again, "loaded('b')")
    assert not [site for site in mutations(GENERATED, ALL) if site.line in (5, 47, 48)]


def test_names_for_type_checkers_stay() -> None:
    text = 'T = TypeVar("T", bound=int)\nId = typing.NewType("Id", int)\nNAME = str("T")\n'
    assert {site.line for site in mutations(text, ALL)} == {3}


def test_what_runs_at_import_counts_where_it_is_used() -> None:
    used = import_time_lines(GENERATED, frozenset({38}), frozenset({"TABLE", "Only"}))
    assert used == frozenset({19, 20, 35, 36, 43, 44, 45})
    assert import_time_lines(None, frozenset({1}), frozenset({"a"})) == frozenset()


def other_value() -> Callable[[object], Any]:
    space: dict[str, Any] = {}
    exec(OTHER, space)
    return space["_rgr_other"]


def test_the_other_value_of_anything_is_never_equal_to_it() -> None:
    values: list[object] = [
        0,
        1,
        True,
        False,
        1.5,
        1e300,
        float("inf"),
        "",
        "a",
        b"",
        None,
        [],
        {},
        set(),
        frozenset("a"),
        Status.PASSED,
    ]
    assert [value for value in values if other_value()(value) == value] == []


def test_the_other_value_of_a_member_is_another_member_if_there_is_one() -> None:
    assert isinstance(other_value()(Status.PASSED), Status)
    assert type(other_value()(Enum("Alone", "ONE").ONE)) is object


def test_the_other_value_of_an_object_is_one_of_its_kind_with_other_values() -> None:
    class Node:
        def __init__(self, data: str, below: Any = None) -> None:
            self.data = data
            self.below = below

    node = Node("a", Node("b"))
    node.loop = node  # type: ignore[attr-defined]
    twin = other_value()(node)
    assert isinstance(twin, Node)
    assert (twin.data, twin.below.data, node.data) == ("a~", "b~", "a")
    assert type(other_value()(sys)) is object


@pytest.mark.parametrize(
    ("text", "many"),
    [
        ("class A(enum.Enum):\n    X = 1\n    Y = 2", 3),
        ("class A(IntFlag):\n    X = 1\n    Y = 4", 6),
        ("class A(Enum):\n    X = 'x'\n    Y = auto()", 5),
        ("class A:\n    X = 1\n    Y = 2", 6),
    ],
    ids=["in a row", "apart", "no numbers", "no enumeration"],
)
def test_no_two_members_of_an_enumeration_become_one(text: str, many: int) -> None:
    found = [item for item in mutations(text, frozenset({2, 3})) if "base" not in item.what]
    assert len(found) == many
