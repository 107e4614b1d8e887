"""Every phase's commits have its prefix, whatever a session wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redgreenrefactor.git.sealing import fits, mended
from redgreenrefactor.loop.workflows import TDD, review

GREEN = ("feat", "fix")
prefixes = st.sampled_from([phase.prefixes for phase in (*TDD.phases, *review(3).phases)])
words = st.text(max_size=40) | st.sampled_from(
    ["", "feat:", "chore(x)!: a", "fix: \n\nb", "feat(a\nb): c", "test:x"]
)
begun = st.sampled_from(["", "feat", "fix", "chore", "wip", "Test", "plan", "refactor"])
messages = st.builds(
    "{}{}{}{}".format, begun, st.sampled_from(["", ":", "(x): ", "!: ", ": \n"]), words, words
)


@pytest.mark.parametrize(
    "message",
    ["feat: add", "fix: add", "feat(calc): add", "feat!: add", "fix(a b)!: add", "feat:add", "feat: a\n\nb"],
)
def test_a_prefix_of_the_phase_fits_with_or_without_a_scope(message: str) -> None:
    assert fits(message, GREEN)
    assert mended(message, GREEN, "case") == f"{message}\n"


@pytest.mark.parametrize(
    ("message", "better"),
    [
        ("add", "feat: add\n"),
        ("test: add", "feat: add\n"),
        ("chore(x): add", "feat(x): add\n"),
        ("refactor!: add", "feat!: add\n"),
        ("Feat: add", "feat: add\n"),
        ("FIX(x): add", "feat(x): add\n"),
        ("features: add", "feat: features: add\n"),
        ("  add  \n\n  Because.\n\n", "feat: add\n\n  Because.\n"),
        ("wip: add\n\nBecause.\n", "feat: add\n\nBecause.\n"),
        ("", "feat: adds two\n"),
        (" \n ", "feat: adds two\n"),
        ("feat:", "feat: adds two\n"),
        ("feat:  \n\nBecause.", "feat: Because.\n"),
        ("chore(a\nb): add", "feat: chore(a\nb): add\n"),
        ("feat (x): add", "feat: feat (x): add\n"),
    ],
)
def test_anything_else_is_mended(message: str, better: str) -> None:
    assert not fits(message, GREEN)
    assert mended(message, GREEN, " adds two ") == better


def test_without_any_words_it_says_so() -> None:
    assert mended("", ("test",), " ") == "test: no message\n"
    assert mended("chore: ", ("test",), "") == "test: no message\n"


def test_a_case_that_reads_like_a_prefix_is_taken_at_its_word() -> None:
    assert mended("", GREEN, "fix: the roof") == "fix: the roof\n"
    assert mended("", GREEN, "docs: the roof") == "feat: the roof\n"


@given(messages, prefixes, words)
def test_what_is_mended_fits_and_stays(message: str, wanted: tuple[str, ...], description: str) -> None:
    better = mended(message, wanted, description)
    assert fits(better, wanted)
    assert better.startswith(wanted)
    assert better.endswith("\n")
    assert mended(better, wanted, description) == better
    if fits(message, wanted):
        assert better == message.strip() + "\n"
