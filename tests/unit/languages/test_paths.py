"""A path is a test, the runner's configuration, or code."""

import pytest

from gates_support import change, evidence
from redgreenrefactor.languages.paths import (
    ProjectFolder,
    inside,
    is_prose,
    is_test,
    reconfigures,
    sections,
)
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.workflow import PhaseName

GREEN = PhaseName.GREEN


ANYWHERE = ProjectFolder("", None)


@pytest.mark.parametrize(
    "path",
    [
        "test_calc.py",
        "calc_test.py",
        "tests.py",
        "conftest.py",
        "pkg/tests/helpers.py",
        "tests/data/orders.json",
        "src/app/__tests__/cart.js",
        "cart.spec.ts",
        "cart_test.go",
        "src/test/java/CartTest.java",
        "CartIT.java",
        "__snapshots__/cart.snap",
    ],
)
def test_tests_and_what_belongs_to_them_are_known_by_name(path: str) -> None:
    assert is_test(ANYWHERE, path)


@pytest.mark.parametrize(
    "path",
    ["calc.py", "src/latest.py", "attest.py", "contest.py", "protest/calc.py", "README.md", "Testament.md"],
)
def test_what_only_sounds_like_a_test_is_none(path: str) -> None:
    assert not is_test(ANYWHERE, path)


@pytest.mark.parametrize("path", ["fixtures/orders.json", "golden/out.txt", "snapshots/a.txt"])
def test_data_in_folders_that_hold_expectations_belongs_to_the_tests(path: str) -> None:
    assert is_test(ANYWHERE, path)


def test_the_planned_files_are_what_the_plan_says() -> None:
    given = evidence(GREEN, case=Case("d", "checks/calc.py", "tests/tool.py"))
    assert is_test(given, "checks/calc.py")
    assert not is_test(given, "tests/tool.py")


def test_code_planned_among_the_tests_does_not_make_code_of_them_all() -> None:
    given = evidence(GREEN, case=Case("d", "tests/test_tool.py", "tests/tool.py"))
    assert is_test(given, "tests/data/rows.json")


def test_without_a_plan_names_decide() -> None:
    given = evidence(GREEN, case=None)
    assert is_test(given, "test_a.py")
    assert not is_test(given, "a.py")


def test_in_a_package_called_testing_the_neighbours_of_the_planned_file_are_code() -> None:
    given = evidence(GREEN, case=Case("d", "tests/test_rig.py", "testing/rig.py"))
    assert not is_test(given, "testing/parts.py")


def test_paths_are_seen_from_the_project() -> None:
    given = evidence(GREEN, prefix="app/")
    assert inside(given, "app/calc.py") == "calc.py"
    assert inside(given, "other/calc.py") is None
    assert is_test(given, "app/test_thing.py")
    assert is_test(given, "other/tests/a.py")
    assert not is_test(given, "other/a.py")


def test_a_folder_above_the_project_does_not_make_everything_a_test() -> None:
    given = evidence(GREEN, prefix="tests/project/")
    assert not is_test(given, "tests/project/calc.py")


@pytest.mark.parametrize(
    "path",
    [
        "pytest.ini",
        ".pytest.ini",
        "sub/pytest.toml",
        ".coveragerc",
        "noxfile.py",
        "jest.config.js",
        "sitecustomize.py",
    ],
)
def test_files_that_configure_the_runner_are_known(path: str) -> None:
    assert reconfigures(change(path, "a\n", "b\n"))


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "pyproject.toml",
            "[project]\nname='a'\n",
            "[project]\nname='a'\n[tool.pytest.ini_options]\naddopts='-x'\n",
        ),
        ("pyproject.toml", None, "[tool.coverage.run]\nbranch=true\n"),
        ("pyproject.toml", "[tool.hatch.envs.test]\na=1\n", "[tool.hatch.envs.test]\na=2\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\na='1'\n", None),
        ("pyproject.toml", "[project]\n", "[project\n"),
        ("setup.cfg", "[metadata]\n", "[tool:pytest]\naddopts = -k nothing\n"),
        ("setup.cfg", "", "no section\n"),
        ("tox.ini", "[pytest]\n", "[pytest]\naddopts = --deselect a\n"),
    ],
)
def test_sections_that_configure_the_runner_are_known(
    path: str, before: str | None, after: str | None
) -> None:
    assert reconfigures(change(path, before, after))


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\na='1'\n",
            "[tool.ruff]\n[tool.pytest.ini_options]\na='1'\n",
        ),
        ("pyproject.toml", "[project]\ndependencies=[]\n", "[project]\ndependencies=['attrs']\n"),
        ("pyproject.toml", "[tool.hatch.version]\na=1\n", "[tool.hatch.version]\na=2\n"),
        ("pyproject.toml", "tool = 1\n", "tool = 2\n"),
        ("pyproject.toml", "[tool]\nhatch = 1\n", "[tool]\nhatch = 2\n"),
        ("setup.cfg", "[metadata]\nname=a\n", "[metadata]\nname=b\n"),
        ("calc.py", "a\n", "b\n"),
    ],
)
def test_other_sections_are_anybodys(path: str, before: str, after: str) -> None:
    assert reconfigures(change(path, before, after)) is None


def test_a_file_that_is_not_there_has_no_sections() -> None:
    assert sections("tox.ini", None) == {}


@pytest.mark.parametrize(
    "path", ["README.md", "docs/a.rst", "LICENSE", "sub/README", "NOTICE.txt", "notes.adoc"]
)
def test_what_only_people_read_is_prose(path: str) -> None:
    assert is_prose(path)


@pytest.mark.parametrize(
    "path",
    ["requirements.txt", "CMakeLists.txt", "README.py", "LICENSE.py", "a.md.py", ".gitignore", "data.txt"],
)
def test_what_a_program_may_read_is_none(path: str) -> None:
    assert not is_prose(path)
