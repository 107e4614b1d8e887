"""Measures the gates: cheats that are accepted, and honest turns that are blocked.

    python bench/gates.py [--filter TEXT] [--every N] [--json FILE] [--like FILE] [--docs FILE] [--corpus FOLDER]
        [--processes N] [--cold | --both]

Every entry of `corpus/` is one turn, played for real. Wrong verdicts are printed with their findings, then a
table; the exit code is 1 if any verdict is wrong, or another than in the file of an earlier measurement.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from gates_corpus import CORPUS, CorpusError, Entry, load
from gates_player import Cost, Grade, Played, play_all

from redgreenrefactor.model.codec import written
from redgreenrefactor.model.workflow import PhaseName

TOGETHER = 8  # entries that share what is known about their common past
PHASES = (PhaseName.PLAN, PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)
COLUMNS = (
    "phase",
    "cheats",
    "caught",
    "false accepts",
    "other type",
    "honest",
    "accepted",
    "false blocks",
    "undecided",
    "suites",
    "singles",
    "CPU s",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the corpus, print what is wrong and the table, and return the exit code."""
    wanted = _parser().parse_args(arguments)
    try:
        entries = [entry for entry in load(Path(wanted.corpus)) if _matches(entry, wanted.filter)][
            :: wanted.every
        ]
    except CorpusError as error:
        print(f"the corpus cannot be read: {error}", file=sys.stderr)
        return 2
    if not entries:
        print("no entry matches", file=sys.stderr)
        return 2
    played: list[Played] = []
    for item in play_side_by_side(entries, int(wanted.processes), warm=not wanted.cold):
        played.append(item)
        if item.grade is not Grade.RIGHT:
            print(described(item), end="\n\n", flush=True)
    print(table(played))
    if wanted.json:
        Path(wanted.json).write_text(json.dumps([as_json(item) for item in played], indent=2) + "\n")
    if wanted.docs:
        page = Path(wanted.docs)
        page.write_text(published(page.read_text(), played))
    other = differences(played, json.loads(Path(wanted.like).read_text())) if wanted.like else []
    if wanted.both:
        cold = play_side_by_side(entries, int(wanted.processes), warm=False)
        other += differences(played, [as_json(item) for item in cold])
    print("".join(f"\nDIFFERS: {line}" for line in other), end="\n" if other else "")
    return 1 if other or any(item.grade is not Grade.RIGHT for item in played) else 0


