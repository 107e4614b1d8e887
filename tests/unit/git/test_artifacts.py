"""What never belongs into a commit, and what only looks like it."""

import fnmatch

import pytest

from redgreenrefactor.git.artifacts import NAMES, PATTERNS, left_out

FILES = frozenset(
    {
        "java/pom.xml",
        "rust/Cargo.toml",
        "gradle/build.gradle",
        "kotlin/build.gradle.kts",
        "Cargo.toml",
        "env/pyvenv.cfg",
        "deep/down/env/pyvenv.cfg",
    }
)


@pytest.mark.parametrize(
    "path",
    [
        *(f"{name}/x" for name in sorted(NAMES)),
        *(f"deep/{name}/down/x" for name in sorted(NAMES)),
        "node_modules",
        "a.pyc",
        "pkg/a.cpython-311.pyc",
        ".pyc",
        "env/bin/python",
        "env/pyvenv.cfg",
        "deep/down/env/lib/x.py",
        "java/target/classes/A.class",
        "rust/target/debug/x",
        "target/debug/x",
        "gradle/build/libs/x.jar",
        "kotlin/build/x",
    ],
)
def test_dependencies_caches_and_outputs_are_left_out(path: str) -> None:
    assert left_out(path, FILES.__contains__)


@pytest.mark.parametrize(
    "path",
    [
        "a.py",
        "node_modules.py",
        "my_node_modules/x",
        ".ideas/x",
        "a.pyc.txt",
        "build/x",
        "build.gradle",
        "rust/build/x",
        "gradle/target/x",
        "other/target/x",
        "rust/src/target.rs",
        "rust/target",  # a file of that name
        "pyvenv.cfg.d/x",
        "environment/x",
    ],
)
def test_honest_files_are_not(path: str) -> None:
    assert not left_out(path, FILES.__contains__)


@pytest.mark.parametrize("name", [*sorted(NAMES), "x.pyc"])
def test_the_patterns_for_git_say_the_same(name: str) -> None:
    assert any(fnmatch.fnmatchcase(name, pattern) for pattern in PATTERNS)
    assert left_out(f"pkg/{name}", lambda _: False)
