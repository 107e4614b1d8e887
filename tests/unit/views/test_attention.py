from dataclasses import replace

import pytest
from views_samples import turn

from redgreenrefactor.model.events import Event, Judged, SuiteEnded, SuiteStarted, TurnStarted
from redgreenrefactor.model.evidence import Guise, Trial
from redgreenrefactor.model.verdict import Ruling, Verdict
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.attention import Attention, Waiting
from redgreenrefactor.views.lines import ASCII, Ink

PROBED = SuiteEnded("probe", passed=1, failed=0, total=1, seconds=1.0, per_test=True, exit_code=0)
NOTICED, NEEDED = "do the tests notice wrong code?", "how much of the change the new test needs?"


def waiting(*events: Event, ink: Ink | None = None) -> Waiting:
    attention = Attention(ink or Ink())
    for event in events:
        attention.notice(event)
    assert attention.waiting is not None
    return attention.waiting


def working(phase: PhaseName, done: int, to_do: int) -> TurnStarted:
    return replace(turn(phase), done=done, to_do=to_do)


def judged(seconds: float, phase: PhaseName = PhaseName.REFACTOR) -> Judged:
    return Judged(phase, 1, 1, Verdict(Ruling.ACCEPTED), "c0ffee", "refactor: x", seconds)


def test_while_gates_probe_the_line_says_which_question_is_asked() -> None:
    asked = [turn(), *([SuiteStarted("probe", NOTICED), PROBED] * 2), SuiteStarted("probe", NOTICED)]

    assert (waiting(*asked).what, waiting(*asked).so_far) == (NOTICED, "2 so far")
    other = waiting(*asked, PROBED, SuiteStarted("probe", NEEDED))
    assert (other.what, other.so_far) == (NEEDED, "")
    assert waiting(turn(), SuiteStarted("suite")).what == "running the suite"


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        (Trial("c"), ""),
        (Trial("c", coverage=True), "how much of the change do the tests reach?"),
        (Trial("c", command="make"), "does the criterion hold?"),
        (Trial("c", overlay=(("a", "1"),), probe=True, spare="how much is needed"), "how much is needed"),
        (
            Trial("c", tests=("t",), disguise=Guise.HIDDEN, seed=1),
            "is it the same where the code cannot see its tests?",
        ),
        (Trial("c", overlay=(("a", "1"),), probe=True), NOTICED),
        (Trial("c", overlay=(("a", "1"),)), "do the tests of before still hold?"),
        (Trial("c", trace=True), "what do the tests reach?"),
        (Trial("c", tests=("t",), seed=1), "does the test say the same again?"),
        (Trial("c", repeat=1), "does the test say the same again?"),
        (Trial("c", tests=("t",)), "does the test say the same by itself?"),
    ],
)
def test_every_trial_can_say_what_it_is_to_find_out(trial: Trial, words: str) -> None:
    assert trial.asks == words


def test_progress_over_the_cases_and_what_is_left() -> None:
    assert waiting(working(PhaseName.RED, 2, 4)).where[0] == "cycle 1 ▰▰▱▱▱▱▱ 2 of 7 done"
    assert waiting(working(PhaseName.PLAN, 3, 4)).where[0] == "cycle 1 ▰▰▰▱▱▱▱ 3 of 7 done"
    assert waiting(working(PhaseName.RED, 20, 79), ink=ASCII).where[0] == "cycle 1 ##........ 20 of 100 done"
    later = waiting(judged(50, PhaseName.GREEN), judged(40), working(PhaseName.RED, 3, 3))
    assert later.where[0].endswith(" 3 of 7 done, about 6 min left")


def test_before_the_first_list_no_progress_is_made_up() -> None:
    assert waiting(working(PhaseName.PLAN, 0, 0)).where[0] == "cycle 1"
