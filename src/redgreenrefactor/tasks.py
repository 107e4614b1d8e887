"""Running task files: one or several, from the start or from where they stand."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, cast

from redgreenrefactor import runs
from redgreenrefactor.config import AGENTS, AGENTS_WITH_MORE, Settings
from redgreenrefactor.engine import Ended, Engine, Limits
from redgreenrefactor.errors import InterruptedRunError, NotReadyError, RgrError, UsageError
from redgreenrefactor.gates.legacy import baseline
from redgreenrefactor.gates.task import task_gates
from redgreenrefactor.gates.task_red import expected_files, paths_in
from redgreenrefactor.goals.task_context import Outcome, check_paths, gather
from redgreenrefactor.goals.task_file import TaskFile, task_from
from redgreenrefactor.lab import Lab
from redgreenrefactor.model.decision import Turn, opening, refreshed
from redgreenrefactor.model.events import Emit, Event, Judged, RunEnded, Warned
from redgreenrefactor.model.evidence import Change, Measure
from redgreenrefactor.model.goal import Case, Plan
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, with_extra
from redgreenrefactor.model.result import Entry, RunStatus
from redgreenrefactor.model.session import Brief, Report
from redgreenrefactor.model.task import Strategy, Task, command_of_tests
from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus, phases_of
from redgreenrefactor.model.workflow import Phase, PhaseName, Workflow
from redgreenrefactor.ports import Agent, Continuing, Suite
from redgreenrefactor.prompts import task as prompts
from redgreenrefactor.prompts.quote import bounded
from redgreenrefactor.prompts.task import Told
from redgreenrefactor.records.task import Iteration, TaskFolder, failure_text
from redgreenrefactor.runners.absent import MaybeAbsent
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.secrets import without_secrets
from redgreenrefactor.views.task_text import summary
from redgreenrefactor.wiring import Surroundings, Table, agent_of, engine_of, new_run_id, now
from redgreenrefactor.workflows.taskfile import PLAIN, taskfile

DIAGNOSIS_SECONDS = 300.0
SAID = 8_000  # characters of a final message that a note keeps for later sessions
OUTPUT = 20_000  # characters of a command's output
_TOOLS = {"claude": "claude-code"}
_STATUS = {
    RunStatus.COMPLETE: TaskFileStatus.COMPLETE,
    RunStatus.FAILED: TaskFileStatus.FAILED,
    RunStatus.STOPPED: TaskFileStatus.STOPPED,
    RunStatus.INTERRUPTED: TaskFileStatus.INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class TaskWishes:
    """What one invocation was asked for beside the tasks."""

    session: str | None = None
    new: bool = False  # from the start, whatever stands here
    keep_going: bool = False  # with the tasks that do not depend on one that failed
    worktree: str | None = None


NO_WISHES = TaskWishes()


def run_tasks(
    files: Sequence[TaskFile], around: Surroundings, wishes: TaskWishes = NO_WISHES
) -> Iterator[TaskFileResult]:
    """Yield what becomes of the tasks, one after the other; the first that does not complete is the last, or not."""
    for file in files:
        check_paths(file.task, around.project)
    lost: set[str] = set()
    new = wishes.new
    for file in files:
        if waits := sorted(lost.intersection(file.task.depends_on)):
            lost.add(file.task.id)
            yield _never_begun(file.task, waits)
            continue
        result = run_task(file, around, replace(wishes, new=new or bool(lost)))
        yield result
        if result.status is TaskFileStatus.COMPLETE:
            continue
        lost.add(file.task.id)
        if not wishes.keep_going or result.status in (TaskFileStatus.INTERRUPTED, TaskFileStatus.STOPPED):
            return


def run_task(file: TaskFile, around: Surroundings, wishes: TaskWishes = NO_WISHES) -> TaskFileResult:
    """Do a task, or go on with it where it was begun here; what is in its way is a result, too."""
    check_paths(file.task, around.project)
    try:
        with runs.opened(around, runs.Wishes(worktree=wishes.worktree)) as bench:
            return _run(file, bench, wishes)
    except (NotReadyError, InterruptedRunError) as error:
        return _in_the_way(file.task, wishes.session, error)


def resume_task(around: Surroundings, worktree: str | None = None) -> TaskFileResult | None:
    """Go on with the task that stands here, None where what stands here is no task's run."""
    with runs.opened(around, runs.Wishes(worktree=worktree), resumes=True) as bench:
        begun = None if bench.unborn else _begun(bench)
        if begun is None:
            return None
        file = TaskFile(task_from(begun.document, begun.path), begun.path, begun.document)
        try:
            return _go_on(_Work(bench, file, begun.session), begun)
        except (NotReadyError, InterruptedRunError) as error:
            return _in_the_way(file.task, begun.session, error)


