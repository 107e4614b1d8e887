"""One turn for people: its verdict with the evidence, what its session did in short, and what it changed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from redgreenrefactor.model.codec import json_object
from redgreenrefactor.model.decision import accepted_with
from redgreenrefactor.model.run_report import ReportedTurn
from redgreenrefactor.views.diffs import files_of
from redgreenrefactor.views.lines import Ink, Row, Span, Tone, block, count, cut, seconds, short
from redgreenrefactor.views.turn_words import evidence

LABEL = 18
MOST_STEPS = 20  # of a session that are told
ASKED = ("file_path", "command", "pattern", "path")
TONES = {"+": Tone.GOOD, "-": Tone.BAD, "@": Tone.HINT}


def turn_text(
    turn: ReportedTurn, steps: Iterable[Mapping[str, Any]], *, width: int, ink: Ink | None = None
) -> str:
    """Return the verdict and its evidence, the files it changed, and the transcript folded to a line a call."""
    pen, note = ink or Ink(), turn.handoff
    ruling = f"{pen.ok} accepted" if turn.accepted else f"{pen.bad} rejected"
    taken = f", {seconds(note.seconds)}" if note.seconds else ""
    commit = short(turn.commit) or "no commit"
    lines = [f"{turn.name} {pen.dot} {ruling} {pen.dot} {commit}{taken}"]
    about = [
        ("case", note.current_test.description if note.current_test else ""),
        ("subject", turn.patch.subject),
        ("by", " ".join(part for part in (note.agent, note.model) if part)),
        *evidence(note),
    ]
    for name, words in about:
        lines += block(words, width, pen, lead=f"  {name:<{LABEL}}") if words else []
    for found in accepted_with(note) if turn.accepted else note.findings:
        lines += block(f"{found.type}: {found.message}", width, pen, indent=2, lead="! ")
        lines += block(found.hint, width, pen, indent=4, lead=f"{pen.arrow} ") if found.hint else []
    for file in files_of(turn.patch.text):
        changed = f"+{file.added} -{file.removed}" if file.lines else file.what
        lines += block(f"{file.path} {changed}", width, pen, lead=f"  {'changed':<{LABEL}}")
    return "\n".join([*lines, *_session(steps, turn, width, pen)])


def _session(steps: Iterable[Mapping[str, Any]], turn: ReportedTurn, width: int, ink: Ink) -> Iterator[str]:
    calls = [step for step in steps if step.get("type") == "call"]
    for step in calls[:MOST_STEPS]:
        given = json_object(step.get("arguments"))
        asked = next((str(given[name]) for name in ASKED if name in given), "")
        yield cut(
            f"  {'did':<{LABEL}}{ink.line(str(step.get('tool')))} {ink.headline(asked)}".rstrip(), width, ink
        )
    if len(calls) > MOST_STEPS:
        yield f"  {'':<{LABEL}}and {count(len(calls) - MOST_STEPS, 'more call')}"
    yield ""
    yield f"  {ink.arrow} rgr diff {turn.name}"
    if calls:
        yield f"  {ink.arrow} rgr history --transcript {turn.name}"


def diff_rows(patch: str, ink: Ink) -> Iterator[Row]:
    """Yield the lines of a patch, each in the tone of its sign, with nothing in them that a terminal would obey."""
    for line in patch.split("\n"):
        heads = line.startswith(("diff --git", "--- ", "+++ "))
        tone = Tone.STRONG if heads else TONES.get(line[:1], Tone.PLAIN)
        yield (Span(line[:1] + ink.line(line[1:]) if line else "", tone),)
