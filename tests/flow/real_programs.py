"""The real programs that are agents, and a model on loopback that they think with: nothing they do leaves the machine."""

import json
import re
import shlex
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import stage
from stage import CASES, Json, Parts

from model_server import KEY, Answer, Asked, ModelServer, Reply, model_server
from program_rows import PROGRAMS
from redgreenrefactor import WorkflowResult, library
from redgreenrefactor.model.events import Event, SessionSaid
from redgreenrefactor.model.task_result import TaskFileResult
from repos import Repo

FEATURE = "A calculator: it adds, subtracts and multiplies two whole numbers."


def turn_of(asked: Asked) -> str:
    """Return phase and cycle as role and task tell them."""
    text = f"{asked.system}\n{asked.brief}"
    phase, case = re.search(r"# Your phase: (\w+)", text), re.search(r"(?:- case|tick its box): (.+)", text)
    assert phase
    if phase[1] == "PLAN":
        return f"PLAN-{CASES.index(case[1]) + 2 if case else 1}"
    assert case
    return f"{phase[1]}-{CASES.index(case[1]) + 1}"


def environ(agent: str, repo: Repo, home: Path) -> dict[str, str]:
    """Return the surroundings of a person who has set a key for it."""
    env = stage.surroundings(repo)
    return {**env, "XDG_CACHE_HOME": str(home / "cache"), **PROGRAMS[agent].signed_in(home, env["PATH"])}


def written(path: str, text: str) -> str:
    """Return the command that writes a file."""
    return (
        f"mkdir -p {shlex.quote(str(Path(path).parent))}; printf %s {shlex.quote(text)} > {shlex.quote(path)}"
    )


def commands_of(part: Json) -> list[str]:
    """Return the commands a part is played with."""
    commands = [written(path, text) for path, text in part.get("files", {}).items()]
    if "commit" in part:
        commands.append(f"git add -A && git commit -qm {shlex.quote(part['commit'])}")
    return [*part.get("first", ()), *commands]


def script_of(parts: Parts) -> str:
    """Return the same parts as a script that is replayed without any program."""
    lines = ['name = "the same"']
    for turn, part in parts.items():
        phase, cycle = turn.split("-")
        message = json.dumps(part.get("say", "Done."))
        lines += ["[[turn]]", f'phase = "{phase}"', f"cycle = {cycle}", f"message = {message}"]
        for command in commands_of(part):
            lines += ["[[turn.call]]", 'tool = "Bash"', f"command = {json.dumps(command)}"]
    return "\n".join(lines)


@dataclass
class Theatre:
    """A program that plays an honest run with a model of ours, and what may happen on the way."""

    agent: str
    repo: Repo
    home: Path
    parts: Parts
    cast: Mapping[str, str] = field(default_factory=dict[str, str])  # roles that have an agent of their own
    server: ModelServer = field(init=False)
    events: list[Event] = field(default_factory=list[Event])

    def mind(self, asked: Asked) -> Answer:
        turn = turn_of(asked)
        part, agent = self.parts[turn], self.cast.get(turn.partition("-")[0].lower(), self.agent)
        steps = commands_of(part)
        if asked.said < len(steps):
            return Reply("Next.", (PROGRAMS[agent].runs(steps[asked.said]),))
        return Reply(part.get("say", "Done."))

    def run(self, **more: Any) -> WorkflowResult:
        return library.run(FEATURE, **self._usual(more))

    def task(self, file: Path) -> TaskFileResult:
        return library.task(file, **self._usual({}))

    def _usual(self, more: dict[str, Any]) -> dict[str, Any]:
        keys = {PROGRAMS[agent].key: KEY for agent in self.cast.values()}
        more.setdefault("environ", environ(self.agent, self.repo, self.home) | keys)
        more.setdefault("on_event", self.events.append)
        more.setdefault("agent", None if self.cast else self.agent)  # said here, it is everybody's
        more.setdefault("model", PROGRAMS[self.agent].model or None)
        more.setdefault("project", self.repo.path)
        return more

    @property
    def said(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, SessionSaid)]


def at_home(repo: Repo, home: Path) -> Repo:
    """Return the repository of somebody whose name only the settings in the home know, as is usual."""
    settings = home / ".gitconfig"
    home.mkdir(parents=True, exist_ok=True)
    for key in ("user.name", "user.email"):
        repo.git("config", "--file", str(settings), key, repo.git("config", key))
        repo.git("config", "--unset", key)
    return replace(repo, env={**repo.env, "GIT_CONFIG_GLOBAL": str(settings)})


@contextmanager
def theatre(agent: str, repo: Repo, home: Path, parts: Parts, **cast: str) -> Generator[Theatre]:
    """Open the theatre; the model's address stands in the repository's settings, with the cast if there is one."""
    found = Theatre(agent, at_home(repo, home), home, parts, cast)
    with model_server(found.mind) as found.server:
        told = [f"agent.url={found.server.url}", *([f"agent={agent}"] if cast else [])]
        told += [f"agent.{role}={name}" for role, name in cast.items()]
        lines = "".join(f"{line}\n" for line in told)
        found.repo.commit("chore: where the model is", {"tdd.properties": stage.PLAIN_SETTINGS + lines})
        yield found
