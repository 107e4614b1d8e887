"""Killing the program, at any moment and without warning, changes nothing about what comes of a run."""

import os
import random
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from stage import (
    GREENFIELD,
    PLAIN,
    Parts,
    Stage,
    alive_with,
    calculator,
    subjects,
    surroundings,
    wait_for,
)

from repos import MakeRepo, Repo
from shared import once

SEED = 20260111
MOMENTS = int(os.environ.get("RGR_KILLS", "25"))  # of each kind of project, spread over the run
KINDS = {"plain": PLAIN, "pytest": GREENFIELD}
WRONG = {"files": {"calc.py": "def add(a: int, b: int) -> int:\n    return a - b\n"}, "commit": "feat: add"}


def parts() -> Parts:
    """Return two cases, one attempt of which is rejected."""
    return {**calculator(2), "GREEN-1-1": WRONG}


@dataclass(frozen=True)
class Undisturbed:
    """What a run comes to when it is left alone."""

    tree: str
    seconds: float


def _play(folder: Path, files: Mapping[str, str]) -> None:
    repo = Repo(
        folder / "project",
        {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "TDD_TRUST": "1"},
    )
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@localhost")
    repo.commit("chore: start", files)
    stage = Stage(repo, parts())
    began = time.monotonic()
    done = stage.run()
    assert done.code == 0, done
    (folder / "tree").write_text(repo.git("rev-parse", "HEAD^{tree}"))
    (folder / "seconds").write_text(str(time.monotonic() - began))


def undisturbed(factory: pytest.TempPathFactory, kind: str) -> Undisturbed:
    """Return what comes of a run in such a project, found out once."""
    folder = once(factory, f"undisturbed-{kind}", lambda folder: _play(folder, KINDS[kind]))
    return Undisturbed((folder / "tree").read_text(), float((folder / "seconds").read_text()))


class Victim:
    """A run that is killed and resumed until it is complete."""

    def __init__(self, make_repo: MakeRepo, kind: str) -> None:
        self.stage = Stage(make_repo(files=KINDS[kind]), parts())
        self.marker = f"RGR_MARKER={uuid.uuid4()}"
        self.stage.env = dict([self.marker.split("=")])

    def killed_after(self, seconds: float) -> bool:
        """Go on with the run and kill it at that moment; return whether it was still alive then."""
        with self.stage.started(*self._words(), "--agent", self.stage.agent) as process:
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                wait_for(lambda: not alive_with(self.marker), "the end of everything the run had started")
                return True
        return False

    def _words(self) -> list[str]:
        begun = "refs/notes/tdd-handoffs" in self.stage.repo.refs()
        return ["resume"] if begun else ["run", "A calculator"]

    def finish(self) -> None:
        """Let the run come to its end."""
        done = self.stage.rgr(*self._words(), "--agent", self.stage.agent)
        assert done.code == 0, done

    def check(self, expected: Undisturbed) -> None:
        """What came of it is what would have come of it anyway."""
        stage = self.stage
        assert stage.repo.subjects()[1:] == subjects(2)
        assert stage.repo.git("rev-parse", "HEAD^{tree}") == expected.tree
        history = stage.rgr("history", "--json").json
        phases = ["PLAN", *["REFACTOR", "GREEN", "RED", "PLAN"] * 2, "PLAN"]
        assert [entry["phase"] for entry in history] == phases
        assert [entry["commit"] for entry in history] == stage.repo.git("rev-list", "HEAD").split()
        assert (history[0]["state"], history[0]["nextPhase"]) == ("complete", "COMPLETE")
        assert stage.is_clean()
        assert list(Path(stage.repo.path / ".git").rglob("*.lock")) == []
        assert alive_with(self.marker) == []
        stage.repo.git("fsck", "--connectivity-only")


def kill_often(victim: Victim, times: int, moment: Callable[[], float]) -> list[float]:
    """Kill the run so many times, or until it is complete; return the moments."""
    moments: list[float] = []
    while len(moments) < times:
        moments.append(moment())
        if not victim.killed_after(moments[-1]):
            break
    return moments


@pytest.mark.long
def test_a_run_that_is_killed_again_and_again_comes_to_the_same_end(
    make_repo: MakeRepo, tmp_path_factory: pytest.TempPathFactory
) -> None:
    expected = undisturbed(tmp_path_factory, "plain")
    chance = random.Random(SEED)
    victim = Victim(make_repo, "plain")
    moments = kill_often(victim, 6, lambda: chance.uniform(0.1, 0.6) * expected.seconds)
    try:
        victim.finish()
        victim.check(expected)
    except AssertionError as problem:
        raise AssertionError(f"seed {SEED}, killed after {moments} seconds") from problem


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "pytest"])
@pytest.mark.parametrize("number", range(MOMENTS))
def test_whenever_a_run_is_killed_it_comes_to_the_same_end(
    make_repo: MakeRepo, tmp_path_factory: pytest.TempPathFactory, number: int, kind: str
) -> None:
    expected = undisturbed(tmp_path_factory, kind)
    moment = random.Random(SEED + number).uniform(number / MOMENTS, (number + 1) / MOMENTS) * expected.seconds
    victim = Victim(make_repo, kind)
    victim.killed_after(moment)
    try:
        victim.finish()
        victim.check(expected)
    except AssertionError as problem:
        raise AssertionError(f"seed {SEED + number}, killed after {moment} seconds") from problem


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, 41))
def test_killed_around_any_call_of_git_it_comes_to_the_same_end(
    make_repo: MakeRepo, tmp_path_factory: pytest.TempPathFactory, number: int, when: str
) -> None:
    expected = undisturbed(tmp_path_factory, "plain")
    victim = Victim(make_repo, "plain")
    victim.stage.env["PATH"] = _deadly_git(victim.stage, number, when)
    victim.stage.rgr("run", "A calculator", "--agent", victim.stage.agent)
    del victim.stage.env["PATH"]
    wait_for(lambda: not alive_with(victim.marker), "the end of everything the run had started")
    victim.finish()
    victim.check(expected)


def _deadly_git(stage: Stage, number: int, when: str) -> str:
    """Return a PATH whose git kills the program that makes this call, before or after it has done its work."""
    folder = stage.repo.path.parent / "deadly"
    folder.mkdir()
    real = shutil.which("git", path=stage.repo.env["PATH"])
    script = f"""#!/bin/sh
[ "$TDD_PHASE" ] && exec {real} "$@"
echo x >> {folder}/calls
[ "$(wc -l < {folder}/calls)" = {number} ] || exec {real} "$@"
[ {when} = after ] && {real} "$@"
kill -KILL $PPID
"""
    (folder / "git").write_text(script)
    (folder / "git").chmod(0o755)
    return f"{folder}{os.pathsep}{surroundings(stage.repo)['PATH']}"
