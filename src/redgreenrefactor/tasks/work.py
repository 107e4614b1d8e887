"""One task at work in one checkout."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from redgreenrefactor.bench import Bench
from redgreenrefactor.errors import InterruptedRunError, NotReadyError, UsageError
from redgreenrefactor.gates.rules.legacy import Baseline
from redgreenrefactor.gates.task import task_gates
from redgreenrefactor.gates.task_red import expected_files, paths_in
from redgreenrefactor.goals.task_context import gather
from redgreenrefactor.goals.task_file import TaskFile
from redgreenrefactor.loop.engine import Ended, Engine, Limits
from redgreenrefactor.loop.lab import Lab
from redgreenrefactor.loop.workflows import PLAIN, taskfile
from redgreenrefactor.model.decision import Turn, opening, retries_used
from redgreenrefactor.model.events import Emit, Event, Judged, RunEnded
from redgreenrefactor.model.goal import Case, Plan
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, with_extra
from redgreenrefactor.model.result import Entry, RunStatus
from redgreenrefactor.model.session import MORE_MONEY, Brief, Report
from redgreenrefactor.model.task import Strategy, Task, command_of_tests
from redgreenrefactor.model.task_result import EARLIER, TaskFileResult, TaskFileStatus, phases_of
from redgreenrefactor.model.verdict import NOT_READY, FindingType
from redgreenrefactor.model.workflow import Phase, PhaseName, Workflow
from redgreenrefactor.ports import Agent, Continuing, Suite
from redgreenrefactor.prompts import task as prompts
from redgreenrefactor.prompts.quote import bounded
from redgreenrefactor.prompts.task import Told
from redgreenrefactor.records.task import TaskFolder
from redgreenrefactor.runners.absent import MaybeAbsent
from redgreenrefactor.runners.environment import Surroundings
from redgreenrefactor.sandbox.secrets import masking, without_secrets
from redgreenrefactor.tasks.diary import Diary
from redgreenrefactor.tasks.held_shell import HeldShell
from redgreenrefactor.tasks.settings import settings_for
from redgreenrefactor.tasks.standing import digest_of, said_by
from redgreenrefactor.wiring import (
    Table,
    agent_of,
    engine_of,
    environ_of,
    guides_of,
    model_of,
    now,
    suite_of,
    typed_in,
)

DIAGNOSIS_SECONDS = 300.0
SAID = 8_000  # characters of a final message that a note keeps for later sessions
_STATUS = {
    RunStatus.COMPLETE: TaskFileStatus.COMPLETE,
    RunStatus.FAILED: TaskFileStatus.FAILED,
    RunStatus.STOPPED: TaskFileStatus.STOPPED,
    RunStatus.INTERRUPTED: TaskFileStatus.INTERRUPTED,
}


class Work:
    """One task at work in one checkout."""

    def __init__(self, bench: Bench, file: TaskFile, session: str) -> None:
        self.bench = bench
        self.task = file.task
        self.file = str(file.path)
        self.session = _checked(session)
        self.folder = TaskFolder(bench.repository.project, self.session, masking(bench.around.environ))
        self.diary = Diary(bench, file.task, self.folder)
        self.workflow: Workflow = taskfile(file.task.max_iterations) if file.task.tdd else PLAIN
        bench.table = Table(self.workflow, task_gates(file.task))
        self.mark: dict[str, Any] = {
            "id": file.task.id,
            "digest": digest_of(file.document),
            "session": self.session,
        }

    def prepare(self) -> None:
        """Have everything that is needed, or refuse; nothing is touched but what git ignores."""
        bench = self.bench
        bench.workspace.require_clean()
        bench.enclose()
        bench.repository.exclude(".workflow/")
        self.settings = settings_for(self.task, bench.settings)
        self.suite = self._suite(command_of_tests(self.task))
        around = replace(bench.around, emit=self._emit(bench.emit))
        engine, lab = engine_of(
            bench.table,
            bench.repository,
            bench.workspace,
            self.settings,
            around,
            self.suite,
            cages=bench.cages,
        )
        self.lab: Lab = replace(lab, suite_of=self._suite)
        self._shell.require_programs(self.task)
        self.engine = self._wired(engine, self._told())

    def beginning(self, run_id: str, file: TaskFile) -> Handoff:
        """Return the handoff the task starts from; nothing is written."""
        bench = self.bench
        plan, previous = Plan(), None
        if not bench.unborn:
            base = bench.workspace.head()
            plan, previous = bench.plan(base), bench.ledger.read(base)
        handoff = opening(run_id, _feature(self.task), now(), plan, previous, self.workflow.first.name)
        task = {**self.mark, "file": str(file.path), "document": file.document}
        begun = replace(handoff, current_test=_case(self.task))
        return with_extra(begun, workflow=self.workflow.name, task=task)

    def baseline(self, base: str) -> Baseline:
        """Run the tests as they are before anything is done; where they never run the task is blocked."""
        self.bench.lab = self.lab
        planned = [point for step in self.task.steps for point in step.modification_points]
        return self.bench.baseline(base, " ".join([_feature(self.task), *planned]), may_fail=True)

    def go(self, entry: Entry, base: str) -> TaskFileResult:
        """Take turns until the end, write down what came of it, and tell."""
        started = self.engine.clock()
        engine = replace(self.engine, opening=base, noted=self.bench.cages.noted())
        ended = engine.run(entry, self.bench.limits(Limits(), entry.handoff.run_id))
        self.bench.emit(RunEnded(ended.status, _last_words(ended), self.engine.clock() - started))
        result = self.ended(ended)
        self.diary.record(result)
        self.bench.tell_on(result.run_id, result.status, ended.entry.commit)
        return result

    def ended(self, ended: Ended) -> TaskFileResult:
        """Return what came of the task, for the reason that ended it now and no older one."""
        handoff, status = ended.entry.handoff, _STATUS[ended.status]
        details, hint = handoff.error_details, _hint(handoff)
        if status is TaskFileStatus.INTERRUPTED or ended.type is not None:
            details = ErrorDetails(ended.type or InterruptedRunError.type, ended.reason)
            hint = MORE_MONEY if ended.type is FindingType.BUDGET_EXCEEDED else ""
        if status is TaskFileStatus.STOPPED and details and details.type in NOT_READY:
            status = TaskFileStatus.BLOCKED
        result = self.result(status)
        if status is TaskFileStatus.COMPLETE:
            return result
        error = details.message if details else ended.reason
        return replace(
            result, error=error or None, error_details=details, hint=hint, phase=handoff.next_phase
        )

    def result(self, status: TaskFileStatus) -> TaskFileResult:
        """Return what the notes tell of the task."""
        bench = self.bench
        history = list(bench.ledger.history())
        run_id, start = history[0].handoff.run_id, history[-1].commit
        return TaskFileResult(
            task=self.task,
            status=status,
            phases=phases_of(history, bench.ledger.attempts(run_id)),
            run_id=run_id,
            session=self.session,
            files=tuple(change.path for change in bench.workspace.changes(start, history[0].commit)),
            summary=self.folder.summary(self.task),
        )

    # --- how it is wired

    def _suite(self, command: str) -> Suite:
        bench = self.bench
        settings = replace(bench.settings, test_command=command)
        suite = suite_of(bench.repository, settings, bench.around, bench.workspace.compiled, bench.cages)
        return MaybeAbsent(suite)

    @property
    def _shell(self) -> HeldShell:
        bench, settings = self.bench, self.settings
        where = Surroundings(
            bench.repository.project,
            without_secrets(environ_of(bench.repository, bench.around), settings.sandbox_env),
            settings.bash_timeout,
            bench.workspace.compiled,
            bench.around.interrupt,
            bench.cages.suite,
            bench.repository.main_project,
        )
        workspace = bench.workspace
        commit = workspace.empty_commit() if bench.unborn else workspace.head()
        return HeldShell(where, lambda: workspace.checkout(commit, {}), settings.setup_command)

    def _told(self) -> Told:
        project, settings = self.bench.repository.project, self.settings
        prompts_dir = project / settings.prompts_dir if settings.prompts_dir else None
        return Told(
            task=self.task,
            command=typed_in(self.bench.repository, self.bench.around, self.suite.command),
            texts=prompts.texts(prompts_dir),
            template=prompts.handoff_template(prompts_dir),
            file=self.file,
            sources=gather(self.task, project, self._shell),
            parents=tuple((name, said_by(self.bench, name)) for name in self.task.link.resume_from),
            prefix=self.bench.workspace.prefix,
            guides=guides_of(self.bench.repository),
        )

    def _wired(self, engine: Engine, told: Told) -> Engine:
        """Return the engine with the task's own gates, agents, briefs and memory."""

        def brief(phase: Phase, handoff: Handoff, attempt: int) -> Brief:
            tried = self.diary.tried(handoff) if phase.name is PhaseName.DIAGNOSE else None
            return prompts.brief(told, phase, handoff, attempt, model_of(self.settings, phase.key), tried)

        wanted = [level for level in (self.task.coverage_min, engine.rules.coverage_min) if level is not None]
        return replace(
            engine,
            judge=self.lab.judge,
            receipt=self.lab.receipt,
            agents=self._agents(engine.agents),
            brief=brief,
            rules=replace(engine.rules, coverage_min=max(wanted, default=None)),
            remember=self._remember,
        )

    def _agents(self, agents: Mapping[PhaseName, Agent]) -> Mapping[PhaseName, Agent]:
        """Return who works; an agent that cannot go on from earlier sessions is refused if it has to."""
        strategy = self.task.link.strategy
        for phase in self.workflow.phases:
            agent = agents[phase.name]
            able = agent.strategies if isinstance(agent, Continuing) else frozenset({str(Strategy.NEW)})
            if strategy not in able:
                raise NotReadyError(
                    f"the agent {agent.name} has no sessions of the kind {strategy!r}, which the task asks for",
                    hint="Use an agent that has them (api, command:…), or set cli_execution.strategy to 'new'.",
                    type="StrategyMissing",
                )
        if PhaseName.DIAGNOSE not in agents:
            return agents
        seconds = min(DIAGNOSIS_SECONDS, self.settings.session_timeout)
        brisk = replace(self.settings, session_timeout=seconds)
        spec = self.settings.agent_for("diagnosis")
        model = self.settings.model_for("diagnosis")
        cages = self.bench.cages
        looking = agent_of(spec, self.bench.repository, brisk, self.bench.around, model=model, cages=cages)
        return {**agents, PhaseName.DIAGNOSE: looking}

    def _remember(self, handoff: Handoff, turn: Turn, report: Report) -> Mapping[str, Any]:
        """Return what later sessions and the logs want to know of a turn."""
        link = self.task.link
        found: dict[str, Any] = {"workflow": self.workflow.name, "task": self.mark}
        if link.id:
            found["session"] = {
                "id": link.id,
                "strategy": str(link.strategy),
                "resumeFrom": list(link.resume_from),
            }
        if report.message:
            found["message"] = bounded(report.message, SAID)
        if earlier := turn.attempt - 1 - retries_used(handoff):
            found[EARLIER] = earlier
        if prompts.diagnosis_of(handoff, turn.attempt):
            found["diagnosis"] = handoff.extra["diagnosis"]
        return found

    def _emit(self, emit: Emit) -> Emit:
        def listen(event: Event) -> None:
            emit(event)
            if isinstance(event, Judged) and event.phase is PhaseName.GREEN:
                self.diary.log()

        return listen


def _case(task: Task) -> Case | None:
    tests = expected_files(task)
    green = task.step(PhaseName.GREEN)
    code = [path for path in paths_in(green.modification_points if green else ()) if path not in tests]
    return Case(task.title, tests[0], code[0]) if tests and code else None


def _feature(task: Task) -> str:
    return f"{task.title}\n\n{task.description}" if task.title not in task.description else task.description


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


def _last_words(ended: Ended) -> str:
    match ended.status:
        case RunStatus.COMPLETE:
            return "complete: the task is done"
        case RunStatus.FAILED:
            return f"failed: {ended.entry.handoff.next_phase} was rejected; HEAD is the last good commit"
        case _:
            return f"{ended.status}: {ended.reason}"
