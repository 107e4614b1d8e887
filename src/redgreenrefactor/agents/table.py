"""Every agent there is: a new one is a module with `build`, and a line here."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from redgreenrefactor.agents.acp_presets import PRESETS
from redgreenrefactor.agents.foreign_program import ForeignProgram
from redgreenrefactor.agents.session_environment import Confine
from redgreenrefactor.model.events import Emit, SessionNoted
from redgreenrefactor.model.session import Brief, Step
from redgreenrefactor.ports import Agent
from redgreenrefactor.sandbox.process import Interrupt

Holding = Literal["off", "auto", "on"]  # of programs that are agents


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKind:
    """What is known of an agent before it is made."""

    module: str = ""  # of this package, with `build(argument, setup)`
    argument: str = ""  # what follows its name and a colon, if anything does
    our_tools: bool = False  # it works with the six tools
    own_model: bool = False  # it thinks with a model of its own, which nobody here knows
    program: str | None = None  # of the user's, that it is; nothing where the argument names it
    tried: bool = True  # by us
    fits_sandbox: bool = False  # it is known what such a program needs inside


AGENTS: Mapping[str, AgentKind] = {
    "api": AgentKind(module="api", our_tools=True),
    "claude-code": AgentKind(module="claude_code", program="claude", fits_sandbox=True),
    "codex": AgentKind(module="codex", program="codex", fits_sandbox=True),
    **{
        name: AgentKind(
            module="acp_agent",
            program=preset.program.command,
            tried=preset.tried,
            fits_sandbox=preset.tried,
        )
        for name, preset in PRESETS.items()
    },
    "acp": AgentKind(module="acp_agent", argument="COMMAND", program=""),
    "command": AgentKind(module="command_agent", argument="SHELL COMMAND", own_model=True),
    "replay": AgentKind(module="replay", argument="NAME-OR-FILE", our_tools=True, own_model=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSetup:
    """What agents are made with; each takes what it needs."""

    project: Path
    env: Mapping[str, str]  # the user's
    active_env: Mapping[str, str]  # the same, with the project's virtual environment active
    model: str
    url: str | None  # of the model's server
    session_timeout: float
    session_turns: int
    bash_timeout: float
    retry_backoff: float
    passed_on: Collection[str]  # credentials the user wants it to have
    identity: Mapping[str, str]  # GIT_AUTHOR_* and GIT_COMMITTER_*, where git knows nobody
    author: Mapping[str, str]  # the same of whom git knows
    confine: Confine  # what holds an agent that is a program
    held: Holding  # whether it does: auto, where its sign-in lasts for the session
    confine_tools: Confine  # what holds the tools of one that has ours
    locked: Callable[[Brief], Iterable[Path]]  # what a session may not change
    guides: Sequence[Path]  # files that tell how the project is worked on
    path: str | None  # where a program of the user's lies
    inherit: bool  # whether that one works with the user's own settings
    home: Path  # ours, for what agents keep of this checkout
    emit: Emit
    interrupt: Interrupt

    def note(self, step: Step) -> None:
        """Have a step of a session written down."""
        self.emit(SessionNoted(step))


def kind_of(spec: str) -> AgentKind:
    """Return what is known of the agent that is asked for, NAME or NAME:ARGUMENT."""
    return AGENTS.get(spec.partition(":")[0], AgentKind())


def program_of(name: str) -> ForeignProgram | None:
    """Return what is known of the program that the agent of this name is; None where it is none, or any."""
    if name in PRESETS:
        return PRESETS[name].program
    kind = kind_of(name)
    return import_module(f"{__package__}.{kind.module}").PROGRAM if kind.program else None


def agent_for(spec: str, setup: AgentSetup) -> Agent:
    """Return the agent of this name; one that is missing, or lacks a key, is a NotReadyError."""
    name, _, argument = spec.partition(":")
    build: Callable[[str, AgentSetup], Agent] = import_module(f"{__package__}.{kind_of(spec).module}").build
    return build(argument or name, setup)
