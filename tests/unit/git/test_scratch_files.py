"""Logs, scratch and editor files stay out of sealed commits, unless something uses them; nothing of them is lost."""

from collections.abc import Generator

import pytest

from redgreenrefactor.git.artifacts import is_scratch
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Sealed
from repos import MakeRepo, Repo

RUN = "run-1"


@pytest.mark.parametrize(
    "path",
    [
        "debug.log",
        "logs/server.log.1",
        "a.py.orig",
        "a.py.rej",
        ".a.py.swp",
        "a.py~",
        ".#a.py",
        "#a.py#",
        ".DS_Store",
        "docs/.DS_Store",
        "Thumbs.db",
        "nohup.out",
        "core",
        "core.4711",
        "hs_err_pid12.log",
        "scratch.py",
        "scratch",
        "tmp.txt",
        "tmp1.py",
        "temp_out.txt",
        "debug-output.txt",
        "debug_roman.py",
        "scratch.md",
        "a.py.bak",
        "x.tmp",
        "scratch/notes.md",
        "tmp/roman.py",
    ],
)
def test_what_nobody_calls_a_part_of_a_project(path: str) -> None:
    assert is_scratch(path)


@pytest.mark.parametrize(
    "path",
    [
        "roman.py",
        "logging.py",
        "logs/reader.py",
        "catalog",
        "template.html",
        "temperature.py",
        "tmpfs.py",
        "debugger.py",
        "core/__init__.py",
        "core.py",
        "docs/debug.md",
        "temp.json",
        "debug.go",
        "src/tmp/mod.rs",
        "tests/test_scratch.py",
        "scratch_test.py",
        "tmp/.gitkeep",
        "tmp/__init__.py",
        "CHANGELOG.md",
        ".gitignore",
    ],
)
def test_what_only_sounds_like_it(path: str) -> None:
    assert not is_scratch(path)


class Work:
    """A repository, and a session in it."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.repository = open_repository(repo.path, repo.env)
        self.workspace = GitWorkspace(self.repository)

    def begin(self) -> None:
        self.base = self.repo.git("rev-parse", "HEAD")
        self.workspace.begin(RUN, self.base)

    def seal(self, phase: PhaseName = PhaseName.GREEN, *, empty: bool = False) -> Sealed:
        return self.workspace.seal(self.base, TDD.phase(phase), "adds two numbers", empty=empty)

    def files(self, sealed: Sealed) -> list[str]:
        return [change.path for change in self.workspace.changes(self.base, sealed.commit)]

    def kept(self) -> dict[str, str]:
        found = [name for name in self.repo.refs() if name.startswith(f"refs/tdd/kept/{RUN}/left-out-")]
        listed = {name: self.repo.git("ls-tree", "-r", "--name-only", name).split() for name in found}
        return {
            path: self.repo.git("show", f"{name}:{path}") for name, paths in listed.items() for path in paths
        }


@pytest.fixture
def work(make_repo: MakeRepo) -> Generator[Work]:
    files = {"README.md": "hello\n", "data/old.log": "1\n", ".dockerignore": "*.log\ndebug.log\n"}
    made = Work(make_repo(files=files))
    made.begin()
    yield made
    made.repository.close()


@pytest.mark.parametrize("committed", [False, True])
def test_what_nothing_uses_is_left_out_and_kept_at_a_ref(work: Work, *, committed: bool) -> None:
    work.repo.write("a.py", "1\n")
    work.repo.write("debug.log", "seen\n")
    work.repo.write("scratch/deep/x.txt", "see debug.log\n")
    if committed:
        work.repo.commit("feat: add")
    sealed = work.seal()
    assert work.files(sealed) == ["a.py"]
    assert sealed.resealed
    assert work.kept() == {"debug.log": "seen", "scratch/deep/x.txt": "see debug.log"}
    [ref] = [name for name in work.repo.refs() if "left-out" in name]
    assert sealed.warnings == (
        f"left out of the commit, being used by nothing: debug.log, scratch/deep/x.txt; kept at {ref}",
    )
    assert work.repo.git("status", "--porcelain") == ""
    assert not (work.repo.path / "scratch").exists()
    work.begin()
    assert (work.seal().warnings, len(work.kept())) == ((), 2)


def test_nothing_but_leftovers_is_nothing_done(work: Work) -> None:
    work.repo.write("nohup.out", "x\n")
    assert work.seal().commit == work.base
    work.begin()
    work.repo.write("nohup.out", "y\n")
    sealed = work.seal(PhaseName.PLAN, empty=True)
    assert (sealed.empty, work.files(sealed)) == (True, [])


@pytest.mark.parametrize(
    ("path", "user", "text"),
    [
        ("tests/debug.log", "tests/test_a.py", 'open("tests/debug.log")\n'),
        ("tests/samples/one.log", "tests/test_a.py", 'Path("tests/samples").glob("*.log")\n'),
        ("logs/one.log", "a.py", 'path.suffix == ".log"\n'),
        ("tmp.py", "a.py", "from tmp import add\n"),
        ("scratch/roman.py", "a.py", "import scratch.roman\n"),
        ("data/new.log", "a.py", "1\n"),  # beside others of its kind
        ("notes.bak", "README.md", "See notes.bak.\n"),
    ],
)
def test_what_something_uses_belongs_to_the_commit(work: Work, path: str, user: str, text: str) -> None:
    work.repo.write(path, "x\n")
    work.repo.write(user, text)
    sealed = work.seal()
    assert path in work.files(sealed)
    assert (sealed.warnings, work.kept()) == ((), {})


def test_what_is_tracked_already_is_no_leftover(work: Work) -> None:
    work.repo.write("data/old.log", "2\n")
    assert work.files(work.seal()) == ["data/old.log"]


def test_an_interrupted_session_keeps_its_leftovers_with_the_rest(work: Work) -> None:
    work.repo.write("debug.log", "seen\n")
    kept = work.workspace.abandon()
    assert kept
    assert work.repo.git("show", f"{kept}:debug.log") == "seen"
