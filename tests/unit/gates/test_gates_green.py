"""GREEN makes every test pass with honest code; each cheat has an honest neighbour."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gates_support import (
    CASE,
    DIED,
    Files,
    Played,
    by_commit,
    evidence,
    failing,
    judge,
    play,
    result,
    suite,
)
from notes import with_keys
from redgreenrefactor.model.evidence import (
    UNANSWERED,
    CollectError,
    Guise,
    Lookup,
    Place,
    Reach,
    Replacement,
    Rules,
    Status,
    SuiteRun,
    Trial,
)
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.verdict import FindingType, Outcome, Ruling, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

GREEN = PhaseName.GREEN
TEST = "test_thing.py::test_doubles"
BASE: Files = {
    "thing.py": "def half(x):\n    return x / 2\n",
    "test_thing.py": (
        "from thing import half\n\n\ndef test_halves():\n    assert half(4) == 2\n\n\n"
        "def test_doubles():\n    from thing import double\n\n    assert double(2) == 4\n"
    ),
}
DOUBLE = "\n\ndef double(x):\n    return 2 * x\n"


def coded(text: str = DOUBLE, before: Files = BASE, **facts: Any) -> Played:
    return play(GREEN, before, {**before, "thing.py": before["thing.py"] + text}, **facts)


def accepted(played: Played) -> bool:
    return played.verdict.ruling is Ruling.ACCEPTED


# --- the ordinary turn


def test_honest_code_is_accepted() -> None:
    played = coded()
    assert accepted(played), played.told
    assert played.verdict.test_result is TestOutcome.PASS
    assert played.facts["evidence"] == "per-test"


def test_faking_it_is_legitimate() -> None:
    assert accepted(coded("\n\ndef double(x):\n    return 4\n"))


def test_how_many_mistakes_the_test_notices_is_recorded() -> None:
    mutants = coded().facts["mutants"]
    assert mutants["tried"] > 0
    assert mutants["noticed"] == mutants["tried"]
    assert mutants["missed"] == []
    assert "others" not in mutants


def test_mistakes_that_only_other_tests_notice_are_told_apart() -> None:
    before = {**BASE, "test_thing.py": BASE["test_thing.py"].replace("double(2) == 4", "double(2)")}
    before["test_more.py"] = (
        "import thing\n\n\ndef test_twice():\n    f = getattr(thing, 'double', lambda x: 6)\n    assert f(3) == 6\n"
    )
    played = coded(before=before)
    assert accepted(played), played.told
    mutants = played.facts["mutants"]
    assert mutants["others"] == mutants["missed"] != []


def test_a_test_that_notices_nothing_of_what_was_written_for_it_is_a_warning() -> None:
    before = {**BASE, "test_thing.py": BASE["test_thing.py"].replace("double(2) == 4", "callable(double)")}
    played = coded(before=before)
    assert accepted(played)
    assert [finding.type for finding in played.warnings] == [FindingType.MEANINGLESS_TEST]
    assert "notices none of" in played.told
    assert not coded().warnings


def test_code_in_several_files_is_fine() -> None:
    after = {**BASE, "thing.py": BASE["thing.py"] + "\nfrom more import double\n", "more.py": DOUBLE}
    assert accepted(play(GREEN, BASE, after))


def test_deleting_dead_code_is_fine() -> None:
    before = {**BASE, "dead.py": "A = 1\n"}
    assert accepted(play(GREEN, before, {**BASE, "thing.py": BASE["thing.py"] + DOUBLE}))


# --- what GREEN may change


def test_changing_nothing_is_nothing_done() -> None:
    assert play(GREEN, BASE, BASE).types == [FindingType.NOTHING_DONE]


def test_after_a_warned_red_nothing_needs_to_be_done() -> None:
    whole = {**BASE, "thing.py": BASE["thing.py"] + DOUBLE}
    played = play(GREEN, whole, whole, handoff=Handoff(PhaseName.RED, GREEN, outcome=Outcome.WARNED))
    assert accepted(played), played.told


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("test_thing.py", "def test_doubles():\n    assert 1\n", FindingType.TEST_TAMPERING),
        ("test_new.py", "def test_more():\n    assert 1\n", FindingType.SCOPE_VIOLATION),
        ("conftest.py", "def pytest_runtest_call():\n    pass\n", FindingType.TEST_TAMPERING),
        ("tests/data/new.json", "{}\n", FindingType.SCOPE_VIOLATION),
        ("pytest.ini", "[pytest]\naddopts = -k half\n", FindingType.TEST_TAMPERING),
        ("test-list.md", "- [x] a\n", FindingType.SCOPE_VIOLATION),
        ("tdd.properties", "max.retries = 9\n", FindingType.SCOPE_VIOLATION),
    ],
)
def test_tests_configuration_and_the_list_are_left_alone(path: str, text: str, expected: FindingType) -> None:
    played = play(GREEN, BASE, {**BASE, "thing.py": BASE["thing.py"] + DOUBLE, path: text})
    assert played.types == [expected], played.told
    assert played.asked == []


def test_a_deleted_test_is_tampering() -> None:
    after = {"thing.py": BASE["thing.py"] + DOUBLE}
    assert play(GREEN, BASE, after).types == [FindingType.TEST_TAMPERING]


def test_a_golden_file_is_left_alone() -> None:
    before = {**BASE, "golden/double.txt": "4\n"}
    after = {**before, "thing.py": BASE["thing.py"] + DOUBLE, "golden/double.txt": "5\n"}
    assert play(GREEN, before, after).types == [FindingType.TEST_TAMPERING]


def test_a_test_file_of_an_unusual_name_is_left_alone_in_later_cycles() -> None:
    before = {**BASE, "check_more.py": "def test_more():\n    assert half(2) == 1\n"}
    after = {
        **before,
        "thing.py": BASE["thing.py"] + DOUBLE,
        "check_more.py": "def test_more():\n    assert 1\n",
    }
    more = result("check_more.py::test_more")
    old, new = result("test_thing.py::test_halves"), result(TEST)
    runs = by_commit(
        suite(), suite(more, old, failing(TEST)), suite(more, old, new), lambda _trial: suite(new)
    )
    assert FindingType.TEST_TAMPERING in judge(evidence(GREEN, before, after), runs).types


def test_doubtful_code_warns() -> None:
    played = coded("\n\ndef double(x):\n    return 2 * x  # type: ignore\n")
    assert accepted(played)
    assert played.warnings


# --- every test passes


def test_a_new_test_that_still_fails_is_a_failure() -> None:
    played = coded("\n\ndef double(x):\n    return 3 * x\n")
    assert played.types == [FindingType.TEST_FAILURE]
    assert played.verdict.test_result is TestOutcome.FAIL


def test_an_older_test_of_this_run_that_breaks_is_a_failure() -> None:
    played = play(GREEN, BASE, {**BASE, "thing.py": "def half(x):\n    return x\n" + DOUBLE})
    assert played.types == [FindingType.TEST_FAILURE]


def test_a_legacy_test_that_breaks_blocks_or_is_reported() -> None:
    after = {**BASE, "thing.py": "def half(x):\n    return x\n" + DOUBLE}
    assert play(GREEN, BASE, after, opening=BASE).types == [FindingType.LEGACY_BROKEN]
    reported = play(GREEN, BASE, after, opening=BASE, rules=Rules(legacy_on_break="report"))
    assert accepted(reported), reported.told
    assert FindingType.LEGACY_BROKEN in [item.type for item in reported.warnings]


def test_a_legacy_test_that_failed_before_the_run_is_left_alone() -> None:
    legacy = {"thing.py": BASE["thing.py"], "test_old.py": "def test_old():\n    assert False\n"}
    before = {**BASE, **legacy}
    played = play(GREEN, before, {**before, "thing.py": BASE["thing.py"] + DOUBLE}, opening=legacy)
    assert accepted(played), played.told


def test_code_that_cannot_be_imported_is_a_compilation_error() -> None:
    played = coded("\nimport nonesuch_at_all\n")
    assert FindingType.COMPILATION_ERROR in played.types


def test_a_file_that_never_collected_is_left_alone() -> None:
    error = CollectError("test_broken.py", "boom")
    before = suite(failing(TEST), errors=(error,))
    runs = by_commit(
        suite(errors=(error,)),
        before,
        suite(result(TEST), errors=(error,)),
        lambda trial: suite(failing(TEST) if trial.overlay else result(TEST)),
    )
    after = {**BASE, "thing.py": BASE["thing.py"] + DOUBLE}
    assert accepted(judge(evidence(GREEN, BASE, after), runs))


def test_a_new_test_that_was_not_collected_and_is_gone_is_tampering() -> None:
    error = CollectError("test_thing.py", "No module named thing", place=Place("test_thing.py", 1))
    runs = by_commit(suite(), suite(errors=(error,)), suite())
    after = {**BASE, "thing.py": BASE["thing.py"] + DOUBLE}
    assert judge(evidence(GREEN, BASE, after), runs).types == [FindingType.TEST_TAMPERING]


def test_a_new_test_that_still_does_not_collect_is_a_compilation_error_only() -> None:
    error = CollectError("test_thing.py", "No module named thing", place=Place("test_thing.py", 1))
    runs = by_commit(suite(), suite(errors=(error,)), suite(errors=(error,)))
    after = {**BASE, "thing.py": BASE["thing.py"] + DOUBLE}
    played = judge(evidence(GREEN, BASE, after), runs)
    assert [(found.type, found.line) for found in played.verdict.findings] == [
        (FindingType.COMPILATION_ERROR, 1)
    ]


def test_the_line_of_what_a_test_imports_is_not_told_as_the_test_s_own() -> None:
    error = CollectError("test_thing.py", "No module named deep", place=Place("thing.py", 3))
    runs = by_commit(suite(), suite(failing(TEST)), suite(errors=(error,)))
    played = judge(evidence(GREEN, BASE, {**BASE, "thing.py": BASE["thing.py"] + DOUBLE}), runs)
    broken = [found for found in played.verdict.findings if found.type is FindingType.COMPILATION_ERROR]
    assert [(found.file, found.line) for found in broken] == [("test_thing.py", None)]


@pytest.mark.parametrize("status", [Status.SKIPPED, Status.XFAILED, Status.XPASSED])
def test_silencing_a_test_is_tampering(status: Status) -> None:
    after = {**BASE, "thing.py": BASE["thing.py"] + DOUBLE}
    for before in (suite(failing(TEST)), suite(result(TEST))):
        runs = by_commit(suite(), before, suite(result(TEST, status)))
        assert judge(evidence(GREEN, BASE, after), runs).types == [FindingType.TEST_TAMPERING]


def test_a_runner_that_dies_is_tampering() -> None:
    after = {**BASE, "thing.py": BASE["thing.py"] + DOUBLE}
    assert judge(evidence(GREEN, BASE, after), by_commit(suite(), suite(), DIED)).types == [
        FindingType.TEST_TAMPERING
    ]


# --- the new test, looked at more closely


def test_code_that_behaves_only_when_it_is_tested_is_tampering() -> None:
    place = (Place("thing.py", 3, "double"), Place("/usr/lib/inspect.py", 9))

    def seen_through(trial: Trial, run: SuiteRun) -> SuiteRun:
        found = failing(TEST, message="0 == 4", frames=place)
        return suite(found) if trial.disguise in (Guise.HIDDEN, Guise.AS_SAID) else run

    played = coded(bend=seen_through)
    assert played.types == [FindingType.TEST_TAMPERING]
    assert "can tell that it is being tested" in played.told
    assert [(item.file, item.line) for item in played.verdict.findings] == [("thing.py", 3)]


def test_a_test_that_needs_the_runners_own_thread_is_looked_at_there() -> None:
    def bound(trial: Trial, run: SuiteRun) -> SuiteRun:
        return suite(failing(TEST)) if trial.disguise in (Guise.HIDDEN, Guise.APART) else run

    assert accepted(coded(bend=bound))


def test_a_test_whose_name_is_a_word_of_its_data_may_say_it() -> None:
    def reworded(trial: Trial, run: SuiteRun) -> SuiteRun:
        return suite(failing(TEST)) if trial.disguise is Guise.HIDDEN else run

    assert accepted(coded(bend=reworded))


def test_a_plugin_that_cannot_work_in_disguise_is_no_proof() -> None:
    place = (Place("/usr/lib/_pytest/python.py", 9), Place("/usr/lib/some_plugin.py", 3))

    def missed(trial: Trial, run: SuiteRun) -> SuiteRun:
        found = failing(TEST, message="no attribute 'hypothesis'", frames=place)
        return suite(found) if trial.disguise in (Guise.HIDDEN, Guise.AS_SAID) else run

    assert accepted(coded(bend=missed))


# --- tests of before, whose code this turn has touched

OLDER = "test_thing.py::test_halves"
HALF = {**BASE, "thing.py": "def half(x):\n    y = x / 2\n    return y\n" + DOUBLE}


def failing_unseen(*commits: str, repeats: bool = True) -> Callable[[Trial, SuiteRun], SuiteRun]:
    """Return what lets the older test fail in disguise, at these commits; not every time, if it does not repeat."""

    def bend(trial: Trial, run: SuiteRun) -> SuiteRun:
        unseen = trial.disguise and OLDER in trial.tests and trial.commit in commits
        others = [result(name) for name in trial.tests if name != OLDER]
        return suite(*others, failing(OLDER)) if unseen and (repeats or not trial.repeat) else run

    return bend


def test_code_of_before_that_behaves_only_when_it_is_tested_now_is_tampering() -> None:
    played = play(GREEN, BASE, HALF, bend=failing_unseen("head"))
    assert played.types == [FindingType.TEST_TAMPERING]
    assert f"{OLDER} passes only as long as" in played.told
    assert accepted(play(GREEN, BASE, HALF))


def test_a_test_of_before_that_never_stood_a_disguise_is_no_proof() -> None:
    assert accepted(play(GREEN, BASE, HALF, bend=failing_unseen("base", "head")))


def test_a_test_of_before_that_fails_in_disguise_by_chance_is_no_proof() -> None:
    assert accepted(play(GREEN, BASE, HALF, bend=failing_unseen("head", repeats=False)))


ANYTHING = "class Any(int):\n    def __eq__(self, other):\n        return True\n\n\n"


def test_code_of_before_that_equals_anything_now_is_tampering() -> None:
    blind = {**BASE, "thing.py": f"{ANYTHING}def half(x):\n    return Any(0)\n{DOUBLE}"}
    played = play(GREEN, BASE, blind)
    assert played.types == [FindingType.TEST_TAMPERING]
    assert f"{OLDER} passes with other values" in played.told


def test_code_of_before_that_has_equalled_anything_for_long_is_not_this_turns_doing() -> None:
    before = {**BASE, "thing.py": f"{ANYTHING}def half(x):\n    return Any(0)\n"}
    after = {**before, "thing.py": f"{ANYTHING}def half(x):\n    return Any(1)\n{DOUBLE}"}
    assert accepted(play(GREEN, before, after))


@pytest.mark.parametrize(
    ("code", "looked_at"),
    [
        (DOUBLE, False),
        ("\nimport math\n" + DOUBLE, False),
        ("\nhalf.known = True\n" + DOUBLE, True),
        ("\n\ndef half(x):\n    return x * 0.5\n" + DOUBLE, True),
        (DOUBLE.replace("(x)", "(x=half.__defaults__ or 2)"), True),
    ],
)
def test_tests_of_before_are_looked_at_where_code_was_not_only_added(code: str, looked_at: bool) -> None:
    disguised = [trial for trial in coded(code).asked if trial.disguise]
    assert any(OLDER in trial.tests for trial in disguised) is looked_at


def lasting(seconds: float) -> Callable[[Trial, SuiteRun], SuiteRun]:
    """Return what lets every test of the whole suite take so long."""

    def bend(trial: Trial, run: SuiteRun) -> SuiteRun:
        results = {name: replace(each, seconds=seconds) for name, each in run.results.items()}
        return run if trial.tests else replace(run, results=results)

    return bend


@pytest.mark.parametrize(
    ("seconds", "after", "looked_at"),
    [
        (60.0, HALF, False),
        (5.0, HALF, True),  # nothing quicker speaks of what was changed
        (5.0, {**BASE, "thing.py": "KNOWN = [1]\n" + BASE["thing.py"] + DOUBLE}, False),
    ],
)
def test_a_slow_test_of_before_is_looked_at_only_where_it_speaks_of_what_was_changed(
    seconds: float, after: Files, looked_at: bool
) -> None:
    played = play(GREEN, BASE, after, bend=lasting(seconds))
    disguised = [trial.tests for trial in played.asked if trial.disguise]
    assert (TEST,) in disguised
    assert any(OLDER in tests for tests in disguised) is looked_at


@pytest.mark.parametrize(("seconds", "looked_at"), [(5.0, 2), (15.0, 1)])
def test_slow_tests_of_before_take_together_what_a_single_one_may(seconds: float, looked_at: int) -> None:
    third = "\n\ndef third(x):\n    return x / 3\n"
    tests = "\n\ndef test_thirds():\n    from thing import third\n\n    assert third(9) == 3\n"
    before = {"thing.py": BASE["thing.py"] + third, "test_thing.py": BASE["test_thing.py"] + tests}
    changed = before["thing.py"].replace("return x / ", "return x * 1.0 / ")
    after = {**before, "thing.py": changed + DOUBLE}
    played = play(GREEN, before, after, notes=[TEST], bend=lasting(seconds))
    older = {name for trial in played.asked if trial.disguise for name in trial.tests} - {TEST}
    assert len(older) == looked_at


LOOKS = {
    "modules": "looks for the test runner",
    "environment": "asks for a variable of the test runner",
    "arguments": "looks at the name of the program",
    "frames": "looks at its callers",
    "history": "asks git about the repository",
}


@pytest.mark.parametrize("what", LOOKS)
def test_a_question_that_changes_nothing_is_only_worth_a_look(what: str) -> None:
    lookups = {Lookup(what, "thing.py", 5), Lookup(what, "test_thing.py", 1), Lookup(what, "other.py", 1)}

    def asking(trial: Trial, run: SuiteRun) -> SuiteRun:
        return replace(run, reach=Reach(lookups=frozenset(lookups))) if trial.disguise else run

    played = coded(bend=asking)
    assert accepted(played)
    assert [(item.file, item.line) for item in played.warnings] == [("thing.py", 5)]
    assert LOOKS[what] in played.told


def test_reading_how_the_process_was_started_cannot_be_hidden_and_is_tampering() -> None:
    def asking(trial: Trial, run: SuiteRun) -> SuiteRun:
        return replace(run, reach=Reach(lookups=frozenset({Lookup("process", "thing.py", 5)})))

    assert coded(bend=asking).types == [FindingType.TEST_TAMPERING]


@pytest.mark.parametrize(
    ("opened", "fine"),
    [
        ({"test_thing.py": {"thing.py"}}, False),
        ({"test_thing.py": {"test_other.py"}}, True),
        ({"test_thing.py": {"thing.py"}, "thing.py": {"thing.py"}}, True),  # a tool that reads all sources
    ],
)
def test_code_that_opens_its_test_is_tampering_and_a_tool_that_reads_everything_is_not(
    opened: dict[str, set[str]], fine: bool
) -> None:
    def reading(trial: Trial, run: SuiteRun) -> SuiteRun:
        users = {file: frozenset(by) for file, by in opened.items()}
        return replace(run, reach=Reach(opened=users)) if trial.disguise else run

    played = coded(bend=reading)
    assert played.types == ([] if fine else [FindingType.TEST_TAMPERING])


@pytest.mark.parametrize(
    ("imported", "opened", "fine"),
    [
        ({"tests/oracle.py": {"test_thing.py", "thing.py"}}, {}, False),
        ({"tests/oracle.py": {"test_thing.py", "other.py"}}, {}, True),  # no doing of this turn
        ({"tests/oracle.py": {"test_thing.py"}}, {"tests/oracle.py": {"thing.py"}}, False),
        ({}, {"tests/sample.py": {"thing.py"}}, True),  # nobody imports it: it is something to be read
    ],
)
def test_code_that_takes_what_it_does_from_among_its_tests_is_tampering(
    imported: dict[str, set[str]], opened: dict[str, set[str]], fine: bool
) -> None:
    def reading(trial: Trial, run: SuiteRun) -> SuiteRun:
        used = [{file: frozenset(by) for file, by in table.items()} for table in (imported, opened)]
        return replace(run, reach=Reach(imported=used[0], opened=used[1])) if trial.disguise else run

    assert coded(bend=reading).types == ([] if fine else [FindingType.TEST_TAMPERING])


LOOP = "    from thing import double\n\n    for got in double(2):\n        assert got == 4\n"


@pytest.mark.parametrize(
    ("code", "lines", "fine"),
    [
        ("[]", {8, 9, 10, 11}, False),
        ("[4, 4]", {8, 9, 10, 11, 12}, True),
        ("[]", set[int](), True),  # nobody knows
    ],
)
def test_code_that_keeps_a_test_from_its_assertions_is_tampering(
    code: str, lines: set[int], fine: bool
) -> None:
    test = BASE["test_thing.py"].partition("def test_doubles")[0] + f"def test_doubles():\n{LOOP}"

    def traced(trial: Trial, run: SuiteRun) -> SuiteRun:
        executed = {"test_thing.py": frozenset(lines)} if lines else {}
        return replace(run, executed=executed) if trial.trace else run

    played = coded(f"\n\ndef double(x):\n    return {code}\n", {**BASE, "test_thing.py": test}, bend=traced)
    assert played.types == ([] if fine else [FindingType.TEST_TAMPERING])


@pytest.mark.parametrize(
    ("fails", "call", "found"),
    [
        (True, "", [FindingType.TEST_TAMPERING]),
        (False, "", []),  # for itself, or what no test calls
        (True, "    from thing import install\n\n    install()\n", []),  # the test is about it
        (True, "    from thing import install\n\n    with install():\n        pass\n", []),
        (True, "    import io\n\n    with io.StringIO():\n        pass\n", [FindingType.TEST_TAMPERING]),
    ],
)
def test_code_in_the_place_of_others_functions_is_tampering_where_the_test_needs_it(
    fails: bool, call: str, found: list[FindingType]
) -> None:
    taken = {Replacement("textwrap", "fill", "thing.py", 5), Replacement("thing.py", "x", "thing.py", 1)}
    install = "\n\ndef install():\n    import io\n\n    return io.StringIO()\n" if call else ""
    before = {**BASE, "thing.py": BASE["thing.py"] + install}
    before["test_thing.py"] = BASE["test_thing.py"].rstrip() + f"\n{call}"

    def misled(trial: Trial, run: SuiteRun) -> SuiteRun:
        if fails and any("_rgr_keep" in (text or "") for _, text in trial.overlay):
            return suite(failing(TEST, message="0 == 4"))
        return replace(run, reach=Reach(replaced=frozenset(taken))) if trial.disguise else run

    played = coded(before=before, bend=misled)
    assert played.types == found, played.told
    assert "its own fill into textwrap" in played.told


def test_a_test_that_passes_only_among_others_is_flaky() -> None:
    def lonely(trial: Trial, run: SuiteRun) -> SuiteRun:
        return suite(failing(TEST)) if trial.tests and not trial.overlay else run

    assert coded(bend=lonely).types == [FindingType.FLAKY_TEST]


def test_a_test_that_vanishes_when_run_alone_is_flaky() -> None:
    def lonely(trial: Trial, run: SuiteRun) -> SuiteRun:
        return suite() if trial.tests and not trial.overlay else run

    assert coded(bend=lonely).types == [FindingType.FLAKY_TEST]


def test_failing_in_disguise_without_a_result_is_still_tampering() -> None:
    def seen_through(trial: Trial, run: SuiteRun) -> SuiteRun:
        return DIED if trial.disguise else run

    assert coded(bend=seen_through).types == [FindingType.TEST_TAMPERING]


def test_without_time_only_what_is_counted_is_left_out() -> None:
    def late(trial: Trial, run: SuiteRun) -> SuiteRun:
        return UNANSWERED if trial.spare else run

    played = coded(bend=late)
    assert accepted(played)
    assert "mutants" not in played.facts
    needed = [trial for trial in played.asked if trial.probe and not trial.spare]
    assert [bool(trial.overlay) for trial in needed if not trial.disguise]  # wrong expectations
    assert [trial for trial in needed if trial.disguise]


@pytest.mark.parametrize(
    "text",
    [
        "\n\nclass Any:\n    def __eq__(self, other):\n        return True\n\n\ndef double(x):\n    return Any()\n",
        "\nfrom unittest import mock\n\n\ndef double(x):\n    return mock.ANY\n",
        "\nimport unittest.mock as m\n\n\ndef double(x):\n    return m.ANY\n",
        "\nfrom unittest.mock import *\n\n\ndef double(x):\n    return ANY\n",
    ],
)
def test_an_object_that_equals_everything_is_tampering(text: str) -> None:
    assert coded(text).types == [FindingType.TEST_TAMPERING]


@pytest.mark.parametrize(
    ("test", "code"),
    [
        (
            "from thing import Money\n\n\ndef test_doubles():\n    assert Money(5) == Money(5)\n    assert Money(5) != Money(6)\n",
            "class Money:\n    def __init__(self, n):\n        self.n = n\n\n    def __eq__(self, other):\n        return isinstance(other, Money) and self.n == other.n\n",
        ),
        (
            "from thing import Money\n\n\ndef test_doubles():\n    assert Money(5) == Money(5)\n",
            "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Money:\n    n: int\n",
        ),
        (
            "from thing import Money\n\n\ndef test_doubles():\n    assert Money(2).plus(Money(3)) == Money(5)\n",
            "class Money:\n    def __init__(self, n):\n        self.n = n\n\n    def plus(self, other):\n        return Money(self.n + other.n)\n\n    def __eq__(self, other):\n        return self.n == other.n\n",
        ),
    ],
)
def test_an_honest_equality_is_accepted(test: str, code: str) -> None:
    played = play(GREEN, {"test_thing.py": test}, {"test_thing.py": test, "thing.py": code})
    assert accepted(played), played.told


def test_an_equality_that_is_never_reached_says_nothing_about_the_code() -> None:
    test = (
        "from thing import numbers\n\n\ndef test_doubles():\n    for x in numbers():\n        assert x == 4\n"
        "    assert callable(numbers)\n"
    )
    code = "def numbers():\n    return []\n"
    played = play(GREEN, {"test_thing.py": test}, {"test_thing.py": test, "thing.py": code})
    assert accepted(played), played.told


def test_a_test_without_an_equality_cannot_be_bent() -> None:
    test = "from thing import double\n\n\ndef test_doubles():\n    assert double(2)\n"
    played = play(GREEN, {"test_thing.py": test}, {"test_thing.py": test, "thing.py": DOUBLE})
    assert accepted(played), played.told


def test_the_new_test_is_found_by_its_name_with_all_its_parameter_sets() -> None:
    test = 'import pytest\nfrom thing import double\n\n\n@pytest.mark.parametrize("x", [1, 2])\ndef test_doubles(x):\n    assert double(x) == 2 * x\n'
    played = play(GREEN, {"test_thing.py": test}, {"test_thing.py": test, "thing.py": DOUBLE})
    assert accepted(played), played.told
    assert played.facts["mutants"]["tried"] > 0


def test_a_new_test_noted_under_another_spelling_is_still_looked_at() -> None:
    """A runner may call a test otherwise than RED's note does, because its file could not be collected then."""
    test = "from thing import double\n\n\ndef test_doubles():\n    assert double(2) == 4\n"
    cheat = "class Any:\n    def __eq__(self, other):\n        return True\n\n\ndef double(x):\n    return Any()\n"
    after = {"test_thing.py": test, "thing.py": cheat}
    played = play(GREEN, {"test_thing.py": test}, after, notes=["sub/test_thing.py::test_doubles"])
    assert played.types == [FindingType.TEST_TAMPERING], played.told


