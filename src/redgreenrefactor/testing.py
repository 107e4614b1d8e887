"""Fakes of the ports, for tests of this package and of whatever is built on it."""

from collections.abc import Callable
from pathlib import Path

from redgreenrefactor.model.session import Brief, Report, answered
from redgreenrefactor.ports import Say


class FakeAgent:
    """An agent that is a function of brief and folder: it returns a report, or just the final message."""

    def __init__(self, session: Callable[[Brief, Path], Report | str], name: str = "fake") -> None:
        self.name = name
        self.briefs: list[Brief] = []  # every session so far, in order
        self._session = session

    def work(self, brief: Brief, folder: Path, say: Say) -> Report:
        """Call the function; an empty message where an answer is asked is a failure, as with every agent."""
        self.briefs.append(brief)
        say(f"{self.name} works at {brief.phase}")
        result = self._session(brief, folder)
        return answered(brief, result) if isinstance(result, str) else result
