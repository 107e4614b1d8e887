"""Where only an exit code can be had, fewer rules hold, and the note says which."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from gates_support import BASE, HEAD, OPENING, Played, evidence, judge
from redgreenrefactor.model.evidence import UNANSWERED, Change, File, Measure, Rules, SuiteRun, Trial
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import ErrorDetails, Handoff
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
    assert played.facts["evidence"] == "exit-code"
    assert played.facts["unmeasured"]
    assert played.facts["failure"] == "1 failed"


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


# --- asked again, it passes still

JS_CODE = {
    "add.js": "export const add = (a, b) => a + b;\n",
    "test/add.test.js": "import test from 'node:test';\n",
}
HONEST_JS = "test('adds', () => {\n  assert.equal(add(1, 2), 3);\n});\n"
ASKED = ErrorDetails(FindingType.UNEXPECTED_PASS, "it passes")


def asked_again(
    test: str,
    noticed: Callable[[str], bool],
    path: str = "test/add.test.js",
    details: ErrorDetails | None = ASKED,
    minds: Callable[[str, str], bool] = lambda test, _code: f"'adds', () => {ENDED}" not in test,
    code: str = JS_CODE["add.js"],
    **rules: Any,
) -> Played:
    """Play a RED whose suite passes; it fails with a changed test where `noticed` says so, with wrong code where it minds."""
    before = {**JS_CODE, "add.js": code}
    after = {**before, path: JS_CODE.get(path, "") + test}
    handoff = Handoff(PhaseName.RED, PhaseName.RED, error_details=details)
    case = Case("adds", path, "add.js")
    given = evidence(PhaseName.RED, before, after, case=case, handoff=handoff, rules=Rules(**rules))

    def answer(trial: Trial) -> SuiteRun:
        laid = dict(trial.overlay)
        wrong = "add.js" in laid and minds(laid[path] or "", laid["add.js"] or "")
        return RED_RUN if wrong or noticed(laid.get(path) or "test(add(1, 2), 3)") else GREEN_RUN

    return judge(given, answer)


OTHER_JS = "test('adds nothing', () => {\n  assert.equal(add(1, 0), 1);\n});\n"
ENDED = "{ if (true) { return; }; "


def really(text: str) -> bool:
    return "planted" in text or ("test(" in text and "add(1, 2), 3" not in text)


def test_an_honest_test_that_passes_again_is_covered() -> None:
    played = asked_again(HONEST_JS, really)
    assert played.verdict.outcome is Outcome.COVERED
    assert played.facts["wrongExpectation"] == "failed as it should"
    assert played.facts["mutants"] == {"tried": 1, "noticed": 1}
    assert played.warnings == []


def silent(_test: str, _code: str) -> bool:
    return False


def test_a_test_that_notices_no_mutant_of_the_planned_file_is_not_covered() -> None:
    played = asked_again(HONEST_JS, really, minds=silent)
    assert played.types == [FindingType.UNEXPECTED_PASS]
    assert "notices none of 1 mutants of add.js" in played.told


def test_that_the_others_of_its_file_notice_mutants_is_no_merit_of_a_new_test() -> None:
    def by_the_other(test: str, _code: str) -> bool:
        return f"'adds nothing', () => {ENDED}" not in test

    assert asked_again(HONEST_JS + OTHER_JS, really, minds=by_the_other).types == [
        FindingType.UNEXPECTED_PASS
    ]
    assert asked_again(HONEST_JS + OTHER_JS, really).verdict.outcome is Outcome.COVERED


def test_where_tests_elsewhere_notice_the_same_only_the_expectation_was_measured() -> None:
    played = asked_again(HONEST_JS, really, minds=lambda _test, _code: True)
    assert (played.verdict.outcome, played.warnings) == (Outcome.COVERED, [])
    assert "mutants" not in played.facts


def test_where_there_are_too_many_mutants_to_try_a_test_has_to_need_the_file_at_least() -> None:
    large = "".join(f"export const f{n} = (a, b) => a + b;\n" for n in range(21))
    assert asked_again(HONEST_JS, really, minds=silent, code=large).types == [FindingType.UNEXPECTED_PASS]
    needing = asked_again(HONEST_JS, really, minds=lambda _test, code: ")]}" in code, code=large)
    assert (needing.verdict.outcome, needing.facts.get("mutants")) == (Outcome.COVERED, None)


def test_a_suite_that_fails_with_the_other_tests_silenced_tells_nothing_of_mutants() -> None:
    played = asked_again(HONEST_JS + OTHER_JS, lambda text: ENDED in text or really(text))
    assert (played.verdict.outcome, "mutants" in played.facts) == (Outcome.COVERED, False)


def test_it_is_sent_back_first_unless_there_is_no_try_left() -> None:
    assert asked_again(HONEST_JS, really, details=None).types == [FindingType.UNEXPECTED_PASS]
    assert asked_again(HONEST_JS, really, details=None, retries=0).verdict.outcome is Outcome.COVERED
    assert asked_again(HONEST_JS, really, red_on_pass="abort").types == [FindingType.UNEXPECTED_PASS]


def test_a_test_that_the_command_does_not_run_is_not_covered() -> None:
    played = asked_again(HONEST_JS, lambda _text: False)
    assert played.types == [FindingType.UNEXPECTED_PASS]
    assert "does not run it" in played.told


def test_a_test_whose_expectations_do_not_matter_is_covered_with_a_doubt() -> None:
    played = asked_again(HONEST_JS, lambda text: "planted" in text, code="")
    assert played.verdict.outcome is Outcome.COVERED
    assert [item.type for item in played.warnings] == [FindingType.UNEXPECTED_PASS]


def test_without_time_to_bend_an_expectation_it_is_covered_with_a_doubt() -> None:
    given = evidence(
        PhaseName.RED,
        JS_CODE,
        {**JS_CODE, "test/add.test.js": JS_CODE["test/add.test.js"] + HONEST_JS},
        case=Case("adds", "test/add.test.js", "add.js"),
        handoff=Handoff(PhaseName.RED, PhaseName.RED, error_details=ASKED),
    )

    def answer(trial: Trial) -> SuiteRun:
        texts = [text or "" for _, text in trial.overlay]
        if any("planted" in text for text in texts):
            return RED_RUN
        return UNANSWERED if trial.overlay and trial.probe else GREEN_RUN

    played = judge(given, answer)
    assert played.verdict.outcome is Outcome.COVERED
    assert [item.type for item in played.warnings] == [FindingType.UNEXPECTED_PASS]


@pytest.mark.parametrize(
    "test",
    ["test('adds', () => {});\n", "test('adds', () => {\n  assert.equal(1, 1);\n});\n"],
    ids=["empty", "about nothing"],
)
def test_a_test_that_says_nothing_is_not_covered(test: str) -> None:
    assert asked_again(test, really).types == [FindingType.MEANINGLESS_TEST]


def test_a_comment_is_no_test() -> None:
    assert asked_again("// more to come\n", really).types == [FindingType.NO_TEST_ADDED]


def test_a_test_in_a_language_that_is_not_known_is_covered_with_a_doubt_where_it_is_read() -> None:
    script = '[ "$(./add 1 2)" = 3 ]\n'
    played = asked_again(script, lambda text: text.startswith("exit 1"), "test/add.sh")
    assert played.verdict.outcome is Outcome.COVERED
    assert [item.type for item in played.warnings] == [FindingType.UNEXPECTED_PASS]
    assert asked_again(script, lambda _text: False, "test/add.sh").types == [FindingType.UNEXPECTED_PASS]


# --- GREEN: a suite that notices nothing is not believed


def written(
    noticed: Callable[[str], bool], tests: tuple[str, ...] = (), outcome: Outcome | None = None, **more: Any
) -> Played:
    """Play a GREEN whose suite passes; the suite fails with a changed test where `noticed` says so of its text."""
    before = {
        "add.js": "",
        "test/add.test.js": HONEST_JS,
        "test/sum.test.js": HONEST_JS.replace("adds", "sums"),
    }
    handoff = Handoff(PhaseName.GREEN, PhaseName.GREEN, facts=Facts(tests=tests), outcome=outcome)
    more = {"case": Case("adds", "test/add.test.js", "add.js"), "handoff": handoff, **more}
    given = evidence(PhaseName.GREEN, before, {**before, "add.js": "1\n"}, **more)

    def answer(trial: Trial) -> SuiteRun:
        return RED_RUN if any(noticed(text or "") for _, text in trial.overlay) else GREEN_RUN

    return judge(given, answer)


def test_a_suite_that_notices_what_is_wrong_in_the_new_test_is_believed() -> None:
    played = written(really)
    assert played.verdict.ruling is Ruling.ACCEPTED, played.told
    assert [path for trial in played.asked for path, _ in trial.overlay] == ["test/add.test.js"] * 2


def test_a_suite_that_passes_with_a_failure_in_the_new_test_is_not_believed() -> None:
    played = written(lambda _text: False, ("test/sum.test.js::sums",))
    assert played.types == [FindingType.TEST_TAMPERING]
    assert "test/sum.test.js:1: 'sums': the suite passes with a failure put into this test" in played.told


def test_a_suite_that_passes_whatever_is_expected_is_not_believed() -> None:
    played = written(lambda text: "planted" in text)
    assert played.types == [FindingType.TEST_TAMPERING]
    assert "another value is expected" in played.told


def test_an_expectation_that_is_not_reached_proves_nothing() -> None:
    starts = "test('adds', () => { throw new Error(\"planted\");"
    assert written(lambda text: starts in text).types == []


def test_a_test_that_was_let_through_although_it_passed_is_not_tried_again() -> None:
    assert written(lambda _text: False, outcome=Outcome.WARNED).types == []
    assert written(lambda _text: False, case=None).types == []


def test_red_names_its_test_as_far_as_the_text_tells() -> None:
    after = {**JS_CODE, "test/add.test.js": JS_CODE["test/add.test.js"] + HONEST_JS}

    def answer(trial: Trial) -> SuiteRun:
        return RED_RUN if trial.commit == HEAD and not trial.overlay else GREEN_RUN

    given = evidence(PhaseName.RED, JS_CODE, after, case=Case("adds", "test/add.test.js", "add.js"))
    assert judge(given, answer).facts["tests"] == ["test/add.test.js::adds"]


# --- what the text shows


def test_a_test_that_is_gone_is_seen_although_the_suite_passes() -> None:
    before = {"add.js": "1\n", "test/add.test.js": HONEST_JS}
    for phase, after in (
        (PhaseName.REFACTOR, {"add.js": "2\n"}),
        (PhaseName.REFACTOR, {"add.js": "2\n", "test/add.test.js": HONEST_JS.replace("test(", "test.skip(")}),
        (PhaseName.RED, {**before, "test/add.test.js": HONEST_JS.replace("3", "4")}),
    ):
        played = judge(evidence(phase, before, after), lambda _trial: GREEN_RUN)
        assert played.types == [FindingType.TEST_TAMPERING], played.told
    renamed = {"add.js": "2\n", "test/sum.test.js": HONEST_JS}
    assert judge(evidence(PhaseName.REFACTOR, before, renamed), lambda _trial: GREEN_RUN).types == []


def test_what_was_doubted_before_the_tests_ran_is_told() -> None:
    before = {"thing.py": "a = 1\n"}
    after = {"thing.py": "a = 2  # noqa\n"}
    played = judge(evidence(PhaseName.REFACTOR, before, after), lambda _trial: GREEN_RUN)
    assert "switches a check off" in played.told


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
