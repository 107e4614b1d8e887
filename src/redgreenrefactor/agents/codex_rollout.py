"""What Codex writes down of a session while it goes on: what it has used so far, and which model thinks."""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.values import frozen

_TAIL = 262_144  # bytes at the end of a file in which the last count is looked for
_MODEL = re.compile(r'"model":"([^"\\]+)"')
_ID = re.compile(r"[0-9A-Za-z-]+")


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

    def printed(self) -> tuple[str, ...]:
        """Return the lines that its latest commands printed: those that end at once are told nowhere else."""
        outputs = [line for line in self._tail().split(b"\n") if b'"function_call_output"' in line]
        found: list[str] = []
        for line in outputs:
            with suppress(ValueError, KeyError, TypeError):
                found += str(json.loads(line)["payload"]["output"]).split("\n")
        return tuple(found)

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
