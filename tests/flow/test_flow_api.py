"""Whole workflows with models behind providers' APIs: the real clients, a model server on loopback."""

import asyncio
import json
import re
import signal
import time
from collections.abc import Generator, Mapping
from typing import Any

import pytest
import stage
from stage import CASES, GREENFIELD, PLAIN, Json, Parts, Stage, calculator

from model_server import (
    KEY,
    Answer,
    Asked,
    Call,
    Dropped,
    Mind,
    ModelServer,
    Reply,
    Silence,
    Status,
    model_server,
)
from redgreenrefactor import NotReadyError, RunStatus, WorkflowResult, library
from redgreenrefactor.lifecycle.feature import exit_code
from redgreenrefactor.model.events import Event, Warned
from repos import MakeRepo, Repo

FEATURE = "A calculator: it adds, subtracts and multiplies two whole numbers."
APIS = ("openai:gpt-5", "openai-responses:gpt-5", "google:gemini-2.5-pro")
KEYS: Mapping[str, str] = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY"), KEY)
REQUEST = (100 * 5 + 20 * 25 + 30 * 0.5 + 7 * 6.25) / 1e6  # US dollars


def turn_of(asked: Asked) -> str:
    """Return phase and cycle as the brief tells them."""
    phase = re.search(r"# Your phase: (\w+)", asked.brief)
    case = re.search(r"(?:- case|tick its box): (.+)", asked.brief)
    assert phase
    if phase[1] == "PLAN":
        return f"PLAN-{CASES.index(case[1]) + 2 if case else 1}"
    assert case
    return f"{phase[1]}-{CASES.index(case[1]) + 1}"


def steps_of(part: Json) -> list[Call]:
    """Return the calls a part is played with."""
    calls = [Call.of("Write", file_path=path, content=text) for path, text in part.get("files", {}).items()]
    commit = (
        [Call.of("Bash", command=f"git add -A && git commit -qm {part['commit']!r}")]
        if "commit" in part
        else []
    )
    return [*calls, *commit]


def author(parts: Parts) -> Mind:
    """Return a mind that plays its parts, a call a reply."""

    def mind(asked: Asked) -> Answer:
        part = parts[turn_of(asked)]
        steps = steps_of(part)
        if asked.said < len(steps):
            return Reply("Next.", (steps[asked.said],))
        return Reply(part.get("say", "Done."))

    return mind


@pytest.fixture
def server() -> Generator[ModelServer]:
    with model_server(author(calculator(2))) as server:
        yield server


@pytest.fixture
def repo(make_repo: MakeRepo) -> Repo:
    return make_repo(files=PLAIN)


def environ(repo: Repo, server: ModelServer, **more: str) -> dict[str, str]:
    return {**stage.surroundings(repo), **KEYS, "ANTHROPIC_BASE_URL": server.url, **more}


def run(repo: Repo, server: ModelServer, **more: Any) -> WorkflowResult:
    more.setdefault("environ", environ(repo, server))
    return library.run(FEATURE, project=repo.path, **more)


def code_of(result: WorkflowResult) -> int:
    return exit_code(result.status, result.error_details.type if result.error_details else "")


def notes(repo: Repo) -> list[Json]:
    """Return the notes along HEAD, oldest first."""
    commits = repo.git("rev-list", "--reverse", "HEAD").split()
    return [json.loads(repo.git("notes", "--ref=tdd-handoffs", "show", commit)) for commit in commits]


def state(repo: Repo) -> tuple[object, ...]:
    """Return everything a refused run may not change."""
    left = [name for name in ("rgr.lock",) if (repo.path / ".git" / name).exists()]
    return repo.refs(), repo.git("rev-parse", "HEAD"), repo.git("status", "--porcelain"), left


# --- the whole thing


