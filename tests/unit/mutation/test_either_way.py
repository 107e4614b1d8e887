"""Old tests read what code of another form gives; what is not there in either way is still missing."""

from typing import Any

import pytest

from redgreenrefactor.mutation.expectations import reading_either_way


class Person:
    name = "Ada"

    def age(self) -> int:
        return 36

    def grow(self, years: int = 1) -> int:
        return 36 + years


def run(test: str, person: Any) -> None:
    text = reading_either_way(test)
    assert text is not None
    exec(compile(text, "test", "exec"), {"person": person})


@pytest.mark.parametrize(
    "test",
    [
        "assert person['name'] == 'Ada'",
        "assert person.age == 36",
        "assert person.age() == 36",
        "assert person.name() == 'Ada'",
        "assert person.grow(2) == 38",
        "import unittest\nunittest.TestCase().assertEqual(person.age, 36)",
        "person.name = 'Bob'\nassert person['name'] == 'Bob'",
        "rows = {'a': [1]}\nassert rows['a'][0] == 1",
    ],
)
def test_what_is_there_in_one_way_or_the_other_is_read(test: str) -> None:
    run(test, Person())


def test_what_became_a_dictionary_is_read_too() -> None:
    run("assert person.name == 'Ada'", {"name": "Ada"})


@pytest.mark.parametrize(
    ("test", "error"),
    [
        ("person['height']", TypeError),
        ("person.height", AttributeError),
        ("assert person['name'] == 'Bob'", AssertionError),
    ],
)
def test_what_is_not_there_or_different_is_noticed(test: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        run(test, Person())


@pytest.mark.parametrize("text", [None, "def ("])
def test_what_is_no_source_is_left_as_it_is(text: str | None) -> None:
    assert reading_either_way(text) == text
