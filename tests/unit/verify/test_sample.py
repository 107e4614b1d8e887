"""Which cycles a quick look takes."""

import pytest

from redgreenrefactor.model.events import LookedBack
from redgreenrefactor.verify.judging import time_left
from redgreenrefactor.verify.retrial import spread
from redgreenrefactor.views.turn_words import looked_back


@pytest.mark.parametrize(
    ("many", "most", "taken"),
    [
        (10, 1, [10]),
        (10, 2, [5, 10]),
        (10, 3, [3, 6, 10]),
        (3, 3, [1, 2, 3]),
        (3, 9, [1, 2, 3]),
        (0, 2, []),
        (0, 0, []),
    ],
)
def test_a_sample_is_spread_over_the_run_and_holds_its_last_cycle(
    many: int, most: int, taken: list[int]
) -> None:
    assert spread(range(1, many + 1), most) == taken


@pytest.mark.parametrize(
    ("noted", "done", "spent", "left"),
    [
        ([None, 4.0, 4.0, 4.0], 0, 0.0, 12.0),  # as long as it took when it was made
        ([None, 4.0, 4.0, 4.0], 1, 0.1, 12.3),  # a PLAN is no measure
        ([None, 4.0, 4.0, 4.0], 2, 12.0, 16.0),  # somewhat slower here
        ([None, 0.0, 4.0, 4.0], 1, 0.1, None),  # not told: nothing is known before the first
        ([None, 0.0, 4.0, 4.0], 2, 3.0, 6.0),
        ([4.0, None], 1, 5.0, None),
    ],
)
def test_how_long_the_rest_takes_is_told_by_what_it_took_before(
    noted: list[float | None], done: int, spent: float, left: float | None
) -> None:
    assert time_left(noted, done, spent) == (left if left is None else pytest.approx(left))


def test_progress_says_how_long_the_rest_may_take() -> None:
    assert looked_back(LookedBack(1, 4, "RED 1")) == "judging again 1 of 4: RED 1"
    assert (
        looked_back(LookedBack(2, 4, "GREEN 1", 12.0)) == "judging again 2 of 4: GREEN 1, about 12.0 s left"
    )
