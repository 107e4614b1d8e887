import time
from collections.abc import Callable
from contextlib import closing
from statistics import median, quantiles
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
    """Let a turn be made and accepted; return the moment its note was there."""
    return judge(repo, repo.commit(f"a turn: {turn.phase}", {"test_roman.py": "NEW = '<i>'\n"}), turn)


def judge(repo: Repo, commit: str, turn: Handoff) -> float:
    """Let what is sealed be accepted; return the moment its note was there."""
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
        sealed = begun.commit("test: new", {"test_roman.py": "NEW = '<i>'\n"})
        with (folder / "1-RED-1.jsonl").open("a") as session:
            session.write(f'{{"type": "sealed", "commit": "{sealed}"}}\n')
        page.locator("#changes ins").wait_for(timeout=SOON)
        assert "+NEW = '<i>'" in page.locator("#changes ins").inner_text()
        assert violations(page) == []
        with (folder / "1-RED-1.jsonl").open("a") as session:
            session.write('{"type": "judged", "ruling": "accepted"}\n')
        page.locator("#changes").wait_for(state="detached", timeout=SOON)
        judge(begun, sealed, TURNS[1])
        page.locator("#c1 .red.behind").wait_for(timeout=SOON)

        assert page.locator("#c1 .now").inner_text() == "GREEN …"
        assert "+NEW = '<i>'" in page.locator("#t1-RED-1 ins").inner_text()
        assert violations(page) == []


def test_a_page_that_waits_for_a_run_becomes_the_page_of_the_first(
    visit: Callable[..., Any], make_repo: MakeRepo
) -> None:
    repo = make_repo()
    with watching(repo.path, repo.env) as served:
        page = visit(served.address)
        page.get_by_role("status").get_by_text("live").wait_for()
        assert page.locator("h1").inner_text() == "No run has been started here"
        record(repo, TURNS[:1])
        page.get_by_role("heading", name="Roman numerals").wait_for(timeout=SOON)

        order = "[...document.querySelectorAll('#runs, #head, #now, #figures, #cycles')].map((one) => one.id)"
        assert page.evaluate(order) == ["runs", "head", "now", "figures", "cycles"]
        assert page.locator("#runlist > summary").inner_text() == "Runs (1)"


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
    usual, undisturbed = median(took), quantiles(took, n=4)[0]
    record_property("milliseconds", round(1000 * usual))
    print(f"\nan event is on the page after {1000 * usual:.0f} ms, at most {1000 * max(took):.0f} ms")
    assert (
        undisturbed < 0.2
    )  # whatever else goes on here makes some of them late, and not the quickest quarter


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