def _run(file: TaskFile, bench: runs.Bench, wishes: TaskWishes) -> TaskFileResult:
    latest = None if bench.unborn else bench.ledger.latest()
    begun = _begun(bench) if latest and not wishes.new else None
    digest = digest_of(file.document)
    if begun and begun.digest == digest and begun.entry.handoff.next_phase is not PhaseName.COMPLETE:
        return _go_on(_Work(bench, file, wishes.session or begun.session), begun)
    bench.workspace.require_clean()
    if not wishes.new and latest and (done := _done_before(bench, digest)):
        return done.result(file.task)
    if latest and not wishes.new and runs.unfinished(bench, latest):
        raise NotReadyError(
            f"an unfinished run is here: {latest.handoff.feature!r:.80} ({latest.handoff.state})",
            hint="Type 'rgr resume' to go on with it, or 'rgr task --new …' to start this one.",
            type="UnfinishedRun",
        )
    return _begin(bench, file, wishes.session)


def _begin(bench: runs.Bench, file: TaskFile, session: str | None) -> TaskFileResult:
    run_id = new_run_id()
    work = _Work(bench, file, session or file.task.session or run_id)
    bench.workspace.adopt()
    with runs.nothing_begun():
        work.prepare()
        bench.suite = work.suite
        bench.announce(run_id, file.task.title, resumed=False)
        handoff = work.beginning(run_id, file)
        work.engine.probe(handoff)
        base = bench.workspace.first_commit() if bench.unborn else bench.workspace.head()
        work.baseline(base)
    handoff = with_extra(handoff, suiteRun=work.lab.receipt(base), **bench.cages.noted())
    bench.ledger.write({base: handoff})
    return work.go(Entry(base, handoff), base)


def _go_on(work: "_Work", begun: "_Begun") -> TaskFileResult:
    bench = work.bench
    if begun.entry.handoff.next_phase is PhaseName.COMPLETE:
        return replace(work.result(TaskFileStatus.COMPLETE), already=True)
    work.prepare()
    bench.cages.as_noted(begun.entry.handoff)
    bench.suite, bench.lab = work.suite, work.lab
    bench.announce(begun.entry.handoff.run_id, work.task.title, resumed=True)
    bench.recall(begun.entry.handoff.run_id)
    latest = runs.caught_up(bench, begun.entry)
    entry = Entry(latest.commit, refreshed(latest.handoff))
    work.engine.probe(entry.handoff)
    if entry != latest:
        bench.ledger.write({entry.commit: entry.handoff})
    return work.go(entry, bench.opening(entry.handoff.run_id))


