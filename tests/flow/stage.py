"""Where whole runs are played: a repository, the program as a process of its own, and a scripted agent."""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.git.mark import place_of
from repos import Repo

PLAYER = Path(__file__).with_name("player.py")
BIN = Path(sys.executable).parent
PATIENCE = 300.0  # seconds until something that has to happen is given up

Json = dict[str, Any]
Parts = dict[str, Json]

# --- what is played

PYPROJECT = '[tool.pytest.ini_options]\npythonpath = ["."]\n'
SWIFT = "retry.backoff=0\nprobe.budget=0.001\n"
GREENFIELD = {"README.md": "hello\n", "pyproject.toml": PYPROJECT, "tdd.properties": SWIFT}

# The same with a runner of its own that tells no more than an exit code, and starts ten times as fast: for whatever
# does not depend on how tests are run.
RUNNER = """\
import os, sys

sys.path.insert(0, "")
for name in sorted(os.listdir("tests")) if os.path.isdir("tests") else []:
    found = {}
    exec(compile(open(f"tests/{name}").read(), name, "exec"), found)
    [test() for name, test in found.items() if name.startswith("test_")]
"""
PLAIN_SETTINGS = f"{SWIFT}test.command=python -I -S -B run_all.py\n"
PLAIN = {"README.md": "hello\n", "run_all.py": RUNNER, "tdd.properties": PLAIN_SETTINGS}

CASES = ("adds two numbers", "subtracts two numbers", "multiplies two numbers")
NAMES = ("add", "subtract", "multiply")
SIGNS = ("+", "-", "*")
RESULTS = (9, 3, 18)  # of 6 and 3
TEST, CODE = "tests/test_calc.py", "calc.py"


def listed(done: int, of: int = 3) -> str:
    boxes = [f"- [{'x' if number < done else ' '}] {CASES[number]}\n" for number in range(of)]
    return "# Calculator\n\n" + "".join(boxes)


def suite(count: int) -> str:
    lines = [
        f"\n\ndef test_{NAMES[n]}() -> None:\n    assert calc.{NAMES[n]}(6, 3) == {RESULTS[n]}\n"
        for n in range(count)
    ]
    return "import calc\n" + "".join(lines)


def code(count: int, *, polished: int = 0) -> str:
    lines = [
        f"def {NAMES[n]}(a: int, b: int) -> int:\n"
        + (f'    """Return what {NAMES[n]} gives."""\n' if n < polished else "")
        + f"    return a {SIGNS[n]} b\n"
        for n in range(count)
    ]
    return "\n\n".join(lines)


def answer(case: int | None) -> str:
    if case is None:
        return 'Everything is done.\n\n{"currentTest": null}'
    current = {"description": CASES[case], "testFile": TEST, "implFile": CODE}
    return "I have kept the list.\n\n```json\n" + json.dumps({"currentTest": current}) + "\n```"


def calculator(cases: int = 3) -> Parts:
    """Return the parts of an honest run: the second REFACTOR changes something, the others have nothing to do."""
    parts: Parts = {}
    for number in range(cases):
        cycle = number + 1
        parts |= {
            f"PLAN-{cycle}": planned(number, cases),
            f"RED-{cycle}": {"files": {TEST: suite(cycle)}, "commit": f"test: {CASES[number]}"},
            f"GREEN-{cycle}": {
                "files": {CODE: code(cycle, polished=2 if cycle == 3 else 0)},
                "commit": f"feat: {CASES[number]}",
            },
            f"REFACTOR-{cycle}": {},
        }
    if cases > 1:
        parts["REFACTOR-2"] = {
            "files": {CODE: code(2, polished=2)},
            "commit": "refactor: say what is returned",
        }
    return parts | {f"PLAN-{cases + 1}": planned(cases, cases)}


def planned(done: int, of: int) -> Json:
    subject = "plan: list the cases" if done == 0 else f"plan: tick {CASES[done - 1]!r}"
    return {
        "files": {"test-list.md": listed(done, of)},
        "commit": subject,
        "say": answer(done if done < of else None),
    }


def subjects(cases: int = 3) -> list[str]:
    """Return the subjects an honest run leaves behind."""
    found: list[str] = []
    for number, case in enumerate(CASES[:cases]):
        found += [planned(number, cases)["commit"], f"test: {case}", f"feat: {case}"]
        found += ["refactor: say what is returned" if number == 1 else "refactor: no changes needed"]
    return [*found, planned(cases, cases)["commit"]]


