"""The story of a run, cycle by cycle, as HTML: each turn with its verdict, its evidence and what it changed."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, takewhile

from redgreenrefactor.model.decision import accepted_with
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.run_report import DONE, Patch, ReportedCycle, ReportedTurn
from redgreenrefactor.model.verdict import Finding, Severity
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.diffs import FileDiff, files_of
from redgreenrefactor.views.lines import count, seconds, short, used
from redgreenrefactor.views.markup import Child, Markup, joined, tag, text
from redgreenrefactor.views.turn_words import ROUND, evidence, is_round, title_of_cycle

TRACK = (PhaseName.PLAN, PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)
TELLING = (PhaseName.RED, PhaseName.GREEN, *ROUND)  # phases whose turns are shown unfolded
LONGEST_LINE = 400  # characters of one line of a diff
SIGNS = {"+": "ins", "-": "del", "@": "b"}
RUNS = re.compile(r"^([-+@]).*\n(?:\1.*\n)*", re.MULTILINE)  # lines that begin with the same sign
OUTCOMES = {
    "done": "✓ done",
    "covered": "✓ covered already",
    "approved": "✓ approved",
    "feedback": "more was asked for",
    "failed": "✗ given up",
    "unfinished": "in work",
    "closed": "no case left",
}


def cycle_section(
    cycle: ReportedCycle,
    *,
    within: str,
    level: int,
    allowance: int,
    unfold: bool,
    due: PhaseName | None = None,
) -> Markup:
    """Return one cycle; `allowance` is how many characters of each turn's diff are shown, `due` the phase in work."""
    turns = [turn_details(turn, within=within, allowance=allowance, unfold=unfold) for turn in cycle.turns]
    retries = count(len(cycle.rejected), "rejected attempt") if cycle.rejected else None
    told = [seconds(cycle.seconds) if cycle.seconds else None, retries]
    return tag(
        "section",
        tag(
            "div",
            tag(f"h{level}", tag("span", number_of(cycle), class_="number"), title_of_cycle(cycle)),
            tag("span", OUTCOMES[cycle.outcome], class_=f"badge {cycle.outcome}"),
            class_="head",
        ),
        tag("p", " · ".join(part for part in told if part), class_="faint"),
        track(cycle, due),
        turns,
        class_="cycle",
        id=place_of_cycle(cycle, within),
        tabindex="-1",
    )


def number_of(cycle: ReportedCycle) -> str:
    """Return what a cycle is called before its title."""
    return "" if cycle.outcome == "closed" or is_round(cycle) else f"{cycle.number} · "


def place_of_cycle(cycle: ReportedCycle, within: str) -> str:
    """Return the name that links lead to a cycle by."""
    return f"{within}c{cycle.number}"


def track(cycle: ReportedCycle, due: PhaseName | None = None) -> Markup | None:
    """Return the way of a case through its phases: which are behind it, how often each was tried, which one is due."""
    if cycle.outcome == "closed":
        return None
    planned = cycle.case is None and all(turn.handoff.phase is not PhaseName.PLAN for turn in cycle.turns)
    phases = ROUND if is_round(cycle) else TRACK[1:] if planned else TRACK  # by whoever wrote the task file
    steps = [
        tag(
            "li",
            *_step(cycle, phase),
            " …" if phase is due else None,
            class_=_step_class(cycle, phase, due),
            aria_current="step" if phase is due else None,
        )
        for phase in phases
    ]
    return tag("ol", steps, class_="track", aria_label="phases")


def _step_class(cycle: ReportedCycle, phase: PhaseName, due: PhaseName | None) -> str:
    if phase is due:
        return f"{phase.lower()} now"
    state = "behind" if phase in cycle.accepted else "tried" if _refused(cycle, phase) else "ahead"
    return f"{phase.lower()} {state}"


def _step(cycle: ReportedCycle, phase: PhaseName) -> Iterator[Child]:
    refused = _refused(cycle, phase)
    yield str(phase)
    if refused:
        yield f" {refused}✗"
    if phase in cycle.accepted:
        yield " ✓"
    elif cycle.outcome in DONE:
        yield " not needed"


def _refused(cycle: ReportedCycle, phase: PhaseName) -> int:
    return sum(turn.handoff.phase is phase for turn in cycle.rejected)


