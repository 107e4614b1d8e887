"""The one way through a run: check, baseline, first note, engine, result, on.finish."""

import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, Generic

from redgreenrefactor.agents.table import kind_of
from redgreenrefactor.config import DEFAULT
from redgreenrefactor.confinement import confinement_of
from redgreenrefactor.errors import InterruptedRunError, NotReadyError, RgrError
from redgreenrefactor.gates.rules.findings import named
from redgreenrefactor.gates.rules.legacy import rechecked
from redgreenrefactor.git.worktrees import goes_on_in
from redgreenrefactor.lifecycle.baseline import FirstMeasurement, printed
from redgreenrefactor.lifecycle.factory import Factory, now
from redgreenrefactor.lifecycle.job import Job, Result
from redgreenrefactor.lifecycle.project import OpenProject
from redgreenrefactor.loop.budget import RunLimits, Spent
from redgreenrefactor.loop.engine import Engine
from redgreenrefactor.loop.lab import Lab
from redgreenrefactor.loop.sessions import Sessions
from redgreenrefactor.model.decision import carried, exhausted, opening, refreshed, relisted
from redgreenrefactor.model.events import Event, RunEnded, RunStarted, Warned
from redgreenrefactor.model.evidence import Measure, Trial
from redgreenrefactor.model.goal import LIST, Plan, cited
from redgreenrefactor.model.handoff import Handoff, State
from redgreenrefactor.model.result import Entry, RunStatus
from redgreenrefactor.model.review_task import task_id_of, task_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Agent, SlowToLoad, Suite
from redgreenrefactor.runners.warm_process import WarmProcesses
from redgreenrefactor.surroundings import as_before, remember_agent

NO_LIMITS = RunLimits()


@frozen
class Equipment:
    """What a run works with: what it was made by, its tests, what measures them, and who works."""

    factory: Factory
    suite: Suite
    lab: Lab
    sessions: Sessions

    def close(self) -> None:
        """End what was kept running for it."""
        if self.factory.warm is not None:
            self.factory.warm.close()


def equip(project: OpenProject, job: Job[Result], latest: Entry | None = None) -> Equipment:
    """Have everything a run needs, or refuse: an agent, the test command or a sandbox may be missing.

    One that goes on from its latest handoff does so with the agent that worked, unless another one is named.
    """

    def emit(event: Event) -> None:
        project.emit(event)
        job.hear(event)

    confinement = confinement_of(
        project.repository,
        project.settings,
        project.emit,
        project.workspace.compiled,
        workspace=project.workspace,
        may_lack=project.around.may_lack_sandbox,
    )
    around = replace(project.around, emit=emit)
    settings, compiled = job.settings(), project.workspace.compiled
    worked = _who_worked(project, job, latest) if latest else None
    settings = as_before(settings, project.repository, project.around, worked)
    warm = WarmProcesses() if settings.probe_warm == "on" else None
    factory = Factory(project.repository, settings, around, compiled, confinement, warm)
    return assemble(project, job, factory, job.suite(factory))


def _who_worked(project: OpenProject, job: Job[Any], latest: Entry) -> str | None:
    """Return the agent that worked last in a role for which nobody names one, as the notes of the run tell."""
    settings, keys = project.settings, {phase.name: phase.key for phase in job.workflow.phases}
    for entry in project.ledger.history(latest.handoff.run_id):
        agent, role = entry.handoff.agent, keys.get(entry.handoff.phase)
        opens = entry.handoff.cycle_number == 0 or role is None
        if agent and kind_of(agent).module and (opens or settings.source(f"agent.{role}") == DEFAULT):
            return agent
    return None


