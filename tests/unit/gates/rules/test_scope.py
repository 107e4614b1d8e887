"""Rules that hold in every phase, and the measurements every phase wants."""

from dataclasses import replace

import pytest

from gates_support import (
    BASE,
    DIED,
    HEAD,
    OPENING,
    change,
    drive,
    evidence,
    failing,
    measured,
    result,
    suite,
)
from redgreenrefactor.gates.rules.findings import brief, last_line, named, place_in, printed_error, tail
from redgreenrefactor.gates.rules.measurement import Measured, gone, interference, measure
from redgreenrefactor.gates.rules.scope import history, off_limits, tests_touched
from redgreenrefactor.gates.rules.tampering import configuration, hooked
from redgreenrefactor.model.evidence import (
    Change,
    CollectError,
    File,
    Hook,
    Place,
    Rules,
    SuiteRun,
    Trial,
)
from redgreenrefactor.model.verdict import FindingType, Ruling, Severity, Verdict
from redgreenrefactor.model.workflow import PhaseName

tests_touched.__test__ = False  # type: ignore[attr-defined]
GREEN = PhaseName.GREEN
ONE, TWO = "test_a.py::test_one", "test_a.py::test_two"


def test_rewritten_history_is_told_as_it_was_found() -> None:
    found = list(history(evidence(GREEN, rewritten=("a tag was moved", "a note was edited"))))
    assert [item.type for item in found] == [FindingType.HISTORY_REWRITTEN] * 2
    assert list(history(evidence(GREEN))) == []
    (left,) = history(evidence(GREEN, pushed=("main on origin was moved",)))
    assert left.type is FindingType.HISTORY_REWRITTEN
    assert "put back" not in left.message


# --- out of bounds


def link(path: str, target: str) -> Change:
    return Change(path, None, File("120000", "1", target))


@pytest.mark.parametrize(
    "what",
    [
        change("tdd.properties", None, "a"),
        change("test-list.md", "a", "b"),
        Change("vendor", File("160000", "1"), File("160000", "2")),
        link("a/b", "/etc/passwd"),
        link("a/b", "../../c"),
        link("a/b", "./x/../../../c"),
    ],
)
def test_what_nobody_may_touch_is_out_of_bounds(what: Change) -> None:
    found = list(off_limits(evidence(GREEN, changes=(what,))))
    assert [item.type for item in found] == [FindingType.SCOPE_VIOLATION]


@pytest.mark.parametrize(
    "what",
    [
        change("docs/test-list.md", None, "a"),
        link("a/b", "../c"),
        link("a/b", "c//./d"),
        change("a", "b", None),
    ],
)
def test_what_anybody_may_touch_is_fine(what: Change) -> None:
    assert list(off_limits(evidence(GREEN, changes=(what,)))) == []


def test_a_source_that_hides_what_it_does_behind_an_encoding_is_tampering() -> None:
    veiled = "# coding: utf-7\n# +AAo-import os\n"
    given = evidence(GREEN, changes=(change("calc.py", "x = 1\n", veiled),))
    assert [item.type for item in off_limits(given)] == [FindingType.TEST_TAMPERING]
    for fine in (
        change("calc.py", veiled, veiled + "x = 1\n"),
        change("a.txt", None, veiled),
        change("b.py", veiled, None),
    ):
        assert list(off_limits(evidence(GREEN, changes=(fine,)))) == []


def test_a_project_in_a_subfolder_has_its_own_settings() -> None:
    given = evidence(
        GREEN,
        prefix="app/",
        changes=(change("app/tdd.properties", "a", "b"), change("tdd.properties", "a", "b")),
    )
    assert [item.file for item in off_limits(given)] == ["app/tdd.properties"]


# --- the runner


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("./run.sh", "run.sh"),
        ("make test", "Makefile"),
        ("tox", "tox.ini"),
        ("just check", "justfile"),
        ("python tools/check.py", "tools/check.py"),
        ("pytest --config-file=conf/p.ini", "conf/p.ini"),
        ("test -s out.txt; diff out.txt wanted.txt", "wanted.txt"),
    ],
)
def test_a_file_the_test_command_runs_is_left_alone(command: str, path: str) -> None:
    given = evidence(GREEN, command=command, changes=(change(path, "a\n", "b\n"),))
    assert [item.type for item in configuration(given)] == [FindingType.TEST_TAMPERING]


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("pytest", "Makefile"),
        ("pytest test_thing.py", "test_thing.py"),
        ("pytest tests", "tests/a.py"),
        ("make", "src/make.py"),
        ("grep -q Cart README.md", "README.md"),
        ("! grep -q TODO README.md && test -s README.md", "README.md"),
    ],
)
def test_a_file_the_test_command_only_tests_is_not_its_configuration(command: str, path: str) -> None:
    given = evidence(PhaseName.RED, command=command, changes=(change(path, "a\n", "b\n"),))
    assert list(configuration(given)) == []


