"""What code gives away without being run; for each suspicion there is an honest neighbour."""

import pytest

from gates_support import NO_FILES, Files, evidence, src
from redgreenrefactor.gates.rules.scope import doubts, misplaced
from redgreenrefactor.gates.rules.tampering import borrowed, sniffing, weaker_helpers
from redgreenrefactor.model.evidence import Evidence, SuiteRun
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.verdict import Finding, FindingType, Severity
from redgreenrefactor.model.workflow import PhaseName

GREEN = PhaseName.GREEN


def turned(after: Files, before: Files = NO_FILES, case: Case | None = None) -> Evidence:
    planned = case or Case("doubles", "tests/test_thing.py", "src/thing.py")
    return evidence(GREEN, before, {path: src(text) for path, text in after.items()}, case=planned)


def sniffed(text: str, before: str = "") -> list[Finding]:
    return list(sniffing(turned({"src/thing.py": text}, {"src/thing.py": before})))


def rejecting(found: list[Finding]) -> list[FindingType]:
    return [item.type for item in found if item.severity is Severity.ERROR]


@pytest.mark.parametrize(
    "text",
    [
        "import os\nTESTED = 'PYTEST_CURRENT_TEST' in os.environ\n",
        "import sys\nTESTED = 'pytest' in sys.modules\n",
        "import sys\nTESTED = 'unittest' not in sys.modules\n",
        "import sys\nTESTED = sys.modules.get('pytest')\n",
        "import os\nA = os.environ.get('RGR_PROBE')\n",
        "import sys\nA = any(n.startswith('_pytest') for n in sys.modules)\n",
        "import sys\nA = 'pytest' in sys.argv[0]\n",
    ],
)
def test_code_that_asks_for_the_runner_is_tampering_where_only_its_text_is_known(text: str) -> None:
    assert FindingType.TEST_TAMPERING in rejecting(sniffed(text))


@pytest.mark.parametrize("text", ["from tests.test_thing import EXPECTED\n", "import conftest\n"])
def test_code_that_imports_tests_is_tampering(text: str) -> None:
    found = list(borrowed(turned({"src/thing.py": text}), SuiteRun()))
    assert [(item.type, item.file, item.line) for item in found] == [
        (FindingType.TEST_TAMPERING, "src/thing.py", 1)
    ]


def test_code_may_import_what_is_called_like_a_test_of_others() -> None:
    case = Case("d", "thing.py", "code.py")
    given = evidence(GREEN, NO_FILES, {"code.py": "import thing\nfrom . import x\n"}, case=case)
    assert list(borrowed(given, SuiteRun())) == []
    assert list(borrowed(evidence(GREEN, NO_FILES, {"a.py": "import b\n"}, case=None), SuiteRun())) == []


@pytest.mark.parametrize(
    "text",
    [
        "import os\nHOME = os.environ.get('HOME')\n",
        "import sys\nFAST = 'numpy' in sys.modules\n",
        "def contest(latest):\n    return latest\n",
        "def f(:\n",
        "import json\njson.limit = 3\nsetattr(json, 'depth', 4)\nprint('test')\n",
        "class Machine:\n    def __init__(self):\n        self.stack = []\n        self.name = 'test bench'\n",
        "import subprocess\nimport sys\ndef run():\n    subprocess.run(['pytest', *sys.argv[1:]], check=False)\n",
        '"""Everything here is promised in tests/test_thing.py."""\n',
        'def f():\n    """Return the double; see test_thing.py for examples."""\n    return 4\n',
        "import sys\ndef where():\n    name = 'latest'\n    return sys._getframe(1).f_lineno, name\n",
    ],
)
def test_code_that_minds_its_own_business_is_left_alone(text: str) -> None:
    assert rejecting(sniffed(text)) == []


def test_what_was_there_before_the_turn_is_nobodys_fault_now() -> None:
    old = "import sys\nTESTED = 'pytest' in sys.modules\nA = 'test_thing.py'\nB = sys._getframe(0)\n"
    assert sniffed(old + "B = 1\n", old) == []