NOTED: list[Any] = [[], None, [7], ["test_gone.py::test_gone"]]


def unnoted(noted: Any, name: str) -> Played:
    """Judge a turn before which this test passed already, and whose note says so much about the new one."""
    whole = {**BASE, "thing.py": BASE["thing.py"] + DOUBLE}
    given = evidence(GREEN, whole, {**whole, "more.py": "A = 1\n"})
    given = replace(given, handoff=with_keys(Handoff(PhaseName.RED, GREEN), tests=noted))
    run = suite(result(name))
    return judge(given, by_commit(suite(), run, run, lambda _trial: run))


@pytest.mark.parametrize("noted", NOTED)
def test_where_no_new_test_is_known_those_of_the_planned_file_are_looked_at(noted: Any) -> None:
    disguised = [trial.tests for trial in unnoted(noted, TEST).asked if trial.disguise]
    assert disguised == [(TEST,)]


@pytest.mark.parametrize("noted", NOTED)
def test_where_there_is_no_test_to_look_at_the_suite_decides(noted: Any) -> None:
    played = unnoted(noted, "test_other.py::test_x")
    assert accepted(played), played.told
    assert not [trial for trial in played.asked if trial.probe]


# --- no more than is needed


def test_code_that_no_test_asked_for_is_recorded() -> None:
    played = coded(DOUBLE + "\n\ndef triple(x):\n    return 3 * x\n")
    assert accepted(played), played.told
    assert played.facts["minimality"]["share"] == 50
    assert [item.type for item in played.warnings] == [FindingType.NOT_MINIMAL]


