"""Where a workflow stands, how it came there and what it came to, as plain text."""

import re
from collections.abc import Iterable, Iterator

from redgreenrefactor.model.decision import accepted_with, cases_worked, cycle_of
from redgreenrefactor.model.goal import EDITING, LIST
from redgreenrefactor.model.handoff import Handoff, State
from redgreenrefactor.model.result import AtWork, CycleResult, Entry, RunStatus, WorkflowResult
from redgreenrefactor.model.review_task import resuming
from redgreenrefactor.model.session import Usage, dollars
from redgreenrefactor.model.verdict import FindingType, Outcome, Severity, TestOutcome
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import (
    NARROWEST,
    WIDEST,
    Ink,
    Row,
    Span,
    aligned,
    block,
    cells,
    count,
    heading,
    seconds,
    short,
)

EMPTY = "No handoffs here. Type 'rgr run \"FEATURE\"' to start a workflow."
MOST_ITEMS = 6  # of the done and of the open ones that status shows around the current case
LABEL = 7
NO_CASE = "no case left"
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)", re.ASCII)


def status_text(
    entry: Entry | None, *, width: int, ink: Ink | None = None, at_work: AtWork | None = None
) -> str:
    """Return where the workflow stands, why, and what to type next."""
    page = _Page(width, ink)
    if entry is None and at_work:
        page.say(_at_work(at_work, page.ink))
        _advice_at_work(page, at_work)
        return page.text
    if entry is None:
        page.say("No workflow has been started here.")
        page.advise(('rgr run "FEATURE"', "starts one"))
        return page.text
    handoff = entry.handoff
    page.title(heading(handoff.feature) or "(no feature named)", handoff.run_id)
    page.say(_standing(handoff, page.ink, at_work=at_work is not None))
    if at_work:
        page.say(_at_work(at_work, page.ink))
    page.gap()
    _facts(page, entry)
    _list(page, handoff)
    page.gap()
    if at_work:
        _advice_at_work(page, at_work)
    else:
        _advice(page, handoff)
    return page.text


def history_text(entries: Iterable[Entry], *, width: int, ink: Ink | None = None) -> Iterator[str]:
    """Yield the lines of a history, in the order given and as soon as each entry is read."""
    page = _Page(width, ink)
    empty = True
    told: set[tuple[PhaseName, str | None]] = set()  # rejections since the handoff that comes next
    for entry in entries:
        empty = False
        handoff = entry.handoff
        if entry.is_attempt:
            told.add((handoff.phase, handoff.error))
            yield from _attempt_lines(page, entry)
        else:
            yield from _entry_lines(page, entry, known=(handoff.next_phase, handoff.error) in told)
            told.clear()
    if empty:
        yield from block(EMPTY, page.width, page.ink)


def result_text(
    result: WorkflowResult, *, width: int, ink: Ink | None = None, resume: str = "rgr resume"
) -> str:
    """Return what a run came to, case by case, and what to look at or type next."""
    page = _Page(width, ink)
    page.say(f"{result.status}: {_counted(result)} in {seconds(result.seconds)} by the clock")
    if result.cycles:
        page.gap()
    for cycle in result.cycles:
        _cycle_row(page, cycle)
    page.gap()
    _why(page, result.error, result.error_details.type if result.error_details else None)
    if result.status is not RunStatus.COMPLETE and result.open_count:
        page.fact("open", _open(result, page.ink))
    if result.warnings:
        page.fact("", f"{count(result.warnings, 'warning')}; 'rgr history' shows them")
    if result.worked:
        page.fact("work", f"{seconds(result.worked)} in sessions and gates, rejected attempts included")
    if result.usage is not None:
        page.fact("used", _used(result.usage))
    if result.cost_per_test is not None:
        page.fact("a test", f"{dollars(result.cost_per_test)}, rejected attempts included")
    page.fact("run", page.ink.line(result.run_id))
    page.fact("head", short(page.ink.line(result.head)))
    page.gap()
    _result_advice(page, result, resume)
    return page.text


