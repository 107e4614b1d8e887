import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from redgreenrefactor.model.values import attributes, field, frozen, replace


@frozen
class Point:
    """A point."""

    x: int
    y: int = 0
    seen: int = field(compare=False, default_factory=lambda: 7)


@frozen
class Named(Point):
    """A point with a name."""

    name: str = ""
    tags: Mapping[str, str] = field(default_factory=dict[str, str], metadata={"key": "labels"})


@frozen
class Nothing:
    """No attributes at all."""


@dataclasses.dataclass(frozen=True, slots=True)
class Marked(Named):
    """A dataclass of the usual kind on top."""

    mark: str = "!"


def test_a_value_is_made_compared_hashed_and_shown_by_its_attributes() -> None:
    one = Point(1, y=2)
    assert (one.x, one.y, one.seen) == (1, 2, 7)
    assert one == Point(1, 2) != Point(2, 2)
    assert one != (1, 2, 7)
    assert {one: "here"}[Point(1, 2)] == "here"
    assert repr(one) == "Point(x=1, y=2, seen=7)"
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())
    match one:
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_what_is_left_out_of_comparisons_makes_no_difference() -> None:
    assert Point(1, 2, 3) == Point(1, 2, 4)
    assert hash(Point(1, 2, 3)) == hash(Point(1, 2, 4))


def test_nobody_changes_a_value() -> None:
    point: Any = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="Point is frozen: x"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="Point is frozen: y"):
        del point.y


def test_what_is_missing_or_too_much_is_a_type_error() -> None:
    makers: Any = Point
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required positional argument: 'x'"):
        makers()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        makers(1, z=3)


def test_a_default_that_is_made_is_made_for_each_value_anew() -> None:
    assert Named(1).tags == {}
    assert Named(1).tags is not Named(1).tags


def test_attributes_are_inherited_in_order_and_each_class_makes_its_own() -> None:
    named = Named(1, 2, 3, "home")
    assert (named.x, named.y, named.seen, named.name) == (1, 2, 3, "home")
    assert Point(1, 2) != named
    assert Named.__match_args__ == ("x", "y", "seen", "name", "tags")


def test_everything_in_dataclasses_takes_a_value() -> None:
    assert dataclasses.is_dataclass(Named)
    assert dataclasses.replace(Named(1), name="there") == Named(1, name="there")
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 0, "seen": 7}
    tags = dataclasses.fields(Named)[-1]
    assert (tags.name, tags.metadata["key"], tags.default_factory) == ("tags", "labels", dict[str, str])
    assert [each.compare for each in dataclasses.fields(Point)] == [True, True, False]
    assert copy.deepcopy(Named(1)) == Named(1)


def test_a_dataclass_may_come_after_a_value() -> None:
    assert Marked(1, mark="?") == dataclasses.replace(Marked(1), mark="?")
    assert repr(Marked(1)) == "Marked(x=1, y=0, seen=7, name='', tags={}, mark='!')"


def test_a_method_that_a_class_has_of_its_own_stays() -> None:
    @frozen
    class Secret:
        """One that is not shown."""

        text: str

        def __repr__(self) -> str:
            return "Secret"

    assert repr(Secret("x")) == "Secret"


def test_some_attributes_of_a_value_are_replaced() -> None:
    assert replace(Named(1, name="here"), x=2) == Named(2, name="here")
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        replace(Point(1), z=3)


def test_what_a_class_says_of_its_attributes() -> None:
    known = {one.name: one for one in attributes(Named)}
    assert [name for name, one in known.items() if one.required] == ["x"]
    assert known["y"].default == 0
    assert known["tags"].metadata == {"key": "labels"}
    with pytest.raises(TypeError, match="Marked is no class of frozen values"):
        attributes(Marked)
