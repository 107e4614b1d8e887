"""Finished runs, made once for all who look back at them."""

from pathlib import Path

import pytest
from pasts import Past, copied, made
from stage import GREENFIELD, PLAIN

from shared import once


@pytest.fixture
def past(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, env: dict[str, str]) -> Past:
    """A finished run of two cycles, judged test by test."""
    legacy = {"tests/test_old.py": "def test_old() -> None:\n    assert True\n"}
    shared = once(tmp_path_factory, "verify-pytest", lambda folder: made(folder, {**GREENFIELD, **legacy}))
    return copied(shared, tmp_path, env)


@pytest.fixture
def plain(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, env: dict[str, str]) -> Past:
    """The same, judged by exit code: swift, for what does not depend on single tests."""
    return copied(once(tmp_path_factory, "verify-plain", lambda folder: made(folder, PLAIN)), tmp_path, env)