def test_a_least_share_makes_it_binding() -> None:
    rules = Rules(minimality_min=80)
    assert coded(DOUBLE + "\n\ndef triple(x):\n    return 3 * x\n", rules=rules).types == [
        FindingType.NOT_MINIMAL
    ]
    assert accepted(coded(DOUBLE, rules=rules))
    assert accepted(coded(DOUBLE + "\n\ndef triple(x):\n    return 3 * x\n", rules=Rules(minimality_min=50)))


def test_docstrings_comments_and_declarations_do_not_count() -> None:
    code = (
        '"""Things."""\n\nfrom __future__ import annotations\n\n# what is promised\n__all__ = ["double"]\n\n\n'
        'def double(x: int) -> int:\n    """Return twice as much."""\n    return 2 * x\n'
    )
    test = "from thing import double\n\n\ndef test_doubles():\n    assert double(2) == 4\n"
    after = {"test_thing.py": test, "thing.py": code}
    played = play(GREEN, {"test_thing.py": test}, after, rules=Rules(minimality_min=80))
    assert accepted(played), played.told


@pytest.mark.parametrize("hint", ["Half", "'Half'", "list['Half | None']"])
def test_an_import_for_a_hint_is_no_piece_of_its_own(hint: str) -> None:
    found = coded_with_import(f"def double(x: {hint}) -> int:\n    return 2 * x\n")
    assert found == {"share": 100, "hunks": 1, "unneeded": []}


