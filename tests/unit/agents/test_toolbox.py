"""The six tools, called as a model calls them."""

import json
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redgreenrefactor.agents.schemas import TOOLS
from redgreenrefactor.agents.toolbox import Toolbox, ToolResult, shell_in
from redgreenrefactor.model.session import TOOLS as NAMES

ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}

Call = Callable[..., ToolResult]


@pytest.fixture
def call(tmp_path: Path) -> Generator[Call]:
    toolbox = Toolbox(tmp_path, shell=shell_in(tmp_path, env=ENV), env=ENV, bash_timeout=60)

    def call(name: str, **arguments: Any) -> ToolResult:
        return toolbox.call(name, arguments)

    yield call
    toolbox.close()


def refused(result: ToolResult, *words: str) -> None:
    assert result.failed
    for word in words:
        assert word in result.text


# --- schemas and arguments


def test_there_are_six_tools_and_what_is_said_about_them_is_short() -> None:
    assert tuple(tool.name for tool in TOOLS) == NAMES
    said = json.dumps([[tool.name, tool.description, tool.parameters] for tool in TOOLS])
    assert len(said) < 3600  # at three characters a token: 1,200


def test_a_tool_that_does_not_exist_is_told_with_those_that_do(call: Call) -> None:
    refused(call("Delete"), "no tool 'Delete'", "Read, Write, Edit, Bash, Glob, Grep")


@pytest.mark.parametrize("arguments", [None, [], "file_path", 3])
def test_arguments_that_are_no_object_are_refused(tmp_path: Path, arguments: Any) -> None:
    toolbox = Toolbox(tmp_path, shell=shell_in(tmp_path, env=ENV), env=ENV)
    refused(toolbox.call("Read", arguments), "takes an object", "file_path")


def test_what_is_missing_unknown_or_of_another_kind_is_named(call: Call) -> None:
    refused(call("Read"), "needs file_path")
    refused(call("Read", file_path=None), "needs file_path")
    refused(call("Read", path="a"), "needs file_path", "no parameter 'path'")
    refused(call("Read", file_path=["a"]), "file_path is not a text")
    refused(call("Read", file_path="a", offset="first"), "offset is not a whole number")
    refused(call("Read", file_path="a", offset=1.5), "offset is not a whole number")
    refused(call("Read", file_path="a", offset=True), "offset is not a whole number")
    refused(call("Edit", file_path="a", old_string="a", new_string="b", replace_all="all"), "true or false")
    refused(call("Grep", pattern="a", output_mode="lines"), "one of files_with_matches, content, count")


