import http.client
import json
import threading
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.git import lock
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.reports.glimpses import LiveTranscript, glimpse_of
from redgreenrefactor.reports.server import FollowedRun, Watch, remembered, watching
from redgreenrefactor.sandbox.secrets import masking
from repos import MakeRepo, Repo
from told_runs import OPENING, RUN, TURNS, record


@pytest.fixture
def told(make_repo: MakeRepo) -> Repo:
    repo = make_repo()
    record(repo)
    return repo


@pytest.fixture
def served(told: Repo) -> Generator[Watch]:
    with watching(told.path, told.env) as watch:
        yield watch


def ask(watch: Watch, path: str = "", method: str = "GET", **headers: str) -> tuple[int, str]:
    """Return status and body of what is answered below the token, or at a path of its own."""
    with closing(http.client.HTTPConnection("127.0.0.1", watch.server.server_port, timeout=20)) as line:
        line.request(method, path if path.startswith("/") else f"/{watch.token}/{path}", headers=headers)
        answer = line.getresponse()
        return answer.status, answer.read().decode()


def test_the_page_shows_the_latest_run_and_the_list_of_runs(served: Watch) -> None:
    status, page = ask(served)

    assert status == 200
    assert "<h1>Roman numerals</h1>" in page
    assert f'href="/{served.token}/run/{RUN}" aria-current="page"' in page
    assert "connect-src 'self'" in page
    assert ask(served, f"run/{RUN}")[0] == 200
    assert ask(served, "all")[0] == 200


def test_nobody_without_the_token_and_no_page_from_elsewhere_is_answered(served: Watch) -> None:
    port = served.server.server_port

    assert ask(served, "/")[0] == 404
    status, words = ask(served, "/wrong/")
    assert (status, "Open the address that rgr watch has printed" in words) == (404, True)
    assert ask(served, Host="evil.example")[0] == 403
    assert ask(served, Host=f"evil.example:{port}")[0] == 403
    assert ask(served, Origin="http://evil.example")[0] == 403
    assert ask(served, Origin="null")[0] == 403
    assert ask(served, Origin=f"http://127.0.0.1:{port}", Host=f"localhost:{port}")[0] == 200


def test_nothing_can_be_changed_through_it(served: Watch) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert ask(served, method=method)[0] == 501
    assert ask(served, "run/nobody")[0] == 404


