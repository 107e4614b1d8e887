import io
import os
import unicodedata
from typing import TextIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from views_samples import HOSTILE, texts

from redgreenrefactor.views.lines import (
    ASCII,
    Ink,
    Outlet,
    Span,
    Tone,
    aligned,
    block,
    cells,
    columns,
    cut,
    cut_row,
    ink_for,
    measure,
    seconds,
    wrap,
)

INK = Ink()


def harmless(text: str) -> bool:
    return not any(unicodedata.category(character)[0] == "C" for character in text)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_outside_text_keeps_a_control_character(text: str) -> None:
    assert harmless(INK.line(text))
    assert all(map(harmless, INK.lines(text)))


def test_colours_and_cursor_movements_vanish_and_the_words_stay() -> None:
    assert INK.line("\x1b[2J\x1b[H\x1b[31mred\x1b[0m words") == "red words"


def test_titles_and_links_vanish_and_what_they_frame_stays() -> None:
    assert INK.line("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b]0;title\x07end") == "link end"


def test_a_sequence_put_together_by_stripping_another_is_shown_not_obeyed() -> None:
    assert INK.line("\x1b\x1b[31m[31mx") == r"\x1b[31mx"


def test_what_has_no_shape_of_its_own_is_shown_as_an_escape() -> None:
    assert INK.line("a\x00b\u202ec\udcffd") == r"a\x00b\u202ec\udcffd"


def test_invisible_joiners_vanish() -> None:
    assert INK.line("a\u200bb\u200dc\ufe0f") == "abc"


def test_a_letter_keeps_its_accents_but_not_a_tower_of_them() -> None:
    assert INK.line("e\u0301") == "e\u0301"
    assert INK.line("e" + "\u0301" * 50) == "e" + "\u0301" * 3


def test_ordinary_text_in_any_script_is_left_as_it_is() -> None:
    assert INK.line("Grüße, 世界, שלום, 🎉 [bold]") == "Grüße, 世界, שלום, 🎉 [bold]"


def test_one_line_has_no_line_breaks_of_any_kind() -> None:
    assert INK.line("a\nb\rc\u2028d\x85e") == "a b c d e"


def test_lines_are_split_at_every_kind_of_break_and_trimmed_of_blank_ends() -> None:
    assert INK.lines("\n\na\r\nb\u2029  c\n \n") == ["a", "b", "  c"]


def test_a_headline_tells_that_there_is_more() -> None:
    assert INK.headline("\n# Roman\n\nmore") == "# Roman …"
    assert INK.headline("Roman\n") == "Roman"
    assert INK.headline(" \n") == ""


def test_what_an_encoding_lacks_is_replaced() -> None:
    assert ASCII.line("naïve → 界") == "na?ve ? ?"


