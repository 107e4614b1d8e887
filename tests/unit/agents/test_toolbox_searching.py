"""Glob and Grep: the same answers with ripgrep and without it."""

import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redgreenrefactor.agents.files import Files
from redgreenrefactor.agents.globs import alternatives
from redgreenrefactor.agents.grep import Query, asked, main, search
from redgreenrefactor.agents.toolbox import Toolbox, ToolResult, shell_in
from redgreenrefactor.errors import InterruptedRunError
from redgreenrefactor.sandbox.process import Interrupt

WITH = {"PATH": os.environ["PATH"]}
needs_ripgrep = pytest.mark.needs("rg")

Call = Callable[..., ToolResult]


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which there is a bash and no ripgrep."""
    programs = tmp_path / "programs"
    programs.mkdir()
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
        ".git/config": "foo\n",
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
    return root


@pytest.fixture
def call(root: Path, without: dict[str, str]) -> Call:
    return called(root, without)


def called(root: Path, env: dict[str, str], limit: float = 60, interrupt: Interrupt | None = None) -> Call:
    toolbox = Toolbox(root, shell=shell_in(root, env=env), env=env, bash_timeout=limit, interrupt=interrupt)

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
    {"pattern": r"foo\(\):.*?1", "output_mode": "content", "-o": True, "multiline": True},
    {"pattern": "foo", "-o": True},
    {"pattern": "foo", "offset": 3, "head_limit": 2},
    {"pattern": "foo", "output_mode": "content", "offset": 4},
    {"pattern": "foo", "output_mode": "count", "offset": 1, "head_limit": 1},
    {"pattern": "foo", "offset": 1000},
    {"pattern": "foo", "output_mode": "count"},
    {"pattern": "o", "output_mode": "count", "head_limit": 2},
    {"pattern": "foo", "glob": "*.log"},
    {"pattern": "foo", "glob": "*.{py,js}", "-i": True},
    {"pattern": "foo", "glob": "src/**/*.py,*.yml"},
    {"pattern": "foo", "glob": "!*.py"},
    {"pattern": "foo", "type": "py"},
    {"pattern": r"foo\(\):.*bar", "multiline": True, "output_mode": "content"},
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
    assert only("r|n|", **{"-C": 3}) == [
        *("src/a.py:2:r", "src/a.py:2:r", "src/a.py:2:n", "src/a.py:7:r"),
        *("src/a.py:8:r", "src/a.py:8:r", "src/a.py:8:n"),
    ]
    assert only(r"\(\):.*?1", multiline=True, **{"-n": False}) == ["src/a.py:():", "src/a.py:    return 1"]


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
        ({"pattern": "("}, "regular expression"),
        ({"pattern": "a", "path": "none"}, "does not exist"),
        ({"pattern": "a", "path": ".."}, "leads out"),
        ({"pattern": "a", "path": ".git"}, "git folder"),
        ({"pattern": "a", "type": "cobol"}, "no type 'cobol'"),
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
    (root / "trap").write_text("a" * 60 + "b\n")

    result = called(root, without, limit=1)("Grep", pattern="(a+)+$", path="trap")

    assert result.failed
    assert "ran past its limit of 1 s" in result.text


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
    os.link(tmp_path / "secret/file", root / "hard")

    assert call("Grep", pattern="SECRET").text == "No files match."
    assert call("Grep", pattern="SECRET", path="link").failed
    assert call("Grep", pattern="SECRET", path="hard").failed
    assert call("Glob", pattern="link/*").text == "No files match link/*."


# --- the own search, in this process


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_the_own_search_answers_in_lines(root: Path, query: dict[str, Any]) -> None:
    told = Query.of(
        pattern=query["pattern"],
        path=query.get("path", "."),
        globs=[
            each
            for one in re.split(",(?![^{]*})", query.get("glob", ""))
            for each in alternatives(one)
            if each
        ],
        names=["*.py"] * ("type" in query),
        mode=query.get("output_mode", "files_with_matches"),
        ignore_case="-i" in query,
        numbers=query.get("-n", True),
        before=query.get("-C", 0),
        after=query.get("-A", 0),
        only="-o" in query,
        multiline="multiline" in query,
    )

    lines = list(search(Files(root), told))

    assert bool(lines) == ("nowhere" not in query["pattern"] and query.get("path") not in ("empty", "-dash"))
    assert not [line for line in lines if ".git/config" in line]


def test_named_groups_and_look_behinds_are_told_apart(root: Path) -> None:
    assert list(search(Files(root), Query(r"^(?<name>t)wo(?<=wo)(?<!x)"))) == ["crlf.txt"]


def test_the_own_search_is_a_program(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = Files(root)
    monkeypatch.setattr("sys.stdin", io.StringIO(asked(files, Query("two$", mode="content")).decode()))
    main()
    assert capsys.readouterr().out == "crlf.txt:2:two\n"

    monkeypatch.setattr("sys.stdin", io.StringIO(asked(files, Query("(")).decode()))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "regular expression" in capsys.readouterr().err


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
