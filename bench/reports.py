"""What looking at runs costs: `rgr report` of 50 cycles against git, `rgr watch` of many handoffs against few.

    python bench/reports.py [--cycles 50]

CPU seconds of whole processes, the smallest of several, measured in turns in one run; only the ratios tell.
Bars: a report costs, the start of the program included, at most 5 times what `git log -p` of the same commits does, and is
smaller than a megabyte; the first
page of `rgr watch` costs with 10,000 handoffs at most 3 times what it costs with 10.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from handoffs import FEW, PHASES, cost, filled, git

LARGEST = 1_000_000  # bytes of a report
TOKENS = {"inputTokens": 900, "outputTokens": 2100, "cacheReadTokens": 45000, "cacheWriteTokens": 3000}
LINES, FILES = 1500, 400  # of a source file, and of the project: what git has to compare
BEFORE = "".join(f"def helper_{n}(value):\n    return value + {n}\n\n" for n in range(LINES // 3))
PAGES = """
import os, sys
from pathlib import Path
from urllib.request import urlopen
from redgreenrefactor.reports.server import watching
with watching(Path.cwd(), os.environ) as served:
    for _ in range(int(sys.argv[1])):
        urlopen(served.address).read()
"""  # so many of them, from a server that has just been started
SERVED = 5  # each the first one: nothing is remembered from page to page
WHO = "Bench <bench@localhost>"


def note(number: int, cycles: int) -> dict[str, Any]:
    """Return the handoff of the turn of this number; 0 is the opening, the last one finds no case."""
    phase, cycle = PHASES[(number - 1) % 4] if number else "PLAN", (number + 3) // 4
    last = number == 4 * cycles + 1
    case = {"description": f"case {cycle} is refused", "testFile": "tests/test_x.py", "implFile": "src/x.py"}
    usage = {**TOKENS, "costUsd": 0.03 + 0.01 * (number % 4)}
    facts: dict[str, dict[str, Any]] = {
        "RED": {"failure": "tests/test_x.py:9: assert 1 == 2", "tests": [f"tests/test_x.py::test_{cycle}"]},
        "GREEN": {
            "minimality": {"share": 100 - cycle % 3 * 10, "hunks": 4, "unneeded": []},
            "mutants": {"tried": 8, "noticed": 8 - cycle % 4},
            "coverage": {"percent": 90 + cycle % 9, "wanted": 90, "tool": "coverage.py"},
        },
    }
    return {
        "schemaVersion": 1,
        "runId": "20260111-103000-e7c1",
        "feature": "Refuse what is no number\n\nEvery kind of text that is no number has its own message.\n",
        "state": "complete" if last else "running",
        "phase": phase,
        "nextPhase": "COMPLETE" if last else PHASES[number % 4] if number else "PLAN",
        "cycleNumber": cycle,
        "currentTest": case if number and not last else None,
        "completedTests": [f"case {done} is refused" for done in range(1, number // 4 + 1)],
        "pendingTests": [f"case {to_do} is refused" for to_do in range(cycle + 1, cycles + 1)],
        "testResult": {"RED": "FAIL", "GREEN": "PASS", "REFACTOR": "PASS"}.get(phase),
        "error": None,
        "errorDetails": None,
        "retryCount": 0,
        "timestamp": f"2026-01-11T{10 + number // 60:02}:{number % 60:02}:00Z",
        "attempts": 1 if number else 0,
        "findings": [],
        "agent": "api",
        "model": "claude-opus-4-5-20251101",
        "usage": usage if number else None,
        "seconds": 20 + number % 7 * 5,
        **facts.get(phase, {}),
    }


def edited(number: int) -> tuple[str, str]:
    """Return a file of the project and its text after a turn: it grows with the run, as a real one does."""
    cycle, phase = (number + 3) // 4, PHASES[(number - 1) % 4]
    if phase == "PLAN":
        return "test-list.md", "".join(f"- [{'x' if n < cycle else ' '}] case {n}\n" for n in range(1, 60))
    tests = "".join(
        f"def test_{n}():\n    value = read('{n} apples')\n    assert value is None\n\n\n"
        for n in range(cycle)
    )
    code = "".join(
        f"    if text.startswith('{n} '):\n        # {phase}\n        return None\n" for n in range(cycle)
    )
    return (
        ("tests/test_x.py", tests)
        if phase == "RED"
        else ("src/x.py", f"def read(text):\n{code}    return 1\n")
    )


def recorded(folder: Path, cycles: int) -> Path:
    """Make a repository with a run of so many cycles, each phase a commit with its handoff and its change."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    rows: list[str] = []
    turns = 4 * cycles + 2
    for number in range(turns):
        message = f"{'chore' if not number else PHASES[(number - 1) % 4].lower()}: turn {number}\n"
        rows.append(
            f"commit refs/heads/main\nmark :{number + 1}\ncommitter {WHO} {1_768_000_000 + 60 * number} +0000\n"
        )
        rows.append(f"data {len(message)}\n{message}")
        files = [edited(number)] if number else [(f"src/part_{n}.py", f"PART = {n}\n") for n in range(FILES)]
        rows += [f"M 100644 inline {path}\ndata {len(text.encode())}\n{text}\n" for path, text in files]
    rows.append(f"commit refs/notes/tdd-handoffs\ncommitter {WHO} 1768000000 +0000\ndata 5\nnotes\n")
    for number in range(turns):
        text = json.dumps(note(number, cycles), indent=2) + "\n"
        rows.append(f"N inline :{number + 1}\ndata {len(text.encode())}\n{text}\n")
    git(folder, "fast-import", "--quiet", stdin="".join(rows).encode())
    for pack in (folder / ".git/objects/pack").glob("*.pack"):  # a run leaves its objects one by one
        packed = pack.read_bytes()
        for part in pack.parent.glob(f"{pack.stem}.*"):
            part.unlink()
        git(folder, "unpack-objects", "-q", stdin=packed)
    git(folder, "reset", "-q", "--hard")
    return folder


