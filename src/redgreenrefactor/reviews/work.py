"""Working at a task: coder and reviewer in its worktree, until it is approved, given up or stopped."""

from dataclasses import dataclass, replace
from pathlib import Path

from redgreenrefactor import runs
from redgreenrefactor.bench import Bench, opened
from redgreenrefactor.errors import ForgeError
from redgreenrefactor.forge.github import GitHub
from redgreenrefactor.gates import INNER_GATES, REVIEW_GATES
from redgreenrefactor.loop.workflows import review
from redgreenrefactor.model.events import Event, Judged, Warned
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import Entry, RunStatus, WorkflowResult, result_of
from redgreenrefactor.model.review_task import TaskState, TaskStatus, feedback_of, rebuilt
from redgreenrefactor.model.verdict import Severity
from redgreenrefactor.model.workflow import Phase, PhaseName
from redgreenrefactor.prompts.rounds import Round
from redgreenrefactor.reviews.home import Home
from redgreenrefactor.reviews.inner import InnerRun
from redgreenrefactor.reviews.publishing import published
from redgreenrefactor.wiring import Table, now


@dataclass(frozen=True)
class Work:
    """One task, being worked at."""

    home: Home
    state: TaskState
    forge: GitHub | None

    def done(self) -> tuple[WorkflowResult, TaskState]:
        """Let coder and reviewer work until there is nothing more to do for them; what is approved is published."""
        around = replace(self.home.around, project=self._project, emit=self._recorded)
        gates = INNER_GATES if self.state.tdd else REVIEW_GATES
        table = Table(review(self.state.max_iterations, tdd=self.state.tdd), gates)
        with opened(around, table=table) as bench:
            ended = self._taken(bench)
            if ended.status is not RunStatus.COMPLETE:
                self.home.files.write(current(self.home, self.state))
            bench.tell_on(ended.run_id, ended.status, ended.head)
            return ended, self.home.find(self.state.task_id)

    def _publish(self) -> None:
        """Open the pull request of the task, which is approved, and write down that it is complete."""
        state = current(self.home, self.state)
        url = published(self.home, state, self.forge).url if self.forge else state.pr_url
        self.home.files.write(replace(state, status=TaskStatus.COMPLETED, pr_url=url, updated_at=now()))

    @property
    def _project(self) -> Path:
        return Path(self.state.worktree.path) / self.home.repository.prefix

    def _equip(self, bench: Bench) -> None:
        """Give the engine what only this task has; refuse to start where something is missing."""

        def rounds(phase: Phase, _handoff: Handoff) -> Round:
            return self._round(bench, phase)

        table = replace(bench.table, rounds=rounds)
        coder = InnerRun(bench, self.state.task_id, self.state.original_spec, lambda: self._feedback(bench))
        bench.table = replace(table, agents={PhaseName.CODE: coder}) if self.state.tdd else table
        bench.check()
        if self.state.tdd:
            _ = coder.bench  # its agents, too, are looked for before anything is begun

    def _feedback(self, bench: Bench) -> tuple[str, ...]:
        return feedback_of(list(bench.ledger.history(self.state.run_id)))

    def _taken(self, bench: Bench) -> WorkflowResult:
        latest = next(bench.ledger.history(self.state.run_id), None)
        if latest is not None and latest.handoff.next_phase is PhaseName.COMPLETE:
            self._publish()  # which no agent is needed for
            return result_of(list(bench.ledger.history(self.state.run_id)), RunStatus.COMPLETE, 0.0)
        self._equip(bench)
        stands = self._stands if self.forge else None
        wishes = runs.Wishes(reached=stands, publish=self._publish, tells=False)
        if latest is None:
            bench.workspace.require_clean()
            spec, run_id = self.state.original_spec, self.state.run_id
            return runs.begin(bench, spec, wishes, run_id, task=self.state.noted())
        return runs.go_on(bench, latest, wishes)

    def _stands(self, _entry: Entry) -> bool:
        """Tell whether the reviewer has opened the pull request itself."""
        try:
            return self.forge is not None and self.forge.find(self.state.branch_name) is not None
        except ForgeError as error:
            self.home.around.emit(
                Warned(f"whether there is a pull request already is not known: {error.message}")
            )
            return False

    def _round(self, bench: Bench, phase: Phase) -> Round:
        """Return where coder and reviewer stand."""
        history = list(bench.ledger.history(self.state.run_id))
        if phase.name is PhaseName.CODE:
            return Round(feedback=feedback_of(history))
        coded = next(entry.handoff for entry in history if entry.handoff.phase is PhaseName.CODE)
        opening = history[-1].commit
        return Round(
            feedback=feedback_of(history),
            account=str(coded.extra.get("message") or ""),
            tests=coded.extra.get("tests") or {},
            warnings=tuple(item.message for item in coded.findings if item.severity is Severity.WARNING),
            changes=bench.workspace.changes(opening, history[0].commit),
            opening=opening,
        )

    def _recorded(self, event: Event) -> None:
        """Pass an event on; after every verdict the state file tells what the notes tell."""
        self.home.around.emit(event)
        if isinstance(event, Judged):
            self.home.files.write(current(self.home, self.state))


def current(home: Home, state: TaskState) -> TaskState:
    """Return the state as the notes have it now."""
    history = home.history(state)
    told = rebuilt(history) if history else state
    return replace(told, max_iterations=state.max_iterations, forge=state.forge, pr_url=state.pr_url)