class _Work:
    """One task at work in one checkout."""

    def __init__(self, bench: runs.Bench, file: TaskFile, session: str) -> None:
        self.bench = bench
        self.task = file.task
        self.session = _checked(session)
        self.folder = TaskFolder(bench.repository.project, self.session)
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
        told = self._told()
        bench.workspace.require_clean()  # pre_analysis has run commands
        self.engine = self._wired(engine, told)

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

    def baseline(self, base: str) -> None:
        """Run the tests as they are before anything is done; where they never run the task is blocked."""
        self.bench.lab = self.lab
        run = self.bench.with_network_if_needed(base, self.lab.judge(baseline(base))).run
        if not run.finished:
            words = " | ".join(line.strip() for line in run.output.strip().splitlines()[-5:] if line.strip())
            why = "ran past test.timeout" if run.timed_out else f"did not run (exit code {run.exit_code})"
            raise NotReadyError(
                f"the test command {self.suite.command!r} {why}: {words[-600:]}",
                hint="Install what the tests need, see that the command works, then try again.",
                type="TestsNotRunnable",
            )
        if run.measure is Measure.EXIT_CODE:
            self.bench.emit(
                Warned(f"{self.suite.command!r} tells no results test by test: its exit code is what counts")
            )

    def go(self, entry: Entry, base: str) -> TaskFileResult:
        """Take turns until the end, write down what came of it, and tell."""
        started = self.engine.clock()
        engine = replace(self.engine, opening=base, noted=self.bench.cages.noted())
        ended = engine.run(entry, self.bench.limits(Limits(), entry.handoff.run_id))
        self.bench.emit(RunEnded(ended.status, _last_words(ended), self.engine.clock() - started))
        status = _STATUS[ended.status]
        details = ended.entry.handoff.error_details
        if status is TaskFileStatus.STOPPED and details and details.type == "Undecided":
            status = TaskFileStatus.BLOCKED
        result = self.result(status, ended.reason)
        self._record(result)
        return result

    def result(self, status: TaskFileStatus, reason: str = "") -> TaskFileResult:
        """Return what the notes tell of the task."""
        bench = self.bench
        history = list(bench.ledger.history())
        latest, start = history[0].handoff, history[-1].commit
        failed = status is not TaskFileStatus.COMPLETE
        changes = bench.workspace.changes(start, history[0].commit)
        hints = [finding.hint for finding in latest.findings if finding.hint]
        return TaskFileResult(
            task=self.task,
            status=status,
            phases=phases_of(history, bench.ledger.attempts(latest.run_id)),
            run_id=latest.run_id,
            session=self.session,
            files=tuple(change.path for change in changes),
            summary=self.folder.summary(self.task),
            error=(latest.error or reason or None) if failed else None,
            error_details=latest.error_details if failed else None,
            hint=hints[0] if failed and hints else "",
            phase=latest.next_phase if failed else None,
        )

    # --- how it is wired

    def _suite(self, command: str) -> Suite:
        around, settings = self.bench.around, self.bench.settings
        suite = suite_for(
            command,
            project=self.bench.repository.project,
            env=without_secrets(around.environ),
            timeout=settings.test_timeout,
            interrupt=around.interrupt,
            cache=self.bench.workspace.compiled,
            cage=self.bench.cages.suite,
            main=self.bench.repository.main_project,
        )
        return MaybeAbsent(suite)

    def _told(self) -> Told:
        project, settings = self.bench.repository.project, self.settings
        prompts_dir = project / settings.prompts_dir if settings.prompts_dir else None
        return Told(
            task=self.task,
            command=self.suite.command,
            iterations=self.task.max_iterations,
            texts=prompts.texts(prompts_dir),
            sources=gather(self.task, project, self._shell),
            parents=tuple((name, _said(self.bench, name)) for name in self.task.link.resume_from),
            prefix=self.bench.workspace.prefix,
        )

    def _shell(self, command: str) -> Outcome:
        around = self.bench.around
        ended = process.shell(
            command,
            cwd=self.bench.repository.project,
            env=without_secrets(around.environ),
            timeout=self.settings.bash_timeout,
            interrupt=around.interrupt,
        )
        text = (ended.stdout + ended.stderr).decode("utf-8", "replace")
        return Outcome(-1 if ended.timed_out else ended.exit_code, bounded(text, OUTPUT))

    def _wired(self, engine: Engine, told: Told) -> Engine:
        """Return the engine with the task's own gates, agents, briefs and memory."""

        def brief(phase: Phase, handoff: Handoff, attempt: int) -> Brief:
            return prompts.brief(told, phase, handoff, attempt, self.settings.model_for(phase.key))

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
        if prompts.diagnosis_of(handoff, turn.attempt):
            found["diagnosis"] = handoff.extra["diagnosis"]
        return found

    # --- what is written down

    def _emit(self, emit: Emit) -> Emit:
        def listen(event: Event) -> None:
            emit(event)
            if isinstance(event, Judged) and event.phase is PhaseName.GREEN:
                self._log()

        return listen

    def _log(self) -> None:
        """Write the log of every try at Green; all of them, for one may have been cut off before its log."""
        for iteration in self._iterations():
            self.folder.log(self.task, iteration)

    def _iterations(self) -> Iterator[Iteration]:
        ledger = self.bench.ledger
        history = list(ledger.history())
        run_id = history[0].handoff.run_id
        tried = {e.handoff.attempts: e for e in ledger.attempts(run_id) if e.handoff.phase is PhaseName.GREEN}
        green = next(
            (e for e in history if e.handoff.phase is PhaseName.GREEN and e.handoff.cycle_number), None
        )
        red = next((e for e in history if e.handoff.phase is PhaseName.RED and e.handoff.cycle_number), None)
        if red is None:
            return
        tries = {**tried, green.handoff.attempts: green} if green else tried
        count = max([*tries, red.handoff.attempts_due if not green else 0], default=0)
        ground = red.commit
        for number in range(1, count + 1):
            entry = tries.get(number)
            before = tries.get(number - 1)
            changed = self._changed(ground, entry.commit) if entry else ()
            ref = f"refs/tdd/attempts/{run_id}/1-GREEN-{number}" if entry and entry is not green else None
            most = max(number, self.task.max_iterations)
            yield Iteration(number, most, entry, before.handoff if before else None, changed, ref)
            ground = entry.commit if entry else ground

    def _changed(self, base: str, head: str) -> tuple[str, ...]:
        return tuple(described(change) for change in self.bench.workspace.changes(base, head))

    def _record(self, result: TaskFileResult) -> None:
        history = list(self.bench.ledger.history())
        latest = history[0]
        if result.status is TaskFileStatus.FAILED and result.phase is PhaseName.GREEN:
            kept = [item.ref for item in self._iterations() if item.ref]
            self.folder.fail(failure_text(result, latest.handoff, kept))
        changed = self._changed(history[-1].commit, latest.commit)
        self.folder.summarise(result, summary(result, changed))


