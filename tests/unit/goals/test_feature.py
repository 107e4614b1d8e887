"""A feature comes from exactly one place, and is usable text."""

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from redgreenrefactor.errors import UsageError
from redgreenrefactor.goals.text_file import read_feature


def unasked() -> str:
    pytest.fail("standard input was read though nobody asked for it")


def says(text: str) -> Callable[[], str]:
    return lambda: text


def refusal(words: str | None, file: Path | None, stdin: Callable[[], str] = unasked) -> UsageError:
    with pytest.raises(UsageError) as caught:
        read_feature(words, file, stdin)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return caught.value


def written(folder: Path, content: bytes) -> Path:
    file = folder / "feature.md"
    file.write_bytes(content)
    return file


def test_the_argument_is_the_feature() -> None:
    assert read_feature("a stack of numbers", None, unasked) == "a stack of numbers"


def test_a_file_holds_the_feature(tmp_path: Path) -> None:
    assert (
        read_feature(None, written(tmp_path, b"# Stack\n\nof numbers\n"), unasked) == "# Stack\n\nof numbers"
    )


@pytest.mark.parametrize(("words", "file"), [("-", None), (None, Path("-"))])
def test_a_dash_stands_for_standard_input(words: str | None, file: Path | None) -> None:
    assert read_feature(words, file, says("a stack\n")) == "a stack"


def test_a_file_whose_name_only_begins_with_a_dash_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-x").write_text("a stack", encoding="utf-8")
    assert read_feature(None, Path("-x"), unasked) == "a stack"


def test_a_byte_order_mark_and_foreign_line_ends_are_taken_away(tmp_path: Path) -> None:
    file = written(tmp_path, "\ufeff  größer\r\nals ✓\r\n".encode())
    assert read_feature(None, file, unasked) == "größer\nals ✓"


def test_a_feature_of_a_megabyte_works(tmp_path: Path) -> None:
    long = "ä" * 500_000 + "z"
    assert read_feature(None, written(tmp_path, long.encode()), unasked) == long
    assert read_feature("-", None, says(long)) == long


def test_no_feature_is_refused() -> None:
    error = refusal(None, None)
    assert "No feature" in error.message
    assert "rgr run" in error.hint


@pytest.mark.parametrize("words", ["a stack", "-", ""])
@pytest.mark.parametrize("file", [Path("spec.md"), Path("-")])
def test_two_features_are_refused(words: str, file: Path) -> None:
    assert "twice" in refusal(words, file).message


def test_a_long_feature_is_not_repeated_whole() -> None:
    assert len(refusal("x" * 1000, Path("spec.md")).message) < 200


@pytest.mark.parametrize("blank", ["", "  ", "\n\t\r\n", "\ufeff"])
def test_a_blank_feature_is_refused(blank: str, tmp_path: Path) -> None:
    assert "The feature is empty" in refusal(blank, None).message
    assert "Standard input is empty" in refusal("-", None, says(blank)).message
    file = written(tmp_path, blank.encode())
    assert f"{file} is empty" in refusal(None, file).message


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert str(tmp_path / "none.md") in refusal(None, tmp_path / "none.md").message


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert f"{tmp_path} is a folder" in refusal(None, tmp_path).message


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refusal(None, written(tmp_path, b"x") / "more.md").message


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "cannot be read" in refusal(None, loop).message


def test_a_name_no_file_can_have_is_refused() -> None:
    assert "cannot be read" in refusal(None, Path("a\0b")).message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, b"a stack")
    file.chmod(0)
    assert "cannot be read" in refusal(None, file).message


@pytest.mark.parametrize("content", [b"caf\xe9", "a stack".encode("utf-16"), b"\x80"])
def test_a_file_that_is_not_utf_8_is_refused(content: bytes, tmp_path: Path) -> None:
    file = written(tmp_path, content)
    assert f"{file} is not UTF-8" in refusal(None, file).message


def test_standard_input_that_is_not_utf_8_is_refused() -> None:
    stream = io.TextIOWrapper(io.BytesIO(b"caf\xe9"), encoding="utf-8")
    assert "Standard input is not UTF-8" in refusal("-", None, stream.read).message


def test_an_argument_of_stray_bytes_is_refused() -> None:
    assert "not valid Unicode" in refusal(os.fsdecode(b"caf\xe9"), None).message


def test_standard_input_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    def closed() -> str:
        return tmp_path.read_text(encoding="utf-8")

    assert "Standard input cannot be read" in refusal("-", None, closed).message


@pytest.mark.parametrize("text", ["a\0stack", "\0"])
def test_nul_characters_are_refused(text: str, tmp_path: Path) -> None:
    assert "NUL" in refusal(text, None).message
    assert "NUL" in refusal("-", None, says(text)).message
    assert "NUL" in refusal(None, written(tmp_path, text.encode())).message
