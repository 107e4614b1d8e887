"""What a model would do, written down: the values a replay agent plays, and how they stand in TOML."""

import tomllib
from collections import Counter
from collections.abc import Mapping
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any, TypeVar, cast

from redgreenrefactor.agents.schemas import TOOLS
from redgreenrefactor.errors import UsageError
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.values import field, frozen
from redgreenrefactor.model.verdict import Finding
from redgreenrefactor.model.workflow import PhaseName

T = TypeVar("T")

_PHASES = tuple(phase for phase in PhaseName if phase is not PhaseName.COMPLETE)
_KINDS: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
}


@frozen
class Use:
    """Call a tool; it has to succeed unless it may fail."""

    tool: str
    arguments: Mapping[str, Any]
    may_fail: bool = False


def write(file_path: str, content: str) -> Use:
    """Put this content into the file, whatever it held."""
    return Use("Write", {"file_path": file_path, "content": content})


def edit(file_path: str, old_string: str, new_string: str, *, replace_all: bool = False) -> Use:
    """Replace this text, which occurs exactly once unless every occurrence is meant."""
    arguments = {"file_path": file_path, "old_string": old_string, "new_string": new_string}
    return Use("Edit", {**arguments, "replace_all": True} if replace_all else arguments)


def bash(command: str, *, may_fail: bool = False) -> Use:
    """Run this command; it has to succeed unless it may fail."""
    return Use("Bash", {"command": command}, may_fail)


@frozen
class Scene:
    """What one session does, and what it says at the end."""

    phase: PhaseName
    cycle: int
    attempt: int = 1
    calls: tuple[Use, ...] = ()
    message: str = ""
    usage: Usage | None = None
    failure: Finding | None = None  # how it ended instead
    folder: str = ""  # where it was recorded: calls that name it mean where it is played

    @property
    def key(self) -> tuple[PhaseName, int, int]:
        """What it is chosen by."""
        return (self.phase, self.cycle, self.attempt)


@frozen
class Script:
    """A whole story: what the project starts with, what is asked for, and every session's part."""

    name: str
    feature: str = ""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    scenes: tuple[Scene, ...] = ()
    source: str = ""  # how it was asked for

    def scene(self, phase: PhaseName, cycle: int, attempt: int) -> Scene | None:
        """Return the scene of that attempt or, where there is none, of the last attempt before it."""
        fit = (
            scene
            for scene in self.scenes
            if scene.phase is phase and scene.cycle == cycle and scene.attempt <= attempt
        )
        return max(fit, key=lambda scene: scene.attempt, default=None)


# --- as TOML


def katas() -> tuple[str, ...]:
    """Return the names of the bundled katas, in alphabetical order."""
    found = (files("redgreenrefactor") / "katas").iterdir()
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in found if entry.name.endswith(".toml")))


def parse(text: str, source: str) -> Script:
    """Return the script this text holds; anything amiss is a UsageError that names source and place."""
    try:
        body = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _bad(source, f"it is not TOML: {error}") from error
    root = _Table(source, "", body)
    root.only("name", "feature", "files", "turn")
    scenes = tuple(_scene(table) for table in root.tables("turn"))
    for key, times in Counter(scene.key for scene in scenes).items():
        if times > 1:
            raise _bad(source, "there are {} turns for {} in cycle {}, attempt {}".format(times, *key))
    return Script(root.get("name", str), root.get("feature", str, ""), _files(root), scenes, source)


def _bad(source: str, problem: str) -> UsageError:
    return UsageError(f"the script {source}: {problem}", hint="Mend the script, then type the same again.")


@frozen
class _Table:
    """A table of a script that knows where it stands."""

    source: str
    where: str
    body: dict[str, Any]

    def wrong(self, problem: str) -> UsageError:
        """Return the error that names this place."""
        return _bad(self.source, f"{self.where}: {problem}" if self.where else problem)

    def only(self, *known: str) -> None:
        """Refuse keys that mean nothing: they are typing errors."""
        for key in self.body:
            if key not in known:
                raise self.wrong(f"there is no key {key!r}; known are {', '.join(known)}")

    def get(self, key: str, kind: type[T], default: T | None = None) -> T:
        """Return the value of that kind; without a default it has to be there."""
        value = self.body.get(key, default)
        if value is None:
            raise self.wrong(f"the key {key!r} is missing")
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return cast("T", float(value))
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(f"{key!r} is not {_KINDS[kind]}")
        return value

    def count(self, key: str, default: int | None = None) -> int:
        """Return a number from 1."""
        number = self.get(key, int, default)
        if number < 1:
            raise self.wrong(f"{key!r} is {number}, but counting begins with 1")
        return number

    def table(self, key: str) -> "_Table":
        """Return a table inside; an absent one is empty."""
        body: dict[str, Any] = self.get(key, dict, cast("dict[str, Any]", {}))
        return _Table(self.source, f"{self.where}{', ' if self.where else ''}[{key}]", body)

    def tables(self, key: str) -> list["_Table"]:
        """Return the tables of a list inside, counted from 1."""
        value = self.body.get(key, [])
        found = cast("list[Any]", value) if isinstance(value, list) else [value]
        if not all(isinstance(body, dict) for body in found):
            raise self.wrong(f"{key!r} is not a list of tables")
        before = f"{self.where}, " if self.where else ""
        return [_Table(self.source, f"{before}{key} {number}", body) for number, body in enumerate(found, 1)]

    def path(self, key: str) -> str:
        """Return a path that stays inside the folder the script is played in."""
        return self.inside(self.get(key, str))

    def inside(self, path: str) -> str:
        """Return the path, refused if it leads out of the folder."""
        pure = PurePosixPath(path)
        if not path or "\0" in path or pure.is_absolute() or ".." in pure.parts:
            raise self.wrong(f"the path {path!r} is not inside the folder the script is played in")
        return path


def _files(root: _Table) -> dict[str, str]:
    table = root.table("files")
    return {table.inside(path): table.get(path, str) for path in table.body}


def _scene(table: _Table) -> Scene:
    table.only("phase", "cycle", "attempt", "message", "call", "usage")
    phase = table.get("phase", str)
    if phase not in _PHASES:
        raise table.wrong(f"there is no phase {phase!r}; known are {', '.join(_PHASES)}")
    return Scene(
        phase=PhaseName(phase),
        cycle=table.count("cycle"),
        attempt=table.count("attempt", 1),
        calls=tuple(_call(call) for call in table.tables("call")),
        message=table.get("message", str, ""),
        usage=_usage(table.table("usage")) if "usage" in table.body else None,
    )


def _usage(table: _Table) -> Usage:
    tokens = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    table.only(*tokens, "cost_usd")
    cost = table.get("cost_usd", float) if "cost_usd" in table.body else None
    return Usage(*(table.get(key, int, 0) for key in tokens), cost_usd=cost)


def _call(table: _Table) -> Use:
    tool = table.get("tool", str)
    schema = next((schema for schema in TOOLS if schema.name == tool), None)
    if schema is None:
        raise table.wrong(f"there is no tool {tool!r}; known are {', '.join(each.name for each in TOOLS)}")
    table.only("tool", *schema.known, "may_fail")
    arguments: dict[str, Any] = {}
    for name, parameter in schema.known.items():
        if name in table.body or name in schema.parameters["required"]:
            value: Any = table.get(name, _OF_KIND[parameter["type"]])
            arguments[name] = table.inside(value) if name in ("file_path", "path") else value
    return Use(tool, arguments, table.get("may_fail", bool, default=False))


_OF_KIND: dict[str, type[Any]] = {"string": str, "integer": int, "boolean": bool}
