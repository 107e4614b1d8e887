"""Small projects to start from, one for each test runner that is found by itself."""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from redgreenrefactor.errors import UsageError, some_of
from redgreenrefactor.filesystem import put
from redgreenrefactor.model.values import frozen

KINDS = ("pytest", "npm", "maven", "gradle", "go", "rust")
COMMIT = "git add --all && git commit -m 'chore: a project to start from'"


@frozen
class Starter:
    """What was written, and what has to be typed before the first run."""

    files: tuple[str, ...]
    commands: tuple[str, ...]


def write_starter(kind: str, folder: Path) -> Starter:
    """Write a project with one passing test into a folder; a file in the way is a UsageError, and nothing is written."""
    told: dict[str, Any] = tomllib.loads(
        (files("redgreenrefactor") / "starters" / f"{kind}.toml").read_text("utf-8")
    )
    texts: dict[str, str] = told["files"]
    if there := [path for path in texts if (folder / path).exists()]:
        raise UsageError(
            f"{some_of(there, 3)} would be overwritten", hint="Type 'rgr init --starter' in an empty folder."
        )
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        put(folder / path, text.encode())
    first = (told["first"],) if "first" in told else ()
    return Starter(tuple(texts), (*first, COMMIT, "rgr doctor"))
