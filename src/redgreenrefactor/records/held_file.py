"""A file that is written to as long as it can be, and let go at the end."""

import os
from contextlib import suppress
from types import TracebackType
from typing import Self


class HeldFile:
    """Whoever writes to a file of its own; without one, there is nothing to let go."""

    _file: int | None = None

    def close(self) -> None:
        """Let the file go; what comes later is not written."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
