"""A feature too long for every note."""

from dataclasses import replace

import pytest

from redgreenrefactor.model.chain import NOTED, compacted, expanded
from redgreenrefactor.model.goal import outline
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.workflow import PhaseName

LONG_TEXT = "# Title\n\nWhat it is for.\n\n" + "".join(
    f"## Part {n}\n\n{'words ' * 200}\n\n" for n in range(9)
)


def test_an_outline_is_the_beginning_and_the_headings_of_the_rest() -> None:
    short = outline(LONG_TEXT, 600)

    assert short.startswith("# Title\n\nWhat it is for.\n\n## Part 0\n")
    assert short.endswith("\n[…]\n" + "\n".join(f"## Part {n}" for n in range(1, 9)))
    assert len(short) <= 600


@pytest.mark.parametrize(
    "text", [LONG_TEXT, "x" * 9000, "# a\n" * 9000, "a\n" * 9000 + "# z", "# " + "x" * 9000]
)
def test_an_outline_is_never_longer_and_its_own_outline(text: str) -> None:
    short = outline(text, 600)
    assert 0 < len(short) <= 600
    assert outline(short, 600) == short
    assert text.startswith(short.partition("\n[…]")[0])


def test_what_fits_is_its_own_outline() -> None:
    assert outline("# a\nb", 600) == "# a\nb"


def test_notes_are_compacted_and_expanded_with_all_that_they_hold() -> None:
    first = Handoff(PhaseName.PLAN, PhaseName.PLAN, feature=LONG_TEXT)
    earlier = replace(first, feature=LONG_TEXT + "!", feature_blob="b2", previous=first)
    note = replace(first, feature_blob="b1", previous=earlier)

    small = compacted(note)

    assert small.previous is not None
    assert len(small.feature) <= NOTED
    assert len(small.previous.feature) <= NOTED
    assert small.previous.previous == first  # kept nowhere else
    assert expanded(small, {"b1": LONG_TEXT, "b2": LONG_TEXT + "!"}.get) == note
    assert expanded(small, lambda _blob: None) == small
