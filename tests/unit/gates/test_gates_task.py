"""The gates of a task: what each phase must have done, and what it may not."""

from dataclasses import replace
from typing import Any

import pytest

from gates_support import BASE, HEAD, OPENING, Files, Played, Runner, drive, evidence, src
from notes import with_keys
from redgreenrefactor.gates.task import expected_files, paths_in, task_gates
from redgreenrefactor.languages.python import complexity
from redgreenrefactor.model.evidence import (
    CollectError,
    Coverage,
    Measure,
    Place,
    Rules,
    Status,
    SuiteRun,
    TestResult,
    Trial,
)
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.task import Criterion, Cycle, Step, Task
from redgreenrefactor.model.verdict import FindingType, Outcome, Ruling, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

TESTS = """
    def test_adds():
        from calc import add

        assert add(1, 2) == 3

    def test_subtracts():
        from calc import subtract

        assert subtract(3, 2) == 1
"""
CODE = "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n"
BEFORE: Files = {"README.md": "x\n"}
WRITTEN: Files = {**BEFORE, "test_calc.py": src(TESTS)}
DONE: Files = {**WRITTEN, "calc.py": CODE}
TASK = Task(
    "T",
    "Calculator",
    "A calculator.",
    tdd=True,
    criteria=(Criterion("$ pytest", "pytest"), Criterion("words")),
    cycles=(Cycle(2, ("adds", "subtracts")),),
    steps=(
        Step("red", PhaseName.RED, modification_points=("test_calc.py: two cases",)),
        Step("green", PhaseName.GREEN, modification_points=("lib/calc.js",)),
    ),
)


def played(
    phase: PhaseName,
    before: Files,
    after: Files,
    *,
    task: Task = TASK,
    bend: Any = None,
    **facts: Any,
) -> Played:
    """Judge a turn whose tests are really executed."""
    runner = Runner({OPENING: BEFORE, BASE: before, HEAD: after})

    def answer(trial: Trial) -> SuiteRun:
        run = SuiteRun() if trial.command or trial.coverage else runner.answer(trial)
        return bend(trial, run) if bend else run

    given = evidence(phase, before, after, case=None, command="pytest", **facts)
    verdict, asked = drive(task_gates(task)[phase](given), answer)
    return Played(verdict, asked)


def red(after: Files, **more: Any) -> Played:
    return played(PhaseName.RED, BEFORE, after, **more)


def green(after: Files = DONE, **more: Any) -> Played:
    return played(PhaseName.GREEN, WRITTEN, after, **more)


# --- RED


def test_all_cases_written_and_failing_are_accepted() -> None:
    found = red(WRITTEN)
    assert found.verdict.ruling is Ruling.ACCEPTED, found.told
    assert found.verdict.test_result is TestOutcome.FAIL
    facts = found.facts
    assert (facts["written"], facts["expected"], facts["testFiles"]) == (2, 2, ["test_calc.py"])
    assert facts["suite"]["total"] == 2
    first, second = facts["failure"].split("\n")
    assert first.startswith("test_calc.py::test_adds: ")
    assert second.startswith("test_calc.py::test_subtracts: ")


def test_stubs_beside_the_tests_are_fine() -> None:
    found = red({**WRITTEN, "calc.py": "def add(a, b):\n    raise NotImplementedError\n"})
    assert found.verdict.ruling is Ruling.ACCEPTED, found.told


def test_files_of_other_languages_are_fine_where_they_are_planned() -> None:
    assert red({**WRITTEN, "lib/calc.js": "stub\n"}).verdict.ruling is Ruling.ACCEPTED
    assert red({**WRITTEN, "lib/other.js": "code\n"}).types == [FindingType.SCOPE_VIOLATION]


def test_code_in_red_is_out_of_bounds() -> None:
    assert red(DONE).types == [FindingType.SCOPE_VIOLATION]


def test_expected_files_that_are_not_there_end_it() -> None:
    found = red({**BEFORE, "test_other.py": src(TESTS)})
    assert found.types == [FindingType.NO_TEST_ADDED]
    assert found.verdict.final
    nothing = red(BEFORE)
    assert nothing.verdict.final
    assert len(nothing.types) == 2


