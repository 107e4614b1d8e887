"""What a probe wrote down is believed only as far as it makes sense."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redgreenrefactor.model.evidence import CollectError, Kind, Missing, Place, Status, TestResult
from redgreenrefactor.runners.report import Ending, Heard, read

NONCE = "n"
FINISH = {"event": "finish", "exit": 0, "planned": 0, "started": 0}


def heard(_: Path, *records: dict[str, Any], tail: bytes = b"") -> Heard:
    lines = [json.dumps({"nonce": NONCE, **record}) for record in records]
    return read(BytesIO("".join(line + "\n" for line in lines).encode() + tail), NONCE)


def part(status: str, **facts: Any) -> dict[str, Any]:
    return {"event": "part", "id": "a", "status": status, **facts}


def test_an_empty_report_says_nothing() -> None:
    assert read(BytesIO(), NONCE) == Heard()
    assert not Heard().finished


@pytest.mark.long
def test_a_report_without_end_is_not_read_to_it(tmp_path: Path) -> None:
    with (tmp_path / "report").open("w+b") as report:
        report.truncate(1 << 40)
        report.seek(0)
        report.write(json.dumps({"nonce": NONCE, **part("passed")}).encode() + b"\n")
        assert list(read(report, NONCE).results) == ["a"]


def test_records_without_the_nonce_are_somebody_elses(tmp_path: Path) -> None:
    said = json.dumps({"nonce": "other", **part("passed")}) + "\n" + json.dumps(part("passed"))
    assert read(BytesIO(said.encode()), NONCE).results == {}


def test_a_result_holds_what_the_start_and_the_end_of_a_test_told(tmp_path: Path) -> None:
    told = heard(
        tmp_path,
        {"event": "test", "id": "a", "file": "t.py", "function": "C.t", "line": 3, "defined_in": "b.py"},
        part(
            "failed",
            kind="missing-symbol",
            exception="ImportError",
            message="no",
            frames=[["t.py", 4, "t"], ["c.py", 1, ""]],
            missing=["x", "c"],
            seconds=0.5,
        ),
    )
    assert told.results == {
        "a": TestResult(
            "a",
            Status.FAILED,
            file="t.py",
            function="C.t",
            line=3,
            defined_in="b.py",
            kind=Kind.MISSING,
            exception="ImportError",
            message="no",
            frames=(Place("t.py", 4, "t"), Place("c.py", 1)),
            missing=Missing("x", "c"),
            seconds=0.5,
        )
    }


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        (["passed"], Status.PASSED),
        (["passed", "failed"], Status.FAILED),
        (["failed", "passed"], Status.FAILED),
        (["passed", "error"], Status.ERROR),
        (["error", "failed"], Status.FAILED),
        (["xfailed", "error"], Status.ERROR),
        (["skipped", "passed"], Status.SKIPPED),
        (["xpassed", "skipped"], Status.SKIPPED),
        (["passed", "xpassed"], Status.XPASSED),
    ],
)
def test_the_worst_part_of_a_test_tells_what_became_of_it(
    tmp_path: Path, parts: list[str], status: Status
) -> None:
    told = heard(tmp_path, *(part(each, message=each, seconds=1.0) for each in parts))
    assert told.results["a"].status is status
    assert told.results["a"].message == str(status)
    assert told.results["a"].seconds == len(parts)


def test_of_parts_that_are_equally_bad_the_first_tells(tmp_path: Path) -> None:
    told = heard(tmp_path, part("failed", message="first"), part("failed", message="second"))
    assert told.results["a"].message == "first"


def test_a_file_that_could_not_be_collected_is_an_error(tmp_path: Path) -> None:
    told = heard(
        tmp_path,
        {
            "event": "error",
            "file": "t.py",
            "message": "m",
            "exception": "E",
            "place": ["t.py", 1, "f"],
            "missing": ["x", None],
        },
        {"event": "error", "file": "u.py", "message": "m", "exception": "E", "place": None, "missing": None},
    )
    assert told.errors == [
        CollectError("t.py", "m", "E", Place("t.py", 1, "f"), Missing("x")),
        CollectError("u.py", "m", "E"),
    ]


def test_lines_and_lists_add_up(tmp_path: Path) -> None:
    told = heard(
        tmp_path,
        {"event": "lines", "file": "a.py", "lines": [1, 2]},
        {"event": "lines", "file": "a.py", "lines": [2, 3, "4"]},
        {"event": "deselected", "ids": ["x"]},
        {"event": "deselected", "ids": ["y", 3]},
        {"event": "foreign", "files": ["f.py"]},
        {"event": "canaries", "ids": ["c"]},
    )
    assert told.executed == {"a.py": frozenset({1, 2, 3})}
    assert (told.deselected, told.foreign, told.canaries) == ({"x", "y"}, {"f.py"}, {"c"})


def test_every_session_that_began_has_to_come_to_its_end(tmp_path: Path) -> None:
    begin = {"event": "begin"}
    assert heard(tmp_path, begin, FINISH).finished
    assert heard(tmp_path, begin, FINISH, begin, FINISH).finished
    assert not heard(tmp_path, begin).finished
    assert not heard(tmp_path, begin, FINISH, begin).finished
    assert not heard(tmp_path, FINISH).finished


@pytest.mark.parametrize(
    ("code", "planned", "started", "regular"),
    [(0, 3, 3, True), (1, 3, 3, True), (5, 0, 0, True), (0, 3, 2, False), (2, 3, 3, False), (3, 0, 0, False)],
)
def test_an_end_is_regular_if_everything_planned_was_started(
    code: int, planned: int, started: int, *, regular: bool
) -> None:
    assert Ending(code, planned, started).regular is regular


def test_an_end_that_tells_no_numbers_is_not_regular(tmp_path: Path) -> None:
    assert not heard(tmp_path, {"event": "begin"}, {"event": "finish"}).finished


def test_the_last_test_that_started_is_remembered(tmp_path: Path) -> None:
    told = heard(tmp_path, {"event": "test", "id": "a"}, part("passed"), {"event": "test", "id": "b"})
    assert told.running == "b"
    assert "b" not in told.results


def test_text_that_cannot_be_written_is_mended(tmp_path: Path) -> None:
    told = heard(tmp_path, part("failed", message="\ud800!", kind="assertion"))
    assert told.results["a"].message.encode() == b"?!"


def test_a_line_that_was_cut_off_does_not_harm_the_others(tmp_path: Path) -> None:
    told = heard(tmp_path, part("passed"), tail=b'{"nonce": "n", "event": "fin')
    assert told.results["a"].passed


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("passed"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
KEYS = [
    "id",
    "status",
    "kind",
    "exception",
    "message",
    "frames",
    "missing",
    "seconds",
    "flipped",
    "file",
    "function",
    "line",
    "defined_in",
    "place",
    "lines",
    "ids",
    "files",
    "exit",
    "planned",
    "started",
]
EVENTS = ("begin", "canaries", "deselected", "test", "part", "error", "lines", "foreign", "finish", "?")
RECORD = st.fixed_dictionaries(
    {"nonce": st.just(NONCE), "event": st.sampled_from(EVENTS) | JSON},
    optional={
        key: JSON | st.sampled_from(["a", "passed", "failed", "assertion", [["f.py", 1, "f"]]])
        for key in KEYS
    },
)
LINE = (
    RECORD.map(lambda record: json.dumps(record).encode())
    | st.binary(max_size=40)
    | JSON.map(lambda value: json.dumps(value).encode())
)


@given(st.lists(LINE, max_size=12))
def test_no_report_is_so_garbled_that_it_cannot_be_read(lines: list[bytes]) -> None:
    told = read(BytesIO(b"\n".join(lines)), NONCE)
    for name, result in told.results.items():
        assert result.id == name
        assert result.seconds >= 0
        (result.message + result.exception + result.file + result.function).encode()
        assert all(place.file.encode() is not None for place in result.frames)
    assert all(error.file.encode() is not None for error in told.errors)
    if told.finished:
        assert told.sessions == len(told.endings) > 0
