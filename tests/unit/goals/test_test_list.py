"""`test-list.md` is read as Markdown, whatever stands in it."""

import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redgreenrefactor.goals.test_list import DEEPEST, parse
from redgreenrefactor.model.goal import Item, Plan


def texts(markdown: str) -> list[str]:
    return [item.text for item in parse(markdown).items]


def test_boxes_become_items_with_their_lines() -> None:
    plan = parse("# List\n\n- [x] one\n- [ ] two\n")
    assert plan == Plan((Item("one", done=True, line=3), Item("two", done=False, line=4)))


def test_the_blob_is_kept() -> None:
    assert parse("- [ ] one", "abc123").blob == "abc123"


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "   \t\n\f\n", "# Only a title\n", "plain text"])
def test_a_text_without_boxes_is_an_empty_plan(text: str) -> None:
    assert parse(text) == Plan()


@pytest.mark.parametrize("marker", ["-", "*", "+", "1.", "7)", "10."])
@pytest.mark.parametrize(("box", "done"), [("[ ]", False), ("[x]", True), ("[X]", True), ("[\t]", False)])
def test_every_kind_of_list_has_boxes(marker: str, box: str, done: bool) -> None:
    assert parse(f"{marker} {box} one").items == (Item("one", done=done, line=1),)


@pytest.mark.parametrize(
    "line",
    [
        "- one",
        "[ ] one",
        "- []one",
        "- [] one",
        "- [x]one",
        "- [y] one",
        "- \\[ ] one",
        "- (x) one",
        "-[ ] one",
    ],
)
def test_what_is_no_box_is_no_item(line: str) -> None:
    assert texts(line) == []


@pytest.mark.parametrize("line", ["- [ ]", "- [x]   ", "- [ ] \u00a0", "1. [ ]\t"])
def test_an_empty_box_is_ignored(line: str) -> None:
    assert texts(f"{line}\n- [ ] one\n") == ["one"]


def test_nested_items_count_in_the_order_of_their_lines() -> None:
    plan = parse("- [ ] outer\n  - [x] inner\n    1. [ ] innermost\n- [ ] last\n")
    assert [(item.text, item.done, item.line) for item in plan.items] == [
        ("outer", False, 1),
        ("inner", True, 2),
        ("innermost", False, 3),
        ("last", False, 4),
    ]


def test_a_box_may_stand_in_a_list_without_boxes() -> None:
    assert texts("- Arithmetic\n  - [ ] adds\n- - [ ] subtracts\n") == ["adds", "subtracts"]


@pytest.mark.parametrize(
    "hidden",
    [
        "```\n- [ ] hidden\n```\n",
        "~~~markdown\n- [x] hidden\n~~~\n",
        "```\n- [ ] hidden, and the fence is never closed\n",
        "    - [ ] hidden\n",
        "\t- [ ] hidden\n",
        "<!-- - [ ] hidden -->\n",
        "<!--\n\n- [ ] hidden\n\n-->\n",
        "<pre>\n- [ ] hidden\n</pre>\n",
        "- plain\n\n  ```\n  - [ ] hidden\n  ```\n",
        "- plain\n  <!--\n  - [ ] hidden\n  -->\n",
    ],
)
def test_boxes_in_code_and_comments_are_ignored(hidden: str) -> None:
    assert texts(hidden) == []
    assert texts(f"- [ ] shown\n\nText.\n\n{hidden}") == ["shown"]


def test_the_list_goes_on_after_a_comment_and_a_fence() -> None:
    plan = parse("- [ ] one\n<!--\n- [ ] two\n-->\n- [ ] three\n```\n- [ ] four\n```\n- [ ] five\n")
    assert [(item.text, item.line) for item in plan.items] == [("one", 1), ("three", 5), ("five", 9)]


def test_boxes_in_block_quotes_count() -> None:
    assert parse("> - [x] one\n>   goes on\n> - [ ] two\n").items == (
        Item("one goes on", done=True, line=1),
        Item("two", done=False, line=3),
    )


def test_an_item_of_several_lines_is_one_text() -> None:
    assert texts("- [ ] one  \n  goes on\nand on\n\n  a paragraph of its own\n- [ ] two") == [
        "one goes on and on",
        "two",
    ]


def test_a_text_that_begins_below_its_box_belongs_to_it() -> None:
    assert parse("-\n  [ ]\n  one\n").items == (Item("one", done=False, line=2),)


def test_a_box_whose_text_is_underlined_counts() -> None:
    assert texts("- [ ] one\n  ---\n- [ ] two\n  ===\n") == ["one", "two"]