def test_outside_the_project_the_command_runs_nothing() -> None:
    given = evidence(GREEN, prefix="app/", command="./run.sh", changes=(change("run.sh", "a", "b"),))
    assert list(configuration(given)) == []


def test_a_hook_is_noticed_when_it_is_new_or_changed_only() -> None:
    hook = "def pytest_collection_modifyitems(items):\n    {}\n"
    new = evidence(GREEN, changes=(change("conftest.py", None, hook.format("pass")),))
    edited = evidence(
        GREEN, changes=(change("conftest.py", hook.format("pass"), hook.format("items.clear()")),)
    )
    same = evidence(
        GREEN, changes=(change("conftest.py", hook.format("pass"), "# x\n" + hook.format("pass")),)
    )
    taken = evidence(GREEN, changes=(change("conftest.py", hook.format("pass"), None),))
    code = evidence(GREEN, changes=(change("plugin.py", None, hook.format("pass")),))
    text = evidence(GREEN, changes=(change("tests/a.txt", None, hook.format("pass")),))
    assert [len(list(hooked(item))) for item in (new, edited, same, taken, code, text)] == [1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("what", "expected", "line"),
    [
        (change("test_a.py", "a\nb\n", "a\nc\n"), FindingType.TEST_TAMPERING, 2),
        (change("test_a.py", "a\n", "a\nb\n"), FindingType.TEST_TAMPERING, 2),
        (change("test_a.py", "a\n", None), FindingType.TEST_TAMPERING, None),
        (change("test_a.py", None, "a\n"), FindingType.SCOPE_VIOLATION, None),
        (change("conftest.py", None, "collect_ignore = []\n"), FindingType.TEST_TAMPERING, None),
    ],
)
def test_touching_tests_is_told_with_its_line(what: Change, expected: FindingType, line: int | None) -> None:
    found = list(tests_touched(evidence(GREEN, changes=(what,))))
    assert [(item.type, item.line) for item in found] == [(expected, line)]


# --- measuring


def measuring(runs: dict[Trial, SuiteRun]) -> tuple[Measured | Verdict, list[Trial]]:
    return drive(measure(evidence(GREEN)), lambda trial: runs.get(trial, suite()))


def test_three_suites_are_measured() -> None:
    got, asked = measuring({})
    assert isinstance(got, Measured)
    assert asked == [Trial(OPENING), Trial(BASE), Trial(HEAD)]


def test_a_runner_that_died_is_run_once_more() -> None:
    got, asked = measuring({Trial(HEAD): DIED})
    assert isinstance(got, Measured)
    assert asked[-1] == Trial(HEAD, repeat=1)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (DIED, FindingType.TEST_TAMPERING),
        (SuiteRun(finished=False, timed_out=True), FindingType.TIMEOUT),
        (
            SuiteRun(finished=False, errors=(CollectError("conftest.py", "No module\nnamed x"),)),
            FindingType.COMPILATION_ERROR,
        ),
        (
            SuiteRun(
                finished=False, errors=(CollectError("conftest.py", "x", place=Place("conftest.py", 3)),)
            ),
            FindingType.COMPILATION_ERROR,
        ),
    ],
)
def test_a_runner_that_does_not_come_to_its_end_now_is_the_turns_fault(
    run: SuiteRun, expected: FindingType
) -> None:
    got, _ = measuring({Trial(HEAD): run, Trial(HEAD, repeat=1): run})
    assert isinstance(got, Verdict)
    assert got.gravest is not None
    assert got.gravest.type is expected


@pytest.mark.parametrize("run", [DIED, SuiteRun(finished=False, timed_out=True)])
def test_a_runner_that_already_died_before_is_nobodys_fault(run: SuiteRun) -> None:
    got, _ = measuring({Trial(BASE): run, Trial(BASE, repeat=1): run})
    assert isinstance(got, Verdict)
    assert got.gravest is not None
    assert got.gravest.type is FindingType.UNDECIDED


@pytest.mark.parametrize("commit", [BASE, HEAD])
def test_files_from_outside_the_checkout_leave_it_undecided(commit: str) -> None:
    strange = suite(result(ONE), foreign=("src/a.py", "src/b.py"))
    got, asked = measuring({Trial(commit): strange, Trial(commit, repeat=1): strange})
    assert isinstance(got, Verdict)
    assert got.ruling is Ruling.UNDECIDED
    assert "not of the clean checkout they are run in: src/a.py, src/b.py" in got.findings[0].message
    assert Trial(commit, repeat=1) in asked
    assert isinstance(measuring({Trial(commit): strange})[0], Measured)  # it was so once, and not again


