"""What it costs to be answered: CPU of commands that only look, by that of a bare interpreter.

    python bench/startup.py [--times N]

Whole processes by turns, the smallest of several; only the ratios tell. The bar is 5. `status`
tells a handoff that is there; a third of it is the interpreter's own modules, a fifth the four git processes.
The first word of `rgr run` is told by the clock.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

RGR = (sys.executable, "-m", "redgreenrefactor")
COMMANDS = {
    "bare": (sys.executable, "-c", ""),
    "help": (*RGR, "--help"),
    "status": (*RGR, "status"),
    "status --json": (*RGR, "status", "--json"),
}
BAR = 5.0
NOTE = {
    "schemaVersion": 1,
    "runId": "r1",
    "feature": "Numbers",
    "state": "running",
    "phase": "RED",
    "nextPhase": "GREEN",
    "cycleNumber": 1,
    "testResult": "FAIL",
    "timestamp": "2026-01-11T10:30:00Z",
    "currentTest": {"description": "adds", "testFile": "tests/test_calc.py", "implFile": "calc.py"},
    "completedTests": [],
    "pendingTests": ["multiplies"],
    "retryCount": 0,
}
US = ("-c", "user.name=Bench", "-c", "user.email=bench@localhost")
HANDOFF = (
    ("init", "-q"),
    (*US, "commit", "-q", "--allow-empty", "-m", "test: adds"),
    (*US, "notes", "--ref=tdd-handoffs", "add", "-m", json.dumps(NOTE)),
)


def cost(command: Sequence[str], folder: Path) -> float:
    """Return the CPU seconds of a command and all it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_word(command: Sequence[str], folder: Path) -> float:
    """Return the seconds until a command has said something, or has ended."""
    began = time.monotonic()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        if process.stdout is not None:
            process.stdout.read(1)
        seconds = time.monotonic() - began
        process.kill()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=15)
    chosen = parser.parse_args()
    os.environ["PYTHONDONTWRITEBYTECODE"] = ""
    best = dict.fromkeys(COMMANDS, float("inf"))
    clock = dict.fromkeys(("bare", "run"), float("inf"))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for words in HANDOFF:
            subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
        for _ in range(chosen.times + 1):  # the first compiles
            for name, command in COMMANDS.items():
                best[name] = min(best[name], cost(command, folder))
            clock["bare"] = min(clock["bare"], first_word(COMMANDS["bare"], folder))
            clock["run"] = min(
                clock["run"], first_word((*RGR, "run", "x", "--agent", "command:true"), folder)
            )
    ratios = {name: seconds / best["bare"] for name, seconds in best.items() if name != "bare"}
    for name, ratio in ratios.items():
        print(f"{name:>14}: {ratio:5.2f} bare interpreters (wanted: {BAR:g})")
    print(
        f"first word of run after {clock['run']:.2f} s, or {clock['run'] / clock['bare']:.1f} bare interpreters"
    )
    sys.exit(max(ratios.values()) > BAR)


if __name__ == "__main__":
    main()
