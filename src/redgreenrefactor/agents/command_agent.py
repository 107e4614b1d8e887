"""Any program as an agent: the brief on its standard input, its final message on standard output."""

import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.agents.acp_presets import PRESETS
from redgreenrefactor.agents.claude_code import PROGRAM as CLAUDE_CODE
from redgreenrefactor.agents.codex import PROGRAM as CODEX
from redgreenrefactor.agents.endings import broke_off
from redgreenrefactor.agents.foreign_program import InstalledProgram, place_of
from redgreenrefactor.agents.session_environment import of_a_program
from redgreenrefactor.agents.table import AgentSetup
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.model.session import EVERY_STRATEGY, Brief, Report, answered, overdue
from redgreenrefactor.model.task import first_program
from redgreenrefactor.model.values import frozen
from redgreenrefactor.ports import Say
from redgreenrefactor.prompts.quote import plain
from redgreenrefactor.sandbox.cage import Cage, temporary_folder
from redgreenrefactor.sandbox.policy import readable
from redgreenrefactor.sandbox.process import Finished, run

_BY_HAND = "Try the command by hand in the project's folder; it gets its brief on standard input."


def build(argument: str, setup: AgentSetup) -> "CommandAgent":
    """Return the agent that is this command; one whose program is not there is a NotReadyError."""
    if absent := absent_program(argument, setup.project, setup.env):
        raise NotReadyError(
            f"the agent's program {absent!r} is not there, or may not be run",
            hint=_how_to_get(absent, setup.project),
            type="AgentMissing",
        )
    return CommandAgent(argument, setup)


@frozen
class CommandAgent:
    """A shell command that is started afresh for every session."""

    command: str
    setup: AgentSetup
    strategies: frozenset[str] = EVERY_STRATEGY

    @property
    def name(self) -> str:
        """How it was asked for."""
        return f"command:{self.command}"

    def work(self, brief: Brief, folder: Path, say: Say) -> Report:
        """Run the command in the folder until it ends; it ends with everything it started."""

        def tell(line: str) -> None:
            if text := plain(line).strip("\n"):
                say(text)

        setup = self.setup
        cage = setup.confine(brief)
        with _handoff_file(brief, folder) as handoff, self._opened(cage, handoff.parent) as opened:
            finished = run(
                self.command,
                cwd=folder,
                env=self._environment(brief, handoff),
                stdin=brief.text.encode("utf-8", "replace"),
                timeout=setup.session_timeout,
                interrupt=setup.interrupt,
                on_stderr=tell,
                cage=opened,
            )
        return replace(self._report(brief, finished), held=cage is not None)

    @contextmanager
    def _opened(self, cage: Cage | None, *shown: Path) -> Generator[Cage | None]:
        """Provide what holds the command, with what programs need that are agents: it may start one of them."""
        if cage is None:
            yield None
            return
        setup = self.setup
        setup.home.mkdir(parents=True, exist_ok=True)
        with temporary_folder(setup.home) as folder:
            places = [
                place
                for program in (
                    CLAUDE_CODE,
                    CODEX,
                    *(preset.program for preset in PRESETS.values() if preset.tried),
                )
                if (path := place_of(program.command, setup.path, setup.project, setup.env))
                for place in InstalledProgram(program, path, "").inside(
                    setup.env, setup.home / "command", folder, inherit=True
                )
            ]
            yield cage.also(*readable(*shown), *places)

    def _environment(self, brief: Brief, handoff: Path) -> dict[str, str]:
        setup = self.setup
        return {
            **of_a_program(setup.env, passed_on=setup.passed_on, identity=setup.identity),
            "TDD_ROLE": brief.role.name,
            "TDD_PHASE": brief.phase,
            "TDD_CYCLE": str(brief.cycle),
            "TDD_ATTEMPT": str(brief.attempt),
            "TDD_RUN_ID": brief.run_id,
            "TDD_HANDOFF": str(handoff),
            **_link(brief),
        }

    def _report(self, brief: Brief, finished: Finished) -> Report:
        message = finished.stdout.decode("utf-8", "replace").strip()
        if finished.timed_out:
            return Report(message, failure=overdue(self.setup.session_timeout))
        if finished.exit_code != 0:
            return Report(message, failure=broke_off("the agent's command", finished, _BY_HAND))
        return answered(brief, message)


def absent_program(command: str, folder: Path, env: Mapping[str, str]) -> str | None:
    """Return the program that a command starts in this folder, if its words tell and nothing like it can be run."""
    program = first_program(command)
    if program is None:
        return None
    place = str(folder / program) if "/" in program else program
    return None if shutil.which(place, path=env.get("PATH", os.defpath)) else program


def _how_to_get(program: str, project: Path) -> str:
    """Return what makes an agent's program one that can be started."""
    if (project / program).is_file():
        return f"Type 'chmod +x {program}', or start it with its interpreter: --agent 'command:sh {program}'."
    where = f"Put it into {project} and commit it" if "/" in program else "Install it, or put it on PATH"
    return f"{where}, or name another one: --agent 'command:PROGRAM …'."


def _link(brief: Brief) -> dict[str, str]:
    """Return the session's id and those it goes on from, where it has any."""
    if not brief.session:
        return {}
    return {
        "TDD_SESSION": brief.session,
        "TDD_STRATEGY": brief.strategy,
        "TDD_RESUME_FROM": " ".join(brief.resume_from),
    }


@contextmanager
def _handoff_file(brief: Brief, folder: Path) -> Generator[Path]:
    """Provide a file with the handoff the session starts from, outside the repository, until it has ended."""
    place = _outside(folder)
    with temporary_folder(place) as temporary:
        file = temporary / "handoff.json"
        file.write_text(brief.handoff, encoding="utf-8", errors="replace")
        yield file


def _outside(folder: Path) -> Path:
    """Return a folder for temporary files that no `git add` in the repository can pick up."""
    folder = folder.resolve()
    root = next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)
    usual = Path(tempfile.gettempdir()).resolve()
    places = (usual, Path("/tmp"), Path("/var/tmp"), root.parent)  # noqa: S108 - only as a last resort
    fit = (place for place in places if not place.is_relative_to(root) and os.access(place, os.W_OK))
    return next(fit, usual)
