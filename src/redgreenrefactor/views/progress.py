"""How far a run has come: its cases, its tests, what it has used and what is left."""

from redgreenrefactor.model.events import (
    Event,
    Judged,
    ModelAnswered,
    RunStarted,
    SessionBegan,
    SessionReported,
    SuiteEnded,
    TurnStarted,
)
from redgreenrefactor.model.session import Usage, dollars
from redgreenrefactor.model.verdict import Ruling
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import Ink, Row, Span, Tone, cut_row, measure, short_number
from redgreenrefactor.views.turn_words import PHASE_TONES, PROBE, tally

LONGEST_BAR = 10
MINUTE = 60


class Progress:
    """Follows a run, and tells of it in rows that fit where there is little room."""

    def __init__(self, ink: Ink) -> None:
        self._ink = ink
        self._tracks: tuple[
            tuple[PhaseName, ...], ...
        ] = ()  # the latest run's first: one may go on inside another
        self._turn: TurnStarted | None = None
        self._refused = ""  # why the attempt before was
        self._suite: SuiteEnded | None = None
        self._seconds, self._cases = 0.0, 0  # that cases of this invocation took, and how many are finished
        self._begun = 0.0  # seconds that the turns of this case have taken
        self._used, self._using = (
            Usage(),
            Usage(),
        )  # by the sessions before, and by this one as far as is known
        self._allowance: float | None = None  # of this session, when it began

    def notice(self, event: Event) -> None:
        """Know how far the run has come."""
        match event:
            case RunStarted():
                self._tracks, self._turn = (event.phases, *self._tracks), None
            case TurnStarted():
                self._turn, self._refused = event, self._refused if event.attempt > 1 else ""
            case SuiteEnded() if event.purpose != PROBE:
                self._suite = event
            case Judged():
                self._begun += event.seconds
                if event.ends_case:
                    self._seconds, self._cases, self._begun = (
                        self._seconds + self._begun,
                        self._cases + 1,
                        0.0,
                    )
                why = event.verdict.gravest if event.verdict.ruling is Ruling.REJECTED else None
                self._refused = str(why.type) if why else ""
            case _:
                self._count(event)

    def _count(self, event: Event) -> None:
        """Know what was used; what a session says at its end is more than what was heard of it before."""
        match event:
            case SessionBegan():
                self._allowance = event.brief.allowance_usd
            case ModelAnswered():
                self._using += event.usage
            case SessionReported():
                cost = (event.report.usage or self._using).cost_usd
                self._used += event.report.usage or self._using
                self._using = Usage()
                self._allowance = None if self._allowance is None else self._allowance - (cost or 0.0)
            case _:
                pass

    def track(self, width: int) -> Row:
        """Return the phases of this cycle, what is done and what comes, and which attempt this is; nothing between runs."""
        turn, dot = self._turn, f" {self._ink.dot} "
        if turn is None:
            return ()
        phases = next((track for track in self._tracks if turn.phase in track), (turn.phase,))
        row = self._phases(phases, phases.index(turn.phase))
        cycle = Span(f"cycle {turn.cycle}{dot}", Tone.FAINT)
        attempt = f"{dot}attempt {turn.attempt}" if turn.attempt > 1 else ""
        why = Span(f"{attempt} after {self._refused}" if attempt and self._refused else attempt, Tone.WARN)
        rows = ((cycle, *row, why), (*row, why), (*row, Span(attempt, Tone.WARN)))
        return next((row for row in rows if measure(row) <= width), cut_row(rows[-1], width, self._ink))

    def _phases(self, phases: tuple[PhaseName, ...], here: int) -> Row:
        spans: list[Span] = []
        for place, phase in enumerate(phases):
            spans += [Span(f" {self._ink.arrow} ", Tone.FAINT)] if spans else []
            if place < here:
                spans += [Span(phase.lower()), Span(f" {self._ink.ok}", Tone.GOOD)]
            elif place == here:
                spans.append(Span(str(phase), PHASE_TONES[phase]))
            else:
                spans.append(Span(phase.lower(), Tone.FAINT))
        return tuple(spans)

    def figures(self, clock: str, width: int) -> Row:
        """Return cases, tests, money, tokens and time as far as they are known; where there is no room, fewer of them."""
        used = self._used + self._using
        done = self._done()
        wanted = [
            (0, "".join(span.text for span in done)),
            (4, tally(self._suite) if self._suite else ""),
            (5, f"{short_number(used.tokens)} tokens" if used.tokens else ""),
            (1, self._money(used)),
            (2, clock),
            (3, self._left()),
        ]
        parts = [part for part in wanted if part[1]]
        dot = f" {self._ink.dot} "
        while len(parts) > 1 and measure((Span(dot.join(text for _, text in parts)),)) > width:
            parts.remove(max(parts))
        rest = dot.join(text for rank, text in parts if rank)
        gap = dot if done and rest else ""
        return cut_row((*done, Span(f"{gap}{rest}", Tone.FAINT)), width, self._ink)

    def _money(self, used: Usage) -> str:
        spent = "" if used.cost_usd is None else dollars(used.cost_usd)
        if self._allowance is None:
            return spent
        left = dollars(max(self._allowance - (self._using.cost_usd or 0.0), 0.0))
        return f"{spent}, {left.removesuffix(' USD')} left" if spent else f"{left} left"

    @property
    def _cases_left(self) -> int:
        turn = self._turn
        return turn.to_do + (turn.phase is not PhaseName.PLAN) if turn else 0

    def _done(self) -> Row:
        """Return how many of the cases are done; nothing before the first list is there."""
        turn = self._turn
        if turn is None or not turn.done + turn.to_do:
            return ()
        total = turn.done + self._cases_left
        full, empty = ("#", ".") if self._ink.more == "..." else ("▰", "▱")
        filled = round(turn.done / total * min(total, LONGEST_BAR))
        rest = empty * (min(total, LONGEST_BAR) - filled)
        return (Span(full * filled, Tone.GOOD), Span(f"{rest} {turn.done} of {total} done", Tone.FAINT))

    def _left(self) -> str:
        """Return how long the other cases may take if they go on like those before."""
        usual = self._seconds / self._cases if self._cases else 0.0
        minutes = round((usual * self._cases_left - min(self._begun, usual)) / MINUTE)
        return f"about {minutes} min left" if minutes > 0 else ""