class _Page:
    """Lines that fit into a width."""

    def __init__(self, width: int, ink: Ink | None) -> None:
        self.width = max(min(width, WIDEST), NARROWEST)
        self.ink = ink or Ink()
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        """All lines; the last one is left open, for whoever prints it."""
        return "\n".join(self._lines).rstrip("\n")

    def title(self, text: str, run_id: str) -> None:
        run = f"run {self.ink.line(run_id)}" if run_id else ""
        self.add(self.ink.headline(text), run, indent=0, keep=0)

    def row(self, left: str, *right: str, indent: int = 2, keep: int = 1) -> list[str]:
        rows = aligned((Span(left),), right, self.width, self.ink, indent=indent, keep=keep)
        return [_plain(row) for row in rows]

    def add(self, left: str, *right: str, indent: int = 2, keep: int = 1) -> None:
        self._lines += self.row(left, *right, indent=indent, keep=keep)

    def say(self, text: str) -> None:
        self._lines += block(text, self.width, self.ink)

    def gap(self) -> None:
        self._lines.append("")

    def fact(self, label: str, text: str) -> None:
        self._lines += block(text, self.width, self.ink, lead=f"  {label:<{LABEL}}")

    def advise(self, *advice: tuple[str, str]) -> None:
        """Say what to type, and what it does."""
        most = self.width // 2  # a longer one has a line of its own
        longest = max((len(command) for command, _ in advice if len(command) <= most), default=0)
        for command, purpose in advice:
            gap = "  " if len(command) <= most else "\n"
            text = f"{command:<{longest}}{gap}{purpose}"
            self._lines += block(text, self.width, self.ink, indent=2, lead=f"{self.ink.arrow} ")


def _plain(row: Row) -> str:
    return "".join(span.text for span in row).rstrip()


def _standing(handoff: Handoff, ink: Ink, *, at_work: bool) -> str:
    """Return in one sentence what is due."""
    match handoff.state:
        case _ if handoff.next_phase is PhaseName.COMPLETE:
            done = cases_worked(handoff)
            told = "" if done is None else f"{count(done, 'case')} done, "
            return f"complete {ink.dot} {told}nothing is due"
        case State.ABORTED:
            tries = f" after {count(handoff.attempts, 'attempt')}" if handoff.attempts else ""
            return f"aborted {ink.dot} {handoff.next_phase} was given up{tries}"
        case State.STOPPED:
            return f"stopped {ink.dot} {handoff.next_phase} is due"
        case _:
            cut_off = "" if at_work else f"cut off {ink.dot} "
            return f"{cut_off}{handoff.next_phase} is due" + _retry(handoff, ink)


def _retry(handoff: Handoff, ink: Ink) -> str:
    return (
        f" {ink.dot} retry {handoff.retry_count}" if handoff.error is not None and handoff.retry_count else ""
    )


def _facts(page: _Page, entry: Entry) -> None:
    handoff = entry.handoff
    case = handoff.current_test
    if handoff.next_phase is not PhaseName.COMPLETE:
        page.fact("cycle", str(cycle_of(handoff)))
    if case is not None and _in_work(handoff):
        page.fact("case", page.ink.headline(case.description))
        page.fact("", f"{page.ink.line(case.test_file)} {page.ink.arrow} {page.ink.line(case.impl_file)}")
    page.fact("last", _last(entry, page.ink))
    page.fact("when", _when(handoff.timestamp, page.ink))
    if handoff.carried_from:
        page.fact(
            "",
            f"carried over from {short(page.ink.line(handoff.carried_from))}: commits of yours came after it",
        )
    _why(page, handoff.error, handoff.error_details.type if handoff.error_details else None)


def _last(entry: Entry, ink: Ink) -> str:
    handoff = entry.handoff
    what = "started" if handoff.cycle_number == 0 else f"{handoff.phase} accepted{_measured(handoff)}"
    return f"{what} at {short(ink.line(entry.commit))}"


def _measured(handoff: Handoff) -> str:
    if handoff.outcome is Outcome.COVERED:
        return " (already covered)"
    if handoff.test_result is None:
        return ""
    return (
        " (tests pass)" if handoff.test_result is TestOutcome.PASS else " (the new test fails, as it should)"
    )


