"""A result is believed where its digest stands in a note, and where nothing around the tests has changed."""

from pathlib import Path

import pytest

from redgreenrefactor.model.evidence import (
    CollectError,
    Hook,
    Kind,
    Measure,
    Reach,
    Replacement,
    Status,
    SuiteRun,
    TestResult,
)
from redgreenrefactor.records.suite_results import KEPT, KeptResults

RUN = SuiteRun(
    results={
        "a": TestResult("a", Status.PASSED, "test_a.py", "test_a", 3, seconds=0.5, given="d1"),
        "b": TestResult("b", Status.FAILED, kind=Kind.ASSERTION, exception="AssertionError", message="no"),
    },
    errors=(CollectError("test_c.py", "x", "SyntaxError"),),
    exit_code=1,
    seconds=2.5,
    tampering=("a sign",),
    disturbed=("a.txt",),
    deselected=frozenset({"d"}),
    hooks=frozenset({Hook("pytest_x", "c0de", "conftest.py", 3)}),
    reach=Reach(
        files=frozenset({"a.py"}),
        opened={"data.txt": frozenset({"test_a.py"})},
        imported={"a.py": frozenset({"test_a.py"})},
        hiding={"json": "json.py"},
        replaced=frozenset({Replacement("_pytest.x", "y", "conftest.py", 4)}),
    ),
)


@pytest.fixture
def kept(tmp_path: Path) -> KeptResults:
    return KeptResults(tmp_path / "results", "python 3.11")


@pytest.mark.parametrize("run", [RUN, SuiteRun(exit_code=3, measure=Measure.EXIT_CODE)])
def test_a_result_comes_back_as_it_was(kept: KeptResults, run: SuiteRun) -> None:
    receipt = kept.keep("tree", run)
    assert receipt is not None
    assert kept.recall(receipt) == ("tree", run)
    assert kept.keep("tree", run) == receipt


def test_an_unfinished_run_is_not_kept(kept: KeptResults) -> None:
    assert kept.keep("tree", SuiteRun(finished=False)) is None


def test_one_beyond_all_bounds_is_not_kept(kept: KeptResults) -> None:
    names = ["x" * 1_000_000 + str(number) for number in range(21)]
    assert kept.keep("tree", SuiteRun({name: TestResult(name, Status.PASSED) for name in names})) is None


def test_a_result_that_somebody_wrote_or_rewrote_is_not_believed(kept: KeptResults) -> None:
    receipt = kept.keep("tree", RUN)
    assert receipt is not None
    file = kept.folder / receipt
    forged = file.read_text().replace("failed", "passed")
    file.write_text(forged)
    assert kept.recall(receipt) is None
    assert kept.recall("0" * 64) is None
    assert kept.recall("../results") is None


def test_a_receipt_for_something_else_is_not_believed(kept: KeptResults) -> None:
    import hashlib  # noqa: PLC0415

    kept.folder.mkdir()
    for content in (
        b"",
        b"[]",
        b"{}",
        b'{"surroundings": "python 3.11", "tree": "t", "run": {"results": [1]}}',
    ):
        receipt = hashlib.sha256(content).hexdigest()
        (kept.folder / receipt).write_bytes(content)
        assert kept.recall(receipt) is None


def test_other_surroundings_want_another_run(kept: KeptResults) -> None:
    receipt = kept.keep("tree", RUN)
    assert receipt is not None
    assert KeptResults(kept.folder, "python 3.12").recall(receipt) is None


def test_only_the_newest_results_are_kept(kept: KeptResults) -> None:
    receipts = [kept.keep(f"tree {number}", RUN) for number in range(KEPT + 3)]
    assert len(list(kept.folder.iterdir())) == KEPT
    assert kept.recall(receipts[-1] or "") is not None


def test_where_nothing_can_be_written_nothing_breaks(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    kept = KeptResults(tmp_path / "results", "")
    assert kept.recall(kept.keep("tree", RUN) or "") is None
