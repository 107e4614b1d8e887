"""A history longer than what is read one note at a time."""

import json
from collections.abc import Callable, Generator
from dataclasses import replace

import pytest

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.git.ledger import SINGLY, GitLedger
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.model.glance import Glancing, glance_at
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, plain_note, to_json, to_object
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, TestOutcome
from redgreenrefactor.model.workflow import PhaseName
from repos import Repo

OPENING = Handoff(PhaseName.PLAN, PhaseName.PLAN, run_id="r", feature="grüße", timestamp="t")
LENGTH = SINGLY + 20


@pytest.fixture
def repository(repo: Repo) -> Generator[Repository]:
    repo.git("config", "log.showSignature", "true")
    stream = ""
    for number in range(LENGTH):
        stream += f"commit refs/heads/main\nmark :{number + 1}\ncommitter A <a@localhost> {number} +0000\ndata 1\nx\n"
    repo.git("update-ref", "-d", "refs/heads/main")
    repo.git("fast-import", "--quiet", stdin=stream)
    opened = open_repository(repo.path, repo.env)
    yield opened
    opened.close()


def filled(repository: Repository, **odd: Handoff) -> tuple[GitLedger, list[str]]:
    """Put a handoff on every commit but each fifth; some may be odd, by their number from the newest."""
    ledger = GitLedger(repository.git, repository.objects, repository.environ)
    commits = repository.git.text("rev-list", "--first-parent", "HEAD").split()
    notes = {
        commit: odd.get(f"at{number}", replace(OPENING, phase=PhaseName.RED, cycle_number=1))
        for number, commit in enumerate(commits)
        if number % 5
    }
    notes[commits[-1]] = OPENING
    ledger.write(notes)
    return ledger, list(notes)


def test_all_of_it_is_read_in_order(repository: Repository) -> None:
    ledger, noted = filled(repository)
    assert [entry.commit for entry in ledger.history()] == noted
    assert [entry.handoff.feature for entry in ledger.history()] == ["grüße"] * len(noted)


def test_as_texts_it_says_the_same(repository: Repository) -> None:
    finding = Finding(FindingType.TEST_FAILURE, "m")
    other = replace(OPENING, run_id="other", cycle_number=3, phase=PhaseName.GREEN)
    odd = replace(OPENING, cycle_number=2, findings=(finding,), extra={"usage": {"costUsd": 1.5}})
    ledger, _ = filled(repository, at3=odd, at71=odd, at7=other, at72=other)
    told = [(commit, json.loads(text)) for commit, text in ledger.history_texts()]
    assert told == [(entry.commit, to_object(entry.handoff)) for entry in ledger.history()]


@pytest.mark.parametrize("number", [3, 71])
def test_an_unreadable_note_is_told_wherever_it_is(repository: Repository, number: int) -> None:
    ledger, _ = filled(repository)
    commit = repository.git.text("rev-list", "--first-parent", "HEAD").split()[number]
    repository.git.raw("notes", "--ref=tdd-handoffs", "add", "-f", "-m", "not a handoff", commit)
    for read in (ledger.history, ledger.history_texts, ledger.glances):
        with pytest.raises(LedgerError, match=commit[:10]):
            list(read())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        to_json(OPENING).replace('"phase": "PLAN"', '"phase": "LUNCH"'),
        to_json(OPENING).replace('"cycleNumber": 0', '"cycleNumber": "0"'),
        to_json(OPENING).replace('"runId"', '"run_id"'),
        to_json(OPENING).replace("\n}\n", ",\n}\n"),
        to_json(OPENING) + to_json(OPENING),
        to_json(replace(OPENING, error="e")),
        to_json(OPENING).replace('"testResult": null', '"testResult": "MAYBE"'),
        to_json(OPENING).replace('"state": "running"', '"state": []'),
        '{\n  "schemaVersion": 1,\n' + '{"a":' * 10_000 + "\n}\n",
        to_json(OPENING).replace("\n}\n", ',\n"seconds": NaN\n}\n'),
        to_json(replace(OPENING, feature="caf\udce9")).replace("\\udce9", "\udce9"),
    ],
)
def test_only_what_is_spelled_as_we_do_it_is_passed_on(text: str) -> None:
    assert plain_note(text.encode("utf-8", "surrogateescape")) is None


@pytest.mark.parametrize("indent", [None, 0, 2, 8])
def test_what_we_write_is_passed_on_however_it_is_laid_out(indent: int | None) -> None:
    text = json.dumps(to_object(OPENING), indent=indent)
    assert plain_note(text.encode()) == plain_note(f"{text}\n\n".encode()) == to_object(OPENING)


