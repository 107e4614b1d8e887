"""Runs as they go on, in a browser: the page of the report in parts, each of which can be sent again when it changes."""

from collections.abc import Iterator, Sequence

from redgreenrefactor.model.goal import title_of
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.run_report import NO_PATCH, Patch, RunReport
from redgreenrefactor.model.values import frozen
from redgreenrefactor.views.lines import Ink, short
from redgreenrefactor.views.markup import Markup, joined, tag
from redgreenrefactor.views.report_cycles import (
    cycle_section,
    diff_blocks,
    number_of,
    place_of_cycle,
    track,
)
from redgreenrefactor.views.report_figures import figures
from redgreenrefactor.views.report_page import MARKS, asset, cycle_row, page, run_head
from redgreenrefactor.views.turn_words import title_of_cycle

ALLOWANCE = 20_000  # characters of each turn's diff
STORY, ROWS = "story", "cycles"
_INK = Ink()


@frozen
class LivePart:
    """A piece of the page: its id, and what it is put into where it is not there yet."""

    id: str
    markup: Markup
    into: str = "main"


@frozen
class Glimpse:
    """What a session is doing, or what became of it a moment ago."""

    turn: str
    standing: str
    lines: tuple[str, ...] = ()
    sealed: str = ""  # the commit that the gates are at work at


@frozen
class ListedRun:
    """A run in the list of runs: its latest handoff, and the address of its page."""

    latest: Handoff
    address: str
    at_work: bool
    shown: bool = False


def watch_page(parts: Sequence[LivePart], title: str, *, earlier: str = "", live: bool = True) -> str:
    """Return the page around its parts; `earlier` leads to the turns before those that it shows, `live` has it change."""
    inner = {name: [part.markup for part in parts if part.into == name] for name in ("main", ROWS, STORY)}
    body = joined(
        [
            tag("p", "connecting …", id="link", role="status") if live else None,
            inner["main"],
            tag(
                "nav",
                tag("h2", "Cycles"),
                tag("ol", inner[ROWS], class_="cycles", id=ROWS),
                aria_label="Cycles",
            ),
            tag("p", tag("a", "Earlier turns", href=earlier)) if earlier else None,
            tag("div", inner[STORY], id=STORY),
        ]
    )
    script = asset("report.js") + (asset("watch.js") if live else "")
    return page(title, body, script=script, connect="'self'")


def empty_page(parts: Sequence[LivePart]) -> str:
    """Return the page of a repository without a run: it waits for the first."""
    words = joined(
        [tag("h1", "No run has been started here"), tag("p", "This page shows the first as soon as it is.")]
    )
    return watch_page(
        [*parts, LivePart("head", tag("div", words, id="head", class_="waiting"))], "waiting for a run"
    )


def run_parts(run: RunReport) -> Iterator[LivePart]:
    """Yield the pieces of a run's page."""
    yield LivePart("head", run_head(run, within="", level=1))
    yield LivePart("figures", figures(run, "", 1) or tag("section", id="figures", hidden=True))
    for cycle in run.cycles:
        yield LivePart(f"row{cycle.number}", cycle_row(run, cycle, ""), ROWS)
    for cycle in run.cycles:
        shown = cycle is run.cycles[-1]
        markup = cycle_section(
            cycle, within="", level=2, allowance=ALLOWANCE, unfold=shown, due=run.due_in(cycle)
        )
        yield LivePart(f"c{cycle.number}", markup, STORY)


def now_part(glimpse: Glimpse | None, way: Markup | None = None, patch: Patch = NO_PATCH) -> LivePart:
    """Return what is going on right now: the way of the case in work, what its session does, and what that has changed."""
    if glimpse is None and way is None:
        return LivePart("now", tag("section", id="now", hidden=True))
    lines = "\n".join(map(_INK.line, glimpse.lines)) if glimpse else ""
    words = tag("p", tag("strong", glimpse.turn), f" {glimpse.standing}") if glimpse else None
    diffs = list(diff_blocks(patch, ALLOWANCE, f"git show {short(glimpse.sealed)}")) if glimpse else None
    changed = tag("details", tag("summary", "What it changed"), diffs, id="changes", open=True)
    inner = (way, words, tag("pre", lines) if lines else None, changed if diffs else None)
    return LivePart("now", tag("section", *inner, id="now", aria_label="Right now"))


def way_of(run: RunReport) -> Markup | None:
    """Return the case in work and its way through the phases; None where nobody is at work at one."""
    cycle = next((one for one in run.cycles if run.due_in(one)), None)
    if cycle is None:
        return None
    link = tag("a", number_of(cycle), title_of_cycle(cycle), href=f"#{place_of_cycle(cycle, '')}")
    return tag("div", link, track(cycle, run.due_in(cycle)), class_="way")


def main_parts(listed: LivePart, run: RunReport) -> list[LivePart]:
    """Return the pieces of a page in the order they are read: what goes on right now comes after the run's head."""
    head, *rest = run_parts(run)
    return [listed, head, now_part(None, way_of(run)), *rest]


def runs_part(runs: Sequence[ListedRun], more: str = "") -> LivePart:
    """Return the list of runs; `more` leads to all of them."""
    rows = [tag("li", *_listed(run)) for run in runs]
    rest = tag("p", tag("a", "All runs", href=more)) if more else None
    listed = tag(
        "details", tag("summary", f"Runs ({len(runs)})"), tag("ol", rows, class_="cycles"), rest, id="runlist"
    )
    return LivePart("runs", tag("nav", listed, id="runs", aria_label="Runs"))


def _listed(run: ListedRun) -> Iterator[Markup]:
    note = run.latest
    state = (
        "running"
        if run.at_work
        else str(note.state).replace("aborted", "failed").replace("running", "cut off")
    )
    current = "page" if run.shown else None
    yield tag("a", title_of(note.feature) or note.run_id, href=run.address, aria_current=current)
    yield tag("span", f"{note.run_id} · {note.cases_done} done", class_="faint")
    yield tag("span", f"{MARKS[state]} {state}", class_=f"badge {state.replace(' ', '-')}")
