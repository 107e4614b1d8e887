"""Honest projects need no approval, whoever made their environment and wherever it lies, and their tests run held."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from stage import BIN, PYPROJECT, SWIFT, Done, Stage

from cages import LEVELS, means
from repos import MakeRepo, Repo

pytestmark = pytest.mark.long
NEVER = ("--agent", "command:false")  # ends a run after its baseline
TEST = "import beside\n\n\ndef test_a() -> None:\n    assert beside.X\n"
FILES = {"pyproject.toml": PYPROJECT, "tests/test_a.py": TEST, "tdd.properties": SWIFT}
IGNORED = {".gitignore": ".venv\nenv\nnode_modules\n"}
OURS = Path(pytest.__file__).parents[1]  # packages that need no network


# --- who makes environments


def quietly(*argv: str, cwd: Path | None = None, **env: str) -> str:
    done = subprocess.run(
        argv, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def by_venv(folder: Path, _repo: Repo) -> Path:
    quietly(sys.executable, "-m", "venv", "--without-pip", str(folder))
    return folder


def by_uv(folder: Path, _repo: Repo) -> Path:
    quietly("uv", "venv", "--offline", "--quiet", "--python", sys.executable, str(folder))
    return folder


def by_poetry(folder: Path, repo: Repo) -> Path:
    """Have poetry install a project without dependencies; elsewhere means where poetry puts it by itself."""
    inside = "true" if folder.is_relative_to(repo.path) else "false"
    project = folder.parent if inside == "true" else repo.path
    settings = project / "pyproject.toml"
    before = settings.read_text() if settings.exists() else None
    about = '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.11"\n[tool.poetry]\npackage-mode = false\n'
    settings.write_text(about)
    here = {"HOME": repo.env["HOME"], "POETRY_VIRTUALENVS_IN_PROJECT": inside, "VIRTUAL_ENV": ""}
    quietly("poetry", "install", "--no-interaction", "--quiet", cwd=project, **here)
    found = quietly("poetry", "env", "info", "--path", cwd=project, **here)
    (project / "poetry.lock").unlink()
    settings.write_text(before) if before is not None else settings.unlink()
    return Path(found)


def by_conda(folder: Path, _repo: Repo) -> Path:
    """Lay out an environment as conda does: an interpreter of its own, and records of what is installed."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    library, packages = Path(sysconfig.get_path("stdlib")), folder / "lib" / version / "site-packages"
    for place in (folder / "bin", folder / "conda-meta", packages):
        place.mkdir(parents=True)
    (folder / "conda-meta/history").touch()
    (folder / "conda-meta/python-1-0.json").write_text('{"name": "python"}')
    shutil.copy(Path(sys.executable).resolve(), folder / "bin" / version)
    for name in ("python3", "python"):
        (folder / "bin" / name).symlink_to(version)
    for entry in library.iterdir():
        if entry.name not in ("site-packages", "__pycache__"):
            (packages.parent / entry.name).symlink_to(entry)
    return folder