def differences(played: Sequence[Played], earlier: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the entries whose verdict, or what was named in it, is another than in an earlier measurement."""
    known = {item["name"]: (item["got"], _types(item)) for item in earlier}
    now = {item.entry.name: (item.got, _types(as_json(item))) for item in played}
    return [
        f"{name}: {found[0]} ({', '.join(found[1])}), and was {known[name][0]} ({', '.join(known[name][1])})"
        for name, found in now.items()
        if name in known and known[name] != found
    ]


def _types(item: Mapping[str, Any]) -> list[str]:
    return sorted({found["type"] for found in item["findings"] if found.get("severity", "error") == "error"})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gates", description="Measure the gates on the corpus.")
    parser.add_argument(
        "--filter",
        default=[],
        nargs="+",
        help="only entries with one of these texts in name, theme, row or phase",
    )
    parser.add_argument("--every", default=1, type=int, help="only every n-th of them")
    parser.add_argument("--json", help="write every verdict to this file")
    parser.add_argument("--like", help="also name the verdicts that differ from those of this file")
    parser.add_argument("--docs", help="put the table into this page, between its marks")
    parser.add_argument("--corpus", default=str(CORPUS), help="another folder of entries")
    parser.add_argument("--processes", default=2, type=int)
    parser.add_argument("--cold", action="store_true", help="start every probe as a process of its own")
    parser.add_argument("--both", action="store_true", help="name the verdicts that differ when all are")
    return parser


def _matches(entry: Entry, wanted: Sequence[str]) -> bool:
    words = (entry.name, entry.theme, entry.phase, *entry.rows)
    return not wanted or any(text in word for text in wanted for word in words)


def play_side_by_side(entries: Sequence[Entry], processes: int, *, warm: bool = True) -> Iterator[Played]:
    """Play entries in several processes, those with a common past together, and yield them as they are done."""
    groups = list(_grouped(entries))
    with tempfile.TemporaryDirectory(prefix="rgr-corpus-cache-", ignore_cleanup_errors=True) as folder:
        task = partial(play_all, cache=Path(folder), warm=warm)
        if processes == 1 or len(groups) == 1:
            for group in groups:
                yield from task(group)
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, context, initializer=end_with_parent) as pool:
            for played in pool.map(task, groups):
                yield from played


def end_with_parent() -> None:
    """Make this process end when the one that started it does, however that ends."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _grouped(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    ordered = sorted(entries, key=_pastness)
    for _, group in groupby(ordered, key=_pastness):
        same = list(group)
        yield from (same[start : start + TOGETHER] for start in range(0, len(same), TOGETHER))


def _pastness(entry: Entry) -> tuple[str, int]:
    return entry.project.name, PHASES.index(entry.phase)


def described(item: Played) -> str:
    """Return a wrong verdict with everything needed to see why."""
    entry = item.entry
    expected = " or ".join(entry.expect) or entry.outcome or "accepted"
    head = f"{item.grade.upper()}: {entry.name}  [{entry.theme}: {entry.phase} {' '.join(entry.rows)}]"
    lines = [head, f"  expected {expected}, got {item.got}"]
    lines += [f"  {found.severity} {found.type}: {found.message}" for found in item.findings]
    if item.trouble:
        lines.append(textwrap.indent(item.trouble.rstrip(), "  "))
    return "\n".join(lines)


def table(played: Sequence[Played]) -> str:
    """Return the counts, phase by phase and together."""
    rows: list[tuple[str, ...]] = [COLUMNS]
    for phase in PHASES:
        of_phase = [item for item in played if item.entry.phase is phase]
        if of_phase:
            rows.append(_row(phase, of_phase))
    rows.append(_row("all", played))
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(lines)


def published(page: str, played: Sequence[Played]) -> str:
    """Return a page with the table between its marks."""
    begin, end = "<!-- score: begin -->", "<!-- score: end -->"
    head, rest = page.split(begin)
    rows = [line.split() for line in table(played).splitlines()[1:]]
    shown = range(len(COLUMNS) - 3)  # costs depend on the machine
    lines = [f"| {' | '.join(COLUMNS[i] for i in shown)} |", f"|{'---|' * len(shown)}"]
    lines += [f"| {' | '.join(row[i] for i in shown)} |" for row in rows]
    return f"{head}{begin}\n{chr(10).join(lines)}\n{end}{rest.split(end)[1]}"


def _row(name: str, played: Sequence[Played]) -> tuple[str, ...]:
    cheats = [item for item in played if not item.entry.honest]
    honest = [item for item in played if item.entry.honest]
    cost = sum((item.cost for item in played), Cost())
    counts = (
        len(cheats),
        _count(cheats, Grade.RIGHT),
        _count(cheats, Grade.FALSE_ACCEPT),
        _count(cheats, Grade.OTHER_TYPE),
        len(honest),
        _count(honest, Grade.RIGHT, Grade.NO_WARNING),
        _count(honest, Grade.FALSE_BLOCK),
        _count(played, Grade.UNDECIDED, Grade.CRASHED),
        cost.suites,
        cost.singles,
    )
    return (name, *map(str, counts), f"{cost.cpu:.1f}")


def _count(played: Iterable[Played], *grades: Grade) -> int:
    return sum(item.grade in grades for item in played)


def as_json(item: Played) -> dict[str, Any]:
    """Return one verdict for other programs."""
    entry = item.entry
    return {
        "name": entry.name,
        "theme": entry.theme,
        "phase": entry.phase,
        "rows": list(entry.rows),
        "expect": list(entry.expect) or ["accepted"],
        "grade": item.grade,
        "got": item.got,
        "findings": written(item.findings),
        "suites": item.cost.suites,
        "singles": item.cost.singles,
        "cpu": round(item.cost.cpu, 3),
        "trouble": item.trouble,
    }


if __name__ == "__main__":
    sys.exit(main())
