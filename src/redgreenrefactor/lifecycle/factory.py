"""The only place where names become objects."""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from redgreenrefactor.agents.command import CommandAgent, absent_program
from redgreenrefactor.agents.environment import free
from redgreenrefactor.cages import Cages
from redgreenrefactor.config import Settings
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.loop.lab import Lab
from redgreenrefactor.model.events import SessionNoted, Warned
from redgreenrefactor.model.evidence import Rules
from redgreenrefactor.model.session import Brief
from redgreenrefactor.ports import Agent, Snapshots, Suite
from redgreenrefactor.records.suite_results import FOLDER as RESULTS
from redgreenrefactor.records.suite_results import KeptResults
from redgreenrefactor.runners.absent import MaybeAbsent
from redgreenrefactor.runners.coverage_tools import CoverageMeter, meter_for
from redgreenrefactor.runners.detect import detect
from redgreenrefactor.runners.editable import imported_from
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.runners.suite_context import SuiteContext, identity, unheld
from redgreenrefactor.runners.virtual import activated, typed
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.sandbox.secrets import without_secrets
from redgreenrefactor.surroundings import Surroundings

GUIDES = ("AGENTS.md", "CLAUDE.md")


def now() -> str:
    """Return the time as notes spell it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_run_id() -> str:
    """Return a name no other run has."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


