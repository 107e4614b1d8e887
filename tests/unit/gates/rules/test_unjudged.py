"""What a run has proved still holds after a person's own commits, or it is said which test does not."""

import pytest

from gates_support import BASE, HEAD, Files, Runner, drive, evidence
from redgreenrefactor.gates.rules.unjudged import still_holds
from redgreenrefactor.model.evidence import Measure, SuiteRun, Trial
from redgreenrefactor.model.verdict import Finding, Severity
from redgreenrefactor.model.workflow import PhaseName

CODE = "def half(x):\n    return x / 2\n\n\ndef double(x):\n    return 2 * x\n"
TOP = "from thing import double, half\n\n\n"
HALVES = "def test_halves():\n    assert half(4) == 2\n"
DOUBLES = "def test_doubles():\n    assert double(3) == 6\n"
LEFT: Files = {"thing.py": CODE, "test_thing.py": f"{TOP}{HALVES}\n\n{DOUBLES}"}
OWN = frozenset({"test_thing.py::test_doubles"})


def held(now: Files, own: frozenset[str] | None = OWN, left: Files = LEFT) -> list[Finding]:
    given = evidence(PhaseName.REFACTOR, left, now, case=None)
    runner = Runner({BASE: left, HEAD: now})
    return drive(still_holds(given, runner.answer(Trial(BASE)), own), runner.answer)[0]


@pytest.mark.parametrize(
    "now",
    [
        {**LEFT, "thing.py": CODE.replace("2 * x", "x * 2")},
        {**LEFT, "more.py": "x = 1\n"},
        {**LEFT, "test_thing.py": f"{TOP}{DOUBLES}"},  # the other one is not the run's
        {**LEFT, "test_thing.py": f"{TOP}{HALVES}\n\n{DOUBLES.replace('test_doubles', 'test_twice')}"},
        {
            "thing.py": CODE.replace("def double", "def twice"),
            "test_thing.py": LEFT["test_thing.py"].replace("double(", "twice(").replace("double,", "twice,"),
        },
    ],
    ids=["other code", "more code", "somebody else's test is gone", "renamed", "another name for the code"],
)
def test_work_that_keeps_what_was_proved_is_anybody_s(now: Files) -> None:
    assert held(now) == []


def test_a_name_that_only_the_test_itself_wants_is_no_failure_either() -> None:
    tests = "import thing\n\n\ndef test_doubles():\n    assert thing.double(3) == 6\n"
    now = {
        "thing.py": CODE.replace("def double", "def twice"),
        "test_thing.py": tests.replace("double(", "twice("),
    }
    assert held(now, left={"thing.py": CODE, "test_thing.py": tests}) == []


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ({**LEFT, "test_thing.py": f"{TOP}{HALVES}"}, "gone or fail: test_thing.py::test_doubles"),
        ({**LEFT, "thing.py": CODE.replace("2 * x", "3 * x")}, "gone or fail: test_thing.py::test_doubles"),
    ],
    ids=["gone", "fails"],
)
def test_a_test_of_the_run_that_does_not_hold_any_more_is_named(now: Files, words: str) -> None:
    (finding,) = held(now)
    assert (finding.type, finding.file) == ("TestTampering", "test_thing.py")
    assert finding.severity is Severity.ERROR
    assert words in finding.message


def test_behaviour_that_is_changed_by_hand_with_its_test_is_told() -> None:
    (finding,) = held(
        {
            "thing.py": CODE.replace("2 * x", "3 * x"),
            "test_thing.py": LEFT["test_thing.py"].replace("== 6", "!= 0"),
        }
    )
    assert finding.severity is Severity.WARNING
    assert "as it left them they fail: test_thing.py::test_doubles" in finding.message


def test_where_nobody_owns_tests_all_of_them_count() -> None:
    assert len(held({**LEFT, "test_thing.py": f"{TOP}{DOUBLES}"}, own=None)) == 1


@pytest.mark.parametrize(
    ("before", "after", "now", "words"),
    [
        (0, 0, {**LEFT, "thing.py": "x = 1\n"}, []),
        (1, 1, {**LEFT, "thing.py": "x = 1\n"}, []),  # after RED
        (0, 1, {**LEFT, "thing.py": "x = 1\n"}, ["the suite fails (exit code 1)"]),
        (0, 0, {**LEFT, "test_thing.py": f"{TOP}{HALVES}"}, ["test_thing.py"]),
    ],
    ids=["holds", "red before", "fails", "gone by its text"],
)
def test_an_exit_code_and_the_text_tell_as_much_as_they_can(
    before: int, after: int, now: Files, words: list[str]
) -> None:
    left, right = (SuiteRun(exit_code=code, measure=Measure.EXIT_CODE) for code in (before, after))
    given = evidence(PhaseName.REFACTOR, LEFT, now, case=None)
    found, _ = drive(still_holds(given, left, OWN), lambda _: right)
    assert len(found) == len(words)
    assert all(word in finding.message for word, finding in zip(words, found, strict=True))
