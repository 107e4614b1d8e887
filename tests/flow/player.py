"""A command agent for tests: plays the part a JSON file has for this phase, cycle and attempt.

    python -I -S player.py PARTS.json

PARTS.json maps "PHASE-CYCLE-ATTEMPT" (or "PHASE-CYCLE", or "PHASE"; "code-2/PHASE-CYCLE" where the run's id
ends in code-2) to
{"files": {path: text or null}, "run": [shell command, …], "commit": message or null, "say": final message,
"exit": code}, done in this order. Every session first appends what it found to PARTS.json.log: its
environment, brief, folder and handoff, the commit that is checked out, and what `git status` says.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def found(brief: str) -> dict[str, Any]:
    return {
        "env": dict(os.environ),
        "brief": brief,
        "cwd": str(Path.cwd()),
        "handoff": json.loads(Path(os.environ["TDD_HANDOFF"]).read_text()),
        "head": git("rev-parse", "HEAD"),
        "status": git("status", "--porcelain"),
    }


def git(*args: str) -> str:
    return subprocess.run(["git", *args], check=True, capture_output=True, text=True).stdout.strip()


def play(part: dict[str, Any]) -> int:
    for path, text in part.get("files", {}).items():
        if text is None:
            Path(path).unlink()
        else:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)
    for command in part.get("run", []):
        subprocess.run(command, shell=True, check=True)
    if part.get("commit"):
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", part["commit"])
    print(part.get("say", ""))
    return int(part.get("exit", 0))


def main() -> int:
    parts_file = Path(sys.argv[1])
    brief = sys.stdin.read()
    with Path(f"{parts_file}.log").open("a") as log:
        log.write(json.dumps(found(brief)) + "\n")
    parts: dict[str, Any] = json.loads(parts_file.read_text())
    phase, cycle, attempt = (os.environ[f"TDD_{name}"] for name in ("PHASE", "CYCLE", "ATTEMPT"))
    run = "-".join(os.environ["TDD_RUN_ID"].split("-")[3:])
    names = (f"{run}/{phase}-{cycle}", f"{phase}-{cycle}-{attempt}", f"{phase}-{cycle}", phase)
    part = next((parts[name] for name in names if name in parts), None)
    if part is None:
        print(f"no part for {phase}-{cycle}-{attempt}", file=sys.stderr)
        return 9
    return play(part)


if __name__ == "__main__":
    sys.exit(main())
