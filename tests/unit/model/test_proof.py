"""What judging again comes to."""

from redgreenrefactor.model.proof import Checked, CheckedCycle, Merged, Verification, together
from redgreenrefactor.model.verdict import Finding, FindingType, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

HELD = CheckedCycle(1, "adds", {PhaseName.RED: Checked("c", TestOutcome.FAIL, ok=True)})
FAILED = Finding(FindingType.TEST_FAILURE, "fails")
UNMEASURED = Finding(FindingType.UNDECIDED, "the runner died")


def test_everything_holds_if_every_cycle_and_all_around_them_does() -> None:
    assert Verification((HELD,)).ok
    assert not Verification((HELD,), findings=(FAILED,)).ok
    assert not Verification((HELD, CheckedCycle(2, "x", {}, (FAILED,)))).ok
    assert Verification((HELD,), warnings=(FAILED,)).ok


def test_undecided_is_what_fails_for_want_of_a_measurement_alone() -> None:
    assert not Verification((HELD,)).undecided
    assert Verification((CheckedCycle(1, "x", {}, (UNMEASURED,)),)).undecided
    assert not Verification((CheckedCycle(1, "x", {}, (UNMEASURED,)),), findings=(FAILED,)).undecided


def test_several_are_told_as_one_and_in_the_keys_that_scripts_know() -> None:
    merged = Merged("c", "run", "h", "differs", ("a.py",))
    whole = together(
        [Verification((HELD,), missing=("x",)), Verification(findings=(FAILED,), merged=(merged,))]
    )
    body = whole.to_json()
    assert list(body) == ["ok", "cycles", "rounds", "findings", "warnings", "missing", "merged"]
    assert (body["ok"], len(body["cycles"]), body["missing"]) == (False, 1, ["x"])
    assert body["merged"] == [
        {"commit": "c", "runId": "run", "head": "h", "tree": "differs", "differs": ["a.py"]}
    ]
    cycle = body["cycles"][0]
    assert cycle["red"] == {"commit": "c", "result": "FAIL", "ok": True}
    assert (cycle["green"], cycle["refactor"], cycle["ok"]) == (None, None, True)
