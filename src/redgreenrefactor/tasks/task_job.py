"""A task file as a job: tests first, code in tries that build on each other, then refactoring."""

import re
from collections.abc import Mapping
from dataclasses import replace

from redgreenrefactor.agents.table import kind_of
from redgreenrefactor.config import Settings
from redgreenrefactor.config.keys import AGENTS, AGENTS_WITH_MORE
from redgreenrefactor.errors import InterruptedRunError, NotReadyError, UsageError
from redgreenrefactor.gates.task import expected_files, paths_in, task_gates
from redgreenrefactor.goals.task_context import gather, reread
from redgreenrefactor.goals.task_file import TaskFile
from redgreenrefactor.lifecycle.factory import Factory
from redgreenrefactor.lifecycle.job import Job
from redgreenrefactor.lifecycle.project import OpenProject
from redgreenrefactor.loop.engine import Ended
from redgreenrefactor.loop.workflows import PLAIN, taskfile
from redgreenrefactor.model.codec import JsonObject
from redgreenrefactor.model.decision import Turn, retries_used
from redgreenrefactor.model.events import Event, Judged
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, SessionLink, TaskFileMark
from redgreenrefactor.model.result import RunStatus
from redgreenrefactor.model.session import MORE_MONEY, Brief, Report
from redgreenrefactor.model.task import Strategy, Task, command_of_tests
from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus, phases_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import NOT_READY, FindingType
from redgreenrefactor.model.workflow import Phase, PhaseName
from redgreenrefactor.ports import Agent, Continuing, Suite
from redgreenrefactor.prompts import task_brief as prompts
from redgreenrefactor.prompts.quote import bounded
from redgreenrefactor.prompts.task_brief import TaskMatter
from redgreenrefactor.records.task_folder import TaskFolder
from redgreenrefactor.sandbox.secrets import masking
from redgreenrefactor.tasks.diary import Diary
from redgreenrefactor.tasks.earlier import digest_of, program_session, said_by
from redgreenrefactor.tasks.held_shell import HeldShell

DIAGNOSIS_SECONDS = 300.0
SAID = 8_000  # characters of a final message that a note keeps for later sessions
_TOOLS = {"claude": "claude-code"}
_STATUS = {
    RunStatus.COMPLETE: TaskFileStatus.COMPLETE,
    RunStatus.FAILED: TaskFileStatus.FAILED,
    RunStatus.STOPPED: TaskFileStatus.STOPPED,
    RunStatus.INTERRUPTED: TaskFileStatus.INTERRUPTED,
}


