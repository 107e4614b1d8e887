"""Real projects in a temporary folder, and real runners that test them."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from redgreenrefactor.model.evidence import Manner, SuiteRun
from redgreenrefactor.ports import Suite
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.runners.suite_context import SuiteContext


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return an empty project, which is its own checkout unless a test says otherwise."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def lay(project: Path) -> Callable[[Mapping[str, str]], None]:
    """Return what writes files into the project."""

    def write(files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text, encoding="utf-8")

    return write


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return a small environment, without the plugins that this very test run uses."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


@pytest.fixture
def suite(project: Path, environment: dict[str, str], cache: Path) -> Callable[..., Suite]:
    """Return what makes a suite of a command for the project."""

    def make(command: str = f"{sys.executable} -m pytest", timeout: float = 120.0) -> Suite:
        return suite_for(
            command, SuiteContext(project=project, env=environment, timeout=timeout, cache=cache)
        )

    return make


@pytest.fixture
def run(
    project: Path, lay: Callable[[Mapping[str, str]], None], suite: Callable[..., Suite]
) -> Callable[..., SuiteRun]:
    """Return what writes files and runs the tests there."""

    def go(
        files: Mapping[str, str],
        command: str = f"{sys.executable} -m pytest",
        tests: Sequence[str] = (),
        *,
        trace: bool = False,
        seed: int | None = None,
        timeout: float = 120.0,
    ) -> SuiteRun:
        lay(files)
        return suite(command, timeout).run(project, Manner(tuple(tests), trace=trace, seed=seed, keeps=True))

    return go