@pytest.mark.long
def test_a_run_survives_whatever_happens_between_it_and_the_model(make_repo: MakeRepo) -> None:
    nonsense = Reply(
        "", (Call("Write", '{"file_path": 7'), Call.of("Teleport", where="there"), Call.of("Read"))
    )

    def mind(asked: Asked) -> Answer:
        if turn_of(asked) == "GREEN-1" and asked.said == 0:
            return nonsense
        if turn_of(asked) == "GREEN-1":
            return play(
                Asked(
                    asked.path,
                    {**asked.body, "messages": asked.turns[:1] + asked.turns[3:]},
                    asked.raw,
                    asked.headers,
                    asked.dialect,
                )
            )
        if turn_of(asked) == "PLAN-2" and asked.said >= 2:
            text = parts["PLAN-2"]["say"]
            return Reply(text[:60], cut=True) if asked.said == 2 else Reply(text[60:])
        return play(asked)

    parts = calculator(2)
    play = author(parts)
    with model_server(mind) as server:
        settings = f"{GREENFIELD['tdd.properties']}agent.url={server.url}\n"
        on = Stage(make_repo(files={**GREENFIELD, "tdd.properties": settings}), env=dict(KEYS))
        server.troubles = {
            2: Status(429, "slow down", "rate_limit_error", after="1"),
            5: Status(529, "overloaded", "overloaded_error"),
            8: Dropped(),
        }
        done = on.rgr("run", FEATURE, "--json")

    assert done.code == 0, done
    result = done.json
    assert [cycle["outcome"] for cycle in result["cycles"]] == ["done", "done"]
    answered = len(server.asked) - 3
    assert result["usage"]["outputTokens"] == 20 * answered + 1  # the reply that broke off had begun
    assert result["usage"]["costUsd"] == pytest.approx(
        REQUEST * answered + (100 * 5 + 25 + 15 + 7 * 6.25) / 1e6
    )
    assert result["costPerTestUsd"] == pytest.approx(result["usage"]["costUsd"] / 2)
    assert sum(cycle["usage"]["outputTokens"] for cycle in result["cycles"]) < result["usage"]["outputTokens"]
    told = [note for note in notes(on.repo) if "agent" in note]
    assert {(note["agent"], note["model"]) for note in told} == {("api", "claude-opus-4-5-20251101")}
    assert sum(note["usage"]["costUsd"] for note in told) == pytest.approx(result["usage"]["costUsd"])
    assert KEY not in done.out + done.err


@pytest.mark.long
@pytest.mark.parametrize("spec", APIS)
def test_any_providers_model_can_do_the_work(spec: str, repo: Repo, server: ModelServer) -> None:
    url = f"agent.url={server.url}\n"
    repo.commit("chore: settings", {"tdd.properties": PLAIN["tdd.properties"] + url})
    server.troubles = {3: Status(429, "slow down", "rate_limit_error"), 6: Dropped()}
    result = run(repo, server, model=spec)

    assert result.status is RunStatus.COMPLETE, result.error
    assert [cycle.outcome for cycle in result.cycles] == ["done", "done"]
    assert {asked.model for asked in server.asked} == {spec.partition(":")[2]}
    assert result.usage
    assert result.usage.cost_usd


# --- what is not ready


@pytest.mark.parametrize(
    ("trouble", "kind", "told"),
    [
        (Status(401, "invalid x-api-key", "authentication_error"), "CredentialsRefused", "ANTHROPIC_API_KEY"),
        pytest.param(
            Status(404, "model: claude-opus-4-5-20251101", "not_found_error"),
            "ModelUnavailable",
            "claude-opus-4-5-20251101",
            marks=pytest.mark.long,
        ),
        pytest.param(
            Status(404, body="<html>nothing here</html>"),
            "ModelUnavailable",
            "agent.url",
            marks=pytest.mark.long,
        ),
        pytest.param(Dropped(), "NetworkError", "connection", marks=pytest.mark.long),
    ],
    ids=["key", "model", "address", "network"],
)
@pytest.mark.long
def test_what_hinders_the_first_request_is_said_and_nothing_is_left_behind(
    trouble: Answer, kind: str, told: str, repo: Repo, server: ModelServer
) -> None:
    before = state(repo)
    server.troubles = {1: trouble}
    with pytest.raises(NotReadyError) as caught:
        run(repo, server)

    assert caught.value.type == kind
    assert told in caught.value.message + caught.value.hint
    assert state(repo) == before
    assert len(server.asked) == 1
    assert run(repo, server).status is RunStatus.COMPLETE


def test_an_unborn_repository_stays_unborn_if_nothing_can_begin(
    make_repo: MakeRepo, server: ModelServer
) -> None:
    repo = make_repo(born=False)
    server.troubles = {1: Status(401, "no", "authentication_error")}
    with pytest.raises(NotReadyError):
        run(repo, server, environ={**environ(repo, server), "TDD_TEST_COMMAND": "true"})

    assert repo.refs() == {}


def test_without_a_key_nobody_is_asked(repo: Repo, server: ModelServer) -> None:
    before = state(repo)
    with pytest.raises(NotReadyError, match="ANTHROPIC_API_KEY"):
        run(repo, server, environ=environ(repo, server, ANTHROPIC_API_KEY=""))

    assert state(repo) == before
    assert server.asked == []


