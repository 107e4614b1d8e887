import time
from collections.abc import Callable
from contextlib import closing
from statistics import median
from typing import Any

import pytest

from pages import overflow, violations
from redgreenrefactor.git import lock
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.reports.server import watching
from repos import MakeRepo, Repo
from told_runs import RUN, TURNS, record

SOON = 5_000  # milliseconds, on a machine with much else to do


@pytest.fixture
def begun(make_repo: MakeRepo) -> Repo:
    repo = make_repo()
    record(repo, TURNS[:1])
    return repo


def take(repo: Repo, turn: Handoff) -> float:
    """Let a turn be accepted; return the moment its note was there."""
    commit = repo.commit(f"a turn: {turn.phase}", {"test_roman.py": "NEW = '<i>'\n"})
    with closing(open_repository(repo.path, repo.env)) as repository:
        GitLedger(repository).write({commit: turn})
    return time.monotonic()


def test_a_run_advances_before_the_readers_eyes(visit: Callable[..., Any], begun: Repo) -> None:
    folder = begun.path / ".git/tdd/sessions" / RUN
    folder.mkdir(parents=True)
    with lock.held(begun.path / ".git" / lock.NAME), watching(begun.path, begun.env) as served:
        page = visit(served.address)
        page.get_by_role("status").get_by_text("live").wait_for()
        assert page.locator("#c1 .now").inner_text() == "RED …"

        with (folder / "1-RED-1.jsonl").open("w") as session:
            session.write('{"type": "said", "text": "I write a test"}\n')
        page.get_by_text("I write a test").wait_for(timeout=SOON)
        take(begun, TURNS[1])
        page.locator("#c1 .red.behind").wait_for(timeout=SOON)

        assert page.locator("#c1 .now").inner_text() == "GREEN …"
        assert "+NEW = '<i>'" in page.locator("#t1-RED-1 ins").inner_text()
        assert violations(page) == []


def test_an_event_reaches_the_page_soon(
    visit: Callable[..., Any], begun: Repo, record_property: Callable[[str, object], None]
) -> None:
    folder = begun.path / ".git/tdd/sessions" / RUN
    folder.mkdir(parents=True)
    took: list[float] = []
    with lock.held(begun.path / ".git" / lock.NAME), watching(begun.path, begun.env) as served:
        page = visit(served.address)
        page.get_by_role("status").get_by_text("live").wait_for()
        with (folder / "1-RED-1.jsonl").open("w") as session:
            for number in range(20):
                session.write(f'{{"type": "said", "text": "word {number} of a session"}}\n')
                session.flush()
                written = time.monotonic()
                page.get_by_text(f"word {number} of a session").wait_for(timeout=SOON)
                took.append(time.monotonic() - written)
    usual = median(took)
    record_property("milliseconds", round(1000 * usual))
    print(f"\nan event is on the page after {1000 * usual:.0f} ms, at most {1000 * max(took):.0f} ms")
    assert usual < 1.0  # 0.2 on a quiet machine (docs/looking.md); much else may be going on here


def test_what_a_reader_unfolded_stays_unfolded(visit: Callable[..., Any], begun: Repo) -> None:
    with watching(begun.path, begun.env) as served:
        page = visit(served.address, width=400)
        page.get_by_role("status").get_by_text("live").wait_for()
        page.locator("#t1-PLAN-1 > summary").click()
        take(begun, TURNS[1])
        page.locator("#t1-RED-1").wait_for(timeout=SOON)

        assert page.locator("#t1-PLAN-1").get_attribute("open") is not None
        assert overflow(page) == []


def test_a_page_finds_its_server_again(visit: Callable[..., Any], begun: Repo, complaints: list[str]) -> None:
    with watching(begun.path, begun.env) as served:
        page = visit(served.address)
        page.get_by_role("status").get_by_text("live").wait_for()
        port = served.server.server_port
    page.get_by_role("status").get_by_text("connecting again").wait_for(timeout=SOON)
    take(begun, TURNS[1])
    with watching(begun.path, begun.env, port):
        page.locator("#t1-RED-1").wait_for(timeout=2 * SOON)
        assert page.get_by_role("status").inner_text() == "live"
    complaints[:] = [
        told for told in complaints if "ERR_" not in told
    ]  # the browser's own, while nobody answered
