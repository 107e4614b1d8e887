"""What a model is told about the six tools, and what it says, checked."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from redgreenrefactor.agents.files import RefusedError
from redgreenrefactor.model.values import frozen


@frozen
class ToolSchema:
    """A tool as models know it."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schema of an object

    @property
    def known(self) -> Mapping[str, Mapping[str, Any]]:
        """Its parameters by name."""
        return self.parameters["properties"]


def _tool(
    name: str, description: str, required: tuple[str, ...], /, **properties: Mapping[str, Any]
) -> ToolSchema:
    parameters = {
        "type": "object",
        "properties": {key.replace("dash_", "-"): value for key, value in properties.items()},
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSchema(name, description, parameters)


def _text(description: str = "") -> Mapping[str, Any]:
    return {"type": "string", **({"description": description} if description else {})}


def _whole(description: str = "") -> Mapping[str, Any]:
    return {"type": "integer", **({"description": description} if description else {})}


def _flag(description: str = "") -> Mapping[str, Any]:
    return {"type": "boolean", **({"description": description} if description else {})}


MODES = ("files_with_matches", "content", "count")

TOOLS: tuple[ToolSchema, ...] = (
    _tool(
        "Read",
        "Read a text file, with line numbers. At most 2000 lines a call: page with offset and limit.",
        ("file_path",),
        file_path=_text("absolute, or relative to the project"),
        offset=_whole("first line, from 1"),
        limit=_whole("number of lines"),
    ),
    _tool(
        "Write",
        "Write a file, replacing what it held; folders are made.",
        ("file_path", "content"),
        file_path=_text(),
        content=_text(),
    ),
    _tool(
        "Edit",
        "Replace old_string in a file. It must occur exactly once, whitespace included, unless replace_all.",
        ("file_path", "old_string", "new_string"),
        file_path=_text(),
        old_string=_text("without the line numbers of Read"),
        new_string=_text(),
        replace_all=_flag(),
    ),
    _tool(
        "Bash",
        "Run a bash command in the project's folder. No input, no background; every call is a new shell.",
        ("command",),
        command=_text(),
        timeout=_whole("milliseconds"),
        description=_text("what it is for, in a few words"),
    ),
    _tool(
        "Glob",
        "List files by a pattern such as src/**/*.ts, newest first. What git ignores is left out.",
        ("pattern",),
        pattern=_text(),
        path=_text("folder to look in"),
    ),
    _tool(
        "Grep",
        "Search file contents by regular expression. What git ignores is left out.",
        ("pattern",),
        pattern=_text(),
        path=_text("file or folder"),
        glob=_text("only such files, e.g. *.{js,ts}"),
        type=_text("only files of this type, e.g. py"),
        output_mode={"type": "string", "enum": list(MODES), "description": "the first is the default"},
        dash_i=_flag("ignore case"),
        dash_n=_flag("line numbers, on by default"),
        dash_A=_whole("lines after"),
        dash_B=_whole("lines before"),
        dash_C=_whole("lines around"),
        context=_whole("as -C"),
        dash_o=_flag("only what matched, not its line"),
        multiline=_flag("a match may span lines, and . matches newlines"),
        head_limit=_whole("lines of output, 250 by default"),
        offset=_whole("lines of output to skip"),
    ),
)

_KINDS = {"string": "a text", "integer": "a whole number", "boolean": "true or false"}
_NO_NUMBER = "no number"
_NAMED = 5  # parameters that do not exist, in a message


@frozen
class Arguments:
    """What a model gave a tool: names it has, values of the right kind; names it has not are ignored."""

    tool: ToolSchema
    given: Mapping[str, Any]
    ignored: tuple[str, ...] = ()

    def text(self, name: str, default: str = "") -> str:
        """Return a text."""
        return self.given.get(name, default)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a yes or no."""
        return self.given.get(name, default)

    def count(self, name: str, default: int, least: int = 0) -> int:
        """Return a whole number that is not too small; one that is counts as the least."""
        return max(least, self.given.get(name, default))

    def has(self, name: str) -> bool:
        """Tell whether it was given."""
        return name in self.given

    @property
    def warning(self) -> str:
        """What to tell about names that were ignored; nothing if there are none."""
        one = len(self.ignored) == 1
        ignored = "it was ignored. It has" if one else "they were ignored. It has"
        return (
            f"[{_no_parameter(self.tool, self.ignored)}; {ignored} {_listed(self.tool)}]"
            if self.ignored
            else ""
        )


def checked(tool: ToolSchema, arguments: Any) -> Arguments:
    """Return what was given, numbers and flags that came as texts included; what cannot be done is refused."""
    if not isinstance(arguments, Mapping):
        raise RefusedError(
            f"{tool.name} takes an object with {_listed(tool)}, not {type(arguments).__name__}"
        )
    given = {
        str(key): value for key, value in cast("Mapping[Any, Any]", arguments).items() if value is not None
    }
    unknown = tuple(name for name in given if name not in tool.known)
    for name in tool.parameters["required"]:
        if name not in given:
            also = f". {_no_parameter(tool, unknown)}" if unknown else ""
            raise RefusedError(f"{tool.name} needs {name}; nothing was done{also}")
    known = {name: _checked(tool, name, value) for name, value in given.items() if name in tool.known}
    return Arguments(tool, known, unknown)


def _no_parameter(tool: ToolSchema, names: Sequence[str]) -> str:
    listed = ", ".join(f"{name!r:.80}" for name in names[:_NAMED])
    return f"{tool.name} has no parameter{'s' * (len(names) > 1)} {listed}"


def _checked(tool: ToolSchema, name: str, value: Any) -> Any:
    schema = tool.known[name]
    kind = schema["type"]
    meant = {"string": _as_text, "integer": _as_whole, "boolean": _as_flag}[kind](value)
    if meant is None:
        raise RefusedError(f"{tool.name}: {name} is not {_KINDS[kind]}: {value!r:.80}")
    if "enum" in schema and meant not in schema["enum"]:
        raise RefusedError(f"{tool.name}: {name} is one of {', '.join(schema['enum'])}, not {meant!r:.80}")
    return meant


def _as_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _as_whole(value: Any) -> int | None:
    if isinstance(value, str):
        value = int(value) if value.strip().lstrip("-").isdecimal() and len(value) < 20 else _NO_NUMBER  # noqa: PLR2004
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return min(value, 10**12)


def _as_flag(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _listed(tool: ToolSchema) -> str:
    return ", ".join(tool.known)
