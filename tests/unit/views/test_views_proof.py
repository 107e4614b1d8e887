"""Words for what judging again has shown."""

from redgreenrefactor.model.proof import Checked, CheckedCycle, Merged, Verification
from redgreenrefactor.model.verdict import Finding, FindingType, TestOutcome
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.verified import verified_text

RED = {PhaseName.RED: Checked("c", TestOutcome.FAIL, ok=True)}


def test_it_says_which_cycle_fails_where_and_why_and_what_was_not_looked_at() -> None:
    wrong = Finding(FindingType.TEST_FAILURE, "GREEN abc: it fails", "tests/test_a.py", 5)
    cycles = (
        CheckedCycle(1, "adds", RED),
        CheckedCycle(2, "subtracts" * 20, {PhaseName.GREEN: Checked("c", None, ok=False)}, (wrong,)),
    )
    text = verified_text(Verification(cycles, missing=("history ends at c",)), "calc", width=80)
    lines = text.splitlines()
    assert lines[:2] == ["verified 2 cycles of calc", "  ✓   1  adds  (RED FAIL)"]
    assert lines[2].endswith("…  (GREEN not measured)")
    assert max(len(line) for line in lines) <= 80
    assert lines[3] == "        ✗ TestFailure: GREEN abc: it fails (tests/test_a.py:5)"
    assert lines[-2:] == ["  · history ends at c", "1 of 2 cycles hold"]


def test_one_cycle_holds_and_several_hold() -> None:
    one = verified_text(Verification((CheckedCycle(1, "adds", RED),)), "calc", width=80)
    assert one.splitlines()[-1] == "1 of 1 cycle holds"


def test_it_says_what_a_branch_was_merged_as() -> None:
    remark = Finding(FindingType.HISTORY_REWRITTEN, "a.py:3 is odd", "a.py", 3)
    for tree, words in (
        ("equal", "with exactly its tree"),
        ("merged", "exactly as git merges it"),
        ("differs", "differs from it in a.py"),
    ):
        merged = Merged("c" * 40, "run", "h" * 40, tree, ("a.py",))
        text = verified_text(Verification((), (remark,), (remark,), merged=(merged,)), "calc", width=100)
        assert words in text
        assert "0 of 0 cycles hold; 1 finding outside of the cycles" in text
        assert text.count("a.py:3") == 2
