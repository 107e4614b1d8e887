"""What a model would do, written down: the values a replay agent plays."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.verdict import Finding
from redgreenrefactor.model.workflow import PhaseName


@dataclass(frozen=True, slots=True)
class Use:
    """Call a tool; it has to succeed unless it may fail."""

    tool: str
    arguments: Mapping[str, Any]
    may_fail: bool = False


def write(file_path: str, content: str) -> Use:
    """Put this content into the file, whatever it held."""
    return Use("Write", {"file_path": file_path, "content": content})


def edit(file_path: str, old_string: str, new_string: str, *, replace_all: bool = False) -> Use:
    """Replace this text, which occurs exactly once unless every occurrence is meant."""
    arguments = {"file_path": file_path, "old_string": old_string, "new_string": new_string}
    return Use("Edit", {**arguments, "replace_all": True} if replace_all else arguments)


def bash(command: str, *, may_fail: bool = False) -> Use:
    """Run this command; it has to succeed unless it may fail."""
    return Use("Bash", {"command": command}, may_fail)


@dataclass(frozen=True, slots=True)
class Scene:
    """What one session does, and what it says at the end."""

    phase: PhaseName
    cycle: int
    attempt: int = 1
    calls: tuple[Use, ...] = ()
    message: str = ""
    usage: Usage | None = None
    failure: Finding | None = None  # how it ended instead
    folder: str = ""  # where it was recorded: calls that name it mean where it is played

    @property
    def key(self) -> tuple[PhaseName, int, int]:
        """What it is chosen by."""
        return (self.phase, self.cycle, self.attempt)


@dataclass(frozen=True, slots=True)
class Script:
    """A whole story: what the project starts with, what is asked for, and every session's part."""

    name: str
    feature: str = ""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    scenes: tuple[Scene, ...] = ()
    source: str = ""  # how it was asked for

    def scene(self, phase: PhaseName, cycle: int, attempt: int) -> Scene | None:
        """Return the scene of that attempt or, where there is none, of the last attempt before it."""
        fit = (
            scene
            for scene in self.scenes
            if scene.phase is phase and scene.cycle == cycle and scene.attempt <= attempt
        )
        return max(fit, key=lambda scene: scene.attempt, default=None)
