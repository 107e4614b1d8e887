"""A file of JSON lines that is written to as long as it can be, and let go at the end."""

import os
from contextlib import suppress
from datetime import UTC, datetime


class HeldFile:
    """Whoever writes to a file of its own; without one, there is nothing to let go."""

    _file: int | None = None

    def append(self, line: bytes) -> None:
        """Write a line at its end, all of it; what the disk refuses is an OSError."""
        while line and self._file is not None:  # once, unless a pipe or a disk is full
            line = line[os.write(self._file, line) :]

    def close(self) -> None:
        """Let the file go; what comes later is not written."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None


def stamp(time: datetime) -> str:
    """Return a time as the lines spell it."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
