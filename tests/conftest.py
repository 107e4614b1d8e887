"""What all tests share: a scrubbed environment and real repositories."""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from repos import MakeRepo, Repo
from shared import compiled

# Each time only some: `make long` asks for many more.
EXAMPLES = int(os.environ.get("RGR_EXAMPLES", "10"))
settings.register_profile(
    "rgr", max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("rgr")


def pytest_configure() -> None:
    """Let every process have its signals: a shell that starts the tests in the background takes two away, nohup a third."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage, neither then nor later among what was collected: all of it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all but the first cases of what is sampled to `make long`; what chance has covered is not covered."""
    for item in items:
        if item.get_closest_marker("hypothesis"):
            item.add_marker(pytest.mark.no_cover)
        mark, spec = item.get_closest_marker("sampled"), getattr(item, "callspec", None)
        if mark and spec and max(spec.indices.values()) >= mark.args[0]:
            item.add_marker(pytest.mark.long)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a program that is not here; `make tools` runs just these where it is."""
    for program in (name for mark in item.iter_markers("needs") for name in mark.args):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


@pytest.fixture
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with an empty home folder, nobody's settings, no sandbox and no doubt: tests of those ask for them.

    What suites compile is kept for all tests, as it is for all of a person's repositories.
    """
    homes = tmp_path_factory.getbasetemp() / "homes"
    homes.mkdir(exist_ok=True)
    home = tempfile.mkdtemp(dir=homes)  # pytest would read all the names there are, to find the next
    cache = tmp_path_factory.getbasetemp() / "cache"
    compiled(tmp_path_factory, cache / "redgreenrefactor" / "compiled")
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HOME": home,
        "XDG_CACHE_HOME": str(cache),
        "GIT_CONFIG_NOSYSTEM": "1",
        "TDD_SANDBOX": "off",
        "TDD_TRUST": "1",
    }


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what suites keep, in which their runners are compiled already."""
    return compiled(tmp_path_factory, tmp_path_factory.mktemp("cache of ours"))


@pytest.fixture(scope="session")
def unborn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository without a commit, with an identity of its own: to be copied, which takes no process."""
    folder = tmp_path_factory.mktemp("unborn")
    repo = Repo(folder, {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"})
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@localhost")
    repo.git("config", "maintenance.auto", "false")  # a process a commit
    for sample in (folder / ".git/hooks").glob("*.sample"):
        sample.unlink()
    return folder


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory, unborn: Path) -> Callable[[Mapping[str, str]], Path]:
    """Return what makes repositories with one commit of these files: once each, to be copied."""
    made: dict[frozenset[tuple[str, str]], Path] = {}

    def make(files: Mapping[str, str]) -> Path:
        key = frozenset(files.items())
        if key not in made:
            folder = tmp_path_factory.mktemp("start") / "repo"
            shutil.copytree(unborn, folder)
            env = {"PATH": os.environ["PATH"], "HOME": str(unborn), "GIT_CONFIG_NOSYSTEM": "1"}
            Repo(folder, env).commit("chore: start", files)
            made[key] = folder
        return made[key]

    return make


@pytest.fixture
def make_repo(
    tmp_path: Path, env: dict[str, str], unborn: Path, start: Callable[[Mapping[str, str]], Path]
) -> MakeRepo:
    """Make a repository with an identity of its own and one commit."""

    def make(name: str = "project", files: Mapping[str, str] | None = None, *, born: bool = True) -> Repo:
        path = tmp_path / name
        repo = Repo(path, env)
        if born:
            shutil.copytree(start(files or {"README.md": "hello\n"}), path)
            repo.git("update-index", "-q", "--refresh")  # the copies are other files
        else:
            shutil.copytree(unborn, path)
        return repo

    return make


@pytest.fixture
def repo(make_repo: MakeRepo) -> Repo:
    """A repository with one commit."""
    return make_repo()
