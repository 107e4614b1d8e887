"""What a forge promises about pull requests, on GitHub's interface on loopback."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from github_server import TOKEN, github
from redgreenrefactor.errors import ForgeError
from redgreenrefactor.forge.address import Address
from redgreenrefactor.forge.github import GitHub
from redgreenrefactor.model.review_task import Draft, PullRequestState

DRAFT = Draft("Add a calculator", "It adds.", "tdd/calc", "main")


@dataclass(frozen=True)
class Place:
    """A forge that knows the branches main and tdd/…, and what a person does there."""

    forge: GitHub
    close: Callable[..., None]
    body: Callable[[int], str]


@pytest.fixture
def place() -> Iterator[Place]:
    with github() as server:
        server.branches = lambda branch: branch in ("main", "tdd/calc", "tdd/other")
        real = GitHub(Address("", "acme", "calc", server.url), TOKEN, pause=lambda _: None)
        yield Place(real, server.close, lambda number: server.pulls[number - 1]["body"])


def test_a_branch_without_a_pull_request_has_none(place: Place) -> None:
    assert place.forge.find("tdd/calc") is None
    assert place.forge.list("tdd/calc") == ()


def test_what_is_opened_can_be_found_by_its_branch(place: Place) -> None:
    made = place.forge.create(DRAFT)
    assert (made.title, made.head_branch, made.base_branch) == ("Add a calculator", "tdd/calc", "main")
    assert (made.number, made.state) == (1, PullRequestState.OPEN)
    assert made.url
    assert place.body(1) == "It adds."
    assert place.forge.find("tdd/calc") == made
    assert place.forge.find("tdd/other") is None


def test_opening_twice_gives_the_one_that_stands(place: Place) -> None:
    made = place.forge.create(DRAFT)
    assert place.forge.create(DRAFT) == made
    assert len(place.forge.list("tdd/calc")) == 1


def test_a_pull_request_can_be_given_another_text(place: Place) -> None:
    made = place.forge.create(DRAFT)
    changed = place.forge.update(made.number, "Add and subtract", "It does both.")
    assert (changed.number, changed.title) == (made.number, "Add and subtract")
    assert place.body(1) == "It does both."
    assert place.forge.find("tdd/calc") == changed


def test_lists_tell_open_closed_and_merged_ones_apart_newest_first(place: Place) -> None:
    for number in (1, 2, 3):
        assert place.forge.create(DRAFT).number == number
        if number < 3:
            place.close(number, merged=number == 1)
    states = [(pull.number, str(pull.state)) for pull in place.forge.list("tdd/calc")]
    assert states == [(3, "open"), (2, "closed"), (1, "merged")]
    found = place.forge.find("tdd/calc")
    assert found is not None
    assert found.number == 3


def test_a_closed_one_is_not_found_and_makes_room_for_another(place: Place) -> None:
    place.forge.create(DRAFT)
    place.close(1)
    assert place.forge.find("tdd/calc") is None
    assert place.forge.create(DRAFT).number == 2


def test_a_branch_that_is_not_there_is_rejected(place: Place) -> None:
    with pytest.raises(ForgeError) as raised:
        place.forge.create(Draft("x", "y", "tdd/calc", "nowhere"))
    assert raised.value.type == "GitHubRejected"
    assert raised.value.exit_code == 3


def test_what_is_not_there_cannot_be_changed(place: Place) -> None:
    with pytest.raises(ForgeError) as raised:
        place.forge.update(7, "x", "y")
    assert raised.value.type == "GitHubNotFound"


def test_a_forge_says_whether_we_can_write(place: Place) -> None:
    assert place.forge.may_push()
    assert place.forge.name
