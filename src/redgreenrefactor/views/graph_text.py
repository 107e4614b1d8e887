"""The cycles of a run one below the other, each with its way through the phases and what was rejected on it."""

from collections.abc import Iterator

from redgreenrefactor.model.run_report import ReportedCycle, RunReport
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import (
    NARROWEST,
    WIDEST,
    Ink,
    Row,
    Span,
    Tone,
    aligned,
    heading,
    led,
    measure,
    seconds,
    short,
)
from redgreenrefactor.views.turn_words import PHASE_TONES, title_of_cycle

ORDER = (PhaseName.PLAN, PhaseName.CODE, PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR, PhaseName.REVIEW)
ALIKE = {"done": "ok", "covered": "ok", "approved": "ok", "closed": "ok", "failed": "bad"}


def graph_text(run: RunReport, *, width: int, ink: Ink | None = None) -> Iterator[str]:
    """Yield the run's lines, the first cycle first, as it was worked through."""
    pen, room = ink or Ink(), max(min(width, WIDEST), NARROWEST)
    title = (Span(pen.headline(heading(run.feature)), Tone.STRONG),)
    yield from map(pen.painted, aligned(title, (run.status,), room, pen, indent=4))
    bar = Span(pen.bar, Tone.FAINT)
    for cycle in run.cycles:
        yield pen.painted((bar,))
        first, *others = _cycle(cycle, run.due_in(cycle), room, pen)
        yield pen.painted(first)
        for start, *rest in others:
            yield pen.painted((bar, Span(start.text[1:], start.tone), *rest))


def _cycle(cycle: ReportedCycle, due: PhaseName | None, width: int, ink: Ink) -> Iterator[Row]:
    """Yield the rows of a cycle; all but the first begin with a column for the bar."""
    marks = {"ok": Span(ink.ok, Tone.GOOD), "bad": Span(ink.bad, Tone.BAD)}
    mark = marks.get(ALIKE.get(cycle.outcome, ""), Span(ink.dot))
    case = "no case left" if cycle.outcome == "closed" else ink.headline(title_of_cycle(cycle))
    title = (mark, Span(f" {cycle.number}  "), Span(case, Tone.STRONG))
    yield from aligned(title, (cycle.outcome, seconds(cycle.seconds)), width, ink, indent=4)
    yield from _way(cycle, due, width, ink)
    for turn in cycle.rejected:
        kind = f"{turn.handoff.error_details.type}: " if turn.handoff.error_details else ""
        words, tones = f"{turn.name}: {kind}{turn.handoff.error}", (Tone.BAD, Tone.WARN)
        yield from led(words, width, ink, indent=5, lead=f"{ink.bad} ", most=2, tones=tones)


def _way(cycle: ReportedCycle, due: PhaseName | None, width: int, ink: Ink) -> Iterator[Row]:
    """Yield the phases one after the other; where they do not fit into a line, in several and without colours."""
    steps = [_step(cycle, phase, due, ink) for phase in ORDER if _passed(cycle, phase, due)]
    arrow = Span(f" {ink.arrow} ", Tone.FAINT)
    way = tuple(span for number, step in enumerate(steps) for span in ((arrow,) if number else ()) + step)
    if measure(way) + 5 <= width:
        yield (Span(" " * 5), *way)
    else:
        yield from led("".join(span.text for span in way), width, ink, indent=5)


def _passed(cycle: ReportedCycle, phase: PhaseName, due: PhaseName | None) -> bool:
    return phase is due or any(turn.handoff.phase is phase for turn in cycle.turns)


def _step(cycle: ReportedCycle, phase: PhaseName, due: PhaseName | None, ink: Ink) -> Row:
    refused = sum(turn.handoff.phase is phase for turn in cycle.rejected)
    taken = cycle.accepted.get(phase)
    told = [
        Span(f" {ink.bad * refused}" if refused else "", Tone.BAD),
        Span(f" {ink.ok}" if taken else "", Tone.GOOD),
        Span(f" {short(taken.commit)}" if taken else "", Tone.COMMIT),
        Span(f" {ink.more}" if phase is due else ""),
    ]
    return (Span(str(phase), PHASE_TONES[phase]), *told)
