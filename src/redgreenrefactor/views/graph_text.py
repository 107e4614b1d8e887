"""The cycles of a run one below the other, each with its way through the phases and what was rejected on it."""

from collections.abc import Iterator

from redgreenrefactor.model.run_report import ReportedCycle, RunReport
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import NARROWEST, WIDEST, Ink, Span, aligned, block, heading, seconds, short

ORDER = (PhaseName.PLAN, PhaseName.CODE, PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR, PhaseName.REVIEW)
ALIKE = {"done": "ok", "covered": "ok", "approved": "ok", "closed": "ok", "failed": "bad"}


def graph_text(run: RunReport, *, width: int, ink: Ink | None = None) -> Iterator[str]:
    """Yield the run's lines, the first cycle first, as it was worked through."""
    pen, room = ink or Ink(), max(min(width, WIDEST), NARROWEST)
    yield from _row(pen.headline(heading(run.feature)), (run.status,), room, pen)
    for cycle in run.cycles:
        yield pen.bar
        first, *others = _cycle(cycle, run.due_in(cycle), room, pen)
        yield first
        yield from (line if line.startswith(pen.bar) else pen.bar + line[1:] for line in others)


def _cycle(cycle: ReportedCycle, due: PhaseName | None, width: int, ink: Ink) -> Iterator[str]:
    mark = {"ok": ink.ok, "bad": ink.bad}.get(ALIKE.get(cycle.outcome, ""), ink.dot)
    case = (
        ink.headline(cycle.case.description)
        if cycle.case
        else "no case left"
        if cycle.outcome == "closed"
        else ""
    )
    yield from _row(f"{mark} {cycle.number}  {case}", (cycle.outcome, seconds(cycle.seconds)), width, ink)
    way = f" {ink.arrow} ".join(
        _step(cycle, phase, due, ink) for phase in ORDER if _passed(cycle, phase, due)
    )
    yield from block(way, width, ink, lead=f"{ink.bar}    ")
    for turn in cycle.rejected:
        kind = f"{turn.handoff.error_details.type}: " if turn.handoff.error_details else ""
        words = f"{turn.name}: {kind}{turn.handoff.error}"
        yield from block(words, width, ink, lead=f"{ink.bar}    {ink.bad} ", most=2)


def _passed(cycle: ReportedCycle, phase: PhaseName, due: PhaseName | None) -> bool:
    return phase is due or any(turn.handoff.phase is phase for turn in cycle.turns)


def _step(cycle: ReportedCycle, phase: PhaseName, due: PhaseName | None, ink: Ink) -> str:
    refused = sum(turn.handoff.phase is phase for turn in cycle.rejected)
    taken = cycle.accepted.get(phase)
    told = [str(phase), ink.bad * refused, f"{ink.ok} {short(taken.commit)}" if taken else ""]
    return " ".join(part for part in (*told, ink.more if phase is due else "") if part)


def _row(left: str, right: tuple[str, ...], width: int, ink: Ink) -> Iterator[str]:
    for row in aligned((Span(left),), right, width, ink, indent=4):
        yield "".join(span.text for span in row).rstrip()
