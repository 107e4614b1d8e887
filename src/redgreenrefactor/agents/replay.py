"""A scripted model: what it says and does is written down, what it does is done for real."""

from collections.abc import Callable
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

from redgreenrefactor.agents.recorded import LARGEST, is_recorded, load_recorded
from redgreenrefactor.agents.script import Scene, Script, Use, katas, parse
from redgreenrefactor.agents.table import AgentSetup
from redgreenrefactor.agents.toolbox import Toolbox, ToolResult, toolbox_in
from redgreenrefactor.errors import UsageError
from redgreenrefactor.filesystem import head_of
from redgreenrefactor.model.session import EVERY_STRATEGY, Answered, Brief, Called, Report, answered
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.ports import Say
from redgreenrefactor.prompts.quote import bounded, in_line

_LAST_CHARACTERS = 2000


def load_script(name_or_file: str, folder: Path | None = None) -> Script:
    """Return the bundled kata of that name, or the script or recorded run at that path, seen from the folder."""
    place = (folder or Path()) / name_or_file
    if is_recorded(place) and name_or_file not in katas():
        return load_recorded(place, name_or_file)
    if "/" in name_or_file or "\\" in name_or_file or Path(name_or_file).suffix:
        return parse(_read(place), name_or_file)
    kata = files("redgreenrefactor") / "katas" / f"{name_or_file}.toml"
    if name_or_file not in katas():
        raise UsageError(f"there is no bundled kata {name_or_file!r}", hint=_hint())
    return parse(kata.read_text(encoding="utf-8"), name_or_file)


def _read(file: Path) -> str:
    try:
        return head_of(file, LARGEST).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"the script {file} cannot be read: {reason}", hint=_hint()) from error


def _hint() -> str:
    return (
        f"Bundled katas are: {', '.join(katas())}. For a script of your own, type its path, e.g. ./mine.toml."
    )


def build(argument: str, setup: AgentSetup) -> "ReplayAgent":
    """Return the agent that plays this script."""
    return ReplayAgent(load_script(argument), setup)


@frozen
class ReplayAgent:
    """An agent that plays a script with real tools."""

    script: Script
    setup: AgentSetup
    strategies: frozenset[str] = EVERY_STRATEGY

    @property
    def name(self) -> str:
        """How it was asked for."""
        return f"replay:{self.script.source or self.script.name}"

    def work(self, brief: Brief, folder: Path, say: Say) -> Report:
        """Play the scene of this phase, cycle and attempt in the folder."""
        scene = self.script.scene(brief.phase, brief.cycle, brief.attempt)
        if scene is None:
            return Report(failure=self._missing(brief))
        with closing(toolbox_in(folder, self.setup, brief)) as toolbox:
            failure = self._play(scene, toolbox, _moved(scene.folder, str(folder)), say)
        if failure is not None:
            return Report(usage=scene.usage, failure=failure)
        if scene.failure is not None:
            return Report(scene.message, scene.usage, scene.failure)
        return answered(brief, scene.message, scene.usage)

    def _play(self, scene: Scene, toolbox: Toolbox, moved: Callable[[Any], Any], say: Say) -> Finding | None:
        """Make the calls one by one; return what is wrong with the first that does not do what it should."""
        for number, call in enumerate(scene.calls, 1):
            self.setup.interrupt.check()
            arguments = {name: moved(value) for name, value in call.arguments.items()}
            say(_told(call))
            self.setup.note(Called(str(number), call.tool, arguments))
            result = toolbox.call(call.tool, arguments)
            self.setup.note(Answered(str(number), result.text, result.failed))
            if result.failed and not call.may_fail:
                return self._failed(scene, number, call, result)
        return None

    def _failed(self, scene: Scene, number: int, call: Use, result: ToolResult) -> Finding:
        where = f"turn {scene.phase} of cycle {scene.cycle}, attempt {scene.attempt}, call {number}"
        kind = FindingType.TIMEOUT if result.timed_out else FindingType.AGENT_FAILURE
        said = bounded(result.text, _LAST_CHARACTERS)
        return Finding(kind, f"{self.name}: {where} ({_told(call)}) failed: {said}", hint=_MEND)

    def _missing(self, brief: Brief) -> Finding:
        return Finding(
            FindingType.AGENT_FAILURE,
            f"{self.name} has no turn for {brief.phase} in cycle {brief.cycle}, attempt {brief.attempt}",
            hint=_MEND,
        )


def _moved(there: str, here: str) -> Callable[[Any], Any]:
    """Return what makes calls that were recorded elsewhere mean the same here."""
    if not there:
        return lambda value: value
    return lambda value: value.replace(there, here) if isinstance(value, str) else value


_MEND = "The scripted agent knows only its script: mend it, or choose another agent."
_TELLING = ("file_path", "command", "pattern")


def _told(call: Use) -> str:
    telling = next((str(call.arguments[name]) for name in _TELLING if name in call.arguments), "")
    return f"{call.tool} {in_line(telling)}"