def assemble(project: OpenProject, job: Job[Any], factory: Factory, suite: Suite) -> Equipment:
    """Put together what a run needs that has these tests."""
    workspace, settings = project.workspace, factory.settings
    made: dict[tuple[str, str], Agent] = {}  # one for all phases that want the same
    agents = dict(job.own_agents(factory, suite))
    for phase in job.workflow.sessions():
        if phase.name not in agents:
            wanted = settings.agent_for(phase.key), factory.model(phase.key)
            if wanted not in made:
                made[wanted] = factory.agent(*wanted)
            agents[phase.name] = made[wanted]
    job.require_able(factory, agents)
    for agent in made.values():
        if isinstance(agent, SlowToLoad):
            agent.load()
    lab = replace(
        factory.lab(workspace, suite),
        meter=factory.meter(suite.command, workspace.project),
        results=factory.results(suite.command, workspace.local_files_digest()),
    )
    briefing = job.prepare_briefing(factory, suite)
    sessions = Sessions(
        workspace,
        agents,
        briefing,
        factory.around.emit,
        time.monotonic,
        plans_ahead=settings.plan_sessions == "needed",
        resumes=settings.retry_session == "resume",
    )
    return Equipment(factory, suite, lab, sessions)


def begin(project: OpenProject, job: Job[Result], run_id: str, limits: RunLimits = NO_LIMITS) -> Result:
    """Do a job from its start to its end; what is missing is found out before anything is touched."""
    with _nothing_begun():
        equipment = equip(project, job)
    with closing(equipment):
        return Run(project, job, equipment, limits).begin(run_id)


def go_on(project: OpenProject, job: Job[Result], latest: Entry, limits: RunLimits = NO_LIMITS) -> Result:
    """Go on with a job from its latest handoff to its end."""
    with closing(equip(project, job, latest)) as equipment:
        return Run(project, job, equipment, limits).go_on(latest)


