"""Where whole tasks are played: a project, a task file, and a scripted agent."""

import json
from pathlib import Path
from typing import Any

from stage import PYPROJECT, SWIFT, Done, Json, Parts, Stage

from repos import MakeRepo

FILES = {"README.md": "hello\n", "pyproject.toml": PYPROJECT, "tdd.properties": SWIFT}
TEST, CODE = "tests/test_calc.py", "calc.py"
TESTS = (
    "import calc\n\n\ndef test_adds() -> None:\n    assert calc.add(6, 3) == 9\n\n\n"
    "def test_subtracts() -> None:\n    assert calc.subtract(6, 3) == 3\n"
)
ADD = "def add(a: int, b: int) -> int:\n    return a + b\n"
SUBTRACT = "\n\ndef subtract(a: int, b: int) -> int:\n    return a - b\n"
WRONG = "\n\ndef subtract(a: int, b: int) -> int:\n    return b - a\n"
DEAD = "\n\ndef unasked(a: int) -> int:\n    b = a + 1\n    c = b + 1\n    return c\n"
TIDY = '"""Arithmetic."""\n\n\n' + ADD + SUBTRACT


def task(**more: Any) -> Json:
    """Return a task for a calculator."""
    meta = {
        "tdd_workflow": True,
        "tdd_cycles": [
            {"test_count": 2, "test_cases": ["adds", "subtracts"], "implementation_scope": "two functions"}
        ],
        **more.pop("meta", {}),
    }
    return {
        "id": "IMPL-1",
        "title": "Calculator",
        "description": "A calculator that adds and subtracts.",
        "meta": meta,
        "cli_execution": {"id": "WFS-calc-IMPL-1", "strategy": "new"},
        "convergence": {"criteria": ["$ pytest -q", "both functions are there"]},
        "implementation": [
            {"step": "1", "tdd_phase": "red", "description": "Red", "modification_points": [TEST]},
            {"step": "2", "tdd_phase": "green", "description": "Green", "modification_points": [CODE]},
            {"step": "3", "tdd_phase": "refactor", "description": "Refactor"},
        ],
        **more,
    }


def parts(**more: Json) -> Parts:
    """Return what an honest agent does at the first go."""
    return {
        "RED": {"files": {TEST: TESTS}, "commit": "test: the calculator", "say": "Two tests."},
        "GREEN": {"files": {CODE: ADD + SUBTRACT}, "commit": "feat: the calculator", "say": "Two functions."},
        "REFACTOR": {"files": {CODE: TIDY}, "commit": "refactor: say what it is", "say": "A docstring."},
        "DIAGNOSE": {"say": "The sign is wrong."},
        **{name.replace("_", "-"): part for name, part in more.items()},
    }


class TaskStage(Stage):
    """A repository, a task file in it that git ignores, and the program."""

    def rgr_task(self, *words: str, document: Json | None = None, **env: str) -> Done:
        """Run the task to its end."""
        file = self.task_file(document or task())
        return self.rgr("task", str(file), "--agent", self.agent, *words, env=env)

    def task_file(self, document: Json, name: str = "IMPL-1.json") -> Path:
        file = self.repo.path.parent / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document))
        return file

    @property
    def folder(self) -> Path:
        return self.repo.path / ".workflow" / "active" / "WFS-calc"

    def log(self, number: int) -> str:
        return (self.folder / ".process" / f"green-fix-iteration-{number}.md").read_text()

    @property
    def summary(self) -> str:
        return (self.folder / ".summaries" / "IMPL-1-summary.md").read_text()


def staged(
    make_repo: MakeRepo,
    played: Parts | None = None,
    files: dict[str, str] | None = None,
    name: str = "project",
) -> TaskStage:
    return TaskStage(make_repo(name, files=files or FILES), played or parts())


def last_section(text: str) -> list[str]:
    """Return the lines of the one marker section, which is the last."""
    markers = [line for line in text.splitlines() if line.startswith("## ")]
    assert len(markers) == 1, text
    return text[text.index(markers[0]) :].strip().splitlines()
