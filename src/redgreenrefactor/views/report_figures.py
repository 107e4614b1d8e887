"""The plots of a run: what was done when, what it took, and how strong its tests are."""

from collections.abc import Sequence
from datetime import datetime

from redgreenrefactor.model.run_report import DONE, ReportedCycle, RunReport
from redgreenrefactor.model.session import Usage, dollars
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views import plots
from redgreenrefactor.views.lines import count, seconds, short_number
from redgreenrefactor.views.markup import Markup, tag
from redgreenrefactor.views.plots import Series, figure
from redgreenrefactor.views.turn_words import is_round

UNITS = (
    (3 * 86400.0, 86400.0, "days"),
    (3 * 3600.0, 3600.0, "h"),
    (180.0, 60.0, "min"),
    (0.0, 1.0, "s"),
)  # from when on


def figures(run: RunReport, within: str, level: int) -> Markup | None:
    """Return what can be drawn of a run; what nobody measured is left out."""
    worked = [cycle for cycle in run.cycles if cycle.outcome != "closed"]
    found = [
        plot
        for draw in (_progress, _times, _judging, _spending, _strength, _covered)
        if (plot := draw(run, worked))
    ]
    if not found:
        return None
    return tag(
        "section",
        tag(f"h{level + 1}", "Figures", class_="unseen"),
        found,
        class_="plots",
        id=f"{within}figures",
    )


def _progress(run: RunReport, worked: Sequence[ReportedCycle]) -> Markup | None:
    ends = [
        end
        for cycle in worked
        if cycle.outcome in DONE and (end := _moment(cycle.turns[-1].moment)) is not None
    ]
    start = _moment(run.began)
    if start is None or not ends:
        return None
    passed = [max(end - start, 0.0) for end in ends]
    words = f"{count(len(ends), 'case')} in {seconds(passed[-1])}"
    size, unit = next((size, unit) for least, size, unit in UNITS if passed[-1] >= least)
    points = [(0.0, 0.0), *((moment / size, float(number)) for number, moment in enumerate(passed, 1))]
    return figure("Cases done over time", words, plots.steps(points, unit))


def _unit(worked: Sequence[ReportedCycle]) -> str:
    return "round" if any(map(is_round, worked)) else "cycle"


def _times(_: RunReport, worked: Sequence[ReportedCycle]) -> Markup | None:
    series = [
        Series(str(phase), phase.lower(), tuple(_seconds(cycle, phase) for cycle in worked))
        for phase in PhaseName
    ]
    series = [one for one in series if any(one.values)]
    if not series:
        return None
    drawing = plots.columns_of(series, [str(cycle.number) for cycle in worked], _unit(worked))
    return figure(f"Seconds for each {_unit(worked)}", _shares(series), drawing, series)


def _judging(_: RunReport, worked: Sequence[ReportedCycle]) -> Markup | None:
    if not any(cycle.judged_seconds for cycle in worked):
        return None
    series = [
        Series("sessions", "read", tuple(max(one.seconds - one.judged_seconds, 0.0) for one in worked)),
        Series("suite", "green", tuple(cycle.suite_seconds for cycle in worked)),
        Series("gates", "wrote", tuple(max(one.judged_seconds - one.suite_seconds, 0.0) for one in worked)),
    ]
    drawing = plots.columns_of(series, [str(cycle.number) for cycle in worked], _unit(worked))
    return figure("Seconds in sessions, in the suite, in other gates", _shares(series), drawing, series)


def _shares(series: Sequence[Series]) -> str:
    total = sum(value or 0.0 for one in series for value in one.values)
    return ", ".join(f"{one.name} {100 * sum(filter(None, one.values)) / total:.0f} %" for one in series)


def _spending(run: RunReport, _: Sequence[ReportedCycle]) -> Markup | None:
    spent: dict[PhaseName, Usage] = {}
    for turn in run.turns:
        if turn.accepted and turn.handoff.usage:
            phase = turn.handoff.phase
            spent[phase] = spent[phase] + turn.handoff.usage if phase in spent else turn.handoff.usage
    if not any(usage.tokens for usage in spent.values()):
        return None
    read = tuple(float(usage.tokens - usage.output_tokens) for usage in spent.values())
    series = [
        Series("in", "read", read),
        Series("out", "wrote", tuple(float(u.output_tokens) for u in spent.values())),
    ]
    costs = [
        f"{phase} {dollars(usage.cost_usd)}" for phase, usage in spent.items() if usage.cost_usd is not None
    ]
    words = ", ".join(costs) or f"{short_number(sum(usage.tokens for usage in spent.values()))} tokens"
    return figure(
        "Tokens and cost by phase", words, plots.columns_of(series, [str(phase) for phase in spent]), series
    )


def _strength(_: RunReport, worked: Sequence[ReportedCycle]) -> Markup | None:
    needed = Series("change needed by the test", "read", tuple(_share_needed(cycle) for cycle in worked))
    noticed = Series("wrong code noticed", "wrote", tuple(_share_noticed(cycle) for cycle in worked))
    series = [one for one in (needed, noticed) if any(value is not None for value in one.values)]
    words = ", ".join(f"{one.name} {_mean(one):.0f} % on average" for one in series)
    drawing = plots.lines_of(series, [str(cycle.number) for cycle in worked], "cycle")
    return figure("Minimality and mutants, per cent", words, drawing, series) if series else None


def _covered(_: RunReport, worked: Sequence[ReportedCycle]) -> Markup | None:
    values = tuple(_percent_covered(cycle) for cycle in worked)
    if all(value is None for value in values):
        return None
    series = Series("changed code that tests reach", "green", values)
    drawing = plots.lines_of([series], [str(cycle.number) for cycle in worked], "cycle")
    return figure("Coverage, per cent", f"{_mean(series):.0f} % on average", drawing, [series])


def _mean(series: Series) -> float:
    known = [value for value in series.values if value is not None]
    return sum(known) / len(known)


def _seconds(cycle: ReportedCycle, phase: PhaseName) -> float | None:
    turn = cycle.accepted.get(phase)
    return turn.handoff.seconds if turn else None


def _share_needed(cycle: ReportedCycle) -> float | None:
    green = cycle.accepted.get(PhaseName.GREEN)
    return float(green.handoff.facts.minimality.share) if green and green.handoff.facts.minimality else None


def _share_noticed(cycle: ReportedCycle) -> float | None:
    found = [
        turn.handoff.facts.mutants for turn in cycle.turns if turn.accepted and turn.handoff.facts.mutants
    ]
    tried = sum(one.tried for one in found)
    return 100 * sum(one.noticed for one in found) / tried if tried else None


def _percent_covered(cycle: ReportedCycle) -> float | None:
    found = [
        turn.handoff.facts.coverage for turn in cycle.turns if turn.accepted and turn.handoff.facts.coverage
    ]
    return next((one.percent for one in reversed(found) if one.percent is not None), None)


def _moment(timestamp: str) -> float | None:
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return None
