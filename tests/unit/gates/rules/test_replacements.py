"""What a turn puts in the place of something else, and what is its own affair."""

import pytest

from gates_support import evidence
from redgreenrefactor.gates.rules.replacements import hidden, replaced
from redgreenrefactor.model.evidence import Reach, Replacement
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName

GIVEN = evidence(
    PhaseName.RED, {"thing.py": "a = 1\n"}, {"thing.py": "a = 2\n", "yaml.py": "", "tests/yaml.py": ""}
)


def reaching(*things: Replacement, **facts: dict[str, str]) -> Reach:
    return Reach(replaced=frozenset(things), hiding=facts.get("hiding", {}))


@pytest.mark.parametrize(
    ("owner", "name", "file", "why"),
    [
        ("unittest.case.TestCase", "assertEqual", "thing.py", "decides what tests report"),
        ("builtins", "sorted", "conftest.py", "decides what tests report"),
        ("thing.py", "add", "test_thing.py", "instead of the code"),
        ("thing.py", "add", "", "instead of the code"),  # a mock
        ("test_old.py", "test_adds", "thing.py", "a test of others"),
    ],
)
def test_what_stands_in_anothers_place_after_the_tests_is_tampering(
    owner: str, name: str, file: str, why: str
) -> None:
    [found] = replaced(GIVEN, reaching(Replacement(owner, name, file, 4)), Reach())
    assert (found.type, found.file) == (FindingType.TEST_TAMPERING, file or None)
    assert why in found.message


@pytest.mark.parametrize(
    "item",
    [
        Replacement("thing.py", "add", "other.py", 4),  # a closure that another module has made
        Replacement("test_thing.py", "helper", "thing.py", 4),
        Replacement("test_thing.py", "test_it", "conftest.py", 4),
    ],
)
def test_what_the_projects_files_make_of_each_other_is_their_own_affair(item: Replacement) -> None:
    assert list(replaced(GIVEN, reaching(item))) == []


def test_what_was_replaced_before_the_turn_is_nobodys_fault_now() -> None:
    before = reaching(Replacement("builtins", "sorted", "conftest.py", 4))
    assert (
        list(replaced(GIVEN, reaching(Replacement("builtins", "sorted", "conftest.py", 9)), Reach(), before))
        == []
    )


def test_a_new_module_in_the_place_of_an_installed_one_is_tampering() -> None:
    [found] = hidden(GIVEN, reaching(hiding={"yaml": "yaml.py"}), Reach())
    assert (found.type, found.file) == (FindingType.TEST_TAMPERING, "yaml.py")
    assert "'yaml'" in found.message


def test_an_old_module_a_planned_one_and_one_for_tests_alone_hide_nothing() -> None:
    assert (
        list(hidden(GIVEN, reaching(hiding={"yaml": "yaml.py"}), reaching(hiding={"yaml": "yaml.py"}))) == []
    )
    assert list(hidden(GIVEN, reaching(hiding={"thing": "thing.py"}))) == []
    assert list(hidden(GIVEN, reaching(hiding={"yaml": "tests/yaml.py"}))) == []
    nobody = evidence(PhaseName.RED, {}, {"tests/yaml.py": ""}, case=None)
    used = Reach(hiding={"yaml": "tests/yaml.py"}, imported={"tests/yaml.py": frozenset({"thing.py"})})
    assert [item.file for item in hidden(nobody, used)] == ["tests/yaml.py"]