def test_tests_may_speak_of_tests() -> None:
    given = turned({"tests/test_other.py": "import os\nA = os.environ['PYTEST_CURRENT_TEST']\n"})
    assert list(sniffing(given)) == []


@pytest.mark.parametrize(
    "path",
    ["x.egg-info/entry_points.txt", "fast.so", "a/b.pyd", "hack.pth", "src/thi\u200bng.py", "src/a\nb.py"],
)
def test_files_that_belong_into_no_commit_are_out_of_bounds(path: str) -> None:
    assert [item.type for item in misplaced(turned({path: "x"}))] == [FindingType.SCOPE_VIOLATION]


def test_names_that_differ_only_in_letter_case_are_out_of_bounds() -> None:
    both_new = turned({"src/a.py": "1", "src/A.py": "2"})
    beside_old = turned({"src/a.py": "1\n", "src/A.py": "2"}, {"src/a.py": "1\n"})
    assert len(list(misplaced(both_new))) >= 1
    assert [item.file for item in misplaced(beside_old)] == ["src/A.py"]


def test_a_file_whose_name_changes_its_letter_case_is_fine() -> None:
    assert list(misplaced(turned({"src/a.py": "1\n"}, {"src/A.py": "1\n"}))) == []


def test_plain_new_edited_and_deleted_files_are_fine() -> None:
    assert list(misplaced(turned({"src/b.py": "x", "c.so": "new\n"}, {"c.so": "old\n", "d.so": "x"}))) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("requirements.txt", "attrs\n"),
        (".gitignore", "*.pyc\n"),
        ("src/thing.py", "a = 1  # type: ignore\n"),
        ("src/thing.py", "a = 1  # pragma: no cover\n"),
        ("src/thing.py", "try:\n    a = 1\nexcept:\n    pass\n"),
        ("src/thing.py", "def f():\n    try:\n        a = 1\n    except Exception:\n        return None\n"),
        ("src/big.txt", "x" * 1_000_001),
    ],
)
def test_what_a_person_may_want_to_see_warns_and_never_rejects(path: str, text: str) -> None:
    found = list(doubts(turned({path: text})))
    assert [item.severity for item in found] == [Severity.WARNING]


def test_a_changed_project_file_warns_and_a_new_one_does_not() -> None:
    assert len(list(doubts(turned({"pyproject.toml": "b\n"}, {"pyproject.toml": "a\n"})))) == 1
    assert list(doubts(turned({"pyproject.toml": "b\n"}))) == []


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    a = 1\nexcept ValueError:\n    pass\n",
        "try:\n    a = 1\nexcept Exception:\n    print('no')\n",
        "# a pragma of life\n",
        "def broken(:\n",
    ],
)
def test_care_does_not_warn(text: str) -> None:
    assert list(doubts(turned({"src/thing.py": text}))) == []


def test_an_old_shortcut_does_not_warn() -> None:
    old = "try:\n    a = 1\nexcept:\n    pass\nb = 1  # noqa\n"
    assert list(doubts(turned({"src/thing.py": old + "c = 1\n"}, {"src/thing.py": old}))) == []


def test_code_that_is_nested_beyond_reason_is_out_of_bounds_and_ordinary_code_is_not() -> None:
    deep = "X = " + "not " * 300 + "0\n"
    assert [item.type for item in misplaced(turned({"src/a.py": deep}))] == [FindingType.SCOPE_VIOLATION]
    assert list(misplaced(turned({"src/a.py": "X = not 0\n"}))) == []
    assert list(misplaced(turned({"src/a.py": "X = (\n"}))) == []


def test_a_helper_that_asserts_is_left_alone_where_nothing_is_compared() -> None:
    helper = "def same(a, b):\n    assert a == b\n"
    before = {"tests/test_a.py": helper + "\n\ndef other():\n    return 1\n"}
    emptied = turned({"tests/test_a.py": "def same(a, b):\n    pass\n"}, before)
    assert [(item.type, item.line) for item in weaker_helpers(emptied)] == [(FindingType.TEST_TAMPERING, 1)]
    assert [item.line for item in weaker_helpers(turned({"tests/test_a.py": ""}, before))] == [None]
    assert list(weaker_helpers(turned({"tests/test_a.py": helper}, before))) == []
