import pytest
from views_samples import turn

from redgreenrefactor.model.events import Event, SuiteEnded, SuiteStarted
from redgreenrefactor.model.evidence import Guise, Trial
from redgreenrefactor.views.attention import Attention, Waiting
from redgreenrefactor.views.lines import Ink

PROBED = SuiteEnded("probe", passed=1, failed=0, total=1, seconds=1.0, per_test=True, exit_code=0)
NOTICED, NEEDED = "do the tests notice wrong code?", "how much of the change the new test needs?"


def waiting(*events: Event) -> Waiting:
    attention = Attention(Ink())
    for event in events:
        attention.notice(event)
    assert attention.waiting is not None
    return attention.waiting


def test_while_gates_probe_the_line_says_which_question_is_asked() -> None:
    asked = [turn(), *([SuiteStarted("probe", NOTICED), PROBED] * 2), SuiteStarted("probe", NOTICED)]

    assert (waiting(*asked).what, waiting(*asked).so_far) == (NOTICED, "2 so far")
    other = waiting(*asked, PROBED, SuiteStarted("probe", NEEDED))
    assert (other.what, other.so_far) == (NEEDED, "")
    assert waiting(turn(), SuiteStarted("suite")).what == "running the suite"


def test_a_question_whose_number_is_known_tells_which_it_is_of_how_many() -> None:
    third = [turn(), SuiteStarted("probe", NOTICED, 3, 7)]

    for asked in (third, [*third, PROBED]):
        assert (waiting(*asked).what, waiting(*asked).so_far) == (NOTICED, "3 of 7")
    assert waiting(*third, PROBED, SuiteStarted("probe", NEEDED)).so_far == ""


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