class TaskJob(Job[TaskFileResult]):
    """The work of one task file."""

    tests_may_fail = True  # the command may name tests that are still to be written

    def __init__(self, project: OpenProject, file: TaskFile, session: str) -> None:
        super().__init__(project)
        self.file = file
        self.task = task = file.task
        self.session = _checked(session)
        self.diary = Diary(
            project, task, TaskFolder(project.repository.project, session, masking(project.around.environ))
        )
        self.workflow = taskfile(task.max_iterations) if task.tdd else PLAIN
        self.gates = task_gates(task)
        titled = task.title in task.description
        self.feature = task.description if titled else f"{task.title}\n\n{task.description}"
        planned = [point for step in task.steps for point in step.modification_points]
        self.asked = " ".join([self.feature, *planned])
        self.mark = TaskFileMark(task.id, digest_of(file.document), session)

    # --- before

    def settings(self) -> Settings:
        """Return the settings with the program and the coverage that the task names."""
        settings = settings_for(self.task, self.project.settings)
        wanted = [level for level in (self.task.coverage_min, settings.coverage_min) if level is not None]
        return replace(settings, coverage_min=max(wanted, default=None))

    def suite(self, factory: Factory) -> Suite:
        """Return the tests that the task names."""
        return factory.task_suite(command_of_tests(self.task))

    def own_agents(self, factory: Factory, suite: Suite) -> Mapping[PhaseName, Agent]:  # noqa: ARG002
        """Return who looks at rejected tries, for a short time."""
        if not self.task.tdd:
            return {}
        settings = factory.settings
        seconds = min(DIAGNOSIS_SECONDS, settings.session_timeout)
        brisk = replace(factory, settings=replace(settings, session_timeout=seconds))
        return {PhaseName.DIAGNOSE: brisk.agent(settings.agent_for("diagnosis"), factory.model("diagnosis"))}

    def require_able(self, factory: Factory, agents: Mapping[PhaseName, Agent]) -> None:
        """Refuse where programs of the criteria are missing, or an agent cannot go on from earlier sessions."""
        self._prepare_shell(factory).require_programs(self.task)
        strategy = self.task.link.strategy
        for phase in self.workflow.phases:
            agent = agents[phase.name]
            able = agent.strategies if isinstance(agent, Continuing) else frozenset({str(Strategy.NEW)})
            if strategy not in able:
                raise NotReadyError(
                    f"the agent {agent.name} has no sessions of the kind '{strategy}', which the task asks for",
                    hint="Use an agent that has them (claude-code, codex, opencode, api, command:…), or set "
                    "cli_execution.strategy to 'new', or to 'merge_fork', which hands over what earlier sessions said.",
                    type="StrategyMissing",
                )

    def prepare_briefing(self, factory: Factory, suite: Suite) -> "TaskBriefing":
        """Return what writes the task's briefs; its analysis is run first."""
        told = TaskMatter(
            task=self.task,
            command=factory.typed(suite.command),
            texts=prompts.texts(factory.prompts_dir),
            template=prompts.handoff_template(factory.prompts_dir),
            file=str(self.file.path),
            sources=gather(self.task, self.project.repository.project, self._prepare_shell(factory)),
            parents=tuple((name, said_by(self.project, name)) for name in self.task.link.resume_from),
            prefix=self.project.repository.prefix,
            guides=factory.guides(),
        )
        return TaskBriefing(factory, told, self.diary, self._continued(factory.settings))

    def _continued(self, settings: Settings) -> dict[PhaseName, tuple[str, ...]]:
        """Return the sessions that programs go on from, by phase, as the programs know them."""
        link = self.task.link
        if link.strategy not in (Strategy.RESUME, Strategy.FORK):
            return {}
        agents = {phase.name: settings.agent_for(phase.key) for phase in self.workflow.phases}
        return {
            phase: tuple(program_session(self.project, name, agent) for name in link.resume_from)
            for phase, agent in agents.items()
            if kind_of(agent).program is not None
        }

    def _prepare_shell(self, factory: Factory) -> HeldShell:
        """Make what runs the commands of the task file, each in a clean checkout; without a commit that is an empty one."""
        workspace = self.project.workspace
        where = replace(factory.suite_context(), timeout=factory.settings.bash_timeout)
        commit = workspace.empty_commit() if self.project.unborn else workspace.head()
        return HeldShell(where, lambda: workspace.checkout(commit, {}), factory.settings.setup_command)

    def title(self, handoff: Handoff) -> str:  # noqa: ARG002
        """Return what the task is called."""
        return self.task.title

    def opened_with(self, handoff: Handoff) -> Handoff:
        """Return the opening handoff with the whole task in it."""
        task = replace(self.mark, file=str(self.file.path), document=JsonObject.of(self.file.document))
        return replace(handoff, current_test=_case(self.task), workflow=self.workflow.name, task=task)

    # --- on the way

    def remembered(self, note: Handoff, before: Handoff, turn: Turn, report: Report) -> Handoff:
        """Return a turn's note with what later sessions and the logs want to know."""
        link, said = self.task.link, bounded(report.message, SAID) if report.message else note.facts.message
        return replace(
            note,
            workflow=self.workflow.name,
            task=self.mark,
            session=SessionLink(link.id, str(link.strategy), link.resume_from) if link.id else None,
            facts=replace(note.facts, message=said),
            earlier_attempts=turn.attempt - 1 - retries_used(before) or None,
            diagnosis=before.diagnosis if prompts.diagnosis_of(before, turn.attempt) else None,
        )

    def hear(self, event: Event) -> None:
        """Write the log of every try at Green."""
        if isinstance(event, Judged) and event.phase is PhaseName.GREEN:
            self.diary.log()

    # --- at the end

    def last_words(self, ended: Ended) -> str:
        """Return how the task ended."""
        match ended.status:
            case RunStatus.COMPLETE:
                return "complete: the task is done"
            case RunStatus.FAILED:
                return f"failed: {ended.entry.handoff.next_phase} was rejected; HEAD is the last good commit"
            case _:
                return f"{ended.status}: {ended.reason}"

    def conclude(self, ended: Ended, seconds: float) -> TaskFileResult:  # noqa: ARG002
        """Write down what came of the task; return it, with the reason that ended it now and no older one."""
        handoff, status = ended.entry.handoff, _STATUS[ended.status]
        details, hint = handoff.error_details, _hint(handoff)
        if status is TaskFileStatus.INTERRUPTED or ended.type is not None:
            details = ErrorDetails(ended.type or InterruptedRunError.type, ended.reason)
            hint = MORE_MONEY if ended.type is FindingType.BUDGET_EXCEEDED else ""
        if status is TaskFileStatus.STOPPED and details and details.type in NOT_READY:
            status = TaskFileStatus.BLOCKED
        result = self.result(status)
        if status is not TaskFileStatus.COMPLETE:
            error = (details.message if details else ended.reason) or None
            result = replace(result, error=error, error_details=details, hint=hint, phase=handoff.next_phase)
        self.diary.record(result)
        return result

    def result(self, status: TaskFileStatus) -> TaskFileResult:
        """Return what the notes tell of the task."""
        history = list(self.project.ledger.history())
        run_id, start = history[0].handoff.run_id, history[-1].commit
        changes = self.project.workspace.changes(start, history[0].commit)
        return TaskFileResult(
            task=self.task,
            status=status,
            phases=phases_of(history, self.project.ledger.attempts(run_id)),
            run_id=run_id,
            session=self.session,
            files=tuple(change.path for change in changes),
            summary=self.diary.folder.summary(self.task),
        )


