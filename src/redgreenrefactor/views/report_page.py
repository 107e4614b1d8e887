"""A run, or several, as one HTML file that needs nothing else: words, plots, and the story with its diffs."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from redgreenrefactor.model.goal import title_of
from redgreenrefactor.model.run_report import ReportedCycle, RunReport
from redgreenrefactor.model.session import dollars
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import count, seconds, short, short_number
from redgreenrefactor.views.markup import Child, Markup, joined, tag
from redgreenrefactor.views.report_cycles import (
    OUTCOMES,
    cycle_section,
    number_of,
    place_of_cycle,
    track,
)
from redgreenrefactor.views.report_figures import figures
from redgreenrefactor.views.turn_words import is_round, title_of_cycle

ASSETS = Path(__file__).with_name("page")
DIFFS = 450_000  # characters of diffs in one file, which stays below a megabyte with them
FEWEST = 600  # characters of each turn's, however many there are
FEW = 12  # cycles that are shown unfolded
LONGEST_TITLE = 120  # characters; what is longer can be unfolded below
MARKS = {"complete": "✓", "failed": "✗", "running": "●", "stopped": "‖", "cut off": "‖"}


def report_page(runs: Sequence[RunReport], *, made: str = "") -> str:
    """Return the whole file; `made` says when."""
    several = len(runs) > 1
    turns = sum(len(run.turns) for run in runs)
    allowance = max(DIFFS // max(turns, 1), FEWEST)
    title = f"{count(len(runs), 'run')}" if several else short_title(runs[0])
    parts = [
        run_article(
            run, within=f"r{index}-" if several else "", level=2 if several else 1, allowance=allowance
        )
        for index, run in enumerate(runs, 1)
    ]
    index = joined([tag("h1", title), _index(runs)]) if several else None
    return page(title, joined([index, parts]), script=asset("report.js"), made=made)


def page(title: str, body: Markup, *, script: str, made: str = "", connect: str = "'none'") -> str:
    """Return a document around what it shows; only this very script may run in it, and only there may it ask."""
    style, digest = asset("page.css"), b64encode(sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; connect-src {connect}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("title", f"{title} · rgr"),
        tag("style", Markup(style)),
    )
    whole = tag("html", head, _body(body, script, made), lang="en")
    return f"<!doctype html>\n{whole}\n"


def _body(main: Markup, script: str, made: str) -> Markup:
    buttons = tag(
        "div",
        tag("button", "Unfold all", type="button", id="unfold"),
        tag("button", "Fold all", type="button", id="fold"),
        class_="buttons",
        hidden=True,
    )
    told = f" on {made}" if made else ""
    return tag(
        "body",
        tag("a", "To the story", href="#main", class_="skip"),
        tag("header", tag("span", *_name(), class_="name"), buttons, class_="bar"),
        tag("main", main, id="main", tabindex="-1"),
        tag(
            "footer",
            tag(
                "p",
                f"Made{told} from git's notes by rgr; ",
                tag("code", "rgr verify"),
                " judges all of it again.",
            ),
        ),
        tag("script", Markup(script)),
    )


def _name() -> tuple[Child, ...]:
    return (
        tag("b", "red", class_="red"),
        tag("b", "green", class_="green"),
        tag("b", "refactor", class_="refactor"),
    )


@cache
def asset(name: str) -> str:
    """Return the text of a file that goes into the page."""
    return (ASSETS / name).read_text("utf-8")


def run_article(run: RunReport, *, within: str = "", level: int = 1, allowance: int = DIFFS) -> Markup:
    """Return one run: what was asked for, how it stands, its plots and its cycles."""
    unfold = len(run.cycles) <= FEW
    cycles = [
        cycle_section(
            cycle, within=within, level=level + 1, allowance=allowance, unfold=unfold, due=run.due_in(cycle)
        )
        for cycle in run.cycles
    ]
    return tag(
        "article",
        run_head(run, within=within, level=level),
        figures(run, within, level),
        _cycles_list(run, within, level),
        tag("div", cycles, id=f"{within}story"),
        class_="run",
        id=f"{within}run",
    )


def short_title(run: RunReport) -> str:
    """Return what a run is about, in a few lines of large letters at most; without a feature, its id."""
    title = title_of(run.feature) or run.run_id
    return title if len(title) <= LONGEST_TITLE else f"{title[:LONGEST_TITLE].rstrip()}…"


def run_head(run: RunReport, *, within: str, level: int) -> Markup:
    """Return title, standing and the figures that are looked for first."""
    title, rest = short_title(run), run.feature.strip()
    whole = tag("details", tag("summary", "The whole feature"), tag("pre", rest), class_="feature")
    return tag(
        "div",
        tag("p", f"run {run.run_id} · head ", tag("code", short(run.latest.commit)), class_="faint"),
        tag(f"h{level}", title),
        tag(
            "p",
            tag("span", f"{MARKS[run.status]} {run.status}", class_=f"badge {run.status.replace(' ', '-')}"),
            " ",
            _standing(run),
            class_="standing",
        ),
        tag(
            "dl",
            [tag("div", tag("dt", name), tag("dd", words)) for name, words in _figures(run)],
            class_="tiles",
        ),
        whole if "\n" in rest or title.endswith("…") or len(rest) > len(title) + 10 else None,
        id=f"{within}head",
    )


def _standing(run: RunReport) -> str:
    note = run.latest.handoff
    if note.next_phase is PhaseName.COMPLETE:
        return "nothing is due"
    why = f": {note.error_details.type}: {note.error}" if note.error and note.error_details else ""
    stands = {"failed": "was given up", "running": "is at work"}.get(run.status, "is due")
    return f"{note.next_phase} {stands}{f', after {why[2:]}' if why and run.status == 'running' else why}"


def _figures(run: RunReport) -> list[tuple[str, str]]:
    note = run.latest.handoff
    done, total = note.cases_done, note.cases_done + run.cases_open
    rounds = sum(is_round(cycle) for cycle in run.cycles)
    told = [
        ("cases done", f"{done} of {total}" if total else ""),
        ("rounds", str(rounds) if rounds and run.whole else ""),
        *(_spent(run) if run.whole else ()),
        ("began", moment_words(run.began)),
        ("agent", note.agent or ""),
        ("model", note.model or ""),
    ]
    return [(name, words) for name, words in told if words]


def _spent(run: RunReport) -> Iterator[tuple[str, str]]:
    usage = run.expense.usage
    yield "rejected attempts", str(sum(len(cycle.rejected) for cycle in run.cycles))
    if run.expense.seconds:
        yield "time at work", seconds(run.expense.seconds)
    if judged := sum(cycle.judged_seconds for cycle in run.cycles):
        yield "of that in gates", seconds(judged)
    if run.clock_seconds:
        yield "by the clock", seconds(run.clock_seconds)
    if usage and usage.cost_usd is not None:
        yield "cost", dollars(usage.cost_usd)
    if usage and usage.tokens:
        yield "tokens", short_number(usage.tokens)


def moment_words(timestamp: str) -> str:
    """Return a time to the minute."""
    return timestamp[:16].replace("T", " ") + (" UTC" if timestamp.endswith("Z") else "")


def _cycles_list(run: RunReport, within: str, level: int) -> Markup | None:
    if not run.cycles:
        return None
    rows = [cycle_row(run, cycle, within) for cycle in run.cycles]
    return tag(
        "nav",
        tag(f"h{level + 1}", "Cycles"),
        tag("ol", rows, class_="cycles", id=f"{within}cycles"),
        aria_label=f"Cycles of run {run.run_id}",
    )


def cycle_row(run: RunReport, cycle: ReportedCycle, within: str) -> Markup:
    """Return a line of the list of cycles."""
    link = tag("a", number_of(cycle), title_of_cycle(cycle), href=f"#{place_of_cycle(cycle, within)}")
    badge = tag("span", OUTCOMES[cycle.outcome], class_=f"badge {cycle.outcome}")
    return tag("li", link, track(cycle, run.due_in(cycle)), badge, id=f"{within}row{cycle.number}")


def _index(runs: Sequence[RunReport]) -> Markup:
    rows = [
        tag(
            "li",
            tag("a", short_title(run), href=f"#r{index}-run"),
            tag(
                "span", f"{run.run_id} · {count(run.latest.handoff.cases_done, 'case')} done", class_="faint"
            ),
            tag("span", f"{MARKS[run.status]} {run.status}", class_=f"badge {run.status.replace(' ', '-')}"),
        )
        for index, run in enumerate(runs, 1)
    ]
    return tag("nav", tag("ol", rows, class_="cycles"), aria_label="Runs")