def test_what_else_is_wrong_is_named_beside_what_is_not_there_and_may_be_tried_again() -> None:
    code = {path: text for path, text in DONE.items() if path != "test_calc.py"}
    found = red({**code, "test_other.py": "def test_adds(:\n"})
    assert found.types == [
        FindingType.SCOPE_VIOLATION,
        FindingType.NO_TEST_ADDED,
        FindingType.COMPILATION_ERROR,
    ]
    assert not found.verdict.final


def test_what_does_not_parse_may_be_tried_again() -> None:
    found = red({**BEFORE, "test_calc.py": "def test_adds(:\n"})
    assert found.types == [FindingType.COMPILATION_ERROR]
    assert not found.verdict.final


def test_fewer_tests_than_cases_are_rejected_more_are_a_warning() -> None:
    two = replace(TASK, cycles=(Cycle(3),))
    assert "only 2 of 3 test cases are written" in red(WRITTEN, task=two).told
    assert red(WRITTEN, task=two).types == [FindingType.TOO_FEW_TESTS]
    one = red(WRITTEN, task=replace(TASK, cycles=(Cycle(1),)))
    assert one.verdict.ruling is Ruling.ACCEPTED
    assert [item.type for item in one.warnings] == [FindingType.TOO_MANY_TESTS]


def test_a_file_without_tests_is_no_test() -> None:
    found = red({**BEFORE, "test_calc.py": "x = 1\n"})
    assert "RED added no test that the test command finds" in found.told


def test_tests_that_pass_already_are_a_warning() -> None:
    passing = src(
        "def test_one():\n    assert len('a') == 1\n\n\ndef test_two():\n    assert len('ab') == 2\n"
    )
    found = red({**BEFORE, "test_calc.py": passing})
    assert found.verdict.ruling is Ruling.ACCEPTED, found.told
    assert (found.verdict.outcome, found.verdict.test_result) == (Outcome.WARNED, TestOutcome.PASS)
    assert FindingType.UNEXPECTED_PASS in [item.type for item in found.warnings]


def test_a_test_that_asserts_nothing_is_worthless() -> None:
    idle = src(TESTS).replace("    assert add(1, 2) == 3", "    add(1, 2)")
    assert red({**BEFORE, "test_calc.py": idle}).types == [FindingType.MEANINGLESS_TEST]


def test_a_test_that_is_skipped_is_worthless() -> None:
    def bend(trial: Trial, run: SuiteRun) -> SuiteRun:
        if trial.commit != HEAD:
            return run
        skipped = TestResult("test_calc.py::test_adds", Status.SKIPPED, "test_calc.py", "test_adds", 1)
        return replace(run, results={**run.results, skipped.id: skipped})

    assert red(WRITTEN, bend=bend).types == [FindingType.MEANINGLESS_TEST]


def uncollected(exception: str) -> Any:
    def bend(trial: Trial, run: SuiteRun) -> SuiteRun:
        error = CollectError("test_calc.py", f"{exception}: no", exception, Place("test_calc.py", 1))
        return SuiteRun(errors=(error,)) if trial.commit == HEAD else run

    return bend


def test_a_file_that_waits_for_its_module_fails_for_the_right_reason() -> None:
    found = red(WRITTEN, bend=uncollected("ModuleNotFoundError"))
    assert found.verdict.ruling is Ruling.ACCEPTED, found.told
    assert found.facts["tests"] == ["test_calc.py::test_adds", "test_calc.py::test_subtracts"]
    assert found.facts["failure"].startswith("test_calc.py:1: ModuleNotFoundError: ")


def test_a_file_that_could_not_be_collected_before_is_not_how_the_new_tests_fail() -> None:
    old = CollectError("test_old.py", "KeyError: no", "KeyError")

    def bend(trial: Trial, run: SuiteRun) -> SuiteRun:
        return replace(run, errors=(*uncollected("ModuleNotFoundError")(trial, run).errors, old))

    failure = red(WRITTEN, bend=bend).facts["failure"]
    assert "test_calc.py:1: ModuleNotFoundError: " in failure
    assert "test_old.py" not in failure


@pytest.mark.parametrize(
    ("exception", "words"), [("SyntaxError", "has a syntax error"), ("KeyError", "cannot be")]
)
def test_a_file_that_cannot_be_collected_otherwise_is_mended_first(exception: str, words: str) -> None:
    found = red(WRITTEN, bend=uncollected(exception))
    assert FindingType.COMPILATION_ERROR in found.types
    assert words in found.told


