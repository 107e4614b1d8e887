import pytest
from views_samples import turn

from redgreenrefactor.model.events import Event, SuiteEnded, SuiteStarted
from redgreenrefactor.model.evidence import Guise, Trial
from redgreenrefactor.model.facts import MISTAKES, NEEDED, TOUCHED
from redgreenrefactor.views.attention import Attention, Waiting
from redgreenrefactor.views.lines import Ink

PROBED = SuiteEnded("probe", passed=1, failed=0, total=1, seconds=1.0, per_test=True, exit_code=0)
NOTICED, WANTED = "do the tests notice wrong code?", "does the test need all of the change?"


def waiting(*events: Event) -> Waiting:
    attention = Attention(Ink())
    for event in events:
        attention.notice(event)
    assert attention.waiting is not None
    return attention.waiting


def test_while_gates_probe_the_line_says_which_question_is_asked() -> None:
    asked = [turn(), *([SuiteStarted("probe", NOTICED), PROBED] * 2), SuiteStarted("probe", NOTICED)]

    assert (waiting(*asked).what, waiting(*asked).so_far) == (NOTICED, "2 so far")
    other = waiting(*asked, PROBED, SuiteStarted("probe", WANTED))
    assert (other.what, other.so_far) == (WANTED, "")
    assert waiting(turn(), SuiteStarted("suite")).what == "running the suite"


def test_a_question_whose_number_is_known_tells_which_it_is_of_how_many() -> None:
    third = [turn(), SuiteStarted("probe", NOTICED, 3, 7)]

    for asked in (third, [*third, PROBED]):
        assert (waiting(*asked).what, waiting(*asked).so_far) == (NOTICED, "3 of 7")
    assert waiting(*third, PROBED, SuiteStarted("probe", WANTED)).so_far == ""


def test_what_may_stay_unmeasured_is_asked_as_a_question() -> None:
    for spare, asked in (
        (MISTAKES, "does the test notice mistakes in the code?"),
        (NEEDED, WANTED),
        (TOUCHED, "are tests that were touched still run?"),
    ):
        assert waiting(turn(), SuiteStarted("probe", spare, 3, 7)) == Waiting(asked, "3 of 7", turn())


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        (Trial("c"), ""),
        (Trial("c", coverage=True), "how much of the change do the tests run?"),
        (Trial("c", command="make"), "does the criterion hold?"),
        (Trial("c", overlay=(("a", "1"),), probe=True, spare=MISTAKES), MISTAKES),
        (
            Trial("c", tests=("t",), disguise=Guise.HIDDEN, seed=1),
            "is it the same if the code sees no tests?",
        ),
        (Trial("c", overlay=(("a", "1"),), probe=True), NOTICED),
        (Trial("c", overlay=(("a", "1"),)), "do the tests from before still pass?"),
        (Trial("c", trace=True), "which code do the tests run?"),
        (Trial("c", tests=("t",), seed=1), "does the test say the same again?"),
        (Trial("c", repeat=1), "does the test say the same again?"),
        (Trial("c", tests=("t",)), "does the test say the same when it runs alone?"),
    ],
)
def test_every_trial_can_say_what_it_is_to_find_out(trial: Trial, words: str) -> None:
    assert trial.asks == words