@dataclass(frozen=True)
class Factory:
    """Makes what settings name, for one checkout: its tests, and who works there."""

    repository: Repository
    settings: Settings
    around: Surroundings
    compiled: Path  # what suites compile
    cages: Cages | None = None  # None: nothing that is made is going to be run

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment with the project's own virtual environment in it, or its repository's."""
        return activated(self.around.environ, self.repository.project, self.repository.root)

    @property
    def test_environ(self) -> Mapping[str, str]:
        """What suites are given of it."""
        return without_secrets(self.environ, self.settings.sandbox_env)

    def suite_context(self, project: Path | None = None) -> SuiteContext:
        """Return what suites run with, in checkouts of this project."""
        return SuiteContext(
            project=project or self.repository.project,
            env=self.test_environ,
            timeout=self.settings.test_timeout,
            cache=self.compiled,
            interrupt=self.around.interrupt,
            cage=self.cages.suite if self.cages else unheld,
            main=self.repository.main_project,
        )

    def suite(self, command: str | None = None) -> Suite:
        """Return the project's tests, or what another command runs; no test command is a NotReadyError."""
        command = command or self.settings.test_command or detect(self.repository.project)
        if not command:
            raise NotReadyError(
                f"no test command: nothing in {self.repository.project} tells how its tests are run",
                hint="Set test.command in tdd.properties or TDD_TEST_COMMAND, e.g. TDD_TEST_COMMAND=pytest.",
                type="NoTestCommand",
            )
        return suite_for(command, self.suite_context(), self.settings.setup_command)

    def task_suite(self, command: str) -> Suite:
        """Return what a command of a task file runs, whose tests may still have to be written."""
        return MaybeAbsent(self.suite(command))

    def rules(self) -> Rules:
        """Return what gates go by."""
        settings = self.settings
        return Rules(
            red_on_pass=settings.red_on_pass,
            legacy_on_break=settings.legacy_on_break,
            minimality_min=settings.minimality_min,
            coverage_min=settings.coverage_min,
            retries=settings.max_retries,
        )

    def lab(self, past: Snapshots, suite: Suite) -> Lab:
        """Return what answers the questions of gates."""
        return Lab(
            past,
            suite,
            self.around.emit,
            time.monotonic,
            self.settings.probe_budget,
            suite_of=self.task_suite,
        )

    def meter(self, command: str, project: Path) -> CoverageMeter:
        """Return what measures how much of a checkout a test command reaches."""
        return meter_for(command, self.suite_context(project), self.settings.setup_command)

    def results(self, command: str, local_files: str) -> KeptResults:
        """Return what keeps results of the whole suite for the next process."""
        tests = identity(command, self.repository.project, self.test_environ)
        held = f" {self.cages.level}" if self.cages else ""
        return KeptResults(self.repository.cache / RESULTS, f"{tests} {local_files}{held}")

    # --- who works

    def typed(self, command: str) -> str:
        """Return a test command as a session is told to type it."""
        return typed(command, self.around.environ, self.repository.project, self.repository.root)

    def guides(self) -> tuple[str, ...]:
        """Return the files that tell agents how this project is worked on, seen from its folder."""
        up = "../" * self.repository.prefix.count("/")
        places = dict.fromkeys(f"{above}{name}" for above in ("", up) for name in GUIDES)
        return tuple(place for place in places if (self.repository.project / place).is_file())

    @property
    def prompts_dir(self) -> Path | None:
        """Where the user's own templates are."""
        own = self.settings.prompts_dir
        return self.repository.project / own if own else None

    def model(self, role: str) -> str:
        """Return the model a role thinks with; nothing where the agent has its own, which nobody here knows."""
        kind = self.settings.agent_for(role).partition(":")[0]
        return "" if kind in ("command", "replay") else self.settings.model_for(role)

    def agent(self, spec: str, model: str | None = None) -> Agent:
        """Return the agent of this name; one that is not part of this version, or lacks a key, is a NotReadyError."""
        kind, _, rest = spec.partition(":")
        where = self.repository
        environ = imported_from(where.project, where.main_project, self.around.environ)
        maker = replace(self, around=replace(self.around, environ=environ))
        if kind == "api":
            return maker._api_agent(model or self.settings.model)  # noqa: SLF001
        if kind == "command":
            return maker._command_agent(rest)  # noqa: SLF001
        if kind == "replay":
            return maker._replay_agent(rest)  # noqa: SLF001
        raise NotReadyError(
            f"the agent {kind!r} is not part of this version yet",
            hint="Use --agent 'command:SHELL COMMAND' (any program) or --agent replay:NAME-OR-FILE (a script).",
            type="AgentMissing",
        )

    def _command_agent(self, command: str) -> Agent:
        project = self.repository.project
        if absent := absent_program(command, project, self.around.environ):
            raise NotReadyError(
                f"the agent's program {absent!r} is not there, or may not be run",
                hint=_how_to_get(absent, project),
                type="AgentMissing",
            )
        return CommandAgent(
            command,
            env=self.around.environ,
            timeout=self.settings.session_timeout,
            interrupt=self.around.interrupt,
            passed_on=self.settings.agent_env,
            identity=self.repository.identity,
            confine=self.cages.agent if self.cages else free,
        )

    def _replay_agent(self, script: str) -> Agent:
        from redgreenrefactor.agents.replay import ReplayAgent  # noqa: PLC0415
        from redgreenrefactor.agents.script_file import load_script  # noqa: PLC0415

        return ReplayAgent(
            load_script(script),
            env=self.environ,
            bash_timeout=self.settings.bash_timeout,
            interrupt=self.around.interrupt,
            identity=self.repository.identity,
            confine=self.cages.session if self.cages else free,
            note=lambda step: self.around.emit(SessionNoted(step)),
        )

    def _api_agent(self, model: str) -> Agent:
        from redgreenrefactor.agents.api import ApiAgent  # noqa: PLC0415
        from redgreenrefactor.agents.environment import environment  # noqa: PLC0415
        from redgreenrefactor.agents.locks import locked_in  # noqa: PLC0415
        from redgreenrefactor.agents.patience import Patience  # noqa: PLC0415
        from redgreenrefactor.agents.providers import access  # noqa: PLC0415
        from redgreenrefactor.agents.toolbox import TOOLS, Toolbox, shell_in  # noqa: PLC0415

        settings, emit = self.settings, self.around.emit
        env = environment(dict(self.environ), settings.agent_env, self.repository.identity)

        def toolbox(brief: Brief, folder: Path, stop: Interrupt) -> Toolbox:
            cage = self.cages.session(brief) if self.cages else None
            shell = shell_in(folder, env=env, interrupt=stop, cage=cage)
            return Toolbox(
                folder,
                shell=shell,
                env=env,
                bash_timeout=settings.bash_timeout,
                locked=locked_in(brief),
            )

        return ApiAgent(
            access(model, settings.agent_url, self.around.environ),
            tools=TOOLS,
            toolbox=toolbox,
            timeout=settings.session_timeout,
            turns=settings.session_turns,
            interrupt=self.around.interrupt,
            patience=Patience(first_wait=settings.retry_backoff),
            emit=emit,
            note=lambda step: emit(SessionNoted(step)),
            warn=lambda line: emit(Warned(line)),
        )


def _how_to_get(program: str, project: Path) -> str:
    """Return what makes an agent's program one that can be started."""
    if (project / program).is_file():
        return f"Type 'chmod +x {program}', or start it with its interpreter: --agent 'command:sh {program}'."
    where = f"Put it into {project} and commit it" if "/" in program else "Install it, or put it on PATH"
    return f"{where}, or name another one: --agent 'command:PROGRAM …'."
