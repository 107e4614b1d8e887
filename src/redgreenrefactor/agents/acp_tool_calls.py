"""The calls of one session as a program tells them bit by bit, and as they are told on: once, and whole."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from acp.schema import ContentToolCallContent, TextContentBlock

from redgreenrefactor.agents.acp_permissions import Action, files_of
from redgreenrefactor.model.codec import json_object
from redgreenrefactor.model.session import Answered, Called

_TOOLS = {
    "read": "Read",
    "edit": "Edit",
    "delete": "Edit",
    "move": "Edit",
    "search": "Grep",
    "execute": "Bash",
}
_ACCESS = "Access"  # where the title is no more than the file's name
_ENDS = ("completed", "failed")


@dataclass
class _Call:
    """What is known of a call so far."""

    kind: str = "other"
    title: str = ""
    files: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    told: bool = False
    ended: bool = False

    def learn(self, action: Action) -> None:
        self.kind, self.title = action.kind or self.kind, action.title or self.title
        self.files = files_of(action) or self.files
        self.given = json_object(action.raw_input) or self.given

    def called(self, ident: str) -> Called:
        arguments = dict(self.given)
        if self.kind == "execute":  # the file it names is the folder it is run in
            arguments.setdefault("command", self.title)
        elif self.files:
            arguments.setdefault("file_path", ", ".join(self.files))
        tool = _TOOLS.get(self.kind, self.title or self.kind)
        return Called(ident, _ACCESS if tool in self.files else tool, arguments)


@dataclass
class ToolCalls:
    """All calls of a session, by their ids."""

    _calls: dict[str, _Call] = field(default_factory=dict[str, _Call])

    def asked(self, action: Action) -> Iterator[Called]:
        """Yield the call for which permission is asked, unless it has been told."""
        yield from self._told(action)

    def updated(self, action: Action) -> Iterator[Called | Answered]:
        """Yield a call as soon as it begins, and what it came to."""
        if action.status in ("in_progress", *_ENDS):
            yield from self._told(action)
        else:
            self._learned(action)
        call = self._calls[action.tool_call_id]
        if action.status in _ENDS and not call.ended:
            call.ended = True
            yield Answered(action.tool_call_id, _text(action), action.status == "failed")

    def known(self, action: Action) -> tuple[str, tuple[str, ...]]:
        """Return the kind of a call, and the files it has named so far."""
        call = self._learned(action)
        return call.kind, call.files

    def _learned(self, action: Action) -> _Call:
        call = self._calls.setdefault(action.tool_call_id, _Call())
        call.learn(action)
        return call

    def _told(self, action: Action) -> Iterator[Called]:
        call = self._learned(action)
        if not call.told:
            call.told = True
            yield call.called(action.tool_call_id)


def _text(action: Action) -> str:
    """Return what a call came to in words; of an edit the program tells the change, which git knows better."""
    pieces = [piece.content for piece in action.content or () if isinstance(piece, ContentToolCallContent)]
    return "\n".join(piece.text for piece in pieces if isinstance(piece, TextContentBlock))