@pytest.mark.parametrize(
    ("encoding", "ok"), [("utf-8", "✓"), ("ascii", "ok"), ("latin-1", "ok"), ("cp1252", "ok")]
)
def test_symbols_suit_the_encoding_of_the_stream(encoding: str, ok: str) -> None:
    ink = ink_for(io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert (ink.ok, ink.encoding) == (ok, encoding)


def test_a_stream_without_or_with_an_unknown_encoding_still_gets_symbols() -> None:
    class Odd(io.StringIO):
        encoding = "no-such-encoding"  # type: ignore[assignment]

    assert ink_for(io.StringIO()).ok == "✓"
    assert ink_for(Odd()) == ASCII


def test_wide_characters_take_two_columns_and_accents_none() -> None:
    assert (cells("abc"), cells("界面"), cells("e\u0301")) == (3, 4, 1)


def test_cutting_marks_what_is_missing_and_never_splits_a_wide_character() -> None:
    assert cut("abcdef", 6, INK) == "abcdef"
    assert cut("abcdef", 5, INK) == "abcd…"
    assert cut("界面界面", 6, INK) == "界面…"
    assert cut("abcdef", 5, ASCII) == "ab..."
    assert cut("abcdef", 0, INK) == ""


def test_a_row_is_cut_in_the_piece_that_overflows() -> None:
    row = (Span("abc", Tone.GOOD), Span("defgh", Tone.BAD), Span("ijk"))
    assert cut_row(row, 11, INK) == row
    assert cut_row(row, 6, INK) == (Span("abc", Tone.GOOD), Span("de…", Tone.BAD))


def test_wrapping_breaks_between_words_and_only_then_inside_them() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("abcdefghij k", 4) == ["abcd", "efgh", "ij", "k"]
    assert wrap("    indented stays", 13) == ["    indented", "stays"]
    assert wrap("", 5) == [""]


def test_a_gap_at_a_break_does_not_indent_the_next_line() -> None:
    assert wrap("one      two", 6) == ["one   ", "two"]


def test_a_block_hangs_from_its_lead_and_says_how_much_it_leaves_out() -> None:
    assert block("do this\nthen that", 40, INK, indent=2, lead="→ ") == ["  → do this", "    then that"]
    assert block("\n".join("abcdef"), 40, INK, most=4) == ["a", "b", "c", "… 3 more lines"]
    assert block("\n".join("abcdef"), 40, INK, most=3) == ["a", "b", "c d …"]
    assert block("one long line of many words", 12, INK, most=1) == ["one long li…"]
    assert block("", 40, INK, lead="! ") == []


def test_remarks_stand_at_the_right_as_long_as_the_left_is_readable() -> None:
    def told(width: int, **more: int) -> list[str]:
        rows = aligned((Span("left side"),), ["", "3 passed", "0.8 s"], width, INK, indent=4, **more)
        return ["".join(span.text for span in row) for row in rows]

    assert told(40) == ["left side" + " " * 16 + "3 passed  0.8 s"]
    assert told(20) == ["left side      0.8 s", "    3 passed"]
    assert told(20, keep=0) == ["left side", "    3 passed  0.8 s"]


@given(texts(), st.integers(20, 120), st.integers(0, 4))
@settings(deadline=None, database=None)
def test_nothing_is_ever_wider_than_asked(text: str, width: int, indent: int) -> None:
    assert all(cells(line) <= width for line in block(text, width, INK, indent=indent, lead="→ "))
    left = (Span(INK.line(text)), Span("more"))
    assert all(
        measure(row) <= width for row in aligned(left, ["a remark", "0.1 s"], width, INK, indent=indent)
    )


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0, "0.0 s"),
        (-1, "0.0 s"),
        (0.84, "0.8 s"),
        (99.94, "99.9 s"),
        (99.97, "1 min 40 s"),
        (3599.4, "59 min 59 s"),
        (3725, "1 h 02 min"),
        (float("nan"), "?"),
        (float("inf"), "?"),
    ],
)
def test_durations_are_told_as_people_say_them(value: float, told: str) -> None:
    assert seconds(value) == told


def broken_pipe() -> TextIO:
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w")


def test_a_broken_pipe_is_silence_and_closing_it_later_is_no_error() -> None:
    stream = broken_pipe()
    outlet = Outlet(stream)
    outlet.write("one\n")
    outlet.write("two\n")
    assert not outlet.alive
    stream.close()


def test_a_broken_stream_that_is_no_file_is_silence_too() -> None:
    class Broken(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError

    outlet = Outlet(Broken())
    outlet.write("one\n")
    assert not outlet.alive


def test_a_closed_stream_is_silence() -> None:
    stream = io.StringIO()
    stream.close()
    outlet = Outlet(stream)
    outlet.write("one\n")
    assert not outlet.alive


def test_a_stream_that_is_only_busy_is_tried_again() -> None:
    class Busy(io.StringIO):
        calls = 0

        def write(self, text: str, /) -> int:
            self.calls += 1
            if self.calls == 1:
                raise BlockingIOError
            return super().write(text)

    stream = Busy()
    outlet = Outlet(stream)
    outlet.write("one\n")
    outlet.write("two\n")
    assert (outlet.alive, stream.getvalue()) == (True, "two\n")


def test_a_stream_that_promises_more_than_it_can_encode_gets_replacements() -> None:
    class Lying(io.StringIO):
        def write(self, text: str, /) -> int:
            text.encode("ascii")
            return super().write(text)

    stream = Lying()
    Outlet(stream).write("✓ ok\n")
    assert stream.getvalue() == "? ok\n"


def test_texts_of_several_rows_stand_below_each_other() -> None:
    assert columns([["#1", "open", "x → y"], ["#100", "merged", "数"]]) == [
        "#1    open    x → y",
        "#100  merged  数",
    ]
    assert columns([]) == []
