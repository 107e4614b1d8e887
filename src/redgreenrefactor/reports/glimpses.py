"""What goes on right now: the end of the transcript that a session is writing, looked at without reading the rest."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from redgreenrefactor.filesystem import head_of
from redgreenrefactor.model.codec import json_lines, json_object
from redgreenrefactor.records.transcripts import FOLDER, safe_name
from redgreenrefactor.sandbox.secrets import Mask
from redgreenrefactor.views.watch_page import Glimpse

TAIL = 32_000  # bytes at the end of a transcript
MOST = 6  # lines
WIDEST = 160  # characters of each
ASKED = ("file_path", "command", "pattern", "path")  # what tells a call from others of its tool


class LiveTranscript:
    """The newest transcript of a run; the folder is listed only when a file has come into it."""

    def __init__(self, common_dir: Path, run_id: str) -> None:
        self._folder = common_dir / FOLDER / safe_name(run_id)
        self._listed = 0
        self._newest: Path | None = None

    def stamp(self) -> tuple[str, int]:
        """Return what changes as soon as something is written."""
        with suppress(OSError):
            listed = self._folder.stat().st_mtime_ns
            if listed != self._listed:
                files = [entry for entry in os.scandir(self._folder) if entry.name.endswith(".jsonl")]
                self._newest = (
                    Path(max(files, key=lambda entry: entry.stat().st_mtime_ns).path) if files else None
                )
                self._listed = listed
            if self._newest is not None:
                return self._newest.name, self._newest.stat().st_size
        return "", 0

    def glimpse(self, mask: Mask) -> Glimpse | None:
        """Return what the session is doing; None where no transcript is kept."""
        if self._newest is None:
            return None
        with suppress(OSError):
            told = [
                json_object(one) for one in json_lines(head_of(self._newest, TAIL, follow=False, start=-TAIL))
            ]
            return glimpse_of(self._newest.stem, told, mask)
        return None


def glimpse_of(turn: str, told: list[dict[str, Any]], mask: Mask) -> Glimpse:
    """Return what the last steps of a transcript say."""
    standing, lines, sealed = "at work", list[str](), ""
    for one in told:
        match one.get("type"):
            case "session":
                standing, lines, sealed = "at work", [], ""
            case "said" | "message":
                lines += [line for line in str(one.get("text", "")).splitlines() if line.strip()][-MOST:]
            case "call":
                lines.append(f"{one.get('tool')} {_asked(json_object(one.get('arguments')))}".rstrip())
            case "report":
                standing = "has ended, its work is sealed"
            case "sealed":
                standing, sealed = "is sealed, the gates are at work", str(one.get("commit"))
            case "judged":
                standing, sealed = f"is judged: {one.get('ruling')}", ""
            case _:
                pass
    return Glimpse(turn, standing, tuple(mask(line)[:WIDEST] for line in lines[-MOST:]), sealed)


def _asked(arguments: Mapping[str, Any]) -> str:
    return next((str(arguments[name]).partition("\n")[0] for name in ASKED if name in arguments), "")