def test_a_runner_that_cannot_run_leaves_red_undecided() -> None:
    def bend(_trial: Trial, _run: SuiteRun) -> SuiteRun:
        return SuiteRun(finished=False, exit_code=127)

    assert red(WRITTEN, bend=bend).verdict.ruling is Ruling.UNDECIDED


def by_exit_code(code: int, output: str = "") -> Any:
    def bend(trial: Trial, _run: SuiteRun) -> SuiteRun:
        return SuiteRun(
            exit_code=code if trial.commit == HEAD else 0, measure=Measure.EXIT_CODE, output=output
        )

    return bend


def test_by_exit_code_the_suite_should_fail_now() -> None:
    found = red(WRITTEN, bend=by_exit_code(1, "2 of 2 failed"))
    assert found.facts["failure"] == "2 of 2 failed"
    assert (found.verdict.ruling, found.verdict.test_result) == (Ruling.ACCEPTED, TestOutcome.FAIL)
    assert found.facts["evidence"] == "exit-code"
    passing = red(WRITTEN, bend=by_exit_code(0))
    assert (passing.verdict.ruling, passing.verdict.outcome) == (Ruling.ACCEPTED, Outcome.WARNED)


def test_by_exit_code_a_syntax_error_shows_in_what_was_printed() -> None:
    found = red(WRITTEN, bend=by_exit_code(1, "test_calc.py:1\nSyntaxError: no"))
    assert found.types == [FindingType.COMPILATION_ERROR]
    elsewhere = red(WRITTEN, bend=by_exit_code(1, "other.py\nSyntaxError: no"))
    assert elsewhere.verdict.ruling is Ruling.ACCEPTED


JS_TASK = replace(TASK, steps=(), cycles=(Cycle(1),))
OLD_JS = "test('adds', () => { assert.equal(add(1, 2), 3); });\n"
NEW_JS = "test('subtracts', () => { assert.equal(subtract(3, 2), 1); });\n"


def js_red(after: str, task: Task = JS_TASK) -> Played:
    before: Files = {**BEFORE, "test/calc.test.js": OLD_JS}
    files: Files = {**BEFORE, "test/calc.test.js": after}
    return played(PhaseName.RED, before, files, task=task, bend=by_exit_code(1))


def test_by_exit_code_the_text_tells_how_many_tests_there_are() -> None:
    two = replace(JS_TASK, cycles=(Cycle(2),))
    assert js_red(OLD_JS + NEW_JS, two).types == [FindingType.TOO_FEW_TESTS]
    assert js_red(OLD_JS + NEW_JS + NEW_JS.replace("subtracts", "for all"), two).types == []
    each = NEW_JS.replace("test('subtracts', () =>", "test.each([3, 4])('subtracts', (n) =>")
    assert js_red(OLD_JS + each, two).types == []


def test_by_exit_code_existing_tests_stay_as_they_are() -> None:
    assert js_red(OLD_JS + NEW_JS).verdict.ruling is Ruling.ACCEPTED
    assert js_red(NEW_JS).types == [FindingType.TEST_TAMPERING]
    assert js_red(OLD_JS.replace("2), 3", "1), 2") + NEW_JS).types == [FindingType.TEST_TAMPERING]
    assert js_red(OLD_JS + NEW_JS.replace("test(", "test.only(")).types == [FindingType.TEST_TAMPERING]


def test_by_exit_code_a_new_test_asserts_something() -> None:
    assert js_red(OLD_JS + "test('x', () => { subtract(3, 2); });\n").types == [FindingType.MEANINGLESS_TEST]
    one = replace(TASK, cycles=(Cycle(1),))
    silent = {**BEFORE, "test_calc.py": "def test_x():\n    add(1, 2)\n"}
    assert red(silent, task=one, bend=by_exit_code(1)).types == [FindingType.MEANINGLESS_TEST]


def test_paths_are_found_in_what_people_write() -> None:
    texts = ("Create tests/test_calc.py with 5 cases", "file: ./src/a.spec.ts, change: x", "version 1.2")
    assert paths_in(texts) == ["tests/test_calc.py", "src/a.spec.ts"]
    step = Step("x", PhaseName.RED, modification_points=texts)
    assert expected_files(replace(TASK, steps=(step,))) == ["tests/test_calc.py", "src/a.spec.ts"]
    assert expected_files(replace(TASK, steps=())) == []


