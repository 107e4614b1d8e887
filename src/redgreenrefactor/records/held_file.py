"""A file that is written to as long as it can be, and let go at the end."""

import os
from contextlib import suppress


class HeldFile:
    """Whoever writes to a file of its own; without one, there is nothing to let go."""

    _file: int | None = None

    def close(self) -> None:
        """Let the file go; what comes later is not written."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None
