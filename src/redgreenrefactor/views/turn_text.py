"""One turn for people: its verdict with the evidence, what its session did in short, and what it changed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from redgreenrefactor.model.codec import json_object
from redgreenrefactor.model.decision import accepted_with
from redgreenrefactor.model.run_report import ReportedTurn
from redgreenrefactor.views.diffs import files_of
from redgreenrefactor.views.lines import Ink, Row, Span, Tone, count, cut_row, led, seconds, short
from redgreenrefactor.views.turn_words import PHASE_TONES, evidence

LABEL = 18
MOST_STEPS = 20  # of a session that are told
ASKED = ("file_path", "command", "pattern", "path")
TONES = {"+": Tone.GOOD, "-": Tone.BAD, "@": Tone.HINT}


def turn_text(
    turn: ReportedTurn, steps: Iterable[Mapping[str, Any]], *, width: int, ink: Ink | None = None
) -> str:
    """Return the verdict and its evidence, the files it changed, and the transcript folded to a line a call."""
    pen, note = ink or Ink(), turn.handoff
    good = turn.accepted
    ruling = Span(f"{pen.ok} accepted" if good else f"{pen.bad} rejected", Tone.GOOD if good else Tone.BAD)
    name, dot = Span(turn.name, PHASE_TONES[note.phase]), Span(f" {pen.dot} ")
    taken = f", {seconds(note.seconds)}" if note.seconds else ""
    commit = short(turn.commit) or "no commit"
    rows: list[Row] = [(name, dot, ruling, dot, Span(commit, Tone.COMMIT), Span(taken, Tone.FAINT)), ()]
    about = [
        ("case", note.current_test.description if note.current_test else ""),
        ("subject", turn.patch.subject),
        ("by", " ".join(part for part in (note.agent, note.model) if part)),
        *evidence(note),
    ]
    for label, words in about:
        rows += _fact(label, words, width, pen) if words else []
    found = accepted_with(note) if turn.accepted else note.findings
    rows += [()] if found else []
    for finding in found:
        words, tones = f"{finding.type}: {finding.message}", (Tone.WARN, Tone.WARN)
        rows += led(words, width, pen, indent=2, lead="! ", tones=tones)
        tones = (Tone.HINT, Tone.HINT)
        rows += led(finding.hint or "", width, pen, indent=4, lead=f"{pen.arrow} ", tones=tones)
    rows.append(())
    for number, file in enumerate(files_of(turn.patch.text)):
        changed = f"+{file.added} -{file.removed}" if file.lines else file.what
        rows += _fact("" if number else "changed", f"{file.path} {changed}", width, pen)
    rows += _session(steps, turn, width, pen)
    return "\n".join(map(pen.painted, rows))


def _fact(label: str, words: str, width: int, ink: Ink) -> list[Row]:
    return led(words, width, ink, lead=f"  {label:<{LABEL}}", tones=(Tone.FAINT, Tone.PLAIN))


def _session(steps: Iterable[Mapping[str, Any]], turn: ReportedTurn, width: int, ink: Ink) -> Iterator[Row]:
    calls = [step for step in steps if step.get("type") == "call"]
    for number, step in enumerate(calls[:MOST_STEPS]):
        given = json_object(step.get("arguments"))
        asked = next((str(given[name]) for name in ASKED if name in given), "")
        told = f"{ink.line(str(step.get('tool')))} {ink.headline(asked)}"
        label = Span(f"  {'' if number else 'did':<{LABEL}}", Tone.FAINT)
        yield cut_row((label, Span(told.rstrip())), width, ink)
    if len(calls) > MOST_STEPS:
        yield (Span(f"  {'':<{LABEL}}and {count(len(calls) - MOST_STEPS, 'more call')}", Tone.FAINT),)
    yield ()
    yield (Span(f"  {ink.arrow} rgr diff {turn.name}", Tone.HINT),)
    if calls:
        yield (Span(f"  {ink.arrow} rgr history --transcript {turn.name}", Tone.HINT),)


def diff_rows(patch: str, ink: Ink) -> Iterator[Row]:
    """Yield the lines of a patch, each in the tone of its sign, with nothing in them that a terminal would obey."""
    for line in patch.split("\n"):
        heads = line.startswith(("diff --git", "--- ", "+++ "))
        tone = Tone.STRONG if heads else TONES.get(line[:1], Tone.PLAIN)
        yield (Span(line[:1] + ink.line(line[1:]) if line else "", tone),)
