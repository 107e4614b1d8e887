"""Confinement for tests: what this machine can hold programs with, or the reason why a test is skipped."""

import functools
import os
import shutil
from pathlib import Path

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.sandbox.availability import means_for
from redgreenrefactor.sandbox.cage import Cage, Means
from redgreenrefactor.sandbox.policy import Mount, MountMode, Policy, writable

needs_bubblewrap = pytest.mark.needs("bwrap")
BUBBLEWRAP = pytest.param("bubblewrap", marks=needs_bubblewrap)
LEVELS = (BUBBLEWRAP, "landlock")


@functools.cache
def found(level: str) -> Means | str:
    try:
        return means_for(level, os.environ)
    except NotReadyError as error:
        return error.message


def means(level: str) -> Means:
    """Return the means of a level; where they do not work the test is skipped, with the reason.

    A test that needs bubblewrap says so beforehand, or it would be left out where those that need programs are run.
    """
    if level == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.fail("this test needs bubblewrap: mark it with needs_bubblewrap")
    known = found(level)
    if isinstance(known, str):
        pytest.skip(known)
    return known


def cage(level: str, workspace: Path, *places: Mount, network: bool = False) -> Cage:
    """Return a cage with one writable folder; home and temporary folders are the program's own."""
    own = [Mount(Path(place), MountMode.SCRATCH) for place in ("/tmp", os.path.expanduser("~"))]  # noqa: PTH111
    wanted = own if level == "bubblewrap" else []
    return Cage(means(level), Policy((*wanted, *writable(workspace), *places), network=network))
