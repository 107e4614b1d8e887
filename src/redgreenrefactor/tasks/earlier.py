"""What stands in a checkout already: tasks that were begun there, or done, and what their sessions said."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.lifecycle.project import OpenProject
from redgreenrefactor.model.events import Warned
from redgreenrefactor.model.handoff import TaskFileMark
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus, phases_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.records.task_folder import TaskFolder


@frozen
class Begun:
    """The run of a task that stands here."""

    entry: Entry
    document: Mapping[str, Any]
    path: Path
    session: str
    task_id: str
    opening: str  # the commit it began from

    @property
    def unfinished(self) -> bool:
        """Whether something of it is left to do."""
        return self.entry.handoff.next_phase is not PhaseName.COMPLETE

    @property
    def digest(self) -> str:
        """What two files have in common that say the same."""
        return digest_of(self.document)


def begun_in(project: OpenProject) -> Begun | None:
    """Return the task whose run is the latest here, if it is a task's."""
    history = list(project.ledger.history())
    task = history[-1].handoff.task if history else None
    if not isinstance(task, TaskFileMark) or task.document is None:
        return None
    session = task.session or history[0].handoff.run_id
    path = Path(task.file or "task.json")
    return Begun(history[0], task.document.value, path, session, task.id, history[-1].commit)


def take_back(project: OpenProject, begun: Begun) -> None:
    """Put the commits of a task that is not finished aside, unless somebody has built on them."""
    head = project.workspace.head()
    if not begun.unfinished or head != begun.entry.commit or head == begun.opening:
        return
    project.workspace.require_clean()
    project.workspace.require_room(begun.opening)
    kept = project.workspace.move(
        begun.entry.handoff.run_id, begun.opening, "rgr task: its work is put aside"
    )
    project.emit(Warned(f"what was done for {begun.task_id} is put aside: it is kept at {kept}"))


def done_before(project: OpenProject, task: Task, digest: str) -> TaskFileResult | None:
    """Return what came of the very same task in a completed run along HEAD's first parents, if there is one."""
    entries = list(project.ledger.past())
    for entry in entries:
        mark = entry.handoff.task
        if not isinstance(mark, TaskFileMark) or mark.digest != digest:
            continue
        if entry.handoff.next_phase is not PhaseName.COMPLETE:
            continue
        own = [item for item in entries if item.handoff.run_id == entry.handoff.run_id]
        changes = project.workspace.changes(own[-1].commit, own[0].commit)
        return TaskFileResult(
            task,
            TaskFileStatus.COMPLETE,
            phases_of(own, ()),
            run_id=entry.handoff.run_id,
            session=mark.session,
            files=tuple(change.path for change in changes),
            summary=TaskFolder(Path(), mark.session).summary(task),
            already=True,
        )
    return None


def said_by(project: OpenProject, name: str) -> str:
    """Return what the sessions of this id said at their ends; an id nobody has is a NotReadyError."""
    said: list[str] = []
    known = False
    for entry in project.ledger.past():
        if entry.handoff.session and entry.handoff.session.id == name:
            known = True
            if message := entry.handoff.facts.message:
                said.append(f"{entry.handoff.phase} (commit {entry.commit[:10]}): {message}")
    if not known:
        raise NotReadyError(
            f"the task goes on from the session {name}, which no task here has recorded",
            hint="Run the task it belongs to first, on this branch, or set cli_execution.strategy to 'new'.",
            type="SessionMissing",
        )
    return "\n\n".join(reversed(said))


def program_session(project: OpenProject, name: str, agent: str) -> str:
    """Return the last session of this id as the agent's program knows it; one of another agent is a NotReadyError."""
    for entry in project.ledger.past():
        link, session = entry.handoff.session, entry.handoff.agent_session
        if link and link.id == name and entry.handoff.agent == agent and session:
            return session
    raise NotReadyError(
        f"the session {name} was not held by {agent}, which therefore cannot go on from it",
        hint="Use the agent that held it, or set cli_execution.strategy to 'merge_fork', which hands over what it said.",
        type="SessionMissing",
    )


def digest_of(document: Mapping[str, Any]) -> str:
    """Return what two task files have in common that say the same."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
