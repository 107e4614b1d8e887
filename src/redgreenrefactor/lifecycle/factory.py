"""The only place where names become objects."""

import os
import secrets
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from redgreenrefactor.agents.session_environment import free
from redgreenrefactor.agents.table import AgentSetup, agent_for, kind_of
from redgreenrefactor.config import DEFAULT, Settings
from redgreenrefactor.confinement import Confinement
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.git.repository import OURS, Repository
from redgreenrefactor.loop.lab import Lab
from redgreenrefactor.model.evidence import Rules
from redgreenrefactor.model.values import frozen, replace
from redgreenrefactor.ports import Agent, Snapshots, Suite
from redgreenrefactor.records.suite_results import FOLDER as RESULTS
from redgreenrefactor.records.suite_results import KeptResults
from redgreenrefactor.runners.coverage_tools import CoverageMeter, meter_for
from redgreenrefactor.runners.detect import detect
from redgreenrefactor.runners.prepared import MaybeAbsent
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.runners.suite_context import SuiteContext, identity, imported_from
from redgreenrefactor.runners.virtual import activated, typed
from redgreenrefactor.runners.warm_process import WarmProcesses
from redgreenrefactor.sandbox.secrets import without_secrets
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.threads import side_by_side

GUIDES = ("AGENTS.md", "CLAUDE.md")
MOST_JOBS = 4  # at a time, unasked


def now() -> str:
    """Return the time as notes spell it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_run_id() -> str:
    """Return a name no other run has."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


@frozen
class Factory:
    """Makes what settings name, for one checkout: its tests, and who works there."""

    repository: Repository
    settings: Settings
    around: Surroundings
    compiled: Path  # what suites compile
    confinement: Confinement
    warm: WarmProcesses | None = (
        None  # what keeps runners loaded for probes, and is closed by whoever made it
    )

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
            cage=self.confinement.suite,
            main=self.repository.main_project,
            warm=self.warm,
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

    def criterion(self, command: str) -> Suite:
        """Return what a criterion of a task file runs: tests, or a compiler, a linter, a program."""
        where = replace(self.suite_context(), compiles=True)
        return MaybeAbsent(suite_for(command, where, self.settings.setup_command))

    def rules(self) -> Rules:
        """Return what gates go by."""
        settings = self.settings
        return Rules(
            red_on_pass=settings.red_on_pass,
            legacy_on_break=settings.legacy_on_break,
            legacy_tests=settings.legacy_tests,
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
            suite_of=self.criterion,
            warm=self.warm is not None,
            jobs=self._jobs,
            side_by_side=side_by_side,
        )

    def _jobs(self) -> int:
        """Return how many runs are made at a time; unasked only one, where runs could find each other's ports and files."""
        unasked = min(_cores(), MOST_JOBS) if self.confinement.separates_suites else 1
        return self.settings.probe_jobs or unasked

    def meter(self, command: str, project: Path) -> CoverageMeter:
        """Return what measures how much of a checkout a test command reaches."""
        return meter_for(command, self.suite_context(project), self.settings.setup_command)

    def results(self, command: str, local_files: str) -> KeptResults:
        """Return what keeps results of the whole suite for the next process."""
        tests = identity(command, self.repository.project, self.test_environ)
        held = self.confinement.level
        return KeptResults(self.repository.cache / RESULTS, f"{tests} {local_files} {held}")

    # --- who works

    def typed(self, command: str) -> str:
        """Return a test command as a session is told to type it."""
        return typed(command, self.around.environ, self.repository.project, self.repository.root)

    def guides(self) -> tuple[str, ...]:
        """Return the files that tell how this project is worked on, seen from its folder, unless agents shall not know."""
        if self.settings.agent_memory == "off":
            return ()
        up = "../" * self.repository.prefix.count("/")
        places = dict.fromkeys(f"{above}{name}" for above in ("", up) for name in GUIDES)
        return tuple(place for place in places if (self.repository.project / place).is_file())

    @property
    def prompts_dir(self) -> Path | None:
        """Where the user's own templates are."""
        own = self.settings.prompts_dir
        return self.repository.project / own if own else None

    def model(self, role: str) -> str:
        """Return the model a role thinks with; nothing where the agent has its own, and no other is set."""
        kind, unset = kind_of(self.settings.agent_for(role)), self.settings.source(f"model.{role}") == DEFAULT
        return "" if kind.own_model or (kind.program is not None and unset) else self.settings.model_for(role)

    def agent(self, spec: str, model: str) -> Agent:
        """Return the agent of this name; one that is not part of this version, or lacks a key, is a NotReadyError."""
        if self.settings.retry_session == "resume" and kind_of(spec).program is None:
            raise NotReadyError(
                f"the agent {spec:.80} keeps no sessions that a retry could go on with (retry.session=resume)",
                hint="Use claude-code, codex, gemini or opencode, or take retry.session out of tdd.properties.",
                type="StrategyMissing",
            )
        where, settings, held = self.repository, self.settings, self.confinement.holds(spec)
        environ = imported_from(where.project, where.main_project, self.around.environ)
        setup = AgentSetup(
            project=where.project,
            env=environ,
            active_env=activated(environ, where.project, where.root),
            model=model,
            url=settings.agent_url,
            session_timeout=settings.session_timeout,
            session_turns=settings.session_turns,
            bash_timeout=settings.bash_timeout,
            retry_backoff=settings.retry_backoff,
            passed_on=settings.agent_env,
            identity=where.identity,
            author=_author(where),
            confine=free if held == "off" else self.confinement.agent,
            held=held,
            confine_tools=self.confinement.session,
            locked=self.confinement.locked,
            guides=[where.project / name for name in self.guides()],
            path=settings.agent_path,
            inherit=settings.agent_inherit == "on",
            home=where.cache / "agents",
            emit=self.around.emit,
            interrupt=self.around.interrupt,
        )
        return agent_for(spec, setup)


def _author(where: Repository) -> dict[str, str]:
    """Return who commits here by git's settings, as its environment says it."""
    known = {name: where.config.get(f"user.{name.rpartition('_')[2].lower()}") for name in OURS}
    return {name: value for name, value in known.items() if value}


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
