"""CODE: what is rejected, and the honest work next to it that is not."""

import pytest

from gates_support import (
    Files,
    Played,
    by_commit,
    change,
    evidence,
    failing,
    judge,
    play,
    result,
    suite,
)
from redgreenrefactor.model.evidence import CollectError, Measure, Rules, Status, SuiteRun, Trial
from redgreenrefactor.model.session import Report
from redgreenrefactor.model.verdict import FindingType, Ruling, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

OLD = {
    "thing.py": "def one():\n    return 1\n",
    "test_thing.py": "import thing\n\n\ndef test_one():\n    assert thing.one() == 1\n",
}
NEW = {
    "thing.py": OLD["thing.py"] + "\n\ndef double(n):\n    return n * 2\n",
    "test_thing.py": OLD["test_thing.py"] + "\n\ndef test_double():\n    assert thing.double(2) == 4\n",
}
SAID = Report("I have added double.")


def coded(before: Files, after: Files, *, opening: Files | None = None) -> Played:
    given = before if opening is None else opening
    return play(PhaseName.CODE, before, after, opening=given, case=None, report=SAID)


def test_new_code_with_new_tests_is_accepted_and_counted() -> None:
    played = coded(OLD, NEW)
    assert played.verdict.ruling is Ruling.ACCEPTED, played.told
    assert played.verdict.test_result is TestOutcome.PASS
    assert played.facts["message"] == "I have added double."
    tests = played.facts["tests"]
    assert (tests["passed"], tests["failed"], tests["skipped"], tests["total"]) == (2, 0, 0, 2)


def test_changing_nothing_is_no_work() -> None:
    assert coded(OLD, OLD).types == [FindingType.NOTHING_DONE]


def test_a_failing_new_test_is_rejected() -> None:
    wrong = {**NEW, "thing.py": NEW["thing.py"].replace("n * 2", "n * 3")}
    played = coded(OLD, wrong)
    assert played.types == [FindingType.TEST_FAILURE]
    assert played.verdict.test_result is TestOutcome.FAIL


def test_breaking_what_worked_is_rejected() -> None:
    assert coded(OLD, {**NEW, "thing.py": NEW["thing.py"].replace("return 1", "return 2")}).types == [
        FindingType.LEGACY_BROKEN
    ]


def test_a_test_that_failed_before_the_run_may_go_on_failing() -> None:
    failing_before = {**OLD, "test_old.py": "def test_never():\n    assert False\n"}
    assert coded(failing_before, {**NEW, "test_old.py": failing_before["test_old.py"]}).types == []


def test_a_test_from_before_the_run_is_not_deleted() -> None:
    gone = {**NEW, "test_thing.py": "import thing\n\n\ndef test_double():\n    assert thing.double(2) == 4\n"}
    assert FindingType.TEST_TAMPERING in coded(OLD, gone).types


def test_a_test_from_before_the_run_may_get_another_name() -> None:
    renamed = {**NEW, "test_thing.py": NEW["test_thing.py"].replace("test_one", "test_gives_one")}
    assert coded(OLD, renamed).types == []


def test_a_test_from_before_the_run_is_not_skipped() -> None:
    skipped = NEW["test_thing.py"].replace("def test_one", "@pytest.mark.skip\ndef test_one")
    before, after = (
        suite(result("test_thing.py::test_one")),
        suite(result("test_thing.py::test_one", Status.SKIPPED)),
    )
    given = evidence(
        PhaseName.CODE, OLD, {**NEW, "test_thing.py": f"import pytest\n{skipped}"}, case=None, report=SAID
    )
    assert FindingType.TEST_TAMPERING in judge(given, by_commit(before, before, after, lambda _: after)).types


def test_a_new_test_may_be_skipped_where_it_cannot_run() -> None:
    before = suite(result("test_thing.py::test_one"))
    after = suite(result("test_thing.py::test_one"), result("test_thing.py::test_windows", Status.SKIPPED))
    played = judge(
        evidence(PhaseName.CODE, OLD, NEW, case=None, report=SAID), by_commit(before, before, after)
    )
    assert played.types == []
    assert played.facts["tests"]["skipped"] == 1


