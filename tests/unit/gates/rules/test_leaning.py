"""What tests lean on is theirs, wherever it lies; what they test is not, and what code uses neither."""

import json

import pytest

from gates_support import Files, by_commit, evidence, judge, plan_of, result, suite
from redgreenrefactor.gates.rules.leaning import serves_tests, support_touched
from redgreenrefactor.model.evidence import Hook, Reach, SuiteRun, Trial
from redgreenrefactor.model.session import Report
from redgreenrefactor.model.verdict import FindingType, Severity
from redgreenrefactor.model.workflow import PhaseName

FILES: Files = {
    "thing.py": "from table import RATES\n\n\ndef cost():\n    return RATES[0]\n",
    "table.py": "RATES = [1]\n",
    "other.py": "def other():\n    return 1\n",
    "samples.py": "ROWS = [1, 2]\n",
    "support.py": "def same(a, b):\n    assert a == b\n",
    "kit.py": "import pytest\n\n\ndef fixed():\n    return 1\n",
    "broken.py": "def (\n",
    "alone.py": "LIMIT = 3\n",
    "expected.json": "{}\n",
    "settings.json": "{}\n",
    "test_thing.py": "from thing import cost\nimport samples, support, kit, broken, other\n",
    "test_alone.py": "import alone\n",
}
TESTS = frozenset({"test_thing.py"})
REACH = Reach(
    files=frozenset(FILES),
    opened={"expected.json": TESTS, "settings.json": frozenset({"thing.py"})},
    imported={
        **dict.fromkeys(("thing.py", "samples.py", "support.py", "kit.py", "broken.py", "other.py"), TESTS),
        "table.py": TESTS,  # whoever asks later is not heard
        "alone.py": frozenset({"test_alone.py"}),
    },
)
RUN = suite(reach=REACH)
HELD = ("samples.py", "support.py", "kit.py", "expected.json")


@pytest.mark.parametrize("file", FILES)
def test_what_only_tests_use_and_do_not_test_serves_them(file: str) -> None:
    given = evidence(PhaseName.GREEN, FILES, FILES)
    assert serves_tests(given, RUN, file, FILES[file]) == (file in HELD)


@pytest.mark.parametrize("file", [*HELD, "thing.py", "table.py", "settings.json"])
def test_green_leaves_what_tests_lean_on_alone(file: str) -> None:
    changed = FILES[file].replace("1", "7").replace("==", ">=").replace("{}", "[]")
    given = evidence(PhaseName.GREEN, FILES, {**FILES, file: changed})
    found = list(support_touched(given, RUN))
    assert [(item.type, item.file) for item in found] == (
        [(FindingType.TEST_TAMPERING, file)] if file in HELD else []
    )
    assert all(item.line for item in found)


@pytest.mark.parametrize(("name", "file", "theirs"), [
    ("set-up check", "other.py", True),
    ("set-up check", "alone.py", True),
    ("set-up check", "table.py", False),
    ("fixture other", "other.py", True),
    ("fixture alone", "alone.py", False),
    ("other", "other.py", False),
])  # fmt: skip
def test_what_the_runner_was_seen_to_call_for_tests_serves_them(name: str, file: str, theirs: bool) -> None:
    served = result("test_thing.py::test_it", around=frozenset({Hook(name, "code", file, 1)}))
    given = evidence(PhaseName.GREEN, FILES, FILES)
    assert serves_tests(given, suite(served, reach=REACH), file, FILES[file]) == theirs


def test_what_is_only_added_or_new_changes_nothing_for_others_and_what_is_gone_does() -> None:
    more = {**FILES, "samples.py": FILES["samples.py"] + "MORE = [3]\n", "new.json": "{}"}
    assert list(support_touched(evidence(PhaseName.GREEN, FILES, more), RUN)) == []
    less = {name: text for name, text in FILES.items() if name != "support.py"}
    assert len(list(support_touched(evidence(PhaseName.GREEN, FILES, less, case=None), RUN))) == 1
    outside = evidence(
        PhaseName.GREEN, {}, {}, prefix="sub/", changes=evidence(PhaseName.GREEN, FILES, less).changes
    )
    assert list(support_touched(outside, RUN)) == []


@pytest.mark.parametrize(
    ("file", "fine"), [("support.py", False), ("table.py", True), ("expected.json", False)]
)
def test_plan_names_nothing_that_only_tests_use_as_code(file: str, fine: bool) -> None:
    case = {"description": "more", "testFile": "test_thing.py", "implFile": file}
    message = json.dumps({"currentTest": case})
    before, after = dict(FILES), {**FILES, "test-list.md": "- [ ] more\n"}
    given = evidence(
        PhaseName.PLAN,
        before,
        after,
        case=None,
        report=Report(message),
        plan_after=plan_of("o more"),
    )

    def known(_: Trial) -> SuiteRun:
        return suite(reach=REACH)

    played = judge(given, by_commit(suite(), suite(reach=REACH), suite(), known))
    wrong = [item for item in played.verdict.findings if item.severity is Severity.ERROR]
    assert any("used by tests alone" in item.message for item in wrong) != fine, played.told
