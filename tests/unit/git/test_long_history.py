"""A history longer than what is read one note at a time."""

from collections.abc import Generator
from dataclasses import replace

import pytest

from redgreenrefactor.errors import LedgerError
from redgreenrefactor.git.ledger import SINGLY, GitLedger
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.handoff import Handoff
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


def filled(repository: Repository) -> tuple[GitLedger, list[str]]:
    """Put a handoff on every commit but each fifth."""
    ledger = GitLedger(repository)
    commits = repository.git.text("rev-list", "--first-parent", "HEAD").split()
    notes = {
        commit: replace(OPENING, phase=PhaseName.RED, cycle_number=1)
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


def test_the_tests_that_accepted_turns_have_written_are_known(repository: Repository) -> None:
    ledger, noted = filled(repository)
    assert ledger.tests_written() == frozenset()
    wrote = [replace(OPENING, facts=Facts(tests=(name,))) for name in ("a", "b", "c")]
    ledger.write(dict(zip(noted, [*wrote[:2], replace(wrote[2], error="it passes")], strict=False)))
    assert ledger.tests_written() == {"a", "b"}


@pytest.mark.parametrize("number", [3, 71])
def test_an_unreadable_note_is_told_wherever_it_is(repository: Repository, number: int) -> None:
    ledger, _ = filled(repository)
    commit = repository.git.text("rev-list", "--first-parent", "HEAD").split()[number]
    repository.git.raw("notes", "--ref=tdd-handoffs", "add", "-f", "-m", "not a handoff", commit)
    with pytest.raises(LedgerError, match=commit[:10]):
        list(ledger.history())
