"""Events told as rows of text, and what is being waited for meanwhile."""

from collections.abc import Sequence

from redgreenrefactor.model.events import (
    Diagnosed,
    Event,
    Judged,
    LookedBack,
    ModelAsked,
    Paused,
    RunEnded,
    RunStarted,
    SessionEnded,
    SessionSaid,
    SuiteEnded,
    TurnStarted,
    Warned,
)
from redgreenrefactor.model.evidence import Measure
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.verdict import Finding, Outcome, Ruling, Severity, Verdict
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.attention import Attention, Waiting
from redgreenrefactor.views.lines import (
    Ink,
    Row,
    Span,
    Tone,
    aligned,
    block,
    cells,
    count,
    cut,
    cut_row,
    heading,
    measure,
    seconds,
    short,
)
from redgreenrefactor.views.progress import Progress
from redgreenrefactor.views.turn_words import (
    PROBE,
    as_it_should,
    fuller,
    looked_back,
    pause,
    phase_label,
    place,
    probed,
    shown_by,
    tally,
)

ROOMY = 60  # columns from which on details stand under the verdict instead of at the left
NARROW_INDENT = 4
MOST_FINDINGS = 4
LONG = 10.0  # seconds from which on proving is worth a line of its own


class Story:
    """Everything that happened so far, as far as the next line needs it."""

    def __init__(self, ink: Ink, *, quiet: bool = False, starts: bool = False) -> None:
        self._ink = ink
        self._quiet = quiet
        self._starts = starts and not quiet  # tell also what begins, for readers who see no live line
        self._run_id = ""
        self._turn: TurnStarted | None = None
        self._suite: SuiteEnded | None = None
        self._probes: list[float] = []  # seconds of each probe of this turn
        self._cycle = 0
        self._headed = False
        self._attention = Attention(ink)
        self.progress = Progress(ink)
        self.said = ""

    def tell(self, event: Event, width: int) -> list[Row]:
        """Return the rows that are to be shown now, none wider than that."""
        self._notice(event)
        match event:
            case Judged():
                return self._judged(event, width)
            case RunEnded():
                return self._ended(event, width)
            case _:
                return [] if self._quiet else self._progress(event, width)

    def _notice(self, event: Event) -> None:
        """Remember what later rows and the live line need."""
        match event:
            case RunStarted():
                self._run_id, self._turn, self._headed = self._ink.line(event.run_id), None, False
            case TurnStarted():
                self._headed = self._headed and self._cycle == event.cycle
                self._cycle = event.cycle
                self._turn, self._suite, self.said = event, None, ""
                self._probes = []
            case SessionSaid():
                self.said = next((line for line in reversed(self._ink.lines(event.text)) if line), self.said)
            case SessionEnded():
                self.said = ""
            case SuiteEnded():
                self._suite = fuller(self._suite, event)
                self._probes += [event.seconds] if event.purpose == PROBE else []
            case _:
                pass
        self._attention.notice(event)
        self.progress.notice(event)

    @property
    def waiting(self) -> Waiting | None:
        """What the run is waiting for."""
        return self._attention.waiting

    def _progress(self, event: Event, width: int) -> list[Row]:
        """Tell what is neither a verdict nor the end."""
        match event:
            case RunStarted():
                return self._opening(event, width)
            case Warned():
                return self._texts(event.message, width, Tone.WARN, indent=2, lead="! ")
            case Diagnosed():
                text = f"diagnosis: {self._ink.line(event.message)}"
                return self._details(text, width, Tone.FAINT, most=3)
            case SuiteEnded() if self._turn is None and event.purpose != PROBE:
                return self._baseline(event, width)
            case _:
                return self._beginnings(event, width) if self._starts else []

    def _opening(self, event: RunStarted, width: int) -> list[Row]:
        ink = self._ink
        title: Row = (
            Span("rgr", Tone.STRONG),
            Span(f" {ink.dot} "),
            Span(ink.headline(heading(event.feature)), Tone.STRONG),
            Span(" (going on)" if event.resumed else "", Tone.FAINT),
        )
        who = f"{ink.line(event.as_before)}, as before (--agent names another)" if event.as_before else ""
        told = "per-test results" if event.measure == Measure.PER_TEST else "exit code only"
        return [
            *aligned(title, [f"run {self._run_id}"], width, ink, indent=0, keep=0),
            (Span(cut(f"project: {ink.line(event.project)}", width, ink), Tone.FAINT),),
            (Span(cut(f"tests: {ink.line(event.test_command)} ({told})", width, ink), Tone.FAINT),),
            *self._texts(ink.line(event.held or event.sandbox), width, Tone.FAINT, lead="sandbox: "),
            *self._texts(who, width, Tone.FAINT, lead="agent: "),
        ]

    def _baseline(self, event: SuiteEnded, width: int) -> list[Row]:
        left: Row = (Span(f"suite: {tally(event)}", Tone.FAINT),)
        return aligned(left, [seconds(event.seconds)], width, self._ink, indent=2)

    def _beginnings(self, event: Event, width: int) -> list[Row]:
        """Tell what begins or goes on, for readers who see no live line."""
        indent = detail_indent(width)
        match event:
            case TurnStarted():
                return [*self._header(self._case(event), width), self._start(event, width)]
            case ModelAsked():
                return [(Span(cut(f"  asking {self._ink.line(event.model)}", width, self._ink), Tone.FAINT),)]
            case LookedBack():
                return [(Span(f"  {looked_back(event)}", Tone.FAINT),)]
            case SessionSaid():
                return self._quoted(event.text, width)
            case SessionEnded() if event.failed:
                return self._details(f"the session failed after {seconds(event.seconds)}", width)
            case SuiteEnded() if event.purpose != PROBE:
                left: Row = (Span(" " * indent + f"tests: {tally(event)}"),)
                return aligned(left, [seconds(event.seconds)], width, self._ink, indent=indent)
            case SuiteEnded() if self._turn and sum(self._probes) - event.seconds < LONG <= sum(self._probes):
                text = f"still probing: {count(len(self._probes), 'probe')} so far"
                return self._details(text, width)
            case Paused() if event.seconds > 0:
                return self._details(f"waiting {pause(event.seconds)} before the next attempt", width)
            case _:
                return []

    def _start(self, event: TurnStarted, width: int) -> Row:
        attempt = f" {self._ink.dot} attempt {event.attempt}" if event.attempt > 1 else ""
        label = phase_label(event.phase)
        room = width - measure(label) - cells(attempt)
        agent = cut(f"working: {self._ink.line(event.agent)}", room, self._ink)
        return cut_row((*label, Span(agent + attempt)), width, self._ink)

    def _quoted(self, text: str, width: int) -> list[Row]:
        """Tell what a session says behind a bar, so that it cannot pass for ours."""
        start = " " * detail_indent(width) + f"{self._ink.bar} "
        return [
            (Span(cut(start + line, width, self._ink).rstrip(), Tone.FAINT),)
            for line in self._ink.lines(text)
        ]

    def _case(self, turn: TurnStarted) -> Case | None:
        """Return the case a turn is about; a PLAN has still to find its own."""
        return None if turn.phase is PhaseName.PLAN else turn.case

    def _header(self, case: Case | None, width: int, *, last: bool = False) -> list[Row]:
        """Tell once which cycle this is."""
        if self._headed:
            return []
        self._headed = True
        if last:
            return [(), (Span("no case left", Tone.STRONG),)]
        about = f" {self._ink.dot} {self._ink.headline(case.description)}" if case else ""
        row: Row = (Span(f"cycle {self._cycle}", Tone.STRONG), Span(about, Tone.STRONG))
        return [(), cut_row(row, width, self._ink)]

    def _judged(self, event: Judged, width: int) -> list[Row]:
        if event.verdict.ruling is not Ruling.ACCEPTED:
            header = self._header(self._turn and self._case(self._turn), width)
            return [*header, *self._refused(event, width)]
        return [] if self._quiet else self._accepted(event, width)

    def _accepted(self, event: Judged, width: int) -> list[Row]:
        ink, verdict = self._ink, event.verdict
        plans = event.phase is PhaseName.PLAN
        case = verdict.case if plans else self._turn and self._turn.case
        known = self._headed
        left: Row = (
            *phase_label(event.phase),
            Span(f"{ink.ok} ", Tone.GOOD),
            Span(f"{short(ink.line(event.commit or ''))} ", Tone.COMMIT),
            Span(ink.line(event.subject)),
        )
        told = as_it_should(self._suite, event.phase, verdict.test_result)
        rows = self._header(case, width, last=plans and case is None)
        rows += aligned(left, [told, seconds(event.seconds)], width, ink, indent=detail_indent(width))
        rows += self._outcome(verdict, width)
        if learned := probed(verdict.facts):
            rows += self._details(learned, width, Tone.FAINT, most=2)
        rows += self._split(event, width)
        if plans and known:
            following = f"next case: {ink.headline(case.description)}" if case else "no case left"
            rows += self._details(following, width, most=1)
        return [*rows, *self._warnings(verdict.findings, width)]

    def _split(self, event: Judged, width: int) -> list[Row]:
        """Tell where the time went, if much of it went into judging."""
        judging = event.verdict.facts.judged_seconds or 0.0
        if judging < LONG:
            return []
        text = f"session {seconds(max(event.seconds - judging, 0.0))}, gates {seconds(judging)}"
        return self._details(text, width, Tone.FAINT, most=1)

    def _outcome(self, verdict: Verdict, width: int) -> list[Row]:
        match verdict.outcome:
            case Outcome.COVERED:
                text = f"already covered: the new test passes, and it {shown_by(verdict.facts)}; on to the next case"
                return self._details(text, width, Tone.HINT)
            case Outcome.WARNED:
                text = "the new test passes before anything was built; going on (red.on.pass=warn)"
                return self._details(text, width, Tone.WARN, lead="! ")
            case Outcome.FEEDBACK:
                return self._details("the reviewer asks for more; on to the next round", width, Tone.HINT)
            case Outcome.APPROVED | None:
                return []

    def _refused(self, event: Judged, width: int) -> list[Row]:
        """Tell what was wrong with an attempt, what became of it and what comes next."""
        gravest = event.verdict.gravest
        undecided = event.verdict.ruling is Ruling.UNDECIDED
        mark = Span("? ", Tone.WARN) if undecided else Span(f"{self._ink.bad} ", Tone.BAD)
        said = "could not be judged" if undecided else "rejected"
        left: Row = (*phase_label(event.phase), mark, Span(f"attempt {event.attempt} {said}"))
        kind: Row = (Span(str(gravest.type), Tone.STRONG),) if gravest else ()
        time = seconds(event.seconds)
        below: list[Row] = []
        if kind and measure((*left, Span(": "), *kind)) + 2 + cells(time) > width:
            below = [(Span(" " * detail_indent(width)), *kind)]
        elif kind:
            left = (*left, Span(": "), *kind)
        return [
            *aligned(left, [time], width, self._ink, indent=detail_indent(width)),
            *below,
            *(self._finding(gravest, width) if gravest else []),
            *self._others(event.verdict.findings, gravest, width),
            *self._warnings(event.verdict.findings, width),
            *self._aftermath(event, width),
        ]

    def _finding(self, finding: Finding, width: int) -> list[Row]:
        where = place(finding, self._ink)
        rows = self._details(finding.message, width)
        if where and where not in self._ink.line(finding.message):
            rows += self._details(f"at {where}", width, Tone.FAINT)
        if finding.hint:
            rows += self._details(finding.hint, width, Tone.HINT, lead=f"{self._ink.arrow} ")
        return rows

    def _others(self, findings: Sequence[Finding], gravest: Finding | None, width: int) -> list[Row]:
        """Tell briefly what else was wrong."""
        errors = [found for found in findings if found.severity is Severity.ERROR and found is not gravest]
        rows: list[Row] = []
        for finding in errors[:MOST_FINDINGS]:
            where = place(finding, self._ink)
            text = f"also {finding.type}: {self._ink.headline(finding.message)}" + (
                f" ({where})" if where else ""
            )
            rows += self._details(text, width, most=2)
        if len(errors) > MOST_FINDINGS:
            rest = f"and {count(len(errors) - MOST_FINDINGS, 'more finding')}"
            rows += self._details(rest, width)
        return rows

    def _warnings(self, findings: Sequence[Finding], width: int) -> list[Row]:
        rows: list[Row] = []
        for finding in findings:
            if finding.severity is Severity.WARNING:
                where = place(finding, self._ink)
                text = f"{finding.type}: {finding.message}" + (f" ({where})" if where else "")
                rows += self._details(text, width, Tone.WARN, lead="! ", most=6)
        return rows

    def _aftermath(self, event: Judged, width: int) -> list[Row]:
        ref = f"refs/tdd/attempts/{self._run_id}/{event.cycle}-{event.phase}-{event.attempt}"
        if event.verdict.ruling is Ruling.UNDECIDED:
            follows, ref = "rolled back; not counted as an attempt", "refs/tdd/kept/"
        else:
            undone = "rolled back" if event.aborts or not event.builds_on else "its files stay"
            follow = "no attempts left" if event.aborts else f"attempt {event.attempt + 1} is next"
            follows = f"{undone}; {follow}"
        kept = f"kept at {ref}" if event.commit else "nothing was committed"
        indent = detail_indent(width)
        fits = indent + cells(kept) <= width  # what people copy is not broken if that can be helped
        return [
            *self._details(follows, width, Tone.FAINT),
            *self._texts(kept, width, Tone.FAINT, indent=indent if fits else NARROW_INDENT),
        ]

    def _ended(self, event: RunEnded, width: int) -> list[Row]:
        good = event.status == "complete"
        tone = Tone.GOOD if good else Tone.BAD if event.status == "failed" else Tone.WARN
        mark = self._ink.ok if good else self._ink.bad if event.status == "failed" else "!"
        status, after = (
            Span(self._ink.line(event.status), Tone.STRONG),
            Span(f" after {seconds(event.seconds)}", Tone.FAINT),
        )
        head = cut_row((Span(f"{mark} ", tone), status, after), width, self._ink)
        words = event.message.removeprefix(event.status).removeprefix(": ")
        message = self._texts(words, width, indent=2) if words else []
        return [(), head, *message, *([] if self._quiet else [()])]

    def _details(
        self, text: str, width: int, tone: Tone = Tone.PLAIN, *, lead: str = "", most: int = 12
    ) -> list[Row]:
        return self._texts(text, width, tone, indent=detail_indent(width), lead=lead, most=most)

    def _texts(
        self,
        text: str,
        width: int,
        tone: Tone = Tone.PLAIN,
        *,
        indent: int = 0,
        lead: str = "",
        most: int = 12,
    ) -> list[Row]:
        rows = block(text, width, self._ink, indent=indent, lead=lead, most=most)
        return [(Span(row, tone),) for row in rows]


def detail_indent(width: int) -> int:
    """Return where details begin."""
    return 14 if width >= ROOMY else NARROW_INDENT
