import json
import os
from contextlib import closing
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redgreenrefactor.errors import UsageError
from redgreenrefactor.model.events import (
    Event,
    Judged,
    Paused,
    RunEnded,
    RunStarted,
    SessionEnded,
    SessionNoted,
    SessionSaid,
    SuiteEnded,
    SuiteStarted,
    TurnStarted,
    Warned,
    WorkSealed,
)
from redgreenrefactor.model.facts import CoverageFigure, Facts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.session import Uttered
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Ruling, TestOutcome, Verdict
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.records.event_file import EventFile, to_line

NOW = datetime(2026, 11, 15, 9, 15, 12, 345678, UTC)
CASE = Case("1 is I", "tests/test_roman.py", "roman.py")
FINDING = Finding(FindingType.TEST_TAMPERING, "edited", "t.py", 4, "leave it")
VERDICT = Verdict(
    Ruling.REJECTED,
    (FINDING,),
    TestOutcome.PASS,
    Outcome.COVERED,
    CASE,
    Facts(tests=("a", "b"), coverage=CoverageFigure(float("nan"), 80)),
)
EVERY_EVENT: tuple[Event, ...] = (
    RunStarted("id", "roman", "/p", "pytest", "per-test"),
    TurnStarted(PhaseName.RED, 1, 2, CASE, "command:x"),
    SessionSaid("hello\nworld"),
    SessionEnded(1.5, failed=True),
    SuiteStarted("after"),
    SuiteEnded("after", 1, 2, 3, 0.5, per_test=True, exit_code=1),
    Judged(PhaseName.GREEN, 1, 2, VERDICT, None, "feat: x", 2.0, aborts=True),
    Paused(2.0),
    Warned("careful"),
    RunEnded("complete", "done", 3.0),
)


def clock() -> datetime:
    return NOW


def quiet(event: Event) -> None:
    raise AssertionError(event)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_for_transcripts_is_not_for_scripts(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with closing(EventFile(path, clock=clock, warn=quiet)) as record:
        record(SessionNoted(Uttered("long and secret")))
        record(WorkSealed("c" * 40, "feat: x", "", ()))
    assert read(path) == []


def test_every_event_is_one_line_with_its_name_and_time(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with closing(EventFile(path, clock=clock, warn=quiet)) as record:
        for event in EVERY_EVENT:
            record(event)
    lines = read(path)
    assert [line["event"] for line in lines] == [type(event).__name__ for event in EVERY_EVENT]
    assert {line["time"] for line in lines} == {"2026-11-15T09:15:12.345Z"}


@pytest.mark.parametrize("event", EVERY_EVENT)
def test_a_line_holds_every_field_in_camel_case(event: Event) -> None:
    body = json.loads(to_line(event, NOW))
    names = {field.name for field in fields(event)}
    assert len(body) == len(names) + 2
    assert not any("_" in key for key in body)


def test_fields_keep_their_values() -> None:
    assert json.loads(to_line(EVERY_EVENT[5], NOW)) == {
        "event": "SuiteEnded",
        "time": "2026-11-15T09:15:12.345Z",
        "purpose": "after",
        "passed": 1,
        "failed": 2,
        "total": 3,
        "seconds": 0.5,
        "perTest": True,
        "exitCode": 1,
        "warm": False,
    }


def test_values_inside_values_are_objects_too() -> None:
    body = json.loads(to_line(EVERY_EVENT[6], NOW))
    case = {"description": "1 is I", "testFile": "tests/test_roman.py", "implFile": "roman.py"}
    assert (body["phase"], body["commit"], body["aborts"]) == ("GREEN", None, True)
    assert body["verdict"] == {
        "ruling": "rejected",
        "findings": [
            {
                "type": "TestTampering",
                "message": "edited",
                "file": "t.py",
                "line": 4,
                "hint": "leave it",
                "severity": "error",
            }
        ],
        "testResult": "PASS",
        "outcome": "covered",
        "case": case,
        "facts": {"tests": ["a", "b"], "coverage": {"percent": None, "wanted": 80}},
        "final": False,
        "upcoming": [],
    }
    assert json.loads(to_line(EVERY_EVENT[1], NOW))["case"] == case


def test_times_are_told_in_utc_whatever_the_clock_says() -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=5)))
    assert json.loads(to_line(Paused(1.0), elsewhere))["time"] == "2026-11-15T09:15:12.345Z"


@given(st.text(st.characters()))
@settings(deadline=None, database=None)
def test_any_text_comes_back_as_it_was_from_a_single_line(text: str) -> None:
    line = to_line(SessionSaid(text), NOW)
    assert line.isascii()
    assert line.count("\n") == 1
    assert json.loads(line)["text"] == text


def test_a_file_that_exists_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for _ in range(2):
        with closing(EventFile(path, clock=clock, warn=quiet)) as record:
            record(Paused(1.0))
    assert len(read(path)) == 2


def test_a_line_that_was_cut_off_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "Pau')
    with closing(EventFile(path, clock=clock, warn=quiet)) as record:
        record(Paused(1.0))
    first, second = path.read_text().splitlines()
    assert first == '{"event": "Pau'
    assert json.loads(second)["event"] == "Paused"


def test_a_line_can_be_read_as_soon_as_the_event_is_over(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with closing(EventFile(path, clock=clock, warn=quiet)) as record:
        record(Paused(1.0))
        assert os.read(reader, 65536).decode() == to_line(Paused(1.0), NOW)
    os.close(reader)


@pytest.mark.parametrize("name", ["no/such/folder/events.jsonl", ".", "nul\0"])
def test_a_file_that_cannot_be_written_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be written") as caught:
        EventFile(tmp_path / name, clock=clock, warn=quiet)
    assert caught.value.exit_code == 2
    assert "--events" in caught.value.hint


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told_once_and_stops_nothing() -> None:
    warned: list[Event] = []
    with closing(EventFile(Path("/dev/full"), clock=clock, warn=warned.append)) as record:
        record(Paused(1.0))
        record(Paused(2.0))
    assert warned == [
        Warned("the events file /dev/full fails (No space left on device): no more events go there")
    ]


def test_events_after_closing_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    record = EventFile(path, clock=clock, warn=quiet)
    record.close()
    record.close()
    record(Paused(1.0))
    assert path.read_text() == ""
