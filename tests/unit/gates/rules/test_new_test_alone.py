"""Where the suite is slow, the new test runs first, and a hopeless attempt costs no run of the suite."""

from dataclasses import replace

import pytest

from gates_support import HEAD, Played, change, evidence, play, src
from redgreenrefactor.gates.rules.new_test import SLOW, written
from redgreenrefactor.gates.rules.rewrites import rewritten
from redgreenrefactor.model.evidence import SuiteRun, Trial
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName

OLD = "from thing import double\n\n\ndef test_old():\n    assert double(1) == 2\n"
CODE = "def double(x):\n    return 2 * x\n"
FILES = {"thing.py": CODE, "test_thing.py": OLD}


def red(new: str, seconds: float = SLOW) -> Played:
    def slowly(_trial: Trial, run: SuiteRun) -> SuiteRun:
        return replace(run, seconds=seconds)

    after = {**FILES, "test_thing.py": src(OLD) + "\n\n" + src(new)}
    return play(PhaseName.RED, FILES, after, bend=slowly)


def suites(played: Played) -> int:
    """Return how often the suite was run after the turn; what is known is not run again."""
    return len({trial for trial in played.asked if trial.commit == HEAD and not trial.tests})


@pytest.mark.parametrize(
    ("new", "type"),
    [
        ("def test_new():\n    assert double(2) == 4", FindingType.UNEXPECTED_PASS),
        ("def test_new():\n    assert False", FindingType.MEANINGLESS_TEST),
        ("def test_new():\n    value = doubel(2)\n    assert double(value) == 5", FindingType.WRONG_FAILURE),
        (
            "import pytest\n\n\n@pytest.mark.skip\ndef test_new():\n    assert double(2) == 5",
            FindingType.MEANINGLESS_TEST,
        ),
        ("import nothing\n\n\ndef test_new():\n    assert double(2) == 5", FindingType.COMPILATION_ERROR),
    ],
)
def test_a_hopeless_red_is_rejected_without_a_run_of_the_suite(new: str, type: FindingType) -> None:  # noqa: A002
    slow, fast = red(new), red(new, seconds=SLOW / 2)
    assert (slow.types, suites(slow)) == ([type], 0)
    assert (fast.types, suites(fast)) == ([type], 1)


def test_a_red_that_may_be_right_is_judged_by_the_whole_suite() -> None:
    played = red("def test_new():\n    assert double(2) == 5")
    assert (played.types, suites(played)) == ([], 1)
    played = red(
        "def test_new():\n    assert double(2) == 5\n\n\ndef test_more():\n    assert double(3) == 5"
    )
    assert (played.types, suites(played)) == ([FindingType.TOO_MANY_TESTS], 1)


def test_what_the_runner_does_not_find_by_name_is_looked_for_in_the_suite() -> None:
    def renamed(trial: Trial, run: SuiteRun) -> SuiteRun:
        run = replace(run, seconds=SLOW)
        return replace(run, results={}) if trial.tests else run

    after = {**FILES, "test_thing.py": OLD + "\n\ndef test_new():\n    assert double(2) == 5\n"}
    played = play(PhaseName.RED, FILES, after, bend=renamed)
    assert suites(played) == 1


def test_an_interfered_run_is_left_to_the_whole_suite() -> None:
    def signs(trial: Trial, run: SuiteRun) -> SuiteRun:
        return replace(run, seconds=SLOW, tampering=("a canary passed",) if trial.commit == HEAD else ())

    after = {**FILES, "test_thing.py": OLD + "\n\ndef test_new():\n    assert double(2) == 4\n"}
    played = play(PhaseName.RED, FILES, after, bend=signs)
    assert FindingType.TEST_TAMPERING in played.types
    before = {**FILES, "test_thing.py": OLD + "\n\ndef test_new():\n    assert double(2) == 5\n"}
    played = play(PhaseName.GREEN, before, {**before, "thing.py": CODE + "MORE = 1\n"}, bend=signs)
    assert FindingType.TEST_TAMPERING in played.types


def test_the_names_of_unittest_are_tried() -> None:
    def dotted(trial: Trial, run: SuiteRun) -> SuiteRun:
        names = {name: name.replace(".py::", ".").replace("::", ".") for name in run.results}
        results = {names[name]: replace(result, id=names[name]) for name, result in run.results.items()}
        return replace(run, results=results, seconds=SLOW)

    after = {**FILES, "test_thing.py": OLD + "\n\ndef test_new():\n    assert double(2) == 4\n"}
    played = play(PhaseName.RED, FILES, after, bend=dotted)
    alone = [trial for trial in played.asked if trial.commit == HEAD and trial.tests]
    assert alone[0].tests == ("test_thing.test_new",)


# --- GREEN

WANTED = {**FILES, "test_thing.py": OLD + "\n\ndef test_new():\n    assert double('a') == 'aa!'\n"}


def green(code: str, seconds: float = SLOW, *, late: bool = False) -> Played:
    def slowly(trial: Trial, run: SuiteRun) -> SuiteRun:
        out = late and bool(trial.tests)
        return replace(run, seconds=seconds, timed_out=out, finished=not out)

    return play(PhaseName.GREEN, WANTED, {**WANTED, "thing.py": code}, bend=slowly)


def test_a_green_whose_new_test_fails_is_rejected_without_a_run_of_the_suite() -> None:
    wrong = "def double(x):\n    return x + x\n"
    slow, fast = green(wrong), green(wrong, seconds=SLOW / 2)
    assert (slow.types, suites(slow)) == ([FindingType.TEST_FAILURE], 0)
    assert (fast.types, suites(fast)) == ([FindingType.TEST_FAILURE], 1)
    late = green(wrong, late=True)
    assert (late.types, suites(late)) == ([FindingType.TIMEOUT], 0)


def test_a_green_whose_new_test_passes_is_judged_by_the_whole_suite() -> None:
    right = "def double(x):\n    return x + x + '!' if isinstance(x, str) else 2 * x\n"
    played = green(right)
    assert (played.types, suites(played)) == ([], 1)
    breaking = "def double(x):\n    return str(x) * 2 + '!'\n"
    played = green(breaking)
    assert (played.types, suites(played)) == ([FindingType.TEST_FAILURE], 1)


def test_a_test_outside_the_project_is_none_of_its_own() -> None:
    outside = change("other/test_a.py", None, "def test_a():\n    assert f()\n")
    given = evidence(PhaseName.RED, prefix="app/", changes=(outside,))
    assert list(written(given)) == []
    rewrites = rewritten(given)
    assert (rewrites.old, rewrites.new) == ({}, {})
