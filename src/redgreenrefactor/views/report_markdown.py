"""A run in Markdown, short enough for a pull request: a table of cycles, what was rejected, what it took."""

import re
from collections.abc import Iterator, Sequence

from redgreenrefactor.model.goal import title_of
from redgreenrefactor.model.run_report import ReportedCycle, ReportedTurn, RunReport
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import Ink, count, seconds, short, used
from redgreenrefactor.views.report_cycles import OUTCOMES
from redgreenrefactor.views.turn_words import probed, title_of_cycle

_MARKS = re.compile(r"([\\`*_\[\]<>|#~&!])")
_INK = Ink()
_PHASES = (
    PhaseName.PLAN,
    PhaseName.CODE,
    PhaseName.RED,
    PhaseName.GREEN,
    PhaseName.REFACTOR,
    PhaseName.REVIEW,
)


def report_markdown(runs: Sequence[RunReport]) -> str:
    """Return the runs, one below the other; several begin with a list of them."""
    parts = ["\n".join(_run(run)) for run in runs]
    if len(runs) > 1:
        rows = (f"- {plain(title_of(run.feature))}: {run.status} (`{run.run_id}`)" for run in runs)
        parts.insert(0, "\n".join([f"# {count(len(runs), 'run')}", "", *rows]))
    return "\n\n".join(parts) + "\n"


def plain(words: str) -> str:
    """Return words of others on one line, with nothing in them that Markdown would take for a mark."""
    return _MARKS.sub(r"\\\1", _INK.line(words)).replace("://", ":\u200b//")


def _run(run: RunReport) -> Iterator[str]:
    done = run.latest.handoff.cases_done
    yield f"## {plain(title_of(run.feature)) or 'A run'}"
    yield ""
    total = done + run.cases_open
    told = [f"**{run.status}**", *([f"{done} of {count(total, 'case')} done"] if total else [])]
    told += [f"{seconds(run.expense.seconds)} at work"] if run.expense.seconds else []
    told += [used(run.expense.usage)] if run.expense.usage else []
    yield f"{' · '.join(told)} · run `{run.run_id}` at `{short(run.latest.commit)}`"
    worked = [cycle for cycle in run.cycles if cycle.outcome != "closed"]
    phases = [phase for phase in _PHASES if any(phase in cycle.accepted for cycle in worked)]
    if worked:
        yield ""
        yield f"| | case | outcome | {' | '.join(str(phase) for phase in phases)} | evidence |"
        yield f"|---|---|---|{'---|' * len(phases)}---|"
        yield from (_row(cycle, phases) for cycle in worked)
    rejected = [turn for cycle in run.cycles for turn in cycle.rejected]
    if rejected:
        yield ""
        yield "<details><summary>" + count(len(rejected), "rejected attempt") + "</summary>"
        yield ""
        yield from map(_rejected, rejected)
        yield ""
        yield "</details>"
    yield ""
    yield "`rgr verify` judges every turn again, in any clone that has the notes."


def _row(cycle: ReportedCycle, phases: Sequence[PhaseName]) -> str:
    commits = [f"`{short(turn.commit)}`" if (turn := cycle.accepted.get(phase)) else "" for phase in phases]
    learned = [
        plain(words) for turn in cycle.turns if turn.accepted and (words := probed(turn.handoff.facts))
    ]
    if any(turn.accepted and turn.handoff.facts.evidence == "exit-code" for turn in cycle.turns):
        learned.append("only the exit code of the suite")
    retried = f", {count(len(cycle.rejected), 'rejected attempt')}" if cycle.rejected else ""
    cells = [str(cycle.number), plain(title_of_cycle(cycle)), OUTCOMES[cycle.outcome] + retried, *commits]
    return f"| {' | '.join(cells)} | {'; '.join(learned)} |"


def _rejected(turn: ReportedTurn) -> str:
    note = turn.handoff
    kind = f" **{note.error_details.type}**:" if note.error_details else ""
    return f"- `{turn.name}`{kind} {plain(note.error or '')}"
