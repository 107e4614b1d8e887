"""What a run is waiting for, how much of it is done, and how long the rest may take."""

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
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import Ink
from redgreenrefactor.views.turn_words import PROBE, looked_back, pause

LONGEST_BAR = 10
MINUTE = 60


@frozen
class Waiting:
    """What the run is waiting for; the places are given from the outermost inwards."""

    what: str
    where: tuple[str, ...] = ()
    so_far: str = ""  # how much of it is done


class Attention:
    """Follows a run; `waiting` is what it waits for, None when it is over."""

    def __init__(self, ink: Ink) -> None:
        self._ink = ink
        self._turn: TurnStarted | None = None
        self._question, self._asked = "", 0  # that probes are to answer, and how many have
        self._seconds, self._cases = 0.0, 0  # that turns of this invocation took, and the cases they finished
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
                self._turn, self._question, self._asked = event, "", 0
            case SuiteStarted() if event.question != self._question:
                self._question, self._asked = event.question, 0
            case SuiteEnded():
                self._asked += event.purpose == PROBE
            case Judged():
                self._seconds += event.seconds
                self._cases += event.ends_case
            case _:
                pass

    def _await_tests(self, event: SuiteStarted | SuiteEnded) -> None:
        """Probes follow each other closely: between two of them the waiting goes on."""
        ended = isinstance(event, SuiteEnded)
        if event.purpose == PROBE and (self._turn or not ended):
            done = self._asked if self._turn else 0
            self._await(self._ink.line(self._question) or "probing", f"{done} so far" if done else "")
        elif ended:
            self._await("judging" if self._turn else "getting ready")
        else:
            self._await("running the suite")

    def _await(self, what: str, so_far: str = "") -> None:
        turn = self._turn
        where = (
            (f"cycle {turn.cycle}{self._progress(turn)}", str(turn.phase), f"attempt {turn.attempt}")
            if turn
            else ()
        )
        self.waiting = Waiting(what, where, so_far)

    def _progress(self, turn: TurnStarted) -> str:
        """Return how many of the cases are done, and how long the others may take if they go on like those before."""
        left = turn.to_do + (turn.phase is not PhaseName.PLAN)
        total = turn.done + left
        if not turn.done + turn.to_do:
            return ""
        full, empty = ("#", ".") if self._ink.more == "..." else ("▰", "▱")
        filled = round(turn.done / total * min(total, LONGEST_BAR))
        bar = full * filled + empty * (min(total, LONGEST_BAR) - filled)
        minutes = round(self._seconds / self._cases * left / MINUTE) if self._cases else 0
        return f" {bar} {turn.done} of {total} done" + (f", about {minutes} min left" if minutes else "")
