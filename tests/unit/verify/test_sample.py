"""Which cycles a quick look takes."""

import pytest

from redgreenrefactor.model.events import LookedBack
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


def test_progress_says_how_long_the_rest_may_take() -> None:
    assert looked_back(LookedBack(1, 4, "RED 1")) == "judging again 1 of 4: RED 1"
    assert (
        looked_back(LookedBack(2, 4, "GREEN 1", 12.0)) == "judging again 2 of 4: GREEN 1, about 12.0 s left"
    )
