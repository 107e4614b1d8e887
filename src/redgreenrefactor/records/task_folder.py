"""The files of a task: a log for every try at Green, a report where it failed, a summary, and a ticked box."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.filesystem import LARGEST, cleared, head_of, put, replace_file
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.task_result import TaskFileResult
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Severity
from redgreenrefactor.prompts.quote import plain
from redgreenrefactor.sandbox.secrets import Mask, masked

FOLDER = ".workflow/active"
FAILURE = "green-phase-failure.md"
TODO = "TODO_LIST.md"


@frozen
class Iteration:
    """One try at Green, as its log tells it."""

    number: int
    of: int
    entry: Entry | None  # None: it made no commit
    before: Handoff | None  # what it was told: the try before it
    changed: tuple[str, ...]
    ref: str | None  # where it stays reachable, if it was rejected


@frozen
class TaskFolder:
    """Where the files of one session's tasks go."""

    project: Path
    session: str
    mask: Mask = masked

    @property
    def root(self) -> Path:
        """The session's own folder."""
        return self.project / self._home

    @property
    def _home(self) -> str:
        return f"{FOLDER}/{self.session}"

    def summary(self, task: Task) -> str:
        """Return where the summary goes, from the project's folder."""
        return f"{self._home}/.summaries/{task.id}-summary.md"

    def log(self, task: Task, iteration: Iteration) -> None:
        """Write what one try at Green was about and came to."""
        name = f"green-fix-iteration-{iteration.number}.md"
        self._write(f"{self._home}/.process/{name}", iteration_text(task, iteration))

    def fail(self, text: str) -> None:
        """Write why Green was given up."""
        self._write(f"{self._home}/.process/{FAILURE}", text)

    def clear(self, task: Task, iterations: int, *, failed: bool) -> None:
        """Take away what an earlier run of the task has left there and this one does not bear out."""
        kept = {f"green-fix-iteration-{number}.md" for number in range(1, iterations + 1)}
        kept |= {FAILURE} if failed else set()
        for file in (self.root / ".process").glob("green-*.md"):
            with suppress(OSError):
                own = head_of(file, LARGEST).startswith(f"# Task {task.id}: Green".encode())
                if own and file.name not in kept:
                    file.unlink()

    def summarise(self, result: TaskFileResult, text: str) -> None:
        """Write the summary, and tick the task's box in the session's list, if it is complete and has one."""
        self._write(self.summary(result.task), text)
        todo = self.root / TODO
        if result.exit_code == 0 and todo.is_file() and todo.stat().st_size <= LARGEST:
            with suppress(OSError, UnicodeDecodeError):
                before = head_of(todo, LARGEST, follow=False).decode()
                after = ticked(before, result.task.id)
                if after != before:
                    replace_file(todo, after.encode())

    def _write(self, path: str, text: str) -> None:
        """Write a text in which sessions and tests have had a say, where they may have put links in the way."""
        try:
            put(cleared(self.project, path), plain(self.mask(text)).encode("utf-8", "replace"))
        except OSError as error:
            raise NotReadyError(
                f"{path} cannot be written: {error.strerror}",
                hint="Free some disk space or make the folder writable, then try again.",
            ) from error


def ticked(text: str, task_id: str) -> str:
    """Return the list with the task's box ticked and a link to its summary; only the line that names it changes."""
    name = re.compile(rf"(?<![\w.-]){re.escape(task_id)}(?![\w-]|\.\w)")
    link = f"[✅](./.summaries/{task_id}-summary.md)"
    lines = text.split("\n")
    for index, line in enumerate(lines):
        box = re.match(r"(\s*(?:[-*+]|\d+[.)])\s+)\[[ xX]\](\s.*)", line)
        if box and name.search(re.sub(r"\(.*?\)", "", box[2])):
            done = f"{box[1]}[x]{box[2]}"
            lines[index] = done if f"{task_id}-summary.md" in done else f"{done.rstrip()} | {link}"
            break
    return "\n".join(lines)


# --- texts


def iteration_text(task: Task, iteration: Iteration) -> str:
    """Return the log of one try at Green."""
    entry, before = iteration.entry, iteration.before
    handoff = entry.handoff if entry else None
    told = _errors(before) if before else ["the tests that Red wrote"]
    accepted = handoff is not None and handoff.error is None
    result = ["accepted"] if accepted else _errors(handoff) if handoff else ["rejected; no commit was made"]
    diagnosis = _diagnosis(handoff)
    parts = [
        f"# Task {task.id}: Green, iteration {iteration.number} of {iteration.of}",
        "## What failed before\n\n" + _bullets(told),
        "## Diagnosis\n\n" + (diagnosis or ("none was needed" if iteration.number == 1 else "none was made")),
        "## What was changed\n\n" + (_bullets(iteration.changed) or "nothing"),
        "## Result\n\n" + _bullets([*result, *_figures(handoff)]),
    ]
    if entry:
        where = f", kept at `{iteration.ref}`" if iteration.ref else ""
        parts.append(f"Commit `{entry.commit}`{where}.")
    return "\n\n".join(parts) + "\n"


def failure_text(result: TaskFileResult, latest: Handoff, kept: Sequence[str]) -> str:
    """Return the report of a Green that was given up, with the last evidence."""
    times = f"{latest.attempts} times of {result.max_iterations}"
    parts = [
        f"# Task {result.task.id}: Green failed",
        f"Green was rejected {times}; all its changes were reverted.",
        "## The last evidence\n\n" + _bullets(_errors(latest)),
        "## The last diagnosis\n\n" + (_diagnosis(latest) or "none was made"),
        "## Where the work is\n\n"
        + (_bullets([f"`git show {ref}`" for ref in kept]) or "no try made a commit"),
    ]
    return "\n\n".join(parts) + "\n"


def _errors(handoff: Handoff | None) -> list[str]:
    if handoff is None:
        return []
    errors = [f"{item.type}: {item.message}" for item in handoff.findings if item.severity is Severity.ERROR]
    return errors or ([handoff.error] if handoff.error else [])


def _figures(handoff: Handoff | None) -> list[str]:
    if handoff is None:
        return []
    suite, coverage = handoff.facts.suite, handoff.facts.coverage
    lines = [f"tests: {suite.passed} of {suite.total} pass"] if suite and suite.total is not None else []
    if coverage and coverage.percent is not None:
        lines.append(f"coverage: {coverage.percent:g} % ({coverage.wanted:g} % are wanted)")
    return lines


def _diagnosis(handoff: Handoff | None) -> str:
    return handoff.diagnosis.message.strip() if handoff and handoff.diagnosis else ""


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join("- " + line.replace("\n", "\n  ") for line in lines)


__all__ = ["Iteration", "TaskFolder", "failure_text", "iteration_text", "ticked"]
