"""Repositories with a finished run in them, to be tampered with and judged again."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stage import Stage, calculator, surroundings

from redgreenrefactor.config import Flags
from redgreenrefactor.model.events import Event
from redgreenrefactor.model.proof import CheckedCycle, Verification
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.verify import verify
from repos import Repo

NOTES = "--ref=tdd-handoffs"


@dataclass
class Past:
    """A repository with a finished run in it, to be tampered with."""

    repo: Repo

    def verify(
        self,
        span: str | None = None,
        *,
        pull_request: bool = False,
        strict: bool = False,
        sample: int | None = None,
    ) -> Verification:
        interrupt = Interrupt()
        self.events: list[Event] = []
        around = Surroundings(self.repo.path, surroundings(self.repo), Flags(), self.events.append, interrupt)
        try:
            return verify(around, span, pull_request=pull_request, strict=strict, sample=sample)
        finally:
            interrupt.close()

    def commits(self) -> dict[str, str]:
        """Return the commits by their subjects."""
        rows = self.repo.git("log", "--format=%s%x09%H").splitlines()
        return dict(row.split("\t") for row in rows)  # pyright: ignore[reportReturnType, reportArgumentType]

    def note(self, commit: str) -> dict[str, Any]:
        return json.loads(self.repo.git("notes", NOTES, "show", commit))

    def forge(self, commit: str, **keys: Any) -> None:
        """Change a note."""
        body = {**self.note(commit), **keys}
        self.repo.git("notes", NOTES, "add", "-f", "-F", "-", commit, stdin=json.dumps(body))

    def rewrite(
        self, edit: Callable[[str, dict[str, str]], Mapping[str, str] | None], onto: str = ""
    ) -> None:
        """Make the run's commits again, with files changed by their subjects; notes follow, as `rebase` has it.

        `edit` is given a subject and the files of its commit, and returns what they are to be, None to leave
        the commit out.
        """
        opening = self.repo.git("rev-list", "--max-parents=0", "HEAD")
        parent = onto or opening
        for commit in self.repo.git("rev-list", "--reverse", f"{opening}..HEAD").split():
            message = self.repo.git("log", "-1", "--format=%B", commit)
            files = self._files(commit) | (self._files(onto) if onto else {})
            wanted = edit(message.splitlines()[0], files)
            if wanted is None:
                continue
            self.repo.git("read-tree", "--empty")
            for path, text in wanted.items():
                blob = self.repo.git("hash-object", "-w", "--stdin", stdin=text)
                self.repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
            tree = self.repo.git("write-tree")
            parent = self.repo.git("commit-tree", tree, "-p", parent, "-m", message)
            self.repo.git("notes", NOTES, "copy", "-f", commit, parent)
        self.repo.git("reset", "-q", "--hard", parent)

    def _files(self, commit: str) -> dict[str, str]:
        names = self.repo.git("ls-tree", "-r", "--name-only", commit).splitlines()
        return {name: self.repo.git("show", f"{commit}:{name}") + "\n" for name in names}


def only(verified: Verification) -> CheckedCycle:
    """Return the one cycle that does not hold."""
    assert not verified.ok
    (broken,) = [cycle for cycle in verified.cycles if not cycle.ok]
    return broken


def made(folder: Path, files: Mapping[str, str]) -> None:
    path = folder / "project"
    path.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "TDD_TRUST": "1"}
    repo = Repo(path, env)
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@localhost")
    repo.commit("chore: start", files)
    done = Stage(repo, calculator(2)).run()
    assert done.code == 0, done


def copied(source: Path, tmp_path: Path, env: dict[str, str]) -> Past:
    shutil.copytree(source / "project", tmp_path / "a" / "project", symlinks=True)
    return Past(Repo(tmp_path / "a" / "project", env))
