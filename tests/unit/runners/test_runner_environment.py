"""What a Python suite finds around it."""

import os
import py_compile
from pathlib import Path

import pytest

from redgreenrefactor.runners.suite_context import SuiteContext, forget_uncertain_bytecode, with_managers


def prepared(tmp_path: Path, *, keeps: bool = True, **env: str) -> dict[str, str]:
    where = SuiteContext(tmp_path / "project", env, 1.0, tmp_path / "cache")
    return where.prepared(tmp_path / "checkout", keeps=keeps)


def test_bytecode_of_what_nobody_but_the_person_wrote_goes_to_our_own_folder(tmp_path: Path) -> None:
    env = prepared(tmp_path, PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="7", HOME="/h")
    assert env == {
        "PYTHONPYCACHEPREFIX": str(tmp_path / "cache" / "bytecode"),
        "PYTHONHASHSEED": "7",
        "HOME": "/h",
    }


def test_bytecode_of_what_a_session_may_have_written_is_not_kept_but_that_of_others_is_read(
    tmp_path: Path,
) -> None:
    env = prepared(tmp_path, keeps=False, HOME="/h")
    assert env == {
        "PYTHONPYCACHEPREFIX": str(tmp_path / "cache" / "bytecode"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/h",
    }


def test_import_paths_inside_the_project_are_those_of_the_checkout(tmp_path: Path) -> None:
    project = tmp_path / "project"
    entries = [f"{project}/src", "relative", "", "/elsewhere", str(project), f"{project}-other/lib"]
    env = prepared(tmp_path, PYTHONPATH=os.pathsep.join(entries))
    checkout = tmp_path / "checkout"
    assert env["PYTHONPATH"].split(os.pathsep) == [
        f"{checkout}/src",
        "relative",
        "",
        "/elsewhere",
        str(checkout),
        f"{project}-other/lib",
    ]


def test_import_paths_that_reach_the_project_by_a_link_are_found(tmp_path: Path) -> None:
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "project")
    env = prepared(tmp_path, PYTHONPATH=f"{tmp_path}/link/src")
    assert env["PYTHONPATH"] == f"{tmp_path}/checkout/src"


def compiled(tmp_path: Path, *, source_time: float, bytecode_time: float, mode: str = "TIMESTAMP") -> Path:
    """Return bytecode of a checkout's file, with these times."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    source = folder / "code.py"
    source.write_text("x = 1\n")
    os.utime(source, (source_time, source_time))
    target = tmp_path.joinpath("bytecode", *folder.resolve().parts[1:], "code.cpython-311.pyc")
    target.parent.mkdir(parents=True)
    py_compile.compile(
        str(source), str(target), doraise=True, invalidation_mode=py_compile.PycInvalidationMode[mode]
    )
    os.utime(target, (bytecode_time, bytecode_time))
    return target


@pytest.mark.parametrize(
    ("source", "bytecode", "kept"),
    [(1000.9, 1001.0, True), (1000.0, 2000.0, True), (1000.0, 1000.9, False), (1000.9, 1000.9, False)],
)
def test_bytecode_is_kept_only_if_any_later_change_of_its_source_would_show(
    tmp_path: Path, source: float, bytecode: float, *, kept: bool
) -> None:
    file = compiled(tmp_path, source_time=source, bytecode_time=bytecode)
    forget_uncertain_bytecode(tmp_path / "bytecode", tmp_path / "checkout")
    assert file.exists() is kept


@pytest.mark.parametrize(("mode", "kept"), [("CHECKED_HASH", True), ("UNCHECKED_HASH", False)])
def test_bytecode_that_is_compared_with_its_source_by_content_is_kept(
    tmp_path: Path, mode: str, *, kept: bool
) -> None:
    file = compiled(tmp_path, source_time=1000.0, bytecode_time=1000.0, mode=mode)
    forget_uncertain_bytecode(tmp_path / "bytecode", tmp_path / "checkout")
    assert file.exists() is kept


def test_what_is_no_bytecode_does_not_stay(tmp_path: Path) -> None:
    file = compiled(tmp_path, source_time=1000.0, bytecode_time=2000.0)
    file.write_bytes(b"short")
    forget_uncertain_bytecode(tmp_path / "bytecode", tmp_path / "checkout")
    assert not file.exists()


def test_bytecode_of_other_folders_is_left_alone(tmp_path: Path) -> None:
    file = compiled(tmp_path, source_time=1000.0, bytecode_time=1000.0)
    forget_uncertain_bytecode(tmp_path / "bytecode", tmp_path / "another")
    assert file.exists()


def environments(project: Path, *names: str) -> Path:
    for name in names:
        (project / name).mkdir(parents=True)
        (project / name / "pyvenv.cfg").touch()
    return project


@pytest.mark.parametrize(
    ("command", "anchored"),
    [
        (".venv/bin/pytest -q", "{project}/.venv/bin/pytest -q"),
        ("./.venv/bin/python -m pytest", "{project}/.venv/bin/python -m pytest"),
        ("X=1 env3/bin/pytest", "X=1 {project}/env3/bin/pytest"),
        (". .venv/bin/activate && pytest", ". {project}/.venv/bin/activate && pytest"),
        ("PATH=.venv/bin:$PATH pytest", "PATH={project}/.venv/bin:$PATH pytest"),
        ('".venv/bin/pytest"', '"{project}/.venv/bin/pytest"'),
        ("other/bin/pytest", "other/bin/pytest"),
        ("/x/.venv/bin/pytest", "/x/.venv/bin/pytest"),
        ("sub/.venv/bin/pytest", "sub/.venv/bin/pytest"),
        ("../.venv/bin/pytest", "../.venv/bin/pytest"),
        ("my.venv/bin/pytest", "my.venv/bin/pytest"),
        ("pytest .venv", "pytest .venv"),
    ],
)
def test_a_virtual_environment_is_found_where_the_project_has_it(
    tmp_path: Path, command: str, anchored: str
) -> None:
    project = environments(tmp_path / "project", ".venv", "env3")
    (project / "other" / "bin").mkdir(parents=True)
    where = SuiteContext(project, {}, 1.0, tmp_path / "cache")
    assert where.anchored(command) == anchored.format(project=project)


def test_a_project_whose_path_has_spaces_is_quoted(tmp_path: Path) -> None:
    project = environments(tmp_path / "my project", ".venv")
    where = SuiteContext(project, {}, 1.0, tmp_path / "cache")
    assert where.anchored(".venv/bin/pytest") == f"'{project}/.venv'/bin/pytest"


def test_a_package_manager_uses_the_projects_environment_and_leaves_it_alone(tmp_path: Path) -> None:
    project = environments(tmp_path / "project", ".venv", "a")
    folder = str(project / ".venv")
    assert with_managers({"A": "1"}, "uv run pytest", project) == {
        "A": "1",
        "UV_PROJECT_ENVIRONMENT": folder,
        "UV_NO_SYNC": "1",
    }
    assert with_managers({}, "poetry run pytest", project) == {"VIRTUAL_ENV": folder}
    assert with_managers({"VIRTUAL_ENV": "/mine"}, "poetry run pytest", project) == {"VIRTUAL_ENV": "/mine"}


def test_without_a_package_manager_or_an_environment_nothing_is_added(tmp_path: Path) -> None:
    project = environments(tmp_path / "project", ".venv")
    assert with_managers({"A": "1"}, "pytest", project) == {"A": "1"}
    assert with_managers({}, "uv run pytest", tmp_path) == {}
