"""What an agent is given of the checkout it works in."""

import os
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from redgreenrefactor.agents.command_agent import CommandAgent
from redgreenrefactor.config import Flags, load
from redgreenrefactor.confinement import Confinement
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.lifecycle.factory import Factory
from redgreenrefactor.sandbox.cage import NO_MEANS
from redgreenrefactor.sandbox.policy import Level
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.testing import FakeSuite, FakeWorkspace
from repos import Repo


def factory_in(repository: Repository, around: Surroundings) -> Factory:
    settings, cache = load(None, {}, Flags()), repository.cache
    return Factory(
        repository, settings, around, cache, Confinement(repository, cache, settings, NO_MEANS, None)
    )


def test_a_session_beside_the_main_checkout_imports_what_lies_before_it(repo: Repo, tmp_path: Path) -> None:
    repo.commit(
        "chore: begin", {"src/demo.py": "", ".gitignore": ".venv\n", "CLAUDE.md": "", "sub/AGENTS.md": ""}
    )
    repo.write(".venv/pyvenv.cfg", "")
    repo.write(".venv/lib/python3/site-packages/demo.pth", f"{repo.path}/src\n")
    beside = tmp_path / "beside"
    repo.git("worktree", "add", "-q", str(beside))
    found: list[str | None] = []
    for place in (beside, repo.path):
        with closing(open_repository(place, repo.env)) as repository:
            interrupt = Interrupt()
            around = Surroundings(place, repo.env, Flags(), lambda _: None, interrupt)
            agent = factory_in(repository, around).agent("command:true", "")
            interrupt.close()
        assert isinstance(agent, CommandAgent)
        found.append(agent.setup.env.get("PYTHONPATH"))

    assert found == [f"{beside}/src", None]


@pytest.mark.parametrize("known", [True, False])
def test_an_agent_is_told_who_commits_by_git_s_settings_or_by_ours(repo: Repo, known: bool) -> None:
    if not known:
        repo.git("config", "--unset", "user.name")
    with closing(open_repository(repo.path, repo.env)) as repository, closing(Interrupt()) as interrupt:
        around = Surroundings(repo.path, repo.env, Flags(), lambda _: None, interrupt)
        agent = factory_in(repository, around).agent("command:true", "")

    assert isinstance(agent, CommandAgent)
    assert ("GIT_COMMITTER_NAME" in agent.setup.author, "GIT_COMMITTER_NAME" in agent.setup.identity) == (
        known,
        not known,
    )
    assert agent.setup.author["GIT_AUTHOR_EMAIL"]


def test_files_that_tell_agents_how_to_work_are_looked_for_in_the_project_and_above(repo: Repo) -> None:
    repo.commit("chore: begin", {"CLAUDE.md": "", "sub/AGENTS.md": ""})
    found: list[tuple[str, ...]] = []
    for place in (repo.path, repo.path / "sub"):
        with closing(open_repository(place, repo.env)) as repository:
            interrupt = Interrupt()
            around = Surroundings(place, repo.env, Flags(), lambda _: None, interrupt)
            found.append(factory_in(repository, around).guides())
            interrupt.close()

    assert found == [("CLAUDE.md",), ("AGENTS.md", "../CLAUDE.md")]


def test_a_retry_that_shall_go_on_with_a_session_needs_an_agent_that_keeps_them(repo: Repo) -> None:
    settings = load(("tdd.properties", "retry.session=resume\n"), {}, Flags())
    with closing(open_repository(repo.path, repo.env)) as repository:
        interrupt = Interrupt()
        around = Surroundings(repo.path, repo.env, Flags(), lambda _: None, interrupt)
        with pytest.raises(NotReadyError, match="keeps no sessions"):
            replace(factory_in(repository, around), settings=settings).agent("command:true", "")
        interrupt.close()


@pytest.mark.parametrize(
    ("text", "held", "jobs"), [("", False, 1), ("", True, 4), ("probe.jobs=7", False, 7)]
)
def test_runs_are_made_side_by_side_where_each_is_by_itself_or_somebody_wants_it(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, text: str, held: bool, jobs: int
) -> None:
    def many(_: int) -> range:
        return range(64)

    monkeypatch.setattr(os, "sched_getaffinity", many)
    settings = load(("tdd.properties", text), {}, Flags())
    means = replace(NO_MEANS, level=Level.BUBBLEWRAP) if held else NO_MEANS
    with closing(open_repository(repo.path, repo.env)) as repository, closing(Interrupt()) as interrupt:
        around = Surroundings(repo.path, repo.env, Flags(), lambda _: None, interrupt)
        confinement = Confinement(repository, repository.cache, settings, means, None)
        factory = replace(factory_in(repository, around), settings=settings, confinement=confinement)
        workspace = FakeWorkspace(repository.cache, {})
        assert factory.lab(workspace, FakeSuite({})).jobs() == jobs
