"""A file is put in place whole, or left as it was."""

import os
from pathlib import Path

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.filesystem import put, remove, replace_file


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


@pytest.mark.parametrize("kind", ["deep", "locked", "linked", "wide", "file", "link", "nothing"])
def test_whatever_somebody_left_is_removed_and_nothing_else(tmp_path: Path, kind: str) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    place = tmp_path / "left"
    match kind:
        case "deep":
            place.mkdir()
            descend(place, 3000)
        case "locked":
            (place / "inner" / "more").mkdir(parents=True)
            (place / "inner" / "more").chmod(0)
            (place / "inner").chmod(0)
            place.chmod(0)
        case "linked":
            place.mkdir()
            (place / "out").symlink_to(kept)
            (place / "inner").mkdir()
            (place / "inner" / "out").symlink_to(kept)
        case "wide":
            for number in range(50):
                (place / f"{number}" / ".rgr-1").mkdir(parents=True)
                os.mkfifo(place / f"{number}" / "pipe")
        case "file":
            place.write_text("left")
        case "link":
            place.symlink_to(kept)
        case _:
            pass
    remove(place)
    assert not os.path.lexists(place)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").read_text() == "mine"


def test_what_cannot_be_removed_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="Not a directory"):
        remove(tmp_path / "file" / "inner")


def descend(folder: Path, depth: int) -> None:
    """Make folders in each other, deeper than any path can be spelled."""
    inside = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deeper", dir_fd=inside)
        below = os.open("deeper", os.O_RDONLY, dir_fd=inside)
        os.close(inside)
        inside = below
    os.close(inside)
