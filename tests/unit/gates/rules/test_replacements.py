"""What a turn puts in the place of something else, and what is its own affair."""

import pytest

from gates_support import Files, evidence, result, suite
from redgreenrefactor.gates.rules.replacements import hidden, replaced, supplanted
from redgreenrefactor.gates.rules.tampering import borrowed
from redgreenrefactor.model.evidence import CollectError, Reach, Replacement, SuiteRun
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
    theirs = Reach(hiding={"yaml": "tests/yaml.py"}, imported={"tests/yaml.py": frozenset({"test_thing.py"})})
    assert list(hidden(GIVEN, theirs)) == []
    assert list(hidden(GIVEN, reaching(hiding={"yaml": "tests/yaml.py"})))  # code would get it, too
    nobody = evidence(PhaseName.RED, {}, {"tests/yaml.py": ""}, case=None)
    used = Reach(hiding={"yaml": "tests/yaml.py"}, imported={"tests/yaml.py": frozenset({"thing.py"})})
    assert [item.file for item in hidden(nobody, used)] == ["tests/yaml.py"]


TEST = "tests/test_thing.py"
HELPED: Files = {
    "thing.py": "",
    "checks.py": "",
    "tests/checks.py": "",
    "tests/kit.py": "it = 1\n",
    "tests/json.py": "",
    TEST: "import json\nfrom . import more\nimport checks\nfrom kit import it\nimport pytest\n\nif it:\n    import thing\n",
}


def loading(*files: str, errors: tuple[CollectError, ...] = ()) -> SuiteRun:
    return suite(result(f"{TEST}::test_it"), errors=errors, reach=Reach(frozenset({TEST, *files})))


ALL = ("tests/checks.py", "tests/kit.py")


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (ALL, ("checks.py", "tests/kit.py"), 3),
        (ALL, ("tests/checks.py",), 4),
        (ALL, (*ALL, "checks.py", "thing.py"), None),
        (("tests/checks.py",), ("tests/checks.py",), None),  # as it was before
        ((), ALL, None),
    ],
)
def test_what_tests_import_is_what_they_get(
    before: tuple[str, ...], after: tuple[str, ...], line: int | None
) -> None:
    given = evidence(PhaseName.GREEN, HELPED, {**HELPED, "thing.py": "a = 1\n"})
    found = list(supplanted(given, loading(*after), loading(*before)))
    assert [(item.type, item.line) for item in found] == (
        [(FindingType.TEST_TAMPERING, line)] if line else []
    )


def test_a_file_that_was_not_loaded_before_gets_what_it_imports_and_a_broken_one_is_told_of_elsewhere() -> (
    None
):
    given = evidence(PhaseName.GREEN, HELPED, HELPED)
    [found] = supplanted(given, loading("tests/checks.py"), suite())
    assert found.message.startswith(f"{TEST}:4: it imports tests/kit.py, which is there, and something else")
    assert list(supplanted(given, loading(errors=(CollectError(TEST, "boom"),)), suite())) == []
    assert (
        list(
            supplanted(given, suite(result("gone.py::test_it"), reach=Reach(frozenset({"gone.py"}))), suite())
        )
        == []
    )


def test_code_takes_nothing_from_among_the_tests() -> None:
    code = "import json, checks\nfrom tests import kit\nimport tests.gone\n"
    given = evidence(
        PhaseName.GREEN,
        {**HELPED, "tests/__init__.py": ""},
        {**HELPED, "tests/__init__.py": "", "thing.py": code},
    )
    [found] = borrowed(given, loading())
    assert (found.type, found.file, found.line) == (FindingType.TEST_TAMPERING, "thing.py", 2)
    assert "imports the tests (tests.kit)" in found.message
    assert list(borrowed(given, suite())) == []  # a folder of that name, and no test in it
    broken = evidence(PhaseName.GREEN, HELPED, {**HELPED, "thing.py": "def (\n"})
    assert list(borrowed(broken, loading())) == []
