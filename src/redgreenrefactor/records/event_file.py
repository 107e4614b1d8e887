"""Events as JSON lines, for scripts that follow a run."""

import json
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from redgreenrefactor.errors import UsageError
from redgreenrefactor.model.codec import written
from redgreenrefactor.model.events import FOR_TRANSCRIPTS, Emit, Event, Warned
from redgreenrefactor.records.held_file import HeldFile, stamp


class EventFile(HeldFile):
    """Every event is one line at the end of a file, written at once.

    A file that cannot be opened is a UsageError. One that fails later (a full disk) must not stop a run:
    `warn` is told once, and nothing more is written, so that the file has no gap in the middle.
    """

    def __init__(self, path: Path, *, clock: Callable[[], datetime], warn: Emit) -> None:
        self._path = path
        self._clock = clock
        self._warn = warn
        try:
            self._file: int | None = os.open(
                path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666
            )
        except (OSError, ValueError) as error:
            raise UsageError(
                f"the events file {path} cannot be written: {_reason(error)}",
                hint="Give --events a file in a folder that exists and can be written to.",
            ) from error
        if _ends_inside_a_line(path):
            self._write(b"\n")

    def __call__(self, event: Event) -> None:
        """Append the event as one line, unless it is for transcripts; never raises for what the disk does."""
        if isinstance(event, FOR_TRANSCRIPTS):
            return
        self._write(to_line(event, self._clock()).encode("ascii"))

    def _write(self, line: bytes) -> None:
        try:
            self.append(line)
        except OSError as error:
            self.close()
            self._warn(
                Warned(f"the events file {self._path} fails ({_reason(error)}): no more events go there")
            )


def to_line(event: Event, time: datetime) -> str:
    """Return an event as one line of JSON, its name and time first."""
    return json.dumps({"event": type(event).__name__, "time": stamp(time), **written(event)}) + "\n"


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _ends_inside_a_line(path: Path) -> bool:
    """Whether an earlier run could not finish its last line."""
    try:
        if not path.is_file() or path.stat().st_size == 0:
            return False
        with path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read() != b"\n"
    except OSError:
        return False