@frozen
class Run(Generic[Result]):
    """One run in a checkout, with everything it needs there."""

    project: OpenProject
    job: Job[Result]
    equipment: Equipment
    limits: RunLimits = NO_LIMITS

    def begin(self, run_id: str) -> Result:
        """Open the run in a checkout that has been looked at, and take it to its end."""
        project, job, lab = self.project, self.job, self.equipment.lab
        handoff = job.opened_with(self._opening(run_id))
        self._announce(handoff, resumed=False)
        with _nothing_begun():
            self.equipment.sessions.probe(job.workflow, handoff)
            base = project.workspace.first_commit() if project.unborn else project.workspace.head()
            before = self._first_measurement.baseline(base, job.asked, may_fail=job.tests_may_fail)
        branch = project.workspace.status().branch
        begun = replace(
            self.equipment.factory.confinement.noted(handoff),
            suite_run=lab.keep_result(base),
            legacy=before.noted,
            branch=branch and f"refs/heads/{branch}",
            agent=remember_agent(project.settings, project.repository, project.around),
        )
        entry = Entry(base, project.ledger.store_feature(begun))
        project.ledger.write({base: entry.handoff})
        return self._take_turns(entry, base)

    def go_on(self, latest: Entry) -> Result:
        """Take a run that is not complete to its end, from its latest handoff, with a fresh set of retries."""
        project, ledger = self.project, self.project.ledger
        if latest.handoff.awaiting:
            latest = take_list(project, latest)
        self.equipment.factory.confinement.as_noted(latest.handoff)
        project.workspace.require_clean()
        self._announce(latest.handoff, resumed=True)
        history = list(ledger.history(latest.handoff.run_id))
        self._recall(history)
        latest = self._caught_up(latest)
        entry = Entry(latest.commit, exhausted(self.job.workflow, refreshed(latest.handoff)))
        limits = project.limits(self.limits, entry.handoff.run_id)
        if entry.handoff.state is State.RUNNING and Spent(limits.spent_usd).over(limits) is None:
            self._first_measurement.require_collected(entry, self.job.asked)
            self.equipment.sessions.probe(self.job.workflow, entry.handoff)
        if entry != latest:
            ledger.write({entry.commit: entry.handoff})
        return self._take_turns(entry, history[-1].commit)

    @property
    def _first_measurement(self) -> FirstMeasurement:
        project, equipment = self.project, self.equipment
        return FirstMeasurement(
            project.repository, equipment.factory.confinement, equipment.lab, project.emit
        )

    def _opening(self, run_id: str) -> Handoff:
        """Return the handoff the run starts from; nothing is written."""
        project, first = self.project, self.job.workflow.first.name
        if project.unborn:
            return opening(run_id, self.job.feature, now(), Plan(), None, first)
        base = project.workspace.head()
        previous = project.ledger.read(base)
        return opening(run_id, self.job.feature, now(), project.plan(base), previous, first)

    def _announce(self, handoff: Handoff, *, resumed: bool) -> None:
        """Tell what is about to happen."""
        project, equipment, run_id = self.project, self.equipment, handoff.run_id
        whole = task_of(run_id) in (None, task_id_of(run_id))  # not the coder of a round
        if project.repository.identity and whole:
            project.emit(
                Warned("git knows no user.name and user.email here: commits are made as RedGreenRefactor")
            )
        settings, confinement = equipment.factory.settings, equipment.factory.confinement
        usual = self.job.settings()
        agents = {settings.agent_for(phase.key) for phase in self.job.workflow.sessions()}
        project.emit(
            RunStarted(
                run_id,
                self.job.title(handoff),
                str(project.repository.project),
                equipment.suite.command,
                equipment.suite.measure,
                resumed=resumed,
                sandbox=str(confinement.level),
                held=confinement.told(agents),
                as_before="" if usual.agents == settings.agents else ", ".join(sorted(agents)),
                phases=tuple(phase.name for phase in self.job.workflow.phases),
            ),
        )
        if confinement.reduced and whole and not resumed:
            project.emit(Warned(confinement.reduced))

    def _recall(self, history: list[Entry]) -> None:
        """Know again what the suite did where the run began and where it stands."""
        noted = (entry.handoff.suite_run for entry in (history[-1], history[0]))
        self.equipment.lab.recall(receipt for receipt in noted if receipt)

    def _take_turns(self, entry: Entry, base: str) -> Result:
        """Take turns until the end, and tell what came of it."""
        project, job, run_id = self.project, self.job, entry.handoff.run_id
        engine = self.engine(base)
        started = engine.clock()
        ended = engine.run(entry, project.limits(self.limits, run_id))
        seconds = engine.clock() - started
        if ended.status is RunStatus.COMPLETE:
            self._publish(seconds)
        project.emit(RunEnded(ended.status, job.last_words(ended), seconds))
        result = job.conclude(ended, seconds)
        if job.ends_invocation:
            project.run_on_finish(run_id, result.status, ended.entry.commit)
        return result

    def engine(self, base: str) -> Engine:
        """Return what takes the turns of a run that began from this commit, complete."""
        project, job, equipment = self.project, self.job, self.equipment
        return Engine(
            workflow=job.workflow,
            gates=job.gates,
            hooks=job,
            workspace=project.workspace,
            ledger=project.ledger,
            lab=equipment.lab,
            sessions=equipment.sessions,
            plan_at=project.plan,
            rules=equipment.factory.rules(),
            emit=equipment.sessions.emit,
            clock=equipment.sessions.clock,
            now=now,
            pause=project.around.interrupt.pause,
            opening=base,
            ours=project.ledger.tests_written(),
            backoff=project.settings.retry_backoff,
            command=equipment.suite.command,
            noted=equipment.factory.confinement.noted,
        )

    def _publish(self, seconds: float) -> None:
        try:
            self.job.publish()
        except RgrError:
            words = "stopped: the work is done, but not published"
            self.project.emit(RunEnded(RunStatus.STOPPED, words, seconds))
            raise

    # --- commits of the user's own

    def _caught_up(self, latest: Entry) -> Entry:
        """Carry the handoff over the user's own commits, if there are any and the tests still hold."""
        project = self.project
        head = project.workspace.head()
        if head == latest.commit or self.job.workflow.phase(latest.handoff.next_phase).inner:
            return latest
        if broken := self._broken(latest, head):
            raise NotReadyError(
                f"your commits since {latest.commit[:10]} break the suite: {broken}",
                hint="Mend them, commit, then type 'rgr resume'.",
                type="SuiteRed",
            )
        handoff = _carried(project, latest, head)
        project.ledger.write({head: handoff})
        project.emit(
            Warned(
                f"your commits since {latest.commit[:10]} are taken as they are; the run goes on from {head[:10]}"
            )
        )
        return Entry(head, handoff)

    def _broken(self, latest: Entry, head: str) -> str:
        """Return what the user's commits break; a test that fails by chance is not counted."""
        lab = self.equipment.lab
        before, after = lab.answer(Trial(latest.commit)), lab.answer(Trial(head))
        if after.measure is Measure.EXIT_CODE:
            red = latest.handoff.next_phase is PhaseName.GREEN
            return "" if after.green or red else f"exit code {after.exit_code}\n{printed(after)}"
        if not after.finished:
            return f"the runner did not come to its end (exit code {after.exit_code})"
        failing = [after.results[name] for name in sorted(before.passed & after.ids - after.passed)]
        return named([r.id for r in lab.judge(rechecked(latest.commit, Trial(head), failing)).broken])


