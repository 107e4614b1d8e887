"""Where a workflow stands, and how it came there, as text."""

import re
from collections.abc import Iterable, Iterator

from redgreenrefactor.model.decision import accepted_with, cases_worked, cycle_of
from redgreenrefactor.model.goal import EDITING, LIST
from redgreenrefactor.model.handoff import Handoff, State
from redgreenrefactor.model.result import AtWork, Entry
from redgreenrefactor.model.review_task import resuming
from redgreenrefactor.model.verdict import Outcome, Severity, TestOutcome
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import (
    Ink,
    Row,
    Span,
    Tone,
    count,
    heading,
    short,
)
from redgreenrefactor.views.text_page import AMPLE, TextPage, going_on
from redgreenrefactor.views.turn_words import PHASE_TONES

EMPTY = "No handoffs here. Type 'rgr run \"FEATURE\"' to start a workflow."
MOST_ITEMS = 6  # of the done and of the open ones that status shows around the current case
NO_CASE = "no case left"
TESTS = "tests "  # what comes before what they came to
TONES = {"complete": Tone.GOOD, "aborted": Tone.BAD, "stopped": Tone.WARN, "cut": Tone.WARN}
WIDE = 90  # columns from which on a history says the year, and of what a result is
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)", re.ASCII)


def status_text(
    entry: Entry | None, *, width: int, ink: Ink | None = None, at_work: AtWork | None = None
) -> str:
    """Return where the workflow stands, why, and what to type next."""
    page = TextPage(width, ink)
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
    standing = _standing(handoff, page.ink, at_work=at_work is not None)
    page.say(standing, TONES.get(standing.split()[0], Tone.STRONG))
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
    page = TextPage(width, ink)
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
        yield from page.texts(EMPTY)


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


def _facts(page: TextPage, entry: Entry) -> None:
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
    page.why(handoff.error, handoff.error_details.type if handoff.error_details else None)


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


def _list(page: TextPage, handoff: Handoff) -> None:
    """Show the list around the current case; of the rest, how much there is."""
    done, pending = handoff.cases_done, handoff.cases_open
    current = handoff.current_test
    working = _in_work(handoff)
    if handoff.task or not (done or pending or working):
        return  # the work of a task file has no list
    page.gap()
    parts = [f"{done} done", "1 in work" if working else "", f"{pending} to do"]
    page.say("test-list.md: " + ", ".join(part for part in parts if part))
    shown = handoff.completed_tests[-_room(done) :]
    if done > len(shown):
        page.add((Span(f"  {page.ink.more} {done - len(shown)} more done", Tone.FAINT),))
    for text in shown:
        page.add((Span("  [x] ", Tone.GOOD), Span(page.ink.headline(text))))
    if working and current is not None:
        case = Span(page.ink.headline(current.description), Tone.STRONG)
        page.add((Span("  [>] ", Tone.HINT), case), f"{handoff.next_phase} due")
    shown = handoff.pending_tests[: _room(pending)]
    for text in shown:
        page.add((Span("  [ ] ", Tone.FAINT), Span(page.ink.headline(text))))
    if pending > len(shown):
        page.add((Span(f"  {page.ink.more} {pending - len(shown)} more to do", Tone.FAINT),))


def _room(items: int) -> int:
    """Return how many of so many items are shown: counting a single one more would take as much room as it does."""
    return MOST_ITEMS + 1 if items == MOST_ITEMS + 1 else MOST_ITEMS


def _in_work(handoff: Handoff) -> bool:
    """Whether the current case is still being worked at; when a PLAN is due it is done."""
    return handoff.current_test is not None and handoff.next_phase not in (PhaseName.PLAN, PhaseName.COMPLETE)


def _advice(page: TextPage, handoff: Handoff) -> None:
    if handoff.next_phase is PhaseName.COMPLETE:
        page.advise(
            ("rgr history", "shows how it was made"),
            ("rgr report -o ../report.html", "makes a page of it for a browser"),
            ('rgr run "FEATURE"', "starts the next one"),
        )
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


