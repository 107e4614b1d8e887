"""The paths and commands that a task file names, and which of the paths lead out of its project."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from redgreenrefactor.model.codec import json_list, json_object
from redgreenrefactor.model.values import frozen

READS = re.compile(r"<files_to_read>(.*?)</files_to_read>", re.DOTALL | re.IGNORECASE)
CALL = re.compile(r"([A-Za-z_][\w-]*)\((.*)\)\s*", re.DOTALL)
SHELLS = ("bash", "sh", "shell", "run")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")


@frozen
class Problem:
    """What is wrong at one place."""

    path: str  # as JSONPath spells it, e.g. $.meta.max_iterations
    what: str
    forgivable: bool = False  # it was let pass once, and may be recorded

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


def is_command(text: str) -> bool:
    """Tell whether a step's words are something to do: bash(…), Read(…), or a line after '$ '."""
    call = CALL.fullmatch(text)
    return text.startswith("$ ") or (call is not None and call[1].lower() in (*SHELLS, "read"))


def path_to_read(command: str) -> str | None:
    """Return the path that a command wants read."""
    call = CALL.fullmatch(command)
    return call[2].strip().strip("`'\"") if call and call[1].lower() == "read" else None


def files_to_read(description: str) -> Iterator[str]:
    """Yield the paths that <files_to_read> blocks name, one a line; bullets and backticks are decoration."""
    for block in READS.findall(description):
        for line in block.splitlines():
            path = _BULLET.sub("", line).strip().strip("`'\"").removeprefix("@").strip()
            if path:
                yield path


def inside(path: str, project: Path) -> Path | None:
    """Return the file that a path of the task means, None where it lies outside the project or cannot be a path."""
    root = project.resolve()
    try:
        found = (root / path).resolve()
    except (OSError, ValueError, RuntimeError):
        return None
    return found if found.is_relative_to(root) and not path.startswith("~") else None


def leading_out(document: Mapping[str, Any], project: Path) -> Iterator[Problem]:
    """Yield every path of a task file that leads out of the project, whatever else is wrong with the file."""
    for place, path in _paths(document):
        if inside(path, project) is None:
            yield Problem(place, f"{path} leads out of the project {project}")


def _paths(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    description: Any = document.get("description")
    for path in files_to_read(description) if isinstance(description, str) else ():
        yield "$.description", path
    for index, path in enumerate(json_list(document.get("focus_paths"))):
        if isinstance(path, str):
            yield f"$.focus_paths[{index}]", path
    for holder, name in ((document, "$"), (json_object(document.get("meta")), "$.meta")):
        package = holder.get("context_package_path")
        if isinstance(package, str):
            yield f"{name}.context_package_path", package
    for index, item in enumerate(json_list(document.get("pre_analysis"))):
        body = json_object(item)
        commands = (
            (item,)
            if isinstance(item, str)
            else (*lines_of(body.get("command")), *lines_of(body.get("commands")))
        )
        yield from ((f"$.pre_analysis[{index}]", path) for path in map(path_to_read, commands) if path)


# --- values of any kind, taken for what they should be


def lines_of(value: Any) -> tuple[str, ...]:
    """Return a text or a list of texts, trimmed; what is none of that is left out."""
    items: Sequence[Any] = [value] if isinstance(value, str) else json_list(value)
    return tuple(item.strip() for item in items if isinstance(item, str) and item.strip())
