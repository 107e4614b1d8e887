"""Projects to start from: their runner is found, their tests pass, and nothing is overwritten."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from redgreenrefactor.errors import UsageError
from redgreenrefactor.runners.detect import detect
from redgreenrefactor.starter import COMMIT, KINDS, write_starter

FOUND = {
    "pytest": "pytest",
    "npm": "npm test",
    "maven": "mvn test",
    "gradle": "./gradlew test",
    "go": "go test ./...",
    "rust": "cargo test",
}


@pytest.mark.parametrize("kind", KINDS)
def test_how_a_starters_tests_are_run_is_found_by_itself(kind: str, tmp_path: Path) -> None:
    written = write_starter(kind, tmp_path)
    assert detect(tmp_path) == FOUND[kind]
    assert sorted(written.files) == sorted(
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()
    )
    assert written.commands == ((*["gradle wrapper"] * (kind == "gradle"), COMMIT, "rgr doctor"))


def test_a_file_in_the_way_is_left_alone_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("mine")
    with pytest.raises(UsageError, match=r"pyproject\.toml would be overwritten"):
        write_starter("pytest", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]


def test_the_classes_of_gradles_starter_are_those_of_mavens(tmp_path: Path) -> None:
    for kind in ("maven", "gradle"):
        write_starter(kind, tmp_path / kind)
    maven, gradle = (
        {path.name: path.read_text() for path in (tmp_path / kind).rglob("*.java")}
        for kind in ("maven", "gradle")
    )
    assert gradle == maven


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("pytest", ["python", "-m", "pytest", "-q"]),
        pytest.param("npm", ["npm", "test"], marks=pytest.mark.needs("npm")),
        pytest.param("go", ["go", "test", "./..."], marks=[pytest.mark.needs("go"), pytest.mark.long]),
        pytest.param("rust", ["cargo", "test", "-q"], marks=[pytest.mark.needs("cargo"), pytest.mark.long]),
        pytest.param("gradle", ["gradle", "test"], marks=[pytest.mark.needs("gradle"), pytest.mark.long]),
        pytest.param("maven", ["mvn", "-q", "test"], marks=[pytest.mark.needs("mvn"), pytest.mark.long]),
    ],
)
def test_a_starters_tests_pass(kind: str, command: list[str], tmp_path: Path) -> None:
    write_starter(kind, tmp_path)
    program = [sys.executable, *command[1:]] if command[0] == "python" else command
    done = subprocess.run(
        program, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
