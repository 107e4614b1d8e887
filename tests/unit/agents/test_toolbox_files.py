"""No path, link, mount or race leads out of the workspace, or into its git folder."""

import ctypes
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redgreenrefactor.agents.files import Files, RefusedError

LEADING_OUT = (
    "../out/f",
    "d/../../out/f",
    "/etc/passwd",
    "abs",
    "rel",
    "dirl/f",
    "dirl",
    "magic/etc/passwd",
    "chain",
    "/proc/self/root/etc/passwd",
    "~/f",
)
GIT = (
    ".git",
    ".git/config",
    ".GIT/config",
    "g/config",
    "d/../.git/config",
    "deep/.git/config",
    "pointed/config",
)


def permit(_path: str) -> None:
    """Everything may be written."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root, out = tmp_path / "root", tmp_path / "out"
    for folder in (root / "d", root / ".git", root / "deep/.git", root / "pointed", out):
        folder.mkdir(parents=True)
    for file in (out / "f", root / ".git/config", root / "deep/.git/config", root / "pointed/config"):
        file.write_text("SECRET")
    (root / "d/f").write_text("fine")
    for name, target in {
        "abs": "/etc/passwd",
        "rel": "../out/f",
        "dirl": str(out),
        "magic": "/proc/self/root",
        "chain": "d/../rel",
        "g": ".git",
        "inside": "d/f",
        "d/up": "../d/f",
        "absolute": str(root / "d"),
        "loop": "loop",
    }.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "fifo")
    os.link(out / "f", root / "hard")
    return root


@pytest.fixture(params=["kernel", "portable"])
def files(root: Path, request: pytest.FixtureRequest) -> Generator[Files]:
    files = Files(root, portable=request.param == "portable")
    yield files
    files.close()


@pytest.mark.parametrize("path", ["d/f", "./d//f", "d/../d/f", "inside", "d/up", "absolute/f"])
def test_what_stays_inside_is_read_links_included(files: Files, path: str) -> None:
    assert files.read(path, 100).content == b"fine"
    assert files.read(path, 100).path == "d/f"


def test_an_absolute_path_inside_is_as_good_as_a_relative_one(files: Files, root: Path) -> None:
    assert files.read(f"{root}/d/f", 100).path == "d/f"
    assert files.read(f"/{root}/d/f", 100).path == "d/f"


def test_the_workspace_may_be_named_by_a_link_or_by_its_real_path(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    files = Files(tmp_path / "alias")

    assert files.read(f"{tmp_path}/alias/d/f", 100).content == b"fine"
    assert files.read(f"{root}/d/f", 100).content == b"fine"


@pytest.mark.parametrize("path", LEADING_OUT)
def test_what_leads_out_is_neither_read_nor_written(files: Files, path: str, tmp_path: Path) -> None:
    for attempt in (
        lambda: files.read(path, 100),
        lambda: files.write(path, b"x", permit),
        lambda: files.rewrite(path, 100, lambda _: b"x", permit),
        lambda: files.names(path),
    ):
        with pytest.raises(RefusedError):
            attempt()
    assert (tmp_path / "out/f").read_text() == "SECRET"


def test_nothing_new_appears_outside(files: Files, tmp_path: Path) -> None:
    for path in ("dirl/new", "../new", "dirl/deep/er/new"):
        with pytest.raises(RefusedError):
            files.write(path, b"x", permit)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "root"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["f"]


@pytest.mark.parametrize("path", GIT[:-1])
def test_the_git_folder_is_neither_read_nor_written(files: Files, root: Path, path: str) -> None:
    with pytest.raises(RefusedError, match="git folder"):
        files.read(path, 100)
    with pytest.raises(RefusedError, match="git folder"):
        files.write(path, b"x", permit)
    with pytest.raises(RefusedError, match="git folder"):
        files.write(f"{path}/hooks/pre-commit", b"x", permit)
    assert (root / ".git/config").read_text() == "SECRET"


@pytest.mark.parametrize("portable", [False, True])
def test_a_git_folder_of_another_name_is_known_by_its_pointer(root: Path, portable: bool) -> None:
    (root / ".git/config").unlink()
    (root / ".git").rmdir()
    (root / ".git").write_text("gitdir: pointed\n")
    files = Files(root, portable=portable)

    with pytest.raises(RefusedError, match="git folder"):
        files.read("pointed/config", 100)
    with pytest.raises(RefusedError, match="git folder"):
        files.names("pointed")


def test_names_like_that_of_the_git_folder_are_fine(files: Files) -> None:
    for path in (".gitignore", ".github/workflows/ci.yml", "git/x", "x.git"):
        assert files.write(path, b"x", permit) == (path, True)


def test_pipes_do_not_block_and_hard_links_are_refused(files: Files, tmp_path: Path) -> None:
    for path, why in (
        ("fifo", "not a regular file"),
        ("hard", "hard links"),
        ("d", "folder"),
        (".", "folder"),
    ):
        with pytest.raises(RefusedError, match=why):
            files.read(path, 100)
        with pytest.raises(RefusedError, match=why):
            files.write(path, b"x", permit)
    assert (tmp_path / "out/f").read_text() == "SECRET"


def test_links_that_lead_nowhere_come_to_an_end(files: Files) -> None:
    with pytest.raises(RefusedError, match="too many links"):
        files.read("loop", 100)


def test_writing_through_a_link_keeps_the_link(files: Files, root: Path) -> None:
    assert files.write("inside", b"new", permit) == ("d/f", False)
    assert (root / "inside").is_symlink()
    assert (root / "d/f").read_text() == "new"


def test_a_link_to_a_file_that_is_not_there_yet_makes_it_inside_only(
    files: Files, root: Path, tmp_path: Path
) -> None:
    (root / "to-come").symlink_to("d/later")
    (root / "outward").symlink_to("../later")

    assert files.write("to-come", b"x", permit) == ("d/later", True)
    with pytest.raises(RefusedError):
        files.write("outward", b"x", permit)
    assert not (tmp_path / "later").exists()


def test_folders_are_made_on_the_way(files: Files, root: Path) -> None:
    assert files.write("a/b/c.txt", b"x", permit) == ("a/b/c.txt", True)
    assert (root / "a/b/c.txt").read_bytes() == b"x"


def test_what_may_not_be_written_makes_no_folders(files: Files, root: Path) -> None:
    asked: list[str] = []

    def refuse(path: str) -> None:
        asked.append(path)
        raise RefusedError("locked")

    with pytest.raises(RefusedError, match="locked"):
        files.write("new/deep/file", b"x", refuse)
    with pytest.raises(RefusedError, match="locked"):
        files.write("inside", b"x", refuse)
    assert asked == ["new/deep/file", "d/f"]
    assert not (root / "new").exists()


def test_permissions_stay_and_no_partial_file_is_left(files: Files, root: Path) -> None:
    (root / "d/f").chmod(0o755)

    files.write("d/f", b"x", permit)
    files.rewrite("d/f", 100, lambda found: found.content * 2, permit)

    assert (root / "d/f").read_bytes() == b"xx"
    assert (root / "d/f").stat().st_mode & 0o7777 == 0o755
    assert sorted(path.name for path in (root / "d").iterdir()) == ["f", "up"]


def test_a_file_that_has_grown_too_large_is_not_rewritten(files: Files, root: Path) -> None:
    with pytest.raises(RefusedError, match="grown"):
        files.rewrite("d/f", 2, lambda found: found.content, permit)
    assert (root / "d/f").read_text() == "fine"


@pytest.mark.parametrize(
    ("path", "kind"), [("d", "folder"), ("d/f", "file"), ("fifo", "other"), ("none", ""), ("d/f/x", "")]
)
def test_what_is_at_a_path(files: Files, path: str, kind: str) -> None:
    assert files.kind(path) == kind


@pytest.mark.parametrize("path", ["", " ", "a\0b"])
def test_what_is_no_path_is_refused(files: Files, path: str) -> None:
    with pytest.raises(RefusedError, match="is no path"):
        files.read(path, 100)


def test_what_is_missing_is_an_ordinary_error(files: Files) -> None:
    with pytest.raises(FileNotFoundError):
        files.read("none", 100)
    with pytest.raises(NotADirectoryError):
        files.read("d/f/x", 100)
    with pytest.raises(NotADirectoryError):
        files.write("d/f/x", b"", permit)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting takes root on Linux")
@pytest.mark.parametrize("portable", [False, True])
def test_another_mount_is_not_part_of_the_workspace(root: Path, tmp_path: Path, portable: bool) -> None:
    (root / "mounted").mkdir()
    with bound(tmp_path / "out", root / "mounted"):
        files = Files(root, portable=portable)
        with pytest.raises(RefusedError, match="another mount"):
            files.read("mounted/f", 100)
        with pytest.raises(RefusedError, match="another mount"):
            files.write("mounted/new", b"x", permit)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["f"]


@contextmanager
def bound(source: Path, target: Path) -> Generator[None]:
    """Mount a folder a second time, where that is allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(os.fsencode(source), os.fsencode(target), None, 4096, None):
        pytest.skip("mounting is not allowed here")
    try:
        yield
    finally:
        libc.umount2(os.fsencode(target), 2)


