"""Where only an exit code tells, tests that REFACTOR has touched are still run, and still notice what is wrong."""

import re
from collections.abc import Mapping

import pytest

from gates_support import BASE, HEAD, Files, drive, evidence
from redgreenrefactor.gates.rules.exit_code import MOST, RUBBISH, still_run
from redgreenrefactor.model.evidence import UNANSWERED, Measure, SuiteRun, Trial
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName

TEST, CODE = "test/add.test.js", "add.js"
ADD = "export function add(a, b) {\n  return a + b;\n}\n"
ADDS = "test('adds', () => {\n  assert.equal(add(1, 2), 3);\n});\n"
BEFORE: Files = {CODE: ADD, TEST: ADDS, "package.json": "{}\n"}
ADDING = Case("adds", TEST, CODE)
_ASSERTION = re.compile(r"assert\.equal\((add\(\d+, \d+\)), (.+)\);")


def suite(files: Mapping[str, str]) -> SuiteRun:
    """Run what looks like a test, after a fashion."""
    failed = False
    for path, text in files.items():
        if RUBBISH in text and not (path == CODE and "DEAF" in files[TEST]):
            failed = True
        if not path.endswith(".test.js") or "OFF" in text or "OFF" in files["package.json"]:
            continue
        failed |= "planted" in text and "test.failing" not in text
        failed |= any(_value(files, a) != _value(files, b) for a, b in _ASSERTION.findall(text))
    return SuiteRun(measure=Measure.EXIT_CODE, exit_code=int(failed))


def _value(files: Mapping[str, str], what: str) -> int:
    called = re.fullmatch(r"add\((\d+), (\d+)\)", what)
    if called is None:
        return int(what)
    one, other = int(called[1]), int(called[2])
    return one - other if "a - b" in files[CODE] else one + other


def told(
    after: Files, before: Files = BEFORE, *, budget: int = 99, case: Case | None = ADDING
) -> tuple[list[str], list[Trial]]:
    """Return what is found, and what was asked."""
    trees = {BASE: before, HEAD: after}
    left = [budget]

    def answer(trial: Trial) -> SuiteRun:
        left[0] -= 1
        overlay = {path: text or "" for path, text in trial.overlay}
        return suite({**trees[trial.commit], **overlay}) if left[0] >= 0 else UNANSWERED

    given = evidence(PhaseName.REFACTOR, before, after, case=case, command="npm test")
    found, asked = drive(still_run(given), answer)
    assert all(item.type is FindingType.TEST_TAMPERING for item in found)
    assert all(trial.probe for trial in asked)
    return [item.message for item in found], asked


def test_a_turn_that_touches_no_test_costs_nothing() -> None:
    assert told({**BEFORE, CODE: f"// Sums.\n{ADD}"}) == ([], [])


@pytest.mark.parametrize(
    "after",
    [
        {**BEFORE, TEST: ADDS + "// OFF\n"},
        {**BEFORE, "package.json": '{"jest": "OFF"}\n'},
        {**BEFORE, TEST: ADDS.replace("adds", "sums up") + "// OFF\n"},
        {CODE: ADD, "package.json": "{}\n", "test/adding.js": ADDS},
    ],
    ids=["switched off", "by a setting", "under another name", "where nobody looks"],
)
def test_a_test_that_is_no_longer_run_is_found(after: Files) -> None:
    assert "does not notice a failure" in told(after)[0][0]


@pytest.mark.parametrize(
    "after",
    [
        {**BEFORE, TEST: f"// Adding.\n{ADDS}"},
        {**BEFORE, TEST: ADDS.replace("adds", "sums up")},
        {CODE: ADD, "package.json": "{}\n", "test/sum.test.js": ADDS},
        {**BEFORE, TEST: ADDS + ADDS.replace("adds", "adds more").replace("(1, 2), 3", "(2, 2), 4")},
        {**BEFORE, TEST: ADDS.replace("test(", "test.failing(").replace("adds", "fails")},
        {**BEFORE, "package.json": '{"jest": "verbose"}\n'},
        {**BEFORE, TEST: ADDS.replace("(1, 2), 3", "(2, 2), 4")},
    ],
    ids=["a comment", "a name", "a file", "one more", "meant to fail", "a setting", "other values"],
)
def test_a_test_that_is_run_as_before_is_fine(after: Files) -> None:
    assert told(after)[0] == []


