"""Runs that never took place: commits and notes as a run would have left them, made in a moment."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redgreenrefactor.config import Flags
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.model.events import Event
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import Handoff, State
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.surroundings import Surroundings
from repos import Repo

FOLLOWS = {
    PhaseName.PLAN: PhaseName.RED,
    PhaseName.RED: PhaseName.GREEN,
    PhaseName.GREEN: PhaseName.REFACTOR,
    PhaseName.REFACTOR: PhaseName.PLAN,
}
PREFIX = {
    PhaseName.PLAN: "plan: list",
    PhaseName.RED: "test: case",
    PhaseName.GREEN: "feat: case",
    PhaseName.REFACTOR: "refactor: tidy",
}


@dataclass(frozen=True)
class Told:
    """A run's commits by cycle and phase, e.g. `1-RED`, and its opening as `0-PLAN`."""

    commits: Mapping[str, str]


@contextmanager
def ledger_of(repo: Repo, path: Path | None = None) -> Generator[GitLedger]:
    repository = open_repository(path or repo.path, repo.env)
    try:
        yield GitLedger(repository)
    finally:
        repository.close()


def read(repo: Repo, commit: str = "HEAD") -> Handoff | None:
    with ledger_of(repo) as ledger:
        return ledger.read(repo.git("rev-parse", commit))


def write(repo: Repo, notes: Mapping[str, Handoff]) -> None:
    with ledger_of(repo) as ledger:
        ledger.write(notes)


def stamp(number: int) -> str:
    return f"2026-01-11T10:{number // 60:02}:{number % 60:02}Z"


def tell_run(
    repo: Repo, cycles: int = 1, run_id: str = "r", *, complete: bool = False, start: int = 0
) -> Told:
    """Leave commits and notes behind as a run of so many cycles would have."""
    opening = repo.git("rev-parse", "HEAD")
    notes = {opening: Handoff(PhaseName.PLAN, PhaseName.PLAN, run_id, "a feature", timestamp=stamp(start))}
    commits = {"0-PLAN": opening}
    for cycle in range(1, cycles + 1):
        for phase, then in FOLLOWS.items():
            commit = repo.commit(f"{PREFIX[phase]} {cycle}", {f"{run_id}-{phase.lower()}.txt": f"{cycle}\n"})
            commits[f"{cycle}-{phase}"] = commit
            notes[commit] = Handoff(
                phase,
                then,
                run_id,
                "a feature",
                cycle_number=cycle,
                current_test=Case(f"case {cycle}", "t.py", "i.py"),
                timestamp=stamp(start + len(commits)),
                attempts=1,
                retries=0,
                seconds=1.0,
                usage=Usage(10, cost_usd=0.5),
            )
    if complete:
        commit = repo.commit("plan: tick the last", {f"{run_id}-plan.txt": "done\n"})
        commits[f"{cycles + 1}-PLAN"] = commit
        notes[commit] = Handoff(
            PhaseName.PLAN,
            PhaseName.COMPLETE,
            run_id,
            "a feature",
            State.COMPLETE,
            cycles + 1,
            timestamp=stamp(start + len(commits)),
            attempts=1,
            retries=0,
        )
    write(repo, notes)
    return Told(commits)


@contextmanager
def surroundings(repo: Repo, path: Path | None = None) -> Generator[tuple[Surroundings, list[Event]]]:
    """Provide what a command gets from the command line, and what it tells."""
    told: list[Event] = []
    interrupt = Interrupt()
    try:
        yield Surroundings(path or repo.path, repo.env, Flags(), told.append, interrupt), told
    finally:
        interrupt.close()