def test_a_parameter_that_does_not_exist_is_told_and_the_call_is_done_all_the_same(
    call: Call, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("one\n")

    read = call("Read", file_path="a", page=2)
    assert read == ToolResult(
        "     1\tone\n[Read has no parameter 'page'; it was ignored. It has file_path, offset, limit]"
    )
    ran = call("Bash", command="exit 3", run_in_background=True, shell="zsh")
    refused(ran, "[exit code 3]\n[Bash has no parameters 'run_in_background', 'shell'; they were ignored.")
    assert call("Write", file_path="b", content="x", mode=None).text == "Created b (1 lines)."


def test_numbers_and_flags_may_come_as_texts(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\none\n")

    assert call("Read", file_path="a", offset="2", limit=1.0).text.startswith("     2\ttwo")
    assert not call("Edit", file_path="a", old_string="one", new_string="x", replace_all="true").failed
    assert (tmp_path / "a").read_text() == "x\ntwo\nx\n"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from([name for tool in TOOLS if tool.name != "Bash" for name in tool.known]) | st.text()


@given(
    st.sampled_from(["Read", "Write", "Edit", "Glob"]),
    st.dictionaries(KEYS, JSON | st.sampled_from(["a.txt", ".", "..", "/", "d/x", "**/*", "[", "{a,b", "~"])),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nonsense_never_raises_and_never_leaves_the_folder(
    tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    root = tmp_path / "outer/root"
    root.mkdir(parents=True, exist_ok=True)
    toolbox = Toolbox(root, shell=shell_in(root, env=ENV), env=ENV)

    result = toolbox.call(name, arguments)

    assert isinstance(result, ToolResult)
    assert [path.name for path in root.parent.iterdir()] == ["root"]
    toolbox.close()


# --- Read


def test_lines_are_numbered(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\nthree\n")

    assert call("Read", file_path=f"{tmp_path}/a.txt") == ToolResult("     1\tone\n     2\t\n     3\tthree")


def test_only_line_feeds_end_lines(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("a\fb\u2028c\r\nd\re".encode())

    assert call("Read", file_path="a.txt").text == "     1\ta\fb\u2028c\n     2\td\re"


def test_a_page_says_how_to_go_on(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 5001)))

    first = call("Read", file_path="a.txt").text
    assert first.endswith(
        "  1999\tline 1999\n  2000\tline 2000\n[lines 1 to 2000 of 5000; go on with offset=2001]"
    )
    some = call("Read", file_path="a.txt", offset=4998, limit=2).text
    assert (
        some == "  4998\tline 4998\n  4999\tline 4999\n[lines 4998 to 4999 of 5000; go on with offset=5000]"
    )
    assert call("Read", file_path="a.txt", offset=5000).text == "  5000\tline 5000"
    refused(call("Read", file_path="a.txt", offset=5001), "only 5000 lines")


def test_a_page_is_bounded_in_bytes_and_lines_in_characters(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(("ü" * 3000 + "\n") * 50)

    text = call("Read", file_path="a.txt").text

    assert len(text.encode()) < 61_000
    assert "1000 more characters" in text
    assert "go on with offset=" in text


def test_an_empty_file_is_said_to_be_empty(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()

    assert call("Read", file_path="a.txt") == ToolResult("a.txt is empty.")


def test_what_is_not_utf_8_is_shown_as_far_as_it_goes(call: Call, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"gr\xfc\xdfe\n")
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbfone")
    (tmp_path / "wide").write_bytes("größe\r\n".encode("utf-16"))

    assert call("Read", file_path="latin").text == "     1\tgr\ufffd\ufffde"
    assert call("Read", file_path="marked").text == "     1\tone"
    assert call("Read", file_path="wide").text == "     1\tgröße"


def test_binary_huge_and_missing_files_and_folders_are_told_apart(call: Call, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(3_000_000_000)
    (tmp_path / "folder/inner").mkdir(parents=True)
    (tmp_path / "folder/roman.py").touch()

    refused(call("Read", file_path="binary"), "binary file of 6 bytes")
    refused(call("Read", file_path="huge"), "3000000000 bytes", "Grep")
    refused(call("Read", file_path="folder"), "is a folder", "inner/, roman.py")
    refused(call("Read", file_path="folder/romans.py"), "does not exist", "did you mean roman.py?")
    refused(call("Read", file_path="none/at/all"), "does not exist")
    refused(call("Read", file_path="folder/roman.py/x"), "does not exist")
    refused(call("Read", file_path="x" * 300), "File name too long")
    refused(call("Read", file_path="\ud800"), "cannot do that")


# --- Write


def test_write_puts_exactly_this_into_the_file(call: Call, tmp_path: Path) -> None:
    assert call("Write", file_path="a/b.txt", content="größer\r\n").text == "Created a/b.txt (1 lines)."
    assert (tmp_path / "a/b.txt").read_bytes() == "größer\r\n".encode()
    assert call("Write", file_path="a/b.txt", content="").text == "Replaced a/b.txt (0 lines)."
    assert (tmp_path / "a/b.txt").read_bytes() == b""


def test_write_refuses_what_it_cannot_write(call: Call, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    refused(call("Write", file_path="folder", content="x"), "is a folder")
    refused(call("Write", file_path="../x", content="x"), "leads out")
    refused(call("Write", file_path="/etc/x", content="x"), "outside", str(tmp_path))
    refused(call("Write", file_path="x", content="\ud800"), "half a character")
    assert not (tmp_path / "x").exists()


# --- Edit


def test_edit_keeps_permissions_marks_and_line_ends(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    file.chmod(0o750)

    assert not call("Edit", file_path="a.txt", old_string="one\ntwo", new_string="1\n2\n2b").failed
    assert not call("Edit", file_path="a.txt", old_string="three", new_string="3\n4").failed
    assert file.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n2b\r\n3\r\n4\r\n"
    assert file.stat().st_mode & 0o777 == 0o750


def test_edit_in_a_file_with_both_line_ends_follows_the_place(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\r\nb\r\nc\nd\n")

    call("Edit", file_path="a.txt", old_string="a\nb", new_string="A\nB")
    call("Edit", file_path="a.txt", old_string="c\nd", new_string="C\nD")

    assert (tmp_path / "a.txt").read_bytes() == b"A\r\nB\r\nC\nD\n"


def test_edit_keeps_bytes_that_are_not_utf_8_and_mixes_no_encodings(call: Call, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"gr\xfc\xdfe = 1\n")
    (tmp_path / "wide").write_bytes("größe = 1\r\n".encode("utf-16"))

    assert not call("Edit", file_path="latin", old_string="= 1", new_string="= 2").failed
    refused(call("Edit", file_path="latin", old_string="= 2", new_string="= ü"), "not UTF-8", "only ASCII")
    assert not call("Edit", file_path="wide", old_string="größe = 1\n", new_string="Größe\n= 2\n").failed
    assert (tmp_path / "latin").read_bytes() == b"gr\xfc\xdfe = 2\n"
    assert (tmp_path / "wide").read_bytes() == "Größe\r\n= 2\r\n".encode("utf-16")


def test_edit_of_what_occurs_more_than_once_tells_where(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 1\n\nz = 1\n")

    refused(
        call("Edit", file_path="a.py", old_string="= 1", new_string="= 2"),
        "3 times",
        "1, 2, 4",
        "replace_all",
    )
    assert (tmp_path / "a.py").read_text() == "x = 1\ny = 1\n\nz = 1\n"
    done = call("Edit", file_path="a.py", old_string="= 1", new_string="= 2", replace_all=True)
    assert done.text == "Edited a.py, lines 1, 2, 4:\n     1\tx = 2\n     2\ty = 2\n     3\t\n     4\tz = 2"
    assert (tmp_path / "a.py").read_text() == "x = 2\ny = 2\n\nz = 2\n"


def test_edit_shows_the_result_with_the_numbers_it_has_now(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"".join(b"line %d\r\n" % number for number in range(1, 101)))

    longer = call("Edit", file_path="a.py", old_string="line 10\n", new_string="ten\nten and a half\n")
    assert longer.text == "Edited a.py, line 10:\n" + "\n".join(
        f"{number:6}\t{line}"
        for number, line in enumerate(["line 8", "line 9", "ten", "ten and a half", "line 11", "line 12"], 8)
    )
    gone = call("Edit", file_path="a.py", old_string="line 99\nline 100\n", new_string="")
    assert gone.text == "Edited a.py, line 100:\n    98\tline 97\n    99\tline 98"
    every = call("Edit", file_path="a.py", old_string="line", new_string="LINE", replace_all=True).text
    assert every.startswith("Edited a.py, lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14 and 85 more:\n     1\t")
    assert every.endswith("\n    12\tLINE 11\n…")
    far = call("Edit", file_path="a.py", old_string="1\r\n", new_string="1!\n", replace_all=True).text
    assert "     3\tLINE 3\n…\n    10\tten\n" in far
    whole = call("Edit", file_path="a.py", old_string="ten\n", new_string="x" * 900 + "\n").text
    assert "more characters]" in whole
    assert len(whole) < 1000


def test_an_edit_that_leaves_nothing_says_so(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")

    assert (
        call("Edit", file_path="a.py", old_string="x", new_string="").text
        == "Edited a.py, line 1; it is empty now."
    )


def test_edit_of_what_is_not_there_shows_what_is(call: Call, tmp_path: Path) -> None:
    text = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
    (tmp_path / "a.py").write_text(text)

    spaced = call("Edit", file_path="a.py", old_string="def two():\n  return 2", new_string="x")
    refused(spaced, "whitespace only", "     5\tdef two():\n     6\t    return 2")
    near = call("Edit", file_path="a.py", old_string="def too(x):\n    return 2", new_string="x")
    refused(near, "nearest passage", "     5\tdef two():")
    refused(
        call("Edit", file_path="a.py", old_string="class Other:", new_string="x"),
        "nothing in it is like that",
    )
    refused(call("Edit", file_path="a.py", old_string="\n\n\n\n", new_string="x"), "not in a.py")
    refused(call("Edit", file_path="a.py", old_string="one", new_string="one"), "the same")
    assert (tmp_path / "a.py").read_text() == text


def test_edit_of_nothing_makes_a_new_file_only(call: Call, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "full").write_text("x")

    assert call("Edit", file_path="new", old_string="", new_string="a").text == "Created new."
    assert not call("Edit", file_path="empty", old_string="", new_string="a").failed
    refused(call("Edit", file_path="full", old_string="", new_string="a"), "old_string is empty")
    assert [(tmp_path / name).read_text() for name in ("new", "empty", "full")] == ["a", "a", "x"]


def test_edit_of_missing_or_binary_files_is_refused(call: Call, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"a\0b")

    refused(call("Edit", file_path="none", old_string="a", new_string="b"), "does not exist")
    refused(call("Edit", file_path="binary", old_string="a", new_string="b"), "binary")
    refused(call("Edit", file_path=".git/config", old_string="a", new_string="b"), "git folder")


def test_what_is_locked_in_a_phase_is_not_written_and_the_reason_is_told(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").write_text("a")
    (tmp_path / "alias").symlink_to("tests")

    def locked(path: str) -> str:
        tests = path.startswith("tests/") or path.endswith("_test.go")
        return "the tests stand; change the code" if tests else ""

    toolbox = Toolbox(tmp_path, shell=shell_in(tmp_path, env=ENV), env=ENV, locked=locked)

    for path in ("tests/test_a.py", f"{tmp_path}/tests/new/x.py", "src/a_test.go", "alias/test_a.py"):
        refused(
            toolbox.call("Write", {"file_path": path, "content": "b"}), "the tests stand; change the code"
        )
    edit = {"file_path": "alias/test_a.py", "old_string": "a", "new_string": "b"}
    refused(toolbox.call("Edit", edit), "tests/test_a.py may not be written now")
    assert not toolbox.call("Write", {"file_path": "src/a.py", "content": "b"}).failed
    assert toolbox.call("Read", {"file_path": "alias/test_a.py"}).text == "     1\ta"
    assert (tmp_path / "tests/test_a.py").read_text() == "a"
