"""What Codex writes down of a session while it goes on: what it has used so far, and which model thinks."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.filesystem import head_of
from redgreenrefactor.model.codec import json_object
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.values import frozen

TAIL = 262_144  # bytes that are read at a time, at the end of what is new
_MODEL = re.compile(rb'"model":"([^"\\]+)"')
_ID = re.compile(r"[0-9A-Za-z-]+")
_CALLS = (b'"function_call', b'"CommandExecution"')
_ENDED = re.compile(r"^Process exited with code (-?\d+)$", re.MULTILINE)
_OUTPUT = "Output:\n"


@frozen
class SilentCommand:
    """A command that ended without a word about it."""

    call: str
    command: str
    output: str
    exit_code: int


@dataclass
class Rollout:
    """The file of one session in a home of Codex, read on as it grows."""

    home: Path
    session: str
    _file: Path | None = None
    _read: int = 0  # bytes
    _begun: bytes = b""  # of a line
    _used: Usage = field(default_factory=Usage)
    _model: str = ""
    _commands: dict[str, str] = field(default_factory=dict[str, str])  # that have not ended, by their calls
    _told: set[str] = field(default_factory=set[str])
    _silent: list[SilentCommand] = field(default_factory=list[SilentCommand])

    def used(self) -> Usage:
        """Return what the session has used in all, those it goes on from included; nothing where no file tells."""
        self._read_on()
        return self._used

    def silent(self) -> Iterator[SilentCommand]:
        """Yield, once each, those of its commands that are told nowhere else: it says nothing of one that fails at once."""
        self._read_on()
        while self._silent:
            yield self._silent.pop(0)

    def model(self) -> str:
        """Return the model that thinks, as the session was set up; nothing where no file tells."""
        self._read_on()
        return self._model

    def _read_on(self) -> None:
        """Learn from what is new in the file; of very much only from its end."""
        self._file = self._file or self._found()
        if self._file is None:
            return
        with suppress(OSError):
            start = max(self._read, self._file.lstat().st_size - TAIL)
            new = head_of(self._file, TAIL, follow=False, start=start)
            begun = self._begun if start == self._read else b""
            *lines, self._begun = (begun + new).split(b"\n")
            self._begun, self._read = self._begun[-TAIL:], start + len(new)
            for line in lines:
                self._learn(line)

    def _learn(self, line: bytes) -> None:
        if found := _MODEL.findall(line):
            self._model = found[-1].decode("utf-8", "replace")
        if b'"token_count"' in line:
            with suppress(ValueError, KeyError, TypeError, RecursionError):
                info: Any = json.loads(line)["payload"]["info"]
                self._used = usage_of_tokens(cast("Mapping[str, Any]", info["total_token_usage"]))
        match _payload(line):
            case {"type": "function_call", "call_id": str(ident), "arguments": str(given)}:
                self._commands[ident] = _command(given)
            case {"item": {"type": "CommandExecution", "id": str(ident)}}:
                self._told.add(ident)
            case {"type": "function_call_output", "call_id": str(ident), "output": str(output)}:
                self._end(ident, output)
            case _:
                pass

    def _end(self, ident: str, output: str) -> None:
        ended, command = _ENDED.search(output), self._commands.pop(ident, "")
        if ended and command and ident not in self._told:
            printed = output.partition(_OUTPUT)[2]
            self._silent.append(SilentCommand(ident, command, printed, int(ended[1])))

    def _found(self) -> Path | None:
        if not _ID.fullmatch(self.session):
            return None
        return next(self.home.glob(f"sessions/*/*/*/rollout-*{self.session}.jsonl"), None)


def _payload(line: bytes) -> Mapping[str, Any]:
    """Return what a line tells of a call, or nothing."""
    if any(word in line for word in _CALLS):
        with suppress(ValueError, RecursionError):
            return json_object(json_object(json.loads(line)).get("payload"))
    return {}


def _command(given: str) -> str:
    with suppress(ValueError, RecursionError):
        return str(json_object(json.loads(given)).get("cmd", ""))
    return ""


def usage_of_tokens(said: Mapping[str, Any]) -> Usage:
    """Return tokens as Codex counts them: its input includes what was read from and written to the cache."""
    sent, read, written = (
        int(said.get(name) or 0)
        for name in ("input_tokens", "cached_input_tokens", "cache_write_input_tokens")
    )
    return Usage(max(0, sent - read - written), int(said.get("output_tokens") or 0), read, written)


def difference(after: Usage, before: Usage) -> Usage:
    """Return what was used in between."""
    return Usage(
        max(0, after.input_tokens - before.input_tokens),
        max(0, after.output_tokens - before.output_tokens),
        max(0, after.cache_read_tokens - before.cache_read_tokens),
        max(0, after.cache_write_tokens - before.cache_write_tokens),
    )
