"""The project's own virtual environment is used without being activated; others are only named."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from redgreenrefactor.ports import Suite
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.runners.suite_context import SuiteContext
from redgreenrefactor.runners.virtual import (
    activated,
    how_to_install,
    missing_module,
    other_environments,
    typed,
)

Lay = Callable[[Mapping[str, str]], None]
PATH = "/usr/bin:/bin"


def environment_in(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    return folder


@pytest.mark.parametrize("name", [".venv", "venv"])
@pytest.mark.parametrize("place", ["project", "root"])
def test_the_projects_own_is_used_as_if_it_were_activated(tmp_path: Path, name: str, place: str) -> None:
    project = tmp_path / "packages" / "one"
    project.mkdir(parents=True)
    own = environment_in((project if place == "project" else tmp_path) / name)
    env = activated(
        {"PATH": PATH, "PYTHONHOME": "/x", "VIRTUAL_ENV": "/of/another/project"}, project, tmp_path
    )
    assert env == {"PATH": f"{own}/bin:{PATH}", "VIRTUAL_ENV": str(own)}
    assert activated(env, project, tmp_path) == env


def test_one_of_the_projects_that_is_active_already_stays_so(tmp_path: Path) -> None:
    environment_in(tmp_path / ".venv")
    env = {"PATH": PATH, "VIRTUAL_ENV": str(environment_in(tmp_path / "py312"))}
    assert activated(env, tmp_path) == env


def test_without_one_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()  # a package of that name, maybe
    env = {"PATH": PATH, "VIRTUAL_ENV": "/elsewhere"}
    assert activated(env, tmp_path) == env


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("pytest", "../.venv/bin/pytest"),
        ("pytest -q 'a b'", "../.venv/bin/pytest -q 'a b'"),
        ("make test", "make test"),
        ("/usr/bin/pytest", "/usr/bin/pytest"),
        ("cd sub && pytest", "cd sub && pytest"),
    ],
)
def test_where_it_may_not_be_active_sessions_are_told_its_programs(
    tmp_path: Path, command: str, told: str
) -> None:
    project = tmp_path / "one"
    project.mkdir()
    (environment_in(tmp_path / ".venv") / "bin" / "pytest").touch()
    env = {"PATH": PATH}
    assert typed(command, env, project, tmp_path) == told
    assert typed(command, activated(env, project, tmp_path), project, tmp_path) == command
    assert typed(command, env, project, project) == command


def test_tests_find_what_is_installed_there(project: Path, lay: Lay, suite: Callable[..., Suite]) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", project / ".venv"], check=True)
    packages = next((project / ".venv/lib").glob("python*/site-packages"))
    ours = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "ours.pth").write_text("\n".join(ours))
    (packages / "installed.py").write_text("ONE = 1\n")
    lay({"test_a.py": "import installed\n\n\ndef test_a():\n    assert installed.ONE == 1\n"})
    done = suite("python -m pytest").run(project)
    assert done.green, done.output


def test_others_that_may_be_meant_are_named(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "work" / "deep" / "thing"
    project = root / "sub"
    project.mkdir(parents=True)
    active, above = environment_in(tmp_path / "active"), environment_in(tmp_path / "work" / ".venv")
    poetry = environment_in(home / ".cache/pypoetry/virtualenvs/thing-x1-py3.12")
    wrapper = environment_in(home / ".virtualenvs/sub")
    env = {"HOME": str(home), "VIRTUAL_ENV": str(active), "CONDA_PREFIX": str(root / "inside")}
    assert list(other_environments(env, project, root)) == [active, wrapper, poetry, above]
    hint = how_to_install(env, project, root, "absent")
    assert f"'source {active}/bin/activate'" in hint
    assert f"'source {wrapper}/bin/activate'" in hint


@pytest.mark.parametrize(
    ("files", "typed"),
    [
        ({}, "python3 -m venv .venv && .venv/bin/python -m pip install absent pytest"),
        ({"requirements.txt": ""}, ".venv/bin/python -m pip install -r requirements.txt pytest"),
        ({"pyproject.toml": "[project]\nname = 'x'\n"}, "pip install -e . pytest"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "pip install absent pytest"),
        ({"setup.py": "", "requirements-dev.txt": ""}, "pip install -r requirements-dev.txt -e . pytest"),
        ({"uv.lock": "", "pyproject.toml": "[project]\n"}, "or type 'uv sync'"),
        ({"poetry.lock": ""}, "or type 'poetry install'"),
    ],
    ids=["nothing", "requirements", "package", "settings", "setup", "uv", "poetry"],
)
def test_what_to_type_is_what_the_project_says_it_needs(
    project: Path, lay: Lay, files: dict[str, str], typed: str
) -> None:
    lay(files)
    hint = how_to_install({"PATH": PATH}, project, project, "absent.part")
    assert f"No virtual environment is active, and none is in {project}" in hint
    assert typed in hint


def test_what_lacks_a_module_is_installed_there(project: Path) -> None:
    own = environment_in(project / ".venv")
    told = how_to_install({"PATH": os.defpath}, project, project, "absent")
    assert (
        told
        == f"The tests are run with {own}: type '{own}/bin/python -m pip install absent pytest', then try again."
    )


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("E   ModuleNotFoundError: No module named 'requests.adapters'", "requests.adapters"),
        ("/usr/bin/python3: No module named pytest", "pytest"),
        ("AssertionError", None),
    ],
)
def test_the_module_that_is_missing_is_found_in_the_words(text: str, module: str | None) -> None:
    assert missing_module(text) == module


def test_one_that_is_lent_to_another_checkout_is_no_part_of_the_project(
    project: Path, tmp_path: Path, environment: dict[str, str], cache: Path
) -> None:
    main, checkout = tmp_path / "main", tmp_path / "checkout"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", main / ".venv"], check=True)
    packages = next((main / ".venv/lib").glob("python*/site-packages"))
    (packages / "ours.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    runner = main / ".venv/bin/pytest"
    runner.write_text(f"#!{main}/.venv/bin/python\nimport pytest\n\nraise SystemExit(pytest.main())\n")
    runner.chmod(0o755)
    (project / ".venv").symlink_to(main / ".venv")
    checkout.mkdir()
    (checkout / "test_a.py").write_text("def test_a(): pass\n")
    suite = suite_for(
        "pytest", SuiteContext(project=project, env=environment, timeout=120, cache=cache, main=main)
    )
    done = suite.run(checkout)
    assert done.green, done.output
    assert done.foreign == ()
