"""Whole workflows through the real programs that are agents, with a model on loopback."""

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from real_programs import FEATURE, Theatre, environ, script_of, theatre, turn_of, written
from stage import PLAIN, Stage, alive_with, calculator, subjects, wait_for

from model_server import Answer, Asked, Reply
from program_rows import PROGRAMS, THOROUGH
from redgreenrefactor import RunStatus, library
from repos import MakeRepo, Repo

pytestmark = [pytest.mark.programs]


@pytest.fixture(params=sorted(PROGRAMS))
def played(request: pytest.FixtureRequest, make_repo: MakeRepo, tmp_path: Path) -> Generator[Theatre]:
    with theatre(request.param, make_repo(files=PLAIN), tmp_path / "home", calculator(2)) as found:
        yield found


def test_a_run_comes_to_the_same_end_as_its_script(
    played: Theatre, make_repo: MakeRepo, tmp_path: Path
) -> None:
    result = played.run()

    assert result.status is RunStatus.COMPLETE, (result.error, played.said)
    assert played.repo.subjects()[2:] == subjects(2)
    assert (
        max(len(asked.raw) for asked in played.server.asked if not asked.said)
        <= PROGRAMS[played.agent].largest
    )
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
    "judgedSeconds",
    "model",
    "runId",
    "seconds",
    "suiteRun",
    "suiteSeconds",
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


def test_roles_may_have_different_programs(make_repo: MakeRepo, tmp_path: Path) -> None:
    repo = make_repo(files=PLAIN)
    cast = {"red": "codex", "green": "claude-code"}
    with theatre("claude-code", repo, tmp_path / "home", calculator(1), **cast) as played:
        result = played.run()

    assert result.status is RunStatus.COMPLETE, (result.error, played.said)
    assert repo.subjects()[2:] == subjects(1)
    asking = {(turn_of(asked), asked.dialect) for asked in played.server.asked}
    assert asking == {(turn, "responses" if turn == "RED-1" else "anthropic") for turn in played.parts}
    commits = repo.git("log", "--reverse", "--format=%H").splitlines()[2:]
    notes = [json.loads(repo.git("notes", "--ref=tdd-handoffs", "show", commit)) for commit in commits]
    agents = [note["agent"] for note in notes]
    assert agents == ["claude-code", "codex", "claude-code", "claude-code", "claude-code"]


@pytest.mark.parametrize("agent", THOROUGH)
def test_a_run_that_is_killed_leaves_nothing_running_and_is_resumed(
    agent: str, make_repo: MakeRepo, tmp_path: Path
) -> None:
    with theatre(agent, make_repo(files=PLAIN), tmp_path / "home", calculator(1)) as played:
        marker = f"RGR_WAITS=for-{os.getpid()}-{agent}"
        played.parts["RED-1"]["first"] = [f"{marker} python3 -c 'import time; time.sleep(600)'"]
        model = PROGRAMS[agent].model
        words = ["run", FEATURE, "--agent", agent, *(["--model", model] if model else [])]
        with Stage(played.repo).started(*words, env=environ(agent, played.repo, played.home)) as process:
            wait_for(lambda: alive_with(marker) or process.poll() is not None, "a command at work")
            assert process.poll() is None, process.communicate()
            process.kill()
        wait_for(lambda: not alive_with(marker), "the end of everything it started", 30)

        del played.parts["RED-1"]["first"]
        result = library.resume(
            project=played.repo.path,
            agent=agent,
            model=model or None,
            environ=environ(agent, played.repo, played.home),
        )
        assert result.status is RunStatus.COMPLETE, result.error
        assert played.repo.subjects()[2:] == subjects(1)


def test_a_task_is_told_what_the_sessions_said_that_it_brings_together(
    played: Theatre, tmp_path: Path
) -> None:
    if played.agent not in THOROUGH:
        pytest.skip(f"{played.agent} is taken through the contract and a workflow alone")

    def mind(asked: Asked) -> Answer:
        name = next(
            word for word in ("kingfisher", "heron", "grebe") if f"a test named {word}" in asked.raw.decode()
        )
        test = f"def test_{name}() -> None:\n    assert 1 + 1 == 2\n"
        steps = [written(f"tests/test_{name}.py", test), f"git add -A && git commit -qm 'feat: {name}'"]
        if asked.said < len(steps):
            return Reply("Next.", (PROGRAMS[played.agent].runs(steps[asked.said]),))
        return Reply(f"I am the {name}.")

    def done(name: str, *parents: str) -> None:
        link = {"id": f"S-{name}", "strategy": "merge_fork" if parents else "new", "resume_from": [*parents]}
        file = tmp_path / f"{name}.json"
        document = {
            "id": name,
            "title": name,
            "description": f"Write a test named {name}.",
            "meta": {"tdd_workflow": False},
            "cli_execution": link if parents else {"id": f"S-{name}", "strategy": "new"},
            "convergence": {"criteria": [f"$ test -f tests/test_{name}.py"]},
        }
        file.write_text(json.dumps(document))
        result = played.task(file)
        assert result.status == "complete", (result.error, played.said)

    played.server.mind = mind
    done("kingfisher")
    done("heron")
    before = len(played.server.asked)
    done("grebe", "S-kingfisher", "S-heron")

    told = played.server.asked[before].raw.decode()
    commits = [line[:10] for line in played.repo.git("log", "--format=%H", "-3").splitlines()[1:]]
    assert all(f"I am the {name}." in told for name in ("kingfisher", "heron"))
    assert all(f"(commit {commit})" in told for commit in commits), told
    note = json.loads(played.repo.git("notes", "--ref=tdd-handoffs", "show", "HEAD"))
    assert note["session"] == {
        "id": "S-grebe",
        "strategy": "merge_fork",
        "resumeFrom": ["S-kingfisher", "S-heron"],
    }