def _at_work(working: AtWork, ink: Ink) -> str:
    return f"rgr is at work here: process {working.process}, since {_when(working.since, ink)}"


def _advice_at_work(page: TextPage, working: AtWork) -> None:
    page.advise(
        ("rgr history --attempts", "shows what it has done so far"),
        (f"kill -INT {working.process}", "stops it; 'rgr resume' goes on later"),
    )


def _entry_lines(page: TextPage, entry: Entry, *, known: bool) -> Iterator[str]:
    """Yield an accepted phase, and what has gone wrong since if it is the last and nobody has told yet."""
    handoff, ink = entry.handoff, page.ink
    left = (*_turn(entry, ink), Span(ink.headline(heading(_about(handoff)))))
    when = _moment(handoff.accepted_at or handoff.timestamp, page)
    mark = _mark(handoff) if page.width >= WIDE else _mark(handoff).removeprefix(TESTS)
    yield from page.row(left, mark, when, indent=9, keep=0)
    if handoff.carried_from:
        told = f"         carried over from {short(ink.line(handoff.carried_from))}"
        yield from page.row((Span(told, Tone.FAINT),))
    for finding in accepted_with(handoff):
        if finding.severity is Severity.WARNING:
            text = f"{finding.type}: {ink.line(finding.message)}"
            yield from page.texts(text, Tone.WARN, indent=9, lead="! ", of_lead=Tone.WARN, most=3)
    if handoff.error is not None and not known:
        kind = f"{handoff.error_details.type}: " if handoff.error_details else ""
        since = f"then {handoff.next_phase} was rejected: {kind}{handoff.error}"
        yield from page.texts(since, Tone.WARN, indent=9, lead="! ", of_lead=Tone.WARN, most=3)


def _turn(entry: Entry, ink: Ink) -> Row:
    """Return the first columns of a handoff: its commit, its cycle, its phase."""
    handoff = entry.handoff
    cycle = f"cycle {handoff.cycle_number}" if handoff.cycle_number else "start"
    phase = f"{handoff.phase if handoff.cycle_number else '':<8}  "
    return (
        Span(f"{short(ink.line(entry.commit)):<7}  ", Tone.COMMIT),
        Span(f"{cycle:<9} ", Tone.FAINT),
        Span(phase, PHASE_TONES.get(handoff.phase, Tone.STRONG)),
    )


def _about(handoff: Handoff) -> str:
    """Return what a handoff is about; the last PLAN found no case, others without one work at the whole feature."""
    if handoff.current_test:
        return handoff.current_test.description
    return NO_CASE if handoff.cycle_number and handoff.phase is PhaseName.PLAN else handoff.feature


def _mark(handoff: Handoff) -> str:
    return str(handoff.outcome or (f"{TESTS}{handoff.test_result}" if handoff.test_result else ""))


def _moment(timestamp: str, page: TextPage) -> str:
    """Return when something was, where a line of the page has room for it; the lines are in the order of time anyway."""
    when = _when(timestamp, page.ink) if page.width >= AMPLE else ""
    return when if page.width >= WIDE or not MOMENT.fullmatch(timestamp) else when[len("2026-") :]


def _attempt_lines(page: TextPage, entry: Entry) -> Iterator[str]:
    """Yield a rejected attempt, marked as one."""
    handoff, ink = entry.handoff, page.ink
    kind = f"{handoff.error_details.type}: " if handoff.error_details else ""
    told = f"attempt {handoff.attempts} rejected{'' if entry.commit else ', no commit'}"
    left = (*_turn(entry, ink), Span(f"{ink.bad} ", Tone.BAD), Span(told))
    yield from page.row(left, _moment(handoff.timestamp, page), indent=9, keep=0)
    why, lead = f"{kind}{handoff.error}", f"{ink.bad} "
    yield from page.texts(why, Tone.WARN, indent=9, lead=lead, of_lead=Tone.BAD, most=3)
