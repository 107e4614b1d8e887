"""Whose a file is: what RED wrote for its test alone is the test's, and code may be called like a test."""

import pytest

from gates_support import Files, Played, changes, drive, evidence, judge, play, result, suite
from redgreenrefactor.gates.rules.ownership import with_roles
from redgreenrefactor.languages.paths import is_test
from redgreenrefactor.model.evidence import Reach, SuiteRun, Trial
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName

RED, GREEN = PhaseName.RED, PhaseName.GREEN
BEFORE: Files = {"thing.py": "def half(x):\n    return x / 2\n"}
TEST = (
    "from pathlib import Path\nfrom fake import Paper\nfrom thing import double\n\n\n"
    "def test_doubles():\n    assert double(Paper(), Path('data') / 'sample.csv') == 4\n"
)
FAKE = "class Paper:\n    def __init__(self):\n        self.lines = []\n"


def brought(more: Files, test: str = TEST) -> dict[str, bool]:
    written = {**BEFORE, "test_thing.py": test, **more}
    given = evidence(RED, BEFORE, written)
    found, asked = drive(with_roles(given, given.changes), lambda _: SuiteRun())
    assert not asked
    return dict(found.roles)


def test_a_fake_that_the_test_imports_and_data_that_it_names_are_its_own() -> None:
    assert brought({"fake.py": FAKE, "sample.csv": "1\n"}) == {"fake.py": True, "sample.csv": True}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("other.py", FAKE),  # nobody imports it
        ("fake.py", "class Paper:\n    pass\n"),  # an announcement: it is for the planned file
        ("fake.py", "class Paper(ValueError):\n    pass\n\n\nA = 1\n"),  # code has to raise it
        ("fake.py", "def ("),
        ("rates.csv", "1\n"),  # no test names it
        ("sample.sql", "select 1\n"),
    ],
)
def test_what_code_may_need_is_not_the_tests(path: str, text: str) -> None:
    assert not brought({path: text}, TEST.replace("sample.csv", "sample.sql"))


def test_where_the_test_is_not_about_the_planned_code_nothing_is_brought_for_it() -> None:
    assert not brought({"fake.py": FAKE}, TEST.replace("from thing", "from fake"))


def test_what_was_there_is_not_brought() -> None:
    before = {**BEFORE, "fake.py": "A = 1\n"}
    given = evidence(RED, before, {**before, "fake.py": FAKE, "test_thing.py": TEST})
    assert not drive(with_roles(given, given.changes), lambda _: SuiteRun())[0].roles


def after_red(after: Files) -> Played:
    before = {**BEFORE, "fake.py": FAKE, "test_thing.py": TEST}
    told = changes(BEFORE, before)
    return play(
        GREEN, before, {**before, "thing.py": BEFORE["thing.py"] + "\n\ndouble = 1\n", **after}, earlier=told
    )


def test_green_leaves_a_fake_alone_and_does_not_use_it() -> None:
    assert after_red({"fake.py": FAKE.replace("[]", "[1]")}).types == [FindingType.TEST_TAMPERING]
    used = after_red({"thing.py": f"from fake import Paper\n{BEFORE['thing.py']}"})
    assert used.types[0] is FindingType.TEST_TAMPERING
    assert "thing.py:1: the code imports the tests (fake)" in used.told


def test_a_fake_that_existing_code_picks_up_is_code() -> None:
    after = {**BEFORE, "fake.py": FAKE, "test_thing.py": TEST}
    for user, expected in (("thing.py", [FindingType.SCOPE_VIOLATION]), ("test_thing.py", [])):
        reach = Reach(imported={"fake.py": frozenset({user})})
        runs = {"head": suite(result("test_thing.py::test_doubles"), reach=reach)}
        played = judge(evidence(RED, BEFORE, after), lambda trial, runs=runs: runs.get(trial.commit, suite()))
        assert [item for item in played.types if item is FindingType.SCOPE_VIOLATION] == expected, played.told


# --- code that is called like tests

CODE = "PITCH = {'M3': 0.5}\n"
THREADS: Files = {"spec/thread.py": CODE, "stats/t_test.py": CODE, "tests/kit.py": CODE}
USERS: Files = {
    "tests/test_thread.py": "from spec.thread import PITCH\n",
    "tests/test_t.py": "from stats.t_test import PITCH\n",
    "tests/test_kit.py": "from tests.kit import PITCH\n",
}
FILES = {**THREADS, **USERS}
REACH = Reach(files=frozenset(FILES))


def misnamed(
    file: str, phase: PhaseName = GREEN, *, text: str | None = "PITCH = {}\n", holding: str = ""
) -> bool | None:
    """Return whether a file that a turn writes counts as a test; None where nothing is run to know."""
    after = {**FILES, file: text} if text else {name: code for name, code in FILES.items() if name != file}
    ran = suite(result(f"{holding}::test_a"), reach=REACH) if holding else suite(reach=REACH)

    def answer(trial: Trial) -> SuiteRun:
        assert trial.commit == "base"
        return ran

    given, asked = drive(with_roles(evidence(phase, FILES, after)), answer)
    return is_test(given, file) if asked else None


def test_code_in_a_folder_called_spec_and_a_file_called_like_a_test_is_seen() -> None:
    for phase in (RED, GREEN, PhaseName.REFACTOR):
        assert misnamed("spec/thread.py", phase) is False
        assert misnamed("stats/t_test.py", phase) is False
    assert misnamed("spec/thread.py", text=None) is False


@pytest.mark.parametrize("file", ["spec/thread.py", "stats/t_test.py"])
def test_what_holds_tests_or_knows_the_runner_is_no_code(file: str) -> None:
    assert misnamed(file, text="import pytest\n") is None
    assert misnamed(file, text="def test_a():\n    assert 1\n") is None
    assert misnamed(file, holding=file) is True


def test_a_folder_in_which_tests_are_run_and_one_called_tests_are_theirs() -> None:
    assert misnamed("spec/thread.py", holding="spec/test_a.py") is True
    assert misnamed("tests/kit.py") is None


def test_new_files_beside_such_code_are_code() -> None:
    assert misnamed("spec/bolt.py") is False
    assert misnamed("specs/bolt.py") is True  # nothing is known of that folder
    assert misnamed("stats/f_test.py") is False
    assert misnamed("stats/f_test.py", RED) is True  # RED writes tests


def test_code_in_such_a_folder_is_not_for_red_to_write() -> None:
    given = evidence(
        RED,
        FILES,
        {**FILES, "spec/thread.py": "PITCH = {}\n", "test_thing.py": "def test_a():\n    assert PITCH\n"},
    )
    played = judge(given, lambda _: suite(reach=REACH))
    assert played.types == [FindingType.SCOPE_VIOLATION]