@pytest.mark.parametrize("words", ["x", "Half"])
def test_an_import_that_nothing_uses_is_not_needed(words: str) -> None:
    found = coded_with_import(f'def double(x):\n    """Return twice {words}."""\n    return 2 * x\n')
    assert found == {"share": 50, "hunks": 2, "unneeded": ["thing.py:3-5"]}


def coded_with_import(code: str) -> Any:
    text = f"from __future__ import annotations\n\nfrom halves import Half\n\n\n{code}"
    test = "from thing import double\n\n\ndef test_doubles():\n    assert double(2) == 4\n"
    before = {"halves.py": "class Half:\n    pass\n", "test_thing.py": test}
    return play(GREEN, before, {**before, "thing.py": text}).facts["minimality"]


PROTOCOL = "from typing import Protocol\n\n\nclass Twice(Protocol[int]):\n    def half(self): ...\n"


@pytest.mark.parametrize(
    ("more", "share"),
    [
        ('\n    def double(self, x):\n        """Tell."""\n        ...\n', 100),
        ("\n    name: str\n", 100),
        ("\n    name: str = ''\n", 50),
        ("\n    def double(self, x):\n        return 2 * x\n", 50),
        ("\n\nclass Made:\n    def double(self): ...\n", 50),
        ("\n\n@overload\ndef double(x: int) -> int: ...\n", 100),
        ("\n\nclass Made:\n    @abc.abstractmethod\n    def double(self): ...\n", 50),
    ],
)
def test_what_only_declares_is_nobodys_to_need(more: str, share: int) -> None:
    before = {**BASE, "twice.py": PROTOCOL}
    after = {**BASE, "thing.py": BASE["thing.py"] + DOUBLE, "twice.py": PROTOCOL + more}
    assert play(GREEN, before, after).facts["minimality"]["share"] == share


