"""Tests from before the run: failing ones are left alone, flaky ones block nobody, broken ones do."""

from collections.abc import Callable

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
    nothing_is_run,
    play,
    result,
    suite,
)
from redgreenrefactor.gates.rules.legacy import (
    AGAIN,
    APART,
    LISTED,
    ROUNDS,
    Baseline,
    also_mended,
    baseline,
    mended,
    rechecked,
    regressions,
)
from redgreenrefactor.gates.rules.rewrites import rewritten
from redgreenrefactor.gates.rules.strength import strength
from redgreenrefactor.model.evidence import CollectError, Rules, Status, SuiteRun, Trial
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import Handoff, LegacyTests
from redgreenrefactor.model.verdict import FindingType, Ruling, Severity
from redgreenrefactor.model.workflow import PhaseName

GREEN = PhaseName.GREEN
ONE, TWO = "test_a.py::test_one", "test_a.py::test_two"
BROKEN = [failing(ONE)]


def told(**when: Callable[[Trial], bool]) -> Callable[[Trial], SuiteRun]:
    """Answer every question about ONE; a test passes where its commit says so."""

    def answer(trial: Trial) -> SuiteRun:
        passes = when[trial.commit](trial)
        return suite(result(ONE) if passes else failing(ONE))

    return answer


def never(_trial: Trial) -> bool:
    return False


def always(_trial: Trial) -> bool:
    return True


# --- before the run


def test_nothing_is_run_again_where_nothing_fails() -> None:
    green = suite(result(ONE))
    found, asked = drive(baseline(OPENING), lambda _trial: green)
    assert (found, asked) == (Baseline(green), [Trial(OPENING, keeps=True)])
    assert (found.noted, found.told) == (None, ())


def test_a_baseline_that_died_is_left_to_others() -> None:
    found, asked = drive(baseline(OPENING), lambda _trial: DIED)
    assert (found.run, len(asked)) == (DIED, 1)


def test_failing_and_flaky_tests_are_kept_apart() -> None:
    def answer(trial: Trial) -> SuiteRun:
        return suite(failing(ONE), result(TWO) if trial.repeat else failing(TWO))

    found, asked = drive(baseline(OPENING), answer)
    assert asked == [Trial(OPENING, keeps=True), Trial(OPENING, tests=(ONE, TWO), repeat=1)]
    assert (found.failing, found.flaky) == ((ONE,), (TWO,))
    assert found.noted == LegacyTests((ONE,), (TWO,))
    assert [ONE in line for line in found.told] == [True, False]


def test_files_that_cannot_be_collected_are_told_without_another_run() -> None:
    run = suite(errors=(CollectError("test_b.py", "x"),))
    found, asked = drive(baseline(OPENING), lambda _trial: run)
    assert (found.failing, len(asked)) == (("test_b.py",), 1)


def test_a_note_lists_some_tests_and_counts_the_rest() -> None:
    names = tuple(f"test_a.py::test_{number}" for number in range(LISTED + 1))
    assert Baseline(suite(), names).noted == LegacyTests(names[:LISTED], failing_count=LISTED + 1)


# --- after a turn


def test_a_test_that_passes_when_run_again_alone_and_among_others_fails_by_chance() -> None:
    found, asked = drive(rechecked(BASE, Trial(HEAD), BROKEN), told(head=always))
    assert (found.broken, found.flaky) == ((), (ONE,))
    assert asked == [Trial(HEAD, tests=(ONE,), repeat=1), Trial(HEAD, repeat=APART)]


def test_a_test_that_only_fails_among_others_is_broken_where_it_did_not_before() -> None:
    def head(trial: Trial) -> bool:
        return bool(trial.tests)

    found, asked = drive(rechecked(BASE, Trial(HEAD), BROKEN), told(head=head, base=always))
    assert (found.broken, found.flaky) == ((failing(ONE),), ())
    assert asked[-1] == Trial(BASE, repeat=APART)
    found, _ = drive(rechecked(BASE, Trial(HEAD), BROKEN), told(head=head, base=never))
    assert found.flaky == (ONE,)


def test_a_test_that_fails_often_by_chance_is_not_broken_by_bad_luck() -> None:
    def passes_with_the_second_suite(trial: Trial) -> bool:
        return trial.repeat != APART

    def passes_at_last(trial: Trial) -> bool:
        return trial.repeat == AGAIN or not trial.tests

    for head in (passes_with_the_second_suite, passes_at_last):
        found, _ = drive(rechecked(BASE, Trial(HEAD), BROKEN), told(head=head, base=always))
        assert found.flaky == (ONE,)


def test_a_test_that_fails_again_and_never_on_the_untouched_tree_is_broken() -> None:
    found, asked = drive(rechecked(BASE, Trial(HEAD), BROKEN), told(head=never, base=always))
    assert found.broken == (failing(ONE),)
    assert len(asked) == AGAIN + ROUNDS


