"""A comparison that would hold for other values, too, ends the test; every other goes on as if nobody looked."""

import math
import unittest
from typing import Any
from unittest.mock import ANY, Mock

import pytest

from redgreenrefactor.mutation.expectations import BLIND, with_bent_comparisons

IMPL = "thing.py"


class Anything(float):
    """Equals, holds and exceeds whatever it is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __contains__(self, other: object) -> bool:
        return True

    __lt__ = __le__ = __gt__ = __ge__ = __eq__


class AnyNumber(int):
    """Equals every number, and nothing else."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | float)

    def __hash__(self) -> int:
        return 0


def bent(body: str, head: str = "from thing import f\n\n\n") -> str:
    text = f"{head}def test_it():\n" + "\n".join(f"    {line}" for line in body.splitlines()) + "\n"
    twin = with_bent_comparisons(text, IMPL)
    assert twin is not None
    return twin


def outcome(text: str, **names: Any) -> str | None:
    """Return what the test raises with these names for what it imports, None if it passes."""
    space: dict[str, Any] = dict(names)
    exec(text.replace("from thing import f\n", ""), space)
    try:
        space["test_it"]()
    except BaseException as error:  # noqa: BLE001
        return type(error).__name__
    return None


CASE = unittest.TestCase()
COMPARISONS = [
    "assert f() == 4",
    "assert 4 == f()",
    "x = f()\nassert x == 4",
    "assert f() == 4 or f() is None",
    "assert f() == 4 and True",
    "assert f() in (4, 5)",
    "assert 3 < f() < 5",
    "assert f() == 4 == f()",
    "assert all(f() == n for n in [4])",
    "for n in [4]:\n    assert f() == n",
    "def check(one, two):\n    if one != two:\n        assert one == two\n    assert one == two\ncheck(f(), 4)",
    "if not f() == 4:\n    raise ValueError",
    "case.assertEqual(f(), 4)",
    "case.assertEqual(4, f(), 'said')",
    "case.assertAlmostEqual(f(), 4)",
    "case.assertIn(f(), [4])",
    "seen = Mock()\nseen(f())\nseen.assert_called_once_with(4)",
    "seen = Mock()\nseen(f(), 1)\nseen.assert_called_with(4, 1)",
]


@pytest.mark.parametrize("body", COMPARISONS)
def test_what_equals_everything_ends_the_test_however_it_is_compared(body: str) -> None:
    twin = bent(body)
    assert outcome(twin, f=lambda: Anything(4), case=CASE, Mock=Mock) == BLIND
    assert outcome(twin, f=lambda: 4, case=CASE, Mock=Mock) is None


@pytest.mark.parametrize("value", [AnyNumber(3), ANY])
def test_what_equals_every_number_or_comes_from_a_library_is_seen(value: object) -> None:
    assert outcome(bent("assert f() == 4"), f=lambda: value) == BLIND
    assert outcome(bent("x = f()\nn = 4\nassert x == n"), f=lambda: value) == BLIND


@pytest.mark.parametrize(
    "value",
    [True, False, 0, 7, -1, 2.5, "x", b"x", None, [1], (1, 2), {"a": 1}, {1}, object(), math.inf, 10**400],
)
def test_what_is_equal_to_itself_alone_passes(value: object) -> None:
    assert outcome(bent("assert f() == expected"), f=lambda: value, expected=value) is None


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("assert f() == pytest.approx(4, abs=3)", 5),
        ("case.assertAlmostEqual(f(), 4, delta=2000)", 1000),
        ("class Even:\n    def __eq__(self, n):\n        return n % 2 == 0\nassert f() == Even()", 6),
        ("assert f() == ANY", 6),
        ("n = ANY\nassert f() == n", 6),
        ("assert f() != 5", 6),
        ("assert f() is not None and f() not in [1] and not (f() is None)", 6),
        ("case.assertNotEqual(f(), 5)\nassert f() == 6", 6),
        ("case.assertTrue(f() == 6, 'said')", 6),
        ("numbers = iter([6, 7])\nassert f() in numbers\nassert 7 in numbers", 6),
        ("case.assertEqual(*[f(), 6])\nassert f() == 6", 6),
        ("assert 7 < f() < 8 or f() < 7 < 8", 6),
        ("same = case.assertEqual\nassert_equal = lambda one, two: same(one, two)\nassert_equal(f(), 6)", 6),
        ("with case.assertRaises(ValueError):\n    int('x' if f() == 6 else 6)", 6),
        ("assert (f() == [4]) is False", 6),
    ],
)
def test_honest_comparisons_of_every_kind_go_on_as_they_would(body: str, value: object) -> None:
    names: dict[str, Any] = {"pytest": pytest, "case": CASE, "ANY": ANY}
    assert outcome(bent(body), f=lambda: value, **names) is None


