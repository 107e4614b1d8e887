"""The only place where names become objects."""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from redgreenrefactor.agents.command import CommandAgent, absent_program
from redgreenrefactor.agents.environment import free
from redgreenrefactor.cages import Cages
from redgreenrefactor.config import Settings
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.gates import TDD_GATES, Gate
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.goals.test_list import parse
from redgreenrefactor.loop.engine import Engine
from redgreenrefactor.loop.lab import Lab
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.events import SessionNoted, Warned
from redgreenrefactor.model.evidence import Rules
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.session import Brief
from redgreenrefactor.model.workflow import Phase, PhaseName, Workflow
from redgreenrefactor.ports import Agent, Snapshots, Suite
from redgreenrefactor.prompts import templates
from redgreenrefactor.prompts.render import NO_ROUND, Ask, brief
from redgreenrefactor.prompts.rounds import Round
from redgreenrefactor.records.suite_results import FOLDER as RESULTS
from redgreenrefactor.records.suite_results import KeptResults
from redgreenrefactor.runners.coverage import Meter, meter_for
from redgreenrefactor.runners.detect import detect
from redgreenrefactor.runners.editable import imported_from
from redgreenrefactor.runners.environment import identity, unheld
from redgreenrefactor.runners.suite import suite_for
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


def suite_of(
    repository: Repository,
    settings: Settings,
    around: Surroundings,
    compiled: Path,
    cages: Cages | None = None,
) -> Suite:
    """Return the project's tests; no test command is a NotReadyError."""
    command = settings.test_command or detect(repository.project)
    if not command:
        raise NotReadyError(
            f"no test command: nothing in {repository.project} tells how its tests are run",
            hint="Set test.command in tdd.properties or TDD_TEST_COMMAND, e.g. TDD_TEST_COMMAND=pytest.",
            type="NoTestCommand",
        )
    return suite_for(
        command,
        project=repository.project,
        env=without_secrets(environ_of(repository, around), settings.sandbox_env),
        timeout=settings.test_timeout,
        interrupt=around.interrupt,
        cache=compiled,
        cage=cages.suite if cages else unheld,
        setup=settings.setup_command,
        main=repository.main_project,
    )


def environ_of(repository: Repository, around: Surroundings) -> dict[str, str]:
    """Return the environment with the project's own virtual environment in it, or its repository's."""
    return activated(around.environ, repository.project, repository.root)


def typed_in(repository: Repository, around: Surroundings, command: str) -> str:
    """Return a test command as a session is told to type it."""
    return typed(command, around.environ, repository.project, repository.root)


def agent_of(
    spec: str,
    repository: Repository,
    settings: Settings,
    around: Surroundings,
    *,
    model: str | None = None,
    cages: Cages | None = None,
) -> Agent:
    """Return the agent of this name; one that is not part of this version, or lacks a key, is a NotReadyError."""
    kind, _, rest = spec.partition(":")
    environ = imported_from(repository.project, repository.main_project, around.environ)
    around = replace(around, environ=environ)
    if kind == "api":
        return _api_agent(model or settings.model, repository, settings, around, cages)
    if kind == "command":
        if absent := absent_program(rest, repository.project, environ):
            raise NotReadyError(
                f"the agent's program {absent!r} is not there, or may not be run",
                hint=_how_to_get(absent, repository.project),
                type="AgentMissing",
            )
        return CommandAgent(
            rest,
            env=around.environ,
            timeout=settings.session_timeout,
            interrupt=around.interrupt,
            passed_on=settings.agent_env,
            identity=repository.identity,
            confine=cages.agent if cages else free,
        )
    if kind == "replay":
        from redgreenrefactor.agents.replay import ReplayAgent  # noqa: PLC0415
        from redgreenrefactor.agents.script_file import load_script  # noqa: PLC0415

        return ReplayAgent(
            load_script(rest),
            env=environ_of(repository, around),
            bash_timeout=settings.bash_timeout,
            interrupt=around.interrupt,
            identity=repository.identity,
            confine=cages.session if cages else free,
            note=lambda step: around.emit(SessionNoted(step)),
        )
    raise NotReadyError(
        f"the agent {kind!r} is not part of this version yet",
        hint="Use --agent 'command:SHELL COMMAND' (any program) or --agent replay:NAME-OR-FILE (a script).",
        type="AgentMissing",
    )


def _how_to_get(program: str, project: Path) -> str:
    """Return what makes an agent's program one that can be started."""
    if (project / program).is_file():
        return f"Type 'chmod +x {program}', or start it with its interpreter: --agent 'command:sh {program}'."
    where = f"Put it into {project} and commit it" if "/" in program else "Install it, or put it on PATH"
    return f"{where}, or name another one: --agent 'command:PROGRAM …'."


def _api_agent(
    model: str, repository: Repository, settings: Settings, around: Surroundings, cages: Cages | None
) -> Agent:
    from redgreenrefactor.agents.api import ApiAgent  # noqa: PLC0415
    from redgreenrefactor.agents.environment import environment  # noqa: PLC0415
    from redgreenrefactor.agents.locks import locked_in  # noqa: PLC0415
    from redgreenrefactor.agents.patience import Patience  # noqa: PLC0415
    from redgreenrefactor.agents.providers import access  # noqa: PLC0415
    from redgreenrefactor.agents.toolbox import TOOLS, Toolbox, shell_in  # noqa: PLC0415

    env = environment(environ_of(repository, around), settings.agent_env, repository.identity)

    def toolbox(brief: Brief, folder: Path, stop: Interrupt) -> Toolbox:
        cage = cages.session(brief) if cages else None
        shell = shell_in(folder, env=env, interrupt=stop, cage=cage)
        return Toolbox(
            folder,
            shell=shell,
            env=env,
            bash_timeout=settings.bash_timeout,
            locked=locked_in(brief),
        )

    return ApiAgent(
        access(model, settings.agent_url, around.environ),
        tools=TOOLS,
        toolbox=toolbox,
        timeout=settings.session_timeout,
        turns=settings.session_turns,
        interrupt=around.interrupt,
        patience=Patience(first_wait=settings.retry_backoff),
        emit=around.emit,
        note=lambda step: around.emit(SessionNoted(step)),
        warn=lambda line: around.emit(Warned(line)),
    )