def watch_costs(place: Path, many: int, times: int) -> float:
    """Return how many times more the first page of a server takes with many handoffs than with few, git's work included."""
    few, lots = filled(place / "few", FEW), filled(place / "many", many)
    asking = {
        (folder, pages): [sys.executable, "-c", PAGES, str(pages)]
        for folder in (few, lots)
        for pages in (0, SERVED)
    }
    best = dict.fromkeys(asking, float("inf"))
    for _ in range(times + 1):
        for (folder, pages), command in asking.items():
            best[folder, pages] = min(best[folder, pages], cost(folder, command))
    short, long = ((best[folder, SERVED] - best[folder, 0]) / SERVED for folder in (few, lots))
    print(f"first page of watch: {short:.3f} s CPU with {FEW} handoffs, {long:.3f} s with {many}")
    return long / short


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--many", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=5)
    chosen = parser.parse_args()
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "", "NO_PROXY": "127.0.0.1"}
    rgr = [sys.executable, "-m", "redgreenrefactor"]
    with tempfile.TemporaryDirectory() as place:
        folder, page = recorded(Path(place) / "run", chosen.cycles), Path(place) / "report.html"
        tried = {
            "rgr report": [*rgr, "report", "-o", str(page)],
            "git log -p": ["git", "log", "-p"],
        }
        best = dict.fromkeys(tried, float("inf"))
        for _ in range(chosen.times + 1):
            for name, command in tried.items():
                best[name] = min(best[name], cost(folder, command))
        size = page.stat().st_size
        watched = watch_costs(Path(place), chosen.many, chosen.times)
    for name, seconds in best.items():
        print(f"{name:>12}: {seconds:7.3f} s CPU")
    ratio = best["rgr report"] / best["git log -p"]
    print(
        f"report of {chosen.cycles} cycles: {ratio:.2f} times git log -p (at most 5); {size} bytes (below {LARGEST})"
    )
    print(f"first page of watch, {chosen.many} handoffs against {FEW}: {watched:.2f} (at most 3)")
    sys.exit(ratio > 5 or size >= LARGEST or watched > 3)


if __name__ == "__main__":
    main()