def test_a_long_run_is_shown_in_pieces(told: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redgreenrefactor.reports.server.TURNS", 3)
    with watching(told.path, told.env) as served:
        page = ask(served)[1]
        (earlier,) = (part.partition('"')[0] for part in page.split(f'href="/{served.token}/run/{RUN}/')[1:])
        before = ask(served, f"run/{RUN}/{earlier}")[1]

    assert 'id="c3"' in page
    assert 'id="c1"' not in page
    assert "time at work" not in page
    assert 'id="c2"' in before
    assert "turn 5: PLAN" in before
    assert "turn 6: RED" not in before
    assert "EventSource" not in before


def test_a_repository_without_a_run_waits_for_one(make_repo: MakeRepo) -> None:
    repo = make_repo()
    with watching(repo.path, repo.env) as served:
        assert "No run has been started here" in ask(served)[1]


def test_what_is_new_is_sent_as_soon_as_it_is_noted(make_repo: MakeRepo) -> None:
    repo = make_repo()
    record(repo, TURNS[:1])
    with watching(repo.path, repo.env) as served:
        line = http.client.HTTPConnection("127.0.0.1", served.server.server_port, timeout=20)
        line.request("GET", f"/{served.token}/events")
        stream = line.getresponse()
        assert stream.getheader("Content-Type") == "text/event-stream"
        first = _next(stream)
        head = repo.commit("turn 2: RED", {"test_roman.py": "NEW = 1\n"})
        with closing(open_repository(repo.path, repo.env)) as repository:
            GitLedger(repository).write({head: TURNS[1]})
        second = _next(stream)
        line.close()

    assert {"runs", "head", "figures", "row1", "c1", "now"} == {part["id"] for part in first}
    assert f'href="/{served.token}/run/{RUN}" aria-current="page"' in first[0]["markup"]
    assert {"head", "row1", "c1"} <= {part["id"] for part in second}
    assert "+NEW = 1" in next(part["markup"] for part in second if part["id"] == "c1")


def _next(stream: http.client.HTTPResponse) -> list[dict[str, Any]]:
    while not (row := stream.readline()).startswith(b"data: "):
        assert row
    return json.loads(row.removeprefix(b"data: "))


def test_a_page_whose_turns_are_gone_is_loaded_again(told: Repo) -> None:
    with closing(open_repository(told.path, told.env)) as repository:
        followed = FollowedRun(repository, GitLedger(repository))
        assert followed.look()
        assert followed.look() == []
        told.git("reset", "-q", "--hard", "HEAD~4")
        told.git("notes", "--ref=tdd-handoffs", "add", "-f", "-m", "other", told.git("rev-parse", "HEAD~3"))
        told.git("notes", "--ref=tdd-handoffs", "remove", told.git("rev-parse", "HEAD~3"))
        assert followed.look() is None


def test_another_run_is_another_page(told: Repo) -> None:
    with closing(open_repository(told.path, told.env)) as repository:
        followed = FollowedRun(repository, GitLedger(repository))
        followed.look()
        later = replace(OPENING, run_id="later", timestamp="2027-01-01T00:00:00Z")
        GitLedger(repository).write({told.head(): later})
        assert followed.look() is None


def test_what_a_session_says_is_seen_while_it_says_it(told: Repo) -> None:
    folder = told.path / ".git/tdd/sessions" / RUN
    folder.mkdir(parents=True)
    with (
        lock.held(told.path / ".git" / lock.NAME),
        closing(open_repository(told.path, told.env)) as repository,
    ):
        followed = FollowedRun(repository, GitLedger(repository))
        followed.look()
        (folder / "4-RED-1.jsonl").write_text('{"type": "said", "text": "I look at <it>"}\n')
        (part,) = followed.look() or []

    assert part.id == "now"
    assert "<strong>4-RED-1</strong> at work" in part.markup
    assert "I look at &lt;it&gt;" in part.markup


def test_what_was_sealed_is_seen_while_the_gates_are_at_work(told: Repo) -> None:
    sealed = told.commit("test: 2 is II", {"test_roman.py": "SECRET = 'open-sesame'  # <b>\n"})
    folder = told.path / ".git/tdd/sessions" / RUN
    folder.mkdir(parents=True)
    step = {"type": "sealed", "commit": sealed}
    with (
        lock.held(told.path / ".git" / lock.NAME),
        closing(open_repository(told.path, {**told.env, "A_TOKEN": "open-sesame"})) as repository,
    ):
        followed = FollowedRun(repository, GitLedger(repository))
        followed.look()
        seen: list[str] = []
        for one in (step, {"type": "judged", "ruling": "accepted"}, {"type": "sealed", "commit": "--all"}):
            with (folder / "4-RED-1.jsonl").open("a") as session:
                session.write(json.dumps(one) + "\n")
            (part,) = followed.look() or []
            seen.append(part.markup)

    gates, judged, odd = seen
    assert "is sealed, the gates are at work" in gates
    assert "+SECRET = '[masked A_TOKEN]'  # &lt;b&gt;" in gates
    assert '<details id="changes" open><summary>What it changed</summary>' in gates
    assert "SECRET" not in judged
    assert "SECRET" not in odd


def test_the_way_of_the_case_in_work_stands_at_the_top(make_repo: MakeRepo) -> None:
    repo = make_repo()
    record(repo, TURNS[:1])
    with (
        lock.held(repo.path / ".git" / lock.NAME),
        closing(open_repository(repo.path, repo.env)) as repository,
    ):
        followed = FollowedRun(repository, GitLedger(repository))
        parts = {part.id: part.markup for part in followed.look() or []}
        with watching(repo.path, repo.env) as served:
            page = ask(served)[1]

    assert '<a href="#c1">1 · 1 is I</a>' in parts["now"]
    assert 'aria-current="step">RED …' in parts["now"]
    assert page.index("<h1>") < page.index('id="now"') < page.index('id="figures"')


def test_the_end_of_a_transcript_tells_where_a_turn_stands(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = [
        {"type": "message", "text": "before"},
        {"type": "session"},
        {"type": "call", "tool": "Bash", "arguments": {"command": "echo open-sesame\nmore"}},
        {"type": "call", "tool": "Odd", "arguments": None},
    ]
    mask = masking({"A_TOKEN": "open-sesame"})

    assert glimpse_of("1-RED-1", steps, mask).lines == ("Bash echo [masked A_TOKEN]", "Odd")
    for last, standing in (
        ({"type": "report"}, "has ended, its work is sealed"),
        ({"type": "sealed"}, "is sealed, the gates are at work"),
        ({"type": "judged", "ruling": "rejected"}, "is judged: rejected"),
        ({"type": "odd"}, "at work"),
    ):
        assert glimpse_of("1-RED-1", [*steps, last], mask).standing == standing
    assert LiveTranscript(tmp_path, "nobody").glimpse(mask) is None


def test_a_server_that_is_started_again_has_the_same_address(told: Repo) -> None:
    with watching(told.path, told.env) as served:
        first = served.address
        with watching(told.path, told.env) as other:  # while the first is there
            assert other.address != first
            with pytest.raises(NotReadyError, match="nothing can listen"):
                remembered(told.path, told.env, served.server.server_port)
        port = served.server.server_port
    with watching(told.path, told.env, port) as again:
        assert again.address == first
    assert threading.active_count() < 20