def turn_details(turn: ReportedTurn, *, within: str, allowance: int, unfold: bool) -> Markup:
    """Return one turn, folded or not."""
    note, words = turn.handoff, turn.patch.subject
    verdict = "✓ accepted" if turn.accepted else f"✗ attempt {turn.attempt} rejected"
    kind = note.error_details.type if not turn.accepted and note.error_details else None
    shown = unfold and (not turn.accepted or note.phase in TELLING)
    return tag(
        "details",
        tag(
            "summary",
            tag("span", str(note.phase), class_=f"phase {note.phase.lower()}"),
            tag("span", verdict, class_="good" if turn.accepted else "bad"),
            tag("span", kind, class_="kind") if kind else None,
            tag("span", words, class_="subject") if words else None,
            tag("span", meta_of(turn), class_="meta"),
        ),
        tag(
            "div",
            findings_list(accepted_with(note) if turn.accepted else note.findings),
            _evidence_list(turn),
            diff_blocks(turn.patch, allowance, f"rgr diff {short(turn.commit)}"),
            class_="turn",
        ),
        open=shown,
        class_=None if turn.accepted else "refused",
        id=f"{within}t{turn.name}",
    )


def meta_of(turn: ReportedTurn) -> Markup:
    """Return commit and time."""
    commit = tag("code", short(turn.commit)) if turn.commit else "no commit"
    return joined([commit, f" · {seconds(turn.handoff.seconds)}" if turn.handoff.seconds else None])


def findings_list(findings: Iterable[Finding]) -> Markup | None:
    """Return what was wrong, where, and what to do instead."""
    rows = [
        tag(
            "li",
            tag("strong", str(found.type)),
            f": {found.message}",
            tag("span", f" {found.file}{f':{found.line}' if found.line else ''}", class_="faint")
            if found.file and found.file not in found.message
            else None,
            tag("p", f"→ {found.hint}", class_="hint") if found.hint else None,
            class_="bad" if found.severity is Severity.ERROR else "warning",
        )
        for found in findings
    ]
    return tag("ul", rows, class_="findings") if rows else None


def _evidence_list(turn: ReportedTurn) -> Markup | None:
    rows = [*evidence(turn.handoff), *_surroundings(turn.handoff)]
    return (
        tag("dl", [tag("div", tag("dt", name), tag("dd", words)) for name, words in rows]) if rows else None
    )


def _surroundings(note: Handoff) -> Iterator[tuple[str, str]]:
    who = " · ".join(part for part in (note.agent, note.model) if part)
    if who:
        yield "by", who
    if note.usage:
        yield "used", used(note.usage)


def diff_blocks(patch: Patch, allowance: int, whole: str) -> Iterator[Markup]:
    """Yield what a commit changed, file by file, as much of it as is allowed; `whole` is what shows all of it."""
    for file in files_of(patch.text):
        lines = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} […]" for line in file.lines]
        kept = lines
        if (size := _size("".join(lines))) > allowance:
            sizes = accumulate(map(_size, lines))
            kept = lines[: sum(1 for _ in takewhile(allowance.__ge__, sizes))]
        allowance -= size
        yield _diff_block(file, kept, whole)


def _size(text: str) -> int:
    """Return how much room a text takes in a page, where some letters are spelt with several."""
    return len(text) + 4 * sum(map(text.count, "<>&"))


def _diff_block(file: FileDiff, kept: Sequence[str], whole: str) -> Markup:
    body = RUNS.sub(_marked, text("".join(f"{line}\n" for line in kept)))
    left = len(file.lines) - len(kept)
    rest = f"… {count(left, 'more line')}: {whole}" if left else None
    said = [file.what, f"+{file.added} -{file.removed}" if file.lines else ""]
    return tag(
        "div",
        tag("p", tag("code", file.path), f" {' · '.join(part for part in said if part)}", class_="path"),
        tag("pre", Markup(body)) if body else None,
        tag("p", rest, class_="faint") if rest else None,
        class_="diff",
    )


def _marked(run: re.Match[str]) -> str:
    name = SIGNS[run[1]]
    return f"<{name}>{run[0]}</{name}>"
