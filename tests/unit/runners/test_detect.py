"""Which command runs a project's tests."""

import json
from pathlib import Path

import pytest

from redgreenrefactor.runners.detect import detect, is_python_only

NPM = json.dumps({"scripts": {"test": "jest"}})
PLACEHOLDER = json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})


def lay(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("pom.xml", "<dependency><artifactId>junit-jupiter</artifactId></dependency>", "mvn test"),
        ("pom.xml", "<groupId>org.JUnit</groupId>", "mvn test"),
        ("build.gradle", "", "./gradlew test"),
        ("build.gradle.kts", "", "./gradlew test"),
        ("package.json", NPM, "npm test"),
        ("pytest.ini", "", "pytest"),
        ("pyproject.toml", "not even toml [", "pytest"),
        ("setup.py", "", "pytest"),
        ("go.mod", "module x", "go test ./..."),
        ("Cargo.toml", "", "cargo test"),
    ],
)
def test_a_build_file_tells_the_command(tmp_path: Path, name: str, text: str, command: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert detect(tmp_path) == command


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pom.xml", "<project/>"),
        ("package.json", "{}"),
        ("package.json", PLACEHOLDER),
        ("package.json", '{"scripts": {"test": " "}}'),
        ("package.json", '{"scripts": {"test": 3}}'),
        ("package.json", '{"scripts": ["test"]}'),
        ("package.json", '["scripts"]'),
        ("package.json", "{nonsense"),
        ("package.json", "[" * 100_000),
        ("README.md", "pytest"),
    ],
)
def test_files_that_tell_nothing_of_tests_are_no_match(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert detect(tmp_path) is None


def test_the_first_match_of_the_table_wins(tmp_path: Path) -> None:
    order = ["Cargo.toml", "go.mod", "setup.py", "package.json", "build.gradle", "pom.xml"]
    found: list[str | None] = []
    for name in order:
        (tmp_path / name).write_text(NPM if name == "package.json" else "junit", encoding="utf-8")
        found.append(detect(tmp_path))
    assert found == ["cargo test", "go test ./...", "pytest", "npm test", "./gradlew test", "mvn test"]


def test_npms_placeholder_does_not_hide_what_comes_after_it(tmp_path: Path) -> None:
    assert detect(lay(tmp_path, package__json=PLACEHOLDER, setup__py="")) == "pytest"


def test_bytes_that_are_no_text_are_no_match(tmp_path: Path) -> None:
    for name in ("pom.xml", "package.json"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00\xff")
    assert detect(tmp_path) is None


def test_a_folder_in_place_of_a_file_is_no_match(tmp_path: Path) -> None:
    for name in ("pom.xml", "package.json", "pyproject.toml", "go.mod"):
        (tmp_path / name).mkdir()
    assert detect(tmp_path) is None


def test_a_project_that_is_not_there_has_no_command(tmp_path: Path) -> None:
    assert detect(tmp_path / "nowhere") is None


def test_a_project_is_pythons_alone_if_no_other_file_tells_of_tests(tmp_path: Path) -> None:
    assert not is_python_only(tmp_path)
    assert is_python_only(lay(tmp_path, setup__py="", package__json=PLACEHOLDER))
    assert not is_python_only(lay(tmp_path, Cargo__toml=""))
