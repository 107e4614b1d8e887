"""A history longer than what is read one note at a time."""

import json
from collections.abc import Generator
from dataclasses import replace

import pytest

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.model.handoff import Handoff, as_written, to_json, to_object
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.repository.ledger import SINGLY, GitLedger
from redgreenrefactor.repository.repository import Repository, open_repository
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
    ledger = GitLedger(repository.git, repository.objects)
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
    assert all(text.endswith("\n}\n") for _, text in ledger.history_texts())


@pytest.mark.parametrize("number", [3, 71])
def test_an_unreadable_note_is_told_wherever_it_is(repository: Repository, number: int) -> None:
    ledger, _ = filled(repository)
    commit = repository.git.text("rev-list", "--first-parent", "HEAD").split()[number]
    repository.git.raw("notes", "--ref=tdd-handoffs", "add", "-f", "-m", "not a handoff", commit)
    for read in (ledger.history, ledger.history_texts):
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
        '{\n  "schemaVersion": 1,\n' + '{"a":' * 10_000 + "\n}\n",
    ],
)
def test_only_what_we_could_have_written_is_passed_on(text: str) -> None:
    assert as_written(text) is None


def test_what_we_write_is_passed_on() -> None:
    assert as_written(to_json(OPENING)) == to_object(OPENING)
