"""What a task wants its sessions to know: gathered once, bounded, from inside the project only."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.model.task import Look, Source, Task
from redgreenrefactor.prompts.quote import bounded, plain

MOST = 8_000  # characters of one source
ALTOGETHER = 48_000  # characters of all of them
LISTED = 40  # files of a folder that are named
_CALL = re.compile(r"([A-Za-z_][\w-]*)\((.*)\)\s*", re.DOTALL)
_SHELLS = ("bash", "sh", "shell", "run")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command of a pre_analysis step ended."""

    exit_code: int
    output: str


Shell = Callable[[str], Outcome]


def is_command(text: str) -> bool:
    """Tell whether a step's words are something to do: bash(…), Read(…), or a line after '$ '."""
    call = _CALL.fullmatch(text)
    return text.startswith("$ ") or (call is not None and call[1].lower() in (*_SHELLS, "read"))


def check_paths(task: Task, project: Path) -> None:
    """Raise a UsageError that names every path of the task which leads out of the project."""
    outside = [
        f"{place}: {path} leads out of the project"
        for place, path in _paths(task)
        if _inside(path, project) is None
    ]
    if outside:
        lines = "".join(f"\n  {line}" for line in outside)
        raise UsageError(
            f"the task {task.id} names files outside {project}:{lines}",
            hint="A task may only point to files of its own project.",
            type="InvalidTask",
        )


def gather(task: Task, project: Path, shell: Shell) -> tuple[Source, ...]:
    """Return everything the task wants read and run; what it cannot do without is a NotReadyError."""
    check_paths(task, project)
    sources = [*_wanted(task, project), *_focus(task, project), *_package(task, project)]
    for look in task.looks:
        sources += _looked(look, project, shell)
    return tuple(_within(sources))


def _within(sources: list[Source]) -> Iterator[Source]:
    """Yield the sources, cut so that all together stay below the limit."""
    room = ALTOGETHER
    for source in sources:
        text = bounded(plain(source.text).strip("\n"), min(MOST, max(room, 0))) if room > 0 else ""
        room -= len(text)
        yield Source(source.title, text or "[left out: there was too much already]")


def _paths(task: Task) -> Iterator[tuple[str, str]]:
    yield from (("<files_to_read>", path) for path in task.files_to_read)
    yield from ((f"$.focus_paths[{index}]", path) for index, path in enumerate(task.focus_paths))
    if task.context_package:
        yield "$.context_package_path", task.context_package
    for index, look in enumerate(task.looks):
        yield from ((f"$.pre_analysis[{index}]", path) for path in map(_read, look.commands) if path)


def _inside(path: str, project: Path) -> Path | None:
    """Return the file that a path of the task means, None where it lies outside the project."""
    root = project.resolve()
    try:
        found = (root / path).resolve()
    except (OSError, ValueError, RuntimeError):
        return None
    return found if found.is_relative_to(root) and not path.startswith("~") else None


# --- the sources


def _wanted(task: Task, project: Path) -> Iterator[Source]:
    for path in task.files_to_read:
        found = _inside(path, project)
        if found is None or not found.exists():
            raise NotReadyError(
                f"{path}, which the task's <files_to_read> names, is not there",
                hint="Put the file there, or take it out of the block.",
                type="ContextMissing",
            )
        yield Source(path, _content(found))


def _focus(task: Task, project: Path) -> Iterator[Source]:
    lines = [f"{path}: {_described(_inside(path, project))}" for path in task.focus_paths]
    if lines:
        yield Source("Where to work (focus_paths)", "\n".join(lines))


def _package(task: Task, project: Path) -> Iterator[Source]:
    if task.context_package:
        found = _inside(task.context_package, project)
        there = found is not None and found.is_file()
        text = _content(found) if found is not None and there else "[the file is not there]"
        yield Source(f"Context package ({task.context_package})", text)


def _looked(look: Look, project: Path, shell: Shell) -> Iterator[Source]:
    """Yield what a step found out; a failure is told, or blocks the task, as the step says."""
    if not look.commands:
        yield Source(f"{look.name} (to be looked at)", look.action)
    for command in look.commands:
        title = f"{look.name}: {look.action or command}"
        text, failed = _done(command, project, shell)
        if failed and look.binding:
            raise NotReadyError(
                f"the pre_analysis step {look.name!r} failed: {command}: {failed}",
                hint="Mend what it needs, or let its on_error say 'skip_optional'.",
                type="PreAnalysisFailed",
            )
        yield Source(title, f"[failed, which the step tolerates: {failed}]\n{text}" if failed else text)


def _done(command: str, project: Path, shell: Shell) -> tuple[str, str]:
    """Return what a command found out, and why it failed."""
    if path := _read(command):
        found = _inside(path, project)
        if found is None or not found.exists():
            return "", f"{path} is not there"
        return _content(found), ""
    call = _CALL.fullmatch(command)
    if call and call[1].lower() not in _SHELLS:
        return f"[{call[1]} is not known here: only bash(…) and Read(…) are done]", ""
    ended = shell(call[2].strip() if call else command.removeprefix("$ "))
    return ended.output, f"exit code {ended.exit_code}" if ended.exit_code else ""


def _read(command: str) -> str | None:
    """Return the path that a command wants read."""
    call = _CALL.fullmatch(command)
    return call[2].strip().strip("`'\"") if call and call[1].lower() == "read" else None


def _content(path: Path) -> str:
    if path.is_dir():
        return "\n".join(_listing(path))
    try:
        with path.open("rb") as stream:
            raw = stream.read(4 * MOST + 4)
    except OSError as error:
        return f"[cannot be read: {error.strerror}]"
    return "[not a text file]" if b"\0" in raw else raw.decode("utf-8", "replace")


def _described(path: Path | None) -> str:
    if path is None or not path.exists():
        return "not there yet"
    if path.is_dir():
        return "folder with " + (", ".join(_listing(path)) or "nothing in it")
    return f"file, {path.stat().st_size} bytes"


def _listing(folder: Path) -> list[str]:
    names = sorted(f"{item.name}/" if item.is_dir() else item.name for item in folder.iterdir())
    shown = [name for name in names if name not in (".git/", "node_modules/", "__pycache__/")]
    return [*shown[:LISTED], *([f"and {len(shown) - LISTED} more"] if len(shown) > LISTED else [])]
