"""`.codex/task-TASKID.json`: what people and scripts read about tasks; written whole or not at all."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.filesystem import head_of, put
from redgreenrefactor.model.codec import readable_json
from redgreenrefactor.model.review_task import TaskState, read_state
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox.secrets import Mask, masked, masked_in

FOLDER = ".codex"
LARGEST_STATE = 64 << 20  # bytes
READ_BACK = ("originalSpec", "specPath", "branchName", "worktreeInfo")  # a task goes on by them
_TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@frozen
class TaskFiles:
    """The state files of a checkout."""

    root: Path
    mask: Mask = masked

    @property
    def folder(self) -> Path:
        """Where they lie."""
        return self.root / FOLDER

    def path(self, task_id: str) -> Path:
        """Return the file of a task; what cannot be a task's name is a usage error."""
        if not _TASK_ID.fullmatch(task_id):
            raise UsageError(f"{task_id!r} is no task's name", hint="Type 'rgr tdd --list' to see the tasks.")
        return self.folder / f"task-{task_id}.json"

    def is_free(self, task_id: str) -> bool:
        """Tell whether a task has no file."""
        return not self.path(task_id).exists()

    def ids(self) -> Iterator[str]:
        """Yield the tasks that have a file, the oldest first."""
        for path in sorted(self.folder.glob("task-*.json")):
            name = path.stem.removeprefix("task-")
            if _TASK_ID.fullmatch(name):
                yield name

    def read(self, task_id: str) -> TaskState | None:
        """Return a task's state, None if it has no file; one that cannot be understood is a NotReadyError."""
        path = self.path(task_id)
        try:
            body: Any = json.loads(head_of(path, LARGEST_STATE))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unusable(path, f"cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise _unusable(path, f"is not JSON: {error}") from error
        state = read_state(body)
        if state.task_id != task_id:
            raise _unusable(path, f"tells of another task, {state.task_id!r:.50}")
        if Path(state.worktree.path).name != task_id:  # what is taken away at the end has to be the task's
            raise _unusable(path, f"names a worktree that is not the task's, {state.worktree.path!r:.100}")
        return state

    def write(self, state: TaskState) -> None:
        """Put the state into its file: readers see the old one or the new one, never a part."""
        path = self.path(state.task_id)
        told = masked_in(state.to_json(), self.mask, READ_BACK)
        text = readable_json(told)
        try:
            self._prepare()
            put(path, f"{text}\n".encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise _unusable(path, f"cannot be written: {error.strerror}") from error

    def remove(self, task_id: str) -> bool:
        """Take a task's file away, and the folder if it was the last; tell whether there was one."""
        path = self.path(task_id)
        there = path.exists()
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _unusable(path, f"cannot be removed: {error.strerror}") from error
        if not any(self.ids()) and self.folder.is_dir():
            self._tidy()
        return there

    def _prepare(self) -> None:
        self.folder.mkdir(exist_ok=True)
        ignore = self.folder / ".gitignore"
        if not ignore.exists():
            put(ignore, b"*\n")  # no `git add` in the main checkout takes the tasks along

    def _tidy(self) -> None:
        with suppress(OSError):
            names = {path.name for path in self.folder.iterdir()}
            if names == {".gitignore"} and head_of(self.folder / ".gitignore", 3) == b"*\n":
                (self.folder / ".gitignore").unlink()
            self.folder.rmdir()


def _unusable(path: Path, why: str) -> NotReadyError:
    return NotReadyError(
        f"the state file {path} {why}",
        hint="See that the folder is readable, writable and has room; 'rgr tdd --resume TASKID' makes the file again.",
        type="StateUnusable",
    )
