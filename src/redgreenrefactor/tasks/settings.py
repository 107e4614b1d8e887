"""Who works at a task: what its file says, against what is configured."""

from dataclasses import replace

from redgreenrefactor.config import Settings
from redgreenrefactor.config.keys import AGENTS, AGENTS_WITH_MORE
from redgreenrefactor.model.task import Task

_TOOLS = {"claude": "claude-code"}


def agent_spec(tool: str) -> str | None:
    """Return the agent that a cli_tool means, None for whatever is configured."""
    name = _TOOLS.get(tool, tool)
    if name == "auto":
        return None
    return name if name in AGENTS or name.startswith(AGENTS_WITH_MORE) else f"command:{tool}"


def settings_for(task: Task, settings: Settings) -> Settings:
    """Return the settings with the program that the task names; a flag on the command line beats it."""
    spec = agent_spec(task.cli_tool) if task.cli_tool else None
    if spec is None or settings.source("agent") == "--agent":
        return settings
    usual = settings.agents["green"]
    agents = dict.fromkeys(settings.agents, spec)
    if settings.agents["diagnosis"] != usual:
        agents["diagnosis"] = settings.agents["diagnosis"]  # somebody has set it
    return replace(settings, agents=agents)