def test_a_test_that_fails_now_and_then_on_the_untouched_tree_fails_by_chance() -> None:
    answer = told(head=never, base=lambda trial: trial.repeat != 2)
    found, asked = drive(rechecked(BASE, Trial(HEAD), BROKEN), answer)
    assert (found.broken, found.flaky) == ((), (ONE,))
    assert [trial.commit for trial in asked] == [HEAD] * AGAIN + [BASE, BASE]


@pytest.mark.parametrize(("among_others", "flaky"), [(True, ()), (False, (ONE,))])
def test_a_test_that_leans_on_others_is_compared_among_others(
    among_others: bool,
    flaky: tuple[str, ...],
) -> None:
    answer = told(head=never, base=lambda trial: among_others and not trial.tests)
    found, _ = drive(rechecked(BASE, Trial(HEAD), BROKEN), answer)
    assert found.flaky == flaky


def test_many_broken_tests_are_not_run_again_and_again() -> None:
    names = [f"test_a.py::test_{number:02}" for number in range(30)]
    answer = {HEAD: suite(*map(failing, names)), BASE: suite(*map(result, names))}
    found, asked = drive(rechecked(BASE, Trial(HEAD), [*map(failing, names)]), lambda t: answer[t.commit])
    assert (len(found.broken), len(asked)) == (30, 2)


def test_without_suspects_nothing_is_run() -> None:
    assert drive(rechecked(BASE, Trial(HEAD), []), nothing_is_run)[0].flaky == ()


# --- findings


def test_a_test_of_the_run_that_breaks_has_no_second_chance() -> None:
    three = measured(suite(result(ONE)), suite(failing(ONE)))
    found, asked = drive(regressions(evidence(GREEN), three), lambda _trial: suite(result(ONE)))
    assert [item.type for item in found] == [FindingType.TEST_FAILURE]
    assert asked == []


def test_a_legacy_test_that_breaks_has_a_second_chance() -> None:
    old = suite(result(ONE), result(TWO))
    three = measured(old, suite(failing(ONE), failing(TWO)), old)
    found, _ = drive(
        regressions(evidence(GREEN), three),
        lambda trial: old if trial.commit == BASE else suite(result(ONE), failing(TWO)),
    )
    assert [(item.type, item.severity) for item in found] == [
        (FindingType.FLAKY_TEST, Severity.WARNING),
        (FindingType.LEGACY_BROKEN, Severity.ERROR),
    ]


def test_a_legacy_test_that_breaks_may_only_be_reported() -> None:
    old = suite(result(ONE))
    given = evidence(GREEN, rules=Rules(legacy_on_break="report"))
    three = measured(old, suite(failing(ONE)), old)
    found, _ = drive(regressions(given, three), told(head=never, base=always))
    assert [item.severity for item in found] == [Severity.WARNING]


@pytest.mark.parametrize("status", [Status.SKIPPED, Status.XFAILED, Status.XPASSED])
def test_a_test_that_passed_and_is_silenced_is_tampering_whoever_wrote_it(status: Status) -> None:
    old = suite(result(ONE))
    for legacy in (old, suite()):
        three = measured(old, suite(result(ONE, status)), legacy)
        found, _ = drive(
            regressions(evidence(GREEN), three),
            lambda trial: old if trial.commit == BASE else suite(result(ONE, status)),
        )
        assert [item.type for item in found] == [FindingType.TEST_TAMPERING]


def test_what_never_passed_cannot_break() -> None:
    three = measured(suite(failing(ONE)), suite(failing(ONE)))
    assert drive(regressions(evidence(GREEN), three), lambda _trial: suite())[0] == []


def test_what_failed_before_the_run_was_mended_and_breaks_again_is_broken() -> None:
    three = measured(suite(result(ONE)), suite(failing(ONE)), suite(failing(ONE)))
    found, _ = drive(regressions(evidence(GREEN), three), told(head=never, base=always))
    assert [(item.type, item.severity) for item in found] == [(FindingType.LEGACY_BROKEN, Severity.ERROR)]
    assert "passed since it was mended in this run" in found[0].message


def test_what_failed_before_the_run_and_passes_now_and_then_is_flaky() -> None:
    three = measured(suite(result(ONE)), suite(failing(ONE)), suite(failing(ONE)))
    flips = told(head=never, base=lambda trial: trial.repeat == 2)
    found, _ = drive(regressions(evidence(GREEN), three), flips)
    assert [(item.type, item.severity) for item in found] == [(FindingType.FLAKY_TEST, Severity.WARNING)]


def test_a_slip_before_the_turn_does_not_hide_what_the_turn_breaks() -> None:
    old = suite(result(ONE))
    three = measured(suite(failing(ONE)), suite(failing(ONE)), old)
    found, _ = drive(regressions(evidence(GREEN), three), told(head=never, base=always))
    assert [item.type for item in found] == [FindingType.LEGACY_BROKEN]