def test_a_line_of_a_history_says_the_same_of_a_note_and_of_what_it_means(repository: Repository) -> None:
    case = Case("reads <1 KB", "t.py", "x.py")
    odd = {
        "at2": replace(OPENING, cycle_number=2, current_test=case, test_result=TestOutcome.FAIL),
        "at3": replace(OPENING, cycle_number=2, current_test=case, outcome=Outcome.COVERED),
        "at71": replace(OPENING, cycle_number=2, findings=(Finding(FindingType.TEST_FAILURE, "m"),)),
        "at72": replace(OPENING, cycle_number=0, carried_from="abc"),
        "at74": replace(OPENING, cycle_number=1, phase=PhaseName.REVIEW),
        "at76": replace(OPENING, cycle_number=1, phase=PhaseName.PLAN),
        "at73": replace(OPENING, run_id="other", cycle_number=3),
    }
    ledger, _ = filled(repository, **odd)
    told = [glance_at(seen) if isinstance(seen, Entry) else seen for seen in ledger.glances()]
    assert told == [glance_at(entry) for entry in ledger.history()]
    assert sum(isinstance(seen, Entry) for seen in ledger.glances()) == 2  # the finding, the one carried over


@pytest.mark.parametrize(
    "odd",
    [{"timestamp": 7}, {"currentTest": {"description": []}}, {"feature": None}],
)
def test_a_line_is_not_drawn_from_what_cannot_be_read(odd: dict[str, object]) -> None:
    body = to_object(replace(OPENING, cycle_number=0 if "feature" in odd else 1)) | odd
    assert plain_note(json.dumps(body).encode()) is not None
    for indent in (None, 2):
        assert Glancing()("c", json.dumps(body, indent=indent).encode()) is None


LINES = (
    OPENING,
    replace(OPENING, cycle_number=12, extra={"previous": to_object(OPENING), "usage": {"costUsd": 1.5}}),
    replace(
        OPENING, cycle_number=1, current_test=Case('says "a\\\\b" \t {\n  "testResult": ', "t.py", "x.py")
    ),
    replace(
        OPENING, cycle_number=1, completed_tests=("a", 'b"],\n  "testResult": "FAIL"'), pending_tests=("c",)
    ),
    replace(OPENING, cycle_number=2, test_result=TestOutcome.PASS, outcome=Outcome.COVERED, attempts=3),
    replace(OPENING, phase=PhaseName.REVIEW, cycle_number=2, feature="# Grüße\n\nund mehr"),
)


def _compact(handoff: Handoff) -> str:
    return json.dumps(to_object(handoff))


@pytest.mark.parametrize("handoff", LINES)
@pytest.mark.parametrize("layout", [to_json, _compact])
def test_a_note_is_glanced_at_as_it_is_read(handoff: Handoff, layout: Callable[[Handoff], str]) -> None:
    assert Glancing()("c", layout(handoff).encode()) == glance_at(Entry("c", handoff))


@pytest.mark.parametrize(
    "handoff",
    [
        replace(OPENING, carried_from="abc"),
        replace(OPENING, error="e", error_details=ErrorDetails("t", "m")),
        replace(OPENING, findings=(Finding(FindingType.TEST_FAILURE, "m"),)),
        replace(OPENING, carried_from="abc", outcome=Outcome.COVERED),
    ],
)
def test_where_there_is_more_to_tell_a_glance_is_not_enough(handoff: Handoff) -> None:
    assert Glancing()("c", to_json(handoff).encode()) is None


def test_notes_that_follow_each_other_are_glanced_at_like_single_ones() -> None:
    cases = [Case(text, "t.py", "x.py") for text in ("reads", "reads", 'says "x"', "reads")]
    row = [
        replace(OPENING, cycle_number=number, current_test=case, timestamp="2026-01-11T10:30:00Z")
        for number, case in enumerate(cases, 1)
    ]
    row.append(replace(row[0], run_id="another"))
    glancing = Glancing()
    assert [glancing("c", to_json(each).encode()) for each in row] == [
        glance_at(Entry("c", each)) for each in row
    ]


def _damaged(old: bytes, new: bytes) -> bytes:
    case = Case("reads", "t.py", "x.py")
    return to_json(replace(OPENING, cycle_number=1, current_test=case)).encode().replace(old, new)


@pytest.mark.parametrize(
    "raw",
    [
        _damaged(b'"reads"', rb'"\x"'),
        _damaged(b'"reads"', b'"a\nb"'),
        _damaged(b'"reads"', b'"reads \\"\xff\\""'),
        _damaged(b'"completedTests": []', b'"completedTests": ["\xff"]'),
        _damaged(b'"runId": "', rb'"runId": "\u12'),
        _damaged(b'"cycleNumber": 1', b'"cycleNumber": 1' + b"0" * 5_000),
    ],
)
def test_a_glance_at_a_damaged_note_tells_nothing(raw: bytes) -> None:
    assert Glancing()("c", raw) is None


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [
        ("2026-01-11T10:30:00Z", "2026-01-11 10:30Z"),
        ("2026-01-11T10:30:00.123+00:00", "2026-01-11 10:30Z"),
        ("2026-01-11T10:30:00+02:00", "2026-01-11T10:30:00+02:00"),
        ("yesterday", "yesterday"),
    ],
)
def test_a_moment_is_told_to_the_minute(timestamp: str, shown: str) -> None:
    handoff = replace(OPENING, timestamp=timestamp)
    assert glance_at(Entry("c", handoff)).when == shown
    assert Glancing()("c", to_json(handoff).encode()) == glance_at(Entry("c", handoff))
