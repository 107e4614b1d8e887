"""What a run came to, as text."""

from redgreenrefactor.model.result import CycleResult, RunStatus, WorkflowResult
from redgreenrefactor.model.session import dollars
from redgreenrefactor.views.lines import Ink, Span, Tone, cells, count, seconds, short, used
from redgreenrefactor.views.text_page import AMPLE, TextPage, going_on


def result_text(
    result: WorkflowResult, *, width: int, ink: Ink | None = None, resume: str | None = "rgr resume"
) -> str:
    """Return what a run came to, case by case; how it ended has been told.

    And what to look at or type next, unless that is told elsewhere: `resume` is what goes on.
    """
    page = TextPage(width, ink)
    for cycle in result.cycles:
        _cycle_row(page, cycle)
    if result.cycles:
        page.gap()
        page.fact("cycles", _counted(result))
    kind = result.error_details.type if result.error_details else None
    if result.error and result.status is RunStatus.INTERRUPTED:
        page.fact("last", f"rejected as {kind}: {result.error}", Tone.WARN)
    else:
        page.why(result.error, kind)
    if result.status is not RunStatus.COMPLETE and result.open_count:
        page.fact("open", _open(result, page.ink))
    if result.warnings:
        page.fact("", f"{count(result.warnings, 'warning')}; 'rgr history' shows them")
    worked = f", {seconds(result.worked)} in sessions and gates" if result.worked else ""
    page.fact("time", f"{seconds(result.seconds)} by the clock{worked}")
    if result.usage is not None:
        page.fact("used", used(result.usage))
    if result.cost_per_test is not None:
        page.fact("a test", f"{dollars(result.cost_per_test)}, rejected attempts included")
    page.fact("run", page.ink.line(result.run_id))
    page.fact("head", short(page.ink.line(result.head)))
    if resume:
        page.gap()
        _result_advice(page, result, resume)
    return page.text


def _counted(result: WorkflowResult) -> str:
    kinds = ("done", "covered", "failed", "unfinished")
    found = [(kind, sum(cycle.outcome == kind for cycle in result.cycles)) for kind in kinds]
    return ", ".join(f"{number} {kind}" for kind, number in found if number)


def _open(result: WorkflowResult, ink: Ink) -> str:
    following = f"; next: {ink.headline(result.open_cases[0])}" if result.open_cases else ""
    return f"{count(result.open_count, 'case')} open{following}"


def _cycle_row(page: TextPage, cycle: CycleResult) -> None:
    ink = page.ink
    good = Span(ink.ok, Tone.GOOD)
    mark = {"done": good, "covered": good, "failed": Span(ink.bad, Tone.BAD)}.get(cycle.outcome, Span("-"))
    gap = " " * (max(cells(ink.ok), cells(ink.bad)) - cells(mark.text) + 1)
    about = ink.headline(cycle.test or "(not planned)")
    retries = "" if not cycle.retries else f"{cycle.retries} retries" if cycle.retries > 1 else "1 retry"
    told = Span(f"{gap}{ink.line(cycle.outcome):<10}  ", Tone.FAINT)
    left = (Span(f"  {cycle.cycle_number:>3}  "), mark, told, Span(about))
    commit = (
        f"{_last_commit(cycle, ink):<7}" if page.width >= AMPLE else ""
    )  # what can be looked up goes first
    page.add(left, retries, commit, f"{seconds(cycle.seconds):>8}", indent=7, keep=0)


def _last_commit(cycle: CycleResult, ink: Ink) -> str:
    """Return the commit with which the cycle stands as it does."""
    commits = cycle.commits
    return short(ink.line(commits.refactor or commits.green or commits.red or commits.plan or ""))


def _result_advice(page: TextPage, result: WorkflowResult, resume: str) -> None:
    advice: list[tuple[str, str]] = []
    if result.status is not RunStatus.COMPLETE:
        kind = result.error_details.type if result.error_details else None
        advice.append(going_on(resume, "goes on where this ended", kind))
    if result.status is RunStatus.FAILED:
        advice.append(("rgr history --attempts", "shows what was tried"))
    first = next((cycle.commits.plan for cycle in result.cycles if cycle.commits.plan), None)
    if first is not None:
        span = f"{short(page.ink.line(first))}^..{short(page.ink.line(result.head))}"
        advice.append((f"git log --oneline {span}", "shows its commits"))
    if result.status is RunStatus.COMPLETE:
        advice.append(("rgr report -o ../report.html", "makes a page of it for a browser"))
    page.advise(*advice)
