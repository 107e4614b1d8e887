"""Modes that files of a checkout must not keep: a session that runs as root could lend root's group to everybody."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from redgreenrefactor.reading import below


def without_group_programs(root: Path, moment: int) -> tuple[str, ...]:
    """Take the set-gid bit from programs changed since a moment; return a line for each. Folders keep theirs.

    Only root is looked after: everybody else can lend no group but their own. The filter of system calls cannot do it,
    for it does not see whether a mode is a folder's.
    """
    if os.getuid() != 0:
        return ()
    told: list[str] = []
    for entry in below(root, lambda folder: folder.name != ".git"):
        with suppress(OSError):
            found = entry.stat(follow_symlinks=False)
            mode = stat.S_IMODE(found.st_mode)
            if stat.S_ISREG(found.st_mode) and mode & stat.S_ISGID and found.st_ctime_ns >= moment:
                Path(entry.path).chmod(mode & ~stat.S_ISGID)
                name = Path(entry.path).relative_to(root)
                told.append(f"{name} was made a program of root's group; it is none any more")
    return tuple(told)
