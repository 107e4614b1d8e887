"""A change comes apart into pieces, each of which can be taken away by itself."""

from hypothesis import given
from hypothesis import strategies as st

from gates_support import change, src
from redgreenrefactor.languages.diff import added_lines, first_written, hunks
from redgreenrefactor.model.evidence import Change, File

lines = st.lists(st.sampled_from(["a", "b", "    c", "", "d"]), max_size=8)


def text(parts: list[str]) -> str:
    return "".join(f"{line}\n" for line in parts)


def test_new_and_changed_lines_are_numbered_as_in_the_new_text() -> None:
    assert added_lines(change("f", "a\nb\nc\n", "a\nB\nc\nd\n")) == {2, 4}


def test_in_a_new_file_every_line_is_new_and_in_a_deleted_one_none() -> None:
    assert added_lines(change("f", None, "a\nb\n")) == {1, 2}
    assert added_lines(change("f", "a\nb\n", None)) == frozenset()


def test_what_was_written_begins_where_a_new_line_says_something() -> None:
    assert first_written(change("f", "a\n\x0c\n", "a\n\x0c\n\n\nb\nc\n")) == 5
    assert first_written(change("f", "a\nb\n", "a\n")) is None


def test_a_binary_file_has_no_lines() -> None:
    assert added_lines(Change("f", File("100644", "1"), File("100644", "2"))) == frozenset()


def test_two_new_functions_are_two_pieces() -> None:
    after = src("""
        def one():
            return 1


        def two():
            return 2
    """)
    pieces = list(hunks(change("f.py", None, after)))
    assert [piece.place for piece in pieces] == ["f.py:1-4", "f.py:5-6"]
    assert pieces[0].without == "def two():\n    return 2\n"
    assert pieces[1].without == "def one():\n    return 1\n\n\n"


def test_a_blank_line_inside_a_function_does_not_tear_it_apart() -> None:
    after = "def one():\n    a = 1\n\n    return a\n"
    assert len(list(hunks(change("f.py", None, after)))) == 1


def test_new_methods_of_a_class_are_pieces_of_their_own() -> None:
    before = "class A:\n    x = 1\n"
    after = before + "\n    def f(self):\n        pass\n\n    def g(self):\n        pass\n"
    pieces = list(hunks(change("f.py", before, after)))
    assert len(pieces) == 2
    assert "def g" in pieces[0].without
    assert "def f" not in pieces[0].without


def test_a_replaced_piece_comes_back_as_it_was() -> None:
    pieces = list(hunks(change("f", "a\nb\n", "a\nB\n")))
    assert [(piece.place, piece.without) for piece in pieces] == [("f:2", "a\nb\n")]


def test_a_deleted_piece_comes_back_as_it_was() -> None:
    pieces = list(hunks(change("f", "a\nb\n", "a\n")))
    assert [piece.without for piece in pieces] == ["a\nb\n"]


def test_added_blank_lines_alone_are_no_piece() -> None:
    assert list(hunks(change("f", "a\n", "a\n\n\n"))) == []


def test_a_form_feed_is_not_the_end_of_a_line() -> None:
    before, after = "a = 1\n\x0c\n", "a = 1\n\x0c\nb = 'x'\n"
    assert added_lines(change("f.py", before, after)) == {3}


@given(lines, lines)
def test_taking_a_piece_away_changes_exactly_that_piece(one: list[str], two: list[str]) -> None:
    given_change = change("f", text(one), text(two))
    after = text(two).splitlines(keepends=True)
    for piece in hunks(given_change):
        rest = piece.without.splitlines(keepends=True)
        kept = after[: piece.first - 1]
        assert rest[: len(kept)] == kept
        tails = [after[piece.last :], after[piece.first - 1 :]]  # a deletion has no lines of its own
        assert any(rest[len(rest) - len(tail) :] == tail for tail in tails)
        assert piece.without != text(two)


@given(lines, lines)
def test_pieces_do_not_overlap_and_hold_every_new_line_that_says_something(
    one: list[str], two: list[str]
) -> None:
    given_change = change("f", text(one), text(two))
    covered: list[int] = []
    for piece in hunks(given_change):
        covered += range(piece.first, piece.last + 1)
    said = {number for number in added_lines(given_change) if two[number - 1].strip()}
    assert said <= set(covered)
    new = [number for number in covered if number in added_lines(given_change)]
    assert len(new) == len(set(new))


@given(lines)
def test_a_new_file_is_the_sum_of_its_pieces(parts: list[str]) -> None:
    whole = text(parts).splitlines(keepends=True)
    pieces = list(hunks(change("f", None, text(parts))))
    joined = [line for piece in pieces for line in whole[piece.first - 1 : piece.last]]
    assert [line for line in joined if line.strip()] == [line for line in whole if line.strip()]