def test_the_coders_own_earlier_tests_may_go_and_the_reviewer_is_told() -> None:
    fewer = {
        **NEW,
        "test_thing.py": OLD["test_thing.py"] + "\n\ndef test_twice():\n    assert thing.double(3) == 6\n",
    }
    played = coded(NEW, fewer, opening=OLD)
    assert played.types == []
    assert any("earlier round" in warning.message for warning in played.warnings)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pytest.ini", None, "[pytest]\naddopts = -k nothing\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", "[tool.pytest.ini_options]\naddopts = '-x'\n"),
    ],
)
def test_the_runners_configuration_stays_untouched(path: str, before: str | None, after: str) -> None:
    given = evidence(PhaseName.CODE, OLD, NEW, case=None, changes=(change(path, before, after),), report=SAID)
    assert judge(given).types == [FindingType.TEST_TAMPERING]


def test_the_settings_of_the_run_stay_untouched() -> None:
    given = evidence(
        PhaseName.CODE, case=None, changes=(change("tdd.properties", "a=1\n", "a=2\n"),), report=SAID
    )
    assert judge(given).types == [FindingType.SCOPE_VIOLATION]


def test_a_list_of_cases_may_be_kept() -> None:
    listed = {**NEW, "test-list.md": "- [x] doubles\n"}
    assert coded(OLD, listed).types == []


def test_a_hook_into_the_runner_is_tampering() -> None:
    hook = "def pytest_collection_modifyitems(items):\n    items.clear()\n"
    assert FindingType.TEST_TAMPERING in coded(OLD, {**NEW, "conftest.py": hook}).types


@pytest.mark.parametrize(
    ("exception", "kind"),
    [("SyntaxError", FindingType.COMPILATION_ERROR), ("SystemExit", FindingType.TEST_TAMPERING)],
)
def test_what_cannot_be_collected_is_named(exception: str, kind: FindingType) -> None:
    before = suite(result("test_thing.py::test_one"))
    after = suite(result("test_thing.py::test_one"), errors=(CollectError("test_new.py", "boom", exception),))
    played = judge(
        evidence(PhaseName.CODE, OLD, NEW, case=None, report=SAID), by_commit(before, before, after)
    )
    assert played.types == [kind]
    counted = played.facts["tests"]
    assert (counted["passed"] + counted["failed"] + counted["skipped"], counted["failed"]) == (
        counted["total"],
        1,
    )


def test_what_could_not_be_collected_before_the_run_is_left_alone() -> None:
    error = CollectError("test_broken.py", "boom", "SyntaxError")
    before = suite(result("test_thing.py::test_one"), errors=(error,))
    played = judge(
        evidence(PhaseName.CODE, OLD, NEW, case=None, report=SAID), by_commit(before, before, before)
    )
    assert played.types == []


def test_a_suite_that_only_has_an_exit_code_is_judged_by_it() -> None:
    good = SuiteRun(measure=Measure.EXIT_CODE)
    bad = SuiteRun(measure=Measure.EXIT_CODE, exit_code=1)
    given = evidence(PhaseName.CODE, OLD, NEW, case=None, report=SAID)
    accepted = judge(given, by_commit(good, good, good))
    assert accepted.types == []
    assert accepted.facts["tests"]["exitCode"] == 0
    assert accepted.facts["message"] == SAID.message
    assert judge(given, by_commit(good, good, bad)).types == [FindingType.TEST_FAILURE]


def test_a_suite_that_does_not_end_is_no_result() -> None:
    good, endless = suite(result("a.py::test")), SuiteRun(finished=False, timed_out=True)
    given = evidence(PhaseName.CODE, OLD, NEW, case=None, report=SAID)
    assert judge(given, by_commit(good, good, endless)).types == [FindingType.TIMEOUT]


def test_broken_legacy_is_only_reported_where_the_settings_say_so() -> None:
    before, after = suite(result("a.py::test")), suite(failing("a.py::test"))
    given = evidence(PhaseName.CODE, OLD, NEW, case=None, report=SAID, rules=Rules(legacy_on_break="report"))

    def probe(trial: Trial) -> SuiteRun:
        return after if trial.commit == "head" else before

    assert judge(given, by_commit(before, before, after, probe)).types == []
