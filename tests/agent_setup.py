"""What agents are made with, in tests: an environment and nothing else, unless a test says so."""

import os
from pathlib import Path
from typing import Any

from redgreenrefactor.agents.session_environment import free
from redgreenrefactor.agents.table import AgentSetup
from redgreenrefactor.model.events import unheard
from redgreenrefactor.model.session import Brief
from redgreenrefactor.sandbox.process import Interrupt

ENV = {"PATH": os.environ["PATH"]}


def unlocked(_brief: Brief) -> tuple[Path, ...]:
    return ()


def setup_with(**changes: Any) -> AgentSetup:
    env = changes.pop("env", ENV)
    usual: dict[str, Any] = {
        "project": Path(),
        "env": env,
        "active_env": env,
        "model": "claude",
        "url": None,
        "session_timeout": 60.0,
        "session_turns": 100,
        "bash_timeout": 60.0,
        "retry_backoff": 0.0,
        "passed_on": (),
        "identity": {},
        "author": {},
        "confine": free,
        "held": "off",
        "confine_tools": free,
        "locked": unlocked,
        "guides": (),
        "path": None,
        "inherit": False,
        "home": Path(),
        "emit": unheard,
        "interrupt": Interrupt(),
    }
    return AgentSetup(**{**usual, **changes})
