"""Glob and Grep: the same answers with ripgrep and without it."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redgreenrefactor.agents.file_tools import clipped
from redgreenrefactor.agents.search import alternatives
from redgreenrefactor.agents.toolbox import Toolbox, ToolResult, shell_in
from redgreenrefactor.errors import InterruptedRunError
from redgreenrefactor.sandbox.process import Interrupt

WITH = {"PATH": os.environ["PATH"]}
needs_ripgrep = pytest.mark.needs("rg")

Call = Callable[..., ToolResult]


def init(root: Path) -> None:
    subprocess.run(["git", "init", "-q", root], check=True)


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which there is a git and no ripgrep."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "cut"):
        (programs / name).symlink_to(shutil.which(name) or "")
    return {"PATH": str(programs)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    tree = {
        "src/a.py": "def foo():\n    return 1\n\n\n\n\ndef bar():\n    return foo()\n",
        "src/b.js": "const Foo = 2\n",
        "crlf.txt": "one foo\r\ntwo\r\n",
        ".hidden/c.yml": "foo: 3\n",
        "x.log": "foo\n",
        "keep.log": "foo\n",
        "build/z.py": "foo\n",
        "src/build/y.py": "foo\n",
        "src/gen/one.py": "foo\n",
        "src/gen/two.py": "foo\n",
        "only/here.tmp": "foo\n",
        "deep/only/here.tmp": "foo\n",
        ".gitignore": "*.log\n!keep.log\nbuild/\n/only\n# a remark\n\nfoo.txt   \n",
        "src/.gitignore": "gen/*\n!gen/two.py\n",
        "foo.txt": "foo\n",
        "latin": b"foo gr\xfc\xdfe\n",
        "binary": b"foo\0foo\n",
        "long": "x" * 3000 + "foo\n",
        "-dash": "foo\n",
        "empty": "",
    }
    for number, (name, content) in enumerate(tree.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.utime(path, (1000 + number, 1000 + number))
    init(root)
    return root


@pytest.fixture
def call(root: Path, without: dict[str, str]) -> Call:
    return called(root, without)


def called(root: Path, env: dict[str, str], limit: float = 60, interrupt: Interrupt | None = None) -> Call:
    shell = shell_in(root, env=env, interrupt=interrupt)
    toolbox = Toolbox(root, shell=shell, env=env, bash_timeout=limit)

    def call(name: str, **arguments: Any) -> ToolResult:
        return toolbox.call(name, arguments)

    return call


QUERIES: tuple[dict[str, Any], ...] = (
    {"pattern": "foo"},
    {"pattern": "foo", "-i": True},
    {"pattern": "foo", "path": "src"},
    {"pattern": "foo", "path": "src/a.py", "output_mode": "content"},
    {"pattern": "foo", "path": "build"},
    {"pattern": "foo", "path": "x.log"},
    {"pattern": "foo", "output_mode": "content"},
    {"pattern": "foo", "output_mode": "content", "-n": False},
    {"pattern": "foo", "output_mode": "content", "-C": 1},
    {"pattern": "foo", "output_mode": "content", "-A": 2, "-B": 0},
    {"pattern": "foo", "output_mode": "content", "context": 1},
    {"pattern": "foo", "output_mode": "content", "context": 2, "-C": 0},
    {"pattern": "fo+|r", "output_mode": "content", "-o": True},
    {"pattern": "foo", "output_mode": "content", "-o": True, "-C": 1, "-n": False},
    {"pattern": "foo", "-o": True},
    {"pattern": "foo", "offset": 3, "head_limit": 2},
    {"pattern": "foo", "output_mode": "content", "offset": 4},
    {"pattern": "foo", "output_mode": "count", "offset": 1, "head_limit": 1},
    {"pattern": "foo", "offset": 1000},
    {"pattern": "foo", "output_mode": "count"},
    {"pattern": "o", "output_mode": "count", "head_limit": 2},
    {"pattern": "foo", "glob": "*.{yml,js}", "-i": True},
    {"pattern": "foo", "glob": "src/*.py,*.yml"},
    {"pattern": "foo", "glob": "!*.py"},
    {"pattern": "foo", "glob": "src/*.py", "path": "src"},
    {"pattern": "foo", "glob": "*.js", "path": "src", "-i": True},
    {"pattern": "foo", "type": "py"},
    {"pattern": r"^\s+return", "output_mode": "content"},
    {"pattern": r"two$", "output_mode": "content"},
    {"pattern": r"\bfoo\b", "output_mode": "content", "head_limit": 3},
    {"pattern": r"[[:digit:]]$", "output_mode": "content"},
    {"pattern": "gr", "output_mode": "content"},
    {"pattern": "-", "path": "-dash"},
    {"pattern": "nowhere at all"},
    {"pattern": "nowhere at all", "output_mode": "content"},
    {"pattern": "x", "path": "empty"},
)


@pytest.mark.sampled(12)
@needs_ripgrep
@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_with_and_without_ripgrep_the_answer_is_the_same(
    root: Path, without: dict[str, str], query: dict[str, Any]
) -> None:
    assert called(root, without)("Grep", **query) == called(root, WITH)("Grep", **query)


def test_files_are_the_newest_first_and_ignored_hidden_git_and_binary_ones_as_with_ripgrep(
    call: Call,
) -> None:
    assert call("Grep", pattern="foo").text.split("\n") == [
        "-dash",
        "long",
        "latin",
        ".gitignore",
        "deep/only/here.tmp",
        "src/gen/two.py",
        "keep.log",
        ".hidden/c.yml",
        "crlf.txt",
        "src/a.py",
    ]


def test_content_comes_with_paths_numbers_and_lines_around(call: Call) -> None:
    assert call("Grep", pattern="foo", path="src", **{"-C": 1}, output_mode="content").text.split("\n") == [
        "src/a.py:1:def foo():",
        "src/a.py-2-    return 1",
        "--",
        "src/a.py-7-def bar():",
        "src/a.py:8:    return foo()",
        "--",
        "src/gen/two.py:1:foo",
    ]


def test_counts_are_summed_up(call: Call) -> None:
    assert call("Grep", pattern="foo", path="src", output_mode="count").text == (
        "src/a.py:2\nsrc/gen/two.py:1\n3 in 2 files"
    )


def test_long_lines_are_cut_and_further_ones_counted(call: Call) -> None:
    assert call("Grep", pattern="xfoo", output_mode="content").text.endswith("x [… 2510 more characters]")
    assert call("Grep", pattern="foo", head_limit=2).text == (
        "-dash\nlong\n[8 more lines; go on with offset=2, narrow the search or raise head_limit]"
    )


def test_lines_are_skipped_by_an_offset(call: Call) -> None:
    first = call("Grep", pattern="foo").text.split("\n")
    assert call("Grep", pattern="foo", offset=7).text.split("\n") == first[7:]
    assert (
        call("Grep", pattern="foo", offset=10).text == "There are only 10 lines; offset 10 is past the last."
    )
    assert call("Grep", pattern="foo", path="src", output_mode="count", offset=1, head_limit=1).text == (
        "src/gen/two.py:1\n3 in 2 files"
    )


def test_only_what_matched_is_told_if_that_is_asked_for(call: Call) -> None:
    def only(pattern: str, **more: Any) -> list[str]:
        told = call("Grep", pattern=pattern, path="src/a.py", output_mode="content", **{"-o": True}, **more)
        return told.text.split("\n")

    assert only(r"\w*o\(") == ["src/a.py:1:foo(", "src/a.py:8:foo("]
    assert only("r|n", **{"-C": 3}) == [
        *("src/a.py:2:r", "src/a.py:2:r", "src/a.py:2:n", "src/a.py:7:r"),
        *("src/a.py:8:r", "src/a.py:8:r", "src/a.py:8:n"),
    ]


def test_a_search_counts_everything_before_it_is_cut(call: Call, root: Path) -> None:
    (root / "many").write_text("needle in a stack of hay\n" * 50_000)
    (root / "form feed").write_text("needle\fneedle\n" * 3)

    found = call("Grep", pattern="needle", output_mode="content").text
    assert found.split("\n")[:4] == [f"form feed:{n}:needle\fneedle" for n in (1, 2, 3)] + [
        "many:1:needle in a stack of hay"
    ]
    assert found.endswith(
        "\n[49753 more lines; go on with offset=250, narrow the search or raise head_limit]"
    )
    last = call("Grep", pattern="needle", output_mode="content", offset=50_002).text
    assert last == "many:50000:needle in a stack of hay"
    assert "[20003 more lines" in call("Grep", pattern="needle", output_mode="content", head_limit=0).text


def test_what_cannot_be_searched_is_refused_with_the_reason(call: Call, tmp_path: Path) -> None:
    for arguments, word in (
        ({"pattern": "("}, "missing closing parenthesis"),
        ({"pattern": "a", "path": "none"}, "does not exist"),
        ({"pattern": "a", "path": ".."}, "leads out"),
        ({"pattern": "a", "path": ".git"}, "git folder"),
        ({"pattern": "a", "type": "cobol"}, "no type 'cobol'"),
        ({"pattern": "a", "type": "py", "glob": "*.py"}, "give one of them"),
        ({"pattern": "a", "multiline": True}, "need ripgrep"),
    ):
        result = call("Grep", **arguments)
        assert result.failed
        assert word in result.text


@needs_ripgrep
def test_ripgreps_own_complaints_are_passed_on(root: Path) -> None:
    for arguments, word in (({"pattern": "("}, "unclosed group"), ({"pattern": "a", "type": "xx"}, "xx")):
        result = called(root, WITH)("Grep", **arguments)
        assert result.failed
        assert word in result.text


def test_a_pattern_that_never_comes_to_an_end_is_ended(root: Path, without: dict[str, str]) -> None:
    shim = Path(without["PATH"]) / "rg"
    shim.write_text("#!/bin/sh\nwhile :; do :; done\n")
    shim.chmod(0o755)

    for tool in ("Grep", "Glob"):
        (shim.parent / "git").unlink(missing_ok=True)
        shutil.copy(shim, shim.parent / "git")
        result = called(root, without, limit=0.2)(tool, pattern="a")

        assert result.failed
        assert "ran past its limit of 0.2 s" in result.text


@needs_ripgrep
def test_matches_over_several_lines_take_ripgrep(root: Path) -> None:
    found = called(root, WITH)("Grep", pattern=r"foo\(\):.*bar", multiline=True, output_mode="content")
    only = {"pattern": r"\(\):.*?1", "multiline": True, "output_mode": "content", "-o": True, "-n": False}

    assert found.text.count("\n") == 6
    assert called(root, WITH)("Grep", **only).text == "src/a.py:():\nsrc/a.py:    return 1"


def test_a_search_can_be_interrupted(root: Path, without: dict[str, str]) -> None:
    interrupt = Interrupt()
    interrupt.request("SIGTERM")

    with pytest.raises(InterruptedRunError):
        called(root, without, interrupt=interrupt)("Grep", pattern="a")
    interrupt.close()


def test_a_ripgrep_that_the_shell_does_not_find_is_done_without(root: Path, without: dict[str, str]) -> None:
    shim = Path(without["PATH"]) / "rg"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)

    assert called(root, without)("Grep", pattern="^two").text == "crlf.txt"


def test_links_out_of_the_workspace_are_not_searched(root: Path, call: Call, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/file").write_text("SECRET")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "filelink").symlink_to(tmp_path / "secret/file")

    assert call("Grep", pattern="SECRET").text == "No files match."
    assert call("Grep", pattern="SECRET", path="link").failed
    assert call("Glob", pattern="link/*").text == "No files match link/*."


# --- Glob


def test_glob_lists_the_newest_first_and_leaves_out_what_git_ignores(call: Call) -> None:
    assert call("Glob", pattern="**/*.py").text == "src/gen/two.py\nsrc/a.py"
    assert call("Glob", pattern="*.py").text == "src/gen/two.py\nsrc/a.py"
    assert call("Glob", pattern="src/*.py").text == "src/a.py"
    assert call("Glob", pattern="*.{js,yml}").text == ".hidden/c.yml\nsrc/b.js"


def test_glob_looks_in_a_folder_even_an_ignored_one(call: Call, root: Path) -> None:
    assert call("Glob", pattern="*.py", path="build").text == "build/z.py"
    assert call("Glob", pattern="gen/*", path=f"{root}/src").text == "src/gen/two.py"
    assert call("Glob", pattern=f"{root}/src/**/*.js").text == "src/b.js"


def test_an_absolute_pattern_means_this_folder_and_none_below(call: Call, root: Path) -> None:
    assert call("Glob", pattern=f"{root}/*.txt").text == "crlf.txt"
    assert call("Glob", pattern=f"{root}/*.py").text == f"No files match {root}/*.py."
    assert call("Glob", pattern=f"{root}/src/*.py").text == "src/a.py"
    assert call("Glob", pattern=f"{root}/**/*.py").text == "src/gen/two.py\nsrc/a.py"


def test_glob_without_a_match_or_folder_says_so(call: Call) -> None:
    assert call("Glob", pattern="*.rs").text == "No files match *.rs."
    assert "does not exist" in call("Glob", pattern="*", path="none").text
    assert "not a folder" in call("Glob", pattern="*", path="long").text
    assert call("Glob", pattern="/etc/*").failed
    assert call("Glob", pattern="../*", path="src").text.startswith("No files match")


def test_glob_bounds_what_it_lists(call: Call, root: Path) -> None:
    for number in range(205):
        (root / f"many{number}.md").touch()

    assert call("Glob", pattern="many*.md").text.endswith("\n[5 more; narrow the pattern]")


def test_what_is_tracked_in_a_submodule_is_listed_and_a_folder_of_it_is_looked_into(
    call: Call, root: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    init(other)
    (other / "inner.rs").touch()
    commit = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
    for words in (("-C", other, "add", "-A"), ("-C", other, *commit)):
        subprocess.run(["git", *words], check=True)
    adding = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub")
    subprocess.run(["git", "-C", root, *adding], check=True)
    (root / "sub/new.rs").touch()

    assert call("Glob", pattern="*.rs").text == "sub/inner.rs"
    assert set(call("Glob", pattern="*.rs", path="sub").text.split("\n")) == {"sub/inner.rs", "sub/new.rs"}


def test_rules_above_the_project_count_up_to_the_repository(tmp_path: Path, without: dict[str, str]) -> None:
    project = tmp_path / "repository/inner/project"
    project.mkdir(parents=True)
    init(tmp_path / "repository")
    (tmp_path / ".gitignore").write_text("*\n")
    (tmp_path / "repository/.gitignore").write_text("inner/project/secret.txt\n*.o\n")
    (tmp_path / "repository/inner/.gitignore").write_text("!kept.o\n")
    for name in ("secret.txt", "a.o", "kept.o", "b.c"):
        (project / name).touch()

    assert sorted(called(project, without)("Glob", pattern="*").text.split("\n")) == ["b.c", "kept.o"]


def test_outside_a_repository_git_says_what_is_amiss(tmp_path: Path, without: dict[str, str]) -> None:
    for tool in ("Glob", "Grep"):
        assert "not a git repository" in called(tmp_path, without)(tool, pattern="a").text


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a/b/c.py", True),
        ("{root}/*.py", "c.py", True),
        ("{root}/*.py", "a/c.py", False),
        ("a/**/c", "a/c", True),
        ("a/**/c", "a/b/b/c", True),
        ("a/**", "a/b/c", True),
        ("**/b/*", "a/b/c", True),
        ("**", "a/b", True),
        ("a[^x]c", "abc", True),
        ("a[!b]c", "abc", False),
        (r"a\*", "a*", True),
        (r"a\*", "ab", False),
        ("./a/?", "a/b", True),
        ("a/*", "a/b/c", False),
    ],
)
def test_patterns_mean_what_they_mean_to_git(
    tmp_path: Path, without: dict[str, str], pattern: str, path: str, fits: bool
) -> None:
    root = tmp_path / "root"
    init(root)
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).touch()

    found = called(root, without)("Glob", pattern=pattern.format(root=root))

    assert (found.text == path) is fits, found.text


def test_braces_stand_for_each_of_their_choices() -> None:
    assert set(alternatives("a{b,c{d,e}}")) == {"ab", "acd", "ace"}
    assert alternatives("*.{js,ts}") == ["*.js", "*.ts"]
    assert alternatives("a{b") == ["a{b"]
    assert len(alternatives("{a,b}" * 40)) < 1000


def test_what_is_too_long_keeps_head_and_tail() -> None:
    text = "\n".join(f"line {number}" for number in range(1000))

    short = clipped(text, 1000)

    assert len(short.encode()) <= 1000
    assert short.startswith("line 0\nline 1\n")
    assert short.endswith("\nline 998\nline 999")
    assert "bytes left out" in short
    assert clipped("ü" * 10_000, 999).count("ü") > 300
    assert clipped("short") == "short"
