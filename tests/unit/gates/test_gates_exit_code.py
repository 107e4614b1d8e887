"""Where only an exit code can be had, fewer rules hold, and the note says which."""

import json

from gates_support import BASE, HEAD, OPENING, Played, evidence, judge

from redgreenrefactor.model.evidence import Change, File, Measure, Rules, SuiteRun, Trial
from redgreenrefactor.model.verdict import FindingType, Outcome, Ruling, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

GREEN_RUN = SuiteRun(measure=Measure.EXIT_CODE)
RED_RUN = SuiteRun(measure=Measure.EXIT_CODE, exit_code=1, output="1 failed\n")
LATE = SuiteRun(measure=Measure.EXIT_CODE, finished=False, timed_out=True)
OLD = {"thing.py": "a = 1\n", "test_thing.py": "a\n"}
NEW_TEST = {**OLD, "test_thing.py": "b\n", "test_new.py": "c\n"}
NEW_CODE = {**OLD, "thing.py": "a = 2\n"}


def judged(
    phase: PhaseName, after: SuiteRun, without: SuiteRun = GREEN_RUN, rules: Rules | None = None
) -> Played:
    def answer(trial: Trial) -> SuiteRun:
        return without if trial.overlay else {OPENING: GREEN_RUN, BASE: GREEN_RUN, HEAD: after}[trial.commit]

    files = NEW_TEST if phase is PhaseName.RED else NEW_CODE
    given = evidence(phase, OLD, files, rules=rules or Rules())
    return judge(given, answer)


def test_a_suite_that_fails_with_the_new_test_and_passes_without_it_is_red() -> None:
    played = judged(PhaseName.RED, RED_RUN)
    assert played.verdict.ruling is Ruling.ACCEPTED
    assert played.verdict.test_result is TestOutcome.FAIL
    assert played.verdict.facts["evidence"] == "exit-code"
    assert played.verdict.facts["unmeasured"]


def test_without_the_new_test_means_with_the_tests_as_they_were() -> None:
    asked = judged(PhaseName.RED, RED_RUN).asked
    assert asked[-1].overlay == (("test_new.py", None), ("test_thing.py", "a\n"))


def test_a_suite_that_fails_even_without_the_new_test_is_a_failure() -> None:
    assert judged(PhaseName.RED, RED_RUN, RED_RUN).types == [FindingType.TEST_FAILURE]


def test_a_suite_that_hangs_without_the_new_test_is_a_timeout() -> None:
    assert judged(PhaseName.RED, RED_RUN, LATE).types == [FindingType.TIMEOUT]


def test_a_suite_that_passes_with_the_new_test_is_an_unexpected_pass() -> None:
    played = judged(PhaseName.RED, GREEN_RUN)
    assert played.types == [FindingType.UNEXPECTED_PASS]
    assert played.verdict.test_result is TestOutcome.PASS


def test_warn_lets_an_unexpected_pass_go_on() -> None:
    played = judged(PhaseName.RED, GREEN_RUN, rules=Rules(red_on_pass="warn"))
    assert played.verdict.ruling is Ruling.ACCEPTED
    assert played.verdict.outcome is Outcome.WARNED


def test_later_phases_are_accepted_when_the_suite_passes() -> None:
    for phase in (PhaseName.GREEN, PhaseName.REFACTOR):
        assert judged(phase, GREEN_RUN).verdict.ruling is Ruling.ACCEPTED
        assert judged(phase, RED_RUN).types == [FindingType.TEST_FAILURE]


def test_a_binary_file_of_the_tests_stays_where_it_is() -> None:
    picture = Change("tests/a.png", File("100644", "1"), File("100644", "2"))
    given = evidence(PhaseName.RED, OLD, NEW_TEST)
    given = evidence(PhaseName.RED, OLD, NEW_TEST, changes=(*given.changes, picture))

    def answer(trial: Trial) -> SuiteRun:
        return GREEN_RUN if trial.overlay or trial.commit != HEAD else RED_RUN

    assert "tests/a.png" not in dict(judge(given, answer).asked[-1].overlay)


def test_red_may_bring_what_its_test_needs_and_nothing_for_the_code() -> None:
    before = {**OLD, "package.json": "{}"}
    for keys, types in (
        ({"devDependencies": {"chai": "5"}}, []),
        ({"dependencies": {"chai": "5"}}, [FindingType.SCOPE_VIOLATION]),
    ):
        after = {**NEW_TEST, "package.json": json.dumps(keys), "package-lock.json": "{}"}
        played = judge(
            evidence(PhaseName.RED, before, after),
            lambda trial: RED_RUN if trial.commit == "head" and not trial.overlay else GREEN_RUN,
        )
        assert played.types == types, played.told
