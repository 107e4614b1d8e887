"""A scripted model: what it says and does is written down, what it does is done for real."""

from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

from redgreenrefactor.agents.environment import environment
from redgreenrefactor.agents.script import Bash, Call, Edit, Script, Write
from redgreenrefactor.agents.script_file import load_script
from redgreenrefactor.model.session import Brief, Report, answered
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.ports import Say
from redgreenrefactor.prompts.quote import bounded, in_line, plain
from redgreenrefactor.sandbox.process import Interrupt, shell

__all__ = ["ReplayAgent", "Script", "load_script"]

BASH_TIMEOUT = 120.0
_LAST_CHARACTERS = 2000


class _CallError(Exception):
    """A call that did not do what the script says; carries what a report says about it."""

    def __init__(self, message: str, kind: FindingType = FindingType.AGENT_FAILURE) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class ReplayAgent:
    """An agent that plays a script."""

    script: Script
    _: KW_ONLY
    env: Mapping[str, str]
    bash_timeout: float | None = BASH_TIMEOUT
    interrupt: Interrupt | None = None
    passed_on: Collection[str] = ()  # credentials the user wants its commands to have
    identity: Mapping[str, str] = field(default_factory=dict[str, str])  # GIT_AUTHOR_* and GIT_COMMITTER_*

    @property
    def name(self) -> str:
        """How it was asked for."""
        return f"replay:{self.script.source or self.script.name}"

    def work(self, brief: Brief, folder: Path, say: Say) -> Report:
        """Play the scene of this phase, cycle and attempt in the folder."""
        scene = self.script.scene(brief.phase, brief.cycle, brief.attempt)
        if scene is None:
            return Report(failure=self._missing(brief))
        for number, call in enumerate(scene.calls, 1):
            if self.interrupt is not None:
                self.interrupt.check()
            say(_told(call))
            try:
                self._do(call, folder)
            except _CallError as error:
                where = f"turn {scene.phase} of cycle {scene.cycle}, attempt {scene.attempt}, call {number}"
                problem = f"{self.name}: {where} ({_told(call)}): {error}"
                return Report(usage=scene.usage, failure=Finding(error.kind, problem, hint=_MEND))
        return answered(brief, scene.message, scene.usage)

    def _missing(self, brief: Brief) -> Finding:
        return Finding(
            FindingType.AGENT_FAILURE,
            f"{self.name} has no turn for {brief.phase} in cycle {brief.cycle}, attempt {brief.attempt}",
            hint=_MEND,
        )

    def _do(self, call: Call, folder: Path) -> None:
        match call:
            case Write():
                _write(_inside(folder, call.file_path), call.content)
            case Edit():
                _edit(_inside(folder, call.file_path), call)
            case Bash():
                self._bash(call, folder)

    def _bash(self, call: Bash, folder: Path) -> None:
        finished = shell(
            call.command,
            cwd=folder,
            env=environment(self.env, passed_on=self.passed_on, identity=self.identity),
            timeout=self.bash_timeout,
            interrupt=self.interrupt,
        )
        if call.may_fail:
            return
        if finished.timed_out:
            raise _CallError(f"it ran past its limit of {self.bash_timeout:g} s", FindingType.TIMEOUT)
        if finished.exit_code != 0:
            output = (finished.stdout + finished.stderr).decode("utf-8", "replace")
            said = bounded(plain(output).strip(), _LAST_CHARACTERS)
            raise _CallError(f"it ended with exit code {finished.exit_code}" + (f":\n{said}" if said else ""))


_MEND = "The scripted agent knows only its script: mend it, or choose another agent."


def _told(call: Call) -> str:
    match call:
        case Write():
            return f"Write {call.file_path}"
        case Edit():
            return f"Edit {call.file_path}"
        case Bash():
            return f"Bash {in_line(call.command)}"


def _inside(folder: Path, path: str) -> Path:
    """Return the file, which a link may not have moved out of the folder."""
    root = folder.resolve()
    file = (root / path).resolve()
    if not file.is_relative_to(root):
        raise _CallError(f"the path {path!r} leads out of the folder")
    return file


def _write(file: Path, content: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8", newline="")
    except OSError as error:
        raise _CallError(f"it cannot be written: {error.strerror}") from error


def _edit(file: Path, call: Edit) -> None:
    try:
        text = file.read_bytes().decode("utf-8")
    except OSError as error:
        raise _CallError(f"it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _CallError("it is not UTF-8 text") from error
    times = text.count(call.old_string) if call.old_string else 0
    if times == 0:
        raise _CallError("the text to replace is not in it")
    if times > 1 and not call.replace_all:
        raise _CallError(f"the text to replace is in it {times} times")
    _write(file, text.replace(call.old_string, call.new_string))
