"""Python's virtual environments: the project's own, used as if it had been activated, and others that may be meant."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from redgreenrefactor.filesystem import text_of
from redgreenrefactor.sandbox.toolchains import ENVIRONMENTS, OF_PYTHON

_NAME = re.compile(r"[\w.-]+")  # of a program, without a path
_NO_MODULE = re.compile(r"No module named '?([\w.]+)")
# Below the home folder, where tools keep the environments of projects; each may have more after the project's name.
_ELSEWHERE = (
    ".virtualenvs/{}",
    ".local/share/virtualenvs/{}-*",
    ".cache/pypoetry/virtualenvs/{}-*",
    ".local/share/hatch/env/virtual/{}/*/*",
    ".conda/envs/{}",
    "miniconda3/envs/{}",
    "anaconda3/envs/{}",
    "miniforge3/envs/{}",
)
_BY_MANAGER = {
    "uv.lock": "uv sync",
    "poetry.lock": "poetry install",
    "pdm.lock": "pdm install",
    "Pipfile": "pipenv sync",
}


def own_environment(*homes: Path) -> Path | None:
    """Return the virtual environment right inside one of these folders: the project's, its repository's."""
    places = (home.absolute() / name for home in homes for name in ENVIRONMENTS)
    return next((place for place in places if (place / "bin").is_dir()), None)


def activated(env: Mapping[str, str], *homes: Path) -> dict[str, str]:
    """Return the environment as activating the project's own virtual environment makes it.

    One in these folders that is active already stays so; one that is active elsewhere is not meant for this project.
    """
    own, active = own_environment(*homes) or _named(env), env.get("VIRTUAL_ENV")
    if own is None or (active and any(_is_in(Path(active), home) for home in homes)):
        return dict(env)
    path = os.pathsep.join([str(own / "bin"), env.get("PATH", os.defpath)])
    kept = {name: value for name, value in env.items() if name != "PYTHONHOME"}
    return {**kept, "PATH": path, "VIRTUAL_ENV": str(own)}


def _named(env: Mapping[str, str]) -> Path | None:
    """Return the environment that the user has named to uv as the project's."""
    place = Path(env.get("UV_PROJECT_ENVIRONMENT", ""))
    return place if place.is_absolute() and (place / "bin").is_dir() else None


def typed(command: str, env: Mapping[str, str], project: Path, root: Path) -> str:
    """Return a test command as it is to be typed in the project where its virtual environment may not be active."""
    own, (program, *rest) = own_environment(project, root), command.split(" ", 1)
    if own is None or activated(env, project, root) == env or not _NAME.fullmatch(program):
        return command
    there = os.path.join(os.path.relpath(own, project), "bin", program)  # noqa: PTH118 - relpath goes up, too
    return " ".join([there, *rest]) if (own / "bin" / program).exists() else command


def _is_in(place: Path, home: Path) -> bool:
    return place.absolute().is_relative_to(home.absolute()) or place.resolve().is_relative_to(home.resolve())


def other_environments(env: Mapping[str, str], project: Path, root: Path) -> Iterator[Path]:
    """Yield virtual environments outside of the project that may be meant for it; none is opened or used."""
    for name in OF_PYTHON:
        place = Path(env.get(name, ""))
        if place.is_absolute() and not _is_in(place, root):
            yield place
    home = Path(env.get("HOME", "/nonexistent"))
    for pattern in _ELSEWHERE:
        for name in dict.fromkeys((project.name, root.name)):
            yield from sorted(home.glob(pattern.format(name)))
    above = (own_environment(folder) for folder in root.absolute().parents)
    yield from (place for place in above if place)


def run_with(env: Mapping[str, str], project: Path, root: Path, program: str) -> tuple[str, str]:
    """Return in words with which packages tests would be run, and what to type if others may be meant."""
    if used := env.get("VIRTUAL_ENV") or env.get("CONDA_PREFIX"):
        return f"tests would be run with the virtual environment {used}", ""
    other = next(other_environments(env, project, root), None)
    hint = f"If the tests need {other}, type 'source {shlex.quote(str(other))}/bin/activate' first."
    told = f"tests would be run with {program}: no virtual environment is active, and none is in the project"
    return told, hint if other else ""


def missing_module(text: str) -> str | None:
    """Return the module that an import did not find, as Python names it."""
    found = _NO_MODULE.search(text)
    return found[1] if found else None


def how_to_install(env: Mapping[str, str], project: Path, root: Path, module: str | None) -> str:
    """Return what to type where the tests' dependencies are not there."""
    own = own_environment(project, root)
    if own is not None:
        command = _installing(project, str(own / "bin/python"), module)
        return f"The tests are run with {own}: type '{command}', then try again."
    command = _installing(project, ".venv/bin/python", module)
    make = f"python3 -m venv .venv && {command}" if command.startswith(".venv") else command
    others = [
        f"'source {shlex.quote(str(place))}/bin/activate'" for place in other_environments(env, project, root)
    ]
    if others:
        return f"Activate the virtual environment the tests need, e.g. {' or '.join(others[:3])}, or type '{make}'."
    return f"No virtual environment is active, and none is in {project}: activate yours, or type '{make}'."


def _installing(project: Path, python: str, module: str | None) -> str:
    """Return the command that installs what a project says it needs; where it says nothing, the module."""
    there = {path.name for path in project.iterdir()}
    if by_manager := [command for file, command in _BY_MANAGER.items() if file in there]:
        return by_manager[0]
    wanted = [f"-r {name}" for name in ("requirements.txt", "requirements-dev.txt") if name in there]
    wanted += (
        ["-e ."]
        if there & {"setup.py", "setup.cfg"} or "[project]" in text_of(project / "pyproject.toml")
        else []
    )
    wanted = wanted or [module.partition(".")[0]] if module else wanted
    return " ".join([shlex.quote(python), "-m pip install", *wanted, "pytest"])