def test_what_was_reported_as_broken_is_not_looked_at_again() -> None:
    three = measured(suite(failing(ONE)), suite(failing(ONE)), suite(result(ONE)))
    given = evidence(GREEN, rules=Rules(legacy_on_break="report"))
    assert drive(regressions(given, three), nothing_is_run)[0] == []


def test_a_flaky_legacy_test_in_a_touched_file_is_no_changed_behaviour() -> None:
    text = "def test_one():\n    assert flips()\n"
    given = evidence(
        PhaseName.REFACTOR,
        {"test_a.py": text},
        {"test_a.py": f"# tidied\n{text}"},
        changes=(change("test_a.py", text, f"# tidied\n{text}"),),
    )
    old = suite(result(ONE))
    three = measured(old, old, old)
    flips = [suite(failing(ONE)), *[old] * 9]
    found, _ = drive(strength(given, three, rewritten(given)), lambda _trial: flips.pop(0))
    assert found == []
    answers = told(head=never, base=always)
    found, _ = drive(strength(given, three, rewritten(given)), answers)
    assert [item.type for item in found] == [FindingType.TEST_FAILURE]


# --- failing since before the run, and passing now


def test_a_test_that_was_mended_on_the_way_is_told_and_blocks_nothing() -> None:
    failed = suite(failing(ONE), result(TWO))
    assert mended(measured(failed, suite(result(ONE), result(TWO)), failed)) == [ONE]

    [found] = also_mended(evidence(GREEN), [ONE])

    assert (found.type, found.severity) == (FindingType.SCOPE_VIOLATION, Severity.WARNING)
    assert found.message.startswith(f"also mended: {ONE} failed since before the run and passes now")


@pytest.mark.parametrize("feature", ["Mend test_one, which fails.", "All of `test_a.py` has to pass again"])
def test_mending_a_test_that_the_feature_speaks_of_is_nothing_to_warn_of(feature: str) -> None:
    given = evidence(GREEN, handoff=Handoff(GREEN, GREEN, feature=feature))
    assert also_mended(given, [ONE]) == []
    assert len(also_mended(given, ["test_b.py::test_two"])) == 1


def test_mending_a_test_that_the_case_speaks_of_is_nothing_to_warn_of() -> None:
    given = evidence(GREEN, case=Case("what test_one shows", "test_c.py", "thing.py"))
    assert also_mended(given, [ONE]) == []
    assert len(also_mended(given, ["test_b.py::test_two"])) == 1


def test_a_file_that_can_be_collected_again_is_mended() -> None:
    unread = suite(result(TWO), errors=(CollectError("test_b.py", "no"),))
    now = suite(result(TWO), result("test_b.py::test_1"))
    assert mended(measured(unread, now, unread)) == ["test_b.py"]
    assert mended(measured(unread, unread, unread)) == []


def test_a_mended_test_is_known_under_its_new_name() -> None:
    old = suite(failing(ONE, file="test_a.py", function="test_one"))
    new = suite(result("test_b.py::test_1", file="test_b.py", function="test_1"))
    moved = {("test_b.py", "test_1"): ("test_a.py", "test_one")}

    assert len(mended(measured(old, new, old), moved)) == 1
    assert mended(measured(old, new, old)) == []


@pytest.mark.parametrize(
    ("legacy", "before", "after"),
    [
        (suite(failing(ONE)), suite(failing(ONE)), suite(failing(ONE))),  # left alone
        (suite(failing(ONE)), suite(result(ONE)), suite(result(ONE))),  # mended long ago
        (suite(), suite(failing(ONE)), suite(result(ONE))),  # this cycle's own test
    ],
)
def test_everything_else_is_no_mending(legacy: SuiteRun, before: SuiteRun, after: SuiteRun) -> None:
    assert mended(measured(before, after, legacy)) == []


@pytest.mark.parametrize("phase", [PhaseName.GREEN, PhaseName.REFACTOR])
def test_green_and_refactor_warn_of_what_was_also_mended(phase: PhaseName) -> None:
    old = "from thing import old, new\n\n\ndef test_old():\n    assert old() == 1\n"
    fresh = "from thing import new\n\n\ndef test_new():\n    assert new() == 2\n"
    done = phase is PhaseName.REFACTOR
    code = "def old():\n    return {}\n\n\ndef new():\n    return {}\n"
    opening = {"thing.py": code.format(0, 0), "test_old.py": old}
    before = {**opening, "thing.py": code.format(0, 2 if done else 0), "test_new.py": fresh}

    played = play(phase, before, {**before, "thing.py": code.format(1, 2)}, opening=opening)
    left = play(phase, before, {**before, "thing.py": code.format("0 + 0", "1 + 1")}, opening=opening)

    assert (played.verdict.ruling, left.verdict.ruling) == (Ruling.ACCEPTED, Ruling.ACCEPTED)
    assert "also mended: test_old.py::test_old" in str(played.verdict.findings)
    assert played.facts["mended"] == ["test_old.py::test_old"]
    assert "mended" not in left.facts
    assert "also mended" not in str(left.verdict.findings)
