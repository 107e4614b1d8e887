"""What a program may do that asks: by the kind of the action, and by the files that it names."""

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    FileEditToolCallContent,
    PermissionOption,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)

from redgreenrefactor.model.codec import json_object
from redgreenrefactor.model.values import frozen

Action = ToolCallUpdate | ToolCallStart | ToolCallProgress
_NAMING = (
    "filePath",
    "file_path",
    "filepath",
    "path",
    "abs_path",
    "absolute_path",
)  # arguments that name a file
_CHANGING = ("edit", "delete", "move")
_NEEDS = {  # one of these tools, to be allowed
    "read": ("Read",),
    "search": ("Glob", "Grep"),
    "execute": ("Bash",),
    **dict.fromkeys(_CHANGING, ("Write", "Edit")),
}
_NEVER = {"fetch": "a session has no use for the web", "switch_mode": "how it works is not its own choice"}


@frozen
class Bounds:
    """Within what a session stays."""

    folder: Path
    locked: Collection[Path]  # files and folders that it may not change
    tools: Collection[str]

    def objection(self, kind: str, files: Sequence[str]) -> str:
        """Return why an action of this kind on these files is refused; nothing where it is allowed."""
        if kind in _NEVER:
            return _NEVER[kind]
        if kind in _NEEDS and not set(_NEEDS[kind]).intersection(self.tools):
            return f"this role has no tool to {kind}"
        return next(filter(None, (self._objection(kind, file) for file in files)), "")

    def _objection(self, kind: str, file: str) -> str:
        place = Path(os.path.realpath(self.folder / file))
        if not place.is_relative_to(os.path.realpath(self.folder)):
            return f"{file} lies outside the project"
        if kind not in ("read", "search") and any(
            place.is_relative_to(os.path.realpath(at)) for at in self.locked
        ):
            return f"{place.relative_to(os.path.realpath(self.folder))} may not be changed in this phase"
        return ""


def files_of(action: Action) -> tuple[str, ...]:
    """Return the files that an action names, as it names them."""
    return tuple(dict.fromkeys(_named(action)))


def _named(action: Action) -> Iterator[str]:
    yield from (location.path for location in action.locations or ())
    yield from (piece.path for piece in action.content or () if isinstance(piece, FileEditToolCallContent))
    given = json_object(action.raw_input)
    yield from (str(given[name]) for name in _NAMING if given.get(name))


def choice(options: Sequence[PermissionOption], *, allow: bool) -> AllowedOutcome | DeniedOutcome:
    """Return the option that means it, for once if there is one."""
    for kind in ("allow_once", "allow_always") if allow else ("reject_once", "reject_always"):
        for option in options:
            if option.kind == kind:
                return AllowedOutcome(outcome="selected", option_id=option.option_id)
    return DeniedOutcome(outcome="cancelled")
