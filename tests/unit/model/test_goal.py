"""The list of cases as a value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redgreenrefactor.model.goal import Item, Plan, cited, comparable, title_of

DONE, OPEN, LATER = Item("one", done=True, line=1), Item("two", done=False, line=2), Item("three", False, 3)


def test_items_are_done_or_open_in_list_order() -> None:
    plan = Plan((OPEN, DONE, LATER))
    assert (plan.done, plan.open) == ((DONE,), (OPEN, LATER))
    assert (Plan().done, Plan().open) == ((), ())


@pytest.mark.parametrize(
    "other", ["adds two numbers", "Adds  two\tnumbers.", "`adds` *two* __numbers__", " adds two numbers... "]
)
def test_two_wordings_of_a_case_are_the_same(other: str) -> None:
    assert Item(other, done=False, line=1).key == comparable("adds two numbers")


@pytest.mark.parametrize("other", ["adds three numbers", "adds two, numbers", "add two numbers"])
def test_other_words_are_another_case(other: str) -> None:
    assert comparable(other) != comparable("adds two numbers")


@given(st.text())
def test_comparing_twice_changes_nothing_more(text: str) -> None:
    once = comparable(text)
    assert comparable(once) == once


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Calculator\n\nIt adds.", "Calculator"),
        ("\n\n##  A   calculator ##\n", "A calculator"),
        ("#\n\t# \nIt adds.", "It adds."),
        ("", ""),
    ],
)
def test_a_text_is_about_what_its_first_line_says(text: str, title: str) -> None:
    assert title_of(text) == title


def test_what_is_cited_closes_its_quotation_marks_even_where_it_is_cut() -> None:
    assert cited("# Roman numerals\n\nand more") == "'Roman numerals'"
    assert cited("a long feature " * 20, most=16) == "'a long feature…'"