def test_the_test_that_was_running_is_named_where_a_run_is_cut_off() -> None:
    for run in (DIED, SuiteRun(finished=False, timed_out=True)):
        cut = replace(run, cut_off=ONE)
        for commit in (BASE, HEAD):
            got, _ = measuring({Trial(commit): cut, Trial(commit, repeat=1): cut})
            assert isinstance(got, Verdict)
            assert f" while {ONE} was running" in got.findings[0].message


def test_tests_that_are_kept_from_running_are_tampering_and_those_that_never_ran_are_nobodys() -> None:
    old = suite(result(ONE), deselected=frozenset({TWO}))
    now = suite(deselected=frozenset({ONE, TWO}))
    found = list(interference(evidence(GREEN), measured(old, now, old)))
    assert [(item.type, item.message) for item in found] == [
        (FindingType.TEST_TAMPERING, f"tests are kept from running: {ONE}")
    ]
    assert list(gone(evidence(GREEN), measured(old, now, old))) == []
    assert list(interference(evidence(GREEN), measured(old, old, old))) == []


def test_a_new_or_changed_hook_in_force_rejects_and_one_that_was_there_does_not() -> None:
    there, new = (Hook("pytest_configure", code, "conftest.py", 3) for code in "ab")
    more = Hook("pytest_generate_tests", "c", "conftest.py", 9)  # takes no test away
    old, now = suite(hooks=frozenset({there})), suite(hooks=frozenset({replace(there, line=7), new, more}))
    assert list(interference(evidence(GREEN), measured(old, old, old))) == []
    [found] = interference(evidence(GREEN), measured(old, now, old))
    assert (found.type, found.file, found.line) == (FindingType.TEST_TAMPERING, "conftest.py", 3)
    assert (
        list(interference(evidence(GREEN), measured(suite(), now, now))) == []
    )  # known since before the run


def test_signs_of_interference_reject() -> None:
    run = suite(tampering=("a canary passed",), disturbed=("test_a.py", "tests/cache.txt", "thing.py"))
    found = list(interference(evidence(GREEN), measured(suite(), run)))
    assert [(item.type, item.severity) for item in found] == [
        (FindingType.TEST_TAMPERING, Severity.ERROR),
        (FindingType.TEST_TAMPERING, Severity.ERROR),
        (FindingType.TEST_TAMPERING, Severity.WARNING),
        (FindingType.SCOPE_VIOLATION, Severity.WARNING),
    ]


def test_a_sign_that_was_there_before_the_run_is_nobodys_cheat_and_a_new_one_is() -> None:
    own, new = "a plug-in of the project runs tests twice", "a canary passed"
    legacy = suite(tampering=(own,))
    assert list(interference(evidence(GREEN), measured(legacy, legacy, legacy))) == []
    found = list(interference(evidence(GREEN), measured(legacy, suite(tampering=(own, new)), legacy)))
    assert [item.type for item in found] == [FindingType.TEST_TAMPERING]


# --- lost, fresh, broken


def test_tests_of_a_file_that_does_not_collect_are_neither_lost_nor_added() -> None:
    whole, broken = suite(result(ONE)), suite(errors=(CollectError("test_a.py", "x"),))
    assert measured(whole, broken).lost == []
    assert measured(broken, whole).fresh == []
    assert measured(whole, suite()).lost == [ONE]
    assert [item.id for item in measured(suite(), whole).fresh] == [ONE]


def test_lost_tests_are_tampering() -> None:
    found = list(gone(evidence(GREEN), measured(suite(result(ONE)), suite())))
    assert [item.type for item in found] == [FindingType.TEST_TAMPERING]


@pytest.mark.parametrize(("policy", "severity"), [("block", Severity.ERROR), ("report", Severity.WARNING)])
def test_lost_legacy_tests_of_untouched_files_are_broken_legacy(policy: str, severity: Severity) -> None:
    given = evidence(GREEN, rules=Rules(legacy_on_break=policy))
    old = suite(result(ONE))
    found = list(gone(given, measured(old, suite(), old)))
    assert [(item.type, item.severity) for item in found] == [(FindingType.LEGACY_BROKEN, severity)]


def test_lost_legacy_tests_of_a_touched_file_are_tampering() -> None:
    given = evidence(GREEN, changes=(change("test_a.py", "a", "b"),), rules=Rules(legacy_on_break="report"))
    old = suite(result(ONE))
    assert [item.type for item in gone(given, measured(old, suite(), old))] == [FindingType.TEST_TAMPERING]