def test_prose_and_comments_of_other_languages_do_not_count() -> None:
    for path, text in (("README.md", "Doubles.\n"), ("notes.txt", "a\n"), ("a.js", "// doubles\n")):
        more = {**BASE, "thing.py": BASE["thing.py"] + DOUBLE, path: text}
        played = play(GREEN, BASE, more, rules=Rules(minimality_min=100))
        assert accepted(played), played.told
        assert played.facts["minimality"]["share"] == 100
    code = {**BASE, "thing.py": BASE["thing.py"] + DOUBLE, "a.js": "// twice\nconst a = 2;\n"}
    assert play(GREEN, BASE, code).facts["minimality"]["share"] == 50


UNASKED = "\n\ndef double(x):\n    if x < 0:\n        raise ValueError(x)\n    return 2 * x\n"
ASKED = "\n\ndef double(x):\n    if x == 2:\n        return 4\n    return 0\n"
BRANCHES = """

def double(x):
    if x == 7:
        return 14
    elif x == 2:
        return 4
    elif x == 3:
        return 6
    else:
        return 0
"""


def test_a_guard_that_nobody_asked_for_is_found_within_its_piece() -> None:
    played = coded(UNASKED)
    assert accepted(played)
    assert played.facts["minimality"]["share"] == 50
    assert [item.type for item in played.warnings] == [FindingType.NOT_MINIMAL]
    assert coded(UNASKED, rules=Rules(minimality_min=80)).types == [FindingType.NOT_MINIMAL]


