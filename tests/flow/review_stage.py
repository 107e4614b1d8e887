"""Where tasks of coder and reviewer are played: a repository with a bare remote, a little GitHub, a scripted agent."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from stage import PLAIN, Done, Json, Parts, Stage

from github_server import TOKEN, GitHubServer
from repos import Repo

SPEC = "# Calculator\n\nIt adds, and it subtracts.\n"
ADDED = "def add(a, b):\n    return a + b\n"
BOTH = ADDED + "\n\ndef subtract(a, b):\n    return a - b\n"
TEST_ADD = "import calc\n\n\ndef test_add():\n    assert calc.add(6, 3) == 9\n"
TEST_BOTH = TEST_ADD + "\n\ndef test_subtract():\n    assert calc.subtract(6, 3) == 3\n"
FEEDBACK = {"verdict": "feedback", "feedback": "calc.py: subtraction is missing."}
APPROVE = {"verdict": "approve", "title": "Add a calculator", "body": "It adds and subtracts."}


def coded(code: str = ADDED, test: str = TEST_ADD, **more: Any) -> Json:
    return {
        "files": {"calc.py": code, "tests/test_calc.py": test},
        "commit": "feat: a calculator",
        "say": "I wrote a calculator.",
        **more,
    }


def said(opinion: Json) -> Json:
    return {"say": f"I have looked at it.\n\n```json\n{json.dumps(opinion)}\n```"}


def two_rounds() -> Parts:
    """Return the parts of a task whose first review asks for more and whose second approves."""
    return {
        "CODE-1": coded(),
        "REVIEW-1": said(FEEDBACK),
        "CODE-2": coded(BOTH, TEST_BOTH),
        "REVIEW-2": said(APPROVE),
    }


@dataclass
class ReviewStage(Stage):
    """The stage with a remote and a GitHub."""

    server: GitHubServer | None = None
    parts: Parts = field(default_factory=two_rounds)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.repo.path.joinpath("SPEC.md").write_text(SPEC)
        bare = self.bare
        if not bare.exists():
            self.repo.git("init", "-q", "--bare", str(bare))
            self.repo.git("remote", "add", "origin", str(bare))
            self.repo.git("push", "-q", "origin", "main")
        if self.server:
            self.env |= {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": self.server.url}
            self.server.branches = lambda branch: bool(self.pushed(f"refs/heads/{branch}"))

    @property
    def bare(self) -> Path:
        return self.repo.path.parent / "acme" / "calc.git"

    def pushed(self, ref: str) -> str:
        """Return what the remote has at a ref, nothing if it has none."""
        rows = self.repo.git("ls-remote", str(self.bare), ref).split()
        return rows[0] if rows else ""

    def tdd(self, *args: str, env: dict[str, str] | None = None) -> Done:
        return self.rgr("tdd", *args, "--agent", self.agent, env=env)

    def states(self) -> dict[str, Json]:
        """Return every state file by its task."""
        files = sorted((self.repo.path / ".codex").glob("task-*.json"))
        return {file.stem.removeprefix("task-"): cast("Json", json.loads(file.read_text())) for file in files}

    @property
    def task(self) -> str:
        (task,) = self.states()
        return task

    @property
    def worktrees(self) -> Path:
        return self.repo.path.parent / ".codex-worktrees"

    def branches(self) -> list[str]:
        return self.repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads/").split()

    def everything_written(self) -> bytes:
        """Return the bytes of every file that anything has written here, objects unpacked."""
        parts: list[bytes] = []
        for folder, _, names in os.walk(self.repo.path.parent):
            for name in names:
                path = Path(folder) / name
                if path.is_file() and not path.is_symlink():
                    parts.append(path.read_bytes())
        listing = self.repo.git("cat-file", "--batch-check=%(objectname)", "--batch-all-objects").split()
        parts += [self.repo.git("cat-file", "-p", oid).encode() for oid in listing]
        return b"\n".join(parts)


def plain_repo(make_repo: Any) -> Repo:
    """Make a repository whose suite starts fast."""
    return cast("Repo", make_repo("calc/project", files=PLAIN))


def command_lines() -> list[str]:
    """Return what anybody can read of the processes that run now."""
    lines: list[str] = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(place.read_text(errors="replace"))
    return lines