def with_pytest(folder: Path) -> Path:
    """Put pytest into an environment; return where packages lie in it."""
    packages = next(folder.glob("lib/python*/site-packages"))
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        shutil.copytree(OURS / name, packages / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(OURS / "py.py", packages)
    for info in (place for name in ("pytest", "pluggy") for place in OURS.glob(f"{name}-*.dist-info")):
        shutil.copytree(info, packages / info.name)
    script = folder / "bin/pytest"
    script.write_text(f"#!{folder}/bin/python\nimport pytest, sys\nsys.exit(pytest.main())\n")
    script.chmod(0o755)
    return packages


Maker = Callable[[Path, Repo], Path]
MAKERS = (
    pytest.param(by_venv, id="venv"),
    pytest.param(by_uv, id="uv", marks=pytest.mark.needs("uv")),
    pytest.param(by_poetry, id="poetry", marks=pytest.mark.needs("poetry")),
    pytest.param(by_conda, id="conda"),
)


# --- where they lie


def activated(folder: Path, level: str, repo: Repo, *, conda: bool) -> dict[str, str]:
    """Return what a user has in a terminal in which the environment is active; ours is not."""
    path = os.pathsep.join(part for part in repo.env["PATH"].split(os.pathsep) if Path(part) != BIN)
    active = {"CONDA_PREFIX" if conda else "VIRTUAL_ENV": str(folder)}
    return {"PATH": f"{folder}/bin{os.pathsep}{path}", "TDD_SANDBOX": level, "TDD_TRUST": "", **active}


def went_well(done: Done) -> None:
    """Make sure that the one test has passed before the agent failed."""
    assert (done.code, done.json.get("errorDetails", {}).get("type")) == (1, "AgentFailure"), done
    assert re.search("suite: (1 passed|the suite passed)", done.err), done.err


@pytest.mark.parametrize("where", ["inside", "outside", "parent"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("maker", MAKERS)
def test_an_environment_needs_no_approval(
    maker: Maker, level: str, where: str, make_repo: MakeRepo, tmp_path: Path
) -> None:
    means(level)
    below = "sub/" if where == "parent" else ""
    repo = make_repo(files={below + name: text for name, text in FILES.items()} | IGNORED)
    conda = maker is by_conda
    inside = repo.path / ("env" if conda else ".venv")
    folder = maker(tmp_path / "elsewhere/env" if where == "outside" else inside, repo)
    (with_pytest(folder) / "beside.py").write_text("X = 1\n")
    env = activated(folder, level, repo, conda=conda)
    if where != "outside" and not conda:  # found by its name, without being active
        env["PATH"] = env["PATH"].partition(os.pathsep)[2]
        del env["VIRTUAL_ENV"]
    stage = Stage(repo, env=env, project=below or ".")
    went_well(stage.rgr("run", "x", *NEVER, "--json"))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("maker", MAKERS)
def test_a_sibling_installed_in_place_is_asked_for_once_and_named(
    maker: Maker, level: str, make_repo: MakeRepo, tmp_path: Path
) -> None:
    means(level)
    repo = make_repo(files=FILES | IGNORED)
    conda = maker is by_conda
    folder = maker(repo.path / ("env" if conda else ".venv"), repo)
    sibling = tmp_path / "siblings/beside"
    sibling.mkdir(parents=True)
    (sibling / "beside.py").write_text("X = 1\n")
    (with_pytest(folder) / "beside.pth").write_text(f"{sibling}\n")
    stage = Stage(repo, env=activated(folder, level, repo, conda=conda))
    done = stage.rgr("run", "x", *NEVER, "--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "NotTrusted"), done
    assert f"shows={sibling}" in done.err
    assert stage.rgr("trust", "--yes").code == 0
    for _ in range(2):
        done = stage.rgr("run", "x", "--new", *NEVER, "--json")
        went_well(done)
        assert f"shows{sibling}" in "".join(done.err.split())  # the screen breaks lines


@pytest.mark.needs("uv")
def test_uv_runs_tests_in_an_environment_elsewhere_as_it_is(make_repo: MakeRepo, tmp_path: Path) -> None:
    repo = make_repo(files=FILES | {"pyproject.toml": f'{PYPROJECT}[project]\nname = "x"\nversion = "1"\n'})
    folder = by_uv(tmp_path / "elsewhere/env", repo)
    (with_pytest(folder) / "beside.py").write_text("X = 1\n")
    env = {**activated(folder, "landlock", repo, conda=False), "UV_PROJECT_ENVIRONMENT": str(folder)}
    del env["VIRTUAL_ENV"]
    env["PATH"] = f"{Path(str(shutil.which('uv'))).parent}:{env['PATH'].partition(os.pathsep)[2]}"
    for command in ("uv run pytest", ""):
        stage = Stage(repo, env={**env, "TDD_TEST_COMMAND": command})
        went_well(stage.rgr("run", "x", "--new", *NEVER, "--json"))


@pytest.mark.needs("npm")
@pytest.mark.parametrize("level", LEVELS)
def test_a_node_project_with_its_dependencies_needs_no_approval(level: str, make_repo: MakeRepo) -> None:
    means(level)
    files = {
        "package.json": json.dumps({"name": "x", "scripts": {"test": "node --test"}}),
        "a.test.js": "require('node:test')('a', () => { require('beside'); require('./cache') })\n",
        "cache.js": "const fs = require('fs'); const place = 'node_modules/.vite/vitest'\n"
        "fs.mkdirSync(place, { recursive: true }); fs.writeFileSync(place + '/results.json', 'theirs')\n",
        "tdd.properties": SWIFT,
    }
    repo = make_repo(files=files | IGNORED)
    repo.write("node_modules/beside/index.js", "module.exports = 1\n")
    results = repo.write("node_modules/.vite/vitest/results.json", "mine")
    stage = Stage(repo, env={"TDD_SANDBOX": level, "TDD_TRUST": ""})
    went_well(stage.rgr("run", "x", *NEVER, "--json"))
    assert results.read_text() == "mine"