@frozen
class TaskBriefing:
    """Fills the templates of task files."""

    factory: Factory
    told: TaskMatter
    diary: Diary
    continued: Mapping[PhaseName, tuple[str, ...]]  # sessions that programs go on from

    def brief(self, phase: Phase, handoff: Handoff, attempt: int) -> Brief:
        """Return everything one session is told."""
        undiagnosed = phase.name is PhaseName.GREEN and handoff.diagnosis and handoff.diagnosis.failed
        tried = self.diary.tried(handoff) if phase.name is PhaseName.DIAGNOSE or undiagnosed else None
        told = replace(self.told, sources=reread(self.told.sources, self.factory.repository.project))
        brief = prompts.brief(told, phase, handoff, attempt, self.factory.model(phase.key), tried)
        return replace(brief, continues=self.continued.get(phase.name, ()))


def settings_for(task: Task, settings: Settings) -> Settings:
    """Return the settings with the program that the task names; a flag on the command line beats it."""
    spec = agent_spec(task.cli_tool) if task.cli_tool else None
    if spec is None or settings.source("agent") == "--agent":
        return settings
    usual = settings.agents["green"]
    agents = dict.fromkeys(settings.agents, spec)
    if settings.agents["diagnosis"] != usual:
        agents["diagnosis"] = settings.agents["diagnosis"]  # somebody has set it
    return replace(settings, agents=agents)


def agent_spec(tool: str) -> str | None:
    """Return the agent that a cli_tool means, None for whatever is configured."""
    name = _TOOLS.get(tool, tool)
    if name == "auto":
        return None
    return name if name in AGENTS or name.startswith(AGENTS_WITH_MORE) else f"command:{tool}"


def _case(task: Task) -> Case | None:
    tests = expected_files(task)
    green = task.step(PhaseName.GREEN)
    code = [path for path in paths_in(green.modification_points if green else ()) if path not in tests]
    return Case(task.title, tests[0], code[0]) if tests and code else None


def _checked(session: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", session):
        raise UsageError(
            f"the session {session!r:.80} cannot be the name of a folder",
            hint="Use letters, digits, dots and dashes: --session NAME.",
        )
    return session


def _hint(handoff: Handoff) -> str:
    """Return what the finding that counts says to do; what others advise is beside the point."""
    return (
        next((finding.hint for finding in handoff.findings if finding.message == handoff.error), None) or ""
    )
