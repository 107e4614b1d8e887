"""A scripted model: what it says and does is written down, what it does is done for real."""

import shlex
from collections.abc import Callable
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

from redgreenrefactor.agents.script import Scene, Script, Use, bash, katas, parse, write
from redgreenrefactor.agents.table import AgentSetup
from redgreenrefactor.agents.toolbox import Toolbox, ToolResult, toolbox_in
from redgreenrefactor.errors import UsageError
from redgreenrefactor.filesystem import head_of
from redgreenrefactor.model.codec import json_in, json_lines, json_object
from redgreenrefactor.model.session import EVERY_STRATEGY, Answered, Brief, Called, Report, answered
from redgreenrefactor.model.transcript import Left, Recorded, recorded
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


LARGEST = 64 << 20  # bytes of a transcript, or of a script
_EXECUTABLE, _LINK = "100755", "120000"
_EXACT = ("Write", "Edit")  # what worked then has to work now; others may come out differently
_HINT = "Name a run's folder or one of its files in .git/tdd/sessions, e.g. replay:.git/tdd/sessions/RUN."


def is_recorded(path: Path) -> bool:
    """Tell whether a path is a transcript, or a folder of them, and no script."""
    return path.suffix == ".jsonl" or path.is_dir()


def load_recorded(path: Path, source: str) -> Script:
    """Return the sessions that a transcript, or a folder of them, tells of; what is none is a UsageError."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    sessions = [session for file in files if (session := _session(file)) is not None]
    if not sessions:
        raise UsageError(f"{path} holds no session that came to its end", hint=_HINT)
    if len({session.run_id for session in sessions}) > 1:
        raise UsageError(f"{path} holds sessions of more than one run", hint=_HINT)
    scenes = tuple(scene_of(session) for session in sessions)
    return Script(sessions[0].run_id, _feature(sessions[0]), scenes=scenes, source=source)


def _session(file: Path) -> Recorded | None:
    try:
        return recorded(json_lines(head_of(file, LARGEST)))
    except OSError as error:
        raise UsageError(f"the transcript {file} cannot be read: {error.strerror}", hint=_HINT) from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise UsageError(f"{file} is not a transcript: {error!r:.200}", hint=_HINT) from error


def _feature(session: Recorded) -> str:
    return str(json_object(json_in(session.handoff)).get("feature", ""))


def scene_of(session: Recorded) -> Scene:
    """Return what the session did as a scene: its calls or, where it made none that we know of, what it left behind."""
    calls = _calls(session) if session.calls else _restored(session)
    unknown = None if session.calls else _unknown(session)
    return Scene(
        phase=session.phase,
        cycle=session.cycle,
        attempt=session.attempt,
        calls=() if unknown else calls,
        message=session.report.message,
        usage=session.report.usage,
        failure=unknown or session.report.failure,
        folder=session.folder,
    )


def _calls(session: Recorded) -> tuple[Use, ...]:
    return tuple(
        Use(call.tool, call.arguments, may_fail=failed or call.tool not in _EXACT)
        for call, failed in session.calls
    )


def _unknown(session: Recorded) -> Finding | None:
    """Return why what a session left behind cannot be made again, None if it can."""
    for file in session.left:
        outside = not file.path.startswith(session.prefix)
        if outside or (file.mode is not None and file.text is None):
            why = (
                "lies outside the project"
                if outside
                else "is binary or very large, its content was not recorded"
            )
            return Finding(
                FindingType.AGENT_FAILURE,
                f"this session cannot be played back: its calls are not known, and {file.path}, which it left, {why}",
            )
    return None


def _restored(session: Recorded) -> tuple[Use, ...]:
    """Return calls that leave the same files and commit."""
    calls = [call for file in session.left for call in _again(file, file.path.removeprefix(session.prefix))]
    if session.commit and session.commit != session.base:
        message = shlex.quote(session.subject)
        calls.append(
            bash(f"git add -A && git commit -q --allow-empty --no-verify -m {message}", may_fail=True)
        )
    return tuple(calls)


def _again(file: Left, path: str) -> list[Use]:
    quoted = shlex.quote(f"./{path}")
    if file.mode is None:
        return [bash(f"rm -rf {quoted}")]
    if file.mode == _LINK:
        return [bash(f'mkdir -p "$(dirname {quoted})" && ln -sfn {shlex.quote(file.text or "")} {quoted}')]
    made = [write(path, file.text or "")]
    return [*made, bash(f"chmod {'+x' if file.mode == _EXECUTABLE else '-x'} {quoted}")]
