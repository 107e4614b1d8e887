"""What a session did to repositories and virtual environments among ignored files is told of, and not run by us later."""

import json
from pathlib import Path

import pytest

from redgreenrefactor.git.nested import NestedChange, changed_environments, changed_since, note_environments


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment in a checkout, as a user made it."""
    place = tmp_path / ".venv"
    packages = place / "lib/python3.11/site-packages"
    for name in ("_pytest", "pytest", "other", "__pycache__"):
        (packages / name).mkdir(parents=True)
    (place / "bin").mkdir()
    for name in ("pyvenv.cfg", "bin/python3", "bin/pytest", "lib/python3.11/site-packages/_pytest/main.py"):
        (place / name).write_text("")
    return place


def later(place: Path) -> int:
    """Return a moment after everything that lies there was written."""
    newest = max(path.lstat().st_ctime_ns for path in place.rglob("*"))
    return newest + 1


def until(moment: int, file: Path, text: str) -> None:
    """Write a file again and again until the kernel's clock has got there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    while file.stat().st_ctime_ns < moment:
        file.write_text(text)


@pytest.mark.parametrize(
    ("file", "steers"),
    [
        ("pyvenv.cfg", True),
        ("bin/python3", True),
        ("bin/pytest", True),
        ("lib/python3.11/site-packages/_pytest/main.py", True),
        ("lib/python3.11/site-packages/sitecustomize.py", True),
        ("lib/python3.11/site-packages/other/code.py", False),
        ("bin/black", False),
    ],
)
def test_an_environment_whose_runner_is_another_one_is_told_from_one_with_more_packages(
    environment: Path, file: str, *, steers: bool
) -> None:
    moment = later(environment)
    assert changed_since(environment.parent, [".venv/"], moment) == ()
    until(moment, environment / file, "import os\n")
    (change,) = changed_since(environment.parent, [".venv/"], moment)
    assert (change.owner, change.steers) == (Path(".venv"), steers)
    assert change.told.startswith(f"the virtual environment .venv was changed during the session ({file})")


def test_byte_code_is_nobodys_change(environment: Path) -> None:
    moment = later(environment)
    until(moment, environment / "lib/python3.11/site-packages/__pycache__/x.pyc", "")
    assert changed_since(environment.parent, [".venv/"], moment) == ()


def test_a_hook_planted_into_a_nested_clone_is_told(tmp_path: Path) -> None:
    (tmp_path / "vendor/lib/.git/hooks").mkdir(parents=True)
    moment = later(tmp_path)
    until(moment, tmp_path / "vendor/lib/.git/hooks/pre-commit", "evil")
    (change,) = changed_since(tmp_path, ["vendor/"], moment)
    assert (change.owner, change.steers) == (Path("vendor/lib"), False)
    assert change.told.startswith("the repository vendor/lib was changed")


def test_environments_that_are_not_the_users_any_more_are_remembered(tmp_path: Path) -> None:
    assert changed_environments(tmp_path) == {}
    note_environments(tmp_path, [NestedChange(Path("a"), "", steers=False)])
    assert list(tmp_path.iterdir()) == []
    note_environments(tmp_path, [NestedChange(Path(".venv"), "", steers=True)])
    note_environments(tmp_path, [NestedChange(Path("venv"), "", steers=True)])
    assert set(changed_environments(tmp_path)) == {".venv", "venv"}
    for rubbish in ("[]", "{", json.dumps("x")):
        (tmp_path / "changed-environments.json").write_text(rubbish)
        assert changed_environments(tmp_path) == {}
