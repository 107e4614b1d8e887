"""Several tasks at once: files, a folder of them, or a plan; in the order of their dependencies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from redgreenrefactor.errors import UsageError
from redgreenrefactor.goals.task_file import HINT, TaskFile, read_object, read_task, shared_context
from redgreenrefactor.model.codec import json_list, json_object
from redgreenrefactor.model.values import frozen

PLAN, TASKS = "plan.json", ".task"


def read_tasks(paths: Sequence[Path], project: Path | None = None) -> tuple[TaskFile, ...]:
    """Return the tasks of all these places, each after those it depends on; what is wrong is a UsageError.

    With a project, paths that lead out of it are wrong, too.
    """
    read = [task for path in paths for task in _tasks(path, project)]
    _refuse([item for item in read if isinstance(item, _Unreadable)])
    found = [item for item in read if isinstance(item, TaskFile)]
    if not found:
        raise UsageError(
            "there is no task file in " + ", ".join(map(str, paths)), hint="A task file ends in .json."
        )
    known: dict[str, TaskFile] = {}
    for item in found:
        other = known.setdefault(item.task.id, item)
        if other is not item:
            raise UsageError(
                f"{other.path} and {item.path} are both called {item.task.id}", type="InvalidTask"
            )
    if len(found) == 1:
        return (found[0],)  # what it depends on was done before, or is none of our business
    _check_known(found, known)
    return tuple(_ordered(found))


@frozen
class _Unreadable:
    """A task file that is wrong."""

    path: Path
    error: UsageError


def _read(path: Path, project: Path | None) -> TaskFile | _Unreadable:
    try:
        return read_task(path, project)
    except UsageError as error:
        return _Unreadable(path, error)


def _refuse(wrong: Sequence[_Unreadable]) -> None:
    """Name everything that is wrong with all files at once."""
    if len(wrong) == 1:
        raise wrong[0].error
    if wrong:
        raise UsageError(
            "\n".join(item.error.message for item in wrong),
            hint=HINT,
            type="InvalidTask",
            problems=tuple(
                (f"{item.path}: {place}", what)
                for item in wrong
                for place, what in item.error.problems or [("$", item.error.message)]
            ),
        )


def _check_known(found: Sequence[TaskFile], known: dict[str, TaskFile]) -> None:
    unknown = [
        f"{item.path}: $.depends_on[{index}]: there is no task {name}"
        for item in found
        for index, name in enumerate(item.task.depends_on)
        if name not in known
    ]
    if unknown:
        raise UsageError(
            "tasks depend on what is not there:" + "".join(f"\n  {line}" for line in unknown),
            hint="Name all the tasks that belong together, or mend depends_on.",
            type="InvalidTask",
        )


def _ordered(found: Sequence[TaskFile]) -> Iterator[TaskFile]:
    """Yield the tasks so that each follows those it depends on, otherwise in the order they were given."""
    places = {item.task.id: place for place, item in enumerate(found)}
    sorter = TopologicalSorter({item.task.id: item.task.depends_on for item in found})
    try:
        sorter.prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]  # its first stands at the end again
        raise UsageError(
            f"these tasks wait for each other: {', '.join(reversed(circle[1:]))}",
            hint="Take one of their depends_on away.",
            type="InvalidTask",
        ) from error
    ready: list[str] = []
    while sorter.is_active():
        first, *ready = sorted((*ready, *sorter.get_ready()), key=lambda name: places[name])
        sorter.done(first)
        yield found[places[first]]


def _tasks(path: Path, project: Path | None) -> Iterator[TaskFile | _Unreadable]:
    if _is_folder(path):
        folder = path / TASKS if (path / TASKS).is_dir() else path
        plan = path / PLAN
        files = sorted(file for file in folder.glob("*.json") if file.is_file() and file.name != PLAN)
        yield from _with_plan(files, plan if plan.exists() else None, project)
    elif path.name == PLAN or _is_plan(path):
        yield from _with_plan(_planned(path), path, project)
    else:
        yield _read(path, project)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False  # no path at all: reading it says why


def _is_plan(path: Path) -> bool:
    """Tell whether a file names tasks instead of being one."""
    try:
        document = read_object(path, "task file")
    except UsageError:
        return False
    return "convergence" not in document and isinstance(
        document.get("task_ids") or document.get("tasks"), list
    )


def _planned(plan: Path) -> list[Path]:
    """Return the files of the tasks that a plan names."""
    document = read_object(plan, "plan")
    listed = json_list(document.get("task_ids") or document.get("tasks"))
    names = [str(item["id"] if "id" in json_object(item) else item) for item in listed]
    folder = plan.parent / TASKS if (plan.parent / TASKS).is_dir() else plan.parent
    return [folder / (name if name.endswith(".json") else f"{name}.json") for name in names]


def _with_plan(
    files: Iterable[Path], plan: Path | None, project: Path | None
) -> Iterator[TaskFile | _Unreadable]:
    """Yield the tasks of these files; what the plan shares goes to those that say nothing of it themselves."""
    shared = _shared(plan) if plan else ()
    for file in files:
        found = _read(file, project)
        if isinstance(found, _Unreadable):
            yield found
            continue
        own = {name for name, _ in found.task.shared_context}
        both = (*found.task.shared_context, *((name, text) for name, text in shared if name not in own))
        meta: dict[str, Any] = {**(found.document.get("meta") or {}), "shared_context": dict(both)}
        document: Mapping[str, Any] = {**found.document, "meta": meta} if both else found.document
        yield replace(found, task=replace(found.task, shared_context=both), document=document)


def _shared(plan: Path) -> tuple[tuple[str, str], ...]:
    return shared_context(read_object(plan, "plan").get("shared_context"))
