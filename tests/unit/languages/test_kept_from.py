"""What a session of a phase may not touch, for whoever can make it read-only."""

import pytest

from redgreenrefactor.languages.paths import ProjectFolder, kept_from
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.workflow import PhaseName

FILES = (
    "code.py",
    "tests/test_a.py",
    "tests/data/x.json",
    "src/app/tests/test_b.py",
    "src/app/beside_test.go",
    "pytest.ini",
    "tdd.properties",
    "test-list.md",
    "pyproject.toml",
)
CASE = Case("adds", "tests/test_a.py", "code.py")


TEXTS = {"spec/thread.py": "", "t_test.py": "def student(a, b):\n    return a - b\n"}


def read(path: str) -> str:
    return TEXTS.get(path, "def test_it():\n    assert 1\n")


def kept(
    phase: PhaseName, case: Case | None = CASE, prefix: str = "", files: tuple[str, ...] = FILES
) -> set[str]:
    return set(kept_from(phase, files, ProjectFolder(prefix, case), read))


def test_in_green_tests_are_kept_by_their_folders_and_the_rest_by_name() -> None:
    assert kept(PhaseName.GREEN) == {
        "tests",
        "src/app/tests",
        "src/app/beside_test.go",
        "pytest.ini",
        "tdd.properties",
        "test-list.md",
    }


@pytest.mark.parametrize("phase", [PhaseName.RED, PhaseName.REFACTOR])
def test_elsewhere_only_settings_and_the_list_are_kept(phase: PhaseName) -> None:
    assert kept(phase) == {"pytest.ini", "tdd.properties", "test-list.md"}


def test_plan_keeps_its_own_list_writable() -> None:
    assert "test-list.md" not in kept(PhaseName.PLAN)


def test_a_folder_that_holds_the_planned_code_is_not_kept_whole() -> None:
    case = Case("adds", "testing/check.py", "testing/code.py")
    found = kept(
        PhaseName.GREEN, case, files=("testing/code.py", "testing/check.py", "testing/deep/tests/x.py")
    )
    assert "testing" not in found
    assert "testing/code.py" not in found
    assert "testing/check.py" in found


def test_a_project_in_a_subfolder_has_its_own_names() -> None:
    files = ("pkg/test-list.md", "pkg/tests/test_a.py", "test-list.md", "other/tests/x.py")
    assert kept(PhaseName.GREEN, prefix="pkg/", files=files) == {
        "pkg/test-list.md",
        "pkg/tests",
        "other/tests",
    }


def test_without_a_case_names_alone_tell() -> None:
    assert kept(PhaseName.GREEN, None, files=("code.py", "test_x.py")) == {"test_x.py"}


def test_a_folder_that_may_hold_code_is_left_to_the_gates_and_tests_in_it_are_not() -> None:
    files = ["spec/thread.py", "spec/test_thread.py", "spec/thread_spec.rb"]
    assert set(kept_from(PhaseName.GREEN, files, ProjectFolder("", None), read)) == {"spec"}
    assert set(kept_from(PhaseName.GREEN, files[:1], ProjectFolder("", None), read)) == set()


def test_a_file_that_is_only_called_like_a_test_is_left_to_the_gates() -> None:
    assert kept(PhaseName.GREEN, files=("t_test.py", "a_test.py")) == {"a_test.py"}