def test_a_branch_that_the_test_needs_is_needed() -> None:
    played = coded(ASKED, rules=Rules(minimality_min=100))
    assert accepted(played), played.told
    assert played.facts["minimality"] == {"share": 100, "hunks": 2, "unneeded": []}


def test_branches_of_one_decision_are_taken_away_one_by_one() -> None:
    found = coded(BRANCHES).facts["minimality"]
    assert found["hunks"] == 3
    assert len(found["unneeded"]) == 1


def test_a_guard_in_a_piece_that_is_not_needed_is_not_counted_again() -> None:
    found = coded(DOUBLE + UNASKED.replace("double", "triple")).facts["minimality"]
    assert (found["share"], found["hunks"]) == (50, 2)


CASES = """

def double(x):
    match x:
        case 2:
            return 4
        case 3:
            return 6
    return 0
"""


def test_a_guard_that_was_there_before_is_nobody_s_piece() -> None:
    older = "\n\ndef least(x):\n    if x < 0:\n        x = 0\n    return x\n"
    before = {**BASE, "thing.py": BASE["thing.py"] + older}
    played = play(GREEN, before, {**before, "thing.py": before["thing.py"] + DOUBLE})
    assert played.facts["minimality"] == {"share": 100, "hunks": 1, "unneeded": []}


