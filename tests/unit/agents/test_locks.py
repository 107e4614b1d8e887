from pathlib import Path

import pytest

from redgreenrefactor.agents.toolbox import locked_in
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.session import Brief, Role
from redgreenrefactor.model.workflow import PhaseName, RoleName

CASE = Case("d", "checks/all.py", "spec/roman.py")


NOWHERE = Path("nowhere")


def locked(phase: PhaseName, path: str, case: Case | None = CASE, folder: Path = NOWHERE) -> str:
    return locked_in(Brief(Role(RoleName.TEST, "", ""), phase, 1, 1, "r", "", "{}", case), folder)(path)


def test_a_file_called_like_a_test_is_locked_if_it_knows_tests(tmp_path: Path) -> None:
    (tmp_path / "t_test.py").write_text("def student(a, b):\n    return a - b\n")
    (tmp_path / "x_test.py").write_text("def test_x():\n    assert student(2, 1) == 1\n")
    (tmp_path / "base_test.py").write_text("import unittest\n")
    assert not locked(PhaseName.GREEN, "t_test.py", folder=tmp_path)
    assert locked(PhaseName.GREEN, "x_test.py", folder=tmp_path)
    assert locked(PhaseName.GREEN, "base_test.py", folder=tmp_path)


@pytest.mark.parametrize("path", ["tests/test_a.py", "checks/all.py", "src/a_test.go", "tests/data/x.json"])
def test_in_green_the_tests_are_locked_and_elsewhere_they_are_not(path: str) -> None:
    assert "as RED wrote them" in locked(PhaseName.GREEN, path)
    assert not locked(PhaseName.RED, path)
    assert not locked(PhaseName.REFACTOR, path)


@pytest.mark.parametrize("path", ["roman.py", "spec/roman.py", "src/latest.py"])
def test_code_is_never_locked(path: str) -> None:
    assert not locked(PhaseName.GREEN, path)


def test_the_list_belongs_to_plan_and_the_settings_to_nobody() -> None:
    assert "only PLAN" in locked(PhaseName.RED, "test-list.md")
    assert not locked(PhaseName.PLAN, "test-list.md")
    assert "settings" in locked(PhaseName.PLAN, "tdd.properties")


def test_without_a_case_what_looks_like_a_test_is_locked() -> None:
    assert locked(PhaseName.GREEN, "tests/test_a.py", None)
    assert not locked(PhaseName.GREEN, "checks/all.py", None)
