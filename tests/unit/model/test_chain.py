"""Several runs on one commit: nobody's handoff is lost, and everybody's is told from a forgery."""

from dataclasses import replace

import pytest

from notes import with_keys
from redgreenrefactor.model.chain import (
    merged,
    of_run,
    on_top,
    only_others_wrote,
    runs_of,
    stacked,
)
from redgreenrefactor.model.handoff import Handoff, to_object
from redgreenrefactor.model.workflow import PhaseName


def note(run_id: str, feature: str = "x") -> Handoff:
    return Handoff(phase=PhaseName.PLAN, next_phase=PhaseName.PLAN, run_id=run_id, feature=feature)


A, B, C = note("a"), note("b"), note("c")
A2, B2 = note("a", "changed"), note("b", "changed")


def test_a_note_of_its_own_run_is_replaced() -> None:
    assert stacked(None, A) == A
    assert stacked(A, A2) == A2


def test_another_runs_note_is_kept_below() -> None:
    both = stacked(A, B)
    assert both.run_id == "b"
    assert both.previous == A
    assert stacked(A, both) == both


def test_a_run_below_is_replaced_where_it_stands() -> None:
    three = stacked(stacked(stacked(A, B), C), A2)
    assert [of_run(three, run) for run in "ca"] == [three, A2]
    middle = of_run(three, "b")
    assert middle is not None
    assert middle.previous == A2


def test_a_run_that_never_was_here_is_not_found() -> None:
    assert of_run(stacked(A, B), "c") is None


@pytest.mark.parametrize("previous", ["text", {"phase": "NONE"}, None])
def test_what_cannot_be_read_below_is_nothing(previous: object) -> None:
    odd = with_keys(A, previous=previous)
    assert odd.previous is None
    assert to_object(odd).get("previous") == previous  # kept all the same


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, B),
        (B, B2),
        (A, stacked(A, B)),
        (stacked(A, B), stacked(stacked(A, B), C)),
        (stacked(A, B), stacked(A, B2)),
        (stacked(B, A), stacked(B2, A)),
        (A, A),
        (None, None),
    ],
    ids=["new", "own", "opening", "opening on two", "above ours", "below ours", "ours", "nothing"],
)
def test_other_runs_may_write_their_own(before: Handoff | None, after: Handoff | None) -> None:
    assert only_others_wrote(before, after, "a")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, A),
        (A, A2),
        (A, None),
        (B, None),
        (A, B),
        (stacked(A, B), B),
        (stacked(A, B), stacked(A2, B)),
        (stacked(B, A), A),
        (stacked(B, A), stacked(B, A2)),
    ],
    ids=[
        "new",
        "edited",
        "deleted",
        "theirs deleted",
        "buried",
        "dug out",
        "edited below",
        "theirs lost",
        "edited above",
    ],
)
def test_our_own_is_nobody_elses_to_write(before: Handoff | None, after: Handoff | None) -> None:
    assert not only_others_wrote(before, after, "a")


def test_a_run_that_goes_on_is_put_on_top_and_nobody_is_lost() -> None:
    three = stacked(stacked(A, B), C)
    assert on_top(None, A) == A
    assert on_top(A, A2) == A2
    again = on_top(three, A2)
    assert [handoff.run_id for handoff in runs_of(again)] == ["a", "c", "b"]
    assert of_run(again, "a") == again
    assert runs_of(again)[0] == A2


def test_two_notes_written_apart_become_one_with_the_newest_of_each_run() -> None:
    def at(handoff: Handoff, when: str) -> Handoff:
        return replace(handoff, timestamp=when)

    ours = stacked(at(A, "t3"), at(B, "t4"))
    theirs = stacked(stacked(at(C, "t1"), at(A2, "t5")), at(B2, "t2"))
    assert merged(ours, theirs) == merged(theirs, ours)
    assert runs_of(merged(ours, theirs)) == [at(B, "t4"), at(A2, "t5"), at(C, "t1")]
    assert merged(at(A, "t1"), at(A2, "t1")) == at(A, "t1")
    assert merged(replace(A, attempts=1), replace(A2, attempts=2)) == replace(A2, attempts=2)
