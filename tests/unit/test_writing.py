"""A file is put in place whole, or left as it was."""

import os
from pathlib import Path

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.writing import put, replace_file


def test_a_file_is_replaced_at_once(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for content in (b"one", b"two"):
        replace_file(file, content)
        assert file.read_bytes() == content
    assert list(tmp_path.iterdir()) == [file]


def test_who_may_use_a_file_may_use_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    file.chmod(0o664)
    put(file, b"new")
    assert file.stat().st_mode & 0o777 == 0o664


def test_another_name_of_a_file_keeps_what_was_there(tmp_path: Path) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    other.write_bytes(b"old")
    os.link(other, file)
    put(file, b"new")
    assert (file.read_bytes(), other.read_bytes()) == (b"new", b"old")


def test_a_file_that_cannot_be_written_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "folder/x").mkdir(parents=True)
    with pytest.raises(NotReadyError, match="cannot be written") as refusal:
        replace_file(tmp_path / "folder", b"")
    assert "resume" in refusal.value.hint
    assert [place.name for place in tmp_path.iterdir()] == ["folder"]