@pytest.mark.long
def test_a_model_that_becomes_unavailable_stops_the_run_until_it_is_back(
    repo: Repo, server: ModelServer
) -> None:
    server.troubles = {6: Status(404, "model: claude-opus-4-5-20251101", "not_found_error")}
    result = run(repo, server)

    assert result.status is RunStatus.STOPPED
    assert result.error_details
    assert result.error_details.type == "ModelUnavailable"
    assert "claude-opus-4-5-20251101" in result.error_details.message
    assert code_of(result) == 3
    again = library.resume(project=repo.path, environ=environ(repo, server))
    assert again.status is RunStatus.COMPLETE
    assert [cycle.retries for cycle in again.cycles] == [0, 0]
    assert not [asked for asked in server.asked if "was rejected" in asked.brief]


def test_a_missing_model_of_a_later_role_is_named_before_anything_begins(
    repo: Repo, server: ModelServer
) -> None:
    settings = PLAIN["tdd.properties"] + "model.green=claude-typo\n"
    repo.commit("chore: settings", {"tdd.properties": settings})
    before = state(repo)
    server.troubles = {1: Status(404, "model: claude-typo", "not_found_error")}
    with pytest.raises(NotReadyError, match="claude-typo"):
        run(repo, server)

    assert [asked.model for asked in server.asked] == ["claude-typo"]
    assert state(repo) == before


@pytest.mark.long
def test_roles_have_models_of_their_own(make_repo: MakeRepo) -> None:
    parts = calculator(1)
    repo = make_repo(
        files={**PLAIN, "tdd.properties": PLAIN["tdd.properties"] + "model.green=claude-haiku-4-5\n"}
    )

    def mind(asked: Asked) -> Answer:
        return Reply("ready") if "one word" in asked.brief else author(parts)(asked)

    with model_server(mind) as server:
        result = run(repo, server)

    assert result.status is RunStatus.COMPLETE
    assert [asked.model for asked in server.asked[:2]] == ["claude-haiku-4-5", "claude-opus-4-5-20251101"]
    assert sum(event.usage.output_tokens for event in [result] if event.usage) == 20 * len(server.asked)


@pytest.mark.long
def test_trouble_that_does_not_pass_stops_the_run_and_is_nobodys_failure(
    repo: Repo, server: ModelServer
) -> None:
    repo.commit("chore: settings", {"tdd.properties": PLAIN["tdd.properties"] + "max.retries=0\n"})
    server.troubles = {4: Status(429, "later", "rate_limit_error", after="3600")}
    result = run(repo, server)

    assert result.status is RunStatus.STOPPED
    assert code_of(result) == 4
    assert result.error_details
    assert result.error_details.type == "RateLimited"
    assert not [name for name in repo.refs() if name.startswith("refs/tdd/attempts/")]

    again = library.resume(project=repo.path, environ=environ(repo, server), max_cycles=1)
    assert [cycle.retries for cycle in again.cycles] == [0]
    assert not [asked for asked in server.asked if "was rejected" in asked.brief]


# --- money


@pytest.mark.long
def test_a_budget_stops_before_the_next_request_and_resume_goes_on(repo: Repo, server: ModelServer) -> None:
    result = run(repo, server, budget_usd=REQUEST * 4.5)

    assert result.status is RunStatus.STOPPED
    assert result.error_details
    assert result.error_details.type == "BudgetExceeded"
    assert code_of(result) == 4
    assert len(server.asked) == 5
    assert result.usage
    assert result.usage.cost_usd == pytest.approx(5 * REQUEST)
    kept = [name for name in repo.refs() if name.startswith("refs/tdd/kept/")]
    assert len(kept) == 1
    assert repo.git("status", "--porcelain") == ""

    again = library.resume(project=repo.path, environ=environ(repo, server), budget_usd=1)
    assert again.status is RunStatus.COMPLETE
    assert again.usage
    assert again.usage.cost_usd == pytest.approx(len(server.asked) * REQUEST)
    assert not [asked for asked in server.asked if "was rejected" in asked.brief]


@pytest.mark.slow
def test_a_budget_of_the_run_counts_what_was_spent_before_a_resume(repo: Repo, server: ModelServer) -> None:
    settings = PLAIN["tdd.properties"] + f"budget.usd={REQUEST * 4.5:.8f}\n"
    repo.commit("chore: settings", {"tdd.properties": settings})
    run(repo, server)
    asked = len(server.asked)
    again = library.resume(project=repo.path, environ=environ(repo, server))

    assert again.error_details
    assert again.error_details.type == "BudgetExceeded"
    assert len(server.asked) == asked


@pytest.mark.slow
def test_a_phase_has_a_budget_of_its_own(repo: Repo, server: ModelServer) -> None:
    settings = PLAIN["tdd.properties"] + f"budget.phase.usd={REQUEST * 3.5:.8f}\n"
    repo.commit("chore: settings", {"tdd.properties": settings})
    assert run(repo, server).status is RunStatus.COMPLETE  # no phase takes more than three requests