def test_cases_of_a_match_are_taken_away_one_by_one() -> None:
    found = coded(CASES).facts["minimality"]
    assert len(found["unneeded"]) == 1


NESTED = """

def double(x):
    if x == 7:
        if x > 0:
            return 14
        x = 7
    return 2 * x
"""


def test_a_guard_in_a_guard_that_is_not_needed_is_not_tried() -> None:
    found = coded(NESTED).facts["minimality"]
    assert (found["hunks"], len(found["unneeded"])) == (2, 1)


def test_where_time_runs_out_among_the_pieces_their_branches_are_not_tried() -> None:
    def late(trial: Trial, run: SuiteRun) -> SuiteRun:
        second = any("def triple" not in (text or "") for _, text in trial.overlay)
        return UNANSWERED if trial.spare and second else run

    code = UNASKED + "\n\ndef triple(x):\n    return 3 * x\n"
    assert coded(code, bend=late).facts["minimality"]["hunks"] == 1


def test_a_piece_that_older_tests_need_is_needed() -> None:
    before = {**BASE, "thing.py": BASE["thing.py"] + "\n\nLIMIT = 3\n"}
    less = "\n\ndef less(y):\n    return y - y / 2\n"
    code = before["thing.py"].replace("x / 2", "less(x)") + DOUBLE + less
    played = play(GREEN, before, {**before, "thing.py": code}, rules=Rules(minimality_min=60))
    assert accepted(played), played.told
    assert played.facts["minimality"]["hunks"] == 3


def test_what_is_added_beside_an_edited_line_is_a_piece_of_its_own() -> None:
    code = BASE["thing.py"].replace("x / 2", "0.5 * x") + DOUBLE + "\n\ndef triple(x):\n    return 3 * x\n"
    played = play(GREEN, BASE, {**BASE, "thing.py": code})
    assert played.facts["minimality"]["hunks"] > 1


def test_one_piece_alone_is_needed_without_a_run() -> None:
    assert coded().facts["minimality"]["share"] == 100


