"""Which command runs a project's tests, told from the files it has."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from redgreenrefactor.filesystem import text_of
from redgreenrefactor.model.codec import json_in, json_object

ReadFile = Callable[[str], str | None]  # the text of a file of the project, None where there is no such file
_PLACEHOLDER = 'echo "Error: no test specified" && exit 1'  # what `npm init` writes
_PYTHON = ("pytest.ini", "pyproject.toml", "setup.py")


def detect(project: Path) -> str | None:
    """Return the command of the first build file that is there and has to do with tests, or None."""
    return detect_in(partial(_text, project))


def detect_in(read: ReadFile) -> str | None:
    """Return the same of a project whose files are read in some other way: as a commit holds them."""
    return next((command for command, applies in _TABLE if applies(read)), None)


def is_python_only(project: Path) -> bool:
    """Tell whether nothing but Python's files speaks of tests."""
    return [command for command, applies in _TABLE if applies(partial(_text, project))] == ["pytest"]


def _has(*names: str) -> Callable[[ReadFile], bool]:
    return lambda read: any(read(name) is not None for name in names)


def _has_junit(read: ReadFile) -> bool:
    return "junit" in (read("pom.xml") or "").lower()


def _has_npm_test(read: ReadFile) -> bool:
    package = json_object(json_in(read("package.json") or ""))
    script = json_object(package.get("scripts")).get("test")
    return isinstance(script, str) and script.strip() not in ("", _PLACEHOLDER)


def _text(project: Path, name: str) -> str | None:
    return text_of(project / name) if (project / name).is_file() else None


_TABLE: tuple[tuple[str, Callable[[ReadFile], bool]], ...] = (
    ("mvn test", _has_junit),
    ("./gradlew test", _has("build.gradle", "build.gradle.kts")),
    ("npm test", _has_npm_test),
    ("pytest", _has(*_PYTHON)),
    ("go test ./...", _has("go.mod")),
    ("cargo test", _has("Cargo.toml")),
)