def _when(timestamp: str, ink: Ink) -> str:
    """Return a timestamp to the minute; what is none, as it stands."""
    found = MOMENT.fullmatch(timestamp)
    return f"{found[1]} {found[2]}Z" if found else ink.line(timestamp)


def _why(page: _Page, error: str | None, kind: str | None) -> None:
    """Tell why the last attempt failed, if one did."""
    if error is not None:
        page.fact("why", f"{kind}: {error}" if kind else error)


def _list(page: _Page, handoff: Handoff) -> None:
    """Show the list around the current case; of the rest, how much there is."""
    done, pending = handoff.cases_done, handoff.cases_open
    current = handoff.current_test
    working = _in_work(handoff)
    if handoff.task or not (done or pending or working):
        return  # the work of a task file has no list
    page.gap()
    parts = [f"{done} done", "1 in work" if working else "", f"{pending} to do"]
    page.say("test-list.md: " + ", ".join(part for part in parts if part))
    shown = handoff.completed_tests[-MOST_ITEMS:]
    if done > len(shown):
        page.add(f"  {page.ink.more} {done - len(shown)} more done")
    for text in shown:
        page.add(f"  [x] {page.ink.headline(text)}")
    if working and current is not None:
        page.add(f"  [>] {page.ink.headline(current.description)}", f"{handoff.next_phase} due")
    shown = handoff.pending_tests[:MOST_ITEMS]
    for text in shown:
        page.add(f"  [ ] {page.ink.headline(text)}")
    if pending > len(shown):
        page.add(f"  {page.ink.more} {pending - len(shown)} more to do")


def _in_work(handoff: Handoff) -> bool:
    """Whether the current case is still being worked at; when a PLAN is due it is done."""
    return handoff.current_test is not None and handoff.next_phase not in (PhaseName.PLAN, PhaseName.COMPLETE)


def _advice(page: _Page, handoff: Handoff) -> None:
    if handoff.next_phase is PhaseName.COMPLETE:
        page.advise(("rgr history", "shows how it was made"), ('rgr run "FEATURE"', "starts the next one"))
        return
    if handoff.awaiting:
        page.say(
            f"Waiting for {page.ink.line(handoff.awaiting)}: you may edit {LIST}: {EDITING}. Then go on."
        )
    again = " and a fresh set of retries" if handoff.state is State.ABORTED else ""
    command = page.ink.line(resuming(handoff.run_id))
    tried = [("rgr history --attempts", "shows what was tried")] if handoff.error is not None else []
    kind = handoff.stopped_by or (handoff.error_details.type if handoff.error_details else None)
    page.advise(going_on(command, f"goes on with {handoff.next_phase}{again}", kind), *tried)


def going_on(command: str, purpose: str, kind: str | None) -> tuple[str, str]:
    """Return what to type to go on, and what it does: where the money is used up only with more of it."""
    if kind != FindingType.BUDGET_EXCEEDED:
        return command, purpose
    return f"{command} --budget USD", f"{purpose}, with that much more to spend"


def _at_work(working: AtWork, ink: Ink) -> str:
    return f"rgr is at work here: process {working.process}, since {_when(working.since, ink)}"


def _advice_at_work(page: _Page, working: AtWork) -> None:
    page.advise(
        ("rgr history --attempts", "shows what it has done so far"),
        (f"kill -INT {working.process}", "stops it; 'rgr resume' goes on later"),
    )