# --- what stands here already


@dataclass(frozen=True, slots=True)
class _Begun:
    """The run of a task that stands here."""

    entry: Entry
    document: Mapping[str, Any]
    path: Path
    session: str

    @property
    def digest(self) -> str:
        """What two files have in common that say the same."""
        return digest_of(self.document)


def _begun(bench: runs.Bench) -> _Begun | None:
    """Return the task whose run is the latest here, if it is a task's."""
    history = list(bench.ledger.history())
    task = _object(history[-1].handoff.extra.get("task")) if history else {}
    document = _object(task.get("document"))
    if not document:
        return None
    path = Path(str(task.get("file") or "task.json"))
    return _Begun(history[0], document, path, str(task.get("session") or history[0].handoff.run_id))


@dataclass(frozen=True, slots=True)
class _DoneBefore:
    """A task that an earlier run here has completed."""

    history: list[Entry]
    session: str

    def result(self, task: Task) -> TaskFileResult:
        folder = TaskFolder(Path(), self.session)
        return TaskFileResult(
            task,
            TaskFileStatus.COMPLETE,
            phases_of(self.history, ()),
            run_id=self.history[0].handoff.run_id,
            session=self.session,
            summary=folder.summary(task),
            already=True,
        )


def _done_before(bench: runs.Bench, digest: str) -> _DoneBefore | None:
    """Return the completed run of the very same task along HEAD's first parents, if there is one."""
    entries = list(bench.ledger.past())
    for entry in entries:
        task = _object(entry.handoff.extra.get("task"))
        if entry.handoff.next_phase is PhaseName.COMPLETE and task.get("digest") == digest:
            own = [item for item in entries if item.handoff.run_id == entry.handoff.run_id]
            return _DoneBefore(own, str(task.get("session") or ""))
    return None


def _said(bench: runs.Bench, name: str) -> str:
    """Return what the sessions of this id said at their ends; an id nobody has is a NotReadyError."""
    said: list[str] = []
    known = False
    for entry in bench.ledger.past():
        if _object(entry.handoff.extra.get("session")).get("id") == name:
            known = True
            if message := entry.handoff.extra.get("message"):
                said.append(f"{entry.handoff.phase}: {message}")
    if not known:
        raise NotReadyError(
            f"the task goes on from the session {name}, which no task here has recorded",
            hint="Run the task it belongs to first, on this branch, or set cli_execution.strategy to 'new'.",
            type="SessionMissing",
        )
    return "\n\n".join(reversed(said))


# --- small things


def digest_of(document: Mapping[str, Any]) -> str:
    """Return what two task files have in common that say the same."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def agent_spec(tool: str) -> str | None:
    """Return the agent that a cli_tool means, None for whatever is configured."""
    name = _TOOLS.get(tool, tool)
    if name == "auto":
        return None
    return name if name in AGENTS or name.startswith(AGENTS_WITH_MORE) else f"command:{tool}"


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


def described(change: Change) -> str:
    """Return what happened to a file, in a line."""
    if change.before is None:
        return f"`{change.path}`: added"
    if change.after is None:
        return f"`{change.path}`: deleted"
    before, after = ((side.text or "").splitlines() for side in (change.before, change.after))
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    more = sum(code[4] - code[3] for code in codes if code[0] != "equal")
    less = sum(code[2] - code[1] for code in codes if code[0] != "equal")
    return f"`{change.path}`: edited, {more} lines in, {less} out"


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


def _last_words(ended: Ended) -> str:
    match ended.status:
        case RunStatus.COMPLETE:
            return "complete: the task is done"
        case RunStatus.FAILED:
            return f"failed: {ended.entry.handoff.next_phase} was rejected; HEAD is the last good commit"
        case _:
            return f"{ended.status}: {ended.reason}"


def _never_begun(task: Task, waits: Sequence[str]) -> TaskFileResult:
    message = f"it depends on {', '.join(waits)}, which did not complete"
    details = ErrorDetails("DependencyFailed", message)
    return TaskFileResult(
        task, TaskFileStatus.BLOCKED, error=message, error_details=details, phase=_first(task)
    )


def _first(task: Task) -> PhaseName:
    return PhaseName.RED if task.tdd else PhaseName.CODE


def _in_the_way(task: Task, session: str | None, error: RgrError) -> TaskFileResult:
    """Return the result of a task that could not be begun, or was interrupted before anything was."""
    return TaskFileResult(
        task,
        TaskFileStatus.INTERRUPTED if isinstance(error, InterruptedRunError) else TaskFileStatus.BLOCKED,
        session=session or task.session or "",
        error=error.message,
        error_details=ErrorDetails(error.type, error.message),
        hint=error.hint,
        phase=_first(task),
    )


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