def test_tests_named_after_chance_are_neither_lost_nor_added() -> None:
    one, two = result("test_a.py::test_one[7]"), result("test_a.py::test_one[8]")
    given = evidence(GREEN, changes=(change("thing.py", "1", "2"),))
    runs = {(OPENING, 0): suite(one), (BASE, 0): suite(one), (HEAD, 0): suite(two), (OPENING, 3): suite(two)}
    found, _ = drive(measure(given), lambda trial: runs[trial.commit, trial.repeat])
    assert isinstance(found, Measured)
    assert (found.lost, found.fresh) == ([], [])
    runs[OPENING, 3] = suite(one)
    found, _ = drive(measure(given), lambda trial: runs[trial.commit, trial.repeat])
    assert isinstance(found, Measured)
    assert (found.lost, [item.id for item in found.fresh]) == ([one.id], [two.id])
    runs[OPENING, 3] = DIED
    found, _ = drive(measure(given), lambda trial: runs[trial.commit, trial.repeat])
    assert isinstance(found, Measured)
    assert found.lost == [one.id]


# --- words


def test_a_failure_is_placed_where_the_test_failed_else_where_it_stands() -> None:
    frames = (Place("test_a.py", 3), Place("helper.py", 9), Place("test_a.py", 5), Place("thing.py", 1))
    assert place_in(failing(ONE, frames=frames)).line == 5
    assert place_in(failing(ONE, line=7)).line == 7
    spot = place_in(failing("x", file="", line=0))
    assert (spot.file, spot.line) == (None, None)


def test_a_failure_is_told_in_one_line() -> None:
    assert brief(failing(ONE, exception="ValueError", message="a\n  b")) == "ValueError: a b"
    assert brief(failing(ONE, exception="ValueError", message="ValueError: a")) == "ValueError: a"
    assert brief(failing(ONE, message="a")) == "a"
    assert brief(failing(ONE)) == "failed"
    assert brief(failing(ONE, message="x" * 1000)) == "x" * 299 + "…"
    assert brief(failing(ONE, message="1 == 2\n  Use -v to get more diff")) == "1 == 2"


def test_many_names_are_counted() -> None:
    assert named(["a", "b"]) == "a, b"
    assert named(list("abcdefg")) == "a, b, c, d, e and 2 more"


def test_the_end_of_the_output_is_told_in_one_line() -> None:
    assert tail(SuiteRun(output="a\n\nb\nc\n d\n")) == "b | c |  d"
    assert tail(SuiteRun()) == "it printed nothing"
    assert last_line("a\n b \n") == "b"
    assert last_line("") == ""


VITEST = """
 FAIL  roman.test.js > 1 is I
AssertionError: expected undefined to be 'I' // Object.is equality

- Expected:
"I"

+ Received:
undefined

 at roman.test.js:4:38
      4| test('1 is I', () => { expect(toRoman(1)).toBe('I') })
       |                                           ^
⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯
"""
JEST = "FAIL ./a.test.js\n  ● 1 is I\n\n    expect(received).toBe(expected)\n\n    Expected: 1\n    Received: 2\n\n at a.js\n"
CARGO = "running 1 test\nthread 'one' panicked at src/lib.rs:9:9:\nassertion failed\n left: 1\n right: 2\nerror: test failed"
GO = "=== RUN TestOne\n--- FAIL: TestOne (0.00s)\n    a_test.go:8: got 1, want 2\nFAIL\nFAIL\texample\t0.002s\n"
NODE = """TAP version 13
# Subtest: 1 is I
not ok 1 - 1 is I
  ---
  duration_ms: 1.5
  location: 'a.test.js:5:1'
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be strictly equal:

    + undefined
    - 'I'
  code: 'ERR_ASSERTION'
"""
JAVAC = "[INFO] compiling\nA.java:3: error: cannot find symbol\n  int a = b;\n          ^\n[INFO] 1 error\nBUILD FAILURE\n"


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (
            VITEST,
            "AssertionError: expected undefined to be 'I' // Object.is equality | - Expected: | \"I\" | + Received: | undefined",
        ),
        (JEST, "● 1 is I | expect(received).toBe(expected) | Expected: 1 | Received: 2 | at a.js"),
        (
            CARGO,
            "thread 'one' panicked at src/lib.rs:9:9: | assertion failed | left: 1 | right: 2 | error: test failed",
        ),
        (GO, "--- FAIL: TestOne (0.00s) | a_test.go:8: got 1, want 2 | FAIL | FAIL\texample\t0.002s"),
        (
            NODE,
            "not ok 1 - 1 is I | Expected values to be strictly equal: | + undefined | - 'I' | code: 'ERR_ASSERTION'",
        ),
        (JAVAC, "A.java:3: error: cannot find symbol | int a = b; | ^ | [INFO] 1 error | BUILD FAILURE"),
        ("a\nb\n0 errors, as usual\nno\n", "b | 0 errors, as usual | no"),
    ],
)
def test_the_error_is_told_and_not_what_comes_after_it(output: str, told: str) -> None:
    assert printed_error(SuiteRun(output=output)) == told
