"""Files that are written whole or not at all."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from redgreenrefactor.errors import NotReadyError


def put(path: Path, content: bytes) -> None:
    """Put the content at the path at once: readers see the old file or the new one, never a part.

    Whoever may read and write the old one may do so with the new one. Nothing is left of what fails with an OSError.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(path, partial)
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def replace_file(path: Path, content: bytes) -> None:
    """Put the content at the path at once; where that cannot be done, say so."""
    try:
        put(path, content)
    except OSError as error:
        raise NotReadyError(
            f"{path} cannot be written: {error.strerror}",
            hint="Free some disk space or make the folder writable, then type 'rgr resume'.",
        ) from error