def _entry_lines(page: _Page, entry: Entry, *, known: bool) -> Iterator[str]:
    """Yield an accepted phase, and what has gone wrong since if it is the last and nobody has told yet."""
    handoff, ink = entry.handoff, page.ink
    where = (
        f"cycle {handoff.cycle_number:<3} {handoff.phase:<8}" if handoff.cycle_number else f"{'start':<18}"
    )
    left = f"{short(ink.line(entry.commit)):<7}  {where}  {ink.headline(heading(_about(handoff)))}"
    when = _when(handoff.accepted_at or handoff.timestamp, ink)
    yield from page.row(left, _mark(handoff), when, indent=9, keep=0)
    if handoff.carried_from:
        yield from page.row(f"         carried over from {short(ink.line(handoff.carried_from))}")
    for finding in accepted_with(handoff):
        if finding.severity is Severity.WARNING:
            text = f"{finding.type}: {ink.line(finding.message)}"
            yield from block(text, page.width, ink, indent=9, lead="! ", most=3)
    if handoff.error is not None and not known:
        kind = f"{handoff.error_details.type}: " if handoff.error_details else ""
        since = f"{handoff.next_phase} rejected since: {kind}{handoff.error}"
        yield from block(since, page.width, ink, indent=9, lead="! ", most=3)


def _about(handoff: Handoff) -> str:
    """Return what a handoff is about; the last PLAN found no case, others without one work at the whole feature."""
    if handoff.current_test:
        return handoff.current_test.description
    return NO_CASE if handoff.cycle_number and handoff.phase is PhaseName.PLAN else handoff.feature


def _mark(handoff: Handoff) -> str:
    return str(handoff.outcome or (f"tests {handoff.test_result}" if handoff.test_result else ""))


def _attempt_lines(page: _Page, entry: Entry) -> Iterator[str]:
    """Yield a rejected attempt, marked as one."""
    handoff, ink = entry.handoff, page.ink
    kind = f"{handoff.error_details.type}: " if handoff.error_details else ""
    left = (
        f"{short(ink.line(entry.commit)):<7}  {f'cycle {handoff.cycle_number}':<9} {handoff.phase:<8}  "
        f"{ink.bad} attempt {handoff.attempts} rejected{'' if entry.commit else ', no commit'}"
    )
    yield from page.row(left, _when(handoff.timestamp, ink), indent=9, keep=0)
    yield from block(f"{kind}{handoff.error}", page.width, ink, indent=9, lead=f"{ink.bad} ", most=3)


def _counted(result: WorkflowResult) -> str:
    kinds = ("done", "covered", "failed", "unfinished")
    found = [(kind, sum(cycle.outcome == kind for cycle in result.cycles)) for kind in kinds]
    told = ", ".join(f"{number} {kind}" for kind, number in found if number)
    return f"{count(len(result.cycles), 'cycle')}" + (f" ({told})" if told else "")


def _open(result: WorkflowResult, ink: Ink) -> str:
    following = f"; next: {ink.headline(result.open_cases[0])}" if result.open_cases else ""
    return f"{count(result.open_count, 'case')} open{following}"


def _cycle_row(page: _Page, cycle: CycleResult) -> None:
    ink = page.ink
    mark = {"done": ink.ok, "covered": ink.ok, "failed": ink.bad}.get(cycle.outcome, "-")
    wide = max(cells(ink.ok), cells(ink.bad))
    about = ink.headline(cycle.test or "(not planned)")
    retries = "" if not cycle.retries else f"{cycle.retries} retries" if cycle.retries > 1 else "1 retry"
    left = f"  {cycle.cycle_number:>3}  {mark:<{wide}} {ink.line(cycle.outcome):<10}  {about}"
    page.add(left, retries, f"{_last_commit(cycle, ink):<7}  {seconds(cycle.seconds):>8}", indent=7, keep=0)


def _last_commit(cycle: CycleResult, ink: Ink) -> str:
    """Return the commit with which the cycle stands as it does."""
    commits = cycle.commits
    return short(ink.line(commits.refactor or commits.green or commits.red or commits.plan or ""))


def _used(usage: Usage) -> str:
    cached = f" ({usage.cache_read_tokens:,} from the cache)" if usage.cache_read_tokens else ""
    cost = "" if usage.cost_usd is None else f", {dollars(usage.cost_usd)}"
    total = usage.tokens - usage.output_tokens
    return f"{total:,} tokens in{cached}, {usage.output_tokens:,} out{cost}"


def _result_advice(page: _Page, result: WorkflowResult, resume: str) -> None:
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
        advice.append(("rgr report -o ../report.html", "shows all of it in a browser"))
    page.advise(*advice)