SWAPPING = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
one, other = (os.fsencode(path) for path in sys.argv[1:])
print("swapping", flush=True)
while os.getppid() == int(os.environ["PARENT"]):
    for _ in range(1000):
        libc.renameat2(-100, one, -100, other, 2)
"""


@contextmanager
def swapped(one: Path, other: Path) -> Generator[None]:
    """Have another process exchange two names as fast as it can."""
    reading, writing = os.pipe()
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", "-c", SWAPPING, str(one), str(other)],
        {"PARENT": str(os.getpid())},
        file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1)],
    )
    os.close(writing)
    try:
        assert os.read(reading, 100)
        yield
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(reading)


def raced(root: Path, out: Path, *, portable: bool, times: int) -> int:
    """Read, write and list through a name that is now a folder, now a link out; return how often it was the folder."""
    (root / "evil").symlink_to(out)
    files = Files(root, portable=portable)
    lucky = 0
    with swapped(root / "d", root / "evil"):
        for number in range(times):
            try:
                match number % 10:
                    case 8:
                        files.write(f"d/new{number % 7}", b"x", permit)
                    case 9:
                        assert "f" in files.names("d")
                    case _:
                        assert files.read("d/f", 9).content == b"fine"
                lucky += 1
            except (RefusedError, OSError):
                continue
    files.close()
    return lucky


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged with a call of Linux")
@pytest.mark.parametrize("portable", [False, True])
def test_a_race_leads_nowhere(root: Path, tmp_path: Path, portable: bool) -> None:
    assert raced(root, tmp_path / "out", portable=portable, times=3000)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["f"]
    assert (tmp_path / "out/f").read_text() == "SECRET"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged with a call of Linux")
@pytest.mark.parametrize("portable", [False, True])
def test_a_hundred_thousand_races_lead_nowhere(root: Path, tmp_path: Path, portable: bool) -> None:
    assert raced(root, tmp_path / "out", portable=portable, times=100_000)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["f"]
    assert (tmp_path / "out/f").read_text() == "SECRET"
