"""Whole workflows through the real programs that are agents, with a model on loopback."""

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from real_programs import FEATURE, KEYS, MODELS, Theatre, environ, script_of, theatre
from stage import PLAIN, Stage, alive_with, calculator, subjects, wait_for

from redgreenrefactor import RunStatus, library
from repos import MakeRepo, Repo

pytestmark = [pytest.mark.programs]

# Bytes of a first request, about four a token. Two thirds of Codex's describe the one tool that its models are made for.
LARGEST = {"claude-code": 20_000, "codex": 22_000, "gemini": 20_000, "opencode": 20_000}


@pytest.fixture(params=sorted(KEYS))
def played(request: pytest.FixtureRequest, make_repo: MakeRepo, tmp_path: Path) -> Generator[Theatre]:
    with theatre(request.param, make_repo(files=PLAIN), tmp_path / "home", calculator(2)) as found:
        yield found


def test_a_run_comes_to_the_same_end_as_its_script(
    played: Theatre, make_repo: MakeRepo, tmp_path: Path
) -> None:
    result = played.run()

    assert result.status is RunStatus.COMPLETE, (result.error, played.said)
    assert played.repo.subjects()[2:] == subjects(2)
    assert max(len(asked.raw) for asked in played.server.asked if not asked.said) <= LARGEST[played.agent]
    pairs = zip(_left(played.repo), _replayed(played, make_repo, tmp_path), strict=True)
    assert [
        (key, ours.get(key), scripted.get(key))
        for ours, scripted in pairs
        for key in ours.keys() | scripted.keys()
        if ours.get(key) != scripted.get(key)
    ] == []


# What is another agent's, another run's or another moment's.
OWN = (
    "agent",
    "agentSession",
    "agentVersion",
    "carriedFrom",
    "model",
    "runId",
    "seconds",
    "suiteRun",
    "timestamp",
    "usage",
)


def _left(repo: Repo) -> list[dict[str, object]]:
    """Return what every commit holds and its note says, but for what is the agent's own."""
    commits = [
        line.split(" ", 2) for line in repo.git("log", "--reverse", "--format=%H %T %s").splitlines()[1:]
    ]
    notes = [json.loads(repo.git("notes", "--ref=tdd-handoffs", "show", commit)) for commit, *_ in commits]
    return [
        {"tree": tree, "subject": subject, **{key: note[key] for key in note if key not in OWN}}
        for (_, tree, subject), note in zip(commits, notes, strict=True)
    ]


def _replayed(played: Theatre, make_repo: MakeRepo, tmp_path: Path) -> list[dict[str, object]]:
    repo, script = make_repo(files=PLAIN, name="replayed"), tmp_path / "same.toml"
    script.write_text(script_of(played.parts))
    repo.commit(
        "chore: where the model is", {"tdd.properties": (played.repo.path / "tdd.properties").read_text()}
    )
    result = played.run(project=repo.path, agent=f"replay:{script}", model=None)
    assert result.status is RunStatus.COMPLETE, result.error
    return _left(repo)


@pytest.mark.parametrize("agent", sorted(KEYS))
def test_a_run_that_is_killed_leaves_nothing_running_and_is_resumed(
    agent: str, make_repo: MakeRepo, tmp_path: Path
) -> None:
    with theatre(agent, make_repo(files=PLAIN), tmp_path / "home", calculator(1)) as played:
        marker = f"RGR_WAITS=for-{os.getpid()}-{agent}"
        played.parts["RED-1"]["first"] = [f"{marker} python3 -c 'import time; time.sleep(600)'"]
        words = ["run", FEATURE, "--agent", agent, *(["--model", MODELS[agent]] if agent in MODELS else [])]
        with Stage(played.repo).started(*words, env=environ(agent, played.repo, played.home)) as process:
            wait_for(lambda: alive_with(marker) or process.poll() is not None, "a command at work")
            process.kill()
            assert alive_with(marker), process.communicate()
        wait_for(lambda: not alive_with(marker), "the end of everything it started", 30)

        del played.parts["RED-1"]["first"]
        result = library.resume(
            project=played.repo.path,
            agent=agent,
            model=MODELS.get(agent),
            environ=environ(agent, played.repo, played.home),
        )
        assert result.status is RunStatus.COMPLETE, result.error
        assert played.repo.subjects()[2:] == subjects(1)
