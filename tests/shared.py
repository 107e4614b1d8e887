"""What is made once for all tests, whichever of their processes comes first."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from redgreenrefactor.model.evidence import Manner
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.runners.suite_context import SuiteContext
from redgreenrefactor.sandbox.permissions import BYTECODE

SUITE = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        assert 1 == 2\n"


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that is filled once."""
    shared = factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            (folder / "made").touch()
    return folder


def compiled(factory: pytest.TempPathFactory, into: Path) -> Path:
    """Return this folder with the byte code of runners in it: only runs that keep any write it, and most keep none."""
    made = once(factory, "compiled", _compile)
    if not (into / BYTECODE).exists():
        shutil.copytree(made / BYTECODE, into / BYTECODE)
    return into


def _compile(folder: Path) -> None:
    project = folder / "project"
    project.mkdir()
    (project / "test_a.py").write_text(SUITE)
    env = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for runner in ("pytest", "unittest"):
        suite = suite_for(
            f"{sys.executable} -m {runner}", SuiteContext(project=project, env=env, timeout=120, cache=folder)
        )
        assert suite.run(project, Manner(trace=True, keeps=True)).results
    env["PYTHONPYCACHEPREFIX"] = str(folder / BYTECODE)
    for words in (["run", "-m", "unittest", "-q"], ["json", "-q"]):
        subprocess.run(
            [sys.executable, "-m", "coverage", *words],
            cwd=project,
            env=env,
            check=False,
            capture_output=True,
        )