class Person:
    """Somebody, equal by number; the name is looked at in one of them alone."""

    def __init__(self, number: int, name: str) -> None:
        self.number, self.name = number, name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Person) and self.number == other.number

    def __hash__(self) -> int:
        return self.number


class Named(Person):
    """Somebody who is equal whatever the case of the name."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Person) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        return 0


class Tag:
    """Something that is equal by the first of its parts."""

    __slots__ = ("key", "value")

    def __init__(self, key: str, value: object = None) -> None:
        self.key, self.value = key, value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tag) and self.key == other.key

    def __hash__(self) -> int:
        return 0


class Column:
    """Makes a condition of each comparison."""

    def __eq__(self, other: object) -> Any:
        return [other]

    def __hash__(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("body", "right", "wrong"),
    [
        ("assert f() == Person(7, 'Ada')", Person(7, "Ada"), Person(7, "Grace")),
        ("ada = Person(7, 'Ada')\nassert f() == ada", Person(7, "Ada"), Person(7, "Grace")),
        ("case.assertEqual(f(), Person(7, 'Ada'))", Person(7, "Ada"), Person(7, "Grace")),
        ("assert [Tag('a', [1])] == f()", [Tag("a", [1])], [Tag("a", [2])]),
    ],
)
def test_a_part_that_is_asked_for_and_not_compared_has_to_be_right(
    body: str, right: object, wrong: object
) -> None:
    names: dict[str, Any] = {"Person": Person, "Tag": Tag, "case": CASE}
    assert outcome(bent(body), f=lambda: right, **names) is None
    assert outcome(bent(body), f=lambda: wrong, **names) == BLIND


def test_a_part_that_is_compared_in_its_own_way_may_be_another() -> None:
    assert outcome(bent("assert f() == Named(7, 'Ada')"), f=lambda: Named(7, "ADA"), Named=Named) is None
    assert outcome(bent("assert f() == Tag('a')"), f=lambda: Tag("a", 5), Tag=Tag) is None  # nobody asks


def test_a_comparison_that_gives_something_to_go_on_with_is_not_judged() -> None:
    assert outcome(bent("x = f() == 4\nassert x == [4]"), f=Column) is None
    assert outcome(bent("assert f() == 4"), f=Column) == BLIND


class Learning:
    """Equals whatever it is compared with first."""

    def __init__(self) -> None:
        self.first: list[object] = []

    def __eq__(self, other: object) -> bool:
        self.first = self.first or [other]
        return self.first[0] is other

    def __hash__(self) -> int:
        return 0


@pytest.mark.parametrize("body", ["assert f() == 4", "case.assertEqual(f(), 4)"])
def test_what_learns_from_the_first_comparison_learns_the_wrong_one(body: str) -> None:
    assert outcome(bent(body), f=Learning, case=CASE) == BLIND


def test_what_does_not_hold_is_left_to_the_test() -> None:
    for body in (
        "assert not f() == True",
        "with pytest.raises(AssertionError):\n    case.assertEqual(f(), True)",
    ):
        assert outcome(bent(body), f=lambda: False, case=CASE, pytest=pytest) is None


class About(float):
    """Equals every number that is near enough."""

    near = 0.5

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | float) and abs(float(self) - float(other)) < self.near

    def __hash__(self) -> int:
        return 0


class Vaguely(About):
    near = 1_000_000


def test_a_tolerance_that_the_code_has_of_its_own_is_believed_unless_nothing_leaves_it() -> None:
    for body in ("assert f() == 100", "assert 100 == f()", "case.assertEqual(f(), 100)"):
        assert outcome(bent(body), f=lambda: About(100), case=CASE) is None
        assert outcome(bent(body), f=lambda: Vaguely(212), case=CASE) == BLIND


class Roughly(float):
    """Equals what differs by less than one."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | float) and abs(float(self) - float(other)) < 1

    def __hash__(self) -> int:
        return 0