def model_of(settings: Settings, role: str) -> str:
    """Return the model a role thinks with; nothing where the agent has its own, which nobody here knows."""
    kind = settings.agent_for(role).partition(":")[0]
    return "" if kind in ("command", "replay") else settings.model_for(role)


def lab_of(workspace: Snapshots, suite: Suite, settings: Settings, around: Surroundings) -> Lab:
    """Return what answers the questions of gates."""
    return Lab(workspace, suite, around.emit, time.monotonic, settings.probe_budget)


def meter_of(
    command: str,
    workspace: GitWorkspace,
    settings: Settings,
    around: Surroundings,
    cages: Cages | None = None,
) -> Meter:
    """Return what measures how much of a checkout a test command reaches."""
    return meter_for(
        command,
        project=workspace.project,
        env=without_secrets(around.environ, settings.sandbox_env),
        timeout=settings.test_timeout,
        cache=workspace.compiled,
        interrupt=around.interrupt,
        cage=cages.suite if cages else unheld,
        setup=settings.setup_command,
    )


def results_of(
    command: str,
    repository: Repository,
    workspace: GitWorkspace,
    around: Surroundings,
    settings: Settings,
    cages: Cages | None = None,
) -> KeptResults:
    """Return what keeps results of the whole suite for the next process."""
    env = without_secrets(environ_of(repository, around), settings.sandbox_env)
    around_tests = identity(command, repository.project, env)
    held = f" {cages.level}" if cages else ""
    return KeptResults(repository.cache / RESULTS, f"{around_tests} {workspace.local_files_digest()}{held}")


def guides_of(repository: Repository) -> tuple[str, ...]:
    """Return the files that tell agents how this project is worked on, seen from its folder."""
    up = "../" * repository.prefix.count("/")
    places = dict.fromkeys(f"{above}{name}" for above in ("", up) for name in GUIDES)
    return tuple(place for place in places if (repository.project / place).is_file())


def _no_round(_phase: Phase, _handoff: Handoff) -> Round:
    return NO_ROUND


@dataclass(frozen=True)
class Table:
    """A workflow, and what goes with it."""

    workflow: Workflow = TDD
    gates: Mapping[PhaseName, Gate] = field(default_factory=lambda: TDD_GATES)
    rounds: Callable[[Phase, Handoff], Round] = _no_round  # where coder and reviewer stand
    agents: Mapping[PhaseName, Agent] = field(default_factory=dict[PhaseName, Agent])  # that no setting names


def engine_of(
    table: Table,
    repository: Repository,
    workspace: GitWorkspace,
    settings: Settings,
    around: Surroundings,
    suite: Suite,
    *,
    cages: Cages | None = None,
) -> tuple[Engine, Lab]:
    """Return the engine for a workflow, everything it needs plugged in, and its lab."""
    prompts_dir = repository.project / settings.prompts_dir if settings.prompts_dir else None
    prompts = templates.load(prompts_dir)

    @cache
    def agent(spec: str, model: str) -> Agent:  # one for all phases that want the same
        return agent_of(spec, repository, settings, around, model=model, cages=cages)

    agents = {
        phase.name: agent(settings.agent_for(phase.key), settings.model_for(phase.key))
        for phase in table.workflow.sessions()
        if phase.name not in table.agents
    }

    def told(phase: Phase, handoff: Handoff, attempt: int) -> Brief:
        findings = handoff.findings if handoff.error is not None else ()
        where = table.rounds(phase, handoff)
        guides = guides_of(repository)
        command = typed_in(repository, around, suite.command)
        ask = Ask(phase, handoff, attempt, command, findings, workspace.prefix, guides, where)
        return brief(prompts, ask, model_of(settings, phase.key))

    active = replace(around, environ=environ_of(repository, around))
    meter = meter_of(suite.command, workspace, settings, active, cages)
    lab = replace(
        lab_of(workspace, suite, settings, around),
        meter=meter,
        results=results_of(suite.command, repository, workspace, around, settings, cages),
    )
    engine = Engine(
        workflow=table.workflow,
        workspace=workspace,
        ledger=GitLedger(repository.git, repository.objects, repository.environ),
        judge=lab.judge,
        receipt=lab.receipt,
        gates=table.gates,
        agents={**agents, **table.agents},
        brief=told,
        read_plan=parse,
        rules=Rules(
            red_on_pass=settings.red_on_pass,
            legacy_on_break=settings.legacy_on_break,
            minimality_min=settings.minimality_min,
            coverage_min=settings.coverage_min,
            retries=settings.max_retries,
        ),
        emit=around.emit,
        clock=time.monotonic,
        now=now,
        pause=around.interrupt.pause,
        backoff=settings.retry_backoff,
        command=suite.command,
    )
    return engine, lab
