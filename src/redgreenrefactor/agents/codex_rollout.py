"""What Codex writes down of a session while it goes on: what it has used so far, and which model thinks."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.model.codec import json_object
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.values import frozen

_TAIL = 262_144  # bytes at the end of a file in which the last count is looked for
_MODEL = re.compile(r'"model":"([^"\\]+)"')
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


@frozen
class Rollout:
    """The file of one session in a home of Codex."""

    home: Path
    session: str

    def used(self) -> Usage:
        """Return what the session has used in all, those it goes on from included; nothing where no file tells."""
        counts = [line for line in self._tail().split(b"\n") if b'"token_count"' in line]
        for line in reversed(counts):
            try:
                info: Any = json.loads(line)["payload"]["info"]
                return usage_of_tokens(cast("Mapping[str, Any]", info["total_token_usage"]))
            except (ValueError, KeyError, TypeError):
                continue
        return Usage()

    def silent(self) -> Iterator[SilentCommand]:
        """Yield those of its latest commands that are told nowhere else: it says nothing of one that fails at once."""
        commands: dict[str, str] = {}
        told: set[str] = set()
        for line in self._tail().split(b"\n"):
            match _payload(line):
                case {"type": "function_call", "call_id": str(ident), "arguments": str(given)}:
                    commands[ident] = _command(given)
                case {"item": {"type": "CommandExecution", "id": str(ident)}}:
                    told.add(ident)
                case {"type": "function_call_output", "call_id": str(ident), "output": str(output)}:
                    ended = _ENDED.search(output)
                    if ended and commands.get(ident) and ident not in told:
                        printed = output.partition(_OUTPUT)[2]
                        yield SilentCommand(ident, commands[ident], printed, int(ended[1]))
                case _:
                    pass

    def model(self) -> str:
        """Return the model that thinks, as the session was set up; nothing where no file tells."""
        found = _MODEL.findall(self._tail().decode("utf-8", "replace"))
        return found[-1] if found else ""

    def _tail(self) -> bytes:
        place = self._place()
        if place is None:
            return b""
        with place.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            return file.read()

    def _place(self) -> Path | None:
        if not _ID.fullmatch(self.session):
            return None
        found = self.home.glob(f"sessions/*/*/*/rollout-*{self.session}.jsonl")
        return next((path for path in found if path.is_file() and not path.is_symlink()), None)


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
