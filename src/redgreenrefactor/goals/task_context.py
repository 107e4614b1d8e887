"""What a task wants its sessions to know: gathered once, bounded, from inside the project only."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.filesystem import head_of
from redgreenrefactor.goals.task_paths import CALL, SHELLS, inside, path_to_read
from redgreenrefactor.model.codec import json_list, json_object
from redgreenrefactor.model.task import Look, Source, Task
from redgreenrefactor.model.values import frozen, replace
from redgreenrefactor.prompts.quote import bounded, plain

MOST = 8_000  # characters of one source
ALTOGETHER = 48_000  # characters of all of them
LISTED = 40  # files of a folder that are named
PACKAGE = 1_000_000  # bytes of a context package that are looked through
CRITICAL = 20  # files of a context package that are read
_PATHS, _REASONS = ("path", "file", "file_path"), ("rationale", "reason", "relevance", "description", "role")


@frozen
class CommandEnd:
    """How a command of a pre_analysis step ended."""

    exit_code: int
    output: str


RunCommand = Callable[[str], CommandEnd]


def gather(task: Task, project: Path, shell: RunCommand) -> tuple[Source, ...]:
    """Return everything the task wants read and run; what it cannot do without is a NotReadyError."""
    sources = [*_wanted(task, project), *_focus(task, project), *_package(task, project)]
    for look in task.looks:
        sources += _looked(look, project, shell)
    return tuple(_within(sources))


def reread(sources: Sequence[Source], project: Path) -> tuple[Source, ...]:
    """Return what was gathered, its files as they are now: sessions have changed them."""
    now = (replace(source, text=_read(source.path, project)) if source.path else source for source in sources)
    return tuple(_within(now))


def _read(path: str, project: Path) -> str:
    found = _found(path, project)
    text, why = _content(found) if found else ("", "not there, or outside the project")
    return f"[{why}]" if why else text


def _within(sources: Iterable[Source]) -> Iterator[Source]:
    """Yield the sources, cut so that all together stay below the limit."""
    room = ALTOGETHER
    for source in sources:
        text = bounded(plain(source.text).strip("\n"), min(MOST, max(room, 0))) if room > 0 else ""
        room -= len(text)
        yield replace(source, text=text or "[left out: there was too much already]")


# --- the sources


def _wanted(task: Task, project: Path) -> Iterator[Source]:
    for path in task.files_to_read:
        found = _found(path, project)
        if found is None:
            raise NotReadyError(
                f"{path}, which the task's <files_to_read> names, is not there",
                hint="Put the file there, or take it out of the block.",
                type="ContextMissing",
            )
        text, why = _content(found)
        if why:
            raise NotReadyError(
                f"{path}, which the task's <files_to_read> names, cannot be read: {why}",
                hint="Name a text file, or take it out of the block.",
                type="ContextMissing",
            )
        yield Source(path, text, path)


def _focus(task: Task, project: Path) -> Iterator[Source]:
    lines = [f"{path}: {_described(_found(path, project))}" for path in task.focus_paths]
    if lines:
        yield Source("Where to work (focus_paths)", "\n".join(lines))


def _package(task: Task, project: Path) -> Iterator[Source]:
    """Yield a context package, and the files that it calls critical, read."""
    if not task.context_package:
        return
    found = _found(task.context_package, project)
    title = f"Context package ({task.context_package})"
    if found is None:
        yield Source(title, "[the file is not there]")
        return
    text, why = _content(found, PACKAGE)
    yield Source(title, f"[{why}]" if why else text)
    for path, about in critical_files(text):
        yield Source(f"{path}{about and f' ({about})'}", _read(path, project), path)


def critical_files(package: str) -> list[tuple[str, str]]:
    """Return the files that a context package calls critical, with what it says about them, each once."""
    try:
        listed = list(_listed(json.loads(package), "critical_files"))
    except (ValueError, RecursionError):
        return []  # it may be a text
    found: dict[str, str] = {}
    for item in listed:
        body = json_object(item)
        path = item if isinstance(item, str) else next((body[k] for k in _PATHS if k in body), None)
        about = next((body[key] for key in _REASONS if key in body), "")
        if isinstance(path, str) and path.strip():
            found.setdefault(path.strip(), about if isinstance(about, str) else "")
    return list(found.items())[:CRITICAL]


def _listed(value: Any, name: str) -> Iterator[Any]:
    """Yield what lists of this name hold, wherever in a document they stand."""
    for key, inner in json_object(value).items():
        yield from json_list(inner) if key == name else _listed(inner, name)
    for inner in json_list(value):
        yield from _listed(inner, name)


def _looked(look: Look, project: Path, shell: RunCommand) -> Iterator[Source]:
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
        told = f"[failed, which the step tolerates: {failed}]\n{text}" if failed else text
        yield Source(title, told, "" if failed else path_to_read(command) or "")


def _done(command: str, project: Path, shell: RunCommand) -> tuple[str, str]:
    """Return what a command found out, and why it failed."""
    if path := path_to_read(command):
        found = _found(path, project)
        return _content(found) if found else ("", f"{path} is not there")
    call = CALL.fullmatch(command)
    if call and call[1].lower() not in SHELLS:
        return f"[{call[1]} is not known here: only bash(…) and Read(…) are done]", ""
    ended = shell(call[2].strip() if call else command.removeprefix("$ "))
    return ended.output, f"exit code {ended.exit_code}" if ended.exit_code else ""


def _found(path: str, project: Path) -> Path | None:
    """Return where a path of the task leads, if something is there and it lies in the project."""
    found = inside(path, project)
    return found if found is not None and os.path.lexists(found) else None


def _content(path: Path, most: int = 4 * MOST) -> tuple[str, str]:
    """Return the text at the path, a folder's is what is in it; and why there is none to be had."""
    try:
        if path.is_dir():
            return "\n".join(_listing(path)), ""
        raw = head_of(path, most + 4)
    except OSError as error:
        return "", error.strerror or str(error)
    return "[not a text file]" if b"\0" in raw else raw.decode("utf-8", "replace"), ""


def _described(path: Path | None) -> str:
    if path is None:
        return "not there yet"
    try:
        if path.is_dir():
            return "folder with " + (", ".join(_listing(path)) or "nothing in it")
        head_of(path, 0)
        return f"file, {path.stat().st_size} bytes"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _listing(folder: Path) -> list[str]:
    names = sorted(f"{item.name}/" if item.is_dir() else item.name for item in folder.iterdir())
    shown = [name for name in names if name not in (".git/", "node_modules/", "__pycache__/")]
    return [*shown[:LISTED], *([f"and {len(shown) - LISTED} more"] if len(shown) > LISTED else [])]