def _carried(project: OpenProject, latest: Entry, head: str) -> Handoff:
    """Return the handoff for the user's last commit; a list changed before anything was built on it counts."""
    planned = latest.handoff.phase is PhaseName.PLAN and latest.handoff.current_test is not None
    plan = project.plan(head)
    if planned and plan.blob != project.plan(latest.commit).blob:
        return relisted(latest.handoff, latest.commit, plan, now())
    return carried(latest.handoff, latest.commit, now())


def take_list(project: OpenProject, entry: Entry) -> Entry:
    """Take an edited, uncommitted list as the accepted one: one more commit, PLAN's note carried over."""
    path = f"{project.repository.prefix}{LIST}"
    status = project.workspace.status()
    if status.dirty != (path,) or status.head != entry.commit:
        return entry
    commit = project.workspace.commit_list(entry.commit, "plan: accepted list")
    handoff = relisted(entry.handoff, entry.commit, project.plan(commit), now())
    project.ledger.write({commit: handoff})
    return Entry(commit, handoff)


def require_finished(project: OpenProject, latest: Entry | None, command: str) -> None:
    """Refuse to start beside a run that waits here to be resumed."""
    if latest is None or not _is_unfinished(project, latest):
        return
    approves = f" approves {LIST} as it is now, and" if latest.handoff.awaiting else ""
    raise NotReadyError(
        f"an unfinished run is here: {cited(latest.handoff.feature)} ({latest.handoff.left_as})",
        hint=f"Type 'rgr resume', which{approves} goes on with it, or '{command} --new …' to start another one.",
        type="UnfinishedRun",
    )


def _is_unfinished(project: OpenProject, latest: Entry) -> bool:
    """Tell whether a run waits here to be resumed; one that only began here and goes on elsewhere does not."""
    if latest.handoff.next_phase is PhaseName.COMPLETE:
        return False
    began = latest.handoff.cycle_number == 0 and latest.handoff.carried_from is None
    return not (
        began
        and (
            project.workspace.others_at_work()
            or project.ledger.goes_on_elsewhere(latest)
            or goes_on_in(project.repository, project.ledger, latest)
        )
    )


@contextmanager
def _nothing_begun() -> Generator[None]:
    """Say what to type after an interruption that leaves no handoff to go on from."""
    try:
        yield
    except InterruptedRunError as error:
        raise InterruptedRunError(
            error.message, hint="Nothing was begun yet: type 'rgr run …' again."
        ) from error