class Angle(float):
    """Equals itself after any number of turns."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | float) and (float(self) - float(other)) % 360 == 0

    def __hash__(self) -> int:
        return 0


class Weight:
    """Has its number, and perhaps another, inside."""

    def __init__(self, kilos: float, *more: float, within: float = 1) -> None:
        self.kilos = kilos
        self.more = more
        self.within = str(within)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | float) and abs(self.kilos - other) < float(self.within)

    __hash__ = None  # type: ignore[assignment]


class AnyClass(type):
    """Makes classes that equal everything."""

    def __eq__(cls, other: object) -> bool:
        return True

    __hash__ = type.__hash__


def test_a_class_that_equals_everything_is_seen_and_one_that_is_itself_is_not() -> None:
    assert outcome(bent("assert f() == int"), f=lambda: AnyClass("Kind", (), {"size": 1})) == BLIND
    assert outcome(bent("assert f() == int"), f=lambda: int) is None


@pytest.mark.parametrize("claim", ["assert f() == 6", "assert 6 == f()", "case.assertEqual(f(), 6)"])
@pytest.mark.parametrize("value", [Roughly(5.5), Weight(5.5)], ids=["a number", "an object"])
def test_a_number_that_is_only_near_the_expected_one_is_not_it(claim: str, value: object) -> None:
    assert outcome(bent(claim), f=lambda: value, case=CASE) == BLIND


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        ("assert f() == 6", Roughly(6)),
        ("assert f() == 100", Roughly(100.4)),  # rounded
        ("a, b = 5.5, 1e999\nassert f() == 6", Roughly(5.5)),  # the test says so
        ("assert f() == 10", Angle(370)),
        ("assert f() == f()", Roughly(5.5)),
        ("assert f() == 6", Weight(6)),
    ],
)
def test_a_number_with_an_equality_of_its_own_may_be_what_is_expected(claim: str, value: object) -> None:
    assert outcome(bent(claim), f=lambda: value) is None


def test_coroutines_are_read_as_functions_are() -> None:
    text = "from thing import f\n\n\nasync def test_it():\n    assert await f() == 4\n"
    twin = with_bent_comparisons(text, IMPL)
    assert twin is not None
    assert "(True, False)" in twin  # what comes from the code, and what does not


def test_the_comparison_that_was_not_believed_is_named() -> None:
    space: dict[str, Any] = {"f": Anything}
    exec(bent("assert f() == 4").replace("from thing import f\n", ""), space)
    with pytest.raises(BaseException, match=r"line 5: f\(\) == 4 holds for another value, too"):
        space["test_it"]()


@pytest.mark.parametrize("text", [None, "def test_it(:", "def test_it():\n    assert f()\n"])
def test_a_file_that_does_not_parse_or_compares_nothing_is_left_alone(text: str | None) -> None:
    assert with_bent_comparisons(text, IMPL) is None


def test_what_has_to_come_first_in_a_file_still_does() -> None:
    head = '"""About."""\nfrom __future__ import annotations\n\n'
    text = bent("assert f() == 4", head)
    assert text.startswith('"""About."""\nfrom __future__ import annotations\n')
    assert outcome(text, f=lambda: 4) is None


def test_an_array_that_is_neither_true_nor_false_is_compared_as_it_is() -> None:
    class Array:
        def __eq__(self, other: object) -> Any:
            return self

        def __hash__(self) -> int:
            return 0

        def __bool__(self) -> bool:
            raise ValueError("ambiguous")

        def all(self) -> bool:
            return True

    assert outcome(bent("assert (f() == 4).all()"), f=Array) is None


class Yes(type):
    """Whatever is asked for is an instance."""

    def __instancecheck__(cls, thing: object) -> bool:
        return True


class Duck(type):
    """Whatever has the right method is an instance."""

    def __instancecheck__(cls, thing: object) -> bool:
        return hasattr(thing, "isdigit")


@pytest.mark.parametrize("body", ["assert isinstance(f(), Token)", "CASE.assertIsInstance(f(), Token)"])
def test_a_class_that_says_yes_to_everything_is_seen_and_one_that_looks_is_not(body: str) -> None:
    for kind, found in ((Yes, BLIND), (Duck, None)):
        assert outcome(bent(body), f=lambda: "12", Token=kind("Token", (), {}), CASE=CASE) == found


class Reading:
    """A number as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return int(self.text[0]) == other

    def __hash__(self) -> int:
        return hash(self.text)


def test_values_of_different_kinds_are_not_held_against_each_other_part_by_part() -> None:
    assert outcome(bent("x = 7\nassert Reading('7 C') == x"), Reading=Reading) is None