# --- the program


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on standard output."""
        return json.loads(self.out)

    def __str__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def program() -> list[str]:
    """Return what starts the program; where coverage is measured, only its own and not that of what it starts."""
    if not _measured():
        return [sys.executable, "-m", "redgreenrefactor"]
    launch = (
        "import os, runpy, sys\n"
        "[os.environ.pop(name) for name in list(os.environ) if name.startswith('COVERAGE_')]\n"
        "runpy.run_module('redgreenrefactor', run_name='__main__', alter_sys=True)"
    )
    return [sys.executable, "-c", launch]


def _measured() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}


def surroundings(repo: Repo) -> dict[str, str]:
    """Return the environment the program is started in: tests find pytest on PATH, and start as fast as they can."""
    return {
        **repo.env,
        **_measured(),
        "PATH": f"{BIN}{os.pathsep}{repo.env['PATH']}",
        "XDG_CACHE_HOME": repo.env.get("XDG_CACHE_HOME", str(repo.path.parent.parent / "cache")),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


@dataclass
class Stage:
    """A repository, the parts of an agent, and the program."""

    repo: Repo
    parts: Parts = field(default_factory=calculator)
    env: dict[str, str] = field(default_factory=dict[str, str])
    project: str = "."
    name: str = ""  # of its parts, where a repository has several agents
    beside: Path | None = None  # where the parts lie, if not beside the repository

    def __post_init__(self) -> None:
        self.play(self.parts)

    @property
    def parts_file(self) -> Path:
        return (self.beside or self.repo.path.parent) / f"{self.name or self.repo.path.name}-parts.json"

    @property
    def agent(self) -> str:
        return "command:" + shlex.join([sys.executable, "-I", "-S", str(PLAYER), str(self.parts_file)])

    def play(self, parts: Parts) -> None:
        """Give the agent these parts from now on."""
        self.parts = parts
        text = json.dumps(parts)
        if not self.parts_file.exists() or self.parts_file.read_text() != text:
            self.parts_file.write_text(text)

    def rgr(
        self, *args: str, stdin: str = "", env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> Done:
        """Run the program to its end."""
        with self.started(*args, env=env, cwd=cwd) as process:
            out, err = process.communicate(stdin, timeout=PATIENCE)
        return Done(process.returncode, out, err)

    @contextmanager
    def started(
        self, *args: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> Generator[subprocess.Popen[str]]:
        """Start the program; it is killed at the latest when the block ends."""
        with subprocess.Popen(
            [*program(), *args],
            cwd=cwd or self.repo.path / self.project,
            env={**surroundings(self.repo), **self.env, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def run(self, *args: str, feature: str = "A calculator", env: Mapping[str, str] | None = None) -> Done:
        return self.rgr("run", feature, "--agent", self.agent, *args, env=env)

    def resume(self, *args: str, env: Mapping[str, str] | None = None) -> Done:
        return self.rgr("resume", "--agent", self.agent, *args, env=env)

    # --- what came of it

    @property
    def sessions(self) -> list[Json]:
        """What each session found, in order."""
        log = Path(f"{self.parts_file}.log")
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    @property
    def turns(self) -> list[str]:
        """Phase, cycle and attempt of each session, in order."""
        return [
            "-".join(s["env"][f"TDD_{name}"] for name in ("PHASE", "CYCLE", "ATTEMPT")) for s in self.sessions
        ]

    def session(self, turn: str) -> Json:
        """Return what the last session of this turn found."""
        return [session for session, name in zip(self.sessions, self.turns, strict=True) if name == turn][-1]

    def note(self, commit: str = "HEAD") -> Json:
        return cast("Json", json.loads(self.repo.git("notes", "--ref=tdd-handoffs", "show", commit)))

    def head(self) -> str:
        return self.repo.git("rev-parse", "HEAD")

    def commits(self, since: str) -> list[str]:
        """Return the commits after this one, oldest first."""
        return self.repo.git("rev-list", "--reverse", f"{since}..HEAD").split()

    def attempts(self) -> dict[str, str]:
        """Return the commits of rejected attempts by their short names."""
        found = self.repo.refs()
        return {
            name.split("/")[-1]: oid for name, oid in found.items() if name.startswith("refs/tdd/attempts/")
        }

    def kept(self) -> dict[str, str]:
        """Return what is kept, by its ref."""
        return {name: oid for name, oid in self.repo.refs().items() if name.startswith("refs/tdd/kept/")}

    def is_clean(self) -> bool:
        """Tell whether nothing of a session, a lock or a mark is left."""
        left = [name for name in ("rgr.lock", "index.lock") if (self.repo.path / ".git" / name).exists()]
        home = Path(surroundings(self.repo)["XDG_CACHE_HOME"]) / "redgreenrefactor"
        marked = place_of(home, self.repo.path.resolve()).exists()
        return not left and not marked and self.repo.git("status", "--porcelain") == ""


# --- waiting and choosing


def alive_with(marker: str) -> list[int]:
    """Return the processes that have this in their environment."""
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if marker.encode() in place.read_bytes():
                found.append(int(place.parent.name))
    return found


def wait_for(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Return as soon as the condition holds."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.01)
