"""The real programs that are agents, and a model on loopback that they think with: nothing they do leaves the machine."""

import os
import re
import shlex
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import stage
from stage import CASES, Json, Parts

from model_server import KEY, Answer, Asked, Call, ModelServer, Reply, model_server
from redgreenrefactor import WorkflowResult, library
from redgreenrefactor.model.events import Event, SessionSaid
from repos import Repo

FEATURE = "A calculator: it adds, subtracts and multiplies two whole numbers."
KEYS = {
    "claude-code": "ANTHROPIC_API_KEY",
    "codex": "CODEX_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "opencode": "ANTHROPIC_API_KEY",
}
MODELS = {
    "gemini": "gemini-2.5-pro",
    "opencode": "anthropic:claude-sonnet-4-5",
}  # the others have one of their own


def folder() -> Path:
    """Return where `make agents` has put the programs; a test that needs them is skipped where nobody asks for it."""
    found = os.environ.get("RGR_AGENTS")
    if not found:
        pytest.skip("the real programs are run by 'make clients'")
    return Path(found) / "node_modules" / ".bin"


def turn_of(asked: Asked) -> str:
    """Return phase and cycle as role and task tell them."""
    text = f"{asked.system}\n{asked.brief}"
    phase, case = re.search(r"# Your phase: (\w+)", text), re.search(r"(?:- case|tick its box): (.+)", text)
    assert phase
    if phase[1] == "PLAN":
        return f"PLAN-{CASES.index(case[1]) + 2 if case else 1}"
    assert case
    return f"{phase[1]}-{CASES.index(case[1]) + 1}"


def shell(asked: Asked, command: str) -> Call:
    """Return the call that runs a command, as the program calls it."""
    if asked.dialect == "responses":
        return Call.of("exec_command", cmd=command)
    names = {"anthropic": ("Bash", "bash"), "google": ("run_shell_command",)}[asked.dialect]
    name = next(name for name in names if f'"{name}"' in asked.raw.decode())
    return Call.of(name, command=command, description="the next step")


def written(path: str, text: str) -> str:
    """Return the command that writes a file."""
    return (
        f"mkdir -p {shlex.quote(str(Path(path).parent))}; printf %s {shlex.quote(text)} > {shlex.quote(path)}"
    )


def steps_of(asked: Asked, part: Json) -> list[Call]:
    """Return the calls a part is played with."""
    commands = [written(path, text) for path, text in part.get("files", {}).items()]
    if "commit" in part:
        commands.append(f"git add -A && git commit -qm {part['commit']!r}")
    return [shell(asked, command) for command in [*part.get("first", ()), *commands]]


@dataclass
class Theatre:
    """A program that plays an honest run with a model of ours, and what may happen on the way."""

    agent: str
    repo: Repo
    home: Path
    bin: Path
    parts: Parts
    server: ModelServer = field(init=False)
    events: list[Event] = field(default_factory=list[Event])

    def mind(self, asked: Asked) -> Answer:
        part = self.parts[turn_of(asked)]
        steps = steps_of(asked, part)
        if asked.said < len(steps):
            return Reply("Next.", (steps[asked.said],))
        return Reply(part.get("say", "Done."))

    @property
    def environ(self) -> dict[str, str]:
        """What a person has who has set a key: the model's server is ours."""
        env = stage.surroundings(self.repo)
        tmp = self.home / "tmp"
        tmp.mkdir(parents=True, exist_ok=True)
        return {
            **env,
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "TMPDIR": str(tmp),
            "PATH": f"{self.bin}{os.pathsep}{env['PATH']}",
            KEYS[self.agent]: KEY,
        }

    def run(self, **more: Any) -> WorkflowResult:
        more.setdefault("environ", self.environ)
        more.setdefault("on_event", self.events.append)
        more.setdefault("agent", self.agent)
        more.setdefault("model", MODELS.get(self.agent))
        return library.run(FEATURE, project=self.repo.path, **more)

    @property
    def said(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, SessionSaid)]


@contextmanager
def theatre(agent: str, repo: Repo, home: Path, parts: Parts) -> Generator[Theatre]:
    """Open the theatre; the model's address stands in the repository's settings."""
    found = Theatre(agent, repo, home, folder(), parts)
    with model_server(found.mind) as found.server:
        url = f"agent.url={found.server.url}\n"
        repo.commit("chore: where the model is", {"tdd.properties": stage.PLAIN_SETTINGS + url})
        yield found