def test_a_phase_that_costs_too_much_stops_the_run(repo: Repo, server: ModelServer) -> None:
    settings = PLAIN["tdd.properties"] + f"budget.phase.usd={REQUEST * 1.5:.8f}\n"
    repo.commit("chore: settings", {"tdd.properties": settings})
    result = run(repo, server)

    assert result.error_details
    assert result.error_details.type == "BudgetExceeded"
    assert len(server.asked) == 2


@pytest.mark.long
def test_a_price_nobody_knows_is_said_and_not_guessed(repo: Repo, server: ModelServer) -> None:
    heard: list[Event] = []
    more = {"OPENAI_BASE_URL": server.url}
    result = run(
        repo,
        server,
        model="openai:nobodys-model",
        environ=environ(repo, server, **more),
        on_event=heard.append,
    )

    assert result.usage
    assert result.usage.cost_usd is None
    assert result.usage.output_tokens == 20 * len(server.asked)
    assert "costPerTestUsd" not in result.to_json()
    assert len([event for event in heard if isinstance(event, Warned) and "no price" in event.message]) == 1


# --- prompts on the wire


def in_cache_order(asked: Asked) -> str:
    return json.dumps([asked.body["tools"], asked.body["system"], asked.body["messages"]], ensure_ascii=False)


def first_requests(server: ModelServer) -> dict[str, Asked]:
    return {turn_of(asked): asked for asked in server.asked if asked.said == 0}


def shared(one: Asked, two: Asked) -> float:
    """Return how much of the longer request both have in common from its beginning."""
    texts = [in_cache_order(asked).encode() for asked in (one, two)]
    alike = next(place for place, (a, b) in enumerate(zip(*texts, strict=False)) if a != b)
    return alike / max(map(len, texts))


@pytest.mark.long
def test_requests_are_small_and_begin_alike(repo: Repo, server: ModelServer) -> None:
    run(repo, server)
    first = first_requests(server)

    assert len(first) == 9
    for turn, asked in first.items():
        assert len(in_cache_order(asked)) / 3.5 <= 3000, turn  # characters a token, rather too few
    phases = ("PLAN", "RED", "GREEN", "REFACTOR")
    across = {(a, b): shared(first[f"{a}-2"], first[f"{b}-2"]) for a in phases for b in phases if a < b}
    within = {phase: shared(first[f"{phase}-1"], first[f"{phase}-2"]) for phase in phases}
    assert min(across.values()) >= 0.80, across
    assert min(within.values()) >= 0.95, within


@pytest.mark.long
def test_every_request_of_a_session_begins_with_the_one_before(repo: Repo, server: ModelServer) -> None:
    run(repo, server, max_cycles=1)
    for before, after in zip(server.asked, server.asked[1:], strict=False):
        if after.said:
            assert after.turns[: len(before.turns)] == before.turns
            assert (after.tools, after.system) == (before.tools, before.system)


# --- interruption


@pytest.mark.long
def test_an_interruption_during_a_request_ends_at_once_and_resume_goes_on(
    make_repo: MakeRepo, server: ModelServer
) -> None:
    on = Stage(make_repo(files=PLAIN), env={**KEYS, "ANTHROPIC_BASE_URL": server.url})
    server.troubles = {5: Silence()}
    with on.started("run", FEATURE, "--json") as process:
        stage.wait_for(lambda: len(server.asked) == 5, "the fifth request")
        process.send_signal(signal.SIGINT)
        struck = time.monotonic()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert time.monotonic() - struck < 10  # mostly git's
    stopped = json.loads(out)
    assert stopped["status"] == "interrupted"
    assert stopped["usage"]["costUsd"] == pytest.approx(4 * REQUEST)

    done = on.rgr("resume", "--json")
    assert done.code == 0, done
    asked = len(server.asked) - 1  # the silent one used nothing
    assert done.json["usage"]["costUsd"] == pytest.approx(asked * REQUEST)


@pytest.mark.long
def test_a_run_that_is_awaited_can_be_cancelled_and_goes_on_later(repo: Repo, server: ModelServer) -> None:
    server.troubles = {5: Silence()}
    where: dict[str, Any] = {"project": repo.path, "environ": environ(repo, server)}

    async def cancelled() -> None:
        task = asyncio.create_task(library.run_async(FEATURE, **where))
        await asyncio.to_thread(stage.wait_for, lambda: len(server.asked) == 5, "the fifth request")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert state(repo)[2:] == ("", [])
    assert asyncio.run(library.resume_async(**where)).status is RunStatus.COMPLETE