def test_a_heading_in_a_list_is_no_box() -> None:
    assert texts("- # [ ] one\n") == []


def test_a_rule_below_the_list_is_no_part_of_it() -> None:
    assert texts("- [ ] one\n---\n") == ["one"]


@pytest.mark.parametrize(
    "text",
    [
        "`a  b` *is* __kept__",
        "see [this](http://x.y) & that",
        "a <!-- note --> b",
        r"\*escaped\*",
        "~~gone~~",
        "ünï ✓",
    ],
)
def test_inline_markup_is_kept_as_written(text: str) -> None:
    assert texts(f"- [ ] {text}\n") == [text]


def test_a_link_definition_called_x_unticks_nothing() -> None:
    assert parse("[x]: http://x.y\n\n- [x] one\n").items == (Item("one", done=True, line=3),)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_counts_once(end: str) -> None:
    plan = parse(end.join(["\ufeff- [x] one", "", "- [ ] two", "  goes on", "- [ ] three"]))
    assert [(item.text, item.line) for item in plan.items] == [("one", 1), ("two goes on", 3), ("three", 5)]


def test_form_feeds_and_their_like_end_no_line() -> None:
    plan = parse("a\fb\x0bc\x1cd\x85e\u2028f\n\n- [ ] o\fn\u2028e\n- [ ] two\n")
    assert [(item.text, item.line) for item in plan.items] == [("o\fn\u2028e", 3), ("two", 4)]


def test_tabs_may_stand_for_spaces() -> None:
    assert texts("-\t[ ]\tone\n\t-\t[ ] two\n") == ["one", "two"]


def test_deep_nesting_loses_nothing() -> None:
    deep = DEEPEST // 2 - 1
    lines = ["  " * level + f"- [ ] level {level}" for level in range(deep)]
    assert len(parse("\n".join([*lines, "- [ ] last"])).items) == deep + 1


@pytest.mark.parametrize("opening", ["> ", "- ", "> - ", "1. ", "* > "])
def test_absurd_nesting_is_survived(opening: str) -> None:
    assert isinstance(parse(opening * (sys.getrecursionlimit() * 2) + "[ ] one"), Plan)


@pytest.mark.no_cover
def test_ten_thousand_items_are_read_in_reasonable_time() -> None:
    text = "".join(f"- [{'x' if n % 2 else ' '}] number {n} does `this` and *that*\n" for n in range(10_000))
    start = time.process_time()
    plan = parse(text)
    assert time.process_time() - start < 5  # a fraction of a second on an idle machine
    assert (len(plan.items), len(plan.done), plan.items[-1].line) == (10_000, 5_000, 10_000)


WORD = st.text(st.characters(categories=["L", "N"]), min_size=1)
WORDS = st.lists(WORD, min_size=1, max_size=6).map(" ".join)
ENTRIES = st.lists(st.tuples(WORDS, st.sampled_from(" xX"), st.sampled_from("-*+")), max_size=30)


@given(ENTRIES, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "# Title", "Some words."]))
@settings(deadline=None)
def test_a_list_that_was_written_is_read_back(
    entries: list[tuple[str, str, str]], end: str, title: str
) -> None:
    lines = [title, "", *(f"{marker} [{box}] {text}" for text, box, marker in entries)]
    expected = tuple(Item(text, box != " ", line) for line, (text, box, _) in enumerate(entries, start=3))
    assert parse(end.join(lines)).items == expected


@given(st.lists(st.tuples(WORDS, st.booleans(), st.integers(0, 3)), max_size=30))
@settings(deadline=None)
def test_a_nested_list_that_was_written_is_read_back(entries: list[tuple[str, bool, int]]) -> None:
    depth, lines = -1, list[str]()
    for text, done, wanted in entries:
        depth = min(wanted, depth + 1)
        lines.append(f"{'  ' * depth}- [{'x' if done else ' '}] {text}")
    assert [(item.text, item.done) for item in parse("\n".join(lines)).items] == [
        entry[:2] for entry in entries
    ]


MARKDOWN = st.lists(
    st.sampled_from(
        [*"-*+>#`~[]() \t\n\r\fx1.:|<!&\\_=\0\ufeff\ud800", "- [ ] ", "```", "<!--", "-->", "\n\n", "    "]
    )
).map("".join)


@given(st.one_of(st.text(), MARKDOWN))
@settings(deadline=None)
def test_any_text_can_be_read(text: str) -> None:
    items = parse(text).items
    assert all(item.text.strip() == item.text != "" for item in items)
    assert [item.line for item in items] == sorted(item.line for item in items)
