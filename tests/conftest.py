"""What all tests share: a scrubbed environment and real repositories."""

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("rgr", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rgr")


@dataclass(frozen=True)
class Repo:
    """A real repository to play in."""

    path: Path
    env: Mapping[str, str]

    def git(self, *args: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.path, env=dict(self.env), capture_output=True, text=True, check=False, input=stdin
        )
        assert done.returncode == 0, f"git {args}: {done.stderr}"
        return done.stdout.strip()

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self, message: str, files: Mapping[str, str] | None = None) -> str:
        for name, text in (files or {}).items():
            self.write(name, text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def subjects(self) -> list[str]:
        return self.git("log", "--format=%s", "--reverse").splitlines()

    def refs(self) -> dict[str, str]:
        rows = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(row.split(" ") for row in rows)  # pyright: ignore[reportReturnType, reportArgumentType]


@pytest.fixture
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with an empty home folder, and nobody's settings."""
    import os  # noqa: PLC0415

    home = tmp_path_factory.mktemp("home")
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "GIT_CONFIG_NOSYSTEM": "1"}


MakeRepo = Callable[..., Repo]


@pytest.fixture
def make_repo(tmp_path: Path, env: dict[str, str]) -> MakeRepo:
    """Make a repository with an identity of its own and one commit."""

    def make(name: str = "project", files: Mapping[str, str] | None = None, *, born: bool = True) -> Repo:
        path = tmp_path / name
        path.mkdir(parents=True)
        repo = Repo(path, env)
        repo.git("init", "-q", "-b", "main")
        repo.git("config", "user.name", "Ada")
        repo.git("config", "user.email", "ada@localhost")
        if born:
            repo.commit("chore: start", files or {"README.md": "hello\n"})
        return repo

    return make


@pytest.fixture
def repo(make_repo: MakeRepo) -> Repo:
    """A repository with one commit."""
    return make_repo()
