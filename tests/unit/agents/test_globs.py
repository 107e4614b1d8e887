"""Patterns of paths, what they leave out, and what is left out of long texts."""

from pathlib import Path

import pytest

from redgreenrefactor.agents.clipping import clipped
from redgreenrefactor.agents.files import Files
from redgreenrefactor.agents.globs import Glob, alternatives
from redgreenrefactor.agents.grep import listed


def test_rules_above_the_project_count_up_to_the_repository(tmp_path: Path) -> None:
    project = tmp_path / "repository/inner/project"
    project.mkdir(parents=True)
    (tmp_path / "repository/.git").mkdir()
    (tmp_path / ".gitignore").write_text("*\n")
    (tmp_path / "repository/.gitignore").write_text("inner/project/secret.txt\n*.o\n")
    (tmp_path / "repository/inner/.ignore").write_text("!kept.o\n")
    for name in ("secret.txt", "a.o", "kept.o", "b.c"):
        (project / name).touch()

    assert [seen.path for seen in listed(Files(project), ".")] == ["b.c", "kept.o"]


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a/b/c.py", True),
        ("/*.py", "c.py", True),
        ("/*.py", "a/c.py", False),
        ("a/**/c", "a/c", True),
        ("a/**/c", "a/b/b/c", True),
        ("a/**", "a", False),
        ("a/**", "a/b/c", True),
        ("**/b/*", "a/b/c", True),
        ("**", "a/b", True),
        ("a[^x]c", "abc", True),
        ("a[!b]c", "abc", False),
        (r"a\*", "a*", True),
        (r"a\*", "ab", False),
        ("./a/?", "a/b", True),
        ("a/b", "a/b/c", False),
    ],
)
def test_patterns_mean_what_they_mean_to_git(pattern: str, path: str, fits: bool) -> None:
    assert Glob.of(pattern).matches(path.split("/")) is fits


def test_no_pattern_takes_long() -> None:
    assert not Glob.of("/".join(["**", "*a*a*a*a*a*b"] * 20)).matches(["a" * 200] * 40)
    assert len(alternatives("{a,b}" * 40)) < 1000


def test_braces_stand_for_each_of_their_choices() -> None:
    assert set(alternatives("a{b,c{d,e}}")) == {"ab", "acd", "ace"}
    assert alternatives("*.{js,ts}") == ["*.js", "*.ts"]
    assert alternatives("a{b") == ["a{b"]


def test_what_is_too_long_keeps_head_and_tail() -> None:
    text = "\n".join(f"line {number}" for number in range(1000))

    short = clipped(text, 1000)

    assert len(short.encode()) <= 1000
    assert short.startswith("line 0\nline 1\n")
    assert short.endswith("\nline 998\nline 999")
    assert "bytes left out" in short
    assert clipped("ü" * 10_000, 999).count("ü") > 300
    assert clipped("short") == "short"
