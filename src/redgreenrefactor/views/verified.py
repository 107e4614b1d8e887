"""What judging a workflow again has shown, as plain text."""

from collections.abc import Iterator, Sequence

from redgreenrefactor.model.proof import ROUND, WORKED, CheckedCycle, Merged, Verification
from redgreenrefactor.model.verdict import Finding
from redgreenrefactor.views.lines import NARROWEST, Ink, block, cells, count, cut, short


def verified_text(verified: Verification, name: str, *, width: int, ink: Ink | None = None) -> str:
    """Return which cycles hold and which do not, why, and what could not be looked at."""
    pen = ink or Ink()
    kinds = [(verified.cycles, "cycle"), (verified.rounds, "round")]
    shown = [(each, noun) for each, noun in kinds if each] or kinds[:1]
    told = " and ".join(count(len(each), noun) for each, noun in shown)
    lines = [f"verified {told} of {pen.line(name)}"]
    for cycle in (*verified.cycles, *verified.rounds):
        lines += _cycle(cycle, width, pen)
    for finding in verified.findings:
        lines += _finding(finding, width, pen, pen.bad)
    for finding in verified.warnings:
        lines += _finding(finding, width, pen, "!")
    for merged in verified.merged:
        lines += block(_merged(merged), width, pen, indent=2, lead=f"{pen.dot} ")
    for words in verified.missing:
        lines += block(words, width, pen, indent=2, lead=f"{pen.dot} ")
    lines.append(", ".join(_sum(each, noun) for each, noun in shown) + _beyond(verified))
    return "\n".join(lines)


def _sum(each: Sequence[CheckedCycle], noun: str) -> str:
    good = sum(cycle.ok for cycle in each)
    return f"{good} of {count(len(each), noun)} {'holds' if len(each) == 1 else 'hold'}"


def _beyond(verified: Verification) -> str:
    outside = len(verified.findings)
    return f"; {count(outside, 'finding')} outside of the cycles" if outside else ""


def _cycle(cycle: CheckedCycle, width: int, ink: Ink) -> Iterator[str]:
    steps = ", ".join(
        f"{phase} {cycle.phases[phase].result or 'not measured'}"
        for phase in (*WORKED, *ROUND)
        if phase in cycle.phases
    )
    mark = ink.ok if cycle.ok else ink.bad
    name = cycle.test or (f"round of {cycle.run_id}" if cycle.is_round else "")
    left = f"  {mark} {cycle.cycle_number:>3}  {ink.headline(name)}"
    yield f"{cut(left, max(width - cells(steps) - 4, NARROWEST), ink)}  ({steps})"
    for finding in cycle.findings:
        yield from _finding(finding, width, ink, ink.bad)
    for finding in cycle.warnings:
        yield from _finding(finding, width, ink, "!")


def _finding(finding: Finding, width: int, ink: Ink, mark: str) -> Iterator[str]:
    place = f" ({finding.file}{f':{finding.line}' if finding.line else ''})" if finding.file else ""
    known = place.strip(" ()") in finding.message
    yield from block(
        f"{finding.type}: {finding.message}{'' if known else place}", width, ink, indent=8, lead=f"{mark} "
    )


def _merged(merged: Merged) -> str:
    head = f"run {merged.run_id} (last commit {short(merged.head)}) was merged as {short(merged.commit)}"
    match merged.tree:
        case "equal":
            return f"{head}, with exactly its tree"
        case "merged":
            return f"{head}, exactly as git merges it with what was there"
        case _:
            return f"{head}, which differs from it in {', '.join(merged.differs[:10])}"
