"""What it costs to hold a session in a program that is an agent: CPU of ours by that of the program itself.

    RGR_AGENTS=FOLDER PYTHONPATH=tests python bench/programs.py [--repeat N] [AGENT ...]

The same scripted model on loopback, in a process of its own, has the same commands run in both: the program alone,
started with the same words, and through us. Programs that are talked to by the Agent Client Protocol do nothing alone.
Ours is our own process and the keeper's; medians are told. The exit code is 1 if it is above the bar.
"""

import argparse
import multiprocessing
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agent_setup import setup_with
from model_server import Answer, Asked, Reply, model_server
from program_rows import PROGRAMS
from redgreenrefactor.agents.program_agent import ProgramAgent, SessionOrder
from redgreenrefactor.agents.session_environment import of_a_program
from redgreenrefactor.agents.table import agent_for
from redgreenrefactor.model.session import Brief, Role
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.sandbox.process import run

BAR = 0.05
COMMANDS = 6
BRIEF = Brief(Role(RoleName.TEST, "", "# Your phase: RED"), PhaseName.RED, 1, 1, "run-1", "Write it.", "{}")


def serve(name: str, told: "multiprocessing.Queue[str]") -> None:
    def mind(asked: Asked) -> Answer:
        if asked.said < COMMANDS:
            return Reply("Next.", (PROGRAMS[name].runs(f"echo {asked.said} >> numbers.txt; ls"),))
        return Reply("Done.")

    with model_server(mind) as server:
        told.put(server.url)
        time.sleep(3600)


def cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def cost(what: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU seconds of our own process and of all that it starts."""
    before = cpu(resource.RUSAGE_SELF), cpu(resource.RUSAGE_CHILDREN)
    what()
    return cpu(resource.RUSAGE_SELF) - before[0], cpu(resource.RUSAGE_CHILDREN) - before[1]


def made(name: str, url: str, folder: Path) -> ProgramAgent:
    agent = agent_for(
        name,
        setup_with(
            project=folder / "project",
            env=PROGRAMS[name].signed_in(folder / "home"),
            model=PROGRAMS[name].model or ("gpt-5.1" if name == "codex" else ""),
            url=url,
            session_timeout=300.0,
            home=folder / "agents",
        ),
    )
    assert isinstance(agent, ProgramAgent)
    agent.probe(BRIEF)
    return agent


def alone(agent: ProgramAgent, folder: Path) -> None:
    """Run the program as we would, and listen to nothing."""
    setup, program = agent.setup, agent.found.program
    env = of_a_program(setup.env, passed_on=program.keys)
    role = "# Your phase: RED"
    order = SessionOrder(BRIEF, folder, agent.found.path, agent.model, role, (), setup, held=False, env=env)
    with agent.dialect.prepare(order) as started:
        assert isinstance(started.stdin, str)
        subprocess.run(
            [agent.found.path, *started.arguments],
            cwd=folder,
            env={**env, **program.telling, **started.env},
            input=started.stdin.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )


def through(agent: ProgramAgent, folder: Path) -> None:
    report = agent.work(BRIEF, folder, lambda _: None)
    assert report.failure is None, report
    assert (folder / "numbers.txt").read_text().endswith(f"{COMMANDS - 1}\n"), report


def measured(name: str, url: str, repeat: int) -> Iterator[tuple[float, float, float]]:
    """Yield what the program takes alone (0 where it cannot be), with us around it, and what is ours of that."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "project"
        folder.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        agent = made(name, url, folder.parent)
        through(agent, folder)  # what is loaded once
        for _ in range(repeat):
            by_itself = 0.0 if PROGRAMS[name].speaks else cost(lambda: alone(agent, folder))[1]
            ours, theirs = cost(lambda: through(agent, folder))
            keeper = cost(lambda: run(["true"], cwd=folder, env={}, timeout=9.0))[1]
            yield by_itself, ours + theirs, ours + keeper


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agents", nargs="*", default=sorted(PROGRAMS), metavar="AGENT")
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    told: multiprocessing.Queue[str] = multiprocessing.Queue()
    worst = 0.0
    print(f"{'':12} {'alone':>8} {'through us':>11} {'ours':>7} {'ours by the program':>20}")
    for name in given.agents:
        server = multiprocessing.Process(target=serve, args=(name, told), daemon=True)
        server.start()
        rounds = list(measured(name, told.get(), given.repeat))
        server.terminate()
        single, whole, ours = (statistics.median(each) for each in zip(*rounds, strict=True))
        share = statistics.median(part / (total - part) for _, total, part in rounds)
        worst = max(worst, share)
        by_itself = f"{single:.2f}s" if single else "-"
        print(f"{name:12} {by_itself:>8} {whole:10.2f}s {ours:6.3f}s {share:19.1%}", flush=True)
    print(f"at most {BAR:.0%}: {'yes' if worst <= BAR else 'NO'}")
    return 0 if worst <= BAR else 1


if __name__ == "__main__":
    raise SystemExit(main())
