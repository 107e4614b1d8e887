import json
import resource
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from redgreenrefactor.model.events import (
    Emit,
    Event,
    Judged,
    RunEnded,
    SessionBegan,
    SessionNoted,
    SessionReported,
    SessionSaid,
    Warned,
    WorkSealed,
)
from redgreenrefactor.model.session import Brief, Called, Report, Role
from redgreenrefactor.model.verdict import rule
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.records import transcripts
from redgreenrefactor.records.transcripts import Transcripts, find, read, safe_name, turns
from redgreenrefactor.sandbox.secrets import masking

NOW = datetime(2026, 11, 15, 9, 15, 12, 345678, UTC)
COMMIT = "c0ffee" + "0" * 34


def began(phase: PhaseName = PhaseName.RED, attempt: int = 1, run_id: str = "run-7") -> SessionBegan:
    brief = Brief(Role(RoleName.TEST, "", "You test."), phase, 1, attempt, run_id, "Do it.", "{}")
    return SessionBegan(brief, "command:x", "/p", "b" * 40)


JUDGED = Judged(PhaseName.RED, 1, 1, rule(), None, "", 1.0)
TURN: tuple[Event, ...] = (
    SessionSaid("working"),
    SessionReported(Report("done"), 1.0),
    WorkSealed(COMMIT, "test: x", "", ()),
    JUDGED,
)


def unexpected(event: Event) -> None:
    raise AssertionError(event)


def recording(folder: Path, env: dict[str, str] | None = None, warn: Emit = unexpected) -> Transcripts:
    return Transcripts(folder, mask=masking(env or {}), clock=lambda: NOW, warn=warn)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_session_has_a_file_of_its_own(tmp_path: Path) -> None:
    with closing(recording(tmp_path)) as record:
        for event in (
            SessionSaid("before"),
            began(),
            *TURN,
            SessionSaid("between"),
            began(PhaseName.GREEN),
            *TURN,
        ):
            record(event)

    told = lines(tmp_path / "run-7/1-RED-1.jsonl")
    assert [one["type"] for one in told] == ["session", "said", "report", "sealed", "judged"]
    assert {one["time"] for one in told} == {"2026-11-15T09:15:12.345Z"}
    assert turns(tmp_path, "run-7") == ["1-GREEN-1", "1-RED-1"]
    assert turns(tmp_path, "other") == []


def test_a_session_that_is_begun_again_goes_on_in_the_same_file_after_a_line_that_was_cut_off(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run-7/1-RED-1.jsonl"
    with closing(recording(tmp_path)) as record:
        record(began())
    before = path.read_bytes()
    path.write_bytes(before + b'{"type": "sai')

    with closing(recording(tmp_path)) as record:
        for event in (began(), *TURN):
            record(event)

    assert path.read_bytes().startswith(before + b'{"type": "sai\n')
    assert [one["type"] for one in read(path)] == ["session", "session", "said", "report", "sealed", "judged"]


def test_sessions_without_a_verdict_end_with_the_next_one_or_the_run(tmp_path: Path) -> None:
    with closing(recording(tmp_path)) as record:
        for event in (began(), began(attempt=2), RunEnded("failed", "", 1.0), SessionSaid("late")):
            record(event)

    assert [len(lines(tmp_path / f"run-7/1-RED-{attempt}.jsonl")) for attempt in (1, 2)] == [1, 1]


def test_only_the_user_may_read_them(tmp_path: Path) -> None:
    with closing(recording(tmp_path / "sessions")) as record:
        record(began())

    assert (tmp_path / "sessions/run-7").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "sessions/run-7/1-RED-1.jsonl").stat().st_mode & 0o777 == 0o600


def test_secrets_are_masked_wherever_they_stand(tmp_path: Path) -> None:
    arguments = {
        "command": "curl -H 'x: hunter2hunter2'",
        "more": ["hunter2hunter2", 3],
        "hunter2hunter2": None,
    }
    with closing(recording(tmp_path, {"MY_API_KEY": "hunter2hunter2"})) as record:
        record(began())
        record(SessionNoted(Called("1", "Bash", arguments)))

    text = (tmp_path / "run-7/1-RED-1.jsonl").read_text()
    assert "hunter2" not in text
    assert lines(tmp_path / "run-7/1-RED-1.jsonl")[1]["arguments"] == {
        "command": "curl -H 'x: [masked MY_API_KEY]'",
        "more": ["[masked MY_API_KEY]", 3],
        "[masked MY_API_KEY]": None,
    }


def test_texts_and_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "LONGEST", 100)
    monkeypatch.setattr(transcripts, "MOST", 2000)
    with closing(recording(tmp_path)) as record:
        record(began())
        for _ in range(30):
            record(SessionSaid("x" * 1000))

    told = lines(tmp_path / "run-7/1-RED-1.jsonl")
    assert "left out" in told[1]["text"]
    assert [one["type"] for one in told].count("cut") == 1
    assert told[-1]["type"] == "cut"
    assert (tmp_path / "run-7/1-RED-1.jsonl").stat().st_size < 2200


def test_a_disk_that_fails_is_told_once_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    warned: list[Event] = []
    with closing(recording(tmp_path / "file/sessions", warn=warned.append)) as record:
        for event in (began(), *TURN, began(attempt=2), *TURN):
            record(event)

    assert len(warned) == 1
    assert isinstance(warned[0], Warned)
    assert "transcripts cannot be written" in warned[0].message


def test_a_disk_that_fails_later_is_told_too(tmp_path: Path) -> None:
    warned: list[Event] = []
    record = recording(tmp_path, warn=warned.append)
    record(began())
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, most))
    try:
        record(SessionSaid("lost"))
        record(SessionSaid("lost"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    assert len(warned) == 1


def test_no_link_is_followed_and_no_run_leads_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "sessions/run-7").mkdir(parents=True)
    (tmp_path / "sessions/run-7/1-RED-1.jsonl").symlink_to(tmp_path / "elsewhere")
    warned: list[Event] = []
    with closing(recording(tmp_path / "sessions", warn=warned.append)) as record:
        record(began())
        record(began(run_id="../../up"))

    assert warned
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sessions"]
    assert safe_name("../../up") != "../../up"
    assert safe_name("20261115-091512-ab12") == "20261115-091512-ab12"


def test_a_transcript_is_found_by_turn_run_and_commit(tmp_path: Path) -> None:
    with closing(recording(tmp_path)) as record:
        for event in (began(), *TURN):
            record(event)
    path = tmp_path / "run-7/1-RED-1.jsonl"

    assert find(tmp_path, "run-7", "1-RED-1") == path
    assert find(tmp_path, None, "run-7/1-RED-1") == path
    assert find(tmp_path, "other", COMMIT) == path
    assert find(tmp_path, "other", COMMIT[:8]) == path
    assert find(tmp_path, "other", "1-RED-1") is None
    assert find(tmp_path, "run-7", "../run-7/1-RED-1") is None
    assert find(tmp_path, "run-7", "f" * 40) is None


def test_what_is_no_step_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'[]\n{"a": 1}\n\xff\n{"type": 3}\n{"type": "said"}\n')

    assert list(read(tmp_path / "x.jsonl")) == [{"type": "said"}]
