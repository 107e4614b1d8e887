"""Which command runs a project's tests, told from the files it has."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

_PLACEHOLDER = 'echo "Error: no test specified" && exit 1'  # what `npm init` writes
_PYTHON = ("pytest.ini", "pyproject.toml", "setup.py")


def detect(project: Path) -> str | None:
    """Return the command of the first build file that is there and has to do with tests, or None."""
    return next((command for command, applies in _TABLE if applies(project)), None)


def is_python_only(project: Path) -> bool:
    """Tell whether nothing but Python's files speaks of tests."""
    return [command for command, applies in _TABLE if applies(project)] == ["pytest"]


def _has(*names: str) -> Callable[[Path], bool]:
    return lambda project: any((project / name).is_file() for name in names)


def _has_junit(project: Path) -> bool:
    return "junit" in _text(project / "pom.xml").lower()


def _has_npm_test(project: Path) -> bool:
    try:
        package: Any = json.loads(_text(project / "package.json"))
    except (ValueError, RecursionError):
        return False
    scripts: Any = cast("dict[str, Any]", package).get("scripts") if isinstance(package, dict) else None
    script: Any = cast("dict[str, Any]", scripts).get("test") if isinstance(scripts, dict) else None
    return isinstance(script, str) and script.strip() not in ("", _PLACEHOLDER)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


_TABLE: tuple[tuple[str, Callable[[Path], bool]], ...] = (
    ("mvn test", _has_junit),
    ("./gradlew test", _has("build.gradle", "build.gradle.kts")),
    ("npm test", _has_npm_test),
    ("pytest", _has(*_PYTHON)),
    ("go test ./...", _has("go.mod")),
    ("cargo test", _has("Cargo.toml")),
)
