"""What a run is waiting for, and how much of it is done."""

from redgreenrefactor.model.events import (
    Event,
    Judged,
    LookedBack,
    ModelAsked,
    Paused,
    RunEnded,
    RunStarted,
    SessionEnded,
    SuiteEnded,
    SuiteStarted,
    TurnStarted,
)
from redgreenrefactor.model.facts import QUESTIONS
from redgreenrefactor.model.values import frozen
from redgreenrefactor.views.lines import Ink
from redgreenrefactor.views.turn_words import PROBE, looked_back, pause


@frozen
class Waiting:
    """What the run is waiting for."""

    what: str
    so_far: str = ""  # how much of it is done
    turn: TurnStarted | None = None  # whose work it belongs to


class Attention:
    """Follows a run; `waiting` is what it waits for, None when it is over."""

    def __init__(self, ink: Ink) -> None:
        self._ink = ink
        self._turn: TurnStarted | None = None
        self._asked = SuiteStarted("")  # what probes are to answer
        self._answered = 0  # how many have
        self.waiting: Waiting | None = None

    def notice(self, event: Event) -> None:
        """Know what is waited for from now on."""
        self._remember(event)
        match event:
            case TurnStarted():
                self._await("session at work")
            case SessionEnded():
                self._await("sealing and judging")
            case SuiteStarted() | SuiteEnded():
                self._await_tests(event)
            case Judged() | RunStarted():
                self._await("getting ready")
            case ModelAsked():
                self._await(f"asking {self._ink.line(event.model)}")
            case Paused():
                self._await(f"waiting {pause(event.seconds)} before the next attempt")
            case LookedBack():
                self.waiting = Waiting(looked_back(event))
            case RunEnded():
                self.waiting = None
            case _:
                pass

    def _remember(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._turn = None
            case TurnStarted():
                self._turn, self._asked, self._answered = event, SuiteStarted(""), 0
            case SuiteStarted():
                self._answered = self._answered if event.question == self._asked.question else 0
                self._asked = event
            case SuiteEnded():
                self._answered += event.purpose == PROBE
            case _:
                pass

    def _await_tests(self, event: SuiteStarted | SuiteEnded) -> None:
        """Probes follow each other closely: between two of them the waiting goes on."""
        ended = isinstance(event, SuiteEnded)
        if event.purpose == PROBE and (self._turn or not ended):
            asked = self._asked.question
            self._await(self._ink.line(QUESTIONS.get(asked, asked)) or "probing", self._so_far)
        elif ended:
            self._await("judging" if self._turn else "getting ready")
        else:
            self._await("running the suite")

    @property
    def _so_far(self) -> str:
        """Which of how many questions this is; where nobody knows how many there are, how many have been answered."""
        if self._asked.of:
            return f"{self._asked.number} of {self._asked.of}"
        return f"{self._answered} so far" if self._answered and self._turn else ""

    def _await(self, what: str, so_far: str = "") -> None:
        self.waiting = Waiting(what, so_far, self._turn)
