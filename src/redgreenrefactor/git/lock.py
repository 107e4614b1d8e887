"""One orchestrator a workspace: the kernel lets go of a dead owner's lock by itself."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.model.result import AtWork

NAME = "rgr.lock"
LOCKED = "Locked"
LOOKERS = 10  # that may be in the way one after the other


@contextmanager
def held(path: Path) -> Generator[None]:
    """Hold the lock while the block runs; somebody else's is a NotReadyError that names its process."""
    descriptor = _taken(path)
    try:
        yield
    finally:
        # Removed while still held, so that nobody can take the file between the two steps.
        path.unlink(missing_ok=True)
        os.close(descriptor)


@contextmanager
def free_slot(folder: Path, name: str) -> Generator[str]:
    """Hold the first of the names NAME-0, NAME-1, … that nobody else holds in this folder; yield it."""
    for number in count():
        slot = folder / f"{name}-{number}.lock"
        with ExitStack() as stack:
            try:
                stack.enter_context(held(slot))
            except NotReadyError as error:
                if error.type != LOCKED:
                    raise
                continue
            yield slot.stem
            return


def is_held(path: Path) -> bool:
    """Tell whether a living process holds the lock."""
    return holder(path) is not None


def holder(path: Path) -> AtWork | None:
    """Return the living process that holds the lock."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        taken = time.gmtime(os.fstat(descriptor).st_mtime)
        return AtWork(_owner(descriptor), time.strftime("%Y-%m-%dT%H:%M:%SZ", taken))
    else:
        return None
    finally:
        os.close(descriptor)


def _owner(descriptor: int) -> str:
    return os.read(descriptor, 64).decode("ascii", "replace").strip() or "unknown"


def _taken(path: Path) -> int:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise NotReadyError(
                f"the lock {path} cannot be written: {error.strerror}",
                hint="Make the repository writable for this user, then try again.",
            ) from error
        try:
            _wait_for(descriptor)
        except OSError as error:
            owner = _owner(descriptor)
            os.close(descriptor)
            raise NotReadyError(
                f"another orchestrator is at work here (process {owner})",
                hint=f"Wait for it, or stop it with 'kill {owner}', then type 'rgr resume'.",
                type=LOCKED,
            ) from error
        if _still_at(path, descriptor):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
            return descriptor
        os.close(descriptor)  # its last owner removed it in the meantime


def _wait_for(descriptor: int) -> None:
    """Take the lock; whoever only looks whether it is held has it for less than a moment."""
    for _ in range(LOOKERS):
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(0.01)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _still_at(path: Path, descriptor: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False
