"""The six tools an agent without a program of its own has: Read, Write, Edit, Bash, Glob, Grep."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import Any

from redgreenrefactor.agents import file_tools
from redgreenrefactor.agents.file_tools import OUTPUT, clipped
from redgreenrefactor.agents.files import Files, RefusedError
from redgreenrefactor.agents.schemas import TOOLS, Arguments, checked
from redgreenrefactor.agents.search import Search, Shell
from redgreenrefactor.agents.session_environment import environment
from redgreenrefactor.agents.table import AgentSetup
from redgreenrefactor.filesystem import text_of
from redgreenrefactor.languages.paths import ProjectFolder, is_locked
from redgreenrefactor.model.goal import LIST
from redgreenrefactor.model.session import Brief
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.prompts.quote import plain
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.cage import Cage
from redgreenrefactor.sandbox.process import Finished, Interrupt

_ROOM = 100  # for a line about what was left out
_SECOND = 1000  # milliseconds: a smaller limit was meant in seconds

SETTINGS = "tdd.properties"
_LISTLESS = (PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)

Locked = Callable[[str], str]  # from a path of the workspace to why it may not be written; empty: it may


@frozen
class ToolResult:
    """What a model is told a call came to."""

    text: str
    failed: bool = False
    timed_out: bool = False


def shell_in(
    folder: Path, *, env: Mapping[str, str], interrupt: Interrupt | None = None, cage: Cage | None = None
) -> Shell:
    """Return what runs lines of shell in a folder, held by a cage: no input, everything started is ended."""

    def run(
        command: str, *, timeout: float | None, keep: int, tell: Callable[[str], None] | None = None
    ) -> Finished:
        return process.run(
            command,
            cwd=folder,
            env=env,
            timeout=timeout,
            interrupt=interrupt,
            keep=keep,
            cage=cage,
            on_stdout=tell,
        )

    return run


def nothing_locked(_path: str) -> str:
    """Lock nothing."""
    return ""


def locked_in(brief: Brief, folder: Path) -> Locked:
    """Return what is locked in a session here: in GREEN the tests, outside PLAN the list, the settings always.

    The gates would reject it all the same, only later.
    """
    project = ProjectFolder("", brief.case)

    def read(path: str) -> str:
        return text_of(folder / path)

    def locked(path: str) -> str:
        if path == SETTINGS:
            return "nobody changes the settings during a run"
        if path == LIST and brief.phase in _LISTLESS:
            return "only PLAN changes the list of cases"
        if brief.phase is PhaseName.GREEN and is_locked(project, path, read):
            return "in GREEN the tests stay as RED wrote them; make them pass by changing the code"
        return ""

    return locked


def toolbox_in(
    folder: Path,
    setup: AgentSetup,
    brief: Brief,
    *,
    interrupt: Interrupt | None = None,
    locked: Locked = nothing_locked,
) -> "Toolbox":
    """Return the tools of a session in a folder, in the environment and the cage that sessions have."""
    env = environment(setup.active_env, setup.passed_on, setup.identity)
    cage = setup.confine_tools(brief)
    shell = shell_in(folder, env=env, interrupt=interrupt or setup.interrupt, cage=cage)
    return Toolbox(folder, shell=shell, env=env, bash_timeout=setup.bash_timeout, locked=locked)


class Toolbox:
    """The tools in one workspace; whatever a model calls them with, the answer is a result."""

    def __init__(
        self,
        root: Path,
        *,
        shell: Shell,
        env: Mapping[str, str],
        bash_timeout: float | None = None,
        locked: Locked = nothing_locked,
    ) -> None:
        """Work in a folder; `env` is what the shell has, where its programs are looked for."""
        self._files = Files(root)
        self._shell = shell
        self._timeout = bash_timeout
        self._locked = locked
        self._bash_there = which("bash", path=env.get("PATH", "")) is not None
        ripgrep = which("rg", path=env.get("PATH", "")) is not None
        search = Search(self._files, shell, timeout=bash_timeout, ripgrep=ripgrep)
        self._tools: Mapping[str, Callable[[Arguments], str | ToolResult]] = {
            "Read": lambda given: file_tools.read(self._files, given),
            "Write": lambda given: file_tools.write(self._files, given, self._permit),
            "Edit": lambda given: file_tools.edit(self._files, given, self._permit),
            "Bash": self._bash,
            "Glob": search.glob,
            "Grep": search.grep,
        }

    def close(self) -> None:
        """Let the workspace go."""
        self._files.close()

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Use a tool; only an interruption is raised, everything else is told to the model."""
        schema = next((tool for tool in TOOLS if tool.name == name), None)
        if schema is None:
            known = ", ".join(tool.name for tool in TOOLS)
            return ToolResult(f"There is no tool {name!r:.80}; there are {known}.", failed=True)
        try:
            given = checked(schema, arguments)
            done = self._tools[name](given)
        except RefusedError as refusal:
            return ToolResult(clipped(str(refusal)), failed=True)
        except OSError as error:
            where = f": {error.filename}" if isinstance(error.filename, str) else ""
            return ToolResult(clipped(f"{name} failed: {error.strerror or error}{where}"), failed=True)
        except (ValueError, RecursionError, MemoryError) as error:
            return ToolResult(clipped(f"{name} cannot do that: {error}"), failed=True)
        result = done if isinstance(done, ToolResult) else ToolResult(done)
        return replace(result, text=f"{result.text}\n{given.warning}") if given.ignored else result

    def _permit(self, path: str) -> None:
        if why := self._locked(path):
            raise RefusedError(f"{path} may not be written now: {why}")

    def _bash(self, arguments: Arguments) -> ToolResult:
        """Run a command to its end, or the end of patience; tell what it printed and how it ended."""
        command = arguments.text("command")
        if "\0" in command:
            raise RefusedError("the command holds a NUL character; nothing was run")
        limit, aside = self._limit(arguments)
        line = f"exec bash -c {shlex.quote(command)} 2>&1" if self._bash_there else f"exec 2>&1; {command}"
        finished = self._shell(line, timeout=limit, keep=OUTPUT - _ROOM)
        printed = (finished.stdout + finished.stderr).decode("utf-8", "replace")
        said = clipped(plain(printed).strip("\n"))
        ending = f"[exit code {finished.exit_code}]" if finished.exit_code else ""
        if finished.timed_out:
            ending = f"[ended after {limit:g} s, the limit; what it started was ended, too]"
        if not said and not ending:
            ending = "[no output, exit code 0]"
        text = "\n".join(part for part in (said, ending, aside) if part)
        return ToolResult(
            text, failed=finished.timed_out or bool(finished.exit_code), timed_out=finished.timed_out
        )

    def _limit(self, arguments: Arguments) -> tuple[float | None, str]:
        """Return the limit in seconds, a call's own only if it is lower than ours, and a word about its unit."""
        asked = arguments.count("timeout", 0)
        if not asked:
            return self._timeout, ""
        aside = (
            f"[timeout {asked} was taken as seconds; it is given in milliseconds]" if asked < _SECOND else ""
        )
        seconds = asked if aside else asked / _SECOND
        return seconds if self._timeout is None else min(seconds, self._timeout), aside
