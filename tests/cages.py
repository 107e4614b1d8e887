"""Cages for tests: what this machine can hold programs with, or the reason why a test is skipped."""

import functools
import os
from pathlib import Path

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.sandbox.cage import Cage, Means
from redgreenrefactor.sandbox.policy import Access, Place, Policy, writable
from redgreenrefactor.sandbox.probe import means_for

LEVELS = ("bubblewrap", "landlock")


@functools.cache
def found(level: str) -> Means | str:
    try:
        return means_for(level, os.environ)
    except NotReadyError as error:
        return error.message


def means(level: str) -> Means:
    """Return the means of a level; where they do not work the test is skipped, with the reason."""
    known = found(level)
    if isinstance(known, str):
        pytest.skip(known)
    return known


def cage(level: str, workspace: Path, *places: Place, network: bool = False) -> Cage:
    """Return a cage with one writable folder; home and temporary folders are the program's own."""
    own = [Place(Path(place), Access.SCRATCH) for place in ("/tmp", os.path.expanduser("~"))]  # noqa: PTH111
    wanted = own if level == "bubblewrap" else []
    return Cage(means(level), Policy((*wanted, *writable(workspace), *places), network=network))
