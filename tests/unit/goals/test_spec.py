"""Specifications: what is read, and every way a file can be none."""

import os
from pathlib import Path

import pytest

from redgreenrefactor.errors import UsageError
from redgreenrefactor.goals.text_file import read_spec


def refused(path: Path) -> str:
    with pytest.raises(UsageError) as raised:
        read_spec(path)
    assert raised.value.exit_code == 2
    assert raised.value.type == "SpecUnusable"
    assert raised.value.hint
    assert str(path) in raised.value.message
    return raised.value.message


def test_a_specification_is_its_text_without_the_margin(tmp_path: Path) -> None:
    file = tmp_path / "SPEC.md"
    file.write_bytes(b"\xef\xbb\xbf\r\n# Calculator\r\n\r\nIt adds.\r\n\r\n")
    spec = read_spec(file)
    assert spec.text == "# Calculator\n\nIt adds."
    assert spec.path == file


def test_a_missing_one_is_named(tmp_path: Path) -> None:
    assert "There is no specification" in refused(tmp_path / "nowhere.md")


@pytest.mark.parametrize("content", [b"", b" \n\t\n", b"\xef\xbb\xbf"])
def test_an_empty_one_says_nothing(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "SPEC.md"
    file.write_bytes(content)
    assert "empty" in refused(file)


def test_a_folder_is_none(tmp_path: Path) -> None:
    assert "folder" in refused(tmp_path)


@pytest.mark.parametrize("content", [b"caf\xe9", b"\xff\xfe#\x00"])
def test_other_encodings_are_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "SPEC.md"
    file.write_bytes(content)
    assert "UTF-8" in refused(file)


def test_nul_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "SPEC.md"
    file.write_bytes(b"a\0b")
    assert "NUL" in refused(file)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_one_that_may_not_be_read_is_told_from_a_missing_one(tmp_path: Path) -> None:
    file = tmp_path / "SPEC.md"
    file.write_text("x")
    file.chmod(0)
    assert "Permission denied" in refused(file)


def test_a_path_that_cannot_be_opened_is_no_traceback(tmp_path: Path) -> None:
    file = tmp_path / "SPEC.md"
    file.symlink_to(file)
    assert "cannot be read" in refused(file)