def test_what_was_not_run_before_need_not_be_run_now() -> None:
    off = {**BEFORE, TEST: ADDS + "// OFF\n"}
    assert told({**off, TEST: f"// Adding.\n{off[TEST]}"}, off)[0] == []


def test_under_another_name_it_need_not_be_run_either() -> None:
    off = {**BEFORE, TEST: ADDS + "// OFF\n"}
    assert told({**off, TEST: off[TEST].replace("adds", "sums up")}, off)[0] == []
    other = "test('x', () => {\n  for (const each of everything) each.check();\n});\n// OFF\n"
    assert told({**off, TEST: other}, off)[0]


def test_an_expectation_that_does_not_matter_any_more_is_found() -> None:
    blind = ADDS.replace("assert.equal(add(1, 2), 3)", "assert.equals(add(1, 2), 3)")
    assert "other results" in told({**BEFORE, TEST: blind})[0][0]


def test_a_test_that_compares_the_code_with_itself_is_found_by_mistakes_in_the_code() -> None:
    itself = ADDS.replace("add(1, 2), 3", "add(1, 2), add(1, 2)")
    found, asked = told({**BEFORE, TEST: itself})
    assert "other results" in found[0]
    assert any("a - b" in (text or "") for trial in asked for _, text in trial.overlay)


def test_mistakes_tell_nothing_where_the_test_as_it_was_does_not_fit_the_code_any_more() -> None:
    itself = ADDS.replace("add(1, 2), 3", "add(1, 1), add(1, 1)")
    assert told({**BEFORE, CODE: ADD.replace("a + b", "a - b"), TEST: itself})[0] == []


def test_a_mistake_that_nobody_noticed_before_tells_nothing() -> None:
    loose = {**BEFORE, TEST: ADDS.replace("add(1, 2), 3", "add(3, 0), 3")}
    itself = loose[TEST].replace("add(3, 0), 3", "add(4, 0), 4")
    assert told({**loose, TEST: itself}, loose)[0] == []


def test_without_a_case_the_tests_are_looked_at_all_the_same() -> None:
    assert told({**BEFORE, TEST: ADDS + "// OFF\n"}, case=None)[0]
    itself = {**BEFORE, TEST: ADDS.replace("add(1, 2), 3", "add(1, 2), add(1, 2)")}
    assert told(itself, case=None)[0] == []


@pytest.mark.parametrize("budget", range(8))
def test_without_time_nothing_is_claimed(budget: int) -> None:
    itself = {**BEFORE, TEST: ADDS.replace("add(1, 2), 3", "add(1, 2), add(1, 2)")}
    found, _ = told(itself, budget=budget)
    assert bool(found) == (budget >= 5)


def test_some_tests_are_looked_at_not_all() -> None:
    many = "".join(ADDS.replace("adds", f"adds {number}") for number in range(20))
    _, asked = told({**BEFORE, TEST: f"// Many.\n{many}"}, {**BEFORE, TEST: many})
    assert len(asked) == MOST


def test_a_script_in_a_language_that_is_not_known_is_still_read() -> None:
    before = {**BEFORE, "test/add.sh": "./add 1 2\n"}
    assert told({**before, "test/add.sh": "./add 1 3\n"}, before)[0] == []
    read, asked = told({**BEFORE, "test/new.sh": "./add 1 2\n"})
    assert read == []
    assert {path for trial in asked for path, _ in trial.overlay} == {TEST}  # a new one may be anything


def test_a_script_that_does_not_notice_broken_code_any_more_is_found() -> None:
    before = {**BEFORE, "test/add.sh": "set -e\n./add 1 2\n"}
    after = {**before, "test/add.sh": "./add 1 2\ntrue\n", TEST: f"{ADDS}// DEAF\n"}
    assert told(after, before)[0] == ["test/add.sh: other results are not noticed any more"]