# --- GREEN, REFACTOR, plain


def test_honest_code_is_accepted_with_the_figures() -> None:
    found = green(
        handoff=with_keys(Handoff(PhaseName.RED, PhaseName.GREEN), tests=["test_calc.py::test_adds"])
    )
    assert found.verdict.ruling is Ruling.ACCEPTED, found.told
    assert found.facts["suite"]["passed"] == 2


def test_failing_tests_and_touched_tests_are_rejected() -> None:
    assert green({**WRITTEN, "calc.py": CODE.replace("a - b", "b - a")}).types == [FindingType.TEST_FAILURE]
    assert (
        FindingType.TEST_TAMPERING
        in green({**DONE, "test_calc.py": src(TESTS).replace("== 1", "== 2")}).types
    )


def test_too_little_coverage_is_rejected() -> None:
    def bend(trial: Trial, run: SuiteRun) -> SuiteRun:
        return SuiteRun(coverage=Coverage("tool", {"calc.py": (1, 4)})) if trial.coverage else run

    assert green(rules=Rules(coverage_min=50), bend=bend).types == [FindingType.COVERAGE_TOO_LOW]


LINT = replace(TASK, criteria=(Criterion("$ pytest", "pytest"), Criterion("$ lint", "lint")))


@pytest.mark.parametrize(
    ("run", "ruling"),
    [
        (SuiteRun(), Ruling.ACCEPTED),
        (SuiteRun(exit_code=1), Ruling.REJECTED),
        (SuiteRun(exit_code=-9, timed_out=True, finished=False), Ruling.REJECTED),
        (SuiteRun(exit_code=127, finished=False), Ruling.UNDECIDED),
    ],
    ids=["holds", "fails", "never ends", "is not there"],
)
def test_every_other_criterion_has_to_hold(run: SuiteRun, ruling: Ruling) -> None:
    def bend(trial: Trial, usual: SuiteRun) -> SuiteRun:
        return run if trial.command else usual

    found = green(task=LINT, bend=bend)
    assert found.verdict.ruling is ruling, found.told
    assert [trial.command for trial in found.asked if trial.command] == ["lint"]


def test_no_other_criterion_is_run_for_work_that_is_rejected_anyway() -> None:
    found = green({**WRITTEN, "calc.py": "x = 1\n"}, task=LINT)
    assert found.verdict.ruling is Ruling.REJECTED
    assert not [trial for trial in found.asked if trial.command]


def test_a_refactoring_notes_how_complicated_the_code_was_and_is() -> None:
    tangled = CODE.replace("    return a + b", "    if a and b:\n        return a + b\n    return a or b")
    found = played(PhaseName.REFACTOR, {**DONE, "calc.py": tangled}, DONE)
    assert found.verdict.ruling is Ruling.ACCEPTED, found.told
    assert found.facts["complexity"] == {"before": 5, "after": 2}
    assert found.facts["refactored"] == ["calc.py"]


def test_a_refactoring_without_python_is_not_measured() -> None:
    found = played(PhaseName.REFACTOR, DONE, {**DONE, "README.md": "better\n"})
    assert "why" in found.facts["complexity"]
    idle = played(PhaseName.REFACTOR, DONE, DONE)
    assert idle.verdict.ruling is Ruling.ACCEPTED
    assert "complexity" not in idle.facts


def test_a_refactoring_that_breaks_a_test_is_rejected() -> None:
    found = played(PhaseName.REFACTOR, DONE, {**DONE, "calc.py": CODE.replace("a - b", "b - a")})
    assert found.verdict.ruling is Ruling.REJECTED


def test_a_plain_session_has_to_leave_a_green_suite() -> None:
    assert played(PhaseName.CODE, BEFORE, DONE).verdict.ruling is Ruling.ACCEPTED
    assert played(PhaseName.CODE, BEFORE, WRITTEN).verdict.ruling is Ruling.REJECTED


def test_complexity_counts_functions_branches_and_conditions() -> None:
    text = "def f(a, b):\n    if a and b or a:\n        return [x for x in a]\n    return lambda: 1 if a else 2\n"
    assert complexity([text, None, "def ("]) == 7
