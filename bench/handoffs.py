"""What looking at a long run costs: `rgr status` and `rgr history` over many handoffs, against few and against git.

    python bench/handoffs.py [--many 100000]

CPU seconds of whole processes, the smallest of several, measured in turns in one run; only the ratios tell.
Bars: status of many at most 1.5 times status of few. History is linear: every note is read whole, shown or masked
and written again; for all of them at most 10 times what one `git log --notes` takes, as JSON 20 times.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FEW = 10
PHASES = ("PLAN", "RED", "GREEN", "REFACTOR")


def note(number: int, total: int) -> str:
    phase = PHASES[(number - 1) % 4] if number else "PLAN"
    case = {"description": f"case {number // 4}", "testFile": "tests/test_x.py", "implFile": "x.py"}
    body: dict[str, Any] = {
        "schemaVersion": 1,
        "runId": "bench",
        "feature": "A long run",
        "state": "running",
        "phase": phase,
        "nextPhase": PHASES[number % 4] if number else "PLAN",
        "cycleNumber": (number + 3) // 4,
        "currentTest": case if number else None,
        "completedTests": None,
        "pendingTests": None,
        "completedCount": number // 4,
        "pendingCount": total // 4,
        "testResult": "PASS",
        "error": None,
        "errorDetails": None,
        "retryCount": 0,
        "timestamp": "2026-01-11T10:30:00Z",
        "attempts": 1,
        "findings": [],
        "seconds": 1.5,
    }
    return json.dumps(body, indent=2) + "\n"


def git(folder: Path, *args: str, stdin: bytes | None = None) -> bytes:
    return subprocess.run(["git", *args], cwd=folder, input=stdin, check=True, capture_output=True).stdout


def filled(folder: Path, handoffs: int) -> Path:
    """Make a repository with so many commits in a row, each with its handoff."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    who = "Bench <bench@localhost>"
    rows: list[str] = []
    for number in range(handoffs):
        rows += [
            f"commit refs/heads/main\nmark :{number + 1}\ncommitter {who} {1_700_000_000 + number} +0000\n"
        ]
        rows += [f"data 7\nturn {number % 10}\n\n" if number else "data 7\nstart x\n"]
    rows += [f"commit refs/notes/tdd-handoffs\ncommitter {who} 1700000000 +0000\ndata 5\nnotes\n"]
    for number in range(handoffs):
        text = note(number, handoffs)
        rows += [f"N inline :{number + 1}\ndata {len(text.encode())}\n{text}\n"]
    git(folder, "fast-import", "--quiet", stdin="".join(rows).encode())
    git(folder, "reset", "-q", "--hard")
    return folder


def cost(folder: Path, command: Sequence[str]) -> float:
    """Return the CPU seconds of a command and all it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--many", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=5)
    chosen = parser.parse_args()
    os.environ["PYTHONDONTWRITEBYTECODE"] = ""
    rgr = [sys.executable, "-m", "redgreenrefactor"]
    with tempfile.TemporaryDirectory() as place:
        few, many = filled(Path(place) / "few", FEW), filled(Path(place) / "many", chosen.many)
        tried = {
            "status of few": (few, [*rgr, "status", "--json"]),
            "status of many": (many, [*rgr, "status", "--json"]),
            "history of many": (many, [*rgr, "history"]),
            "the same as JSON": (many, [*rgr, "history", "--json"]),
            "git log --notes": (many, ["git", "log", "--notes=tdd-handoffs"]),
        }
        for folder, command in tried.values():
            cost(folder, command)
        best = dict.fromkeys(tried, float("inf"))
        for _ in range(chosen.times):
            for name, (folder, command) in tried.items():
                best[name] = min(best[name], cost(folder, command))
    for name, seconds in best.items():
        print(f"{name:>16}: {seconds:7.3f} s CPU")
    status = best["status of many"] / best["status of few"]
    history, listed = (
        best[name] / best["git log --notes"] for name in ("history of many", "the same as JSON")
    )
    print(f"status, {chosen.many} handoffs against {FEW}: {status:.2f} (at most 1.5)")
    print(
        f"history of all against one git log: {history:.2f} (at most 10), as JSON {listed:.2f} (at most 20)"
    )
    sys.exit(status > 1.5 or history > 10 or listed > 20)


if __name__ == "__main__":
    main()