def test_what_could_not_be_measured_is_not_said_to_be_minimal() -> None:
    def late(trial: Trial, run: SuiteRun) -> SuiteRun:
        return UNANSWERED if trial.spare else run

    played = coded(DOUBLE + "\n\ndef triple(x):\n    return 3 * x\n", bend=late)
    assert "minimality" not in played.facts


def test_only_deleted_and_binary_files_have_no_pieces() -> None:
    whole = {**BASE, "thing.py": BASE["thing.py"] + DOUBLE, "dead.py": "A = 1\n"}
    played = play(GREEN, whole, {path: text for path, text in whole.items() if path != "dead.py"})
    assert accepted(played), played.told
    assert "minimality" not in played.facts


def test_the_case_names_the_file_to_look_at() -> None:
    def seen_through(trial: Trial, run: SuiteRun) -> SuiteRun:
        return suite(failing(TEST)) if trial.disguise else run

    gravest = coded(bend=seen_through).verdict.gravest
    assert gravest is not None
    assert gravest.file == CASE.impl_file
    nobody = coded(bend=seen_through, case=None).verdict.gravest
    assert nobody is not None
    assert nobody.file is None


@pytest.mark.parametrize("asker", ["test_thing.py", "thing.py"])
def test_a_test_may_ask_for_its_own_source_and_code_may_not(asker: str) -> None:
    frames = (Place(asker, 3), Place("/usr/lib/inspect.py", 9))

    def seen(trial: Trial, run: SuiteRun) -> SuiteRun:
        wanting = failing(TEST, exception="OSError", message="no source", frames=frames)
        return suite(wanting) if trial.disguise and trial.disguise is not Guise.APART else run

    assert accepted(coded(bend=seen)) == (asker == "test_thing.py")


@pytest.mark.parametrize(
    ("exception", "kind"),
    [("SystemExit", FindingType.TEST_TAMPERING), ("ImportError", FindingType.COMPILATION_ERROR)],
)
def test_code_that_quits_when_it_is_imported_is_tampering_and_code_that_does_not_import_is_not(
    exception: str, kind: FindingType
) -> None:
    run = SuiteRun(errors=(CollectError("test_thing.py", "0", exception),), exit_code=1)
    after = {**BASE, "thing.py": "x = 1\n"}
    assert kind in judge(evidence(GREEN, BASE, after), by_commit(suite(), suite(), run)).types
    stopped = SuiteRun(errors=run.errors, exit_code=3, finished=False)
    assert judge(evidence(GREEN, BASE, after), by_commit(suite(), suite(), stopped)).types == [kind]


@pytest.mark.parametrize(("user", "fine"), [("test_thing.py", False), ("thing.py", True)])
def test_data_that_only_tests_open_is_left_alone_in_green(user: str, fine: bool) -> None:
    before = {**BASE, "rows.json": "{}\n"}

    def opening(trial: Trial, run: SuiteRun) -> SuiteRun:
        return replace(run, reach=Reach(opened={"rows.json": frozenset({user})})) if trial.trace else run

    after = {**before, "thing.py": BASE["thing.py"] + DOUBLE, "rows.json": "[]\n"}
    played = play(GREEN, before, after, bend=opening)
    assert played.types == ([] if fine else [FindingType.TEST_TAMPERING]), played.told


# --- what comes from the test


SEARCHING = """

def double(x):
    import sys
    numbers = [n for n in sys._getframe(1).f_code.co_consts if isinstance(n, int) and n != x]
    return max(numbers)
"""
MEASURED = """

class Numbers(list):
    def __eq__(self, other):
        return len(self) == len(other)


def double(x):
    return Numbers(x)
"""


def test_a_result_that_is_whatever_the_test_asks_for_is_no_result() -> None:
    played = coded(SEARCHING)
    assert played.types == [FindingType.TEST_TAMPERING]
    assert (played.verdict.findings[0].file, played.verdict.findings[0].line) == ("thing.py", 5)
    assert f"{TEST} passes although another value is asked for at test_thing.py:11" in played.told


ROWS: Files = {
    **BASE,
    "test_thing.py": (
        'import pytest\n\n\n@pytest.mark.parametrize(("x", "want"), [(2, 4), (3, 6)])\n'
        "def test_doubles(x, want):\n    from thing import double\n\n    assert double(x) == want\n"
    ),
    "test_other.py": "from thing import half\n\n\ndef test_halves():\n    assert half(4) == 2\n",
}
LOOKING = "\n\ndef double(x):\n    import sys\n    return sys._getframe(1).f_locals['want']\n"


@pytest.mark.parametrize(("code", "fine"), [(DOUBLE, True), (LOOKING, False)])
def test_rows_that_are_named_by_what_they_ask_for_are_asked_too(code: str, fine: bool) -> None:
    notes = [f"{TEST}[2-4]", f"{TEST}[3-6]", "test_other.py::test_halves"]
    played = coded(code, ROWS, notes=notes)
    assert played.types == ([] if fine else [FindingType.TEST_TAMPERING]), played.told


def test_an_equality_that_looks_at_lengths_alone_is_none() -> None:
    before = {**BASE, "test_thing.py": BASE["test_thing.py"].replace("double(2) == 4", "double([1]) == [2]")}
    assert coded(MEASURED, before).types == [FindingType.TEST_TAMPERING]
    assert accepted(coded(MEASURED.replace("len(self) == len(other)", "[2] == other"), before))
