"""A checkout of our own holds what it should, and nothing of the user's can be harmed through it."""

import os
import shutil
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.git.checkout import CleanCheckout, apart
from redgreenrefactor.git.repository import Repository, open_repository
from repos import MakeRepo, Repo


class Place:
    """A repository and our checkouts of it, each as a new invocation has it."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self._opened: list[Repository] = []

    def opened(self) -> Repository:
        self._opened.append(open_repository(self.repo.path, self.repo.env))
        return self._opened[-1]

    def clean(self) -> CleanCheckout:
        return CleanCheckout(self.opened())

    def lay_out(self, commit: str = "HEAD", overlay: dict[str, str | None] | None = None) -> Path:
        return self.clean().lay_out(self.repo.git("rev-parse", commit), overlay or {})

    def close(self) -> None:
        for repository in self._opened:
            repository.close()


@pytest.fixture
def place(repo: Repo) -> Generator[Place]:
    made = Place(repo)
    yield made
    made.close()


def names(folder: Path) -> list[str]:
    places = (place for place in folder.rglob("*") if ".git" not in place.parts)
    return sorted(place.relative_to(folder).as_posix() for place in places)


# --- what git tracks


def test_whatever_was_done_to_it_it_holds_the_commit(place: Place) -> None:
    place.repo.commit("chore: files", {"pkg/a.py": "1\n", "b.py": "2\n"})
    folder = place.lay_out()
    (folder / "pkg/a.py").unlink()
    (folder / "pkg/a.py").mkdir()
    (folder / "pkg/a.py/deep").write_text("x")
    (folder / "b.py").unlink()
    (folder / "b.py").symlink_to(place.repo.path / "b.py")
    (folder / "README.md").write_text("spoiled\n")
    (folder / ".git").unlink()
    (folder / ".git").mkdir()
    folder.with_name("checkout.git").joinpath("index.lock").touch()
    assert names(place.lay_out()) == ["README.md", "b.py", "pkg", "pkg/a.py"]
    assert [(folder / name).read_text() for name in ("README.md", "b.py", "pkg/a.py")] == [
        "hello\n",
        "2\n",
        "1\n",
    ]
    assert not (folder / "b.py").is_symlink()
    assert (place.repo.path / "b.py").read_text() == "2\n"


def test_files_and_folders_may_change_places_between_commits(place: Place) -> None:
    place.repo.commit("one", {"a": "1\n", "b/c": "2\n"})
    (place.repo.path / "a").unlink()
    shutil.rmtree(place.repo.path / "b")
    place.repo.commit("two", {"a/d": "3\n", "b": "4\n"})
    clean = place.clean()
    first, second = (place.repo.git("rev-parse", name) for name in ("HEAD~1", "HEAD"))
    for _ in range(2):
        assert names(clean.lay_out(first, {})) == ["README.md", "a", "b", "b/c"]
        assert names(clean.lay_out(second, {})) == ["README.md", "a", "a/d", "b"]


def test_links_modes_and_line_ends_are_as_in_the_users_checkout(place: Place) -> None:
    repo = place.repo
    repo.git("config", "core.autocrlf", "true")
    repo.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    (repo.path / "link").symlink_to("README.md")
    repo.commit("chore: kinds")
    folder = place.lay_out()
    assert os.access(folder / "run.sh", os.X_OK)
    assert (folder / "link").readlink() == Path("README.md")
    assert (folder / "README.md").read_bytes() == b"hello\r\n"


def test_a_commit_that_is_not_there_is_told(place: Place) -> None:
    with pytest.raises(NotReadyError, match="there is no commit") as refusal:
        place.clean().lay_out("1" * 40, {})
    assert "unshallow" in refusal.value.hint


def test_another_object_format_is_laid_out(place: Place) -> None:
    repo = place.repo
    shutil.rmtree(repo.path / ".git")
    repo.git("init", "-q", "-b", "main", "--object-format=sha256")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@localhost")
    repo.commit("chore: start", {"a.py": "1\n"})
    assert names(place.lay_out()) == ["README.md", "a.py"]


def test_the_files_of_submodules_are_there(place: Place, make_repo: MakeRepo) -> None:
    repo, library = place.repo, make_repo("library", {"lib.py": "1\n"})
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.path), "sub")
    repo.commit("chore: library")
    clean = place.clean()
    first, second = (repo.git("rev-parse", name) for name in ("HEAD~1", "HEAD"))
    folder = clean.folder
    for _ in range(2):
        assert "sub" not in names(clean.lay_out(first, {}))
        clean.lay_out(second, {})
        assert (folder / "sub/lib.py").read_text() == "1\n"
        assert not (folder / "sub/.git").exists()
    (folder / "sub/new.txt").write_text("x")
    assert clean.disturbed() == ()
    repo.write("sub/lib.py", "newer\n")
    assert (place.lay_out() / "sub/lib.py").read_text() == "newer\n"


def test_a_submodule_that_is_not_there_is_an_empty_folder(place: Place, make_repo: MakeRepo) -> None:
    repo, library = place.repo, make_repo("library")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.path), "sub")
    repo.commit("chore: library")
    repo.git("submodule", "--quiet", "deinit", "--all", "-f")
    clean = place.clean()
    head = repo.git("rev-parse", "HEAD")
    for _ in range(2):
        assert list((clean.lay_out(head, {}) / "sub").iterdir()) == []


# --- after a crash


@pytest.mark.parametrize("damage", ["objects", "HEAD", "config", "index", "all"])
def test_a_damaged_checkout_is_made_anew(place: Place, damage: str) -> None:
    folder = place.lay_out()
    if damage == "all":
        shutil.rmtree(folder)
        folder.touch()
    elif damage == "objects":
        shutil.rmtree(folder.with_name("checkout.git") / "objects")
    else:
        (folder.with_name("checkout.git") / damage).write_text("rubbish")
    assert names(place.lay_out()) == ["README.md"]


def test_a_damaged_checkout_never_leads_to_another_repository(place: Place, env: dict[str, str]) -> None:
    home = Repo(Path(env["HOME"]), env)
    home.git("init", "-q", "-b", "main")
    home.git("config", "user.name", "Ada")
    home.git("config", "user.email", "ada@localhost")
    home.write(".gitignore", "cache\n")
    base = home.commit("chore: my dot files", {".profile": "mine\n"})
    folder = place.lay_out()
    (folder.with_name("checkout.git") / "HEAD").write_text("rubbish")
    place.lay_out()
    assert (home.git("rev-parse", "HEAD"), home.git("symbolic-ref", "HEAD")) == (base, "refs/heads/main")
    assert home.git("status", "--porcelain") == ""


def test_a_checkout_that_cannot_be_made_is_told(place: Place) -> None:
    oid = place.repo.git("rev-parse", "HEAD:README.md")
    (place.repo.path / ".git/objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(NotReadyError, match="checkout failed"):
        place.lay_out()


# --- what git does not track


def test_small_things_are_copied_so_that_the_users_stay_as_they_are(place: Place) -> None:
    repo = place.repo
    repo.commit("chore: ignore", {".gitignore": ".env\ndata/\n"})
    repo.write(".env", "KEY=1\n")
    repo.write("data/deep/x.csv", "1\n")
    repo.write("data/__pycache__/x.pyc", "old")
    repo.write("pkg/__pycache__/x.pyc", "old")
    repo.write(".pytest_cache/x", "old")
    repo.write("stray.pyc", "old")
    folder = place.lay_out()
    assert names(folder) == [".env", ".gitignore", "README.md", "data", "data/deep", "data/deep/x.csv", "pkg"]
    (folder / ".env").write_text("spoiled")
    (folder / "data/deep/x.csv").write_text("spoiled")
    assert (repo.path / ".env").read_text() == "KEY=1\n"
    assert (repo.path / "data/deep/x.csv").read_text() == "1\n"
    assert (place.lay_out() / ".env").read_text() == "KEY=1\n"


def test_what_a_suite_made_of_a_copy_is_not_read_whole(place: Place) -> None:
    repo = place.repo
    repo.commit("chore: ignore", {".gitignore": ".env*\n"})
    for name in (".env", ".env.pipe"):
        repo.write(name, "KEY=1\n")
    folder = place.lay_out()
    clean = place.clean()
    clean.untracked.begin([".env", ".env.pipe"])
    for name in (".env", ".env.pipe"):
        repo.write(name, "KEY=by a session\n")
    clean.untracked.settle([".env", ".env.pipe"])
    os.truncate(folder / ".env", 1 << 40)
    (folder / ".env.pipe").unlink()
    os.mkfifo(folder / ".env.pipe")
    again = place.lay_out()
    assert (again / ".env").stat().st_size < 1 << 40


def test_a_commit_that_unfolds_beyond_reason_is_not_laid_out(place: Place) -> None:
    tree = place.repo.git("rev-parse", "HEAD^{tree}")
    for _ in range(10):
        listing = "".join(f"040000 tree {tree}\td{number}\n" for number in range(8))
        tree = place.repo.git("mktree", stdin=listing)
    commit = place.repo.git("commit-tree", "-m", "a bomb", tree)
    with pytest.raises(NotReadyError, match="unfolds to more than"):
        place.lay_out(commit)


def test_dependencies_and_large_things_are_linked(place: Place) -> None:
    repo = place.repo
    repo.commit("chore: ignore", {".gitignore": "*\n!.gitignore\n"})
    repo.write("env/pyvenv.cfg", "home=x\n")
    (repo.path / "link").symlink_to("large")
    repo.write("large/file", "")
    os.truncate(repo.path / "large/file", 60_000_000)
    (repo.path / "many").mkdir()
    for number in range(2001):
        (repo.path / "many" / f"{number}").touch()
    folder = place.lay_out()
    for name in ("env", "link", "large", "many"):
        assert (folder / name).readlink() == repo.path / name


def test_tools_find_an_empty_cache_among_the_dependencies_every_time(place: Place) -> None:
    repo = place.repo
    repo.commit("chore: ignore", {".gitignore": "node_modules\n"})
    for name in ("x/index.js", "@types/x.d.ts", ".bin/x", ".prisma/client.js", ".vite/vitest/results.json"):
        repo.write(f"node_modules/{name}", "1\n")
    repo.write("node_modules/.cache/nyc/x", "1\n")
    repo.write("node_modules/.cache/mongodb/binary", "")
    os.truncate(repo.path / "node_modules/.cache/mongodb/binary", 60_000_000)
    for _ in range(2):
        modules = place.lay_out() / "node_modules"
        assert {place.name for place in modules.iterdir()} == {".bin", ".cache", ".prisma", "@types", "x"}
        assert [place.name for place in (modules / ".cache").iterdir()] == ["mongodb"]
        assert (modules / "x").readlink() == repo.path / "node_modules/x"
        for name in (".vite", ".cache/nyc"):
            (modules / name).mkdir()
            (modules / name / "results.json").touch()
    assert [place.name for place in (repo.path / "node_modules/.vite").iterdir()] == ["vitest"]


def test_dependencies_beyond_number_are_linked_whole(place: Place) -> None:
    modules = place.repo.path / "node_modules"
    modules.mkdir()
    for number in range(2001):
        (modules / f"{number}").touch()
    assert (place.lay_out() / "node_modules").readlink() == modules


def test_what_disappears_in_the_meantime_does_no_harm(place: Place) -> None:
    repo = place.repo
    repo.write("a.txt", "1\n")
    (repo.path / "broken").symlink_to("nowhere")
    (repo.path / "pipe").touch()
    folder = place.lay_out()
    assert (folder / "a.txt").read_text() == "1\n"
    assert (folder / "broken").readlink() == repo.path / "broken"


def test_a_link_of_an_earlier_run_never_leads_to_the_users_files(place: Place) -> None:
    repo = place.repo
    repo.commit("chore: ignore", {".gitignore": "data/\n"})
    repo.write("data/large", "")
    os.truncate(repo.path / "data/large", 60_000_000)
    repo.write("data/mine.txt", "precious\n")
    repo.write("data/tracked.txt", "1\n")
    assert (place.lay_out() / "data").is_symlink()
    repo.git("add", "-f", "data/tracked.txt")
    repo.git("commit", "-q", "-m", "feat: track one of them")
    folder = place.lay_out()
    assert not (folder / "data").is_symlink()
    assert (folder / "data/mine.txt").read_text() == "precious\n"
    assert (repo.path / "data/mine.txt").read_text() == "precious\n"
    assert (repo.path / "data/large").exists()
    (folder / "data/tracked.txt").write_text("spoiled")
    assert (repo.path / "data/tracked.txt").read_text() == "1\n"


# --- files replaced


def test_replacing_never_follows_a_link_out(place: Place) -> None:
    repo = place.repo
    outside = repo.path.parent / "outside"
    outside.mkdir()
    (outside / "file.txt").write_text("precious")
    (repo.path / "folder").symlink_to(outside)
    (repo.path / "file").symlink_to(outside / "file.txt")
    repo.commit("feat: links")
    folder = place.lay_out(overlay={"folder/file.txt": "replaced", "file": "replaced"})
    assert (outside / "file.txt").read_text() == "precious"
    assert (folder / "folder/file.txt").read_text() == (folder / "file").read_text() == "replaced"
    assert (place.lay_out() / "folder").readlink() == outside


def test_taking_away_never_follows_a_link_out(place: Place) -> None:
    outside = place.repo.path.parent / "outside"
    outside.mkdir()
    (outside / "file.txt").write_text("precious")
    (place.repo.path / "folder").symlink_to(outside)
    place.repo.commit("feat: links")
    place.lay_out(overlay={"folder/file.txt": None, "nothing/here": None})
    assert (outside / "file.txt").read_text() == "precious"


def test_files_and_folders_in_the_way_are_replaced(place: Place) -> None:
    place.repo.commit("feat: both", {"file": "1\n", "folder/x": "2\n", "other/y": "3\n"})
    folder = place.lay_out(overlay={"file/inner": "new", "folder": "new", "other": None})
    assert (folder / "file/inner").read_text() == (folder / "folder").read_text() == "new"
    assert not (folder / "other").exists()


def test_an_executable_file_stays_executable(place: Place) -> None:
    place.repo.write("run.sh", "exit 1\n").chmod(0o755)
    place.repo.commit("feat: run")
    folder = place.lay_out(overlay={"run.sh": "exit 0\udcff\n"})
    assert os.access(folder / "run.sh", os.X_OK)
    assert (folder / "run.sh").read_bytes() == b"exit 0\xff\n"


OVERLAYS: list[dict[str, str | None]] = [
    {"a.py": "9\n"},
    {"run.sh": None},
    {"new.py": "1\n", "deep/new.py": "2\n"},
    {"file/inner": "1\n"},
    {"folder": "1\n"},
    {"folder": None},
    {"link": "1\n"},
    {"link": None},
    {"linked/x": "1\n"},
    {"linked/x": None},
    {"nothing": None, "no/thing": None},
]


def everything(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        name: (
            str((folder / name).readlink()) if (folder / name).is_symlink() else (folder / name).read_text(),
            (folder / name).lstat().st_mode,
        )
        for name in names(folder)
        if (folder / name).is_symlink() or not (folder / name).is_dir()
    }


@pytest.mark.parametrize("overlay", OVERLAYS, ids=str)
def test_what_was_replaced_comes_back(place: Place, overlay: dict[str, str | None]) -> None:
    repo = place.repo
    repo.write("run.sh", "exit 0\n").chmod(0o755)
    (repo.path / "link").symlink_to("a.py")
    (repo.path / "linked").symlink_to("folder")
    head = repo.commit("feat: all kinds", {"a.py": "1\n", "file": "2\n", "folder/x": "3\n"})
    clean = place.clean()
    before = everything(clean.lay_out(head, {}))
    for _ in range(2):
        clean.lay_out(head, overlay)
        assert clean.disturbed() == ()
        assert everything(clean.lay_out(head, {})) == before


def test_what_tests_did_to_replaced_files_is_undone(place: Place) -> None:
    head = place.repo.commit("feat: a", {"a.py": "1\n"})
    clean = place.clean()
    before = everything(clean.lay_out(head, {}))
    folder = clean.lay_out(head, {"new.py": "1\n", "a.py": "2\n", "x/y.py": "3\n"})
    for name in ("new.py", "a.py"):
        (folder / name).unlink()
        (folder / name).mkdir()
        (folder / name / "inner").touch()
    shutil.rmtree(folder / "x")
    (folder / "x").symlink_to(place.repo.path)
    assert everything(clean.lay_out(head, {})) == before
    assert (place.repo.path / "a.py").read_text() == "1\n"


def test_tests_that_remove_everything_do_no_harm(place: Place) -> None:
    clean = place.clean()
    head = place.repo.git("rev-parse", "HEAD")
    for overlay in ({}, {"x/y.py": "1\n"}, {"README.md": "1\n"}):
        shutil.rmtree(clean.lay_out(head, overlay))
        assert names(clean.lay_out(head, {})) == ["README.md"]


def test_a_change_that_covers_its_tracks_is_undone(place: Place) -> None:
    head = place.repo.commit("feat: a", {"a.py": "1\n"})
    clean = place.clean()
    file = clean.lay_out(head, {}) / "a.py"
    stamp = file.stat()
    while file.stat().st_ctime_ns == stamp.st_ctime_ns:  # the clock of files ticks slowly
        file.write_text("2\n")
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    clean.lay_out(head, {})
    assert file.read_text() == "1\n"


# --- one nobody else uses


def test_two_who_look_back_do_not_share_a_folder_and_leave_none_behind(place: Place) -> None:
    repository = place.opened()
    with apart(repository) as one, apart(repository) as two:
        commit = place.repo.git("rev-parse", "HEAD")
        beside = one.lane(1).lay_out(commit, {"README.md": "another"})
        assert len({one.lay_out(commit, {}), two.lay_out(commit, {}), beside}) == 3
        assert names(one.folder) == names(two.folder) == names(beside) == ["README.md"]
        assert ((beside / "README.md").read_text(), one.lane(0), one.lane(1).folder) == (
            "another",
            one,
            beside,
        )
    assert [entry.name for entry in repository.cache.iterdir()] == []


def test_looking_back_brings_what_is_installed_or_ignored_and_no_stray_file(place: Place) -> None:
    place.repo.commit("chore: ignore", {".gitignore": "ignored.txt\n"})
    for name in ("ignored.txt", "stray.py", "venv/pyvenv.cfg", "node_modules/left-pad/index.js"):
        place.repo.write(name, "x\n")
    with apart(place.opened()) as clean:
        folder = clean.lay_out(place.repo.git("rev-parse", "HEAD"), {})
        assert {path.name for path in folder.iterdir()} - {".git"} == {
            ".gitignore",
            "README.md",
            "ignored.txt",
            "venv",
            "node_modules",
        }


def test_what_somebody_who_was_killed_left_is_not_looked_at(place: Place) -> None:
    repository = place.opened()
    for name in ("apart-0", "apart-0-beside-1"):
        (repository.make_cache() / name).mkdir()
        (repository.cache / name / "left.py").touch()
    with apart(repository) as clean:
        assert not (repository.cache / "apart-0-beside-1").exists()
        assert names(clean.lay_out(place.repo.git("rev-parse", "HEAD"), {})) == ["README.md"]


def test_a_pipe_that_a_suite_left_is_not_waited_at(place: Place) -> None:
    place.repo.commit("chore: code", {"sub/code.py": "x = 1\n"})
    folder = place.lay_out()
    for name in (".gitattributes", "sub/.gitattributes", "sub/.gitignore"):
        os.mkfifo(folder / name)
    (folder / "sub/code.py").unlink()
    assert (place.lay_out() / "sub/code.py").read_text() == "x = 1\n"
    assert sorted(path.name for path in (folder / "sub").iterdir()) == ["code.py"]


# --- what tests leave behind


def _as_old(place: Path, change: Callable[[Path], object]) -> None:
    """Change something so that its size and the time that can be set are what they were."""
    before = place.stat()
    change(place)
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))


def _tick(folder: Path) -> None:
    """Return when the clock of the file system has moved on."""
    place = folder / "tick"
    place.touch()
    before = place.stat().st_mtime_ns
    while place.stat().st_mtime_ns == before:
        place.touch()


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


DISTURBANCES: dict[str, Callable[[Path], object]] = {
    "same size": lambda folder: (folder / "pkg/a.py").write_text("2\n"),
    "same size and time": lambda folder: _as_old(folder / "pkg/a.py", lambda it: it.write_text("2\n")),
    "by a link elsewhere": lambda folder: (
        os.link(folder / "pkg/a.py", folder.parent / "link"),
        (folder.parent / "link").write_text("2\n"),
    ),
    "another file in its place": lambda folder: (
        (folder / "new").write_text("2\n"),
        (folder / "new").rename(folder / "pkg/a.py"),
    ),
    "gone": lambda folder: (folder / "pkg/a.py").unlink(),
    "executable": lambda folder: (folder / "pkg/a.py").chmod(0o755),
    "a folder emptied": lambda folder: _emptied(folder / "pkg"),
    "a folder gone": lambda folder: shutil.rmtree(folder / "pkg"),
    "a link for a folder": lambda folder: (
        (folder / "pkg").rename(folder / "moved"),
        (folder / "pkg").symlink_to("moved"),
    ),
    "a link for a file": lambda folder: (
        (folder / "pkg/a.py").unlink(),
        (folder / "pkg/a.py").symlink_to("../b.py"),
    ),
    "a pipe for a file": lambda folder: ((folder / "pkg/a.py").unlink(), os.mkfifo(folder / "pkg/a.py")),
    "a pipe for attributes": lambda folder: os.mkfifo(folder / "pkg/.gitattributes"),
    "byte code": lambda folder: (
        (folder / "pkg/__pycache__").mkdir(),
        (folder / "pkg/__pycache__/a.pyc").touch(),
    ),
    "ignored": lambda folder: (folder / "pkg/x.log").write_text("x"),
    "ignored, its folder as old": lambda folder: _as_old(
        folder / "pkg", lambda it: (it / "x.log").write_text("x")
    ),
    "a repository": lambda folder: (folder / "pkg/.git").mkdir(),
    "its own git": lambda folder: (folder / ".git").write_text("gitdir: elsewhere\n"),
    "an empty folder": lambda folder: (folder / "pkg/deep/empty").mkdir(parents=True),
}


@pytest.mark.parametrize(("age", "more"), [(0, 0), (100, 0), (0, 30)], ids=["fresh", "old", "asking git"])
@pytest.mark.parametrize("disturb", DISTURBANCES.values(), ids=DISTURBANCES)
def test_what_tests_disturbed_is_as_the_commit_has_it(
    place: Place, disturb: Callable[[Path], object], age: int, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {f"data/{n}": "1\n" for n in range(more)}
    head = place.repo.commit("feat: a", {"pkg/a.py": "1\n", "b.py": "2\n", ".gitignore": "*.log\n", **others})
    later = place.repo.commit("feat: c", {"pkg/c.py": "3\n"})
    clean = place.clean()
    before, then = (everything(clean.lay_out(commit, {})) for commit in (head, later))
    # Folders that were not changed for a while are not looked into again.
    clock = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: clock() + age * 10**9)
    for commit, expected in ((later, then), (head, before)):
        clean.lay_out(commit, {"pkg/a.py": "9\n"} if age else {})  # what was replaced is disturbed as well
        clean.lay_out(commit, {})
        _tick(clean.folder.parent)
        disturb(clean.folder)
        (clean.folder.parent / "link").unlink(missing_ok=True)
        assert everything(clean.lay_out(commit, {})) == expected
        assert clean.disturbed() == ()


@pytest.mark.parametrize("overlay", [{}, {"pkg/a.py": "9\n"}], ids=["laid out by git", "put back by us"])
def test_a_change_that_covers_its_tracks_is_told(place: Place, overlay: dict[str, str | None]) -> None:
    head = place.repo.commit("feat: a", {"pkg/a.py": "1\n", "b.py": "2\n"})
    clean = place.clean()
    clean.lay_out(head, overlay)
    file = clean.lay_out(head, {}) / "pkg/a.py"
    _tick(clean.folder.parent)
    (clean.folder / "b.py").chmod(0o600)  # which changes nothing that is in a commit
    assert clean.disturbed() == ()
    _as_old(file, lambda it: it.write_text("2\n"))
    assert clean.disturbed() == ("pkg/a.py",)


def test_a_change_in_the_moment_of_the_layout_is_told(place: Place) -> None:
    head = place.repo.commit("feat: a", {"pkg/a.py": "1\n"})
    later = place.repo.commit("feat: b", {"pkg/a.py": "2\n"})
    clean = place.clean()
    for commit in (head, later) * 5:
        file = clean.lay_out(commit, {}) / "pkg/a.py"
        _as_old(file, lambda it: it.write_text("3\n"))
        assert clean.disturbed() == ("pkg/a.py",)


def test_git_writes_nothing_where_only_single_files_were_replaced(place: Place) -> None:
    head = place.repo.commit("feat: a", {"pkg/a.py": "1\n", "b.py": "2\n", "run.sh": "exit 0\n"})
    clean = place.clean()
    before = everything(clean.lay_out(head, {}))
    index = clean.folder.with_name("checkout.git") / "index"
    written = index.stat()
    for overlay in ({"pkg/a.py": "2\n", "new.py": "3\n"}, {"run.sh": None}, {}):
        clean.lay_out(head, overlay)
    assert everything(clean.folder) == before
    assert index.stat() == written
    (clean.folder / "b.py").write_text("another\n")
    assert everything(clean.lay_out(head, {})) == before
    assert index.stat() != written


def test_folders_that_nobody_has_changed_are_not_looked_into(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = place.repo.commit("feat: many", {f"data/{n}/x.txt": "1\n" for n in range(20)})
    clean = place.clean()
    clock = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: clock() + 10**11)
    clean.lay_out(head, {})
    looked: list[str] = []
    scan = os.scandir

    def scandir(path: Path) -> object:
        looked.append(str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    folder = clean.lay_out(head, {"data/7/new.txt": "1\n"})
    clean.lay_out(head, {})
    assert {path.removeprefix(f"{folder}").strip("/") for path in looked} == {"", "data/7"}
