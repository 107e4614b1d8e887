"""What stands in a checkout already: tasks that were begun there, or done, and what their sessions said."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.lifecycle.project import OpenProject
from redgreenrefactor.model.handoff import TaskFileMark
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus, phases_of
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.records.task_folder import TaskFolder


@dataclass(frozen=True, slots=True)
class Begun:
    """The run of a task that stands here."""

    entry: Entry
    document: Mapping[str, Any]
    path: Path
    session: str

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
    return Begun(history[0], task.document.value, Path(task.file or "task.json"), session)


@dataclass(frozen=True, slots=True)
class DoneBefore:
    """A task that an earlier run here has completed."""

    history: list[Entry]
    session: str

    def result(self, task: Task, project: OpenProject) -> TaskFileResult:
        """Return what came of it then."""
        folder = TaskFolder(Path(), self.session)
        changes = project.workspace.changes(self.history[-1].commit, self.history[0].commit)
        return TaskFileResult(
            task,
            TaskFileStatus.COMPLETE,
            phases_of(self.history, ()),
            run_id=self.history[0].handoff.run_id,
            session=self.session,
            files=tuple(change.path for change in changes),
            summary=folder.summary(task),
            already=True,
        )


def done_before(project: OpenProject, digest: str) -> DoneBefore | None:
    """Return the completed run of the very same task along HEAD's first parents, if there is one."""
    entries = list(project.ledger.past())
    for entry in entries:
        task = entry.handoff.task
        complete = entry.handoff.next_phase is PhaseName.COMPLETE
        if complete and isinstance(task, TaskFileMark) and task.digest == digest:
            own = [item for item in entries if item.handoff.run_id == entry.handoff.run_id]
            return DoneBefore(own, task.session)
    return None


def said_by(project: OpenProject, name: str) -> str:
    """Return what the sessions of this id said at their ends; an id nobody has is a NotReadyError."""
    said: list[str] = []
    known = False
    for entry in project.ledger.past():
        if entry.handoff.session and entry.handoff.session.id == name:
            known = True
            if message := entry.handoff.facts.message:
                said.append(f"{entry.handoff.phase}: {message}")
    if not known:
        raise NotReadyError(
            f"the task goes on from the session {name}, which no task here has recorded",
            hint="Run the task it belongs to first, on this branch, or set cli_execution.strategy to 'new'.",
            type="SessionMissing",
        )
    return "\n\n".join(reversed(said))


def digest_of(document: Mapping[str, Any]) -> str:
    """Return what two task files have in common that say the same."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
