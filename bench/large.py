"""What a cycle costs more in a large repository: CPU of runs with and without many files beside the project.

    python bench/large.py [--files 50000] [--profile FILE]

Two runs, of one case and of three, are made in a small repository and in the same one with many more files; half of
what the longer one costs more is a cycle. What a cycle grows by is compared with what git itself takes for that many
files: `status` before and after a session and a checkout beside it, for each of the four turns. The bar is two times
that, and so is it for ten times as many files.
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

BAR = 2.0
FOLDER = 100  # files in one
TURNS = 4
PROJECT = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\ntestpaths = ["tests"]\n',
    "tests/test_old.py": "def test_old():\n    assert 1 + 1 == 2\n",
    "calc.py": '"""Numbers."""\n',
}
AGENT = """
import json, os, sys
from pathlib import Path
phase, cycle, cases = os.environ["TDD_PHASE"], int(os.environ["TDD_CYCLE"]), int(sys.argv[1])
case = lambda n: {"description": f"case {n}", "testFile": f"tests/test_{n}.py", "implFile": "calc.py"}
if phase == "PLAN":
    boxes = "".join(f"- [{'x' if n < cycle else ' '}] case {n}\\n" for n in range(1, cases + 1))
    Path("test-list.md").write_text(boxes)
    print(json.dumps({"currentTest": case(cycle) if cycle <= cases else None}))
elif phase == "RED":
    test = f"from calc import add{cycle}\\n\\n\\ndef test_add():\\n    assert add{cycle}(2) == {cycle + 2}\\n"
    more = f"    assert add{cycle}(5) == {cycle + 5}\\n"
    Path(f"tests/test_{cycle}.py").write_text(test + more)
elif phase == "GREEN":
    with Path("calc.py").open("a") as code:
        code.write(f"\\n\\ndef add{cycle}(number):\\n    return number + {cycle}\\n")
"""


def git(folder: Path, *args: str, stdin: bytes | None = None) -> None:
    subprocess.run(["git", *args], cwd=folder, input=stdin, check=True, capture_output=True)


def filled(folder: Path, files: int) -> Path:
    """Make a repository with a small project and so many other files."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    others = {f"data/{number // FOLDER:05}/{number:07}.txt": f"{number}\n" for number in range(files)}
    rows = ["commit refs/heads/main\ncommitter Bench <bench@localhost> 1700000000 +0000\ndata 6\nstart\n"]
    for path, text in (PROJECT | others).items():
        rows += [f"M 100644 inline {path}\ndata {len(text)}\n{text}"]
    git(folder, "fast-import", "--quiet", stdin="\n".join(rows).encode())
    git(folder, "reset", "-q", "--hard")
    return folder


def cost(folder: Path, command: Sequence[str], env: dict[str, str]) -> float:
    """Return the CPU seconds of a command and all it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{command} failed:\n{done.stdout.decode()}{done.stderr.decode()}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cycle(place: Path, files: int, cases: int, profile: str) -> tuple[float, float]:
    """Return what a cycle costs with so many files beside it, and what git takes for the same."""
    costs: list[float] = []
    agent = place / "agent.py"
    agent.write_text(AGENT)
    for count in (1, cases):
        folder = filled(place / f"{files}-{count}", files)
        env = {**os.environ, "HOME": str(place), "XDG_CACHE_HOME": str(place / f"cache-{files}-{count}")}
        env |= {"TDD_TRUST": "1", "PYTHONDONTWRITEBYTECODE": ""}
        profiled = ["-m", "cProfile", "-o", profile] if profile and files and count > 1 else []
        words = ["run", "Numbers", "--quiet", "--agent", f"command:{sys.executable} -I -S {agent} {count}"]
        costs.append(cost(folder, [sys.executable, *profiled, "-m", "redgreenrefactor", *words], env))
    beside = place / f"beside-{files}"
    git(folder, "worktree", "add", "-q", "--detach", str(beside))
    turn = [
        *(cost(folder, ["git", "status", "--porcelain"], env) for _ in range(2)),
        cost(beside, ["git", "checkout", "-q", "--detach", "HEAD~1"], env),
    ]
    return (costs[1] - costs[0]) / (cases - 1), TURNS * sum(turn)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--cases", type=int, default=3)
    parser.add_argument("--profile", default="", help="write a profile of our own process there")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        few, _ = cycle(Path(place), 0, chosen.cases, "")
        many, needed = cycle(Path(place), chosen.files, chosen.cases, chosen.profile)
    ratio = (many - few) / needed
    if chosen.json:
        print(json.dumps({"few": few, "many": many, "git": needed, "ratio": ratio}))
    else:
        print(
            f"a cycle: {few:.2f} s CPU, with {chosen.files} more files {many:.2f}, git for them {needed:.2f}"
        )
        print(f"what it grows by, by what git takes: {ratio:.2f} (at most {BAR})")
    sys.exit(ratio > BAR)


if __name__ == "__main__":
    main()
